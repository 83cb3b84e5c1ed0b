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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import replay64

# After how many steps states are looked at.
KEPT = (1, 5)

# The states of large steps are not kept.
MOST_BYTES = 64 << 20

# Where states are kept for other tests; conftest.py says so.
folder: Path | None = None


@contextlib.contextmanager
def one_at_a_time(name: Path) -> Iterator[None]:
    """Keeps other processes that run tests out, as long as the block runs."""
    name.parent.mkdir(parents=True, exist_ok=True)
    with name.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def replayed(text: str, info: dict, wide: bool, steps: int) -> tuple[list[Any], list[float]]:
    """The state after some steps, and the losses on the way; in float64 if `wide`."""
    if folder is None or steps not in KEPT:
        return replay64.run(replay64.widened(text) if wide else text, info, wide, steps)
    name = hashlib.sha256(json.dumps([text, info["args"], wide]).encode()).hexdigest()
    path = folder / f"{name}.pickle"
    with one_at_a_time(folder / f"{name}.lock"):
        if path.exists():
            states, losses = pickle.loads(path.read_bytes())
        else:
            states, losses = replay64.run_and_keep(replay64.widened(text) if wide else text, info, wide, KEPT)
            if sum(value.nbytes for state in states.values() for value in state) <= MOST_BYTES:
                path.write_bytes(pickle.dumps((states, losses)))
    return states[steps], losses[:steps]
