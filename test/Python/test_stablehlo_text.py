"""The text of the stablehlo dialect against the parser and printer in jaxlib.

What JAX writes, tenon-opt reads; what tenon-opt writes, jaxlib reads, and both
mean the same module: jaxlib's generic form of the original and of Tenon's text
are compared, so that spacing and printing order do not matter. The texts are
JAX functions that between them use the operations which JAX emits, and the
round-trip tests of the dialect for the rest.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.interpreters import mlir as jax_mlir
from jax.sharding import AbstractMesh, PartitionSpec
from jaxlib.mlir import ir

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TENON_BUILD", REPOSITORY / "build" / "dev"))
TENON_OPT = BUILD / "bin" / "tenon-opt"
TEXTS = REPOSITORY / "test" / "Dialect" / "StableHLO"

# The round-trip tests of the dialect in words that this jaxlib knows. Left out:
# layouts (jaxlib aborts on dimension numbers that are no permutation), newest
# (newer than this jaxlib), quantized (jaxlib does not register that dialect).
ROUND_TRIPS = [
    "collective", "contraction", "control", "elementwise", "generic-attributes", "indexing",
    "math", "mesh", "reduction", "shape",
]  # fmt: skip


def tenon(text: str, *flags: str) -> str:
    """Returns what tenon-opt prints for a module."""
    command = [str(TENON_OPT), "--allow-unregistered-dialect", *flags]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[:2000]
    return run.stdout


def jaxlib_generic(text: str) -> str:
    """Returns the generic form jaxlib prints for a module."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        return module.operation.get_asm(print_generic_op_form=True)


def check_text(text: str) -> None:
    """Sends a module both ways in both forms."""
    expected = jaxlib_generic(text)
    printed = tenon(text)
    assert jaxlib_generic(printed) == expected
    assert jaxlib_generic(tenon(text, "--mlir-print-op-generic")) == expected
    assert tenon(printed) == printed
    assert tenon(expected) == printed


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def arithmetic(x: jax.Array, n: jax.Array) -> list[jax.Array]:
    z = lax.complex(x, x)
    return [
        lax.abs(z), lax.real(z), lax.imag(z), lax.conj(z), lax.sign(x), lax.rem(n, n + 3),
        lax.nextafter(x, x), lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), jnp.round(x),
        lax.floor(x), lax.ceil(x), lax.is_finite(x), lax.clamp(0.0, x, 1.0), lax.pow(x, x),
        lax.integer_pow(x, 3), lax.atan2(x, x), lax.max(x, -x), lax.min(x, -x), ~n, n << 2,
        lax.shift_right_arithmetic(n, n), lax.shift_right_logical(n, n), n & 3, n | 5, n ^ 7,
        lax.population_count(n), lax.clz(n), x != 2 * x, lax.select(x > 0, x, -x),
    ]  # fmt: skip


def functions(x: jax.Array) -> list[jax.Array]:
    accurate = lax.exp(x, accuracy=lax.Tolerance(atol=1e-5, rtol=0.0, ulps=2))
    highest = lax.tanh(x, accuracy=lax.AccuracyMode.HIGHEST)
    return [
        accurate, highest, lax.cbrt(x), lax.cos(x), lax.sin(x), lax.tan(x), lax.exp(x),
        lax.expm1(x), lax.log(x), lax.log1p(x), lax.logistic(x), lax.rsqrt(x), lax.sqrt(x),
        lax.tanh(x), lax.erf(x), lax.erf_inv(x), lax.lgamma(x), lax.digamma(x), jnp.sinh(x),
    ]  # fmt: skip


def conversions(x: jax.Array, n: jax.Array) -> list[jax.Array]:
    return [
        x.astype(jnp.bfloat16), x.astype(jnp.float8_e4m3fn), x.astype(jnp.int8), n > 0,
        n.astype(jnp.uint8), n.astype(jnp.int4), lax.bitcast_convert_type(x, jnp.uint32),
        lax.bitcast_convert_type(n, jnp.uint8), lax.reduce_precision(x, 5, 10),
    ]  # fmt: skip


