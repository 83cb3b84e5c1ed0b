#!/usr/bin/env python3
"""Makes errors in steps of ranks and counts which of them the checkers find.

`TenonShardingCheck mutate` makes errors in partitioned functions under random layouts, `fold` in what ranks run that have
several devices each (test/Sharding/main.cpp). Both simulate every error: one that changes a result, or a bit of it, and is
accepted, ends this. Each call has a seed of its own, and a call that is in the file of outcomes is not repeated.

    python test/Conformance/mutants.py                   # at least 10,000 of either kind that change something
    python test/Conformance/mutants.py fold --most 1000  # some of it
    python test/Conformance/mutants.py --table           # what there is, for docs/Conformance.md
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVERY, WINDOWS, SUMS = (f"test/{name}.mlir" for name in ("Sharding/every-layout", "Sharding/windows", "ShardingCheck/Inputs/sums"))
FOLD = ["fold", "--most=20", "--errors=25"]
MUTATE = ["mutate", "--most=500"]

# By kind, what is called again and again: the command and its options, a file of functions, and a mesh.
CALLS: dict[str, list[tuple[list[str], str, str]]] = {
    "fold": [(FOLD, file, mesh) for file in (EVERY, WINDOWS, SUMS) for mesh in ("x=4", "x=8", "x=4,y=2", "x=4,y=3")],
    "mutate": [(MUTATE, file, mesh) for file in (EVERY, WINDOWS) for mesh in ("x=2", "x=3", "x=4", "x=2,y=2")]
    + [([*MUTATE, f"--behind={stage}"], file, "x=2,y=2") for stage in ("collectives", "expanded") for file in (EVERY, SUMS)],
}

COUNTED = ("changing", "others", "others refused")
SAID = re.compile(r"(\d+) errors that change a \w+, all refused; (\d+) that change none, (\d+) of them refused")


def title(call: tuple[list[str], str, str]) -> str:
    """What names a call."""
    options, file, mesh = call
    behind = "".join(f", {option.removeprefix('--')}" for option in options if option.startswith("--behind"))
    return f"{options[0]} {Path(file).name} on {mesh}{behind}"


def count(build: Path, call: tuple[list[str], str, str], seed: int) -> dict[str, int]:
    """How many errors were made of each kind; an error that is accepted ends the command."""
    (command, *options), file, mesh = call
    arguments = [build / "bin/TenonShardingCheck", command, ROOT / file, f"--mesh={mesh}", *options, f"--random={seed}"]
    process = subprocess.run(arguments, check=False, capture_output=True, text=True)
    found = SAID.search(process.stdout)
    if process.returncode != 0 or not found:
        sys.exit(f"{' '.join(map(str, arguments))} ended with {process.returncode}:\n{process.stdout[:10000]}{process.stderr}")
    return dict(zip(COUNTED, map(int, found.groups()), strict=True))


def table(outcomes: list[dict[str, object]]) -> str:
    """A line per command, file and mesh."""
    sums: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for outcome in outcomes:
        sums[str(outcome["call"])].update({name: int(str(outcome[name])) for name in COUNTED})
    lines = ["| errors in | change a result, all refused | change none | of these refused |", "|---|---:|---:|---:|"]
    lines += [f"| `{call}` | {' | '.join(f'{counts[name]:,}' for name in COUNTED)} |" for call, counts in sorted(sums.items())]
    return "\n".join(lines)


def main() -> int:
    """Makes what is missing, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(CALLS), help=", ".join(CALLS))
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build folder (build/dev)")
    parser.add_argument("--outcomes", type=Path, default=ROOT / "build/conformance/mutants.jsonl", help="where outcomes go")
    parser.add_argument("--most", type=int, default=10_000, help="as many errors that change a result of each kind (10,000)")
    parser.add_argument("--table", action="store_true", help="print what there is and run nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - set(CALLS):
        parser.error(f"nothing is named {', '.join(sorted(unknown))}")
    lines = arguments.outcomes.read_text().splitlines() if arguments.outcomes.exists() else []
    outcomes = [json.loads(line) for line in lines]
    if arguments.table:
        print(table(outcomes))
        return 0
    arguments.outcomes.parent.mkdir(parents=True, exist_ok=True)
    for kind in arguments.kinds:
        done = {(outcome["call"], outcome["seed"]): outcome["changing"] for outcome in outcomes if outcome["kind"] == kind}
        seed = 0
        while sum(done.values()) < arguments.most:
            seed += 1
            for call in CALLS[kind]:
                if (title(call), seed) in done:
                    continue
                counts = count(arguments.build, call, seed)
                with arguments.outcomes.open("a") as file:
                    file.write(json.dumps({"kind": kind, "call": title(call), "seed": seed, **counts}) + "\n")
                done[title(call), seed] = counts["changing"]
                print(f"{title(call)}, seed {seed}: {counts}; {sum(done.values())} that change something", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
