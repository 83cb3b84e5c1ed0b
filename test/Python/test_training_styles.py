"""Steps as people write them: each style of program compiled from Python and trained beside JAX for a few steps."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("TENON_BUILD", str(ROOT / "build/dev"))

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import tenon.jax
from flax import nnx
from flax.training import dynamic_scale, train_state

KEY = jax.random.key(0)


class Style(NamedTuple):
    """A step, its first arguments, which of them are state, and which results succeed those."""

    step: Callable[..., Any]
    arguments: tuple[Any, ...]
    donated: tuple[int, ...] = (0,)
    successors: tuple[int, ...] = (0,)


STYLES: list[Callable[[np.random.Generator], Style]] = []


def style(function: Callable[[np.random.Generator], Style]) -> Callable[[np.random.Generator], Style]:
    """Registers a style under its function's name."""
    STYLES.append(function)
    return function


def normal(random: np.random.Generator, *shape: int, scale: float = 1) -> np.ndarray:
    """Start values and batches."""
    return (scale * random.normal(size=shape)).astype(np.float32)


def descend(loss: Callable[..., Any], rate: float = 0.1) -> Callable[..., Any]:
    """Gradient descent on the first argument of a loss."""

    def step(params: Any, *batch: Any) -> tuple[Any, Any]:
        value, gradient = jax.value_and_grad(loss)(params, *batch)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), value

    return step


