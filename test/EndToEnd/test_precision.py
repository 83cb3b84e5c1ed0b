"""Steps whose precision was lowered: they train like the f32 ones, and what is compiled is what the lowered text says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import random_steps
from conftest import BUILD, HAS_BF16, IN_BF16, PROCESSOR, Step, Steps, compiled, refused, smallest, succeed
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["01_mlp", "04_chargpt", "08_lstm"]
# Those that the library can be asked about here.
SETS = {"x86-64-v4": "avx512f", "x86-64-v4+avx512bf16": "avx512_bf16", "x86-64-v4+amxbf16": "amx_bf16"}
CPUS = [cpu for cpu, feature in SETS.items() if feature in PROCESSOR]
# Of f32's, in small sizes, on a processor with AVX2. Some take more memory in 16 bits, so they stay f32.
MOST_TEMPORARIES = {"04_chargpt": 0.75, "10_vit_tiny": 0.75, "11_moe": 0.75, "01_mlp": 1, "02_cnn": 1, "08_lstm": 1, "09_unet_ddpm": 1}
SMALLER_IN_F32 = {"01_mlp", "02_cnn", "08_lstm"}


def run(program: Path, inputs: Path, scratch: Path, *options: object, steps: int = 1) -> tuple[list[float], dict[str, np.ndarray]]:
    """The losses of some steps, and the results of the last one."""
    metrics, outputs = scratch / "metrics.csv", scratch / "outputs.safetensors"
    succeed("run", program, "--inputs", inputs, "--steps", steps, "--metrics", metrics, "--outputs", outputs, *options)
    return [float(line.split(",")[-1]) for line in metrics.read_text().splitlines()[1:]], load_file(outputs)


def deviation(values: dict[str, np.ndarray], expected: dict[str, np.ndarray], of: list[str]) -> float:
    """The largest relative deviation of a tensor, as the root of its mean square."""

    def rms(x: np.ndarray) -> float:
        return float(np.sqrt(np.mean(np.square(x.astype(np.float64)))))

    return max(rms(values[name] - expected[name]) / max(rms(expected[name]), 1e-30) for name in of)


def lowering(name: str, folder: Path) -> tuple[str, ...]:
    """Options for bf16. The small recurrent step, which is predicted to be quicker in f32, needs a policy that permits its products."""
    if name != "08_lstm":
        return ("--precision=bf16", *IN_BF16)
    policy = folder / "permitting.json"
    policy.write_text('{"operations": {"stablehlo.dot_general": "bf16"}}')
    return "--precision=bf16", f"--precision-policy={policy}", *IN_BF16


@pytest.mark.parametrize("name", NAMES)
def test_trains_like_f32(steps: Steps, name: str, tmp_path: Path) -> None:
    """The losses of ten steps are those of f32 up to the digits of bf16, and the program is another one."""
    step = steps[name]
    lowered = compiled(step.text, *lowering(name, tmp_path))
    chosen = lowered.stages["precision"]
    assert chosen["narrow_values"] + chosen["narrow_products"] > 0
    assert not HAS_BF16 or chosen["narrow_products"] > 0
    wide, expected = run(step.compiled, step.inputs, tmp_path, steps=10)
    narrow, values = run(lowered.output, step.inputs, tmp_path, steps=10)
    np.testing.assert_allclose(narrow, wide, rtol=0, atol=2**-9 * wide[0])
    assert {name: (x.dtype, x.shape) for name, x in values.items()} == {name: (x.dtype, x.shape) for name, x in expected.items()}
    assert any((values[name] != expected[name]).any() for name in values)


@pytest.mark.parametrize("name", ["01_mlp", "08_lstm"])
def test_compiled_as_interpreted(steps: Steps, name: str, tmp_path: Path) -> None:
    """One step of the compiled program is the interpreted lowered text's, to more digits than bf16 has."""
    step = steps[name]
    text = compiled(step.text, "--precision=bf16", "--compile-to=precision")
    program = compiled(step.text, "--precision=bf16").output
    _, expected = run(text.output, step.inputs, tmp_path, "--reference")
    _, values = run(program, step.inputs, tmp_path)
    floats = [name for name, x in expected.items() if x.dtype == np.float32]
    # Weight gradients of a loop are rounded once per block of rounds, the text's once per round.
    assert deviation(values, expected, floats) < (2**-7 if name == "08_lstm" else 2**-10)


