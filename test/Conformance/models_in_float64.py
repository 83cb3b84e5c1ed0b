"""The models' training steps (test/EndToEnd/models, small sizes), held against what the same text gives in float64.

The error of a tensor is |x - x64| / |x64| in the Euclidean norm. It is divided by an error that is expected, or by a floor
if that is larger. A run passes if the median of its ratios is at most 2, none is above 8, and tensors of integers are equal.

Outcomes go to a file of JSON lines as they come, and a run that is there is not repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "test/EndToEnd/models"
sys.path[:0] = [str(ROOT / "test/EndToEnd"), str(MODELS)]

import compare
import numpy as np
import replay64
import replays
import steps
from safetensors.numpy import load_file, save_file

MOST_MEDIAN, MOST = 2, 8
# By which part a format rounds a number at most; of f32, in which arguments are, how far its neighbours are.
ROUNDING = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-23}
# In how many ways what a step starts from is moved by a rounding.
WAYS_NEARBY = 12
# Two of the generator's steps have a mesh of their own.
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


def ratios(errors: dict[str, float], expected: dict[str, float], floor: float) -> tuple[float, float, str]:
    """The median and the largest ratio of errors to expected ones, which count at least `floor`, and the tensor of the largest."""
    # Numbers that are not finite are as far off as can be.
    found = {name: error / max(expected[name], floor) if np.isfinite(error) else np.inf for name, error in errors.items()}
    tensor = max(found, key=found.__getitem__)
    return statistics.median(found.values()), found[tensor], tensor


@dataclass(kw_only=True)
class Judged:
    """What one run gave; classes derived from it say what was run."""

    commit: str
    why: str = ""  # it could not be judged; empty if it was
    median: float = 0.0
    largest: float = 0.0
    tensor: str = ""  # the one with the largest ratio
    differing: list[str] = field(default_factory=list)  # tensors of integers that are not equal
    seconds: float = 0.0
    # Ratios to the largest errors of what is nearby, of a run that fails by its numbers.
    nearby_median: float = 0.0
    nearby_largest: float = 0.0

    @property
    def key(self) -> tuple[Any, ...]:
        """What it is the outcome of."""
        raise NotImplementedError

    @property
    def passes(self) -> bool:
        """Whether the numbers are good enough."""
        return not self.why and not self.differing and self.median <= MOST_MEDIAN and self.largest <= MOST

    @property
    def is_near(self) -> bool:
        """Whether it fails as the step does that it is compared with, from numbers that are moved by a rounding."""
        judged = not (self.passes or self.why or self.differing)
        return judged and self.nearby_median <= MOST_MEDIAN and 0 < self.nearby_largest <= MOST

    @property
    def said(self) -> str:
        """The outcome in a line."""
        near = f"; nearby median {self.nearby_median:.2f}, largest {self.nearby_largest:.2f}" if self.nearby_largest else ""
        what = self.why or f"median {self.median:.2f}, largest {self.largest:.2f} ({self.tensor})"
        differing = f", other integers in {', '.join(self.differing)}" if self.differing else ""
        return f"{'pass' if self.passes else 'FAIL'}  {' '.join(map(str, self.key))}: {what}{differing}, {self.seconds} s{near}"

    def compare(self, errors: dict[str, float], expected: dict[str, float], floor: float, nearby: Callable[[], dict[str, float]]) -> None:
        """Sets the ratios of errors to expected ones, and if they are too large, those to the largest errors of what is nearby."""
        self.median, self.largest, self.tensor = ratios(errors, expected, floor)
        if not self.passes:
            self.nearby_median, self.nearby_largest, _ = ratios(errors, nearby(), floor)

    @contextlib.contextmanager
    def judging(self) -> Iterator[None]:
        """What ends the block is why there is no judgement."""
        begin = time.monotonic()
        try:
            yield
        except Refused as refusal:
            self.why = str(refusal)
        except subprocess.TimeoutExpired as slow:
            self.why = f"no end within {slow.timeout:.0f} s"
        self.seconds = round(time.monotonic() - begin, 1)


def passes_and_near(group: list[Any]) -> str:
    """How many of these outcomes pass, and how many are near."""
    near = sum(outcome.is_near for outcome in group)
    return f"{sum(outcome.passes for outcome in group)}{f' + {near}' if near else ''}"


class ExportedModel:
    """An exported step, with what it gives in float64 after so many steps."""

    def __init__(self, name: str, folder: Path, build: Path, count: int, batch: int | None = None) -> None:
        self.name, self.folder, self.build, self.count = name, folder, build, count
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / f"{name}.json").exists():
            options = [f"--batch={batch}"] if batch else []
            command = [sys.executable, MODELS / "generate.py", name, "--small", "--no-run", *options, "--out", folder]
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
        state, losses = replays.replayed((self.folder / f"{self.name}.mlir").read_text(), self.info, True, self.count)
        return [*state, np.array(losses[-1])]

    def values(self, program: Path, *options: object, inputs: Path | None = None, **variables: str) -> list[np.ndarray]:
        """The same as a compiled step gives it."""
        path = program.with_suffix(".safetensors")
        command = ("run", program, f"--inputs={inputs or self.inputs}", f"--steps={self.count}", f"--outputs={path}", *options)
        succeed(self.build, *command, **variables)
        results = load_file(path)
        # Those of all runs would be gigabytes.
        path.unlink()
        return [results[f"result{i}"] for i in range(len(self.state) + 1)]

    def nearby_values(self, program: Path, rounding: float, seed: int) -> list[np.ndarray]:
        """The same where each number that the step starts from is moved by such a part of it, up or down or not at all.

        What was added to the state is still there behind its updates and no error, so it is taken away again.
        """
        start = load_file(self.inputs)
        moved = dict(zip(start, replay64.moved(start.values(), rounding, seed), strict=True))
        inputs = program.with_suffix(".nearby.safetensors")
        save_file(moved, inputs)
        try:
            values = self.values(program, inputs=inputs)
        finally:
            inputs.unlink()
        names = iter([f"arg{i}" for i in range(len(start))])
        places = [(leaf["donated"], next(names) if leaf["in_main"] else None) for leaf in self.info["args"]]
        state = [name for is_state, name in places if is_state]
        for i, name in enumerate(state):
            if name and np.issubdtype(start[name].dtype, np.floating):
                values[i] = values[i] - (moved[name].astype(np.float64) - start[name])
        return values

    def errors_nearby(self, program: Path, rounding: float, errors: dict[str, float]) -> dict[str, float]:
        """The largest of these errors and of those that the step makes from numbers that are moved by a rounding."""
        largest = dict(errors)
        for seed in range(WAYS_NEARBY):
            other = self.errors(self.nearby_values(program, rounding, seed))[0]
            largest = {name: max(error, other[name]) for name, error in largest.items()}
        return largest

    def errors(self, values: list[np.ndarray]) -> tuple[dict[str, float], list[str]]:
        """The error of each tensor of numbers, and the others that are not equal."""
        errors = {}
        for name, x, exact in zip([*self.state, "loss"], values, self.exact, strict=True):
            if not has_error(exact):
                continue
            distance = np.linalg.norm((x.astype(np.float64) - exact).ravel())
            scale = np.linalg.norm(exact.ravel())
            errors[name] = float(distance / scale) if scale > 0 else float(distance)
        return errors, self.differing(values, self.exact)

    def differing(self, values: list[np.ndarray], expected: list[np.ndarray]) -> list[str]:
        """The tensors without numbers that have an error which are not as expected."""
        both = zip([*self.state, "loss"], values, expected, strict=True)
        return [name for name, x, y in both if not has_error(y) and not np.array_equal(x, y)]


def has_error(tensor: np.ndarray) -> bool:
    """Whether a tensor has numbers, and numbers that rounding changes."""
    return bool(np.issubdtype(tensor.dtype, np.floating) and tensor.size)


class Record:
    """A file of outcomes, of which the latest of each key counts."""

    def __init__(self, path: Path, kind: type[Judged]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {outcome.key: outcome for outcome in (kind(**json.loads(line)) for line in lines)}

    def add(self, outcome: Judged) -> None:
        """Writes and prints an outcome."""
        self.known[outcome.key] = outcome
        with self.path.open("a") as file:
            file.write(self.line(outcome))
        print(outcome.said, flush=True)

    def rewrite(self) -> None:
        """Leaves one line per key, in their order."""
        self.path.write_text("".join(self.line(self.known[key]) for key in sorted(self.known)))

    @staticmethod
    def line(outcome: Judged) -> str:
        """An outcome as text, without what says nothing."""
        return json.dumps({name: value for name, value in asdict(outcome).items() if value or name == "commit"}) + "\n"


def words(text: str) -> list[str]:
    """What commas separate."""
    return text.split(",")


def parser_of(description: str | None, folder: str) -> argparse.ArgumentParser:
    """What such commands share: the names of steps, the folders, and whether only to print."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES, help="steps by the generator's names (all for one device)")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build folder (build/dev)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/conformance" / folder, help="where files and outcomes go")
    parser.add_argument("--table", action="store_true", help="print what there is and run nothing")
    return parser


def parsed(parser: argparse.ArgumentParser, **allowed: list[str] | tuple[str, ...]) -> argparse.Namespace:
    """The arguments, of whose lists all words are allowed. What `replays` makes of texts is kept from now on."""
    arguments = parser.parse_args()
    replays.folder = arguments.folder / "replays"
    for option, known in {"names": NAMES, **allowed}.items():
        if unknown := set(getattr(arguments, option)) - set(known):
            parser.error(f"{option}: nothing is named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return arguments
