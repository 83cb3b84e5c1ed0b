#!/usr/bin/env python3
"""Times compiled training steps against JAX's executable of the same text, alternating, and prints a table.

    python steps.py FOLDER NAME... [--build BUILD] [--rounds 3] [--seconds 4 | --full] [--peers FOLDER [--torch-python PYTHON]]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. Both sides use two threads and
arguments that stay where they are (JAX: donated device arrays, blocked until ready). A step time is the median of
the rounds' medians; --full takes at least 50 steps or 20 s per side. JAX's compile time is XLA's compile of the parsed
text alone, without tracing and lowering.

Every row has its multiple of the floor that `tenon bench` measures in the same run, and the share of time in kernels
without fast code. Where the multiple is above 2.0 the dearest kernels are named under the table. With --peers,
PyTorch's eager and compiled steps are printed beside where it is installed and a twin of the step exists:
`PYTHON FOLDER/bench_one.py torch-eager|torch-compile NAME f32 SECONDS` prints a line of JSON with `step_ms.median`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/EndToEnd"))

import compare  # noqa: E402
import jax  # noqa: E402
import jaxlib._jax as _jax  # noqa: E402
import numpy as np  # noqa: E402
from jax._src import xla_bridge  # noqa: E402
from jax._src.interpreters import mlir as jax_mlir  # noqa: E402
from jaxlib import xla_client  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402


class JaxStep:
    """JAX's executable of a text, its state fed back."""

    def __init__(self, text: str, values: list[np.ndarray], successors: list[tuple[int, int]]) -> None:
        """`successors` pairs an argument with the result that replaces it."""
        backend = xla_bridge.get_backend("cpu")
        start = time.perf_counter()
        with jax_mlir.make_ir_context():
            module = ir.Module.parse(text)
            devices = _jax.DeviceList(tuple(backend.local_devices()[:1]))
            self.executable = backend.compile_and_load(module, devices, xla_client.CompileOptions())
        self.compile_seconds = time.perf_counter() - start
        self.arguments = [jax.device_put(value) for value in values]
        self.successors = successors
        stats = self.executable.get_compiled_memory_stats()
        self.temporary_bytes = stats.temp_size_in_bytes

    def step(self) -> float:
        """Seconds of one step."""
        start = time.perf_counter()
        results = self.executable.execute_sharded(self.arguments).disassemble_into_single_device_arrays()
        results = [result[0] for result in results]
        jax.block_until_ready(results)
        seconds = time.perf_counter() - start
        for argument, result in self.successors:
            self.arguments[argument] = results[result]
        return seconds


def successors(info: dict) -> list[tuple[int, int]]:
    """The arguments of @main that are state, each with its result: state leaves come first among the results."""
    arguments = [leaf["path"] for leaf in info["args"] if leaf["in_main"]]
    state = [leaf["path"] for leaf in info["args"] if leaf["donated"]]
    return [(arguments.index(path), result) for result, path in enumerate(state) if path in arguments]


def median(values: list[float]) -> float:
    """The middle value."""
    return float(np.median(values))


@dataclass
class Measured:
    """What one call of `tenon bench` printed, in milliseconds."""

    step: float
    floor: float | None


def bench(build: Path, compiled: Path, inputs: Path, steps: int, machine: Path | None = None) -> Measured:
    """The median step and the floor that `tenon bench` prints, which measures the machine first if nobody has."""
    rates = ["--machine", str(machine)] if machine else []
    output = compare.tenon(build, "bench", str(compiled), "--inputs", str(inputs), "--steps", str(steps), "--threads", "2", *rates)
    step = re.search(r"median ([\d.]+) ms", output)
    floor = re.search(r"^floor +([\d.]+) ms", output, re.MULTILINE)
    assert step, output
    return Measured(float(step.group(1)), float(floor.group(1)) if floor else None)


@dataclass
class Kernels:
    """The dearest kernels of a step, each with its milliseconds, and the share without fast code in percent."""

    dearest: list[str]
    fallback: float


def kernels(build: Path, compiled: Path, inputs: Path, steps: int) -> Kernels:
    """What `tenon bench --kernels` prints."""
    output = compare.tenon(
        build, "bench", str(compiled), "--kernels", "--inputs", str(inputs), "--steps", str(steps), "--threads", "2",
        "--rows", "5",
    )  # fmt: skip
    share = re.search(r"fallback ([\d.]+)%", output)
    assert share, output
    lines = re.findall(r"^ *([\d.]+) +[\d.]+% +(\d+)  \S+ +(.+)$", output, re.MULTILINE)
    return Kernels([f"{what}, {runs} runs, {ms} ms" for ms, runs, what in lines], float(share.group(1)))


def peer_step(python: str, peers: Path, peer: str, name: str, seconds: float, precision: str = "f32") -> float | None:
    """A framework's step in milliseconds; nothing if the framework or a twin of the step is missing."""
    process = subprocess.run(
        [python, str(peers / "bench_one.py"), peer, name, precision, str(seconds)],
        capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="2", PYTHONWARNINGS="ignore"),
    )  # fmt: skip
    lines = process.stdout.strip().splitlines()
    if process.returncode != 0 or not lines:
        return None
    return float(json.loads(lines[-1])["step_ms"]["median"])


def temporaries(build: Path, compiled: Path) -> int:
    """Planned bytes of temporaries."""
    output = compare.tenon(build, "inspect", str(compiled))
    found = re.search(r"^temporaries +(\d+)", output, re.MULTILINE)
    assert found, output
    return int(found.group(1))


