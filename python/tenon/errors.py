"""The exceptions that Tenon raises; each carries the message that the compiler or the runtime gave."""

from __future__ import annotations


class TenonError(Exception):
    """The base of all."""


class CompileError(TenonError):
    """A step could not be compiled.

    `exit_code` is the tool's: 1 wrong input, 3 no plan within the limit, 4 unsupported operation, 70 internal error.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class FileError(TenonError, OSError):
    """A file is missing, unreadable, damaged or cannot be written."""


class MachineError(TenonError):
    """This processor or its libraries cannot run the file."""


class OutOfMemoryError(TenonError, MemoryError):
    """There is not enough memory."""


class ArgumentError(TenonError, ValueError):
    """A name, size, shape or type that does not fit the program."""


class RunError(TenonError):
    """A library call failed while a step ran."""


class BusyError(TenonError):
    """Another thread is using the program."""


class StateError(TenonError):
    """State or a batch tensor has no value: it was never given one, or a failed step may have written a part of it."""


class InternalError(TenonError):
    """A fault of Tenon's."""
