"""Tenon compiles whole training steps ahead of time and runs them.

`tenon.jax.compile` turns a JAX step into one that is called the same way, `tenon.jax.optimize` into one that stays in JAX; `tenon.load` runs a `.tenon` file that
`tenon compile` has written; `tenon.compile_file` runs that compiler.
"""

from __future__ import annotations

import importlib
from typing import Any

from tenon.checkpoints import Checkpoints, Position
from tenon.compiler import compile_file, optimize_file
from tenon.errors import (
    ArgumentError,
    BusyError,
    CompileError,
    FileError,
    InternalError,
    MachineError,
    OutOfMemoryError,
    RunError,
    StateError,
    TenonError,
)
from tenon.native import VERSION as __version__
from tenon.program import Program, aligned, load
from tenon.tensors import Tensor, Tensors
from tenon.training import train

__all__ = [
    "ArgumentError",
    "BusyError",
    "Checkpoints",
    "CompileError",
    "FileError",
    "InternalError",
    "MachineError",
    "OutOfMemoryError",
    "Position",
    "Program",
    "RunError",
    "StateError",
    "TenonError",
    "Tensor",
    "Tensors",
    "__version__",
    "aligned",
    "compile_file",
    "load",
    "optimize_file",
    "train",
]


def __getattr__(name: str) -> Any:
    """Imports `tenon.jax` when it is first used, because it needs JAX."""
    if name == "jax":
        return importlib.import_module("tenon.jax")
    raise AttributeError(f"module 'tenon' has no attribute '{name}'")
