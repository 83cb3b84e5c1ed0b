#!/usr/bin/env python3
"""Runs the models' training steps on the emulated GPU and holds their numbers against float64.

Each step (test/EndToEnd/models, small sizes) is compiled for each architecture, precision and memory budget and runs two
steps. The error of a tensor is |x - x64| / |x64| in the Euclidean norm, where x64 is what the same text gives in float64.
It is divided by the error of the step compiled for the processor in the same precision, or by the floor of the precision
if that is larger. A run passes if the median of its ratios is at most 2 and none is above 8.

Outcomes go to a file of JSON lines as they come, and a run that is there is not repeated.

    python test/Conformance/gpu_models.py                       # all that is missing
    python test/Conformance/gpu_models.py 01_mlp --budgets M    # some of it
    python test/Conformance/gpu_models.py --table               # what there is, for docs/Conformance.md
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "test/EndToEnd/models"
sys.path[:0] = [str(ROOT / "test/EndToEnd"), str(MODELS)]

import compare
import numpy as np
import replay64
import steps
from safetensors.numpy import load_file, save_file

# What an error of the processor counts at least: its sums may be lucky, those of a GPU are in another order.
FLOORS = {"f32": 1e-6, "bf16": 4e-3, "f16": 4e-3}
MOST_MEDIAN, MOST = 2, 8
STEPS = 2
ARCHITECTURES, BUDGETS = ("sm_80", "sm_90", "sm_120"), ("none", "M", "0.2", "0.6")
# Steps for several devices are none for one GPU.
NAMES = [name for name in steps.BUILD if name[:2] not in ("15", "16")]


class Refused(Exception):
    """The tool said no."""


def tool(build: Path, *arguments: object, seconds: int = 3600, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the tool."""
    command = [str(build / "bin/tenon"), *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENON_EMULATED_CUDA_")}
    return subprocess.run(
        command, check=False, capture_output=True, text=True, errors="replace", timeout=seconds, env={**environment, **variables}
    )


def succeed(build: Path, *arguments: object, **variables: str) -> str:
    """Runs the tool, which has to succeed."""
    process = tool(build, *arguments, **variables)
    if process.returncode != 0:
        lines = [line for line in process.stderr.splitlines() if "error: " in line] or process.stderr.splitlines()[-1:]
        raise Refused(f"{arguments[0]} ended with {process.returncode}: {re.sub('^.*?error: ', '', ' '.join(lines[:1]))[:300]}")
    return process.stdout


@dataclass
class Outcome:
    """What one run gave."""

    model: str
    precision: str
    architecture: str
    budget: str
    commit: str
    why: str = ""  # it could not be judged; empty if it was
    median: float = 0.0
    largest: float = 0.0
    tensor: str = ""  # the one with the largest ratio
    differing: list[str] = field(default_factory=list)  # tensors of integers that are not equal
    in_parts: int = 0
    kernels: int = 0
    budget_bytes: int = 0
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is the outcome of."""
        return self.model, self.precision, self.architecture, self.budget

    @property
    def passes(self) -> bool:
        """Whether the numbers are good enough."""
        return not self.why and not self.differing and self.median <= MOST_MEDIAN and self.largest <= MOST


class Model:
    """An exported step, with what it gives in float64 and on the processor."""

    def __init__(self, name: str, folder: Path, build: Path) -> None:
        self.name, self.folder, self.build = name, folder, build
        if not (folder / f"{name}.json").exists():
            # With two images the last statistics of the residual network are over two numbers.
            batch = ["--batch=8"] if name == "03_resnet18" else []
            command = [sys.executable, MODELS / "generate.py", name, "--small", "--no-run", *batch, "--out", folder]
            subprocess.run(command, check=True, capture_output=True)
        self.info = json.loads((folder / f"{name}.json").read_text())
        self.text = compare.source_of(folder, name, self.info)
        if not self.text.exists():
            subprocess.run(["gunzip", "-k", f"{self.text}.gz"], check=True)
        self.inputs = folder / f"{name}.inputs.safetensors"
        if not self.inputs.exists():
            save_file(compare.start_values(self.info), self.inputs)
        self.state = [leaf["path"] for leaf in self.info["args"] if leaf["donated"]]

    @functools.cached_property
    def exact(self) -> list[np.ndarray]:
        """The state after the steps, in float64, and the loss of the last."""
        text = (self.folder / f"{self.name}.mlir").read_text()
        state, losses = replay64.run(replay64.widened(text), self.info, True, STEPS)
        return [*state, np.array(losses[-1])]

    def values(self, program: Path, **variables: str) -> list[np.ndarray]:
        """The same as a compiled step gives it."""
        path = program.with_suffix(".safetensors")
        driver = self.build / "lib/libtenon-emulated-cuda.so"
        command = ("run", program, f"--inputs={self.inputs}", f"--steps={STEPS}", f"--outputs={path}", f"--cuda-driver={driver}")
        succeed(self.build, *command, **variables)
        results = load_file(path)
        return [results[f"result{i}"] for i in range(len(self.state) + 1)]

    def errors(self, values: list[np.ndarray]) -> tuple[dict[str, float], list[str]]:
        """The error of each tensor of numbers, and the others that are not equal."""
        errors, differing = {}, []
        for name, x, exact in zip([*self.state, "loss"], values, self.exact, strict=True):
            if not (np.issubdtype(exact.dtype, np.floating) and exact.size):
                if not np.array_equal(x, exact):
                    differing.append(name)
                continue
            distance = np.linalg.norm((x.astype(np.float64) - exact).ravel())
            scale = np.linalg.norm(exact.ravel())
            errors[name] = float(distance / scale) if scale > 0 else float(distance)
        return errors, differing

    @functools.cache  # noqa: B019
    def processor_errors(self, precision: str) -> dict[str, float]:
        """The errors of the step compiled for the processor, without a budget."""
        program = self.folder / f"{self.name}.{precision}.cpu.tenon"
        succeed(self.build, "compile", self.text, "-o", program, f"--precision={precision}")
        return self.errors(self.values(program))[0]

    @functools.cache  # noqa: B019
    def sizes(self, precision: str, architecture: str) -> tuple[int, int]:
        """The smallest budget that was planned, and the bytes without one."""
        command = ("compile", self.text, "-o", os.devnull, f"--target={architecture}", f"--precision={precision}", "--memory-budget=1KiB")
        said = tool(self.build, *command).stderr
        found = re.search(r"smallest budget that was planned is (\d+) bytes", said)
        if not found:
            raise Refused(f"no smallest budget is named: {said.strip()[-200:]}")
        program = self.program(precision, architecture, "none", None)
        whole = succeed(self.build, "inspect", program)
        segments = re.findall(r"^(?:state|batch|results|temporaries|constants) +(\d+)$", whole, re.MULTILINE)
        return int(found[1]), sum(map(int, segments))

    def program(self, precision: str, architecture: str, budget: str, size: int | None) -> Path:
        """The compiled step."""
        path = self.folder / f"{self.name}.{precision}.{architecture}.{budget}.tenon"
        options = [f"--target={architecture}", f"--precision={precision}", *([f"--memory-budget={size}"] if size else [])]
        report = path.with_suffix(".report.json")
        succeed(self.build, "compile", self.text, "-o", path, "--report", report, *options)
        if precision == "f16":
            stages = {stage["stage"]: stage for stage in json.loads(report.read_text())["stages"]}
            if why := stages["precision"].get("loss_scaling", {}).get("why_not"):
                raise Refused(f"no loss to scale: {why}")
        return path

    def budget(self, precision: str, architecture: str, budget: str) -> int | None:
        """The bytes of a budget: of M the smallest, of a fraction so far between M and what the step takes without one."""
        if budget == "none":
            return None
        least, whole = self.sizes(precision, architecture)
        return least if budget == "M" else least + int(float(budget) * max(whole - least, 0))


def judge(model: Model, precision: str, architecture: str, budget: str, commit: str) -> Outcome:
    """Compiles, runs and judges."""
    outcome, begin = Outcome(model.name, precision, architecture, budget, commit), time.monotonic()
    try:
        size = model.budget(precision, architecture, budget)
        outcome.budget_bytes = size or 0
        program = model.program(precision, architecture, budget, size)
        listed = succeed(model.build, "inspect", program, "--kernels")
        schedules = re.findall(r"^kernel_\d+ +(\S+) +\d+ +\d+ ", listed, re.MULTILINE)
        outcome.kernels, outcome.in_parts = len(schedules), schedules.count("parts")
        values = model.values(program, TENON_EMULATED_CUDA_SM=architecture.removeprefix("sm_"))
        errors, outcome.differing = model.errors(values)
        floor, reference = FLOORS[precision], model.processor_errors(precision)
        # Numbers that are not finite are as far off as can be.
        ratios = {name: error / max(reference[name], floor) if np.isfinite(error) else np.inf for name, error in errors.items()}
        outcome.median, outcome.largest = statistics.median(ratios.values()), max(ratios.values())
        outcome.tensor = max(ratios, key=ratios.__getitem__)
    except Refused as refusal:
        outcome.why = str(refusal)
    except subprocess.TimeoutExpired as slow:
        outcome.why = f"no end within {slow.timeout:.0f} s"
    outcome.seconds = round(time.monotonic() - begin, 1)
    return outcome


def read(path: Path) -> dict[tuple[str, str, str, str], Outcome]:
    """The outcomes that there are, the latest of each."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {outcome.key: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}


def table(outcomes: list[Outcome]) -> str:
    """What there is, a line per model and precision."""
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        groups[outcome.model, outcome.precision].append(outcome)
    lines = [
        "| step | precision | runs | pass | largest median | largest ratio | of | kernels in parts |",
        "|---|---|---:|---:|---:|---:|---|---:|",
    ]
    for (model, precision), group in sorted(groups.items()):
        judged = [outcome for outcome in group if not outcome.why]
        if not judged:
            lines.append(f"| `{model}` | {precision} | {len(group)} | 0 | | | {group[0].why} | |")
            continue
        worst = max(judged, key=lambda outcome: outcome.largest)
        lines.append(
            f"| `{model}` | {precision} | {len(group)} | {sum(outcome.passes for outcome in group)} | "
            f"{max(outcome.median for outcome in judged):.2f} | {worst.largest:.2f} | {worst.architecture}, budget {worst.budget} | "
            f"{max(outcome.in_parts for outcome in judged)} of {judged[0].kernels} |"
        )
    commits = ", ".join(sorted({outcome.commit for outcome in outcomes}))
    passing = sum(outcome.passes for outcome in outcomes)
    return "\n".join([*lines, "", f"{passing} of {len(outcomes)} runs pass, with {commits}."])


def main() -> int:
    """Runs what is missing, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES, help="steps by the generator's names (all for one device)")
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--architectures", type=words, default=list(ARCHITECTURES), help=",".join(ARCHITECTURES))
    parser.add_argument("--precisions", type=words, default=list(FLOORS), help=",".join(FLOORS))
    parser.add_argument("--budgets", type=words, default=list(BUDGETS), help="none, M for the smallest, fractions between them")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build folder (build/dev)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/conformance/gpu", help="where files and outcomes go")
    parser.add_argument("--table", action="store_true", help="print what there is and run nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(f"no step named {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if unknown := set(arguments.precisions) - set(FLOORS):
        parser.error(f"no precision {', '.join(sorted(unknown))}; there are {', '.join(FLOORS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    path = arguments.folder / "outcomes.jsonl"
    known = read(path)
    if arguments.table:
        print(table(list(known.values())))
        return 0
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    for name in arguments.names:
        wanted = [(p, a, b) for p in arguments.precisions for a in arguments.architectures for b in arguments.budgets]
        if all((name, *each) in known for each in wanted):
            continue
        model = Model(name, arguments.folder, arguments.build)
        for precision, architecture, budget in wanted:
            if (name, precision, architecture, budget) in known:
                continue
            outcome = judge(model, precision, architecture, budget, commit)
            known[outcome.key] = outcome
            with path.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
            said = outcome.why or f"median {outcome.median:.2f}, largest {outcome.largest:.2f} ({outcome.tensor})"
            print(f"{'pass' if outcome.passes else 'FAIL'}  {' '.join(outcome.key)}: {said}, {outcome.seconds} s", flush=True)
    ran = [outcome for key, outcome in known.items() if key[0] in arguments.names]
    return 0 if all(outcome.passes or "no loss to scale" in outcome.why for outcome in ran) else 1


if __name__ == "__main__":
    sys.exit(main())
