"""Subnormal numbers, kept and flushed: what is compiled agrees with the interpreter, for every feature set.

Each program runs on numbers below, at and above the smallest normal one of its type. Sums have one or two terms that are
not zero, so that every order of adding gives the same bits.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from conftest import PROCESSOR, refused, succeed
from safetensors.numpy import load_file, save_file

TYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
CARRIERS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def feature_sets(mode: str) -> list[str]:
    """The sets that this processor has and that have the mode, one for each that kernels differ for."""
    sets = ["x86-64-v3"]
    if "avx512vl" in PROCESSOR and "avx512dq" in PROCESSOR:
        sets.append("x86-64-v4")
    if mode == "flush" and "avx512_bf16" in PROCESSOR:
        sets.append("x86-64-v4+avx512bf16")
    return sets


MODES = [(mode, cpu) for mode in ("flush", "keep") for cpu in feature_sets(mode)]
MODES_OF_PRODUCTS = MODES + [("flush", "x86-64-v4+amxbf16")] * ("amx_bf16" in PROCESSOR)


def limits(element: str) -> tuple[float, float]:
    """The smallest normal and the smallest subnormal number."""
    info = ml_dtypes.finfo(TYPES[element])
    return float(info.smallest_normal), float(info.smallest_subnormal)


def numbers(element: str) -> np.ndarray:
    """Numbers around the smallest normal one, of both signs, and some that bring them there and back."""
    normal, subnormal = limits(element)
    small = [subnormal, 3 * subnormal, normal / 2, normal - subnormal, normal, normal + subnormal, 1.5 * normal, 2 * normal]
    other = [0.0, 0.5, 1.0, 1.5, 3.0, 1 / 3, 1024.0, 0.75 / normal if element != "f16" else 16384.0, float("inf")]
    values = [sign * value for value in small + other for sign in (1, -1)]
    return np.array([*values, float("nan")], np.float64).astype(TYPES[element])


def pairs(element: str) -> tuple[np.ndarray, np.ndarray]:
    """Every number with every other one."""
    values = numbers(element)
    left, right = (np.array(side, values.dtype) for side in zip(*itertools.product(values, values), strict=True))
    return left, right


class Program:
    """The text of a function of tensors, whose results are named."""

    def __init__(self, arguments: dict[str, str]) -> None:
        self.arguments = arguments
        self.lines: list[str] = []
        self.results: dict[str, tuple[str, str]] = {}

    def op(self, text: str) -> str:
        """Adds an operation with one result; returns the value."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def give(self, label: str, value: str, kind: str) -> None:
        """A result."""
        self.results[label] = (value, kind)

    def text(self) -> str:
        """The module."""
        arguments = ", ".join(f"%{name}: {kind}" for name, kind in self.arguments.items())
        kinds = ", ".join(kind for _, kind in self.results.values())
        values = ", ".join(value for value, _ in self.results.values())
        body = [f"func.func @main({arguments}) -> ({kinds}) {{", *self.lines, f"return {values} : {kinds}", "}", ""]
        return "\n".join(body)


def outputs(program: Program, inputs: list[np.ndarray], folder: Path, mode: str, cpu: str) -> dict[str, list[np.ndarray]]:
    """Every result: compiled, compiled without merging operations, and interpreted."""
    source, given = folder / "program.mlir", folder / "inputs.safetensors"
    source.write_text(program.text())
    save_file({f"arg{i}": array for i, array in enumerate(inputs)}, given)
    found: dict[str, list[np.ndarray]] = {label: [] for label in program.results}
    for fuse in ("true", "false"):
        compiled = folder / f"{fuse}.tenon"
        succeed("compile", source, f"--cpu={cpu}", f"--subnormals={mode}", f"--fuse={fuse}", "-o", compiled)
        succeed("run", compiled, "--inputs", given, "--outputs", folder / f"{fuse}.safetensors")
    succeed("run", source, "--reference", f"--subnormals={mode}", "--inputs", given, "--outputs", folder / "reference.safetensors")
    for name in ("true", "false", "reference"):
        stored = load_file(folder / f"{name}.safetensors")
        for i, label in enumerate(program.results):
            found[label].append(stored[f"result{i}"])
    return found


