"""Steps that several processes run, each on a GPU of its own: `mpirun -n 2 tenon run` on the emulated driver and the emulated NCCL."""

from __future__ import annotations

import functools
import os
import re
import signal
from pathlib import Path
from typing import Any

import compare
import mpi
import numpy as np
import pytest
from conftest import BUILD, Steps, refused, succeed
from safetensors.numpy import load_file, save_file
from test_ranks import MESHES, STEPS, expect_as_exact, layouts_for, reference  # noqa: F401

DRIVER = BUILD / "lib" / "libtenon-emulated-cuda.so"


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with four GPUs."""
    monkeypatch.setenv("TENON_CUDA_DRIVER", str(DRIVER))
    monkeypatch.setenv("TENON_EMULATED_CUDA_GPUS", "4")


class Compiled:
    """A step cut for a mesh, as a file for GPUs and as one for the processor."""

    def __init__(self, steps: Steps, folder: Path, model: str, mesh: str, *options: str) -> None:
        layouts = folder / "layouts.txt"
        layouts.write_text(layouts_for(model, mesh))
        self.ranks = MESHES[mesh]
        self.gpu, self.cpu = folder / "gpu.tenon", folder / "cpu.tenon"
        given = (steps[model].text, f"--mesh={mesh}", f"--sharding={layouts}", *options)
        succeed("compile", *given, "--target=sm_90", "--no-cubins", "--verify-forms", "-o", self.gpu)
        succeed("compile", *given, "-o", self.cpu)


@pytest.fixture(scope="session")
def cut(steps: Steps, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Steps by their names, mesh and options."""
    return functools.cache(lambda *what: Compiled(steps, tmp_path_factory.mktemp("cut"), *what))


def train(file: Path, ranks: int, *arguments: object) -> tuple[list[np.ndarray], str]:
    """The results of the last step, and what was said."""
    outputs = file.with_suffix(".outputs")
    said = mpi.succeed(ranks, file, *arguments, f"--outputs={outputs}")
    found = load_file(outputs)
    return [found[f"result{i}"] for i in range(len(found))], said


@pytest.mark.parametrize(
    ("model", "mesh", "number"), [("01_mlp", "data=2", 2), ("01_mlp", "data=2,model=2", 2), ("04_chargpt", "data=2", 1)]
)
def test_bits_of_the_processor(cut: Any, reference: Any, model: str, mesh: str, number: int) -> None:  # noqa: F811
    """Kernels that Tenon generates add up in the order of ranks that are threads, and receive as many bytes as was planned."""
    made = cut(model, mesh, "--no-libraries")
    given = (f"--inputs={reference(model).inputs}", f"--steps={number}")
    found, said = train(made.gpu, made.ranks, *given)
    outputs = made.cpu.with_suffix(".outputs")
    succeed("run", made.cpu, *given, f"--ranks={made.ranks}", f"--outputs={outputs}")
    expected = load_file(outputs)
    assert [value.tobytes() for value in found] == [expected[f"result{i}"].tobytes() for i in range(len(found))]
    (planned,) = re.findall(r"^\d+ collectives, in which rank 0 receives (\d+) bytes$", succeed("inspect", made.gpu), re.MULTILINE)
    assert f"received {planned} bytes per step from others" in said


