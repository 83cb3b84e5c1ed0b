#!/usr/bin/env python3
"""Compares the gradients of steps in bf16 with exact ones, and with those of JAX in bf16; prints a table.

    python errors.py RESULTS.jsonl NAME... [--build BUILD] [--small] [--batch N] [--policy P] [--write TABLE.md]

NAME is a step of test/EndToEnd/models/steps.py. Tenon's side is `tenon plan --error`: SQNR of every gradient against f64, of
the step lowered with --precision=P and of the f32 step. JAX's side is the same step with its parameters cast to bf16
inside the loss, and float batches before the step: SQNR of every gradient against JAX's own f32 step, whose errors are
10,000 times smaller. Weights and batch are the same. XLA is told to carry out every rounding that JAX wrote: by itself
it drops those of values that a CPU computes in f32 anyway, which are then not stored in 16 bits either.

Per step: the medians, and the share of gradients of which Tenon's SQNR is at most 1 dB worse than JAX's. The column
"signs of f32" is JAX's bf16 once more, with every ReLU open where it is open in the f32 step: what is lost by rounding
alone, and not by elements that are on the other side of zero. Gradients that are zero but for rounding, of which f32 has
no digit (SQNR below 20 dB), are left out and counted.

A line of RESULTS is one step of one compiler at one size; what is there is not done again, so a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_allow_excess_precision=false")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/EndToEnd"))

import compare  # noqa: E402  (it puts the models on the path, too)
import exportlib  # noqa: E402
import flax.linen  # noqa: E402
import flax.nnx  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import steps as models  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

WORSE_BY_AT_MOST = 1.0  # dB
LEAST_DIGITS = 20.0  # dB of the f32 step, where a gradient is more than rounding

Tree = Any


def narrow(tree: Tree) -> Tree:
    """Every f32 in bf16."""
    return jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16) if leaf.dtype == jnp.float32 else leaf, tree)


@contextlib.contextmanager
def recorded(gradients: list[Tree], lowered: bool) -> Iterator[None]:
    """Notes the gradients that jax.value_and_grad gives, of a loss that gets its parameters in bf16 if `lowered`."""
    original = jax.value_and_grad

    def value_and_grad(loss: Callable, **options: object) -> Callable:
        inner = original((lambda parameters: loss(narrow(parameters))) if lowered else loss, **options)

        def call(parameters: Tree) -> tuple[Tree, Tree]:
            value, gradient = inner(parameters)
            gradients.append(gradient)
            return value, gradient

        return call

    jax.value_and_grad = value_and_grad
    try:
        yield
    finally:
        jax.value_and_grad = original


@contextlib.contextmanager
def relu_open(open_where: Callable[[jax.Array], jax.Array]) -> Iterator[None]:
    """Lets a ReLU of the models through where `open_where` says so of its operand."""
    original = flax.linen.relu, flax.nnx.relu
    flax.linen.relu = flax.nnx.relu = lambda x: jnp.where(open_where(x), x, jnp.zeros_like(x))
    try:
        yield
    finally:
        flax.linen.relu, flax.nnx.relu = original


def jax_gradients(step: Callable, arguments: list[Tree], lowered: bool) -> dict[str, np.ndarray]:
    """The gradients of one step in JAX, by the names that Tenon gives parameters."""

    def gradients(state: Tree, *batch: Tree) -> Tree:
        found: list[Tree] = []
        with recorded(found, lowered):
            step(state, *(narrow(batch) if lowered else batch))
        assert len(found) == 1, "the step takes one gradient"
        return found[0]

    leaves = exportlib.paths(jax.jit(gradients)(*arguments))
    names = (".".join(["params", *re.findall(r"\['?(.*?)'?\]", path)]) for path, _ in leaves)
    return {name: np.asarray(leaf, np.float64) for name, (_, leaf) in zip(names, leaves, strict=True)}


def with_signs_of_f32(step: Callable, arguments: list[Tree]) -> dict[str, np.ndarray] | None:
    """The lowered gradients, with each ReLU open where it is open in the f32 step; none if there is no ReLU."""

    def signs(*arguments: Tree) -> list[jax.Array]:
        found: list[jax.Array] = []

        def note(x: jax.Array) -> jax.Array:
            found.append(x > 0)
            return found[-1]

        original = jax.value_and_grad
        # The way forward alone, since what a derivative traces cannot be handed out of it.
        jax.value_and_grad = lambda loss, **_: lambda parameters: (loss(parameters), parameters)
        try:
            with relu_open(note):
                step(*arguments)
        finally:
            jax.value_and_grad = original
        return found

    known = jax.jit(signs)(*arguments)

    def lowered(*arguments: Tree) -> None:
        following = iter(known)
        with relu_open(lambda _: next(following)):
            step(*arguments)

    return jax_gradients(lowered, arguments, True) if known else None


def decibels(values: np.ndarray, exact: np.ndarray) -> float:
    """Signal over noise."""
    noise = float(np.sum((values - exact) ** 2))
    return float(10 * np.log10(np.sum(exact**2) / noise)) if noise else float("inf")


def tenon_decibels(build: Path, source: Path, inputs: Path, precision: str) -> dict[str, float]:
    """What `tenon plan --error` says of every gradient."""
    command = [build / "bin/tenon", "plan", "--error", source, f"--precision={precision}", f"--inputs={inputs}", "--search-runs=0"]
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"tenon plan exited {process.returncode}: {process.stderr[-1000:]}")
    rows = re.findall(r"^ *\w+ +(\S+) +\S+ +[\d.]+ %  .*?  gradient (.*)$", process.stdout, re.MULTILINE)
    return {name: float("inf") if text == "exact" else float(text) for text, name in rows}


def measure(build: Path, name: str, sizes: dict[str, int], options: list[str], policy: str) -> dict:
    """The SQNR of every gradient: Tenon's in the policy and f32, JAX's in bf16, by itself and with the signs of f32."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        generate = ROOT / "test/EndToEnd/models/generate.py"
        subprocess.run([sys.executable, generate, name, "--no-run", "--out", folder, *options], check=True, capture_output=True)
        info = json.loads((folder / f"{name}.json").read_text())
        inputs = folder / "inputs.safetensors"
        save_file(compare.start_values(info), str(inputs))
        ours, wide = (tenon_decibels(build, folder / f"{name}.mlir", inputs, precision) for precision in (policy, "f32"))
    built = {**models.BUILD, **models.BUILD_ON_REQUEST}[name](**sizes)
    values = [jnp.asarray(exportlib.make(leaf["init"], leaf["shape"], np.dtype(leaf["dtype"]))) for leaf in info["args"]]
    arguments = jax.tree.unflatten(jax.tree.structure(built["args"]), values)
    exact, lowered = (jax_gradients(built["step"], arguments, is_lowered) for is_lowered in (False, True))
    assert exact.keys() == ours.keys(), (exact.keys() ^ ours.keys(), name)
    signed = with_signs_of_f32(built["step"], arguments)
    peers, same = (side and {parameter: decibels(side[parameter], exact[parameter]) for parameter in exact} for side in (lowered, signed))
    return {parameter: [ours[parameter], peers[parameter], wide[parameter], same and same[parameter]] for parameter in ours}