# What a random program's values, which are too small to be worth it, are stored as if the policy asks for it.
PERMITTED = ("dot_general", "tanh", "exponential", "multiply", "divide", "select", "maximum", "transpose", "subtract")


@pytest.mark.parametrize("first", [0, 40])
def test_random_programs(first: int, tmp_path: Path) -> None:
    """A pack of random programs with all that may be narrow narrow: one step of it is the interpreted lowered text's."""
    module = random_steps.pack(list(range(first, first + 10)))
    step, lowered, program, inputs, policy = (
        tmp_path / name for name in ("step.mlir", "lowered.mlir", "step.tenon", "in.safetensors", "policy.json")
    )
    step.write_text(module.text())
    save_file({f"arg{i}": values for i, (_, values) in enumerate(module.arguments)}, inputs)
    runner = random_steps.Runner(BUILD, tmp_path)
    runner.succeed("compile", step, "--compile-to=simplify", "-o", lowered)
    simplified = lowered.read_text()
    policy.write_text(json.dumps({"operations": {f"stablehlo.{op}": "bf16" for op in PERMITTED if f"= stablehlo.{op} " in simplified}}))
    options = ("--precision=bf16", f"--precision-policy={policy}")
    runner.succeed("compile", step, *options, "--compile-to=precision", "-o", lowered)
    runner.succeed("compile", step, *options, "-o", program)
    runner.succeed("verify", program)
    assert lowered.read_text().count("step.cast") > 100
    _, expected = run(lowered, inputs, tmp_path, "--reference")
    _, values = run(program, inputs, tmp_path)
    assert all(np.array_equal(values[name], x) for name, x in expected.items() if x.dtype != np.float32)
    assert deviation(values, expected, [name for name, x in expected.items() if x.dtype == np.float32]) < 2**-8


POOL = """func.func public @main(%x: IMAGES loc("x"), %y: PARTS loc("y")) -> (SUMS, SUMS) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.tanh %x : IMAGES
  %1 = "stablehlo.reduce_window"(%0, %least) <{SIZES}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (IMAGES, tensor<f32>) -> PARTS
  %2 = stablehlo.multiply %1, %y : PARTS
  %3 = "stablehlo.select_and_scatter"(%0, %2, %zero) <{SIZES}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (IMAGES, PARTS, tensor<f32>) -> IMAGES
  %4 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (PARTS, tensor<f32>) -> SUMS
  %5 = stablehlo.multiply %3, %0 : IMAGES
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (IMAGES, tensor<f32>) -> SUMS
  return %4, %6 : SUMS, SUMS
}
"""
APART = "window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>"
PADDING = "padding = dense<[[0, 0], [0, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>"
OVERLAPPING = f"window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, {PADDING}"
WORDS = {"IMAGES": "tensor<4x32x32x64xf32>", "PARTS": "tensor<4x16x16x64xf32>", "SUMS": "tensor<64xf32>"}


@pytest.mark.parametrize(("windows", "share"), [(APART, 0.6), (OVERLAPPING, 0.8)])
def test_pools(windows: str, share: float, tmp_path: Path) -> None:
    """The largest of a window and its gradient are stored narrow, with the interpreted text's bits up to the order of sums."""
    step, lowered, program, inputs = (tmp_path / name for name in ("step.mlir", "lowered.mlir", "step.tenon", "in.safetensors"))
    text = POOL.replace("SIZES", windows)
    for word, meant in WORDS.items():
        text = text.replace(word, meant)
    step.write_text(text)
    # Of tanh many are nearly 1, so that windows often hold their largest element twice once it is rounded.
    random = np.random.default_rng(3)
    save_file({name: random.normal(scale=4, size=(4, size, size, 64)).astype(np.float32) for name, size in (("x", 32), ("y", 16))}, inputs)
    succeed("compile", step, "--precision=bf16", "--compile-to=precision", "-o", lowered)
    succeed("compile", step, "--precision=bf16", "-o", program)
    _, expected = run(lowered, inputs, tmp_path, "--reference")
    _, values = run(program, inputs, tmp_path)
    assert deviation(values, expected, list(expected)) < 2**-18
    temporaries = [
        next(segment["bytes"] for segment in segments(made) if segment["name"] == "temporaries")
        for made in (program, compiled(step).output)
    ]
    assert temporaries[0] <= share * temporaries[1]


