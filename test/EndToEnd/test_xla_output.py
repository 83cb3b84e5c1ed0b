"""Steps that leave as StableHLO: XLA, here the CPU client in jaxlib, accepts, compiles and runs them like the original."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import compare
import exactness
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import replays
import xla
from conftest import NAMES, Steps, refused, run, succeed
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir


def generic_form(text: str) -> str:
    """What jaxlib's printer makes of a module, so that spelling does not matter."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        assert module.operation.verify()
        return module.operation.get_asm(print_generic_op_form=True)


def exported(source: Path, scratch: Path, *options: object) -> str:
    """The text that leaves."""
    succeed("compile", source, "--target=stablehlo", "-o", scratch / "out.mlir", *options)
    return (scratch / "out.mlir").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_planned_is_unchanged(models: Steps, tmp_path: Path, name: str) -> None:
    """Without a budget the module that leaves is the one that came, signature, attributes and all, in both spellings."""
    original = (models.folder / f"{name}.mlir").read_text()
    expected = generic_form(original)
    assert generic_form(exported(models.folder / f"{name}.mlir", tmp_path)) == expected
    text = exported(models.folder / f"{name}.mlir", tmp_path, "--generic")
    assert generic_form(text) == expected
    assert '"stablehlo.' in text and " stablehlo." not in text


# The test above shows of every step that XLA is given the same module; XLA takes long to compile some of them once more.
@pytest.mark.parametrize("name", ["01_mlp", "02b_cnn_rbg", "13_mlp_f16_loss_scale", "14_while_fori", "18_unread_leaves"])
def test_steps_run_beside_the_original(models: Steps, tmp_path: Path, name: str) -> None:
    """Five steps in XLA: equal bits in every result."""
    step = models[name]
    first, second = replays.original(step.text.read_text(), step.info), xla.XlaStep(exported(step.text, tmp_path))
    found, losses = xla.run(second, step.info)
    assert losses == first.losses
    assert [value.tobytes() for value in found] == [value.tobytes() for value in first.results[xla.STEPS]]
    assert second.temporary_bytes == first.temporary_bytes


def on_eight_devices(*arguments: object) -> dict[str, Any]:
    """What xla.py shows of two texts."""
    environment = dict(os.environ, XLA_FLAGS="--xla_force_host_platform_device_count=8")
    command = [sys.executable, xla.__file__, *arguments, "--devices=8"]
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, check=False)
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout)


# Whole tensors, and cut ones of a step whose axes are all in use; loops; pools and convolutions.
ON_A_MESH = [("01_mlp", "data=8"), ("04_chargpt", "data=2,model=4"), ("08_lstm", "data=2,model=4"), ("02_cnn", "data=4,model=2")]


@pytest.mark.parametrize(("name", "mesh"), ON_A_MESH)
def test_a_step_is_cut_by_annotations(models: Steps, tmp_path: Path, name: str, mesh: str) -> None:
    """Five steps on eight devices, in the layouts that are chosen, give what one device gives, and a device has less state."""
    models.export(name)
    step = models[name]
    text = exported(step.text, tmp_path, f"--mesh={mesh}")
    axes = [axis.split("=") for axis in mesh.split(",")]
    written = ", ".join('"{}"={}'.format(*axis) for axis in axes)
    assert f"sdy.mesh @mesh = <[{written}]>" in text
    assert "sdy.sharding_constraint" in text
    assert not re.search(r"\bstep\.[a-z]", text.replace(str(step.text), ""))
    shown = on_eight_devices(step.text, tmp_path / "out.mlir", models.folder / f"{name}.json", "--first-on-one")
    np.testing.assert_allclose(shown["losses"][1], shown["losses"][0], rtol=1e-5)
    # Adam divides by gradients that are nothing but rounding errors, such as those of the biases of keys.
    assert shown["middle"] < 1e-5 and shown["farthest"] < 0.05
    assert shown["arguments"][1] < 0.6 * shown["arguments"][0]


def test_layouts_of_a_file_are_annotated(models: Steps, tmp_path: Path) -> None:
    """What a file asks for stands on arguments and results, as far as it cuts them evenly; what follows by itself has no constraint."""
    (tmp_path / "layouts.txt").write_text("params.l1.kernel = [-, model]\nparams.l3.kernel = [data model, -]\nparams.l3.bias = [model]\n")
    text = exported(models["01_mlp"].text, tmp_path, "--mesh=data=2,model=4", f"--sharding={tmp_path / 'layouts.txt'}")
    (signature,) = re.findall(r"func.func (?:public )?@main\((.*)\) -> \((.*)\) {", text)
    for side in signature:
        assert re.search(r'tensor<784x512xf32> {[^}]*sdy.sharding = #sdy.sharding<@mesh, \[{}, {"model"}\]>', side)
        assert re.search(r'tensor<512x10xf32> {[^}]*sdy.sharding = #sdy.sharding<@mesh, \[{"data", "model"}, {}\]>', side)
        # Ten elements have no four equal parts.
        assert re.search(r"tensor<10xf32> {[^}]*sdy.sharding = #sdy.sharding<@mesh, \[{}\]>", side)
    assert "mhlo.num_partitions = 8" in text


