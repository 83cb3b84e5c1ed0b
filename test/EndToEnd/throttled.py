"""Steps that read their batches from a file that gives only so many bytes per second, as a disk or a network does.

python test/EndToEnd/throttled.py prints how much of the time steps of 5 ms wait for batches of 1 MiB at several rates.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

STEPS = 100
BUILD = Path(os.environ.get("TENON_BUILD", Path(__file__).resolve().parents[2] / "build/dev"))


def dots(count: int) -> str:
    """A step of products of 512 x 512, whose batch is 1 MiB."""
    square = "tensor<512x512xf32>"
    lines, last = [], "%x"
    for i in range(count):
        lines.append(f"%h{i} = stablehlo.dot_general {last}, %w, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}")
        last = f"%h{i}"
    body = "\n    ".join(lines)
    return f"""module @step {{
  func.func public @main(%w: {square} {{tf.aliasing_output = 0 : i32}} loc("w"), %x: {square} loc("x"))
      -> ({square} {{jax.result_info = "result['w']"}}) {{
    {body}
    %half = stablehlo.constant dense<5.000000e-01> : {square}
    %new = stablehlo.multiply {last}, %half : {square}
    return %new : {square}
  }}
}}
"""


def waited(program: Path, data: Path, rate: float) -> tuple[float, float]:
    """The median milliseconds of a step on one thread, and the % of the time that steps waited, where the file gives `rate` bytes/s."""
    command = [BUILD / "bin/tenon", "run", program, "--zero-state", f"--batches={data}", f"--steps={STEPS}", "--threads=1"]
    environment = {**os.environ, "LD_PRELOAD": str(BUILD / "lib/TenonThrottledReads.so"), "TENON_THROTTLE_FILE": str(data)}
    process = subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True, env={**environment, "TENON_THROTTLE_RATE": str(rate)}
    )
    median = re.search(r"median ([\d.]+) ms", process.stdout)
    share = re.search(r"steps waited ([\d.]+) % of the time for batches", process.stdout)
    assert median and share, process
    return float(median[1]), float(share[1])


def main() -> None:
    """The table of docs/Benchmarks/Data.md."""
    with tempfile.TemporaryDirectory(prefix="tenon-data-") as scratch:
        folder, count, median = Path(scratch), 1, 0.0
        data = folder / "data.safetensors"
        save_file({"x": np.zeros((8, 512, 512), np.float32)}, data)
        while median < 5:
            (folder / "step.mlir").write_text(dots(count))
            command = [BUILD / "bin/tenon", "compile", folder / "step.mlir", "-o", folder / "step.tenon"]
            subprocess.run(command, check=True, capture_output=True)
            median, _ = waited(folder / "step.tenon", data, 1e12)
            count += 1
        print("| MB/s | median ms per step | waited, % of the time: least, median and most of 9 runs |\n|---:|---:|---:|")
        for rate in (2000, 1000, 500, 250, 125):
            runs = sorted((waited(folder / "step.tenon", data, rate * 1e6) for _ in range(9)), key=lambda run: run[1])
            print(f"| {rate} | {runs[4][0]:.2f} | {runs[0][1]:.2f} {runs[4][1]:.2f} {runs[8][1]:.2f} |")


if __name__ == "__main__":
    main()
