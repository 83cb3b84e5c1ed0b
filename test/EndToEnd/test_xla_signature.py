"""What a program says about itself leaves with its plan: donation in all its spellings, layouts, memory kinds, frontend
attributes, operations nobody knows, and the version of StableHLO it needs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import xla
from conftest import run, succeed

LAYERS, ROWS, WIDTH = 6, 256, 64
MATRIX, IMAGE = f"tensor<{WIDTH}x{WIDTH}xf32>", f"tensor<{ROWS}x{WIDTH}xf32>"


def network(module: str, arguments: list[str], results: list[str], extra: str = "", dot: str = "") -> str:
    """One step of gradient descent on layers of tanh, in the spelling of programs that come from XLA's own form: no
    private functions, no names, everything transposed by itself. Arguments: a rate, the weights of each layer, the input;
    results: the weights, the loss. `arguments` and `results` hold their attributes."""
    types = ["tensor<f32>", *[MATRIX] * LAYERS, IMAGE]
    header = ", ".join(f"%arg{i}: {kind} {attributes}" for i, (kind, attributes) in enumerate(zip(types, arguments, strict=True)))
    returned = ", ".join(f"{kind} {attributes}" for kind, attributes in zip([*[MATRIX] * LAYERS, "tensor<f32>"], results, strict=True))
    lines = [f"module @SyncTensorsGraph.61 {module} {{", f"  func.func @main({header}) -> ({returned}) {{"]
    count = 0

    def add(operation: str, kind: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"    %{count} = {operation} : {kind}")
        return f"%{count}"

    def product(left: str, left_type: str, right: str, right_type: str, kind: str) -> str:
        dimensions = f"contracting_dims = [1] x [0]{dot}"
        return add(f"stablehlo.dot_general {left}, {right}, {dimensions}", f"({left_type}, {right_type}) -> {kind}")

    turned = f"tensor<{WIDTH}x{ROWS}xf32>"
    given = f"%arg{LAYERS + 1}"
    values = [given]
    for layer in range(LAYERS):
        weights = add(f"stablehlo.transpose %arg{layer + 1}, dims = [1, 0]", f"({MATRIX}) -> {MATRIX}")
        values.append(add(f"stablehlo.tanh {product(values[-1], IMAGE, weights, MATRIX, IMAGE)}", IMAGE))
    lines.append(extra.replace("VALUE", values[1]))
    gradient = add(f"stablehlo.subtract {values[-1]}, {given}", IMAGE)
    square = add(f"stablehlo.multiply {gradient}, {gradient}", IMAGE)
    lines.append("    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>")
    lines.append(f"    %cst_0 = stablehlo.constant dense<1.000000e+00> : {IMAGE}")
    loss = add(f"stablehlo.reduce({square} init: %cst) applies stablehlo.add across dimensions = [0, 1]",
               f"({IMAGE}, tensor<f32>) -> tensor<f32>")  # fmt: skip
    updated = []
    for layer in reversed(range(LAYERS)):
        slope = add(f"stablehlo.subtract %cst_0, {add(f'stablehlo.multiply {values[layer + 1]}, {values[layer + 1]}', IMAGE)}", IMAGE)
        gradient = add(f"stablehlo.multiply {gradient}, {slope}", IMAGE)
        other = add(f"stablehlo.transpose {gradient}, dims = [1, 0]", f"({IMAGE}) -> {turned}")
        change = product(other, turned, values[layer], IMAGE, MATRIX)
        gradient = product(gradient, IMAGE, f"%arg{layer + 1}", MATRIX, IMAGE)
        rate = add("stablehlo.broadcast_in_dim %arg0, dims = []", f"(tensor<f32>) -> {MATRIX}")
        change = add(f"stablehlo.multiply {rate}, {change}", MATRIX)
        updated.append(add(f"stablehlo.subtract %arg{layer + 1}, {change}", MATRIX))
    lines.append(f"    return {', '.join([*reversed(updated), loss])} : {', '.join([*[MATRIX] * LAYERS, 'tensor<f32>'])}")
    return "\n".join([*lines, "  }", "}"])


def listed_aliases() -> str:
    """Donation as torch_xla writes it: on the module, result i over argument i + 1."""
    kind = 'kind = "may_alias", parameter_index = array<i64>'
    pairs = (f"{{alias = {{{kind}, parameter_number = {i + 1} : i64}}, output_index = array<i64: {i}>}}" for i in range(LAYERS))
    return (
        f"attributes {{mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [{', '.join(pairs)}], "
        "mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false}"
    )


PLAIN = ([""] * (LAYERS + 2), [""] * (LAYERS + 1))


def planned(source: str, scratch: Path, *options: str) -> str:
    """What leaves when .6 of the temporaries are asked for."""
    original = xla.XlaStep(source)
    budget = original.argument_bytes + original.result_bytes + 6 * original.temporary_bytes // 10
    (scratch / "in.mlir").write_text(source)
    succeed("compile", scratch / "in.mlir", "--target=stablehlo", f"--memory-budget={budget}", "-o", scratch / "out.mlir", *options)
    text = (scratch / "out.mlir").read_text()
    assert "dynamic_update_slice" in text, "under a budget the output is the input"
    return text


def start_values() -> list[np.ndarray]:
    """A rate, weights and an input."""
    random = np.random.default_rng(2)
    weights = [random.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 8 for _ in range(LAYERS)]
    return [np.float32(1e-4), *weights, random.standard_normal((ROWS, WIDTH)).astype(np.float32)]


def losses(step: xla.XlaStep) -> tuple[list[float], list[np.ndarray]]:
    """Those of five steps, and the last weights."""
    values = start_values()
    found = []
    for _ in range(5):
        results = step.call(values)
        values[1 : LAYERS + 1] = results[:LAYERS]
        found.append(float(results[-1]))
    return found, values[1 : LAYERS + 1]


@pytest.mark.parametrize("options", [[], ["--generic"]], ids=["pretty", "generic"])
def test_as_torch_xla_writes_it(tmp_path: Path, options: list[str]) -> None:
    """Donation that the module lists counts for the plan, stays, and is honoured; the step trains alike in less memory."""
    source = network(listed_aliases(), *PLAIN)
    text = planned(source, tmp_path, *options)
    assert listed_aliases().removeprefix("attributes {").removesuffix("}") in text
    before, after = xla.XlaStep(source), xla.XlaStep(text)
    assert before.result_bytes == after.result_bytes < 1024, "results lie where arguments did"
    assert after.temporary_bytes <= 0.9 * before.temporary_bytes
    (expected, weights), (found, changed) = losses(before), losses(after)
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for ours, theirs in zip(changed, weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


ARGUMENTS = [
    '{mhlo.layout_mode = "default", mhlo.is_same_data_across_replicas = true}',
    '{jax.buffer_donor = true, mhlo.memory_kind = "device"}',
    '{tf.aliasing_output = 1 : i32, mhlo.layout_mode = "{0,1}"}',
    '{mhlo.frontend_attributes = {kept = "yes"}}',
    '{mhlo.sharding = "{replicated}"}',
    "{}",
    "{mhlo.parameter_replication = [false]}",
    "{jax.global_constant = 3 : i32}",
]
RESULTS = [
    '{jax.result_info = "result[0]", mhlo.memory_kind = "device"}',
    '{jax.result_info = "result[1]", mhlo.layout_mode = "{0,1}"}',
    "{mhlo.frontend_attributes = {kept = 1 : i32}}",
    '{mhlo.sharding = "{replicated}"}',
    "{}",
    "{}",
    '{jax.result_info = "loss"}',
]

# Effects, nothing read by anybody, a region of its own, inside a loop and outside.
STRANGE = f"""
    "future.record"(VALUE) {{seed = 7 : i64}} : ({IMAGE}) -> ()
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %loop:2 = stablehlo.while(%i = %zero, %v = VALUE) : tensor<i32>, {IMAGE} cond {{
      %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      "future.record"(%v) : ({IMAGE}) -> ()
      %n = stablehlo.add %i, %one : tensor<i32>
      %s = "future.scramble"(%v) ({{
        "future.inside"(%n) : (tensor<i32>) -> ()
      }}) : ({IMAGE}) -> {IMAGE}
      stablehlo.return %n, %s : tensor<i32>, {IMAGE}
    }}
    "future.record"(%loop#1) {{last}} : ({IMAGE}) -> ()"""


def attributes_of(text: str) -> str:
    """The signature's attributes as written, without what differs between spellings."""
    return re.sub(r"\s+", " ", "".join(re.findall(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", text[text.index("@main(") : text.index("return ")])))


def test_signature_and_strange_operations(tmp_path: Path) -> None:
    """Every attribute of arguments and results stays, in both spellings, and operations that nobody knows stay what, where
    and how often they were; each kind is reported."""
    source = network("attributes {future.flag = 3 : i32}", ARGUMENTS, RESULTS, STRANGE)
    (tmp_path / "in.mlir").write_text(source)
    given = 4 * (2 * LAYERS * WIDTH * WIDTH + ROWS * WIDTH + 2)
    strange = r'"future\.\w+"\(%?\w+(?:#\d)?\)'
    for options in ([], ["--generic"]):
        outcome = run("compile", tmp_path / "in.mlir", "--target=stablehlo", f"--memory-budget={given + 200_000}",
                      "-o", tmp_path / "out.mlir", *options)  # fmt: skip
        assert outcome.code == 0, outcome.errors
        for name in ("future.record", "future.scramble", "future.inside"):
            assert f"operation '{name}' is not understood; it is kept as it is" in outcome.errors
        text = (tmp_path / "out.mlir").read_text()
        assert "dynamic_update_slice" in text
        assert [word.split("(")[0] for word in re.findall(strange, text)] == [word.split("(")[0] for word in re.findall(strange, source)]
        assert "seed = 7" in text and "last" in text and "future.flag = 3" in text
        for attributes in [*ARGUMENTS, *RESULTS]:
            for attribute in re.findall(r"[\w.]+ = (?:\{[^}]*\}|[^,{}]+|\"[^\"]*\")", attributes[1:-1]):
                assert attribute in text, attribute
        assert "sdy" not in text


def test_version(tmp_path: Path) -> None:
    """A plan needs no newer StableHLO than what it was made from; the measure can tell."""
    source = network(listed_aliases(), *PLAIN)
    assert xla.least_version(source) == (0, 9, 0)
    assert xla.least_version(planned(source, tmp_path)) == (0, 9, 0)
    algorithm = (
        ", algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, "
        "rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>"
    )
    newer = network(listed_aliases(), *PLAIN, dot=algorithm)
    assert (1, 4, 0) < xla.least_version(newer) <= (1, 7, 0)
    assert xla.least_version(planned(newer, tmp_path)) == xla.least_version(newer)
