#!/usr/bin/env python3
"""Times steps on two ranks, processes of MPI with a thread each, against one process with two threads, and prints a table.

    python ranks.py FOLDER NAME... [--build BUILD] [--work WORK] [--rounds 3] [--steps 10] [--cpu x86-64-v3] [--prepare]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. --prepare only compiles what is
timed and writes start values, into WORK; a later run takes what is there. Runs alternate; the time of a run is the median
of its steps but the first, and the ratio of a name is the median of the ratios of its rounds. `beside` is compiled for a
machine whose links leave the processors alone, so that collectives run beside other operations.
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
import mpi  # noqa: E402
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


def milliseconds(given: argparse.Namespace, name: str, way: str) -> float:
    """The median of the steps of a run."""
    run = [given.work / f"{name}.{way}.tenon", f"--inputs={given.work / f'{name}.inputs.safetensors'}", f"--steps={given.steps}"]
    alone = [given.build / "bin/tenon", "run", *run, "--threads=2"]
    ranks = [*mpi.LAUNCHER, "-n", "2", given.build / "bin/tenon", "run", *run, "--threads=1"]
    done = subprocess.run(list(map(str, alone if way == "one" else ranks)), check=True, capture_output=True, text=True)
    return float(re.search(r"time +median ([\d.]+) ms", done.stdout)[1])


def main() -> None:
    """Prints a row per name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--work", type=Path, default=Path("/tmp/tenon-ranks"))
    parser.add_argument("--cpu", default="x86-64-v3")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--prepare", action="store_true")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for name in given.names:
        prepare(given, name)
    if given.prepare:
        return
    print("| step | one process, ms | batch cut | chosen | batch cut, beside |\n|---|---:|---:|---:|---:|")
    for name in given.names:
        rounds = [{way: milliseconds(given, name, way) for way in WAYS} for _ in range(given.rounds)]
        alone = statistics.median(each["one"] for each in rounds)
        ratios = [statistics.median(each[way] / each["one"] for each in rounds) for way in WAYS[1:]]
        print(f"| {name} | {alone:.2f} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
