"""The sample of JAX's conformance programs that every change has to pass.

The programs of slice 0, and the reasons why some of them fail: FAILURES is what is known not to work,
so that a program that starts to work, or stops working, fails the test.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import programs
import run

GPU = "sm_90"
BUILD = Path(os.environ.get("TENON_BUILD", HERE.parents[1] / "build/dev")).resolve()
SLICE = [program for program in programs.all_programs() if program.slice == 0]

# Beginnings of names, and the stages that fail.
FAILURES: dict[str, set[str]] = {
    # Eigenvalues of matrices that are not symmetric: LAPACK's geev is not offered.
    "eig_shape_float32_5_5_computelefteigenvectors_False_computerighteigenvectors_False": {"interpret", "compile"},
}

# Programs that JAX itself does not implement for the CPU, so that there is nothing to compare with.
NOT_IN_JAX = {
    "eig_shape_bfloat16_0_0_computelefteigenvectors_False_computerighteigenvectors_True",
    "eig_shape_bfloat16_2_6_6_computelefteigenvectors_True_computerighteigenvectors_False",
    "eig_shape_bfloat16_5_5_computelefteigenvectors_True_computerighteigenvectors_True",
    "eig_shape_float16_0_0_computelefteigenvectors_True_computerighteigenvectors_False",
    "svd_shape_float16_2_7_fullmatrices_False_computeuv_False",
}


def expected_failures(name: str) -> set[str]:
    """The stages at which a program is known to fail."""
    return next((stages for start, stages in FAILURES.items() if name.startswith(start)), set())


def test_size() -> None:
    """The sample is the one that was agreed on, and what is said of programs is said of some in it."""
    assert len(SLICE) == 136
    names = {program.name for program in SLICE}
    assert names >= NOT_IN_JAX
    assert all(any(name.startswith(start) for name in names) for start in FAILURES)


@pytest.mark.parametrize("program", SLICE, ids=lambda program: program.name)
def test_program(program: programs.Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A program parses, and both ways to run it agree with JAX, as the emulated GPU does."""
    folder = tmp_path_factory.getbasetemp()
    record = programs.exported(program, folder)
    if program.name in NOT_IN_JAX:
        assert record["reason"] == programs.NOT_IMPLEMENTED
        return
    assert not record["reason"], record
    outcome = run.judge(program, folder, BUILD)
    failed = {stage for stage, result in outcome.items() if result != "ok"}
    assert failed == expected_failures(program.name), outcome
    on_gpu = run.judge_on_gpu(program, folder, BUILD, run.Gpu(GPU, BUILD / "lib/libtenon-emulated-cuda.so"))
    assert on_gpu["gpu"] == "ok" or run.calls_unsupported_lapack(on_gpu), on_gpu
