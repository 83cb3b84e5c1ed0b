"""Attention: what JAX exports is raised, and the operation agrees with f64 for every layout, mask and length, to the bit on all targets."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import conftest
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from conftest import PROCESSOR, succeed
from safetensors.numpy import load_file, save_file

OBJDUMP = "/usr/lib/llvm-22/bin/llvm-objdump"


@dataclass(frozen=True)
class Problem:
    """Extents of one attention operation in the layout that its kernels like least: queries and keys apart, heads in between."""

    queries: int
    keys: int
    features: int
    values: int
    batch: int = 1
    heads: int = 2
    group: int = 1
    causal: bool = False
    bias: bool = False
    mask: bool = False
    factor: bool = False
    scale: float = 0.17
    fill: float = -1e9
    is_narrow: bool = False  # bf16 is multiplied, and results are f32

    def tensors(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Query, key, value, the output's gradient, and what else there is, by name."""
        random = np.random.default_rng(seed)

        def normal(*shape: int) -> np.ndarray:
            return random.standard_normal(shape).astype(np.float32)

        found = {
            "query": normal(self.batch, self.queries, self.heads, self.group, self.features),
            "key": normal(self.batch, self.keys, self.heads, self.features),
            "value": normal(self.batch, self.keys, self.heads, self.values),
            "gradient": normal(self.batch, self.queries, self.heads, self.group, self.values),
        }
        if self.is_narrow:
            found = {name: x.astype(ml_dtypes.bfloat16) for name, x in found.items()}
        if self.bias:
            found["bias"] = normal(self.heads, self.queries, self.keys)
        if self.mask:
            found["mask"] = random.random((self.batch, self.keys)) > 0.3
        if self.factor:
            found["factor"] = np.where(random.random((self.batch, self.heads, self.queries, self.keys)) > 0.1, 1 / 0.9, 0).astype(
                np.float32
            )
        return found

    def text(self) -> str:
        """A module with attention and its gradient."""

        def kind(*shape: int, element: str = "f32") -> str:
            return f"tensor<{'x'.join(map(str, shape))}x{element}>"

        query = kind(self.batch, self.queries, self.heads, self.group, self.features)
        output = kind(self.batch, self.queries, self.heads, self.group, self.values)
        key = kind(self.batch, self.keys, self.heads, self.features)
        value = kind(self.batch, self.keys, self.heads, self.values)
        total = kind(self.batch, self.heads, self.group, self.queries)
        read = {
            name: x.replace("f32", "bf16" if self.is_narrow else "f32") for name, x in zip("qkvg", [query, key, value, output], strict=True)
        }
        arguments = [("query", read["q"]), ("key", read["k"]), ("value", read["v"]), ("gradient", read["g"])]
        beside = ""
        for name, dims, type_ in [
            ("bias", "[1, q, k]", kind(self.heads, self.queries, self.keys)),
            ("mask", "[0, k]", kind(self.batch, self.keys, element="i1")),
            ("factor", "[0, 1, q, k]", kind(self.batch, self.heads, self.queries, self.keys)),
        ]:
            if getattr(self, name):
                arguments.append((name, type_))
                beside += f" {name} %{name} {dims}"
        taken = ", ".join(type_ for name, type_ in arguments if name != "gradient")
        fill = "0xFF800000" if self.fill == -np.inf else f"{self.fill:e}"
        flags = ("causal, " if self.causal else "") + (f"fill = {fill} : f32, " if self.mask else "")
        flags += "rounds_weights, " if self.is_narrow else ""
        of_gradient = flags + ("rounds_slopes, " if self.is_narrow else "")
        dims = "%query [0, q, 1, 2, d], %key [0, k, 1, d], %value [0, k, 1, v]" + beside
        given = ", ".join(f"%{name}: {type_}" for name, type_ in arguments)
        return f"""func.func @main({given}) -> ({output}, {total}, {total}, {query}, {key}, {value}) {{
  %o, %m, %s = step.attention {dims} -> [0, q, 1, 2, v] {{{flags}scale = {self.scale:e} : f32}} : ({taken}) -> ({output}, {total}, {total})
  %dq, %dk, %dv = step.attention_gradient {dims} of %m, %s, %gradient [0, q, 1, 2, v]
    -> [0, q, 1, 2, d], [0, k, 1, d], [0, k, 1, v] {{{of_gradient}scale = {self.scale:e} : f32}}
    : ({taken}, {total}, {total}, {read["g"]}) -> ({query}, {key}, {value})
  return %o, %m, %s, %dq, %dk, %dv : {output}, {total}, {total}, {query}, {key}, {value}
}}
"""

    def exact(self, given: dict[str, np.ndarray]) -> list[np.ndarray]:
        """The results in f64."""
        return self.exact_and_magnitudes(given)[0]

    def exact_and_magnitudes(self, given: dict[str, np.ndarray]) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
        """The results in f64, and the sums of the magnitudes of what each output or gradient adds up, by its place."""
        wide = {name: x.astype(np.float64) if x.dtype != bool else x for name, x in given.items()}
        query, key, value, slope = (wide[name] for name in ("query", "key", "value", "gradient"))
        scores = self.scale * np.einsum("bqhgd,bkhd->bhgqk", query, key)
        if self.bias:
            scores = scores + wide["bias"][None, :, None]
        if self.mask:
            scores = np.where(wide["mask"][:, None, None, None], scores, self.fill)
        if self.causal:
            scores = np.where(np.tril(np.ones((self.queries, self.keys), bool)), scores, -np.inf)
        largest = scores.max(-1, keepdims=True)
        weights = np.exp(scores - largest)
        total = weights.sum(-1, keepdims=True)
        weights /= total
        factor = wide["factor"][:, :, None] if self.factor else 1.0
        along = np.einsum("bqhgv,bkhv->bhgqk", slope, value) * factor
        slopes = weights * (along - (weights * along).sum(-1, keepdims=True))
        if self.mask:
            slopes = np.where(wide["mask"][:, None, None, None], slopes, 0)
        sums = {
            0: ("bhgqk,bkhv->bqhgv", weights * factor, value),
            3: ("bhgqk,bkhd->bqhgd", self.scale * slopes, key),
            4: ("bhgqk,bqhgd->bkhd", self.scale * slopes, query),
            5: ("bhgqk,bqhgv->bkhv", weights * factor, slope),
        }
        results = {place: np.einsum(*sum_) for place, sum_ in sums.items()} | {1: largest[..., 0], 2: total[..., 0]}
        magnitudes = {place: np.einsum(how, np.abs(a), np.abs(b)) for place, (how, a, b) in sums.items()}
        return [results[place] for place in range(6)], magnitudes


