"""Decompositions of LAPACK in steps for GPUs: the host runs them, between copies, with the bits that they have on processors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import mpi
import numpy as np
import pytest
from conftest import BUILD, ON_GPU, Outcome, refused, run, smallest, succeed
from jax import lax
from safetensors.numpy import load_file, save_file

DRIVER = BUILD / "lib" / "libtenon-emulated-cuda.so"

# Two matrices of each type. Complex ones are there as two of real numbers, since files of tensors have no c128.
STATE = {"f32": (2, 6, 6), "f64": (2, 5, 5), "c64": (2, 2, 4, 4), "c128": (2, 2, 3, 3)}


def decomposed(x: jax.Array) -> list[jax.Array]:
    """What each routine makes of matrices, without a product, whose order of sums is a library's."""
    transposed = jnp.conj(jnp.swapaxes(x, -1, -2))
    hermitian = x + transposed
    positive = hermitian + 8 * jnp.eye(x.shape[-1], dtype=x.dtype)
    tall = jnp.concatenate([x, 2 * hermitian], axis=-2)
    factor = lax.linalg.cholesky(positive, symmetrize_input=False)
    solved = lax.linalg.triangular_solve(factor, x, left_side=True, lower=True, transpose_a=True)
    q, r = lax.linalg.qr(tall, full_matrices=False)
    u, s, vt = lax.linalg.svd(tall, full_matrices=False)
    vectors, values = lax.linalg.eigh(hermitian, symmetrize_input=False)
    lu, pivots, permutation = lax.linalg.lu(x)
    return [factor, solved, q, r, u, s, vt, vectors, values, lu, pivots, permutation]


def routines(state: dict[str, jax.Array]) -> tuple[dict[str, jax.Array], list[jax.Array]]:
    """Every routine in every type; what comes next is made of what was decomposed."""
    new, results = {}, []
    for name, parts in state.items():
        is_complex = name.startswith("c")
        split = lambda x: jnp.stack([x.real, x.imag]) if jnp.iscomplexobj(x) else x  # noqa: E731
        found = decomposed(lax.complex(*parts) if is_complex else parts)
        factor, solved, q = found[:3]
        new[name] = split(solved * 0.5 + q[..., : solved.shape[-2], :] - factor * 0.25)
        results += map(split, found)
    return new, results


