"""The same input gives the same bytes and the same bits, however a step is compiled and run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Step, Steps, compiled, differing, succeed

STAGES = ("import", "simplify", "precision", "shard", "group", "plan", "lower", "codegen")
NAMES = ("01_mlp", "04_chargpt", "14_while_fori")


@pytest.fixture(params=NAMES)
def step(request: pytest.FixtureRequest, steps: Steps) -> Step:
    """Each of the steps."""
    return steps[request.param]


def first_difference(a: bytes, b: bytes) -> str:
    """Where two files differ, for a message."""
    if a == b:
        return ""
    place = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return f"sizes {len(a)} and {len(b)}, first difference at byte {place}"


def test_same_bytes_in_other_folders(step: Step, tmp_path: Path) -> None:
    """Neither the folder, the file's name, nor the number of threads leaves a trace in the file."""
    expected = step.compiled.read_bytes()
    for folder, threads in (("one", 1), ("another/longer one", 2)):
        place = tmp_path / folder
        place.mkdir(parents=True)
        (place / "x.mlir").write_bytes(step.text.read_bytes())
        succeed("compile", "x.mlir", "-o", "out.tenon", f"--threads={threads}", "--kernel-cache=none", cwd=place)
        assert not first_difference((place / "out.tenon").read_bytes(), expected)
    for trace in (os.fsencode(tmp_path), os.fsencode(step.text.parent)):
        assert trace not in expected


@pytest.mark.parametrize("stage", STAGES)
def test_stopping_and_resuming(step: Step, stage: str, tmp_path: Path) -> None:
    """Compiling to a stage and on from its text gives the same file as compiling straight through."""
    text = compiled(step.text, f"--compile-to={stage}", "--verify-forms").output
    succeed("compile", text, f"--compile-from={stage}", "-o", tmp_path / "resumed.tenon", "--verify-forms")
    assert not first_difference((tmp_path / "resumed.tenon").read_bytes(), step.compiled.read_bytes())
    if stage != STAGES[-1]:
        following = STAGES[STAGES.index(stage) + 1]
        direct, resumed = compiled(step.text, f"--compile-to={following}", "--verify-forms").output, tmp_path / "following.mlir"
        succeed("compile", text, f"--compile-from={stage}", f"--compile-to={following}", "-o", resumed)
        assert not first_difference(resumed.read_bytes(), direct.read_bytes())


@pytest.mark.parametrize("options", [("--cpu=x86-64-v3",), ("--cpu=x86-64-v4", "--fuse=false")], ids=" ".join)
def test_text_holds_the_options(step: Step, options: tuple[str, ...], tmp_path: Path) -> None:
    """Only the first stage is told the options. Each of the others has them from the text before it, and writes them into its own."""
    expected = tmp_path / "expected.tenon"
    succeed("compile", step.text, "-o", expected, *options)
    text, told = step.text, options
    for stage in STAGES:
        succeed("compile", text, *told, f"--compile-to={stage}", "-o", tmp_path / f"{stage}.mlir")
        text, told = tmp_path / f"{stage}.mlir", (f"--compile-from={stage}",)
    succeed("compile", text, *told, "-o", tmp_path / "resumed.tenon")
    assert not first_difference((tmp_path / "resumed.tenon").read_bytes(), expected.read_bytes())


def test_same_bits_in_every_run(step: Step, tmp_path: Path) -> None:
    """Two runs, and runs with another number of threads, give the same bits."""
    first = step.outputs(tmp_path, "--threads=1")
    for threads in (1, 2, 2, 3):
        assert not differing(first, step.outputs(tmp_path, f"--threads={threads}")), f"{threads} threads"


def test_fusion_keeps_bits(step: Step, tmp_path: Path) -> None:
    """Grouping decides where values are computed, never which values."""
    succeed("compile", step.text, "-o", tmp_path / "apart.tenon", "--fuse=false")
    fused, apart = step.outputs(tmp_path), step.outputs(tmp_path, program=tmp_path / "apart.tenon")
    assert not differing(fused, apart)


def test_other_feature_sets_run(step: Step, tmp_path: Path) -> None:
    """A file for an older processor runs here, deterministically, and close to the one for this processor."""
    succeed("compile", step.text, "-o", tmp_path / "v3.tenon", "--cpu=x86-64-v3")
    once = step.outputs(tmp_path, "--threads=1", program=tmp_path / "v3.tenon")
    assert not differing(once, step.outputs(tmp_path, "--threads=2", program=tmp_path / "v3.tenon"))
    loss = f"result{len(once) - 1}"
    assert float(once[loss]) == pytest.approx(float(step.outputs(tmp_path)[loss]), rel=1e-4)
