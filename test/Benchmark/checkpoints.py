#!/usr/bin/env python3
"""Holds plans under a memory budget against jax.checkpoint's usual policies, and prints a table.

    python checkpoints.py FOLDER [NAME...] [--build BUILD] [--predicted] [--rounds 5] [--seconds 4] [--write TABLE.md]

For every step and policy: the export with a checkpoint around each block (`generate.py --checkpoint=block` or `=dots`),
compiled without a budget and with its checkpoints kept, needs P bytes; the plain export is compiled within P. Both are
predicted with the same machine description, and timed alternating in one run. JAX's executable of the checkpointed text
is timed beside. M is the smallest budget of the plain export with a plan.

FOLDER keeps the exports and the plans between runs: what is there is not made again as long as the compiler is the same.
--predicted leaves out the timings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NAMES = ("03_resnet18", "04_chargpt", "05_gpt2_124m", "09_unet_ddpm", "10_vit_tiny")
POLICIES = ("block", "dots")


@dataclass
class Plan:
    """What the compiler says of one export under one budget."""

    bytes: int
    temporaries: int
    nanoseconds: int  # predicted
    base: int  # predicted with nothing recomputed by the planner
    bound: int


@dataclass
class Times:
    """Milliseconds of a step, medians of the rounds."""

    checkpointed: float
    budgeted: float
    jax: float
    jax_temporaries: int


def tool(build: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs tenon."""
    return subprocess.run([str(build / "bin/tenon"), *map(str, arguments)], capture_output=True, text=True, check=False)


def export(folder: Path, policy: str, names: list[str]) -> None:
    """Writes the texts that are not there."""
    missing = [name for name in names if not (folder / policy / f"{name}.mlir").exists()]
    if not missing:
        return
    command = [sys.executable, str(ROOT / "test/EndToEnd/models/generate.py"), *missing, "--out", str(folder / policy)]
    subprocess.run([*command, *(["--checkpoint", policy] if policy != "plain" else [])], check=True, capture_output=True)


class Plans:
    """Plans by export and budget, kept in a file for one compiler."""

    def __init__(self, folder: Path, build: Path) -> None:
        self.folder, self.build = folder, build
        self.path = folder / "plans.json"
        compiler = hashlib.sha256((build / "bin/tenon-compiler").read_bytes()).hexdigest()
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.known = known if known.get("compiler") == compiler else {"compiler": compiler}

    def keep(self, key: str, value: object) -> None:
        """Remembers, also for the next run."""
        self.known[key] = value
        self.path.write_text(json.dumps(self.known, indent=1))

    def compiled(self, policy: str, name: str, budget: int | None) -> tuple[Path, Plan]:
        """The file and its plan; without a budget nothing is recomputed but what the text says."""
        key = f"{policy}-{name}-{budget or 'none'}"
        output = self.folder / f"{key}.tenon"
        if key not in self.known or not output.exists():
            report = self.folder / "report.json"
            limit = budget or 1 << 50
            source = self.folder / policy / f"{name}.mlir"
            process = tool(self.build, "compile", source, "-o", output, f"--memory-budget={limit}", "--report", report)
            if process.returncode != 0:
                raise RuntimeError(f"{key}: {process.stderr}")
            stage = next(s for s in json.loads(report.read_text())["stages"] if s["stage"] == "plan")
            plan = Plan(
                stage["bytes"], stage["temporaries"], stage["predicted_nanoseconds"],
                stage["predicted_nanoseconds_keeping_everything"], stage["bound_nanoseconds"],
            )  # fmt: skip
            self.keep(key, asdict(plan))
        return output, Plan(**self.known[key])

    def smallest(self, name: str) -> int:
        """M: the smallest budget of the plain export."""
        key = f"smallest-{name}"
        if key not in self.known:
            process = tool(
                self.build, "compile", self.folder / "plain" / f"{name}.mlir", "-o", self.folder / "none.tenon",
                "--memory-budget=1KiB",
            )  # fmt: skip
            found = re.search(r"smallest budget that was planned is (\d+) bytes", process.stderr)
            assert found, process.stderr
            self.keep(key, int(found[1]))
        return self.known[key]


