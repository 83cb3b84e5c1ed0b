"""Steps that stay in JAX: Tenon's plan as StableHLO, called from a function that `jax.jit` compiles.

`tenon.jax.optimize` is the way in. What a call does inside `jax.jit`: one primitive, whose lowering puts the planned
module into the one that JAX is making, as a private function; XLA inlines it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import jax
from jax.extend import core
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from tenon import errors
from tenon.compiler import optimize_file

# What only means something on a program's entry; JAX writes it anew for the program around.
_ENTRY_ATTRIBUTES = (
    "tf.aliasing_output",
    "jax.buffer_donor",
    "jax.result_info",
    "mhlo.layout_mode",
    "mhlo.memory_kind",
)


class _Module:
    """A planned module and the types of its results; a parameter of the primitive, equal to itself alone."""

    def __init__(self, text: str, results: tuple[Any, ...]) -> None:
        self.text = text
        self.results = results


_call = core.Primitive("tenon_step")
_call.multiple_results = True


@_call.def_abstract_eval
def _result_types(*_: Any, module: _Module) -> tuple[Any, ...]:
    return module.results


def _without_entry_attributes(attributes: ir.ArrayAttr) -> ir.ArrayAttr:
    """A list of dictionaries of attributes, without those of an entry."""
    kept = []
    for entry in attributes:
        names = {named.name: named.attr for named in cast(Any, entry)} if isinstance(entry, ir.DictAttr) else {}
        kept.append(ir.DictAttr.get({name: value for name, value in names.items() if name not in _ENTRY_ATTRIBUTES}))
    return ir.ArrayAttr.get(kept)


def _lower(context: mlir.LoweringRuleContext, *operands: ir.Value, module: _Module) -> Sequence[ir.Value]:
    from jax._src.interpreters.mlir import merge_mlir_modules

    parsed = ir.Module.parse(module.text)
    main = ir.SymbolTable(parsed.operation)["main"]
    for key in ("arg_attrs", "res_attrs"):
        if key in main.attributes:
            main.attributes[key] = _without_entry_attributes(ir.ArrayAttr(main.attributes[key]))
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    outer = context.module_context
    name = merge_mlir_modules(outer.module, "tenon_step", parsed, dst_symtab=outer.symbol_table)
    return func.CallOp(types, ir.FlatSymbolRefAttr.get(name), operands).results


mlir.register_lowering(_call, _lower)


def _is_key(info: Any) -> bool:
    return jax.dtypes.issubdtype(info.dtype, jax.dtypes.prng_key)


class OptimizedStep:
    """A step with Tenon's plan, called like the step it was made from, under `jax.jit` with the same donation.

    text: the planned module. plan: what was predicted, a dictionary as in the compiler's report; empty without a
    budget. remarks: what the compiler said.
    """

    def __init__(
        self,
        lowered: Any,
        donated: tuple[int, ...],
        static: dict[int, Any],
        text: str,
        plan: dict[str, Any],
        remarks: str,
    ) -> None:
        self.text = text
        self.plan = plan
        self.remarks = remarks
        self._donated = donated
        self._static = static
        self._infos, self._in_tree = jax.tree.flatten(lowered.in_avals)
        self._results, self._out_tree = jax.tree.flatten(lowered.out_info)
        self._module = _Module(text, tuple(jax.core.ShapedArray(*_stored(info)) for info in self._results))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs one step, or traces it."""
        for number, value in self._static.items():
            if number >= len(args) or args[number] != value:
                given = repr(args[number]) if number < len(args) else "nothing"
                raise errors.ArgumentError(
                    f"argument {number} is static and was {value!r} when the step was optimized, given {given}; optimize "
                    "the step again for other values"
                )
        dynamic = tuple(arg for number, arg in enumerate(args) if number not in self._static)
        tree: Any
        leaves, tree = jax.tree.flatten((dynamic, kwargs))
        if tree != self._in_tree:
            raise errors.ArgumentError(f"the step was optimized for arguments\n  {self._in_tree}\ngiven\n  {tree}")
        operands = [self._take(i, leaf) for i, leaf in enumerate(leaves)]
        # Outside of jit the primitive has no implementation of its own.
        results = jax.jit(lambda *values: _call.bind(*values, module=self._module))(*operands)
        presented = [
            jax.random.wrap_key_data(value, impl=jax.random.key_impl(jax.numpy.zeros((), info.dtype)))
            if _is_key(info)
            else value
            for value, info in zip(results, self._results, strict=True)
        ]
        return jax.tree.unflatten(self._out_tree, presented)

    def _take(self, number: int, value: Any) -> Any:
        """The array of one leaf; raises if it does not fit."""
        info = self._infos[number]
        if _is_key(info):
            value = jax.random.key_data(value)
        shape, dtype = _stored(info)
        if isinstance(value, bool | int | float):
            value = jax.numpy.asarray(value, dtype)
        value = jax.numpy.asarray(value)
        if value.shape != shape or value.dtype != dtype:
            raise errors.ArgumentError(
                f"leaf {number} is {dtype}{list(shape)}, given {value.dtype}{list(value.shape)}; optimize the step again "
                "for arguments of other shapes"
            )
        return value

    def memory(self) -> dict[str, int]:
        """Compiles the step with XLA and returns the bytes of its arguments, of results in memory of their own, and of
        its temporaries: actual, and under a budget asked and predicted. Prints them as well."""
        shapes = [jax.ShapeDtypeStruct(info.shape, info.dtype) for info in self._infos]
        dynamic, kwargs = jax.tree.unflatten(self._in_tree, shapes)
        args = list(dynamic)
        for number in sorted(self._static):
            args.insert(number, self._static[number])
        step = jax.jit(self, donate_argnums=self._donated, static_argnums=tuple(self._static))
        compiled = step.lower(*args, **kwargs).compile()
        analysis: Any = compiled.memory_analysis()
        figures = {
            "arguments": analysis.argument_size_in_bytes,
            "results": analysis.output_size_in_bytes - analysis.alias_size_in_bytes,
            "temporaries": analysis.temp_size_in_bytes,
        }
        for name in ("asked", "predicted"):
            if f"temporaries_{name}" in self.plan:
                figures[name] = self.plan[f"temporaries_{name}"]
        print(", ".join(f"{name} {value / 2**20:.2f} MiB" for name, value in figures.items()))
        return figures


