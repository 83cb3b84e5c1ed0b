"""Recurrent layers: weight gradients of several rounds are one product, in the same order whatever else is chosen."""

from __future__ import annotations

from pathlib import Path

import compare
import pytest
from conftest import BUILD, PROCESSOR, Step, Steps, differing, run, smallest_budget, succeed
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


def test_same_bits(step: Step, tmp_path: Path) -> None:
    """Neither merging operations nor a budget that recomputes over loops changes the order of a sum."""
    expected = step.outputs(tmp_path, "--threads=2")
    assert not differing(expected, step.outputs(tmp_path, "--threads=1"))
    other = tmp_path / "other.tenon"
    budget = smallest_budget(step.text)
    for options in (["--fuse=false"], [f"--memory-budget={budget}"], [f"--memory-budget={int(budget * 1.15)}"]):
        succeed("compile", step.text, "-o", other, *options)
        assert not differing(expected, step.outputs(tmp_path, program=other)), options