LAYERS = """func.func public @main(%x: IN loc("x"), %w: W loc("w"), %b: B loc("b"), %v: W loc("v")) -> IN {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (IN, W) -> IN
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (B) -> IN
  %2 = stablehlo.add %0, %1 : IN
  %3 = stablehlo.dot_general %2, %v, contracting_dims = [1] x [0] : (IN, W) -> IN
  return %3 : IN
}
"""
SHAPES = {"IN": (768, 512), "W": (512, 512), "B": (512,)}


@pytest.mark.skipif(not HAS_BF16, reason="this processor multiplies no 16-bit numbers")
def test_bias_in_the_call(tmp_path: Path) -> None:
    """The library adds a bias and rounds the sum once; the bits are those of the kernels apart."""
    step, inputs = tmp_path / "step.mlir", tmp_path / "in.safetensors"
    text = LAYERS
    for word, shape in SHAPES.items():
        text = re.sub(rf"\b{word}\b", f"tensor<{'x'.join(map(str, shape))}xf32>", text)
    step.write_text(text)
    random = np.random.default_rng(5)
    shapes = {"x": SHAPES["IN"], "w": SHAPES["W"], "b": SHAPES["B"], "v": SHAPES["W"]}
    save_file({name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}, inputs)
    calls = [
        line
        for line in compiled(step, "--precision=bf16", *IN_BF16, "--compile-to=group").output.read_text().splitlines()
        if re.search(r"step\.group +library", line)
    ]
    assert [('epilogue = "bias"' in call, 'result = "bf16"' in call) for call in calls] == [(True, True), (False, False)]
    program, apart = (compiled(step, "--precision=bf16", *IN_BF16, *options).output for options in ((), ("--fuse=false",)))
    results = [run(made, inputs, tmp_path, *options)[1] for made, options in ((program, ()), (program, ("--threads=1",)), (apart, ()))]
    for name, values in results[0].items():
        assert all(np.array_equal(other[name], values) for other in results[1:])


OWN = """func.func public @main(%x: TABLE loc("x"), %w: TABLE loc("w")) -> (TABLE, TABLE) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (TABLE, TABLE) -> TABLE
  %1 = stablehlo.convert %0 : (TABLE) -> NARROW
  %2 = stablehlo.convert %1 : (NARROW) -> TABLE
  %3 = stablehlo.convert %x : (TABLE) -> NARROW
  %4 = stablehlo.add %3, %3 : NARROW
  %5 = stablehlo.multiply %4, %3 : NARROW
  %6 = stablehlo.convert %5 : (NARROW) -> TABLE
  return %2, %6 : TABLE, TABLE
}
"""


@pytest.mark.parametrize("own", ["bf16", "f16"])
def test_own_roundings_stay(own: str, tmp_path: Path) -> None:
    """What the program rounds and computes in 16 bits itself has its bits with every policy."""
    source, inputs = tmp_path / "own.mlir", tmp_path / "in.safetensors"
    source.write_text(OWN.replace("TABLE", "tensor<512x512xf32>").replace("NARROW", f"tensor<512x512x{own}>"))
    x, w = np.random.default_rng(7).normal(size=(2, 512, 512)).astype(np.float32)
    save_file({"x": x, "w": w}, inputs)
    narrow = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}[own]
    rounded = x.astype(narrow)
    for precision in ("f32", "bf16", "bf16-state", "f16"):
        text = compiled(source, f"--precision={precision}", "--compile-to=precision").output.read_text()
        # The product's rounding may be the program's, which then has nothing left to round.
        by = r"stablehlo.convert %\w+ : |stablehlo.dot_general "
        roundings = [line for line in text.splitlines() if re.search(rf"({by}).*-> tensor<512x512x{own}>", line)]
        assert len(roundings) == 2, precision
        _, results = run(compiled(source, f"--precision={precision}").output, inputs, tmp_path)
        product, squares = results["result0"], results["result1"]
        assert np.array_equal(product, product.astype(narrow).astype(np.float32)), precision
        assert np.array_equal(squares, ((rounded + rounded) * rounded).astype(np.float32)), precision


