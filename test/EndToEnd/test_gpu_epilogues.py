"""What cuBLASLt does beside products of 16 bits, by the one of the emulated CUDA driver: biases, GELU, its gradient, sums."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import ON_GPU, Steps, compiled, succeed
from safetensors.numpy import save_file
from test_cuda import same_bits, text_of
from test_gpu_libraries import emulated, outputs  # noqa: F401

ACTIVATIONS = ("gelu", "gelu_keeping", "gelu_gradient")


def block(parameters: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    """The step of a layer that widens, applies GELU and narrows."""

    def loss(parameters: dict[str, jax.Array]) -> jax.Array:
        h = jnp.tanh(x @ parameters["v"] + parameters["c"]) @ parameters["u"]
        y = jax.nn.gelu(h @ parameters["w1"] + parameters["b1"], approximate=True) @ parameters["w2"] + parameters["b2"]
        return jnp.mean(jnp.square(y + h))

    value, gradients = jax.value_and_grad(loss)(parameters)
    return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), value


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The text of that step, and values to start from."""
    folder = tmp_path_factory.mktemp("gelu")
    random = np.random.default_rng(11)
    normal = lambda scale, *shape: np.asarray(scale * random.normal(size=shape), np.float32)  # noqa: E731
    parameters: Any = {
        "v": normal(0.1, 128, 128), "c": normal(0.1, 128), "u": normal(0.1, 128, 128), "w1": normal(0.1, 128, 512),
        "b1": normal(0.5, 512), "w2": normal(0.1, 512, 128), "b2": normal(0.5, 128),
    }  # fmt: skip
    x = normal(1, 128, 128)  # of more rows the library is slower at the gradient of GELU than a kernel
    (folder / "step.mlir").write_text(text_of(block, parameters, x))
    save_file({f"arg{i}": v for i, v in enumerate(jax.tree.leaves((parameters, x)))}, folder / "inputs.safetensors")
    return folder / "step.mlir", folder / "inputs.safetensors"


def narrow(folder: Path, *wide: str) -> tuple[str, ...]:
    """The options that multiply in 16 bits, but keep some arguments in f32."""
    policy = folder / "policy.json"
    policy.write_text(json.dumps({"operations": {"stablehlo.dot_general": "bf16"}, "arguments": dict.fromkeys(wide, "f32")}))
    return ("--precision=bf16", f"--precision-policy={policy}")


def calls(text: str) -> dict[str, int]:
    """How often calls with what epilogues are made."""
    found: dict[str, int] = {}
    for name, description in re.findall(r'exec.library @(\w+).*?({[^}]*call = "gpu_matmul"[^}]*})', text):
        made = len(re.findall(rf"exec.invoke @{name}\b", text))
        for word in ACTIVATIONS:
            if f'activation = "{word}"' in description:
                found[word] = found.get(word, 0) + made
        for word, part in (
            ("addend", 'addend = "operand"'),
            ("addend", 'addend = "in_place"'),
            ("bias", 'epilogue = "bias"'),
            ("sums", 'sums = "rhs"'),
            ("sums", 'sums = "lhs"'),
        ):
            if part in description:
                found[word] = found.get(word, 0) + made
    return found


def test_what_is_fused(layer: tuple[Path, Path], tmp_path: Path) -> None:
    """GELU, its input, its gradient and sums of operands are part of calls; without libraries, and in f32, none of that is."""
    text, _ = layer
    lowered = lambda *options: compiled(text, *ON_GPU, *options, "--compile-to=lower").output.read_text()  # noqa: E731
    found = calls(lowered(*narrow(tmp_path, "u")))
    assert found["gelu_keeping"] == 1 and found["gelu_gradient"] == 1, found
    assert found["bias"] >= 1, found
    assert found["sums"] >= 2, found  # gradients of biases
    for options in ((), (*narrow(tmp_path, "u"), "--no-libraries")):
        assert not {*ACTIVATIONS, "sums"} & set(calls(lowered(*options)))


