"""Plans in which values wait in the host's memory: priced and proved where there is a link, compiled for GPUs with --offload."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from conftest import ON_GPU, Compiled, Steps, compiled, refused, smallest, succeed
from test_cuda import same_bits
from test_cuda_planning import EMULATED, run

# Ten times as fast as it moves bytes to the host, so that both ways of making room pay somewhere.
RATE = {"one_core": 50, "all_cores": 100}
MACHINE = {
    "machine_version": 1, "name": "a device", "feature_set": "x86-64-v3", "cores": 2,
    "cache_bytes": {"level1": 32768, "level2": 1048576, "level3": 33554432},
    "gflops": {"f32": RATE, "bf16": RATE, "f16": RATE},
    "gigabytes_per_second": {"copy": RATE, "read": RATE, "cached_copy": RATE},
    "overhead_microseconds": {"launch": 0.02, "barrier": 0.3},
}  # fmt: skip


def machine(scratch: Path, link: float | None) -> Path:
    """A description with or without a link of so many gigabytes per second."""
    rates = {**MACHINE["gigabytes_per_second"], **({} if link is None else {"host_link": link})}
    path = scratch / f"machine_{link}.json"
    path.write_text(json.dumps({**MACHINE, "gigabytes_per_second": rates}))
    return path


def times(table: str) -> list[tuple[float, float, float | None, int]]:
    """Of each line: predicted, bound, without the link, values that wait."""
    rows = re.findall(r"^ *\S+ \S+ +(\d+) +\S+ \S+ +\d+ +([\d.]+) +([\d.]+) +-?[\d.]+ % +(?:([\d.]+) ms|no plan found)$", table, re.M)
    return [(float(time), float(bound), float(without) if without else None, int(waits)) for waits, time, bound, without in rows]


def test_a_faster_link_costs_less(steps: Steps, tmp_path: Path) -> None:
    """Never above recomputing alone nor below the bound; with a fast link values wait at nearly no cost.

    With the fewest bytes that are found the plan may be one that computes again and has nothing wait.
    """
    step = steps["04_chargpt"]
    tables = {link: times(succeed("plan", step.text, "--offload=4", f"--machine={machine(tmp_path, link)}")) for link in (0.01, 1000.0)}
    for table in tables.values():
        assert len(table) == 4
        for time, bound, without, _ in table:
            assert bound <= time
            assert without is None or time <= without
        assert table[-1][3] == 0  # with room for everything nothing waits
    fast, slow = tables[1000.0], tables[0.01]
    assert sum(waits for *_, waits in fast) > 0
    assert fast[1][0] < fast[-1][0] * 1.001
    assert fast[1][2] is None or fast[1][0] < fast[1][2]
    assert slow[0][0] > fast[0][0] or slow[0][3] < fast[0][3]


def test_no_link_no_offload(steps: Steps, tmp_path: Path) -> None:
    """Without a link the plan is refused, and a link changes no program."""
    step = steps["04_chargpt"]
    message = refused(1, "plan", step.text, "--offload=4", f"--machine={machine(tmp_path, None)}")
    assert "gigabytes_per_second.host_link" in message
    for link in (None, 1000.0):
        options = ("compile", step.text, f"--machine={machine(tmp_path, link)}", "-o", tmp_path / f"{link}.tenon")
        succeed(*options)
    assert (tmp_path / "None.tenon").read_bytes() == (tmp_path / "1000.0.tenon").read_bytes()


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the emulated driver."""
    for name in [name for name in os.environ if name.startswith(("TENON_EMULATED_CUDA_", "TENON_CUDA_"))]:
        monkeypatch.delenv(name)


def waits(program: Compiled) -> int:
    """How many values wait in a step, of which everybody is told the same."""
    offload = program.plan["offload"]
    values = offload["values"]
    assert sum(value["bytes"] for value in values) == offload["bytes_saved"] >= offload["host_bytes"] > 0
    assert sum(value["bytes"] * value["loads"] for value in values) == offload["bytes_loaded"]
    assert all(value["loads"] > 0 and value["source"] for value in values)
    assert f"{len(values)} values wait in" in program.outcome.out
    # The file shows its pinned memory apart, and that is none of what the budget counts.
    shown = succeed("inspect", program.output)
    assert re.search(rf"^host \(pinned\) +{offload['host_bytes']}$", shown, re.M), shown
    assert len(re.findall(r"^ *\d+ +\S+ +.*; waits from @\d+ to @\d+$", shown, re.M)) == len(values), shown
    proved = succeed("verify", program.output)
    assert re.search(r"^offload +\d+ values wait in the host's memory; .* none late by the predicted times$", proved, re.M), proved
    return len(values)


def test_smaller_budgets(steps: Steps, tmp_path: Path) -> None:
    """A step fits where nothing that is computed again makes it fit, with equal bits."""
    step = steps["04_chargpt"]
    without, least = smallest(step.text, *ON_GPU), smallest(step.text, *ON_GPU, "--offload")
    assert waits(least) > 0
    assert least.plan["bytes"] <= least.plan["budget"] < without.plan["budget"]
    whole = compiled(step.text, *ON_GPU)
    same_bits(*(run(program.output, step.inputs, tmp_path, EMULATED) for program in (whole, least)))


def test_waiting_is_cheaper(steps: Steps, tmp_path: Path) -> None:
    """Where transfers take less than computing again, the same budget costs less, with equal bits."""
    step = steps["10_vit_tiny"]
    within = (*ON_GPU, "--memory-budget=6000000")
    without, moved = compiled(step.text, *within), compiled(step.text, *within, "--offload", "--verify-forms")
    assert waits(moved) > 0
    assert moved.plan["predicted_nanoseconds"] < without.plan["predicted_nanoseconds"]
    assert moved.plan["bound_nanoseconds"] <= moved.plan["predicted_nanoseconds"]
    same_bits(*(run(program.output, step.inputs, tmp_path, EMULATED, steps=1) for program in (without, moved)))


def test_offload_is_recorded(steps: Steps, tmp_path: Path) -> None:
    """A text between stages says that values may wait; going on from it gives the same file."""
    step = steps["20_roformer"]
    options = (*ON_GPU, "--memory-budget=205KiB", "--offload")
    direct = compiled(step.text, *options)
    assert waits(direct) > 0
    for stage in ("group", "plan"):
        text, again = tmp_path / "text.mlir", tmp_path / "again.tenon"
        succeed("compile", step.text, *options, f"--compile-to={stage}", "-o", text)
        assert "offload = true" in text.read_text()
        succeed("compile", text, *ON_GPU, f"--compile-from={stage}", "-o", again)
        if stage == "plan":
            assert again.read_bytes() == direct.output.read_bytes()
        else:
            assert re.search("^offload ", succeed("verify", again), re.M)


def test_offload_is_refused(steps: Steps) -> None:
    """Only GPUs have memory of their own, and only a budget asks for room."""
    text = steps["01_mlp"].text
    within = ("-o", "/dev/null", "--memory-budget=smallest", "--offload")
    assert "--offload is for GPUs" in refused(2, "compile", text, *within)
    assert "--offload is for GPUs" in refused(2, "compile", text, "--target=stablehlo", *within[:2], "--memory-budget=1GiB", "--offload")
    assert "pass --memory-budget=SIZE" in refused(2, "compile", text, "-o", "/dev/null", *ON_GPU, "--offload")
