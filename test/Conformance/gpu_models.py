#!/usr/bin/env python3
"""Runs the models' training steps on the emulated GPU and holds their numbers against float64.

Each step (test/EndToEnd/models, small sizes) is compiled for each architecture, precision and memory budget and runs two
steps. The error of a tensor is |x - x64| / |x64| in the Euclidean norm, where x64 is what the same text gives in float64.
It is divided by the error of the step compiled for the processor with the same number formats, or by the floor of the
precision if that is larger. A run passes if the median of its ratios is at most 2 and none is above 8. What fails is compared
once more, with the largest errors of the processor when each number that the step starts from is moved by one rounding, in a
few ways by chance. It has still failed; but what is as near as these is told from what is not.

Outcomes go to gpu_outcomes.jsonl as they come, and a run that is there is not repeated.

    python test/Conformance/gpu_models.py                       # all that is missing
    python test/Conformance/gpu_models.py 01_mlp --budgets M    # some of it
    python test/Conformance/gpu_models.py --table               # what there is, for docs/Conformance.md
"""

from __future__ import annotations

import collections
import functools
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from models_in_float64 import (
    ROUNDING,
    ExportedModel,
    Judged,
    Record,
    Refused,
    parsed,
    parser_of,
    passes_and_near,
    succeed,
    words,
)
from revision import commit

# What an error of the processor counts at least: its sums may be lucky, those of a GPU are in another order.
FLOORS = {"f32": 1e-6, "bf16": 4e-3, "f16": 4e-3}
STEPS = 2
OUTCOMES = Path(__file__).with_name("gpu_outcomes.jsonl")
NO_LOSS = "no loss to scale"  # for f16
ARCHITECTURES, BUDGETS = ("sm_80", "sm_90", "sm_120"), ("none", "M", "0.2", "0.6")


