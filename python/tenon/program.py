"""A loaded `.tenon` file: its tensors, its state, and steps that run on them."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from tenon import dlpack, errors, native
from tenon.tensors import Tensor, Tensors, describe, dtype_of

_KINDS = {
    native.STATE: "state",
    native.BATCH: "batch",
    native.RESULT: "result",
    native.ENTRY_INPUT: "entry_input",
    native.ENTRY_RESULT: "entry_result",
}
_ALIGNMENT = 64


class _Handle:
    """Owns a tenon_program; every array over its memory holds it."""

    def __init__(self, pointer: ctypes.c_void_p) -> None:
        self.pointer = pointer

    def __del__(self) -> None:
        if self.pointer:
            native.library().tenon_unload(self.pointer)


class Program:
    """A training step that runs.

    One thread at a time may use it, another one gets tenon.BusyError; several programs are independent. A step runs once
    all state and the batch have a value: from a file, `Tensor.write`, `bind` or `initialize_zeros`. Before, and when a
    step has failed half way, it raises tenon.StateError.
    """

    def __init__(self, handle: _Handle) -> None:
        self._library = native.library()
        self._handle = handle
        self._pointer = handle.pointer
        self._bound: dict[int, np.ndarray | dlpack.DeviceMemory] = {}
        self._place = self._find_place()
        self._set: set[int] = set()  # settings that have a value of their own
        self._refresh()

    # What it has.

    @property
    def pointer(self) -> ctypes.c_void_p:
        """The tenon_program of the C interface, valid as long as this object."""
        return self._pointer

    @property
    def tensors(self) -> Tensors:
        """All tensors of the signature: arguments in order, then results that are no state, then those of entry points."""
        return self._tensors

    @property
    def state(self) -> Tensors:
        """What is carried from step to step."""
        return self._of_kind("state")

    @property
    def batch(self) -> Tensors:
        """What the caller gives for a step."""
        return self._of_kind("batch")

    @property
    def results(self) -> Tensors:
        """What a step makes that is no state. The next step overwrites it."""
        return self._of_kind("result")

    @property
    def entries(self) -> list[str]:
        """The entry points beside the step, which `run_entry` runs."""
        of_entries = (*self._of_kind("entry_input"), *self._of_kind("entry_result"))
        return list(dict.fromkeys(name.split(".")[0] for name in of_entries))

    @property
    def overflows(self) -> dict[str, int]:
        """How many elements of each f16 tensor that may overflow were infinite, over all steps since the state was
        initialized. Only programs that were compiled with precision="f16" have such tensors.
        """
        counts = {}
        for number in range(self._library.tenon_overflow_count(self._pointer)):
            found = native.Overflow(struct_size=ctypes.sizeof(native.Overflow))
            self._library.tenon_get_overflow(self._pointer, number, ctypes.byref(found))
            counts[found.tensor.decode()] = found.elements
        return counts

    # What it does.

    def run(self, *batch: Any, steps: int = 1, **named: Any) -> dict[str, np.ndarray]:
        """Runs steps and returns copies of the results that are no state, by canonical name.

        The batch is given in the order of the signature, by name, or not at all to use what is in its memory already:
        all of it or nothing, since a part would be paired with what an earlier call gave. Settings that `set` or `schedule`
        gave a value are not part of it.
        """
        tensors = [tensor for tensor in self.batch.values() if tensor.index not in self._set]
        if len(batch) > len(tensors):
            raise errors.ArgumentError(f"the step takes {len(tensors)} batch tensors, given {len(batch)}")
        given = {tensor.index: (tensor, value) for tensor, value in zip(tensors, batch, strict=False)}
        for name, value in named.items():
            if name not in self.batch:
                raise errors.ArgumentError(f"there is no batch tensor '{name}', there are {', '.join(self.batch)}")
            tensor = self.batch[name]
            if tensor.index in given:
                raise errors.ArgumentError(f"batch tensor '{name}' is given twice")
            given[tensor.index] = (tensor, value)
        if missing := [tensor.name for tensor in tensors if given and tensor.index not in given]:
            raise errors.ArgumentError(
                f"the batch lacks {', '.join(missing)}; give all of it, or write single tensors with batch[name].write"
            )
        checked = [(tensor, tensor.fit(value)) for tensor, value in given.values()]
        for tensor, value in checked:
            tensor.write(value)
        self.step(steps)
        return {name: tensor.read() for name, tensor in self.results.items()}

    def step(self, steps: int = 1) -> None:
        """Runs steps on what is in memory, without touching anything else.

        tenon.RunError if a library call fails, with the call, what the library said and the step. The state is half
        written then: load it again.
        """
        self._library.tenon_run(self._pointer, steps)

    def run_entry(self, entry: str, *inputs: Any, **named: Any) -> dict[str, np.ndarray]:
        """Runs an entry point beside the step, such as "eval", and returns copies of its results.

        Inputs are given in the order of its signature or by name, results come by name, both without the name of the entry
        point. It reads the state as it is and changes none.
        """
        if entry not in self.entries:
            raise errors.ArgumentError(f"there is no entry point '{entry}', there are: {', '.join(self.entries)}")
        takes = self._of_entry(entry, "entry_input")
        if len(inputs) > len(takes):
            raise errors.ArgumentError(f"'{entry}' takes {len(takes)} inputs, given {len(inputs)}")
        given = dict(zip(takes, inputs, strict=False))
        if twice := [name for name in named if name in given]:
            raise errors.ArgumentError(f"input '{twice[0]}' is given twice")
        given |= named
        if given.keys() != takes.keys():
            raise errors.ArgumentError(f"'{entry}' takes {', '.join(takes)}, given {', '.join(given) or 'nothing'}")
        checked = [(takes[name], takes[name].fit(value)) for name, value in given.items()]
        for tensor, value in checked:
            tensor.write(value)
        self._library.tenon_run_entry(self._pointer, entry.encode())
        return {name: tensor.read() for name, tensor in self._of_entry(entry, "entry_result").items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the state as a safetensors file, so that `path` is the old file or the whole new one."""
        self._library.tenon_save_state(self._pointer, os.fsencode(path))

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """Reads all state from a safetensors file; nothing changes if any tensor is missing or does not fit."""
        self._library.tenon_load_state(self._pointer, os.fsencode(path))

    def load_batch(self, path: str | os.PathLike[str]) -> None:
        """Reads a whole batch from a safetensors file, in the same way."""
        self._library.tenon_load_batch(self._pointer, os.fsencode(path))

    def initialize_zeros(self) -> None:
        """Sets all state to zero. What is loaded or written afterwards replaces it."""
        self._library.tenon_initialize_zeros(self._pointer)

    def load_arguments(self, path: str | os.PathLike[str]) -> None:
        """Reads those arguments, state or batch, that a safetensors file holds."""
        self._library.tenon_load_arguments(self._pointer, os.fsencode(path))

    def set(self, name: str, value: float) -> None:
        """Gives a setting, a scalar argument with the role hyper_parameter, a value, and ends its schedule."""
        self._library.tenon_set(self._pointer, name.encode(), str(value).encode())
        self._set.add(self.tensors[name].index)

    def schedule(self, name: str, schedule: str) -> None:
        """Gives a setting a schedule as `tenon run --schedule` takes it, such as "cosine:steps=1000"."""
        self._library.tenon_schedule(self._pointer, name.encode(), schedule.encode())
        self._set.add(self.tensors[name].index)

    def apply_schedules(self, step: int) -> None:
        """Gives settings the values that their schedules have in a step, counted from 0."""
        self._library.tenon_apply_schedules(self._pointer, step)

    def bind(self, name: str, array: Any) -> None:
        """Lets a tensor live in an array's memory from now on, without copying; None goes back to the program's, where the
        tensor has no value until it is written.

        The array must be C-contiguous, writable, of the tensor's shape and type, and start at a multiple of 64 bytes. For a
        program on a GPU it is one of any library that has DLPack, in that GPU's memory.
        """
        tensor = self.tensors[name]
        if array is None:
            self._library.tenon_bind(self._pointer, tensor.index, None, 0)
        elif dlpack.is_on_gpu(array):
            array = dlpack.take(array, tensor.shape, tensor.dtype, self._place, name)
            self._library.tenon_bind_device(self._pointer, tensor.index, array.address, array.size)
        else:
            if array.shape != tensor.shape or array.dtype != tensor.dtype:
                raise errors.ArgumentError(
                    f"'{name}' is {describe(tensor.shape, tensor.dtype)}, given {describe(array.shape, array.dtype)}"
                )
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise errors.ArgumentError(f"the array for '{name}' must be C-contiguous and writable")
            self._library.tenon_bind(self._pointer, tensor.index, array.ctypes.data, array.nbytes)
        # The old array, if any, is let go only now.
        self._bound.pop(tensor.index, None)
        if array is not None:
            self._bound[tensor.index] = array
        self._refresh()

    # How it is put together.

    def _refresh(self) -> None:
        count = self._library.tenon_tensor_count(self._pointer)
        self._list = [self._describe(index) for index in range(count)]
        self._tensors = Tensors(self._list, self._find)
        self._kinds = {
            kind: Tensors([tensor for tensor in self._list if tensor.kind == kind], self._find)
            for kind in _KINDS.values()
        }

    def _of_kind(self, kind: str) -> Tensors:
        return self._kinds[kind]

    def _of_entry(self, entry: str, kind: str) -> dict[str, Tensor]:
        """The tensors of one entry point, by their names without its own."""
        prefix = f"{entry}."
        return {
            name.removeprefix(prefix): tensor for name, tensor in self._of_kind(kind).items() if name.startswith(prefix)
        }

    def _find_place(self) -> tuple[int, int] | None:
        """The GPU that the program runs on and the stream of its work; None on a processor."""
        gpu, stream = ctypes.c_uint32(), ctypes.c_void_p()
        try:
            self._library.tenon_cuda_device(self._pointer, ctypes.byref(gpu), ctypes.byref(stream))
        except errors.ArgumentError:
            return None
        return gpu.value, stream.value or 0

    def _find(self, name: str) -> int:
        index = ctypes.c_size_t()
        self._library.tenon_find_tensor(self._pointer, name.encode(), ctypes.byref(index))
        return index.value

    def _describe(self, index: int) -> Tensor:
        info = native.TensorInfo(struct_size=ctypes.sizeof(native.TensorInfo))
        self._library.tenon_get_tensor(self._pointer, index, ctypes.byref(info))
        shape, dtype = tuple(info.shape[: info.rank]), dtype_of(info.type.decode())
        return Tensor(
            index,
            info.name.decode(),
            info.role.decode(),
            _KINDS[info.kind],
            None if info.argument < 0 else info.argument,
            None if info.result < 0 else info.result,
            shape,
            dtype,
            self._memory(index, shape, dtype, info.bytes),
            self._handle,
            self._place,
        )

    def _memory(
        self, index: int, shape: tuple[int, ...], dtype: np.dtype, size: int
    ) -> np.ndarray | dlpack.DeviceMemory | str:
        """The tensor's memory, or why it cannot be used in place."""
        if index in self._bound:
            return self._bound[index]
        if size == 0:
            return np.empty(shape, dtype)
        address = ctypes.c_void_p()
        try:
            if self._place:
                self._library.tenon_device_data(self._pointer, index, ctypes.byref(address))
                return dlpack.DeviceMemory(address.value or 0, size, self._place[0], self._handle)
            self._library.tenon_data(self._pointer, index, ctypes.byref(address))
        except errors.ArgumentError as error:
            return str(error)
        memory: Any = (ctypes.c_char * size).from_address(address.value or 0)
        memory.owner = self._handle  # the array keeps the memory object, and that the program
        return np.ndarray(shape, dtype, buffer=memory)


