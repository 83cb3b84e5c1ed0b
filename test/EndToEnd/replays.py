"""What XLA makes of the text of a step, as it is and in float64: compiled once for all tests of a run.

Compiling a step for XLA takes as long as everything else that a test does with it, and several tests hold Tenon against
the same states.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import replay64
import xla

# After how many steps states are looked at: models, and steps of several ranks.
KEPT = (1, 3, 5)

# The results of large steps are not kept.
MOST_BYTES = 96 << 20

# Where results are kept for other tests; conftest.py says so.
folder: Path | None = None


@contextlib.contextmanager
def one_at_a_time(name: Path) -> Iterator[None]:
    """Keeps other processes that run tests out, as long as the block runs."""
    name.parent.mkdir(parents=True, exist_ok=True)
    with name.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Replay:
    """What XLA makes of a text: the results after the steps of KEPT, and the losses on the way."""

    results: dict[int, list[Any]]
    losses: list[float]


@dataclass(frozen=True)
class Original(Replay):
    """The same of a text as it is, with the memory that it needs and the dots and convolutions in the optimised module."""

    argument_bytes: int
    result_bytes: int
    temporary_bytes: int
    contractions: int


Kind = TypeVar("Kind", bound=Replay)


def kept(kind: type[Kind], text: str, info: dict, make: Callable[[], Kind]) -> Kind:
    """What was made of a text for another test, or else is made now and kept for others."""
    if folder is None:
        return make()
    name = hashlib.sha256(json.dumps([kind.__name__, text, info["args"]]).encode()).hexdigest()
    path = folder / f"{name}.pickle"
    with one_at_a_time(folder / f"{name}.lock"):
        if path.exists():
            return pickle.loads(path.read_bytes())
        made = make()
        if sum(value.nbytes for results in made.results.values() for value in results) <= MOST_BYTES:
            path.write_bytes(pickle.dumps(made))
    return made


def original(text: str, info: dict) -> Original:
    """What XLA makes of a text as it is."""

    def make() -> Original:
        step = xla.XlaStep(text)
        memory = step.argument_bytes, step.result_bytes, step.temporary_bytes
        return Original(*xla.run_and_keep(step, info, KEPT), *memory, step.contractions())

    return kept(Original, text, info, make)


def replayed(text: str, info: dict, wide: bool, steps: int) -> tuple[list[Any], list[float]]:
    """The state after some steps, and the losses on the way; in float64 if `wide`."""
    if steps not in KEPT:
        return replay64.run(replay64.widened(text) if wide else text, info, wide, steps)
    if wide:
        replay = kept(Replay, text, info, lambda: Replay(*replay64.run_and_keep(replay64.widened(text), info, True, KEPT)))
    else:
        replay = original(text, info)
    return replay.results[steps][: sum(leaf["donated"] for leaf in info["args"])], replay.losses[:steps]
