"""Steps that leave as StableHLO with their precision lowered: the same signature, products of 16 bits, and in XLA the numbers that
the written text means. In f16 the scale of the loss is carried from step to step by the caller."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import replays
import xla
from conftest import Steps, compiled, refused, succeed
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from safetensors.numpy import load_file, save_file

NARROW = re.compile(r"\(tensor<[0-9x]*x(b?f16)>, tensor<[0-9x]*x\1>\) -> ")
# What a step in f16 carries behind all else: its name, and what it is before the first step.
CARRIED = {"loss_scale": np.array(65536, np.float32), "loss_scale_growth": np.array(0, np.int32)}


def lowered(source: Path, *options: object, precision: str = "bf16") -> str:
    """The text that leaves."""
    return compiled(source, "--target=stablehlo", f"--precision={precision}", *options).output.read_text()


def products(text: str) -> list[str]:
    """The lines that multiply."""
    return [line for line in text.splitlines() if re.search(r"= stablehlo\.(dot_general|convolution)\b", line)]


def surface(text: str) -> tuple[str, ...]:
    """What XLA's clients see of a step: types and attributes of arguments and results, and attributes of the module."""
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        main = ir.SymbolTable(module.operation)["main"]
        named = [module.operation.attributes[i] for i in range(len(module.operation.attributes))]
        notes = sorted(f"{each.name} = {each.attr}" for each in named)
        return (*(str(main.attributes[key]) for key in ("function_type", "arg_attrs", "res_attrs")), *notes)


