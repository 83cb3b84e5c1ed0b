"""Where the compiled parts are, and the functions of the runtime library's C interface.

An installed package has the tool and the library in its folder `native`. In a checkout they come from the build
folder: $TENON_BUILD, else build/dev, else build/release.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

from tenon import errors

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent

# Of this package, which works with runtime libraries of the same major and minor version.
VERSION = "0.2.0"

STATE, BATCH, RESULT, ENTRY_INPUT, ENTRY_RESULT = range(5)


class Options(ctypes.Structure):
    """tenon_options."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("prefault", ctypes.c_uint32),
        ("gpu", ctypes.c_uint32),
        ("cuda_driver", ctypes.c_char_p),
        ("cublaslt", ctypes.c_char_p),
        ("algorithm_cache", ctypes.c_char_p),
        ("cuda_stream", ctypes.c_void_p),
        ("tune", ctypes.c_uint32),
        ("ranks", ctypes.c_uint32),
    ]


class TensorInfo(ctypes.Structure):
    """tenon_tensor_info."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("kind", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("role", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_size_t),
        ("bytes", ctypes.c_uint64),
        ("argument", ctypes.c_int32),
        ("result", ctypes.c_int32),
    ]


class Position(ctypes.Structure):
    """tenon_position."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("step", ctypes.c_int64),
        ("batches", ctypes.c_int64),
        ("data", ctypes.c_char_p),
    ]


class Overflow(ctypes.Structure):
    """tenon_overflow."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("tensor", ctypes.c_char_p),
        ("elements", ctypes.c_int64),
    ]


_ERRORS: dict[int, type[errors.TenonError]] = {
    1: errors.FileError,
    2: errors.MachineError,
    3: errors.OutOfMemoryError,
    4: errors.ArgumentError,
    5: errors.RunError,
    6: errors.InternalError,
    7: errors.BusyError,
    8: errors.StateError,
}

_POINTER, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p

# Functions that return a status, with their parameters.
_FUNCTIONS: dict[str, tuple[type, ...]] = {
    "tenon_load": (_TEXT, ctypes.POINTER(Options), ctypes.POINTER(_POINTER)),
    "tenon_load_bytes": (_POINTER, _SIZE, ctypes.POINTER(Options), ctypes.POINTER(_POINTER)),
    "tenon_get_tensor": (_POINTER, _SIZE, ctypes.POINTER(TensorInfo)),
    "tenon_find_tensor": (_POINTER, _TEXT, ctypes.POINTER(_SIZE)),
    "tenon_write": (_POINTER, _SIZE, _POINTER, _SIZE),
    "tenon_read": (_POINTER, _SIZE, _POINTER, _SIZE),
    "tenon_data": (_POINTER, _SIZE, ctypes.POINTER(_POINTER)),
    "tenon_mark_written": (_POINTER, _SIZE),
    "tenon_bind": (_POINTER, _SIZE, _POINTER, _SIZE),
    "tenon_device_data": (_POINTER, _SIZE, ctypes.POINTER(_POINTER)),
    "tenon_bind_device": (_POINTER, _SIZE, _POINTER, _SIZE),
    "tenon_write_from_device": (_POINTER, _SIZE, _POINTER, _SIZE),
    "tenon_read_to_device": (_POINTER, _SIZE, _POINTER, _SIZE),
    "tenon_cuda_device": (_POINTER, ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(_POINTER)),
    "tenon_initialize_zeros": (_POINTER,),
    "tenon_run": (_POINTER, ctypes.c_int64),
    "tenon_run_entry": (_POINTER, _TEXT),
    "tenon_get_overflow": (_POINTER, _SIZE, ctypes.POINTER(Overflow)),
    "tenon_load_state": (_POINTER, _TEXT),
    "tenon_load_batch": (_POINTER, _TEXT),
    "tenon_load_arguments": (_POINTER, _TEXT),
    "tenon_save_state": (_POINTER, _TEXT),
    "tenon_save_results": (_POINTER, _TEXT),
    "tenon_set": (_POINTER, _TEXT, _TEXT),
    "tenon_schedule": (_POINTER, _TEXT, _TEXT),
    "tenon_apply_schedules": (_POINTER, ctypes.c_int64),
    "tenon_open_checkpoints": (_TEXT, ctypes.POINTER(_POINTER)),
    "tenon_newest_checkpoint": (_POINTER, ctypes.POINTER(ctypes.c_int64)),
    "tenon_save_checkpoint": (_POINTER, _POINTER, ctypes.POINTER(Position), _SIZE),
    "tenon_load_checkpoint": (_POINTER, _POINTER, ctypes.POINTER(Position)),
}


def find(installed: str, built: str) -> Path:
    """A compiled file by its name in an installation and its path in a build folder."""
    if given := os.environ.get("TENON_BUILD"):
        candidates = [Path(given) / built]
    else:
        builds = [_CHECKOUT / "build" / preset for preset in ("dev", "release")]
        candidates = [_PACKAGE / "native" / installed, *(build / built for build in builds)]
    for path in candidates:
        if path.is_file():
            return path
    raise errors.FileError(f"cannot find {installed}, looked for {', '.join(map(str, candidates))}; build Tenon first")


def tool() -> Path:
    """The command-line tool."""
    return find("tenon", "bin/tenon")


def _check_version(loaded: ctypes.CDLL, path: Path) -> None:
    """Raises unless the library has the functions and structs of this module."""
    loaded.tenon_version.restype = _TEXT
    version = loaded.tenon_version().decode()
    if version.split(".")[:2] != VERSION.split(".")[:2]:
        raise errors.MachineError(
            f"'{path}' is version {version} of the runtime library, the Python package is version {VERSION}; build Tenon "
            "again, or install package and library together"
        )


@functools.cache
def library() -> ctypes.CDLL:
    """The runtime library; its functions raise on any status but TENON_OK."""
    path = find("libtenon-runtime.so", "lib/libtenon-runtime.so")
    loaded = ctypes.CDLL(str(path))
    _check_version(loaded, path)
    loaded.tenon_error_message.restype = _TEXT
    loaded.tenon_checkpoint_notes.restype = _TEXT
    loaded.tenon_checkpoint_notes.argtypes = (_POINTER,)
    loaded.tenon_close_checkpoints.restype = None
    loaded.tenon_close_checkpoints.argtypes = (_POINTER,)
    loaded.tenon_tensor_count.restype = _SIZE
    loaded.tenon_tensor_count.argtypes = (_POINTER,)
    loaded.tenon_overflow_count.restype = _SIZE
    loaded.tenon_overflow_count.argtypes = (_POINTER,)
    loaded.tenon_unload.restype = ctypes.c_int
    loaded.tenon_unload.argtypes = (_POINTER,)

    def check(status: int, function: object, arguments: object) -> int:
        if status != 0:
            message = loaded.tenon_error_message().decode(errors="replace")
            raise _ERRORS.get(status, errors.InternalError)(message)
        return status

    for name, parameters in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype = ctypes.c_int
        function.argtypes = parameters
        function.errcheck = check
    return loaded