@dataclass
class Options:
    """How long and against whom."""

    build: Path
    rounds: int
    steps: int  # per side, over all rounds, unless the seconds are over before
    seconds: float
    peers: Path | None
    torch_python: str

    def count(self, step_seconds: float) -> int:
        """Steps in a round."""
        return max(3, math.ceil(min(self.steps, self.seconds / step_seconds) / self.rounds))


@dataclass
class Row:
    """Everything measured for one step."""

    ours: float
    theirs: float
    floor: float | None
    kernels: Kernels
    compile: float
    jax_compile: float
    temporaries: float
    jax_temporaries: float
    torch: dict[str, list[float]] = field(default_factory=dict)

    @property
    def multiple(self) -> float | None:
        """Of the floor."""
        return self.ours / self.floor if self.floor else None


def number(value: float | None) -> str:
    """For the table."""
    return "-" if value is None else f"{value:.2f}"


PEERS = ("torch-eager", "torch-compile")


def measure(folder: Path, name: str, options: Options, scratch: Path) -> Row:
    """The row of one step."""
    info = json.loads((folder / f"{name}.json").read_text())
    text = compare.model_text(folder, name)
    values = compare.start_values(info)
    reference = JaxStep(text, list(values.values()), successors(info))
    inputs, compiled = scratch / "inputs.safetensors", scratch / "step.tenon"
    save_file(values, str(inputs))
    source = folder / (f"{name}.loc.mlir" if compare.needs_locations(info) else f"{name}.mlir")
    start = time.perf_counter()
    compare.tenon(options.build, "compile", str(source), "-o", str(compiled))
    compile_seconds = time.perf_counter() - start
    ours: list[Measured] = []
    theirs: list[float] = []
    torch: dict[str, list[float]] = {}
    reference.step()
    for _ in range(options.rounds):
        count = options.count(reference.step())
        theirs.append(median([reference.step() for _ in range(count)]) * 1e3)
        ours.append(bench(options.build, compiled, inputs, count))
        for peer in PEERS if options.peers else ():
            step = peer_step(options.torch_python, options.peers, peer, name, options.seconds / options.rounds)
            if step is not None:
                torch.setdefault(peer, []).append(step)
    floors = [measured.floor for measured in ours if measured.floor]
    return Row(
        ours=median([measured.step for measured in ours]),
        theirs=median(theirs),
        floor=median(floors) if floors else None,
        kernels=kernels(options.build, compiled, inputs, max(3, options.count(ours[0].step / 1e3) // 2)),
        compile=compile_seconds,
        jax_compile=reference.compile_seconds,
        temporaries=temporaries(options.build, compiled) / 2**20,
        jax_temporaries=reference.temporary_bytes / 2**20,
        torch=torch,
    )


def parse() -> tuple[argparse.Namespace, Options]:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="per side, over all rounds")
    parser.add_argument("--full", action="store_true", help="at least 50 steps or 20 seconds per side")
    parser.add_argument("--peers", type=Path, help="folder of bench_one.py, which runs PyTorch's twins of the steps")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python that has PyTorch")
    arguments = parser.parse_args()
    steps, seconds = (50, 20.0) if arguments.full else (600, arguments.seconds)
    return arguments, Options(arguments.build, arguments.rounds, steps, seconds, arguments.peers, arguments.torch_python)


NAMED_MULTIPLE = 2.0


def main() -> None:
    """Prints the table."""
    arguments, options = parse()
    titles = ["step", "Tenon ms", "JAX ms", "ratio", "x floor", "fallback %", "compile s", "XLA compile s"]
    titles += ["temporaries MiB", "XLA MiB", "ratio"]
    titles += [f"{peer} ms" for peer in PEERS] if options.peers else []
    print("| " + " | ".join(titles) + " |")
    print("|---|" + "---:|" * (len(titles) - 1))
    ratios: dict[str, list[float]] = {"20 ms or more": [], "less than 20 ms": []}
    memory: list[float] = []
    named: list[str] = []
    for name in arguments.names:
        with tempfile.TemporaryDirectory() as scratch:
            row = measure(arguments.folder, name, options, Path(scratch))
        ratio, share = row.ours / row.theirs, row.temporaries / max(row.jax_temporaries, 1e-9)
        ratios["20 ms or more" if row.theirs >= 20 else "less than 20 ms"].append(ratio)
        memory.append(share)
        cells = [number(value) for value in (row.ours, row.theirs, ratio, row.multiple, row.kernels.fallback)]
        cells += [number(row.compile), number(row.jax_compile)]
        cells += [f"{row.temporaries:.1f}", f"{row.jax_temporaries:.1f}", number(share)]
        if options.peers:
            cells += [number(median(row.torch[peer]) if peer in row.torch else None) for peer in PEERS]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        if row.multiple and row.multiple > NAMED_MULTIPLE:
            named += [f"- {name}, {row.multiple:.2f} times the floor:"] + [f"  - {k}" for k in row.kernels.dearest]
    if named:
        print(f"\nSteps above {NAMED_MULTIPLE} times the floor, with their dearest kernels:\n")
        print("\n".join(named))
    print()
    for what, values in ratios.items():
        if values:
            mean = np.exp(np.mean(np.log(values)))
            print(f"JAX {what}: geometric mean of the ratios {mean:.2f}, largest {max(values):.2f} ({len(values)} steps)")
    print(f"temporaries: geometric mean of the ratios {np.exp(np.mean(np.log(memory))):.2f}")


if __name__ == "__main__":
    main()
