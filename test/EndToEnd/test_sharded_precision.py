"""Steps of lowered precision on several ranks: formats are those of one rank, and so are decisions about the whole step."""

from __future__ import annotations

import functools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import compare
import numpy as np
import pytest
import replays
from conftest import Steps, succeed
from safetensors.numpy import load_file, save_file
from test_ranks import CPU, STEPS, error_of, expect_as_exact, layouts_for, train

POLICIES = ("bf16", "bf16-state", "f16")
MODELS = ("01_mlp", "04_chargpt")
MESH, RANKS = "data=2,model=2", "--ranks=4"
# What one rounding to 16 bits may cost.
SMALLEST_ERROR = 4e-3


class Lowered:
    """Steps in a policy on one rank, from start values that all runs share, and the same in f64."""

    def __init__(self, steps: Steps, folder: Path, model: str, policy: str) -> None:
        text = steps[model].text
        self.info: dict[str, Any] = json.loads((steps.folder / f"{model}.json").read_text())
        self.inputs = folder / f"{model}-{policy}.inputs"
        save_file(compare.start_values(self.info), self.inputs)
        self.file = folder / f"{model}-{policy}.tenon"
        succeed("compile", text, f"--precision={policy}", CPU, "-o", self.file)
        self.results, _ = train(self.file, f"--inputs={self.inputs}", f"--steps={STEPS}")
        self.exact, _ = replays.replayed(text.read_text(), self.info, True, STEPS)


