"""The bits of random generators are those of XLA on the CPU, compiled and interpreted."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest
from conftest import succeed
from jax._src import xla_bridge
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax, xla_client
from jaxlib.mlir import ir
from safetensors.numpy import load_file, save_file

SHAPES = [(), (1,), (3,), (9,), (7, 5), (5, 4), (3, 5, 7), (2, 3, 4, 5), (129,), (33, 65), (1, 1, 6), (1001,)]
TYPES = ["ui8", "ui16", "ui32", "ui64", "i32"]
STATES = [
    [0, 0],
    [0x0123456789ABCDEF, 0xFEDCBA9876543210],
    [5, 0xFFFFFFFE],
    [2**64 - 1, 2**64 - 3],  # the counter wraps around
]


def module(algorithm: str, words: int) -> str:
    """A function that draws every shape and type from one state; the results are all new states, then all bits."""
    state = f"tensor<{words}xui64>"
    lines, states, bits, types = [], [], [], []
    for element in TYPES:
        for shape in SHAPES:
            number = len(types)
            types.append(f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>")
            lines.append(
                f"    %s{number}, %b{number} = stablehlo.rng_bit_generator %arg0, algorithm = {algorithm} : "
                f"({state}) -> ({state}, {types[-1]})"
            )
            states.append(f"%s{number}")
            bits.append(f"%b{number}")
    all_types = ", ".join([state] * len(types) + types)
    head = f"  func.func public @main(%arg0: {state}) -> ({all_types}) {{"
    tail = f"    return {', '.join(states + bits)} : {all_types}"
    return "\n".join(["module @jit_step {", head, *lines, tail, "  }", "}"])


def executable(text: str) -> _jax.LoadedExecutable:
    """What XLA makes of a module for the CPU."""
    backend = xla_bridge.get_backend("cpu")
    devices = _jax.DeviceList(tuple(backend.local_devices()[:1]))
    with jax_mlir.make_ir_context():
        return backend.compile_and_load(ir.Module.parse(text), devices, xla_client.CompileOptions())


@pytest.mark.parametrize("algorithm, words", [("DEFAULT", 2), ("PHILOX", 2), ("PHILOX", 3), ("THREE_FRY", 2)])
def test_bits(algorithm: str, words: int, tmp_path: Path) -> None:
    """Every element and every new state agree."""
    text = module(algorithm, words)
    source, compiled = tmp_path / "draw.mlir", tmp_path / "draw.tenon"
    source.write_text(text)
    succeed("compile", source, "-o", compiled)
    xla = executable(text)
    with jax.enable_x64(True):
        for number, state in enumerate(STATES):
            key = np.array([*state, 7][:words], np.uint64)
            save_file({"arg0": key}, tmp_path / "inputs.safetensors")
            drawn = xla.execute_sharded([jax.device_put(key)]).disassemble_into_single_device_arrays()
            expected = [np.asarray(result[0]) for result in drawn]
            runs = [(compiled, "--threads=1"), (compiled, "--threads=2")]
            if number == 1:
                runs.append((source, "--reference"))
            for program, option in runs:
                outputs = tmp_path / "outputs.safetensors"
                succeed(
                    "run", program, option, "--steps=1", "--inputs", tmp_path / "inputs.safetensors",
                    "--outputs", outputs,
                )  # fmt: skip
                actual = load_file(outputs)
                for i, wanted in enumerate(expected):
                    found = actual[f"result{i}"]
                    assert found.itemsize == wanted.itemsize and found.shape == wanted.shape  # XLA's are unsigned
                    assert found.tobytes() == wanted.tobytes(), (state, option, i)
