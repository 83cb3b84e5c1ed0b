#!/usr/bin/env python3
"""Products by a library, by generated code, and by the compiler's choice: measures a grid of them and fits the rates to it.

    python products.py measure RESULTS [--cpu SET] [--seconds S] [--part I/N] [--build BUILD]
    python products.py again   RESULTS [--cpu SET] [--build BUILD]
    python products.py table   RESULTS [--cpu SET] [--build BUILD]
    python products.py rates   RESULTS [--cpu SET] [--build BUILD]

The grid: rows, columns and sums of 1 to 64, each operand plain or transposed, batches of 1, 12 and 96 around the matrices or
inside of them, and of 2,048 for extents up to 4. `measure` appends a line per product, its shortest times in 30 runs on one thread,
in an order that is the same every time and mixes the grid, so that a part of it is a sample; what RESULTS has is not done again. On
a machine with other work to do, the shortest of 30 runs that take turns is what is least disturbed. `again` measures the products once
more for which the choice seems to lose most, and the shorter times count. `table` asks the compiler which way
it chooses for each product, compares with the quicker one and lists all that are outside of 30 %. `rates` prints the numbers of
lib/Cost/ProductCost.cpp.
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
KERNEL_RATES = 18  # how many of the counts are those of generated code, as in ProductCost.h
# No product of the grid gathers. What a gather of 16 elements took where some did: 3.0 ns to 3.7 ns.
GATHERS, GATHER_NANOSECONDS = 5, 3.3


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
    """Nanoseconds by the library, 0 if it has no such product, and by generated code: the least of what was measured."""
    found: dict[str, tuple[int, int]] = {}
    for line in results.read_text().splitlines() if results.exists() else ():
        words = line.split()
        if len(words) == 9:
            cell, library, kernel = " ".join(words[:7]), int(words[7]), int(words[8])
            before = found.get(cell, (library, kernel))
            found[cell] = (min(library, before[0]), min(kernel, before[1]))
    return found


def ask(arguments: argparse.Namespace, mode: str, cells: list[str]) -> list[list[str]]:
    """What ProductTimes says behind each product."""
    command = [str(arguments.build / "bin/ProductTimes"), mode, *([arguments.cpu] if arguments.cpu else [])]
    process = subprocess.run(command, input="\n".join(cells) + "\n", capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(process.stderr)
    return [line.split()[7:] for line in process.stdout.splitlines()]


def append(arguments: argparse.Namespace, cells: list[str]) -> None:
    """Measures products, and writes a line for each."""
    with arguments.results.open("a") as file:
        file.writelines(f"{cell} {' '.join(times)}\n" for cell, times in zip(cells, ask(arguments, "times", cells), strict=True))


def measure(arguments: argparse.Namespace) -> None:
    """Until all are done, or the time is over."""
    end = time.monotonic() + arguments.seconds
    known = read(arguments.results)
    part, parts = map(int, arguments.part.split("/"))
    missing = [cell for cell in grid()[part - 1 :: parts] if cell not in known]
    for first in range(0, len(missing), 50):
        if time.monotonic() > end:
            break
        append(arguments, missing[first : first + 50])
    print(
        f"{len(read(arguments.results))} of {len(grid())} products measured; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    )


def choices(arguments: argparse.Namespace) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The products that have a choice, their times by library and generated code, and which of the two is chosen."""
    # What simplification leaves no product of has no choice.
    known = {cell: times for cell, times in read(arguments.results).items() if times[0]}
    chosen = [0 if words == ["library"] else 1 for words in ask(arguments, "choices", list(known))]
    return list(known), np.array(list(known.values()), float), np.array(chosen)


def again(arguments: argparse.Namespace) -> None:
    """Measures once more where the choice seems to lose most: other work on the machine can have disturbed one of the two ways."""
    cells, times, chosen = choices(arguments)
    lost = times[np.arange(len(cells)), chosen] / times.min(axis=1)
    append(arguments, [cell for cell, much in zip(cells, lost > 1.2, strict=True) if much])


def shares(slower: np.ndarray) -> str:
    """How often a way is about as quick as the better one."""
    return f"{np.mean(slower <= 1.1):.1%} | {np.mean(slower <= 1.3):.1%} | {np.max(slower):.2f} | {np.exp(np.mean(np.log(slower))):.3f}"


def table(arguments: argparse.Namespace) -> None:
    """Library alone, generated code alone and the choice, against the better of the two."""
    cells, times, chosen = choices(arguments)
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
    outside = int(np.sum(of_choice > 1.3))
    print(f"\ngenerated code is chosen for {np.mean(chosen):.1%}; {outside} are outside of 30 %; the slowest choices:")
    for index in np.argsort(-of_choice)[: max(10, outside)]:
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


