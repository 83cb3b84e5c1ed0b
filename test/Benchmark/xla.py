#!/usr/bin/env python3
"""Compares steps as they came with what `tenon compile --target=stablehlo` makes of them, in XLA's CPU client.

    python xla.py FOLDER NAME... --results FILE.json [--build BUILD] [--shares .8,.6,.4] [--timings [--seconds 4]]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. For each step: XLA's temporaries as
it came (T0), and under budgets that leave these shares of T0 for them what was predicted and what XLA needs, how many
dots and convolutions the plan runs again and how many more XLA's optimised module holds; without a budget XLA's own
counts of FLOPs and bytes. --timings adds, without a budget, the time of a step and of XLA's compilation, each the median
of alternating measurements as a multiple of the original's; it wants a quiet machine.

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


def measure_time(build: Path, source: Path, scratch: Path, info: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Compile and step time without a budget, alternating with the original's."""
    texts = [source.read_text(), export(build, source, scratch)[0]]
    compiles: list[list[float]] = [[], []]
    steps: list[xla.XlaStep] = []
    for _ in range(3):
        steps = []
        for number, text in enumerate(texts):
            start = time.perf_counter()
            steps.append(xla.XlaStep(text))
            compiles[number].append(time.perf_counter() - start)
    kept = [value for value, leaf in zip(xla.start_values(info), info["args"], strict=True) if leaf["in_main"]]
    times: list[list[float]] = [[], []]
    end = time.perf_counter() + 2 * seconds
    while time.perf_counter() < end or len(times[0]) < 3:
        for number, step in enumerate(steps):
            placed = step.place(kept)
            start = time.perf_counter()
            step.run_placed(placed)
            times[number].append(time.perf_counter() - start)
    return {
        "step": [statistics.median(values) for values in times],
        "compile": [statistics.median(values) for values in compiles],
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
    print("\n| step | ms | x original | compile s | x original |\n|---|---:|---:|---:|---:|")
    for name, entry in timed.items():
        (before, after), (slow, slower) = entry["step"], entry["compile"]
        print(f"| {name} | {1000 * after:.2f} | {after / before:.3f} | {slower:.2f} | {slower / slow:.3f} |")
    means = [geometric_mean([entry[key][1] / entry[key][0] for entry in timed.values()]) for key in ("step", "compile")]
    print(f"\nGeometric means: step {means[0]:.3f}, compile {means[1]:.3f}")


def main() -> int:
    """Measures what is missing and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--shares", default=".8,.6,.4")
    parser.add_argument("--timings", action="store_true")
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    shares = [float(share) for share in arguments.shares.split(",")]
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
            plain = keep(name, "plain", measure_plain, source, scratch)
            for share in shares:
                keep(name, str(share), measure_budget, source, scratch, plain, share)
            if arguments.timings:
                info = json.loads((arguments.folder / f"{name}.json").read_text())
                keep(name, "time", measure_time, source, scratch, info, arguments.seconds)
    print_tables(results, shares)
    return 0


if __name__ == "__main__":
    sys.exit(main())
