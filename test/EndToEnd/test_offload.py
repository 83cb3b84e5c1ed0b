"""Plans in which values wait in the host's memory: priced and proved where there is a link, used by no program."""

from __future__ import annotations

import json
import re
from pathlib import Path

from conftest import Steps, refused, succeed

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

    At the smallest budget the plan that is found computes some again as well, which may take longer by a few percent.
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
    assert fast[0][0] < fast[-1][0] * 1.1
    assert fast[1][0] < fast[-1][0] * 1.001
    assert fast[0][2] is None or fast[0][0] < fast[0][2]
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
