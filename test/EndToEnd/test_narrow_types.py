"""Elements of 8 bits and less: what is compiled agrees with the interpreter, for every type and operation.

Every code of a type meets every other one. Operations that round once have to agree in all bits, functions in all but
the last bit; conversions from f32 are tried at, above and below every number of the type and every tie.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from conftest import succeed
from safetensors.numpy import load_file, save_file

FLOATS = {
    "f4E2M1FN": ml_dtypes.float4_e2m1fn, "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f8E3M4": ml_dtypes.float8_e3m4, "f8E4M3": ml_dtypes.float8_e4m3, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
INTEGERS = {"i2": ml_dtypes.int2, "i4": ml_dtypes.int4, "ui2": ml_dtypes.uint2, "ui4": ml_dtypes.uint4}
BITS = {name: int(name.lstrip("uif").split("E")[0]) for name in [*FLOATS, *INTEGERS]}

ARITHMETIC = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"]
EXACT = {"floats": ["abs", "negate", "sign", "floor", "ceil", "round_nearest_afz", "round_nearest_even", "sqrt"]}
FUNCTIONS = ["exponential", "tanh", "logistic", "log_plus_one", "cosine", "rsqrt", "cbrt"]
BITWISE = ["and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical", "power"]


class Program:
    """The text of a function without arguments, or with those given, whose results are collected one by one."""

    def __init__(self, arguments: dict[str, str] | None = None) -> None:
        self.arguments = arguments or {}
        self.lines: list[str] = []
        self.results: list[tuple[str, str]] = []

    def op(self, text: str) -> str:
        """Adds an operation with one result; returns the value."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def convert(self, value: str, source: str, target: str) -> str:
        """Another element type, both given as tensor types."""
        return self.op(f"stablehlo.convert {value} : ({source}) -> {target}")

    def give(self, value: str, source: str, shape: str, element: str) -> None:
        """A result, as numbers that numpy knows."""
        if source == f"tensor<{shape}{element}>":
            self.results.append((value, source))
        else:
            self.results.append((self.convert(value, source, f"tensor<{shape}{element}>"), f"tensor<{shape}{element}>"))

    def text(self) -> str:
        """The module."""
        arguments = ", ".join(f"{name}: {kind}" for name, kind in self.arguments.items())
        kinds = ", ".join(kind for _, kind in self.results)
        values = ", ".join(value for value, _ in self.results)
        return "\n".join([
            f"func.func @main({arguments}) -> ({kinds}) {{", *self.lines, f"return {values} : {kinds}", "}", "",
        ])  # fmt: skip


def both(program: Program, folder: Path, inputs: dict[str, np.ndarray] | None = None) -> list[tuple[np.ndarray, ...]]:
    """Every result, compiled and interpreted."""
    source = folder / "program.mlir"
    source.write_text(program.text())
    options: list[object] = []
    if inputs:
        save_file(inputs, folder / "inputs.safetensors")
        options = ["--inputs", folder / "inputs.safetensors"]
    runs = []
    for name, flags in (("compiled", ["--threads=1"]), ("interpreted", ["--reference"])):
        outputs = folder / f"{name}.safetensors"
        succeed("run", source, *flags, *options, "--outputs", outputs)
        runs.append(load_file(outputs))
    return [tuple(run[f"result{i}"] for run in runs) for i in range(len(program.results))]


