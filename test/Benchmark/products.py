#!/usr/bin/env python3
"""Products by a library, by generated code, and by the compiler's choice: measures a grid of them and fits the rates to it.

    python products.py measure RESULTS [--cpu SET] [--seconds S] [--build BUILD]
    python products.py table   RESULTS [--cpu SET] [--build BUILD]
    python products.py rates   RESULTS [--cpu SET] [--build BUILD]

The grid: rows, columns and sums of 1 to 64, each operand plain or transposed, batches of 1, 12 and 96 around the matrices or
inside of them, and of 2,048 for extents up to 4. `measure` appends a line per product, its shortest times in 30 runs on one thread,
in an order that is the same every time and mixes the grid, so that a part of it is a sample; what RESULTS has is not done again. On
a machine with other work to do, the shortest of 30 runs that take turns is what is least disturbed. `table` asks the compiler which way
it chooses for each product and compares with the quicker one. `rates` prints the numbers of lib/Cost/ProductCost.cpp.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
EXTENTS = (1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64)
LAYOUTS = ("plain", "transposed")
KERNEL_RATES = 14  # how many of the counts are those of generated code, as in ProductCost.h


def grid() -> list[str]:
    """The products, mixed."""
    batches = [(1, "outer"), *itertools.product((12, 96), ("outer", "middle"))]
    cells = [
        f"{m} {n} {k} {left} {right} {batch} {place}"
        for (batch, place), m, n, k, left, right in itertools.product(batches, EXTENTS, EXTENTS, EXTENTS, LAYOUTS, LAYOUTS)
    ]
    small = (1, 2, 3, 4)
    cells += [
        f"{m} {n} {k} {left} {right} 2048 {place}"
        for m, n, k, left, right, place in itertools.product(small, small, small, LAYOUTS, LAYOUTS, ("outer", "middle"))
    ]
    random.Random(5).shuffle(cells)
    return cells


def read(results: Path) -> dict[str, tuple[int, int]]:
    """Nanoseconds by the library, 0 if it has no such product, and by generated code."""
    found: dict[str, tuple[int, int]] = {}
    for line in results.read_text().splitlines() if results.exists() else ():
        words = line.split()
        if len(words) == 9:
            found[" ".join(words[:7])] = (int(words[7]), int(words[8]))
    return found


def ask(arguments: argparse.Namespace, mode: str, cells: list[str]) -> list[list[str]]:
    """What ProductTimes says behind each product."""
    command = [str(arguments.build / "bin/ProductTimes"), mode, *([arguments.cpu] if arguments.cpu else [])]
    process = subprocess.run(command, input="\n".join(cells) + "\n", capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(process.stderr)
    return [line.split()[7:] for line in process.stdout.splitlines()]


def measure(arguments: argparse.Namespace) -> None:
    """Until all are done, or the time is over."""
    end = time.monotonic() + arguments.seconds
    known = read(arguments.results)
    missing = [cell for cell in grid() if cell not in known]
    for first in range(0, len(missing), 50):
        if time.monotonic() > end:
            break
        cells = missing[first : first + 50]
        with arguments.results.open("a") as file:
            file.writelines(f"{cell} {' '.join(times)}\n" for cell, times in zip(cells, ask(arguments, "times", cells), strict=True))
    print(
        f"{len(read(arguments.results))} of {len(grid())} products measured; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    )


def shares(slower: np.ndarray) -> str:
    """How often a way is about as quick as the better one."""
    return f"{np.mean(slower <= 1.1):.1%} | {np.mean(slower <= 1.3):.1%} | {np.max(slower):.2f} | {np.exp(np.mean(np.log(slower))):.3f}"


def table(arguments: argparse.Namespace) -> None:
    """Library alone, generated code alone and the choice, against the better of the two."""
    # What simplification leaves no product of has no choice.
    known = {cell: times for cell, times in read(arguments.results).items() if times[0]}
    cells = list(known)
    times = np.array([known[cell] for cell in cells], float)
    chosen = np.array([0 if words == ["library"] else 1 for words in ask(arguments, "choices", cells)])
    slower = times / times.min(axis=1)[:, None]
    of_choice = slower[np.arange(len(cells)), chosen]
    print("| products | way | within 10 % | within 30 % | largest | mean |\n|---|---|---:|---:|---:|---:|")
    groups = {"all": np.full(len(cells), True)}
    for batch in ("1 outer", "12 outer", "12 middle", "96 outer", "96 middle", "2048 outer", "2048 middle"):
        groups[f"batch {batch}"] = np.array([cell.endswith(f" {batch}") for cell in cells])
    for name, rows in groups.items():
        if rows.any():
            ways = [("library", slower[rows, 0]), ("generated", slower[rows, 1])] if name == "all" else []
            for way, values in [*ways, ("choice", of_choice[rows])]:
                print(f"| {name}, {np.sum(rows)} | {way} | {shares(values)} |")
    print(f"\ngenerated code is chosen for {np.mean(chosen):.1%}; the slowest choices:")
    for index in np.argsort(-of_choice)[:10]:
        print(f"  {cells[index]}: {of_choice[index]:.2f}, library {times[index, 0]:.0f} ns, generated {times[index, 1]:.0f} ns")


def fitted(counts: np.ndarray, nanoseconds: np.ndarray) -> np.ndarray:
    """Positive rates for which the logarithms of predicted and measured times are near each other, outliers counting less."""
    from scipy.optimize import least_squares, nnls

    # What no product does has no rate.
    occurs = counts.any(axis=0)
    counts = counts[:, occurs]
    first, _ = nnls(counts / nanoseconds[:, None], np.ones(len(nanoseconds)), maxiter=100_000)

    def apart(logarithms: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(counts @ np.exp(logarithms), 1) / nanoseconds)

    found = least_squares(apart, np.log(np.maximum(first, 1e-3)), loss="soft_l1", f_scale=0.1, max_nfev=60)
    rates = np.zeros(len(occurs))
    rates[occurs] = np.where(found.x < np.log(2e-3), 0, np.exp(found.x))
    return rates


def rates(arguments: argparse.Namespace) -> None:
    """One row of the table in ProductCost.cpp."""
    known = {cell: times for cell, times in read(arguments.results).items() if times[0]}
    rows = [(words, known[cell]) for cell, words in zip(known, ask(arguments, "counts", list(known)), strict=True) if words]
    counts = np.array([words for words, _ in rows], float)
    times = np.array([measured for _, measured in rows], float)
    for first, last, column in ((0, KERNEL_RATES, 1), (KERNEL_RATES, counts.shape[1], 0)):
        found = fitted(counts[:, first:last], times[:, column])
        print("{" + ", ".join(f"{rate:.3g}" for rate in found) + "},")


def main() -> None:
    """Does what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "table", "rates"))
    parser.add_argument("results", type=Path, help="a line per product")
    parser.add_argument("--cpu", default="", help="the feature set that code is for (default: this machine's)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long to measure")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    arguments = parser.parse_args()
    {"measure": measure, "table": table, "rates": rates}[arguments.what](arguments)


if __name__ == "__main__":
    main()
