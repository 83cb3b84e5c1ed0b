#!/usr/bin/env python3
"""Times steps on two ranks, processes of MPI with a thread each, against one process with two threads, and prints a table.

    python ranks.py FOLDER NAME... [--peers FOLDER [--torch-python PYTHON]] [--work WORK] [--results FILE] [--rounds 3]
                    [--seconds 2] [--ways WAY,...] [--build BUILD] [--cpu x86-64-v3] [--prepare]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. --prepare only compiles what is
timed and writes start values, into WORK; a later run takes what is there. Ways take turns; the time of a run is the median
of its steps but the first, and the ratio of a name is the median of the ratios of its rounds. `beside` is compiled for a
machine whose links leave the processors alone, so that collectives run beside other operations. With --peers the same batch
goes to two processes of PyTorch and to two devices of JAX, as rank_peers.py runs them. FILE has a line per run, and a later
command goes on where it ends.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/EndToEnd"))

import compare  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

# A core of a machine whose links leave it alone; rates are those of the built-in description.
RATES = {"one_core": 100.0, "all_cores": 100.0}
MACHINE = {
    "machine_version": 2, "name": "a core per rank", "cores": 1,
    "cache_bytes": {"level1": 1 << 15, "level2": 1 << 20, "level3": 1 << 25},
    "gflops": {"f32": RATES, "bf16": RATES, "f16": RATES},
    "gigabytes_per_second": {
        "copy": {"one_core": 36.0, "all_cores": 36.0}, "read": {"one_core": 24.0, "all_cores": 24.0},
        "cached_copy": {"one_core": 60.0, "all_cores": 60.0},
    },
    "overhead_microseconds": {"launch": 0.02, "barrier": 0.3},
    "links": [{"latency_microseconds": 5, "gigabytes_per_second": 2.5, "shared_by": 1, "hidden_share": 1}],
}  # fmt: skip
WAYS = ("one", "batch", "chosen", "beside")
PEERS = ("ddp", "ddp-compile", "jax")
LAUNCHER = ("mpirun", "--allow-run-as-root", "-n", "2")  # as many ranks as processors: each is bound to one


def batch_layouts(info: dict) -> str:
    """Each tensor of the batch is cut along its first dimension."""
    arguments = [leaf for leaf in info["args"] if leaf["in_main"]]
    cut = [(at, leaf["shape"]) for at, leaf in enumerate(arguments) if not leaf["donated"] and leaf["shape"]]
    return "".join(f"arg{at} = [data{', -' * (len(shape) - 1)}]\n" for at, shape in cut)


def prepare(given: argparse.Namespace, name: str) -> None:
    """Compiles the step in each way."""
    info = json.loads((given.folder / f"{name}.json").read_text())
    inputs = given.work / f"{name}.inputs.safetensors"
    if not inputs.exists():
        save_file({f"arg{i}": value for i, value in enumerate(compare.start_values(info).values())}, inputs)
    layouts, machine = given.work / f"{name}.layouts.txt", given.work / "machine.json"
    layouts.write_text(batch_layouts(info))
    tool = given.build / "bin/tenon"
    machine.write_text(json.dumps(MACHINE | {"feature_set": given.cpu}))
    options = {"one": [], "batch": ["--mesh=data=2", f"--sharding={layouts}"], "chosen": ["--mesh=data=2"],
               "beside": ["--mesh=data=2", f"--sharding={layouts}", f"--machine={machine}"]}  # fmt: skip
    for way in WAYS:
        file = given.work / f"{name}.{way}.tenon"
        if not file.exists():
            subprocess.run([tool, "compile", given.folder / f"{name}.mlir", *options[way], f"--cpu={given.cpu}", "-o", file], check=True)


def milliseconds(given: argparse.Namespace, name: str, way: str, steps: int) -> float:
    """The median of the steps of a run; what ranks receive is what was planned."""
    file = given.work / f"{name}.{way}.tenon"
    run = [file, f"--inputs={given.work / f'{name}.inputs.safetensors'}", f"--steps={steps}"]
    tool = given.build / "bin/tenon"
    command = [tool, "run", *run, "--threads=2"] if way == "one" else [*LAUNCHER, tool, "run", *run, "--threads=1"]
    said = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    if way != "one":
        planned = subprocess.run([tool, "inspect", file], check=True, capture_output=True, text=True).stdout
        (received,) = re.findall(r"^\d+ collectives, in which rank 0 receives (\d+) bytes$", planned, re.MULTILINE)
        assert f"received {received} bytes per step from others" in said, (received, said)
    return float(re.search(r"time +median ([\d.]+) ms", said)[1])


def measure(given: argparse.Namespace, name: str, way: str, steps: dict[str, int]) -> float:
    """Milliseconds of a step; `steps` fill the seconds."""
    if way in PEERS:
        python = sys.executable if way == "jax" else given.torch_python
        command = [python, ROOT / "test/Benchmark/rank_peers.py", way, given.peers, name, str(given.seconds)]
        said = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
        return float(json.loads(said.strip().splitlines()[-1])["step_ms"]["median"])
    if name not in steps:
        steps[name] = max(4, int(given.seconds * 1e3 / milliseconds(given, name, "one", 3)))
    return milliseconds(given, name, way, steps[name])


def table(names: list[str], rounds: dict[str, list[dict[str, float]]], ways: tuple[str, ...]) -> None:
    """Prints a row per name, and how the chosen layouts compare with the best peer."""
    peers = [way for way in PEERS if way in ways]
    ranks = {"batch": "batch cut", "chosen": "chosen", "beside": "batch cut, beside"}
    title = ["step", "one process, ms", *(ranks[way] for way in ways if way in ranks)]
    title += [f"{peer} ms" for peer in peers] + (["chosen of the best peer"] if peers else [])
    print("| " + " | ".join(title) + " |\n|---|" + "---:|" * (len(title) - 1))
    of_best = []
    for name in names:
        done = [each for each in rounds[name] if all(way in each for way in ways)]
        if not done:
            continue
        cells = [f"{statistics.median(each['one'] for each in done):.2f}"]
        cells += [f"{statistics.median(each[way] / each['one'] for each in done):.3f}" for way in ways if way in ranks]
        cells += [f"{statistics.median(each[peer] for each in done):.2f}" for peer in peers]
        if peers:
            of_best.append(statistics.median(each["chosen"] / min(each[peer] for peer in peers) for each in done))
            cells.append(f"{of_best[-1]:.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if of_best:
        print(f"\nOf the best peer: geometric mean {statistics.geometric_mean(of_best):.3f}, largest {max(of_best):.3f}.")


def main() -> None:
    """Measures what FILE does not have, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--peers", type=Path, help="holds torch_models.py, the twins of the steps in PyTorch")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--work", type=Path, default=Path("/tmp/tenon-ranks"))
    parser.add_argument("--results", type=Path)
    parser.add_argument("--cpu", default="x86-64-v3")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="of steps in a run")
    parser.add_argument("--ways", help="only these columns, `one` and `chosen` among them")
    parser.add_argument("--prepare", action="store_true")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for name in given.names:
        prepare(given, name)
    if given.prepare:
        return
    ways = tuple(given.ways.split(",")) if given.ways else WAYS + (PEERS if given.peers else ())
    rounds: dict[str, list[dict[str, float]]] = {name: [{} for _ in range(given.rounds)] for name in given.names}
    lines = given.results.read_text().splitlines() if given.results and given.results.exists() else []
    for name, number, way, time in map(json.loads, lines):
        if name in rounds and number < given.rounds:
            rounds[name][number][way] = time
    steps: dict[str, int] = {}
    for number in range(given.rounds):
        for name in given.names:
            for way in ways:
                if way in rounds[name][number]:
                    continue
                rounds[name][number][way] = measure(given, name, way, steps)
                if given.results:
                    with given.results.open("a") as file:
                        file.write(json.dumps([name, number, way, rounds[name][number][way]]) + "\n")
    table(given.names, rounds, ways)


if __name__ == "__main__":
    main()
