"""Losses: cross-entropy with smoothed or ignored labels or with weights goes through the logits as often as without."""

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
Loss = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def plain(logits: jax.Array, labels: jax.Array, _: jax.Array) -> jax.Array:
    """Of every row."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels % CLASSES).mean()


def picked(logits: jax.Array, labels: jax.Array, _: jax.Array) -> jax.Array:
    """The same by log-probabilities of all classes, of which the labels' are picked."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None] % CLASSES, -1).mean()


def ignored(logits: jax.Array, labels: jax.Array, _: jax.Array) -> jax.Array:
    """Of the rows that have a label, as PyTorch's ignore_index."""
    has_label = labels != IGNORED
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.where(has_label, labels, 0))
    return jnp.where(has_label, losses, 0.0).sum() / has_label.sum()


def smoothed(logits: jax.Array, labels: jax.Array, _: jax.Array) -> jax.Array:
    """With labels that are smoothed as Optax does it."""
    return optax.softmax_cross_entropy(logits, optax.smooth_labels(jax.nn.one_hot(labels, CLASSES), 0.1)).mean()


def smoothed_by_mean(logits: jax.Array, labels: jax.Array, _: jax.Array) -> jax.Array:
    """With a share of the mean over all classes, as PyTorch's label_smoothing."""
    logarithms = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logarithms, labels[:, None] % CLASSES, -1)[:, 0]
    return -(0.9 * picked + 0.1 * logarithms.mean(-1)).mean()


def smoothed_and_ignored(logits: jax.Array, labels: jax.Array, _: jax.Array) -> jax.Array:
    """Both."""
    has_label = labels != IGNORED
    logarithms = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logarithms, jnp.where(has_label, labels, 0)[:, None], -1)[:, 0]
    return -jnp.where(has_label, 0.9 * picked + 0.1 * logarithms.mean(-1), 0.0).sum() / has_label.sum()


def weighted(logits: jax.Array, labels: jax.Array, weights: jax.Array) -> jax.Array:
    """The mean by weights, of which many are zero."""
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels % CLASSES)
    return (losses * weights).sum() / weights.sum()


def weighted_by_label(logits: jax.Array, labels: jax.Array, _: jax.Array) -> jax.Array:
    """The same with weights that are made of the labels."""
    weights = (labels > 0).astype(logits.dtype)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.maximum(labels, 0))
    return (losses * weights).sum() / jnp.maximum(weights.sum(), 1)


def weighted_one_hot(logits: jax.Array, labels: jax.Array, weights: jax.Array) -> jax.Array:
    """With a distribution that has one class."""
    losses = -(jax.nn.one_hot(labels, CLASSES) * jax.nn.log_softmax(logits)).sum(-1)
    return (losses * weights).sum() / weights.sum()


def weighted_and_smoothed(logits: jax.Array, labels: jax.Array, weights: jax.Array) -> jax.Array:
    """With two values in the place of a distribution, less its entropy, as Flax's example of translation."""
    confidence, other = 0.9, 0.1 / (CLASSES - 1)
    entropy = -(confidence * np.log(confidence) + (CLASSES - 1) * other * np.log(other + 1e-20))
    targets = jnp.where(labels[:, None] == jnp.arange(CLASSES), confidence, other).astype(logits.dtype)
    losses = -(targets * jax.nn.log_softmax(logits)).sum(-1) - entropy
    return (losses * weights).sum() / weights.sum()


LOSSES = (
    plain,
    picked,
    ignored,
    smoothed,
    smoothed_by_mean,
    smoothed_and_ignored,
    weighted,
    weighted_by_label,
    weighted_one_hot,
    weighted_and_smoothed,
)


@pytest.mark.parametrize("loss", LOSSES, ids=[loss.__name__ for loss in LOSSES])
def test_one_pass(loss: Loss, tmp_path: Path) -> None:
    """One kernel reads rows of logits and writes their gradient in place, with the bits of one kernel per operation and JAX's numbers."""

    @jax.jit
    def step(w: jax.Array, x: jax.Array, labels: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(lambda w: loss(x @ w, labels, weights))(w)

    text, grouped, compiled, unfused, inputs = (tmp_path / name for name in ("a.mlir", "b.mlir", "a.tenon", "b.tenon", "in.safetensors"))
    random = np.random.default_rng(1)
    w, x = (random.standard_normal(shape, np.float32) for shape in ((INNER, CLASSES), (ROWS, INNER)))
    labels = random.integers(0, CLASSES, ROWS, np.int32)
    labels[::3] = IGNORED
    weights = random.random(ROWS, np.float32) * (labels != IGNORED)
    with jax.enable_x64(False):
        text.write_text(step.lower(w, x, labels, weights).as_text())
        expected = step(w, x, labels, weights)

    succeed("compile", text, "-o", grouped, "--compile-to=group")
    logits = f"tensor<{ROWS}x{CLASSES}xf32>"
    groups = re.findall(r"step\.group +(\w+)\(.*\) : \((.*)\) -> (.*) \{", grouped.read_text())
    kernels = [(kind, logits in reads, logits in results) for kind, reads, results in groups if kind != "library"]
    assert [kind for kind, _, writes in kernels if writes] == ["row"], kernels
    # Beside it one may pick the logits of the labels.
    assert sum(reads for _, reads, _ in kernels) <= 2, kernels

    succeed("compile", text, "-o", compiled)
    temporaries = int(re.findall(r"^temporaries +(\d+)", succeed("inspect", compiled), re.M)[0])
    assert temporaries < 1.5 * 4 * ROWS * CLASSES

    save_file({"arg0": w, "arg1": x, "arg2": labels, "arg3": weights}, inputs)
    succeed("compile", text, "-o", unfused, "--fuse=false")
    found, apart = ({}, {})
    for program, values in ((compiled, found), (unfused, apart)):
        outputs = program.with_suffix(".safetensors")
        succeed("run", program, "--inputs", inputs, "--outputs", outputs)
        values.update(load_file(outputs))
    for name, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(found[name], apart[name])
        np.testing.assert_allclose(found[name], right, rtol=2e-4, atol=1e-6)
