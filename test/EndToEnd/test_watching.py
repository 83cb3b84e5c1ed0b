"""Watching a run: the progress line, metrics in every format, and conditions that end it."""

from __future__ import annotations

import csv
import fcntl
import json
import math
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, refused, run, succeed
from safetensors.numpy import load_file, save_file
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

# The loss is the sum of x, `seen` counts steps.
STEP = """module @step {
  func.func public @main(%arg0: tensor<i32> {tf.aliasing_output = 0 : i32} loc("seen"), %arg1: tensor<2xf32> loc("x"))
      -> (tensor<i32> {jax.result_info = "result['seen']"}, tensor<f32> {jax.result_info = "result['loss']"},
          tensor<i32> {jax.result_info = "result['twice']"}) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %seen = stablehlo.add %arg0, %one : tensor<i32>
    %twice = stablehlo.add %seen, %seen : tensor<i32>
    %loss = stablehlo.reduce(%arg1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    return %seen, %loss, %twice : tensor<i32>, tensor<f32>, tensor<i32>
  }
}
"""
LOSSES = [1.5, 3.0, 0.25, 12.0, math.nan, math.inf, 7.0, -2.0]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled step, with a start and samples that give LOSSES beside it."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "step.mlir").write_text(STEP)
    succeed("compile", folder / "step.mlir", "-o", folder / "step.tenon")
    save_file({"seen": np.array(0, np.int32)}, folder / "start.safetensors")
    save_file({"x": np.array([[loss, 0] for loss in LOSSES], np.float32)}, folder / "steps.safetensors")
    return folder / "step.tenon"


def given(program: Path, *options: object) -> list[object]:
    """The arguments of a run."""
    data = program.parent
    return ["run", program, "--state", data / "start.safetensors", "--batches", data / "steps.safetensors", *options]


def read_events(file: Path) -> list[tuple[int, dict[str, float]]]:
    """The steps of an event file as TensorBoard reads it, which ends at the first record that is not whole."""
    version, *events = LegacyEventFileLoader(str(file)).Load()
    assert version.file_version == "brain.Event:2"
    assert all(event.wall_time > 1.7e9 for event in events)
    return [(event.step, {value.tag: value.simple_value for value in event.summary.value}) for event in events]


def same(a: float, b: float) -> bool:
    """Equal, or both no number."""
    return a == b or (math.isnan(a) and math.isnan(b))


def test_metrics_in_every_format(program: Path, tmp_path: Path) -> None:
    """The same steps and values in all, also of those that are no numbers."""
    names = ("m.csv", "m.jsonl", "events/")
    for name in names:
        succeed(*given(program, "--steps=8", f"--metrics={tmp_path}/{name}"))
    rows = list(csv.DictReader((tmp_path / "m.csv").open()))
    objects = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]
    events = read_events(tmp_path / "events/events.out.tfevents.tenon")
    assert len(rows) == len(objects) == len(events) == len(LOSSES)
    for i, loss in enumerate(LOSSES):
        assert int(rows[i]["step"]) == objects[i]["step"] == events[i][0] == i
        assert same(float(rows[i]["loss"]), loss) and same(float(objects[i]["loss"]), loss) and same(events[i][1]["loss"], loss)
        assert int(rows[i]["twice"]) == objects[i]["twice"] == events[i][1]["twice"] == 2 * (i + 1)
        assert isinstance(objects[i]["loss"], str) != math.isfinite(loss)


@pytest.mark.parametrize("name", ["m.csv", "m.jsonl", "events/"])
def test_a_resumed_run_cuts_and_goes_on(name: str, program: Path, tmp_path: Path) -> None:
    """What was written behind the checkpoint goes away; a file with other columns is refused."""
    options = [f"--metrics={tmp_path}/{name}", f"--checkpoints={tmp_path}/c", "--resume"]
    file = tmp_path / (f"{name}events.out.tfevents.tenon" if name.endswith("/") else name)
    succeed(*given(program, *options, "--until=3"))
    with file.open("ab") as lost:
        lost.write(b"lost")
    succeed(*given(program, *options, "--until=8"))
    if name.endswith("/"):
        assert [step for step, _ in read_events(file)] == list(range(8))
    else:
        succeed(*given(program, "--steps=8", f"--metrics={tmp_path}/whole{file.suffix}"))
        assert file.read_bytes() == (tmp_path / f"whole{file.suffix}").read_bytes()
    file.write_bytes(file.read_bytes().replace(b"loss", b"cost").replace(b"brain", b"brawn"))
    if name != "events/":
        assert "has other columns than this run" in refused(1, *given(program, *options, "--until=9"))


