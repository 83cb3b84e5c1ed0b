"""Exports steps with bodies that are written per device (`shard_map`), with start values and what JAX computes on four devices.

`per_device_steps.py FOLDER` writes NAME.SPELLING.mlir for both spellings of such bodies that JAX has, NAME.inputs and NAME.expected. It is
a program of its own, since JAX takes the number of devices when it starts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Asks for four devices before JAX starts.
from constrained_steps import MESH, Arrays, start_values  # isort: skip

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.sharding import PartitionSpec as P
from safetensors.numpy import save_file


def per_device(
    body: Callable[..., Any], inputs: Any, outputs: Any, axes: tuple[str, ...] = ("data", "model"), checked: bool = True
) -> Callable[..., Any]:
    """The function on whole arrays whose body sees parts of them."""
    return jax.shard_map(body, mesh=MESH, in_specs=inputs, out_specs=outputs, axis_names=set(axes), check_vma=checked)


def descended(params: Any, gradients: Any) -> Any:
    """A step of gradient descent."""
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)


COLUMNS, ROWS = P(None, "model"), P("model", None)


def layers(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """The batch along one axis, columns and then rows of the weights along the other: written out, gradients and all."""

    def body(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
        hidden = jnp.tanh(x @ params["w1"])
        error = lax.psum(hidden @ params["w2"], "model") - y
        loss = lax.pmean(jnp.mean(error**2), "data")
        slope = 2 * error / error.size
        inner = (slope @ params["w2"].T) * (1 - hidden**2)
        gradients = {"w1": lax.pmean(x.T @ inner, "data"), "w2": lax.pmean(hidden.T @ slope, "data")}
        return descended(params, gradients), loss

    lies = {"w1": COLUMNS, "w2": ROWS}
    return per_device(body, (lies, P("data"), P("data")), (lies, P()))(params, x, y)


def derived(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """JAX differentiates through the body."""

    def body(params: Arrays, x: jax.Array, y: jax.Array) -> jax.Array:
        hidden = jax.nn.gelu(x @ params["w1"])
        return lax.pmean(jnp.mean((lax.psum(hidden @ params["w2"], "model") - y) ** 2), "data")

    loss = per_device(body, ({"w1": COLUMNS, "w2": ROWS}, P("data"), P("data")), P())
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return descended(params, gradients), value


def gathered(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """Parameters cut along both axes are gathered, their gradients summed and scattered."""
    both = ("data", "model")

    def body(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
        whole = {name: lax.all_gather(part, both, axis=0, tiled=True) for name, part in params.items()}
        value, gradients = jax.value_and_grad(lambda p: jnp.mean((jnp.sin(x @ p["w1"]) @ p["w2"] - y) ** 2))(whole)
        parts = {name: lax.psum_scatter(g, both, scatter_dimension=0, tiled=True) / 4 for name, g in gradients.items()}
        return descended(params, parts), lax.pmean(value, both)

    lies = {"w1": P(both), "w2": P(both)}
    return per_device(body, (lies, P(both), P(both)), (lies, P()), checked=False)(params, x, y)


def exchanged(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """Positions for features and back, a ring of rounds, the device's own number, and places that follow from it."""

    def body(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
        me = lax.axis_index("data")
        turned = lax.all_to_all(x, "data", split_axis=1, concat_axis=0, tiled=True)
        back = lax.all_to_all(jnp.cumsum(turned, axis=0), "data", split_axis=0, concat_axis=1, tiled=True)
        own = lax.dynamic_slice(params["w"], (me * 4, 0), (4, params["w"].shape[1]))

        def ring(carry: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], None]:
            part, total = carry
            part = lax.ppermute(part, "data", [(0, 1), (1, 0)])
            return (part, total + part * part), None

        (_, total), _ = lax.scan(ring, (own, jnp.zeros_like(own)), None, length=3)
        grown = lax.dynamic_update_slice(params["w"] * 0, total, (me * 4, 0))
        shifted = lax.ppermute(back, "model", [(0, 1)])
        value = lax.pmean(jnp.mean((back - y) ** 2) + jnp.sum(shifted) * 1e-3, ("data", "model"))
        return {"w": params["w"] + 0.1 * lax.psum(grown, "data")}, value + 0 * me

    return per_device(body, ({"w": P()}, P("data"), P("data")), ({"w": P()}, P()), checked=False)(params, x, y)