@pytest.mark.parametrize("target", ["cpu", "sm_90"])
@pytest.mark.parametrize("name", ["04_chargpt", "07_llama_bf16"])
def test_groups_that_formats_were_chosen_by(steps: Steps, name: str, target: str, tmp_path: Path) -> None:
    """What the search for formats has grouped is handed on: the groups that its text leads to, which knows of none."""
    options = (steps[name].text, f"--target={target}", "--precision=bf16")
    text, grouped, again = (tmp_path / f"{each}.mlir" for each in ("precision", "group", "again"))
    succeed("compile", *options, "--compile-to=precision", "-o", text)
    succeed("compile", *options, "--compile-to=group", "-o", grouped)
    succeed("compile", text, "--compile-from=precision", f"--target={target}", "--compile-to=group", "-o", again)
    without_places = [re.sub(r" ?loc\(.*", "", each.read_text()) for each in (grouped, again)]
    assert without_places[0] == without_places[1]


def test_text_between_stages(steps: Steps, tmp_path: Path) -> None:
    """A text says what was lowered, and leads to the bytes of a compilation in one go."""
    step = steps["01_mlp"]
    policy = tmp_path / "policy.json"
    policy.write_text('{"arguments": {"params.l1.kernel": "f32"}, "operations": {"stablehlo.reduce": "f32"}}')
    options = ("--precision=bf16", f"--precision-policy={policy}")
    for stage in ("import", "simplify", "precision", "group"):
        text, program = tmp_path / f"{stage}.mlir", tmp_path / f"{stage}.tenon"
        succeed("compile", step.text, *options, f"--compile-to={stage}", "-o", text)
        succeed("compile", text, f"--compile-from={stage}", "-o", program)
    whole = tmp_path / "whole.tenon"
    succeed("compile", step.text, *options, "--threads=1", "-o", whole)
    assert all((tmp_path / f"{stage}.tenon").read_bytes() == whole.read_bytes() for stage in ("import", "simplify", "precision", "group"))
    assert "precision_policy" in (tmp_path / "group.mlir").read_text()
    text = tmp_path / "precision.mlir"
    assert "--precision=f32 contradicts" in refused(1, "compile", text, "--compile-from=precision", "--precision=f32", "-o", whole)
    said = refused(2, "compile", text, "--compile-from=precision", f"--precision-policy={policy}", "-o", whole)
    assert "--precision-policy is read by the stage precision" in said


ADDS_IN_ROUNDS = """
func.func @main(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %start = stablehlo.multiply %y, %y : tensor<512x512xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %sum = %start) : tensor<i32>, tensor<512x512xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %a = stablehlo.multiply %x, %sum : tensor<512x512xf32>
    %b = stablehlo.tanh %a : tensor<512x512xf32>
    %c = stablehlo.add %sum, %b : tensor<512x512xf32>
    stablehlo.return %next, %c : tensor<i32>, tensor<512x512xf32>
  }
  %r = stablehlo.tanh %0#1 : tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
"""


def test_policy_does_not_reach_sums(tmp_path: Path) -> None:
    """What a loop adds to in every round stays f32, even if a policy file permits 16 bits for everything."""
    step, policy = tmp_path / "step.mlir", tmp_path / "policy.json"
    step.write_text(ADDS_IN_ROUNDS)
    policy.write_text('{"operations": {"stablehlo.*": "bf16"}}')
    options = ("--precision=bf16", f"--precision-policy={policy}")
    succeed("compile", step, *options, "-o", tmp_path / "step.tenon")
    assert "a sum is held in f32 until its last term is added" in succeed("inspect", step, *options)


@pytest.mark.parametrize(
    ("policy", "code", "message"),
    [
        ('{"arguments": {"params.l9.*": "f32"}}', 1, "'params.l9.*' in 'arguments' of the precision policy matches nothing"),
        ('{"layers": {}}', 1, "unknown key 'layers', expected arguments, results, operations or locations"),
        ('{"results": {"x": "f16"}}', 1, "'x' in 'results' leads to neither \"f32\" nor \"bf16\""),
        ("{", 1, "policy.json"),
    ],
)
def test_wrong_policy(steps: Steps, policy: str, code: int, message: str, tmp_path: Path) -> None:
    """What a policy says in vain is an error."""
    path = tmp_path / "policy.json"
    path.write_text(policy)
    said = refused(code, "compile", steps["01_mlp"].text, "--precision=bf16", f"--precision-policy={path}", "-o", tmp_path / "x.tenon")
    assert message in said


