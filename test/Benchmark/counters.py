#!/usr/bin/env python3
"""Compares steps in f16 with the same steps without counters of overflows, and prints a table.

    python counters.py FOLDER NAME... [--scratch FOLDER] [--build BUILD] [--rounds 5] [--steps 10] [--write TABLE.md]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. The step without counters is the text
behind the stage `precision`, in which each counter keeps its value, so that nothing is left to count for. Both are timed
with `tenon bench --kernels` on one thread, taking turns. Of a round, what is compared is the time of the kernels that only
one of the two has, as a share of those that both have: other work on the machine slows both alike. What counting adds is
the difference of the medians of these shares, as a share of the step without counters.

With --scratch the files are kept, and are not compiled again by the same compiler.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/EndToEnd"))

import compare  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

COUNTER = re.compile(r'(%arg\d+): tensor<\S+> \{[^{}]*step\.name = "__tenon__\.overflow\.[^{}]*step\.successor = (\d+)')


def without_counters(text: str) -> tuple[str, int]:
    """A step in which each counter of overflows is what it was, and how many there are."""
    counters = COUNTER.findall(text)
    start = text.index("\n    return ", text.index("func.func @main")) + len("\n    return ")
    end = text.index(" : ", start)
    results = text[start:end].split(", ")
    for argument, place in counters:
        results[int(place)] = argument
    return text[:start] + ", ".join(results) + text[end:], len(counters)


class Steps:
    """Both forms of a step, compiled."""

    def __init__(self, build: Path, source: Path, scratch: Path) -> None:
        self.build, self.inputs = build, scratch / f"{source.stem}.safetensors"
        compiler = hashlib.sha256((build / "bin/tenon-compiler").read_bytes()).hexdigest()[:16]
        lowered = scratch / f"{source.stem}.{compiler}.mlir"
        self.files = [lowered.with_suffix(f".{form}.tenon") for form in ("counted", "plain")]
        compare.tenon(build, "compile", str(source), "--precision=f16", "--compile-to=precision", "-o", str(lowered))
        counted = lowered.read_text()
        plain, self.counters = without_counters(counted)
        for text, file in zip((counted, plain), self.files, strict=True):
            if not file.exists():
                lowered.write_text(text)
                compare.tenon(build, "compile", str(lowered), "--compile-from=precision", "-o", str(file))
        save_file(compare.start_values(json.loads(source.with_suffix(".json").read_text())), self.inputs)

    def kernels(self, file: Path, steps: int) -> dict[str, float]:
        """Milliseconds of the kernels of a step: of those that do the same equally often, together."""
        options = ("--kernels", "--threads=1", f"--inputs={self.inputs}", f"--steps={steps}", "--rows=100000")
        times: dict[str, float] = {}
        for time, runs, what in re.findall(
            r"^ *([\d.]+) +[\d.]+% +(\d+) +\w+ +(.*)$", compare.tenon(self.build, "bench", str(file), *options), re.MULTILINE
        ):
            times[f"{runs} of {what}"] = times.get(f"{runs} of {what}", 0) + float(time)
        return times


def row(name: str, steps: Steps, rounds: int, count: int) -> str:
    """What counting adds to a step."""
    measured = [[steps.kernels(file, count) for file in steps.files] for _ in range(rounds)]
    shared = measured[0][0].keys() & measured[0][1].keys()
    own = [[sum(time for what, time in times.items() if what not in shared) for times in pair] for pair in measured]
    common = [[sum(times[what] for what in shared) for times in pair] for pair in measured]
    counted, plain = (statistics.median(own[i][form] / common[i][form] for i in range(rounds)) for form in (0, 1))
    least = min(sum(pair[1].values()) for pair in measured)
    return f"| {name} | {steps.counters} | {least:.1f} | {100 * plain / (1 + plain):.2f} | {100 * (counted - plain) / (1 + plain):.2f} |"


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10, help="how many steps a round times")
    parser.add_argument("--write", type=Path, metavar="TABLE.md")
    given = parser.parse_args()
    lines = ["| step | counters | ms without | of these in kernels that count, % | added % |", "|---|---:|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.scratch or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in given.names:
            lines.append(row(name, Steps(given.build, given.folder / f"{name}.mlir", folder), given.rounds, given.steps))
            print("\n".join(lines if len(lines) == 3 else lines[-1:]), flush=True)
    if given.write:
        given.write.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
