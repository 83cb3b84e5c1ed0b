"""Prints one table for all solvers, and writes it into docs/Benchmarks/Solvers.md.

    python solvers.py --build build/dev [--instances DIR] [--peer DIR/minimalloc] [--results FILE] [--write]

DIR holds `offset-packing/NAME.CAPACITY.csv` and `recompute/NAME.recompute`; without it only generated problems are
solved. Each row: instance, the peer's result and time, ours, our bound, the gap between the two, and the ratio of the
times. Every solution is checked. A peer that is a program runs on one thread in turn with ours, best of `--runs`
wall times of the whole process; on changed copies of its instances it is stopped after 20 times our time (at least
1 s, at most 60 s; 10 s where we find no plan), which gives `>` a ratio instead of one. About eight minutes on two idle
cores.

With `--results FILE` every row is kept there as soon as it is measured, and a run that was ended goes on from it;
`--again PREFIX` measures the rows of that prefix anew (`--again packing`), but keeps what the peer took: such rows say
`kept`. A file of another machine is refused. `--only PREFIX` measures these rows alone.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import platform
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import packing_instances
import training_graphs

PAGE = Path(__file__).resolve().parents[3] / "docs/Benchmarks/Solvers.md"
BEGIN, END = "<!-- table of test/Benchmark/solvers/solvers.py -->", "<!-- end of the table -->"

# Costs of the best plans of a commercial solver with 12 threads in 24 hours, by GiB; -1: infeasible.
BEST_KNOWN = {
    "unet-b11": {5: 209265, 6: 199613, 7: 196567, 8: 194811, 9: 193700, 10: 192809},
    "vgg16-b176": {5: -1, 6: -1, 7: -1, 8: 255828, 9: 251383, 10: 250600},
}
# Smallest arenas that were known for the instances that are open.
BEST_ARENAS = {"D": 1_030_144, "J": 1_035_264}
# Layers, width, edge probability, decay, seed.
LAYERED = ["10 10 0.03 1.0 101", "10 10 0.03 1.0 102", "20 5 0.03 1.0 101", "16 16 0.02 1.0 101",
           "25 10 0.02 0.9 101", "25 8 0.10 0.3 101", "25 8 0.10 0.3 102", "10 10 0.07 0.5 101",
           "10 10 0.07 0.5 102", "100 10 0.05 0.5 101"]  # fmt: skip
FRONTIERS = ["residual 8", "residual 16", "inception 8", "inception 16", "transformer 40", "transformer 416",
             "transformer 4166"]  # fmt: skip


@dataclass
class Row:
    instance: str
    peer: str = ""
    peer_seconds: str = ""
    ours: str = ""
    seconds: float = 0
    bound: str = ""
    gap: str = ""
    ratio: str = ""

    def __str__(self) -> str:
        return (
            f"| {self.instance} | {self.peer} | {self.peer_seconds} | {self.ours} | {self.seconds:.3f} "
            f"| {self.bound} | {self.gap} | {self.ratio} |"
        )


# Its name, and how it is measured.
Job = tuple[str, Callable[[], Row]]


def percent(ours: int, bound: int) -> str:
    return f"{100 * (ours - bound) / max(1, bound):.3f} %"


def ordering_result(cell: str) -> tuple[str, str]:
    """The gap, and what is said of the order; OrderingBenchmark puts what the search has shown behind the gap."""
    gap, _, proof = cell.partition(" %")
    if "smallest" in proof:
        proof = " (searched: none is smaller)"
    elif "searched" in proof:
        proof = f" (searched: none is below + {float(proof.split()[-1]):.2f} %)"
    return f"{gap} %", f"bound + {gap} %{proof}"


class Results:
    """Rows and times of the peer, by instance; one JSON object per line of the file, the last of a name counts."""

    def __init__(self, path: Path | None, again: list[str]) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        self.peers: dict[str, tuple[float, bool]] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        for entry in map(json.loads, lines):
            if entry["kind"] == "machine" and entry["name"] != machine():
                raise RuntimeError(f"{path} was measured on another machine: {entry['name']}")
            if entry["kind"] == "peer":
                self.peers[entry["name"]] = (entry["seconds"], entry["found"])
            if entry["kind"] == "row" and not any(entry["name"].startswith(prefix) for prefix in again):
                self.rows[entry["name"]] = Row(**entry["row"])
        if path and not lines:
            self.append({"kind": "machine", "name": machine()})

    def append(self, entry: dict[str, object]) -> None:
        if self.path:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")

    def row(self, name: str, measure: Callable[[], Row]) -> Row:
        if name not in self.rows:
            self.rows[name] = measure()
            self.append({"kind": "row", "name": name, "row": asdict(self.rows[name])})
        return self.rows[name]

    def peer(self, name: str, limit: float, measure: Callable[[], tuple[float, bool]]) -> tuple[float, bool, bool]:
        """Its seconds, whether it found a plan, and whether both were known before."""
        if name in self.peers and (self.peers[name][1] or self.peers[name][0] >= limit):
            return min(self.peers[name][0], limit), self.peers[name][1] and self.peers[name][0] <= limit, True
        self.peers[name] = measure()
        seconds, found = self.peers[name]
        self.append({"kind": "peer", "name": name, "seconds": seconds, "found": found})
        return seconds, found, False


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: Path, results: Results) -> None:
        self.arguments, self.folder, self.results = arguments, folder, results
        self.programs = arguments.build.resolve() / "bin"
        self.problem, self.plan, self.claims = folder / "problem", folder / "plan", folder / "claims"

    def solve(self, command: list[str], runs: int) -> tuple[float, dict[str, object], int]:
        """Wall seconds, the report, and the most KiB that any run so far has used; the solution is checked."""
        best = math.inf
        for _ in range(runs):
            start = time.perf_counter()
            done = subprocess.run(
                [str(self.programs / "tenon-solve"), *command, "-o", str(self.plan), "--json"],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            best = min(best, time.perf_counter() - start)
        if done.returncode not in (0, 3):
            raise RuntimeError(done.stderr)
        packing = command[0] == "offset-packing"
        if done.returncode == 0 or not packing:
            check = ["check", command[1], str(self.plan), *([str(self.claims)] if packing else [])]
            subprocess.run([str(self.programs / "tenon-solve"), *check], check=True, stdout=subprocess.DEVNULL)
        return best, json.loads(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss

    def pack(self, problem: Path, capacity: int | None, runs: int) -> tuple[float, dict[str, object], int]:
        limit = [] if capacity is None else [f"--capacity={capacity}"]
        return self.solve(["offset-packing", str(problem), f"--claims={self.claims}", *limit], runs)

    def run_peer(self, problem: Path, capacity: int, runs: int, limit: float) -> tuple[float, bool]:
        command = [self.arguments.peer, f"--capacity={capacity}", f"--input={problem}",
                   f"--output={self.folder / 'peer.csv'}", f"--timeout={math.ceil(limit)}s"]  # fmt: skip
        best = math.inf
        for _ in range(runs):
            start = time.perf_counter()
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if done.returncode != 0:
                return limit, False
            best = min(best, time.perf_counter() - start)
        return best, True

    def against_peer(self, name: str, copy: list[packing_instances.Buffer], capacity: int, original: bool) -> Row:
        packing_instances.write(self.problem, copy)
        runs = self.arguments.runs
        seconds, report, _ = self.pack(self.problem, capacity, runs)
        found = report["status"] == "solved"
        limit = 60.0 if original else min(60.0, max(1.0, 20 * seconds)) if found else 10.0
        peer, peer_found, kept = self.results.peer(
            name, limit, lambda: self.run_peer(self.problem, capacity, runs if original else 1, limit)
        )
        ratio, more = peer / (seconds if found else 60.0), "" if peer_found else ">"
        return Row(
            name, "fits" if peer_found else "time-out", f"{more}{peer:.2f}{' kept' if kept else ''}",
            "fits" if found else "no plan", seconds, str(report["bound"]), "", f"{more if found else ''}{ratio:.1f}",
        )  # fmt: skip

    def packing_peers(self) -> Iterator[Job]:
        for kind in ("original", "mirrored", "cut"):
            for path in sorted((self.arguments.instances / "offset-packing").glob("?.*.csv")):
                capacity, buffers = int(path.name.split(".")[1]), packing_instances.read(path)
                copies = {kind: packing_instances.mirror(buffers) if kind == "mirrored" else buffers}
                if kind == "cut":
                    copies = {f"cut {seed}": packing_instances.cut(buffers, seed) for seed in range(1, 6)}
                for label, copy in copies.items():
                    name = f"packing {path.name[0]} {label}, {len(copy)} buffers"
                    yield name, functools.partial(self.against_peer, name, copy, capacity, kind == "original")

    def smallest_arena(self, name: str, path: Path) -> Row:
        seconds, report, _ = self.pack(path, None, 1)
        arena, bound = int(str(report["arena"])), int(str(report["bound"]))
        known = BEST_ARENAS.get(path.name[0], "")
        return Row(name, f"{known}", "", f"{arena}", seconds, f"{bound}", percent(arena, bound))

    def smallest_arenas(self) -> Iterator[Job]:
        for path in sorted((self.arguments.instances / "offset-packing").glob("?.*.csv")):
            name = f"smallest arena {path.name[0]}"
            yield name, functools.partial(self.smallest_arena, name, path)

    def pack_graph(self, name: str, kind: str, size: int, seed: int, half: str) -> Row:
        with self.problem.open("w", encoding="ascii") as stream:
            training_graphs.generate(kind, size, seed).write(stream)
        seconds, report, kib = self.pack(self.problem, None, 1 if size < 15_625 else self.arguments.runs)
        arena, bound = int(str(report["arena"])), int(str(report["bound"]))
        last = self.results.rows[half].seconds if half in self.results.rows else 0
        times = f"{seconds / last:.2f} times the half, {kib // 1024} MiB" if last else ""
        return Row(name, "", "", f"{arena}", seconds, f"{bound}", percent(arena, bound), times)

    def packing_graphs(self) -> Iterator[Job]:
        graphs = [(kind, size, seed) for kind in sorted(training_graphs.KINDS)
                  for size, seeds in ((1_000, 3), (10_000, 3), (100_000, 1)) for seed in range(1, seeds + 1)]  # fmt: skip
        graphs += [("transformer", 15_625 * 2**i, 1) for i in range(7)]
        for kind, size, seed in graphs:
            name, half = (f"packing {kind}, {s} buffers, seed {seed}" for s in (size, size // 2))
            yield name, functools.partial(self.pack_graph, name, kind, size, seed, half)

    @functools.cache  # noqa: B019
    def text_of(self, program: str, *arguments: str) -> str:
        return subprocess.run([str(self.programs / program), *arguments], check=True, capture_output=True, text=True).stdout

    def ordering_table(self) -> dict[str, Row]:
        lines = [line for line in self.text_of("OrderingBenchmark", "table", "201", "203").splitlines() if line.startswith("| ")]
        rows = {}
        for line in lines[1:]:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            peers = [float(cell.removesuffix(" %")) for cell in cells[4:-4]]
            gap, result = ordering_result(cells[-4])
            name = f"ordering {cells[0]}, {cells[1]}, {cells[2]} operations"
            rows[name] = Row(name, f"bound + {min(peers):.2f} %", "", result, float(cells[-1]), cells[-2], gap)
        for line in self.text_of("OrderingBenchmark", "scale", "100000").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            gap, result = ordering_result(cells[3])
            name = f"ordering {cells[0]}, {cells[1]}"
            rows[name] = Row(name, "", "", result, float(cells[2].split()[0]), "", gap)
        return rows

    def orderings(self) -> Iterator[Job]:
        # Both programs write all their lines at once: names are known when they have run, or from the results.
        kept = [name for name in self.results.rows if name.startswith("ordering ")]
        for name in kept or self.ordering_table():
            yield name, lambda name=name: self.ordering_table()[name]

    def recompute(self, name: str, problem: Path, budget: int, known: int) -> Row:
        seconds, report, _ = self.solve(["recompute", str(problem), f"--budget={budget}"], 1)
        infeasible = report["status"] == "infeasible"
        ours, bound = int(str(report.get("cost", 0))), int(str(report.get("bound", 0)))
        return Row(
            name, "infeasible" if known < 0 else f"{known}", "24 h", "infeasible (proved)" if infeasible else f"{ours}",
            seconds, "" if infeasible else f"{bound}", "" if infeasible else percent(ours, bound),
        )  # fmt: skip

    def layered(self, name: str, shape: str, share: int) -> Row:
        for line in self.text_of("RecomputeBenchmark", "share", *shape.split()).splitlines():
            found = re.match(r"layered .* at (\d+) %.*: ([\d.]+) s, (?:gap ([\d.]+) %|(no plan))", line)
            if not found:
                raise RuntimeError(line)
            if int(found[1]) == share:
                return Row(name, "", "", "plan" if found[3] else "no plan", float(found[2]), "", f"{found[3]} %" if found[3] else "")
        raise RuntimeError(f"no line for {share} %")

    def frontier(self, name: str, kind: str) -> Row:
        line = self.text_of("RecomputeBenchmark", "frontier", *kind.split(), "20").strip()
        found = re.match(r".*: (\d+) nodes, 20 budgets, ([\d.]+) s, (\d+) KiB, gap median ([\d.]+) %.* at most ([\d.]+) %", line)
        if not found:
            raise RuntimeError(line)
        gap = f"median {found[4]} %, from 30 % of the peak {found[5]} %"
        nodes = int(found[1])
        # On small graphs the process itself is most of the memory.
        memory = f"{int(found[3]) / nodes:.2f} KiB per node" if nodes >= 50_000 else ""
        return Row(f"{name}, {nodes} nodes, 20 budgets", "", "", "plans", float(found[2]), "", gap, memory)

    def recomputations(self) -> Iterator[Job]:
        for name, budgets in BEST_KNOWN.items() if self.arguments.instances else ():
            problem = self.arguments.instances / "recompute" / f"{name}.recompute"
            fixed = int(re.search(r"^fixed-memory (\d+)", problem.read_text(encoding="ascii"), re.MULTILINE)[1])  # type: ignore[index]
            for gib, known in budgets.items():
                label = f"recompute {name}, {gib} GiB"
                yield label, functools.partial(self.recompute, label, problem, gib * 2**20 - fixed, known)
        for shape in LAYERED:
            layers, width, p, decay, seed = shape.split()
            for share in (90, 80):
                name = f"recompute layered {layers} x {width} p {p} decay {float(decay):.2f} seed {seed} at {share} % of the peak"
                yield name, functools.partial(self.layered, name, shape, share)
        for kind in FRONTIERS:
            yield f"recompute {kind}", functools.partial(self.frontier, f"recompute {kind}", kind)

    def rows(self) -> Iterator[Row]:
        jobs: list[Callable[[], Iterator[Job]]] = [self.packing_graphs, self.orderings, self.recomputations]
        if self.arguments.instances:
            jobs.insert(0, self.smallest_arenas)
        if self.arguments.instances and self.arguments.peer:
            jobs.insert(0, self.packing_peers)
        for name, measure in (job for part in jobs for job in part()):
            if self.arguments.only is None or name.startswith(self.arguments.only):
                yield self.results.row(name, measure)


def sums(rows: list[Row]) -> Iterator[str]:
    for kind in ("original", "mirrored", "cut"):
        ratios = [float(row.ratio.removeprefix(">")) for row in rows if re.match(rf"packing . {kind}", row.instance)]
        if not ratios:
            continue
        mean, low = math.exp(sum(map(math.log, ratios)) / len(ratios)), sum(ratio < 10 for ratio in ratios)
        yield (f"Packing, {kind}: geometric mean of the ratios {mean:.0f}, smallest {min(ratios):.1f}, "
               f"below 10 on {low} of {len(ratios)}.")  # fmt: skip


def machine() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="ascii"), re.MULTILINE)
    return f"{names[0] if names else platform.machine()}, {len(names)} cores, {platform.platform()}; one thread"


def main() -> None:
    parser = argparse.ArgumentParser(description="One table for all solvers.")
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build folder")
    parser.add_argument("--instances", type=Path, help="folder of the shared instances")
    parser.add_argument("--peer", type=Path, help="the minimalloc program")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--results", type=Path, help="keep every row here; go on from what is there")
    parser.add_argument("--again", action="append", default=[], metavar="PREFIX", help="measure these rows anew")
    parser.add_argument("--only", metavar="PREFIX", help="these rows alone")
    arguments = parser.parse_args()
    results = Results(arguments.results, arguments.again)
    lines = [machine(), "", "| instance | peer | peer s | ours | ours s | bound | gap | ratio |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as name:
        rows = []
        for row in Bench(arguments, Path(name), results).rows():
            rows.append(row)
            print(row, flush=True)
    lines += [*map(str, rows), "", *sums(rows)]
    print("\n".join(lines[-len(list(sums(rows))) or len(lines) :]))
    if arguments.write:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
