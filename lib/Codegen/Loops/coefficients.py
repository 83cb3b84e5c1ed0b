#!/usr/bin/env python3
"""Fits the polynomials of the mathematical functions and prints Coefficients.h.

Each fit minimises the largest weighted error |p(u(x)) - g(x)| * w(x) over an
interval with the Remez exchange in 40 digits, on a grid of Chebyshev points. The
weight turns the error of the polynomial into the relative error of the function
it serves. Coefficients are then rounded to the type they are used in, from the
lowest order up, and those still free are fitted again after each rounding, so
that they make up for it.

Usage: coefficients.py [NAME...] > Coefficients.h   (needs mpmath; about a minute)
Names restrict the run to those fits, to try out a change.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 40
half = mpf(1) / 2

Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """One polynomial: `terms` coefficients of powers of `variable(x)`."""

    name: str
    text: str
    low: mpf
    high: mpf
    terms: int
    target: Function
    weight: Function
    variable: Function = lambda x: x
    double: bool = False


def roundTo(value: mpf, double: bool) -> mpf:
    """The nearest f32 or f64."""
    if double:
        return mpf(float(value))
    return mpf(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def solve(rows: list[list[mpf]], right: list[mpf]) -> list[mpf]:
    return list(mp.lu_solve(mp.matrix(rows), mp.matrix(right)))


def errorsOf(
    coefficients: list[mpf], powers: list[int], u: list[mpf], g: list[mpf], w: list[mpf]
) -> list[mpf]:
    result = []
    for x, y, z in zip(u, g, w):
        total = mpf(0)
        for c, k in zip(coefficients, powers):
            total += c * x**k
        result.append((total - y) * z)
    return result


def alternation(errors: list[mpf], count: int) -> list[int]:
    """The largest error of each run of equal sign, at most `count` in a row."""
    extremes: list[int] = []
    for i, e in enumerate(errors):
        if extremes and (errors[extremes[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[extremes[-1]]):
                extremes[-1] = i
        else:
            extremes.append(i)
    while len(extremes) > count:
        first, last = abs(errors[extremes[0]]), abs(errors[extremes[-1]])
        extremes.pop(0 if first < last else -1)
    return extremes


def remez(
    u: list[mpf],
    g: list[mpf],
    w: list[mpf],
    powers: list[int],
    start: list[mpf] | None,
) -> tuple[list[mpf], mpf]:
    """Coefficients of u**powers that make max |sum - g| * w over the grid small,
    and that maximum. `start` is a first guess.

    A few of the powers on a symmetric interval need not have an alternating
    best approximation; the best coefficients seen are the answer then.
    """
    best = start or [mpf(0)] * len(powers)
    bestError = max(abs(e) for e in errorsOf(best, powers, u, g, w))
    count = len(powers) + 1
    points = [round(i * (len(u) - 1) / (count - 1)) for i in range(count)]
    for _ in range(60):
        rows = [
            [u[p] ** k for k in powers] + [(-1) ** i / w[p]]
            for i, p in enumerate(points)
        ]
        try:
            solution = solve(rows, [g[p] for p in points])
        except ZeroDivisionError:
            break
        errors = errorsOf(solution[:-1], powers, u, g, w)
        worst = max(abs(e) for e in errors)
        if worst < bestError:
            best, bestError = solution[:-1], worst
        points = alternation(errors, count)
        if len(points) < count or worst <= abs(solution[-1]) * (1 + mpf(10) ** -6):
            break
    return best, bestError


def fit(item: Fit) -> tuple[list[mpf], mpf, mpf]:
    """Rounded coefficients, the error before and after rounding."""
    # An even number of points misses the middle, where a weight may vanish.
    size = 40 * item.terms + 200
    middle, radius = (item.high + item.low) / 2, (item.high - item.low) / 2
    grid = [middle - radius * mp.cos(mp.pi * (i + half) / size) for i in range(size)]
    u = [item.variable(x) for x in grid]
    g = [item.target(x) for x in grid]
    w = [item.weight(x) for x in grid]
    rounded: list[mpf] = []
    free, ideal = remez(u, g, w, list(range(item.terms)), None)
    for k in range(item.terms):
        if k > 0:
            free, _ = remez(u, g, w, list(range(k, item.terms)), free[1:])
        rounded.append(roundTo(free[0], item.double))
        g = [y - rounded[k] * x**k for x, y in zip(u, g)]
    final = max(abs(y) * z for y, z in zip(g, w))
    return rounded, ideal, final


def taylorSafe(f: Function, series: Function, limit: mpf) -> Function:
    """f, but the series where f cancels."""
    return lambda x: series(x) if abs(x) < limit else f(x)


def series(coefficient: Callable[[int], mpf]) -> Function:
    """sum of coefficient(k) x**k for k < 30."""
    table = [coefficient(k) for k in range(30)]
    return lambda x: mp.polyval(table[::-1], x)


def erfInverseOfW(w: mpf) -> mpf:
    """erf_inv(x) / x where w = -log(1 - x*x)."""
    x2 = -mp.expm1(-w)
    if x2 < mpf(10) ** -12:
        return mp.sqrt(mp.pi) / 2 * (1 + mp.pi * x2 / 12)
    x = mp.sqrt(x2)
    # Solve erfc(y) = 1 - x, where 1 - x does not cancel.
    complement = mp.exp(-w) / (1 + x)
    y = mp.sqrt(w) if w > 1 else x
    for _ in range(60):
        step = (mp.erfc(y) - complement) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step / (1 - step * y)
        if abs(step) < mpf(10) ** -36:
            break
    return y / x


ln2 = mp.log(2)

expReduced = taylorSafe(
    lambda r: (mp.expm1(r) - r) / r**2,
    series(lambda k: 1 / mp.factorial(k + 2)),
    mpf(1) / 100,
)
logReduced = taylorSafe(
    lambda f: (mp.log1p(f) - f + f * f / 2) / f**3,
    series(lambda k: mpf((-1) ** k) / (k + 3)),
    mpf(1) / 100,
)
log2Reduced = taylorSafe(
    lambda f: mp.log1p(f) / f / ln2,
    series(lambda k: mpf((-1) ** k) / (k + 1) / ln2),
    mpf(1) / 100,
)


def oddReduced(f: Function, taylor: Function, limit: mpf) -> Function:
    """(f(x) - x) / x**3 with the given series near zero."""
    return taylorSafe(lambda x: (f(x) - x) / x**3, taylor, limit)


def oddSeries(f: Function) -> Function:
    """(f(x) - x) / x**3 from the Taylor series of f."""
    table = mp.taylor(f, 0, 25)
    return lambda x: mp.polyval(table[:2:-1], x)


fits = [
    Fit(
        "exp",
        "exp(r) = 1 + r + r^2 p(r), |r| <= ln(2)/2",
        -mpf("0.34675"),
        mpf("0.34675"),
        5,
        expReduced,
        lambda r: r * r / mp.exp(r),
    ),
    Fit(
        "exp2",
        "2^r = 1 + r p(r), |r| <= 1/2",
        -half,
        half,
        4,
        lambda r: mp.log(2) if r == 0 else mp.expm1(r * mp.log(2)) / r,
        lambda r: abs(r) / mp.mpf(2) ** r,
    ),
    Fit(
        "negativeExp2Fraction",
        "-2^r = -1 + r p(r), 0 <= r <= 1",
        mpf(0),
        mpf(1),
        4,
        lambda r: -mp.log(2) if r == 0 else -mp.expm1(r * mp.log(2)) / r,
        lambda r: abs(r) / mp.mpf(2) ** r,
    ),
    Fit(
        "expm1",
        "expm1(r) = r + r^2 p(r), |r| <= ln(2)/2",
        -mpf("0.34675"),
        mpf("0.34675"),
        6,
        expReduced,
        lambda r: abs(r),
    ),
    Fit(
        "log",
        "log(1+f) = f - f^2/2 + f^3 p(f), |f| <= 1/3",
        -mpf(1) / 3,
        mpf(1) / 3,
        8,
        logReduced,
        lambda f: f * f,
    ),
    Fit(
        "tanh",
        "tanh(x) = x + x^3 p(x^2), x <= 0.625",
        mpf(0),
        mpf("0.626"),
        5,
        oddReduced(mp.tanh, oddSeries(mp.tanh), mpf(1) / 50),
        lambda x: x * x,
        lambda x: x * x,
    ),
    Fit(
        "erfSmall",
        "erf(x) = x + x p(x^2), x <= 0.9275",
        mpf(0),
        mpf("0.928"),
        6,
        lambda x: mp.erf(x) / x - 1,
        lambda x: x / mp.erf(x),
        lambda x: x * x,
    ),
    Fit(
        "erfLarge",
        "erf(a) = 1 - exp(-a + a p(a)), 0.9275 <= a <= 4",
        mpf("0.927"),
        mpf("4.001"),
        6,
        lambda a: mp.log(mp.erfc(a)) / a + 1,
        lambda a: a * mp.erfc(a) / mp.erf(a),
    ),
    Fit(
        "erfc",
        "erfc(a) = exp(-a^2) p((a - 2) / (a + 2)) / (a + 2), 0.9275 <= a <= 10.1",
        mpf("0.927"),
        mpf("10.1"),
        9,
        lambda a: mp.erfc(a) * mp.exp(a * a) * (a + 2),
        lambda a: 1 / (mp.erfc(a) * mp.exp(a * a) * (a + 2)),
        lambda a: (a - 2) / (a + 2),
    ),
    Fit(
        "erfInvCentral",
        "erf_inv(x) = x p(w - 2.5), w = -log(1 - x^2) <= 5",
        mpf(0),
        mpf("5.001"),
        11,
        erfInverseOfW,
        lambda w: 1 / erfInverseOfW(w),
        lambda w: w - mpf("2.5"),
    ),
    Fit(
        "erfInvTail",
        "erf_inv(x) = x p(s - 3), s = sqrt(w), 5 <= w <= 16.64",
        mp.sqrt(mpf("4.999")),
        mpf("4.08"),
        11,
        lambda s: erfInverseOfW(s * s),
        lambda s: 1 / erfInverseOfW(s * s),
        lambda s: s - 3,
    ),
    Fit(
        "sin",
        "sin(r) = r + r^3 p(r^2), |r| <= pi/4",
        mpf(0),
        mpf("0.786"),
        4,
        oddReduced(mp.sin, oddSeries(mp.sin), mpf(1) / 50),
        lambda x: x * x * x / mp.sin(x),
        lambda x: x * x,
    ),
    Fit(
        "cos",
        "cos(r) = 1 - r^2/2 + r^4 p(r^2), |r| <= pi/4",
        mpf(0),
        mpf("0.786"),
        3,
        taylorSafe(
            lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4,
            lambda x: mp.polyval(mp.taylor(mp.cos, 0, 20)[:3:-1], x),
            mpf(1) / 50,
        ),
        lambda x: x**4 / mp.cos(x),
        lambda x: x * x,
    ),
    Fit(
        "tan",
        "tan(r) = r + r^3 p(r^2), |r| <= pi/4",
        mpf(0),
        mpf("0.786"),
        7,
        oddReduced(mp.tan, oddSeries(mp.tan), mpf(1) / 50),
        lambda x: x * x,
        lambda x: x * x,
    ),
    Fit(
        "atan",
        "atan(q) = q + q^3 p(q^2), |q| <= 1",
        mpf(0),
        mpf(1),
        9,
        oddReduced(mp.atan, oddSeries(mp.atan), mpf(1) / 50),
        lambda x: x * x,
        lambda x: x * x,
    ),
    Fit(
        "log2Double",
        "log2(1+f) = f p(f), |f| <= 1/3",
        -mpf(1) / 3,
        mpf(1) / 3,
        13,
        log2Reduced,
        lambda f: mpf(1),
        double=True,
    ),
    Fit(
        "exp2Double",
        "2^r = p(r), |r| <= 1/2",
        -mpf("0.5001"),
        mpf("0.5001"),
        7,
        lambda r: mpf(2) ** r,
        lambda r: mpf(2) ** -r,
        double=True,
    ),
]


def spelling(value: mpf, double: bool) -> str:
    text = float(value).hex()
    mantissa, exponent = text.split("p")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}" + ("" if double else "f")


def parts(value: mpf, bits: list[int], down: bool) -> list[mpf]:
    """`value` as a sum of numbers with at most so many significant bits, rounded
    to the nearest or `down`."""
    result = []
    for count in bits:
        exponent = int(mp.floor(mp.log(abs(value), 2)))
        scale = mpf(2) ** (count - 1 - exponent)
        piece = (mp.floor if down else mp.nint)(value * scale) / scale
        result.append(piece)
        value -= piece
    return result


@dataclass(frozen=True)
class Split:
    """A constant as a sum of several, the first ones with few bits."""

    name: str
    text: str
    value: mpf
    bits: list[int]
    down: bool = False


splits = [
    Split("ln2", "ln(2); the first part times an exponent is exact", ln2, [15, 24]),
    Split("halfPi", "pi/2 in two parts", mp.pi / 2, [24, 24]),
    Split(
        "halfPiDown",
        "pi/2 in three positive parts: 0 times them leaves a -0 alone",
        mp.pi / 2,
        [24, 24, 24],
        down=True,
    ),
    Split("pi", "pi in two parts", mp.pi, [24, 24]),
]


def turns() -> list[mpf]:
    """1/(2 pi) in nine pieces of 28 bits, cut at multiples of 28 bits."""
    with mp.workdps(120):
        value, result = 1 / (2 * mp.pi), []
        for k in range(1, 10):
            scale = mpf(2) ** (28 * k)
            piece = mp.floor(value * scale) / scale
            result.append(piece)
            value -= piece
        return result


def write(kind: str, name: str, values: list[mpf], double: bool) -> None:
    print(f"inline constexpr {kind} {name}[] = {{")
    for value in values:
        print(f"    {spelling(value, double)},")
    print("};")


def main() -> None:
    print(
        "//===- Coefficients.h - Polynomials of the mathematical functions "
        "--------===//\n//\n"
        "// Written by coefficients.py, not by hand. The error of a fit is its "
        "largest\n// relative error after rounding, in units of 2^-24 (f32) or "
        "2^-53 (f64).\n//\n"
        "//===-----------------------------------------------------------------"
        "-----===//\n\n"
        "#ifndef TENON_LIB_CODEGEN_LOOPS_COEFFICIENTS_H\n"
        "#define TENON_LIB_CODEGEN_LOOPS_COEFFICIENTS_H\n\n"
        "namespace tenon::codegen::coefficients {"
    )
    only = sys.argv[1:]
    for item in fits:
        if only and item.name not in only:
            continue
        values, ideal, final = fit(item)
        unit = mpf(2) ** (-53 if item.double else -24)
        kind = "double" if item.double else "float"
        print(f"\n/// {item.text}. Error {mp.nstr(final / unit, 3)}.")
        write(kind, item.name, values, item.double)
        print(
            f"{item.name}: ideal {mp.nstr(ideal / unit, 4)}, "
            f"rounded {mp.nstr(final / unit, 4)} units",
            file=sys.stderr,
        )
    for split in splits:
        print(f"\n/// {split.text}.")
        write("float", split.name, parts(split.value, split.bits, split.down), False)
    print("\n/// 1/(2 pi) in pieces of 28 bits, exact times an f32 in f64.")
    write("double", "turns", turns(), True)
    print(
        "\n} // namespace tenon::codegen::coefficients\n\n"
        "#endif // TENON_LIB_CODEGEN_LOOPS_COEFFICIENTS_H"
    )


if __name__ == "__main__":
    main()
