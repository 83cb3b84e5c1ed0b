"""Compiles and trains a convolution net and a Cholesky step with the installed wheels, and compares the losses with JAX's.

    python train.py [--scikit-learn-first]

With the option, scikit-learn is imported and has started the threads of its own OpenMP library before Tenon starts the other.
Prints `first step` as soon as a compiled step has run, which the caller takes the time of.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

if "--scikit-learn-first" in sys.argv:
    import sklearn.cluster

    points = np.random.default_rng(0).normal(size=(4096, 8))
    assert sklearn.cluster.KMeans(4, n_init=2, random_state=0).fit(points).cluster_centers_.shape == (4, 8)

import jax
import jax.numpy as jnp
import tenon
import tenon.jax


def convolution_step(state, x, y):
    """A step of gradient descent of two convolutions and a product."""

    def loss(p):
        h = x
        for kernel in (p["first"], p["second"]):
            h = jax.nn.relu(jax.lax.conv_general_dilated(h, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        logits = h.mean((1, 2)) @ p["head"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))

    value, gradient = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradient), value


def cholesky_step(state, x, y):
    """A step of the marginal likelihood of a Gaussian process: a Cholesky factor and its gradient."""

    def loss(p):
        distances = jnp.sum((x[:, None] - x[None]) ** 2, -1)
        covariance = jnp.exp(-distances * jnp.exp(p["scale"])) + (jnp.exp(p["noise"]) + 1e-3) * jnp.eye(len(x))
        factor = jnp.linalg.cholesky(covariance)
        whitened = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return (0.5 * whitened @ whitened + jnp.sum(jnp.log(jnp.diagonal(factor)))) / len(x)

    value, gradient = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - 0.05 * g, state, gradient), value


def examples():
    """Name, step, start state and batch of each."""
    random = np.random.default_rng(1)

    def normal(*shape, scale=1.0):
        return (scale * random.normal(size=shape)).astype(np.float32)

    yield (
        "convolution",
        convolution_step,
        {
            "first": normal(3, 3, 3, 32, scale=0.2),
            "second": normal(3, 3, 32, 32, scale=0.06),
            "head": normal(32, 10, scale=0.2),
        },
        normal(16, 16, 16, 3),
        random.integers(0, 10, 16).astype(np.int32),
    )
    x = normal(96, 3)
    state = {"scale": np.float32(-1), "noise": np.float32(-2)}
    yield "Cholesky", cholesky_step, state, x, np.sin(x.sum(1)).astype(np.float32)


def write_safetensors(path: Path, tensors) -> None:
    """The format is a length, a header of names, types and places, and the elements."""
    header, data = {}, b""
    for name, value in tensors.items():
        array = np.asarray(value)
        kind = {"f": "F", "i": "I"}[array.dtype.kind] + str(8 * array.itemsize)
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def train_by_command(folder: Path, name: str, step, state, x, y) -> None:
    """Exports the step and gives it to the command on the path."""
    module, program = folder / f"{name}.mlir", folder / f"{name}.tenon"
    lowered = jax.jit(step, donate_argnums=0).lower(state, x, y)
    module.write_text(lowered.as_text(debug_info=True))
    subprocess.run(["tenon", "compile", module, "-o", program], check=True)
    inputs = folder / f"{name}.safetensors"
    write_safetensors(inputs, {**state, "x": x, "y": y})
    subprocess.run(["tenon", "run", program, "--steps=2", f"--inputs={inputs}"], check=True)


def main() -> int:
    """Fails with the losses if they are not JAX's."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, step, state, x, y in examples():
            train_by_command(Path(scratch), name, step, state, x, y)
            print(f"{name}: first step", flush=True)
            compiled = tenon.jax.compile(step, state, x, y)
            reference, ours, theirs = jax.jit(step), state, state
            losses = []
            for _ in range(10):
                ours, loss = compiled(ours, x, y)
                theirs, expected = reference(theirs, x, y)
                losses.append((float(loss), float(expected)))
            print(f"{name}: loss {losses[0][0]:.4f} to {losses[-1][0]:.4f}", flush=True)
            worst = max(abs(a - b) / max(1.0, abs(b)) for a, b in losses)
            if not worst < 1e-4 or not losses[-1][0] < losses[0][0]:
                print(f"error: losses of Tenon and JAX: {losses}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
