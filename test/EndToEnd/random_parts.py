#!/usr/bin/env python3
"""Random programs of which slices are read and zeros are padded: what `simplify` makes of them computes the same.

    python random_parts.py --first 0 --count 2000 [--pack 10] [--results FILE] [--build BUILD]

A number is all there is to a program. Its elements are 32-bit integers, which wrap around, so sums are the same in any order, and
results of the program as it is written, cut to the parts that are read, and compiled have to be equal. --results keeps what is done,
so that a run that was ended goes on where it stopped.
"""

from __future__ import annotations

import math
import subprocess
from dataclasses import dataclass, field

import numpy as np
import random_attention
from safetensors.numpy import load_file, save_file

MOST_ELEMENTS = 1500
BINARY = ("add", "subtract", "multiply", "multiply", "multiply", "maximum", "minimum", "and", "or", "xor", "divide")
UNARY = ("negate", "abs", "sign", "not")
SUMS = ("add", "add", "maximum", "or")


def spelled(shape: tuple[int, ...], element: str = "i32") -> str:
    """The type of a tensor."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def listed(numbers: list[int]) -> str:
    """A list of numbers in a text."""
    return f"[{', '.join(map(str, numbers))}]"


@dataclass
class Line:
    """What defines a value: a text with %N for values of other lines."""

    shape: tuple[int, ...]
    text: str
    operands: list[int]
    element: str = "i32"


@dataclass
class Program:
    """A random program; its arguments are its first lines."""

    seed: int
    lines: list[Line] = field(default_factory=list)
    arguments: int = 0
    results: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Arguments, tensors padded with zeros, any operations, and slices of what comes last."""
        self.random = np.random.default_rng((self.seed, 7))
        batch, rows, width = (int(self.random.integers(low, high)) for low, high in ((1, 4), (4, 10), (2, 6)))
        for shape in ((batch, rows, width), (batch, rows, width), (width, width), (batch, 1, width), (rows, width)):
            self.lines.append(Line(shape, "", []))
        self.arguments = len(self.lines)
        self.slots = list(range(self.arguments))
        self.zero, self.one = (self.emit((), f"stablehlo.constant dense<{number}> : tensor<i32>", []) for number in (0, 1))
        self.pad_to(3, (batch, rows, width))
        for _ in range(int(self.random.integers(8, 22))):
            self.grow()
        for value in self.slots[-6:]:
            if self.random.random() < 0.5:
                self.results.append(self.slice(value) if self.random.random() < 0.6 else value)
        if not self.results:
            self.results.append(self.slice(self.slots[-1]))

    def emit(self, shape: tuple[int, ...], text: str, operands: list[int], element: str = "i32") -> int:
        """Adds a line; those of tensors are operands of later ones."""
        self.lines.append(Line(tuple(shape), text, operands, element))
        if shape and element == "i32":
            self.slots.append(len(self.lines) - 1)
        return len(self.lines) - 1

    def shape(self, value: int) -> tuple[int, ...]:
        """The extents of a value."""
        return self.lines[value].shape

    def any_value(self) -> int:
        """A value, of the last ones more often than not."""
        near = self.slots[-8:] if self.random.random() < 0.7 else self.slots
        return int(self.random.choice(near))

    def pad(self, value: int, low: list[int], high: list[int], padding: int) -> int:
        """Zeros, or ones, around a value."""
        shape = self.shape(value)
        to = tuple(a + b + c for a, b, c in zip(shape, low, high, strict=True))
        if math.prod(to) > MOST_ELEMENTS:
            return value
        amounts = f"low = {listed(low)}, high = {listed(high)}, interior = {listed([0] * len(shape))}"
        text = f"stablehlo.pad %{value}, %{padding}, {amounts} : ({spelled(shape)}, tensor<i32>) -> {spelled(to)}"
        return self.emit(to, text, [value, padding])

    def pad_to(self, value: int, shape: tuple[int, ...]) -> int:
        """Zeros around a value until it has a shape."""
        missing = [b - a for a, b in zip(self.shape(value), shape, strict=True)]
        low = [int(self.random.integers(0, extent + 1)) for extent in missing]
        return self.pad(value, low, [a - b for a, b in zip(missing, low, strict=True)], self.zero)

    def slice(self, value: int) -> int:
        """A part of a value along one dimension or two."""
        shape = self.shape(value)
        starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
        for dim in self.random.choice(len(shape), int(self.random.integers(1, 3))):
            starts[dim] = int(self.random.integers(0, shape[dim]))
            limits[dim] = int(self.random.integers(starts[dim] + 1, shape[dim] + 1))
            strides[dim] = 2 if self.random.random() < 0.1 else 1
        to = tuple(-(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides, strict=True))
        ranges = ", ".join(f"{start}:{limit}:{stride}" for start, limit, stride in zip(starts, limits, strides, strict=True))
        return self.emit(to, f"stablehlo.slice %{value} [{ranges}] : ({spelled(shape)}) -> {spelled(to)}", [value])

    def twin(self, value: int) -> int:
        """A value of the same shape: one that there is, one that is padded, or a row that is repeated."""
        shape = self.shape(value)
        alike = [slot for slot in self.slots if self.shape(slot) == shape]
        smaller = [
            slot
            for slot in self.slots
            if len(self.shape(slot)) == len(shape)
            and self.shape(slot) != shape
            and all(a <= b for a, b in zip(self.shape(slot), shape, strict=True))
        ]
        if smaller and self.random.random() < 0.4:
            return self.pad_to(int(self.random.choice(smaller)), shape)
        if self.random.random() < 0.3:
            return self.repeat(self.sum(value, [int(self.random.integers(0, len(shape)))]), shape)
        return int(self.random.choice(alike))

    def repeat(self, value: int, shape: tuple[int, ...]) -> int:
        """A value along the dimensions of a shape that it lacks."""
        dims, own = [], list(self.shape(value))
        for dim, extent in enumerate(shape):
            if own and own[0] == extent and len(own) + dim <= len(shape):
                dims.append(dim)
                own.pop(0)
        if own:
            value, dims = self.zero, []
        text = f"stablehlo.broadcast_in_dim %{value}, dims = {listed(dims)} : ({spelled(self.shape(value))}) -> {spelled(shape)}"
        return self.emit(shape, text, [value])

    def sum(self, value: int, dims: list[int]) -> int:
        """A sum, or the like, along dimensions."""
        shape = self.shape(value)
        to = tuple(extent for dim, extent in enumerate(shape) if dim not in dims)
        initial = self.zero if self.random.random() < 0.8 else self.one
        how = str(self.random.choice(SUMS))
        head = f"stablehlo.reduce(%{value} init: %{initial}) applies stablehlo.{how} across dimensions = {listed(dims)}"
        return self.emit(to, f"{head} : ({spelled(shape)}, tensor<i32>) -> {spelled(to)}", [value, initial])

    def product(self, left: int, right: int) -> int | None:
        """A product that contracts a pair of equal extents or two, batched or not."""
        shapes = [self.shape(left), self.shape(right)]
        pairs = [(i, j) for i, a in enumerate(shapes[0]) for j, b in enumerate(shapes[1]) if a == b]
        self.random.shuffle(pairs)
        contracted, batched, used = [], [], (set(), set())
        for i, j in pairs:
            if i in used[0] or j in used[1]:
                continue
            if not contracted or self.random.random() < 0.3:
                contracted.append((i, j))
            elif self.random.random() < 0.5:
                batched.append((i, j))
            else:
                continue
            used[0].add(i)
            used[1].add(j)
        free = [[extent for dim, extent in enumerate(shape) if dim not in had] for shape, had in zip(shapes, used, strict=True)]
        to = tuple([shapes[0][i] for i, _ in batched] + free[0] + free[1])
        if not contracted or len(to) > 5 or math.prod(to) > MOST_ELEMENTS:
            return None
        sides = [", ".join(f"{name} = {listed([i for i, _ in p])} x {listed([j for _, j in p])}"
                           for name, p in (("batching_dims", batched), ("contracting_dims", contracted)) if p)]  # fmt: skip
        text = f"stablehlo.dot_general %{left}, %{right}, {sides[0]} : ({spelled(shapes[0])}, {spelled(shapes[1])}) -> {spelled(to)}"
        return self.emit(to, text, [left, right])

    def choose(self, value: int) -> int:
        """One of two values, by which is less."""
        other, shape = self.twin(value), self.shape(value)
        both, truth = spelled(shape), spelled(shape, "i1")
        less = self.emit(shape, f"stablehlo.compare LT, %{value}, %{other}, SIGNED : ({both}, {both}) -> {truth}", [value, other], "i1")
        third = self.twin(value)
        return self.emit(shape, f"stablehlo.select %{less}, %{third}, %{other} : {truth}, {both}", [less, third, other])

    def reshape(self, value: int) -> int:
        """One dimension more or less."""
        shape = list(self.shape(value))
        at = int(self.random.integers(0, len(shape)))
        if self.random.random() < 0.4 and len(shape) < 5:
            shape.insert(at, 1)
        elif at + 1 < len(shape):
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        elif shape[at] % 2 == 0 and len(shape) < 5:
            shape[at : at + 1] = [2, shape[at] // 2]
        return self.emit(tuple(shape), f"stablehlo.reshape %{value} : ({spelled(self.shape(value))}) -> {spelled(tuple(shape))}", [value])

    def grow(self) -> None:
        """Adds one operation of any kind."""
        value = self.any_value()
        shape = self.shape(value)
        kind = int(self.random.integers(0, 16))
        if kind < 4:
            self.product(value, self.any_value())
        elif kind < 7:
            other = self.twin(value)
            how = str(self.random.choice(BINARY))
            self.emit(shape, f"stablehlo.{how} %{value}, %{other} : {spelled(shape)}", [value, other])
        elif kind == 7:
            self.emit(shape, f"stablehlo.{self.random.choice(UNARY)} %{value} : {spelled(shape)}", [value])
        elif kind == 8:
            order = [int(dim) for dim in self.random.permutation(len(shape))]
            to = tuple(shape[dim] for dim in order)
            self.emit(to, f"stablehlo.transpose %{value}, dims = {listed(order)} : ({spelled(shape)}) -> {spelled(to)}", [value])
        elif kind == 9:
            self.reshape(value)
        elif kind == 10:
            self.slice(value)
        elif kind == 11:
            low, high = ([int(self.random.integers(0, 4)) for _ in shape] for _ in range(2))
            self.pad(value, low, high, self.zero if self.random.random() < 0.8 else self.one)
        elif kind == 12:
            self.choose(value)
        elif kind == 13 and len(shape) > 1:
            self.sum(value, sorted({int(dim) for dim in self.random.choice(len(shape), int(self.random.integers(1, len(shape))))}))
        elif kind == 14 and 2 * math.prod(shape) <= MOST_ELEMENTS:
            at, other = int(self.random.integers(0, len(shape))), self.twin(value)
            to = tuple(extent * (2 if dim == at else 1) for dim, extent in enumerate(shape))
            text = f"stablehlo.concatenate %{value}, %{other}, dim = {at} : ({spelled(shape)}, {spelled(shape)}) -> {spelled(to)}"
            self.emit(to, text, [value, other])
        elif kind == 15:
            at = int(self.random.integers(0, len(shape)))
            self.emit(shape, f"stablehlo.reverse %{value}, dims = [{at}] : {spelled(shape)}", [value])

    def read(self) -> list[int]:
        """The lines that results follow from, in order."""
        needed = set(self.results)
        for number in reversed(range(len(self.lines))):
            if number in needed:
                needed.update(self.lines[number].operands)
        return [number for number in sorted(needed) if number >= self.arguments]

    def tensors(self) -> list[np.ndarray]:
        """Values of the arguments."""
        return [self.random.integers(-9, 10, line.shape, dtype=np.int32) for line in self.lines[: self.arguments]]


def renamed(text: str, prefix: str) -> str:
    """A text with its values named after a program."""
    return text.replace("%", f"%{prefix}")


def module(programs: list[Program]) -> str:
    """One step that computes all of the programs."""
    arguments, body, results, types = [], [], [], []
    for program in programs:
        name = f"p{program.seed}_"
        arguments += [f"%{name}{number}: {spelled(line.shape)}" for number, line in enumerate(program.lines[: program.arguments])]
        body += [f"  %{name}{number} = {renamed(program.lines[number].text, name)}" for number in program.read()]
        results += [f"%{name}{number}" for number in program.results]
        types += [spelled(program.shape(number)) for number in program.results]
    head = f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{"
    return "\n".join([head, *body, f"  return {', '.join(results)} : {', '.join(types)}", "}", ""])


def differing(runner: random_attention.Runner, seeds: list[int]) -> tuple[list[str], str]:
    """What is wrong with these programs, which are one module; and what the pass remarks."""
    programs = [Program(seed) for seed in seeds]
    source, inputs = runner.folder / "parts.mlir", runner.folder / "inputs.safetensors"
    source.write_text(module(programs))
    save_file({f"arg{i}": x for i, x in enumerate(x for program in programs for x in program.tensors())}, inputs)
    cut = runner.folder / "cut.mlir"
    options = ["--simplify-compute-read-parts", "--remarks-filter=simplify-.*", "--remark-format=emitRemark"]
    done = subprocess.run([runner.tool.with_name("tenon-opt"), source, *options, "-o", cut], check=True, capture_output=True, text=True)
    found = []
    for text, how in ((source, ["--reference"]), (cut, ["--reference"]), (source, [])):
        outputs = runner.folder / "outputs.safetensors"
        runner.tenon("run", text, f"--inputs={inputs}", f"--outputs={outputs}", *how)
        found.append(load_file(outputs))
    wrong, index = [], 0
    for program in programs:
        for _ in program.results:
            expected, of_cut, of_compiled = (results[f"result{index}"] for results in found)
            wrong += [
                f"{program.seed}: result {index} {what}"
                for what, values in (("cut", of_cut), ("compiled", of_compiled))
                if not np.array_equal(values, expected)
            ]
            index += 1
    return wrong, done.stderr


def judge(runner: random_attention.Runner, seeds: list[int]) -> tuple[int, list[str]]:
    """How many programs were judged, and what differs in these."""
    return len(seeds), differing(runner, seeds)[0]


if __name__ == "__main__":
    random_attention.run_range(__doc__, 2000, judge)
