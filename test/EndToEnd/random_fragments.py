#!/usr/bin/env python3
"""Random attention, recurrent layers and losses as JAX exports them, with gradients: the compiled step against the interpreter.

    python random_fragments.py --first 0 --count 5000 [--pack 10] [--results FILE] [--build BUILD]

A number is all there is to a fragment; its kind is the number modulo 3. Attention is that of random_attention.py. Recurrent layers
are scans of simple, gated (GRU) or LSTM cells, forwards or backwards, one or two on top of each other, with or without
lengths after which a row keeps its state. Losses are cross-entropy by index or by distribution, smoothed, masked or with a
penalty on the normaliser, focal, contrastive between two batches, of Huber, of squares, or of divergence, of a product with weights.

Both results may differ from each other by what single precision loses: 16 times what JAX's own result in f32 differs from its result
in f64, and 2^-18 of the largest number. --results keeps what is done, so that a run that was ended goes on where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
import random_attention
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parent.parent.parent
KINDS = ("attention", "recurrent", "loss")
LOSSES = ("index", "distribution", "smoothed", "masked", "normaliser", "focal", "contrastive", "huber", "squares", "divergence")
CELLS = ("simple", "gated", "lstm")
# JAX's results are read once, so what it takes to make its code fast would be most of the time of this command.
UNOPTIMIZED = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}


@dataclass(frozen=True)
class Fragment:
    """A function of tensors and some of them; its result is the step's, with the gradients of the numbers that are f32."""

    name: str
    function: Callable[..., jax.Array]
    tensors: list[np.ndarray]
    has_gradient: bool

    def run(self, *given: jax.Array) -> list[jax.Array]:
        """The result, and gradients of a weighed sum of it, which is linear so that errors of a large loss stay what they are."""
        result = self.function(*given)
        if not self.has_gradient:
            return [result]
        places = [i for i, tensor in enumerate(self.tensors) if tensor.dtype == np.float32]

        def total(*some: jax.Array) -> jax.Array:
            all_of_them = list(given)
            for place, value in zip(places, some, strict=True):
                all_of_them[place] = value
            found = self.function(*all_of_them)
            weights = np.cos(np.arange(found.size)).reshape(found.shape)
            return jnp.sum(found * weights.astype(found.dtype))

        return [result, *jax.grad(total, argnums=tuple(range(len(places))))(*(given[place] for place in places))]


def attention(seed: int) -> Fragment:
    """Attention of which the output alone is summed up."""
    one = random_attention.fragment(seed)
    query, key, value, _, padding, bias, kept = one.tensors()
    return Fragment(f"attention, {one}", one.attention, [query, key, value, padding, bias, kept], one.has_gradient)