def bits(array: np.ndarray) -> np.ndarray:
    """Bits of floats, those of every NaN alike; other elements as they are."""
    if array.dtype.kind not in "fV" or array.dtype.itemsize not in CARRIERS:
        return array
    raw = array.view(CARRIERS[array.dtype.itemsize]).copy()
    raw[np.isnan(array.astype(np.float64))] = np.iinfo(raw.dtype).max
    return raw


def check(program: Program, inputs: list[np.ndarray], folder: Path, mode: str, cpu: str) -> dict[str, np.ndarray]:
    """Both compiled results equal the interpreted one in every bit; returns it."""
    wrong = []
    interpreted = {}
    for label, (merged, single, expected) in outputs(program, inputs, folder, mode, cpu).items():
        interpreted[label] = expected
        for name, array in (("merged", merged), ("single", single)):
            places = np.flatnonzero(bits(array).ravel() != bits(expected).ravel())
            for place in places[:3]:
                operands = [given.ravel()[place] for given in inputs if given.size == array.size]
                wrong.append(f"{label} {name} at {place} {operands}: {array.ravel()[place]}, not {expected.ravel()[place]}")
    assert not wrong, "\n".join(wrong)
    return interpreted


def is_subnormal(array: np.ndarray, element: str) -> np.ndarray:
    """Where numbers are subnormal."""
    wide = np.abs(array.astype(np.float64)) if element != "f64" else np.abs(array)
    return (wide > 0) & (wide < limits(element)[0])


