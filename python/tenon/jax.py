"""Compiles JAX training steps ahead of time, or plans them for XLA.

    step = tenon.jax.compile(train_step, state, x, y)
    for x, y in batches:
        state, loss = step(state, x, y)

The compiled step is called like the original. Its state lives in Tenon's memory and is updated in place: the state
that a call returns consists of views of that memory, and passing them to the next call copies nothing.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tenon import errors
from tenon.compiler import compile_file
from tenon.program import Program, load
from tenon.tensors import Tensor, describe
from tenon.xla import OptimizedStep, optimize

__all__ = ["CompiledStep", "OptimizedStep", "compile", "optimize"]


def compile(
    step: Callable[..., Any],
    *example_args: Any,
    donate_argnums: int | Sequence[int] = (0,),
    output: str | os.PathLike[str] | None = None,
    threads: int = 0,
    prefault: bool = False,
    mesh: str | None = None,
    **options: Any,
) -> CompiledStep:
    """Compiles a step for arguments like the examples, which may be arrays or jax.ShapeDtypeStructs.

    donate_argnums: the arguments that are state. output: where to keep the `.tenon` file; by default it is not kept.
    threads: how many share a step, 0 for all processors. prefault: take all memory now, not in the first step.
    mesh: ranks that run the step together, such as `data=2,model=2`. They share the threads of this process, which gives and
    gets whole arrays. options: those of tenon.compile_file, with `sharding` for how tensors are cut.
    Raises tenon.CompileError with what the compiler said.
    """
    if mesh is not None:
        _refuse_launched()
    donated = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    # Leaves that the step does not read stay arguments, so that argument i is leaf i.
    jitted = jax.jit(step, donate_argnums=donated, keep_unused=True)
    lowered = jitted.trace(*example_args).lower(lowering_platforms=("cpu",))
    with tempfile.TemporaryDirectory(prefix="tenon-") as scratch:
        source = Path(scratch) / "step.mlir"
        source.write_text(lowered.as_text(debug_info=True))
        path = Path(output) if output is not None else Path(scratch) / "step.tenon"
        remarks = compile_file(source, path, mesh=mesh, **options)
        program = load(path, threads=threads, prefault=prefault, ranks=_ranks_of(mesh))
    return CompiledStep(program, lowered.in_avals, lowered.out_info, donated, remarks)


def _ranks_of(mesh: str | None) -> int:
    """How many ranks a mesh has that the compiler has accepted."""
    return math.prod(int(axis.split("=")[1]) for axis in mesh.split(",")) if mesh else 1


def _refuse_launched() -> None:
    """Raises where a launcher has started several processes: each would run all ranks by itself, on its own data."""
    for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        if (count := os.environ.get(variable, "1")) not in ("", "0", "1"):
            raise errors.ArgumentError(
                f"mesh= runs all ranks in this process, and {count} processes were started ({variable}); start one, or keep the "
                "file with output= and train it with `mpirun tenon run`"
            )


class _Leaf:
    """An argument or a result: the tensor behind it and how its value is passed."""

    def __init__(self, tensor: Tensor, info: Any, path: str) -> None:
        self.tensor = tensor
        self.path = path
        # A random key is an array of integers to the compiler.
        is_key = jax.dtypes.issubdtype(info.dtype, jax.dtypes.prng_key)
        self.key = jax.random.key_impl(jax.numpy.zeros((), info.dtype)) if is_key else None

    def present(self, array: np.ndarray) -> Any:
        """What the caller sees of an array."""
        return array if self.key is None else jax.random.wrap_key_data(jax.numpy.array(array), impl=self.key)

    def take(self, value: Any) -> np.ndarray:
        """The array of a value that the caller passes; raises if it does not fit."""
        if self.key is not None:
            if not jax.dtypes.issubdtype(getattr(value, "dtype", np.float32), jax.dtypes.prng_key):
                raise errors.ArgumentError(f"{self.path} is a random key, given {type(value).__name__}")
            value = jax.random.key_data(value)
        if isinstance(value, bool | int | float):
            given = np.asarray(value, self.tensor.dtype)
        else:
            given = np.asarray(value)
            given = given.astype(jax.dtypes.canonicalize_dtype(given.dtype), copy=False)
        if given.shape != self.tensor.shape or given.dtype != self.tensor.dtype:
            raise errors.ArgumentError(
                f"{self.path} is {describe(self.tensor.shape, self.tensor.dtype)}, given {describe(given.shape, given.dtype)}"
            )
        return given


class CompiledStep:
    """A compiled step, called like the step it was made from.

    State is copied in when the caller passes anything else than what the last call returned. Results that are no state
    are copies.
    """

    def __init__(self, program: Program, in_avals: Any, out_info: Any, donated: tuple[int, ...], remarks: str) -> None:
        self.program = program
        self.remarks = remarks
        arguments, self._in_tree = jax.tree_util.tree_flatten_with_path(in_avals)
        results, self._out_tree = jax.tree_util.tree_flatten_with_path(out_info)
        tensors = program.tensors.values()
        by_argument = {tensor.argument: tensor for tensor in tensors if tensor.argument is not None}
        by_result = {tensor.result: tensor for tensor in tensors if tensor.result is not None}
        self._arguments = [
            _Leaf(by_argument[i], info, _argument_path(path)) for i, (path, info) in enumerate(arguments)
        ]
        self._results = [
            _Leaf(by_result[i], info, "result" + jax.tree_util.keystr(path)) for i, (path, info) in enumerate(results)
        ]
        self._donated = donated
        # State tensors by the memory that views of them share; of one that has none the caller gets copies.
        self._owners = {
            id(tensor.memory): tensor for tensor in program.state.values() if not isinstance(tensor.memory, str)
        }
        # What the caller holds as the present state, by tensor.
        self._current: dict[int, Any] = {}

    def __call__(self, *args: Any) -> Any:
        """Runs one step."""
        tree: Any
        leaves, tree = jax.tree.flatten((args, {}))
        if tree != self._in_tree:
            raise errors.ArgumentError(f"the step was compiled for arguments\n  {self._in_tree}\ngiven\n  {tree}")
        self._write(leaves)
        self.program.step()
        return jax.tree.unflatten(self._out_tree, self._read())

    @property
    def state(self) -> Any:
        """The donated argument as it is now, as views; a tuple of them if there are several."""
        self._renew()
        leaves = [self._current.get(leaf.tensor.index, leaf.tensor.memory) for leaf in self._arguments]
        args, _ = jax.tree.unflatten(self._in_tree, leaves)
        chosen = tuple(args[i] for i in self._donated)
        return chosen[0] if len(chosen) == 1 else chosen

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the state as a safetensors file."""
        self.program.save(path)

    def load_state(self, path: str | os.PathLike[str]) -> Any:
        """Reads the state from a safetensors file and returns it, to be passed to the next call."""
        self.program.load_state(path)
        return self.state

    def _write(self, leaves: list[Any]) -> None:
        pending = []
        for leaf, value in zip(self._arguments, leaves, strict=True):
            if value is self._current.get(leaf.tensor.index, self):
                continue
            owner = self._owner(value)
            if owner is not None and value is not self._current.get(owner.index, self):
                raise errors.ArgumentError(
                    f"{leaf.path} is '{owner.name}' of an earlier step, which a later step has overwritten; pass what "
                    "the last call returned, or copy it with numpy.array before the next call"
                )
            given = leaf.take(value)
            # Memory that this loop may write before it is read.
            pending.append((leaf, given if owner is None else given.copy()))
        for leaf, given in pending:
            leaf.tensor.write(given)

    def _owner(self, value: Any) -> Tensor | None:
        """The state tensor whose memory a value is, if any."""
        base = getattr(value, "base", None) if isinstance(value, np.ndarray) else None
        return self._owners.get(id(base)) if base is not None else None

    def _renew(self) -> None:
        """Makes new views of the state, so that older ones can be told apart."""
        by_tensor = {leaf.tensor.index: leaf for leaf in self._arguments if leaf.tensor.kind == "state"}
        self._current = {index: leaf.present(_view(leaf.tensor)) for index, leaf in by_tensor.items()}

    def _read(self) -> list[Any]:
        self._renew()
        return [
            self._current[leaf.tensor.index] if leaf.tensor.kind == "state" else leaf.present(leaf.tensor.read())
            for leaf in self._results
        ]


def _view(tensor: Tensor) -> np.ndarray:
    """A new view of a tensor's memory, or a copy of its value if the program holds it in another form or on a GPU."""
    return tensor.memory.view() if isinstance(tensor.memory, np.ndarray) else tensor.read()


def _argument_path(path: Any) -> str:
    """`argument 0['w']` from the path of a leaf in ((arguments), {})."""
    return f"argument {path[1].idx}{jax.tree_util.keystr(path[2:])}"
