"""Programs on the emulated GPU that work in memory and in a stream of the caller's, by the C interface and through DLPack."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tenon
from conftest import ON_GPU, succeed
from safetensors.numpy import load_file, save_file
from tenon import dlpack, native
from test_cuda import DRIVER, same_bits, text_of


def affine(state: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    """A step with state of two types, and a batch that all of it depends on."""
    w = state["w"] * jnp.float32(0.5) + x
    return {"w": w, "n": state["n"] + 1}, jnp.max(w, axis=0)


SHAPE = (48, 32)


class Files:
    """The step for the processor and for a GPU, values to start from, and what two steps leave."""

    def __init__(self, folder: Path) -> None:
        random = np.random.default_rng(7)
        self.state = {"w": np.asarray(random.normal(size=SHAPE), np.float32), "n": np.zeros((), np.int32)}
        self.batch = np.asarray(random.normal(size=SHAPE), np.float32)
        text = folder / "step.mlir"
        text.write_text(text_of(affine, self.state, self.batch))
        self.cpu, self.gpu = folder / "cpu.tenon", folder / "gpu.tenon"
        succeed("compile", text, "-o", self.cpu, "--no-libraries")
        succeed("compile", text, "-o", self.gpu, *ON_GPU)
        save_file({"arg0": self.state["n"], "arg1": self.state["w"], "arg2": self.batch}, folder / "inputs.safetensors")
        succeed(
            "run", self.cpu, f"--inputs={folder / 'inputs.safetensors'}", "--steps=2", f"--save={folder / 'state.safetensors'}",
            f"--outputs={folder / 'results.safetensors'}",
        )  # fmt: skip
        self.after = load_file(folder / "state.safetensors")
        self.result = list(load_file(folder / "results.safetensors").values())[-1]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("affine"))


class Gpu:
    """The emulated driver, as another library in the process uses it."""

    def __init__(self) -> None:
        self.driver = ctypes.CDLL(str(DRIVER))
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.taken: list[int] = []

    def call(self, name: str, *arguments: Any) -> None:
        """Raises unless the driver's function succeeds."""
        assert getattr(self.driver, name)(*arguments) == 0, (name, self.error())

    def error(self) -> str:
        self.driver.tenonEmulatedCudaError.restype = ctypes.c_char_p
        return self.driver.tenonEmulatedCudaError().decode()

    def allocate(self, size: int) -> int:
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.taken.append(address.value)
        return address.value

    def stream(self) -> int:
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream.value or 0

    def put(self, address: int, values: np.ndarray, stream: int = 0) -> None:
        source, size = ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)
        self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), source, size, ctypes.c_void_p(stream))

    def array(self, values: np.ndarray, **more: Any) -> Array:
        address = self.allocate(values.nbytes + 64)
        self.put(address, values)
        return Array(self, address, values.shape, values.dtype, **more)


class Array:
    """An array on the emulated GPU. numpy makes the capsule, which says nothing of the device."""

    def __init__(self, gpu: Gpu, address: int, shape: tuple[int, ...], dtype: Any, device: int = 0) -> None:
        self.gpu, self.address, self.device, self.streams = gpu, address, device, []
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        self.seen = np.ndarray(shape, dtype, buffer=(ctypes.c_char * size).from_address(address))

    def values(self) -> np.ndarray:
        found = np.empty(self.seen.shape, self.seen.dtype)
        target, size = ctypes.c_void_p(found.ctypes.data), ctypes.c_size_t(found.nbytes)
        self.gpu.call("cuMemcpyDtoHAsync_v2", target, ctypes.c_uint64(self.address), size, None)
        self.gpu.call("cuCtxSynchronize")
        return found

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device)

    def __dlpack__(self, stream: int | None = None) -> Any:
        self.streams.append(stream)
        return self.seen.__dlpack__()


@pytest.fixture(params=["early", "late"])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """A GPU whose streams do work when it is given, or when somebody waits."""
    monkeypatch.setenv("TENON_EMULATED_CUDA_STREAMS", request.param)
    ctypes.CDLL(str(DRIVER)).tenonEmulatedCudaReset()
    yield Gpu()
    gc.collect()  # programs go first
    monkeypatch.delenv("TENON_EMULATED_CUDA_STREAMS")
    ctypes.CDLL(str(DRIVER)).tenonEmulatedCudaReset()


def load(files: Files, **options: Any) -> tenon.Program:
    return tenon.load(files.gpu, cuda_driver=DRIVER, **options)


def test_state_and_batch_of_the_caller(files: Files, gpu: Gpu) -> None:
    """State stays in the caller's arrays, and batches come from others, without passing the processor."""
    program = load(files)
    arrays = {name: gpu.array(value) for name, value in files.state.items()}
    for name, array in arrays.items():
        program.bind(name, array)
    batch = gpu.array(files.batch)
    program.run(batch)
    assert batch.streams and batch.streams[0]  # the program's own
    results = program.run(batch)
    same_bits({name: array.values() for name, array in arrays.items()}, files.after)
    assert next(iter(results.values())).tobytes() == files.result.tobytes()
    # Back in the program's memory nothing has a value.
    program.bind("w", None)
    with pytest.raises(tenon.StateError, match="'w'"):
        program.step()
    program.state["w"].write(arrays["w"])
    program.step()


