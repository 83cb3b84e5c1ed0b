"""Values of a GPU that wait in memory of its host, from a text with saves and loads to runs on the emulated driver."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, ON_GPU, refused, run, succeed
from safetensors.numpy import load_file, save_file

DRIVER = BUILD / "lib" / "libtenon-emulated-cuda.so"
ELEMENTS = 1024
TYPE = f"tensor<{ELEMENTS}xf32>"

# The step: `a` and `b` are read early and late, and others need memory between.
# Each line makes a value by an operation of others; [a] is the value that waits if any does. What is reversed takes another place.
STEP = """
a = tanh x
save sa a 2
b = multiply a w
save sb b 1
c = reverse b
d = reverse c
e = reverse d
load lb sb 1
f = reverse e
g = multiply f [b]
load la sa 0
h = add g [a]
n = subtract w h
"""


def group(name: str, kind: str, operands: list[str], inside: str, attributes: str = "") -> str:
    """A group with one result."""
    types, names = ", ".join([TYPE] * len(operands)), ", ".join(f"%{operand}" for operand in operands)
    arguments = ", ".join(f"%p{number}: {TYPE}" for number in range(len(operands)))
    return f"  %{name} = step.group {kind}({names}){attributes} : ({types}) -> {TYPE} {{\n  ^bb0({arguments}):\n{inside}  }}\n"


def grouped(waits: bool) -> str:
    """The step as groups in the order of execution, with or without what moves `a` and `b`."""
    lines = ""
    for line in STEP.strip().splitlines():
        if line.startswith(("save", "load")):
            kind, name, operand, beside = line.split()
            attributes = (
                f" attributes {{step.beside = {beside} : i64, step.nanoseconds = 1500 : i64, step.transfer_nanoseconds = 3000 : i64}}"
            )
            lines += group(name, kind, [operand], f"    step.yield %p0 : {TYPE}\n", attributes) if waits else ""
            continue
        name, _, operation, *operands = re.sub(r"\[(\w)\]", r"l\1" if waits else r"\1", line).split()
        arguments = ", ".join(f"%p{number}" for number in range(len(operands))) + ", dims = [0]" * (operation == "reverse")
        inside = f"    %r = stablehlo.{operation} {arguments} : {TYPE}\n    step.yield %r : {TYPE}\n"
        lines += group(name, "elementwise", operands, inside)
    return f"""