def test_policy(steps: Steps, tmp_path: Path) -> None:
    """A policy keeps what it names in f32, and permits what the rules do not."""
    step = steps["01_mlp"]
    path = tmp_path / "policy.json"

    def formats(policy: dict) -> dict:
        path.write_text(json.dumps(policy))
        report = tmp_path / "report.json"
        options = ["--precision=bf16", f"--precision-policy={path}", *IN_BF16]
        succeed("compile", step.text, *options, "--report", report, "-o", tmp_path / "x.tenon")
        return next(stage for stage in json.loads(report.read_text())["stages"] if stage["stage"] == "precision")

    none = formats({"operations": {"stablehlo.*": "f32"}})
    assert none["narrow_values"] == none["narrow_products"] == 0
    assert json.loads(none["policy"]) == {"operations": {"stablehlo.*": "f32"}}
    kept = formats({"locations": {"*": "f32"}})
    assert kept["narrow_values"] == kept["narrow_products"] == 0
    every, few = formats({}), formats({"arguments": {"params.*": "f32"}})
    assert few["narrow_products"] < every["narrow_products"] or not HAS_BF16
    said = refused(2, "compile", step.text, f"--precision-policy={path}", "-o", tmp_path / "x.tenon")
    assert "--precision=bf16" in said


@pytest.mark.parametrize("name", ["01_mlp"])
def test_same_bits(steps: Steps, name: str, tmp_path: Path) -> None:
    """A budget, also the smallest one, no fusion, threads and a resumed run change no bit; the plans are verified."""
    step = steps[name]
    expected, _ = check_same_bits(step, "--precision=bf16", 0, tmp_path)
    least = smallest(step.text, "--precision=bf16").output
    succeed("verify", least)
    _, values = run(least, step.inputs, tmp_path, steps=4)
    assert all(np.array_equal(values[name], expected[name]) for name in expected)


def segments(program: Path) -> list[dict]:
    """The segments of a file as `tenon inspect` lists them."""
    lines = succeed("inspect", program).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("segment"))
    rows = [line.split() for line in lines[begin + 1 :]]
    return [{"name": row[0], "bytes": int(row[1])} for row in rows if len(row) == 2 and row[1].isdigit()]


