"""The programs of JAX's own conformance generator, exported once and kept.

JAX tests its lowerings with a generator of small programs over every primitive
(`jax._src.internal_test_util.test_harnesses`). `export` writes one of them as StableHLO text with
its arguments and with the results that JAX's CPU backend gives for them.

A program's slice is its name's SHA-256, read as an integer, modulo 40: `slice 0` is a sample that
nobody chose. Files are named by the first sixteen hexadecimal digits of the digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import agreement
import jax
import numpy as np
from jax._src.internal_test_util import test_harnesses
from safetensors.numpy import save_file

SLICES = 40
NOT_IMPLEMENTED = "JAX does not implement it for the CPU"


@dataclass(frozen=True)
class Program:
    """One program of the generator."""

    name: str
    group: str
    harness: test_harnesses.Harness

    @property
    def digest(self) -> str:
        """What its files are called."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:16]

    @property
    def slice(self) -> int:
        """Which of the SLICES samples it belongs to."""
        return int(hashlib.sha256(self.name.encode()).hexdigest(), 16) % SLICES


def all_programs() -> list[Program]:
    """Every program, slice by slice."""
    programs = [Program(h.fullname, h.group_name, h) for h in test_harnesses.all_harnesses]
    return sorted(programs, key=lambda program: (program.slice, program.digest))


def as_arrays(values: object) -> dict[str, np.ndarray]:
    """The leaves of a tree as numpy arrays by number; random keys as the words they consist of."""
    arrays = {}
    for index, leaf in enumerate(jax.tree.leaves(values)):
        if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        arrays[str(index)] = np.ascontiguousarray(np.asarray(leaf)).reshape(np.shape(leaf))
    return arrays


def sum_terms(program: Program) -> dict[str, agreement.Terms]:
    """How many terms the results of a sum have, and how large they are together: the sums of ones and of the
    arguments' absolute values."""
    step = jax.jit(program.harness.dyn_fun, keep_unused=True)

    def evaluate(change: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
        def changed(leaf: object) -> object:
            array = np.asarray(leaf)
            # Integers are factors of a product, and elsewhere indices.
            is_term = agreement.is_inexact(array.dtype) or (program.group == "dot_general" and array.dtype.kind in "iu")
            return change(array).astype(array.dtype) if is_term else leaf

        arguments = program.harness.dyn_args_maker(np.random.RandomState(program.slice + 1))
        results = as_arrays(step(*jax.tree.map(changed, arguments)))
        return {f"result{i}": agreement.wide(a).real for i, a in results.items()}

    counts = evaluate(np.ones_like)
    magnitudes = evaluate(lambda x: np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x))
    return {name: agreement.Terms(counts[name], magnitudes[name]) for name in counts}


def export(program: Program, folder: Path) -> dict:
    """Writes a program's text, arguments and expected results; says so if JAX itself cannot run it."""
    record = {"name": program.name, "group": program.group, "slice": program.slice, "reason": ""}
    stem = folder / program.digest
    if not program.harness.filter("cpu"):
        record["reason"] = NOT_IMPLEMENTED
    else:
        # The generator draws arguments from the state it is given: the same for every run.
        arguments = program.harness.dyn_args_maker(np.random.RandomState(program.slice + 1))
        step = jax.jit(program.harness.dyn_fun, keep_unused=True)
        try:
            lowered = step.lower(*arguments)
            results = lowered.compile()(*arguments)
        except Exception as error:  # whatever JAX raises, the program has no meaning to compare with
            record["reason"] = f"JAX fails: {type(error).__name__}: {str(error)[:200]}"
        else:
            converted = [jax.numpy.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
            save_file({f"arg{i}": a for i, a in as_arrays(converted).items()}, f"{stem}.in.safetensors")
            save_file({f"result{i}": a for i, a in as_arrays(results).items()}, f"{stem}.out.safetensors")
            Path(f"{stem}.mlir").write_text(lowered.as_text())
    Path(f"{stem}.json").write_text(json.dumps(record))
    return record


def exported(program: Program, folder: Path) -> dict:
    """A program's record, exporting it first if it is not there yet."""
    path = folder / f"{program.digest}.json"
    return json.loads(path.read_text()) if path.exists() else export(program, folder)