def distance(found: dict[str, np.ndarray], exact: dict[str, np.ndarray]) -> float:
    """The largest relative distance of a tensor."""
    return max(float(np.linalg.norm(found[name] - value) / np.linalg.norm(value)) for name, value in exact.items())


def expect_near(
    file: Path, inputs: Path, exact: dict[str, np.ndarray], most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the library declines, the results of a file are less than `most` away."""
    found = {}
    for refuse in ("0", "all"):
        monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_REFUSE", refuse)
        found[refuse] = outputs(file, inputs, tmp_path)
        assert distance(found[refuse], exact) < most, refuse
    assert distance(found["0"], found["all"]) > 0  # it did decline


def test_numbers(layer: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is nearly as close to that in f32 as without libraries, whatever the library declines.

    Biases are rounded to 16 bits, which moves all rows alike.
    """
    text, inputs = layer
    file = compiled(text, *ON_GPU, *narrow(tmp_path, "u")).output
    succeed("verify", file)
    exact = outputs(compiled(text).output, inputs, tmp_path)
    plain = distance(outputs(compiled(text, *ON_GPU, *narrow(tmp_path, "u"), "--no-libraries").output, inputs, tmp_path), exact)
    assert 1e-5 < plain < 1e-3
    expect_near(file, inputs, exact, 8 * plain, tmp_path, monkeypatch)


def test_forgetful_algorithm(layer: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The product of ones finds what forgets the end of a sum in front of an activation, too."""
    text, inputs = layer
    file = compiled(text, *ON_GPU, *narrow(tmp_path, "u")).output
    monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_REFUSE", "0")
    plain = outputs(file, inputs, tmp_path)
    monkeypatch.setenv("TENON_EMULATED_CUDA_CUBLASLT_TAILS", "dropped")
    same_bits(plain, outputs(file, inputs, tmp_path))


def residual(parameters: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    """A block that adds to what it reads, and a sum of rows of that, which are read as well."""
    y = x + (jnp.tanh(x @ parameters["v"]) @ parameters["w"] + parameters["b"])
    row = jnp.mean(y * jax.lax.rsqrt(jnp.mean(jnp.square(y), -1, keepdims=True)), 0)
    return {"b": row, "v": parameters["v"], "w": parameters["w"]}, y


def test_residuals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call adds to what is kept in f32, as exactly as kernels do, whatever the library declines.

    That is so where multiplying takes longer than reading: on GPUs of this architecture with the smallest matrices.
    """
    random = np.random.default_rng(5)
    normal = lambda scale, *shape: np.asarray(scale * random.normal(size=shape), np.float32)  # noqa: E731
    parameters: Any = {"b": normal(0.5, 192), "v": normal(0.1, 192, 256), "w": normal(0.05, 256, 192)}
    x = normal(1, 192, 192)
    text, inputs = tmp_path / "step.mlir", tmp_path / "inputs.safetensors"
    text.write_text(text_of(residual, parameters, x))
    save_file({f"arg{i}": v for i, v in enumerate(jax.tree.leaves((parameters, x)))}, inputs)
    options = ("--target=sm_86", "--no-cubins", *narrow(tmp_path))
    found = calls(compiled(text, *options, "--compile-to=lower").output.read_text())
    assert found["addend"] == 1 and found["bias"] == 1, found
    file = compiled(text, *options).output
    succeed("verify", file)
    exact = outputs(compiled(text).output, inputs, tmp_path)
    plain = distance(outputs(compiled(text, *options, "--no-libraries").output, inputs, tmp_path), exact)
    assert plain > 1e-5
    expect_near(file, inputs, exact, 1.2 * plain, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("04_chargpt", ("gelu_keeping", "gelu_gradient", "bias", "sums")), ("10_vit_tiny", ("bias", "sums"))],
)
def test_models(steps: Steps, tmp_path: Path, name: str, expected: tuple[str, ...]) -> None:
    """Steps call the library with what they have to offer; that of 10 is the other form of GELU."""
    step = steps[name]
    found = calls(compiled(step.text, *ON_GPU, *narrow(tmp_path), "--compile-to=lower").output.read_text())
    assert {word for word, count in found.items() if count} == set(expected), found
