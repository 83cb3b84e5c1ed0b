"""When the results of a program agree with JAX's, by the committed table `lib/Reference/ErrorBounds.inc`.

Integers and booleans have to be equal, and so has what a program computes with at most one operation that
rounds once. NaN equals NaN, infinities and zeros equal themselves. Otherwise both results may be as far from the exact
one as the table says, so that they are at most twice as far apart:

- one function: twice its units in the last place of the element;
- sums: twice terms u sum|terms|. JAX evaluates the program on the operands' absolute values, which gives
  the sum, and on ones, which gives the number of terms, as `ErrorBound.cpp` does for one operation;
- programs of several operations that round: 4 units in the last place of the element (of its modulus if it is
  complex), or what the table's lines PROGRAM say of the program's group.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

TABLE = Path(__file__).resolve().parents[2] / "lib/Reference/ErrorBounds.inc"
UNNAMED = 4.0  # units of what the table does not name

# Operations that round once, those that repeat a region or sum, those that a sum may consist of (what else it holds moves
# elements), those that have no bound in the table, and those that let values decide.
ROUNDING = {"add", "subtract", "multiply", "divide", "sqrt", "convert", "remainder", "reduce_precision"}
UNBOUNDED = {
    "batch_norm_grad", "batch_norm_inference", "batch_norm_training", "bessel_i1e", "cholesky", "custom_call", "digamma",
    "fft", "lgamma", "polygamma", "ragged_dot", "triangular_solve", "zeta",
}  # fmt: skip
DECIDING = {"compare", "sort", "maximum", "minimum", "select", "clamp", "custom_call", "while", "case", "if"}
FLOATS = re.compile(r"(?:bf16|f16|f32|f64|f8\w*)>+\)?(?: loc.*)?$")
COMPLEX = re.compile(r"complex<f\d+>>\)?(?: loc.*)?$")
ADDITION = re.compile(r"= stablehlo\.add [^\n]*: tensor<\d")
OPERATION = re.compile(r"\b(stablehlo|chlo)\.([a-z_0-9]+)\b")


@dataclass(frozen=True)
class ProgramBound:
    """How exact the programs of a group are: units in the last place of what."""

    measure: str
    units: float


def read_table() -> tuple[dict[str, tuple[float, float]], set[str], dict[tuple[str, str], ProgramBound]]:
    """The lines FUNCTION, SUM (without those that have extra terms) and PROGRAM of the table."""
    text = TABLE.read_text()
    functions = {
        name.partition(".")[2]: (float(single), float(wide))
        for name, single, wide in re.findall(r'^FUNCTION\("([\w.]+)", ([\d.]+), ([\d.]+),', text, re.MULTILINE)
    }
    sums = {name.partition(".")[2] for name in re.findall(r'^SUM\("([\w.]+)", 0\)', text, re.MULTILINE)}
    entries = re.findall(r'^PROGRAM\("(\w+)", (real|complex), (element|largest), (\d+),', text, re.MULTILINE)
    return functions, sums, {(group, kind): ProgramBound(measure, float(u)) for group, kind, measure, u in entries}


FUNCTIONS, SUMS, PROGRAMS = read_table()
REPEATING = SUMS | {"while"}


@dataclass(frozen=True)
class Terms:
    """Of every element of a result that is a sum: how many terms it has, and the sum of their absolute values."""

    counts: np.ndarray
    magnitudes: np.ndarray


@dataclass(frozen=True)
class Work:
    """What a program does that rounds."""

    operations: tuple[str, ...]  # those of floating-point elements that round, with repetition
    functions: tuple[str, ...]
    repeats: bool
    is_sum: bool
    in_place: bool = False  # sums are kept in the elements' type: in windows by JAX alone

    @property
    def is_exact(self) -> bool:
        """Whether nothing rounds more than once."""
        return not self.repeats and not self.functions and len(self.operations) <= 1


def work_of(text: str) -> Work:
    """Reads a program's operations."""
    operations, functions, names, is_complex = [], [], set(), False
    for line in text.splitlines():
        found = [name for _, name in OPERATION.findall(line)]
        names.update(found)
        is_complex |= "complex<" in line
        if FLOATS.search(line) or COMPLEX.search(line):
            operations += [name for name in found if name in ROUNDING]
            functions += [name for name in found if name in FUNCTIONS]
    is_sum = bool(names & REPEATING) and not functions and not names & DECIDING and set(operations) <= {"add", "convert"}
    repeats = bool(names & (REPEATING | UNBOUNDED)) or is_complex
    in_place = bool(names & {"scatter", "select_and_scatter", "reduce_window"}) or bool(ADDITION.search(text))
    return Work(tuple(operations), tuple(functions), repeats, is_sum, in_place)


