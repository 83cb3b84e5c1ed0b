"""Inputs on which lower precision fails if a rounding is in the wrong place: every policy stays within a stated bound.

What a function reads first comes out of a product with the identity, which is a value that is stored in 16 bits. Its elements
are numbers of bf16, so that storing it loses nothing, and what is lost is lost behind it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from conftest import HAS_BF16, IN_BF16, succeed
from safetensors.numpy import load_file, save_file

# What rounding to the narrow format of a policy changes at most, as a share of the number.
UNIT = {"f32": 0.0, "bf16": 2.0**-8, "bf16-state": 2.0**-8, "f16": 2.0**-11}
POLICIES = list(UNIT)
ROWS, WIDTH = 256, 512  # large enough that a value of these extents is worth 16 bits

ROLES = ("parameter", "optimizer_state", "optimizer_state")  # of state, in order

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Case:
    """A function of f32 arrays, and how far each element of each result may be from its value in f64."""

    function: Callable[..., tuple]
    inputs: Callable[[np.random.Generator], Arrays]
    bounds: Callable[[Arrays, Arrays, str], tuple]  # of inputs, exact results and the policy
    stored: int | None = 0  # the argument that comes out of a product; none where the function has products of its own
    state: tuple[int, ...] = ()  # arguments that the first results replace


def logsumexp(x: jax.Array) -> tuple:
    """The maximum goes out of the exponential."""
    return (jax.nn.logsumexp(x, axis=1),)


def binary_cross_entropy(logits: jax.Array, labels: jax.Array) -> tuple:
    """The loss of saturated logits, and its gradient."""

    def loss(z: jax.Array) -> jax.Array:
        return jnp.mean(jnp.maximum(z, 0) - z * labels + jnp.log1p(jnp.exp(-jnp.abs(z))))

    value, gradient = jax.value_and_grad(loss)(logits)
    return value, gradient * logits.size


def variance(x: jax.Array) -> tuple:
    """Of data whose mean is hundreds of times its deviation."""
    return (jnp.var(x, axis=1),)


def counted(ones: jax.Array) -> tuple:
    """Sums of as many ones as there are elements, and running sums: whole numbers beyond those of bf16."""
    return jnp.sum(ones), jnp.sum(ones, axis=0), jnp.cumsum(ones.reshape(16, -1), axis=1)


def masked_softmax(scores: jax.Array, mask: jax.Array) -> tuple:
    """A row of which everything is masked is even."""
    return (jax.nn.softmax(jnp.where(mask > 0, scores, jnp.finfo(jnp.float32).min), axis=1),)


def adam(parameter: jax.Array, first: jax.Array, second: jax.Array, gradient: jax.Array) -> tuple:
    """One update."""
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient * gradient
    return parameter - 1e-3 * first / (jnp.sqrt(second) + 1e-20), first, second


def duplicates(gradient: jax.Array, ids: jax.Array) -> tuple:
    """The gradient of an embedding of which few rows are read, often."""
    return (jnp.zeros((512, gradient.shape[1]), gradient.dtype).at[ids].add(gradient),)


def ties(x: jax.Array) -> tuple:
    """The largest numbers of a row, many of which are equal; the first place wins."""
    return tuple(jax.lax.top_k(x, 8))


def cancelling(x: jax.Array, w: jax.Array, v: jax.Array) -> tuple:
    """The difference of two products that are nearly the same."""
    return (x @ w - x @ v,)


def rows_apart(x: jax.Array, w: jax.Array) -> tuple:
    """Rows that are not finite stay so and leave the others alone."""
    return (jnp.maximum(x @ w, 0) + jnp.sum(x, axis=1, keepdims=True),)


def subnormal(x: jax.Array, w: jax.Array) -> tuple:
    """Numbers that may count as zero."""
    return x * 0.5, jnp.tanh(x) @ w


def normal(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Of f32."""
    return random.normal(size=shape).astype(np.float32)


