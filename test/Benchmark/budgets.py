#!/usr/bin/env python3
"""Compiles and runs steps under a grid of memory budgets and checks what was promised of each; writes a table.

    python budgets.py FOLDER RESULTS.jsonl [NAME...] [--build BUILD] [--machine FILE] [--kernels] [--write TABLE.md]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. Budgets are M + p (K - M) for p = 0,
.05, .1, .2, .4, .6, .8 and 1, where K is what the step needs without a budget and M the smallest budget with a plan. Of
every plan: the file keeps its claims (`tenon verify`), its segments are within the budget, state, results and losses
after five steps are bit-identical to the step without a budget, how far resident memory grows, and the gap to the
proved bound. At p = 0 a step also runs in poisoned memory (`--check-memory`). With --kernels, which wants a quiet
machine, the extra time of the kernels is measured against the predicted one.

A line of RESULTS is one plan of one compiler for one machine; what is there is not done again, so a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/EndToEnd"))

import compare  # noqa: E402
import resident  # noqa: E402

SHARES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
STEPS = 5
# Where saving everything that can be saved is less than this share of the whole, the grid says nothing.
LEAST_RANGE = 0.01
# From here on gaps are promised.
GAP_SHARE = 0.2


class Step:
    """One exported step in a scratch folder."""

    def __init__(self, arguments: argparse.Namespace, name: str, scratch: Path) -> None:
        self.arguments, self.name, self.scratch = arguments, name, scratch
        info = json.loads((arguments.folder / f"{name}.json").read_text())
        located = arguments.folder / f"{name}.loc.mlir"
        self.source = located if compare.needs_locations(info) else arguments.folder / f"{name}.mlir"
        self.inputs = scratch / "inputs.safetensors"
        save_file(compare.start_values(info), str(self.inputs))

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        """Runs tenon."""
        tool = self.arguments.build / "bin/tenon"
        return subprocess.run([str(tool), *map(str, command)], capture_output=True, text=True, check=False)

    def succeed(self, *command: object) -> str:
        """Runs tenon, which must succeed."""
        process = self.run(*command)
        if process.returncode != 0:
            raise RuntimeError(f"{self.name}: tenon {command[0]} exited {process.returncode}: {process.stderr[-1000:]}")
        return process.stdout

    def compile(self, output: Path, budget: int | None) -> dict:
        """What the report says of the plan, with the seconds of the whole compilation and of planning."""
        report = self.scratch / "report.json"
        options = [f"--memory-budget={budget}"] if budget else []
        options += [f"--machine={self.arguments.machine}"] if self.arguments.machine else []
        self.succeed("compile", self.source, "-o", output, "--report", report, *options)
        content = json.loads(report.read_text())
        stage = next(s for s in content["stages"] if s["stage"] == "plan")
        return {**stage, "planning": stage["seconds"], "compiling": content["seconds"]}

    def smallest(self) -> tuple[int, str]:
        """M, and why nothing is smaller."""
        options = [f"--machine={self.arguments.machine}"] if self.arguments.machine else []
        process = self.run("compile", self.source, "-o", self.scratch / "none.tenon", "--memory-budget=1", *options)
        found = re.search(r"smallest budget that was planned is (\d+) bytes", process.stderr)
        if not found:
            raise RuntimeError(f"{self.name}: expected a refusal with the smallest budget: {process.stderr[-1000:]}")
        return int(found[1]), process.stderr.strip()

    def outputs(self, program: Path, *options: object) -> tuple[dict[str, np.ndarray], str]:
        """All results after five steps, and the losses of each."""
        path, metrics = self.scratch / "outputs.safetensors", self.scratch / "metrics.csv"
        self.succeed("run", program, "--inputs", self.inputs, "--steps", STEPS, "--outputs", path, "--metrics", metrics, *options)
        return load_file(str(path)), metrics.read_text()

    def segment_bytes(self, program: Path) -> int:
        """All segments of a file together."""
        sizes = re.findall(r"^(?:state|batch|results|temporaries|constants) +(\d+)$", self.succeed("inspect", program), re.MULTILINE)
        assert len(sizes) == 5
        return sum(map(int, sizes))

    def grown(self, program: Path) -> int:
        """Bytes by which a process grows that runs the step: its segments, and the libraries of the runtime."""
        return resident.growth(self.arguments.build / "lib/libtenon-runtime.so", program, self.inputs)

    def kernel_times(self, *programs: Path) -> list[dict[str, tuple[int, float]]]:
        """Of each program, per kind and shape of kernel: runs per step and the milliseconds of all of them.

        Of each kernel the least median of interleaved rounds, which other work disturbs least.
        """
        least: list[dict[tuple[str, int, str], float]] = [{} for _ in programs]
        threads = json.loads(self.arguments.machine.read_text())["cores"]
        for _ in range(self.arguments.rounds):
            for times, program in zip(least, programs, strict=True):
                options = ("--kernels", "--inputs", self.inputs, "--steps=5", f"--threads={threads}", f"--rows={10**6}")
                rows = re.findall(r"^ *([\d.]+) +[\d.]+% +(\d+) +(\S+) +(.*)$", self.succeed("bench", program, *options), re.MULTILINE)
                assert rows
                for milliseconds, runs, name, what in rows:
                    kernel = (what, int(runs), name)
                    times[kernel] = min(times.get(kernel, float("inf")), float(milliseconds))
        kinds: list[dict[str, tuple[int, float]]] = [{} for _ in programs]
        for times, kind in zip(least, kinds, strict=True):
            for (what, runs, _), milliseconds in times.items():
                before = kind.get(what, (0, 0.0))
                kind[what] = (before[0] + runs, before[1] + milliseconds)
        return kinds


def extra_milliseconds(plain: dict[str, tuple[int, float]], budgeted: dict[str, tuple[int, float]]) -> float:
    """What the kernels take longer that do not run equally often in both.

    The others gain from the caches where less memory is used, by more than some plans recompute.
    """
    never = (0, 0.0)
    pairs = [(plain.get(what, never), budgeted.get(what, never)) for what in sorted({*plain, *budgeted})]
    return sum(after[1] - before[1] for before, after in pairs if after[0] != before[0])


def same(a: tuple[dict[str, np.ndarray], str], b: tuple[dict[str, np.ndarray], str]) -> bool:
    """Bit by bit."""
    return a[1] == b[1] and a[0].keys() == b[0].keys() and all(a[0][n].tobytes() == b[0][n].tobytes() for n in a[0])


class Results:
    """Lines that are done, of this compiler."""

    def __init__(self, path: Path, build: Path, machine: Path | None) -> None:
        self.path = path
        plans = (build / "bin/tenon-compiler").read_bytes() + (machine.read_bytes() if machine else b"")
        self.compiler = hashlib.sha256(plans).hexdigest()[:16]
        lines = path.read_text().splitlines() if path.exists() else []
        entries = [entry for entry in map(json.loads, lines) if entry["compiler"] == self.compiler]
        self.entries = {(entry["name"], entry["share"]): entry for entry in entries}

    def add(self, name: str, share: float | None, values: dict) -> dict:
        """Also to the file."""
        entry = {"compiler": self.compiler, "name": name, "share": share, **values}
        self.entries[name, share] = entry
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        return entry


def one_budget(step: Step, ends: dict, share: float, expected: tuple[dict[str, np.ndarray], str]) -> dict:
    """Everything that is promised of one plan."""
    budget = round(ends["least"] + share * (ends["everything"] - ends["least"]))
    program = step.scratch / "budget.tenon"
    start = time.perf_counter()
    plan = step.compile(program, budget)
    seconds = time.perf_counter() - start
    step.succeed("verify", program)
    base, bound, cost = (plan[key] for key in ("predicted_nanoseconds_keeping_everything", "bound_nanoseconds", "predicted_nanoseconds"))
    values = {
        "budget": budget, "bytes": plan["bytes"], "used": step.segment_bytes(program),
        "temporaries": plan["temporaries"], "temporaries_bound": plan["temporaries_bound"],
        "base": base, "cost": cost, "bound": bound, "planning": plan["planning"], "compiling": seconds,
        "same": same(expected, step.outputs(program)), "grown": step.grown(program),
    }  # fmt: skip
    if share == 0:
        values["same"] = values["same"] and same(expected, step.outputs(program, "--check-memory"))
    if step.arguments.kernels and cost >= 1.1 * base:
        plain, budgeted = step.kernel_times(step.scratch / "plain.tenon", program)
        sums = [sum(milliseconds for _, milliseconds in kinds.values()) for kinds in (plain, budgeted)]
        values |= {"kernels_plain": sums[0], "kernels": sums[1], "kernels_extra": extra_milliseconds(plain, budgeted)}
    return values


def measure(arguments: argparse.Namespace, name: str, results: Results) -> None:
    """All budgets of one step."""
    if (name, None) in results.entries:
        ends = results.entries[name, None]
        wanted = [s for s in SHARES if (name, s) not in results.entries] if ends["grid"] else []
        if not wanted:
            return
    with tempfile.TemporaryDirectory() as scratch:
        step = Step(arguments, name, Path(scratch))
        plain = step.compile(step.scratch / "plain.tenon", None)
        everything = step.segment_bytes(step.scratch / "plain.tenon")
        if (name, None) not in results.entries:
            least, why = step.smallest()
            grid = everything - least >= LEAST_RANGE * everything
            ends = {"everything": everything, "least": least, "why": why, "grid": grid, "compiling": plain["compiling"]}
            results.add(name, None, ends)
        if not ends["grid"]:
            return
        expected = step.outputs(step.scratch / "plain.tenon")
        for share in SHARES:
            if (name, share) in results.entries:
                continue
            try:
                results.add(name, share, one_budget(step, ends, share, expected))
            except RuntimeError as error:
                results.add(name, share, {"error": str(error)})
                print(error, file=sys.stderr, flush=True)


def percent(value: float) -> str:
    """For the table."""
    return f"{100 * value:.2f}"


def gap_of_extra(entry: dict) -> float:
    """Of the extra time that the bound asks for; infinite if it asks for none."""
    gap, extra = entry["cost"] - entry["bound"], entry["bound"] - entry["base"]
    return 0.0 if gap == 0 else gap / extra if extra else float("inf")


def within_gap(entry: dict) -> bool:
    """What is promised from GAP_SHARE on."""
    gap, extra = entry["cost"] - entry["bound"], entry["bound"] - entry["base"]
    return gap <= max(0.1 * extra, 0.001 * entry["base"]) and gap <= 0.01 * entry["bound"]


def table(results: Results) -> list[str]:
    """A line per plan, then what holds of all of them."""
    titles = ["step", "p", "budget MiB", "used MiB", "extra %", "bound %", "gap of whole %", "gap of extra %"]
    titles += ["temporaries / bound", "bits", "planning s", "extra ms", "measured ms", "all kernels ms"]
    lines = ["| " + " | ".join(titles) + " |", "|---|" + "---:|" * (len(titles) - 1)]
    plans = [e for (_, share), e in sorted(results.entries.items(), key=str) if share is not None]
    good = [e for e in plans if "error" not in e]
    errors, worst = [e for e in plans if "error" in e], []
    for e in good:
        measured = "- | - | -"
        if "kernels" in e:
            predicted = (e["cost"] - e["base"]) / 1e6
            measured = f"{predicted:.2f} | {e['kernels_extra']:.2f} | {e['kernels'] - e['kernels_plain']:.2f}"
            worst.append(abs(predicted / e["kernels_extra"] - 1))
        ratio = e["temporaries"] / max(e["temporaries_bound"], 1)
        lines.append(
            f"| {e['name']} | {e['share']} | {e['budget'] / 2**20:.2f} | {e['used'] / 2**20:.2f} | "
            f"{percent(e['cost'] / e['base'] - 1)} | {percent(e['bound'] / e['base'] - 1)} | "
            f"{percent(e['cost'] / e['bound'] - 1)} | {percent(gap_of_extra(e))} | {ratio:.4f} | "
            f"{'same' if e['same'] else 'DIFFER'} | {e['planning']:.2f} | {measured} |"
        )
    count = len(good)
    late = [e for e in good if e["share"] >= GAP_SHARE]
    lines += ["", f"{count} plans, {len(errors)} without one."]
    lines += [f"- used = planned and within the budget: {sum(e['used'] == e['bytes'] <= e['budget'] for e in good)} of {count}"]
    lines += [f"- bits of state, results and losses after {STEPS} steps: {sum(e['same'] for e in good)} of {count} the same"]
    pairs = [(a, b) for a, b in zip(good, good[1:], strict=False) if a["name"] == b["name"] and a["share"] < b["share"]]
    rising = sum(a["cost"] >= b["cost"] and a["bytes"] <= b["bytes"] for a, b in pairs)
    lines += [f"- more budget, no less memory used and no more time: {rising} of {len(pairs)} neighbours"]
    beside = [e["grown"] - e["used"] for e in good if "grown" in e]
    if beside:
        lines += [
            f"- resident memory grows by the segments and {min(beside) / 2**20:.1f} to {max(beside) / 2**20:.1f} MiB of code and "
            f"libraries ({len(beside)} plans)"
        ]
    smallest = sum(e["temporaries"] == e["temporaries_bound"] for e in good)
    lines += [f"- temporaries = lower bound: {smallest} of {count}"]
    if late:
        kept = f"{sum(map(within_gap, late))} of {len(late)}"
        extra = float(np.median([gap_of_extra(e) for e in late]))
        whole = float(np.median([e["cost"] / e["bound"] - 1 for e in late]))
        lines += [f"- gap within max(10 % of the extra, 0.1 % of the whole) and 1 %, p >= {GAP_SHARE}: {kept}"]
        lines += [f"- median gap, p >= {GAP_SHARE}: {percent(extra)} % of the extra, {percent(whole)} % of the whole"]
    if worst:
        error = percent(float(np.median(worst)))
        lines += [f"- predicted against measured time of what runs again: median error {error} % ({len(worst)} plans)"]
    ends = [e for (_, share), e in sorted(results.entries.items(), key=str) if share is None]
    small = [e["name"] for e in ends if not e["grid"]]
    lines += [f"- less than 1 % to save, not in the grid: {', '.join(small) or 'none'}"]
    lines += [f"- {e['name']} at p = {e['share']}: {e['error']}" for e in errors]
    return lines


def main() -> int:
    """Runs what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--machine", type=Path, help="a description from tenon calibrate, which is run if there is none")
    parser.add_argument("--kernels", action="store_true", help="measure the kernels where 10 %% or more is recomputed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    # Sixteen is a program for several devices.
    names = arguments.names or sorted(
        path.name.removesuffix(".mlir")
        for path in arguments.folder.glob("*.mlir")
        if not path.name.endswith(".loc.mlir") and not path.name.startswith("16")
    )
    if arguments.kernels and not arguments.machine:
        parser.error("--kernels needs --machine=FILE; what is not there is measured and written there")
    if arguments.machine and not arguments.machine.exists():
        subprocess.run([arguments.build / "bin/tenon", "calibrate", "-o", arguments.machine], check=True)
    results = Results(arguments.results, arguments.build, arguments.machine)
    for name in names:
        print(name, file=sys.stderr, flush=True)
        measure(arguments, name, results)
    lines = table(results)
    print("\n".join(lines))
    if arguments.write:
        arguments.write.write_text("\n".join(lines) + "\n")
    return 0 if all(e.get("same", True) and "error" not in e for e in results.entries.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