def table(entries: list[dict]) -> list[str]:
    """A line per step."""
    titles = [
        "step",
        "gradients",
        "policy",
        "f32 median dB",
        "median dB",
        "least dB",
        "JAX bf16 median dB",
        "not 1 dB worse",
        "JAX, signs of f32",
        "zero but for rounding",
    ]
    lines = ["| " + " | ".join(titles) + " |", "|---|" + "---:|" * (len(titles) - 1)]
    for entry in entries:
        all_rows = entry["gradients"].values()
        rows = [row for row in all_rows if row[2] >= LEAST_DIGITS]
        ours, peers, wide, signed = ([row[column] for row in rows] for column in range(4))
        close = sum(a >= b - WORSE_BY_AT_MOST for a, b in zip(ours, peers, strict=True))
        size = " ".join(option.lstrip("-") for option in entry["options"])
        medians = [f"{statistics.median(column):.1f}" if column[0] is not None else "-" for column in (wide, ours, peers, signed)]
        cells = [f"{entry['name']} {size}".strip(), len(rows), entry["policy"], *medians[:2], f"{min(ours):.1f}", medians[2]]
        cells += [f"{100 * close / len(rows):.0f} %", medians[3], len(all_rows) - len(rows)]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def main() -> int:
    """Measures what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--small", action="store_true", help="the sizes of generate.py --small")
    parser.add_argument("--batch", type=int, help="examples, if not those of the step")
    parser.add_argument("--policy", default="bf16", help="what --precision gets (default: bf16)")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    compiler = hashlib.sha256((arguments.build / "bin/tenon-compiler").read_bytes()).hexdigest()[:16]
    options = [*(["--small"] if arguments.small else []), *([f"--batch={arguments.batch}"] if arguments.batch else [])]
    lines = arguments.results.read_text().splitlines() if arguments.results.exists() else []
    kind = {"compiler": compiler, "options": options, "policy": arguments.policy}
    known = {entry["name"]: entry for entry in map(json.loads, lines) if entry.items() >= kind.items()}
    for name in arguments.names:
        if name in known:
            continue
        print(name, file=sys.stderr, flush=True)
        sizes = {**(models.SMALL.get(name, {}) if arguments.small else {}), **({"B": arguments.batch} if arguments.batch else {})}
        known[name] = {**kind, "name": name, "gradients": measure(arguments.build, name, sizes, options, arguments.policy)}
        with arguments.results.open("a") as file:
            file.write(json.dumps(known[name]) + "\n")
    text = "\n".join(table([known[name] for name in arguments.names]))
    print(text)
    if arguments.write:
        arguments.write.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
