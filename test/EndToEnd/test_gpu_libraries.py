"""Matrix products of steps for GPUs as calls of cuBLASLt, by the one of the emulated CUDA driver."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import compare
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import BUILD, IN_BF16, ON_GPU, Steps, compiled, refused, run, succeed
from safetensors.numpy import load_file, save_file
from test_cuda import DRIVER, same_bits, text_of
from test_models import judge

# A plain network, a transformer with a loop over its layers, and one with heads that are batches of two dimensions.
MODELS = ["01_mlp", "04_chargpt", "10_vit_tiny"]


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated driver, and no variable of it but those that a test sets."""
    for name in [name for name in os.environ if name.startswith(("TENON_EMULATED_CUDA_", "TENON_CU", "TENON_ALGORITHM"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TENON_CUDA_DRIVER", str(DRIVER))


def calls_of(file: Path) -> int:
    """How many distinct library calls a file has."""
    found = re.search(r"(\d+) library calls", succeed("inspect", file))
    assert found
    return int(found[1])


@pytest.mark.parametrize("name", MODELS)
def test_model(models: Steps, name: str) -> None:
    """Five steps with products of the library stay as close to the exact values as JAX's."""
    step = models[name]
    file = compiled(compare.source_of(models.folder, name, step.info), *ON_GPU).output
    assert calls_of(file) > 0
    succeed("verify", file)
    judge(compare.compare(BUILD, models.folder, name, program=file), name)


def layer(parameters: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    """A step whose first product is read with its bias alone, and whose second is added to a value."""

    def loss(parameters: dict[str, jax.Array]) -> jax.Array:
        y = x @ parameters["w"] + parameters["b"]
        z = jnp.cumsum(y, axis=0) @ parameters["v"] + jnp.sort(y, axis=0)
        return jnp.mean(jnp.square(jnp.sort(z, axis=0)))

    value, gradients = jax.value_and_grad(loss)(parameters)
    return jax.tree.map(lambda p, g: p - 1e-6 * g, parameters, gradients), value


def layer_of(folder: Path, terms: int) -> tuple[Path, Path]:
    """The text of that step, with sums of so many terms, and values to start from."""
    random = np.random.default_rng(3)
    normal = lambda *shape: np.asarray(random.normal(size=shape), np.float32)  # noqa: E731
    parameters: Any = {"w": normal(terms, 24), "b": normal(24), "v": normal(24, 24)}
    x = normal(40, terms)
    (folder / "step.mlir").write_text(text_of(layer, parameters, x))
    save_file({f"arg{i}": v for i, v in enumerate(jax.tree.leaves((parameters, x)))}, folder / "inputs.safetensors")
    return folder / "step.mlir", folder / "inputs.safetensors"


@pytest.fixture(scope="module")
def biased(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return layer_of(tmp_path_factory.mktemp("layer"), 100)


@pytest.fixture(scope="module")
def long_sum(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """With sums that have a workspace for parts, and do not end with whole tiles."""
    return layer_of(tmp_path_factory.mktemp("long"), 300)


def outputs(file: Path, inputs: Path, scratch: Path, *options: object) -> dict[str, np.ndarray]:
    """The results of two steps."""
    results = scratch / "results.safetensors"
    succeed("run", file, f"--inputs={inputs}", "--steps=2", f"--outputs={results}", *options)
    return load_file(results)


def test_epilogues(biased: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bias and another value are added by calls; where the library declines the bias, the bits are the same."""
    text, inputs = biased
    lowered = compiled(text, *ON_GPU, "--compile-to=lower").output.read_text()
    assert 'epilogue = "bias"' in lowered and 'addend = "none"' in lowered
    assert 'addend = "operand"' in lowered or 'addend = "in_place"' in lowered
    file = compiled(text, *ON_GPU).output
    succeed("verify", file)
    found = {}
    for refuse in ("0", "all"):
        monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_REFUSE", refuse)
        found[refuse] = outputs(file, inputs, tmp_path)
    same_bits(found["0"], found["all"])
    generated = outputs(compiled(text, *ON_GPU, "--no-libraries").output, inputs, tmp_path)
    for name, value in found["0"].items():
        np.testing.assert_allclose(value, generated[name], rtol=1e-5, atol=1e-5 * np.abs(value).max())


SUM = """
module @acc {
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> (tensor<8x16xf32>) {
    %t = stablehlo.tanh %x : tensor<8x16xf32>
    %n = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %r:2 = stablehlo.while(%i = %n, %s = %t) : tensor<i32>, tensor<8x16xf32>
    cond {
      %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %q = stablehlo.tanh %s : tensor<8x16xf32>
      %0 = stablehlo.dot_general %q, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %1 = stablehlo.add %s, %0 : tensor<8x16xf32>
      stablehlo.return %j, %1 : tensor<i32>, tensor<8x16xf32>
    }
    return %r#1 : tensor<8x16xf32>
  }
}
"""


def test_sum_in_place(tmp_path: Path) -> None:
    """A product that a loop adds to what it carries is added where that lies."""
    text, inputs = tmp_path / "sum.mlir", tmp_path / "inputs.safetensors"
    text.write_text(SUM)
    random = np.random.default_rng(8)
    save_file({f"arg{i}": np.asarray(random.normal(size=(n, 16)), np.float32) for i, n in enumerate((8, 16))}, inputs)
    assert 'addend = "in_place"' in compiled(text, *ON_GPU, "--compile-to=lower").output.read_text()
    file = compiled(text, *ON_GPU).output
    succeed("verify", file)
    expected = outputs(compiled(text, "--no-libraries").output, inputs, tmp_path)["result0"]
    np.testing.assert_allclose(outputs(file, inputs, tmp_path)["result0"], expected, rtol=1e-4, atol=1e-4)


def test_forgetful_algorithm(biased: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An algorithm that forgets the last terms of a sum is found by a product of ones, and another one runs."""
    text, inputs = biased
    file = compiled(text, *ON_GPU).output
    plain = outputs(file, inputs, tmp_path)
    monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_TAILS", "dropped")
    same_bits(plain, outputs(file, inputs, tmp_path))


def test_no_right_algorithm(biased: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A library whose algorithms are all wrong runs nothing."""
    text, inputs = biased
    monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_TAILS", "all")
    said = refused(1, "run", compiled(text, *ON_GPU).output, f"--inputs={inputs}")
    assert "cuBLASLt 13.1.0 gives a wrong result for a matrix multiplication" in said and "--no-libraries" in said


def differs(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return any(a[name].tobytes() != b[name].tobytes() for name in a)


def test_algorithms_are_remembered(long_sum: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fastest algorithm is taken with --tune, and runs from then on, with the same bits, until it is wrong."""
    text, inputs = long_sum
    file, cache = compiled(text, *ON_GPU).output, tmp_path / "cache"
    remember = f"--algorithm-cache={cache}"
    plain = outputs(file, inputs, tmp_path)
    assert not cache.exists()
    same_bits(plain, outputs(file, inputs, tmp_path, remember))
    known = len(list(cache.iterdir()))
    assert known >= 4 and all(each.suffix == ".algorithm" for each in cache.iterdir())
    # One that was not timed is chosen anew. Long sums are cut into two parts by the algorithm that is offered first.
    for seed in range(1, 9):
        monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_TIMES", str(seed))
        tuned = outputs(file, inputs, tmp_path, "--algorithm-cache=none", "--tune")
        if differs(plain, tuned):
            break
    assert differs(plain, tuned)
    said = run("run", file, f"--inputs={inputs}", remember, "--tune").errors
    assert f"{known} algorithms of cuBLASLt were chosen by their times, and 0 were so before" in said
    monkeypatch.delenv("TENON_EMULATED_CUDA_CUBLASLT_TIMES")
    assert (
        f"0 algorithms of cuBLASLt were chosen by their times, and {known} were so before"
        in run("run", file, f"--inputs={inputs}", remember, "--tune").errors
    )
    monkeypatch.setenv("TENON_ALGORITHM_CACHE", str(cache))
    same_bits(tuned, outputs(file, inputs, tmp_path))
    same_bits(plain, outputs(file, inputs, tmp_path, "--algorithm-cache=none"))
    assert len(list(cache.iterdir())) == known
    # Another version of the library is another key.
    monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_VERSION", "130200")
    same_bits(plain, outputs(file, inputs, tmp_path))
    monkeypatch.delenv("TENON_EMULATED_CUDA_CUBLASLT_VERSION")
    assert len(list(cache.iterdir())) == 2 * known
    # What is damaged is made again.
    for each in cache.iterdir():
        each.write_bytes(each.read_bytes()[:-1])
    same_bits(plain, outputs(file, inputs, tmp_path))
    # What was right and is not any more is replaced.
    monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_TAILS", "parts")
    whole = outputs(file, inputs, tmp_path)
    assert differs(plain, whole)
    monkeypatch.delenv("TENON_EMULATED_CUDA_CUBLASLT_TAILS")
    same_bits(whole, outputs(file, inputs, tmp_path))


def test_processes_share_what_is_remembered(long_sum: tuple[Path, Path], tmp_path: Path) -> None:
    """Several that choose at once leave whole files, and none of their own; a folder that cannot be one is no error."""
    text, inputs = long_sum
    file, cache = compiled(text, *ON_GPU).output, tmp_path / "cache"
    command = [BUILD / "bin/tenon", "run", file, f"--inputs={inputs}", f"--algorithm-cache={cache}", "--tune"]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [each.wait() for each in running] == [0] * 4
    assert all(each.suffix == ".algorithm" and each.stat().st_size == 104 for each in cache.iterdir())
    (tmp_path / "file").write_text("")
    succeed("run", file, f"--inputs={inputs}", f"--algorithm-cache={tmp_path / 'file'}")


def test_tune_is_for_gpus(biased: tuple[Path, Path]) -> None:
    text, inputs = biased
    assert "what is tuned are calls of cuBLASLt" in refused(1, "run", compiled(text).output, f"--inputs={inputs}", "--tune")


@pytest.mark.parametrize("streams", ["early", "late"])
def test_steps_run_ahead(biased: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streams: str) -> None:
    """Steps that are given batches and read while the next one runs leave the same bits as one after the other."""
    text, inputs = biased
    file, values = compiled(text, *ON_GPU).output, load_file(inputs)
    random = np.random.default_rng(5)
    save_file({name: value for name, value in values.items() if name != "arg3"}, tmp_path / "state.safetensors")
    save_file({"arg3": np.asarray(random.normal(size=(7, 40, 100)), np.float32)}, tmp_path / "batches.safetensors")
    monkeypatch.setenv("TENON_EMULATED_CUDA_STREAMS", streams)
    found = []
    for options in ((), ("--stop-if=loss>1e30",), ("--save-every=3",)):
        metrics, state = tmp_path / "metrics.csv", tmp_path / "after.safetensors"
        given = (f"--state={tmp_path / 'state.safetensors'}", f"--batches={tmp_path / 'batches.safetensors'}", f"--metrics={metrics}")
        metrics.unlink(missing_ok=True)
        succeed("run", file, *given, "--steps=7", f"--save={state}", *options)
        found.append((metrics.read_text(), load_file(state)))
    assert len(found[0][0].splitlines()) == 8
    for text, state in found[1:]:
        assert text == found[0][0]
        same_bits(state, found[0][1])


def test_tf32(biased: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of f32 multiply 11 bits of their operands with the policy, and nothing else is rounded."""
    text, inputs = biased
    lowered = compiled(text, *ON_GPU, "--precision=tf32", "--compile-to=lower").output
    assert 'factors = "tf32"' in lowered.read_text() and 'precision = "tf32"' in lowered.read_text()
    file = compiled(text, *ON_GPU, "--precision=tf32").output
    succeed("verify", file)
    assert compiled(lowered, *ON_GPU, "--compile-from=lower").output.read_bytes() == file.read_bytes()
    given = ("compile", lowered, *ON_GPU, "--compile-from=lower", "-o", tmp_path / "x")
    assert "--precision=tf32" in refused(1, *given, "--precision=f32")
    found = {}
    for refuse in ("0", "all"):  # also where the bias is a product of its own
        monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_REFUSE", refuse)
        found[refuse] = outputs(file, inputs, tmp_path)
    same_bits(found["0"], found["all"])
    wide = outputs(compiled(text, *ON_GPU).output, inputs, tmp_path)
    errors = [np.linalg.norm(found["0"][name] - value) / np.linalg.norm(value) for name, value in wide.items()]
    assert 1e-6 < max(errors) < 2**-10, errors


def test_tf32_is_for_gpus(biased: tuple[Path, Path], tmp_path: Path) -> None:
    """Other targets refuse the policy, and products of bf16 have nothing to round; what it means is listed."""
    text, _ = biased
    for target in ("cpu", "stablehlo"):
        out = tmp_path / ("x.mlir" if target == "stablehlo" else "x")
        said = refused(1, "compile", text, f"--target={target}", "--precision=tf32", "-o", out)
        assert f"which the target {target} does not have" in said
    listed = succeed("inspect", text, "--precision=tf32")
    assert "policy: tf32" in listed and len(re.findall(r"^ *tf32 .*product", listed, re.MULTILINE)) >= 4
    generated = [
        compiled(text, *ON_GPU, "--no-libraries", *more, "--compile-to=lower").output.read_text() for more in ((), ("--precision=tf32",))
    ]
    assert generated[0] == re.sub(r'precision = "tf32", |, precision = "tf32"', "", generated[1])


def test_narrow_products(steps: Steps, tmp_path: Path) -> None:
    """Products of bf16 are as far from those of f32 as a processor's."""
    step, policy = steps["01_mlp"], tmp_path / "policy.json"
    policy.write_text(json.dumps({"operations": {"stablehlo.dot_general": "bf16"}}))
    options = ("--precision=bf16", f"--precision-policy={policy}")
    lowered = compiled(step.text, *ON_GPU, *options, "--compile-to=lower").output.read_text()
    assert re.search(r'call = "gpu_matmul"[^}]*lhs = "bf16"', lowered)
    exact = outputs(step.compiled, step.inputs, tmp_path)
    errors = []
    for target in (ON_GPU, IN_BF16 or ["--target=cpu"]):
        found = outputs(compiled(step.text, *target, *options).output, step.inputs, tmp_path)
        floats = [name for name, value in exact.items() if value.dtype == np.float32]
        errors.append([np.linalg.norm(found[name] - exact[name]) / np.linalg.norm(exact[name]) for name in floats])
    gpu, cpu = np.array(errors)
    assert cpu.max() > 1e-4
    # A bias's gradient that the library adds up has 16 bits, as that of the weights.
    assert (gpu <= 2 * cpu + 4e-3).all(), (gpu, cpu)


def test_rows_of_whole_accesses(steps: Steps, tmp_path: Path) -> None:
    """A vocabulary of 503 that is computed as 512 gives the same losses and gradients."""
    step, policy = steps["05_gpt2_124m"], tmp_path / "policy.json"
    policy.write_text(json.dumps({"operations": {"stablehlo.dot_general": "bf16"}}))
    plain = compiled(step.text, "--precision=bf16", f"--precision-policy={policy}", *IN_BF16, "--compile-to=precision").output
    padded = tmp_path / "padded.mlir"
    pipeline = "builtin.module(func.func(fusion-pad-products{always=true}))"
    subprocess.run([BUILD / "bin/tenon-opt", f"--pass-pipeline={pipeline}", plain, "-o", padded], check=True, capture_output=True)
    text = padded.read_text()
    # The logits, and the gradient of the embedding; nothing is multiplied in the old length any more.
    assert "tensor<2x16x512xbf16>" in text and "tensor<512x48xbf16>" in text
    assert not re.search(r"dot_general[^\n]*503", text)
    found = [step.outputs(tmp_path, program=compiled(each, "--compile-from=precision").output) for each in (plain, padded)]
    for name, value in found[0].items():
        # Sums along the rows have another order.
        np.testing.assert_allclose(found[1][name], value, rtol=1e-5, atol=1e-5 * np.abs(value).max(initial=0), err_msg=name)


def test_without_the_library(biased: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing, and what to do; a file without calls needs no library."""
    text, inputs = biased
    file = compiled(text, *ON_GPU).output
    outcome = run("run", file, f"--inputs={inputs}", "--cublaslt=/nowhere/libcublasLt.so.13")
    assert outcome.code == 1
    assert "calls of cuBLASLt 13, which cannot be called here: /nowhere/libcublasLt.so.13: cannot open" in outcome.errors
    assert "with --no-libraries" in outcome.errors
    monkeypatch.setenv("TENON_CUBLASLT", str(BUILD / "lib" / "libtenon-runtime.so"))
    outcome = run("run", file, f"--inputs={inputs}")
    assert outcome.code == 1 and "lacks cublasLtCreate, cublasLtDestroy" in outcome.errors
    succeed("run", compiled(text, *ON_GPU, "--no-libraries").output, f"--inputs={inputs}")


def test_another_version(biased: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of another major version has another interface."""
    text, inputs = biased
    monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_VERSION", "120805")
    outcome = run("run", compiled(text, *ON_GPU).output, f"--inputs={inputs}")
    assert outcome.code == 1 and "libtenon-emulated-cuda.so is version 12.8.5, expected 13.x" in outcome.errors


def test_edited_call(biased: tuple[Path, Path], tmp_path: Path) -> None:
    """A description that is not that of its operations is refused."""
    text, _ = biased
    grouped = compiled(text, *ON_GPU, "--compile-to=group").output.read_text()
    assert "k = 100 : i64" in grouped
    edited = tmp_path / "edited.mlir"
    edited.write_text(grouped.replace("k = 100 : i64", "k = 96 : i64", 1))
    outcome = run("compile", edited, "--compile-from=group", *ON_GPU, "-o", tmp_path / "out.tenon")
    assert outcome.code == 1 and "but its operations need k = 100" in outcome.errors


def test_budget(biased: tuple[Path, Path], tmp_path: Path) -> None:
    """Plans with and without a budget hold the workspaces of calls, and give the same bits."""
    text, inputs = biased
    whole = compiled(text, *ON_GPU).output
    small = compiled(text, *ON_GPU, "--memory-budget=1MiB").output
    succeed("verify", small)
    same_bits(outputs(whole, inputs, tmp_path), outputs(small, inputs, tmp_path))
