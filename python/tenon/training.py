"""Runs that take batches from an iterator, and go on where they were stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tenon import errors
from tenon.checkpoints import Checkpoints, Position
from tenon.program import Program


def _cursor(batches: Any) -> str | None:
    """What `batches` say of where they are, as text; None if they say nothing."""
    if not hasattr(batches, "state_dict"):
        return None
    try:
        return json.dumps(batches.state_dict())
    except (TypeError, ValueError) as error:
        raise errors.ArgumentError(f"the state_dict() of the batches cannot be saved as JSON: {error}") from error


def _go_on(batches: Any, position: Position) -> Iterator[Any]:
    """The batches from a position on."""
    if position.data is not None:
        if not hasattr(batches, "load_state_dict"):
            raise errors.ArgumentError(
                "the checkpoint holds the state_dict() of the batches, these batches have no load_state_dict()"
            )
        batches.load_state_dict(json.loads(position.data))
        return iter(batches)
    iterator = iter(batches)
    for count in range(position.batches):
        try:
            next(iterator)
        except StopIteration:
            raise errors.ArgumentError(
                f"the batches end after {count}, the checkpoint was written after {position.batches}"
            ) from None
    return iterator


def train(
    program: Program,
    batches: Iterable[Any],
    *,
    until: int | None = None,
    settings: Mapping[str, float] | None = None,
    schedules: Mapping[str, str] | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    save_every: int = 0,
    keep: int = 0,
    resume: bool = False,
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Runs a step per batch, and yields after each the number of complete steps and the results, as `Program.run` gives them.

    batches: any iterable of batches, each a tuple in the order of the signature, a mapping by name, or the one array. The run
    ends where it ends, or after step `until`, counted over all resumed runs.
    settings, schedules: as `--set` and `--schedule` of `tenon run`.
    checkpoints: a folder to save to, before the first step, every `save_every` steps and at the end; `keep` the newest ones.
    resume: go on from the newest checkpoint, if there is one. `batches` that have `state_dict` and `load_state_dict` go on
    where they were, which must be JSON; of others as many are taken and left out as the run had taken.

    A run that is left (with `break`, or by an exception) is saved where it was saved last.
    """
    if checkpoints is None and (resume or save_every or keep):
        raise errors.ArgumentError("resume, save_every and keep are about checkpoints; give the folder of these")
    for name, value in (settings or {}).items():
        program.set(name, value)
    for name, schedule in (schedules or {}).items():
        program.schedule(name, schedule)
    if checkpoints is None:
        yield from _steps(program, batches, Position(), until, None, 0)
        return
    with Checkpoints(checkpoints, keep=keep) as folder:
        position = Position()
        if folder.newest() is not None:
            if not resume:
                raise errors.ArgumentError(
                    f"'{os.fspath(checkpoints)}' holds checkpoints already; go on from the newest with resume=True, or give another folder"
                )
            position = folder.load(program)
            # What the caller says is newer than what the checkpoint holds.
            for name, value in (settings or {}).items():
                program.set(name, value)
            for name, schedule in (schedules or {}).items():
                program.schedule(name, schedule)
        else:
            # What would fail later fails now.
            folder.save(program, Position(0, 0, _cursor(batches)))
        yield from _steps(program, batches, position, until, folder, save_every)


def _steps(
    program: Program, batches: Any, position: Position, until: int | None, folder: Checkpoints | None, save_every: int
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """The steps from a position on, each saved when its turn comes."""
    saved = step = position.step
    taken = position.batches
    if until is None or step < until:
        iterator = _go_on(batches, position)
        # Where the iterator itself knows its place, that is what is asked.
        source = batches if hasattr(batches, "state_dict") else iterator
        while until is None or step < until:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            program.apply_schedules(step)
            if isinstance(batch, Mapping):
                results = program.run(**batch)
            else:
                results = program.run(*(batch if isinstance(batch, (tuple, list)) else (batch,)))
            step, taken = step + 1, taken + 1
            if folder is not None and save_every and step % save_every == 0:
                folder.save(program, Position(step, taken, _cursor(source)))
                saved = step
            yield step, results
    else:
        source = batches
    if folder is not None and saved != step:
        folder.save(program, Position(step, taken, _cursor(source)))