func.func @main(
    %w: {TYPE} {{step.name = "w", step.aliases = ["arg0"], step.role = #step.role<parameter>, step.successor = 0 : i64}},
    %x: {TYPE} {{step.name = "x", step.aliases = ["arg1"], step.role = #step.role<batch>}})
    -> ({TYPE} {{step.name = "w", step.aliases = ["result0"]}}, {TYPE} {{step.name = "y", step.aliases = ["result1"]}}) {{
{lines}  return %n, %h : {TYPE}, {TYPE}
}}
"""


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the emulated driver."""
    for name in [name for name in os.environ if name.startswith(("TENON_EMULATED_CUDA_", "TENON_CUDA_"))]:
        monkeypatch.delenv(name)


class Programs:
    """The step with everything kept and with values that wait, and what to start from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept, self.waiting = (self.compile(waits) for waits in (False, True))
        random = np.random.default_rng(20)
        self.inputs = folder / "inputs.safetensors"
        save_file({f"arg{number}": random.normal(size=ELEMENTS).astype(np.float32) for number in (0, 1)}, self.inputs)

    def compile(self, waits: bool) -> Path:
        """Gives every value a place, and makes a file of the text."""
        source, planned, file = (self.folder / f"{waits}.{end}" for end in ("mlir", "plan.mlir", "tenon"))
        source.write_text(grouped(waits))
        passes = ["--memory-plan-offsets", "--memory-await-collectives", "--verify-scheduled-form"]
        subprocess.run([BUILD / "bin" / "tenon-opt", source, *passes, "-o", planned], check=True, capture_output=True)
        succeed("compile", planned, "--compile-from=plan", "-o", file, *ON_GPU)
        return file

    def run(self, file: Path) -> dict[str, np.ndarray]:
        """The state and the result behind three steps."""
        state, results = self.folder / "state.safetensors", self.folder / "results.safetensors"
        succeed(
            "run", file, f"--inputs={self.inputs}", "--steps=3", f"--outputs={results}", f"--save={state}", f"--cuda-driver={DRIVER}",
        )  # fmt: skip
        return load_file(state) | load_file(results)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Compiled once."""
    return Programs(tmp_path_factory.mktemp("waiting"))


def bytes_of(segment: str, file: Path) -> int:
    """What `tenon verify` says of a segment."""
    found = re.search(rf"{segment} ([\d.]+) KiB", succeed("verify", file))
    assert found, segment
    return round(float(found[1]) * 1024)


def test_bits_are_those_without_waiting(programs: Programs) -> None:
    """The GPU needs less, memory of the host is reported apart, and nobody sees it in the results."""
    kept, waiting = programs.run(programs.kept), programs.run(programs.waiting)
    assert kept.keys() == waiting.keys()
    assert "w" in kept
    assert all(kept[name].tobytes() == waiting[name].tobytes() for name in kept)
    value = 4 * ELEMENTS
    assert bytes_of("temporaries", programs.kept) - bytes_of("temporaries", programs.waiting) >= value
    assert bytes_of("pinned memory of the host", programs.waiting) == 2 * value
    assert re.search(rf"host \(pinned\) +{2 * value}\n", succeed("inspect", programs.waiting))
    waits = f"pinned memory of the host, for values that wait: {2 * value / 1024:.2f} KiB"
    assert waits in succeed("inspect", programs.waiting, "--memory")
    for command in ("verify", "inspect"):
        assert "pinned" not in succeed(command, programs.kept)


def test_what_is_not_awaited_is_refused(programs: Programs, tmp_path: Path) -> None:
    """By the checker, and by whoever loads the file."""
    lowered = tmp_path / "lower.mlir"
    succeed("compile", programs.folder / "True.plan.mlir", "--compile-from=plan", "--compile-to=lower", "-o", lowered, *ON_GPU)
    lines = lowered.read_text().splitlines()
    waits = [number for number, line in enumerate(lines) if "exec.wait queue" in line]
    assert len(waits) == 4
    for number in waits:
        text, file = tmp_path / "damaged.mlir", tmp_path / "damaged.tenon"
        text.write_text("\n".join(lines[:number] + lines[number + 1 :]))
        succeed("compile", text, "--compile-from=lower", "-o", file, *ON_GPU)
        assert "not awaited" in refused(1, "verify", file)
        outcome = run("run", file, f"--inputs={programs.inputs}", f"--cuda-driver={DRIVER}")
        assert outcome.code != 0
        assert "the file is damaged" in outcome.errors and "copy that is not awaited yet" in outcome.errors, outcome


def test_processors_have_no_such_queues(programs: Programs, tmp_path: Path) -> None:
    """Nothing waits there on another memory."""
    said = refused(1, "compile", programs.folder / "True.plan.mlir", "--compile-from=plan", "-o", tmp_path / "cpu.tenon")
    assert "values wait in memory of the host, which the device class 'cpu' has not" in said


EVALUATION = f"""
func.func @main(%w: {TYPE}, %x: {TYPE}) -> ({TYPE} {{jax.result_info = "result"}}) {{
  %0 = stablehlo.multiply %w, %x : {TYPE}
  return %0 : {TYPE}
}}
"""


def test_entry_points_stand_beside_it(programs: Programs, tmp_path: Path) -> None:
    """In one of its own nothing waits."""
    source, file = tmp_path / "evaluation.mlir", tmp_path / "both.tenon"
    source.write_text(EVALUATION)
    planned = programs.folder / "True.plan.mlir"
    succeed("compile", planned, "--compile-from=plan", f"--entry=evaluate={source}", "-o", file, *ON_GPU)
    claims = succeed("verify", file)
    assert claims.count("waiting ") == 1
    assert "'evaluate' writes none" in claims
    kept, waiting = programs.run(programs.kept), programs.run(file)
    assert all(kept[name].tobytes() == waiting[name].tobytes() for name in kept)