def timed(plans: Plans, policy: str, name: str, files: tuple[Path, Path], rounds: int, seconds: float) -> Times:
    """All three alternating in every round."""
    import steps  # before compare, which puts a folder with another steps.py first

    import compare  # isort: skip
    from safetensors.numpy import save_file

    info = json.loads((plans.folder / policy / f"{name}.json").read_text())
    values = compare.start_values(info)
    inputs = plans.folder / "inputs.safetensors"
    save_file(values, str(inputs))
    text = compare.model_text(plans.folder / policy, name)
    reference = steps.JaxStep(text, list(values.values()), steps.successors(info))
    reference.step()
    count = max(3, int(seconds / rounds / max(reference.step(), 1e-4)))
    ours: tuple[list[float], list[float]] = ([], [])
    theirs: list[float] = []
    for _ in range(rounds):
        for side, file in zip(ours, files, strict=True):
            side.append(steps.bench(plans.build, file, inputs, count).step)
        theirs.append(steps.median([reference.step() for _ in range(count)]) * 1e3)
    return Times(steps.median(ours[0]), steps.median(ours[1]), steps.median(theirs), reference.temporary_bytes)


def mib(size: float) -> str:
    """For the table."""
    return f"{size / 2**20:.1f}"


def row(plans: Plans, policy: str, name: str, arguments: argparse.Namespace) -> list[str]:
    """One line of the table."""
    checkpointed, with_blocks = plans.compiled(policy, name, None)
    _, everything = plans.compiled("plain", name, None)
    least = plans.smallest(name)
    cells = [name, policy, mib(everything.bytes), mib(with_blocks.bytes), mib(least)]
    # Extra work is what is predicted beyond the plain export with everything kept.
    theirs = 100 * (with_blocks.nanoseconds / everything.base - 1)
    cells.append(f"{theirs:.2f}")
    try:
        budgeted, within = plans.compiled("plain", name, with_blocks.bytes)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return [*cells, "no plan", "-", "-", "-", "-", "-", "-"]
    assert within.bytes <= with_blocks.bytes
    ours = 100 * (within.nanoseconds / everything.base - 1)
    cells += [f"{ours:.2f}", f"{100 * (within.bound / everything.base - 1):.2f}"]
    if arguments.predicted:
        return [*cells, "-", "-", "-", "-", "-"]
    times = timed(plans, policy, name, (checkpointed, budgeted), arguments.rounds, arguments.seconds)
    ratio = times.budgeted / times.checkpointed
    cells += [f"{times.checkpointed:.2f}", f"{times.budgeted:.2f}", f"{ratio:.3f}", f"{times.jax:.2f}"]
    return [*cells, mib(times.jax_temporaries)]


TITLES = (
    "step", "policy", "K MiB", "P MiB", "M MiB", "checkpoint extra %", "budget extra %", "bound %", "checkpoint ms",
    "budget ms", "ratio", "JAX ms", "JAX temporaries MiB",
)  # fmt: skip


def main() -> None:
    """Prints the table, and writes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--predicted", action="store_true", help="no timings")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="per side, over all rounds")
    parser.add_argument("--write", type=Path, help="also write the table here")
    arguments = parser.parse_args()
    sys.path[:0] = [str(HERE), str(ROOT / "test/EndToEnd")]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for policy in ("plain", *POLICIES):
        export(arguments.folder, policy, arguments.names)
    plans = Plans(arguments.folder, arguments.build)
    lines = ["| " + " | ".join(TITLES) + " |", "|---|---|" + "---:|" * (len(TITLES) - 2)]
    print("\n".join(lines), flush=True)
    for name in arguments.names:
        for policy in POLICIES:
            lines.append("| " + " | ".join(row(plans, policy, name, arguments)) + " |")
            print(lines[-1], flush=True)
    if arguments.write:
        arguments.write.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