def _stored(info: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of the array behind a leaf: a random key is an array of integers."""
    if not _is_key(info):
        return tuple(info.shape), jax.numpy.dtype(info.dtype)
    data = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(info.shape, info.dtype))
    return tuple(data.shape), data.dtype


def optimize(
    step: Callable[..., Any],
    *example_args: Any,
    donate_argnums: int | Sequence[int] = (0,),
    static_argnums: int | Sequence[int] = (),
    memory_budget: int | str | None = None,
    precision: str = "f32",
    precision_policy: str | os.PathLike[str] | None = None,
    **example_kwargs: Any,
) -> OptimizedStep:
    """Plans a step for XLA and returns a function for `jax.jit` in its place.

        step = tenon.jax.optimize(train_step, state, x, y, memory_budget="1.5GiB")
        fast = jax.jit(step, donate_argnums=0)

    example_args and example_kwargs, what the step takes by position and by name, may be arrays or jax.ShapeDtypeStructs.
    donate_argnums, static_argnums: what will be donated to `jax.jit`, and what is static there, by position; a plan holds
    for the shapes and static values it was made for, and another call of optimize makes another one. memory_budget:
    what arguments, results that are written over none of them, and XLA's temporaries may take together, in bytes or as
    text; what does not fit is computed again. XLA decides in the end: `memory()` says what it needs. precision,
    precision_policy: `bf16` lowers the step, and a JSON file says what is different, as in tenon.compile_file; arguments and
    results stay f32.
    Raises tenon.CompileError with what the compiler said.
    """
    donated = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    # Leaves that the step does not read stay arguments, so that argument i is leaf i.
    jitted = jax.jit(step, donate_argnums=donated, static_argnums=static, keep_unused=True)
    lowered = jitted.trace(*example_args, **example_kwargs).lower()
    with tempfile.TemporaryDirectory(prefix="tenon-") as scratch:
        source, output, report = (Path(scratch) / name for name in ("step.mlir", "planned.mlir", "report.json"))
        source.write_text(lowered.as_text(debug_info=True))
        remarks = optimize_file(
            source,
            output,
            memory_budget=memory_budget,
            precision=precision,
            precision_policy=precision_policy,
            report=report,
        )
        stages = json.loads(report.read_text())["stages"]
        text = output.read_text()
    plan = next(stage for stage in stages if stage["stage"] == "plan")
    values = {number: example_args[number] for number in sorted(static)}
    return OptimizedStep(lowered, donated, values, text, plan, remarks)
