"""State that a stage adds and users do not see: its initial value, and that it is kept, saved and found again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, refused, succeed
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]

# w moves by the scale, the scale doubles, the window counts steps down from 7 in each element.
STEP = """
func.func @main(
    %w: tensor<40xf32> {step.aliases = ["arg0"], step.name = "w", step.role = #step.role<parameter>, step.role_reason = "",
                        step.successor = 0 : i64},
    %x: tensor<40xf32> {step.aliases = ["arg1"], step.name = "x", step.role = #step.role<batch>, step.role_reason = ""},
    %scale: tensor<f32> {step.aliases = [], step.initial = dense<65536.0> : tensor<f32>, step.name = "__tenon__.scale",
                         step.role = #step.role<optimizer_state>, step.role_reason = "", step.successor = 2 : i64},
    %window: tensor<5x3xi32> {step.aliases = [], step.initial = dense<7> : tensor<5x3xi32>, step.name = "__tenon__.window",
                              step.role = #step.role<counter>, step.role_reason = "", step.successor = 3 : i64})
    -> (tensor<40xf32> {step.aliases = ["result0"], step.name = "w"}, tensor<f32> {step.aliases = ["result1"], step.name = "seen"},
        tensor<f32> {step.aliases = [], step.name = "__tenon__.scale"},
        tensor<5x3xi32> {step.aliases = [], step.name = "__tenon__.window"}) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %ones = stablehlo.constant dense<1> : tensor<5x3xi32>
  %0 = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<40xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<40xf32>
  %2 = stablehlo.add %w, %1 : tensor<40xf32>
  %3 = stablehlo.multiply %scale, %two : tensor<f32>
  %4 = stablehlo.subtract %window, %ones : tensor<5x3xi32>
  return %2, %scale, %3, %4 : tensor<40xf32>, tensor<f32>, tensor<f32>, tensor<5x3xi32>
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The step as text and as a program, and values for what users see."""
    folder = tmp_path_factory.mktemp("hidden")
    (folder / "step.mlir").write_text(STEP)
    succeed("compile", folder / "step.mlir", "--compile-from=precision", "-o", folder / "step.tenon")
    random = np.random.default_rng(3)
    values = {name: random.normal(size=40).astype(np.float32) for name in ("w", "x")}
    save_file(values, folder / "inputs.safetensors")
    return folder


def ran(program: Path, inputs: Path, steps: int, folder: Path, *options: object) -> dict[str, np.ndarray]:
    """What users see of the last step."""
    outputs = folder / "outputs.safetensors"
    succeed("run", program, "--inputs", inputs, "--steps", steps, "--outputs", outputs, *options)
    return load_file(outputs)


@pytest.mark.parametrize("threads", [1, 3])
def test_starts_with_the_initial_value_and_is_kept(folder: Path, tmp_path: Path, threads: int) -> None:
    """Users give and find no hidden state; the program and the interpreter do the same with it, and check-memory finds nothing."""
    inputs, state = folder / "inputs.safetensors", tmp_path / "state.safetensors"
    values = ran(folder / "step.tenon", inputs, 3, tmp_path, "--threads", threads, "--save", state)
    expected = ran(folder / "step.mlir", inputs, 3, tmp_path, "--reference")
    assert set(values) == set(expected) == {"result0", "result1"}
    assert all(values[name].tobytes() == expected[name].tobytes() for name in values)
    assert values["result1"] == 4 * 65536
    saved = load_file(state)
    assert set(saved) == {"w", "__tenon__.scale", "__tenon__.window"}
    assert saved["__tenon__.scale"] == 8 * 65536 and (saved["__tenon__.window"] == 4).all()
    succeed("run", folder / "step.tenon", "--inputs", inputs, "--steps", 2, "--check-memory")


def test_resumes(folder: Path, tmp_path: Path) -> None:
    """Five steps are three and two; a file without hidden state, or with another kind of it, gives it its initial value."""
    inputs, state, at_once = folder / "inputs.safetensors", tmp_path / "state.safetensors", tmp_path / "at_once.safetensors"
    ran(folder / "step.tenon", inputs, 5, tmp_path, "--save", at_once)
    ran(folder / "step.tenon", inputs, 3, tmp_path, "--save", state)
    values = load_file(inputs)
    lacking = load_file(state)
    resumed = tmp_path / "resumed.safetensors"
    save_file(lacking | {"x": values["x"]}, resumed)
    ran(folder / "step.tenon", resumed, 2, tmp_path, "--save", state)
    saved, expected = load_file(state), load_file(at_once)
    assert saved.keys() == expected.keys() and all(saved[name].tobytes() == expected[name].tobytes() for name in expected)
    assert ran(folder / "step.mlir", resumed, 1, tmp_path, "--reference")["result1"] == 8 * 65536
    del lacking["__tenon__.scale"]
    lacking["__tenon__.window"] = np.zeros(3, np.int32)
    save_file(lacking | {"x": values["x"]}, resumed)
    for program, options in ((folder / "step.tenon", ["--save", state]), (folder / "step.mlir", ["--reference"])):
        assert ran(program, resumed, 1, tmp_path, *options)["result1"] == 65536
    assert (load_file(state)["__tenon__.window"] == 6).all()


def test_python_and_tools(folder: Path, tmp_path: Path) -> None:
    """Python lists what users see; the plans of both entry points are true; inspect names the state; the bytes are the same again."""
    script = """
import sys, numpy as np, tenon
p = tenon.load(sys.argv[1])
assert sorted(p.tensors) == ["seen", "w", "x"], sorted(p.tensors)
p.load_state(sys.argv[2]); p.batch["x"].write(np.zeros(40, np.float32)); p.step(2); p.save(sys.argv[3])
assert p.results["seen"].read() == 2 * 65536
p.load_state(sys.argv[3]); p.step(1)
assert p.results["seen"].read() == 4 * 65536
p.load_state(sys.argv[2]); p.step(1)
assert p.results["seen"].read() == 65536
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "TENON_BUILD": str(BUILD)}
    arguments = [folder / "step.tenon", folder / "inputs.safetensors", tmp_path / "saved.safetensors"]
    subprocess.run([sys.executable, "-c", script, *arguments], env=environment, check=True)
    assert succeed("verify", folder / "step.tenon").count("instructions read what the plan says") == 2
    said = succeed("inspect", folder / "step.tenon")
    assert "__tenon__.scale (hidden state)" in said and "entry point 'init': 2 instructions" in said
    again = tmp_path / "step.tenon"
    succeed("compile", folder / "step.mlir", "--compile-from=precision", "-o", again)
    assert again.read_bytes() == (folder / "step.tenon").read_bytes()


@pytest.mark.parametrize("stage", ["precision", "group", "plan", "lower", "codegen"])
def test_text_between_stages(folder: Path, tmp_path: Path, stage: str) -> None:
    """Every text carries hidden state and its initial value."""
    text, program = tmp_path / "step.mlir", tmp_path / "step.tenon"
    succeed("compile", folder / "step.mlir", "--compile-from=precision", f"--compile-to={stage}", "-o", text)
    succeed("compile", text, f"--compile-from={stage}", "-o", program)
    assert program.read_bytes() == (folder / "step.tenon").read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("step.initial = dense<65536.0> : tensor<f32>, ", "", "is for hidden state, and no 'step.initial'"),
        ("dense<65536.0> : tensor<f32>, step.name", "dense<6> : tensor<i32>, step.name", "tensor<f32> and the initial value dense<6>"),
        ("dense<65536.0> : tensor<f32>, step.name", '"65536", step.name', "a dense tensor that repeats one element"),
        ('step.aliases = ["arg1"]', 'step.initial = dense<0.0> : tensor<40xf32>, step.aliases = ["arg1"]', "a name that begins with"),
        (", step.successor = 2 : i64", "", "no successor"),
        ('step.name = "seen"', 'step.name = "__tenon__.seen"', "has the name of hidden state, but replaces none"),
    ],
)  # fmt: skip
def test_forged_text(tmp_path: Path, old: str, new: str, message: str) -> None:
    """What is no hidden state is an error that says why."""
    assert old in STEP
    (tmp_path / "step.mlir").write_text(STEP.replace(old, new))
    assert message in refused(1, "compile", tmp_path / "step.mlir", "--compile-from=precision", "-o", tmp_path / "step.tenon")


def test_forged_program(folder: Path, tmp_path: Path) -> None:
    """A device program that gives hidden state no value makes no file; one whose plan is about other bytes is found."""
    text, forged, program = (tmp_path / name for name in ("step.mlir", "forged.mlir", "step.tenon"))
    succeed("compile", folder / "step.mlir", "--compile-from=precision", "--compile-to=lower", "-o", text)
    forged.write_text(text.read_text().replace("exec.program @init", "exec.program @first"))
    assert "is no 'step' and lacks 'exec.takes'" in refused(1, "compile", forged, "--compile-from=lower", "-o", program)
    init = text.read_text().index("exec.program @init")
    lines = text.read_text()[init:].splitlines(keepends=True)
    invoke = next(i for i, line in enumerate(lines) if "exec.invoke" in line)
    del lines[invoke]
    forged.write_text(text.read_text()[:init] + "".join(lines))
    succeed("compile", forged, "--compile-from=lower", "-o", program)
    assert re.search("'__tenon__.scale'.*not there when the step ends", refused(1, "verify", program))
