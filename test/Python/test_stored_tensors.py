"""Programs that hold tensors in other forms than users see: values are copied, and arrays over memory are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("TENON_BUILD", str(ROOT / "build/dev"))

import numpy as np
import pytest
import tenon
from safetensors.numpy import load_file

BUILD = Path(os.environ["TENON_BUILD"])
REASONS = {
    "params.w": "held in two parts, a bf16 and an i16",
    "y": "held padded to f32[64]",
    "loss": "held converted to f64",
    "x": "a copy of it, laid out as f32[32, 48], would not follow",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample programs of the runtime's unit tests, with a state and a batch."""
    folder = tmp_path_factory.mktemp("samples")
    subprocess.run([BUILD / "bin/TenonWriteSample", folder], check=True)
    return folder


@pytest.fixture
def programs(folder: Path) -> dict[str, tenon.Program]:
    """A program that holds everything as it is and one that does not, with the same values."""
    programs = {name: tenon.load(folder / f"{name}.tenon") for name in ("kernels", "held")}
    for program in programs.values():
        program.load_state(folder / "state.safetensors")
        program.load_batch(folder / "batch.safetensors")
    return programs


def test_values_are_those_of_logical_tensors(programs: dict[str, tenon.Program]) -> None:
    """Steps return, and tensors give, what they do in the program that holds everything as it is."""
    plain, held = programs["kernels"], programs["held"]
    assert list(held.tensors) == list(plain.tensors)
    for _ in range(3):
        expected, found = plain.run(), held.run()
        assert {name: value.tobytes() for name, value in found.items()} == {name: value.tobytes() for name, value in expected.items()}
    weights = held.state["params.w"]
    assert weights.shape == (32,) and weights.dtype == np.float32
    assert weights.read().tobytes() == plain.state["params.w"].array.tobytes()
    assert np.array(weights, copy=True).tobytes() == weights.read().tobytes()


def test_written_values_reach_every_form(programs: dict[str, tenon.Program]) -> None:
    """The copy of x that the backward product reads follows what is written."""
    x = np.random.default_rng(3).normal(size=(48, 32)).astype(np.float32)
    for program in programs.values():
        program.batch["x"].write(x)
        program.step(2)
    plain, held = programs["kernels"], programs["held"]
    assert held.state["params.w"].read().tobytes() == plain.state["params.w"].read().tobytes()


@pytest.mark.parametrize("name", REASONS)
def test_arrays_are_refused_with_the_reason(programs: dict[str, tenon.Program], name: str) -> None:
    """There is no memory that holds the tensor and nothing else."""
    tensor = programs["held"].tensors[name]
    views = [
        lambda: tensor.array, lambda: np.asarray(tensor), tensor.__dlpack__, tensor.mark_written,
        lambda: programs["held"].bind(name, tenon.aligned(tensor.shape, tensor.dtype)),
    ]  # fmt: skip
    for view in views:
        with pytest.raises(tenon.ArgumentError) as error:
            view()
        assert REASONS[name] in str(error.value)


def test_files_of_one_load_in_the_other(programs: dict[str, tenon.Program], tmp_path: Path) -> None:
    """Hidden state is saved under its reserved name and missed by nobody."""
    plain, held = programs["kernels"], programs["held"]
    for program in programs.values():
        program.step(2)
    plain.save(tmp_path / "plain.safetensors")
    held.save(tmp_path / "held.safetensors")
    saved = {name: load_file(tmp_path / f"{name}.safetensors") for name in ("plain", "held")}
    assert int(saved["held"].pop("__tenon__.ran")) == 7
    assert {name: value.tobytes() for name, value in saved["held"].items()} == {
        name: value.tobytes() for name, value in saved["plain"].items()
    }
    held.load_state(tmp_path / "plain.safetensors")
    plain.load_state(tmp_path / "held.safetensors")
    for program in programs.values():
        program.step()
    assert held.state["params.w"].read().tobytes() == plain.state["params.w"].read().tobytes()


def test_inspect_says_how_tensors_are_held(folder: Path) -> None:
    """With the rule behind the name, and hidden state marked as such."""
    said = subprocess.run([BUILD / "bin/tenon", "inspect", folder / "held.tenon"], check=True, capture_output=True, text=True)
    for words in (
        "params.w (held in two parts, a bf16 and an i16)", "y (held padded to f32[64])", "loss (held converted to f64)",
        "x (copy laid out as f32[32, 48])", "__tenon__.ran (hidden state)", "entry point 'init': 1 instructions",
    ):  # fmt: skip
        assert words in said.stdout, words
