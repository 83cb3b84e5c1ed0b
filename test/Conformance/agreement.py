"""When two implementations of a program agree.

Integers and booleans have to be equal. Of floating-point results, elements have to be close: within a
multiple of the type's unit roundoff of the expected element, or, because sums that cancel are only as
exact as their terms, within the same multiple of the tensor's largest expected element. NaN equals NaN,
infinities equal themselves. The multiples are in MULTIPLES; what is not named there has DEFAULT.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

# Units of roundoff that separate two good implementations of element-wise functions and short sums.
DEFAULT = 16.0

# By group of programs. Their formulas lose digits on the way, in JAX's code as in ours:
# continued fractions and series (igamma, igammac, beta, polygamma), iterations (the decompositions),
# products of many factors and powers by repeated multiplication (the running and the whole products).
MULTIPLES = {
    "igamma": 4096.0,
    "igammac": 4096.0,
    "regularized_incomplete_beta": 4096.0,
    "digamma": 64.0,
    "lgamma": 64.0,
    "random_gamma": 512.0,
    "eig": 2048.0,
    "eigh": 2048.0,
    "svd": 2048.0,
    "qr": 512.0,
    "lu": 512.0,
    "cholesky": 512.0,
    "triangular_solve": 512.0,
    "tridiagonal_solve": 512.0,
    "custom_linear_solve": 2048.0,
    "fft": 64.0,
    "conv_general_dilated": 64.0,
    "dot_general": 64.0,
    "cumprod": 64.0,
    "reduce_window_mul": 64.0,
    "reduce_prod": 64.0,
    "scatter_mul": 64.0,
    "integer_pow": 64.0,
}


def roundoff(dtype: np.dtype) -> float:
    """Half the distance from one to the next number of a type; of a complex type, of its parts."""
    if np.issubdtype(dtype, np.complexfloating):
        dtype = np.empty(0, dtype).real.dtype
    return float(ml_dtypes.finfo(dtype).eps) / 2


def is_inexact(dtype: np.dtype) -> bool:
    """Whether a type rounds."""
    return np.issubdtype(dtype, np.inexact) or dtype.kind == "V" or dtype.name.startswith(("bfloat", "float"))


def wide(values: np.ndarray) -> np.ndarray:
    """The same numbers with room for differences."""
    return values.astype(np.complex128 if np.issubdtype(values.dtype, np.complexfloating) else np.float64)


def difference(group: str, found: np.ndarray, expected: np.ndarray) -> str:
    """What separates a result from what it should be; empty if they agree."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"found {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if not is_inexact(expected.dtype):
        different = found != expected
        bound: object = 0
    else:
        x, y = wide(found), wide(expected)
        finite = np.isfinite(y)
        scale = np.abs(y[finite]).max(initial=0.0)
        allowed = MULTIPLES.get(group, DEFAULT) * roundoff(expected.dtype)
        tiny = float(ml_dtypes.finfo(expected.dtype).tiny) if not np.iscomplexobj(expected) else 2.0**-126
        with np.errstate(invalid="ignore", over="ignore"):
            close = np.abs(x - y) <= allowed * np.maximum(scale, tiny)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        different = ~(same | (close & finite))
        bound = allowed
    if not np.any(different):
        return ""
    index = tuple(int(i) for i in np.argwhere(different)[0])
    return (
        f"{int(np.sum(different))} of {different.size} elements, first at {list(index)}: "
        f"found {found[index]!s}, expected {expected[index]!s}, allowed {bound:.2g} of the largest"
        if is_inexact(expected.dtype)
        else f"{int(np.sum(different))} of {different.size} elements, first at {list(index)}: "
        f"found {found[index]!s}, expected {expected[index]!s}"
    )
