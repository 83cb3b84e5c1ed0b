"""Settings of a run: values and schedules of scalar arguments, without compiling again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optax
import pytest
from conftest import refused, succeed
from safetensors.numpy import load_file, save_file

# Every step gives the rate that it was given; the decay is a state that counts.
RATES = """module @step {
  func.func public @main(%arg0: tensor<TYPE> {tf.aliasing_output = 0 : i32} loc("state['total']"), %arg1: tensor<TYPE> loc("lr"),
      %arg2: tensor<f32> loc("weight_decay"), %arg3: tensor<2xf32> loc("x"))
      -> (tensor<TYPE> {jax.result_info = "result[0]['total']"}, tensor<TYPE> {jax.result_info = "result[1]"},
          tensor<f32> {jax.result_info = "result[2]"}, tensor<2xf32> {jax.result_info = "result[3]"}) {
    %total = stablehlo.add %arg0, %arg1 : tensor<TYPE>
    %zero = stablehlo.constant dense<0.0> : tensor<TYPE>
    %rate = stablehlo.add %arg1, %zero : tensor<TYPE>
    %decay = stablehlo.add %arg2, %arg2 : tensor<f32>
    return %total, %rate, %decay, %arg3 : tensor<TYPE>, tensor<TYPE>, tensor<f32>, tensor<2xf32>
  }
}
"""


def compiled(folder: Path, element: str = "f32") -> Path:
    """The step with a rate of an element type, and values for what is no setting."""
    (folder / "rates.mlir").write_text(RATES.replace("TYPE", element))
    succeed("compile", folder / "rates.mlir", "-o", folder / "rates.tenon")
    save_file({"x": np.zeros(2, np.float32)}, folder / "inputs.safetensors")
    return folder / "rates.tenon"


@pytest.fixture(scope="module")
def rates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The step in f32."""
    return compiled(tmp_path_factory.mktemp("rates"))


def given(program: Path, *options: object, steps: int = 1) -> list[float]:
    """The rates that steps were given."""
    metrics = program.parent / "metrics.csv"
    inputs = program.parent / "inputs.safetensors"
    succeed("run", program, "--zero-state", "--inputs", inputs, "--steps", steps, "--metrics", metrics, *options)
    lines = [line.split(",") for line in metrics.read_text().splitlines()]
    assert lines[0] == ["step", "result1", "result2"]
    return [float(line[1]) for line in lines[1:]]


def test_values(rates: Path, tmp_path: Path) -> None:
    """--set gives what the text says, by any name of the argument; the last word is the command line's."""
    assert given(rates, "--set", "lr=3e-4", "--set=weight_decay=0.1", steps=2) == [3e-4] * 2
    assert given(rates, "--set", "arg1=0.25", "--set=weight_decay=0") == [0.25]
    values = {"lr": np.array(7, np.float32), "weight_decay": np.array(0, np.float32), "x": np.zeros(2, np.float32)}
    save_file(values, tmp_path / "all.safetensors")
    assert given(rates, "--inputs", tmp_path / "all.safetensors") == [7]
    assert given(rates, "--inputs", tmp_path / "all.safetensors", "--set=lr=8") == [8]