def test_what_does_not_go_with_a_mesh(models: Steps, tmp_path: Path) -> None:
    """Options that XLA decides, and a mesh that is none."""
    given = (models["01_mlp"].text, "--target=stablehlo", "-o", tmp_path / "x")
    assert "--memory-budget does not go with --mesh" in refused(2, "compile", *given, "--mesh=data=2", "--memory-budget=1GiB")
    assert "--precision does not go with --mesh" in refused(2, "compile", *given, "--mesh=data=2", "--precision=bf16")
    assert "--sharding needs the ranks" in refused(2, "compile", *given, "--sharding=solve")
    assert "pass --mesh, too" in refused(2, "compile", *given, "--machine=machine.json")
    assert "is no axis" in refused(2, "compile", *given, "--mesh=data")


@pytest.mark.parametrize("name", ["15_chargpt_sharded", "16_shard_map_mlp"])
def test_eight_devices(sharded: Steps, tmp_path: Path, name: str) -> None:
    """Shardings and collectives leave as they came, and eight devices run the step alike."""
    source = sharded.folder / f"{name}.mlir"
    text = exported(source, tmp_path)
    assert generic_form(text) == generic_form(source.read_text())
    assert "sdy.mesh" in text and "mhlo.sharding" not in text
    assert generic_form(exported(source, tmp_path, "--generic")) == generic_form(source.read_text())
    assert '"sdy.mesh"' in (tmp_path / "out.mlir").read_text()
    shown = on_eight_devices(source, tmp_path / "out.mlir", sharded.folder / f"{name}.json")
    assert shown["losses"][0] == shown["losses"][1] and shown["results"] > 0
    assert shown["differ"] == 0


UNKNOWN = """
module @later attributes {future.flag = 3 : i32} {
  func.func public @main(%arg0: tensor<4xf32> {jax.buffer_donor = true, mhlo.memory_kind = "device"}, %arg1: tensor<2xf32>)
      -> (tensor<4xf32> {jax.result_info = "result[0]", mhlo.layout_mode = "default"}) {
    %0 = "future.scramble"(%arg0) {seed = 7 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    "future.record"(%arg0) : (tensor<4xf32>) -> ()
    %1 = "stablehlo.newer_than_this"(%0) {mode = "x"} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "future.scramble"(%1) {mhlo.frontend_attributes = {a = "b"}} : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
"""


def test_unknown_operations_stay(tmp_path: Path) -> None:
    """What Tenon does not understand is kept in place and reported; only native targets refuse it."""
    (tmp_path / "in.mlir").write_text(UNKNOWN)
    outcome = run("compile", tmp_path / "in.mlir", "--target=stablehlo", "-o", tmp_path / "out.mlir")
    assert outcome.code == 0
    for name in ("future.scramble", "future.record", "stablehlo.newer_than_this"):
        assert f"operation '{name}' is not understood; it is kept as it is" in outcome.errors
    text = (tmp_path / "out.mlir").read_text()
    assert re.findall(r'"(\w+\.\w+)"\(', text) == re.findall(r'"(\w+\.\w+)"\(', UNKNOWN)
    for attribute in ("future.flag = 3", "jax.buffer_donor = true", 'mhlo.memory_kind = "device"', "seed = 7",
                      'jax.result_info = "result[0]"', 'mhlo.layout_mode = "default"', 'a = "b"'):  # fmt: skip
        assert attribute in text
    # A plan neither repeats nor moves them, nor does it drop those whose results nobody reads.
    text = exported(tmp_path / "in.mlir", tmp_path, "--memory-budget=60")
    assert re.findall(r'"(\w+\.\w+)"\(', text) == re.findall(r'"(\w+\.\w+)"\(', UNKNOWN)
    assert "unknown operation 'future.scramble', used 2 times" in refused(1, "compile", tmp_path / "in.mlir", "-o", tmp_path / "x")