def equal(found: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bits; NaN is NaN. Numbers that f32 only holds without all digits are left out: compiled code counts them
    as zero."""
    if found.dtype.kind == "f":
        nan = np.isnan(expected)
        same = np.signbit(found) == np.signbit(expected)
        tiny = (np.abs(expected) < np.finfo(np.float32).tiny) & (expected != 0)
        return bool(np.all(np.where(nan, np.isnan(found), ((found == expected) & same) | tiny)))
    return bool(np.array_equal(found, expected))


def pairs(program: Program, element: str) -> tuple[str, str, str]:
    """All pairs of codes: two values and their type."""
    count = 1 << BITS[element]
    wide, line = f"tensor<{count}x{count}x", f"tensor<{count}x"
    codes = program.op(f"stablehlo.iota dim = 0 : {line}ui8>")
    if element in INTEGERS:
        values = program.convert(codes, f"{line}ui8>", f"{line}{element}>")
    elif BITS[element] == 8:
        values = program.op(f"stablehlo.bitcast_convert {codes} : ({line}ui8>) -> {line}{element}>")
    else:
        table = np.arange(count, dtype=np.uint8).view(FLOATS[element]).astype(np.float32)
        numbers = ", ".join(repr(float(number)) for number in table)
        values = program.op(f"stablehlo.constant dense<[{numbers}]> : {line}{element}>")
    sides = [program.op(f"stablehlo.broadcast_in_dim {values}, dims = [{dim}] : ({line}{element}>) -> {wide}{element}>") for dim in (0, 1)]
    return sides[0], sides[1], f"{wide}{element}>"


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS])
def test_pairs(element: str, tmp_path: Path) -> None:
    """Arithmetic, comparisons and selections of all pairs."""
    program = Program()
    x, y, kind = pairs(program, element)
    shape = kind.removeprefix("tensor<").removesuffix(f"{element}>")
    shown = "f32" if element in FLOATS else "i32"
    names = []
    without_negatives = element == "f8E8M0FNU" or element.startswith("ui")
    for name in [*ARITHMETIC, *(BITWISE if element in INTEGERS else [])]:
        program.give(program.op(f"stablehlo.{name} {x}, {y} : {kind}"), kind, shape, shown)
        names.append(name)
    unary = EXACT["floats"] if element in FLOATS else ["negate", "not", "popcnt", "count_leading_zeros", "abs", "sign"]
    for name in unary:
        if without_negatives and name in ("abs", "sign"):
            continue
        program.give(program.op(f"stablehlo.{name} {x} : {kind}"), kind, shape, shown)
        names.append(name)
    for direction in ("EQ", "NE", "LT", "GE"):
        holds = f"tensor<{shape}i1>"
        held = program.op(f"stablehlo.compare {direction}, {x}, {y} : ({kind}, {kind}) -> {holds}")
        chosen = program.op(f"stablehlo.select {held}, {x}, {y} : {holds}, {kind}")
        program.give(held, holds, shape, "i1")
        program.give(chosen, kind, shape, shown)
        names += [f"compare {direction}", f"select {direction}"]
    for name, (found, expected) in zip(names, both(program, tmp_path), strict=True):
        if name in ("maximum", "minimum") and element in FLOATS:  # of two zeros, either may be the larger one
            found, expected = found + np.float32(0), expected + np.float32(0)
        if name == "power" and not element.startswith("ui"):  # nobody says what zero to a negative power is
            found, expected = found[1:], expected[1:]
        if element == "f8E8M0FNU":  # the lowest code is such a number
            found, expected = found[1:, 1:], expected[1:, 1:]
        assert equal(found, expected), (element, name)


@pytest.mark.parametrize("element", FLOATS)
def test_functions(element: str, tmp_path: Path) -> None:
    """Functions of every number: the same or the next one."""
    count = 1 << BITS[element]
    program = Program()
    x, _, kind = pairs(program, element)
    shape = f"{count}x{count}x"
    for name in FUNCTIONS:
        program.give(program.op(f"stablehlo.{name} {x} : {kind}"), kind, shape, "f32")
    for name, (found, expected) in zip(FUNCTIONS, both(program, tmp_path), strict=True):
        if element == "f8E8M0FNU":  # the lowest code is no normal f32
            found, expected = found[1:], expected[1:]
        nan = np.isnan(expected)
        assert np.array_equal(nan, np.isnan(found)), (element, name)
        ends = np.isinf(expected) | (expected == 0)
        step = 2.0 ** -(ml_dtypes.finfo(FLOATS[element]).nmant - 1)
        with np.errstate(invalid="ignore"):
            near = np.abs(found - expected) <= step * np.abs(expected)
        assert np.all(near | nan | (ends & (found == expected))), (element, name)


@pytest.mark.parametrize("element", FLOATS)
def test_rounding(element: str, tmp_path: Path) -> None:
    """From f32, f64 and integers: to the nearest number, ties to even, as ml_dtypes does."""
    with np.errstate(all="ignore"):
        numbers = np.arange(1 << BITS[element], dtype=np.uint8).view(FLOATS[element]).astype(np.float32)
        numbers = np.unique(numbers[np.isfinite(numbers)])
        ties = (numbers[1:].astype(np.float64) + numbers[:-1]) / 2
        beyond = [numbers[-1] * factor for factor in (1.01, 1.0625, 1.125, 1.25, 1.5, 2, 1e6)]
        samples = np.concatenate([numbers, ties.astype(np.float32), np.float32(beyond), -np.float32(beyond)])
        samples = np.concatenate([samples, np.nextafter(samples, np.float32(9e38)), np.nextafter(samples, np.float32(-9e38))])
        samples = np.concatenate([samples, np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30])])
    if element == "f8E8M0FNU":
        samples = samples[samples > 2.0**-126]  # what has no code at all is up to the implementation
    count = len(samples)
    inputs = {"arg0": samples, "arg1": samples.astype(np.float64) * (1 + 2.0**-50)}
    program = Program({"%a": f"tensor<{count}xf32>", "%b": f"tensor<{count}xf64>"})
    kind = f"tensor<{count}x{element}>"
    integer = program.op(f"stablehlo.iota dim = 0 : tensor<{count}xi64>")
    for value, source in (("%a", "f32"), ("%b", "f64"), (integer, "i64")):
        narrow = program.convert(value, f"tensor<{count}x{source}>", kind)
        program.give(narrow, kind, f"{count}x", "f32")
        program.give(narrow, kind, f"{count}x", "i32")
    results = both(program, tmp_path, inputs)
    for number, (found, expected) in enumerate(results):
        assert equal(found, expected), (element, number)
    with np.errstate(all="ignore"):
        judged = samples.astype(FLOATS[element]).astype(np.float32)
    if BITS[element] == 8:
        assert equal(results[0][0], judged), element


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS])
def test_tensors(element: str, tmp_path: Path) -> None:
    """Movements, reductions, products, loops and sorts."""
    program = Program()
    shown = "f32" if element in FLOATS else "i32"
    numbers = "[[1, 0, 1, 2], [2, 1, 1, 0], [1, 1, 2, 1]]" if element != "i2" else "[[1, 0, 1, -2], [-2, 1, 1, 0], [1, 1, -1, 1]]"
    if element in FLOATS:
        numbers = "[[1.0, 2.0, 0.5, 4.0], [1.5, 1.0, 2.0, 0.5], [4.0, 2.0, 1.0, 3.0]]"
    if element == "f8E8M0FNU":
        numbers = "[[1.0, 2.0, 0.5, 4.0], [0.25, 1.0, 2.0, 0.5], [4.0, 2.0, 1.0, 8.0]]"
    kind, scalar = f"tensor<3x4x{element}>", f"tensor<{element}>"
    one = "1.0" if element in FLOATS else "1"
    x = program.op(f"stablehlo.constant dense<{numbers}> : {kind}")
    unit = program.op(f"stablehlo.constant dense<{one}> : {scalar}")
    turned = program.op(f"stablehlo.transpose {x}, dims = [1, 0] : ({kind}) -> tensor<4x3x{element}>")
    program.give(turned, f"tensor<4x3x{element}>", "4x3x", shown)
    padded = program.op(
        f"stablehlo.pad {x}, {unit}, low = [1, 0], high = [0, 2], interior = [0, 0] : ({kind}, {scalar}) -> tensor<4x6x{element}>"
    )
    program.give(padded, f"tensor<4x6x{element}>", "4x6x", shown)
    product = program.op(
        f"stablehlo.dot_general {x}, {turned}, contracting_dims = [1] x [0] : "
        f"({kind}, tensor<4x3x{element}>) -> tensor<3x3x{element}>")  # fmt: skip
    program.give(product, f"tensor<3x3x{element}>", "3x3x", shown)
    wide = program.op(
        f"stablehlo.dot_general {x}, {turned}, contracting_dims = [1] x [0] : "
        f"({kind}, tensor<4x3x{element}>) -> tensor<3x3x{shown}>")  # fmt: skip
    program.give(wide, f"tensor<3x3x{shown}>", "3x3x", shown)
    for combine in ("add", "maximum", "multiply"):
        folded = program.op(
            f"stablehlo.reduce({x} init: {unit}) applies stablehlo.{combine} across dimensions = [1] : "
            f"({kind}, {scalar}) -> tensor<3x{element}>")  # fmt: skip
        program.give(folded, f"tensor<3x{element}>", "3x", shown)
    windows = program.op(
        f'"stablehlo.reduce_window"({x}, {unit}) <{{window_dimensions = array<i64: 1, 2>}}> ({{\n'
        f"^bb0(%a: {scalar}, %b: {scalar}):\n%s = stablehlo.add %a, %b : {scalar}\nstablehlo.return %s : {scalar}\n"
        f"}}) : ({kind}, {scalar}) -> tensor<3x3x{element}>"
    )
    program.give(windows, f"tensor<3x3x{element}>", "3x3x", shown)
    sorted_ = program.op(
        f'"stablehlo.sort"({x}) <{{dimension = 1 : i64, is_stable = true}}> ({{\n'
        f"^bb0(%a: {scalar}, %b: {scalar}):\n"
        f"%s = stablehlo.compare LT, %a, %b : ({scalar}, {scalar}) -> tensor<i1>\nstablehlo.return %s : tensor<i1>\n"
        f"}}) : ({kind}) -> {kind}"
    )
    program.give(sorted_, kind, "3x4x", shown)
    rows = program.op("stablehlo.constant dense<[[2], [0], [2]]> : tensor<3x1xi32>")
    scattered = program.op(
        f'"stablehlo.scatter"({x}, {rows}, {x}) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], '
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
        f"^bb0(%a: {scalar}, %b: {scalar}):\n%s = stablehlo.add %a, %b : {scalar}\nstablehlo.return %s : {scalar}\n"
        f"}}) : ({kind}, tensor<3x1xi32>, {kind}) -> {kind}"
    )
    program.give(scattered, kind, "3x4x", shown)
    limit = program.op("stablehlo.constant dense<3> : tensor<i32>")
    zero = program.op("stablehlo.constant dense<0> : tensor<i32>")
    step = program.op("stablehlo.constant dense<1> : tensor<i32>")
    program.lines.append(
        f"%w:2 = stablehlo.while(%i = {zero}, %c = {x}) : tensor<i32>, {kind}\ncond {{\n"
        f"%p = stablehlo.compare LT, %i, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>\nstablehlo.return %p : tensor<i1>\n"
        f"}} do {{\n%n = stablehlo.add %i, {step} : tensor<i32>\n%s = stablehlo.add %c, {x} : {kind}\n"
        f"stablehlo.return %n, %s : tensor<i32>, {kind}\n}}"
    )
    program.give("%w#1", kind, "3x4x", shown)
    counted = program.op(f"stablehlo.iota dim = 0 : tensor<40x{element}>")
    program.give(counted, f"tensor<40x{element}>", "40x", shown)
    bits = BITS[element]
    if bits in (2, 4):  # as bytes and as wider numbers, and back
        pieces = 8 // bits
        word = (
            program.op(f"stablehlo.bitcast_convert {x} : ({kind}) -> tensor<3x{'' if bits == 2 else '2x'}{'ui8' if bits == 2 else 'ui8'}>")
            if bits == 2
            else program.op(f"stablehlo.reshape {x} : ({kind}) -> tensor<3x2x2x{element}>")
        )
        if bits == 4:
            word = program.op(f"stablehlo.bitcast_convert {word} : (tensor<3x2x2x{element}>) -> tensor<3x2xui8>")
        shape = "3x" if bits == 2 else "3x2x"
        program.give(word, f"tensor<{shape}ui8>", shape, "ui8")
        again = program.op(f"stablehlo.bitcast_convert {word} : (tensor<{shape}ui8>) -> tensor<{shape}{pieces}x{element}>")
        program.give(again, f"tensor<{shape}{pieces}x{element}>", f"{shape}{pieces}x", shown)
        large = program.op("stablehlo.constant dense<[305419896, -1985229329]> : tensor<2xi32>")
        cut = program.op(f"stablehlo.bitcast_convert {large} : (tensor<2xi32>) -> tensor<2x{32 // bits}x{element}>")
        program.give(cut, f"tensor<2x{32 // bits}x{element}>", f"2x{32 // bits}x", shown)
    for number, (found, expected) in enumerate(both(program, tmp_path)):
        assert equal(found, expected), (element, number, program.results[number])


@pytest.mark.parametrize("element, spelling", [("f8E4M3FN", "F8_E4M3"), ("i4", "I4")])
def test_files(element: str, spelling: str, tmp_path: Path) -> None:
    """Arguments and results are one byte each and keep their type in files."""
    kind = f"tensor<4x{element}>"
    source = tmp_path / "step.mlir"
    source.write_text(
        f"func.func @main(%s: {kind} {{tf.aliasing_output = 0 : i32}}) -> {kind} {{\n"
        f"%0 = stablehlo.add %s, %s : {kind}\nreturn %0 : {kind}\n}}\n"
    )
    codes = bytes([0x38, 0x40, 0xB8, 0x01]) if element in FLOATS else bytes([1, 3, 0xFE, 0xF8])
    doubled = bytes([0x40, 0x48, 0xC0, 0x02]) if element in FLOATS else bytes([2, 6, 0xFC, 0])
    header = json.dumps({"arg0": {"dtype": spelling, "shape": [4], "data_offsets": [0, 4]}}).encode()
    inputs = tmp_path / "inputs.safetensors"
    inputs.write_bytes(struct.pack("<Q", len(header)) + header + codes)
    compiled = tmp_path / "step.tenon"
    succeed("compile", source, "-o", compiled)
    for program, flag in ((compiled, "--threads=1"), (source, "--reference")):
        outputs = tmp_path / "outputs.safetensors"
        succeed("run", program, flag, "--inputs", inputs, "--outputs", outputs)
        stored = outputs.read_bytes()
        size = struct.unpack("<Q", stored[:8])[0]
        described = json.loads(stored[8 : 8 + size])["result0"]
        assert described["dtype"] == spelling and described["shape"] == [4]
        assert stored[8 + size :][slice(*described["data_offsets"])] == doubled
