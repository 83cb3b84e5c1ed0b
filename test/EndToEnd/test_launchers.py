"""Ranks that torchrun or SLURM start, not MPI: they read what these say in the environment, and meet by TCP."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mpi
import pytest
from conftest import BUILD, SECONDS, Steps, refused, succeed
from safetensors.numpy import load_file
from test_gpu_ranks import DRIVER, cut  # noqa: F401
from test_ranks import CPU, layouts_for, reference  # noqa: F401

Variables = Callable[[int, int, int], dict[str, str]]


def torchrun(rank: int, ranks: int, port: int) -> dict[str, str]:
    """What torchrun sets for a process."""
    common = {
        "WORLD_SIZE": ranks,
        "LOCAL_WORLD_SIZE": ranks,
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": port,
        "TORCHELASTIC_RUN_ID": "none",
    }
    return {name: str(value) for name, value in (common | {"RANK": rank, "LOCAL_RANK": rank}).items()}


def torchrun_with_store(rank: int, ranks: int, port: int) -> dict[str, str]:
    """And where its agent has taken the port for itself, which the test does."""
    return torchrun(rank, ranks, port) | {"TORCHELASTIC_USE_AGENT_STORE": "True"}


def slurm(rank: int, ranks: int, port: int) -> dict[str, str]:
    """What srun sets for a process, when no MPI is asked for; the port follows from the number of the job."""
    common = {"SLURM_STEP_NUM_TASKS": ranks, "SLURM_JOB_ID": port, "SLURM_STEP_ID": 0, "SLURM_STEP_NODELIST": "localhost"}
    return {name: str(value) for name, value in (common | {"SLURM_PROCID": rank, "SLURM_LOCALID": rank}).items()}


@dataclass
class Ranks:
    """Processes that were started together."""

    variables: Variables
    ranks: int
    arguments: tuple[object, ...]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def __enter__(self) -> Ranks:
        self.taken = socket.socket()
        self.taken.bind(("127.0.0.1", 0))
        port = self.taken.getsockname()[1]
        if self.variables is not torchrun_with_store:
            self.taken.close()
        for rank in range(self.ranks):
            self.processes.append(
                subprocess.Popen(
                    [mpi.TOOL, "run", *map(str, self.arguments)], env=os.environ | self.variables(rank, self.ranks, port),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
        return self

    def end(self) -> list[tuple[int, str, str]]:
        """Exit code, output and errors of each rank."""
        said = [process.communicate(timeout=SECONDS) for process in self.processes]
        return [(process.returncode, *each) for process, each in zip(self.processes, said, strict=True)]

    def __exit__(self, *_: object) -> None:
        self.taken.close()
        for process in self.processes:
            process.kill()
            process.wait()


def train(variables: Variables, ranks: int, file: Path, *arguments: object) -> tuple[dict[str, bytes], str]:
    """The results of the last step, and what was said."""
    outputs = file.with_suffix(".launched")
    with Ranks(variables, ranks, (file, *arguments, f"--outputs={outputs}")) as running:
        ended = running.end()
    assert [code for code, *_ in ended] == [0] * ranks, ended
    assert [bool(out) for _, out, _ in ended] == [True] + [False] * (ranks - 1)
    return {name: value.tobytes() for name, value in load_file(outputs).items()}, ended[0][1]


@pytest.fixture
def mlp(steps: Steps, tmp_path: Path) -> Callable[[str], Path]:
    """The perceptron for the ranks of a mesh."""

    def compiled(mesh: str) -> Path:
        (tmp_path / "layouts.txt").write_text(layouts_for("01_mlp", mesh))
        file = tmp_path / "step.tenon"
        succeed("compile", steps["01_mlp"].text, f"--mesh={mesh}", f"--sharding={tmp_path / 'layouts.txt'}", CPU, "-o", file)
        return file

    return compiled


@pytest.mark.parametrize(
    ("variables", "mesh", "ranks"), [(torchrun, "data=2", 2), (torchrun_with_store, "data=2", 2), (slurm, "data=2,model=2", 4)]
)
def test_bits_of_threads(mlp: Any, reference: Any, variables: Variables, mesh: str, ranks: int) -> None:  # noqa: F811
    """Ranks compute the bits of threads, receive what was planned, and only the first one speaks."""
    file = mlp(mesh)
    given = (f"--inputs={reference('01_mlp').inputs}", "--steps=3")
    found, said = train(variables, ranks, file, *given)
    outputs = file.with_suffix(".threads")
    succeed("run", file, *given, f"--ranks={ranks}", f"--outputs={outputs}")
    assert found == {name: value.tobytes() for name, value in load_file(outputs).items()}
    (planned,) = re.findall(r"^\d+ collectives, in which rank 0 receives (\d+) bytes$", succeed("inspect", file), re.M)
    assert f"received {planned} bytes per step from others" in said


@pytest.mark.parametrize("variables", [torchrun, slurm])
def test_gpus(cut: Any, reference: Any, monkeypatch: pytest.MonkeyPatch, variables: Variables) -> None:  # noqa: F811
    """NCCL's unique id comes without MPI: ranks on GPUs meet, and compute the bits of ranks that MPI has started."""
    monkeypatch.setenv("TENON_CUDA_DRIVER", str(DRIVER))
    monkeypatch.setenv("TENON_EMULATED_CUDA_GPUS", "4")
    made = cut("01_mlp", "data=2", "--no-libraries")
    given = (f"--inputs={reference('01_mlp').inputs}", "--steps=1")
    found, said = train(variables, 2, made.gpu, *given)
    outputs = made.gpu.with_suffix(".outputs")
    expected = mpi.succeed(2, made.gpu, *given, f"--outputs={outputs}")
    assert found == {name: value.tobytes() for name, value in load_file(outputs).items()}
    (received,) = re.findall(r"received \d+ bytes per step from others", said)
    assert received in expected


