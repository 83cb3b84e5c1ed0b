"""Files that call libraries and files that call none: what they hold, what they compute, and where compiling is refused.

A library is asked on the machine that compiles what it does on the processor that code is for. A stand-in for one of
oneDNN's functions makes it look as on a processor without AVX-512.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, PROCESSOR, SECONDS, Steps, refused, succeed

# dnnl_cpu_isa_avx2, of oneDNN's C interface.
ONLY_AVX2 = "int dnnl_get_effective_cpu_isa(void) { return 0x7; }\n"

PRODUCT = """func.func @main(%w: tensor<64x64xf32>, %x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
"""
SUM = """func.func @main(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = stablehlo.add %x, %x : tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
"""
DECOMPOSITION = """func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}, api_version = 4 : i32}
    : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  return %0#0 : tensor<4x4xf32>
}
"""


def calls(program: Path) -> int:
    """How many library calls a file has."""
    return int(re.search(r"(\d+) library calls", succeed("inspect", program))[1])


@pytest.fixture(scope="module")
def only_avx2(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which oneDNN goes no further than AVX2."""
    folder = tmp_path_factory.mktemp("stand-in")
    (folder / "isa.c").write_text(ONLY_AVX2)
    subprocess.run(["clang-22", "-shared", "-fPIC", folder / "isa.c", "-o", folder / "isa.so"], check=True)
    return {**os.environ, "LD_PRELOAD": str(folder / "isa.so")}


def compile_there(environment: dict[str, str], *arguments: object) -> tuple[int, str]:
    """Compiles in an environment; the exit code and what is said."""
    command = [str(BUILD / "bin/tenon"), "compile", *map(str, arguments)]
    process = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=SECONDS)
    return process.returncode, process.stderr


def test_a_library_that_cannot_be_asked_is_refused(only_avx2: dict[str, str], tmp_path: Path) -> None:
    """What this machine's library cannot be asked about is never decided for another machine."""
    (tmp_path / "product.mlir").write_text(PRODUCT)
    for cpu in ("x86-64-v4", "x86-64-v4+avx512bf16", "x86-64-v4+amxbf16"):
        code, said = compile_there(only_avx2, tmp_path / "product.mlir", "-o", tmp_path / "refused.tenon", f"--cpu={cpu}")
        assert code == 1 and not (tmp_path / "refused.tenon").exists()
        assert f"oneDNN does not use the instructions of {cpu} in this process" in said
        assert "--no-libraries" in said and "--cpu" in said


def test_a_text_goes_on_only_where_the_library_can_be_asked(only_avx2: dict[str, str], tmp_path: Path) -> None:
    """Planning asks how much workspace a call needs, so it is refused as well."""
    if "avx512vl" not in PROCESSOR:
        pytest.skip("this processor's library cannot be asked about AVX-512")
    (tmp_path / "product.mlir").write_text(PRODUCT)
    grouped = tmp_path / "grouped.mlir"
    succeed("compile", tmp_path / "product.mlir", "--cpu=x86-64-v4", "--compile-to=group", "-o", grouped)
    code, said = compile_there(only_avx2, grouped, "--compile-from=group", "-o", tmp_path / "refused.tenon")
    assert code == 1 and "--no-libraries" in said


@pytest.mark.parametrize(
    ("text", "options"),
    [(PRODUCT, ["--cpu=x86-64-v3"]), (PRODUCT, ["--cpu=x86-64-v4", "--no-libraries"]), (SUM, ["--cpu=x86-64-v4"])],
    ids=["a smaller processor", "without libraries", "nothing for a library"],
)
def test_other_machines_write_the_same_file(only_avx2: dict[str, str], text: str, options: list[str], tmp_path: Path) -> None:
    """What does not depend on the library of this machine is compiled, to the same bytes."""
    (tmp_path / "step.mlir").write_text(text)
    options = [*options, "--kernel-cache=none"]
    succeed("compile", tmp_path / "step.mlir", "-o", tmp_path / "here.tenon", *options)
    assert compile_there(only_avx2, tmp_path / "step.mlir", "-o", tmp_path / "there.tenon", *options) == (0, "")
    assert (tmp_path / "here.tenon").read_bytes() == (tmp_path / "there.tenon").read_bytes()


# A sum in another order may round to the next bf16, 2^-8 of it away, so the loss of a bf16 step moves by more than one of f32.
@pytest.mark.parametrize(("name", "tolerance"), [("01_mlp", 1e-4), ("02_cnn", 1e-4), ("07_llama_bf16", 1e-3)])
def test_a_step_without_libraries_agrees(name: str, tolerance: float, steps: Steps, tmp_path: Path) -> None:
    """The step has no library call left, and comes to the same loss."""
    step = steps[name]
    assert calls(step.compiled) > 0
    succeed("compile", step.text, "-o", tmp_path / "kernels.tenon", "--no-libraries")
    assert calls(tmp_path / "kernels.tenon") == 0
    expected, found = step.outputs(tmp_path), step.outputs(tmp_path, program=tmp_path / "kernels.tenon")
    loss = f"result{len(expected) - 1}"
    assert float(found[loss]) == pytest.approx(float(expected[loss]), rel=tolerance)


def test_the_text_between_stages_says_it(tmp_path: Path) -> None:
    """A text compiled without libraries goes on without them, and one with calls is not taken back."""
    (tmp_path / "product.mlir").write_text(PRODUCT)
    for stage in ("simplify", "group"):
        succeed("compile", tmp_path / "product.mlir", "--no-libraries", f"--compile-to={stage}", "-o", tmp_path / "text.mlir")
        succeed("compile", tmp_path / "text.mlir", f"--compile-from={stage}", "-o", tmp_path / "step.tenon")
        assert calls(tmp_path / "step.tenon") == 0
    succeed("compile", tmp_path / "product.mlir", "--compile-to=group", "-o", tmp_path / "calls.mlir")
    said = refused(1, "compile", tmp_path / "calls.mlir", "--compile-from=group", "--no-libraries", "-o", tmp_path / "step.tenon")
    assert "--no-libraries contradicts" in said and "which was written with library calls" in said


def test_what_only_a_library_runs_is_unsupported(tmp_path: Path) -> None:
    """A decomposition has no kernel, so a step that has one needs libraries."""
    (tmp_path / "step.mlir").write_text(DECOMPOSITION)
    succeed("compile", tmp_path / "step.mlir", "-o", tmp_path / "step.tenon")
    said = refused(4, "compile", tmp_path / "step.mlir", "--no-libraries", "-o", tmp_path / "step.tenon")
    assert "lapack_spotrf_ffi" in said and "--no-libraries" in said
