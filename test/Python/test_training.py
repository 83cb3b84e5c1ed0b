"""tenon.train: batches from iterators, settings, schedules, and runs that go on from checkpoints with equal bits."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("TENON_BUILD", str(ROOT / "build/dev"))

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tenon
import tenon.jax

SCHEDULE = "warmup_cosine:value=0.1,warmup=3,steps=12,end=0.01"


def step(state: dict, x: Any, y: Any, lr: Any) -> tuple[dict, Any]:
    """Gradient descent on a linear model."""
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(state["w"])
    return {"w": state["w"] - lr * gradient, "seen": state["seen"] + 1}, loss


def batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets."""
    random = np.random.default_rng(number)
    return random.normal(size=(16, 8)).astype(np.float32), random.normal(size=(16, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The step as a .tenon file."""
    path = tmp_path_factory.mktemp("stored") / "step.tenon"
    start = {"w": np.zeros((8, 4), np.float32), "seen": np.int32(0)}
    tenon.jax.compile(step, start, *batch(0), np.float32(0), output=path)
    return path


def program(stored: Path, threads: int = 1) -> tenon.Program:
    """With start values."""
    loaded = tenon.load(stored, threads=threads)
    loaded.initialize_zeros()
    return loaded


class Loader:
    """Batches that know where they are, as those of torchdata do."""

    def __init__(self) -> None:
        self.next = 0
        self.made = 0  # batches, to see that none is made in vain

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        while True:
            self.made += 1
            x, y = batch(self.next)
            self.next += 1
            yield {"x": x, "y": y}

    def state_dict(self) -> dict:
        """Where it is."""
        return {"next": self.next}

    def load_state_dict(self, state: dict) -> None:
        """Goes on there."""
        self.next = state["next"]


def whole(stored: Path) -> tuple[list[bytes], bytes]:
    """The losses and the weights of a run of 12 steps that is never stopped."""
    run = program(stored)
    losses = []
    run.schedule("lr", SCHEDULE)
    for i in range(12):
        run.apply_schedules(i)
        losses.append(run.run(*batch(i))["loss"].tobytes())
    return losses, run.tensors["w"].read().tobytes()


def test_settings_and_schedules_are_those_of_the_tool(stored: Path, tmp_path: Path) -> None:
    """The same losses as with the rate given by hand, and in a process of the tool."""
    losses, weights = whole(stored)
    by_hand = program(stored)
    # The first step has the rate 0, the fourth the value.
    for i, rate in {0: 0.0, 3: 0.1}.items():
        by_hand.schedule("lr", SCHEDULE)
        by_hand.apply_schedules(i)
        assert by_hand.tensors["lr"].read() == np.float32(rate)
    by_hand.set("lr", 0.25)
    by_hand.apply_schedules(5)
    assert by_hand.tensors["lr"].read() == np.float32(0.25)
    names = ("x", "y")
    np.savez(tmp_path / "b.npz", **{name: np.stack([batch(i)[k] for i in range(12)]) for k, name in enumerate(names)})
    command = [tenon.native.tool(), "run", stored, "--zero-state", "--batches", tmp_path / "b.npz", "--epochs=1"]
    command += [f"--schedule=lr={SCHEDULE}", "--save", tmp_path / "w.safetensors"]
    subprocess.run(list(map(os.fspath, command)), check=True, capture_output=True)
    loaded = program(stored)
    loaded.load_state(tmp_path / "w.safetensors")
    assert loaded.tensors["w"].read().tobytes() == weights
    with pytest.raises(tenon.ArgumentError, match="'rate' is no setting of this step; it has 'lr'"):
        by_hand.set("rate", 1)
    with pytest.raises(tenon.ArgumentError, match="no value"):
        by_hand.set("lr", "much")  # type: ignore[arg-type]
    with pytest.raises(tenon.ArgumentError, match="the schedule of 'lr'"):
        by_hand.schedule("lr", "zigzag")
    assert len(losses) == 12


@pytest.mark.parametrize("kind", ["replayed", "state_dict"])
@pytest.mark.parametrize("stops", [(1,), (4, 5), (7, 12)])
def test_a_resumed_run_has_equal_bits(kind: str, stops: tuple[int, ...], stored: Path, tmp_path: Path) -> None:
    """Stopped at its end or by a break; what a break lost is run again."""
    losses, weights = whole(stored)
    given: dict[int, bytes] = {}
    for stop in (*stops, 12):
        run = program(stored, threads=1 + stop % 2)
        batches = Loader() if kind == "state_dict" else map(batch, itertools.count())
        steps = tenon.train(
            run, batches, until=12, schedules={"lr": SCHEDULE}, checkpoints=tmp_path / "c", save_every=3, keep=2, resume=True
        )
        first = None
        for number, results in steps:
            first = first or number
            assert given.setdefault(number, results["loss"].tobytes()) == results["loss"].tobytes()
            if number == stop and stop != 12:
                steps.close()
                break
        if isinstance(batches, Loader) and first:
            # No batch is read to be left out.
            assert batches.made == number - first + 1
    assert [given[i + 1] for i in range(12)] == losses
    assert run.tensors["w"].read().tobytes() == weights
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["step-000000009", "step-000000012"]
    record = json.loads((tmp_path / "c/step-000000012/run.json").read_text())
    assert record["step"] == record["batches"] == 12 and record["settings"]["lr"]["schedule"] == SCHEDULE
    assert record["data"] == ({"text": '{"next": 12}'} if kind == "state_dict" else {})
    # The tool reads what Python has written.
    command = [tenon.native.tool(), "run", stored, "--checkpoints", tmp_path / "c", "--resume", "--until=12"]
    np.savez(tmp_path / "b.npz", **{name: np.stack([batch(0)[k]]) for k, name in enumerate(("x", "y"))})
    said = subprocess.run([*map(os.fspath, command), f"--batches={tmp_path / 'b.npz'}"], check=True, capture_output=True, text=True)
    assert "12 steps are complete" in said.stdout


def test_what_is_wrong_is_said(stored: Path, tmp_path: Path) -> None:
    """Before the first step where that can be known."""
    run = program(stored)
    with pytest.raises(tenon.ArgumentError, match="give the folder"):
        next(tenon.train(run, [batch(0)], resume=True))
    with pytest.raises(tenon.ArgumentError, match="the batch lacks lr"):
        next(tenon.train(run, [batch(0)]))
    options: dict[str, Any] = {"settings": {"lr": 0.1}, "checkpoints": tmp_path / "c"}
    assert [number for number, _ in tenon.train(run, map(batch, range(3)), **options)] == [1, 2, 3]
    with pytest.raises(tenon.ArgumentError, match="holds checkpoints already; go on from the newest with resume=True"):
        next(tenon.train(run, [batch(0)], **options))
    with pytest.raises(tenon.ArgumentError, match="the batches end after 1, the checkpoint was written after 3"):
        next(tenon.train(run, [batch(0)], **options, resume=True))

    class Opaque(Loader):
        def state_dict(self) -> dict:
            return {"next": object()}

    with pytest.raises(tenon.ArgumentError, match="cannot be saved as JSON"):
        next(tenon.train(run, Opaque(), settings={"lr": 0.1}, checkpoints=tmp_path / "d"))
    assert next(tenon.train(run, Loader(), settings={"lr": 0.1}, checkpoints=tmp_path / "e"))[0] == 1
    with pytest.raises(tenon.ArgumentError, match="these batches have no load_state_dict"):
        next(tenon.train(run, [batch(0)], settings={"lr": 0.1}, checkpoints=tmp_path / "e", resume=True))
    with tenon.Checkpoints(tmp_path / "c"), pytest.raises(tenon.FileError, match="another run is writing checkpoints"):
        tenon.Checkpoints(tmp_path / "c")


def test_damage_is_a_warning(stored: Path, tmp_path: Path) -> None:
    """The checkpoint before it is taken."""
    run = program(stored)
    list(tenon.train(run, map(batch, range(4)), settings={"lr": 0.1}, checkpoints=tmp_path / "c", save_every=2))
    (tmp_path / "c/step-000000004/run.json").write_text("{}")
    with tenon.Checkpoints(tmp_path / "c") as folder, pytest.warns(UserWarning, match="an older checkpoint is taken"):
        assert folder.newest() == 4
        assert folder.load(run) == tenon.Position(2, 2, None)
    assert run.tensors["seen"].read() == 2