@pytest.fixture
def waiting(mlp: Any, reference: Any, tmp_path: Path) -> Iterator[tuple[Ranks, Path]]:  # noqa: F811
    """Two ranks that run for long, and the file in which a line per step appears."""
    metrics = tmp_path / "metrics.csv"
    given = (mlp("data=2"), f"--inputs={reference('01_mlp').inputs}", "--steps=1000000", f"--metrics={metrics}", "--heartbeat=1")
    with Ranks(torchrun, 2, given) as running:
        yield running, metrics


@pytest.mark.parametrize(("number", "words"), [(signal.SIGKILL, "rank 1 has died"), (signal.SIGSTOP, "rank 1 has stopped")])
def test_a_rank_is_lost(waiting: tuple[Ranks, Path], number: int, words: str) -> None:
    """The other says so and ends."""
    running, metrics = waiting
    while not metrics.exists() or metrics.read_text().count("\n") < 3:
        assert running.processes[0].poll() is None, running.end()
    running.processes[1].send_signal(number)
    out, errors = running.processes[0].communicate(timeout=30)
    assert running.processes[0].returncode == 1, errors
    assert words in errors, (out, errors)


def test_refusals(mlp: Any) -> None:
    """What does not fit is said, and a launch of one process is none."""
    file = mlp("data=2")
    for name, value, words in [
        ("RANK", "2", "this process is rank 2 of 2 ranks from 0 on"),
        ("MASTER_PORT", "none", "MASTER_PORT is 'none', expected the number of a port"),
    ]:
        surroundings = os.environ | torchrun(0, 2, 29500) | {name: value}
        done = subprocess.run([BUILD / "bin/tenon", "run", file, "--zero-state"], env=surroundings, capture_output=True, text=True)
        assert (done.returncode, words in done.stderr) == (2, True), done
    surroundings = os.environ | torchrun(0, 1, 29500)
    done = subprocess.run([BUILD / "bin/tenon", "run", file, "--zero-state"], env=surroundings, capture_output=True, text=True)
    assert done.stderr == refused(1, "run", file, "--zero-state")