def exact_in_bf16(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of bf16, in f32."""
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def large_logits(random: np.random.Generator) -> Arrays:
    """Rows of ten thousand, minus ten thousand, and both."""
    rows = np.array([1e4, -1e4, 0.0, 1e4], np.float32)[np.arange(ROWS) % 4]
    x = normal(random, ROWS, WIDTH) + rows[:, None]
    x[3::4, ::2] -= 2e4
    return (exact_in_bf16(x),)


def saturated(random: np.random.Generator) -> Arrays:
    """Logits for which the sigmoid is 0 or 1 in f32, with labels that agree or not."""
    logits = random.choice(np.array([0, 1, -1, 20, -20, 88, -88, 1e4, -1e4], np.float32), (ROWS, WIDTH))
    return exact_in_bf16(logits), random.integers(0, 2, (ROWS, WIDTH)).astype(np.float32)


def masked(random: np.random.Generator) -> Arrays:
    """One row in four is masked everywhere."""
    mask = random.integers(0, 2, (ROWS, WIDTH)).astype(np.float32)
    mask[::4] = 0
    return exact_in_bf16(30 * normal(random, ROWS, WIDTH)), mask


def gradients(random: np.random.Generator) -> Arrays:
    """From 2^-40 to 2^10."""
    gradient = np.exp2(random.uniform(-40, 10, (ROWS, WIDTH))) * random.choice([-1, 1], (ROWS, WIDTH))
    zeros = np.zeros((ROWS, WIDTH), np.float32)
    return normal(random, ROWS, WIDTH), zeros, zeros, exact_in_bf16(gradient)


def adam_bounds(inputs: Arrays, exact: Arrays, policy: str) -> tuple:
    """What is held in bf16 is one of the two numbers around it, before the step and behind it."""
    held = 2 * UNIT[policy] if policy == "bf16-state" else 0
    parameter = held * (np.abs(inputs[0]) + np.abs(exact[0])) + np.abs(exact[0]) * 2.0**-22 + 1e-3 * 2.0**-16
    return parameter, np.abs(exact[1]) * (2.0**-20 + held), np.abs(exact[2]) * (2.0**-20 + held)


def nearly_equal(random: np.random.Generator) -> Arrays:
    """Two matrices that differ in their last digits in bf16."""
    w = normal(random, WIDTH, 512)
    return normal(random, ROWS, WIDTH), w, w + np.float32(2.0**-6) * normal(random, WIDTH, 512)


def not_finite(random: np.random.Generator) -> Arrays:
    """Rows with NaN and with either infinity, where the weights are positive."""
    x, w = normal(random, ROWS, WIDTH), np.abs(normal(random, WIDTH, 128))
    x[3, 7], x[100, 1], x[101, 2], x[102, :2] = np.nan, np.inf, -np.inf, (np.inf, -np.inf)
    return x, w


def small(random: np.random.Generator) -> Arrays:
    """Around the smallest normal number, beside ordinary ones."""
    x = np.exp2(random.uniform(-135, -120, (ROWS, WIDTH))).astype(np.float32)
    x[:, ::3] = normal(random, ROWS, WIDTH)[:, ::3]
    return x, normal(random, WIDTH, 128)


def product_bound(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Both operands and the result are rounded."""
    return np.abs(x.astype(np.float64)) @ np.abs(w.astype(np.float64))


CASES = {
    "logsumexp at 10,000": Case(logsumexp, large_logits, lambda _, exact, policy: (UNIT[policy] + np.abs(exact[0]) * 2.0**-22 + 2.0**-18,)),
    "saturated logits": Case(
        binary_cross_entropy,
        saturated,
        lambda _, exact, policy: (exact[0] * (UNIT[policy] + 2.0**-20), np.full_like(exact[1], UNIT[policy] + 2.0**-20)),
    ),
    "variance of a large mean": Case(
        variance,
        lambda random: (exact_in_bf16(1000 + 4 * normal(random, ROWS, WIDTH)),),
        lambda _, exact, policy: (exact[0] * (2.5 * UNIT[policy] + 2.0**-18),),
    ),
    "a million ones": Case(
        counted, lambda _: (np.ones((1024, 1024), np.float32),), lambda _, exact, __: tuple(np.zeros_like(x) for x in exact)
    ),
    "rows that are masked": Case(masked_softmax, masked, lambda _, exact, policy: (exact[0] * (2 * UNIT[policy] + 2.0**-16) + 2.0**-120,)),
    "gradients of all sizes": Case(adam, gradients, adam_bounds, stored=3, state=(0, 1, 2)),
    "duplicate rows": Case(
        duplicates,
        lambda random: (np.ones((16384, 64), np.float32), np.minimum(random.integers(0, 5000, 16384), 3).astype(np.int32)),
        lambda _, exact, __: (np.zeros_like(exact[0]),),
    ),
    "ties": Case(
        ties,
        lambda random: ((1 + random.integers(0, 16, (ROWS, WIDTH)) * 2.0**-7).astype(np.float32),),
        lambda _, exact, __: (np.zeros_like(exact[0]), np.zeros_like(exact[1])),
    ),
    "cancelling products": Case(
        cancelling,
        nearly_equal,
        lambda inputs, _, policy: (
            (3 * UNIT[policy] + 2.0**-18) * (product_bound(inputs[0], inputs[1]) + product_bound(inputs[0], inputs[2])),
        ),
        stored=None,
    ),
    "rows that are not finite": Case(
        rows_apart,
        not_finite,
        lambda inputs, _, policy: (
            (3 * UNIT[policy] + 2.0**-18) * (product_bound(np.nan_to_num(inputs[0], nan=0, posinf=0, neginf=0), inputs[1]) + 2.0**10),
        ),
        stored=None,
    ),
    "subnormal numbers": Case(
        subnormal,
        small,
        lambda inputs, exact, policy: (
            np.abs(exact[0]) * 2.0**-22 + 2.0**-125,
            (3 * UNIT[policy] + 2.0**-18) * product_bound(np.tanh(inputs[0]), inputs[1]),
        ),
        stored=None,
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", CASES)
def test_within_bounds(name: str, policy: str, tmp_path: Path) -> None:
    """Each element of the compiled step is as near to f64 as the case says, and is not finite where that is not."""
    case = CASES[name]
    inputs = case.inputs(np.random.default_rng(len(name)))
    with jax.enable_x64(True):
        wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in map(np.asarray, inputs)]
        exact = tuple(np.asarray(x, np.float64) for x in case.function(*wide))
    values = run_once(case, inputs, policy, tmp_path)
    for found, true, bound in zip(values, exact, case.bounds(inputs, exact, policy), strict=True):
        assert np.array_equal(np.isnan(found), np.isnan(true))
        infinite = np.isinf(true)
        assert np.array_equal(found[infinite], true[infinite])
        finite = np.isfinite(true)
        error = np.abs(np.where(finite, found, 0.0) - np.where(finite, true, 0.0))
        assert np.isfinite(error).all() and (error <= np.where(finite, bound, np.inf)).all(), np.nanmax(error - bound)


def run_once(case: Case, inputs: Arrays, policy: str, scratch: Path, steps: int = 1) -> tuple:
    """The results of the compiled step."""
    names = ("step.mlir", "roles.json", "report.json", "step.tenon", "in.safetensors", "out.safetensors")
    text, roles, report, program, given, made = (scratch / name for name in names)
    function = case.function
    if case.stored is not None:
        inputs = (*inputs, np.eye(inputs[case.stored].shape[1], dtype=np.float32))

        def function(*arguments: jax.Array) -> tuple:
            *rest, identity = arguments
            rest[case.stored] = rest[case.stored] @ identity
            return case.function(*rest)

    text.write_text(jax.jit(function, donate_argnums=case.state, keep_unused=True).lower(*inputs).as_text())
    roles.write_text(json.dumps({f"arg{i}": {"role": ROLES[i], "result": k} for k, i in enumerate(case.state)}))
    succeed("compile", text, *IN_BF16, f"--precision={policy}", f"--roles={roles}", "--report", report, "-o", program)
    if policy != "f32":
        lowered = next(stage for stage in json.loads(report.read_text())["stages"] if stage["stage"] == "precision")
        # In f16 nothing of this is quicker on processors: what stays of the policy is that losses are scaled and steps skipped.
        assert lowered["narrow_values"] + lowered["narrow_products"] > 0 or policy == "f16" or not HAS_BF16
        assert len(lowered["held_in_bf16"]) == (len(case.state) if policy == "bf16-state" else 0)
    save_file({f"arg{i}": np.asarray(x) for i, x in enumerate(inputs)}, given)
    succeed("run", program, "--inputs", given, "--outputs", made, "--steps", steps)
    results = load_file(made)
    return tuple(results[f"result{i}"].astype(np.float64) for i in range(len(results)))


@pytest.mark.parametrize("policy", POLICIES)
def test_tiny_updates(policy: str, tmp_path: Path) -> None:
    """256 updates of a sixteenth of bf16's spacing each move a parameter as far as in f32: exactly, or on average."""
    steps, update = 256, 2.0**-12
    ones = np.ones((ROWS, WIDTH), np.float32)
    # The update comes out of a product, too: what is stored narrow is the update, and not the sum.
    case = Case(lambda w, u: (w - u,), lambda _: (ones, update * ones), lambda *_: (), stored=1, state=(0,))
    (found,) = run_once(case, case.inputs(np.random.default_rng(0)), policy, tmp_path, steps)
    expected = 1 - steps * update
    if policy == "bf16-state":
        # A rounding is off by at most 2^-8, with half of that as standard deviation at most.
        deviation = 2.0**-9 * np.sqrt(steps)
        assert abs(found.mean() - expected) < 4 * deviation / np.sqrt(found.size)
        assert 0 < found.std() < deviation
    else:
        assert (found == expected).all()
