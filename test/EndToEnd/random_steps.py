#!/usr/bin/env python3
"""Random programs that look like training, run under random memory budgets: the same bits, never above the budget.

    python random_steps.py --first 0 --count 5000 [--pack 20] [--results FILE] [--build BUILD]
    python random_steps.py --precision bf16 --count 2000 [...]

A program is a chain of random layers, their derivatives in reverse, and updates of its parameters. Many are packed into
one module: all forward parts, then all backward parts in reverse, so that a budget binds every one of them. Programs
are numbered; a number is all there is to a program, and a pack is named by its first. --results keeps what is done, so
that a run that was ended goes on where it stopped. The committed range is 0 to 5000.

With --precision there are no budgets: `TenonRandom check` lowers the pack, with all in 16 bits that may be, and holds every
operation of the compiled step to the table of error bounds. A pack that differs stays in the folder --keep.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parent.parent.parent
STEPS = 3
# A program of a pack gets one of these layers at a time; others would change what a seed stands for.
LAYERS = (
    "dense", "relu", "residual", "dropout", "center", "normalize", "shared", "statistics", "views", "softmax", "loop",
    "branch", "kept", "scan", "microbatches",
)  # fmt: skip


@dataclass(frozen=True)
class Value:
    """An SSA value of f32 elements unless said otherwise."""

    name: str
    shape: tuple[int, ...]
    element: str = "f32"

    @property
    def type(self) -> str:
        """As StableHLO spells it."""
        return f"tensor<{''.join(f'{extent}x' for extent in self.shape)}{self.element}>"


@dataclass
class Module:
    """The text of one step: arguments, lines, results."""

    lines: list[str] = field(default_factory=list)
    arguments: list[tuple[Value, np.ndarray]] = field(default_factory=list)
    updates: dict[str, tuple[str, Value]] = field(default_factory=dict)  # argument to name and successor
    results: list[Value] = field(default_factory=list)
    count: int = 0

    def argument(self, values: np.ndarray) -> Value:
        """A new argument with these start values."""
        element = {"f": "f32", "i": "i32", "u": "ui64"}[values.dtype.kind]
        value = Value(f"%arg{len(self.arguments)}", values.shape, element)
        self.arguments.append((value, values))
        return value

    def update(self, argument: Value, successor: Value) -> None:
        """The argument is state, and this replaces it."""
        self.updates[argument.name] = (f"s{len(self.updates)}", successor)

    def emit(self, text: str, shape: tuple[int, ...], element: str = "f32") -> Value:
        """A new value; `text` is what stands behind its name, {type} its type."""
        self.count += 1
        value = Value(f"%v{self.count}", shape, element)
        self.lines.append(f"{value.name} = stablehlo.{text.replace('{type}', value.type)}")
        return value

    def constant(self, value: float, shape: tuple[int, ...] = (), element: str = "f32") -> Value:
        """A splat."""
        text = f"{value:.6e}" if element == "f32" else str(int(value))
        return self.emit(f"constant dense<{text}> : {{type}}", shape, element)

    def unary(self, name: str, x: Value) -> Value:
        """tanh, exponential, negate, rsqrt."""
        return self.emit(f"{name} {x.name} : {{type}}", x.shape)

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """Of equal shapes."""
        return self.emit(f"{name} {x.name}, {y.name} : {{type}}", x.shape)

    def scale(self, x: Value, factor: float) -> Value:
        """Times a constant."""
        return self.binary("multiply", x, self.constant(factor, x.shape))

    def dot(self, x: Value, y: Value, left: int = 1, right: int = 0) -> Value:
        """Of matrices, contracting one dimension of each."""
        shape = (x.shape[1 - left], y.shape[1 - right])
        return self.emit(
            f"dot_general {x.name}, {y.name}, contracting_dims = [{left}] x [{right}] : ({x.type}, {y.type}) -> {{type}}",
            shape,
        )

    def reduce(self, x: Value, dimensions: tuple[int, ...], by: str = "add") -> Value:
        """Sum or maximum."""
        start = self.constant(0.0 if by == "add" else -1e30)
        shape = tuple(extent for i, extent in enumerate(x.shape) if i not in dimensions)
        listed = ", ".join(map(str, dimensions))
        return self.emit(
            f"reduce({x.name} init: {start.name}) applies stablehlo.{by} across dimensions = [{listed}] : "
            f"({x.type}, {start.type}) -> {{type}}",
            shape,
        )

    def spread(self, x: Value, shape: tuple[int, ...], dimension: int) -> Value:
        """A vector along one dimension of `shape`."""
        return self.emit(f"broadcast_in_dim {x.name}, dims = [{dimension}] : ({x.type}) -> {{type}}", shape)

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Another view."""
        return self.emit(f"reshape {x.name} : ({x.type}) -> {{type}}", shape)

    def slice_at(self, stack: Value, index: Value) -> Value:
        """What a stack holds at an index."""
        zeros = [self.constant(0, (), "i32") for _ in stack.shape[1:]]
        shape = (1, *stack.shape[1:])
        part = self.emit(
            f"dynamic_slice {', '.join(v.name for v in (stack, index, *zeros))}, sizes = [{', '.join(map(str, shape))}] : "
            f"({', '.join(v.type for v in (stack, index, *zeros))}) -> {{type}}",
            shape,
        )
        return self.reshape(part, stack.shape[1:])

    def put_at(self, stack: Value, index: Value, value: Value) -> Value:
        """The stack with a value at an index."""
        operands = (stack, self.reshape(value, (1, *value.shape)), index, *(self.constant(0, (), "i32") for _ in value.shape))
        return self.emit(
            f"dynamic_update_slice {', '.join(v.name for v in operands)} : ({', '.join(v.type for v in operands)}) -> {{type}}",
            stack.shape,
        )

    def rounds(self, trips: int, starts: list[Value], body: Callable[[Value, list[Value]], list[Value]]) -> list[Value]:
        """A loop that counts from 0 to `trips`; `body` gets the counter and what is carried, and returns what goes on."""
        starts = [self.constant(0, (), "i32"), *starts]
        self.count += 1
        n, outside, self.lines = self.count, self.lines, []
        carried = [Value(f"%i{n}_{i}", start.shape, start.element) for i, start in enumerate(starts)]
        following = body(carried[0], carried[1:])
        one = self.constant(1, (), "i32")
        following = [self.emit(f"add {carried[0].name}, {one.name} : {{type}}", (), "i32"), *following]
        inside, self.lines = self.lines, outside
        types = ", ".join(start.type for start in starts)
        bound = ", ".join(f"{name.name} = {start.name}" for name, start in zip(carried, starts, strict=True))
        self.lines.append(
            f"%v{n}:{len(starts)} = stablehlo.while({bound}) : {types} cond {{\n"
            f"      %l{n} = stablehlo.constant dense<{trips}> : tensor<i32>\n"
            f"      %c{n} = stablehlo.compare LT, {carried[0].name}, %l{n} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            f"      stablehlo.return %c{n} : tensor<i1>\n    }} do {{\n      "
            + "\n      ".join(inside)
            + f"\n      stablehlo.return {', '.join(value.name for value in following)} : {types}\n    }}"
        )
        return [Value(f"%v{n}#{i}", start.shape, start.element) for i, start in enumerate(starts)][1:]

    def from_last(self, counter: Value, trips: int) -> Value:
        """The index that goes down while the counter goes up."""
        last = self.constant(trips - 1, (), "i32")
        return self.emit(f"subtract {last.name}, {counter.name} : {{type}}", (), "i32")

    def positive(self, x: Value, yes: Value) -> Value:
        """`yes` where x > 0, else 0."""
        zero = self.constant(0.0, x.shape)
        test = self.emit(f"compare GT, {x.name}, {zero.name} : ({x.type}, {x.type}) -> {{type}}", x.shape, "i1")
        return self.emit(f"select {test.name}, {yes.name}, {zero.name} : {test.type}, {{type}}", x.shape)

    def text(self) -> str:
        """The module."""
        states = [(name, successor) for name, successor in self.updates.values()]
        order = {argument: i for i, argument in enumerate(self.updates)}
        arguments = ", ".join(
            f"{value.name}: {value.type}"
            + (
                f" {{tf.aliasing_output = {order[value.name]} : i32}} loc(\"state['s{order[value.name]}']\")"
                if value.name in order
                else f' loc("x{i}")'
            )
            for i, (value, _) in enumerate(self.arguments)
        )
        named = [(f"result[0]['{name}']", value) for name, value in states]
        named += [(f"result[{i + 1}]", value) for i, value in enumerate(self.results)]
        results = ", ".join(f'{value.type} {{jax.result_info = "{name}"}}' for name, value in named)
        body = "\n    ".join(self.lines)
        return (
            f"module @jit_step {{\n  func.func public @main({arguments}) -> ({results}) {{\n    {body}\n    return "
            f"{', '.join(value.name for _, value in named)} : {', '.join(value.type for _, value in named)}\n  }}\n}}\n"
        )


class Program:
    """One chain of layers; `forward` and `backward` write its two parts."""

    def __init__(self, module: Module, seed: int, layers: tuple[str, ...] | None = None) -> None:
        """`layers` instead of random ones."""
        self.m = module
        self.random = np.random.default_rng(seed)
        self.rows, self.width = int(self.random.integers(4, 33)), int(self.random.integers(3, 25))
        chosen = self.random.choice(LAYERS, size=int(self.random.integers(3, 10)))
        self.layers = tuple(map(str, chosen)) if layers is None else layers
        self.back: list[Callable[[Value], Value]] = []
        self.gradients: dict[str, Value] = {}
        self.parameters: dict[str, Value] = {}
        self.common: Value | None = None
        self.key: Value | None = None
        self.last_key: Value | None = None

    def uniform(self, *shape: int) -> np.ndarray:
        """Small start values."""
        return self.random.uniform(-0.5, 0.5, shape).astype(np.float32)

    def parameter(self, *shape: int) -> Value:
        """A new parameter."""
        value = self.m.argument(self.uniform(*shape))
        self.parameters[value.name] = value
        return value

    def accumulate(self, parameter: Value, gradient: Value) -> None:
        """A parameter that is used twice has the sum of both gradients."""
        known = self.gradients.get(parameter.name)
        self.gradients[parameter.name] = self.m.binary("add", known, gradient) if known else gradient

    def forward(self) -> None:
        """Up to the loss."""
        x = self.m.argument(self.uniform(self.rows, self.width))
        for layer in self.layers:
            x = getattr(self, layer)(x)
        squares = self.m.binary("multiply", x, x)
        self.m.results.append(self.m.reduce(squares, (0, 1)))
        self.output = x

    def backward(self) -> None:
        """Down to the input, and the updates."""
        gradient = self.m.scale(self.output, 2.0)
        for step in reversed(self.back):
            gradient = step(gradient)
        if self.random.random() < 0.5:
            self.m.results.append(gradient)
        for name, parameter in self.parameters.items():
            step = self.m.scale(self.gradients[name], 1e-3)
            if self.random.random() < 0.5:
                momentum = self.m.argument(np.zeros(parameter.shape, np.float32))
                step = self.m.binary("add", self.m.scale(momentum, 0.9), step)
                self.m.update(momentum, step)
            self.m.update(parameter, self.m.binary("subtract", parameter, step))
        if self.key and self.last_key:
            self.m.update(self.key, self.last_key)

    def product(self, x: Value, weight: Value) -> Value:
        """x times a weight."""

        def back(gradient: Value) -> Value:
            self.accumulate(weight, self.m.dot(x, gradient, 0, 0))
            return self.m.dot(gradient, weight, 1, 1)

        self.back.append(back)
        return self.m.dot(x, weight)

    def tanh(self, x: Value) -> Value:
        """Its derivative reads what it computed."""
        y = self.m.unary("tanh", x)

        def back(gradient: Value) -> Value:
            one = self.m.constant(1.0, y.shape)
            slope = self.m.binary("subtract", one, self.m.binary("multiply", y, y))
            return self.m.binary("multiply", gradient, slope)

        self.back.append(back)
        return y

    def dense(self, x: Value) -> Value:
        """A product, a bias, and a nonlinearity."""
        y = self.product(x, self.parameter(x.shape[1], x.shape[1]))
        bias = self.parameter(x.shape[1])

        def back(gradient: Value) -> Value:
            self.accumulate(bias, self.m.reduce(gradient, (0,)))
            return gradient

        self.back.append(back)
        return self.tanh(self.m.binary("add", y, self.m.spread(bias, y.shape, 1)))

    def shared_layer(self, x: Value) -> Value:
        """The one weight that all layers of this kind share."""
        if self.common is None:
            self.common = self.parameter(x.shape[1], x.shape[1])
        return self.tanh(self.product(x, self.common))

    def shared(self, x: Value) -> Value:
        """Two applications of one layer."""
        return self.shared_layer(self.shared_layer(x))

    def relu(self, x: Value) -> Value:
        """Its derivative reads what it read."""
        self.back.append(lambda gradient: self.m.positive(x, gradient))
        return self.m.positive(x, x)

    def residual(self, x: Value) -> Value:
        """Two branches that meet."""
        first = len(self.back)
        y = self.tanh(self.product(x, self.parameter(x.shape[1], x.shape[1])))
        inner = self.back[first:]
        del self.back[first:]

        def back(gradient: Value) -> Value:
            through = gradient
            for step in reversed(inner):
                through = step(through)
            return self.m.binary("add", gradient, through)

        self.back.append(back)
        return self.m.binary("add", x, y)

    def dropout(self, x: Value) -> Value:
        """A mask from the key, which is state; computing it again must give the same bits."""
        if self.last_key is None:
            self.key = self.m.argument(self.random.integers(0, 1 << 63, 2).astype(np.uint64))
            self.last_key = self.key
        m, key = self.m, self.last_key
        m.count += 1
        bits = Value(f"%v{m.count}#1", x.shape, "ui32")
        m.lines.append(
            f"%v{m.count}:2 = stablehlo.rng_bit_generator {key.name}, algorithm = THREE_FRY : ({key.type}) -> ({key.type}, {bits.type})"
        )
        self.last_key = Value(f"%v{m.count}#0", key.shape, key.element)
        limit = m.constant(3_000_000_000, x.shape, "ui32")
        keep = m.emit(f"compare LT, {bits.name}, {limit.name} : ({bits.type}, {bits.type}) -> {{type}}", x.shape, "i1")

        def masked(value: Value) -> Value:
            zero = m.constant(0.0, x.shape)
            return m.emit(f"select {keep.name}, {value.name}, {zero.name} : {keep.type}, {{type}}", x.shape)

        self.back.append(masked)
        return masked(x)

    def rows_of(self, vector: Value, like: Value) -> Value:
        """A value per row, spread."""
        return self.m.spread(vector, like.shape, 0)

    def center(self, x: Value) -> Value:
        """Without the mean of its row."""

        def centered(value: Value) -> Value:
            mean = self.m.scale(self.m.reduce(value, (1,)), 1.0 / value.shape[1])
            return self.m.binary("subtract", value, self.rows_of(mean, value))

        self.back.append(centered)
        return centered(x)

    def normalize(self, x: Value) -> Value:
        """By the root of the mean square of its row."""
        m = self.m
        share = 1.0 / x.shape[1]
        square = m.scale(m.reduce(m.binary("multiply", x, x), (1,)), share)
        scale = m.unary("rsqrt", m.binary("add", square, m.constant(1e-2, square.shape)))

        def back(gradient: Value) -> Value:
            overlap = m.scale(m.reduce(m.binary("multiply", x, gradient), (1,)), share)
            cube = m.binary("multiply", m.binary("multiply", scale, scale), scale)
            along = m.binary("multiply", x, self.rows_of(m.binary("multiply", overlap, cube), x))
            return m.binary("subtract", m.binary("multiply", gradient, self.rows_of(scale, x)), along)

        self.back.append(back)
        return m.binary("multiply", x, self.rows_of(scale, x))

    def statistics(self, x: Value) -> Value:
        """A running mean that must be updated exactly once."""
        running = self.m.argument(np.zeros(x.shape[1], np.float32))
        mean = self.m.scale(self.m.reduce(x, (0,)), 1.0 / x.shape[0])
        self.m.update(running, self.m.binary("add", self.m.scale(running, 0.9), self.m.scale(mean, 0.1)))
        spread = self.m.spread(running, x.shape, 1)
        self.back.append(lambda gradient: gradient)
        return self.m.binary("subtract", x, spread)

    def views(self, x: Value) -> Value:
        """Other names of a value, read on both ways."""
        flat = (x.shape[0] * x.shape[1],)
        self.back.append(lambda gradient: self.m.reshape(gradient, x.shape))
        y = self.tanh(self.m.reshape(x, flat))
        self.back.append(lambda gradient: self.m.reshape(gradient, flat))
        return self.m.reshape(y, x.shape)

    def softmax(self, x: Value) -> Value:
        """Over its row."""
        m = self.m
        e = m.unary("exponential", m.binary("subtract", x, self.rows_of(m.reduce(x, (1,), "maximum"), x)))
        y = m.binary("divide", e, self.rows_of(m.reduce(e, (1,)), x))

        def back(gradient: Value) -> Value:
            along = self.rows_of(m.reduce(m.binary("multiply", gradient, y), (1,)), x)
            return m.binary("multiply", y, m.binary("subtract", gradient, along))

        self.back.append(back)
        return y

    def loop(self, x: Value) -> Value:
        """Adds what a loop of zero to three trips computes, without a derivative of its own."""
        m, t = self.m, x.type
        weight = m.argument(self.uniform(x.shape[1], x.shape[1]))
        trips = m.argument(np.array(self.random.integers(0, 4), np.int32))
        zero, one = m.constant(0, (), "i32"), m.constant(1, (), "i32")
        m.count += 1
        n = m.count
        m.lines.append(
            f"%v{n}:2 = stablehlo.while(%i{n} = {zero.name}, %a{n} = {x.name}) : tensor<i32>, {t} cond {{\n"
            f"      %c{n} = stablehlo.compare LT, %i{n}, {trips.name} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            f"      stablehlo.return %c{n} : tensor<i1>\n    }} do {{\n"
            f"      %n{n} = stablehlo.add %i{n}, {one.name} : tensor<i32>\n"
            f"      %p{n} = stablehlo.dot_general %a{n}, {weight.name}, contracting_dims = [1] x [0] : "
            f"({t}, {weight.type}) -> {t}\n"
            f"      %b{n} = stablehlo.tanh %p{n} : {t}\n      stablehlo.return %n{n}, %b{n} : tensor<i32>, {t}\n    }}"
        )
        self.back.append(lambda gradient: gradient)
        return m.binary("add", x, Value(f"%v{n}#1", x.shape))

    def scan(self, x: Value) -> Value:
        """Equal layers in a loop that stacks what the loop of the way back reads."""
        m, trips = self.m, int(self.random.integers(2, 6))
        weights = self.parameter(trips, x.shape[1], x.shape[1])
        wide = bool(self.random.random() < 0.5)  # stacks what follows from other stacks, too
        stack = m.constant(0.0, (trips, *x.shape))

        def forward(index: Value, carried: list[Value]) -> list[Value]:
            y, *stacks = carried
            product = m.dot(y, m.slice_at(weights, index))
            activated = m.unary("tanh", product)
            slope = m.binary("subtract", m.constant(1.0, x.shape), m.binary("multiply", activated, activated))
            kept = [y, activated, slope] if wide else [y, slope]
            return [m.binary("add", y, activated), *(m.put_at(s, index, v) for s, v in zip(stacks, kept, strict=True))]

        y, *stacks = m.rounds(trips, [x, *([stack] * (3 if wide else 2))], forward)

        def back(gradient: Value) -> Value:
            def backward(counter: Value, carried: list[Value]) -> list[Value]:
                outer, sums = carried
                index = m.from_last(counter, trips)
                kept = [m.slice_at(s, index) for s in stacks]
                inner = m.binary("multiply", outer, kept[-1])
                if wide:
                    inner = m.binary("add", inner, m.scale(kept[1], 1e-2))
                weight = m.slice_at(weights, index)
                sums = m.put_at(sums, index, m.dot(kept[0], inner, 0, 0))
                return [m.binary("add", outer, m.dot(inner, weight, 1, 1)), sums]

            outer, sums = m.rounds(trips, [gradient, m.constant(0.0, weights.shape)], backward)
            self.accumulate(weights, sums)
            return outer

        self.back.append(back)
        return y

    def recurrent(self, x: Value) -> Value:
        """One layer in every round of a loop, often enough that the rounds can be cut into segments."""
        m, trips = self.m, int(self.random.choice((4, 6, 9, 12, 16)))
        weight = self.parameter(x.shape[1], x.shape[1])
        upwards = bool(self.random.random() < 0.3)  # the loop of the way back need not go backwards
        stack = m.constant(0.0, (trips, *x.shape))

        def forward(index: Value, carried: list[Value]) -> list[Value]:
            y, *stacks = carried
            activated = m.unary("tanh", m.dot(y, weight))
            slope = m.binary("subtract", m.constant(1.0, x.shape), m.binary("multiply", activated, activated))
            kept = [y, slope, m.unary("sine", activated), m.unary("cosine", m.binary("add", y, slope))]
            return [m.binary("add", y, activated), *(m.put_at(s, index, v) for s, v in zip(stacks, kept, strict=True))]

        y, *stacks = m.rounds(trips, [x, *([stack] * 4)], forward)

        def back(gradient: Value) -> Value:
            def backward(counter: Value, carried: list[Value]) -> list[Value]:
                outer, total = carried
                index = counter if upwards else m.from_last(counter, trips)
                before, slope, sine, cosine = (m.slice_at(s, index) for s in stacks)
                inner = m.binary("add", m.binary("multiply", outer, slope), m.scale(m.binary("multiply", sine, cosine), 1e-2))
                total = m.binary("add", total, m.dot(before, inner, 0, 0))
                return [m.binary("add", outer, m.dot(inner, weight, 1, 1)), total]

            outer, total = m.rounds(trips, [gradient, m.constant(0.0, weight.shape)], backward)
            self.accumulate(weight, total)
            return outer

        self.back.append(back)
        return y

    def microbatches(self, x: Value) -> Value:
        """A loop whose rounds go forward and back through some layers of their own and add up gradients."""
        m, trips, width = self.m, int(self.random.integers(2, 5)), x.shape[1]
        batch = m.argument(self.uniform(trips, *x.shape))
        weights = [self.parameter(width, width) for _ in range(int(self.random.integers(2, 5)))]

        def body(index: Value, sums: list[Value]) -> list[Value]:
            inputs = [m.binary("add", x, m.slice_at(batch, index))]
            outputs: list[Value] = []
            for weight in weights:
                outputs.append(m.unary("tanh", m.dot(inputs[-1], weight)))
                inputs.append(m.scale(outputs[-1], 1.5))
            gradient, gradients = m.scale(inputs[-1], 2.0), []
            for weight, entry, y in reversed(list(zip(weights, inputs, outputs, strict=False))):
                slope = m.binary("subtract", m.constant(1.0, y.shape), m.binary("multiply", y, y))
                gradient = m.binary("multiply", gradient, slope)
                gradients.append(m.dot(entry, gradient, 0, 0))
                gradient = m.dot(gradient, weight, 1, 1)
            return [m.binary("add", known, new) for known, new in zip(sums, reversed(gradients), strict=True)]

        zero = m.constant(0.0, (width, width))
        for weight, total in zip(weights, m.rounds(trips, [zero] * len(weights), body), strict=True):
            self.accumulate(weight, total)
        self.back.append(lambda gradient: gradient)
        return m.scale(x, 0.75)

    def branch(self, x: Value) -> Value:
        """One of two branches, chosen by an argument; the derivative is the same."""
        m, t = self.m, x.type
        selector = m.argument(np.array(self.random.integers(0, 3), np.int32))
        m.count += 1
        n = m.count
        m.lines.append(
            f'%v{n} = "stablehlo.case"({selector.name}) ({{\n      %d{n} = stablehlo.add {x.name}, {x.name} : {t}\n'
            f"      %e{n} = stablehlo.subtract %d{n}, {x.name} : {t}\n      stablehlo.return %e{n} : {t}\n    }}, {{\n"
            f"      %f{n} = stablehlo.abs {x.name} : {t}\n      stablehlo.return %f{n} : {t}\n    }}) : (tensor<i32>) -> {t}"
        )
        self.back.append(lambda gradient: gradient)
        return Value(f"%v{n}", x.shape)

    def kept(self, x: Value) -> Value:
        """A value that the step also returns."""
        self.m.results.append(x)
        self.back.append(lambda gradient: gradient)
        return self.m.scale(x, 0.5) if self.random.random() < 0.5 else x


def pack(seeds: list[int], layers: tuple[str, ...] | None = None) -> Module:
    """Programs in one step: all ways forward, then all ways back in reverse."""
    module = Module()
    programs = [Program(module, seed, layers) for seed in seeds]
    for program in programs:
        program.forward()
    for program in reversed(programs):
        program.backward()
    return module


@dataclass
class Outcome:
    """What a pack under a budget did."""

    budget: int
    everything: int
    used: int
    recomputed: int
    differing: list[str]
    claims: str

    @property
    def passed(self) -> bool:
        """Inside the budget, with the same bits."""
        return self.used <= self.budget and not self.differing


class Runner:
    """Compiles and runs packs in a folder."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.tool, self.folder = build / "bin/tenon", folder

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Runs tenon."""
        return subprocess.run([str(self.tool), *map(str, arguments)], capture_output=True, text=True, check=False)

    def succeed(self, *arguments: object) -> str:
        """Runs tenon, which must succeed."""
        process = self.run(*arguments)
        if process.returncode != 0:
            raise RuntimeError(f"tenon {' '.join(map(str, arguments))} exited {process.returncode}: {process.stderr[-2000:]}")
        return process.stdout

    def outputs(self, program: Path) -> dict[str, np.ndarray]:
        """Every result after some steps."""
        path = self.folder / "outputs.safetensors"
        self.succeed("run", program, "--inputs", self.folder / "inputs.safetensors", "--steps", STEPS, "--outputs", path, "--threads=1")
        return load_file(path)

    def segment_bytes(self, program: Path) -> int:
        """What the file says it needs."""
        found = re.findall(r"^(?:state|batch|results|temporaries|constants) +(\d+)$", self.succeed("inspect", program), re.MULTILINE)
        assert len(found) == 5
        return sum(map(int, found))

    def under_budget(self, module: Module, share: float) -> Outcome:
        """`share` of the way from the smallest known budget to keeping everything; 0 is the smallest itself."""
        return self.under_budgets(module, [share])[0]

    def under_budgets(self, module: Module, shares: list[float]) -> list[Outcome]:
        """The same for each of several shares; the files of the last one stay."""
        text, plain, within = (self.folder / name for name in ("step.mlir", "plain.tenon", "budget.tenon"))
        text.write_text(module.text())
        save_file({f"arg{i}": values for i, (_, values) in enumerate(module.arguments)}, self.folder / "inputs.safetensors")
        self.succeed("compile", text, "-o", plain)
        expected, everything = self.outputs(plain), self.segment_bytes(plain)
        # Not every budget has a plan; a refusal names the smallest one that has.
        least = everything
        if min(shares) < 1:
            refusal = self.run("compile", text, "-o", within, "--memory-budget=1")
            named = re.search(r"smallest budget that was planned is (\d+) bytes", refusal.stderr)
            if refusal.returncode != 3 or not named:
                raise RuntimeError(f"expected a refusal with the smallest budget: {refusal.stderr[-2000:]}")
            least = int(named[1])
        outcomes = []
        for share in shares:
            budget = int(least + share * (everything - least))
            self.succeed("compile", text, "-o", within, f"--memory-budget={budget}")
            found = self.outputs(within)
            claims = self.succeed("verify", within)
            again = re.search(r"recomputation +(\d+) of", claims)
            differing = [name for name in expected if expected[name].tobytes() != found[name].tobytes()]
            outcomes.append(Outcome(budget, everything, self.segment_bytes(within), int(again[1]) if again else 0, differing, claims))
        return outcomes


def judge(build: Path, module: Module, precision: str, file: Path) -> dict:
    """What `TenonRandom check` says of the lowered pack, whose text stays in `file` if it differs."""
    file.write_text(module.text())
    command = [str(build / "bin/TenonRandom"), "check", str(file), f"--precision={precision}"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode == 0:
        file.unlink()
    return {"passed": process.returncode == 0, "why": (process.stdout + process.stderr)[-2000:]}


def share_of(first: int) -> float:
    """The random budget of a pack; one in four is exactly the smallest."""
    random = np.random.default_rng(1_000_000 + first)
    return 0.0 if random.random() < 0.25 else float(random.random())


def main() -> int:
    """Runs a range of programs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--pack", type=int, default=20)
    parser.add_argument("--precision", help="judge steps lowered by this policy instead of budgets")
    parser.add_argument("--keep", type=Path, default=Path(), help="with --precision: where packs that differ stay")
    parser.add_argument("--results", type=Path, help="a line of JSON per pack; packs in it are not run again")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    arguments = parser.parse_args()
    entries: list[dict] = []
    if arguments.results and arguments.results.exists():
        entries = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    done = {entry["first"]: entry for entry in entries if entry.get("precision") == arguments.precision}
    failed = recomputing = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(arguments.build, Path(folder))
        for first in range(arguments.first, arguments.first + arguments.count, arguments.pack):
            if first not in done:
                last = min(first + arguments.pack, arguments.first + arguments.count)
                module = pack(list(range(first, last)))
                try:
                    if arguments.precision:
                        file = arguments.keep / f"pack-{first}-{arguments.precision}.mlir"
                        entry = judge(arguments.build, module, arguments.precision, file)
                    else:
                        outcome = runner.under_budget(module, share_of(first))
                        entry = {"passed": outcome.passed, "recomputed": outcome.recomputed, "why": outcome.differing}
                except RuntimeError as error:
                    entry = {"passed": False, "recomputed": 0, "why": str(error)}
                done[first] = {"first": first, "precision": arguments.precision, **entry}
                if arguments.results:
                    with arguments.results.open("a") as results:
                        results.write(json.dumps(done[first]) + "\n")
            recomputing += done[first].get("recomputed", 0) > 0
            if not done[first]["passed"]:
                failed += 1
                print(f"programs {first} to {first + arguments.pack}: {done[first]['why']}", flush=True)
    packs = (arguments.count + arguments.pack - 1) // arguments.pack
    what = f"lowered by {arguments.precision}" if arguments.precision else f"{recomputing} of them recompute"
    print(f"{arguments.count} programs in {packs} packs, {what}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
