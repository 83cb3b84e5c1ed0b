"""Exports steps whose authors say inside where values are to lie, with start values and what JAX computes on one device.

`constrained_steps.py FOLDER` writes NAME.SPELLING.mlir for both spellings of shardings that JAX has, NAME.inputs and NAME.expected. It is a
program of its own, since JAX takes the number of devices when it starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.experimental.shard_alike import shard_alike
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from safetensors.numpy import save_file

MESH = jax.make_mesh((2, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))
FREE = P.UNCONSTRAINED
Arrays = dict[str, Any]


def lies(x: jax.Array, *axes: Any) -> jax.Array:
    """The value, constrained."""
    return jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P(*axes)))


def descend(loss: Callable[..., jax.Array], params: Arrays, *batch: jax.Array) -> tuple[Arrays, jax.Array]:
    """A step of gradient descent."""
    value, gradients = jax.value_and_grad(loss)(params, *batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value


def layers(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """Activations whose rows and columns are cut; the columns of the second ones are left to others."""

    def loss(params: Arrays, x: jax.Array, y: jax.Array) -> jax.Array:
        hidden = lies(jnp.tanh(x @ params["w1"]), "data", "model")
        return jnp.mean((lies(hidden @ params["w2"], "data", FREE) - y) ** 2)

    return descend(loss, params, x, y)


def free_layers(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """The same without a constraint."""
    return descend(lambda p, x, y: jnp.mean((jnp.tanh(x @ p["w1"]) @ p["w2"] - y) ** 2), params, x, y)


def rounds(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """Constraints in a loop and in a function that is called, an uneven cut, and gradients that lie as their parameters do."""
    inner = jax.jit(
        lambda h: jnp.sin(h) * 2, in_shardings=NamedSharding(MESH, P(None, "data")), out_shardings=NamedSharding(MESH, P("model"))
    )

    def loss(params: Arrays, x: jax.Array, y: jax.Array) -> jax.Array:
        def body(h: jax.Array, _: None) -> tuple[jax.Array, None]:
            return lies(jnp.tanh(h @ params["w"]), ("data", "model"), None), None

        h, _ = jax.lax.scan(body, inner(x), None, length=3)
        return jnp.mean((lies(h @ params["v"], FREE, "model") - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(params, x, y)
    gradients["w"], w = shard_alike(gradients["w"], params["w"])
    return {"v": params["v"] - 0.1 * gradients["v"], "w": w - 0.1 * gradients["w"]}, value


STEPS: dict[str, tuple[Callable[..., Any], dict[str, tuple[int, ...]], tuple[int, ...], tuple[int, ...]]] = {
    "layers": (layers, {"w1": (6, 8), "w2": (8, 5)}, (16, 6), (16, 5)),
    "free_layers": (free_layers, {"w1": (6, 8), "w2": (8, 5)}, (16, 6), (16, 5)),
    "rounds": (rounds, {"v": (8, 5), "w": (8, 8)}, (10, 8), (10, 5)),
}


def start_values(shapes: dict[str, tuple[int, ...]], *batch: tuple[int, ...]) -> tuple[Arrays, np.ndarray, np.ndarray]:
    """Parameters and a batch of these shapes."""
    random = np.random.default_rng(0)
    params = {key: random.normal(size=shape, scale=0.5).astype(np.float32) for key, shape in shapes.items()}
    x, y = (random.normal(size=shape).astype(np.float32) for shape in batch)
    return params, x, y


def main() -> None:
    """Writes all files."""
    folder = Path(sys.argv[1])
    for name, (step, shapes, *batch) in STEPS.items():
        params, x, y = start_values(shapes, *batch)
        values = jax.tree.leaves((params, x, y))
        save_file({f"arg{i}": value for i, value in enumerate(values)}, folder / f"{name}.inputs")
        plain = {key: jnp.asarray(value) for key, value in params.items()}
        found = jax.tree.leaves(jax.jit(step)(plain, x, y))
        save_file({f"result{i}": np.asarray(value) for i, value in enumerate(found)}, folder / f"{name}.expected")
        for spelling, shardy in {"sdy": True, "mhlo": False}.items():
            jax.config.update("jax_use_shardy_partitioner", shardy)
            text = export.export(jax.jit(step, donate_argnums=0))(params, x, y).mlir_module()
            (folder / f"{name}.{spelling}.mlir").write_text(text)


if __name__ == "__main__":
    main()
