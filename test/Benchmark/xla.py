#!/usr/bin/env python3
"""Compares steps as they came with what `tenon compile --target=stablehlo` makes of them, in XLA's CPU client.

    python xla.py FOLDER NAME... --results FILE.json [--build BUILD] [--shares .8,.6,.4] [--numbers]
                  [--timings [--seconds 8]]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. For each step: XLA's temporaries as
it came (T0), and under budgets that leave these shares of T0 for them what was predicted and what XLA needs, how many
dots and convolutions the plan runs again and how many more XLA's optimised module holds; without a budget XLA's own
counts of FLOPs and bytes. --numbers adds, for each share, how far the first loss is from the original's and how many times
the original's error the state's is, tensor by tensor, after five steps and against the step in float64 (hours for all).

--timings adds, without a budget, the time of a step and of XLA's compilation as multiples of the original's: medians of the
ratios of pairs, which alternate in which side comes first. It wants a quiet machine, whose load it prints; with
`--shares=` nothing but that is measured. Where the median of a step is off by more than 2 %, twice as many pairs are run.

What is measured is kept in FILE.json at once, and what is there is not measured again: the script may be stopped and
started as often as wanted. It ends with the tables of all that is in the file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/EndToEnd"))

import exactness  # noqa: E402
import xla  # noqa: E402

MIB = 2**20


def export(build: Path, source: Path, scratch: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """The text that leaves, and what the report says of the plan."""
    text, report = scratch / "out.mlir", scratch / "report.json"
    command = [build / "bin/tenon", "compile", source, "--target=stablehlo", "-o", text, f"--report={report}", *options]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    stages = json.loads(report.read_text())["stages"]
    return text.read_text(), next(stage for stage in stages if stage["stage"] == "plan")


def counted(step: xla.XlaStep) -> dict[str, float]:
    """XLA's own counts of what a step does."""
    analysis = step.executable.cost_analysis()
    analysis = analysis[0] if isinstance(analysis, list) else analysis
    return {"flops": analysis.get("flops", 0.0), "bytes": analysis.get("bytes accessed", 0.0)}


def measure_plain(build: Path, source: Path, scratch: Path) -> dict[str, Any]:
    """The step as it came, and what leaves without a budget."""
    original = xla.XlaStep(source.read_text())
    text, _ = export(build, source, scratch)
    changed = xla.XlaStep(text)
    return {
        "temporaries": original.temporary_bytes,
        "given": original.argument_bytes + original.result_bytes,
        "arguments": original.argument_bytes,
        "contractions": original.contractions(),
        "counted": [counted(original), counted(changed)],
    }


def measure_budget(build: Path, source: Path, scratch: Path, plain: dict[str, Any], share: float) -> dict[str, Any]:
    """What a budget that leaves this share of the temporaries gives."""
    asked = int(share * plain["temporaries"])
    text, plan = export(build, source, scratch, f"--memory-budget={plain['given'] + asked}")
    step = xla.XlaStep(text)
    return {
        "asked": asked,
        "predicted": plan["temporaries_predicted"],
        "actual": step.temporary_bytes,
        "again": [plan["recomputed_dots"], plan["recomputed_convolutions"], plan["recomputed_fusions"]],
        "ties": plan["ties"],
        "more_contractions": step.contractions() - plain["contractions"],
        "more_work": plan["predicted_nanoseconds"] / max(plan["predicted_nanoseconds_as_it_came"], 1) - 1,
        "counted": counted(step),
    }


def measure_numbers(build: Path, source: Path, scratch: Path, plain: dict[str, Any], info: dict, share: float) -> dict:
    """The first loss and the errors of the state of a plan, beside the original's."""
    text, _ = export(build, source, scratch, f"--memory-budget={plain['given'] + int(share * plain['temporaries'])}")
    (state, losses), (changed, changed_losses) = (xla.run(xla.XlaStep(module), info) for module in (source.read_text(), text))
    exact = exactness.truth(source.read_text(), info)
    its, ours = (exactness.without_zero_gradients(source.stem, exact.errors(values)) for values in (state, changed))
    times = {path: error / its[path] for path, error in ours.items() if its[path] > 0}
    worst = max(times, key=times.__getitem__)
    return {
        "first_loss": abs(changed_losses[0] - losses[0]) / abs(losses[0]),
        "tensors": len(ours),
        "above": list(exactness.above(3, ours, its)),
        "worst": [worst, times[worst]],
        "mean": geometric_mean([value for value in times.values() if value > 0]),
    }


def paired(sides: list[Callable[[], float]], pairs: int, seconds: float) -> list[list[float]]:
    """What both sides return, in turns, for that many pairs and seconds at least; each is first in every other pair."""
    taken: list[list[float]] = [[], []]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken[0]) < pairs:
        first = len(taken[0]) % 2
        for number in (first, 1 - first):
            taken[number].append(sides[number]())
    return taken


def ratio_of(taken: list[list[float]]) -> float:
    """The second side as a multiple of the first: the median over pairs."""
    return statistics.median(second / first for first, second in zip(*taken, strict=True))


