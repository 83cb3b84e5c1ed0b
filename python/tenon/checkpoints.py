"""A folder of checkpoints, as `tenon run --checkpoints` writes them."""

from __future__ import annotations

import ctypes
import os
import warnings
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tenon import native
from tenon.program import Program


@dataclass(frozen=True)
class Position:
    """How far a run is."""

    step: int = 0  # complete steps
    batches: int = 0  # batches taken
    data: str | None = None  # the caller's own text


class Checkpoints:
    """Saves and loads a run's state, settings and position. One run at a time uses a folder; `close` lets it go."""

    def __init__(self, folder: str | os.PathLike[str], *, keep: int = 0) -> None:
        """Opens the folder, and makes it if it is missing. Of more than `keep` checkpoints the oldest are removed, 0 keeps all."""
        self._library = native.library()
        self._keep = keep
        self._pointer = ctypes.c_void_p()
        self._library.tenon_open_checkpoints(os.fsencode(folder), ctypes.byref(self._pointer))

    def newest(self) -> int | None:
        """The step of the newest checkpoint, None if there is none."""
        step = ctypes.c_int64()
        self._library.tenon_newest_checkpoint(self._pointer, ctypes.byref(step))
        return None if step.value < 0 else step.value

    def save(self, program: Program, position: Position) -> None:
        """Saves; the checkpoint is durable when this returns."""
        data = None if position.data is None else position.data.encode()
        stored = native.Position(ctypes.sizeof(native.Position), position.step, position.batches, data)
        self._library.tenon_save_checkpoint(self._pointer, program.pointer, ctypes.byref(stored), self._keep)

    def load(self, program: Program) -> Position:
        """Loads the newest checkpoint that is whole. What is damaged in newer ones, or why bits differ from here on, is a warning."""
        stored = native.Position(struct_size=ctypes.sizeof(native.Position))
        self._library.tenon_load_checkpoint(self._pointer, program.pointer, ctypes.byref(stored))
        for note in self._library.tenon_checkpoint_notes(self._pointer).decode(errors="replace").splitlines():
            warnings.warn(note, stacklevel=2)
        return Position(stored.step, stored.batches, None if stored.data is None else stored.data.decode())

    def close(self) -> None:
        """Lets another run use the folder."""
        if self._pointer:
            self._library.tenon_close_checkpoints(self._pointer)
            self._pointer = ctypes.c_void_p()

    def __enter__(self) -> Self:
        """For `with`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes."""
        self.close()

    def __del__(self) -> None:
        """Closes what nobody has closed."""
        if getattr(self, "_pointer", None):
            self.close()