@pytest.fixture(scope="session")
def lowered(steps: Steps, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs on one rank by model and policy."""
    folder = tmp_path_factory.mktemp("lowered")
    return functools.cache(lambda model, policy: Lowered(steps, folder, model, policy))


def formats_of(text: Path, folder: Path, *options: object) -> list[dict[str, Any]]:
    """What the stage that chooses formats says of each value."""
    report = folder / "formats.json"
    succeed("compile", text, *options, CPU, f"--report={report}", "--compile-to=group", "-o", folder / "group.mlir")
    (stage,) = [stage for stage in json.loads(report.read_text())["stages"] if stage["stage"] == "precision"]
    return stage["formats"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sharding", ["solve", "file"])
def test_errors(steps: Steps, lowered: Any, tmp_path: Path, sharding: str, model: str, policy: str) -> None:
    """State is as close to that in f64 as on one rank, by layouts that are chosen and by those of a file."""
    one = lowered(model, policy)
    file = tmp_path / "step.tenon"
    (tmp_path / "layouts.txt").write_text(layouts_for(model, MESH))
    layouts = "solve" if sharding == "solve" else tmp_path / "layouts.txt"
    options = (f"--mesh={MESH}", f"--sharding={layouts}", f"--precision={policy}", "--verify-forms", CPU)
    said = succeed("compile", steps[model].text, *options, "-o", file)
    assert "warning" not in said
    found, _ = train(file, RANKS, f"--inputs={one.inputs}", f"--steps={STEPS}")
    expect_as_exact(found, one.results, one.exact, SMALLEST_ERROR)
    succeed("verify", file)


@pytest.mark.parametrize("policy", POLICIES)
def test_formats_are_those_of_one_rank(steps: Steps, tmp_path: Path, policy: str) -> None:
    """They are chosen before the step is cut."""
    text = steps["04_chargpt"].text
    alone = formats_of(text, tmp_path, f"--precision={policy}")
    assert alone
    assert formats_of(text, tmp_path, f"--precision={policy}", f"--mesh={MESH}") == alone


@pytest.mark.parametrize("policy", ["bf16", "bf16-state"])
def test_state_moves_between_meshes(lowered: Any, steps: Steps, tmp_path: Path, policy: str) -> None:
    """Users see whole tensors of f32, whatever holds them: what four ranks saved goes on with one, and with four to the same bits."""
    one = lowered("01_mlp", policy)
    file = tmp_path / "step.tenon"
    succeed("compile", steps["01_mlp"].text, f"--mesh={MESH}", f"--precision={policy}", CPU, "-o", file)
    save_file({f"arg{i}": value for i, value in enumerate(compare.start_values(one.info).values()) if i >= 12}, tmp_path / "batch")
    batch, kept = f"--inputs={tmp_path / 'batch'}", tmp_path / "kept"
    whole, _ = train(file, RANKS, f"--inputs={one.inputs}", "--steps=3")
    train(file, RANKS, f"--inputs={one.inputs}", "--steps=2", f"--checkpoints={kept}")
    shutil.copytree(kept, tmp_path / "for_one")
    resumed, _ = train(file, RANKS, batch, "--until=3", f"--checkpoints={kept}", "--resume")
    assert [value.tobytes() for value in whole] == [value.tobytes() for value in resumed]
    alone, _ = train(one.file, batch, "--until=3", f"--checkpoints={tmp_path / 'for_one'}", "--resume")
    for ours, theirs in zip(whole, alone, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert error_of(ours, theirs) < 0.02


def test_rounding_by_chance_does_not_know_the_mesh(tmp_path: Path) -> None:
    """Bits of a rounding come from the place of an element in the whole tensor."""
    text = tmp_path / "step.mlir"
    text.write_text("""
    func.func @main(%w: tensor<24x64xf32> {tf.aliasing_output = 0 : i32} loc("state['params']['w']"),
                    %x: tensor<24x64xf32> loc("x")) -> (tensor<24x64xf32> {jax.result_info = "result['params']['w']"}) {
      %new = stablehlo.add %w, %x : tensor<24x64xf32>
      return %new : tensor<24x64xf32>
    }
    """)
    random = np.random.default_rng(0)
    save_file({name: random.standard_normal((24, 64)).astype(np.float32) for name in ("arg0", "arg1")}, tmp_path / "inputs")
    found = {}
    for mesh, layout in [("", ""), ("data=2", "[data, -]"), ("data=2,model=2", "[model, data]"), ("data=4", "[-, data]")]:
        file = tmp_path / f"step{len(found)}.tenon"
        (tmp_path / "layouts.txt").write_text(f"arg0 = {layout}\n")
        options = (f"--mesh={mesh}", f"--sharding={tmp_path / 'layouts.txt'}") if mesh else ()
        succeed("compile", text, "--precision=bf16-state", *options, CPU, "-o", file)
        ranks = int(np.prod([int(axis.split("=")[1]) for axis in mesh.split(",")])) if mesh else 1
        saved = tmp_path / "saved.safetensors"
        succeed("run", file, f"--inputs={tmp_path / 'inputs'}", f"--ranks={ranks}", "--steps=5", f"--save={saved}")
        (found[mesh],) = [value for value in load_file(saved).values() if value.ndim == 2]
    assert len({value.tobytes() for value in found.values()}) == 1
    assert not np.any(found[""].view(np.uint32) & 0xFFFF)  # they are held as bf16


def test_all_ranks_skip_a_step(steps: Steps, lowered: Any, tmp_path: Path) -> None:
    """One rank alone has the example whose gradient is no number, and no rank moves its state."""
    one = lowered("01_mlp", "f16")
    file = tmp_path / "step.tenon"
    (tmp_path / "layouts.txt").write_text(layouts_for("01_mlp", "data=2"))
    succeed("compile", steps["01_mlp"].text, "--mesh=data=2", f"--sharding={tmp_path / 'layouts.txt'}", "--precision=f16", CPU, "-o", file)
    values = load_file(one.inputs)
    before = {name: value.copy() for name, value in values.items()}
    values["arg12"][-1] = np.inf
    save_file(values, tmp_path / "inputs")
    found, _ = train(file, "--ranks=2", f"--inputs={tmp_path / 'inputs'}", "--steps=1")
    state = [value for value in found if value.ndim > 0]
    assert state
    for i, value in enumerate(state):
        assert value.tobytes() == before[f"arg{i}"].tobytes(), i


def test_budget_changes_no_bit(steps: Steps, lowered: Any, tmp_path: Path) -> None:
    """Nor does it where ranks exchange 16 bits."""
    one = lowered("04_chargpt", "bf16")
    given = (steps["04_chargpt"].text, "--mesh=data=2", "--precision=bf16", CPU)
    found, budget = [], ()
    for name in ("all", "less"):
        file = tmp_path / f"{name}.tenon"
        succeed("compile", *given, *budget, "-o", file)
        found.append(train(file, "--ranks=2", f"--inputs={one.inputs}", "--steps=2")[0])
        sizes = re.findall(r"^(?:state|batch|results|temporaries|constants) +(\d+)$", succeed("inspect", file), re.M)
        budget = (f"--memory-budget={sum(map(int, sizes)) * 39 // 40}",)
    assert [value.tobytes() for value in found[0]] == [value.tobytes() for value in found[1]]
