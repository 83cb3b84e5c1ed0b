"""Random training-like programs, and the traps of recomputing, under memory budgets: the same bits, never above."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import random_steps
from conftest import BUILD

PACK = 20


@pytest.mark.parametrize("first", range(0, 200, PACK))
def test_random_programs(first: int, tmp_path: Path) -> None:
    """The first of the committed range; random_steps.py runs all of it."""
    module = random_steps.pack(list(range(first, first + PACK)))
    outcome = random_steps.Runner(BUILD, tmp_path).under_budget(module, random_steps.share_of(first))
    assert outcome.used <= outcome.budget
    assert not outcome.differing


# What each trap is made of, and what copies must compute for it to be one. Between the layers in question stand dense
# ones, whose values there is no room for.
TRAPS = {
    "random numbers: the same key, the same bits": ("dropout", "dense", "dropout", "dense", "dropout", "dense"),
    "values that are returned as well": ("kept", "dense", "dense", "kept", "dense", "dense"),
    "other names of a value are not counted twice": ("views", "dense", "views", "dense", "views", "dense"),
    "copies stay copies": ("softmax", "dense", "softmax", "dense", "normalize", "dense"),
    "loops of zero trips and more": ("loop", "dense", "dense", "loop", "dense", "dense"),
    "a pair of loops with stacks between them": ("scan", "dense", "scan", "dense", "dense", "dense"),
    "rounds of a pair cut into segments": ("recurrent", "dense", "recurrent", "dense"),
    "a loop that goes forward and back in each round": ("microbatches", "dense", "microbatches", "dense", "dense", "dense"),
    "one of two branches": ("branch", "dense", "dense", "branch", "dense", "dense"),
    "a layer that is used twice": ("shared", "dense", "shared", "dense", "dense", "dense"),
    "running statistics are updated once": ("statistics", "dense", "statistics", "dense", "statistics", "dense"),
    "an update overwrites what a copy still reads": ("residual", "dense", "residual", "dense", "residual", "dense"),
}


COMPUTED_AGAIN = {"dropout": "rng_bit_generator", "softmax": "exponential", "statistics": "subtract", "shared": "dot_general"}


def planned_groups(runner: random_steps.Runner, budget: int) -> list[str]:
    """The groups of the text that the runner compiled last, planned within a budget."""
    text = runner.folder / "plan.mlir"
    runner.succeed("compile", runner.folder / "step.mlir", "-o", text, "--compile-to=plan", f"--memory-budget={budget}")
    return re.split(r"(?=%[\w:]+ = step\.group)", text.read_text())[1:]


def is_copy(group: str) -> bool:
    """Whether a group repeats another one."""
    return "step.recomputed" in group.splitlines()[0]


@pytest.mark.parametrize("trap", TRAPS)
def test_traps(trap: str, tmp_path: Path) -> None:
    """At the smallest budget exactly and above it, with recomputation."""
    module = random_steps.pack(list(range(7_000_000, 7_000_006)), TRAPS[trap])
    runner = random_steps.Runner(BUILD, tmp_path)
    outcomes = runner.under_budgets(module, [0.0, 0.3])
    for outcome in outcomes:
        assert outcome.used <= outcome.budget < outcome.everything
        # Loops may make room by stacking less or within a round, which repeats nothing of the step's own block.
        assert outcome.recomputed > 0 or {"scan", "recurrent", "microbatches"} & set(TRAPS[trap])
        assert not outcome.differing
    if copied := COMPUTED_AGAIN.get(TRAPS[trap][0]):
        assert any(copied in group for group in filter(is_copy, planned_groups(runner, outcomes[0].budget)))
    if "loop" in TRAPS[trap]:
        trips = [int(values) for value, values in module.arguments if value.type == "tensor<i32>"]
        assert 0 in trips and max(trips) > 0


def test_a_copy_reads_what_an_update_replaces(tmp_path: Path) -> None:
    """An update stands before a copy that reads the old parameter, so it may not write over it."""
    m, random = random_steps.Module(), np.random.default_rng(3)
    weight = m.argument(random.uniform(-0.5, 0.5, (16, 16)).astype(np.float32))
    x = m.argument(random.uniform(-0.5, 0.5, (512, 16)).astype(np.float32))
    y = m.unary("tanh", m.dot(x, weight))
    successor = m.binary("subtract", weight, m.scale(m.dot(x, y, 0, 0), 1e-3))
    m.update(weight, successor)
    # There is no room for y while the new parameter is used, and it is read after that.
    z = x
    for _ in range(3):
        z = m.unary("tanh", m.dot(z, successor))
    m.results.append(m.reduce(m.binary("multiply", z, y), (0, 1)))
    runner = random_steps.Runner(BUILD, tmp_path)
    outcome = runner.under_budget(m, 0.0)
    assert outcome.used <= outcome.budget < outcome.everything
    assert not outcome.differing
    groups = planned_groups(runner, outcome.budget)
    update = next(i for i, group in enumerate(groups) if "stablehlo.subtract" in group)
    again = next(i for i, group in enumerate(groups) if is_copy(group))
    assert update < again and "(%arg1, %arg0)" in groups[again].splitlines()[0]
    assert "#step.place<temporaries" in groups[update].splitlines()[0]


def test_rounds_are_cut_into_segments(tmp_path: Path) -> None:
    """At their smallest budget recurrent layers keep what they carry once per segment, whichever way they go back."""
    runner = random_steps.Runner(BUILD, tmp_path)
    outcome = runner.under_budget(random_steps.pack(list(range(7_000_000, 7_000_008)), ("recurrent", "recurrent")), 0.0)
    assert not outcome.differing
    grouped = tmp_path / "grouped.mlir"
    runner.succeed("compile", tmp_path / "step.mlir", "-o", grouped, f"--memory-budget={outcome.budget}", "--compile-to=group")
    assert "step.segment_savings" in grouped.read_text()


# Arithmetic is slow there, so that what a round computes again costs something however small it is.
SLOW_MACHINE = {
    "machine_version": 1, "name": "slow arithmetic", "feature_set": "x86-64-v3", "cores": 2,
    "cache_bytes": {"level1": 32768, "level2": 1048576, "level3": 16777216},
    "gflops": dict.fromkeys(("f32", "bf16", "f16"), {"one_core": 5, "all_cores": 10}),
    "gigabytes_per_second": dict.fromkeys(("copy", "read", "cached_copy"), {"one_core": 10, "all_cores": 18}),
    "overhead_microseconds": {"launch": 1, "barrier": 1.5},
}  # fmt: skip


def test_pairs_of_loops_choose_differently(tmp_path: Path) -> None:
    """With some room missing, one of two pairs stacks less and the other what it does anyway; at the end both stack less."""
    runner = random_steps.Runner(BUILD, tmp_path)
    smallest, outcome = runner.under_budgets(random_steps.pack([7_000_001, 7_000_002], ("recurrent",)), [0.0, 0.7])
    for each in (smallest, outcome):
        assert each.used <= each.budget < each.everything
        assert not each.differing
    text = tmp_path / "grouped.mlir"
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps(SLOW_MACHINE))
    step = ("compile", tmp_path / "step.mlir", f"--machine={machine}")

    def saved(*options: str) -> list[int]:
        """Bytes that each pair stacks less than it was written to."""
        runner.succeed(*step, "-o", text, "--compile-to=group", *options)
        found = re.search(r"step\.loop_savings = array<i64: (\d+), (\d+)>", text.read_text())
        assert found
        return [int(number) for number in found.groups()]

    anyway = saved()
    budget = f"--memory-budget={outcome.budget}"
    little = saved(budget)
    assert sorted(now > before for now, before in zip(little, anyway, strict=True)) == [False, True]
    # The text of the grouping that was chosen is all that resuming needs.
    runner.succeed("compile", text, "--compile-from=group", "-o", tmp_path / "resumed.tenon")
    runner.succeed(*step, budget, "-o", tmp_path / "whole.tenon")
    assert (tmp_path / "resumed.tenon").read_bytes() == (tmp_path / "whole.tenon").read_bytes()
    much = saved(f"--memory-budget={smallest.budget}")
    assert [now > before for now, before in zip(much, anyway, strict=True)] == [True, True]


def test_the_smallest_budget_is_the_same_whoever_asks(tmp_path: Path) -> None:
    """A refusal, which follows a search for plans within its budget, and the frontier name the same smallest budget."""
    runner = random_steps.Runner(BUILD, tmp_path)
    assert runner.under_budget(random_steps.pack([7_000_000, 7_000_003], ("recurrent",)), 0.0).passed
    refusal = runner.run("compile", tmp_path / "step.mlir", "-o", tmp_path / "none.tenon", "--memory-budget=1").stderr
    named = re.search(r"smallest budget that was planned is (\d+) bytes", refusal)
    listed = re.search(r"smallest budget (\d+) bytes", runner.succeed("plan", tmp_path / "step.mlir", "--frontier=1"))
    assert named and listed and named[1] == listed[1]


def test_a_loop_with_a_table_runs_again(tmp_path: Path) -> None:
    """A loop whose rounds compute a value again repeats as a whole, in the same way both times."""
    m, random = random_steps.Module(), np.random.default_rng(5)
    weight = m.argument(random.uniform(-0.5, 0.5, (32, 256)).astype(np.float32))
    x, larger = (m.argument(random.uniform(-0.05, 0.05, (rows, 32)).astype(np.float32)) for rows in (256, 480))

    def wide(y: random_steps.Value, by: random_steps.Value) -> random_steps.Value:
        """There is no room for anything else beside the first product."""
        return m.dot(m.unary("tanh", m.dot(y, by, 1, 1)), by)

    def body(_: random_steps.Value, carried: list[random_steps.Value]) -> list[random_steps.Value]:
        # Eight times as large as what it is made of, and wanted before and after the product.
        first = m.unary("tanh", m.dot(carried[0], weight))
        return [m.dot(first, m.dot(first, wide(m.dot(first, weight, 1, 1), x), 0, 0))]

    (kept,) = m.rounds(3, [m.unary("tanh", x)], body)
    m.results.append(m.reduce(m.binary("multiply", wide(wide(kept, larger), larger), m.unary("sine", kept)), (0, 1)))
    runner = random_steps.Runner(BUILD, tmp_path)
    outcome = runner.under_budget(m, 0.0)
    assert outcome.used <= outcome.budget < outcome.everything
    assert not outcome.differing
    text = tmp_path / "plan.mlir"
    runner.succeed("compile", tmp_path / "step.mlir", "-o", text, "--compile-to=plan", f"--memory-budget={outcome.budget}")
    loops = [loop.splitlines() for loop in text.read_text().split("stablehlo.while(")[1:]]
    assert ["step.recomputed" in loop[0] for loop in loops] == [False, True]
    for loop in loops:
        body_lines = loop[: next(i for i, line in enumerate(loop) if "stablehlo.return" in line and "i1>" not in line)]
        assert any("step.recomputed" in line for line in body_lines[1:])


def test_a_damaged_bit_is_seen(tmp_path: Path) -> None:
    """The comparison can fail: another start value gives other bits."""
    runner = random_steps.Runner(BUILD, tmp_path)
    module = random_steps.pack([1, 2])
    assert not runner.under_budget(module, 1.0).differing
    before = runner.outputs(tmp_path / "plain.tenon")
    value, numbers = module.arguments[0]
    module.arguments[0] = (value, numbers + 1)
    assert not runner.under_budget(module, 1.0).differing
    after = runner.outputs(tmp_path / "plain.tenon")
    assert any(before[name].tobytes() != after[name].tobytes() for name in before)