@dataclass
class Outcome(Judged):
    """What one run gave."""

    model: str
    precision: str
    architecture: str
    budget: str
    in_parts: int = 0
    kernels: int = 0
    budget_bytes: int = 0

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is the outcome of."""
        return self.model, self.precision, self.architecture, self.budget


class Model(ExportedModel):
    """An exported step, with what it gives in float64 and on the processor."""

    def __init__(self, name: str, folder: Path, build: Path) -> None:
        # With two images the last statistics of the residual network are over two numbers.
        super().__init__(name, folder, build, STEPS, batch=8 if name == "03_resnet18" else None)

    @functools.cache  # noqa: B019
    def on_processor(self, precision: str, architecture: str) -> Path:
        """The step for the processor, without a budget, with the formats that are chosen for the GPU.

        Formats are chosen by predicted time. A processor that would choose f32 says nothing of errors in 16 bits.
        """
        program = self.folder / f"{self.name}.{precision}.{architecture}.cpu.tenon"
        if precision == "f32":
            succeed(self.build, "compile", self.text, "-o", program)
            return program
        source = program.with_suffix(".mlir")
        options = [f"--target={architecture}", f"--precision={precision}", "--compile-to=precision"]
        succeed(self.build, "compile", self.text, "-o", source, *options)
        # Without what it was written for it is a text for any target.
        source.write_text(re.sub(r', step\.options = \{(?:"[^"]*"|[^"}])*\}', "", source.read_text()))
        succeed(self.build, "compile", source, "-o", program, "--compile-from=precision")
        return program

    @functools.cache  # noqa: B019
    def processor_values(self, precision: str, architecture: str) -> list[np.ndarray]:
        """What that gives."""
        return self.values(self.on_processor(precision, architecture))

    @functools.cache  # noqa: B019
    def processor_errors(self, precision: str, architecture: str) -> dict[str, float]:
        """The errors of that."""
        return self.errors(self.processor_values(precision, architecture))[0]

    @functools.cache  # noqa: B019
    def most_errors(self, precision: str, architecture: str) -> dict[str, float]:
        """The largest of each tensor, also when what the step starts from is moved by a rounding.

        One run may be lucky where a tensor hangs on a sign. Behind Adam's first steps a bias that began at zero does: a number of it
        whose gradient is next to nothing is a whole step up or down. What Adam knows of gradients shows whether these are right.
        """
        program, errors = self.on_processor(precision, architecture), self.processor_errors(precision, architecture)
        return self.errors_nearby(program, ROUNDING[precision], errors)

    def smallest(self, precision: str, architecture: str) -> tuple[Path, int]:
        """The step compiled for the smallest budget that is planned, and the bytes of that."""
        program = self.program(precision, architecture, "M", "smallest")
        stages = {stage["stage"]: stage for stage in json.loads(program.with_suffix(".report.json").read_text())["stages"]}
        return program, stages["plan"]["budget"]

    @functools.cache  # noqa: B019
    def program(self, precision: str, architecture: str, budget: str, size: int | str | None) -> Path:
        """The compiled step."""
        path = self.folder / f"{self.name}.{precision}.{architecture}.{budget}.tenon"
        # The emulated driver takes PTX; that it can be assembled is tested elsewhere.
        options = [f"--target={architecture}", "--no-cubins", f"--precision={precision}", *([f"--memory-budget={size}"] if size else [])]
        report = path.with_suffix(".report.json")
        succeed(self.build, "compile", self.text, "-o", path, "--report", report, *options)
        if precision == "f16":
            stages = {stage["stage"]: stage for stage in json.loads(report.read_text())["stages"]}
            if why := stages["precision"].get("loss_scaling", {}).get("why_not"):
                raise Refused(f"{NO_LOSS}: {why}")
        return path

    def budgeted(self, precision: str, architecture: str, budget: str) -> tuple[Path, int]:
        """The step within a budget, and its bytes: the smallest, or one between that and what it takes without."""
        if budget == "M":
            return self.smallest(precision, architecture)
        whole = self.program(precision, architecture, "none", None)
        if budget == "none":
            return whole, 0
        segments = re.findall(
            r"^(?:state|batch|results|temporaries|constants) +(\d+)$", succeed(self.build, "inspect", whole), re.MULTILINE
        )
        _, least = self.smallest(precision, architecture)
        size = least + int(float(budget) * max(sum(map(int, segments)) - least, 0))
        return self.program(precision, architecture, budget, size), size


def judge(model: Model, precision: str, architecture: str, budget: str, commit: str) -> Outcome:
    """Compiles, runs and judges."""
    outcome = Outcome(model.name, precision, architecture, budget, commit=commit)
    with outcome.judging():
        program, outcome.budget_bytes = model.budgeted(precision, architecture, budget)
        listed = succeed(model.build, "inspect", program, "--kernels")
        schedules = re.findall(r"^kernel_\d+ +(\S+) +\d+ +\d+ ", listed, re.MULTILINE)
        outcome.kernels, outcome.in_parts = len(schedules), schedules.count("parts")
        driver = model.build / "lib/libtenon-emulated-cuda.so"
        values = model.values(program, f"--cuda-driver={driver}", TENON_EMULATED_CUDA_SM=architecture.removeprefix("sm_"))
        errors, outcome.differing = model.errors(values)
        if precision == "f16":
            # An update is left out, and not counted, where the first scales of the loss are too large.
            outcome.differing = model.differing(values, model.processor_values(precision, architecture))
        expected = model.processor_errors(precision, architecture)
        outcome.compare(errors, expected, FLOORS[precision], lambda: model.most_errors(precision, architecture))
    return outcome


def without_loss(record: Record, model: str, precision: str, architecture: str, budget: str) -> Outcome | None:
    """The outcome of a step that has no loss to scale for one architecture, and so for none."""
    known = (one for one in record.known.values() if (one.model, one.precision) == (model, precision) and NO_LOSS in one.why)
    return next((Outcome(model, precision, architecture, budget, commit=one.commit, why=one.why) for one in known), None)


def table(outcomes: list[Outcome]) -> str:
    """What there is, a line per model and precision."""
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        groups[outcome.model, outcome.precision].append(outcome)
    lines = [
        "| step | precision | runs | pass + near | largest median | largest ratio | of | kernels in parts |",
        "|---|---|---:|---:|---:|---:|---|---:|",
    ]
    for (model, precision), group in sorted(groups.items()):
        judged = [outcome for outcome in group if not outcome.why]
        if not judged:
            lines.append(f"| `{model}` | {precision} | {len(group)} | 0 | | | {group[0].why} | |")
            continue
        worst = max(judged, key=lambda outcome: outcome.largest)
        lines.append(
            f"| `{model}` | {precision} | {len(group)} | {passes_and_near(group)} | "
            f"{max(outcome.median for outcome in judged):.2f} | {worst.largest:.2f} | {worst.architecture}, budget {worst.budget} | "
            f"{max(outcome.in_parts for outcome in judged)} of {judged[0].kernels} |"
        )
    commits = ", ".join(sorted({outcome.commit for outcome in outcomes}))
    passing, near = sum(outcome.passes for outcome in outcomes), sum(outcome.is_near for outcome in outcomes)
    refused = sum(NO_LOSS in outcome.why for outcome in outcomes)
    found = f"{passing} of {len(outcomes) - refused} runs pass and {near} are near"
    return "\n".join([*lines, "", f"{found}, with {commits}; {refused} more have no loss to scale."])


def main() -> int:
    """Runs what is missing, or prints the table."""
    parser = parser_of(__doc__, "gpu")
    parser.add_argument("--architectures", type=words, default=list(ARCHITECTURES), help=",".join(ARCHITECTURES))
    parser.add_argument("--precisions", type=words, default=list(FLOORS), help=",".join(FLOORS))
    parser.add_argument("--budgets", type=words, default=list(BUDGETS), help="none, M for the smallest, fractions between them")
    parser.add_argument("--outcomes", type=Path, default=OUTCOMES, help="file of outcomes (gpu_outcomes.jsonl beside this)")
    arguments = parsed(parser, precisions=list(FLOORS))
    record = Record(arguments.outcomes, Outcome)
    if arguments.table:
        print(table(list(record.known.values())))
        return 0
    for name in arguments.names:
        wanted = [(p, a, b) for p in arguments.precisions for a in arguments.architectures for b in arguments.budgets]
        missing = [each for each in wanted if (name, *each) not in record.known]
        model = Model(name, arguments.folder, arguments.build) if missing else None
        for each in missing:
            record.add(without_loss(record, name, *each) or judge(model, *each, commit()))
    ran = [outcome for key, outcome in record.known.items() if key[0] in arguments.names]
    return 0 if all(outcome.passes or NO_LOSS in outcome.why for outcome in ran) else 1


if __name__ == "__main__":
    sys.exit(main())
