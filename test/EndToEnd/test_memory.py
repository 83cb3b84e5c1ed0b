"""What a step may touch and how much memory it may take."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import random_steps
import resident
from conftest import BUILD, NAMES, SECONDS, Steps, differing, succeed
from safetensors import safe_open
from safetensors.numpy import save_file

# What a process may take beyond the step's own memory: code, libraries, bookkeeping.
ALLOWANCE = 64 << 20

# The same for the runtime alone, in a process that had nothing else. Most of it are the mathematics libraries.
RUNTIME_ALLOWANCE = 16 << 20

# Runs a command and prints its high-water resident memory in KiB. A process of its own, because what a process had
# before it became another program counts too, and that of the tests is large.
MEASURE = """
import os, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)
"""

# Two steps through the C interface, without the tool and the compiler in it.
TRAIN = """
import ctypes, sys
library, program, state, rate, saved = sys.argv[1:]
runtime = ctypes.CDLL(library)
runtime.tenon_error_message.restype = ctypes.c_char_p
handle = ctypes.c_void_p()

def call(name, *arguments):
    if getattr(runtime, name)(*arguments) != 0:
        sys.exit(runtime.tenon_error_message().decode())

call("tenon_load", program.encode(), None, ctypes.byref(handle))
call("tenon_load_state", handle, state.encode())
call("tenon_load_arguments", handle, rate.encode())
call("tenon_run", handle, ctypes.c_int64(2))
call("tenon_save_state", handle, saved.encode())
"""


def high_water(*command: object) -> int:
    """The most bytes a command has in memory."""
    run = [sys.executable, "-S", "-c", MEASURE, *map(str, command)]
    measured = subprocess.run(run, check=True, capture_output=True, text=True)
    return int(measured.stdout.splitlines()[-1]) << 10


@pytest.mark.parametrize("name", NAMES)
def test_operations_touch_what_they_name(models: Steps, name: str, tmp_path: Path) -> None:
    """Every operation alone in poisoned memory gives the same bits and spoils no other byte."""
    step = models[name]
    plain, checked = step.outputs(tmp_path, steps=2), step.outputs(tmp_path, "--check-memory", steps=2)
    assert not differing(plain, checked)


@pytest.mark.parametrize("name", NAMES)
def test_steps_do_not_allocate(models: Steps, name: str) -> None:
    """No step of a program allocates; what libraries allocate is bookkeeping and does not grow with the data."""
    counter, test = BUILD / "lib/TenonAllocationCounter.so", BUILD / "bin/TenonAllocationTest"
    environment = {**os.environ, "LD_PRELOAD": str(counter)}
    run = subprocess.run([test, models[name].compiled], env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert run.returncode == 0, run.stdout + run.stderr


def large_step(elements: int) -> str:
    """Momentum on one large tensor: state of twice its size, temporaries for the gradient at most."""
    tensor = f"tensor<{elements}xf32>"
    return f"""
module @jit_step {{
  func.func public @main(%w: {tensor} {{tf.aliasing_output = 0 : i32}}, %m: {tensor} {{tf.aliasing_output = 1 : i32}},
      %x: tensor<f32>) -> ({tensor} {{jax.result_info = "result[0]['w']"}},
      {tensor} {{jax.result_info = "result[0]['m']"}}, tensor<f32> {{jax.result_info = "result[1]"}}) {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> {tensor}
    %g = stablehlo.multiply %w, %b : {tensor}
    %m1 = stablehlo.add %m, %g : {tensor}
    %w1 = stablehlo.subtract %w, %m1 : {tensor}
    %loss = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [0] :
      ({tensor}, tensor<f32>) -> tensor<f32>
    return %w1, %m1, %loss : {tensor}, {tensor}, tensor<f32>
  }}
}}
"""


def segment_bytes(program: Path) -> int:
    """The bytes of all segments together."""
    kinds = {"state", "batch", "results", "temporaries", "constants"}
    lines = (line.split() for line in succeed("inspect", program).splitlines())
    sizes = {words[0]: int(words[1]) for words in lines if len(words) >= 2 and words[0] in kinds and words[1].isdigit()}
    assert sizes.keys() == kinds
    return sum(sizes.values())


@dataclass(frozen=True)
class Large:
    """A step with much state, its values, and the bytes it needs."""

    program: Path
    state: Path
    rate: Path
    planned: int


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Large:
    """96 MiB of weights and as much momentum."""
    folder = tmp_path_factory.mktemp("large")
    source = folder / "large.mlir"
    step = Large(folder / "large.tenon", folder / "state.safetensors", folder / "rate.safetensors", 0)
    elements = 24 << 20
    source.write_text(large_step(elements))
    succeed("compile", source, "-o", step.program)
    save_file({"w": np.ones(elements, np.float32), "m": np.zeros(elements, np.float32)}, step.state)
    save_file({"arg2": np.array(0.5, np.float32)}, step.rate)
    planned = segment_bytes(step.program)
    assert planned >= 8 * elements
    return replace(step, planned=planned)


def check_saved(path: Path) -> None:
    """Both steps were made: m = 0.5, w = 0.5, then m = 0.75, w = -0.25."""
    with safe_open(path, "np") as file:
        w, m = file.get_tensor("w"), file.get_tensor("m")
    assert (m == 0.75).all() and (w == -0.25).all()


def test_library_holds_state_once(large: Large, tmp_path: Path) -> None:
    """The high-water mark of a process that trains is the step's own memory: no file is held beside the state."""
    library = BUILD / "lib/libtenon-runtime.so"
    saved = tmp_path / "saved.safetensors"
    used = high_water(sys.executable, "-S", "-c", TRAIN, library, large.program, large.state, large.rate, saved)
    assert used <= large.planned + ALLOWANCE, (used, large.planned)
    check_saved(saved)


