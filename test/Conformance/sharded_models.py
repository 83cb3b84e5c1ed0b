#!/usr/bin/env python3
"""Runs the models' training steps on ranks and holds their numbers against float64.

Each step (test/EndToEnd/models, small sizes) is compiled for each mesh under several plans: the one that the compiler
chooses; the batch along `data`; Megatron's columns and rows; all state cut over all ranks; experts along an axis; and
every argument cut by chance, three times. Its batch has 8 rows, which all meshes cut evenly, or 11, which none does.
Three steps run on ranks that are threads.

The error of a tensor is |x - x64| / |x64| in the Euclidean norm, where x64 is what the same text gives in float64. It is
divided by the error of the step on one rank, or by 1e-6 if that is larger. A run passes if the median of its ratios is at
most 2, none is above 8, and tensors of integers, among them the keys of random bits, are equal. Kinds and number of
collectives under plans of people and by chance have to be those of sharded_collectives.json, where they stand there.

A step can be such that one rounding decides about much more: a number in front of a ReLU is on the other side of zero. So
what fails is compared once more, with the largest errors of the step on one rank when each number that it starts from is
moved by one rounding, in a few ways by chance. It has still failed; but what is as near as these is told from what is not.

Outcomes go to sharded_outcomes.jsonl as they come, and a run that is there is not repeated.

    python test/Conformance/sharded_models.py                                   # all that is missing
    python test/Conformance/sharded_models.py 01_mlp --meshes data=8 --batches 11    # some of it
    python test/Conformance/sharded_models.py --again                           # what failed, once more
    python test/Conformance/sharded_models.py --table                           # what there is, for docs/Conformance.md
    python test/Conformance/sharded_models.py --keep-collectives                # those of runs that pass are what is expected,
                                                                                # and the outcomes are put in order
"""

from __future__ import annotations

import functools
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "EndToEnd"))