def run(folder: Path, problem: Problem, given: dict[str, np.ndarray], *options: str, compiling: tuple[str, ...] = ()) -> list[np.ndarray]:
    """The results of a compiled module, or of an interpreted one with `--reference`."""
    source, inputs, outputs = folder / "attention.mlir", folder / "inputs.safetensors", folder / "outputs.safetensors"
    source.write_text(problem.text())
    save_file({f"arg{i}": x for i, x in enumerate(given.values())}, inputs)
    program = source
    if "--reference" not in options:
        program = folder / "attention.tenon"
        succeed("compile", source, "-o", program, *compiling)
    succeed("run", program, f"--inputs={inputs}", f"--outputs={outputs}", *options)
    results = load_file(outputs)
    return [results[f"result{i}"] for i in range(6)]


def close(found: list[np.ndarray], exact: list[np.ndarray], units: float = 32) -> None:
    """Holds results against exact ones, in units in the last place of each result's largest element."""
    for index, (x, y) in enumerate(zip(found, exact, strict=True)):
        assert np.max(np.abs(x - y)) <= units * 2.0**-24 * np.max(np.abs(y)), index


PROBLEMS = {
    "one tile": Problem(8, 16, 16, 16),
    "tails in every dimension": Problem(37, 21, 20, 12, bias=True, mask=True, factor=True),
    "one query more than a block": Problem(65, 65, 64, 64, batch=2, heads=3),
    "causal": Problem(64, 64, 32, 32, causal=True),
    "causal with shared keys": Problem(40, 40, 16, 48, batch=2, group=3, causal=True),
    "causal with a tail": Problem(83, 83, 24, 16, heads=1, causal=True, bias=True),
    "more keys than queries": Problem(9, 100, 16, 16, heads=1, causal=True),
    "several blocks of keys": Problem(19, 1100, 16, 24, heads=1, mask=True, factor=True),
    "causal over several blocks": Problem(530, 530, 8, 16, heads=1, causal=True),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_results_are_exact_to_rounding(tmp_path: Path, name: str) -> None:
    problem = PROBLEMS[name]
    given = problem.tensors()
    exact = problem.exact(given)
    found = run(tmp_path, problem, given, "--check-memory")
    close(found, exact)
    if problem.queries * problem.keys < 10000:
        close(run(tmp_path, problem, given, "--reference"), exact)


@pytest.mark.parametrize("name", PROBLEMS)
def test_products_of_bf16(tmp_path: Path, name: str) -> None:
    """What is multiplied is off by half a unit of bf16, on tiles, vectors and in the interpreter; tiles give one set of bits."""
    problem = replace(PROBLEMS[name], is_narrow=True)
    given = problem.tensors()
    exact, magnitudes = problem.exact_and_magnitudes({name: x.astype(np.float32) if x.dtype != bool else x for name, x in given.items()})

    def near(found: list[np.ndarray]) -> None:
        for place, (x, y) in enumerate(zip(found, exact, strict=True)):
            allowed = 2.0**-8 * magnitudes.get(place, 0) + 64 * 2.0**-24 * np.max(np.abs(y))
            assert np.all(np.abs(x - y) <= allowed), place

    near(run(tmp_path, problem, given, compiling=("--cpu=x86-64-v3",)))
    if problem.queries * problem.keys < 10000:
        near(run(tmp_path, problem, given, "--reference"))
    if "amx_bf16" not in PROCESSOR:
        return
    tiles = ("--cpu=x86-64-v4+amxbf16",)
    first = run(tmp_path, problem, given, "--threads=1", "--check-memory", compiling=tiles)
    near(first)
    other = run(tmp_path, problem, given, "--threads=2", compiling=(*tiles, "--no-libraries", "--fuse=false"))
    for a, b in zip(first, other, strict=True):
        assert np.array_equal(a.view(np.uint32), b.view(np.uint32))


@pytest.mark.parametrize("name", ["tails in every dimension", "one query more than a block", "causal with shared keys"])
def test_bits_depend_on_nothing_else(tmp_path: Path, name: str) -> None:
    problem = PROBLEMS[name]
    given = problem.tensors()
    first = run(tmp_path, problem, given, "--threads=1")
    for other in (
        run(tmp_path, problem, given, "--threads=2"),
        run(tmp_path, problem, given, compiling=("--cpu=x86-64-v3",)),
        run(tmp_path, problem, given, compiling=("--cpu=x86-64-v3", "--no-libraries", "--fuse=false")),
    ):
        for a, b in zip(first, other, strict=True):
            assert np.array_equal(a.view(np.uint32), b.view(np.uint32))


@pytest.mark.parametrize(("name", "asks"), [("one query more than a block", True), ("causal over several blocks", False)])
def test_rows_of_the_next_unit_are_asked_for(tmp_path: Path, name: str, asks: bool) -> None:
    """A short unit asks for the lines that the next one reads; one of several blocks takes long anyway."""
    source, program, kernels = (tmp_path / file for file in ("attention.mlir", "attention.tenon", "kernels.so"))
    source.write_text(PROBLEMS[name].text())
    succeed("compile", source, "-o", program, "--cpu=x86-64-v3")
    content = program.read_bytes()
    kernels.write_bytes(content[content.index(b"\x7fELF") :])
    code = subprocess.run([OBJDUMP, "-d", kernels], capture_output=True, text=True, check=True).stdout
    assert "vfmadd" in code
    assert ("prefetch" in code) == asks


def test_edges(tmp_path: Path) -> None:
    """Rows masked everywhere weigh keys alike, or are NaN; ties share; large scores neither overflow nor vanish."""
    problem = Problem(16, 24, 16, 16, heads=1, mask=True, scale=1.0)
    given = problem.tensors()
    given["mask"][:] = False
    output = run(tmp_path, problem, given)[0]
    alike = np.broadcast_to(given["value"].astype(np.float64).mean(1)[:, None, :, None], output.shape)
    assert np.allclose(output, alike, rtol=1e-5, atol=1e-6)

    nothing = Problem(16, 24, 16, 16, heads=1, mask=True, fill=-np.inf)
    assert np.isnan(run(tmp_path, nothing, given)[0]).all()

    plain = Problem(16, 24, 16, 16, heads=1, scale=1.0)
    tied = plain.tensors()
    tied["key"][:] = tied["key"][:, :1]
    close(run(tmp_path, plain, tied)[:3], plain.exact(tied)[:3])

    large = plain.tensors()
    large["query"] *= 50
    large["key"] *= 50
    exact = plain.exact(large)
    assert np.max(np.abs(exact[1])) > 1e4
    found = run(tmp_path, plain, large)
    # Scores of ten thousand carry their own rounding into the exponential.
    assert np.max(np.abs(found[0] - exact[0])) < 0.02
    assert all(np.isfinite(x).all() for x in found)


def nearly_one_hot(copies: int) -> tuple[Problem, dict[str, np.ndarray]]:
    """Attention in which each query gives nearly all weight to a key of its own, of which there are some copies."""
    keys = 16 * copies
    problem = Problem(keys, keys, 16, 12, heads=1, scale=1.0)
    given = problem.tensors()
    own = 4 * np.eye(16, dtype=np.float32)
    given["key"] = np.tile(own + 0.02 * given["key"][0, :16, 0], (copies, 1))[None, :, None]
    given["query"] = np.tile(0.625 * own + 0.02 * given["query"][0, :16, 0, 0], (copies, 1))[None, :, None, None]
    given["value"] = np.tile(given["value"][0, :16, 0], (copies, 1))[None, :, None]
    return problem, given


@pytest.mark.parametrize("copies", [1, 2])
def test_nearly_one_hot_rows(tmp_path: Path, copies: int) -> None:
    """What the softmax lets through of a gradient is exact to rounding also where it is a ten thousandth of it, to the bit on a GPU."""
    problem, given = nearly_one_hot(copies)
    exact = problem.exact(given)
    weights = 1 / exact[2]
    assert np.max(np.abs(weights * copies - 1)) < 2e-3
    found = run(tmp_path, problem, given)
    # Scores of 10 carry ten roundings into the weights of the other keys.
    close(found, exact, units=100)
    close(run(tmp_path, problem, given, "--reference"), exact, units=100)
    driver = conftest.BUILD / "lib" / "libtenon-emulated-cuda.so"
    emulated = run(tmp_path, problem, given, "--device=cuda:0", f"--cuda-driver={driver}", compiling=conftest.ON_GPU)
    for a, b in zip(found, emulated, strict=True):
        assert np.array_equal(a.view(np.uint32), b.view(np.uint32))


def gradients(positions: int, heads: int, features: int, element: str, joined: bool) -> str:
    """The gradients of attention whose queries, keys and values are parts of one tensor, as parts or as one tensor."""
    shape, row = f"2x{positions}x{heads}x{features}", f"2x{positions}x{heads * features}"
    dims, total = "%q [0, q, 1, d], %k [0, k, 1, d], %v [0, k, 1, v]", f"tensor<2x{heads}x{positions}xf32>"
    lines, wide = [], f"tensor<{shape}xf32>"
    for name in "qkvg":
        lines.append(f"%{name} = stablehlo.convert %{name}n : (tensor<{shape}x{element}>) -> {wide}")
    lines += [
        f"%o, %m, %s = step.attention {dims} -> [0, q, 1, v] {{causal, scale = 0.25 : f32}} : "
        f"({wide}, {wide}, {wide}) -> ({wide}, {total}, {total})",
        f"%dq, %dk, %dv = step.attention_gradient {dims} of %m, %s, %g [0, q, 1, v] -> [0, q, 1, d], [0, k, 1, d], [0, k, 1, v] "
        f"{{causal, scale = 0.25 : f32}} : ({wide}, {wide}, {wide}, {total}, {total}, {wide}) -> ({wide}, {wide}, {wide})",
    ]
    for name in "qkv":
        lines.append(f"%n{name} = stablehlo.convert %d{name} : ({wide}) -> tensor<{shape}x{element}>")
        lines.append(f"%r{name} = stablehlo.reshape %n{name} : (tensor<{shape}x{element}>) -> tensor<{row}x{element}>")
    part, whole = f"tensor<{row}x{element}>", f"tensor<2x{positions}x{3 * heads * features}x{element}>"
    if joined:
        lines.append(f"%all = stablehlo.concatenate %rq, %rk, %rv, dim = 2 : ({part}, {part}, {part}) -> {whole}")
        results, types = "%all", whole
    else:
        results, types = "%rq, %rk, %rv", f"{part}, {part}, {part}"
    given = ", ".join(f"%{name}n: tensor<{shape}x{element}>" for name in "qkvg")
    body = "\n  ".join([*lines, f"return {results} : {types}"])
    return f"func.func @main({given}) -> ({types}) {{\n  {body}\n}}\n"


@pytest.mark.parametrize(("target", "element"), [("cpu", "f32"), ("cpu", "bf16"), ("sm_90", "f32"), ("sm_90", "bf16")])
@pytest.mark.parametrize(("positions", "heads", "features"), [(37, 3, 16), (64, 2, 64)])
def test_gradients_are_stored_where_they_are_joined(
    tmp_path: Path, target: str, element: str, positions: int, heads: int, features: int
) -> None:
    """The bits of gradients that are joined behind are those of parts, and no kernel is left that joins them."""
    random = np.random.default_rng(3)
    shape, kind = (2, positions, heads, features), np.float32 if element == "f32" else ml_dtypes.bfloat16
    save_file({f"arg{i}": random.normal(size=shape).astype(kind) for i in range(4)}, tmp_path / "inputs.safetensors")
    found = []
    for joined in (False, True):
        source, program = tmp_path / "step.mlir", tmp_path / "step.tenon"
        outputs, report = tmp_path / "outputs.safetensors", tmp_path / "report.json"
        source.write_text(gradients(positions, heads, features, element, joined))
        succeed("compile", source, "-o", program, *(conftest.ON_GPU if target == "sm_90" else ()), f"--report={report}")
        driver = [] if target == "cpu" else [f"--cuda-driver={conftest.BUILD / 'lib' / 'libtenon-emulated-cuda.so'}"]
        succeed("run", program, f"--inputs={tmp_path / 'inputs.safetensors'}", f"--outputs={outputs}", *driver)
        results = load_file(outputs)
        found.append([results[f"result{i}"] for i in range(1 if joined else 3)])
        stages = {stage["stage"]: stage for stage in json.loads(report.read_text())["stages"]}
        assert [group["root"] for group in stages["plan"]["groups"]] == ["attention", "attention_gradient"]
    parts, whole = np.concatenate(found[0], axis=2), found[1][0]
    bits = np.uint32 if element == "f32" else np.uint16
    assert np.array_equal(parts.view(bits), whole.view(bits))
    assert np.all(np.any(parts.astype(np.float32) != 0, axis=2))


def softmax(scores: jax.Array) -> jax.Array:
    return jax.nn.softmax(scores, axis=-1)


def exported(attention: Callable[..., jax.Array], shared: int) -> str:
    """A step whose loss goes through attention, with its gradients."""

    def step(query: jax.Array, key: jax.Array, value: jax.Array) -> tuple[jax.Array, ...]:
        def loss(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
            return jnp.sum(jnp.sin(attention(query, key, value)))

        return jax.grad(loss, argnums=(0, 1, 2))(query, key, value)

    keys = np.zeros((2, 24, 4 // shared, 16), np.float32)
    return jax.jit(step).lower(np.zeros((2, 24, 4, 16), np.float32), keys, keys).as_text()


def heads_last(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / 4.0
    return jnp.einsum("bhqk,bkhd->bqhd", softmax(jnp.where(jnp.tril(jnp.ones((24, 24), bool)), scores, -1e30)), value)


def heads_first(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    query, key, value = (jnp.moveaxis(x, 2, 1) for x in (query, key, value))
    return jnp.moveaxis(softmax(query @ jnp.swapaxes(key, -1, -2) * 0.25) @ value, 1, 2)


def library(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    return jax.nn.dot_product_attention(query, key, value, is_causal=True)


def biased(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    positions = jnp.arange(24, dtype=jnp.float32)
    return jax.nn.dot_product_attention(query, key, value, bias=-jnp.abs(positions[:, None] - positions)[None, None])


RATE = 0.1


def dropped(change: Callable[[jax.Array, jax.Array], jax.Array]) -> Callable[..., jax.Array]:
    """Attention whose weights `change` drops, given booleans of the same shape."""

    def attention(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        weights = softmax(jnp.einsum("bqhd,bkhd->bhqk", query, key) / 4.0)
        # The key follows from the inputs, so that nothing is known when compiling.
        seed = jax.lax.bitcast_convert_type(jax.lax.stop_gradient(query[0, 0, 0, :2]), jnp.uint32)
        kept = jax.random.bernoulli(seed, 1 - RATE, weights.shape)
        return jnp.einsum("bhqk,bkhd->bqhd", change(weights, kept), value)

    return attention


DROPOUTS: dict[str, Callable[[jax.Array, jax.Array], jax.Array]] = {
    # Flax's Dropout, and Keras
    "divided, then chosen": lambda weights, kept: jax.lax.select(kept, weights / (1 - RATE), jnp.zeros_like(weights)),
    # Flax's dot_product_attention
    "times a factor": lambda weights, kept: weights * (kept.astype(weights.dtype) / jnp.asarray(1 - RATE, weights.dtype)),
    "times one factor for all heads": lambda weights, kept: (
        weights * (jnp.broadcast_to(kept[:1, :1], weights.shape).astype(weights.dtype) / (1 - RATE))
    ),
    # Haiku
    "masked, then divided": lambda weights, kept: kept * weights / (1 - RATE),
    # PyTorch's native_dropout through torchax
    "masked, then multiplied": lambda weights, kept: kept * weights * (1.0 / (1.0 - RATE)),
    "without a factor": lambda weights, kept: jnp.where(kept, weights, 0),
}

WAYS = {
    **{f"dropout {name}": (dropped(change), 1) for name, change in DROPOUTS.items()},
    "heads last": (heads_last, 1),
    "heads first": (heads_first, 1),
    "jax.nn": (library, 1),
    "shared keys": (library, 2),
    "bias": (biased, 1),
}


@pytest.mark.parametrize("way", WAYS)
def test_exports_are_raised(tmp_path: Path, way: str) -> None:
    attention, shared = WAYS[way]
    source, simplified = tmp_path / "step.mlir", tmp_path / "simplified.mlir"
    source.write_text(exported(attention, shared))
    succeed("compile", source, "--compile-to=simplify", "-o", simplified)
    text = simplified.read_text()
    assert "step.attention_gradient" in text
    assert "stablehlo.exponential" not in text
    assert text.count(" factor ") == (2 if "dropout" in way else 0)

    # The compiled step against JAX.
    random = np.random.default_rng(1)
    given = [random.standard_normal((2, 24, heads, 16)).astype(np.float32) for heads in (4, 4 // shared, 4 // shared)]
    save_file({f"arg{i}": x for i, x in enumerate(given)}, tmp_path / "inputs.safetensors")
    succeed("run", source, f"--inputs={tmp_path / 'inputs.safetensors'}", f"--outputs={tmp_path / 'outputs.safetensors'}")
    results = load_file(tmp_path / "outputs.safetensors")
    expected = jax.grad(lambda *x: jnp.sum(jnp.sin(attention(*x))), argnums=(0, 1, 2))(*given)
    for index, exact in enumerate(expected):
        assert np.allclose(results[f"result{index}"], exact, rtol=1e-4, atol=2e-6 * np.max(np.abs(exact))), index


def test_near_misses_are_named(tmp_path: Path) -> None:
    def capped(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        scores = jnp.tanh(jnp.einsum("bqhd,bkhd->bhqk", query, key))
        return jnp.einsum("bhqk,bkhd->bqhd", softmax(scores), value)

    def masked_twice(weights: jax.Array, kept: jax.Array) -> jax.Array:
        return jnp.where(kept, jnp.where(kept[::-1], weights, 0), 0)

    def weighed(weights: jax.Array, kept: jax.Array) -> jax.Array:
        return weights * jnp.sin(kept.astype(weights.dtype))

    misses = {
        "its scores come from stablehlo.tanh": capped,
        "dropout on its weights has two masks": dropped(masked_twice),
        "its weights are changed by stablehlo.multiply before they are multiplied": dropped(weighed),
        "its weights are scaled, but by no mask": dropped(lambda weights, kept: weights * 1.25),
    }
    source, simplified = tmp_path / "step.mlir", tmp_path / "simplified.mlir"
    for why, attention in misses.items():
        source.write_text(exported(attention, 1))
        outcome = conftest.run("compile", source, "--compile-to=simplify", "--remarks=simplify-raise-attention", "-o", simplified)
        assert why in outcome.out + outcome.errors
        assert "step.attention" not in simplified.read_text()


def test_dropout_keeps_a_byte_per_weight(tmp_path: Path) -> None:
    """What kernels read of dropout is its booleans; neither scores nor factors are in memory."""
    source, grouped = tmp_path / "step.mlir", tmp_path / "grouped.mlir"
    source.write_text(exported(dropped(DROPOUTS["times a factor"]), 1))
    succeed("compile", source, "--compile-to=group", "-o", grouped)
    headers = [line for line in grouped.read_text().splitlines() if "step.group" in line]
    assert sum("2x4x24x24xi1" in line for line in headers) == 3  # written, and read by both kernels
    assert not any("2x4x24x24xf32" in line for line in headers)


def in_16_bits(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Rounds weights, the gradients of weights and of scores, and all results to bf16."""
    query, key, value = (x.astype(jnp.bfloat16) for x in (query, key, value))
    return jax.nn.dot_product_attention(query, key, value, is_causal=True, scale=0.3).astype(jnp.float32)


def test_roundings_are_those_of_the_program(tmp_path: Path) -> None:
    """A step that is not raised rounds at the same places, so that what is left is one unit of bf16 where f32 sums lie near a tie."""
    source, simplified = tmp_path / "step.mlir", tmp_path / "simplified.mlir"
    source.write_text(exported(in_16_bits, 2))
    succeed("compile", source, "--compile-to=simplify", "-o", simplified)
    text = simplified.read_text()
    assert "rounds_slopes, rounds_weight_gradients, rounds_weights" in text
    assert "stablehlo.exponential" not in text

    random = np.random.default_rng(2)
    given = [random.standard_normal((2, 24, heads, 16)).astype(np.float32) for heads in (4, 2, 2)]
    save_file({f"arg{i}": x for i, x in enumerate(given)}, tmp_path / "inputs.safetensors")
    results = []
    for options in ([], ["--reference"]):
        succeed("run", source, f"--inputs={tmp_path / 'inputs.safetensors'}", f"--outputs={tmp_path / 'outputs.safetensors'}", *options)
        results.append(load_file(tmp_path / "outputs.safetensors"))
    for name in ("result0", "result1", "result2"):
        compiled, interpreted = (result[name] for result in results)
        assert np.mean(compiled == interpreted) > 0.9, name
        assert np.max(np.abs(compiled - interpreted)) <= 2.0**-7 * np.max(np.abs(interpreted)), name
