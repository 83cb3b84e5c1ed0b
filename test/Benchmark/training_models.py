"""Ten small models of different kinds that learn something in a thousand steps, written with plain JAX.

Each is a loss of parameters and a batch, start values, and batches without end; `step_of` makes a training step of it with Adam.
What is to be learnt is made up: rules with noise, which no model of this size fits exactly, so that losses stay away from zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Tree = Any
Random = np.random.Generator


@dataclass(frozen=True)
class Model:
    """What is trained: `start` makes parameters, `batch` the examples of a step, whose first dimension counts them."""

    name: str
    start: Callable[[Random], Tree]
    loss: Callable[..., jax.Array]
    batch: Callable[[Random], tuple[np.ndarray, ...]]
    rate: float = 1e-3


def matrix(random: Random, *shape: int) -> np.ndarray:
    """Random weights for a sum over all dimensions but the last."""
    return (random.normal(size=shape) / math.sqrt(math.prod(shape[:-1]))).astype(np.float32)


def ones(*shape: int) -> np.ndarray:
    """Scales."""
    return np.ones(shape, np.float32)


def zeros(*shape: int) -> np.ndarray:
    """Offsets."""
    return np.zeros(shape, np.float32)


def cross_entropy(scores: jax.Array, labels: jax.Array) -> jax.Array:
    """The mean over all labels."""
    return jnp.mean(jax.nn.logsumexp(scores, -1) - jnp.take_along_axis(scores, labels[..., None], -1)[..., 0])


def layer_norm(p: Tree, x: jax.Array) -> jax.Array:
    """Over the last dimension."""
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * p["scale"] + p["offset"]


def norm_start(width: int) -> Tree:
    """Of layer_norm."""
    return {"scale": ones(width), "offset": zeros(width)}


def rms_norm(scale: jax.Array, x: jax.Array) -> jax.Array:
    """As in Llama."""
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def convolve(w: jax.Array, x: jax.Array, stride: int = 1) -> jax.Array:
    """Images with channels last, padded to keep their size."""
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def attend(p: Tree, x: jax.Array, heads: int, *, causal: bool, rotate: Callable[[jax.Array], jax.Array] = lambda x: x) -> jax.Array:
    """Attention of a sequence to itself, with its projections."""
    batch, length, width = x.shape
    q, k, v = jnp.split((x @ p["qkv"]).reshape(batch, length, heads, 3 * width // heads), 3, -1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", rotate(q), rotate(k)) / math.sqrt(width // heads)
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(batch, length, width) @ p["out"]


def attention_start(random: Random, width: int) -> Tree:
    """Of attend."""
    return {"qkv": matrix(random, width, 3 * width), "out": matrix(random, width, width)}


#
# What is learnt
#


def labelled_points(random: Random, count: int = 64, width: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Points with the class of a fixed random network, one in ten of them wrong."""
    fixed = np.random.default_rng(1)
    first, second = fixed.normal(size=(width, 32)), fixed.normal(size=(32, 10))
    x = random.normal(size=(count, width)).astype(np.float32)
    labels = np.argmax(np.tanh(x @ first / 4) @ second, -1)
    return x, np.where(random.random(count) < 0.1, random.integers(0, 10, count), labels).astype(np.int32)