import plans_of_people as people
from models_in_float64 import (
    NAMES,
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

# What an error of one rank counts at least: its sums may be lucky, those of several are in another order.
FLOOR = 1e-6
STEPS = 3
MESHES = ("data=2", "data=4", "data=8", "data=2,model=2", "data=2,model=4")
RANDOM = ("random 1", "random 2", "random 3")
PLANS = ("chosen", "batch", "Megatron", "fully sharded", "experts", *RANDOM)
BATCHES = ("8", "11")
# Rounding does not depend on the processor that runs this.
CPU = "--cpu=x86-64-v3"
EXPECTED = Path(__file__).with_name("sharded_collectives.json")
OUTCOMES = Path(__file__).with_name("sharded_outcomes.jsonl")


@dataclass
class Outcome(Judged):
    """What one run gave."""

    model: str
    batch: str
    mesh: str
    plan: str
    collectives: dict[str, int] = field(default_factory=dict)  # as the partitioner wrote them, if none are expected

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is the outcome of."""
        return self.model, self.batch, self.mesh, self.plan


def plans_for(model: str) -> list[str]:
    """Those that are for the step."""
    rules = {"Megatron": people.MEGATRON, "experts": people.EXPERTS}
    return [plan for plan in PLANS if plan not in rules or model in rules[plan]]


def grid(names: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """The keys of all runs of some steps."""
    for name in names:
        for batch in BATCHES:
            for mesh in MESHES:
                for plan in plans_for(name):
                    yield name, batch, mesh, plan


class Model(ExportedModel):
    """An exported step of so many rows, with what it gives in float64 and on one rank."""

    def __init__(self, name: str, batch: str, folder: Path, build: Path) -> None:
        super().__init__(name, folder / f"{name}.{batch}", build, STEPS, batch=int(batch))
        self.batch = batch

    @functools.cached_property
    def arguments(self) -> list[people.Argument]:
        """Those of @main."""
        return people.arguments_of(self.build / "bin/tenon", self.text, self.folder / f"{self.name}.json")

    @functools.cached_property
    def errors_of_one_rank(self) -> dict[str, float]:
        """The errors of the step without a mesh."""
        program = self.folder / "one.tenon"
        succeed(self.build, "compile", self.text, CPU, "-o", program)
        return self.errors(self.values(program))[0]

    @functools.cached_property
    def most_errors(self) -> dict[str, float]:
        """The largest errors of the step without a mesh, also when what it starts from is moved by a rounding of its narrowest format."""
        text = self.text.read_text()
        rounding = next((unit for name, unit in ROUNDING.items() if re.search(rf"[x<]{name}>", text)), ROUNDING["f32"])
        return self.errors_nearby(self.folder / "one.tenon", rounding, self.errors_of_one_rank)

    def layouts(self, mesh: str, plan: str) -> list[str]:
        """The lines of a plan."""
        if plan in RANDOM:
            return people.random_lines([argument.shape for argument in self.arguments], mesh, int(plan.split()[1]))
        sizes = people.sizes_of(mesh)
        batch = people.batch_lines(self.arguments, "data", int(self.batch))
        if plan == "fully sharded":
            state = ("parameter", "optimizer_state", "buffer")
            return batch + people.state_lines(self.arguments, " ".join(sizes), math.prod(sizes.values()), *state)
        # On one axis all ranks cut the parameters, and experts lie where the batch does.
        axis = "model" if "model" in sizes else "data"
        if plan == "Megatron":
            return batch * ("model" in sizes) + people.lines_by_name(self.arguments, people.MEGATRON[self.name], axis)
        return batch + (people.lines_by_name(self.arguments, people.EXPERTS[self.name], axis) if plan == "experts" else [])


@functools.cache
def expected_collectives() -> dict[str, dict[str, int]]:
    """Kinds and number of collectives, by the words of a key."""
    return json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}


def keep_collectives(outcomes: Iterable[Outcome]) -> None:
    """Expects from now on those of runs that pass. What the compiler chooses follows its prices, and is left out."""
    found = {" ".join(each.key): each.collectives for each in outcomes if each.passes and each.plan != "chosen" and each.collectives}
    lines = [f"{json.dumps(key)}: {json.dumps(counts)}" for key, counts in sorted({**expected_collectives(), **found}.items())]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def judge(model: Model, mesh: str, plan: str, commit: str) -> Outcome:
    """Compiles, runs and judges."""
    outcome = Outcome(model.name, model.batch, mesh, plan, commit=commit)
    stem = f"{mesh}.{plan}".replace(" ", "-")
    program, layouts, report = (model.folder / f"{stem}.{suffix}" for suffix in ("tenon", "layouts", "json"))
    with outcome.judging():
        options = [f"--mesh={mesh}", "--verify-forms", CPU, f"--report={report}"]
        if plan != "chosen":
            layouts.write_text("\n".join(model.layouts(mesh, plan)) + "\n")
            options.append(f"--sharding={layouts}")
        succeed(model.build, "compile", model.text, *options, "-o", program)
        (shard,) = [stage for stage in json.loads(report.read_text())["stages"] if stage["stage"] == "shard"]
        outcome.collectives = shard["collectives"]
        values = model.values(program, f"--ranks={math.prod(people.sizes_of(mesh).values())}", "--threads=1")
        errors, outcome.differing = model.errors(values)
        outcome.compare(errors, model.errors_of_one_rank, FLOOR, lambda: model.most_errors)
        expected = expected_collectives().get(" ".join(outcome.key), outcome.collectives)
        if outcome.collectives != expected:
            raise Refused(f"its collectives are {outcome.collectives}, not {expected}")
        outcome.collectives = outcome.collectives if " ".join(outcome.key) not in expected_collectives() else {}
    # Files of all runs would be many.
    program.unlink(missing_ok=True)
    return outcome


def table(outcomes: list[Outcome]) -> str:
    """What there is, a line per step: for each plan how many of the runs pass + are near, and how many runs are open."""
    columns = {plan: plan for plan in PLANS} | dict.fromkeys(RANDOM, "by chance")
    titles = list(dict.fromkeys(columns.values()))
    lines = [
        f"| step | {' | '.join(titles)} | open | largest median | largest ratio | of |",
        f"|---|{'---:|' * len(titles)}---:|---:|---:|---|",
    ]
    total = len(list(grid(NAMES)))
    for model in NAMES:
        group = [outcome for outcome in outcomes if outcome.model == model]
        cells = []
        for title in titles:
            runs = [outcome for outcome in group if columns[outcome.plan] == title]
            cells.append(f"{passes_and_near(runs)} of {len(runs)}" if runs else "")
        cells.append(str(len(list(grid([model]))) - len(group)))
        judged = [outcome for outcome in group if not outcome.why]
        if judged:
            worst = max(judged, key=lambda outcome: outcome.largest)
            where = f"{worst.mesh}, {worst.plan}, {worst.batch} rows: `{worst.tensor}`"
            cells += [f"{max(outcome.median for outcome in judged):.2f}", f"{worst.largest:.2f}", where]
        else:
            cells += ["", "", ""]
        lines.append(f"| `{model}` | {' | '.join(cells)} |")
    commits = ", ".join(sorted({outcome.commit for outcome in outcomes}))
    passing, near = sum(outcome.passes for outcome in outcomes), sum(outcome.is_near for outcome in outcomes)
    found = f"{passing} of {len(outcomes)} runs pass and {near} are near"
    return "\n".join([*lines, "", f"{found}, with {commits}; {total - len(outcomes)} of {total} are open."])


def main() -> int:
    """Runs what is missing, or prints the table."""
    parser = parser_of(__doc__, "sharded")
    parser.add_argument("--meshes", nargs="+", default=MESHES, help="; ".join(MESHES))
    parser.add_argument("--plans", type=words, default=PLANS, help=",".join(PLANS))
    parser.add_argument("--batches", type=words, default=BATCHES, help=",".join(BATCHES))
    parser.add_argument("--outcomes", type=Path, default=OUTCOMES, help="file of outcomes (sharded_outcomes.jsonl beside this)")
    parser.add_argument("--again", action="store_true", help="repeat what failed")
    parser.add_argument("--keep-collectives", action="store_true", help="expect the collectives of runs that pass, and run nothing")
    arguments = parsed(parser, meshes=MESHES, plans=PLANS, batches=BATCHES)
    record = Record(arguments.outcomes, Outcome)
    outcomes = list(record.known.values())
    if arguments.table:
        print(table(outcomes))
    if arguments.keep_collectives:
        keep_collectives(outcomes)
        record.rewrite()
    if arguments.table or arguments.keep_collectives:
        return 0
    wanted = [
        key for key in grid(arguments.names) if key[1] in arguments.batches and key[2] in arguments.meshes and key[3] in arguments.plans
    ]
    model: Model | None = None
    for key in wanted:
        known = record.known.get(key)
        if known and (known.passes or not arguments.again):
            continue
        name, batch, mesh, plan = key
        if not model or (model.name, model.batch) != (name, batch):
            model = Model(name, batch, arguments.folder, arguments.build)
        record.add(judge(model, mesh, plan, commit()))
    return 0 if all(record.known[key].passes for key in wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
