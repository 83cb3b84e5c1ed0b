#!/usr/bin/env python3
"""Random attention as JAX exports it: the compiled step, in which it is raised, against the interpreter, which runs what was exported.

    python random_attention.py --first 0 --count 1000 [--pack 10] [--results FILE] [--build BUILD]

A number is all there is to a fragment: extents, layout, masks, bias, scale, type, how the softmax is written, and inputs,
some of them adversarial. Fragments of a pack are results of one module. --results keeps what is done, so that a run
that was ended goes on where it stopped.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parent.parent.parent
INPUTS = ("normal", "normal", "ties", "large", "zero gradient")
KEPT = 0.9  # the share of weights that dropout leaves


@dataclass(frozen=True)
class Fragment:
    """Attention of one form, with or without its gradient."""

    batch: int
    heads: int
    group: int  # queries' heads per head of keys
    queries: int
    keys: int
    features: int
    values: int
    is_narrow: bool  # bf16 between f32 inputs and results
    heads_first: bool
    scale: str
    masks: tuple[str, ...]
    fill: float
    bias: str
    softmax: str
    dropout: str
    inputs: str
    has_gradient: bool
    seed: int

    def tensors(self) -> list[np.ndarray]:
        """Query, key, value, the output's gradient, padding, bias, and which weights dropout leaves."""
        random = np.random.default_rng(self.seed)
        b, h, g = self.batch, self.heads, self.group

        def normal(*shape: int) -> np.ndarray:
            return random.standard_normal(shape).astype(np.float32)

        query, key = normal(b, self.queries, h, g, self.features), normal(b, self.keys, h, self.features)
        value, gradient = normal(b, self.keys, h, self.values), normal(b, self.queries, h, g, self.values)
        if self.inputs == "ties":
            key[:, 1:] = key[:, :1]
        elif self.inputs == "large":
            # Products of up to some ten thousands, of both signs.
            query *= 100 / np.sqrt(self.features)
            key *= 100
        elif self.inputs == "zero gradient":
            gradient[:] = 0
        padding = random.random((b, self.keys)) > 0.3
        if random.random() < 0.3:
            padding[0] = False  # rows that are masked everywhere
        bias = normal(*self.bias_shape())
        kept = random.random((b, h, g, self.queries, self.keys)) < KEPT
        return [query, key, value, gradient, padding, bias, kept]

    def bias_shape(self) -> tuple[int, ...]:
        """Along the heads and pairs, along the pairs, or along the keys of each batch."""
        return {
            "heads": (self.heads, self.queries, self.keys),
            "pairs": (self.queries, self.keys),
            "keys": (self.batch, self.keys),
        }.get(self.bias, ())

    def without_some(self, weights: jax.Array, kept: jax.Array) -> jax.Array:
        """Dropout, as it is written in several ways."""
        if self.dropout == "none":
            return weights
        if self.dropout == "shared":
            kept = jnp.broadcast_to(kept[:, :1], weights.shape)
        if self.dropout == "chosen":
            return jax.lax.select(kept, weights / KEPT, jnp.zeros_like(weights))
        if self.dropout == "masked":
            return kept * weights / KEPT
        return weights * (kept.astype(weights.dtype) / KEPT)

    def attention(
        self, query: jax.Array, key: jax.Array, value: jax.Array, padding: jax.Array, bias: jax.Array, left: jax.Array
    ) -> jax.Array:
        """The output, in the layout of the query."""
        factor = self.features**-0.5
        if self.is_narrow:
            query, key, value = (x.astype(jnp.bfloat16) for x in (query, key, value))
        if self.scale == "query":
            query = query * jnp.asarray(factor, query.dtype)
        at_least_single = jnp.promote_types(query.dtype, jnp.float32)  # f64 where an exact result is asked for
        if self.heads_first:
            query, key, value = jnp.moveaxis(query, 1, 3), jnp.moveaxis(key, 1, 2), jnp.moveaxis(value, 1, 2)
            scores = jnp.einsum("bhgqd,bhkd->bhgqk", query, key, preferred_element_type=at_least_single)
        else:
            scores = jnp.einsum("bqhgd,bkhd->bhgqk", query, key, preferred_element_type=at_least_single)
        if self.scale == "factor":
            scores = scores * factor
        elif self.scale == "divisor":
            scores = scores / (1 / factor)
        if self.bias != "none":
            where = {"heads": (None, slice(None), None), "pairs": (None, None, None), "keys": (slice(None), None, None, None)}
            scores = scores + bias[where[self.bias]]
        kept = None
        for mask in self.masks:
            if mask == "causal":
                one = jnp.tril(jnp.ones((self.queries, self.keys), bool))
            elif mask == "counted":
                one = jnp.arange(self.queries)[:, None] >= jnp.arange(self.keys)[None, :]
            else:
                one = padding[:, None, None, None, :]
            kept = one if kept is None else kept & one
        if kept is not None:
            scores = jnp.where(kept, scores, self.fill)
        if self.softmax == "library":
            weights = jax.nn.softmax(scores, axis=-1)
        else:
            weights = jnp.exp(scores - jax.lax.stop_gradient(scores.max(-1, keepdims=True)))
            weights = weights / weights.sum(-1, keepdims=True)
        weights = self.without_some(weights, left).astype(value.dtype)
        if self.heads_first:
            output = jnp.moveaxis(jnp.einsum("bhgqk,bhkv->bhgqv", weights, value), 3, 1)
        else:
            output = jnp.einsum("bhgqk,bkhv->bqhgv", weights, value)
        return output.astype(at_least_single)

    def run(
        self,
        query: jax.Array,
        key: jax.Array,
        value: jax.Array,
        gradient: jax.Array,
        padding: jax.Array,
        bias: jax.Array,
        left: jax.Array,
    ) -> list[jax.Array]:
        """Results of the step: the output, and the gradients of query, key and value."""
        output, back = jax.vjp(lambda *x: self.attention(*x, padding, bias, left), query, key, value)
        return [output, *back(gradient)] if self.has_gradient else [output]

    def tolerance(self, given: list[np.ndarray]) -> float:
        """What results may differ by, relative to the terms they are sums of: scores carry their rounding into exponentials."""
        query, key = given[0], given[1]
        largest = np.linalg.norm(query, axis=-1).max() * np.linalg.norm(key, axis=-1).max()
        largest *= 1 if self.scale == "none" else self.features**-0.5
        # Between 16-bit products, sums in another order change what is rounded next to a tie by a unit.
        return (64 + 8 * largest) * 2.0**-24 + (2.0**-7 if self.is_narrow else 0)


