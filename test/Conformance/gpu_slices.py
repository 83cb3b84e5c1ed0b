"""What the slices of JAX's programs gave on the emulated GPU: gpu_programs.jsonl, a line per architecture and slice.

`run.py --target=sm_90` writes the line of a slice once all its programs have run, in place of what it said before.
"""

from __future__ import annotations

import collections
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

OUTCOMES = Path(__file__).with_name("gpu_programs.jsonl")
# How much of a reason the file keeps.
LONGEST = 160


@dataclass
class Slice:
    """What the programs of one slice gave on one architecture."""

    target: str
    slice: int
    commits: list[str]
    programs: int
    not_in_jax: int
    apart: int  # that call functions of LAPACK
    agree: int
    compiled: int
    in_parts: int  # programs with a kernel that has no fast schedule
    kernels: int
    kernels_in_parts: int
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int]:
        """The architecture's number and the slice."""
        return int(self.target.removeprefix("sm_")), self.slice


def known() -> dict[tuple[int, int], Slice]:
    """What the file says."""
    lines = OUTCOMES.read_text().splitlines() if OUTCOMES.exists() else []
    return {line.key: line for line in (Slice(**json.loads(text)) for text in lines)}


def summary(target: str, number: int, outcomes: dict[str, dict], apart: set[str]) -> Slice:
    """A slice's line, of the outcomes of all its programs by name; `apart` are those that are not judged."""
    run = {name: outcome for name, outcome in outcomes.items() if not outcome["reason"]}
    judged = {name: outcome for name, outcome in run.items() if name not in apart}
    compiled = [outcome for outcome in judged.values() if "kernels" in outcome]
    return Slice(
        target,
        number,
        sorted({outcome["commit"] for outcome in run.values()}),
        len(outcomes),
        len(outcomes) - len(run),
        len(run) - len(judged),
        sum(outcome["gpu"] == "ok" for outcome in judged.values()),
        len(compiled),
        sum(outcome["in_parts"] > 0 for outcome in compiled),
        sum(outcome["kernels"] for outcome in compiled),
        sum(outcome["in_parts"] for outcome in compiled),
        {name: outcome["gpu"][:LONGEST] for name, outcome in sorted(judged.items()) if outcome["gpu"] != "ok"},
    )


def record(target: str, outcomes: dict[str, dict], apart: set[str]) -> None:
    """Writes the lines of slices, of the outcomes of all their programs."""
    slices = collections.defaultdict(dict)
    for name, outcome in outcomes.items():
        slices[outcome["slice"]][name] = outcome
    lines = known()
    for number, group in slices.items():
        line = summary(target, number, group, apart)
        lines[line.key] = line
    OUTCOMES.write_text("".join(json.dumps(asdict(lines[key])) + "\n" for key in sorted(lines)))


def share(part: int, whole: int) -> str:
    """A part of a whole as a number and in percent."""
    return f"{part:,} of {whole:,} ({100 * part / max(1, whole):.2f} %)"


def table() -> str:
    """What there is, a line per architecture, and the programs that failed."""
    targets = collections.defaultdict(list)
    for line in known().values():
        targets[line.target].append(line)
    lines = [
        "| architecture | slices | agree | programs without a fast schedule | kernels without one | apart | with |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    failures: dict[str, str] = {}
    for target, group in targets.items():
        judged = sum(line.programs - line.not_in_jax - line.apart for line in group)
        kernels, in_parts = sum(line.kernels for line in group), sum(line.kernels_in_parts for line in group)
        commits = sorted({commit for line in group for commit in line.commits})
        lines.append(
            f"| `{target}` | {len(group)} | {share(sum(line.agree for line in group), judged)} | "
            f"{share(sum(line.in_parts for line in group), sum(line.compiled for line in group))} | {share(in_parts, kernels)} | "
            f"{sum(line.apart for line in group)} | {', '.join(commits)} |"
        )
        failures |= {f"{name} ({target})": why for line in group for name, why in line.failures.items()}
    return "\n".join([*lines, "", *(f"{name}: {why}" for name, why in sorted(failures.items()))])
