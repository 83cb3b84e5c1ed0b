"""Dots that say how they are computed: what JAX exports, compiled and interpreted, against the same arithmetic in numpy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import jax
import ml_dtypes
import numpy as np
import pytest
from conftest import refused, succeed
from jax.lax import DotAlgorithmPreset
from safetensors.numpy import load_file, save_file

SHAPE = (24, 160, 40)  # large enough for the library


def bf16(x: np.ndarray) -> np.ndarray:
    """Rounded to bf16."""
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def tf32(x: np.ndarray) -> np.ndarray:
    """Rounded to ten digits of fraction, ties to even."""
    raw = x.view(np.uint32)
    return ((raw + 0xFFF + ((raw >> 13) & 1)) & ~np.uint32(0x1FFF)).view(np.float32)


def components(x: np.ndarray, rounded: Callable, count: int) -> list[np.ndarray]:
    """Each is what the ones before left, rounded."""
    parts = []
    for _ in range(count):
        parts.append(rounded(x))
        x = x - parts[-1]
    return parts


def products(rounded: Callable, count: int) -> Callable:
    """The sum of as many products of components, in f64."""

    def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        parts = {1: 1, 3: 2, 6: 3, 9: 3}[count]
        pairs = sorted(((i, j) for i in range(parts) for j in range(parts)), key=sum)[:count]
        left, right = components(x, rounded, parts), components(y, rounded, parts)
        return sum(left[i].astype(np.float64) @ right[j].astype(np.float64) for i, j in pairs)

    return multiply


ALGORITHMS = {
    "BF16_BF16_F32": products(bf16, 1),
    "BF16_BF16_F32_X3": products(bf16, 3),
    "BF16_BF16_F32_X6": products(bf16, 6),
    "BF16_BF16_F32_X9": products(bf16, 9),
    "TF32_TF32_F32": products(tf32, 1),
    "TF32_TF32_F32_X3": products(tf32, 3),
    "F32_F32_F32": products(lambda x: x, 1),
}


def export(step: Callable, *examples: object) -> str:
    """The text that JAX exports."""
    return jax.jit(step).trace(*examples).lower(lowering_platforms=("cpu",)).as_text()


def algorithm(precision: str, accumulation: str, count: int) -> str:
    """A product of two matrices, as JAX exports it for the CPU, with an algorithm that JAX exports for others only."""
    m, k, n = SHAPE
    text = export(
        lambda a, b: jax.lax.dot(a, b, precision=DotAlgorithmPreset.F32_F32_F32), np.zeros((m, k), np.float32), np.zeros((k, n), np.float32)
    )
    wanted = (
        f"lhs_precision_type = {precision}, rhs_precision_type = {precision}, accumulation_type = {accumulation}, "
        f"lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = {count},"
    )
    text, found = re.subn(r"lhs_precision_type.*num_primitive_operations = \d+,", wanted, text)
    assert found == 1
    return text


def run(folder: Path, text: str, inputs: list[np.ndarray], *options: str) -> list[np.ndarray]:
    """The first result: compiled for two feature sets, and interpreted."""
    source, given = folder / "dot.mlir", folder / "inputs.safetensors"
    source.write_text(text)
    save_file({f"arg{i}": x for i, x in enumerate(inputs)}, given)
    found = []
    for cpu in ("x86-64-v3", "host"):
        succeed("compile", source, f"--cpu={cpu}", *options, "-o", folder / "dot.tenon")
        succeed("run", folder / "dot.tenon", "--inputs", given, "--outputs", folder / "out.safetensors")
        found.append(load_file(folder / "out.safetensors")["result0"])
    succeed("run", source, "--reference", "--inputs", given, "--outputs", folder / "out.safetensors")
    found.append(load_file(folder / "out.safetensors")["result0"])
    return found


@pytest.mark.parametrize("name", ALGORITHMS)
def test_rounds_as_asked(name: str, tmp_path: Path) -> None:
    """Far nearer to the algorithm's own result than that is to the exact one, wherever they can be told apart."""
    m, k, n = SHAPE
    generator = np.random.default_rng(5)
    # Terms of one sign: no sum loses what tells the algorithms apart.
    x, y = (generator.uniform(1, 2, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    precision, _, accumulation, *products_of = name.lower().split("_")
    text = algorithm(precision, accumulation, int(products_of[0][1:]) if products_of else 1)
    expected = ALGORITHMS[name](x, y)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    # 160 terms of f32, rounded after each.
    bound = 2e-6 if name != "F32_F32_F32" else 4e-6
    apart = np.max(np.abs(expected - exact) / exact)
    if name in ("BF16_BF16_F32", "TF32_TF32_F32"):
        assert apart > 20 * bound
    for found in run(tmp_path, text, [x, y]):
        assert np.max(np.abs(found - expected) / exact) < bound


def test_sums_in_f64(tmp_path: Path) -> None:
    """f32 operands multiplied and summed in f64: what f32 would lose stays."""
    m, k, n = SHAPE
    x, y = np.zeros((m, k), np.float32), np.ones((k, n), np.float32)
    x[:, :3] = [1.0, 2.0**-30, -1.0]
    for found in run(tmp_path, algorithm("f64", "f64", 1), [x, y]):
        assert (found == np.float32(2.0**-30)).all()


@pytest.mark.parametrize("name", ["BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "F16_F16_F16", "F32_F32_F32"])
def test_what_jax_exports(name: str, tmp_path: Path) -> None:
    """The presets that JAX knows on the CPU, small whole numbers, which every algorithm multiplies exactly."""
    x, y = np.arange(24, dtype=np.float32).reshape(4, 6), np.arange(30, dtype=np.float32).reshape(6, 5) - 7
    text = export(lambda a, b: jax.lax.dot(a, b, precision=DotAlgorithmPreset[name]), x, y)
    assert "algorithm" in text
    for found in run(tmp_path, text, [x, y]):
        np.testing.assert_array_equal(found, x @ y)


def test_infinite_operands(tmp_path: Path) -> None:
    """Components of what is infinite make no NaN of an infinite product."""
    x = np.array([[np.inf, 1.0], [1.0, 2.0], [-np.inf, np.nan]], np.float32)
    y = np.array([[1.5, 2.0, 3.0], [0.5, 1.0, 1.0]], np.float32)
    text = export(lambda a, b: jax.lax.dot(a, b, precision=DotAlgorithmPreset.BF16_BF16_F32_X3), x, y)
    with np.errstate(invalid="ignore"):
        expected = x @ y
    for found in run(tmp_path, text, [x, y]):
        np.testing.assert_array_equal(found, expected)


def test_precision_config_changes_nothing(tmp_path: Path) -> None:
    """DEFAULT is as exact as HIGHEST, whatever the environment tells the library."""
    generator = np.random.default_rng(5)
    x, y = (generator.uniform(1, 2, shape).astype(np.float32) for shape in ((24, 160), (160, 40)))
    results = []
    for precision in ("default", "high", "highest"):
        text = export(lambda a, b, precision=precision: jax.lax.dot(a, b, precision=precision), x, y)
        results.append(run(tmp_path, text, [x, y]))
    for compiled in zip(*results, strict=True):
        assert all((one == compiled[0]).all() for one in compiled)


def test_what_nobody_computes_is_refused(tmp_path: Path) -> None:
    """Exit code 4, and why, from the compiler and from the interpreter."""
    text = export(
        lambda a, b: jax.lax.dot(a, b, precision=DotAlgorithmPreset.BF16_BF16_F32_X3),
        np.ones((2, 3), np.float32),
        np.ones((3, 2), np.float32),
    )
    assert "num_primitive_operations = 3" in text
    source = tmp_path / "dot.mlir"
    source.write_text(text.replace("num_primitive_operations = 3", "num_primitive_operations = 4"))
    said = refused(4, "compile", source, "-o", tmp_path / "dot.tenon")
    assert "asks for an algorithm that is not supported: 4 products of 3 and 3 components" in said
    save_file({"arg0": np.ones((2, 3), np.float32), "arg1": np.ones((3, 2), np.float32)}, tmp_path / "inputs.safetensors")
    said = refused(4, "run", source, "--reference", "--inputs", tmp_path / "inputs.safetensors")
    assert "asks for an algorithm, 4 products of 3 and 3 components, which is not supported" in said
