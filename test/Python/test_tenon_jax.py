"""The Python package: steps compiled with tenon.jax.compile, and programs loaded with tenon.load."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("TENON_BUILD", str(ROOT / "build/dev"))

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tenon
import tenon.jax
from safetensors.numpy import load_file, save_file


def step(state: dict, x: Any, y: Any) -> tuple[dict, Any]:
    """Gradient descent with momentum on a linear model; 'seen' counts steps and 'tag' is only handed on."""

    def loss_of(w: dict) -> Any:
        return jnp.mean((jnp.tanh(x @ w["kernel"] + w["bias"]) - y) ** 2)

    loss, gradient = jax.value_and_grad(loss_of)(state["params"])
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], gradient)
    params = jax.tree.map(lambda p, m: p - 0.1 * m, state["params"], momentum)
    return {"params": params, "momentum": momentum, "seen": state["seen"] + 1, "tag": state["tag"]}, loss


def start(seed: int = 0) -> dict:
    """A start state with reproducible values."""
    random = np.random.default_rng(seed)
    params = {"kernel": random.normal(size=(8, 4)).astype(np.float32), "bias": np.zeros(4, np.float32)}
    return {
        "params": params,
        "momentum": jax.tree.map(np.zeros_like, params),
        "seen": np.int32(0),
        "tag": np.arange(3, dtype=np.float32),
    }


def batch(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets."""
    random = np.random.default_rng(100 + seed)
    return random.normal(size=(16, 8)).astype(np.float32), random.normal(size=(16, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The step as a .tenon file."""
    path = tmp_path_factory.mktemp("stored") / "step.tenon"
    tenon.jax.compile(step, start(), *batch(0), output=path)
    return path


@pytest.fixture
def compiled() -> tenon.jax.CompiledStep:
    """The step, freshly compiled."""
    return tenon.jax.compile(step, start(), *batch(0), threads=1)


def close(ours: Any, reference: Any) -> None:
    """Fails unless two trees have the same structure and nearly the same numbers."""
    assert jax.tree.structure(ours) == jax.tree.structure(reference)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), 2e-5, 1e-6), ours, reference)


def with_jax(state: Any, steps: range) -> tuple[Any, list[float]]:
    """The same steps in JAX."""
    losses = []
    for i in steps:
        state, loss = jax.jit(step)(state, *batch(i))
        losses.append(float(loss))
    return state, losses


def test_trains_like_jax(compiled: tenon.jax.CompiledStep) -> None:
    """Ten steps with changing batches give JAX's losses and state."""
    state, losses = start(), []
    for i in range(10):
        state, loss = compiled(state, *batch(i))
        losses.append(loss)
    expected, expected_losses = with_jax(start(), range(10))
    close(state, expected)
    np.testing.assert_allclose(losses, expected_losses, 1e-5)
    assert state["seen"] == 10


def test_state_stays_in_place(compiled: tenon.jax.CompiledStep) -> None:
    """What a call returns as state is the program's memory; passing it on copies nothing."""
    state, _ = compiled(start(), *batch(0))
    kernel = compiled.program.tensors["params.kernel"].array
    assert np.shares_memory(state["params"]["kernel"], kernel)
    kernel[:] = 7  # seen by the next step, which would not be if the state were copied back from elsewhere
    again, _ = compiled(state, *batch(1))
    reference = jax.tree.map(np.array, state)
    assert np.shares_memory(again["params"]["kernel"], kernel)
    assert not np.array_equal(reference["params"]["kernel"], start()["params"]["kernel"])
    assert np.abs(again["params"]["kernel"] - 7).max() < 1


def test_other_state_is_copied_in(compiled: tenon.jax.CompiledStep) -> None:
    """Passing another state, in whole or in part, starts from there."""
    compiled(start(), *batch(0))
    state, loss = compiled(start(1), *batch(1))
    expected, expected_losses = with_jax(start(1), range(1, 2))
    close(state, expected)
    np.testing.assert_allclose(loss, expected_losses[0], 1e-5)

    state["params"] = start(2)["params"]
    expected["params"] = start(2)["params"]
    mixed, _ = compiled(state, *batch(2))
    close(mixed, with_jax(expected, range(2, 3))[0])


def test_exchanged_leaves(compiled: tenon.jax.CompiledStep) -> None:
    """Leaves of the present state may be passed at other places."""
    state, _ = compiled(start(), *batch(0))
    expected = jax.tree.map(np.array, state)
    state["params"], state["momentum"] = state["momentum"], state["params"]
    expected["params"], expected["momentum"] = expected["momentum"], expected["params"]
    close(compiled(state, *batch(1))[0], with_jax(expected, range(1, 2))[0])


def test_overwritten_state_is_refused(compiled: tenon.jax.CompiledStep) -> None:
    """The state of an earlier step is gone, as after donation in JAX, and using it says so."""
    first, _ = compiled(start(), *batch(0))
    copy = jax.tree.map(np.array, first)
    compiled(first, *batch(1))
    with pytest.raises(tenon.ArgumentError, match=r"argument 0\['momentum'\]\['bias'\].*earlier step"):
        compiled(first, *batch(2))
    close(compiled(copy, *batch(1))[0], with_jax(start(), range(2))[0])


def test_results_are_copies(compiled: tenon.jax.CompiledStep) -> None:
    """A loss kept from one step does not change in the next."""
    state, first = compiled(start(), *batch(0))
    kept = float(first)
    compiled(state, *batch(1))
    assert float(first) == kept


def test_jax_arrays_and_scalars() -> None:
    """JAX arrays, Python numbers, tuples of state, several donated arguments and no batch all work."""

    def scaled(weights: tuple, slots: dict, rate: float) -> tuple[dict, tuple, Any]:
        moved = tuple(w - rate * slots["m"] for w in weights)
        return {"m": slots["m"] * 0.5}, moved, (moved[0].sum(), jnp.int32(3))

    def reordered(weights: tuple, slots: dict, rate: float) -> tuple[tuple, dict, Any]:
        slots, weights, extra = scaled(weights, slots, rate)
        return weights, slots, extra

    weights = (jnp.ones((5,)), jnp.full((5,), 2.0))
    slots = {"m": jnp.arange(5.0)}
    compiled = tenon.jax.compile(reordered, weights, slots, 0.5, donate_argnums=(0, 1))
    expected = reordered(weights, slots, 0.5)
    close(compiled(weights, slots, 0.5), expected)
    close(compiled.state, expected[:2])
    close(compiled(*compiled.state, 0.25), reordered(*expected[:2], 0.25))


def test_random_keys_and_booleans() -> None:
    """A random key is carried like any state; booleans are a byte each."""

    def noisy(state: dict, mask: Any) -> tuple[dict, Any]:
        key, own = jax.random.split(state["key"])
        return {"key": key, "w": state["w"] + jnp.where(mask, jax.random.uniform(own, (6,)), 0)}, ~mask

    def begin() -> dict:
        return {"key": jax.random.key(3), "w": jnp.zeros(6)}

    mask = np.array([True, False, True, True, False, True])
    compiled = tenon.jax.compile(noisy, begin(), mask)
    ours, theirs = begin(), begin()
    for _ in range(3):
        ours, inverted = compiled(ours, mask)
        theirs, expected = jax.jit(noisy)(theirs, mask)
        np.testing.assert_array_equal(inverted, expected)
    assert ours["key"].dtype == theirs["key"].dtype
    np.testing.assert_array_equal(jax.random.key_data(ours["key"]), jax.random.key_data(theirs["key"]))
    np.testing.assert_array_equal(ours["w"], theirs["w"])


def test_views_of_the_callers_arrays() -> None:
    """Parts of larger arrays are arguments like any other, from the first call on."""
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    compiled = tenon.jax.compile(lambda w, x: (w - x, x.sum()), values[0], values[1])
    w, total = compiled(values[0], values[1])
    np.testing.assert_array_equal(w, values[0] - values[1])
    w, total = compiled(w, values[2])
    np.testing.assert_array_equal(w, values[0] - values[1] - values[2])
    assert total == values[2].sum()


def test_an_argument_and_a_result_of_one_name() -> None:
    """Both are there: the argument has the name, the result is `result<i>` where all tensors are listed."""

    def shift(w: Any, *batch: Any) -> tuple[Any, dict]:
        return w - batch[1], {"1": batch[0].sum()}

    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    compiled = tenon.jax.compile(shift, *values)
    w, total = compiled(*values)
    np.testing.assert_array_equal(w, values[0] - values[2])
    assert total["1"] == values[1].sum()
    tensors = compiled.program.tensors
    assert len(tensors) == 4 and tensors["1"].argument == 2 and tensors["result1"].result == 1
    assert list(compiled.program.results) == ["1"]


def test_names_of_results() -> None:
    """A result without a name gets the one that the caller chose; its positions still find it."""

    def step(w: Any, x: Any) -> tuple[Any, Any, Any]:
        return w - x, (w - x).sum(), (x > 0).astype(np.float32).mean()

    values = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert list(tenon.jax.compile(step, *values).program.results) == ["result1", "result2"]
    program = tenon.jax.compile(step, *values, names={1: "loss", "result[2]": "accuracy"}).program
    assert list(program.results) == ["loss", "accuracy"]
    tensors = program.tensors
    assert tensors["result2"].index == tensors["result[2]"].index == tensors["accuracy"].index
    with pytest.raises(tenon.CompileError, match="result 0 cannot be named 'x': it is the state"):
        tenon.jax.compile(step, *values, names={0: "x"})


def test_wrong_arguments(compiled: tenon.jax.CompiledStep) -> None:
    """Another structure, shape or type is refused with the path, and nothing has been changed."""
    state, _ = compiled(start(), *batch(0))
    before = jax.tree.map(np.array, state)
    x, y = batch(1)
    with pytest.raises(tenon.ArgumentError, match="compiled for arguments"):
        compiled(state, x)
    with pytest.raises(tenon.ArgumentError, match=r"argument 1 is float32\[16, 8\], given float32\[15, 8\]"):
        compiled(start(), x[:15], y)
    with pytest.raises(tenon.ArgumentError, match=r"argument 2 is float32\[16, 4\], given int32\[16, 4\]"):
        compiled(state, x, y.astype(np.int32))
    jax.tree.map(np.testing.assert_array_equal, before, compiled.state)


def test_compile_errors_carry_the_message() -> None:
    """What the compiler says becomes the exception, with its exit code."""

    def swap(state: Any) -> Any:
        return jax.lax.linalg.schur(state)[0]

    with pytest.raises(tenon.CompileError, match=r"test_tenon_jax.py:\d+:\d+: error: ") as raised:
        tenon.jax.compile(swap, jnp.eye(3))
    assert raised.value.exit_code == 4
    with pytest.raises(tenon.CompileError, match="unknown feature set 'z80'") as raised:
        tenon.jax.compile(step, start(), *batch(0), cpu="z80")
    assert raised.value.exit_code == 2
    with pytest.raises(tenon.CompileError, match="smallest budget") as raised:
        tenon.jax.compile(step, start(), *batch(0), memory_budget=64)
    assert raised.value.exit_code == 3


def test_memory_budget(compiled: tenon.jax.CompiledStep) -> None:
    """A step compiled for a budget gives the same bits."""
    bounded = tenon.jax.compile(step, start(), *batch(0), donate_argnums=0, memory_budget="1MiB")
    expected, loss = compiled(start(), *batch(0))
    state, bounded_loss = bounded(start(), *batch(0))
    jax.tree.map(np.testing.assert_array_equal, (expected, loss), (state, bounded_loss))


def test_save_and_resume(compiled: tenon.jax.CompiledStep, tmp_path: Path) -> None:
    """A saved state goes on where it was, in this program and in another."""
    state = start()
    for i in range(3):
        state, _ = compiled(state, *batch(i))
    compiled.save(tmp_path / "state.safetensors")
    names = ["momentum.bias", "momentum.kernel", "params.bias", "params.kernel", "seen", "tag"]
    assert sorted(load_file(tmp_path / "state.safetensors")) == names
    expected = jax.tree.map(np.array, compiled(state, *batch(3)))

    other = tenon.jax.compile(step, start(), *batch(0), threads=2)
    resumed = other(other.load_state(tmp_path / "state.safetensors"), *batch(3))
    jax.tree.map(np.testing.assert_array_equal, resumed, expected)


def test_load_and_run(stored: Path, tmp_path: Path) -> None:
    """A .tenon file runs without JAX's trees, with names."""
    program = tenon.load(stored, threads=1)
    assert list(program.batch) == ["x", "y"] and len(program.state) == 6 and len(program.results) == 1
    for name, tensor in program.state.items():
        path = name.split(".")
        tensor.write(start()[path[0]][path[1]] if len(path) > 1 else start()[name])
    losses = [program.run(*batch(0))["loss"], program.run(y=batch(1)[1], x=batch(1)[0])["loss"]]
    expected, expected_losses = with_jax(start(), range(2))
    np.testing.assert_allclose(losses, expected_losses, 1e-5)
    np.testing.assert_allclose(program.tensors["params.kernel"], expected["params"]["kernel"], 2e-5)
    assert program.run(steps=3)["loss"] < losses[1]
    assert program.tensors["seen"].array == 5

    kernel = program.tensors["state['params']['kernel']"]
    assert kernel is program.tensors["params.kernel"] is program.tensors[f"arg{kernel.argument}"]
    with pytest.raises(KeyError):
        program.tensors["params.nothing"]

    program.save(tmp_path / "state.safetensors")
    other = tenon.load(stored, threads=2)
    other.load_state(tmp_path / "state.safetensors")
    np.testing.assert_array_equal(other.run(*batch(2))["loss"], program.run(*batch(2))["loss"])


def test_arrays_are_not_copied(stored: Path) -> None:
    """Through numpy, DLPack and memory that the caller binds, everyone sees the same bytes."""
    program = tenon.load(stored, threads=1)
    bias = program.tensors["params.bias"]
    jax_view = jnp.from_dlpack(bias)
    assert jax_view.unsafe_buffer_pointer() == bias.array.ctypes.data
    assert np.shares_memory(np.from_dlpack(bias), bias.array)
    assert np.shares_memory(np.asarray(bias), bias.array)

    own = tenon.aligned((8, 4), np.float32)
    program.initialize_zeros()
    program.bind("params.kernel", own)
    for tensor, value in zip(program.batch.values(), batch(0), strict=True):
        tensor.write(value)
    program.step()
    assert own.any() and np.shares_memory(program.state["params.kernel"].array, own)
    program.bind("params.kernel", None)
    assert not program.state["params.kernel"].array.any()
    with pytest.raises(tenon.ArgumentError, match="multiple of 64"):
        program.bind("params.bias", tenon.aligned((8,), np.float32)[1:5])
    with pytest.raises(tenon.ArgumentError, match=r"is float32\[4\], given float32\[5\]"):
        program.bind("params.bias", tenon.aligned((5,), np.float32))


def test_bfloat16_arrays() -> None:
    """bfloat16 works as state, and through DLPack, which numpy alone cannot do."""

    def halve(state: Any) -> Any:
        return state * 0.5

    compiled = tenon.jax.compile(halve, jnp.ones((4, 3), jnp.bfloat16))
    state = compiled(jnp.full((4, 3), 3, jnp.bfloat16))
    assert state.dtype == jnp.bfloat16 and (state == 1.5).all()
    (tensor,) = compiled.program.state.values()
    view = jnp.from_dlpack(tensor)
    assert view.dtype == jnp.bfloat16 and view.unsafe_buffer_pointer() == tensor.array.ctypes.data
    assert (view == 1.5).all()


def test_arrays_outlive_the_program(stored: Path) -> None:
    """An array keeps the memory that it shows."""
    tag = tenon.load(stored).tensors["tag"].array
    tag[:] = [4, 5, 6]
    gc.collect()
    others = [tenon.load(stored) for _ in range(3)]
    assert tag.tolist() == [4, 5, 6] and not others[0].tensors["tag"].array.any()


def test_runtime_errors_become_exceptions(stored: Path, tmp_path: Path) -> None:
    """Messages of the runtime arrive whole, with an exception for each kind."""
    with pytest.raises(tenon.FileError, match="nothing.tenon"):
        tenon.load(tmp_path / "nothing.tenon")
    damaged = tmp_path / "damaged.tenon"
    damaged.write_bytes(stored.read_bytes()[:5000])
    with pytest.raises(tenon.FileError, match="damaged.tenon"):
        tenon.load(damaged)
    program = tenon.load(stored)
    save_file({"params.kernel": np.ones((4, 8), np.float32)}, tmp_path / "few.safetensors")
    with pytest.raises(tenon.ArgumentError, match=r"6 tensors differ(.|\n)*'params.kernel' is f32\[4, 8\]"):
        program.load_state(tmp_path / "few.safetensors")
    assert not program.tensors["params.kernel"].array.any()
    program.initialize_zeros()
    with pytest.raises(tenon.FileError, match="nowhere"):
        program.save(tmp_path / "nowhere" / "state.safetensors")
    with pytest.raises(tenon.ArgumentError, match=r"'x' is float32\[16, 8\], given float64\[16, 8\]"):
        program.run(np.zeros((16, 8)), batch(0)[1])
    with pytest.raises(tenon.ArgumentError, match="no batch tensor 'z', there are x, y"):
        program.run(z=1)


def test_a_batch_is_given_whole(stored: Path) -> None:
    """A part of a batch would be paired with the rest of an earlier one."""
    program = tenon.load(stored, threads=1)
    program.initialize_zeros()
    x, y = batch(0)
    program.run(x, y)
    for given, named in [((x,), {}), ((), {"y": y})]:
        with pytest.raises(tenon.ArgumentError, match="the batch lacks (x|y); give all of it"):
            program.run(*given, **named)
    with pytest.raises(tenon.ArgumentError, match="'x' is given twice"):
        program.run(x, x=x)
    # Nothing of a batch is written if any of it does not fit.
    before = program.batch["x"].array.copy()
    with pytest.raises(tenon.ArgumentError, match="'y' is"):
        program.run(x + 1, y[:3])
    np.testing.assert_array_equal(program.batch["x"].array, before)
    assert program.tensors["seen"].array == 1
    program.run()
    assert program.tensors["seen"].array == 2


def test_steps_need_values(stored: Path, tmp_path: Path) -> None:
    """Nothing trains on state or a batch that nobody gave, and nothing saves it; what lacks a value is named."""
    program = tenon.load(stored, threads=1)
    with pytest.raises(tenon.StateError, match=r"8 arguments have no value: 'momentum.bias', (.|\n)*initialise the state"):
        program.step()
    with pytest.raises(tenon.StateError, match="no state to save: 6 arguments have no value"):
        program.save(tmp_path / "state.safetensors")
    assert not list(tmp_path.iterdir())
    save_file({"params.bias": np.ones(4, np.float32), "seen": np.array(3, np.int32)}, tmp_path / "part.safetensors")
    program.load_arguments(tmp_path / "part.safetensors")
    with pytest.raises(tenon.StateError, match=r"^4 arguments have no value: '[^x]*'params.kernel', 'tag';"):
        program.run(*batch(0))
    program.initialize_zeros()
    assert not program.tensors["params.bias"].array.any()
    program.load_arguments(tmp_path / "part.safetensors")
    program.run(*batch(0))
    assert program.tensors["seen"].array == 4

    # Each way to give a value counts.
    other = tenon.load(stored, threads=1)
    for name, tensor in other.state.items():
        if name == "tag":
            own = tenon.aligned(tensor.shape, tensor.dtype)
            other.bind("tag", own)
        elif name == "seen":
            tensor.array[...] = 7
            tensor.mark_written()
        else:
            tensor.write(np.ones(tensor.shape, tensor.dtype))
    x, y = batch(0)
    save_file({"x": x}, tmp_path / "x.safetensors")
    save_file({"x": x, "arg7": y}, tmp_path / "xy.safetensors")
    with pytest.raises(tenon.ArgumentError, match="'y' is missing"):
        other.load_batch(tmp_path / "x.safetensors")
    other.load_batch(tmp_path / "xy.safetensors")
    other.step()
    assert other.tensors["seen"].array == 8
    other.bind("tag", None)
    with pytest.raises(tenon.StateError, match="1 argument has no value: 'tag'"):
        other.step()


def test_state_before_the_first_call_is_none(compiled: tenon.jax.CompiledStep) -> None:
    """The state of a step that has not been called cannot be passed on."""
    with pytest.raises(tenon.StateError, match="arguments have no value"):
        compiled(compiled.state, *batch(0))
    assert compiled(start(), *batch(0))[0]["seen"] == 1


FAILS = """
import ctypes, sys
sys.path.insert(0, {tests!r})
from test_tenon_jax import batch as narrow_batch, jax, np, start as narrow_start, step, tenon

def batch(seed):  # wide enough for products to be calls of a library
    return tuple(np.tile(x, (1, 24)) for x in narrow_batch(seed))

def start():
    state = narrow_start()
    for part in ("params", "momentum"):
        state[part] = {{"kernel": np.tile(state[part]["kernel"], (24, 24)), "bias": np.tile(state[part]["bias"], 24)}}
    return state

compiled = tenon.jax.compile(step, start(), *batch(0), threads=2)
state, _ = compiled(start(), *batch(0))
kept = jax.tree.map(np.array, state)
ctypes.CDLL({shim!r}).failing_calls_fail(1)
try:
    compiled(state, *batch(1))
except tenon.RunError as error:
    print("RunError", error)
for again in (lambda: compiled(compiled.state, *batch(1)), lambda: compiled.save("state.safetensors")):
    try:
        again()
    except tenon.StateError as error:
        print("StateError", error)
state, _ = compiled(kept, *batch(1))
print("seen", state["seen"])
"""


def test_a_failed_call_ends_the_step(tmp_path: Path) -> None:
    """The exception names the call; the state is gone until the caller gives it again."""
    shim = next(Path(os.environ["TENON_BUILD"]).glob("**/TenonFailingCalls.so"))
    script = FAILS.format(tests=str(Path(__file__).parent), shim=str(shim))
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True,
        env={**os.environ, "LD_PRELOAD": str(shim)},
    )  # fmt: skip
    said = process.stdout.splitlines()
    assert said[0].startswith("RunError step 2 failed in library_call_") and "oneDNN: out of memory" in said[0]
    assert said[1].startswith("StateError 6 arguments have no value") and "step 2 failed" in said[1]
    assert said[2].startswith("StateError there is no state to save") and not list(tmp_path.iterdir())
    assert said[3] == "seen 2"


def test_a_second_thread_is_turned_away(stored: Path) -> None:
    """A program that is at work in one thread says so to another."""
    program = tenon.load(stored, threads=1)
    program.initialize_zeros()
    program.run(*batch(0))
    running = threading.Thread(target=program.step, args=(200_000,))
    running.start()
    refusals = 0
    while running.is_alive() and not refusals:
        try:
            program.tensors["seen"].write(np.int32(0))
        except tenon.BusyError as error:
            assert "another thread is using the program" in str(error)
            refusals += 1
    running.join()
    assert refusals
    program.step()


LARGE = """func.func @main(%x: tensor<1024x65536xf32>) -> tensor<1024x65536xf32> {
  %y = stablehlo.add %x, %x : tensor<1024x65536xf32>
  return %y : tensor<1024x65536xf32>
}
"""
LOADS = """
import resource, sys, tenon
tenon.native.library()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), -1))
try:
    tenon.load(sys.argv[1])
except tenon.OutOfMemoryError as error:
    print(error)
"""


def test_short_memory_and_prefault(stored: Path, tmp_path: Path) -> None:
    """Memory that is not there is an exception of loading, with the numbers of bytes; prefault changes no result."""
    (tmp_path / "large.mlir").write_text(LARGE)
    tenon.compile_file(tmp_path / "large.mlir", tmp_path / "large.tenon")
    process = subprocess.run(
        [sys.executable, "-c", LOADS, tmp_path / "large.tenon"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    assert "the program needs 512.00 MiB (536870912 bytes) of memory" in process.stdout, process
    assert "are available under the limit of address space (ulimit -v)" in process.stdout
    early, late = tenon.load(stored, prefault=True), tenon.load(stored)
    for program in (early, late):
        program.initialize_zeros()
    np.testing.assert_array_equal(early.run(*batch(0))["loss"], late.run(*batch(0))["loss"])


def test_library_of_another_version(tmp_path: Path) -> None:
    """A library that has other structs and functions is refused when it is loaded, with both versions."""
    assert tenon.__version__ == tenon.native.VERSION == version_in(ROOT / "python" / "pyproject.toml")
    (tmp_path / "lib").mkdir()
    (tmp_path / "other.c").write_text('const char *tenon_version(void) { return "0.1.0"; }\n')
    library = tmp_path / "lib" / "libtenon-runtime.so"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "other.c", "-o", library], check=True)
    process = subprocess.run(
        [sys.executable, "-c", "import tenon; tenon.load('x.tenon')"], capture_output=True, text=True, check=False,
        env={**os.environ, "TENON_BUILD": str(tmp_path), "PYTHONPATH": str(ROOT / "python")},
    )  # fmt: skip
    assert "MachineError" in process.stderr and f"'{library}' is version 0.1.0 of the runtime library" in process.stderr
    assert f"the Python package is version {tenon.__version__}" in process.stderr


def version_in(project: Path) -> str:
    """The version that a pyproject.toml gives."""
    return tomllib.loads(project.read_text())["project"]["version"]


def test_installs_with_pip(tmp_path: Path, stored: Path) -> None:
    """pip puts the package into an empty virtual environment, where it runs without the checkout."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    packages = os.pathsep.join(path for path in sys.path if "site-packages" in path)
    # Nothing is downloaded where the pinned setuptools is there already.
    offline = int(version("setuptools").split(".")[0]) >= 80
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--disable-pip-version-check",
         *(["--no-build-isolation"] if offline else []), ROOT / "python"],
        check=True, env={**os.environ, "PYTHONPATH": packages},
    )  # fmt: skip
    script = (
        f"import tenon; p = tenon.load({str(stored)!r}); p.initialize_zeros()\n"
        "p.run(**{name: t.array for name, t in p.batch.items()})\n"
        "print(tenon.__file__, tenon.native.tool())"
    )
    clean = {name: value for name, value in os.environ.items() if name != "TENON_BUILD"}
    clean["PYTHONPATH"] = packages
    process = subprocess.run([python, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=clean, check=True)
    for path in process.stdout.split():
        assert path.startswith(str(environment))
    tool = process.stdout.split()[1]
    assert subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout.startswith("tenon ")
    (tmp_path / "two.mlir").write_text(
        "func.func @main() -> tensor<f32> {\n  %r = stablehlo.constant dense<2.0> : tensor<f32>\n  return %r : tensor<f32>\n}\n"
    )
    script = "from tenon import compiler; compiler.compile_file('two.mlir', 'two.tenon')"
    subprocess.run([python, "-c", script], cwd=tmp_path, env=clean, check=True)
    assert (tmp_path / "two.tenon").is_file()


@pytest.mark.parametrize("mesh", ["data=2", "data=2,model=2"])
@pytest.mark.parametrize("sharding", ["solve", "file", "propagate"])
def test_ranks_on_threads(tmp_path: Path, mesh: str, sharding: str) -> None:
    """Ranks of a mesh train as one does; state is whole, and moves to a step for one rank."""
    state, examples = start(), batch(0)
    function: Any = step
    if sharding == "file":
        (tmp_path / "layouts.txt").write_text("params.kernel = [data, -]\nmomentum.kernel = [data, -]\n")
        sharding = str(tmp_path / "layouts.txt")
    elif sharding == "propagate":
        # Abstract, so that this process needs no devices.
        axes = [(name, int(size)) for name, size in (axis.split("=") for axis in mesh.split(","))]
        abstract = jax.sharding.AbstractMesh(tuple(size for _, size in axes), tuple(name for name, _ in axes))
        rows = jax.sharding.NamedSharding(abstract, jax.sharding.PartitionSpec("data"))
        examples = tuple(jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=rows) for value in examples)
    alone = tenon.jax.compile(step, state, *batch(0))
    cut = tenon.jax.compile(function, state, *examples, mesh=mesh, sharding=sharding)
    ours, theirs = state, state
    for number in range(3):
        ours, loss = cut(ours, *batch(number))
        theirs, expected = alone(theirs, *batch(number))
        np.testing.assert_allclose(loss, expected, rtol=1e-5)
    for found, value in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6)
    cut.save(tmp_path / "state.safetensors")
    moved = alone.load_state(tmp_path / "state.safetensors")
    for found, value in zip(jax.tree.leaves(ours), jax.tree.leaves(moved), strict=True):
        np.testing.assert_array_equal(found, value)


def test_ranks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mesh that is none, a file for other ranks, and several processes that would all run the same."""
    with pytest.raises(tenon.CompileError, match="is no axis"):
        tenon.jax.compile(step, start(), *batch(0), mesh="data")
    with pytest.raises(tenon.CompileError, match="--sharding needs the ranks"):
        tenon.jax.compile(step, start(), *batch(0), sharding="solve")
    file = tmp_path / "step.tenon"
    tenon.jax.compile(step, start(), *batch(0), mesh="data=2", output=file)
    with pytest.raises(tenon.ArgumentError, match="compiled for 2 ranks"):
        tenon.load(file)
    with pytest.raises(tenon.ArgumentError, match="not for 3"):
        tenon.load(file, ranks=3)
    assert tenon.load(file, ranks=2).tensors["params.kernel"].shape == (8, 4)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    with pytest.raises(tenon.ArgumentError, match="4 processes were started"):
        tenon.jax.compile(step, start(), *batch(0), mesh="data=2")
