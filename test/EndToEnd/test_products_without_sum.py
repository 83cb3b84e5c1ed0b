"""Dots that contract nothing, or extents of one: compiled as element-wise products with the interpreter's bits."""

from __future__ import annotations

from pathlib import Path

import compare
import ml_dtypes
import numpy as np
import pytest
from conftest import BUILD, Steps, succeed
from safetensors.numpy import load_file, save_file
from test_models import judge

TYPES = {
    "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f64": np.float64, "i8": np.int8, "i32": np.int32,
    "ui8": np.uint8, "i1": np.bool_,
}  # fmt: skip

# Element types of the operands and of the result.
PAIRS = [
    ("f32", "f32"), ("bf16", "f32"), ("bf16", "bf16"), ("f16", "f16"), ("f16", "f32"), ("f32", "bf16"), ("f64", "f64"),
    ("f32", "f64"), ("i8", "i32"), ("i32", "i32"), ("ui8", "ui8"), ("i1", "i1"),
]  # fmt: skip

# Shapes of the operands, the dimensions that are batched and contracted, and the shape of the result.
LAYOUTS = {
    "outer product": ([12], [12], "contracting_dims = [] x []", [12, 12]),
    "inner extents of one": ([12, 1], [1, 12], "contracting_dims = [1] x [0]", [12, 12]),
    "outer extents of one": ([1, 12], [12, 1], "contracting_dims = [0] x [1]", [12, 12]),
    "two of them": ([1, 12, 1], [1, 1, 12], "contracting_dims = [2, 0] x [0, 1]", [12, 12]),
    "batches in the middle": ([2, 3, 4, 5], [3, 2, 5], "batching_dims = [1, 3] x [0, 2], contracting_dims = [] x []", [3, 5, 2, 4, 2]),
    "crossed batches": ([4, 3, 1], [3, 1, 4], "batching_dims = [1, 0] x [0, 2], contracting_dims = [2] x [1]", [3, 4]),
}


def numbers(element: str, count: int) -> np.ndarray:
    """Zeros and ones of both signs, infinities, NaN, numbers whose products overflow and underflow, and others."""
    kind = TYPES[element]
    random = np.random.default_rng(count)
    if element == "i1":
        return random.integers(0, 2, count).astype(kind)
    if np.dtype(kind).kind in "iu":
        limits = np.iinfo(kind)
        return random.integers(limits.min, limits.max, count, endpoint=True, dtype=kind)
    limits = ml_dtypes.finfo(kind)
    tiny, largest = float(limits.tiny), float(limits.max)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, tiny, -tiny, tiny / 4, -tiny / 4, largest, -largest, 2.0**-64, -(2.0**-64)]
    values = np.where(random.random(count) < 0.5, random.choice(special, count), random.standard_normal(count))
    with np.errstate(over="ignore"):
        return values.astype(kind)


@pytest.mark.parametrize("subnormals", ["flush", "keep"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_bits(pair: tuple[str, str], subnormals: str, tmp_path: Path) -> None:
    """Every layout of every pair of types, with numbers of every kind."""
    element, result = pair
    arguments, lines, returned, kinds, inputs = [], [], [], [], {}
    for index, (left, right, dimensions, shape) in enumerate(LAYOUTS.values()):
        shapes = ((left, element), (right, element), (shape, result))
        types = [f"tensor<{'x'.join(map(str, dims))}x{kind}>" for dims, kind in shapes]
        for side, dims in enumerate((left, right)):
            name = f"arg{2 * index + side}"
            arguments.append(f"%{name}: {types[side]}")
            inputs[name] = numbers(element, int(np.prod(dims)) + side).ravel()[: int(np.prod(dims))].reshape(dims)
        operands = f"%arg{2 * index}, %arg{2 * index + 1}"
        lines.append(f"%{index} = stablehlo.dot_general {operands}, {dimensions} : ({types[0]}, {types[1]}) -> {types[2]}")
        returned.append(f"%{index}")
        kinds.append(types[2])
    program = tmp_path / "dots.mlir"
    program.write_text(
        "\n".join([
            f"func.func @main({', '.join(arguments)}) -> ({', '.join(kinds)}) {{", *lines,
            f"return {', '.join(returned)} : {', '.join(kinds)}", "}", "",
        ])
    )  # fmt: skip
    save_file(inputs, tmp_path / "inputs.safetensors")
    runs = []
    for how in (["--threads=2"], ["--reference"]):
        outputs = tmp_path / "outputs.safetensors"
        options = ["--inputs", tmp_path / "inputs.safetensors", "--subnormals", subnormals, "--outputs", outputs]
        succeed("run", program, *how, *options)
        runs.append(load_file(outputs))
    for index, name in enumerate(LAYOUTS):
        compiled, interpreted = (run[f"result{index}"] for run in runs)
        nan = interpreted != interpreted
        assert np.array_equal(compiled != compiled, nan), name
        assert compiled[~nan].tobytes() == interpreted[~nan].tobytes(), name
    simplified = tmp_path / "simplified.mlir"
    succeed("compile", program, "--compile-to=simplify", "-o", simplified)
    assert "dot_general" not in simplified.read_text()


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
def test_rotary_embedding(steps: Steps, tmp_path: Path, interpreted: bool) -> None:
    """A transformer whose rotary embeddings are einsums without a sum is as close to the exact step as JAX."""
    name = "20_roformer"
    text = steps[name].text
    assert "contracting_dims = [] x []" in text.read_text()
    simplified = tmp_path / "simplified.mlir"
    succeed("compile", text, "--compile-to=simplify", "-o", simplified)
    assert "contracting_dims = [] x []" not in simplified.read_text()
    judge(compare.compare(BUILD, steps.folder, name, interpreted=interpreted), name)