def optimize(loss: Callable[..., Any], transformation: optax.GradientTransformation) -> Callable[..., Any]:
    """Parameters and the optimizer's state are two arguments and two results."""

    def step(params: Any, opt_state: Any, *batch: Any) -> tuple[Any, Any, Any]:
        value, gradient = jax.value_and_grad(loss)(params, *batch)
        updates, opt_state = transformation.update(gradient, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    return step


@style
def params_and_optimizer_apart(random: np.random.Generator) -> Style:
    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = jax.nn.gelu(x @ p["w1"] + p["b1"])
        return optax.softmax_cross_entropy_with_integer_labels(hidden @ p["w2"], y).mean()

    params = {"w1": normal(random, 20, 32, scale=0.1), "b1": np.zeros(32, np.float32), "w2": normal(random, 32, 5, scale=0.1)}
    adam = optax.adamw(1e-3)
    batch = normal(random, 64, 20), random.integers(0, 5, 64).astype(np.int32)
    return Style(optimize(loss, adam), (params, adam.init(params), *batch), (0, 1), (0, 1))


@style
def state_last_and_loss_first(random: np.random.Generator) -> Style:
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(3)(nn.relu(nn.LayerNorm()(nn.Dense(32)(x))))

    network = Network()
    state = train_state.TrainState.create(
        apply_fn=network.apply, params=network.init(KEY, jnp.zeros((1, 7)))["params"], tx=optax.rmsprop(1e-3, centered=True)
    )

    def step(x: Any, y: Any, state: Any) -> tuple[Any, Any]:
        def loss(params: Any) -> Any:
            return optax.softmax_cross_entropy(state.apply_fn({"params": params}, x), y).mean()

        value, gradient = jax.value_and_grad(loss)(state.params)
        return value, state.apply_gradients(grads=gradient)

    batch = normal(random, 16, 7), np.eye(3, dtype=np.float32)[random.integers(0, 3, 16)]
    return Style(step, (*batch, state), (2,), (1,))


@style
def nnx_module_with_statistics_and_dropout(random: np.random.Generator) -> Style:
    class Network(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            self.convolution = nnx.Conv(3, 8, (3, 3), rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)
            self.dropout = nnx.Dropout(0.1, rngs=rngs)
            self.head = nnx.Linear(8, 10, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.head(self.dropout(nnx.relu(self.norm(self.convolution(x)))).mean((1, 2)))

    network = Network(nnx.Rngs(0))
    optimizer = nnx.Optimizer(network, optax.sgd(0.1, momentum=0.9, nesterov=True), wrt=nnx.Param)
    definition, state = nnx.split((network, optimizer))

    def step(state: Any, x: Any, y: Any) -> tuple[Any, Any]:
        network, optimizer = nnx.merge(definition, state)

        def loss(network: Any) -> Any:
            return optax.softmax_cross_entropy_with_integer_labels(network(x), y).mean()

        value, gradient = nnx.value_and_grad(loss)(network)
        optimizer.update(network, gradient)
        return nnx.state((network, optimizer)), value

    return Style(step, (state, normal(random, 8, 8, 8, 3), random.integers(0, 10, 8).astype(np.int32)))


@style
def recurrent_scan(random: np.random.Generator) -> Style:
    def loss(p: Any, x: Any, y: Any) -> Any:
        def cell(h: Any, x: Any) -> tuple[Any, None]:
            z, r, n = jnp.split(x @ p["input"], 3, -1)
            u, v, m = jnp.split(h @ p["hidden"], 3, -1)
            z, r = jax.nn.sigmoid(z + u), jax.nn.sigmoid(r + v)
            return (1 - z) * jnp.tanh(n + r * m) + z * h, None

        h, _ = jax.lax.scan(cell, jnp.zeros((x.shape[1], 16)), x)
        return jnp.mean((h @ p["out"] - y) ** 2)

    params = {name: normal(random, *shape, scale=0.2) for name, shape in (("input", (8, 48)), ("hidden", (16, 48)), ("out", (16, 1)))}
    return Style(descend(loss), (params, normal(random, 12, 4, 8), normal(random, 4, 1)))


@style
def checkpointed_layers_in_a_scan(random: np.random.Generator) -> Style:
    def loss(p: Any, x: Any) -> Any:
        @jax.checkpoint
        def layer(h: Any, p: Any) -> tuple[Any, None]:
            return jnp.tanh(h @ p["w"] + p["b"]) + h, None

        return (jax.lax.scan(layer, x, p)[0] ** 2).mean()

    params = {"w": normal(random, 6, 16, 16, scale=0.3), "b": np.zeros((6, 16), np.float32)}
    return Style(descend(loss), (params, normal(random, 8, 16)))


@style
def ensemble_by_vmap(random: np.random.Generator) -> Style:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return jnp.mean(optax.huber_loss(jnp.tanh(x @ p["w"]) @ p["v"], y))

    lamb = optax.chain(optax.clip_by_global_norm(1.0), optax.lamb(1e-2))
    params = {"w": normal(random, 4, 10, 10, scale=0.3), "v": normal(random, 4, 10)}
    step = jax.vmap(optimize(loss, lamb), in_axes=(0, 0, None, None))
    return Style(step, (params, jax.vmap(lamb.init)(params), normal(random, 32, 10), normal(random, 32)), (0, 1), (0, 1))


@style
def factored_optimizer_and_rotary_attention(random: np.random.Generator) -> Style:
    width, heads = 32, 4

    def rotate(x: Any) -> Any:
        angle = jnp.arange(x.shape[1])[:, None] / 10000 ** (jnp.arange(0, x.shape[-1], 2) / x.shape[-1])
        cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        even, odd = x[..., ::2], x[..., 1::2]
        return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)

    def loss(p: Any, tokens: Any) -> Any:
        h = p["embedding"][tokens[:, :-1]]
        q, k, v = ((h @ p[name]).reshape(*h.shape[:2], heads, width // heads) for name in "qkv")
        scores = jnp.einsum("bthd,bshd->bhts", rotate(q), rotate(k)) / np.sqrt(width // heads)
        scores = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9))
        h = h + jnp.einsum("bhts,bshd->bthd", scores, v).reshape(h.shape) @ p["o"]
        return optax.softmax_cross_entropy_with_integer_labels(h @ p["embedding"].T, tokens[:, 1:]).mean()

    params = {name: normal(random, width, width, scale=0.2) for name in "qkvo"} | {"embedding": normal(random, 50, width, scale=0.2)}
    adafactor = optax.adafactor(1e-3, min_dim_size_to_factor=16)
    tokens = random.integers(0, 50, (4, 17)).astype(np.int32)
    return Style(optimize(loss, adafactor), (params, adafactor.init(params), tokens), (0, 1), (0, 1))


@style
def accumulation_schedule_and_average(random: np.random.Generator) -> Style:
    adam = optax.MultiSteps(optax.adam(optax.cosine_decay_schedule(1e-2, 100)), 2)

    def step(state: dict[str, Any], x: Any, y: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        def loss(p: Any) -> Any:
            return optax.sigmoid_binary_cross_entropy(x @ p["w"], y).mean()

        value, gradient = jax.value_and_grad(loss)(state["params"])
        updates, opt = adam.update(gradient, state["opt"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        ema = optax.incremental_update(params, state["ema"], 0.01)
        return {"params": params, "opt": opt, "ema": ema}, {"loss": value, "norm": optax.global_norm(gradient)}

    params = {"w": normal(random, 12, 3, scale=0.1)}
    state = {"params": params, "opt": adam.init(params), "ema": jax.tree.map(np.copy, params)}
    return Style(step, (state, normal(random, 16, 12), random.integers(0, 2, (16, 3)).astype(np.float32)))


@style
def half_precision_with_dynamic_scale(random: np.random.Generator) -> Style:
    def step(state: tuple[Any, Any], x: Any, y: Any) -> tuple[Any, Any]:
        params, scale = state

        def loss(p: Any) -> Any:
            return jnp.mean(((x.astype(jnp.float16) @ p.astype(jnp.float16)).astype(jnp.float32) - y) ** 2)

        scale, finite, value, gradient = scale.value_and_grad(loss)(params)
        return (jnp.where(finite, params - 0.1 * gradient, params), scale), value

    state = normal(random, 8, 3, scale=0.2), dynamic_scale.DynamicScale()
    return Style(step, (state, normal(random, 16, 8), normal(random, 16, 3)))


@style
def straight_through_quantization(random: np.random.Generator) -> Style:
    @jax.custom_vjp
    def quantize(x: Any) -> Any:
        return jnp.round(x * 8) / 8

    quantize.defvjp(lambda x: (quantize(x), None), lambda _, g: (g,))
    step = descend(lambda w, x, y: jnp.mean((x @ quantize(w) - y) ** 2))
    return Style(step, (normal(random, 5, 2), normal(random, 8, 5), normal(random, 8, 2)))


@style
def graph_by_segments(random: np.random.Generator) -> Style:
    def loss(weights: Any, x: Any, source: Any, target: Any, y: Any) -> Any:
        degree = 1 + jax.ops.segment_sum(jnp.ones(source.shape), target, len(x))
        for w in weights:
            sent = (x @ w)[source]
            largest = jax.ops.segment_max(sent, target, len(x)).clip(-1, 1)
            x = jax.nn.relu(jax.ops.segment_sum(sent, target, len(x)) / degree[:, None] + x @ w) - largest
        return jnp.mean((x.sum(-1) - y) ** 2)

    edges = random.integers(0, 20, (2, 60)).astype(np.int32)
    weights = [0.5 * np.eye(6, dtype=np.float32), 0.3 * np.eye(6, dtype=np.float32)]
    return Style(descend(loss, 0.001), (weights, normal(random, 20, 6), edges[0], edges[1], normal(random, 20)))


@style
def policy_gradient_with_sorting(random: np.random.Generator) -> Style:
    def loss(w: Any, observed: Any, advantage: Any, action: Any) -> Any:
        logits = jax.nn.log_softmax(observed @ w)
        chosen = jnp.take_along_axis(logits, action[:, None], 1)[:, 0]
        advantage = jnp.cumsum(jnp.sort(advantage)[::-1]) / (1 + jnp.arange(len(advantage)))
        best, _ = jax.lax.top_k(observed, 3)
        return -(chosen * advantage).mean() + 0.01 * (jnp.exp(logits) * logits).sum(-1).mean() + 0.001 * jnp.median(best @ w[:3])

    batch = normal(random, 20, 6), normal(random, 20), random.integers(0, 4, 20).astype(np.int32)
    return Style(descend(loss), (np.full((6, 4), 0.1, np.float32), *batch))


@style
def gaussian_process_likelihood(random: np.random.Generator) -> Style:
    def loss(p: Any, x: Any, y: Any) -> Any:
        distance = ((x[:, None] - x[None]) ** 2).sum(-1)
        factor = jnp.linalg.cholesky(jnp.exp(p["scale"] - distance / jnp.exp(p["length"])) + jnp.exp(p["noise"]) * jnp.eye(len(x)))
        solved = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * (solved**2).sum() + jnp.log(jnp.diag(factor)).sum()

    params = {name: np.zeros((), np.float32) for name in ("scale", "length", "noise")}
    return Style(descend(loss, 0.001), (params, normal(random, 30, 2), normal(random, 30)))


@style
def spectral_filter(random: np.random.Generator) -> Style:
    def loss(w: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jnp.fft.irfft(jnp.fft.rfft(x) * (w["re"] + 1j * w["im"]), 32) - y) ** 2)

    weights = {"re": np.ones(17, np.float32), "im": np.zeros(17, np.float32)}
    return Style(descend(loss), (weights, normal(random, 16, 32), normal(random, 16, 32)))


@style
def volumes_down_and_up(random: np.random.Generator) -> Style:
    layout = ("NDHWC", "DHWIO", "NDHWC")

    def loss(p: Any, x: Any) -> Any:
        h = jax.nn.silu(jax.lax.conv_general_dilated(x, p["down"], (2, 2, 2), "SAME", dimension_numbers=layout))
        return jnp.mean((jax.lax.conv_transpose(h, p["up"], (2, 2, 2), "SAME", dimension_numbers=layout) - x) ** 2)

    params = {"down": normal(random, 3, 3, 3, 2, 4, scale=0.2), "up": normal(random, 2, 2, 2, 4, 2, scale=0.2)}
    return Style(descend(loss), (params, normal(random, 2, 8, 8, 8, 2)))


@style
def nothing_carried(random: np.random.Generator) -> Style:
    def predict(w: Any, x: Any) -> tuple[Any, Any]:
        return jax.nn.softmax(x @ w), (x @ w).argmax(-1)

    return Style(predict, (normal(random, 6, 4), normal(random, 9, 6)), (), ())


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree, random keys as their integers."""
    arrays = jax.tree.leaves(tree)
    return [
        np.asarray(jax.random.key_data(a) if jax.dtypes.issubdtype(getattr(a, "dtype", np.float32), jax.dtypes.prng_key) else a)
        for a in arrays
    ]


@pytest.mark.parametrize("make", STYLES, ids=lambda make: make.__name__)
def test_trains_like_jax(make: Callable[[np.random.Generator], Style]) -> None:
    """Every leaf of state and results stays close to JAX's over a few steps; integers and keys are equal."""
    step, arguments, donated, successors = make(np.random.default_rng(0))
    compiled = tenon.jax.compile(step, *arguments, donate_argnums=donated)
    jitted = jax.jit(step)
    ours, theirs = list(arguments), list(arguments)
    for _ in range(3):
        mine, expected = compiled(*ours), jitted(*theirs)
        for a, b in zip(leaves(mine), leaves(expected), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            if jnp.issubdtype(b.dtype, jnp.floating):
                np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5 * max(1e-3, float(np.abs(b).max(initial=0))))
            else:
                np.testing.assert_array_equal(a, b)
        for argument, result in zip(donated, successors, strict=True):
            ours[argument], theirs[argument] = mine[result], expected[result]
