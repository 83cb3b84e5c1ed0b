"""DLPack, by which arrays of other libraries and tensors of a program share memory, also that of a GPU."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenon import errors

CPU, CUDA = 1, 2  # DLDeviceType
_NAME = b"dltensor"


class _Type(ctypes.Structure):
    """DLDataType of the DLPack specification."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_BFLOAT = 4
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # by the kind of a numpy type

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.restype, _is_capsule.argtypes = ctypes.c_int, (ctypes.c_void_p, ctypes.c_char_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def _type_of(dtype: np.dtype) -> tuple[int, int]:
    """Code and bits of a numpy type."""
    if dtype.name == "bfloat16":
        return _BFLOAT, 16
    if dtype.kind not in _CODES:
        raise errors.ArgumentError(f"DLPack has no type for {dtype}; read() copies the tensor")
    return _CODES[dtype.kind], dtype.itemsize * 8


def _name_of(code: int, bits: int) -> str:
    """What numpy calls a type."""
    names = {0: "int", 1: "uint", 2: "float", _BFLOAT: "bfloat", 5: "complex"}
    return "bool" if code == _CODES["b"] else f"{names.get(code, f'type {code} of ')}{bits}"


def bfloat16_capsule(array: np.ndarray) -> Any:
    """A capsule of an array that numpy itself cannot export: as integers, renamed."""
    capsule = array.view(np.uint16).__dlpack__()
    _Tensor.from_address(_pointer_of(id(capsule), _NAME)).dtype.code = _BFLOAT
    return capsule


def is_on_gpu(value: Any) -> bool:
    """Whether it is an array in memory of a GPU."""
    return hasattr(value, "__dlpack_device__") and int(value.__dlpack_device__()[0]) == CUDA


@dataclass(frozen=True)
class DeviceMemory:
    """Memory of a GPU, alive as long as somebody holds this object."""

    address: int
    size: int  # bytes
    gpu: int
    owner: Any


def take(value: Any, shape: tuple[int, ...], dtype: np.dtype, place: tuple[int, int] | None, name: str) -> DeviceMemory:
    """The memory of an array on a GPU, without a copy, for the tensor `name`; place: the GPU that the program runs on and the
    stream of its work.

    ArgumentError unless it is C-contiguous and of this shape and type, on this GPU.
    """
    device = int(value.__dlpack_device__()[1])
    if place is None:
        raise errors.ArgumentError(f"the array for '{name}' is on GPU {device}, the program runs on a processor")
    gpu, stream = place
    if device != gpu:
        raise errors.ArgumentError(f"the array for '{name}' is on GPU {device}, the program runs on GPU {gpu}")
    capsule = value.__dlpack__(stream=stream)
    tensor = _Tensor.from_address(_pointer_of(id(capsule), _NAME))
    extents = tuple(tensor.shape[: tensor.ndim])
    if extents != shape or (tensor.dtype.code, tensor.dtype.bits) != _type_of(dtype) or tensor.dtype.lanes != 1:
        given = f"{_name_of(tensor.dtype.code, tensor.dtype.bits)}[{', '.join(map(str, extents))}]"
        raise errors.ArgumentError(f"'{name}' is {dtype}[{', '.join(map(str, shape))}], given {given}")
    step = 1
    for extent, stride in zip(reversed(extents), reversed(tensor.strides[: tensor.ndim]) if tensor.strides else ()):
        if extent > 1 and stride != step:
            raise errors.ArgumentError(f"the array for '{name}' must be C-contiguous; make it so first")
        step *= extent
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return DeviceMemory((tensor.data or 0) + tensor.byte_offset, size, gpu, capsule)


# What capsules that were handed out point to, until their last user lets go of it.
_offered: dict[int, Any] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _release(managed: int) -> None:
    """The deleter of what was offered."""
    _offered.pop(managed, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule: int) -> None:
    """Ends a capsule that nobody has taken; who takes it renames it."""
    if _is_capsule(capsule, _NAME):
        _release(_pointer_of(capsule, _NAME))


def offer(memory: DeviceMemory, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """A capsule of memory of a GPU."""
    code, bits = _type_of(dtype)
    extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    managed = _Managed()
    managed.tensor = _Tensor(
        memory.address,
        CUDA,
        memory.gpu,
        len(shape),
        _Type(code, bits, 1),
        ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64)),
    )
    managed.deleter = ctypes.cast(_release, ctypes.c_void_p)
    _offered[ctypes.addressof(managed)] = (managed, extents, memory)
    return _new_capsule(ctypes.addressof(managed), _NAME, ctypes.cast(_drop_capsule, ctypes.c_void_p))
