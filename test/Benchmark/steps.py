#!/usr/bin/env python3
"""Times compiled training steps against JAX's executable of the same text, alternating, and prints a table.

    python steps.py FOLDER NAME... [--build BUILD] [--rounds 3] [--seconds 4]

FOLDER holds NAME.mlir and NAME.json as test/EndToEnd/models/generate.py writes them. Both sides use two threads and
arguments that stay where they are (JAX: donated device arrays, blocked until ready). A step time is the median of
the rounds' medians. JAX's compile time is XLA's compile of the parsed text alone, without tracing and lowering.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
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

    def __init__(self, text: str, values: list[np.ndarray], donated: int) -> None:
        backend = xla_bridge.get_backend("cpu")
        start = time.perf_counter()
        with jax_mlir.make_ir_context():
            module = ir.Module.parse(text)
            devices = _jax.DeviceList(tuple(backend.local_devices()[:1]))
            self.executable = backend.compile_and_load(module, devices, xla_client.CompileOptions())
        self.compile_seconds = time.perf_counter() - start
        self.arguments = [jax.device_put(value) for value in values]
        self.donated = donated
        stats = self.executable.get_compiled_memory_stats()
        self.temporary_bytes = stats.temp_size_in_bytes

    def step(self) -> float:
        """Seconds of one step."""
        start = time.perf_counter()
        results = self.executable.execute_sharded(self.arguments).disassemble_into_single_device_arrays()
        results = [result[0] for result in results]
        jax.block_until_ready(results)
        seconds = time.perf_counter() - start
        self.arguments[: self.donated] = results[: self.donated]
        return seconds


def median(values: list[float]) -> float:
    """The middle value."""
    return float(np.median(values))


def bench(build: Path, compiled: Path, inputs: Path, steps: int) -> float:
    """The median step time in milliseconds that `tenon bench` prints."""
    output = compare.tenon(build, "bench", str(compiled), "--inputs", str(inputs), "--steps", str(steps), "--threads", "2")
    found = re.search(r"median ([\d.]+) ms", output)
    assert found, output
    return float(found.group(1))


def temporaries(build: Path, compiled: Path) -> int:
    """Planned bytes of temporaries."""
    output = compare.tenon(build, "inspect", str(compiled))
    found = re.search(r"^temporaries +(\d+)", output, re.MULTILINE)
    assert found, output
    return int(found.group(1))


def row(build: Path, folder: Path, name: str, rounds: int, seconds: float, scratch: Path) -> dict[str, float]:
    """Everything measured for one step."""
    info = json.loads((folder / f"{name}.json").read_text())
    text = compare.model_text(folder, name)
    values = compare.start_values(info)
    reference = JaxStep(text, list(values.values()), sum(leaf["donated"] and leaf["in_main"] for leaf in info["args"]))
    inputs, compiled = scratch / "inputs.safetensors", scratch / "step.tenon"
    save_file(values, str(inputs))
    start = time.perf_counter()
    compare.tenon(build, "compile", str(folder / f"{name}.mlir"), "-o", str(compiled))
    compile_seconds = time.perf_counter() - start
    ours: list[float] = []
    theirs: list[float] = []
    reference.step()
    for _ in range(rounds):
        first = reference.step()
        count = max(3, min(200, int(seconds / first)))
        theirs.append(median([reference.step() for _ in range(count)]) * 1e3)
        ours.append(bench(build, compiled, inputs, count))
    return {
        "ours": median(ours),
        "theirs": median(theirs),
        "compile": compile_seconds,
        "jax_compile": reference.compile_seconds,
        "temporaries": temporaries(build, compiled) / 2**20,
        "jax_temporaries": reference.temporary_bytes / 2**20,
    }


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    print("| step | Tenon ms | JAX ms | ratio | compile s | XLA compile s | temporaries MiB | XLA MiB | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    ratios, memory = [], []
    for name in arguments.names:
        with tempfile.TemporaryDirectory() as scratch:
            r = row(arguments.build, arguments.folder, name, arguments.rounds, arguments.seconds, Path(scratch))
        ratios.append(r["ours"] / r["theirs"])
        memory.append(r["temporaries"] / r["jax_temporaries"])
        print(
            f"| {name} | {r['ours']:.2f} | {r['theirs']:.2f} | {ratios[-1]:.2f} | {r['compile']:.2f} | {r['jax_compile']:.2f} "
            f"| {r['temporaries']:.1f} | {r['jax_temporaries']:.1f} | {memory[-1]:.2f} |",
            flush=True,
        )
    print(f"\ngeometric means: time {np.exp(np.mean(np.log(ratios))):.2f}, temporaries {np.exp(np.mean(np.log(memory))):.2f}")


if __name__ == "__main__":
    main()