SCHEDULES = {
    "constant": (optax.constant_schedule(3e-4), 5),
    "linear:steps=20,end=1e-5": (optax.linear_schedule(3e-4, 1e-5, 20), 30),
    "cosine:steps=20,end=3e-5": (optax.cosine_decay_schedule(3e-4, 20, alpha=0.1), 30),
    "exponential:steps=10,rate=0.5": (optax.exponential_decay(3e-4, 10, 0.5), 30),
    "exponential:steps=10,rate=0.5,end=1e-4": (optax.exponential_decay(3e-4, 10, 0.5, end_value=1e-4), 30),
    "warmup_constant:warmup=8": (optax.warmup_constant_schedule(0, 3e-4, 8), 12),
    "warmup_cosine:warmup=10,steps=30,end=0": (optax.warmup_cosine_decay_schedule(0, 3e-4, 10, 30), 40),
    "warmup_cosine:warmup=10,start=1e-5,steps=30,end=2e-5": (optax.warmup_cosine_decay_schedule(1e-5, 3e-4, 10, 30, 2e-5), 40),
    "warmup_exponential:warmup=4,steps=10,rate=0.9": (optax.warmup_exponential_decay_schedule(0, 3e-4, 4, 10, 0.9), 30),
    "piecewise:0=1e-3,10=1e-4,25=5e-5": (lambda step: 1e-3 if step < 10 else 1e-4 if step < 25 else 5e-5, 30),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_are_those_of_optax(schedule: str, rates: Path) -> None:
    """Step by step, to the digits of f32; the value of --set is where a schedule starts."""
    expected, steps = SCHEDULES[schedule]
    found = given(rates, "--set=lr=3e-4", "--set=weight_decay=0", f"--schedule=lr={schedule}", steps=steps)
    np.testing.assert_allclose(found, [float(expected(step)) for step in range(steps)], rtol=2e-6, atol=1e-11)


@pytest.mark.parametrize("element", ["bf16", "f16", "f64"])
def test_other_floats(element: str, tmp_path: Path) -> None:
    """A value is rounded to the type of the argument once, to the nearest."""
    program = compiled(tmp_path, element)
    options = ["--set=weight_decay=0", "--schedule=lr=linear:value=1,steps=3,end=0"]
    expected = {
        "f64": [1, 2 / 3, 1 / 3, 0],
        "f16": [float(np.float16(value)) for value in (1, 2 / 3, 1 / 3, 0)],
        # 8 bits of fraction with the leading one: 171/256 and 171/512.
        "bf16": [1, 171 / 256, 171 / 512, 0],
    }[element]
    found = given(program, *options, steps=4)
    # What is printed gives the f32 back that is the value.
    assert found == expected if element == "f64" else np.float32(found).tolist() == expected


def test_what_is_no_setting(rates: Path, tmp_path: Path) -> None:
    """An unknown name is answered with those that there are and how to get one; nothing is set twice or to nonsense."""
    run = ("run", rates, "--zero-state", "--inputs", rates.parent / "inputs.safetensors")
    for name in ("rate", "x", "total", "result1"):
        said = refused(1, *run, f"--set={name}=1")
        assert f"'{name}' is no setting of this step; it has 'lr', 'weight_decay'" in said
        assert "export the step with it as an argument, such as step(state, batch, lr)" in said
    assert "'abc' is no value for 'lr', which is f32" in refused(1, *run, "--set=lr=abc")
    assert "has no value to start from" in refused(1, *run, "--set=weight_decay=0", "--schedule=lr=constant")
    assert "'lr'; give" in refused(1, *run, "--set=weight_decay=0")
    assert "the name is given twice" in refused(2, *run, "--set=lr=1", "--set=lr=2")
    for wrong, why in {
        "square": "expected constant, linear, cosine, exponential",
        "linear": "steps is missing",
        "linear:steps=0": "steps must be a whole number from 1 on",
        "linear:steps=2.5": "steps must be a whole number from 1 on",
        "linear:steps=5,steps=6": "steps is there twice",
        "cosine:steps=10,rate=1": "unknown parameter 'rate', there are value, steps, end",
        "warmup_cosine:warmup=10,steps=10": "warmup must be less than steps",
        "exponential:steps=10,rate=-1": "rate must be positive",
        "piecewise": "piecewise needs values",
        "piecewise:5=1": "must begin with 0 and grow",
        "piecewise:0=1,5=2,5=3": "must begin with 0 and grow",
        "linear:steps": "'steps' is not a parameter",
        "linear:steps=inf": "'steps=inf' is not a parameter",
    }.items():
        assert why in refused(2, *run, f"--schedule=lr={wrong}"), wrong
    batch = {"x": np.zeros((3, 2), np.float32), "lr": np.arange(3, dtype=np.float32)}
    save_file(batch, tmp_path / "batches.safetensors")
    said = refused(1, *run, "--batches", tmp_path / "batches.safetensors", "--set=lr=1", "--set=weight_decay=0")
    assert "'lr' has a value in every batch" in said


def test_inspect_lists_them(rates: Path) -> None:
    """The file says what a run may set."""
    assert "settings of a run (tenon run --set, --schedule): lr (f32), weight_decay (f32)" in succeed("inspect", rates)


def test_a_step_without_settings(tmp_path: Path) -> None:
    """The error says that there is none."""
    text = """func.func @main(%arg0: tensor<f32> {tf.aliasing_output = 0 : i32} loc("w")) -> tensor<f32> {
      return %arg0 : tensor<f32>
    }"""
    (tmp_path / "none.mlir").write_text(text)
    said = refused(1, "run", tmp_path / "none.mlir", "--zero-state", "--set=lr=1")
    assert "'lr' is no setting of this step; it has none" in said


def test_resumed_runs_keep_them(rates: Path, tmp_path: Path) -> None:
    """Values and schedules come from the checkpoint; the command line may change them."""
    run = ("run", rates, "--inputs", rates.parent / "inputs.safetensors", "--resume", "--checkpoints", tmp_path / "c")
    metrics = ("--metrics", tmp_path / "m.csv")
    succeed(*run, *metrics, "--zero-state", "--set=lr=8", "--set=weight_decay=1", "--schedule=lr=linear:steps=8", "--until=3")
    succeed(*run, *metrics, "--until=6", "--save", tmp_path / "s.safetensors")
    assert [float(line.split(",")[1]) for line in (tmp_path / "m.csv").read_text().splitlines()[1:]] == [8, 7, 6, 5, 4, 3]
    assert load_file(tmp_path / "s.safetensors")["total"] == 33
    succeed(*run, *metrics, "--until=8", "--set=lr=0.5")
    assert [float(line.split(",")[1]) for line in (tmp_path / "m.csv").read_text().splitlines()[-2:]] == [0.5, 0.5]