def test_memory_of_the_program(files: Files, gpu: Gpu) -> None:
    """Tensors of the program are offered where they are, as long as somebody holds them."""
    program = load(files)
    for name, value in files.state.items():
        program.state[name].write(gpu.array(value))
    assert program.state["w"].__dlpack_device__() == (2, 0)
    taken = dlpack.take(program.state["w"], SHAPE, np.dtype(np.float32), (0, 0), "w")
    address = ctypes.c_void_p()
    index = program.state["w"].index
    native.library().tenon_device_data(program.pointer, index, ctypes.byref(address))
    assert taken.address == address.value and taken.size == files.batch.nbytes
    program.run(files.batch, steps=2)
    elsewhere = gpu.array(np.zeros(SHAPE, np.float32))
    native.library().tenon_read_to_device(program.pointer, index, elsewhere.address, files.batch.nbytes)
    del program
    gc.collect()
    assert Array(gpu, taken.address, SHAPE, np.float32).values().tobytes() == files.after["w"].tobytes()
    assert elsewhere.values().tobytes() == files.after["w"].tobytes()
    offered = len(dlpack._offered)
    del taken
    gc.collect()
    assert len(dlpack._offered) == offered - 1


def test_capsules_as_numpy_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is offered is a capsule of the specification, and is let go when its last user goes."""
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    monkeypatch.setattr(dlpack, "CUDA", dlpack.CPU)
    before = len(dlpack._offered)

    class Offer:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            return dlpack.offer(dlpack.DeviceMemory(values.ctypes.data, values.nbytes, 0, values), values.shape, values.dtype)

    seen = np.from_dlpack(Offer())
    assert seen.dtype == np.float32 and np.array_equal(seen, values) and seen.ctypes.data == values.ctypes.data
    assert len(dlpack._offered) == before + 1
    del seen
    Offer().__dlpack__()  # nobody takes it
    gc.collect()
    assert len(dlpack._offered) == before


def test_arrays_that_do_not_fit(files: Files, gpu: Gpu) -> None:
    """Another GPU, type, shape or layout, and what is no memory of a GPU."""
    program = load(files)
    array = gpu.array(files.batch)
    name = next(iter(program.batch))
    for value, why in (
        (Array(gpu, array.address, SHAPE, np.float32, device=1), "is on GPU 1, the program runs on GPU 0"),
        (Array(gpu, array.address, SHAPE, np.int32), r"is float32\[48, 32\], given int32\[48, 32\]"),
        (Array(gpu, array.address, (32, 48), np.float32), r"given float32\[32, 48\]"),
    ):
        for use in (program.tensors[name].write, lambda each: program.bind(name, each)):  # noqa: B023
            with pytest.raises(tenon.ArgumentError, match=why):
                use(value)
    turned = Array(gpu, array.address, (32, 48), np.float32)
    turned.seen = turned.seen.T
    with pytest.raises(tenon.ArgumentError, match="must be C-contiguous"):
        program.bind(name, turned)
    with pytest.raises(tenon.ArgumentError, match="not at a multiple of 64"):
        program.bind(name, Array(gpu, array.address + 4, SHAPE, np.float32))
    own = np.zeros(SHAPE, np.float32)
    with pytest.raises(tenon.ArgumentError, match="there is no memory of a GPU at the address"):
        program.bind(name, Array(gpu, own.ctypes.data, SHAPE, np.float32))
    with pytest.raises(tenon.ArgumentError, match=r"the memory ends after 6\d* bytes, the tensor has 6144"):
        program.tensors[name].write(Array(gpu, array.address + 6144, SHAPE, np.float32))
    with pytest.raises(tenon.ArgumentError, match="program runs on a processor"):
        tenon.load(files.cpu).bind(name, array)
    with pytest.raises(BufferError, match="where it lies"):
        program.state["w"].__dlpack__(dl_device=(1, 0))


def test_stream_of_the_caller(files: Files, gpu: Gpu) -> None:
    """Work of the caller's in the stream comes before and behind the program's, though nobody waits."""
    stream = gpu.stream()
    program = load(files, stream=stream)
    for name, value in files.state.items():
        program.state[name].write(value)
    place = gpu.allocate(files.batch.nbytes)
    array = Array(gpu, place, SHAPE, np.float32)
    for step in range(2):
        gpu.put(place, files.batch, stream)
        program.tensors["arg2"].write(array)
        # The copy is in the stream's order, so the place may be used again behind it.
        gpu.put(place, np.full(SHAPE, step, np.float32), stream)
        program.step()
    assert array.streams == [stream, stream]
    same_bits({name: program.state[name].read() for name in files.state}, files.after)


def test_work_of_another_stream(files: Files, gpu: Gpu) -> None:
    """A program that works in a stream of its own does not know of others: who does not wait gets a race."""
    program = load(files)
    for name, value in files.state.items():
        program.state[name].write(value)
    other, place = gpu.stream(), gpu.allocate(files.batch.nbytes)
    gpu.put(place, files.batch, other)
    with contextlib.suppress(tenon.RunError):  # or later, when somebody waits for the other stream
        program.tensors["arg2"].write(Array(gpu, place, SHAPE, np.float32))
    assert gpu.driver.cuCtxSynchronize() != 0
    assert "race between streams" in gpu.error()


def test_stream_that_is_none(files: Files, gpu: Gpu) -> None:
    with pytest.raises(tenon.ArgumentError, match="the stream that was given cannot be used"):
        load(files, stream=12345)