def fragment(seed: int) -> Fragment:
    """The fragment of a number."""
    random = np.random.default_rng(seed)

    def chosen(*options: object) -> object:
        return options[int(random.integers(len(options)))]

    queries = int(random.integers(2, chosen(9, 34, 34, 120)))
    keys = queries if random.random() < 0.6 else int(random.integers(2, chosen(34, 60, 600)))
    is_small = queries * keys < 4000
    inputs = str(chosen(*INPUTS))
    # A generator of its own: further choices would change what a number stands for.
    dropout = np.random.default_rng((seed, 1))
    one = Fragment(
        batch=int(random.integers(1, 4 if is_small else 2)),
        heads=int(random.integers(1, 4 if is_small else 3)),
        group=int(chosen(1, 1, 2, 3)) if is_small else 1,
        queries=queries,
        keys=keys,
        features=int(random.integers(2, 24)),
        values=int(random.integers(2, 24)),
        is_narrow=bool(random.random() < 0.25) and inputs != "large",
        heads_first=bool(random.random() < 0.5),
        scale=str(chosen("none", "factor", "divisor", "query")),
        masks=chosen((), ("causal",), ("counted",), ("padding",), ("causal", "padding")),  # type: ignore[arg-type]
        fill=float(chosen(-1e30, -1e9, -np.inf, np.finfo(np.float32).min)),  # type: ignore[arg-type]
        bias=str(chosen("none", "none", "heads", "pairs", "keys")),
        softmax=str(chosen("library", "library", "written")),
        inputs=inputs,
        has_gradient=bool(random.random() < 0.8),
        dropout="none",
        seed=seed,
    )
    # Of a row that is masked everywhere with -inf, a choice drops what is not a number, a factor leaves it.
    ways = ["factor", "masked", "shared", *(["chosen"] if np.isfinite(one.fill) else [])]
    if dropout.random() < 0.4:
        one = replace(one, dropout=str(dropout.choice(ways)))
    return one