def parts_of_main(text: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """Types of arguments and results of @main, and their attributes, as text."""
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        main = ir.SymbolTable(ir.Module.parse(text).operation)["main"]
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        listed = [
            [str(each) for each in main.attributes[key]] if key in main.attributes else ["{}"] * len(types)
            for key, types in (("arg_attrs", kind.inputs), ("res_attrs", kind.results))
        ]
        return [str(each) for each in kind.inputs], [str(each) for each in kind.results], *listed


def interpreted(text: str, given: list[np.ndarray], scratch: Path) -> list[np.ndarray]:
    """The results of one step by the reference interpreter, in order."""
    step, inputs, outputs = scratch / "step.mlir", scratch / "in.safetensors", scratch / "out.safetensors"
    step.write_text(text)
    save_file({f"arg{i}": np.ascontiguousarray(value) for i, value in enumerate(given)}, inputs)
    succeed("run", step, "--reference", "--inputs", inputs, "--steps", 1, "--outputs", outputs)
    found = load_file(outputs)
    return [found[f"result{i}"] for i in range(len(found))]


def deviation(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest relative deviation of a tensor of floats, as the root of its mean square."""

    def rms(x: np.ndarray) -> float:
        return float(np.sqrt(np.mean(np.square(x.astype(np.float64)))))

    return max(rms(x - y) / max(rms(y), 1e-30) for x, y in zip(found, expected, strict=True) if y.dtype == np.float32)


@pytest.mark.parametrize("name", ["01_mlp", "02_cnn", "04_chargpt", "08_lstm", "17_chargpt_remat"])
def test_signature_and_products(models: Steps, name: str) -> None:
    """Arguments, results and their attributes are those of the f32 step; products multiply bf16, and no note of a stage is left."""
    original = models[name].text.read_text()
    text = lowered(models[name].text)
    assert surface(text) == surface(original)
    assert "{step." not in text and " step." not in text and "precision_number" not in text and "precision_copy" not in text
    assert products(text) and sum(bool(NARROW.search(line)) for line in products(text)) >= 0.5 * len(products(text))
    assert xla.least_version(text) <= max(xla.least_version(original), (1, 13, 0))


@pytest.mark.parametrize("name", ["01_mlp", "08_lstm"])
def test_trains_like_f32(models: Steps, steps: Steps, name: str, tmp_path: Path) -> None:
    """Five steps in XLA: losses as near to those of f32 as bf16 allows, and as near to those of the step that we compile for this
    processor with the same policy."""
    info = models[name].info
    wide = replays.original(models[name].text.read_text(), info).losses
    _, narrow = xla.run(xla.XlaStep(lowered(models[name].text)), info)
    metrics = tmp_path / "metrics.csv"
    program = compiled(steps[name].text, "--precision=bf16").output
    succeed("run", program, "--inputs", steps[name].inputs, "--steps", xla.STEPS, "--metrics", metrics)
    own = [float(line.split(",")[-1]) for line in metrics.read_text().splitlines()[1:]]
    assert narrow != wide
    np.testing.assert_allclose(narrow, wide, rtol=0, atol=2**-9 * wide[0])
    np.testing.assert_allclose(narrow, own, rtol=0, atol=2**-9 * wide[0])


@pytest.mark.parametrize("name", ["01_mlp", "02_cnn", "04_chargpt", "08_lstm"])
def test_signature_of_f16(models: Steps, name: str) -> None:
    """Behind what came stand the scale of the loss and the count of finite steps, with their names and start values."""
    original = models[name].text.read_text()
    text = lowered(models[name].text, precision="f16")
    types, results, of_arguments, of_results = parts_of_main(text)
    assert (types[:-2], results[:-2], of_arguments[:-2], of_results[:-2]) == parts_of_main(original)
    assert types[-2:] == results[-2:] == ["tensor<f32>", "tensor<i32>"]
    assert of_arguments[-2:] == [
        '{tenon.initial = dense<6.553600e+04> : tensor<f32>, tenon.name = "loss_scale"}',
        '{tenon.initial = dense<0> : tensor<i32>, tenon.name = "loss_scale_growth"}',
    ]
    assert of_results[-2:] == [f'{{tenon.name = "{each}"}}' for each in CARRIED]
    assert "{step." not in text and " step." not in text and "bf16" not in text
    assert sum(bool(NARROW.search(line)) for line in products(text)) >= 0.5 * len(products(text))
    assert xla.least_version(text) <= max(xla.least_version(original), (1, 13, 0))


@pytest.mark.parametrize("name", ["01_mlp", "08_lstm"])
def test_trains_in_f16(models: Steps, name: str) -> None:
    """Five steps in XLA: losses as near to those of f32 as f16 allows. Then a step with infinite gradients halves the scale, and leaves
    every state as it was."""
    info = models[name].info
    wide = replays.original(models[name].text.read_text(), info).losses
    step = xla.XlaStep(lowered(models[name].text, precision="f16"))
    values = xla.start_values(info)
    state = sum(leaf["donated"] for leaf in info["args"])
    carried, losses = list(CARRIED.values()), []

    def advance() -> list[np.ndarray]:
        taken = [value for value, leaf in zip(values, info["args"], strict=True) if leaf["in_main"]]
        found = [np.asarray(each).copy() for each in step.call([*taken, *carried])]
        carried[:] = found[-2:]
        return found

    for _ in range(xla.STEPS):
        found = advance()
        values[:state] = found[:state]
        losses.append(float(found[state].ravel()[0]))
    assert losses != wide
    np.testing.assert_allclose(losses, wide, rtol=0, atol=2**-11 * wide[0])
    assert carried == [65536, xla.STEPS]
    carried[0] = np.array(2.0**100, np.float32)
    found = advance()
    assert carried == [2.0**99, 0]
    assert all(np.array_equal(now, before) for now, before in zip(found[:state], values[:state], strict=True))


# What is rounded is read by a product, which takes the 16 bits, and by what computes in f32 and would notice other digits.
READERS = """
func.func public @main(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0.0> : tensor<256x256xf32>
  %y = stablehlo.tanh %x : tensor<256x256xf32>
  %p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %m = stablehlo.reduce(%y init: %least) applies stablehlo.maximum across dimensions = [1]
    : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
  %s = stablehlo.subtract %y, %b : tensor<256x256xf32>
  %e = stablehlo.exponential %s : tensor<256x256xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  return %p, %m, %t : tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>
}
"""


@pytest.mark.parametrize(("precision", "least", "most"), [("bf16", 2**-12, 2**-18), ("f16", 2**-13, 2**-16)])
def test_readers_see_what_was_rounded(precision: str, least: float, most: float, tmp_path: Path) -> None:
    """XLA drops a conversion to 16 bits and back by default; what the written text rounds it rounds all the same. Its tanh differs from
    ours in the last place, which moves a few of the numbers across the middle between two of f16."""
    (tmp_path / "in.mlir").write_text(READERS)
    text = lowered(tmp_path / "in.mlir", precision=precision)
    assert f"x{precision}>) -> tensor<256x256xf32>" in text
    random = np.random.default_rng(3)
    given = [random.standard_normal((256, 256)).astype(np.float32) for _ in range(2)]
    expected = interpreted(text, given, tmp_path)
    assert deviation(expected, interpreted(READERS, given, tmp_path)) > least, "nothing was rounded"
    assert deviation(xla.XlaStep(text).call(given), expected) < most


SEVERAL = """
func.func public @main(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16,
    accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3,
    allow_imprecise_accumulation = false> : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %p : tensor<256x256xf32>
}
"""


def test_products_of_several_parts(tmp_path: Path) -> None:
    """A product that its user had made of several bf16 parts keeps the digits that only the roundings between them bring."""
    (tmp_path / "in.mlir").write_text(SEVERAL)
    text = lowered(tmp_path / "in.mlir")
    random = np.random.default_rng(4)
    given = [random.standard_normal((256, 256)).astype(np.float32) for _ in range(2)]
    exact = (given[0].astype(np.float64) @ given[1].astype(np.float64)).astype(np.float32)
    assert deviation(xla.XlaStep(text).call(given), [exact]) < 2**-14


@pytest.mark.parametrize("name", ["04_chargpt"])
def test_under_a_budget(models: Steps, name: str) -> None:
    """A budget plans the lowered step: XLA needs less, and the signature stays."""
    source = models[name].text
    step = xla.XlaStep(lowered(source), optimized=False)
    budget = step.argument_bytes + step.result_bytes + step.temporary_bytes * 6 // 10
    planned = compiled(source, "--target=stablehlo", "--precision=bf16", f"--memory-budget={budget}")
    text = planned.output.read_text()
    assert surface(text) == surface(source.read_text())
    assert planned.plan["recomputed_fusions"] > 0 and planned.plan["ties"] > 0
    assert sum(bool(NARROW.search(line)) for line in products(text)) > 0
    assert xla.XlaStep(text, optimized=False).temporary_bytes < step.temporary_bytes


def test_policy_file(models: Steps, tmp_path: Path) -> None:
    """A policy says of XLA's step what it says of ours, and names are those that --roles gives."""
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"operations": {"stablehlo.*": "f32"}}))
    kept = lowered(models["01_mlp"].text, f"--precision-policy={policy}")
    assert products(kept) and "bf16" not in kept
    policy.write_text(json.dumps({"arguments": {"nobody": "f32"}}))
    source = models["01_mlp"].text
    options = ("--target=stablehlo", "--precision=bf16", f"--precision-policy={policy}", "-o", tmp_path / "x")
    assert "matches nothing" in refused(1, "compile", source, *options)
    assert "cannot read" in refused(1, "compile", source, *options, "--roles=nowhere.json")