@pytest.mark.parametrize(
    ("model", "mesh", "precision"),
    [("01_mlp", "data=2", "f32"), ("01_mlp", "data=2,model=2", "bf16"), ("04_chargpt", "data=2,model=2", "bf16")],
)
def test_errors(steps: Steps, cut: Any, reference: Any, tmp_path: Path, model: str, mesh: str, precision: str) -> None:  # noqa: F811
    """State is as close to that in f64 as on one GPU, and the same bits in every run."""
    one = reference(model)
    policy = () if precision == "f32" else (f"--precision={precision}",)
    made = cut(model, mesh, *policy)
    given = (f"--inputs={one.inputs}", f"--steps={STEPS}")
    succeed("compile", steps[model].text, "--target=sm_90", "--no-cubins", *policy, "-o", tmp_path / "one.tenon")
    succeed("run", tmp_path / "one.tenon", *given, f"--outputs={tmp_path / 'one'}")
    results = [load_file(tmp_path / "one")[f"result{i}"] for i in range(len(one.results))]
    found, _ = train(made.gpu, made.ranks, *given)
    again, _ = train(made.gpu, made.ranks, *given)
    assert [value.tobytes() for value in found] == [value.tobytes() for value in again]
    # With 16 bits one element of a bias, whose gradient is nearly zero, may take Adam's step to the other side: a tenth of a small tensor.
    least = 1e-6 if precision == "f32" else 2e-2
    expect_as_exact(found, results, one.exact, least)
    succeed("verify", made.gpu)


def test_state_moves(cut: Any, reference: Any, tmp_path: Path) -> None:  # noqa: F811
    """What ranks on GPUs saved goes on with ranks on a processor, with the bits of either, and the other way round."""
    made, one = cut("01_mlp", "data=2", "--no-libraries"), reference("01_mlp")
    values = compare.start_values(one.info).values()
    save_file({f"arg{i}": value for i, value in enumerate(values) if i >= 12}, tmp_path / "batch")
    batch = f"--inputs={tmp_path / 'batch'}"
    whole, _ = train(made.gpu, 2, f"--inputs={one.inputs}", "--steps=3")
    for first, second in [(made.gpu, made.cpu), (made.cpu, made.gpu)]:
        folder = tmp_path / f"kept-{first.stem}"
        train(first, 2, f"--inputs={one.inputs}", "--steps=2", f"--checkpoints={folder}")
        resumed, _ = train(second, 2, batch, "--until=3", f"--checkpoints={folder}", "--resume")
        assert [value.tobytes() for value in whole] == [value.tobytes() for value in resumed]


def test_refusals(cut: Any, reference: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """What does not fit is said before anything runs."""
    made = cut("01_mlp", "data=2", "--no-libraries")
    assert "each of which is a process with a GPU of its own; run it with mpirun -n 2" in refused(1, "run", made.gpu, "--ranks=2")
    assert "run it with mpirun -n 2" in refused(1, "run", made.gpu)
    missing = tmp_path / "libnccl.so.2"
    assert "through NCCL 2, which cannot be called here" in mpi.refused(2, made.gpu, "--zero-state", f"--nccl={missing}")
    assert "is no NCCL" in mpi.refused(2, made.gpu, "--zero-state", f"--nccl={DRIVER}")
    assert "have the same GPU, number 1" in mpi.refused(2, made.gpu, "--zero-state", "--device=cuda:1")
    monkeypatch.setenv("TENON_EMULATED_CUDA_GPUS", "1")
    said = mpi.refused(2, made.gpu, "--zero-state")
    assert "there is no GPU 1, this machine has 1" in said
    assert "each rank has a GPU of its own" in said


def test_a_rank_is_lost(cut: Any, reference: Any, tmp_path: Path) -> None:  # noqa: F811
    """A GPU that waits for a rank that was killed is woken, and its process ends with a message."""
    made = cut("01_mlp", "data=2", "--no-libraries")
    metrics = tmp_path / "metrics.csv"
    running = mpi.Running(2, made.gpu, f"--inputs={reference('01_mlp').inputs}", "--steps=100000", f"--metrics={metrics}", "--heartbeat=1")
    processes = running.wait_for(metrics, 2)
    os.kill(processes[1], signal.SIGSTOP)
    outcome = running.end()
    os.kill(processes[1], signal.SIGKILL)
    mpi.wait_until_gone(processes)
    assert outcome.code != 0
    assert "rank 1 has stopped" in outcome.out
    assert "waits in vain, since" in outcome.out
