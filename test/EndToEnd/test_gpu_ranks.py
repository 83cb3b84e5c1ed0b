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
from test_overlap import plan_of
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
        report = f"--report={self.gpu.with_suffix('.json')}"
        succeed("compile", *given, "--target=sm_90", "--no-cubins", "--verify-forms", report, "-o", self.gpu)
        succeed("compile", *given, f"--report={self.cpu.with_suffix('.json')}", "-o", self.cpu)


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
def test_bits_of_the_processor(cut: Any, reference: Any, monkeypatch: pytest.MonkeyPatch, model: str, mesh: str, number: int) -> None:  # noqa: F811
    """Kernels, some of them beside exchanges, have the bits of threads that wait for all of them, and receive what was planned."""
    made = cut(model, mesh, "--no-libraries")
    given = (f"--inputs={reference(model).inputs}", f"--steps={number}")
    # Nodes of a graph run in any order that its edges allow; those that none orders and that touch the same bytes are found in each.
    monkeypatch.setenv("TENON_EMULATED_CUDA_ORDER", "7")
    found, said = train(made.gpu, made.ranks, *given)
    outputs = made.cpu.with_suffix(".outputs")
    succeed("run", made.cpu, *given, f"--ranks={made.ranks}", f"--outputs={outputs}")
    expected = load_file(outputs)
    assert [value.tobytes() for value in found] == [expected[f"result{i}"].tobytes() for i in range(len(found))]
    (planned,) = re.findall(r"^\d+ collectives, in which rank 0 receives (\d+) bytes$", succeed("inspect", made.gpu), re.MULTILINE)
    assert f"received {planned} bytes per step from others" in said


# Two products run beside the sum of a batch over the ranks, and again in each round of a loop, which its graph repeats.
STEP_WITH_PRODUCTS_BESIDE = """
func.func @main(
    %w: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x64xf32>, %y: tensor<64x64xf32>,
    %wide: tensor<64x128xf32>, %narrow: tensor<128x64xf32>
) -> (tensor<64xf32>, tensor<64x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %rounds = stablehlo.constant dense<3> : tensor<i32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
  %new = stablehlo.add %w, %sum : tensor<64xf32>
  %square = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %cube = stablehlo.dot_general %square, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %last:3 = stablehlo.while(%i = %first, %a = %new, %b = %cube) : tensor<i32>, tensor<64xf32>, tensor<64x64xf32>
  cond {
    %goes_on = stablehlo.compare LT, %i, %rounds : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %goes_on : tensor<i1>
  } do {
    %all = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<64xf32>) -> tensor<8x64xf32>
    %scaled = stablehlo.multiply %x, %all : tensor<8x64xf32>
    %bounded = stablehlo.tanh %scaled : tensor<8x64xf32>
    %s = stablehlo.reduce(%bounded init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %o = stablehlo.dot_general %b, %wide, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    %n = stablehlo.dot_general %o, %narrow, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
    %p = stablehlo.dot_general %n, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %q = stablehlo.dot_general %p, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %s, %q : tensor<i32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %last#1, %last#2 : tensor<64xf32>, tensor<64x64xf32>
}
"""


@pytest.mark.parametrize("order", [1, 7])
def test_exchanges_run_beside_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: int) -> None:
    """In every order that the edges of a graph allow the bits are those of ranks that wait, and the driver finds no race."""
    (tmp_path / "step.mlir").write_text(STEP_WITH_PRODUCTS_BESIDE)
    (tmp_path / "layouts.txt").write_text("arg1 = [data, -]\n")
    random = np.random.default_rng(3)
    shapes = [(64,), (8, 64), (64, 64), (64, 128), (128, 64)]
    save_file({f"arg{i}": random.normal(0, 0.1, shape).astype(np.float32) for i, shape in enumerate(shapes)}, tmp_path / "inputs")
    given = (tmp_path / "step.mlir", "--mesh=data=2", f"--sharding={tmp_path / 'layouts.txt'}", "--no-libraries")
    gpu, cpu = tmp_path / "gpu.tenon", tmp_path / "cpu.tenon"
    report = f"--report={gpu.with_suffix('.json')}"
    succeed("compile", *given, "--target=sm_90", "--no-cubins", "--verify-forms", report, "-o", gpu)
    succeed("compile", *given, "-o", cpu)
    # Once before the loop and three times in it.
    assert plan_of(gpu)["hidden_communication_seconds"] > 4e-6
    succeed("verify", gpu)
    monkeypatch.setenv("TENON_EMULATED_CUDA_ORDER", str(order))
    steps = (f"--inputs={tmp_path / 'inputs'}", "--steps=2")
    found, _ = train(gpu, 2, *steps)
    succeed("run", cpu, *steps, "--ranks=2", f"--outputs={tmp_path / 'expected'}")
    expected = load_file(tmp_path / "expected")
    assert [value.tobytes() for value in found] == [expected[f"result{i}"].tobytes() for i in range(len(found))]


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
