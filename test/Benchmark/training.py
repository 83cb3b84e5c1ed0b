#!/usr/bin/env python3
"""Trains ten small models in f32 and in lower precision, and says whether anyone would notice; prints a table.

    python training.py RESULTS.jsonl [NAME...] [--policies bf16 ...] [--seeds 3] [--steps 1000] [--build BUILD] [--write TABLE.md]

The models are those of training_models.py. Per seed, which decides start values and data: five runs in f32 that differ in the
order of the examples within each batch alone, and one run per policy (`--precision=POLICY`) in the first order. A run's loss is
the mean of its last tenth of steps. s is the standard deviation of the five, pooled over the seeds: what rounding alone does to
a loss. A policy passes on a model if the mean of its losses over the seeds exceeds the mean of all f32 losses by at most
max(0.3 %, 2 s), and every loss is finite. A model says something only if its f32 loss at the end is below the first and above
5 % of it. Where a policy leaves all of a model in f32, as f16 does where nothing is quicker in it, a policy file permits 16 bits for all
that the loss and its gradient compute. A model that is in f32 all the same shows nothing of the policy, and does not pass. The seconds of
an f32 run are in the table.

A line of RESULTS is one run of one compiler; what is there is not done again, so a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import jax  # noqa: E402
import numpy as np  # noqa: E402
import training_models as models  # noqa: E402

ORDERS = 5
LEAST_LOSS = 0.05  # of the first
MOST_EXCESS = 0.003  # of the f32 loss
MOST_SPREADS = 2.0

# What JAX calls the operations of a loss and of its gradient, in the places that a policy file asks to be stored narrow where nothing else
# is. Those of the optimizer have other names: its moments are too small for f16.
ASKED = "*jvp*"

Key = tuple[str, str, int, int, int]  # model, precision, seed, order, steps


class Trainer:
    """Compiles a model once per precision and runs it from any start."""

    def __init__(self, model: models.Model, folder: Path) -> None:
        self.model, self.folder = model, folder
        self.programs: dict[str, tuple[Path, int, bool]] = {}

    def program(self, precision: str) -> tuple[Path, int, bool]:
        """The compiled step, how many of its values and products are in 16 bits, and whether a policy file asks for them."""
        if precision not in self.programs:
            source = self.folder / "step.mlir"
            state, batch = models.start_state(self.model, 0), self.model.batch(np.random.default_rng(0))
            step = jax.jit(models.step_of(self.model), donate_argnums=0)
            source.write_text(step.lower(state, *batch).as_text(debug_info=True))
            output, narrow = self.compile(source, precision, None)
            asked = precision != "f32" and narrow == 0
            if asked:
                policy = self.folder / "policy.json"
                policy.write_text(json.dumps({"locations": {ASKED: precision.removesuffix("-state")}}))
                output, narrow = self.compile(source, precision, policy)
            self.programs[precision] = output, narrow, asked
        return self.programs[precision]

    def compile(self, source: Path, precision: str, policy: Path | None) -> tuple[Path, int]:
        """A program, and how many of its values and products are in 16 bits."""
        import tenon

        output, report = self.folder / f"{precision}.tenon", self.folder / "report.json"
        tenon.compile_file(source, output, precision=precision, precision_policy=policy, report=report)
        stage = next(stage for stage in json.loads(report.read_text())["stages"] if stage["stage"] == "precision")
        return output, stage.get("narrow_values", 0) + stage.get("narrow_products", 0)

    def run(self, precision: str, seed: int, order: int, steps: int) -> dict:
        """Losses of one run: the first, and the mean of the last tenth; and its seconds."""
        import tenon

        file, narrow, asked = self.program(precision)
        program = tenon.load(file, threads=1)  # threads that wait for each other on a busy machine take a hundred times as long
        state = jax.tree.leaves(models.start_state(self.model, seed))
        batches, permutation = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2, order])
        for number, leaf in enumerate(state):
            program.tensors[f"arg{number}"].write(leaf)
        losses, seconds = [], 0.0
        for _ in range(steps):
            batch = self.model.batch(batches)
            shuffled = permutation.permutation(len(batch[0])) if order else np.arange(len(batch[0]))
            for number, values in enumerate(batch):
                program.tensors[f"arg{len(state) + number}"].write(values[shuffled])
            start = time.perf_counter()
            program.step()
            seconds += time.perf_counter() - start
            losses.append(float(program.tensors[f"result{len(state)}"].read()))
        last = statistics.fmean(losses[-max(1, steps // 10) :])
        return {"first": losses[0], "last": last, "seconds": seconds, "narrow": narrow, "asked": asked}


class Results:
    """Runs that are done, of this compiler."""

    def __init__(self, path: Path, build: Path) -> None:
        self.path = path
        self.compiler = hashlib.sha256((build / "bin/tenon-compiler").read_bytes()).hexdigest()[:16]
        lines = path.read_text().splitlines() if path.exists() else []
        entries = [entry for entry in map(json.loads, lines) if entry["compiler"] == self.compiler]
        self.runs: dict[Key, dict] = {tuple(entry["run"]): entry for entry in entries}

    def add(self, key: Key, values: dict) -> None:
        """Also to the file."""
        self.runs[key] = {"compiler": self.compiler, "run": key, **values}
        with self.path.open("a") as file:
            file.write(json.dumps(self.runs[key]) + "\n")


def wanted(name: str, policies: list[str], seeds: int, steps: int) -> list[Key]:
    """All runs of a model."""
    wide = [(name, "f32", seed, order, steps) for seed in range(seeds) for order in range(ORDERS)]
    return wide + [(name, policy, seed, 0, steps) for policy in policies for seed in range(seeds)]


def verdict(results: Results, name: str, policy: str, seeds: int, steps: int) -> dict:
    """What a policy did to a model."""
    wide = [[results.runs[name, "f32", seed, order, steps] for order in range(ORDERS)] for seed in range(seeds)]
    lowered = [results.runs[name, policy, seed, 0, steps] for seed in range(seeds)]
    loss = statistics.fmean(run["last"] for run in lowered)
    mean = statistics.fmean(run["last"] for runs in wide for run in runs)
    spread = math.sqrt(statistics.fmean(statistics.variance(run["last"] for run in runs) for runs in wide))
    first = statistics.fmean(run["first"] for runs in wide for run in runs)
    excess, allowed = loss - mean, max(MOST_EXCESS * mean, MOST_SPREADS * spread)
    return {
        "first": first, "f32": mean, "s": spread, "loss": loss, "excess": excess, "allowed": allowed,
        "seconds": max(run["seconds"] for runs in wide for run in runs),
        "says something": LEAST_LOSS * first < mean < first,
        "asked": lowered[0]["asked"],
        "lowered": lowered[0]["narrow"] > 0,
        "passes": math.isfinite(excess) and excess <= allowed,
    }  # fmt: skip


def table(results: Results, names: list[str], policies: list[str], seeds: int, steps: int) -> tuple[list[str], bool]:
    """A line per model and policy, and whether all pass."""
    titles = ["model", "policy", "first loss", "f32 loss", "s", "loss", "excess %", "allowed %", "verdict", "s per f32 run"]
    lines = ["| " + " | ".join(titles) + " |", "|---|---|" + "---:|" * (len(titles) - 2)]
    passed = True
    for name in names:
        for policy in policies:
            v = verdict(results, name, policy, seeds, steps)
            words = ("passes" if v["passes"] else "FAILS") + ("" if v["says something"] else ", but the model says nothing")
            words += ", with a policy file" if v["asked"] and v["lowered"] else ""
            words = words if v["lowered"] else "all in f32, shows nothing"
            passed &= v["passes"] and v["says something"] and v["lowered"]
            cells = [name, policy, *(f"{v[key]:.5f}" for key in ("first", "f32", "s", "loss"))]
            cells += [*(f"{100 * v[key] / v['f32']:.3f}" for key in ("excess", "allowed")), words, f"{v['seconds']:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return lines, passed


def main() -> int:
    """Runs what is missing and prints the table; fails if a policy does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--policies", nargs="+", default=["bf16", "bf16-state", "f16"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    os.environ["TENON_BUILD"] = str(arguments.build)
    names = arguments.names or list(models.MODELS)
    if unknown := [name for name in names if name not in models.MODELS]:
        parser.error(f"no model named {', '.join(unknown)}; there are {', '.join(models.MODELS)}")
    results = Results(arguments.results, arguments.build)
    for name in names:
        missing = [key for key in wanted(name, arguments.policies, arguments.seeds, arguments.steps) if key not in results.runs]
        if not missing:
            continue
        print(f"{name}: {len(missing)} runs", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            trainer = Trainer(models.MODELS[name], Path(folder))
            for key in missing:
                _, precision, seed, order, steps = key
                results.add(key, trainer.run(precision, seed, order, steps))
    lines, passed = table(results, names, arguments.policies, arguments.seeds, arguments.steps)
    text = "\n".join(lines)
    print(text)
    if arguments.write:
        arguments.write.write_text(text + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
