"""Two training steps as people write them in JAX: a character-level GPT and a digits classifier.

Each is `step(state, x, y) -> (state, loss)` with the state donated, so that it trains in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

Batch = tuple[np.ndarray, np.ndarray]


@dataclass
class TrainingStep:
    """A step, its start state and its data."""

    name: str
    step: Callable[[Any, Any, Any], tuple[Any, Any]]
    state: Any
    batches: list[Batch]
    accuracy: Callable[[Any], float]  # of the parameters in a state


class Block(nn.Module):
    """A transformer block: attention and a feed-forward network, each after a layer norm."""

    heads: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Maps [batch, time, feature] to the same shape."""
        batch, time, width = x.shape
        h = nn.LayerNorm()(x)
        q, k, v = jnp.split(nn.Dense(3 * width)(h).reshape(batch, time, self.heads, -1), 3, axis=-1)
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(width // self.heads)
        causal = jnp.tril(jnp.ones((time, time), bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
        mixed = jnp.einsum("bhts,bshd->bthd", weights, v).reshape(batch, time, width)
        x = x + nn.Dense(width)(mixed)
        h = nn.LayerNorm()(x)
        return x + nn.Dense(width)(jax.nn.gelu(nn.Dense(4 * width)(h)))


class CharacterGPT(nn.Module):
    """A small GPT over characters."""

    vocabulary: int
    width: int = 128
    layers: int = 4
    heads: int = 4
    context: int = 64

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        """Maps [batch, time] to logits [batch, time, vocabulary]."""
        position = self.param("position", nn.initializers.normal(0.02), (self.context, self.width))
        x = nn.Embed(self.vocabulary, self.width)(tokens) + position[: tokens.shape[1]]
        for _ in range(self.layers):
            x = Block(self.heads)(x)
        return nn.Dense(self.vocabulary)(nn.LayerNorm()(x))


class DigitClassifier(nn.Module):
    """A small convolutional network for 8x8 images."""

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        """Maps [batch, 8, 8, 1] to logits [batch, 10]."""
        x = nn.relu(nn.Conv(32, (3, 3))(images))
        x = nn.relu(nn.Conv(64, (3, 3), strides=2)(x))
        x = x.reshape(x.shape[0], -1)
        return nn.Dense(10)(nn.relu(nn.Dense(128)(x)))


def make_step(model: nn.Module, optimizer: optax.GradientTransformation) -> Callable:
    """The training step of a classifier with integer labels."""

    def step(state: dict, x: jax.Array, y: jax.Array) -> tuple[dict, jax.Array]:
        def loss_of(parameters: Any) -> jax.Array:
            logits = model.apply({"params": parameters}, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        loss, gradients = jax.value_and_grad(loss_of)(state["params"])
        updates, optimizer_state = optimizer.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": optimizer_state}, loss

    return step


def character_gpt(text: Path, steps: int, batch: int = 16, context: int = 64) -> TrainingStep:
    """A character-level GPT that learns the text of a file."""
    characters = text.read_text(errors="replace")
    alphabet = sorted(set(characters))
    codes = np.array([alphabet.index(c) for c in characters], np.int32)
    model = CharacterGPT(len(alphabet), context=context)
    optimizer = optax.adamw(1e-3)
    parameters = model.init(jax.random.key(0), jnp.zeros((batch, context), jnp.int32))["params"]
    random = np.random.default_rng(0)

    def windows() -> Iterator[Batch]:
        for _ in range(steps):
            starts = random.integers(0, len(codes) - context - 1, batch)
            yield (
                np.stack([codes[s : s + context] for s in starts]),
                np.stack([codes[s + 1 : s + context + 1] for s in starts]),
            )

    batches = list(windows())

    def accuracy(state: dict) -> float:
        x, y = batches[-1]
        return float((model.apply({"params": state["params"]}, x).argmax(-1) == y).mean())

    state = {"params": parameters, "opt": optimizer.init(parameters)}
    return TrainingStep("chargpt", make_step(model, optimizer), state, batches, accuracy)


def digits(steps: int, batch: int = 64) -> TrainingStep:
    """A classifier of scikit-learn's handwritten digits."""
    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[..., None]
    labels = data.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    train, held_out = order[:1500], order[1500:]
    model = DigitClassifier()
    optimizer = optax.adam(1e-3)
    parameters = model.init(jax.random.key(0), jnp.zeros((batch, 8, 8, 1)))["params"]
    random = np.random.default_rng(1)
    picks = [random.choice(train, batch, replace=False) for _ in range(steps)]

    def accuracy(state: dict) -> float:
        logits = model.apply({"params": state["params"]}, images[held_out])
        return float((logits.argmax(-1) == labels[held_out]).mean())

    state = {"params": parameters, "opt": optimizer.init(parameters)}
    return TrainingStep(
        "digits", make_step(model, optimizer), state, [(images[p], labels[p]) for p in picks], accuracy
    )