UNARY = ["abs", "negate", "sign", "floor", "ceil", "round_nearest_afz", "round_nearest_even", "sqrt"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"]
MOVES = {"abs", "negate", "bitcast"}
FUNCTIONS = [
    "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "tan", "tanh",
]  # fmt: skip


def elementwise(element: str, count: int) -> Program:
    """Every operation that rounds at most once, on pairs of numbers, and what a compiler might leave out."""
    kind = f"tensor<{count}x{element}>"
    program = Program({"x": kind, "y": kind})

    def add(label: str, text: str, result: str = kind) -> str:
        value = program.op(text)
        program.give(label, value, result)
        return value

    for name in UNARY:
        add(name, f"stablehlo.{name} %x : {kind}")
    for name in BINARY:
        add(name, f"stablehlo.{name} %x, %y : {kind}")
    add("next_after", f"chlo.next_after %x, %y : {kind}, {kind} -> {kind}")
    flags = f"tensor<{count}xi1>"
    for direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        for order in ("FLOAT", "TOTALORDER"):
            add(f"{direction} {order}", f"stablehlo.compare {direction}, %x, %y, {order} : ({kind}, {kind}) -> {flags}", flags)
    less = add("less", f"stablehlo.compare LT, %x, %y, FLOAT : ({kind}, {kind}) -> {flags}", flags)
    add("select", f"stablehlo.select {less}, %x, %y : {flags}, {kind}")
    add("clamp", f"stablehlo.clamp %x, %y, %x : {kind}")
    add("finite", f"stablehlo.is_finite %x : ({kind}) -> {flags}", flags)
    mantissa = {"f32": 23, "f64": 52, "f16": 10, "bf16": 7}[element]
    exponent = {"f32": 8, "f64": 11, "f16": 5, "bf16": 8}[element]
    add("reduce_precision", f"stablehlo.reduce_precision %x, format = e{exponent}m{mantissa - 2} : {kind}")
    for other in TYPES:
        if other != element:
            between = f"tensor<{count}x{other}>"
            there = add(f"to {other}", f"stablehlo.convert %x : ({kind}) -> {between}", between)
            add(f"to {other} and back", f"stablehlo.convert {there} : ({between}) -> {kind}")
    add("to i32", f"stablehlo.convert %x : ({kind}) -> tensor<{count}xi32>", f"tensor<{count}xi32>")
    add("to i1", f"stablehlo.convert %x : ({kind}) -> {flags}", flags)
    whole = f"i{TYPES[element].itemsize * 8}"
    raw = program.op(f"stablehlo.bitcast_convert %x : ({kind}) -> tensor<{count}x{whole}>")
    add("bitcast", f"stablehlo.bitcast_convert {raw} : (tensor<{count}x{whole}>) -> {kind}")

    def constant(value: str) -> str:
        return program.op(f"stablehlo.constant dense<{value}> : {kind}")

    one, minus, zero, negative_zero = (constant(value) for value in ("1.0", "-1.0", "0.0", "-0.0"))
    size = TYPES[element].itemsize * 8
    infinity = ((1 << exponent) - 1) << mantissa
    highest, lowest = constant(f"0x{infinity:0{size // 4}X}"), constant(f"0x{infinity | 1 << (size - 1):0{size // 4}X}")
    for label, text in {
        "x 1": f"multiply %x, {one}", "1 x": f"multiply {one}, %x", "x -1": f"multiply %x, {minus}", "x / 1": f"divide %x, {one}",
        "x / -1": f"divide %x, {minus}", "x + 0": f"add %x, {zero}", "x + -0": f"add %x, {negative_zero}",
        "x - 0": f"subtract %x, {zero}", "-0 - x": f"subtract {negative_zero}, %x", "max x x": "maximum %x, %x",
        "min x x": "minimum %x, %x", "max x -inf": f"maximum %x, {lowest}", "min x inf": f"minimum %x, {highest}",
    }.items():  # fmt: skip
        add(label, f"stablehlo.{text} : {kind}")
    magnitude = program.op(f"stablehlo.abs %x : {kind}")
    add("|x| + 0", f"stablehlo.add {magnitude}, {zero} : {kind}")
    # A sum that is flushed keeps its sign, so adding 0 to it is not for nothing.
    total = program.op(f"stablehlo.add %x, {one} : {kind}")
    add("(x + 1) + 0", f"stablehlo.add {total}, {zero} : {kind}")
    product = program.op(f"stablehlo.multiply %x, %y : {kind}")
    add("(x y) 1", f"stablehlo.multiply {product}, {one} : {kind}")
    # Constants that a compiler computes.
    small = constant(f"0x{3:0{size // 4}X}")
    normal = constant(f"0x{1 << mantissa:0{size // 4}X}")
    large, half = constant("1024.0"), constant("0.5")
    for label, text in {
        "3 ulp + 0": f"add {small}, {zero}", "3 ulp * 1024": f"multiply {small}, {large}", "3 ulp + 3 ulp": f"add {small}, {small}",
        "normal / 2": f"multiply {normal}, {half}", "normal - 3 ulp": f"subtract {normal}, {small}", "x / 3 ulp": f"divide %x, {small}",
        "x + 3 ulp": f"add %x, {small}", "max 3 ulp": f"maximum {small}, {zero}", "-3 ulp": f"negate {small}",
        "ceil 3 ulp": f"ceil {small}",
    }.items():  # fmt: skip
        names = text.replace(",", "").split()
        result = f"stablehlo.{text} : {kind}"
        add(label, result if len(names) > 1 else text)
    add("3 ulp == 0", f"stablehlo.compare EQ, {small}, {zero}, FLOAT : ({kind}, {kind}) -> {flags}", flags)
    tiny = constant(f"0x{1 << (mantissa - 1):0{size // 4}X}")  # half of the smallest normal number, a power of two
    add("x / tiny", f"stablehlo.divide %x, {tiny} : {kind}")
    return program


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("mode", "cpu"), MODES)
def test_elementwise(mode: str, cpu: str, element: str, tmp_path: Path) -> None:
    """Operations that round at most once give the bits that the interpreter gives, and those that Forms.md says."""
    left, right = pairs(element)
    found = check(elementwise(element, left.size), [left, right], tmp_path, mode, cpu)
    small = is_subnormal(left, element)
    flushes = mode == "flush" and element != "f16"
    for label in MOVES:  # what moves bits
        assert (bits(found[label])[small] != 0).all(), label
    for label in ("x 1", "x / 1", "x + 0", "max x -inf", "max x x"):
        assert (is_subnormal(found[label], element)[small] != flushes).all(), label
    for label in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "sign"):
        if flushes:
            assert not is_subnormal(found[label], element).any(), label
        elif label != "sign":
            assert is_subnormal(found[label], element).any(), label


def close(found: np.ndarray, expected: np.ndarray, units: int) -> np.ndarray:
    """Whether results are that near to each other; zeros and NaN have to be the same."""
    same = bits(found) == bits(expected)
    carrier = {2: np.int16, 4: np.int32, 8: np.int64}[found.dtype.itemsize]
    apart = np.abs(found.view(carrier).astype(np.float64) - expected.view(carrier).astype(np.float64))
    nonzero = (found.astype(np.float64) != 0) & (expected.astype(np.float64) != 0)
    return same | (nonzero & (apart <= units))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("mode", "cpu"), MODES)
