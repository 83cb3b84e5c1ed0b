"""The text of the chlo and sdy dialects against the parser and printer in jaxlib.

As in `test_stablehlo_text.py`: what JAX writes, tenon-opt reads; what tenon-opt
writes, jaxlib reads, and both mean the same module.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from test_stablehlo_text import check_text, f32, i32, tenon

TESTS = Path(__file__).resolve().parents[1] / "Dialect"


def special_functions(x: jax.Array) -> list[jax.Array]:
    z = lax.complex(x, x)
    return [
        lax.acos(x), lax.acosh(x), lax.asin(x), lax.asinh(x), lax.atan(x), lax.atanh(x),
        lax.asin(z), lax.acosh(z), lax.bessel_i1e(x), lax.conj(z), lax.cosh(x), lax.sinh(x),
        lax.digamma(x), lax.lgamma(x), lax.erf(x), lax.erfc(x), lax.erf_inv(x), lax.square(x),
        lax.nextafter(x, x), lax.polygamma(x, x), lax.zeta(x, x), *lax.top_k(x, 3),
    ]  # fmt: skip


def upper_halves(n: jax.Array) -> jax.Array:
    return lax.mulhi(n, n)


def ragged(x: jax.Array, w: jax.Array, sizes: jax.Array) -> jax.Array:
    return lax.ragged_dot(x, w, sizes)


def tpu_text(function: Callable[..., object], *arguments: jax.ShapeDtypeStruct) -> str:
    """The text for a platform on which JAX leaves these functions whole."""
    return (
        jax.jit(function).trace(*arguments).lower(lowering_platforms=("tpu",)).as_text()
    )


def test_special_functions() -> None:
    text = tpu_text(special_functions, f32(4, 6))
    assert len(set(re.findall(r"chlo\.\w+", text))) > 15
    check_text(text)


def test_upper_halves() -> None:
    text = tpu_text(upper_halves, i32(4))
    assert "chlo.mulhi" in text
    check_text(text)


def test_ragged_dot() -> None:
    text = tpu_text(ragged, f32(6, 4), f32(2, 4, 5), i32(2))
    assert "chlo.ragged_dot" in text
    check_text(text)


def test_ragged_dot_gradient() -> None:
    def loss(x: jax.Array, w: jax.Array, sizes: jax.Array) -> jax.Array:
        return ragged(x, w, sizes).sum()

    text = tpu_text(jax.grad(loss, (0, 1)), f32(6, 4), f32(2, 4, 5), i32(2))
    assert text.count("chlo.ragged_dot") >= 2
    check_text(text)


MESH = AbstractMesh((4, 2), ("data", "model"))


def on_mesh(function: Callable[..., object], *arguments: jax.ShapeDtypeStruct) -> str:
    return (
        jax.jit(function).trace(*arguments).lower(lowering_platforms=("cpu",)).as_text()
    )


def split(shape: tuple[int, ...], *axes: str | None) -> jax.ShapeDtypeStruct:
    sharding = NamedSharding(MESH, PartitionSpec(*axes))
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)


def test_shardings_and_constraints() -> None:
    def step(w: jax.Array, x: jax.Array) -> jax.Array:
        h = lax.with_sharding_constraint(
            x @ w, NamedSharding(MESH, PartitionSpec("data"))
        )
        return jnp.tanh(h)

    text = on_mesh(step, split((8, 4), None, "model"), split((16, 8), "data", None))
    assert "sdy.sharding_constraint" in text
    assert "sdy.mesh" in text
    check_text(text)


def test_manual_computation() -> None:
    def local(w: jax.Array, x: jax.Array) -> jax.Array:
        return lax.psum(x @ w, "model")

    mapped = jax.shard_map(
        local, mesh=MESH, check_vma=False,
        in_specs=(PartitionSpec("model", None), PartitionSpec("data", "model")),
        out_specs=PartitionSpec("data", None),
    )  # fmt: skip
    text = on_mesh(mapped, f32(8, 4), f32(16, 8))
    assert "sdy.manual_computation" in text
    check_text(text)


# Words that are newer than the pinned jaxlib: the kind of a reduction, a stable
# top-k, dimensions without factors, steps of propagation without entries.
NEWER = [
    (r"(unreduced=)max", r"\1"),
    (r"(sdy\.all_reduce) max", r"\1"),
    (r"(sdy\.reduce_scatter) min", r"\1"),
    (r", is_stable = true", ""),
    (r", reduction_op = \d : i32", ""),
]
# Lines with attributes that jaxlib reads only in places where these do not stand.
UNREADABLE = re.compile(r"\*\]|propagation_edges|@alone|^ +[a-j] = #sdy")


@pytest.mark.parametrize("dialect", ["CHLO", "Shardy"])
def test_round_trips(dialect: str) -> None:
    text = (TESTS / dialect / "roundtrip.mlir").read_text()
    code = [
        line
        for line in text.splitlines()
        if "CHECK" not in line and "GENERIC" not in line
    ]
    kept = "\n".join(line for line in code if not UNREADABLE.search(line))
    for pattern, replacement in NEWER:
        kept = re.sub(pattern, replacement, kept)
    check_text(tenon(kept))
