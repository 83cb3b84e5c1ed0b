"""Steps in f16 with a scaled loss: they train like the f32 ones, and a step with an infinite gradient keeps its state."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, Steps, compiled, refused, succeed
from safetensors.numpy import load_file, save_file
from test_loss_scaling import NAMES, STEP
from test_precision import check_same_bits, deviation, run, segments

SCALE, GROWTH = "__tenon__.loss_scale", "__tenon__.loss_scale_growth"
# A step of the others takes the interpreter a minute.
INTERPRETED = ["01_mlp", "02_cnn", "08_lstm"]


def permitting(text: Path, folder: Path) -> str:
    """The option that lets products and the like be stored in f16 however small they are."""
    policy = folder / "permitting.json"
    simplified = compiled(text, "--compile-to=simplify").output.read_text()
    permitted = [op for op in ("dot_general", "convolution", "tanh", "logistic", "transpose") if f"= stablehlo.{op}" in simplified]
    policy.write_text(json.dumps({"operations": {f"stablehlo.{op}": "f16" for op in permitted}}))
    return f"--precision-policy={policy}"


def spelled(text: str) -> str:
    """A text with its types written out."""
    return text.replace("TABLE", "tensor<512x512xf32>").replace("ROW", "tensor<512xf32>")


# Rows that are masked, and read by two kernels; the exponential is too dear to be computed in both.
MASK = """func.func public @main(%x: TABLE loc("x"), %y: TABLE loc("y")) -> (ROW, ROW) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %mask = stablehlo.constant dense<MASK> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %mask, dims = [] : (tensor<f32>) -> TABLE
  %1 = stablehlo.compare GT, %x, %y : (TABLE, TABLE) -> tensor<512x512xi1>
  %e = stablehlo.exponential %x : TABLE
  %2 = stablehlo.select %1, %e, %0 : tensor<512x512xi1>, TABLE
  %3 = stablehlo.reduce(%2 init: %least) applies stablehlo.maximum across dimensions = [0] : (TABLE, tensor<f32>) -> ROW
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (ROW) -> TABLE
  %5 = stablehlo.subtract %2, %4 : TABLE
  %6 = stablehlo.exponential %5 : TABLE
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [1] : (TABLE, tensor<f32>) -> ROW
  return %7, %3 : ROW, ROW
}
"""


@pytest.mark.parametrize("name", NAMES)
def test_trains_like_f32(models: Steps, name: str, tmp_path: Path) -> None:
    """Losses of two steps are those of f32 up to the digits of f16; the scale does not change, the state is f32 as it came."""
    step = models[name]
    lowered = compiled(step.text, "--precision=f16")
    succeed("verify", lowered.output)
    chosen = lowered.stages["precision"]
    assert chosen["precision"] == "f16" and chosen["loss_scaling"]["entries"] and not chosen["loss_scaling"]["why_not"]
    assert chosen["loss_scaling"]["gradients"] > 0 and chosen["loss_scaling"]["gradient_bytes"] > 0
    assert {line["format"] for line in chosen["formats"]} <= {"f16", "f32"}
    wide, expected = run(step.compiled, step.inputs, tmp_path, steps=2)
    saved = tmp_path / "saved.safetensors"
    narrow, values = run(lowered.output, step.inputs, tmp_path, "--save", saved, steps=2)
    # Adam's first step moves every element by the rate, with the sign of its gradient, so noise of small ones counts.
    np.testing.assert_allclose(narrow[0], wide[0], rtol=2**-12)
    np.testing.assert_allclose(narrow[1], wide[1], rtol=2**-7)
    assert {name: (x.dtype, x.shape) for name, x in values.items()} == {name: (x.dtype, x.shape) for name, x in expected.items()}
    assert all(np.isfinite(x).all() for x in values.values() if x.dtype == np.float32)
    state = load_file(saved)
    assert state[SCALE] == 65536 and state[GROWTH] == 2


@pytest.mark.parametrize("name", INTERPRETED)
def test_compiled_as_interpreted(models: Steps, name: str, tmp_path: Path) -> None:
    """One step of the compiled program is that of the interpreted lowered text, with all that small tensors permit in f16."""
    step = models[name]
    options = ("--precision=f16", permitting(step.text, tmp_path))
    text = compiled(step.text, *options, "--compile-to=precision").output
    program = compiled(step.text, *options).output
    assert text.read_text().count("step.cast") > 4
    losses, expected = run(text, step.inputs, tmp_path, "--reference")
    found, values = run(program, step.inputs, tmp_path)
    np.testing.assert_allclose(found, losses, rtol=2**-12)
    assert deviation(values, expected, [name for name, x in expected.items() if x.dtype == np.float32]) < 2**-9


def test_masks_stay_wide(tmp_path: Path) -> None:
    """A mask that stands for minus infinity by a large finite number is not made infinite; one that is infinite is stored in f16."""
    chosen = {}
    for word in ("-1.000000e+09", "0xFF800000"):
        source = tmp_path / "mask.mlir"
        source.write_text(spelled(MASK).replace("MASK", word))
        formats = compiled(source, "--precision=f16").stages["precision"]["formats"]
        chosen[word] = next((line["format"], line["why"]) for line in formats if line["what"].startswith("stablehlo.select "))
    assert chosen["-1.000000e+09"] == ("f32", "a constant in it is beyond the range of f16")
    assert chosen["0xFF800000"][0] == "f16"


@pytest.mark.parametrize("name", ["01_mlp", "08_lstm"])
def test_same_bits(models: Steps, name: str, tmp_path: Path) -> None:
    """Threads, a budget, no fusion and a resumed run change no bit."""
    counted = compiled(models[name].text, "--precision=f16").stages["precision"]["overflow_counters"]
    check_same_bits(models[name], "--precision=f16", 2 + len(counted), tmp_path)


def test_skips_a_step(models: Steps, tmp_path: Path) -> None:
    """A scale that makes gradients infinite is halved, and no other bit of the state changes; with a good one the step goes on."""
    step = models["01_mlp"]
    program = compiled(step.text, "--precision=f16").output
    before, after, batch = (tmp_path / f"{name}.safetensors" for name in ("before", "after", "batch"))
    run(program, step.inputs, tmp_path, "--save", before, steps=1)
    state = load_file(before)
    # State comes first among the arguments, and the hidden state has no number.
    save_file({name: x for name, x in load_file(step.inputs).items() if int(name[3:]) >= len(state) - 2}, batch)

    def changed(scale: float) -> tuple[dict[str, np.ndarray], list[str]]:
        """The state after a step with this scale, and which tensors that users see are others than before."""
        save_file(state | {SCALE: np.array(scale, np.float32)}, before)
        run(program, batch, tmp_path, "--state", before, "--save", after, steps=1)
        found = load_file(after)
        return found, [name for name in state if name not in (SCALE, GROWTH) and found[name].tobytes() != state[name].tobytes()]

    planted = 2.0**126
    found, others = changed(planted)
    assert found[SCALE] == planted / 2 and found[GROWTH] == 0 and others == []
    found, others = changed(65536)
    assert found[SCALE] == 65536 and found[GROWTH] == 2 and others


def test_infinite_batch(tmp_path: Path) -> None:
    """A batch with an infinite number is skipped by `tenon run`, and the next step goes on with half the scale."""
    source, program, state = tmp_path / "step.mlir", tmp_path / "step.tenon", tmp_path / "state.safetensors"
    source.write_text(STEP)
    succeed("compile", source, "--compile-from=simplify", "--precision=f16", "-o", program)
    random = np.random.default_rng(5)
    start = {"w": random.normal(size=(8, 4)).astype(np.float32), "n": np.array(7, np.int32)}
    x, t = random.normal(size=(16, 8)).astype(np.float32), np.zeros((16, 4), np.float32)
    bad = x.copy()
    bad[3, 5] = np.inf
    inputs = tmp_path / "in.safetensors"
    save_file(start | {"x": bad, "t": t}, inputs)
    succeed("run", program, "--inputs", inputs, "--steps", 3, "--save", state)
    saved = load_file(state)
    assert saved[SCALE] == 65536 / 8 and saved[GROWTH] == 0
    assert all(saved[name].tobytes() == values.tobytes() for name, values in start.items())
    save_file({"x": x, "t": t}, inputs)
    succeed("run", program, "--inputs", inputs, "--state", state, "--steps", 1, "--save", state)
    saved = load_file(state)
    assert saved[SCALE] == 65536 / 8 and saved[GROWTH] == 1 and saved["n"] == 8
    assert saved["w"].tobytes() != start["w"].tobytes()


# A gradient that is bounded on its way through the layers.
NOT_LINEAR = """func.func public @main(%u: tensor<8x8xf32> loc("u"), %w: tensor<8x4xf32> loc("w"), %x: tensor<16x8xf32> loc("x"),
    %t: tensor<16x4xf32> loc("t"))
    -> (tensor<8x8xf32> {jax.result_info = "result['u']"}, tensor<8x4xf32> {jax.result_info = "result['w']"}) {
  %0 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %2 = stablehlo.subtract %1, %t : tensor<16x4xf32>
  %3 = stablehlo.dot_general %0, %2, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %4 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [1] : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
  %5 = stablehlo.tanh %4 : tensor<16x8xf32>
  %6 = stablehlo.dot_general %x, %5, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %7 = stablehlo.subtract %u, %6 : tensor<8x8xf32>
  %8 = stablehlo.subtract %w, %3 : tensor<8x4xf32>
  return %7, %8 : tensor<8x8xf32>, tensor<8x4xf32>
}
"""


# Two values that a kernel of columns and one of rows read.
FORWARD = """func.func public @main(%x: TABLE loc("x")) -> (ROW, ROW, ROW, ROW) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %x : TABLE
  %1 = stablehlo.exponential %x : TABLE
  %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (TABLE, tensor<f32>) -> ROW
  %3 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (TABLE, tensor<f32>) -> ROW
  %4 = stablehlo.broadcast_in_dim %2, dims = [1] : (ROW) -> TABLE
  %5 = stablehlo.broadcast_in_dim %3, dims = [1] : (ROW) -> TABLE
  %6 = stablehlo.divide %0, %4 : TABLE
  %7 = stablehlo.divide %1, %5 : TABLE
  %8 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [1] : (TABLE, tensor<f32>) -> ROW
  %9 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [1] : (TABLE, tensor<f32>) -> ROW
  return %2, %3, %8, %9 : ROW, ROW, ROW, ROW
}
"""


def test_without_gradients(tmp_path: Path) -> None:
    """A program in which nothing learns is lowered without a scale, and says so."""
    source = tmp_path / "forward.mlir"
    source.write_text(spelled(FORWARD))
    chosen = compiled(source, "--precision=f16").stages["precision"]
    assert chosen["loss_scaling"]["why_not"] == "no parameter learns from a batch, so there are no gradients to scale"
    assert not chosen["loss_scaling"]["entries"] and chosen["narrow_values"] > 0
    # A hyperbolic tangent is at most 1; of what is exponential nothing is known.
    risks = {line["what"].split()[0]: line["may_overflow"] for line in chosen["formats"] if line["format"] == "f16"}
    assert risks == {"stablehlo.tanh": False, "stablehlo.exponential": True}
    assert chosen["values_that_may_overflow"] == sum(line["may_overflow"] for line in chosen["formats"])
    said = succeed("inspect", "--precision=f16", source)
    assert "policy: f16" in said and "the loss is not scaled: no parameter learns" in said
    assert "is infinite where it exceeds 65504" in said


def test_counts_overflows(tmp_path: Path) -> None:
    """Infinite elements are counted over all steps, alike for any threads, budget and grouping; a resumed run goes on counting."""
    import tenon

    source, state, inputs = tmp_path / "forward.mlir", tmp_path / "state.safetensors", tmp_path / "in.safetensors"
    source.write_text(spelled(FORWARD))
    # The exponential of 12 is beyond f16, that of 90 beyond f32, that of NaN no overflow; the tangent has no counter.
    x = np.zeros((512, 512), np.float32)
    x[3, 5], x[7, 9], x[11, :] = 12, 90, np.nan
    save_file({"x": x}, inputs)
    plain = compiled(source, "--precision=f16")
    assert plain.stages["precision"]["overflow_counters"] == ["exponential line 4"]
    whole = sum(segment["bytes"] for segment in segments(plain.output))
    counter = "__tenon__.overflow.exponential line 4"
    for options in ((), ("--fuse=false",), (f"--memory-budget={whole + 4096}",)):
        program = compiled(source, "--precision=f16", *options).output
        succeed("verify", program)
        for threads in (1, 2):
            said = succeed("run", program, "--inputs", inputs, "--steps=3", f"--threads={threads}", "--save", state)
            assert load_file(state)[counter] == 6
            assert "6 elements of 'exponential line 4' were infinite in f16, first in step" in said
    succeed("run", plain.output, "--inputs", inputs, "--state", state, "--save", state)
    assert load_file(state)[counter] == 8
    loaded = tenon.load(plain.output)
    assert loaded.overflows == {"exponential line 4": 0}
    loaded.run(x, steps=2)
    assert loaded.overflows == {"exponential line 4": 4}
    save_file({"x": np.zeros_like(x)}, inputs)
    assert "overflow" not in succeed("run", plain.output, "--inputs", inputs, "--state", state)
    # What is bounded, and what is no f16, has no counters.
    assert tenon.load(compiled(source).output).overflows == {}


def test_stops_on_overflow(tmp_path: Path) -> None:
    """--stop-on-overflow ends a run with exit code 6, names tensor and step, and saves nothing of that step."""
    source, batches, checkpoints = tmp_path / "forward.mlir", tmp_path / "batches", tmp_path / "checkpoints"
    source.write_text(spelled(FORWARD))
    batches.mkdir()
    for number in range(4):
        save_file({"x": np.full((512, 512), 20 if number == 2 else 1, np.float32)}, batches / f"{number}.safetensors")
    program = compiled(source, "--precision=f16").output
    options = (f"--batches={batches}", "--steps=4", f"--checkpoints={checkpoints}", "--save-every=1")
    said = refused(6, "run", program, *options, "--stop-on-overflow")
    assert "in step 3 elements of 'exponential line 4' were infinite in f16" in said
    assert "holds the state after step 2" in said
    assert "4 of 4 steps are complete" not in succeed("run", program, *options, "--resume")
    wide = compiled(source).output
    said = succeed("run", wide, f"--batches={batches}", "--steps=4", "--stop-on-overflow")
    assert "overflow " not in said


def test_counts_in_loops(tmp_path: Path) -> None:
    """Every round of a loop counts, and a branch only if it is taken."""
    import tenon

    text = (Path(__file__).parent.parent / "Precision/count-overflows.mlir").read_text()
    source, counted, program = (tmp_path / name for name in ("step.mlir", "counted.mlir", "step.tenon"))
    source.write_text(text)
    subprocess.run([BUILD / "bin/tenon-opt", source, "--precision-count-overflows", "-o", counted], check=True)
    succeed("compile", counted, "--compile-from=precision", "-o", program)
    # From the third on, four rounds of 100 are beyond f16, and so are the squares of infinity and of 300. The mask lets nothing pass.
    x = np.ones((6, 4, 8), np.float32)
    x[:, 1, 2], x[5, 3, 3] = 100, 300
    for taken in (False, True):
        loaded = tenon.load(program)
        loaded.run(x, np.array(0 if taken else 1, np.int32), np.zeros((4, 8), np.bool_), steps=2)
        assert list(loaded.overflows.values()) == [2 * 4, 2 * 2 * taken, 0]


def test_scales_itself(models: Steps) -> None:
    """A program that scales its loss itself is lowered without a second scale."""
    report = compiled(models["13_mlp_f16_loss_scale"].text, "--precision=f16").stages["precision"]
    assert report["loss_scaling"]["why_not"].startswith("the step scales its loss itself, by '")


def test_refused(models: Steps, tmp_path: Path) -> None:
    """What cannot be scaled is refused at its line; a policy names the format that is there."""
    source, roles, policy = (tmp_path / name for name in ("step.mlir", "roles.json", "policy.json"))
    source.write_text(NOT_LINEAR)
    parameters = '"u": {"role": "parameter", "result": 0}, "w": {"role": "parameter", "result": 1}'
    roles.write_text(f'{{{parameters}, "x": {{"role": "batch"}}, "t": {{"role": "batch"}}}}')
    said = refused(4, "compile", source, f"--roles={roles}", "--precision=f16", "-o", tmp_path / "x.tenon")
    line = next(i for i, text in enumerate(NOT_LINEAR.splitlines(), 1) if "stablehlo.tanh" in text)
    assert f"step.mlir:{line}:" in said and "is not linear in the loss's gradient" in said
    policy.write_text('{"operations": {"stablehlo.*": "bf16"}}')
    options = ("--precision=f16", f"--precision-policy={policy}", "-o", tmp_path / "x.tenon")
    assert 'leads to neither "f32" nor "f16"' in refused(1, "compile", models["01_mlp"].text, *options)
    policy.write_text('{"operations": {"stablehlo.*": "f32"}}')
    succeed("compile", models["01_mlp"].text, *options)


def test_text_between_stages(models: Steps, tmp_path: Path) -> None:
    """A text says what was lowered, and leads to the bytes of a compilation in one go."""
    step, text, resumed = models["01_mlp"], tmp_path / "text.mlir", tmp_path / "resumed.tenon"
    whole = compiled(step.text, "--precision=f16").output
    for stage in ("simplify", "precision", "group"):
        succeed("compile", step.text, "--precision=f16", f"--compile-to={stage}", "-o", text)
        assert 'precision = "f16"' in text.read_text()
        succeed("compile", text, f"--compile-from={stage}", "-o", resumed)
        assert resumed.read_bytes() == whole.read_bytes()


def test_errors(models: Steps) -> None:
    """Gradients of the lowered step are compared with exact ones, both times the scale of the loss."""
    step = models["01_mlp"]
    said = succeed("plan", "--error", step.text, "--precision=f16", f"--inputs={step.inputs}", "--steps=2")
    decibels = [float(line.split()[1]) for line in said.splitlines() if " gradient " in line]
    assert len(decibels) > 2 and min(decibels) > 20, said
