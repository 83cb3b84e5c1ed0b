"""Recurrent layers: weight gradients of several rounds are one product, in the same order whatever else is chosen."""

from __future__ import annotations

import re
from pathlib import Path

import compare
import numpy as np
import pytest
from conftest import BUILD, PROCESSOR, Step, Steps, differing, run, smallest, smallest_budget, succeed
from safetensors.numpy import load_file, save_file
from test_models import judge

NAMES = ("08_lstm", "21_gru", "22_rnn")


@pytest.fixture(params=NAMES)
def step(request: pytest.FixtureRequest, steps: Steps) -> Step:
    """Two layers, unrolled over time by a scan."""
    return steps[request.param]


def test_blocks(step: Step, tmp_path: Path) -> None:
    """Both backward loops run in blocks, whose sums are one product each."""
    outcome = run("compile", step.text, "-o", tmp_path / "step.tenon", "--remarks=fusion-block-loops")
    assert outcome.code == 0, outcome
    assert (outcome.out + outcome.errors).count("[fusion-block-loops]") == 2, outcome


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("name", ["19_bilstm", "21_gru", "22_rnn"])
def test_as_close_as_jax(steps: Steps, name: str, interpreted: bool) -> None:
    """The state after some steps is as close to the exact one as JAX's; test_models.py shows it of 08."""
    step = steps[name]
    judge(compare.compare(BUILD, steps.folder, step.name, program=step.compiled, interpreted=interpreted), step.name)


@pytest.mark.skipif("amx_bf16" not in PROCESSOR, reason="packed weights are for AMX")
def test_packed_weights(step: Step, tmp_path: Path) -> None:
    """In bf16 the products of a round take packed weights, and their bits do not depend on what else is chosen."""
    small, other, policy, lowered = (tmp_path / name for name in ("small.tenon", "other.tenon", "policy.json", "lowered.mlir"))
    policy.write_text('{"operations": {"stablehlo.dot_general": "bf16"}}')
    bf16 = ("--precision=bf16", "--cpu=host", f"--precision-policy={policy}")
    succeed("compile", step.text, "-o", small, *bf16)
    succeed("compile", step.text, "-o", lowered, "--compile-to=lower", *bf16)
    assert lowered.read_text().count('call = "packed_matmul"') >= 2
    expected = step.outputs(tmp_path, program=small)
    budget = smallest_budget(step.text, *bf16)
    for options in (["--fuse=false"], [f"--memory-budget={int(budget * 1.1)}"]):
        succeed("compile", step.text, "-o", other, *bf16, *options)
        assert not differing(expected, step.outputs(tmp_path, program=other)), options


def test_rounds_store_what_they_stack(step: Step, tmp_path: Path) -> None:
    """No kernel only updates a stack, none fills one that is written before it is read, and nothing reads what was not written."""
    lowered = tmp_path / "lowered.mlir"
    succeed("compile", step.text, "-o", lowered, "--compile-to=lower")
    kernels = re.findall(r"func\.func private @kernel_\d+\((.*?)\n  }", lowered.read_text(), re.S)
    operations = [[name for name in re.findall(r"stablehlo\.(\w+)", kernel) if name != "constant"] for kernel in kernels]
    assert sum("dynamic_update_slice" in names for names in operations) >= 4
    assert ["dynamic_update_slice"] not in operations
    assert sum("exec.never_read" in kernel for kernel in kernels) >= 2
    assert not differing(step.outputs(tmp_path), step.outputs(tmp_path, "--check-memory"))


def test_same_bits(step: Step, tmp_path: Path) -> None:
    """Neither merging operations nor a budget that recomputes over loops changes the order of a sum."""
    expected = step.outputs(tmp_path, "--threads=2")
    assert not differing(expected, step.outputs(tmp_path, "--threads=1"))
    other = tmp_path / "other.tenon"
    least = smallest(step.text)
    assert not differing(expected, step.outputs(tmp_path, program=least.output))
    for option in ("--fuse=false", f"--memory-budget={int(least.plan['budget'] * 1.15)}"):
        succeed("compile", step.text, "-o", other, option)
        assert not differing(expected, step.outputs(tmp_path, program=other)), option


JOINED = """
func.func @main(%stack: tensor<3x1x8xf32>, %x: tensor<8xf32>, %i: tensor<i32>) -> (tensor<3x1x8xf32>, tensor<3x1x8xf32>, tensor<8xf32>) {
  %0:2 = step.group elementwise(%stack, %x, %i) : (tensor<3x1x8xf32>, tensor<8xf32>, tensor<i32>) -> (tensor<3x1x8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<3x1x8xf32>, %b: tensor<8xf32>, %c: tensor<i32>):
    %d = stablehlo.constant dense<0> : tensor<i32>
    %e = stablehlo.add %b, %b : tensor<8xf32>
    %f = stablehlo.reshape %e : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %g = stablehlo.dynamic_update_slice %a, %f, %c, %d, %d : (tensor<3x1x8xf32>, tensor<1x1x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>)
        -> tensor<3x1x8xf32>
    %h = stablehlo.multiply %e, %b : tensor<8xf32>
    step.yield %g, %h : tensor<3x1x8xf32>, tensor<8xf32>
  }
  return %stack, %0#0, %0#1 : tensor<3x1x8xf32>, tensor<3x1x8xf32>, tensor<8xf32>
}
"""


def test_update_of_a_copy(tmp_path: Path) -> None:
    """Where the stack is needed as it was, the kernel updates a copy; a place behind the end moves up, as the operation says."""
    text, compiled, inputs, outputs = (tmp_path / name for name in ("joined.mlir", "joined.tenon", "in.safetensors", "out.safetensors"))
    text.write_text(JOINED)
    succeed("compile", text, "--compile-from=group", "-o", compiled)
    succeed("verify", compiled)
    stack, x = np.arange(24, dtype=np.float32).reshape(3, 1, 8), np.arange(8, dtype=np.float32) - 3
    for place, row in ((1, 1), (7, 2)):
        save_file({"arg0": stack, "arg1": x, "arg2": np.array(place, np.int32)}, inputs)
        succeed("run", compiled, "--inputs", inputs, "--outputs", outputs, "--check-memory")
        found = list(load_file(outputs).values())
        expected = stack.copy()
        expected[row, 0] = 2 * x
        for value, right in zip(found, (stack, expected, 2 * x * x)):
            np.testing.assert_array_equal(value, right)