def test_long_booleans_are_spelled_out(tmp_path: Path) -> None:
    """Versions of MLIR do not agree on how booleans are packed into a string of bytes, so there is none."""
    bits = [bool(i % 3 == 0) for i in range(200)]
    words = ", ".join(str(bit).lower() for bit in bits)
    (tmp_path / "in.mlir").write_text(f"""func.func public @main() -> tensor<200xi1> {{
      %0 = stablehlo.constant dense<[{words}]> : tensor<200xi1>
      return %0 : tensor<200xi1>
    }}""")
    text = exported(tmp_path / "in.mlir", tmp_path)
    assert 'dense<"0x' not in text
    assert xla.XlaStep(text).call([])[0].tolist() == bits


@pytest.mark.parametrize("option", ["--cpu=x86-64-v3", "--fuse", "--compile-to=plan", "--roles=x", "--machine=x"])
def test_native_options_are_refused(tmp_path: Path, option: str) -> None:
    """Options that mean nothing to XLA are mistakes, and so is --generic for the CPU."""
    (tmp_path / "in.mlir").write_text(UNKNOWN)
    said = refused(2, "compile", tmp_path / "in.mlir", "--target=stablehlo", option, "-o", tmp_path / "out.mlir")
    assert option.partition("=")[0] in said
    refused(2, "compile", tmp_path / "in.mlir", "--generic", "-o", tmp_path / "out.tenon")


def planned(source: Path, scratch: Path, budget: int) -> tuple[str, dict]:
    """The text that leaves under a budget, and what the report says of the plan."""
    report = scratch / "report.json"
    text = exported(source, scratch, f"--memory-budget={budget}", "--report", report)
    stages = json.loads(report.read_text())["stages"]
    return text, next(stage for stage in stages if stage["stage"] == "plan")


# So many variants of the original with other fusions may say what rounding alone makes of a step.
VARIANTS = 5


def check_numbers(name: str, info: dict, text: str, original: replays.Original, changed: xla.XlaStep) -> None:
    """The first loss is the original's, and the state after five steps is as near to the exact one as the original's:
    three times its error at most, in every tensor. Where that is exceeded, which chance does in a few tensors of small steps
    and to the original as well (docs/Benchmarks/XlaOutput.md), three times the error of the original with barriers in it, which
    mean nothing and leave XLA other fusions."""
    found, losses = xla.run(changed, info)
    assert abs(losses[0] - original.losses[0]) <= compare.tolerance(name) * abs(original.losses[0])
    truth = exactness.truth(text, info)
    its, ours = (exactness.without_zero_gradients(name, truth.errors(state)) for state in (original.results[xla.STEPS], found))
    beyond = exactness.above(3, ours, its)
    assert len(beyond) <= 0.02 * len(ours), beyond
    for seed in range(VARIANTS if beyond else 0):
        variant = xla.XlaStep(exactness.with_barriers(text, seed))
        errors = truth.errors(xla.run(variant, info)[0])
        print(f"{name}: times the original's error: {beyond}, with barriers: {[errors[path] / its[path] for path in beyond]}")
        beyond = {path: times for path, times in beyond.items() if ours[path] > 3 * errors[path]}
        if not beyond:
            break
    assert not beyond


# At most so many temporaries, as a share of the original's, when .6 are asked for. Models that are not listed keep what
# this does not reach yet (docs/Benchmarks/XlaOutput.md); their numbers are checked all the same. Small steps are harder to
# foresee: 11_moe is predicted at 0.45 here and needs 0.83, where at its full size it needs 0.55.
REACHED = {"01_mlp": 0.9, "02_cnn": 0.8, "03_resnet18": 0.72, "04_chargpt": 0.72, "07_llama_bf16": 0.72, "11_moe": 0.85}


@pytest.mark.parametrize(
    "name",
    ["01_mlp", "02_cnn", "03_resnet18", "04_chargpt", "05_gpt2_124m", "06_gpt2_124m_scan_remat", "07_llama_bf16", "08_lstm", "11_moe"],
)
def test_under_a_budget(models: Steps, tmp_path: Path, name: str) -> None:
    """XLA keeps what runs again, needs less memory, and computes the same numbers."""
    source = models[name].text
    original = replays.original(source.read_text(), models[name].info)
    asked = 6 * original.temporary_bytes // 10
    text, plan = planned(source, tmp_path, original.argument_bytes + original.result_bytes + asked)
    assert abs(plan["temporaries_asked"] - asked) < 8192  # XLA rounds small arguments up
    assert generic_form(text) != generic_form(source.read_text()), "under a budget the output is the input"
    assert plan["ties"] > 0
    assert " step." not in text and "{step." not in text
    assert signature_of(text) == signature_of(source.read_text())
    assert xla.least_version(text) <= xla.least_version(source.read_text())
    changed = xla.XlaStep(text)
    again = plan["recomputed_dots"] + plan["recomputed_convolutions"]
    assert changed.contractions() >= original.contractions + again
    print(
        f"{name}: temporaries {original.temporary_bytes}, asked {asked}, predicted {plan['temporaries_predicted']}, "
        f"actual {changed.temporary_bytes} ({changed.temporary_bytes / original.temporary_bytes:.3f})"
    )
    assert changed.temporary_bytes <= REACHED.get(name, 1) * original.temporary_bytes
    check_numbers(name, models[name].info, source.read_text(), original, changed)


