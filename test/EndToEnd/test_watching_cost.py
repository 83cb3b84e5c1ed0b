"""What watching a run costs: instructions that it adds to the thread that runs the step, counted by valgrind's callgrind."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, succeed
from safetensors.numpy import save_file

# A step of 8 million instructions; one of 5 ms has about eight times as many.
SIZE = 256
SQUARE = f"tensor<{SIZE}x{SIZE}xf32>"
STEP = f"""module @step {{
  func.func public @main(
      %w: {SQUARE} {{tf.aliasing_output = 0 : i32}} loc("params['w']"), %x: {SQUARE} loc("x"), %rate: tensor<f32> loc("lr"))
      -> ({SQUARE} {{jax.result_info = "result['params']['w']"}}, tensor<f32> {{jax.result_info = "result['loss']"}}) {{
    %h0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({SQUARE}, {SQUARE}) -> {SQUARE}
    %h1 = stablehlo.dot_general %h0, %w, contracting_dims = [1] x [0] : ({SQUARE}, {SQUARE}) -> {SQUARE}
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %loss = stablehlo.reduce(%h1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({SQUARE}, tensor<f32>) -> tensor<f32>
    %rates = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> {SQUARE}
    %change = stablehlo.multiply %h1, %rates : {SQUARE}
    %new = stablehlo.subtract %w, %change : {SQUARE}
    return %new, %loss : {SQUARE}, tensor<f32>
  }}
}}
"""
WATCHED = ["--batches=batches.safetensors", "--schedule=lr=cosine:steps=1000", "--set=lr=1e-3"]


# What begins every step. Valgrind takes seconds to start, so one run is cut there into parts instead of running twice.
BEGIN = "tenon::runtime::Executor::run(*"


def instructions_of_a_step(folder: Path, *options: str) -> float:
    """Those of the first thread, which runs the step alone, from the beginning of the second step to that of the fourth, halved."""
    with tempfile.TemporaryDirectory(dir=folder) as counts:
        command = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--dump-before={BEGIN}"]
        command += [f"--callgrind-out-file={counts}/part"]
        command += [BUILD / "bin/tenon", "run", "step.tenon", "--zero-state", "--steps=4", "--threads=1", *options]
        subprocess.run(list(map(str, command)), cwd=folder, check=True, capture_output=True)
        # Part N ends where step N begins.
        parts = [Path(counts, f"part.{number}-01").read_text() for number in (3, 4)]
        assert not Path(counts, "part.5-01").exists()
    totals = [re.search(r"^totals: (\d+)$", part, re.MULTILINE) for part in parts]
    return sum(int(total[1]) for total in totals if total) / 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled step, for processors that valgrind knows, and its batches."""
    folder = tmp_path_factory.mktemp("watching-cost")
    (folder / "step.mlir").write_text(STEP)
    succeed("compile", folder / "step.mlir", "--cpu=x86-64-v3", "-o", folder / "step.tenon")
    save_file({"x": np.zeros((SIZE, SIZE), np.float32)}, folder / "inputs.safetensors")
    save_file({"x": np.zeros((8, SIZE, SIZE), np.float32)}, folder / "batches.safetensors")
    return folder


def test_watching_adds_at_most_a_percent(folder: Path) -> None:
    """Readers, a schedule, progress and metrics of every step, as JSON lines or events, beside a run that has none of them.

    So do a trace and norms in the steps that they are not of.
    """
    plain = instructions_of_a_step(folder, "--inputs=inputs.safetensors", "--set=lr=1e-3")
    assert 4e6 < plain < 16e6
    others = ("--trace=trace.json", "--trace-steps=100", "--norms-every=100")
    for options in (("--metrics=loss.jsonl", *others), ("--metrics=events/",)):
        added = instructions_of_a_step(folder, *WATCHED, *options) - plain
        assert added <= 0.01 * plain, (options, added, plain)
