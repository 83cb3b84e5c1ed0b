"""Sums that MPI and NCCL make in an order of their own: as exact as those in the order of the ranks, and only where they are asked for."""

from __future__ import annotations

import functools
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import mpi
import numpy as np
import pytest
from conftest import BUILD, Steps, refused, succeed
from safetensors.numpy import load_file
from test_ranks import CPU, MESHES, STEPS, expect_as_exact, layouts_for, reference  # noqa: F401

FAST = "--fast-collectives"
# Gradients that are scattered along the second dimension, in parts that lie apart.
SCATTERED = "arg12 = [data, -]\narg13 = [data]\n" + "".join(f"params.l{layer}.kernel = [-, data]\n" for layer in (1, 2, 3))


def layouts_of(plan: str, mesh: str) -> str:
    """Of the perceptron."""
    return SCATTERED if plan == "scattered" else layouts_for("01_mlp", mesh)


class Compiled:
    """The perceptron for a mesh, with the sums of MPI and with those of the ranks."""

    def __init__(self, steps: Steps, folder: Path, mesh: str, plan: str, *options: str) -> None:
        layouts = folder / "layouts.txt"
        layouts.write_text(layouts_of(plan, mesh))
        self.ranks = MESHES[mesh]
        self.fast, self.ordered = folder / "fast.tenon", folder / "ordered.tenon"
        given = (steps["01_mlp"].text, f"--mesh={mesh}", f"--sharding={layouts}", "--verify-forms", *options)
        succeed("compile", *given, FAST, "-o", self.fast)
        succeed("compile", *given, "-o", self.ordered)


@pytest.fixture(scope="session")
def cut(steps: Steps, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """By mesh, plan and options."""
    return functools.cache(lambda *what: Compiled(steps, tmp_path_factory.mktemp("fast"), *what))


def results(file: Path) -> list[np.ndarray]:
    """What a run wrote beside its file."""
    found = load_file(file.with_suffix(".outputs"))
    return [found[f"result{i}"] for i in range(len(found))]


def train(file: Path, ranks: int, *arguments: object) -> tuple[list[np.ndarray], str]:
    """The results of the last step of processes, and what they said."""
    said = mpi.succeed(ranks, file, *arguments, f"--outputs={file.with_suffix('.outputs')}")
    return results(file), said


@pytest.mark.parametrize(("mesh", "plan"), [("data=2", "whole"), ("data=4", "whole"), ("data=2,model=2", "whole"), ("data=2", "scattered")])
def test_mpi_combines(cut: Any, reference: Any, mesh: str, plan: str) -> None:  # noqa: F811
    """As often as the file says, with the bytes that were planned, and state as close to that in f64 as on one rank."""
    made, one = cut(mesh, plan, CPU), reference("01_mlp")
    said = succeed("inspect", made.fast)
    (combined,) = re.findall(r"^(\d+) of them are combined by mpi, in an order of its own$", said, re.MULTILINE)
    (planned,) = re.findall(r"^\d+ collectives, in which rank 0 receives (\d+) bytes$", said, re.MULTILINE)
    found, said = train(made.fast, made.ranks, f"--inputs={one.inputs}", f"--steps={STEPS}")
    assert int(combined) >= (3 if plan == "scattered" else 1)
    assert f"received {planned} bytes per step from others, MPI combined elements {combined} times" in said
    expect_as_exact(found, one.results, one.exact)
    succeed("verify", made.fast)


def test_the_default_is_ordered(cut: Any, reference: Any) -> None:  # noqa: F811
    """Without the option MPI combines nothing, and bits are those of threads; so are those of ranks that no MPI connects, with it."""
    made, one = cut("data=2", "whole", CPU), reference("01_mlp")
    given = (f"--inputs={one.inputs}", f"--steps={STEPS}")
    assert "combined by" not in succeed("inspect", made.ordered)
    found, said = train(made.ordered, 2, *given)
    assert "MPI combined" not in said
    for file in (made.ordered, made.fast):
        succeed("run", file, *given, "--ranks=2", f"--outputs={file.with_suffix('.outputs')}")
        assert [value.tobytes() for value in results(file)] == [value.tobytes() for value in found]


def test_a_lost_rank_ends_all(cut: Any, reference: Any, tmp_path: Path) -> None:  # noqa: F811
    """Who waits for a sum of MPI's with one that was killed ends with its name."""
    made = cut("data=4", "whole", CPU)
    run = mpi.Running(4, made.fast, f"--inputs={reference('01_mlp').inputs}", "--steps=1000000", f"--metrics={tmp_path / 'm.csv'}")
    subprocess.run(["kill", f"-{signal.SIGKILL}", str(run.wait_for(tmp_path / "m.csv", 3)[2])], check=True)
    outcome = run.end()
    assert outcome.code != 0
    assert "rank 2" in outcome.out


@pytest.mark.parametrize(("mesh", "plan"), [("data=2", "scattered"), ("data=4", "whole")])
def test_nccl_combines(
    steps: Steps,
    cut: Any,
    reference: Any,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mesh: str,
    plan: str,
) -> None:
    """On GPUs sums are calls of NCCL, which the emulated library checks: two terms have the bits of the processor, four are near."""
    monkeypatch.setenv("TENON_CUDA_DRIVER", str(BUILD / "lib" / "libtenon-emulated-cuda.so"))
    monkeypatch.setenv("TENON_EMULATED_CUDA_GPUS", "4")
    ordered, given = cut(mesh, plan, CPU, "--no-libraries").ordered, (f"--inputs={reference('01_mlp').inputs}", "--steps=1")
    layouts, fast = tmp_path / "layouts.txt", tmp_path / "gpu.tenon"
    layouts.write_text(layouts_of(plan, mesh))
    options = (f"--mesh={mesh}", f"--sharding={layouts}", "--target=sm_90", "--no-cubins", "--no-libraries", "--verify-forms", FAST)
    succeed("compile", steps["01_mlp"].text, *options, "-o", fast)
    said = succeed("inspect", fast)
    (combined,) = re.findall(r"^(\d+) of them are combined by nccl, in an order of its own$", said, re.MULTILINE)
    (planned,) = re.findall(r"^\d+ collectives, in which rank 0 receives (\d+) bytes$", said, re.MULTILINE)
    assert int(combined) >= (3 if plan == "scattered" else 1)
    found, said = train(fast, MESHES[mesh], *given)
    assert f"received {planned} bytes per step from others" in said
    succeed("run", ordered, *given, f"--ranks={MESHES[mesh]}", f"--outputs={ordered.with_suffix('.outputs')}")
    for ours, theirs in zip(found, results(ordered), strict=True):
        if mesh == "data=2":
            assert ours.tobytes() == theirs.tobytes()
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    succeed("verify", fast)


def test_where_it_belongs(steps: Steps, tmp_path: Path) -> None:
    """It needs ranks, and is none of XLA's; a plan says what it means."""
    text = steps["01_mlp"].text
    assert "--fast-collectives needs the ranks" in refused(2, "compile", text, FAST, "-o", tmp_path / "x.tenon")
    assert "--fast-collectives" in refused(2, "compile", text, FAST, "--mesh=data=2", "--target=stablehlo", "-o", tmp_path / "x.mlir")
    said = succeed("plan", text, "--mesh=data=2", FAST)
    assert "sums           by MPI, in an order of its own, so bits depend on it and on the ranks" in said
    assert "sums  " not in succeed("plan", text, "--mesh=data=2")
