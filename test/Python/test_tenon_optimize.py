"""tenon.jax.optimize: a planned step in place of the original under jax.jit, with the same numbers and the same donation."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("TENON_BUILD", str(ROOT / "build/dev"))

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tenon
import tenon.jax

LAYERS, ROWS, WIDTH, HIDDEN = 6, 256, 64, 256


def step(state: dict, x: Any, y: Any) -> tuple[dict, Any]:
    """Gradient descent on a residual network; 'tag' is only handed on and 'key' is a random key."""

    def loss_of(weights: list) -> Any:
        h = x
        for first, second in weights:
            h = h + jax.nn.gelu(h @ first) @ second
        return jnp.mean((h - y) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(state["weights"])
    weights = jax.tree.map(lambda w, g: w - 0.1 * g, state["weights"], gradients)
    return {"weights": weights, "key": jax.random.split(state["key"])[0], "tag": state["tag"]}, loss


def start() -> dict:
    """A start state with reproducible values."""
    random = np.random.default_rng(3)
    weights = [
        (
            jnp.asarray(random.normal(size=(WIDTH, HIDDEN)) * 0.05, jnp.float32),
            jnp.asarray(random.normal(size=(HIDDEN, WIDTH)) * 0.05, jnp.float32),
        )
        for _ in range(LAYERS)
    ]
    return {"weights": weights, "key": jax.random.key(5), "tag": jnp.arange(3.0)}


def batch() -> tuple[Any, Any]:
    """Inputs and targets."""
    random = np.random.default_rng(4)
    return tuple(jnp.asarray(random.normal(size=(ROWS, WIDTH)), jnp.float32) for _ in range(2))


def states(function: Any) -> tuple[list[np.ndarray], list[float], Any]:
    """The leaves after three steps, the losses, and the first state, which was donated."""
    first = state = start()
    losses = []
    for _ in range(3):
        state, loss = function(state, *batch())
        losses.append(float(loss))
    state["key"] = jax.random.key_data(state["key"])
    return [np.asarray(leaf) for leaf in jax.tree.leaves(state)], losses, first


@pytest.fixture(scope="module")
def original() -> tuple[list[np.ndarray], list[float], Any]:
    """What JAX computes."""
    return states(jax.jit(step, donate_argnums=0))


def temporaries() -> tuple[int, int]:
    """XLA's temporaries for the original, and what else it needs."""
    memory = jax.jit(step, donate_argnums=0, keep_unused=True).lower(start(), *batch()).compile().memory_analysis()
    return memory.temp_size_in_bytes, memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes


def test_without_a_budget(original: Any) -> None:
    """Equal bits, and the donated state is gone."""
    optimized = tenon.jax.optimize(step, start(), *batch())
    leaves, losses, first = states(jax.jit(optimized, donate_argnums=0))
    assert losses == original[1]
    assert [leaf.tobytes() for leaf in leaves] == [leaf.tobytes() for leaf in original[0]]
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(first["weights"]))


