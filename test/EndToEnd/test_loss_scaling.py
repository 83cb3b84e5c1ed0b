"""Loss scaling inside exported steps: where the scale enters, that it changes no bit in f32, and that it follows GradScaler."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import BUILD, Steps, compiled, succeed

ROOT = Path(__file__).resolve().parents[2]
NAMES = [
    "01_mlp", "02_cnn", "03_resnet18", "04_chargpt", "05_gpt2_124m", "08_lstm", "09_unet_ddpm", "10_vit_tiny", "11_moe",
    "12_chargpt_accum", "17_chargpt_remat",
]  # fmt: skip


def scaled(source: Path, folder: Path) -> Path:
    """A simplified step whose loss is scaled, if it is one."""
    output = folder / f"scaled.{source.name}"
    subprocess.run([BUILD / "bin" / "tenon-opt", source, "--precision-scale-loss", "-o", output], check=True, capture_output=True)
    return output


def started(text: Path, scale: float) -> Path:
    """The step with another first scale."""
    changed = text.with_name(f"started.{text.name}")
    said, count = re.subn(
        r"dense<6\.553600e\+04> : tensor<f32>, step\.name", f"dense<{scale!r}> : tensor<f32>, step.name", text.read_text()
    )
    assert count == 1
    changed.write_text(said)
    return changed


@pytest.mark.parametrize("name", NAMES)
def test_region(models: Steps, name: str, tmp_path: Path) -> None:
    """The scale enters once per loss, and the step is another one."""
    text = scaled(compiled(models[name].text, "--compile-to=simplify").output, tmp_path).read_text()
    scale = re.search(r"(%arg\d+): tensor<f32> {[^{}]*__tenon__\.loss_scale\"", text)
    assert scale, name
    spread = re.findall(rf"(%\d+) = stablehlo.broadcast_in_dim {scale[1]},", text)
    assert len(spread) >= 1
    assert (len(spread) == 1) == (name != "11_moe")  # whose routers have losses of their own


@pytest.mark.parametrize("name", ["13_mlp_f16_loss_scale"])
def test_left_alone(models: Steps, name: str, tmp_path: Path) -> None:
    """A step that scales its loss itself is not scaled again."""
    assert "__tenon__" not in scaled(compiled(models[name].text, "--compile-to=simplify").output, tmp_path).read_text()


@pytest.mark.parametrize(("name", "exponents"), [("01_mlp", range(-8, 17, 4)), ("04_chargpt", (-8, 16))])
def test_every_scale_gives_the_same_bits(steps: Steps, name: str, exponents: Sequence[int], tmp_path: Path) -> None:
    """In f32, where nothing over- or underflows, users see the bits of the step that came."""
    step = steps[name]
    simplified = compiled(step.text, "--compile-to=simplify", "--subnormals=keep").output
    text = scaled(simplified, tmp_path)
    expected = step.outputs(tmp_path, program=compiled(simplified, "--compile-from=simplify").output, steps=2)
    for exponent in exponents:
        program = tmp_path / "scaled.tenon"
        succeed("compile", started(text, 2.0**exponent), "--compile-from=precision", "-o", program)
        values = step.outputs(tmp_path, program=program, steps=2)
        assert values.keys() == expected.keys()
        assert [key for key in expected if values[key].tobytes() != expected[key].tobytes()] == [], exponent


STEP = """
func.func @main(
    %w: tensor<8x4xf32> {step.aliases = [], step.name = "w", step.role = #step.role<parameter>, step.role_reason = "",
                      step.successor = 0 : i64},
    %n: tensor<i32> {step.aliases = [], step.name = "n", step.role = #step.role<counter>, step.role_reason = "", step.successor = 1 : i64},
    %x: tensor<16x8xf32> {step.aliases = [], step.name = "x", step.role = #step.role<batch>, step.role_reason = ""},
    %t: tensor<16x4xf32> {step.aliases = [], step.name = "t", step.role = #step.role<batch>, step.role_reason = ""})
    -> (tensor<8x4xf32> {step.aliases = [], step.name = "w"}, tensor<i32> {step.aliases = [], step.name = "n"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %1 = stablehlo.subtract %0, %t : tensor<16x4xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %rate = stablehlo.constant dense<9.765625E-4> : tensor<8x4xf32>
  %3 = stablehlo.multiply %2, %rate : tensor<8x4xf32>
  %4 = stablehlo.subtract %w, %3 : tensor<8x4xf32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %5 = stablehlo.add %n, %one : tensor<i32>
  return %4, %5 : tensor<8x4xf32>, tensor<i32>
}
"""

# Runs a trace on the program and on a model of torch.amp.GradScaler with its defaults.
TRACE = """
import sys, numpy as np, tenon
from safetensors.numpy import load_file
program, saved, chance, count, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
step = tenon.load(program)
random = np.random.default_rng(seed)
finite = random.random(count) >= chance
x = random.normal(size=(16, 8)).astype(np.float32)
bad = x.copy(); bad[3, 5] = np.inf
step.state["w"].write(random.normal(size=(8, 4)).astype(np.float32)); step.state["n"].write(np.int32(0))
step.batch["t"].write(np.zeros((16, 4), np.float32))
scale, growth, steps = np.float32(65536), 0, 0
before = None
for i in range(count):
    if i == 0 or finite[i] != finite[i - 1]:
        step.batch["x"].write(x if finite[i] else bad)
    look = not finite[i] and i < 5000
    if look:
        before = step.state["w"].read().tobytes()
    step.step(1)
    if finite[i]:
        growth, steps = growth + 1, steps + 1
        if growth == 2000:
            scale, growth = scale * np.float32(2), 0
    else:
        scale, growth = scale * np.float32(0.5), 0
        assert not look or step.state["w"].read().tobytes() == before, i
    if i % 500 == 499:
        step.save(saved)
        state = load_file(saved)
        assert state["__tenon__.loss_scale"] == scale, (i, state["__tenon__.loss_scale"], scale)
        assert state["__tenon__.loss_scale_growth"] == growth and state["n"] == steps, i
assert np.isfinite(step.state["w"].read()).all()
"""


@pytest.mark.parametrize(("chance", "count"), [(0.0, 20000), (0.0003, 40000), (0.002, 40000), (0.5, 200)])
def test_follows_grad_scaler(chance: float, count: int, tmp_path: Path) -> None:
    """Scale and growth are GradScaler's after every 500 steps of a random trace; steps that are not finite leave all other state alone."""
    (tmp_path / "step.mlir").write_text(STEP)
    program = tmp_path / "step.tenon"
    succeed("compile", scaled(tmp_path / "step.mlir", tmp_path), "--compile-from=precision", "-o", program)
    succeed("verify", program)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "TENON_BUILD": str(BUILD)}
    arguments = [program, tmp_path / "saved.safetensors", str(chance), str(count), "7"]
    subprocess.run([sys.executable, "-c", TRACE, *arguments], env=environment, check=True)