def load(
    path: str | os.PathLike[str],
    *,
    threads: int = 0,
    prefault: bool = False,
    gpu: int = 0,
    cuda_driver: str | os.PathLike[str] | None = None,
    cublaslt: str | os.PathLike[str] | None = None,
    algorithm_cache: str | os.PathLike[str] | None = None,
    tune: bool = False,
    stream: int | None = None,
    ranks: int = 1,
) -> Program:
    """Loads a `.tenon` file.

    The file is a program: loading and running it executes the machine code in it. Load only files that you trust.

    threads: how many share a step, 0 for all processors; results do not depend on it.
    prefault: take all memory now, not when a step first touches it.
    gpu: for a file for GPUs, which one runs it. cuda_driver: the file of the CUDA driver, if it is not the one that is
    installed; without it what the environment variable TENON_CUDA_DRIVER names. cublaslt: the file of cuBLASLt, in the same
    way (TENON_CUBLASLT). algorithm_cache: the folder that remembers which of its algorithms run, "none" for none
    (TENON_ALGORITHM_CACHE, ~/.cache/tenon/cublaslt). tune: take the fastest of them.
    stream: the CUDA stream that all work is put into, as an integer; it outlives the program. Without it one of its own.
    ranks: for a file that was compiled for a mesh, how many ranks it has. All run in this process and share its threads; what
    is read and written is whole tensors, copied, and never in place.
    tenon.OutOfMemoryError if less memory is available than is planned for the file.
    """
    pointer = ctypes.c_void_p()
    files = [
        os.fsencode((os.environ.get(variable) if given is None else given) or "") or None
        for given, variable in (
            (cuda_driver, "TENON_CUDA_DRIVER"),
            (cublaslt, "TENON_CUBLASLT"),
            (algorithm_cache, "TENON_ALGORITHM_CACHE"),
        )
    ]
    options = native.Options(ctypes.sizeof(native.Options), threads, prefault, gpu, *files, stream, tune, ranks)
    native.library().tenon_load(os.fsencode(path), ctypes.byref(options), ctypes.byref(pointer))
    return Program(_Handle(pointer))


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of zeros that starts at a multiple of 64 bytes, for `bind`."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)
