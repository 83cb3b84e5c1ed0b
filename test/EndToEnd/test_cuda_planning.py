"""Budgets and lower precision for GPUs, on the emulated CUDA driver."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import ON_GPU, Compiled, Steps, compiled, refused, smallest, succeed
from safetensors.numpy import load_file, save_file
from test_cuda import DRIVER, same_bits, text_of, within_twice_the_error
from test_precision import deviation, segments

EMULATED = f"--cuda-driver={DRIVER}"


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the emulated driver."""
    for name in [name for name in os.environ if name.startswith(("TENON_EMULATED_CUDA_", "TENON_CUDA_"))]:
        monkeypatch.delenv(name)


def layers(parameters: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """A step of layers whose gradients read what each of them computed."""

    def loss(parameters: list[jax.Array]) -> jax.Array:
        y = x
        for w in parameters:
            y = jnp.tanh(jnp.exp(-jnp.square(y @ w)) * y)
        return jnp.mean(jnp.square(y))

    value, gradients = jax.value_and_grad(loss)(parameters)
    return [w - 0.1 * g for w, g in zip(parameters, gradients, strict=True)], value


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The text of six layers, and values to start from."""
    folder = tmp_path_factory.mktemp("layers")
    random = np.random.default_rng(5)
    values = [np.asarray(random.normal(size=shape), np.float32) for shape in [(16, 16)] * 6 + [(256, 16)]]
    (folder / "step.mlir").write_text(text_of(layers, values[:-1], values[-1]))
    save_file({f"arg{i}": value for i, value in enumerate(values)}, folder / "inputs.safetensors")
    return folder / "step.mlir", folder / "inputs.safetensors"


def run(program: Path, inputs: Path, scratch: Path, *options: object, steps: int = 2) -> dict[str, np.ndarray]:
    """The results of the last step and the state behind it."""
    results, state = scratch / "results.safetensors", scratch / "state.safetensors"
    succeed("run", program, f"--inputs={inputs}", f"--steps={steps}", f"--outputs={results}", f"--save={state}", *options)
    return load_file(results) | load_file(state)


def budgeted(text: Path, inputs: Path, scratch: Path) -> tuple[int, int]:
    """Bytes without a budget and with the smallest, where the plan is proved and all results have equal bits."""
    whole, least = compiled(text, *ON_GPU).output, smallest(text, *ON_GPU)
    small = least.output
    assert "the budget" in succeed("verify", small)
    same_bits(run(whole, inputs, scratch, EMULATED), run(small, inputs, scratch, EMULATED))
    sizes = [sum(segment["bytes"] for segment in segments(program)) for program in (whole, small)]
    assert sizes[1] <= least.plan["budget"]
    return sizes[0], sizes[1]


def test_smallest_budget_of_a_model(steps: Steps, tmp_path: Path) -> None:
    """Two steps of a plain network."""
    step = steps["01_mlp"]
    whole, least = budgeted(step.text, step.inputs, tmp_path)
    assert least <= whole


def test_smallest_budget_recomputes(deep: tuple[Path, Path], tmp_path: Path) -> None:
    """A step with much to compute again needs less, and says so."""
    whole, least = budgeted(*deep, tmp_path)
    assert least < 0.8 * whole
    assert "recomputes" in smallest(deep[0], *ON_GPU).outcome.out


def test_frontier_without_a_gpu(deep: tuple[Path, Path]) -> None:
    """Plans for a GPU are priced by its published rates, which are not those of a processor."""
    text, _ = deep
    said = {target: succeed("plan", text, "--frontier=3", f"--target={target}") for target in ("sm_90", "sm_80", "cpu")}
    assert "smallest budget" in said["sm_90"]
    assert len(set(said.values())) == 3
    assert compiled(text, *ON_GPU).stages["group"]["machine"] == "built-in H100 SXM"
    assert "expected cpu, or GPUs: unknown GPU architecture 'sm_1'" in refused(2, "plan", text, "--frontier=3", "--target=sm_1")
    assert "leave out --target" in refused(2, "plan", text, "--error", "--target=sm_90")


def narrow_products(folder: Path, precision: str, *operations: str) -> list[str]:
    """The options for a precision in which results of these operations are stored narrow however small they are."""
    policy = folder / "policy.json"
    policy.write_text(json.dumps({"operations": {f"stablehlo.{each}": precision.removesuffix("-state") for each in operations}}))
    return [*ON_GPU, "--no-libraries", f"--precision={precision}", f"--precision-policy={policy}"]


def lowered_for_both(text: Path, options: list[str], scratch: Path) -> tuple[Compiled, Path, Path]:
    """A step for GPUs with narrow products; its text with these formats, and that for the processor."""
    gpu, lowered = compiled(text, *options), compiled(text, *options, "--compile-to=precision").output
    assert gpu.stages["precision"]["narrow_products"] > 0, gpu.stages["precision"]["formats"]
    succeed("verify", gpu.output)
    # The formats stand in the text; without what it was written for, it is one for any target.
    source, cpu = scratch / "lowered.mlir", scratch / "cpu.tenon"
    plain, count = re.subn(r', step\.options = \{(?:"[^"]*"|[^"}])*\}', "", lowered.read_text())
    assert count == 1
    source.write_text(plain)
    succeed("compile", source, "--compile-from=precision", "--no-libraries", "-o", cpu)
    return gpu, source, cpu


@pytest.mark.parametrize(
    ("name", "precision"),
    [("01_mlp", "bf16"), ("01_mlp", "bf16-state"), ("01_mlp", "f16"), ("04_chargpt", "bf16"), ("10_vit_tiny", "bf16")],
)
def test_lowered_errors(steps: Steps, name: str, precision: str, tmp_path: Path) -> None:
    """A step with the formats that were chosen for a GPU has errors like those of a processor with these formats."""
    step = steps[name]
    gpu, source, cpu = lowered_for_both(step.text, narrow_products(tmp_path, precision, "dot_general"), tmp_path)
    held = {"bf16": "held_in_parts", "bf16-state": "held_in_bf16"}
    assert precision not in held or gpu.stages["precision"][held[precision]]
    within_twice_the_error(step, cpu, gpu.output, tmp_path)
    if precision != "f16":
        return  # Processors have products of bf16 by choice, and are held against the interpreter with them.
    results = tmp_path / "expected.safetensors"
    succeed("run", source, "--reference", f"--inputs={step.inputs}", f"--outputs={results}")
    expected, one = load_file(results), run(cpu, step.inputs, tmp_path, steps=1)
    assert deviation(one, expected, [each for each, x in expected.items() if x.dtype == np.float32]) < 2**-9


def convolve(kernel: jax.Array, images: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A step of a convolution, forward and backward, of what another kernel writes."""

    def loss(kernel: jax.Array) -> jax.Array:
        y = jax.lax.conv_general_dilated(jnp.tanh(images), kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.mean(jnp.square(jnp.tanh(y)))

    value, gradient = jax.value_and_grad(loss)(kernel)
    return kernel - gradient, value


@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_narrow_convolution(precision: str, tmp_path: Path) -> None:
    """A convolution that reads 16 bits, on tensor cores: its gradient is as the processor's, but for the order of sums."""
    random = np.random.default_rng(6)
    values = [np.asarray(random.normal(size=shape), np.float32) for shape in [(3, 3, 8, 16), (2, 24, 24, 8)]]
    text, inputs = tmp_path / "step.mlir", tmp_path / "inputs.safetensors"
    text.write_text(text_of(convolve, *values))
    save_file({f"arg{i}": value for i, value in enumerate(values)}, inputs)
    gpu, _, cpu = lowered_for_both(text, narrow_products(tmp_path, precision, "convolution", "tanh"), tmp_path)
    assert "tensor-product" in succeed("inspect", gpu.output, "--kernels")
    found, expected = run(gpu.output, inputs, tmp_path, EMULATED), run(cpu, inputs, tmp_path)
    for name, start in (("result0", values[0]), ("result1", np.zeros((), np.float32))):
        change, difference = expected[name] - start, found[name] - expected[name]
        assert np.linalg.norm(difference) <= 2**-10 * np.linalg.norm(change), name


def test_a_report_lists_what_each_group_asks_for(deep: tuple[Path, Path], tmp_path: Path) -> None:
    """So that a plan can be priced at other rates: all that is predicted, by groups; under a budget with what is computed again."""
    text, inputs = deep
    smallest, _ = budgeted(text, inputs, tmp_path)
    listed = {}
    for budget in (None, smallest):
        report = tmp_path / "report.json"
        options = [*ON_GPU, f"--report={report}", *([f"--memory-budget={budget}"] if budget else [])]
        succeed("compile", text, "-o", tmp_path / "step.tenon", *options)
        stages = {stage["stage"]: stage for stage in json.loads(report.read_text())["stages"]}
        groups = listed[budget] = stages["plan"]["groups"]
        if budget:
            seconds = sum(group["predicted_seconds"] * group["runs"] for group in groups)
            assert seconds == pytest.approx(stages["plan"]["predicted_nanoseconds"] / 1e9, rel=1e-3)
            continue
        for figure, each in (("predicted_seconds", "predicted_seconds"), ("predicted_bytes", "bytes")):
            assert sum(group[each] * group["runs"] for group in groups) == pytest.approx(stages["group"][figure])
    # One product forward for each layer, two backward but for the first.
    assert sum(group["flops"] for group in listed[None]) == 17 * 2 * 256 * 16 * 16
    assert any(group["root"] == "dot_general" and group["kind"] == "library" for group in listed[None])
