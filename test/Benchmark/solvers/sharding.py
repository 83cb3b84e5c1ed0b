"""Solves instances of sharding choice, checks every solution, and writes docs/Benchmarks/Sharding.md.

    python sharding.py --build build/dev --instances DIR [--effort N] [--results FILE] [--write]

DIR holds `asplos-2025-iopddl-NAME.json` or the same with `.xz`. Each is solved once on one thread; the time is that of
the processor from the parsed problem on, without parsing and writing (`--json` prints no times, so parsing is measured
by a second run with the least effort). FILE keeps every row, so that an ended run goes on.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "EndToEnd"))

import revision

PAGE = Path(__file__).resolve().parents[3] / "docs/Benchmarks/Sharding.md"
BEGIN, END = "<!-- table of test/Benchmark/solvers/sharding.py -->", "<!-- end of the table -->"

# The cheapest plan of any team of the contest (eight cores, the limit in seconds), from the organisers' results, and
# the best lower bound that was published (Lagrangian relaxation with toulbar2, partly Gurobi, MIT licence).
KNOWN = {
    "A": (6_548_641_531, 6_513_812_172, 60), "B": (532_843, 532_843, 60), "C": (84_102_445_260, 82_509_087_987, 60),
    "D": (313_613_524_736, 298_253_500_099, 60), "G": (217_039, 216_931, 120), "K": (2_274_276_676, 2_065_623_588, 180),
    "L": (1_970_993_742, 1_918_617_707, 180), "M": (49_928_460_991, 49_407_421_919, 180),
}  # fmt: skip


def seconds_of(*command: object) -> tuple[float, str]:
    """Processor time and output of a command that succeeds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, output


def solve(solver: Path, source: Path, effort: int, scratch: Path) -> dict[str, float]:
    """One row: cost, bound and seconds; the checker has judged it."""
    problem = scratch / "problem.json"
    problem.write_bytes(lzma.decompress(source.read_bytes()) if source.suffix == ".xz" else source.read_bytes())
    solution = scratch / "solution"
    reading, _ = seconds_of(solver, "sharding", problem, "--effort=1", "-o", solution)
    taken, text = seconds_of(solver, "sharding", problem, f"--effort={effort}", "-o", solution, "--json")
    checking, verdict = seconds_of(solver, "check", problem, solution)
    assert verdict.startswith("valid"), verdict
    result = json.loads(text)
    return {"cost": result["cost"], "bound": result["bound"], "seconds": taken - reading, "checking": checking}


def page(rows: dict[str, dict[str, float]]) -> str:
    """The table."""
    lines = [
        "| instance | best of the contest | cost | ratio | bound | gap % | best published bound | seconds | limit s | check s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    points = []
    for name, row in rows.items():
        best, bound, limit = KNOWN[name]
        points.append(best / row["cost"])
        lines.append(
            f"| {name} | {best} | {row['cost']} | {points[-1]:.5f} | {row['bound']} | "
            f"{100 * (row['cost'] - row['bound']) / row['bound']:.2f} | {bound} | {row['seconds']:.1f} | {limit} | {row['checking']:.1f} |"
        )
    return "\n".join([*lines, "", f"Sum of (best of the contest / own cost) over {len(points)} instances: {sum(points):.4f}."])


def main() -> None:
    """Solves what is not in the results yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--instances", type=Path, required=True)
    parser.add_argument("--effort", type=int, default=40000)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows = json.loads(arguments.results.read_text()) if arguments.results and arguments.results.exists() else {}
    for name in KNOWN:
        found = sorted(arguments.instances.glob(f"asplos-2025-iopddl-{name}.json*"))
        if name in rows or not found:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            rows[name] = solve(arguments.build / "bin/tenon-solve", found[0], arguments.effort, Path(scratch))
        print(name, rows[name], flush=True)
        if arguments.results:
            arguments.results.write_text(json.dumps(rows))
    table = page({name: rows[name] for name in KNOWN if name in rows})
    print(table)
    if arguments.write:
        about = f"Commit {revision.commit()}, effort {arguments.effort}, one thread of {os.cpu_count()} processors, {platform.machine()}."
        text = PAGE.read_text()
        text = re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", f"{BEGIN}\n\n{about}\n\n{table}\n\n{END}", text, flags=re.DOTALL)
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