def arrangements(x: jax.Array, n: jax.Array) -> list[jax.Array]:
    start = n[0, 0]
    return [
        x.T, x.reshape(-1), x[:, 1:5:2], x[::-1], lax.rev(x, (0, 1)), jnp.concatenate([x, x], 1),
        lax.pad(x, 0.0, [(1, -1, 2), (0, 3, 0)]), jnp.broadcast_to(x[:, None], (4, 3, 6)),
        lax.broadcasted_iota(jnp.int32, (3, 4), 1), lax.dynamic_slice(x, (start, start), (2, 3)),
        lax.dynamic_update_slice(x, x[:2, :2], (start, start)), lax.expand_dims(x, (0,)),
        lax.full((2, 3), jnp.nan), jnp.array([1.5, -0.0, jnp.inf]), jnp.array([True, False]),
    ]  # fmt: skip


def indexed(x: jax.Array, n: jax.Array) -> list[jax.Array]:
    row = n[:, 0]
    return [
        x[row], jnp.take_along_axis(x, n, 1), x.at[row].add(1.0), x.at[row, row].set(2.0),
        x.at[row].max(x), x.at[row].mul(x, unique_indices=True, indices_are_sorted=True),
        jax.grad(lambda v: jnp.take_along_axis(v, n, 1).sum())(x),
        x.at[row].get(mode="fill", fill_value=0.0),
    ]  # fmt: skip


def reductions(x: jax.Array, n: jax.Array) -> list[jax.Array]:
    pair = lax.reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,))
    return [
        *pair, x.sum(0), x.max(), x.min(1), x.prod(), x.argmax(1), (x > 0).any(), (n > 0).all(),
        jnp.sort(x, 1), jnp.argsort(x, 1), *lax.sort((x, n), num_keys=1), jnp.cumsum(x, 0),
        lax.top_k(x, 2)[1], lax.reduce_xor(n, (0,)), jax.nn.logsumexp(x, 1), jnp.median(x),
    ]  # fmt: skip


def products(x: jax.Array, y: jax.Array) -> list[jax.Array]:
    half = x.astype(jnp.bfloat16), y.astype(jnp.bfloat16)
    return [
        x @ y, jnp.einsum("ij,jk->ki", x, y, precision="highest"),
        jnp.einsum("bij,bjk->bik", x[None], y[None]), jnp.tensordot(x, x, 2),
        lax.dot(*half, preferred_element_type=jnp.float32),
        lax.dot(x, y, precision=lax.DotAlgorithmPreset.BF16_BF16_F32_X3),
        lax.dot(x, y, precision=(lax.Precision.HIGH, lax.Precision.DEFAULT)),
        jnp.outer(x[0], x[1]),
    ]  # fmt: skip