def test_bf16_takes_as_much_as_f32(models: Steps, tmp_path: Path) -> None:
    """XLA's CPU client computes bf16 in f32, so a budget that seems ample is none."""
    source = models["07_llama_bf16"].text
    original = replays.original(source.read_text(), models["07_llama_bf16"].info)
    budget = original.argument_bytes + original.result_bytes + 8 * original.temporary_bytes // 10
    text, plan = planned(source, tmp_path, budget)
    predicted = plan["temporaries_predicted_as_it_came"] / original.temporary_bytes
    assert 0.75 < predicted < 1.25, predicted
    assert plan["ties"] > 0
    assert xla.XlaStep(text, optimized=False).temporary_bytes <= 0.8 * original.temporary_bytes


def test_smaller_budgets_recompute_more(models: Steps, tmp_path: Path) -> None:
    """The signature stays as it is, and each smaller budget gives fewer temporaries for more work."""
    source = models["04_chargpt"].text
    original = replays.original(source.read_text(), models["04_chargpt"].info)
    temporaries, work = [original.temporary_bytes], [0]
    for tenths in (8, 6, 4):
        budget = original.argument_bytes + original.result_bytes + tenths * original.temporary_bytes // 10
        text, plan = planned(source, tmp_path, budget)
        assert signature_of(text) == signature_of(source.read_text())
        assert "mhlo.sharding" not in text
        temporaries.append(xla.XlaStep(text, optimized=False).temporary_bytes)
        work.append(plan["predicted_nanoseconds"])
    assert temporaries[3] < temporaries[2] < temporaries[1] < temporaries[0]
    assert work[3] > work[2] >= work[1]
    assert plan["recomputed_dots"] > 0


def signature_of(text: str) -> list[str]:
    """Arguments, results and their attributes, each as jaxlib prints it."""
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        main = ir.SymbolTable(module.operation)["main"]
        return [str(main.attributes[key]) for key in ("function_type", "arg_attrs", "res_attrs")]


def test_fits_as_it_is(models: Steps, tmp_path: Path) -> None:
    """A budget with room to spare changes nothing."""
    source = models.folder / "04_chargpt.mlir"
    text, plan = planned(source, tmp_path, 2**30)
    assert generic_form(text) == generic_form(source.read_text())
    assert plan["ties"] == plan["recomputed_fusions"] == 0


def test_budgets_that_cannot_be(models: Steps, sharded: Steps, tmp_path: Path) -> None:
    """Less than arguments and results is proved impossible; programs for several devices are not planned."""
    said = refused(3, "compile", models.folder / "04_chargpt.mlir", "--target=stablehlo", "--memory-budget=1MiB", "-o", tmp_path / "x")
    assert "infeasible (proved)" in said
    source = sharded.folder / "15_chargpt_sharded.mlir"
    said = refused(1, "compile", source, "--target=stablehlo", "--memory-budget=1GiB", "-o", tmp_path / "x")
    assert "mhlo.num_partitions" in said and "8" in said


POOL = """
module {
  func.func public @main(%x: tensor<2x4x6x3xf32>, %g: tensor<2x2x3x3xf32>) -> tensor<2x4x6x3xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{padding = dense<0> : tensor<4x2xi64>,
        window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x4x6x3xf32>, tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x4x6x3xf32>
    return %0 : tensor<2x4x6x3xf32>
  }
}
"""


