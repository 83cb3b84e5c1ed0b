"""Runs that are killed again and again, and go on, beside one that is not.  python killed_runs.py --count N --results FILE

A run is killed (SIGKILL) at a moment that follows from the kill's number: in the middle of a step (in a library call), of saving a
checkpoint (at a call that writes), of reading one (at a call that reads) or of writing metrics. It goes on with the same command and
--resume. At the end its state and its metrics must be those of the run that nobody killed, bit for bit. FILE gets a line per run, which
says where each of its kills was; a run that is there already is not repeated. At last it prints the row for docs/Benchmarks/Kills.md.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import revision
from safetensors.numpy import save_file

BUILD = Path(os.environ.get("TENON_BUILD", Path(__file__).resolve().parents[2] / "build/dev"))
STEPS, SAVE_EVERY, KILLS = 60, 7, 20
DOING = ("stepping", "saving", "reading", "logging")


def export_step(folder: Path, width: int, rows: int) -> Path:
    """Adam with dropout on a small network: parameters, moments, a count, a random key; a batch and a learning rate."""
    import jax
    import jax.numpy as jnp

    def loss(params: dict, key: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        hidden = jnp.where(jax.random.bernoulli(key, 0.9, hidden.shape), hidden / 0.9, 0.0)
        return jnp.mean((hidden @ params["w2"] - y) ** 2)

    def step(state: dict, x: jax.Array, y: jax.Array, lr: jax.Array) -> tuple[dict, jax.Array]:
        key, used = jax.random.split(state["key"])
        value, gradients = jax.value_and_grad(loss)(state["params"], used, x, y)
        count = state["count"] + 1
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mu"], gradients)
        nu = jax.tree.map(lambda n, g: 0.99 * n + 0.01 * g * g, state["nu"], gradients)
        params = jax.tree.map(lambda p, m, n: p - lr * m / (jnp.sqrt(n) + 1e-6), state["params"], mu, nu)
        return {"params": params, "mu": mu, "nu": nu, "count": count, "key": key}, value

    numbers = np.random.default_rng(0)
    params = {
        name: numbers.standard_normal(shape).astype(np.float32) / 4
        for name, shape in {"w1": (16, width), "b1": (width,), "w2": (width, 4)}.items()
    }
    zeros = {name: np.zeros_like(value) for name, value in params.items()}
    state = {"params": params, "mu": zeros, "nu": zeros, "count": np.int32(0), "key": np.array([0, 7], np.uint32)}
    batch = (np.zeros((rows, 16), np.float32), np.zeros((rows, 4), np.float32), np.float32(0))
    (folder / "step.mlir").write_text(jax.jit(step, donate_argnums=0).lower(state, *batch).as_text(debug_info=True))
    flat = {f"{kind}.{name}": value for kind in ("params", "mu", "nu") for name, value in state[kind].items()}
    save_file({**flat, "count": np.array(0, np.int32), "key": state["key"]}, folder / "start.safetensors")
    data = {"x": numbers.standard_normal((11, rows, 16)), "y": numbers.standard_normal((11, rows, 4))}
    save_file({name: value.astype(np.float32) for name, value in data.items()}, folder / "batches.safetensors")
    # The same as samples, and some that fill no batch.
    data = {name: np.concatenate([value.reshape(11 * rows, -1), np.ones((5, value.shape[-1]))]) for name, value in data.items()}
    np.savez(folder / "samples.npz", **{name: value.astype(np.float32) for name, value in data.items()})
    return folder / "step.mlir"


def compile_step(folder: Path, *options: str, name: str = "step.tenon", width: int = 128, rows: int = 8) -> Path:
    """The exported step as a file; its products are too wide to be anything but library calls, in which runs are killed."""
    if not (folder / "step.mlir").exists():
        export_step(folder, width, rows)
    command = [BUILD / "bin" / "tenon", "compile", folder / "step.mlir", "-o", folder / name, *options]
    subprocess.run(command, check=True, capture_output=True)
    return folder / name


@dataclass(frozen=True)
class Run:
    """The command of a run; all of its files lie in `scratch`."""

    program: Path
    scratch: Path
    shuffled: bool = False  # samples in another order every epoch, instead of whole batches

    def command(self, *options: object, until: int = STEPS) -> list[str]:
        data = self.program.parent
        batches = [f"--batches={data / 'batches.safetensors'}"]
        if self.shuffled:
            batches = [f"--batches=samples:{data / 'samples.npz'}", "--shuffle=3"]
        return [str(part) for part in (
            BUILD / "bin" / "tenon", "run", self.program, "--state", data / "start.safetensors", *batches,
            "--set=lr=0.01", "--schedule=lr=warmup_cosine:warmup=10,steps=50,end=0.001", f"--until={until}", f"--save-every={SAVE_EVERY}",
            "--keep=3", "--resume", "--checkpoints", self.scratch / "checkpoints", "--metrics", self.scratch / "metrics.csv",
            "--save", self.scratch / "final.safetensors", *options,
        )]  # fmt: skip

    def start(self, *options: object, until: int = STEPS, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*options, until=until), check=False, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
        )

    def outcome(self) -> tuple[bytes, bytes]:
        """The state and the metrics at the end."""
        return (self.scratch / "final.safetensors").read_bytes(), (self.scratch / "metrics.csv").read_bytes()


def ways_to_kill(numbers: random.Random, scratch: Path) -> list[dict[str, str]]:
    """The environments that kill a run while it does each of DOING."""
    writing = {"LD_PRELOAD": str(BUILD / "lib/TenonKillWhileWriting.so"), "TENON_KILL_FOLDER": str(scratch / "checkpoints")}
    calls = next(BUILD.glob("**/TenonFailingCalls.so"))
    return [
        {"LD_PRELOAD": str(calls), "TENON_KILL_CALL": str(numbers.randrange(5 * 2 * SAVE_EVERY))},
        {**writing, "TENON_KILL_AT": str(numbers.randrange(1, 90))},
        {**writing, "TENON_KILL_READ_AT": str(numbers.randrange(1, 14))},
        {**writing, "TENON_KILL_FOLDER": str(scratch / "metrics.csv"), "TENON_KILL_AT": str(numbers.randrange(1, 3 * SAVE_EVERY))},
    ]


def kill_and_resume(program: Path, kills: int, seed: int) -> tuple[Counter, str]:
    """Where a run was killed, and what is wrong with what it ended with; empty for nothing."""
    numbers = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="tenon-killed-") as scratch:
        folders = [Path(scratch) / name for name in ("whole", "killed")]
        for folder in folders:
            folder.mkdir()
        whole, killed = (Run(program, folder, shuffled=seed % 2 == 1) for folder in folders)
        if (process := whole.start()).returncode:
            return Counter(), process.stderr
        log: Counter = Counter()
        for kill in range(kills):
            # Kills that follow each other hit what the one before left.
            doing = kill % len(DOING)
            way = ways_to_kill(numbers, killed.scratch)[doing]
            process = killed.start(f"--threads={1 + kill % 2}", **way)
            found = re.search(r"^killed at (\w+)$", process.stderr, re.MULTILINE)
            if process.returncode == -signal.SIGKILL and found:
                log[DOING[doing] + (f" ({found[1]})" if DOING[doing] in ("saving", "logging") else "")] += 1
            elif process.returncode:
                return log, process.stderr
            elif killed.outcome() != whole.outcome():
                return log, "a run that came to its end differs"
            else:  # Nothing is left to be killed: from the start again.
                shutil.rmtree(killed.scratch)
                killed.scratch.mkdir()
        process = killed.start()
        if process.returncode:
            return log, process.stderr
        different = [what for what, a, b in zip(("state", "metrics"), whole.outcome(), killed.outcome(), strict=True) if a != b]
        return log, f"{' and '.join(different)} differ from those of the run that was not killed" if different else ""


def main() -> None:
    """Runs until there have been as many kills as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="kills in all")
    parser.add_argument("--results", type=Path, required=True, help="a line per run; goes on where it ends")
    options = parser.parse_args()
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    done = sum(int(line.split()[1]) for line in lines)
    failed = [line for line in lines if " failed " in line]
    seed = len(lines)
    with tempfile.TemporaryDirectory(prefix="tenon-killed-") as folder:
        program = compile_step(Path(folder))
        while done < options.count:
            log, wrong = kill_and_resume(program, KILLS, seed)
            line = f"{seed} {log.total()} kills {dict(sorted(log.items()))} {'failed ' + wrong if wrong else 'equal'}".replace("\n", " ")
            with options.results.open("a") as file:
                print(line, file=file)
            print(line, flush=True)
            done, seed = done + log.total(), seed + 1
            failed += [line] if wrong else []
    kills: Counter = Counter()
    for line in options.results.read_text().splitlines():
        for what, count in ast.literal_eval(line[line.index("{") : line.index("}") + 1]).items():
            kills[what.split()[0]] += count
    counts = " | ".join(str(kills[doing]) for doing in DOING)
    print(f"| {revision.commit()} | {seed} | {done} | {counts} | {len(failed)} |")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