@pytest.mark.parametrize("option", ["--state", "--inputs"])
def test_tool_holds_state_once(large: Large, option: str, tmp_path: Path) -> None:
    """The same for the tool."""
    tool, saved = BUILD / "bin/tenon", tmp_path / "saved.safetensors"
    batches = tmp_path / "batches"
    batches.mkdir()
    shutil.copy(large.rate, batches)
    used = high_water(tool, "run", large.program, option, large.state, "--batches", batches, "--steps=2", "--save", saved)
    assert used <= large.planned + ALLOWANCE, (used, large.planned)
    check_saved(saved)


@pytest.mark.parametrize("name", NAMES)
def test_tool_stays_small(models: Steps, name: str) -> None:
    """What a step's kernels and library calls need beside the planned memory stays within the allowance, also in bench."""
    step, tool = models[name], BUILD / "bin/tenon"
    program = step.compiled
    planned = segment_bytes(program)
    used = high_water(tool, "run", program, "--inputs", step.inputs, "--steps=2")
    assert used <= planned + ALLOWANCE, (used, planned)
    used = high_water(tool, "bench", program, "--kernels", "--steps=1")
    assert used <= planned + ALLOWANCE, (used, planned)


def test_budgets_bound_resident_memory(tmp_path: Path) -> None:
    """A process grows by what is planned, with a budget and without one, and not by what the budget saved."""
    module = random_steps.Module()
    program = random_steps.Program(module, 1, ("dense", "dropout", "dense", "softmax", "dense", "residual", "dense", "dense", "dense"))
    program.rows, program.width = 1 << 17, 32
    program.forward()
    program.backward()
    outcome = random_steps.Runner(BUILD, tmp_path).under_budget(module, 0.0)
    assert not outcome.differing and outcome.used <= outcome.budget
    library, inputs = BUILD / "lib/libtenon-runtime.so", tmp_path / "inputs.safetensors"
    within = resident.growth(library, tmp_path / "budget.tenon", inputs)
    without = resident.growth(library, tmp_path / "plain.tenon", inputs)
    assert within <= outcome.used + RUNTIME_ALLOWANCE, (within, outcome)
    assert without <= outcome.everything + RUNTIME_ALLOWANCE, (without, outcome)
    # The measure sees what was saved.
    assert outcome.everything > outcome.budget + 2 * RUNTIME_ALLOWANCE, outcome
    assert without > outcome.budget + RUNTIME_ALLOWANCE, (without, outcome)


def test_tool_has_no_compiler_in_it() -> None:
    """The tool links no LLVM; the compiler, which it starts, does."""
    needed = {name: subprocess.run(["ldd", BUILD / "bin" / name], check=True, capture_output=True, text=True).stdout
              for name in ("tenon", "tenon-compiler")}  # fmt: skip
    assert "libLLVM" not in needed["tenon"] and "libMLIR" not in needed["tenon"]
    assert "libLLVM" in needed["tenon-compiler"]
