"""Steps that are compiled for several ranks train as the step on one rank does."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import compare
import numpy as np
import pytest
import replays
from conftest import Steps, refused, succeed
from safetensors.numpy import load_file, save_file

STEPS = 3
BATCH = {"01_mlp": "arg12 = [data, -]\narg13 = [data]\n", "04_chargpt": "arg157 = [data, -]\narg158 = [data, -]\n"}
BLOCK = {
    "fc1.kernel": "[-, model]", "fc1.bias": "[model]", "fc2.kernel": "[model, -]",
    "qkv.kernel": "[-, model]", "qkv.bias": "[model]", "proj.kernel": "[model, -]",
}  # fmt: skip
MEGATRON = {
    "01_mlp": "params.l1.kernel = [-, model]\nparams.l1.bias = [model]\nparams.l2.kernel = [model, -]\n",
    "04_chargpt": "".join(f"params.h{block}.{name} = {layout}\n" for block in range(4) for name, layout in BLOCK.items()),
}
MESHES = {"data=2": 2, "data=4": 4, "model=2": 2, "model=4": 4, "data=2,model=2": 4}
CPU = "--cpu=x86-64-v3"


def layouts_for(model: str, mesh: str) -> str:
    """The batch is cut along `data`, parameters along `model`."""
    return BATCH[model] * ("data" in mesh) + MEGATRON[model] * ("model" in mesh)


def compiled_for(steps: Steps, model: str, mesh: str, folder: Path, *options: object) -> Path:
    """The step as a file for the ranks of the mesh; for one rank without a mesh."""
    file = folder / f"{model}-{mesh.replace(',', '-')}.tenon"
    if mesh:
        (folder / "layouts.txt").write_text(layouts_for(model, mesh))
        options = (f"--mesh={mesh}", f"--sharding={folder / 'layouts.txt'}", "--verify-forms", *options)
    succeed("compile", steps[model].text, *options, CPU, "-o", file)
    return file


def train(file: Path, *arguments: object) -> tuple[list[np.ndarray], list[str]]:
    """The results of the last step, in order, and the lines of the metrics."""
    outputs, metrics = file.with_suffix(".outputs"), file.with_suffix(".csv")
    succeed("run", file, *arguments, f"--outputs={outputs}", f"--metrics={metrics}")
    found = load_file(outputs)
    return [found[f"result{i}"] for i in range(len(found))], metrics.read_text().splitlines()


def error_of(found: np.ndarray, exact: np.ndarray) -> float:
    """The distance in the 2-norm, relative to the exact tensor."""
    exact = exact.astype(np.float64)
    return float(np.linalg.norm(found.astype(np.float64) - exact) / max(np.linalg.norm(exact), 1e-30))


def expect_as_exact(found: list[np.ndarray], alone: list[np.ndarray], exact: list[Any], least: float = 1e-6, jumps: bool = False) -> None:
    """Tensors are about as close to f64 as those of one rank, whose errors count as at least `least`; whole numbers are the same.

    With `jumps`, an element in front of a ReLU may be on the other side of zero: that moves one channel of what is behind it by far more
    than rounding, and all gradients in front of it by somewhat more.
    """
    ratios = []
    for ours, theirs, reference in zip(found, alone, exact, strict=False):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        wide = np.asarray(reference)
        if np.issubdtype(ours.dtype, np.floating):
            ratios.append(error_of(ours, wide) / max(error_of(theirs, wide), least))
        else:
            np.testing.assert_array_equal(ours, theirs)
    assert ratios
    assert np.median(ratios) <= 2
    assert np.quantile(ratios, 0.9 if jumps else 1) <= 8
    assert max(ratios) <= 100


class Reference:
    """A step on one rank and in f64, from start values that all runs share."""

    def __init__(self, steps: Steps, model: str, folder: Path) -> None:
        self.info: dict[str, Any] = json.loads((steps.folder / f"{model}.json").read_text())
        self.inputs = folder / f"{model}.inputs"
        save_file(compare.start_values(self.info), self.inputs)
        self.file = compiled_for(steps, model, "", folder)
        self.results, self.metrics = train(self.file, f"--inputs={self.inputs}", f"--steps={STEPS}")
        self.exact, _ = replays.replayed(steps[model].text.read_text(), self.info, True, STEPS)


@pytest.fixture(scope="session")
def reference(steps: Steps, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """References by the names of steps."""
    folder = tmp_path_factory.mktemp("one-rank")
    return functools.cache(lambda model: Reference(steps, model, folder))


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("model", list(BATCH))
def test_errors(steps: Steps, reference: Any, tmp_path: Path, model: str, mesh: str) -> None:
    """State is as close to that in f64 as on one rank, and the same bits in every run."""
    one = reference(model)
    file = compiled_for(steps, model, mesh, tmp_path)
    ranks = f"--ranks={MESHES[mesh]}"
    found, metrics = train(file, ranks, f"--inputs={one.inputs}", f"--steps={STEPS}")
    again, metrics_again = train(file, ranks, f"--inputs={one.inputs}", f"--steps={STEPS}", "--threads=1")
    assert metrics == metrics_again
    assert [value.tobytes() for value in found] == [value.tobytes() for value in again]
    expect_as_exact(found, one.results, one.exact)
    succeed("verify", file)


def test_collectives_are_reported(steps: Steps, tmp_path: Path) -> None:
    """The gradient of each of the six parameters is summed, and so is the loss."""
    compiled_for(steps, "01_mlp", "data=2", tmp_path, f"--report={tmp_path / 'report.json'}")
    stages = json.loads((tmp_path / "report.json").read_text())["stages"]
    (shard,) = [stage for stage in stages if stage["stage"] == "shard"]
    assert shard["collectives"] == {"all_reduce": 7}
    assert (shard["mesh"], shard["ranks"]) == ("data=2", 2)


def test_state_moves_between_meshes(steps: Steps, reference: Any, tmp_path: Path) -> None:
    """What four ranks saved goes on with one, and the other way round."""
    one = reference("01_mlp")
    file = compiled_for(steps, "01_mlp", "data=2,model=2", tmp_path)
    save_file({f"arg{i}": value for i, value in enumerate(compare.start_values(one.info).values()) if i >= 12}, tmp_path / "batch")
    shapes = []
    for first, second in [((file, "--ranks=4"), (one.file,)), ((one.file,), (file, "--ranks=4"))]:
        saved = tmp_path / "saved.safetensors"
        train(*first, f"--inputs={one.inputs}", "--steps=2", f"--save={saved}")
        shapes.append({name: value.shape for name, value in load_file(saved).items()})
        found, _ = train(*second, f"--state={saved}", f"--inputs={tmp_path / 'batch'}", "--steps=1")
        for ours, alone in zip(found, one.results, strict=True):
            np.testing.assert_allclose(ours, alone, rtol=2e-5, atol=2e-6)
    assert shapes[0] == shapes[1]


def test_batches_and_checkpoints(steps: Steps, reference: Any, tmp_path: Path) -> None:
    """Batches are cut by the plan, and a run that was stopped goes on with the same bits."""
    one = reference("01_mlp")
    file = compiled_for(steps, "01_mlp", "data=2", tmp_path)
    values = list(compare.start_values(one.info).values())
    save_file({f"arg{i}": np.stack([np.roll(values[i], step, axis=0) for step in range(4)]) for i in (12, 13)}, tmp_path / "b.safetensors")
    save_file({f"arg{i}": value for i, value in enumerate(values) if i < 12}, tmp_path / "state")
    given = (f"--inputs={tmp_path / 'state'}", f"--batches={tmp_path / 'b.safetensors'}")
    alone, _ = train(one.file, *given, "--steps=4")
    whole, _ = train(file, "--ranks=2", *given, "--steps=4")
    for ours, theirs in zip(whole, alone, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)
    kept = f"--checkpoints={tmp_path / 'kept'}"
    train(file, "--ranks=2", *given, "--steps=2", kept)
    resumed, _ = train(file, "--ranks=2", f"--batches={tmp_path / 'b.safetensors'}", "--until=4", kept, "--resume")
    assert [value.tobytes() for value in whole] == [value.tobytes() for value in resumed]


def test_budget(steps: Steps, reference: Any, tmp_path: Path) -> None:
    """Under a budget of a rank, collectives are not computed again, and the bits stay."""
    one = reference("04_chargpt")
    files = [compiled_for(steps, "04_chargpt", "data=2", tmp_path)]
    planned = succeed("inspect", files[0])
    needed = sum(int(bytes) for bytes in re.findall(r"^(?:state|batch|results|temporaries|constants) +(\d+)$", planned, re.M))
    (tmp_path / "less").mkdir()
    files.append(compiled_for(steps, "04_chargpt", "data=2", tmp_path / "less", f"--memory-budget={needed - needed // 40}"))
    found = [train(file, "--ranks=2", f"--inputs={one.inputs}", "--steps=2")[0] for file in files]
    assert [value.tobytes() for value in found[0]] == [value.tobytes() for value in found[1]]
    succeed("verify", files[1])


def test_refusals(steps: Steps, reference: Any, tmp_path: Path) -> None:
    """What is missing or does not fit is said before anything runs."""
    one = reference("01_mlp")
    file = compiled_for(steps, "01_mlp", "data=2", tmp_path)
    assert "compiled for 2 ranks (--mesh=data=2), not for 1; run it with --ranks=2" in refused(1, "run", file, "--zero-state")
    assert "not for 3" in refused(1, "run", file, "--zero-state", "--ranks=3")
    assert "compiled for one rank, not for 2" in refused(1, "run", one.file, "--zero-state", "--ranks=2")
    text, out = steps["01_mlp"].text, ("-o", tmp_path / "none.tenon", CPU)
    assert "is no axis" in refused(2, "compile", text, "--mesh=data=none", *out)
    assert "--sharding needs the ranks" in refused(2, "compile", text, "--sharding=propagate", *out)
    assert "the step has no shardings" in refused(1, "compile", text, "--mesh=data=2", "--sharding=propagate", *out)