def test_functions(mode: str, cpu: str, element: str, tmp_path: Path) -> None:
    """Functions take subnormal numbers as zero and give none, where they are flushed; else they are near the exact value."""
    left, right = pairs(element)
    kind = f"tensor<{left.size}x{element}>"
    program = Program({"x": kind, "y": kind})
    for name in FUNCTIONS:
        program.give(name, program.op(f"stablehlo.{name} %x : {kind}"), kind)
    for name in ("erf", "erfc", "erf_inv"):
        program.give(name, program.op(f"chlo.{name} %x : {kind} -> {kind}"), kind)
    for name in ("atan2", "power"):
        program.give(name, program.op(f"stablehlo.{name} %x, %y : {kind}"), kind)
    flushes = mode == "flush" and element != "f16"
    wrong = []
    for label, (merged, single, expected) in outputs(program, [left, right], tmp_path, mode, cpu).items():
        if flushes and is_subnormal(merged, element).any():
            wrong.append(f"{label} gives subnormal numbers")
        for array in (merged, single):
            near = close(array, expected, 8)
            # Next to where results are flushed, rounding decides.
            edge = np.abs(expected.astype(np.float64)) <= 1.001 * limits(element)[0] if flushes else np.zeros(near.shape, bool)
            exact = is_subnormal(left, element) & ~is_subnormal(right, element) & (label not in ("atan2", "power"))
            for place in np.flatnonzero(~near & ~(edge & ~exact))[:3]:
                wrong.append(f"{label} of {left[place]}, {right[place]}: {array[place]}, not {expected[place]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("mode", "cpu"), MODES)
def test_all_numbers_of_f16(mode: str, cpu: str, tmp_path: Path) -> None:
    """Every operation on one number, on all 65,536 of f16, which keeps its subnormal numbers in either mode."""
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    kind, wide = (f"tensor<{values.size}x{element}>" for element in ("f16", "f32"))
    program = Program({"x": kind})
    for name in UNARY + FUNCTIONS:
        program.give(name, program.op(f"stablehlo.{name} %x : {kind}"), kind)
    there = program.op(f"stablehlo.convert %x : ({kind}) -> {wide}")
    program.give("to f32", there, wide)
    half = program.op(f"stablehlo.constant dense<0.5> : {wide}")
    product = program.op(f"stablehlo.multiply {there}, {half} : {wide}")
    program.give("half in f32", program.op(f"stablehlo.convert {product} : ({wide}) -> {kind}"), kind)
    wrong = []
    for label, (merged, single, expected) in outputs(program, [values], tmp_path, mode, cpu).items():
        for array in (merged, single):
            near = close(array, expected, 1 if label in FUNCTIONS else 0)
            wrong += [f"{label} of {values[i]}: {array[i]}, not {expected[i]}" for i in np.flatnonzero(~near)[:3]]
        if label == "half in f32":
            with np.errstate(invalid="ignore"):
                exact = (values.astype(np.float64) / 2).astype(np.float16)
            assert np.array_equal(bits(merged), bits(exact)) and is_subnormal(merged, "f16").any()
    assert not wrong, "\n".join(wrong)


def rows(element: str, count: int, length: int, places: tuple[int, ...]) -> np.ndarray:
    """Rows with a few terms that are not zero, and whose sums are the same in every order."""
    normal, subnormal = limits(element)
    terms = [(3 * subnormal, 0.0), (normal, 3 * subnormal), (1.5 * normal, -normal), (normal / 2, normal / 2), (normal, normal)]
    table = np.zeros((count, length), np.float64)
    for row in range(count):
        for place, term in zip(places, terms[row % len(terms)], strict=True):
            table[row, place] = term
    return table.astype(TYPES[element])


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("mode", "cpu"), MODES)
def test_reductions(mode: str, cpu: str, element: str, tmp_path: Path) -> None:
    """Sums, extremes, windows and running sums, along the last and the first dimension, short, long and in stages."""
    program = Program({})
    inputs = []

    def reduce(label: str, operation: str, initial: str, shape: tuple[int, ...], dims: list[int], data: np.ndarray) -> None:
        kind = f"tensor<{'x'.join(map(str, shape))}x{element}>"
        kept = "".join(f"{extent}x" for dim, extent in enumerate(shape) if dim not in dims)
        program.arguments[f"a{len(inputs)}"] = kind
        start = program.op(f"stablehlo.constant dense<{initial}> : tensor<{element}>")
        result = f"tensor<{kept}{element}>"
        text = f"stablehlo.reduce(%a{len(inputs)} init: {start}) applies stablehlo.{operation} across dimensions = {dims}"
        program.give(label, program.op(f"{text} : ({kind}, tensor<{element}>) -> {result}"), result)
        inputs.append(data.reshape(shape))

    size = TYPES[element].itemsize * 8
    exponent = {"f32": 8, "f64": 11, "f16": 5, "bf16": 8}[element]
    lowest = f"0x{(((1 << (exponent + 1)) - 1) << (size - 1 - exponent)):0{size // 4}X}"
    for length in (1, 2, 7, 40, 600):
        places = (0, length - 1) if length > 1 else (0, 0)
        data = rows(element, 10, length, places)
        reduce(f"sum {length}", "add", "0.0", (10, length), [1], data)
        reduce(f"columns {length}", "add", "0.0", (length, 10), [0], data.T.copy())
        reduce(f"max {length}", "maximum", lowest, (10, length), [1], data)
        reduce(f"max columns {length}", "maximum", lowest, (length, 10), [0], data.T.copy())
    stages = rows(element, 5, 4096 * 8, (5, 4096 * 7 + 3))
    for row in range(5):
        reduce(f"total {row}", "add", "0.0", (64, 512), [0, 1], stages[row])
        reduce(f"total of one dimension {row}", "add", "0.0", (32768,), [0], stages[row])
    reduce("column stages", "add", "0.0", (4096, 5), [0], rows(element, 5, 4096, (3, 4001)).T.copy())
    reduce("groups", "add", "0.0", (5, 8, 64, 4), [1, 2, 3], rows(element, 5, 2048, (9, 2000)))
    for window, stride in ((1, 2), (2, 2), (3, 1)):
        data = rows(element, 10, 12, (0, 1)).T.copy()
        program.arguments[f"a{len(inputs)}"] = kind = f"tensor<12x10x{element}>"
        for operation, initial in (("add", "-0.0"), ("maximum", lowest)):
            start = program.op(f"stablehlo.constant dense<{initial}> : tensor<{element}>")
            extent = (12 - window) // stride + 1
            result = f"tensor<{extent}x10x{element}>"
            value = program.op(
                f'"stablehlo.reduce_window"(%a{len(inputs)}, {start}) ({{ ^bb0(%l: tensor<{element}>, %r: tensor<{element}>): '
                f"%s = stablehlo.{operation} %l, %r : tensor<{element}> stablehlo.return %s : tensor<{element}> }}) "
                f"{{window_dimensions = array<i64: {window}, 1>, window_strides = array<i64: {stride}, 1>}} "
                f": ({kind}, tensor<{element}>) -> {result}"
            )
            program.give(f"window {window} {operation}", value, result)
        inputs.append(data)
    found = check(program, inputs, tmp_path, mode, cpu)
    flushes = mode == "flush" and element != "f16"
    for label, array in found.items():
        if flushes:
            assert not is_subnormal(array, element).any(), label
    assert is_subnormal(found["sum 40"], element).any() != flushes
    assert is_subnormal(found["column stages"], element).any() != flushes