def test_under_a_budget(original: Any, capsys: pytest.CaptureFixture) -> None:
    """XLA needs less, the numbers are those of the original, and predicted and actual bytes are printed."""
    before, rest = temporaries()
    optimized = tenon.jax.optimize(step, start(), *batch(), memory_budget=rest + before * 6 // 10)
    assert "dynamic_update_slice" in optimized.text and optimized.plan["ties"] > 0
    leaves, losses, first = states(jax.jit(optimized, donate_argnums=0))
    np.testing.assert_allclose(losses, original[1], 1e-6)
    for ours, theirs in zip(leaves, original[0], strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-6)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(first["weights"]))
    figures = optimized.memory()
    assert abs(figures["asked"] - before * 6 // 10) < 1024  # XLA rounds some sizes up
    assert figures["temporaries"] <= 0.72 * before
    printed = capsys.readouterr().out
    assert "temporaries" in printed and "asked" in printed and "predicted" in printed


def test_lower_precision(original: Any, tmp_path: Path) -> None:
    """Formats are chosen, state and results stay f32, and losses those of f32 as nearly as bf16 allows; a policy is read."""
    optimized = tenon.jax.optimize(step, start(), *batch(), precision="bf16")
    assert "bf16" in optimized.text and "bf16" not in str(jax.eval_shape(optimized, start(), *batch()))
    leaves, losses, _ = states(jax.jit(optimized, donate_argnums=0))
    np.testing.assert_allclose(losses, original[1], 2**-7)
    assert [leaf.dtype for leaf in leaves] == [leaf.dtype for leaf in original[0]]
    (tmp_path / "policy.json").write_text('{"operations": {"stablehlo.*": "f32"}}')
    kept = tenon.jax.optimize(step, start(), *batch(), precision="bf16", precision_policy=tmp_path / "policy.json")
    assert "bf16" not in kept.text


def test_inside_a_larger_program() -> None:
    """The function is an ordinary one: it may be called twice in a program, and without jit."""
    optimized = tenon.jax.optimize(step, start(), *batch())

    def twice(state: dict, x: Any, y: Any) -> Any:
        state, _ = optimized(state, x, y)
        return optimized(state, x, y)[1] + 1

    x, y = batch()
    state, _ = step(start(), x, y)
    expected = float(step(state, x, y)[1]) + 1
    np.testing.assert_allclose(float(jax.jit(twice)(start(), x, y)), expected, 1e-6)
    np.testing.assert_allclose(float(optimized(start(), x, y)[1]), float(step(start(), x, y)[1]), 1e-6)


def test_wrong_arguments() -> None:
    """Other shapes and other trees are refused with both sides; an impossible budget says what it is."""
    optimized = tenon.jax.optimize(step, start(), *batch())
    x, y = batch()
    with pytest.raises(tenon.ArgumentError, match=r"float32\[256, 64\], given float32\[128, 64\]"):
        optimized(start(), x[:128], y)
    with pytest.raises(tenon.ArgumentError, match="was optimized for arguments"):
        optimized(start()["weights"], x, y)
    with pytest.raises(tenon.CompileError, match="infeasible") as caught:
        tenon.jax.optimize(step, start(), *batch(), memory_budget="1KiB")
    assert caught.value.exit_code == 3


def flexible(state: dict, rounds: int, x: Any, *, y: Any, scale: dict) -> tuple[dict, dict]:
    """A step with a static argument in the middle, arguments by name, and trees in and out."""
    gradient = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))
    w = state["w"]
    for _ in range(rounds):
        w = w - scale["rate"] * gradient(w)
    return {"w": w, "count": state["count"] + rounds}, {"largest": jnp.max(jnp.abs(w)), "parts": (w[0], w[1])}


def test_static_arguments_and_names() -> None:
    """Static values, keyword arguments and trees work as under jax.jit, donation included; other shapes and other static
    values take another plan, beside which the first stays usable."""
    for rows in (32, 48):
        for rounds in (2, 3):
            x, y = jnp.linspace(0, 1, rows * 16).reshape(rows, 16), jnp.ones((rows, 8))
            scale = {"rate": jnp.float32(0.5)}

            def begin() -> dict:
                return {"w": jnp.linspace(-1, 1, 128).reshape(16, 8), "count": jnp.int32(0)}

            optimized = tenon.jax.optimize(flexible, begin(), rounds, x, static_argnums=1, y=y, scale=scale)
            options = {"donate_argnums": 0, "static_argnums": 1}
            first = begin()
            found = jax.jit(optimized, **options)(first, rounds, x, y=y, scale=scale)
            expected = jax.jit(flexible, **options)(begin(), rounds, x, y=y, scale=scale)
            assert jax.tree.structure(found) == jax.tree.structure(expected)
            for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
                assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
            assert first["w"].is_deleted()
            assert optimized.memory()["arguments"] > 0
    with pytest.raises(tenon.ArgumentError, match="argument 1 is static and was 3"):
        optimized(begin(), 4, x, y=y, scale=scale)
    with pytest.raises(tenon.ArgumentError, match="was optimized for arguments"):
        optimized(begin(), 3, x, y=y)
