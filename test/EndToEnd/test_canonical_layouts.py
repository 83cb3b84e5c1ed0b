"""Blocks of which the best layouts are known: what is chosen exchanges just what people's plans do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from conftest import succeed

MESHES = {"model=4": {"model": 4}, "data=4": {"data": 4}, "data=2,model=4": {"data": 2, "model": 4}}
# Of what an exchange receives: the kind, the axes and the bytes on a rank.
Exchange = tuple[str, str, int]


def trained(block: Callable[..., jax.Array]) -> Callable[..., Any]:
    """The block forwards and backwards, and its weights after a step."""

    def step(up: jax.Array, down: jax.Array, rows: jax.Array, gradient: jax.Array) -> Any:
        out, back = jax.vjp(block, up, down, rows)
        to_up, to_down, to_rows = back(gradient)
        return up - 0.1 * to_up, down - 0.1 * to_down, out, to_rows

    return step


def perceptron(up: jax.Array, down: jax.Array, rows: jax.Array) -> jax.Array:
    """Two layers with a nonlinear function between them."""
    return jax.nn.relu(rows @ up) @ down


def attention(up: jax.Array, down: jax.Array, rows: jax.Array) -> jax.Array:
    """Heads of queries, keys and values that one product makes."""
    queries, keys, values = jnp.einsum("btd,dkhe->kbhte", rows, up)
    weights = jax.nn.softmax(queries @ jnp.swapaxes(keys, -1, -2) / queries.shape[-1] ** 0.5, axis=-1)
    return jnp.einsum("bhte,hed->btd", weights @ values, down)


@dataclass(frozen=True)
class Block:
    """Shapes of its weights, which `model` cuts along one dimension each, and of its rows on each mesh: the more rows, the dearer are sums
    of them beside exchanges of weights."""

    function: Callable[..., jax.Array]
    up: tuple[int, ...]
    down: tuple[int, ...]
    cut: tuple[int, int]
    rows: dict[str, tuple[int, ...]]


ROWS = {"model=4": 256, "data=4": 32768, "data=2,model=4": 2048}
BLOCKS = {
    "perceptron": Block(perceptron, (1024, 4096), (4096, 1024), (1, 0), {mesh: (rows, 1024) for mesh, rows in ROWS.items()}),
    "attention": Block(attention, (1024, 3, 16, 64), (16, 64, 1024), (2, 0), {mesh: (rows // 64, 64, 1024) for mesh, rows in ROWS.items()}),
}


def layout(rank: int, cuts: dict[int, str]) -> str:
    """As lines of a file have it."""
    return f"[{', '.join(cuts.get(dim, '-') for dim in range(rank))}]"


def count(shape: Sequence[int]) -> int:
    """The bytes of a tensor."""
    bytes = 4
    for extent in shape:
        bytes *= extent
    return bytes


def lines_for(block: Block, mesh: str, rows: tuple[int, ...]) -> tuple[str, str]:
    """What is given, rows cut along `data`; and with that people's weights: Megatron's along `model`, fully sharded along `data`."""
    given = layout(len(rows), {0: "data"} if "data" in mesh else {})
    asked = "".join(f"{name} = {given}\n" for name in ("arg2", "arg3", "result2", "result3"))
    cuts: list[dict[int, str]] = [{}, {}]
    if "model" in mesh:
        cuts = [{block.cut[0]: "model"}, {block.cut[1]: "model"}]
    if "data" in mesh:
        cuts[0][0] = "data"
        cuts[1][len(block.down) - 1] = "data"
    people = f"arg0 = {layout(len(block.up), cuts[0])}\narg1 = {layout(len(block.down), cuts[1])}\n"
    return asked, asked + people


def expected(block: Block, mesh: str, rows: tuple[int, ...]) -> Counter[Exchange]:
    """Sums of rows over `model`; weights gathered over `data`, and their gradients scattered."""
    sizes = MESHES[mesh]
    exchanges: Counter[Exchange] = Counter()
    if model := sizes.get("model"):
        part = count(rows) // sizes.get("data", 1)
        exchanges["all_reduce", "model", 2 * part * (model - 1) // model] += 2
    if data := sizes.get("data"):
        for weights in (block.up, block.down):
            part = count(weights) // sizes.get("model", 1)
            for kind in ("all_gather", "reduce_scatter"):
                exchanges[kind, "data", part * (data - 1) // data] += 1
    return exchanges


def exchanges_of(text: Path, mesh: str, sharding: str, folder: Path) -> tuple[Counter[Exchange], dict[str, Any]]:
    """What ranks exchange as the step is cut, and what the report says."""
    report = folder / "report.json"
    to = ("--compile-to=shard", "-o", folder / "parts.mlir", f"--report={report}", "--cpu=x86-64-v4")
    succeed("compile", text, f"--mesh={mesh}", f"--sharding={sharding}", *to)
    (shard,) = [stage for stage in json.loads(report.read_text())["stages"] if stage["stage"] == "shard"]
    exchanges: Counter[Exchange] = Counter()
    for each in shard["exchanges"]:
        exchanges[each["kind"], each["axes"], each["received_bytes"]] += each["count"]
    return exchanges, shard


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", BLOCKS)
def test_same_exchanges(tmp_path: Path, name: str, mesh: str) -> None:
    """Rows are as given and weights are free; nothing of people's plan is known to the choice, which is proved to be the best."""
    block = BLOCKS[name]
    rows = block.rows[mesh]
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in (block.up, block.down, rows, rows)]
    text = tmp_path / "step.mlir"
    text.write_text(jax.jit(trained(block.function), donate_argnums=(0, 1)).lower(*shapes).as_text())
    asked, people = lines_for(block, mesh, rows)
    (tmp_path / "asked.txt").write_text(asked)
    (tmp_path / "people.txt").write_text(people)
    theirs, _ = exchanges_of(text, mesh, str(tmp_path / "people.txt"), tmp_path)
    chosen, report = exchanges_of(text, mesh, f"solve:{tmp_path / 'asked.txt'}", tmp_path)
    assert report["choice"]["gap"] <= 1e-6
    assert chosen == expected(block, mesh, rows)
    assert chosen == theirs