@pytest.mark.parametrize(("element", "wide"), [*((element, False) for element in TYPES), ("bf16", True), ("f16", True)])
@pytest.mark.parametrize(("mode", "cpu"), MODES_OF_PRODUCTS)
def test_products(mode: str, cpu: str, element: str, wide: bool, tmp_path: Path) -> None:
    """Dots and convolutions, through the library and in generated code, whose operands, products or sums are subnormal."""
    result = "f32" if wide else element
    normal, subnormal = limits(element)
    big = 2.0**10 if element == "f16" else 2.0**60
    small = 2.0**-9 if element == "f16" else 2.0 ** (np.log2(normal) / 2 - 1)
    lhs = np.zeros((8, 48), np.float64)
    lhs[0, 3], lhs[1, 3], lhs[2, 5], lhs[3, 5], lhs[4, 7] = 3 * subnormal, normal, 3 * subnormal, small, 1.5 * normal
    lhs[4, 9], lhs[5, 9], lhs[6, 11], lhs[7, 0] = -normal, normal / 2, 1.0, 0.0
    rhs = np.zeros((48, 16), np.float64)
    rhs[3, :4], rhs[5, 2:6], rhs[7, :], rhs[9, :], rhs[11, 3] = (1.0, 0.5, big, -1.0), (big, 1.0, small, -small), 1.0, 1.0, subnormal
    lhs, rhs = lhs.astype(TYPES[element]), rhs.astype(TYPES[element])
    kinds = {"l": f"tensor<8x48x{element}>", "r": f"tensor<48x16x{element}>"}
    kinds |= {"i": f"tensor<1x8x4x12x{element}>", "k": f"tensor<1x1x12x16x{element}>"}
    program = Program(kinds)
    product = f"tensor<8x16x{result}>"
    program.give(
        "dot",
        program.op(f"stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : ({kinds['l']}, {kinds['r']}) -> {product}"),
        product,
    )
    batched = program.op(f"stablehlo.reshape %l : ({kinds['l']}) -> tensor<8x1x48x{element}>")
    other = program.op(f"stablehlo.broadcast_in_dim %r, dims = [1, 2] : ({kinds['r']}) -> tensor<8x48x16x{element}>")
    program.give(
        "batched",
        program.op(
            f"stablehlo.dot_general {batched}, {other}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
            f"(tensor<8x1x48x{element}>, tensor<8x48x16x{element}>) -> tensor<8x1x16x{result}>"
        ),
        f"tensor<8x1x16x{result}>",
    )
    image = f"tensor<1x8x4x16x{result}>"
    program.give(
        "convolution",
        program.op(
            "stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} "
            "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} "
            f": ({kinds['i']}, {kinds['k']}) -> {image}"
        ),
        image,
    )
    inputs = [lhs, rhs, lhs.reshape(1, 8, 4, 12), np.ascontiguousarray(rhs[:12]).reshape(1, 1, 12, 16)]
    found = check(program, inputs, tmp_path, mode, cpu)["dot"].astype(np.float64)
    flushes = mode == "flush" and element != "f16"
    assert (found[0, 2] == 0) == flushes, "a subnormal operand and a large one"
    assert (found[6, 3] == 0) == flushes, "a subnormal operand on the right"