def test_metrics_are_there_when_a_run_is_killed(program: Path, tmp_path: Path) -> None:
    """Every step that is complete has its line."""
    command = [BUILD / "bin/tenon", *given(program, "--until=1h", f"--metrics={tmp_path}/m.jsonl")]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        process.kill()
    step = re.match(r"step (\d+)  ", line)
    assert step, line
    assert len((tmp_path / "m.jsonl").read_text().splitlines()) >= int(step[1])


@pytest.mark.parametrize(
    ("condition", "steps", "said"),
    [
        ("loss > 10", 4, "'loss' is 12, --stop-if='loss > 10'"),
        ("loss>=3", 2, "'loss' is 3, --stop-if='loss>=3'"),
        ("loss < 0", 8, "'loss' is -2, --stop-if='loss < 0'"),
        ("loss <= 0.25", 3, "'loss' is 0.25, --stop-if='loss <= 0.25'"),
        ("loss > 100 or loss not finite", 5, "'loss' is nan, --stop-if='loss not finite'"),
        ("twice > 11 or loss > 1e9", 6, "'twice' is 12, --stop-if='twice > 11'"),
        ("loss > 12 or twice >= 100", 6, "'loss' is inf, --stop-if='loss > 12'"),
    ],
)
def test_stops_where_a_condition_holds(condition: str, steps: int, said: str, program: Path, tmp_path: Path) -> None:
    """With exit code 6, the result and its value; what was saved before stays."""
    saved = [f"--metrics={tmp_path}/m.csv", f"--checkpoints={tmp_path}/c", "--save-every=1", "--keep=1"]
    outcome = run(*given(program, "--steps=50", f"--stop-if={condition}", *saved))
    assert outcome.code == 6, outcome
    assert f"stopped    after step {steps}: {said}" in outcome.out
    assert f"{steps} of 50 steps are complete" in outcome.errors
    assert len((tmp_path / "m.csv").read_text().splitlines()) == steps + 1
    # The state of the step that was stopped at is not saved.
    state = load_file(tmp_path / f"c/step-{steps - 1:09}/state-1-of-1.safetensors")
    assert state["seen"] == steps - 1 and len(list((tmp_path / "c").iterdir())) == 1


def test_conditions_that_are_none(program: Path) -> None:
    """What is no condition is bad usage, what is no result an error before the first step."""
    for wrong in ("", "loss", "loss >", "> 3", "loss = 3", "loss > 3 or", "loss > nan", "not finite", "loss > 3 and loss < 5"):
        assert "expected conditions such as 'loss > 10'" in refused(2, *given(program, f"--stop-if={wrong}")), wrong
    for name in ("cost", "x", "seen"):
        said = refused(1, *given(program, f"--stop-if={name} > 1"))
        assert f"'{name}' of --stop-if is no scalar result of the step; it has 'loss', 'twice'" in said
    assert run(*given(program, "--steps=3", "--stop-if=loss > 1e9")).code == 0


def test_lines_in_a_pipe(program: Path, tmp_path: Path) -> None:
    """Plain lines with the step, results, the smoothed loss, rates and the time that is left."""
    np.savez(tmp_path / "x.npz", x=np.full(64, 0.25, np.float32))
    said = succeed(*given(program)[:4], f"--batches=samples:{tmp_path / 'x.npz'}", "--epochs=2")
    assert "\r" not in said and "\x1b" not in said
    line = next(line for line in said.splitlines() if line.startswith("step 64/64"))
    assert re.fullmatch(r"step 64/64  loss 0\.5  twice 128  smoothed 0\.5  [\d.]+ steps/s  \d+ samples/s  0:00 left", line), line


def test_the_line_on_a_terminal(program: Path) -> None:
    """One line that is written over itself, no longer than the terminal is wide, and a new line behind it."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    command = [BUILD / "bin/tenon", *given(program, "--until=1s")]
    with subprocess.Popen(list(map(str, command)), stdout=terminal, stderr=subprocess.PIPE) as process:
        os.close(terminal)
        said = b""
        while True:
            try:
                part = os.read(controller, 4096)
            except OSError:
                break
            said += part
            if not part:
                break
    os.close(controller)
    assert process.returncode == 0, said
    lines = said.decode().split("\r\n")
    shown = lines[0].split("\r")
    assert len(shown) >= 4 and shown[0] == "", shown
    assert all(re.fullmatch(r"step \d+  loss .*\x1b\[K", line) and len(line.removesuffix("\x1b[K")) < 40 for line in shown[1:]), shown
    assert lines[1].startswith("time "), lines