def check_same_bits(step: Step, option: str, hidden: int, scratch: Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Threads, a budget, no fusion and a resumed run change no bit of four steps. `hidden` tensors of the state are the stage's own.

    Returns the results, and the state after two steps.
    """
    program = compiled(step.text, option).output
    losses, expected = run(program, step.inputs, scratch, steps=4)
    whole = sum(segment["bytes"] for segment in segments(program))
    others = [compiled(step.text, option, other).output for other in (f"--memory-budget={whole}", "--fuse=false")]
    for other in (*others, program):
        succeed("verify", other)
        _, values = run(other, step.inputs, scratch, "--threads=1", steps=4)
        assert all(np.array_equal(values[name], expected[name]) for name in expected)
    state, batch = scratch / "half.safetensors", scratch / "batch.safetensors"
    first, _ = run(program, step.inputs, scratch, "--save", state, steps=2)
    held = load_file(state)
    # State comes first among the arguments, and the hidden state has no number.
    seen = len(held) - hidden
    save_file({name: values for name, values in load_file(step.inputs).items() if int(name[3:]) >= seen}, batch)
    second, values = run(program, batch, scratch, "--state", state, steps=2)
    assert all(np.array_equal(values[name], expected[name]) for name in expected)
    assert first + second == losses
    return expected, held


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", ["01_mlp", "02_cnn", "03_resnet18", "04_chargpt", "05_gpt2_124m", "08_lstm", "10_vit_tiny"])
def test_predicted_as_grouped(steps: Steps, name: str, cpu: str) -> None:
    """The seconds for which formats were chosen are those of the kernels that the step has, before some of them become one."""
    stages = compiled(steps[name].text, "--precision=bf16", f"--cpu={cpu}", "--compile-to=group").stages
    groups = stages["group"]
    assert stages["precision"]["predicted_seconds"] == pytest.approx(groups["predicted_seconds_unfinished"], rel=0.02)
    assert groups["predicted_seconds"] <= groups["predicted_seconds_unfinished"]


FEW_CHANNELS = """func.func public @main(%x: IMAGES loc("x"), %w: FIRST loc("w"), %v: SECOND loc("v")) -> MANY {
  %0 = stablehlo.convolution(%x, %w) NUMBERS : (IMAGES, FIRST) -> tensor<64x32x32x32xf32>
  %1 = stablehlo.convolution(%0, %v) NUMBERS : (tensor<64x32x32x32xf32>, SECOND) -> MANY
  return %1 : MANY
}
"""
CONVOLUTION = {
    "NUMBERS": "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} "
    "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}",
    "IMAGES": "tensor<64x32x32x3xf32>",
    "FIRST": "tensor<3x3x3x32xf32>",
    "SECOND": "tensor<3x3x32x64xf32>",
    "MANY": "tensor<64x32x32x64xf32>",
}


def test_few_channels(tmp_path: Path) -> None:
    """A convolution of three channels, whose call widens them, is chosen for what it takes."""
    source, text = tmp_path / "step.mlir", FEW_CHANNELS
    for word, meant in CONVOLUTION.items():
        text = text.replace(word, meant)
    source.write_text(text)
    stages = compiled(source, "--precision=bf16", f"--cpu={CPUS[-1]}", "--compile-to=group").stages
    assert stages["precision"]["narrow_products"] == 2
    assert stages["precision"]["predicted_seconds"] == pytest.approx(stages["group"]["predicted_seconds"], rel=0.01)


@pytest.mark.parametrize("name", MOST_TEMPORARIES)
def test_bytes_where_products_are_not_quicker(models: Steps, name: str) -> None:
    """On a processor without quick products of 16 bits, formats save bytes for at most 2 % of the predicted time, and never cost any."""
    options = ("--cpu=x86-64-v3", "--compile-to=lower")
    wide, lowered = (compiled(models[name].text, *options, f"--precision={precision}") for precision in ("f32", "bf16"))
    segments = [
        {name: int(size) for name, size in re.findall(r"exec.segment @(\w+) .* bytes (\d+)", each.output.read_text())}
        for each in (wide, lowered)
    ]
    formats, groups = lowered.stages["precision"], lowered.stages["group"]
    totals = [sum(each.values()) for each in segments]
    assert totals == [formats["planned_bytes_f32"], formats["planned_bytes"]]
    assert totals[1] <= totals[0]
    assert groups["predicted_seconds_unfinished"] <= 1.02 * wide.stages["group"]["predicted_seconds_unfinished"] * (1 + 1e-9)
    assert segments[1]["temporaries"] <= MOST_TEMPORARIES[name] * segments[0]["temporaries"]
    why = {line["why"] for line in formats["formats"]}
    assert ("the step takes less memory in f32" in why) == (name in SMALLER_IN_F32) == (formats["narrow_values"] == 0)


@pytest.mark.parametrize("target", ["cpu", "sm_90"])
@pytest.mark.parametrize("name", ["01_mlp", "02_cnn", "08_lstm", "10_vit_tiny"])
def test_never_predicted_slower(models: Steps, name: str, target: str) -> None:
    """Where the groups of all choices would take longer than those of f32, the step stays f32 and says why."""
    options = ("--compile-to=group", *(IN_BF16 if target == "cpu" else [f"--target={target}"]))
    wide = compiled(models[name].text, *options).stages["group"]["predicted_seconds"]
    lowered = compiled(models[name].text, "--precision=bf16", *options).stages
    assert lowered["group"]["predicted_seconds"] <= wide * (1 + 1e-9)
    why = {line["why"] for line in lowered["precision"]["formats"]}
    narrow = lowered["precision"]["narrow_values"] + lowered["precision"]["narrow_products"]
    assert narrow == 0 or "the step is predicted to be quicker in f32" not in why


def test_inspect(steps: Steps) -> None:
    """`tenon inspect --precision` lists every value and product with its format and the reason."""
    said = succeed("inspect", "--precision", steps["01_mlp"].text, *IN_BF16)
    assert "policy: bf16" in said and "an argument has the type that users see" in said
    assert "kernels only cast" in said and "predicted" in said
    assert ("bf16            0 product" in said) == HAS_BF16


EDGES = [
    0x00000000, 0x80000000,  # zeros
    0x00000001, 0x80000001, 0x00007FFF, 0x00008000, 0x0000FFFF, 0x007FFFFF, 0x807F8000,  # subnormal numbers
    0x00800000, 0x007F8000, 0x3F7F8000, 0x3FFFFFFF, 0xBFFF8001,  # rounding carries into the exponent
    0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001,  # half way between two bf16, and beside
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F7F8000, 0x7F7F7FFF,  # the nearest bf16 is infinite, or only just not
    0x7F800000, 0xFF800000,  # infinities
    0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF80FFFF, 0x7FC12345, 0x7FFFFFFF, 0xFFFFFFFF,  # NaN
]  # fmt: skip

HELD = """
func.func @main(
    %w: tensor<256x64xf32> {step.aliases = ["arg0"], step.name = "w", step.role = #step.role<parameter>, step.role_reason = "",
                            step.successor = 0 : i64},
    %x: tensor<16x256xbf16> {step.aliases = ["arg1"], step.name = "x", step.role = #step.role<batch>, step.role_reason = ""},
    %bits: tensor<256x64xui32> {step.aliases = ["arg2"], step.name = "bits", step.role = #step.role<batch>, step.role_reason = ""})
    -> (tensor<256x64xf32> {step.aliases = ["result0"], step.name = "w"}, tensor<16x64xf32> {step.aliases = ["result1"], step.name = "y"}) {
  %0 = stablehlo.convert %w {step.cast} : (tensor<256x64xf32>) -> tensor<256x64xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<16x256xbf16>, tensor<256x64xbf16>) -> tensor<16x64xf32>
  %2 = stablehlo.bitcast_convert %w : (tensor<256x64xf32>) -> tensor<256x64xui32>
  %3 = stablehlo.xor %2, %bits : tensor<256x64xui32>
  %4 = stablehlo.bitcast_convert %3 : (tensor<256x64xui32>) -> tensor<256x64xf32>
  return %4, %1 : tensor<256x64xf32>, tensor<16x64xf32>
}
"""


def passed(text: str, scratch: Path, *passes: str) -> Path:
    """What `tenon-opt` makes of a text."""
    source, output = scratch / "source.mlir", scratch / "passed.mlir"
    source.write_text(text)
    subprocess.run([BUILD / "bin" / "tenon-opt", source, *passes, "-o", output], check=True)
    return output


@pytest.mark.parametrize("subnormals", ["flush", "keep"])
def test_held_bits(subnormals: str, tmp_path: Path) -> None:
    """A held parameter keeps all bits of any f32: loaded, read and replaced by the step, saved, and interpreted."""
    text = passed(HELD, tmp_path, "--precision-hold-parameters")
    assert text.read_text().count("step.holds") == 4
    program = tmp_path / "held.tenon"
    succeed("compile", text, "--compile-from=precision", f"--subnormals={subnormals}", "-o", program)
    succeed("verify", program)
    said = succeed("inspect", program)
    assert "256x64xf32" in said and "(held in two parts, a bf16 and an i16)" in said and "w.low" not in said
    random = np.random.default_rng(5)
    before = random.integers(0, 2**32, (256, 64), dtype=np.uint32)
    before.flat[: len(EDGES)] = EDGES
    mask = random.integers(0, 2**32, (256, 64), dtype=np.uint32)
    mask.flat[: 2 * len(EDGES)] = 0
    mask.flat[len(EDGES) : 2 * len(EDGES)] = before.flat[len(EDGES) : 2 * len(EDGES)] ^ np.array(EDGES, np.uint32)
    inputs, outputs, state = (tmp_path / f"{name}.safetensors" for name in ("inputs", "outputs", "state"))
    save_file({"w": before.view(np.float32), "bits": mask, "x": np.zeros((16, 256), ml_dtypes.bfloat16)}, inputs)
    for options in ((program, "--save", state), (text, "--reference")):
        succeed("run", *options, "--inputs", inputs, "--outputs", outputs, "--steps", 1)
        assert np.array_equal(load_file(outputs)["result0"].view(np.uint32), before ^ mask)
    saved = load_file(state)
    assert list(saved) == ["w"] and np.array_equal(saved["w"].view(np.uint32), before ^ mask)


@pytest.mark.parametrize("name", ["01_mlp", "04_chargpt"])
def test_holding_changes_no_number(steps: Steps, name: str, tmp_path: Path) -> None:
    """After some steps every bit that users see is that of the step with f32 parameters, which are taken apart inside."""
    step = steps[name]
    simplified = compiled(step.text, "--compile-to=simplify").output.read_text()
    chosen = passed(simplified, tmp_path, "--precision-choose-formats=cpu=x86-64-v4+amxbf16").read_text()
    saved = []
    for option in ("inside=false", "inside=true"):
        text = passed(chosen, tmp_path, f"--precision-hold-parameters={option}")
        assert ("step.holds" in text.read_text()) == (option == "inside=false")
        program, state = tmp_path / "step.tenon", tmp_path / "state.safetensors"
        succeed("compile", text, "--compile-from=precision", "-o", program)
        succeed("verify", program)
        losses, results = run(program, step.inputs, tmp_path, "--save", state, steps=5)
        saved.append((losses, results, load_file(state)))
    (losses, results, state), (expected_losses, expected_results, expected_state) = saved
    assert losses == expected_losses
    for values, expected in ((results, expected_results), (state, expected_state)):
        assert values.keys() == expected.keys()
        assert all(values[name].tobytes() == expected[name].tobytes() for name in expected)


@pytest.mark.skipif(not HAS_BF16, reason="products of bf16 are not native here")
@pytest.mark.parametrize("name", ["01_mlp", "04_chargpt"])
def test_held_parameters(steps: Steps, name: str, tmp_path: Path) -> None:
    """A state of the f32 step loads into the lowered one and comes back bit for bit; the lowered one needs less memory."""
    step = steps[name]
    lowered = compiled(step.text, "--precision=bf16", *IN_BF16)
    assert lowered.stages["precision"]["held_in_parts"]
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    run(step.compiled, step.inputs, tmp_path, "--save", first, steps=2)
    before = load_file(first)
    script = "import sys, tenon; p = tenon.load(sys.argv[1]); p.load_state(sys.argv[2]); p.save(sys.argv[3])"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "TENON_BUILD": str(BUILD)}
    subprocess.run([sys.executable, "-c", script, lowered.output, first, second], env=environment, check=True)
    after = load_file(second)
    assert before.keys() == after.keys()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    assert set(lowered.stages["precision"]["held_in_parts"]) <= before.keys()
    narrow, wide = ({row["name"]: row["bytes"] for row in segments(file)} for file in (lowered.output, step.compiled))
    assert narrow["temporaries"] < wide["temporaries"] and narrow["state"] <= wide["state"]


@pytest.mark.skipif(not HAS_BF16, reason="products of bf16 are not native here")
@pytest.mark.parametrize("name", ["01_mlp", "02_cnn"])
def test_held_batch(steps: Steps, name: str, tmp_path: Path) -> None:
    """A batch that only products read is rounded when it is written: no kernel casts it, and it takes half the bytes."""
    import tenon

    step = steps[name]
    lowered = compiled(step.text, "--precision=bf16", *IN_BF16)
    held = lowered.stages["precision"]["batches_held_narrow"]
    assert len(held) == 1
    program = tenon.load(lowered.output)
    tensor = program.batch[held[0]]
    values = load_file(step.inputs)[f"arg{tensor.argument}"]
    shape = "x".join(map(str, values.shape))
    assert not [cast for cast in lowered.stages["group"].get("cast_kernels", []) if cast.startswith(f"tensor<{shape}xf32>")]
    rounded = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert (values != rounded).any()
    tensor.write(values)
    np.testing.assert_array_equal(tensor.read(), rounded)
    with pytest.raises(tenon.ArgumentError, match="converted to bf16"):
        program.bind(held[0], tenon.aligned(values.shape, values.dtype))
    narrow, wide = ({row["name"]: row["bytes"] for row in segments(file)} for file in (lowered.output, step.compiled))
    assert narrow["batch"] < 0.6 * wide["batch"]
    # The step reads the rounded numbers.
    _, expected = run(lowered.output, step.inputs, tmp_path)
    changed = tmp_path / "rounded.safetensors"
    save_file(load_file(step.inputs) | {f"arg{tensor.argument}": rounded}, changed)
    _, found = run(lowered.output, changed, tmp_path)
    assert all(np.array_equal(found[key], expected[key]) for key in expected)
    # A policy keeps it f32.
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"arguments": {held[0]: "f32"}}))
    assert not compiled(step.text, "--precision=bf16", f"--precision-policy={policy}").stages["precision"]["batches_held_narrow"]