def images(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """Convolutions whose examples, kernels and both differ between devices."""

    def body(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
        def loss(params: Arrays) -> jax.Array:
            h = lax.conv_general_dilated(x, params["k1"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            h = lax.reduce_window(jax.nn.relu(h), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")
            h = lax.conv_general_dilated(h, params["k2"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            return jnp.mean((h.mean((1, 2)) - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(params)
        return descended(params, lax.pmean(gradients, "data")), lax.pmean(value, ("data", "model"))

    lies = {"k1": P(), "k2": P(None, None, None, "model")}
    return per_device(body, (lies, P("data"), P("data", "model")), (lies, P()), checked=False)(params, x, y)


def rows(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """Rows of a table, read, sorted and scattered; a branch and a loop on which all devices agree."""

    def body(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
        places = (jnp.abs(x[:, 0]) * 3).astype(jnp.int32) % params["w"].shape[0]

        def loss(params: Arrays) -> jax.Array:
            found = params["w"][places]
            largest = lax.pmax(jnp.max(lax.stop_gradient(found)), ("data", "model"))
            scaled = lax.cond(largest > 100.0, lambda v: v, lambda v: jnp.sort(v, axis=1) * 2, found)
            last = lax.fori_loop(0, 3, lambda i, v: v + i * scaled, jnp.zeros_like(scaled))
            return jnp.mean((jnp.pad(last, ((0, 0), (0, 1)))[:, : y.shape[1]] - jnp.flip(y, 0)) ** 2)

        value, gradients = jax.value_and_grad(loss)(params)
        return descended(params, lax.pmean(gradients, "data")), lax.pmean(value, "data")

    return per_device(body, ({"w": P()}, P("data"), P("data")), ({"w": P()}, P()), checked=False)(params, x, y)


def along_one(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
    """Written per device along one axis; the other one is the compiler's."""

    def body(params: Arrays, x: jax.Array, y: jax.Array) -> tuple[Arrays, jax.Array]:
        value, gradients = jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p["w1"]) @ p["w2"] - y) ** 2))(params)
        return descended(params, lax.pmean(gradients, "data")), lax.pmean(value, "data")

    return per_device(body, (P(), P("data"), P("data")), (P(), P()), axes=("data",), checked=False)(params, x, y)


TWO = {"w1": (6, 8), "w2": (8, 4)}
STEPS: dict[str, tuple[Callable[..., Any], dict[str, tuple[int, ...]], tuple[int, ...], tuple[int, ...]]] = {
    "layers": (layers, TWO, (12, 6), (12, 4)),
    "derived": (derived, TWO, (12, 6), (12, 4)),
    "gathered": (gathered, {"w1": (8, 8), "w2": (8, 4)}, (12, 8), (12, 4)),
    "exchanged": (exchanged, {"w": (8, 6)}, (8, 6), (8, 6)),
    "images": (images, {"k1": (3, 3, 3, 4), "k2": (3, 3, 4, 6)}, (4, 8, 8, 3), (4, 6)),
    "rows": (rows, {"w": (7, 5)}, (12, 6), (12, 5)),
    "along_one": (along_one, TWO, (12, 6), (12, 4)),
}


def main() -> None:
    """Writes all files."""
    folder = Path(sys.argv[1])
    for name, (step, shapes, *batch) in STEPS.items():
        params, x, y = start_values(shapes, *batch)
        values = jax.tree.leaves((params, x, y))
        for spelling, shardy in {"mhlo": False, "sdy": True}.items():
            jax.config.update("jax_use_shardy_partitioner", shardy)
            (folder / f"{name}.{spelling}.mlir").write_text(str(export.export(jax.jit(step))(params, x, y).mlir_module()))
        save_file({f"arg{at}": np.asarray(value) for at, value in enumerate(values)}, folder / f"{name}.inputs")
        found = jax.tree.leaves(jax.jit(step)(params, x, y))
        save_file({f"result{at}": np.asarray(value) for at, value in enumerate(found)}, folder / f"{name}.expected")


if __name__ == "__main__":
    main()