def loops(state: jax.Array, limit: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """A call in each round of a loop that its graph repeats, and of one whose predicate the host reads."""

    def halve(_: int, x: jax.Array) -> jax.Array:
        q, r = lax.linalg.qr(x, full_matrices=False)
        return q + 0.5 * r

    def shrink(carried: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        rounds, x, _ = carried
        s = lax.linalg.svd(x, compute_uv=False)
        return rounds + 1, x * 0.75, s

    x = lax.fori_loop(0, 3, halve, state)
    start = (jnp.int32(0), x, jnp.full((4,), 100, jnp.float32))
    rounds, x, s = lax.while_loop(lambda carried: carried[2][0] > limit, shrink, start)
    return x * 3, (rounds, s)


def stacked(state: jax.Array, batch: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Decompositions of each matrix of a batch, between values that are as large."""
    q, r = lax.linalg.qr(jnp.tanh(batch) * state, full_matrices=False)
    u, s, vt = lax.linalg.svd(q * 2 + jnp.sin(batch), full_matrices=False)
    return state + 0.1 * jnp.mean(q * jnp.cos(batch) + u * s[..., None, :], axis=0), s.sum()


class Compiled:
    """A step with the state as its first argument, compiled for the processor and for GPUs."""

    def __init__(self, folder: Path, step: object, *examples: object) -> None:
        with jax.enable_x64(True):
            traced = jax.jit(step, donate_argnums=0).trace(*examples)
            (folder / "step.mlir").write_text(traced.lower(lowering_platforms=("cpu",)).as_text(debug_info=True))
            save_file({f"arg{i}": np.array(value) for i, value in enumerate(jax.tree.leaves(examples))}, folder / "in.safetensors")
        self.folder = folder
        self.report = folder / "report.json"
        self.cpu, self.gpu = folder / "cpu.tenon", folder / "gpu.tenon"
        succeed("compile", folder / "step.mlir", "-o", self.cpu)
        succeed("compile", folder / "step.mlir", "-o", self.gpu, f"--report={self.report}", *ON_GPU)

    def codegen(self) -> dict:
        """What the report says of the code."""
        return json.loads(self.report.read_text())["stages"][-2]

    def start(self, file: Path, *options: object) -> Outcome:
        """A run of some steps."""
        return run("run", file, f"--inputs={self.folder / 'in.safetensors'}", f"--cuda-driver={DRIVER}", *options)

    def results(self, file: Path, steps: int, *options: object) -> dict[str, np.ndarray]:
        """Results of the last step and the state behind it."""
        results, state = self.folder / "results.safetensors", self.folder / "state.safetensors"
        outcome = self.start(file, f"--steps={steps}", f"--outputs={results}", f"--save={state}", *options)
        assert outcome.code == 0, outcome
        return {**load_file(results), **load_file(state)}


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Every routine in every type."""
    random = np.random.default_rng(20)
    types = {"f32": np.float32, "c64": np.float32}
    state = {name: random.normal(size=shape).astype(types.get(name, np.float64)) for name, shape in STATE.items()}
    return Compiled(tmp_path_factory.mktemp("routines"), routines, state)


@pytest.fixture(scope="module")
def looping(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Calls in loops."""
    x = np.random.default_rng(21).normal(size=(4, 4)).astype(np.float32)
    return Compiled(tmp_path_factory.mktemp("loops"), loops, x, np.float32(0.5))


def same_bits(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    """Equal tensors under equal names."""
    assert one.keys() == other.keys() and one
    for name, value in one.items():
        assert value.dtype == other[name].dtype and value.tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize("streams", ["", "late"])
def test_every_routine_has_the_bits_of_the_processor(every: Compiled, streams: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three steps, one behind the other, also where the GPU does nothing before the process waits."""
    monkeypatch.setenv("TENON_EMULATED_CUDA_STREAMS", streams)
    found = every.results(every.gpu, 3)
    same_bits(found, every.results(every.cpu, 3))
    assert all(np.isfinite(value).all() for value in found.values())


def test_loops_call_in_every_round(looping: Compiled) -> None:
    """Both kinds of loops, in two steps."""
    found = looping.results(looping.gpu, 2)
    same_bits(found, looping.results(looping.cpu, 2))
    assert found["result1"] > 1
    assert [cut["why"].split(":")[0] for cut in looping.codegen()["cuts"]] == ["the host reads the loop's predicate in every round"]


def test_calls_are_reported(every: Compiled, looping: Compiled) -> None:
    """By the compiler and by the file, with the memory that they take on the host; they leave a step one graph."""
    said = every.codegen()
    assert said["cuts"] == []
    calls = [call["call"] for call in said["on_host"]]
    assert {call.split(" of ")[0] for call in calls} == {"potrf", "trsm", "getrf", "geqrf", "orgqr", "gesdd", "syevd"}
    assert {call.split()[-1] for call in calls} == {"f32", "f64", "complex<f32>", "complex<f64>"}
    # Two matrices of 12 x 6 f32 and what gesdd makes of them.
    copied = {call["call"]: call["bytes"] for call in said["on_host"]}
    assert copied["gesdd of 2x12x6x0 f32"] == 2 * 4 * (12 * 6 + 12 * 6 + 6 + 12 * 6 + 6 * 6 + 1)
    text = succeed("inspect", every.gpu)
    assert f"the host runs these calls, in {said['host_bytes']} bytes of its memory that are pinned:\n  LAPACK: " in text
    assert re.findall(r"LAPACK: (.*)", text) and set(re.findall(r"LAPACK: (.*)", text)) == set(calls)
    assert "the host runs" not in succeed("inspect", every.cpu)
    # 3 copies and a call of geqrf, and orgqr's as many, in three rounds.
    assert len(looping.codegen()["on_host"]) == 3


def test_ranks_decompose_their_own_matrices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the smallest budget, on two GPUs as in two threads, and nearly as one processor does with the whole batch."""
    random = np.random.default_rng(22)
    whole = Compiled(tmp_path, stacked, *(random.normal(size=shape).astype(np.float32) for shape in ((24, 16), (8, 24, 16))))
    (tmp_path / "layouts.txt").write_text("arg1 = [data, -, -]\n")
    cut = ("--mesh=data=2", f"--sharding={tmp_path / 'layouts.txt'}")
    gpu, threads = smallest(whole.folder / "step.mlir", *cut, *ON_GPU), smallest(whole.folder / "step.mlir", *cut)
    calls = {call["call"] for call in gpu.stages["codegen"]["on_host"]}
    assert calls == {"geqrf of 4x24x16x0 f32", "orgqr of 4x24x16x16 f32", "gesdd of 4x24x16x0 f32"}
    found = whole.results(threads.output, 2, "--ranks=2")
    monkeypatch.setenv("TENON_CUDA_DRIVER", str(DRIVER))
    monkeypatch.setenv("TENON_EMULATED_CUDA_GPUS", "2")
    outputs = tmp_path / "outputs"
    mpi.succeed(2, gpu.output, f"--inputs={tmp_path / 'in.safetensors'}", "--steps=2", f"--outputs={outputs}")
    same_bits(load_file(outputs), {name: value for name, value in found.items() if name.startswith("result")})
    # Behind the first step singular vectors may have the other sign, as sums are in another order.
    found = whole.results(threads.output, 1, "--ranks=2")
    for name, value in whole.results(whole.cpu, 1).items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("fixture", "argument", "value", "step"),
    [("looping", "arg0", np.nan, 1), ("every", "arg2", np.nan, 1), ("every", "arg2", -9.0, 2)],
    ids=["before a predicate is read", "in a graph", "in the step behind"],
)
def test_what_a_library_refuses_ends_the_step(
    fixture: str, argument: str, value: float, step: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A matrix with a NaN has no singular values: the step ends as on the processor, with the library's words, though a GPU runs on.

    One that is not positive has no factor, which makes NaN of the next state.
    """
    compiled = request.getfixturevalue(fixture)
    given = load_file(compiled.folder / "in.safetensors")
    given[argument][..., 2, 2] = value
    save_file(given, tmp_path / "given.safetensors")
    for file in (compiled.cpu, compiled.gpu):
        for observed in ((), (f"--trace={tmp_path / 'trace.json'}",)):
            outcome = run("run", file, f"--inputs={tmp_path / 'given.safetensors'}", f"--cuda-driver={DRIVER}", "--steps=3", *observed)
            assert outcome.code == 1, outcome
            assert f"{step - 1} of 3 steps are complete" in outcome.errors
            why = rf"step {step} failed in library_call_\d+, gesdd of \w+ f32 \(gesdd\): LAPACK: gesdd refuses its argument 4; the state is"
            assert re.search(why, outcome.errors), outcome.errors


def test_a_machine_without_the_library(every: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading says so in the words of the processor; a file that does not call it loads."""
    (tmp_path / "sum.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"
    )
    succeed("compile", tmp_path / "sum.mlir", "-o", tmp_path / "sum.tenon", *ON_GPU)
    (tmp_path / "liblapack.so.3").write_bytes(b"no library at all, but of that name" * 9)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    for file in (every.cpu, every.gpu):
        outcome = every.start(file)
        assert outcome.code == 1
        why = r"the file calls LAPACK for \w+ of 2x.*, which cannot run here: LAPACK is not here: .*; install the package liblapack3"
        assert re.search(why, outcome.errors), outcome.errors
    save_file({"arg0": np.ones(4, np.float32)}, tmp_path / "ones.safetensors")
    succeed("run", tmp_path / "sum.tenon", f"--inputs={tmp_path / 'ones.safetensors'}", f"--cuda-driver={DRIVER}")


@pytest.mark.parametrize("target", [(), ON_GPU], ids=["cpu", "sm_90"])
def test_what_is_refused(every: Compiled, target: tuple[str, ...], tmp_path: Path) -> None:
    """The same for every target: calls without libraries, and routines that are not offered."""
    out = ("-o", tmp_path / "out.tenon", *target)
    said = refused(4, "compile", every.folder / "step.mlir", "--no-libraries", *out)
    assert "custom call @lapack_spotrf_ffi has no kernel, only a library runs it; leave out --no-libraries" in said
    (tmp_path / "geev.mlir").write_text(
        "func.func @main(%a: tensor<4x4xf32>) -> tensor<4xf32> {\n"
        "  %0:5 = stablehlo.custom_call @lapack_sgeev_ffi(%a) {api_version = 4 : i32} : (tensor<4x4xf32>) ->\n"
        "    (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<i32>)\n"
        "  return %0#0 : tensor<4xf32>\n}\n"
    )
    said = refused(4, "compile", tmp_path / "geev.mlir", *out)
    assert "no native code for 'stablehlo.custom_call' @lapack_sgeev_ffi" in said
