"""Prints the table of offset packing: against a peer, smallest arenas, training
graphs, and scale.

    python offset_packing.py --solve build/release/bin/tenon-solve \
        --instances DIR --peer DIR/minimalloc [--quick]

DIR holds `NAME.CAPACITY.csv` files. The peer is google/minimalloc; both programs
run on one thread in turn, and the best of three wall times of the whole process
counts (a peer's time-out counts as the time-out). Every plan and claim is checked.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import packing_instances
import training_graphs

TIME_OUT = 60.0


@dataclass
class Run:
    seconds: float
    found: bool
    report: dict[str, object]


def run_ours(solve: Path, problem: Path, folder: Path, capacity: int | None, runs: int) -> Run:
    plan, claims = folder / "plan.csv", folder / "claims.txt"
    command = [solve, "offset-packing", problem, "-o", plan, f"--claims={claims}", "--json"]
    if capacity is not None:
        command.append(f"--capacity={capacity}")
    best = math.inf
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        best = min(best, time.perf_counter() - start)
    report = json.loads(done.stdout)
    if done.returncode == 0:
        subprocess.run([solve, "check", problem, plan, claims], check=True, stdout=subprocess.DEVNULL)
    return Run(best, done.returncode == 0, report)


def run_peer(peer: Path, problem: Path, folder: Path, capacity: int, runs: int) -> Run:
    command = [
        peer,
        f"--capacity={capacity}",
        f"--input={problem}",
        f"--output={folder / 'peer.csv'}",
        f"--timeout={TIME_OUT:.0f}s",
    ]
    best, found = math.inf, False
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        found = done.returncode == 0
        best = min(best, time.perf_counter() - start)
        if not found:
            return Run(TIME_OUT, False, {})
    return Run(best, found, {})


def compare(arguments: argparse.Namespace, folder: Path) -> None:
    print("\n| instance | buffers | peer ms | ours ms | ratio |\n|---|---|---|---|---|")
    kinds: dict[str, list[float]] = {}
    seeds = range(1, 2) if arguments.quick else range(1, 6)
    for path in sorted(arguments.instances.glob("?.*.csv")):
        name, capacity = path.name.split(".")[0], int(path.name.split(".")[1])
        original = packing_instances.read(path)
        variants = {"": ("original", original)}
        variants["-mirrored"] = ("mirrored", packing_instances.mirror(original))
        for seed in seeds:
            variants[f"-cut{seed}"] = ("cut", packing_instances.cut(original, seed))
        for suffix, (kind, buffers) in variants.items():
            if kind not in arguments.variants.split(","):
                continue
            problem = folder / "problem.csv"
            packing_instances.write(problem, buffers)
            ours = run_ours(arguments.solve, problem, folder, capacity, arguments.runs)
            peer = run_peer(arguments.peer, problem, folder, capacity, arguments.runs)
            ratio = peer.seconds / (ours.seconds if ours.found else TIME_OUT)
            kinds.setdefault(kind, []).append(ratio)
            print(
                f"| {name}{suffix} | {len(buffers)} "
                f"| {peer.seconds * 1e3:.1f}{'' if peer.found else ' (time-out)'} "
                f"| {ours.seconds * 1e3:.2f}{'' if ours.found else ' (no plan)'} "
                f"| {ratio:.1f} |",
                flush=True,
            )
    for kind, ratios in kinds.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\n{kind}: geometric mean {mean:.1f}x, worst {min(ratios):.1f}x of {len(ratios)}")


def smallest(arguments: argparse.Namespace, folder: Path) -> None:
    print("\n| instance | arena | bound | gap % | s |\n|---|---|---|---|---|")
    for path in sorted(arguments.instances.glob("?.*.csv")):
        run = run_ours(arguments.solve, path, folder, None, 1)
        print_plan(path.name.split(".")[0], run)


def print_plan(name: str, run: Run) -> float:
    arena, bound = int(str(run.report["arena"])), int(str(run.report["bound"]))
    gap = 100 * (arena - bound) / bound
    print(f"| {name} | {arena} | {bound} | {gap:.4f} | {run.seconds:.2f} |", flush=True)
    return gap


def graphs(arguments: argparse.Namespace, folder: Path) -> None:
    print("\n| graph (buffers, seed) | arena | bound | gap % | s |\n|---|---|---|---|---|")
    gaps = []
    sizes = [1_000, 10_000] if arguments.quick else [1_000, 3_000, 10_000, 30_000, 100_000]
    for kind in sorted(training_graphs.KINDS):
        for size in sizes:
            for seed in range(1, 3 if arguments.quick else 6):
                problem = folder / "problem.csv"
                with problem.open("w", encoding="ascii") as stream:
                    training_graphs.generate(kind, size, seed).write(stream)
                run = run_ours(arguments.solve, problem, folder, None, 1)
                gaps.append(print_plan(f"{kind} ({size}, {seed})", run))
    exact = sum(gap == 0 for gap in gaps)
    print(f"\narena = bound on {exact} of {len(gaps)}, largest gap {max(gaps):.4f} %")


def scale(arguments: argparse.Namespace, folder: Path) -> None:
    print("\n| buffers | s | times the half |\n|---|---|---|")
    last = 0.0
    size = 15_625
    while size <= (125_000 if arguments.quick else 1_000_000):
        problem = folder / "problem.csv"
        with problem.open("w", encoding="ascii") as stream:
            training_graphs.generate("transformer", size, 1).write(stream)
        run = run_ours(arguments.solve, problem, folder, None, arguments.runs)
        ratio = f"{run.seconds / last:.2f}" if last else ""
        print(f"| {size} | {run.seconds:.3f} | {ratio} |", flush=True)
        last, size = run.seconds, 2 * size


def main() -> None:
    parser = argparse.ArgumentParser(description="The table of offset packing.")
    parser.add_argument("--solve", type=Path, required=True, help="tenon-solve")
    parser.add_argument("--instances", type=Path, help="folder of NAME.CAPACITY.csv files")
    parser.add_argument("--peer", type=Path, help="the minimalloc program")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--variants", default="original,mirrored,cut", help="which copies to compare on")
    parser.add_argument("--tables", default="compare,smallest,graphs,scale", help="which tables to print")
    parser.add_argument("--quick", action="store_true", help="fewer seeds and smaller graphs")
    arguments = parser.parse_args()
    arguments.solve = arguments.solve.resolve()
    print(f"{platform.platform()}, {platform.machine()}, one thread, best of {arguments.runs}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = arguments.tables.split(",")
        if "compare" in tables and arguments.instances and arguments.peer:
            compare(arguments, folder)
        if "smallest" in tables and arguments.instances:
            smallest(arguments, folder)
        if "graphs" in tables:
            graphs(arguments, folder)
        if "scale" in tables:
            scale(arguments, folder)


if __name__ == "__main__":
    main()
