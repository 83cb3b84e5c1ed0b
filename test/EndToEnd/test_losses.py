"""Losses: cross-entropy with smoothed or ignored labels goes through the logits as often as without."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from conftest import succeed
from safetensors.numpy import load_file, save_file

ROWS, INNER, CLASSES = 256, 64, 2048
IGNORED = -100
Loss = Callable[[jax.Array, jax.Array], jax.Array]


def plain(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Of every row."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels % CLASSES).mean()


def ignored(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Of the rows that have a label, as PyTorch's ignore_index."""
    has_label = labels != IGNORED
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.where(has_label, labels, 0))
    return jnp.where(has_label, losses, 0.0).sum() / has_label.sum()


def smoothed(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """With labels that are smoothed as Optax does it."""
    return optax.softmax_cross_entropy(logits, optax.smooth_labels(jax.nn.one_hot(labels, CLASSES), 0.1)).mean()


def smoothed_by_mean(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """With a share of the mean over all classes, as PyTorch's label_smoothing."""
    logarithms = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logarithms, labels[:, None] % CLASSES, -1)[:, 0]
    return -(0.9 * picked + 0.1 * logarithms.mean(-1)).mean()


def smoothed_and_ignored(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Both."""
    has_label = labels != IGNORED
    logarithms = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logarithms, jnp.where(has_label, labels, 0)[:, None], -1)[:, 0]
    return -jnp.where(has_label, 0.9 * picked + 0.1 * logarithms.mean(-1), 0.0).sum() / has_label.sum()


LOSSES = (plain, ignored, smoothed, smoothed_by_mean, smoothed_and_ignored)


@pytest.mark.parametrize("loss", LOSSES, ids=[loss.__name__ for loss in LOSSES])
def test_one_pass(loss: Loss, tmp_path: Path) -> None:
    """One kernel reads rows of logits and writes their gradient, in place unless labels are smoothed; JAX gets the same numbers."""

    def step(w: jax.Array, x: jax.Array, labels: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(lambda w: loss(x @ w, labels))(w)

    text, grouped, compiled, inputs, outputs = (
        tmp_path / name for name in ("a.mlir", "b.mlir", "a.tenon", "in.safetensors", "out.safetensors")
    )
    random = np.random.default_rng(1)
    w, x = (random.standard_normal(shape, np.float32) for shape in ((INNER, CLASSES), (ROWS, INNER)))
    labels = random.integers(0, CLASSES, ROWS, np.int32)
    labels[::3] = IGNORED
    text.write_text(jax.jit(step).lower(w, x, labels).as_text())

    succeed("compile", text, "-o", grouped, "--compile-to=group")
    logits = f"tensor<{ROWS}x{CLASSES}xf32>"
    groups = re.findall(r"step\.group +(\w+)\(.*\) : \((.*)\) -> (.*) \{", grouped.read_text())
    kernels = [(kind, logits in reads, logits in results) for kind, reads, results in groups if kind != "library"]
    assert [kind for kind, _, writes in kernels if writes] == ["row"], kernels
    # Beside it one may pick the logits of the labels.
    assert sum(reads for _, reads, _ in kernels) <= 2, kernels

    succeed("compile", text, "-o", compiled)
    temporaries = int(re.findall(r"^temporaries +(\d+)", succeed("inspect", compiled), re.M)[0])
    copies = 1 if loss in (plain, ignored) else 2
    assert temporaries < (copies + 0.5) * 4 * ROWS * CLASSES

    save_file({"arg0": w, "arg1": x, "arg2": labels}, inputs)
    succeed("run", compiled, "--inputs", inputs, "--outputs", outputs)
    found = load_file(outputs)
    for value, right in zip(found.values(), step(w, x, labels)):
        np.testing.assert_allclose(value, right, rtol=2e-4, atol=1e-6)