COMPLEX = """
func.func public @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.add %x, %x : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}
"""

UNKNOWN = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "future.scramble"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize(
    ("text", "options", "code", "message"),
    [
        (READERS, ["--roles=x.json"], 2, "--roles says what --precision=bf16 lowers"),
        (READERS, ["--precision=f32", "--roles=x.json"], 2, "--roles says what --precision=bf16 lowers"),
        (READERS, ["--precision=bf16", "--cpu=x86-64-v3"], 2, "--cpu is for the target cpu"),
        (READERS, ["--precision=bf16", "--no-libraries"], 2, "--no-libraries is for the target cpu"),
        (COMPLEX, ["--precision=bf16"], 4, "complex"),
        (READERS, ["--precision=bf16-state"], 1, "keeps arguments as they are"),
        (UNKNOWN, ["--precision=bf16"], 1, "future.scramble"),
        (READERS.replace("@main", "@other"), ["--precision=bf16"], 1, "--precision lowers the function @main"),
    ],
)
def test_refused(text: str, options: list[str], code: int, message: str, tmp_path: Path) -> None:
    """What means nothing, and what cannot be lowered, is an error that says so."""
    (tmp_path / "in.mlir").write_text(text)
    assert message in refused(code, "compile", tmp_path / "in.mlir", "--target=stablehlo", *options, "-o", tmp_path / "out.mlir")


def test_policy_without_precision(tmp_path: Path) -> None:
    """A policy alone lowers nothing."""
    (tmp_path / "in.mlir").write_text(READERS)
    (tmp_path / "policy.json").write_text("{}")
    options = ("--target=stablehlo", f"--precision-policy={tmp_path / 'policy.json'}", "-o", tmp_path / "out.mlir")
    assert "--precision=bf16" in refused(2, "compile", tmp_path / "in.mlir", *options)


def test_several_devices(sharded: Steps, tmp_path: Path) -> None:
    """Formats are chosen for one device."""
    source = sharded.folder / "15_chargpt_sharded.mlir"
    said = refused(1, "compile", source, "--target=stablehlo", "--precision=bf16", "-o", tmp_path / "x")
    assert "--precision is for programs for one device" in said and "mhlo.num_partitions" in said


def test_f32_changes_nothing(models: Steps) -> None:
    """--precision=f32 is what is done without the option."""
    plain = compiled(models["01_mlp"].text, "--target=stablehlo").output.read_text()
    assert compiled(models["01_mlp"].text, "--target=stablehlo", "--precision=f32").output.read_text() == plain
