"""Compiles exported steps by running the command-line tool."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tenon import errors, native


def compile_file(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    target: str = "cpu",
    cpu: str = "host",
    machine: str | os.PathLike[str] | None = None,
    roles: str | os.PathLike[str] | dict | None = None,
    names: Mapping[int | str, str] | None = None,
    report: str | os.PathLike[str] | None = None,
    memory_budget: int | str | None = None,
    recompute: str = "keep",
    fuse: bool = True,
    libraries: bool = True,
    subnormals: str = "flush",
    precision: str = "f32",
    precision_policy: str | os.PathLike[str] | None = None,
    rounding_seed: int | None = None,
    compile_threads: int = 0,
    entries: Mapping[str, str | os.PathLike[str]] | None = None,
    mesh: str | None = None,
    sharding: str | os.PathLike[str] | None = None,
    logical_shards: int | None = None,
) -> str:
    """Compiles an exported module to a `.tenon` file and returns the compiler's remarks.

    target: `cpu`, or GPUs of NVIDIA's: `sm_90`, or `sm_80,sm_90` for code for both.
    cpu: `host`, `x86-64-v3`, `x86-64-v4`, `x86-64-v4+avx512bf16`, `x86-64-v4+amxbf16` or a processor family.
    machine: a machine description; roles: a JSON file that says what each argument is, or its content.
    names: what results that are no state are called, by their number or present name: `{1: "accuracy"}`.
    report: where to write what each stage did and took, as JSON.
    memory_budget: what the step may take in all, in bytes or as text such as `1.6GiB`; what does not fit is computed
    again, and CompileError with exit code 3 names the smallest budget that can be kept. `smallest` takes that one. recompute: `keep` what the program's
    own checkpoints recompute, or `replan` it together with the rest. fuse: merge operations into kernels.
    libraries: call oneDNN and LAPACK; without them products and convolutions are kernels, which are slower.
    subnormals: `flush` takes numbers too small for all their digits as zero, as XLA does; `keep` computes with them.
    precision: `bf16` stores values and multiplies in 16 bits where that is quicker and trains alike; state stays f32.
        `bf16-state` holds parameters and moments in bf16, too, and rounds what replaces them up or down by chance.
        `f16` stores values in f16 and scales the loss, with the scale as state; parameters stay f32.
        `tf32` leaves values f32 and lets matrix products for GPUs multiply tf32; other targets refuse it.
    precision_policy: a JSON file that says what is kept in f32 or may be narrow.
    entries: further entry points, by name the module of each: `{"eval": "eval.mlir"}`. They read the step's state, which is
    found by name, and write none; Program.run_entry runs one.
    mesh: ranks that run the step together, as axes with sizes, `data=2,model=2`; memory_budget is the memory of one of them.
    sharding: how tensors are cut over them: `solve`, the default, chooses what takes the least time; `propagate` follows from
        the shardings that the step has; or a file with a line `NAME = LAYOUT` for some arguments and results.
    logical_shards: so many shards of the batch, a power of two, are computed alone and summed by a binary tree, so that any
        number of ranks that divides it gives the same bits.
    rounding_seed: what `bf16-state` draws chance from, 0 if it is not given.
    """
    command: list[str | os.PathLike[str]] = [native.tool(), "compile", source, "-o", output]
    command.append(f"--fuse={str(fuse).lower()}")
    if target != "cpu":
        command.append(f"--target={target}")
    if target == "cpu" or cpu != "host":
        command.append(f"--cpu={cpu}")
    if not libraries:
        command.append("--no-libraries")
    if subnormals != "flush":
        command.append(f"--subnormals={subnormals}")
    if precision != "f32":
        command.append(f"--precision={precision}")
    command += [f"--entry={name}={os.fspath(module)}" for name, module in (entries or {}).items()]
    command += [f"--name={result}={name}" for result, name in (names or {}).items()]
    with tempfile.TemporaryDirectory(prefix="tenon-") as scratch:
        if isinstance(roles, dict):
            path = Path(scratch) / "roles.json"
            path.write_text(json.dumps(roles))
            roles = path
        if memory_budget is not None:
            command.append(f"--memory-budget={memory_budget}")
        if recompute != "keep":
            command.append(f"--recompute={recompute}")
        for name, value in (
            ("machine", machine),
            ("roles", roles),
            ("report", report),
            ("precision-policy", precision_policy),
            ("mesh", mesh),
            ("sharding", sharding),
        ):
            if value is not None:
                command.append(f"--{name}={os.fspath(value)}")
        if rounding_seed is not None:
            command.append(f"--rounding-seed={rounding_seed}")
        if logical_shards is not None:
            command.append(f"--logical-shards={logical_shards}")
        if compile_threads:
            command.append(f"--threads={compile_threads}")
        return _run(command)


def optimize_file(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    memory_budget: int | str | None = None,
    precision: str = "f32",
    precision_policy: str | os.PathLike[str] | None = None,
    roles: str | os.PathLike[str] | None = None,
    generic: bool = False,
    report: str | os.PathLike[str] | None = None,
) -> str:
    """Writes an exported module back as StableHLO for XLA and returns the compiler's remarks.

    memory_budget: what arguments, results that are written over none of them, and XLA's temporaries may take together, in
    bytes or as text such as `1.6GiB`. precision: `bf16` writes a step that multiplies and stores values in 16 bits where that
    is quicker on what multiplies them natively; precision_policy: as in compile_file; roles: a JSON file that says what each
    argument is, by whose names a policy speaks of them. generic: write the form that depends least on versions. report: where to write what
    each stage did and took, as JSON.
    """
    command: list[str | os.PathLike[str]] = [
        native.tool(),
        "compile",
        source,
        "-o",
        output,
        "--target=stablehlo",
        f"--generic={str(generic).lower()}",
    ]
    if memory_budget is not None:
        command.append(f"--memory-budget={memory_budget}")
    if precision != "f32":
        command.append(f"--precision={precision}")
    for name, value in (("precision-policy", precision_policy), ("roles", roles), ("report", report)):
        if value is not None:
            command.append(f"--{name}={os.fspath(value)}")
    return _run(command)


def _run(command: list[str | os.PathLike[str]]) -> str:
    """Runs the tool and returns what it said on standard error."""
    process = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    if process.returncode != 0:
        said = process.stderr.strip()
        if process.returncode < 0:
            said = f"the compiler was killed by signal {-process.returncode}\n{said}"
        raise errors.CompileError(said, process.returncode)
    return process.stderr.strip()