def test_gradients_of_pools(tmp_path: Path) -> None:
    """What is written in place of a pool's gradient chooses the same elements, equal ones and infinities among them."""
    (tmp_path / "in.mlir").write_text(POOL)
    given = 4 * (2 * 144 + 36)
    text, _ = planned(tmp_path / "in.mlir", tmp_path, given)
    assert "select_and_scatter" in POOL and "select_and_scatter" not in text
    random = np.random.default_rng(7)
    x = random.integers(-2, 3, (2, 4, 6, 3)).astype(np.float32)
    x[0, 0] = np.inf
    x[1, 3] = -np.inf
    g = random.standard_normal((2, 2, 3, 3)).astype(np.float32)
    (expected,), (found,) = (xla.XlaStep(module).call([x, g]) for module in (POOL, text))
    assert found.tobytes() == expected.tobytes() and np.count_nonzero(found) == g.size
    overlapping = POOL.replace("strides = array<i64: 1, 2, 2, 1>", "strides = array<i64: 1, 2, 1, 1>").replace("2x2x3x3xf32", "2x2x5x3xf32")
    (tmp_path / "in.mlir").write_text(overlapping)
    text, _ = planned(tmp_path / "in.mlir", tmp_path, given + 4 * 24)
    assert "select_and_scatter" in text


def test_loops_in_segments(tmp_path: Path) -> None:
    """Where stacking less does not do, what a scan carries is kept once per segment of its rounds."""

    def loss(weight: jax.Array, x: jax.Array) -> jax.Array:
        def round_of(carried: jax.Array, _: None) -> tuple[jax.Array, None]:
            return jnp.tanh(jnp.sin(carried @ weight) @ weight) + carried, None

        return jnp.sum(jax.lax.scan(round_of, x, None, length=36)[0] ** 2)

    def step(weight: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(weight, x)
        return weight - jnp.float32(1e-3) * gradient, value

    random = np.random.default_rng(7)
    given = [random.standard_normal(shape).astype(np.float32) / 8 for shape in ((64, 64), (128, 64))]
    (tmp_path / "in.mlir").write_text(jax.jit(step).lower(*given).as_text())
    original = xla.XlaStep((tmp_path / "in.mlir").read_text())
    budget = original.argument_bytes + original.result_bytes + original.temporary_bytes * 4 // 10
    text, plan = planned(tmp_path / "in.mlir", tmp_path, budget)
    assert plan["loops_in_segments"] and "step." not in text
    changed = xla.XlaStep(text)
    assert changed.temporary_bytes < original.temporary_bytes // 2
    for expected, found in zip(original.call(given), changed.call(given), strict=True):
        assert np.allclose(expected, found, rtol=1e-5, atol=1e-6)


# A tie has to keep every bit: these are the ones that arithmetic would lose.
BITS = """
module {{
  func.func public @main(%x: tensor<4x3x{type}>, %late: tensor<2x{type}>) -> tensor<4x3x{type}> {{
    %0 = stablehlo.slice %late [0:1] : (tensor<2x{type}>) -> tensor<1x{type}>
    %1 = stablehlo.reshape %0 : (tensor<1x{type}>) -> tensor<{type}>
    %2 = stablehlo.bitcast_convert %1 : (tensor<{type}>) -> tensor<i{width}>
    %3 = stablehlo.convert %2 : (tensor<i{width}>) -> tensor<i32>
    %4:2 = stablehlo.optimization_barrier %x, %3 : tensor<4x3x{type}>, tensor<i32>
    %5 = stablehlo.dynamic_slice %4#0, %4#1, %4#1, sizes = [1, 1] : (tensor<4x3x{type}>, tensor<i32>, tensor<i32>) -> tensor<1x1x{type}>
    %6 = stablehlo.dynamic_update_slice %4#0, %5, %4#1, %4#1
      : (tensor<4x3x{type}>, tensor<1x1x{type}>, tensor<i32>, tensor<i32>) -> tensor<4x3x{type}>
    return %6 : tensor<4x3x{type}>
  }}
}}
"""


@pytest.mark.parametrize(("kind", "width"), [("f32", 32), ("f16", 16), ("f64", 64)])
def test_a_tie_changes_no_bit(kind: str, width: int) -> None:
    """NaN with a payload, -0.0, infinities and denormals pass, whatever the late value is."""
    bits = np.dtype(f"u{width // 8}")
    real = np.dtype(f"f{width // 8}")
    words = [np.array(1 << (width - 1), bits), np.array(1, bits), np.array((1 << (width - 1)) - 5, bits)]
    words += [np.array(value, real).view(bits) for value in (np.inf, -np.inf, 1.5, -2.0, 0.0, np.nan)]
    x = np.resize(np.array(words, bits), (4, 3)).view(real)
    step = xla.XlaStep(BITS.format(type=kind, width=width))
    for late in (0.0, -0.0, np.nan, np.inf, 1e-3, -7.0):
        (found,) = step.call([x, np.array([late, 1.0], real)])
        assert found.view(bits).tolist() == x.view(bits).tolist()