@pytest.mark.parametrize(("mode", "cpu"), MODES)
def test_the_file_says_so(mode: str, cpu: str, tmp_path: Path) -> None:
    """The mode is recorded in the text between stages and in the file, and nothing contradicts it later."""
    source, text, compiled = tmp_path / "step.mlir", tmp_path / "step.txt", tmp_path / "step.tenon"
    source.write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = stablehlo.add %x, %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n"
    )
    succeed("compile", source, f"--cpu={cpu}", f"--subnormals={mode}", "--compile-to=group", "-o", text)
    assert ('subnormals = "keep"' in text.read_text()) == (mode == "keep")
    succeed("compile", text, "--compile-from=group", "-o", compiled)
    assert f"subnormal numbers: {mode}" in succeed("inspect", compiled)
    other = "keep" if mode == "flush" else "flush"
    said = refused(1, "compile", text, "--compile-from=group", f"--subnormals={other}", "-o", compiled)
    assert f"--subnormals={other} contradicts" in said
    assert f"--subnormals={mode}" in said
    said = refused(2, "run", compiled, f"--subnormals={other}")
    assert f"compile the module with --subnormals={other}" in said


def test_instructions_that_always_flush_are_not_for_keeping(tmp_path: Path) -> None:
    """AVX512-BF16 flushes whatever the processor is told: it is refused where it was asked for, else left out."""
    source = tmp_path / "step.mlir"
    source.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\nreturn %x : tensor<4xf32>\n}\n")
    said = refused(2, "compile", source, "--cpu=x86-64-v4+avx512bf16", "--subnormals=keep", "-o", tmp_path / "a.tenon")
    assert "always flush" in said
    assert "--cpu=x86-64-v4" in said
    succeed("compile", source, "--subnormals=keep", "--compile-to=import", "-o", tmp_path / "a.txt")
    assert "avx512bf16" not in (tmp_path / "a.txt").read_text()
    said = refused(2, "compile", source, "--target=stablehlo", "--subnormals=keep")
    assert "--subnormals is for the target cpu" in said