def stripes(random: Random, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy images of waves in one of eight directions, one in ten with a wrong label."""
    labels = random.integers(0, 8, count)
    angle, phase = labels * math.pi / 8, random.uniform(0, 2 * math.pi, count)
    y, x = np.mgrid[:size, :size]
    wave = np.sin((np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y) * 1.2 + phase[:, None, None])
    images = wave[..., None] + random.normal(size=(count, size, size, 3)) * 1.0
    wrong = np.where(random.random(count) < 0.1, random.integers(0, 8, count), labels)
    return images.astype(np.float32), wrong.astype(np.int32)


def sentences(random: Random, count: int, length: int, words: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Sequences in which a word follows from the two before it, four times in five, and the next words."""
    following = np.random.default_rng(2).integers(0, words, (words, words))
    text = random.integers(0, words, (count, length + 1))
    for i in range(2, length + 1):
        follows = random.random(count) < 0.8
        text[:, i] = np.where(follows, following[text[:, i - 2] % 8, text[:, i - 1]], text[:, i])
    return text[:, :-1].astype(np.int32), text[:, 1:].astype(np.int32)


#
# Models
#


def mlp_start(random: Random) -> Tree:
    """Of mlp_loss."""
    sizes = (64, 256, 256, 10)
    return [{"w": matrix(random, a, b), "b": zeros(b)} for a, b in zip(sizes, sizes[1:], strict=False)]


def mlp_loss(p: Tree, x: jax.Array, labels: jax.Array) -> jax.Array:
    """Three layers."""
    for layer in p[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return cross_entropy(x @ p[-1]["w"] + p[-1]["b"], labels)


def cnn_start(random: Random) -> Tree:
    """Of cnn_loss."""
    return {"c1": matrix(random, 3, 3, 3, 16), "c2": matrix(random, 3, 3, 16, 32), "out": matrix(random, 512, 8)}


def cnn_loss(p: Tree, x: jax.Array, labels: jax.Array) -> jax.Array:
    """Two convolutions with pools."""
    for name in ("c1", "c2"):
        x = jax.nn.relu(convolve(p[name], x))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return cross_entropy(x.reshape(x.shape[0], -1) @ p["out"], labels)


def batch_norm(p: Tree, x: jax.Array) -> jax.Array:
    """With the statistics of the batch."""
    mean = x.mean((0, 1, 2))
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean((0, 1, 2)) + 1e-5) * p["scale"] + p["offset"]


def resnet_start(random: Random) -> Tree:
    """Of resnet_loss."""
    block = lambda: {"c1": matrix(random, 3, 3, 16, 16), "n1": norm_start(16), "c2": matrix(random, 3, 3, 16, 16), "n2": norm_start(16)}  # noqa: E731
    return {"stem": matrix(random, 3, 3, 3, 16), "blocks": [block() for _ in range(3)], "out": matrix(random, 16, 8)}


def resnet_loss(p: Tree, x: jax.Array, labels: jax.Array) -> jax.Array:
    """Three residual blocks with batch normalisation."""
    x = convolve(p["stem"], x, 2)
    for block in p["blocks"]:
        y = jax.nn.relu(batch_norm(block["n1"], convolve(block["c1"], x)))
        x = jax.nn.relu(x + batch_norm(block["n2"], convolve(block["c2"], y)))
    return cross_entropy(x.mean((1, 2)) @ p["out"], labels)


def gpt_start(random: Random, width: int = 64, layers: int = 2, length: int = 32) -> Tree:
    """Of gpt_loss."""
    block = lambda: {"n1": norm_start(width), "attention": attention_start(random, width), "n2": norm_start(width),  # noqa: E731
                     "up": matrix(random, width, 4 * width), "down": matrix(random, 4 * width, width)}  # fmt: skip
    words, positions = (0.02 * random.normal(size=(count, width)).astype(np.float32) for count in (64, length))
    return {"words": words, "positions": positions, "blocks": [block() for _ in range(layers)], "norm": norm_start(width)}


def gpt_loss(p: Tree, text: jax.Array, following: jax.Array) -> jax.Array:
    """A decoder whose first table is its last one, too."""
    x = p["words"][text] + p["positions"]
    for block in p["blocks"]:
        x = x + attend(block["attention"], layer_norm(block["n1"], x), 4, causal=True)
        x = x + jax.nn.gelu(layer_norm(block["n2"], x) @ block["up"]) @ block["down"]
    return cross_entropy(layer_norm(p["norm"], x) @ p["words"].T, following)


def llama_start(random: Random, width: int = 64, layers: int = 2) -> Tree:
    """Of llama_loss."""
    block = lambda: {"n1": ones(width), "attention": attention_start(random, width), "n2": ones(width),  # noqa: E731
                     "gate": matrix(random, width, 2 * width), "up": matrix(random, width, 2 * width),
                     "down": matrix(random, 2 * width, width)}  # fmt: skip
    words = random.normal(size=(64, width)).astype(np.float32)
    return {"words": words, "blocks": [block() for _ in range(layers)], "norm": ones(width), "out": matrix(random, width, 64)}


def rotated(x: jax.Array) -> jax.Array:
    """Rotary positions."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 100.0 ** (-jnp.arange(half) / half)
    cosine, sine = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1)


def llama_loss(p: Tree, text: jax.Array, following: jax.Array) -> jax.Array:
    """A decoder with rotary positions, root mean square norms and gated layers."""
    x = p["words"][text]
    for block in p["blocks"]:
        x = x + attend(block["attention"], rms_norm(block["n1"], x), 4, causal=True, rotate=rotated)
        y = rms_norm(block["n2"], x)
        x = x + (jax.nn.silu(y @ block["gate"]) * (y @ block["up"])) @ block["down"]
    return cross_entropy(rms_norm(p["norm"], x) @ p["out"], following)


def lstm_start(random: Random, width: int = 96) -> Tree:
    """Of lstm_loss."""
    words = random.normal(size=(64, width)).astype(np.float32)
    return {"words": words, "w": matrix(random, 2 * width, 4 * width), "b": zeros(4 * width), "out": matrix(random, width, 64)}


def lstm_loss(p: Tree, text: jax.Array, following: jax.Array) -> jax.Array:
    """One layer, in a scan."""
    inputs = jnp.swapaxes(p["words"][text], 0, 1)
    zero = jnp.zeros(inputs.shape[1:], inputs.dtype)

    def cell(carry: tuple[jax.Array, jax.Array], x: jax.Array) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ p["w"] + p["b"], 4, -1)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    _, hidden = jax.lax.scan(cell, (zero, zero), inputs)
    return cross_entropy(jnp.swapaxes(hidden, 0, 1) @ p["out"], following)


def unet_start(random: Random) -> Tree:
    """Of unet_loss."""
    shapes = {"in": (3, 16), "down": (16, 32), "middle": (32, 32), "up": (48, 16), "out": (16, 3)}
    return {name: {"w": matrix(random, 3, 3, *channels), "b": zeros(channels[1])} for name, channels in shapes.items()}


def unet_loss(p: Tree, noisy: jax.Array, clean: jax.Array) -> jax.Array:
    """Takes noise from images, with a way around the smaller ones."""
    layer = lambda name, x, stride=1: convolve(p[name]["w"], x, stride) + p[name]["b"]  # noqa: E731
    first = jax.nn.silu(layer("in", noisy))
    small = jax.nn.silu(layer("middle", jax.nn.silu(layer("down", first, 2))))
    large = jnp.repeat(jnp.repeat(small, 2, 1), 2, 2)
    found = layer("out", jax.nn.silu(layer("up", jnp.concatenate([large, first], -1))))
    return jnp.mean((found - clean) ** 2)


def noisy_stripes(random: Random) -> tuple[np.ndarray, np.ndarray]:
    """Images with noise, and what they are without it."""
    angle, phase = random.uniform(0, math.pi, 8), random.uniform(0, 2 * math.pi, (8, 1, 1, 3))
    y, x = np.mgrid[:16, :16]
    clean = np.sin((np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y)[..., None] + phase)
    return (clean + random.normal(size=clean.shape)).astype(np.float32), clean.astype(np.float32)


def vit_start(random: Random, width: int = 64) -> Tree:
    """Of vit_loss."""
    start = gpt_start(random, width, 2, 16)
    return {"patches": matrix(random, 48, width), "positions": start["positions"], "blocks": start["blocks"], "norm": start["norm"],
            "out": matrix(random, width, 8)}  # fmt: skip


def vit_loss(p: Tree, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Patches of four by four."""
    patches = images.reshape(-1, 4, 4, 4, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 16, 48)
    x = patches @ p["patches"] + p["positions"]
    for block in p["blocks"]:
        x = x + attend(block["attention"], layer_norm(block["n1"], x), 4, causal=False)
        x = x + jax.nn.gelu(layer_norm(block["n2"], x) @ block["up"]) @ block["down"]
    return cross_entropy(layer_norm(p["norm"], x).mean(1) @ p["out"], labels)


def moe_start(random: Random, width: int = 64) -> Tree:
    """Of moe_loss."""
    start = gpt_start(random, width, 1)
    del start["blocks"][0]["up"], start["blocks"][0]["down"]
    return {**start, "router": matrix(random, width, 4), "up": np.stack([matrix(random, width, 128) for _ in range(4)]),
            "down": np.stack([matrix(random, 128, width) for _ in range(4)])}  # fmt: skip


def moe_loss(p: Tree, text: jax.Array, following: jax.Array) -> jax.Array:
    """A decoder with four experts, of which each word takes the best two."""
    block = p["blocks"][0]
    x = p["words"][text] + p["positions"]
    x = x + attend(block["attention"], layer_norm(block["n1"], x), 4, causal=True)
    y = layer_norm(block["n2"], x)
    chances = jax.nn.softmax(y @ p["router"], -1)
    best, chosen = jax.lax.top_k(chances, 2)
    weights = (jax.nn.one_hot(chosen, 4) * (best / best.sum(-1, keepdims=True))[..., None]).sum(-2)
    outputs = jnp.einsum("ebtf,efd->ebtd", jax.nn.relu(jnp.einsum("btd,edf->ebtf", y, p["up"])), p["down"])
    x = x + jnp.einsum("ebtd,bte->btd", outputs, weights)
    balance = 4 * jnp.mean(chances.mean((0, 1)) * (weights > 0).mean((0, 1)))
    return cross_entropy(layer_norm(p["norm"], x) @ p["words"].T, following) + 0.01 * balance


def autoencoder_start(random: Random) -> Tree:
    """Of autoencoder_loss."""
    sizes = (256, 128, 8, 128, 256)
    return [{"w": matrix(random, a, b), "b": zeros(b)} for a, b in zip(sizes, sizes[1:], strict=False)]


def autoencoder_loss(p: Tree, x: jax.Array) -> jax.Array:
    """Through eight numbers."""
    y = x
    for number, layer in enumerate(p):
        y = y @ layer["w"] + layer["b"]
        y = jnp.tanh(y) if number < len(p) - 1 else y
    return jnp.mean((y - x) ** 2)


def curves(random: Random) -> tuple[np.ndarray]:
    """What six numbers bend, with noise."""
    fixed = np.random.default_rng(3)
    first, second = fixed.normal(size=(6, 32)), fixed.normal(size=(32, 256)) / 4
    x = np.tanh(random.normal(size=(64, 6)) @ first) @ second
    return ((x + 0.3 * random.normal(size=x.shape)).astype(np.float32),)


MODELS = {
    model.name: model
    for model in (
        Model("mlp", mlp_start, mlp_loss, labelled_points),
        Model("cnn", cnn_start, cnn_loss, lambda random: stripes(random, 16, 16)),
        Model("resnet", resnet_start, resnet_loss, lambda random: stripes(random, 16, 16)),
        Model("gpt", gpt_start, gpt_loss, lambda random: sentences(random, 8, 32)),
        Model("llama", llama_start, llama_loss, lambda random: sentences(random, 8, 32)),
        Model("lstm", lstm_start, lstm_loss, lambda random: sentences(random, 8, 32), 3e-3),
        Model("unet", unet_start, unet_loss, noisy_stripes),
        Model("vit", vit_start, vit_loss, lambda random: stripes(random, 16, 16)),
        Model("moe", moe_start, moe_loss, lambda random: sentences(random, 8, 32)),
        Model("autoencoder", autoencoder_start, autoencoder_loss, curves),
    )
}


def start_state(model: Model, seed: int) -> Tree:
    """Parameters, both moments and the number of steps."""
    parameters = model.start(np.random.default_rng([seed, 0]))
    empty = jax.tree.map(np.zeros_like, parameters)
    return {"params": parameters, "opt": {"mu": empty, "nu": jax.tree.map(np.copy, empty), "count": np.zeros((), np.int32)}}


def step_of(model: Model) -> Callable[..., tuple[Tree, jax.Array]]:
    """A training step with Adam: the new state and the loss before it."""

    def step(state: Tree, *batch: jax.Array) -> tuple[Tree, jax.Array]:
        loss, gradient = jax.value_and_grad(model.loss)(state["params"], *batch)
        count = state["opt"]["count"] + 1
        time = count.astype(jnp.float32)
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["opt"]["mu"], gradient)
        nu = jax.tree.map(lambda n, g: 0.999 * n + 0.001 * g * g, state["opt"]["nu"], gradient)
        scale = model.rate / (1 - 0.9**time)
        parameters = jax.tree.map(lambda p, m, n: p - scale * m / (jnp.sqrt(n / (1 - 0.999**time)) + 1e-8), state["params"], mu, nu)
        return {"params": parameters, "opt": {"mu": mu, "nu": nu, "count": count}}, loss

    return step
