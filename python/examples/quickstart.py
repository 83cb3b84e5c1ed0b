"""Exports two training steps from JAX, compiles them ahead of time, trains them and compares with JAX.

    python quickstart.py --tenon build/dev/bin/tenon [--text FILE] [--steps N] [--out DIR]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from safetensors.numpy import load_file, save_file
from training_steps import TrainingStep, character_gpt, digits

DEFAULT_TEXT = Path("/usr/share/common-licenses/GPL-3")


@dataclass
class Row:
    """One line of the final table."""

    name: str
    tenon_loss: float
    jax_loss: float
    difference: float
    accuracy: float
    tenon_ms: float
    jax_ms: float
    memory: str


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree in the order JAX flattens it."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def export(work: TrainingStep, out: Path) -> Path:
    """Writes the step with locations, its start values and its batches."""
    lowered = jax.jit(work.step, donate_argnums=0).lower(work.state, *work.batches[0])
    source = out / f"{work.name}.mlir"
    source.write_text(lowered.as_text(debug_info=True))
    arrays = leaves(work.state)
    save_file({f"arg{i}": array for i, array in enumerate(arrays)}, str(out / f"{work.name}.start.safetensors"))
    columns = zip(*work.batches, strict=True)
    save_file(
        {f"arg{len(arrays) + i}": np.stack(column) for i, column in enumerate(columns)},
        str(out / f"{work.name}.batches.safetensors"),
    )
    return source


def train_with_jax(work: TrainingStep) -> tuple[list[float], float]:
    """The loss curve and the median step time in milliseconds."""
    compiled = jax.jit(work.step, donate_argnums=0).lower(work.state, *work.batches[0]).compile()
    state = jax.tree.map(lambda leaf: jax.device_put(np.array(leaf)), work.state)
    losses, times = [], []
    for x, y in work.batches:
        x, y = jax.device_put(x), jax.device_put(y)
        start = time.perf_counter()
        state, loss = compiled(state, x, y)
        jax.block_until_ready((state, loss))
        times.append(time.perf_counter() - start)
        losses.append(float(loss))
    return losses, float(np.median(times)) * 1e3


def run_tool(tool: Path, *arguments: str) -> str:
    """Runs tenon, shows its output as it comes and returns it."""
    print("$ tenon " + " ".join(arguments), flush=True)
    process = subprocess.Popen([str(tool), *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    output = ""
    for line in process.stdout:
        sys.stdout.write("  " + line)
        sys.stdout.flush()
        output += line
    if process.wait() != 0:
        sys.exit(f"tenon {arguments[0]} failed with exit code {process.returncode}")
    return output


def quickstart(work: TrainingStep, tool: Path, out: Path) -> Row:
    """Runs one step through everything."""
    print(f"\n== {work.name}: exporting, compiling, training {len(work.batches)} steps", flush=True)
    source = export(work, out)
    compiled = out / f"{work.name}.tenon"
    run_tool(tool, "compile", str(source), "-o", str(compiled))
    metrics, outputs = out / f"{work.name}.csv", out / f"{work.name}.results.safetensors"
    output = run_tool(
        tool, "run", str(compiled), "--inputs", str(out / f"{work.name}.start.safetensors"),
        "--batches", str(out / f"{work.name}.batches.safetensors"), "--steps", str(len(work.batches)),
        "--metrics", str(metrics), "--save", str(out / f"{work.name}.final.safetensors"),
        "--outputs", str(outputs),
    )  # fmt: skip
    lines = metrics.read_text().splitlines()[1:]
    losses = [float(line.split(",")[-1]) for line in lines]
    summary = dict(line.split(None, 1) for line in output.splitlines() if line.startswith(("time", "memory")))
    tenon_ms = float(summary["time"].split()[1])

    print("  the same steps with JAX ...", flush=True)
    expected, jax_ms = train_with_jax(work)
    difference = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(losses[:10], expected[:10], strict=True))

    results = load_file(str(outputs))
    treedef = jax.tree.structure(work.state)
    state = jax.tree.unflatten(treedef, [results[f"result{i}"] for i in range(treedef.num_leaves)])
    return Row(
        work.name, losses[-1], expected[-1], difference, work.accuracy(state), tenon_ms, jax_ms, summary["memory"]
    )


def main() -> None:
    """Runs both steps and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenon", type=Path, required=True, help="the tenon tool")
    parser.add_argument("--text", type=Path, default=DEFAULT_TEXT, help="what the GPT learns")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("build/quickstart"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = [
        quickstart(character_gpt(arguments.text, arguments.steps), arguments.tenon, arguments.out),
        quickstart(digits(arguments.steps), arguments.tenon, arguments.out),
    ]
    print(f"\n{'step':10} {'loss':>9} {'JAX':>9} {'apart*':>8} {'accuracy':>9} {'ms/step':>8} {'JAX':>8}  memory")
    for row in rows:
        print(
            f"{row.name:10} {row.tenon_loss:9.4f} {row.jax_loss:9.4f} {row.difference:8.1e} {row.accuracy:9.1%} "
            f"{row.tenon_ms:8.2f} {row.jax_ms:8.2f}  {row.memory}"
        )
    print("* largest relative difference of the loss over the first ten steps")
    if any(row.difference > 1e-3 for row in rows):
        sys.exit("error: the loss curves differ")


if __name__ == "__main__":
    main()
