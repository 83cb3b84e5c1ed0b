"""Collectives that run beside other operations change no bits, and really run beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import mpi
import numpy as np
import pytest
from conftest import Steps, succeed
from test_ranks import CPU, MESHES, STEPS, layouts_for, reference, train  # noqa: F401
from test_trace import Trace

MACHINE = Path(__file__).parents[2] / "test/Driver/Inputs/machine.json"


def machine(folder: Path, axes: int, hidden: float) -> Path:
    """A machine whose ranks have a core each, and compute beside this share of what they exchange."""
    described = json.loads(MACHINE.read_text())
    link = {"latency_microseconds": 20, "gigabytes_per_second": 1, "shared_by": 1, "hidden_share": hidden}
    described |= {"machine_version": 2, "cores": 1, "links": [link] * axes}
    file = folder / f"machine-{hidden}.json"
    file.write_text(json.dumps(described))
    return file


def compiled(steps: Steps, model: str, mesh: str, folder: Path, hidden: float, *options: object) -> Path:
    """The step for the ranks of the mesh, and its report beside it."""
    (folder / "layouts.txt").write_text(layouts_for(model, mesh))
    file = folder / f"{model}-{hidden}.tenon"
    succeed(
        "compile", steps[model].text, f"--mesh={mesh}", f"--sharding={folder / 'layouts.txt'}", "--verify-forms", CPU,
        f"--machine={machine(folder, mesh.count('=') , hidden)}", f"--report={file.with_suffix('.json')}", "-o", file, *options,
    )  # fmt: skip
    return file


def plan_of(file: Path) -> dict[str, Any]:
    """What the report says of the stage `plan`."""
    stages = json.loads(file.with_suffix(".json").read_text())["stages"]
    return next(stage for stage in stages if stage["stage"] == "plan")


def bytes_of(file: Path) -> int:
    """All segments of a rank."""
    planned = succeed("inspect", file)
    return sum(int(count) for count in re.findall(r"^(?:state|batch|results|temporaries|constants) +(\d+)$", planned, re.M))


@pytest.mark.parametrize("mesh", ["data=2", "data=2,model=2"])
@pytest.mark.parametrize("model", ["01_mlp", "04_chargpt"])
def test_bits(steps: Steps, reference: Any, tmp_path: Path, model: str, mesh: str) -> None:  # noqa: F811
    """The bits are those of collectives that all wait for, on any number of threads, with no more memory."""
    given = (f"--ranks={MESHES[mesh]}", f"--inputs={reference(model).inputs}", f"--steps={STEPS}")
    alone, beside = (compiled(steps, model, mesh, tmp_path, hidden) for hidden in (0, 1))
    expected = train(alone, *given)[0]
    for threads in (1, 2):
        found = train(beside, *given, f"--threads={threads}")[0]
        assert [value.tobytes() for value in found] == [value.tobytes() for value in expected]
    succeed("verify", beside)
    assert bytes_of(beside) <= bytes_of(alone)
    split = {hidden: plan_of(file) for hidden, file in ((0, alone), (1, beside))}
    assert split[0]["hidden_communication_seconds"] == 0
    assert split[1]["exposed_communication_seconds"] < split[0]["exposed_communication_seconds"]
    assert split[1]["hidden_communication_seconds"] > 0


@pytest.mark.parametrize(("model", "mesh", "ranks"), [("01_mlp", "data=2,model=2", 4), ("04_chargpt", "data=2", 2)])
def test_processes(steps: Steps, tmp_path: Path, model: str, mesh: str, ranks: int) -> None:
    """Processes of MPI compute the bits of threads, and receive the bytes that were planned."""
    file = compiled(steps, model, mesh, tmp_path, 1)
    given = (file, f"--inputs={steps[model].inputs}", "--steps=3", "--threads=1")
    succeed("run", *given, f"--ranks={ranks}", f"--outputs={tmp_path / 'threads'}")
    said = mpi.succeed(ranks, *given, f"--outputs={tmp_path / 'processes'}")
    assert (tmp_path / "processes").read_bytes() == (tmp_path / "threads").read_bytes()
    (planned,) = re.findall(r"^\d+ collectives, in which rank 0 receives (\d+) bytes$", succeed("inspect", file), re.M)
    assert f"received {planned} bytes per step from others" in said


def test_memory_is_checked(steps: Steps, reference: Any, tmp_path: Path) -> None:  # noqa: F811
    """Operations alone in poisoned memory, collectives too, compute the bits of a plain run."""
    file = compiled(steps, "01_mlp", "data=2,model=2", tmp_path, 1)
    given = ("--ranks=4", f"--inputs={reference('01_mlp').inputs}", "--steps=2")
    plain, checked = train(file, *given), train(file, *given, "--check-memory")
    assert [value.tobytes() for value in plain[0]] == [value.tobytes() for value in checked[0]]
    assert plain[1] == checked[1]


def test_gradients_of_microbatches_are_summed_once(steps: Steps, tmp_path: Path) -> None:
    """What a loop over microbatches adds up is exchanged behind it, and is what one rank computes."""
    step = steps["12_chargpt_accum"]
    cut = [at for at, leaf in enumerate(leaf for leaf in step.info["args"] if leaf["in_main"]) if not leaf["donated"]]
    (tmp_path / "layouts.txt").write_text("".join(f"arg{at} = [-, data, -]\n" for at in cut))
    file = tmp_path / "step.tenon"
    options = ("--mesh=data=2", f"--sharding={tmp_path / 'layouts.txt'}", "--verify-forms")
    succeed("compile", step.text, *options, CPU, f"--report={tmp_path / 'report.json'}", "-o", file)
    shard = next(stage for stage in json.loads((tmp_path / "report.json").read_text())["stages"] if stage["stage"] == "shard")
    ((count, received),) = re.findall(r"^(\d+) collectives, in which rank 0 receives (\d+) bytes$", succeed("inspect", file), re.M)
    assert shard["collectives"]["all_reduce"] == 54
    assert shard["scheduled_collectives"]["all_reduce"] == 17
    # Four microbatches, of which each had to be exchanged alone; a number per microbatch still is.
    assert int(received) * 3.8 < shard["received_bytes"]
    assert int(count) <= 20
    succeed("verify", file)
    alone = tmp_path / "alone.tenon"
    succeed("compile", step.text, CPU, "-o", alone)
    given = (f"--inputs={step.inputs}", "--steps=2")
    ours, theirs = train(file, *given, "--ranks=2"), train(alone, *given)
    for our, their in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(our, their, rtol=2e-3, atol=2e-4)


def test_budget(steps: Steps, reference: Any, tmp_path: Path) -> None:  # noqa: F811
    """A plan within a budget keeps its order and its places, and the bits."""
    given = ("--ranks=2", f"--inputs={reference('04_chargpt').inputs}", "--steps=2")
    whole = compiled(steps, "04_chargpt", "data=2", tmp_path, 0)
    budget = bytes_of(whole) - bytes_of(whole) // 60
    (tmp_path / "less").mkdir()
    less = compiled(steps, "04_chargpt", "data=2", tmp_path / "less", 1, f"--memory-budget={budget}")
    assert bytes_of(less) <= budget
    succeed("verify", less)
    found = [train(file, *given)[0] for file in (whole, less)]
    assert [value.tobytes() for value in found[0]] == [value.tobytes() for value in found[1]]


def test_trace_shows_both_at_once(steps: Steps, reference: Any, tmp_path: Path) -> None:  # noqa: F811
    """While a thread of a rank exchanges, another runs kernels."""
    file = compiled(steps, "04_chargpt", "data=2", tmp_path, 1)
    succeed(
        "run", file, "--ranks=2", f"--inputs={reference('04_chargpt').inputs}", "--steps=30", "--threads=1",
        f"--trace={tmp_path / 'trace.json'}", "--trace-steps=2..30",
    )  # fmt: skip
    lanes = Trace(tmp_path / "trace.json").lanes
    for rank in ("rank 0", "rank 1"):
        exchanges = lanes[rank, "collectives"]
        assert {event["args"]["runs"] for event in exchanges} == {"collective"}
        kernels = [event for event in lanes[rank, "thread 0"] if event["cat"] in ("call", "kernel")]
        assert any(
            exchange["ts"] < kernel["ts"] + kernel["dur"] and kernel["ts"] < exchange["ts"] + exchange["dur"]
            for exchange in exchanges for kernel in kernels
        )  # fmt: skip
