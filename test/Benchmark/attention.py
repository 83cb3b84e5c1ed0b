#!/usr/bin/env python3
"""Compares attention as one operation with the operations it was raised from, and prints a table.

    python attention.py FOLDER [NAME=LENGTH...] [--precision P] [--build BUILD] [--rounds 5] [--steps 3] [--write TABLE.md]

Each step is exported at its length and compiled twice: as it is, and with attention expanded after the stage `simplify`
(`tenon-opt --simplify-expand-attention`). Both are timed with `tenon bench --kernels` on one thread, taking turns; the
time of a kernel is the least of the rounds' medians. Compared are the kernels that only one of the two has: attention
itself, and what is fused with it or with the operations it is expanded to. Kernels that both have are the same work.

FOLDER keeps exports, files and rounds: a run that was ended goes on where it stopped, as long as the compiler is the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
STEPS = ("04_chargpt=64", "04_chargpt=256", "10_vit_tiny=64", "10_vit_tiny=256")
FORMS = ("raised", "expanded")


class Comparison:
    """What is known of each step and form, kept in a file for one compiler."""

    def __init__(self, folder: Path, build: Path, precision: str) -> None:
        self.folder, self.build, self.precision = folder, build, precision
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "rounds.json"
        compiler = hashlib.sha256((build / "bin/tenon-compiler").read_bytes()).hexdigest()
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.known = known if known.get("compiler") == compiler else {"compiler": compiler}

    def run(self, tool: str, *arguments: object) -> str:
        """What the tool prints; it must succeed."""
        command = [str(self.build / "bin" / tool), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def entry(self, step: str, form: str) -> dict:
        """Temporaries and rounds of a step in a form, which is compiled if it is not there."""
        key, name, length = self.key(step, form), *step.split("=")
        source = self.folder / length / f"{name}.mlir"
        if not source.exists():
            generate = [sys.executable, str(ROOT / "test/EndToEnd/models/generate.py"), name, f"--length={length}", "--no-run"]
            subprocess.run([*generate, "--out", str(source.parent)], check=True, capture_output=True)
        if key not in self.known or not self.file(step, form).exists():
            text = self.folder / "simplified.mlir"
            self.run("tenon", "compile", source, f"--precision={self.precision}", "--compile-to=simplify", "-o", text)
            if form == "expanded":
                raised, text = text, self.folder / "expanded.mlir"
                self.run("tenon-opt", raised, "--simplify-expand-attention", "-o", text)
            output = self.file(step, form)
            self.run("tenon", "compile", text, "--compile-from=simplify", "-o", output)
            temporaries = re.search(r"^temporaries +(\d+)$", self.run("tenon", "inspect", output), re.MULTILINE)
            assert temporaries, f"tenon inspect says nothing about the temporaries of {output}"
            self.known[key] = {"temporaries": int(temporaries[1]), "rounds": []}
            self.path.write_text(json.dumps(self.known))
        return self.known[key]

    def key(self, step: str, form: str) -> str:
        """What a step in a form is called."""
        return f"{step} {form}" if self.precision == "f32" else f"{step} {form} {self.precision}"

    def file(self, step: str, form: str) -> Path:
        """Where the compiled step is kept."""
        return self.folder / f"{self.key(step, form).replace(' ', '-')}.tenon"

    def add_round(self, step: str, form: str, steps: int) -> None:
        """Times all kernels once more: milliseconds of those that do the same equally often."""
        text = self.run("tenon", "bench", self.file(step, form), "--kernels", "--threads=1", f"--steps={steps}", "--rows=100000")
        times: dict[str, float] = {}
        for time, runs, what in re.findall(r"^ *([\d.]+) +[\d.]+% +(\d+) +\w+ +(.*)$", text, re.MULTILINE):
            kernel = f"{runs} of {what}"
            times[kernel] = times.get(kernel, 0) + float(time)
        self.known[self.key(step, form)]["rounds"].append(times)
        self.path.write_text(json.dumps(self.known))

    def least(self, step: str, form: str) -> dict[str, float]:
        """The least milliseconds of each kernel."""
        rounds = self.known[self.key(step, form)]["rounds"]
        return {kernel: min(times[kernel] for times in rounds) for kernel in rounds[0]}

    def row(self, step: str) -> str:
        """What either form has alone, and what both have."""
        raised, expanded = (self.least(step, form) for form in FORMS)
        shared = raised.keys() & expanded.keys()
        own, theirs = (sum(time for kernel, time in times.items() if kernel not in shared) for times in (raised, expanded))
        bytes_of = [self.known[self.key(step, form)]["temporaries"] / 2**20 for form in FORMS]
        name, length = step.split("=")
        return (
            f"| {name} | {length} | {own:.2f} | {theirs:.2f} | {own / theirs:.2f} | {sum(raised[kernel] for kernel in shared):.1f} "
            f"| {bytes_of[0]:.1f} | {bytes_of[1]:.1f} | {bytes_of[0] / bytes_of[1]:.2f} |"
        )


def main() -> None:
    """Measures what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("steps_of", nargs="*", metavar="NAME=LENGTH", default=STEPS)
    parser.add_argument("--precision", default="f32", help="what both are compiled with (default: f32)")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="how many steps a round times")
    parser.add_argument("--write", type=Path, metavar="TABLE.md")
    options = parser.parse_args()
    for step in options.steps_of:
        if not re.fullmatch(r"\w+=\d+", step):
            parser.error(f"found '{step}', expected NAME=LENGTH such as {STEPS[1]}")
    comparison = Comparison(options.folder, options.build, options.precision)
    for step in options.steps_of:
        entries = {form: comparison.entry(step, form) for form in FORMS}
        for number in range(options.rounds):
            for form in FORMS:
                if len(entries[form]["rounds"]) <= number:
                    comparison.add_round(step, form, options.steps)
    lines = [
        "| step | length | attention ms | expanded ms | ratio | shared ms | temporaries MiB | expanded MiB | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(comparison.row(step) for step in options.steps_of),
    ]
    print("\n".join(lines), f"\nload of this machine in the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if options.write:
        options.write.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
