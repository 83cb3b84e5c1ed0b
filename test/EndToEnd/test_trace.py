"""`tenon run --trace`: what threads, readers and the run itself do in some steps, as Perfetto reads it."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BUILD, refused, run, succeed
from safetensors.numpy import save_file

SIZE = 192
SQUARE = f"tensor<{SIZE}x{SIZE}xf32>"
# A product, and an update with a loss, both large enough for two threads.
STEP = f"""module @step {{
  func.func public @main(%w: {SQUARE} {{tf.aliasing_output = 0 : i32}} loc("state['params']['w']"), %x: {SQUARE} loc("x"))
      -> ({SQUARE} {{jax.result_info = "result[0]['params']['w']"}}, tensor<f32> {{jax.result_info = "result[1]"}}) {{
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({SQUARE}, {SQUARE}) -> {SQUARE} loc("layer/dot"("net.py":7:3))
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rate = stablehlo.constant dense<0.0009765625> : {SQUARE}
    %loss = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [0, 1]
        : ({SQUARE}, tensor<f32>) -> tensor<f32> loc("loss"("net.py":9:3))
    %change = stablehlo.multiply %h, %rate : {SQUARE} loc("update"("net.py":11:3))
    %new = stablehlo.subtract %w, %change : {SQUARE} loc("update"("net.py":12:3))
    return %new, %loss : {SQUARE}, tensor<f32>
  }}
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled step, with a start and batches beside it."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "step.mlir").write_text(STEP)
    succeed("compile", folder / "step.mlir", "-o", folder / "step.tenon")
    random = np.random.default_rng(3)
    save_file({"params.w": random.normal(size=(SIZE, SIZE)).astype(np.float32)}, folder / "start.safetensors")
    save_file({"x": random.normal(size=(6, SIZE, SIZE)).astype(np.float32) / SIZE}, folder / "batches.safetensors")
    return folder


def training(folder: Path, *options: object, program: str = "step.tenon") -> list[object]:
    """The arguments of a run on two threads."""
    data = ("--state", folder / "start.safetensors", "--batches", folder / "batches.safetensors")
    return ["run", folder / program, *data, "--threads=2", *options]


class Trace:
    """The events of a file, by the process and the lane that they are in."""

    def __init__(self, path: Path) -> None:
        self.lanes: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        events = json.loads(path.read_text())["traceEvents"]
        named = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
        processes = {pid: name for (kind, pid, _), name in named.items() if kind == "process_name"}
        for event in events:
            if event["ph"] == "X":
                self.lanes[processes[event["pid"]], named["thread_name", event["pid"], event["tid"]]].append(event)
            else:
                assert event["ph"] == "M"
        for lane in self.lanes.values():
            lane.sort(key=lambda event: (event["ts"], -event["dur"]))

    def names(self, lane: str, category: str) -> list[str]:
        """What is called so in a lane of the first rank, in order."""
        return [event["name"] for event in self.lanes["rank 0", lane] if event["cat"] == category]

    def check_nesting(self) -> None:
        """What begins in a span of a lane ends in it."""
        for name, lane in self.lanes.items():
            open_until: list[float] = []
            for event in lane:
                while open_until and open_until[-1] <= event["ts"] + 1e-3:
                    open_until.pop()
                end = event["ts"] + event["dur"]
                assert not open_until or end <= open_until[-1] + 2e-3, (name, event)
                open_until.append(end)


def test_what_a_trace_holds(folder: Path, tmp_path: Path) -> None:
    """Kernels and calls by their sources on every thread, waits, readers, and what the run does around its steps."""
    options = [f"--trace={tmp_path}/t.json", f"--metrics={tmp_path}/m.csv", "--save-every=4", f"--save={tmp_path}/s.safetensors"]
    out = succeed(*training(folder, "--steps=6", "--trace-steps=3..4", *options))
    assert "trace      2 steps in " in out
    trace = Trace(tmp_path / "t.json")
    trace.check_nesting()
    sources = {"layer/dot net.py:7", "update net.py:12"}
    for thread in ("thread 0", "thread 1"):
        work = trace.names(thread, "kernel") + trace.names(thread, "call")
        assert sources <= set(work), (thread, work)
        assert work.count("update net.py:12") == 2
    assert any("loss" in name for name in trace.names("thread 0", "kernel"))
    assert trace.names("thread 0", "call") == ["layer/dot net.py:7"] * 2
    call = next(event for event in trace.lanes["rank 0", "thread 0"] if event["cat"] == "call")
    assert f"{SIZE}x{SIZE}x{SIZE}" in call["args"]["computes"] and call["args"]["source"] == call["name"]
    waits = [event for name, lane in trace.lanes.items() if "thread" in name[1] for event in lane if event["cat"] == "wait"]
    assert waits and all(event["args"]["behind"] for event in waits)
    around = trace.names("run", "run")
    for what in ("step 3", "step 4", "save"):
        assert around.count(what) == 1, around
    for what in ("wait for a batch", "run the step", "read results", "write metrics"):
        assert around.count(what) == 2, around
    runs = [event for event in trace.lanes["rank 0", "run"] if event["name"] == "run the step"]
    for thread in ("thread 0", "thread 1"):
        for event in trace.lanes["rank 0", thread]:
            inside = runs[event["args"]["step"] - 3]
            assert inside["ts"] <= event["ts"] and event["ts"] + event["dur"] <= inside["ts"] + inside["dur"] + 2e-3
    reads = [event["name"] for name, lane in trace.lanes.items() if name[1].startswith("reader ") for event in lane]
    assert reads and all(name.startswith("read batch ") for name in reads)


def test_tracing_changes_no_bit(folder: Path, tmp_path: Path) -> None:
    """State and metrics are those of a run that is not traced, on any number of threads."""
    for name, options in (("plain", []), ("traced", [f"--trace={tmp_path}/t.json", "--trace-steps=1..5"])):
        saved = (f"--save={tmp_path}/{name}.safetensors", f"--metrics={tmp_path}/{name}.csv")
        succeed(*training(folder, "--steps=5", *saved, *options))
    for end in ("safetensors", "csv"):
        assert (tmp_path / f"plain.{end}").read_bytes() == (tmp_path / f"traced.{end}").read_bytes()


def test_which_steps_are_traced(folder: Path, tmp_path: Path) -> None:
    """Counted over resumed runs; without --trace-steps some that are like all others, if there are any."""

    def traced(*options: object) -> list[str]:
        """The steps in the trace of a run."""
        succeed(*training(folder, f"--trace={tmp_path}/t.json", *options))
        return [name for name in Trace(tmp_path / "t.json").names("run", "run") if name.startswith("step ")]

    assert traced("--steps=6") == ["step 2", "step 3", "step 4"]
    assert traced("--steps=1") == ["step 1"]
    assert traced("--steps=2", "--trace-steps=2") == ["step 2"]
    resumed = (f"--checkpoints={tmp_path}/c", "--resume")
    assert traced(*resumed, "--until=3", "--trace-steps=3..5") == ["step 3"]
    assert traced(*resumed, "--until=8", "--trace-steps=3..5") == ["step 4", "step 5"]
    outcome = run(*training(folder, *resumed, "--until=9", f"--trace={tmp_path}/t.json", "--trace-steps=3..5"))
    assert outcome.code == 0 and "the run made none of the steps 3..5" in outcome.errors
    assert Trace(tmp_path / "t.json").lanes == {}


def test_a_trace_is_whole_when_the_run_is_killed(folder: Path, tmp_path: Path) -> None:
    """It is written behind each traced step."""
    command = [BUILD / "bin/tenon", *training(folder, "--until=1h", f"--trace={tmp_path}/t.json", "--trace-steps=2..1000000")]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        # Between two steps or in one, not while the file is written.
        while True:
            try:
                Trace(tmp_path / "t.json").check_nesting()
                break
            except json.JSONDecodeError:
                continue
        process.kill()


def test_options_that_are_wrong(folder: Path, tmp_path: Path) -> None:
    """Bad usage, or an error before the first step."""
    for wrong in ("0", "3..2", "..", "3..", "a", "1...2", "-1..3"):
        assert "expected steps such as 10..12" in refused(2, *training(folder, f"--trace={tmp_path}/t", f"--trace-steps={wrong}"))
    assert "--trace-steps needs a file" in refused(2, *training(folder, "--trace-steps=3"))
    assert "--check-memory" in refused(2, *training(folder, "--check-memory", f"--trace={tmp_path}/t"))
    assert "cannot write" in refused(1, *training(folder, f"--trace={tmp_path}/none/t.json"))


def test_a_trace_of_a_gpu(folder: Path, tmp_path: Path) -> None:
    """Kernels by their sources and in their order, each waited for; the state is that of a run without a trace."""
    # Merged, the update and the loss would be one kernel, not one launch of two.
    target = ("--target=sm_90", "--no-cubins", "--no-libraries", "--fuse=false")
    succeed("compile", folder / "step.mlir", "-o", tmp_path / "gpu.tenon", *target)
    driver = f"--cuda-driver={BUILD / 'lib' / 'libtenon-emulated-cuda.so'}"
    for name, options in (("plain", []), ("traced", [f"--trace={tmp_path}/t.json"])):
        arguments = training(folder, "--steps=3", driver, f"--save={tmp_path}/{name}.safetensors", *options)
        succeed(arguments[0], tmp_path / "gpu.tenon", *arguments[2:])
    assert (tmp_path / "plain.safetensors").read_bytes() == (tmp_path / "traced.safetensors").read_bytes()
    trace = Trace(tmp_path / "t.json")
    trace.check_nesting()
    kernels = trace.names("device, one operation at a time", "kernel")
    assert kernels[: len(kernels) // 2] * 2 == kernels
    assert kernels[0] == "layer/dot net.py:7"
    # Kernels that are launched together have the sources of all of them.
    assert any("update net.py:12" in name and "loss net.py:9" in name for name in kernels), kernels


def test_a_trace_of_several_ranks(folder: Path, tmp_path: Path) -> None:
    """Each rank is a process with threads of its own."""
    (tmp_path / "layouts.txt").write_text("params.w = [-, model]\n")
    mesh = ("--mesh=model=2", f"--sharding={tmp_path / 'layouts.txt'}")
    succeed("compile", folder / "step.mlir", "-o", tmp_path / "ranks.tenon", *mesh)
    arguments = training(folder, "--steps=3", "--ranks=2", f"--trace={tmp_path}/t.json", "--trace-steps=2")
    succeed(arguments[0], tmp_path / "ranks.tenon", *arguments[2:])
    trace = Trace(tmp_path / "t.json")
    trace.check_nesting()
    for rank in ("rank 0", "rank 1"):
        ran = [event["name"] for event in trace.lanes[rank, "thread 0"] if event["cat"] in ("call", "kernel")]
        assert "layer/dot net.py:7" in ran, (rank, ran)
