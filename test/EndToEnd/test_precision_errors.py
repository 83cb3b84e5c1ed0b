"""`tenon plan --error`: what lower precision costs, where the answer is known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from conftest import HAS_BF16, IN_BF16, Steps, compiled, refused, succeed
from safetensors.numpy import load_file, save_file
from test_precision import lowering


@dataclass(frozen=True)
class Line:
    """What is said of a gradient or result."""

    format: str
    decibels: float  # infinite where nothing is lost
    bias: float | None
    flushed: float
    dearest: str


def errors(source: Path, *options: object) -> tuple[dict[str, Line], str]:
    """What `tenon plan --error` says of each gradient and result, and the whole text."""
    narrow = IN_BF16 if any(str(option).startswith("--precision=bf16") for option in options) else []
    said = succeed("plan", "--error", source, *dict.fromkeys([*narrow, *options]))
    number = r"(exact|-|-?inf|-?[\d.]+)"
    rows = re.findall(rf"^ *(\w+) +{number} +{number} +([\d.]+) %  (.*?) +((?:gradient|result) .*)$", said, re.MULTILINE)
    assert rows, said
    return {
        what: Line(
            format, np.inf if decibels == "exact" else float(decibels), None if bias == "-" else float(bias), float(flushed) / 100, dearest
        )
        for format, decibels, bias, flushed, dearest, what in rows
    }, said


def decibels(values: np.ndarray, exact: np.ndarray) -> float:
    """Signal over noise."""
    return float(10 * np.log10(np.sum(exact**2) / np.sum((values.astype(np.float64) - exact) ** 2)))


# The gradient of w is the transpose of x times d; y rounds x and nothing else.
LINEAR = """func.func public @main(%w: tensor<256x128xf32> loc("w"), %x: tensor<512x256xf32> loc("x"), %d: tensor<512x128xf32> loc("d"),
    %one: tensor<256x256xf32> loc("one")) -> (
    tensor<256x128xf32> {jax.result_info = "result['w']"},
    tensor<512x256xf32> {jax.result_info = "result['y']"},
    tensor<f32> {jax.result_info = "result['z']"}) {
  %rate = stablehlo.constant dense<0.1> : tensor<256x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<512x256xf32>, tensor<512x128xf32>) -> tensor<256x128xf32>
  %1 = stablehlo.multiply %0, %rate : tensor<256x128xf32>
  %2 = stablehlo.subtract %w, %1 : tensor<256x128xf32>
  %3 = stablehlo.dot_general %x, %one, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  %4 = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x128xf32>, tensor<f32>) -> tensor<f32>
  return %2, %3, %4 : tensor<256x128xf32>, tensor<512x256xf32>, tensor<f32>
}
"""
ROLES = '{"w": {"role": "parameter", "result": 0}, "x": {"role": "batch"}, "d": {"role": "batch"}, "one": {"role": "batch"}}'
SMALLEST_IN_F32 = 120  # dB of a sum of a thousand products


@pytest.fixture
def linear(tmp_path: Path) -> tuple[Path, str]:
    """The text of the linear step, and the option that says what its arguments are."""
    source, roles = tmp_path / "linear.mlir", tmp_path / "roles.json"
    source.write_text(LINEAR)
    roles.write_text(ROLES)
    return source, f"--roles={roles}"


def inputs(scratch: Path, x: np.ndarray) -> tuple[dict[str, np.ndarray], str]:
    """Arguments of the linear step with these rows, and the option that gives them."""
    random = np.random.default_rng(3)
    path = scratch / "inputs.safetensors"
    values = {
        "w": random.uniform(-1, 1, (256, 128)).astype(np.float32),
        "x": x.astype(np.float32),
        "d": random.normal(size=(512, 128)).astype(np.float32),
        "one": np.eye(256, dtype=np.float32),
    }
    save_file(values, path)
    return values, f"--inputs={path}"


def rounded(values: np.ndarray) -> np.ndarray:
    """To the nearest bf16."""
    return values.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)


def test_known_errors(linear: tuple[Path, str], tmp_path: Path) -> None:
    """The errors of a gradient and a result are those of rounding their operands, which is what costs most."""
    values, given = inputs(tmp_path, np.random.default_rng(4).normal(size=(512, 256)))
    lines, said = errors(*linear, "--precision=bf16", given)
    assert set(lines) == {"gradient w", "result w", "result y", "result z"}
    gradient, result, scalar = lines["gradient w"], lines["result y"], lines["result z"]
    assert "random start values" not in said and said.startswith("1 step, ")
    if not HAS_BF16:
        assert gradient.decibels > SMALLEST_IN_F32 and result.decibels > SMALLEST_IN_F32
        return
    x, d = (values[name].astype(np.float64) for name in ("x", "d"))
    product = rounded(x).T @ rounded(d)
    expected = decibels(rounded(product) if gradient.format == "bf16" else product, x.T @ d)
    assert gradient.decibels == pytest.approx(expected, abs=0.02)
    assert result.decibels == pytest.approx(decibels(rounded(x), x), abs=0.02)
    assert result.bias is not None and abs(result.bias) < 5 and result.flushed == 0
    # A sum of f32 has no 16 bits in it, and one element has no standard error.
    assert scalar.decibels > SMALLEST_IN_F32 and scalar.bias is None and scalar.dearest == "-"
    # Of the result everything comes from the rows; of the gradient half of it.
    line = next(i for i, text in enumerate(LINEAR.splitlines(), 1) if "%3 = stablehlo.dot_general" in text)
    share, number = re.fullmatch(r"(\d+) % by #(\d+)", result.dearest).groups()
    assert share == "100" and re.search(rf"^ *#{number}  operands of stablehlo.dot_general .*:{line}:", said, re.MULTILINE)
    assert re.fullmatch(r"\d+ % by #\d+", gradient.dearest)


def test_state_in_bf16(linear: tuple[Path, str], tmp_path: Path) -> None:
    """State that is written by stochastic rounding: its error has the size of that rounding, and no sign."""
    _, given = inputs(tmp_path, np.random.default_rng(4).normal(size=(512, 256)))
    lines, _ = errors(*linear, "--precision=bf16-state", given)
    assert set(lines) == {"gradient w", "result w", "result y", "result z"}
    state = lines["result w"]
    assert 40 < state.decibels < 60
    assert state.bias is not None and abs(state.bias) < 5


def test_bias(linear: tuple[Path, str], tmp_path: Path) -> None:
    """Rows that are all rounded down have an error with a sign, which SQNR does not show."""
    offsets = np.random.default_rng(5).uniform(0.1, 0.4, (512, 256))
    _, given = inputs(tmp_path, 1 + offsets * 2**-7)
    lines, _ = errors(*linear, "--precision=bf16", given)
    result = lines["result y"]
    assert result.bias is not None
    if HAS_BF16:
        error = -offsets * 2**-7
        expected = error.mean() / (error.std(ddof=1) / np.sqrt(error.size))
        assert result.bias == pytest.approx(expected, rel=1e-3) and result.bias < -1000
    else:
        assert abs(result.bias) < 5


@pytest.mark.parametrize("kept", ["flush", "keep"])
def test_flushed_to_zero(linear: tuple[Path, str], kept: str, tmp_path: Path) -> None:
    """A quarter of the products is too small for f32 with all its digits, and counts as zero unless such numbers are kept."""
    random = np.random.default_rng(6)
    x = np.where(np.arange(256) % 4 == 0, 2.0**-65, 1.0) * random.uniform(1, 2, (512, 256))
    values, given = inputs(tmp_path, x)
    values["one"] *= np.float32(2.0**-64)
    save_file(values, tmp_path / "inputs.safetensors")
    lines, _ = errors(*linear, "--precision=f32", f"--subnormals={kept}", given)
    assert lines["result y"].flushed == (0.25 if kept == "flush" else 0)
    assert lines["result y"].format == lines["gradient w"].format == "f32"


@pytest.mark.parametrize("name", ["01_mlp", "08_lstm"])
def test_gradients(steps: Steps, name: str, tmp_path: Path) -> None:
    """Every parameter has its gradient; in f32 it has the digits of f32, in bf16 those that training needs."""
    step = steps[name]
    parameters = [leaf["path"] for leaf in step.info["args"] if leaf["path"].startswith("arg0['params']")]
    given = f"--inputs={step.inputs}"
    wide, _ = errors(step.text, "--precision=f32", given)
    narrow, said = errors(step.text, *lowering(name, tmp_path), given, "--steps=2", "--search-runs=4")
    found = {what.removeprefix("gradient ") for what in wide if what.startswith("gradient ")}
    assert len(found) == len(parameters) > 0 and all(name.startswith("params.") for name in found)
    assert wide.keys() == narrow.keys()
    exact, lowered = ([line.decibels for what, line in lines.items() if what.startswith("gradient ")] for lines in (wide, narrow))
    assert np.median(exact) > SMALLEST_IN_F32 and 30 < np.median(lowered) < 80
    assert f"{len(found)} gradients: median " in said and said.startswith("2 steps, ")
    assert all(line.dearest == "-" for line in wide.values())


def test_predicted_as_interpreted(steps: Steps, tmp_path: Path) -> None:
    """The loss is as far from the exact one as the interpreted lowered step's is from the f32 one."""
    step = steps["01_mlp"]
    text = compiled(step.text, "--precision=bf16", *IN_BF16, "--compile-to=precision").output
    found = []
    for source in (text, step.text):
        succeed("run", source, "--reference", "--inputs", step.inputs, "--steps=1", "--outputs", tmp_path / "out.safetensors")
        found.append(load_file(tmp_path / "out.safetensors"))
    lines, _ = errors(step.text, "--precision=bf16", f"--inputs={step.inputs}", "--search-runs=0")
    lowered, exact = found
    states = [i for i in range(len(exact)) if exact[f"result{i}"].dtype == np.float32 and exact[f"result{i}"].ndim > 1]
    said = sorted(line.decibels for what, line in lines.items() if what.startswith("result "))
    for i in states:
        expected = decibels(lowered[f"result{i}"], exact[f"result{i}"].astype(np.float64))
        nearest = min(said, key=lambda decibels: abs(decibels - expected))
        assert nearest == pytest.approx(expected, abs=1)