def recurrent(seed: int) -> Fragment:
    """A scan over time, of one or two layers."""
    random = np.random.default_rng((seed, 2))
    cell, layers = str(random.choice(CELLS)), int(random.integers(1, 3))
    steps, batch, width, hidden = (int(random.integers(low, high)) for low, high in ((2, 20), (1, 9), (1, 20), (1, 20)))
    backwards, has_lengths, is_split = (bool(random.random() < share) for share in (0.3, 0.3, 0.5))
    gates = {"simple": 1, "gated": 3, "lstm": 4}[cell]

    def normal(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)

    tensors = [random.standard_normal((steps, batch, width)).astype(np.float32), random.integers(1, steps + 1, batch).astype(np.int32)]
    for layer in range(layers):
        tensors += [normal(hidden if layer else width, gates * hidden), normal(hidden, gates * hidden), normal(1, gates * hidden)]

    def next_of(state: tuple[jax.Array, jax.Array], x: jax.Array, weights: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        h, c = state
        by_input, by_state, bias = weights
        if is_split or cell == "gated":
            given, kept = x @ by_input + bias, h @ by_state
        else:
            given, kept = jnp.concatenate([x, h], axis=1) @ jnp.concatenate([by_input, by_state]) + bias, 0.0
        if cell == "simple":
            return jnp.tanh(given + kept), c
        if cell == "lstm":
            i, f, g, o = jnp.split(given + kept, 4, axis=1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return jax.nn.sigmoid(o) * jnp.tanh(c), c
        (r, z, n), (hr, hz, hn) = jnp.split(given, 3, axis=1), jnp.split(kept, 3, axis=1)
        update = jax.nn.sigmoid(z + hz)
        return (1 - update) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn) + update * h, c

    def function(inputs: jax.Array, lengths: jax.Array, *weights: jax.Array) -> jax.Array:
        for layer in range(layers):

            def step(state: tuple[jax.Array, jax.Array], x: tuple, layer: int = layer) -> tuple:
                at, entry = x
                after = next_of(state, entry, weights[3 * layer : 3 * layer + 3])
                if has_lengths:
                    goes_on = (at < lengths)[:, None]
                    after = tuple(jnp.where(goes_on, new, old) for new, old in zip(after, state, strict=True))
                return after, after[0]

            zeros = jnp.zeros((batch, hidden), inputs.dtype)
            times = jnp.arange(steps, dtype=jnp.int32)
            _, inputs = jax.lax.scan(step, (zeros, zeros), (times, inputs), reverse=backwards and layer == 0)
        return inputs

    name = (
        f"{layers} {cell}, {steps} steps, {batch} rows, {width} to {hidden}, backwards {backwards}, lengths {has_lengths}, split {is_split}"
    )
    return Fragment(name, function, tensors, bool(random.random() < 0.8))


def loss(seed: int) -> Fragment:
    """A loss per row of a product with weights, summed, averaged or as it is."""
    random = np.random.default_rng((seed, 3))
    kind, kind_of_mean = str(random.choice(LOSSES)), str(random.choice(("sum", "mean", "rows")))
    rows, width, classes = int(random.integers(1, 40)), int(random.integers(1, 30)), int(random.integers(2, 70))
    x = random.standard_normal((rows, width)).astype(np.float32)
    weights = (random.standard_normal((width, classes)) * random.choice((0.3, 1, 4))).astype(np.float32)
    labels = random.integers(0, classes, rows).astype(np.int32)
    targets = random.standard_normal((rows, classes)).astype(np.float32)
    kept = random.random(rows) < 0.8

    def per_row(logits: jax.Array, labels: jax.Array, targets: jax.Array, kept: jax.Array) -> jax.Array:
        logs = jax.nn.log_softmax(logits)
        of_label = jnp.take_along_axis(logs, labels[:, None], axis=1)[:, 0]
        one_hot = jax.nn.one_hot(labels, classes, dtype=logits.dtype)
        if kind == "index":
            return -of_label
        if kind == "distribution":
            return -jnp.sum(jax.nn.softmax(targets) * logs, axis=1)
        if kind == "smoothed":
            return -jnp.sum((one_hot * 0.9 + 0.1 / classes) * logs, axis=1)
        if kind == "masked":
            return jnp.where(kept, -of_label, 0.0) / jnp.maximum(jnp.sum(kept.astype(logits.dtype)), 1)
        if kind == "normaliser":
            return -of_label + 1e-2 * jnp.square(jax.nn.logsumexp(logits, axis=1))
        if kind == "focal":
            return -jnp.square(1 - jnp.exp(of_label)) * of_label
        if kind == "contrastive":
            unit = logits * jax.lax.rsqrt(jnp.sum(logits * logits, axis=1, keepdims=True) + 1e-3)
            others = targets * jax.lax.rsqrt(jnp.sum(targets * targets, axis=1, keepdims=True) + 1e-3)
            pairs = jax.nn.log_softmax(unit @ others.T / 0.1)
            return -jnp.diagonal(pairs)
        apart = logits - targets
        if kind == "huber":
            return jnp.sum(jnp.where(jnp.abs(apart) < 1, 0.5 * apart * apart, jnp.abs(apart) - 0.5), axis=1)
        if kind == "squares":
            return jnp.mean(apart * apart, axis=1)
        given = jax.nn.log_softmax(targets)
        return jnp.sum(jnp.exp(given) * (given - logs), axis=1)

    def function(x: jax.Array, weights: jax.Array, labels: jax.Array, targets: jax.Array, kept: jax.Array) -> jax.Array:
        found = per_row(x @ weights, labels, targets, kept)
        return {"sum": jnp.sum, "mean": jnp.mean, "rows": lambda x: x}[kind_of_mean](found)

    name = f"{kind_of_mean} of {kind}, {rows} rows, {width} to {classes}"
    return Fragment(name, function, [x, weights, labels, targets, kept], bool(random.random() < 0.8))


def fragment(seed: int) -> Fragment:
    """The fragment of a number."""
    return (attention, recurrent, loss)[seed % len(KINDS)](seed)


def is_judged(seed: int) -> bool:
    """Attention in bf16, of scores of ten thousands and of rows without weights has bounds of its own in random_attention.py."""
    if seed % len(KINDS) != 0:
        return True
    one = random_attention.fragment(seed)
    return not one.is_narrow and one.inputs != "large"


def differing(runner: random_attention.Runner, seeds: list[int]) -> list[str]:
    """What is wrong with these fragments, which are one module."""
    fragments = [fragment(seed) for seed in seeds]
    given = [one.tensors for one in fragments]

    def step(*arguments: list[jax.Array]) -> list[list[jax.Array]]:
        return [one.run(*tensors) for one, tensors in zip(fragments, arguments, strict=True)]

    def in_jax(exported: jax.stages.Lowered) -> list[list[np.ndarray]]:
        run = exported.compile(compiler_options=UNOPTIMIZED)
        return [[np.asarray(x, np.float64) for x in results] for results in run(*given)]

    source, inputs = runner.folder / "step.mlir", runner.folder / "inputs.safetensors"
    exported = jax.jit(step, keep_unused=True).lower(*given)
    source.write_text(exported.as_text())
    save_file({f"arg{i}": x for i, x in enumerate(x for tensors in given for x in tensors)}, inputs)
    results = []
    for options in ((), ("--reference",)):
        outputs = runner.folder / "outputs.safetensors"
        runner.tenon("run", source, f"--inputs={inputs}", f"--outputs={outputs}", *options)
        results.append(load_file(outputs))
    narrow = in_jax(exported)
    with jax.enable_x64(True):
        given = [[x.astype(np.float64) if x.dtype == np.float32 else x for x in tensors] for tensors in given]
        wide = in_jax(jax.jit(step, keep_unused=True).lower(*given))
    wrong, index = [], 0
    for seed, one, in_f32, in_f64 in zip(seeds, fragments, narrow, wide, strict=True):
        for place, (less, exact) in enumerate(zip(in_f32, in_f64, strict=True)):
            found, expected = (result[f"result{index}"].astype(np.float64) for result in results)
            index += 1
            if not np.array_equal(np.isnan(found), np.isnan(expected)):
                wrong.append(f"{seed}: result {place} is NaN elsewhere, {one.name}")
                continue
            allowed = 16 * np.nanmax(np.abs(less - exact), initial=0) + 2.0**-18 * np.nanmax(np.abs(exact), initial=0)
            apart = np.nanmax(np.abs(found - expected), initial=0)
            if apart > allowed:
                wrong.append(f"{seed}: result {place} is {apart:.3g} apart, {allowed:.3g} allowed, {one.name}")
    return wrong


def judge(runner: random_attention.Runner, seeds: list[int]) -> tuple[int, list[str]]:
    """How many of the seeds have a program that can be judged, and what differs in these."""
    judged = [seed for seed in seeds if is_judged(seed)]
    return len(judged), differing(runner, judged) if judged else []


if __name__ == "__main__":
    random_attention.run_range(__doc__, 5000, judge)