def convolutions(x: jax.Array, k: jax.Array) -> list[jax.Array]:
    def loss(x: jax.Array, k: jax.Array) -> jax.Array:
        y = lax.conv_general_dilated(
            x, k, (2, 1), [(1, 1), (0, 2)], dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        return lax.reduce_window(y, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID").sum()

    depthwise = lax.conv_general_dilated(
        x, k.reshape(3, 3, 1, -1), (1, 1), "SAME", feature_group_count=4,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip
    return [*jax.grad(loss, (0, 1))(x, k), depthwise]


def control(x: jax.Array, n: jax.Array) -> list[jax.Array]:
    def step(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.tanh(carry + row), carry

    @jax.checkpoint
    def block(x: jax.Array) -> jax.Array:
        return jnp.sin(jnp.sin(x))

    count = n[0, 0]
    return [
        lax.scan(step, x[0], x)[1], lax.fori_loop(0, count, lambda i, v: v * i, x),
        lax.while_loop(lambda v: v.sum() < 9.0, lambda v: v + 1.0, x),
        lax.cond(count > 0, jnp.sin, jnp.cos, x), lax.switch(count, [jnp.sin, jnp.cos, jnp.tan], x),
        jax.grad(lambda v: block(v).sum())(x), lax.optimization_barrier((x, n))[0],
        jax.grad(lambda v: lax.scan(step, v[0], v)[1].sum())(x),
    ]  # fmt: skip


def random(seed: jax.Array) -> list[jax.Array]:
    threefry, bits = jax.random.key(seed), jax.random.key(seed, impl="rbg")
    draws = [jax.random.normal(key, (4, 3)) for key in (threefry, bits)]
    generated = lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (5,))
    return [
        *draws,
        *generated,
        jax.random.permutation(threefry, 7),
        lax.rng_uniform(0.0, 1.0, (3,)),
    ]


def algebra(x: jax.Array) -> list[jax.Array]:
    square = x @ x.T
    return [
        jnp.linalg.cholesky(square), lax.linalg.triangular_solve(square, x, left_side=True),
        jnp.fft.fft(x), jnp.fft.irfft(x), *jnp.linalg.qr(x),
    ]  # fmt: skip


FUNCTIONS: list[tuple[Callable[..., object], tuple[jax.ShapeDtypeStruct, ...]]] = [
    (arithmetic, (f32(4, 6), i32(4, 6))),
    (functions, (f32(4, 6),)),
    (conversions, (f32(4, 6), i32(4, 6))),
    (arrangements, (f32(4, 6), i32(4, 6))),
    (indexed, (f32(4, 6), i32(4, 6))),
    (reductions, (f32(4, 6), i32(4, 6))),
    (products, (f32(4, 6), f32(6, 5))),
    (convolutions, (f32(2, 8, 8, 4), f32(3, 3, 4, 8))),
    (control, (f32(4, 6), i32(4, 6))),
    (random, (i32(),)),
    (algebra, (f32(4, 6),)),
]


@pytest.mark.parametrize(
    ("function", "arguments"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", "")
)
def test_jax_function(
    function: Callable[..., object], arguments: tuple[jax.ShapeDtypeStruct, ...]
) -> None:
    check_text(jax.jit(function).lower(*arguments).as_text())


def test_jax_donation_and_locations() -> None:
    step = jax.jit(lambda state, x: (state + x, state.sum()), donate_argnums=0)
    lowered = step.lower(f32(4), f32(4))
    check_text(lowered.as_text())
    located = lowered.as_text(debug_info=True)
    assert "loc(" in located
    printed = tenon(located, "--mlir-print-debuginfo")
    assert tenon(printed, "--mlir-print-debuginfo") == printed
    check_text(located)


def test_jax_collectives() -> None:
    mesh = AbstractMesh((4, 2), ("data", "model"))

    def local(x: jax.Array) -> list[jax.Array]:
        return [
            lax.psum(x, "data"), lax.pmax(x, ("data", "model")), lax.all_gather(x, "data"),
            lax.psum_scatter(x, "data", tiled=True), lax.axis_index("model").reshape(1),
            lax.all_to_all(x, "data", 0, 1, tiled=True),
            lax.ppermute(x, "data", [(i, (i + 1) % 4) for i in range(4)]),
        ]  # fmt: skip

    spec = PartitionSpec("data")
    mapped = jax.shard_map(local, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    text = jax.jit(mapped).trace(f32(32, 4)).lower(lowering_platforms=("cpu",)).as_text()
    for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute"):
        assert f"stablehlo.{name}" in text
    check_text(text)


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_dialect_tests(name: str) -> None:
    check_text(tenon((TEXTS / f"{name}.mlir").read_text()))


# What Tenon's dialects have and this jaxlib has not.
NEWER_OPERATIONS = {"stablehlo.collective_reduce"}


def covered_operations() -> set[str]:
    """The operations of the round-trip texts: here, in test_dialect_text.py and, for what jaxlib cannot read, by lit."""
    files = [TEXTS / f"{name}.mlir" for name in [*ROUND_TRIPS, "newest", "quantized"]]
    files += [TEXTS.parent / dialect / "roundtrip.mlir" for dialect in ("CHLO", "Shardy")]
    generic = "".join(tenon(path.read_text(), "--mlir-print-op-generic") for path in files)
    return set(re.findall(r'"((?:stablehlo|chlo|sdy)\.[\w-]+)"\(', generic))


def operations_of(module: object) -> set[str]:
    """The names of the operations in one of jaxlib's generated files."""
    classes = (getattr(module, name) for name in dir(module))
    return {found.OPERATION_NAME for found in classes if hasattr(found, "OPERATION_NAME")}


@pytest.mark.parametrize(("dialect", "page"), [("stablehlo", "StableHLO"), ("chlo", "CHLO"), ("sdy", "Shardy")])
def test_every_operation_is_covered(dialect: str, page: str) -> None:
    """No operation that jaxlib or Tenon knows is left out, and what jaxlib does not know is listed."""
    generated = importlib.import_module(f"jaxlib.mlir.dialects._{dialect}_ops_gen")
    theirs = operations_of(generated)
    text = (REPOSITORY / "docs" / "Reference" / f"{page}.md").read_text()
    ours = set(re.findall(rf"^### `({dialect}\.[\w-]+)`", text, re.MULTILINE))
    assert len(theirs) > 10
    assert theirs - ours == set(), "jaxlib knows them, Tenon does not"
    newer = {name for name in NEWER_OPERATIONS if name.startswith(dialect)}
    assert ours - theirs == newer
    # These only end regions or stand for nothing of their own.
    assert ours - covered_operations() <= {"stablehlo.return", "sdy.return"}


def older_spelling(text: str) -> str:
    """Inherent attributes of operations without regions as older dumps have them: {...}, not <{...}>."""
    return re.sub(r"<\{(.*)\}>( : \()", r"{\1}\2", text)


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_both_spellings_of_attributes(name: str) -> None:
    """Attributes may stand in either place of the generic form, here and there."""
    generic = tenon((TEXTS / f"{name}.mlir").read_text(), "--mlir-print-op-generic")
    older = older_spelling(generic)
    assert older != generic or "<{" not in generic
    assert tenon(older, "--mlir-print-op-generic") == generic
    assert jaxlib_generic(older) == jaxlib_generic(generic)


def test_unknown_attributes_survive() -> None:
    """Attributes of dialects that nobody has defined stay on whatever has them."""
    text = """
    module attributes {mhlo.num_partitions = 1 : i32, jax.own = "a", tf.own = [1, 2]} {
      func.func @main(%x: tensor<2xf32> {jax.own = "b", mhlo.sharding = "{replicated}", tf.aliasing_output = 0 : i32})
          -> (tensor<2xf32> {jax.result_info = "r", mhlo.own, tf.own = 1.0 : f32}) attributes {mhlo.own = @main, tf.own} {
        %0 = stablehlo.add %x, %x {jax.own, mhlo.frontend_attributes = {k = "v"}, tf.own = dense<1> : tensor<2xi8>} : tensor<2xf32>
        %1 = stablehlo.custom_call @own(%0) {mhlo.backend_config = {a = 1 : ui8}, tf.own = i32} : (tensor<2xf32>) -> tensor<2xf32>
        return %1 : tensor<2xf32>
      }
    }
    """
    printed = tenon(text)
    for attribute in re.findall(r"\b(?:jax|mhlo|tf)\.\w+(?: = (?:\"[^\"]*\"|[\w.@\[]+))?", text):
        assert printed.count(attribute) >= text.count(attribute), attribute
    check_text(text)


def test_large_boolean_constants_are_recoded() -> None:
    """JAX writes them in a packing that this MLIR's parser does not read; the tools recode them first."""
    mask = np.arange(400) % 3 == 0
    text = jax.jit(lambda x: jnp.where(mask, x, 0.0)).lower(f32(400)).as_text()
    assert 'dense<"0x' in text
    run = subprocess.run([str(TENON_OPT), "--bound-text=false"], input=text, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "hex" in run.stderr
    run = subprocess.run([str(TENON_OPT)], input=text, capture_output=True, text=True, check=False)
    assert run.returncode == 0
    packed = np.packbits(mask, bitorder="little").tobytes().hex().upper()
    assert f'dense<"0x{packed}"> : tensor<400xi1>' in run.stdout