def largest_terms(one: Fragment, given: list[np.ndarray]) -> dict[str, float]:
    """Of each result: what is summed up may cancel."""
    query, key, value, gradient = (float(np.abs(x).max()) for x in given[:4])
    slope = np.linalg.norm(given[3], axis=-1).max() * np.linalg.norm(given[2], axis=-1).max()
    slope *= 1 if one.scale == "none" else one.features**-0.5
    return {"output": value, "query": slope * key, "key": slope * query, "value": gradient}


class Runner:
    """Compiles and runs packs of fragments in a folder."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.tool, self.folder = build / "bin" / "tenon", folder

    def tenon(self, *arguments: object) -> None:
        """Runs the tool, which must succeed."""
        done = subprocess.run([self.tool, *map(str, arguments)], check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"tenon {arguments[0]} ended with {done.returncode}: {done.stderr[-2000:]}")

    def differing(self, first: int, count: int) -> list[str]:
        """What is wrong with the fragments from `first`: not raised, or results that differ from the interpreter's."""
        fragments = [fragment(seed) for seed in range(first, first + count)]
        given = [one.tensors() for one in fragments]

        def step(*arguments: list[jax.Array]) -> list[list[jax.Array]]:
            return [one.run(*tensors) for one, tensors in zip(fragments, arguments, strict=True)]

        source, simplified = self.folder / "step.mlir", self.folder / "simplified.mlir"
        inputs = self.folder / "inputs.safetensors"
        source.write_text(jax.jit(step, keep_unused=True).lower(*given).as_text())
        save_file({f"arg{i}": x for i, x in enumerate(x for tensors in given for x in tensors)}, inputs)
        self.tenon("compile", source, "--compile-to=simplify", "-o", simplified)
        text = simplified.read_text()
        wrong = [f"{first}: exponentials are left"] if "stablehlo.exponential" in text else []
        if text.count("= step.attention ") != count:
            wrong.append(f"{first}: {text.count('= step.attention ')} of {count} are raised")

        results = []
        for name, options in (("compiled", ()), ("interpreted", ("--reference",))):
            outputs = self.folder / f"{name}.safetensors"
            self.tenon("run", source, f"--inputs={inputs}", f"--outputs={outputs}", *options)
            results.append(load_file(outputs))
        index = 0
        for one, tensors in zip(fragments, given, strict=True):
            for which in ("output", "query", "key", "value")[: 4 if one.has_gradient else 1]:
                found, expected = (result[f"result{index}"].astype(np.float64) for result in results)
                index += 1
                if not np.array_equal(np.isnan(found), np.isnan(expected)):
                    wrong.append(f"{one.seed}: {which} is NaN elsewhere, {one}")
                    continue
                apart = np.nanmax(np.abs(found - expected), initial=0)
                allowed = one.tolerance(tensors) * max(np.nanmax(np.abs(expected), initial=0), largest_terms(one, tensors)[which])
                if apart > allowed:
                    wrong.append(f"{one.seed}: {which} is {apart:.3g} apart, {allowed:.3g} allowed, {one}")
        return wrong


def run_range(description: str | None, count: int, differing: Callable[[Runner, list[int]], tuple[int, list[str]]]) -> None:
    """The command of a range of random programs: packs of seeds are judged, which gives how many programs that were and what differs."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--pack", type=int, default=10)
    parser.add_argument("--results", type=Path, help="one line per pack that is done")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    options = parser.parse_args()
    done = set(options.results.read_text().split()) if options.results and options.results.exists() else set()
    failures = judged = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.build, Path(folder))
        for first in range(options.first, options.first + options.count, options.pack):
            if str(first) in done:
                continue
            seeds = range(first, min(first + options.pack, options.first + options.count))
            programs, wrong = differing(runner, list(seeds))
            judged += programs
            failures += len(wrong)
            print("\n".join(wrong) or f"{first} to {seeds[-1]}: {programs} alike", flush=True)
            if options.results and not wrong:
                with options.results.open("a") as file:
                    file.write(f"{first}\n")
    sys.exit(f"{failures} of {judged} differ" if failures else 0)


if __name__ == "__main__":
    run_range(__doc__, 1000, lambda runner, seeds: (len(seeds), runner.differing(seeds[0], len(seeds))))
