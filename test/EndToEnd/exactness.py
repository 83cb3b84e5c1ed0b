"""How exact a step is: the errors of its state after five steps in XLA, against the same steps in float64.

What two valid compilations of one text compute differs in rounding, and an optimizer that divides by a gradient's size
makes much of little where a gradient is nearly zero. So there are also variants of a text that mean the same and leave
XLA other fusions: with barriers in random places.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import compare
import numpy as np
import replays
import xla
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir


@dataclass(frozen=True)
class Truth:
    """The state after five steps in float64, with the paths of its leaves."""

    paths: list[str]
    values: list[Any]

    def errors(self, results: Sequence[Any]) -> dict[str, float]:
        """The error of every floating leaf, as compare.py measures it; fails if an integer differs or a leaf is missing."""
        found = {}
        for path, exact, value in zip(self.paths, self.values, results[: len(self.paths)], strict=True):
            if np.issubdtype(np.asarray(exact).dtype, np.floating):
                found[path] = compare.error_of(np.asarray(value), np.asarray(exact))
            else:
                assert np.array_equal(value, exact), path
        return found


def truth(text: str, info: dict) -> Truth:
    """Runs five steps in float64."""
    values, _ = replays.replayed(text, info, True, xla.STEPS)
    return Truth([leaf["path"] for leaf in info["args"] if leaf["donated"]], values)


def without_zero_gradients(name: str, errors: dict[str, float]) -> dict[str, float]:
    """The errors without those of state that is rounding alone."""
    return {path: error for path, error in errors.items() if not path.endswith(compare.ZERO_GRADIENT.get(name, ()))}


def above(limit: float, ours: dict[str, float], others: dict[str, float]) -> dict[str, float]:
    """How many times the others' our errors are, where that is more than `limit` times, or where they have no limit."""
    assert ours and ours.keys() == others.keys()
    return {path: error / max(others[path], 1e-300) for path, error in ours.items() if not error <= limit * others[path] < math.inf}


def with_barriers(text: str, seed: int) -> str:
    """The same program with a barrier behind every tenth operation of its functions, chosen by `seed`."""
    chosen = random.Random(seed)
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for function in module.body.operations:
            if function.operation.name != "func.func":
                continue
            block = function.regions[0].blocks[0]
            for operation in list(block.operations)[:-1]:
                results = operation.operation.results
                if len(results) != 1 or not isinstance(results[0].type, ir.RankedTensorType) or chosen.random() > 0.1:
                    continue
                at_end = ir.InsertionPoint.at_block_terminator(block)
                barrier = ir.Operation.create("stablehlo.optimization_barrier", [results[0].type], [results[0]], ip=at_end)
                barrier.move_after(operation.operation)
                results[0].replace_all_uses_except(barrier.results[0], barrier)
        assert module.operation.verify()
        return str(module)