def part_of(dtype: np.dtype) -> np.dtype:
    """The type of a number's parts."""
    return np.empty(0, dtype).real.dtype if np.issubdtype(dtype, np.complexfloating) else dtype


def is_inexact(dtype: np.dtype) -> bool:
    """Whether a type rounds."""
    return np.issubdtype(dtype, np.inexact) or dtype.kind == "V" or dtype.name.startswith(("bfloat", "float"))


def wide(values: np.ndarray) -> np.ndarray:
    """The same numbers with room for differences."""
    return values.astype(np.complex128 if np.issubdtype(values.dtype, np.complexfloating) else np.float64)


def units_at(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The distance of a type's numbers around these absolute values."""
    limits = ml_dtypes.finfo(dtype)
    tiny = float(limits.smallest_normal)
    _, exponents = np.frexp(np.maximum(np.where(np.isfinite(values), values, 0), tiny))
    return np.ldexp(float(limits.eps), exponents - 1)


def roundings(dtype: np.dtype) -> float:
    """Units for the last rounding of two results to a type narrower than what is computed in."""
    return 1.0 if ml_dtypes.finfo(dtype).bits < 32 else 0.0


def function_units(work: Work, dtype: np.dtype) -> float:
    """Units that two results of one function may be apart."""
    single, double = FUNCTIONS[work.functions[0]]
    bits = ml_dtypes.finfo(dtype).bits
    # 16-bit types compute in f32 and round once; JAX may compute in the type itself.
    return single + 0.5 if bits < 32 else 2 * (double if bits == 64 else single)


def sum_bound(work: Work, expected: np.ndarray, terms: Terms) -> np.ndarray:
    """How far apart two sums may be: each within terms u sum|terms| of the exact one, and rounded to the type."""
    dtype = part_of(expected.dtype)
    limits = ml_dtypes.finfo(dtype)
    u = float(limits.eps if limits.bits >= 32 or work.in_place else np.finfo(np.float32).eps) / 2
    counts = terms.counts * (2 if np.iscomplexobj(expected) else 1)
    return 2 * counts * u * terms.magnitudes + roundings(dtype) * units_at(np.abs(wide(expected)), dtype)


def bound_of(group: str, work: Work, expected: np.ndarray, terms: Callable[[], Terms | None]) -> tuple[np.ndarray, str]:
    """How far each element may be from the expected one, and by which rule."""
    dtype = part_of(expected.dtype)
    y = np.abs(wide(expected))
    kind = "complex" if np.iscomplexobj(expected) else "real"
    if entry := PROGRAMS.get((group, kind)):
        scale = y if entry.measure != "largest" else np.full(y.shape, y[np.isfinite(y)].max(initial=0.0))
        return entry.units * units_at(scale, dtype), f"{entry.units:.0f} units of the {entry.measure}"
    if work.is_exact:
        return np.zeros(y.shape), "equal"
    if len(work.functions) == 1 and not work.operations and kind == "real" and function_units(work, dtype):
        units = function_units(work, dtype)
        return units * units_at(y, dtype), f"{units:.0f} units"
    if work.is_sum and (known := terms()) is not None:
        return sum_bound(work, expected, known), f"up to {known.counts.max(initial=0):.0f} terms"
    return UNNAMED * units_at(y, dtype), f"{UNNAMED:.0f} units"


def difference(
    group: str, work: Work, found: np.ndarray, expected: np.ndarray, terms: Callable[[], Terms | None] = lambda: None
) -> str:
    """What separates a result from what it should be; empty if they agree."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"found {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    rule = ""
    if not is_inexact(expected.dtype):
        different = found != expected
    else:
        x, y = wide(found), wide(expected)
        different = ~((x == y) | (np.isnan(x) & np.isnan(y)))
        if np.any(different):
            allowed, rule = bound_of(group, work, expected, terms)
            with np.errstate(invalid="ignore", over="ignore"):
                different &= ~((np.abs(x - y) <= allowed) & np.isfinite(y))
    if not np.any(different):
        return ""
    index = tuple(int(i) for i in np.argwhere(different)[0])
    count = f"{int(np.sum(different))} of {different.size} elements, first at {list(index)}: "
    return count + f"found {found[index]!s}, expected {expected[index]!s}" + (f" by {rule}" if rule else "")
