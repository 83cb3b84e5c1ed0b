"""Batches of a run: which file comes when, and that nothing is ever paired with what does not belong to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import refused, succeed
from safetensors.numpy import load_file, save_file

# The result is x * 1000 + y, so that it shows which x met which y.
PAIRS = """module @step {
  func.func public @main(%arg0: tensor<1xf32> {tf.aliasing_output = 0 : i32} loc("w"), %arg1: tensor<1xf32> loc("x"),
      %arg2: tensor<1xf32> loc("y"))
      -> (tensor<1xf32> {jax.result_info = "result['w']"}, tensor<f32> {jax.result_info = "result['pair']"}) {
    %thousand = stablehlo.constant dense<1.000000e+03> : tensor<1xf32>
    %large = stablehlo.multiply %arg1, %thousand : tensor<1xf32>
    %pair = stablehlo.add %large, %arg2 : tensor<1xf32>
    %w = stablehlo.add %arg0, %pair : tensor<1xf32>
    %scalar = stablehlo.reshape %pair : (tensor<1xf32>) -> tensor<f32>
    return %w, %scalar : tensor<1xf32>, tensor<f32>
  }
}
"""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled step."""
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "pairs.mlir").write_text(PAIRS)
    succeed("compile", folder / "pairs.mlir", "-o", folder / "pairs.tenon")
    save_file({"w": numbers(0)}, folder / "start.safetensors")
    return folder / "pairs.tenon"


def numbers(*values: float) -> np.ndarray:
    """Floats."""
    return np.array(values, np.float32)


def trained(program: Path, batches: Path, steps: int) -> list[int]:
    """What every step of a run was given."""
    metrics = batches.parent / "metrics.csv"
    start = program.parent / "start.safetensors"
    succeed("run", program, "--state", start, "--batches", batches, "--steps", steps, "--metrics", metrics)
    return [int(float(line.split(",")[1])) for line in metrics.read_text().splitlines()[1:]]


def refusal(program: Path, batches: Path, metrics: Path) -> str:
    """Why a run is refused; it must not have begun."""
    start = program.parent / "start.safetensors"
    said = refused(1, "run", program, "--state", start, "--batches", batches, "--steps", 300, "--metrics", metrics)
    assert not metrics.exists()
    return said


def write(folder: Path, **files: dict[str, np.ndarray]) -> Path:
    """A folder of batches."""
    folder.mkdir()
    for name, tensors in files.items():
        save_file(tensors, folder / f"{name}.safetensors")
    return folder


def test_tensors_of_different_lengths_are_refused(pairs: Path, tmp_path: Path) -> None:
    """Each would start over at its own end, and from then on nothing would fit together."""
    x, y = np.arange(100, dtype=np.float32)[:, None], np.arange(99, dtype=np.float32)[:, None]
    save_file({"x": x, "y": y}, tmp_path / "b.safetensors")
    said = refusal(pairs, tmp_path / "b.safetensors", tmp_path / "m.csv")
    assert "holds 100 steps of 'x' and 99 of 'y'" in said
    save_file({"x": x[:3], "y": y[:3]}, tmp_path / "b.safetensors")
    assert trained(pairs, tmp_path / "b.safetensors", 5) == [0, 1001, 2002, 0, 1001]


def test_files_come_in_natural_order(pairs: Path, tmp_path: Path) -> None:
    """Numbers in names count as numbers, of any length and with leading zeros; other characters by their bytes."""
    names = ["B9", "batch", "batch1", "batch2", "batch02", "batch10", "batch10a2", "batch10a10", "batch123456789012345678901"]
    names = sorted(names, key=lambda name: (name == "batch2", name))  # written in another order
    expected = ["B9", "batch", "batch1", "batch02", "batch2", "batch10", "batch10a2", "batch10a10", "batch123456789012345678901"]
    folder = write(tmp_path / "b", **{name: {"x": numbers(i), "y": numbers(i)} for i, name in enumerate(names)})
    assert trained(pairs, folder, len(names)) == [names.index(name) * 1001 for name in expected]


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ({"x": numbers(1)}, "b10.safetensors' lacks 'y', which '"),
        ({"x": numbers(1), "y": numbers(1, 2)}, "b10.safetensors' does not fit the program: 'y' is f32[2]"),
        ({"x": numbers(1), "y": np.ones(1, np.int64)}, "b10.safetensors' does not fit the program: 'y' is i64[1]"),
        ({"z": numbers(1)}, "b10.safetensors' holds no batch tensor; the step takes 'x', 'y'"),
        ({"x": numbers(1), "y": numbers(1), "w": numbers(1)}, "b10.safetensors' holds the state tensor 'w'"),
        (None, "b10.safetensors' cannot be read as a safetensors file"),
    ],
    ids=["missing", "shape", "type", "none", "state", "damaged"],
)
def test_every_file_is_checked_before_the_first_step(last: dict[str, np.ndarray] | None, message: str, pairs: Path, tmp_path: Path) -> None:
    """A fault in the last file is found before the first step, and the file named."""
    good = {"x": numbers(1), "y": numbers(2)}
    folder = write(tmp_path / "b", b1=good, b2=good, b10=last or good)
    if last is None:
        (folder / "b10.safetensors").write_bytes(b"no tensors")
    assert message in refusal(pairs, folder, tmp_path / "m.csv")


def test_a_tensor_that_only_a_later_file_has(pairs: Path, tmp_path: Path) -> None:
    """The first file may not give less than the others either."""
    folder = write(tmp_path / "b", b1={"x": numbers(1)}, b2={"x": numbers(1), "y": numbers(2)})
    assert "b1.safetensors' lacks 'y', which '" in refusal(pairs, folder, tmp_path / "m.csv")


def test_what_no_batch_gives_may_come_from_inputs(pairs: Path, tmp_path: Path) -> None:
    """A tensor that is the same in every step needs not be in the batches, as long as none of them has it."""
    folder = write(tmp_path / "b", b1={"x": numbers(1)}, b2={"arg1": numbers(2), "other": numbers(1)})
    save_file({"w": numbers(0), "y": numbers(7)}, tmp_path / "inputs.safetensors")
    succeed(
        "run", pairs, "--inputs", tmp_path / "inputs.safetensors", "--batches", folder, "--steps", 3,
        "--save", tmp_path / "w.safetensors",
    )  # fmt: skip
    assert load_file(tmp_path / "w.safetensors")["w"] == 1007 + 2007 + 1007


def test_a_file_that_changes_while_the_run_goes_on(pairs: Path, tmp_path: Path) -> None:
    """What was checked is checked again when its turn comes: here the second file is the metrics of the first step."""
    folder = write(tmp_path / "b", b1={"x": numbers(1), "y": numbers(2)}, b2={"x": numbers(1), "y": numbers(2)})
    said = refused(
        1, "run", pairs, "--state", pairs.parent / "start.safetensors", "--batches", folder, "--steps", 2,
        "--save", tmp_path / "w.safetensors", "--metrics", folder / "b2.safetensors",
    )  # fmt: skip
    assert "b2.safetensors' cannot be read as a safetensors file" in said
    assert "1 of 2 steps are complete; this run saved no state" in said and not (tmp_path / "w.safetensors").exists()
