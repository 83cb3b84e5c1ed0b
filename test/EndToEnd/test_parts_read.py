"""Steps that read a part of what they compute: rows that nobody reads are cut off, and the step stays what it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import random_attention
import random_parts
from conftest import BUILD, succeed
from safetensors.numpy import load_file, save_file

BATCH, ROWS, WIDTH, HEADS = 3, 17, 24, 2
Weights = dict[str, jax.Array]


def text_of(step: Callable, *examples: object) -> str:
    """The export of a step."""
    return jax.jit(step, keep_unused=True).lower(*examples).as_text()


def norm(x: jax.Array) -> jax.Array:
    """Rows of mean zero and variance one."""
    apart = x - jnp.mean(x, -1, keepdims=True)
    return apart * jax.lax.rsqrt(jnp.mean(apart * apart, -1, keepdims=True) + 1e-5)


def block(x: jax.Array, weights: Weights, causal: bool) -> jax.Array:
    """A block of a transformer."""
    parts = (norm(x) @ weights["qkv"]).reshape(BATCH, ROWS, 3, HEADS, WIDTH // HEADS)
    query, key, value = (jnp.moveaxis(parts[:, :, i], 2, 1) for i in range(3))
    scores = query @ jnp.swapaxes(key, -1, -2) / 4
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((ROWS, ROWS), bool)), scores, -1e30)
    mixed = jnp.moveaxis(jax.nn.softmax(scores, -1) @ value, 1, 2).reshape(x.shape)
    x = x + mixed @ weights["out"]
    return x + jax.nn.gelu(norm(x) @ weights["up"]) @ weights["down"]


def of_class_token(x: jax.Array, weights: Weights) -> jax.Array:
    """Reads the first row behind the last norm."""
    return norm(block(x, weights, causal=False))[:, 0] @ weights["head"]


def of_last_token(x: jax.Array, weights: Weights) -> jax.Array:
    """Reads the last row of causal attention."""
    return norm(block(x, weights, causal=True))[:, -1] @ weights["head"]


def of_token_inside(x: jax.Array, weights: Weights) -> jax.Array:
    """Reads a row that does not see all keys, so attention stays whole."""
    return norm(block(x, weights, causal=True))[:, 5] @ weights["head"]


def weights_of(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights of a block and of a head behind it."""
    shapes = {
        "qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH), "head": (WIDTH, 5),
    }  # fmt: skip
    return {name: (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for name, shape in shapes.items()}


# The rows of queries that attention is left with, and whether it is causal.
STEPS: dict[Callable, tuple[int, bool]] = {of_class_token: (1, False), of_last_token: (1, False), of_token_inside: (ROWS, True)}


@pytest.mark.parametrize("model", STEPS, ids=lambda model: model.__name__)
def test_rows_of_a_transformer(model: Callable, tmp_path: Path) -> None:
    """The loss and all gradients are those in f64; products behind keys and values have one row, attention is raised."""
    random = np.random.default_rng(3)
    x, weights = random.standard_normal((BATCH, ROWS, WIDTH)).astype(np.float32), weights_of(random)

    def step(x: jax.Array, weights: Weights) -> tuple[jax.Array, tuple[jax.Array, Weights]]:
        return jax.value_and_grad(lambda x, weights: jnp.sum(jnp.sin(model(x, weights))), argnums=(0, 1))(x, weights)

    source, inputs, cut = tmp_path / "step.mlir", tmp_path / "inputs.safetensors", tmp_path / "cut.mlir"
    source.write_text(text_of(step, x, weights))
    save_file({f"arg{i}": value for i, value in enumerate(jax.tree.leaves((x, weights)))}, inputs)
    succeed("compile", source, "--compile-to=simplify", "-o", cut)
    rows, is_causal = STEPS[model]
    text = cut.read_text()
    attention = re.findall(r"= step\.attention(?:_gradient)? .*", text)
    assert len(attention) == 2
    for line in attention:
        assert f"(tensor<{BATCH}x{rows}x{HEADS}x{WIDTH // HEADS}xf32>" in line
        assert ("causal" in line) == is_causal
    # The MLP, forwards and backwards.
    products = re.findall(rf"= stablehlo\.dot_general .*-> tensor<{BATCH}x(\d+)x{4 * WIDTH}xf32>", text)
    assert products == ["1", "1"]

    with jax.enable_x64(True):
        exact = jax.tree.leaves(step(*jax.tree.map(lambda value: value.astype(np.float64), (x, weights))))
    for how in ([], ["--reference"]):
        outputs = tmp_path / "outputs.safetensors"
        succeed("run", source, "--inputs", inputs, "--outputs", outputs, *how)
        found = load_file(outputs)
        for index, expected in enumerate(exact):
            np.testing.assert_allclose(found[f"result{index}"], expected, rtol=0, atol=2e-5 * np.abs(expected).max())


def test_a_row_that_overflows(tmp_path: Path) -> None:
    """A row that nobody reads does not make a gradient NaN, as it does where its zero gradient is multiplied by it."""

    def step(x: jax.Array, weights: jax.Array) -> jax.Array:
        return jax.grad(lambda weights: jnp.sum(jnp.exp(x @ weights)[0]))(weights)

    random = np.random.default_rng(5)
    x, weights = random.standard_normal((9, 8)).astype(np.float32), random.standard_normal((8, 4)).astype(np.float32)
    x[3] = 1e4 * np.sign(weights[:, 0])
    source, inputs, outputs = (tmp_path / name for name in ("step.mlir", "inputs.safetensors", "outputs.safetensors"))
    source.write_text(text_of(step, x, weights))
    save_file({"arg0": x, "arg1": weights}, inputs)
    succeed("run", source, "--inputs", inputs, "--outputs", outputs)
    row = x[0].astype(np.float64)
    expected = np.outer(row, np.exp(row @ weights))
    np.testing.assert_allclose(load_file(outputs)["result0"], expected, rtol=1e-5)
    assert np.isnan(step(x, weights)).any()


PACK = 10


@pytest.mark.parametrize("first", range(0, 20, PACK))
def test_random_parts(first: int, tmp_path: Path) -> None:
    """The first programs; random_parts.py goes on. Every third one or so has something to cut."""
    runner = random_attention.Runner(BUILD, tmp_path)
    wrong, remarks = random_parts.differing(runner, list(range(first, first + PACK)))
    assert not wrong
    assert remarks.count("[Passed] ReadParts") >= PACK // 4
