"""One tensor of a loaded program: what it is, and its memory as an array without a copy where it has such."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tenon import dlpack, errors, native

_TYPES: dict[str, str] = {
    "F64": "float64", "F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool", "C64": "complex64", "C128": "complex128",
}  # fmt: skip
# Those that the package ml_dtypes adds to numpy.
_FURTHER_TYPES: dict[str, str] = {
    "BF16": "bfloat16", "I2": "int2", "I4": "int4", "U2": "uint2", "U4": "uint4", "F4_E2M1": "float4_e2m1fn",
    "F6_E2M3_BYTES": "float6_e2m3fn", "F6_E3M2_BYTES": "float6_e3m2fn", "F8_E3M4": "float8_e3m4",
    "F8_E4M3_IEEE": "float8_e4m3", "F8_E4M3": "float8_e4m3fn", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E4M3B11FNUZ": "float8_e4m3b11fnuz", "F8_E5M2": "float8_e5m2", "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip


def dtype_of(name: str) -> np.dtype:
    """The numpy type of a type as safetensors files spell it."""
    if name in _TYPES:
        return np.dtype(_TYPES[name])
    if further := _FURTHER_TYPES.get(name):
        try:
            import ml_dtypes
        except ImportError as error:
            raise errors.ArgumentError(f"{further} arrays need the package ml_dtypes") from error
        return np.dtype(getattr(ml_dtypes, further))
    raise errors.ArgumentError(f"there is no array type for '{name}'")


@dataclass(frozen=True)
class Tensor:
    """A tensor of a program's signature. `array` is its memory: reading and writing it needs no copy, and it stays
    valid as long as somebody holds it. Also offered through DLPack and numpy's array protocol. A tensor that the program
    holds in another form has no such memory: `array` says why, `read` and `write` copy. One in memory of a GPU is offered
    through DLPack alone."""

    index: int
    name: str
    role: str
    kind: str  # "state", "batch", "result", "entry_input" or "entry_result"
    argument: int | None  # position among the step's arguments
    result: int | None  # position among the step's results
    shape: tuple[int, ...]
    dtype: np.dtype
    memory: np.ndarray | dlpack.DeviceMemory | str  # or why there is none
    handle: Any = field(repr=False)  # of the program
    place: tuple[int, int] | None = field(repr=False)  # the GPU that the program runs on, and its stream

    @property
    def array(self) -> np.ndarray:
        """The memory; ArgumentError if the tensor cannot be used in place."""
        if isinstance(self.memory, str):
            raise errors.ArgumentError(self.memory)
        if isinstance(self.memory, dlpack.DeviceMemory):
            raise errors.ArgumentError(
                f"'{self.name}' lies in memory of GPU {self.memory.gpu}, of which numpy has no arrays; other libraries take it "
                "through DLPack, read() copies it"
            )
        return self.memory

    def read(self) -> np.ndarray:
        """A copy of the value."""
        copy = np.empty(self.shape, self.dtype)
        native.library().tenon_read(self.handle.pointer, self.index, copy.ctypes.data, copy.nbytes)
        return copy

    def fit(self, value: Any) -> np.ndarray | dlpack.DeviceMemory:
        """The value as an array, or as memory of the program's GPU if it lies there; raises unless it has the tensor's shape
        and type."""
        if dlpack.is_on_gpu(value):
            return dlpack.take(value, self.shape, self.dtype, self.place, self.name)
        given = np.asarray(value)
        if given.shape != self.shape or given.dtype != self.dtype:
            raise errors.ArgumentError(
                f"'{self.name}' is {describe(self.shape, self.dtype)}, given {describe(given.shape, given.dtype)}"
            )
        return given

    def write(self, value: Any) -> None:
        """Copies a value of the tensor's shape and type in, within the GPU if it lies there."""
        given = value if isinstance(value, dlpack.DeviceMemory) else self.fit(value)
        if isinstance(given, dlpack.DeviceMemory):
            native.library().tenon_write_from_device(self.handle.pointer, self.index, given.address, given.size)
            return
        given = np.ascontiguousarray(given)
        native.library().tenon_write(self.handle.pointer, self.index, given.ctypes.data, given.nbytes)

    def mark_written(self) -> None:
        """Says that `array` has been written in place, which cannot be seen otherwise. Once is enough."""
        native.library().tenon_mark_written(self.handle.pointer, self.index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """For numpy.asarray."""
        return np.asarray(self.read() if copy else self.array, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule of the memory itself. What the program has done with that has ended."""
        if isinstance(self.memory, dlpack.DeviceMemory):
            if options.get("copy") or options.get("dl_device") not in (None, self.__dlpack_device__()):
                raise BufferError(f"'{self.name}' is offered where it lies alone, in memory of GPU {self.memory.gpu}")
            return dlpack.offer(self.memory, self.shape, self.dtype)
        if self.dtype.name == "bfloat16":
            return dlpack.bfloat16_capsule(self.array)
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The processor's memory, or a GPU's."""
        return (dlpack.CUDA, self.memory.gpu) if isinstance(self.memory, dlpack.DeviceMemory) else (dlpack.CPU, 0)

    def __repr__(self) -> str:
        """Name, kind and type."""
        return f"Tensor({self.name!r}, {self.kind}, {self.role}, {describe(self.shape, self.dtype)})"


class Tensors(Mapping[str, Tensor]):
    """Tensors by canonical name, full path, `arg<i>` or `result<i>`; iterates over canonical names, and over `result<i>`
    for a result whose canonical name is also an argument's."""

    def __init__(self, tensors: list[Tensor], find: Any) -> None:
        self._tensors: dict[str, Tensor] = {}
        for tensor in sorted(tensors, key=lambda tensor: tensor.argument is None):
            key = f"result{tensor.result}" if tensor.name in self._tensors else tensor.name
            self._tensors[key] = tensor
        self._by_index = {tensor.index: tensor for tensor in tensors}
        self._find = find

    def __getitem__(self, name: str) -> Tensor:
        """KeyError for a name that no tensor here has."""
        if tensor := self._tensors.get(name):
            return tensor
        try:
            return self._by_index[self._find(name)]
        except (errors.ArgumentError, KeyError):
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        """In the order of the signature."""
        return iter(self._tensors)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._tensors)

    def __repr__(self) -> str:
        """One line per tensor."""
        return "\n".join(map(repr, self._tensors.values()))


def describe(shape: tuple[int, ...], dtype: np.dtype) -> str:
    """A shape and type as text: float32[2, 3]."""
    return f"{dtype.name}[{', '.join(map(str, shape))}]"
