#!/usr/bin/env python3
"""Times steps in f32 and in a lower precision against the best of JAX and PyTorch in that precision, and prints a table.

    python peers.py FOLDER PEERS NAME... [--precision bf16] [--torch-python PYTHON] [--rounds 3] [--seconds 4] [--without-peers]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. PEERS holds `bench_one.py`, called as
`PYTHON PEERS/bench_one.py jax|torch-eager|torch-compile NAME f32|bf16 SECONDS`: it runs the framework's own step, in bf16 with
parameters cast to bf16 inside the loss (JAX) or under autocast (PyTorch), and prints a line of JSON with `step_ms.median`.

All sides use two threads and take turns; a time is the median of the rounds' medians, and a ratio the median of the rounds'
ratios. With --precision f32 there is one program of ours. Temporaries are those that the compiler planned. The limit beside the
ratio of our two programs is above the median of such ratios with a confidence of 95 %, from five rounds on.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from steps import ROOT, bench, compare, median, number, peer_step, temporaries

PEERS = ("jax", "torch-eager", "torch-compile")
WARM_SECONDS = 0.2  # guesses how many steps of ours fill the time


@dataclass
class Row:
    """What was measured for one step, in milliseconds per round and bytes."""

    ours: dict[str, list[float]] = field(default_factory=dict)  # by precision
    theirs: dict[str, list[float]] = field(default_factory=dict)  # by peer
    temporaries: dict[str, int] = field(default_factory=dict)  # by precision

    def best(self, round: int) -> float | None:
        """The fastest peer of a round."""
        return min((times[round] for times in self.theirs.values()), default=None)


def measure(arguments: argparse.Namespace, name: str, scratch: Path) -> Row:
    """The row of one step."""
    info = json.loads((arguments.folder / f"{name}.json").read_text())
    source = arguments.folder / (f"{name}.loc.mlir" if compare.needs_locations(info) else f"{name}.mlir")
    inputs, machine = scratch / "inputs.safetensors", scratch / "machine.json"
    compare.tenon(arguments.build, "calibrate", "-o", str(machine))
    save_file(compare.start_values(info), str(inputs))
    row = Row()
    counts: dict[str, int] = {}
    for precision in dict.fromkeys(["f32", arguments.precision]):
        compiled = scratch / f"{precision}.tenon"
        compare.tenon(arguments.build, "compile", str(source), "-o", str(compiled), "--cpu=host", f"--precision={precision}")
        row.temporaries[precision] = temporaries(arguments.build, compiled)
        step = bench(arguments.build, compiled, inputs, 3, machine).step / 1e3
        counts[precision] = max(3, int(arguments.seconds / arguments.rounds / step))
    missing: set[str] = set()
    for _ in range(arguments.rounds):
        for precision, count in counts.items():
            step = bench(arguments.build, scratch / f"{precision}.tenon", inputs, count, machine).step
            row.ours.setdefault(precision, []).append(step)
        for peer in () if arguments.without_peers else PEERS:
            python = sys.executable if peer == "jax" else arguments.torch_python
            seconds = arguments.seconds / arguments.rounds
            found = None
            if peer not in missing:
                found = peer_step(python, arguments.peers, peer, name, seconds, arguments.precision)
            if found is None:
                missing.add(peer)
            else:
                row.theirs.setdefault(peer, []).append(found)
    for peer in missing:
        row.theirs.pop(peer, None)
    return row


def upper_limit(ratios: list[float]) -> float | None:
    """The smallest of the ratios that is above the median of all there could be with a confidence of 95 %, if one is.

    The k-th smallest of n is below the median only if at least k of them are, and each is with a chance of one half.
    """
    n = len(ratios)
    for k, ratio in enumerate(sorted(ratios), 1):
        if sum(math.comb(n, below) for below in range(k, n + 1)) <= 0.05 * 2**n:
            return ratio
    return None


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("peers", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--precision", default="bf16", help="of both sides")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="per side, over all rounds")
    parser.add_argument("--without-peers", action="store_true", help="only our two programs")
    return parser.parse_args()


def main() -> None:
    """Prints the table."""
    arguments = parse()
    precision = arguments.precision
    lowered = precision != "f32"
    titles = ["step", f"{precision} ms", *(f"{peer} ms" for peer in PEERS), "of the best peer"]
    titles += ["f32 ms", "of f32", "at most (95 %)", "temporaries of f32's"] if lowered else []
    print("| " + " | ".join(titles) + " |")
    print("|---|" + "---:|" * (len(titles) - 1))
    means: dict[str, list[float]] = {}
    for name in arguments.names:
        with tempfile.TemporaryDirectory() as scratch:
            row = measure(arguments, name, Path(scratch))
        ours, plain = row.ours[precision], row.ours["f32"]
        pairs = [(mine, row.best(round)) for round, mine in enumerate(ours)]
        against = [mine / best for mine, best in pairs if best]
        ratios = {"of the best peer": median(against) if against else None}
        cells = [number(median(ours))]
        cells += [number(median(row.theirs[peer]) if peer in row.theirs else None) for peer in PEERS]
        cells += [number(ratios["of the best peer"])]
        if lowered:
            paired = [mine / other for mine, other in zip(ours, plain, strict=True)]
            ratios["of f32"], ratios["at most (95 %)"] = median(paired), upper_limit(paired)
            ratios["temporaries of f32's"] = row.temporaries[precision] / max(row.temporaries["f32"], 1)
            cells += [number(median(plain)), *(number(ratios[title]) for title in titles[-3:])]
        for title, ratio in ratios.items():
            if ratio is not None:
                means.setdefault(title, []).append(ratio)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print()
    for title, values in means.items():
        print(f"{title}: geometric mean {np.exp(np.mean(np.log(values))):.2f}, largest {max(values):.2f}")


if __name__ == "__main__":
    main()