def test_start_values(steps: Steps, tmp_path: Path) -> None:
    """Random start values depend on the seed alone; batches and state come from the files that `tenon run` takes."""
    step = steps["01_mlp"]
    first, second, third = (errors(step.text, "--precision=bf16", f"--seed={seed}", "--search-runs=0")[1] for seed in (1, 1, 2))
    assert first == second != third and "14 of 14 arguments have random start values (seed 1)" in first
    state, batches = tmp_path / "state.safetensors", tmp_path / "batches.safetensors"
    succeed("run", step.compiled, "--inputs", step.inputs, "--save", state)
    given = load_file(step.inputs)
    names = [f"arg{i}" for i, leaf in enumerate(step.info["args"]) if not leaf["donated"]]
    save_file({name: np.stack([given[name], given[name]]) for name in names}, batches)
    _, said = errors(step.text, "--precision=bf16", "--state", state, "--batches", batches, "--steps=3")
    assert "random start values" not in said and said.startswith("3 steps, ")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--steps=2",), 2, "need --error"),
        (("--error", "--frontier=3"), 2, "stands alone"),
        (("--error", "--steps=0"), 2, "expected a number from 1 on"),
        (("--error", "--state=missing.safetensors"), 1, "missing.safetensors"),
        (("--error", "--batches=missing"), 1, "missing"),
        (("--error", "--precision=f32", "--precision-policy=missing.json"), 1, "missing.json"),
    ],
)
def test_refused(steps: Steps, options: tuple[str, ...], code: int, message: str) -> None:
    """Wrong commands and missing files are errors."""
    assert message in refused(code, "plan", steps["01_mlp"].text, *options)


def test_no_form_in_f64(tmp_path: Path) -> None:
    """What cannot be computed in f64 is refused, with its place."""
    source = tmp_path / "step.mlir"
    source.write_text(
        """func.func public @main(%x: tensor<8xcomplex<f32>> loc("x")) -> tensor<8xf32> {
  %0 = stablehlo.real %x : (tensor<8xcomplex<f32>>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
    )
    said = refused(4, "plan", "--error", source)
    assert "argument 0 is complex, which is not widened" in said and "step.mlir:1:" in said