def measure_time(build: Path, source: Path, scratch: Path, info: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Compile and step time without a budget, in pairs with the original's."""
    texts = [source.read_text(), export(build, source, scratch)[0]]
    steps: dict[int, xla.XlaStep] = {}
    kept = [value for value, leaf in zip(xla.start_values(info), info["args"], strict=True) if leaf["in_main"]]

    def compile_one(number: int) -> float:
        start = time.perf_counter()
        steps[number] = xla.XlaStep(texts[number])
        return time.perf_counter() - start

    def run_one(number: int) -> float:
        placed = steps[number].place(kept)
        start = time.perf_counter()
        steps[number].run_placed(placed)
        return time.perf_counter() - start

    compiles = paired([lambda: compile_one(0), lambda: compile_one(1)], 4, seconds)
    runs = [lambda: run_one(0), lambda: run_one(1)]
    paired(runs, 1, 0)
    times = paired(runs, 6, seconds)
    if not 0.98 <= ratio_of(times) <= 1.02:
        times = [first + second for first, second in zip(times, paired(runs, 12, 2 * seconds), strict=True)]
    return {
        "step": statistics.median(times[1]),
        "step_ratio": ratio_of(times),
        "step_pairs": len(times[0]),
        "compile": statistics.median(compiles[1]),
        "compile_ratio": ratio_of(compiles),
        "compile_pairs": len(compiles[0]),
        "load": os.getloadavg()[0],
    }


def geometric_mean(values: list[float]) -> float:
    """Their geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def print_tables(results: dict[str, Any], shares: list[float]) -> None:
    """All that is known, as Markdown."""
    print("| step | T0 MiB | of all | asked | predicted | actual | dots | convolutions | fusions | more in XLA | ties |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, result in sorted(results.items()):
        before = result["plain"]["temporaries"]
        of_all = before / (before + result["plain"]["arguments"])
        for share in shares:
            entry = result.get(str(share))
            if not entry:
                continue
            dots, convolutions, fusions = entry["again"]
            print(
                f"| {name} | {before / MIB:.2f} | {of_all:.2f} | {share:.1f} | {entry['predicted'] / before:.2f} "
                f"| {entry['actual'] / before:.2f} | {dots} | {convolutions} | {fusions - dots - convolutions} "
                f"| {entry['more_contractions']} | {entry['ties']} |"
            )
    higher = [
        name
        for name, result in sorted(results.items())
        for key in ("flops", "bytes")
        if result["plain"]["counted"][1][key] > result["plain"]["counted"][0][key]
    ]
    print(f"\nWithout a budget XLA counts more FLOPs or bytes for {len(higher)} of {len(results)} steps {' '.join(higher)}")
    timed = {name: result["time"] for name, result in sorted(results.items()) if "time" in result}
    if not timed:
        return
    print("\n| step | ms | x original | pairs | compile s | x original | pairs | load |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, entry in timed.items():
        print(
            f"| {name} | {1000 * entry['step']:.2f} | {entry['step_ratio']:.3f} | {entry['step_pairs']} "
            f"| {entry['compile']:.2f} | {entry['compile_ratio']:.3f} | {entry['compile_pairs']} | {entry['load']:.1f} |"
        )
    steps, compiles = ([entry[f"{key}_ratio"] for entry in timed.values()] for key in ("step", "compile"))
    print(f"\nGeometric means: step {geometric_mean(steps):.3f} (at most {max(steps):.3f}), compile {geometric_mean(compiles):.3f}")


def print_numbers(results: dict[str, Any], shares: list[float]) -> None:
    """How exact plans are, as Markdown."""
    rows = [(name, share, result[f"numbers {share}"]) for name, result in sorted(results.items()) for share in shares
            if f"numbers {share}" in result]  # fmt: skip
    if rows:
        print("\n| step | asked | first loss off by | tensors | above 3x | worst | mean |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, share, entry in rows:
        print(
            f"| {name} | {share:.1f} | {entry['first_loss']:.1e} | {entry['tensors']} | {len(entry['above'])} "
            f"| {entry['worst'][1]:.2f} | {entry['mean']:.3f} |"
        )


def main() -> int:
    """Measures what is missing and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--shares", default=".8,.6,.4")
    parser.add_argument("--numbers", action="store_true")
    parser.add_argument("--timings", action="store_true")
    parser.add_argument("--seconds", type=float, default=8)
    arguments = parser.parse_args()
    shares = [float(share) for share in arguments.shares.split(",") if share]
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}

    def keep(name: str, key: str, measure: Callable[..., Any], *given: Any) -> Any:
        entry = results.setdefault(name, {})
        if key not in entry:
            entry[key] = measure(arguments.build, *given)
            print(f"{name} {key}: {json.dumps(entry[key])}", file=sys.stderr, flush=True)
            arguments.results.write_text(json.dumps(results, indent=1))
        return entry[key]

    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name in arguments.names:
            source = arguments.folder / f"{name}.mlir"
            info = json.loads((arguments.folder / f"{name}.json").read_text())
            plain = keep(name, "plain", measure_plain, source, scratch)
            for share in shares:
                keep(name, str(share), measure_budget, source, scratch, plain, share)
                if arguments.numbers:
                    keep(name, f"numbers {share}", measure_numbers, source, scratch, plain, info, share)
            if arguments.timings:
                keep(name, "time", measure_time, source, scratch, info, arguments.seconds)
    print_tables(results, shares)
    print_numbers(results, shares)
    return 0


if __name__ == "__main__":
    sys.exit(main())