def fitted_to_choice(counts: np.ndarray, times: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Rates near `first` whose choices lose least: predictions that are wrong for both ways alike do no harm.

    What is minimized is the squared logarithm of what a choice loses, and its sixth power where that is more than 20 %, with a choice
    that is the softer the nearer the predictions are to each other, plus a tenth of how far predictions are from what was measured.
    """
    from scipy.optimize import minimize

    library_wins = np.log(times[:, 1] / times[:, 0])
    softness, scale, share = 0.05, 0.1, 0.1

    def lost(wins: np.ndarray) -> np.ndarray:
        much = np.maximum(wins, 0)
        return much**2 * (1 + (much / np.log(1.2)) ** 4)

    lost_by_library, lost_by_kernel = lost(-library_wins), lost(library_wins)

    def loss(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        parts = counts * np.exp(logarithms)
        kernel, call = parts[:, :KERNEL_RATES].sum(axis=1), parts[:, KERNEL_RATES:].sum(axis=1)
        takes_library = 1 / (1 + np.exp(-np.clip(np.log(kernel / call) / softness, -50, 50)))
        chosen = 2000 * np.mean(takes_library * lost_by_library + (1 - takes_library) * lost_by_kernel)
        by_kernel = 2000 * takes_library * (1 - takes_library) * (lost_by_library - lost_by_kernel) / softness
        value, slopes = chosen, [by_kernel, -by_kernel]
        for way, predicted in enumerate((kernel, call)):
            apart = np.log(predicted / times[:, 1 - way])
            far = np.sqrt(1 + (apart / scale) ** 2)
            value += share * np.mean(far)
            slopes[way] = (slopes[way] + share * apart / scale**2 / far) / len(times) / predicted
        return value, np.concatenate([slopes[0] @ parts[:, :KERNEL_RATES], slopes[1] @ parts[:, KERNEL_RATES:]])

    start = np.log(np.maximum(first, 2e-3))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1500}).x
    return np.where(counts.any(axis=0) & (found > np.log(2e-3)), np.exp(found), 0)


def rates(arguments: argparse.Namespace) -> None:
    """One row of the table in ProductCost.cpp, and how well rates of one half of the products choose for the other."""
    known = {cell: times for cell, times in read(arguments.results).items() if times[0]}
    rows = [(words, known[cell]) for cell, words in zip(known, ask(arguments, "counts", list(known)), strict=True) if words]
    counts = np.array([words for words, _ in rows], float)
    times = np.array([measured for _, measured in rows], float)

    def row(part: slice) -> np.ndarray:
        ways = ((slice(KERNEL_RATES), 1), (slice(KERNEL_RATES, None), 0))
        first = np.concatenate([fitted(counts[part, columns], times[part, way]) for columns, way in ways])
        return fitted_to_choice(counts[part], times[part], first)

    def numbers(found: np.ndarray) -> str:
        return "{" + ", ".join(f"{rate:.3g}" for rate in found) + "}"

    found = row(slice(None))
    if not counts[:, GATHERS].any():
        found[GATHERS] = GATHER_NANOSECONDS
    print(f"{{{numbers(found[:KERNEL_RATES])},\n {numbers(found[KERNEL_RATES:])}}};")
    chosen = (counts[:, :KERNEL_RATES] @ found[:KERNEL_RATES] < counts[:, KERNEL_RATES:] @ found[KERNEL_RATES:]).astype(int)
    lost = times[np.arange(len(times)), chosen] / times.min(axis=1)
    print(f"these rates choose: {shares(lost)}; {np.sum(lost > 1.3)} are outside of 30 %")
    for fit, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        half = row(fit)
        kernel, call = counts[other, :KERNEL_RATES] @ half[:KERNEL_RATES], counts[other, KERNEL_RATES:] @ half[KERNEL_RATES:]
        lost = np.where(kernel < call, times[other, 1], times[other, 0]) / times[other].min(axis=1)
        print(f"one half for the other: {shares(lost)}")


def main() -> None:
    """Does what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "again", "table", "rates"))
    parser.add_argument("results", type=Path, help="a line per product")
    parser.add_argument("--cpu", default="", help="the feature set that code is for (default: this machine's)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long to measure")
    parser.add_argument("--part", default="1/1", help="which part of the grid, of how many; processes may measure a part each at a time")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    arguments = parser.parse_args()
    {"measure": measure, "again": again, "table": table, "rates": rates}[arguments.what](arguments)


if __name__ == "__main__":
    main()
