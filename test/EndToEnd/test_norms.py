"""`tenon run --norms-every`: norms of parameters and of what steps change in them, beside the other metrics."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, refused, succeed
from safetensors.numpy import load_file, save_file
from test_watching import read_events

# Two parameters, one of them f16, and a moment, which is no parameter; the rate is 1/8.
STEP = """module @step {
  func.func public @main(
      %w: tensor<3x4xf32> {tf.aliasing_output = 0 : i32} loc("state['params']['w']"),
      %h: tensor<4xf16> {tf.aliasing_output = 1 : i32} loc("state['params']['h']"),
      %m: tensor<4xf32> {tf.aliasing_output = 2 : i32} loc("state['opt_state']['mu']['h']"),
      %x: tensor<4xf32> loc("x"))
      -> (tensor<3x4xf32> {jax.result_info = "result[0]['params']['w']"}, tensor<4xf16> {jax.result_info = "result[0]['params']['h']"},
          tensor<4xf32> {jax.result_info = "result[0]['opt_state']['mu']['h']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %rate = stablehlo.constant dense<0.125> : tensor<4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.multiply %x, %rate : tensor<4xf32>
    %rows = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
    %w1 = stablehlo.subtract %w, %rows : tensor<3x4xf32>
    %s16 = stablehlo.convert %s : (tensor<4xf32>) -> tensor<4xf16>
    %h1 = stablehlo.add %h, %s16 : tensor<4xf16>
    %m1 = stablehlo.add %m, %x : tensor<4xf32>
    %loss = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %w1, %h1, %m1, %loss : tensor<3x4xf32>, tensor<4xf16>, tensor<4xf32>, tensor<f32>
  }
}
"""
PARAMETERS = ("params.h", "params.w")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled step, with a start and batches beside it."""
    folder = tmp_path_factory.mktemp("norms")
    (folder / "step.mlir").write_text(STEP)
    succeed("compile", folder / "step.mlir", "-o", folder / "step.tenon")
    random = np.random.default_rng(5)
    start = {
        "params.w": random.normal(size=(3, 4)).astype(np.float32),
        "params.h": random.normal(size=4).astype(np.float16),
        "opt_state.mu.h": np.zeros(4, np.float32),
    }
    save_file(start, folder / "start.safetensors")
    save_file({"x": random.normal(size=(6, 4)).astype(np.float32)}, folder / "batches.safetensors")
    return folder


def training(folder: Path, *options: object) -> list[object]:
    """The arguments of a run."""
    return ["run", folder / "step.tenon", "--state", folder / "start.safetensors", "--batches", folder / "batches.safetensors", *options]


def expected(folder: Path, tmp_path: Path, step: int) -> dict[str, float]:
    """By numpy, from the states before and behind a step."""
    states = [load_file(folder / "start.safetensors")] if step == 1 else []
    for count in range(max(step - 1, 1), step + 1):
        succeed(*training(folder, f"--steps={count}", f"--save={tmp_path}/s.safetensors"))
        states.append(load_file(tmp_path / "s.safetensors"))
    before, after = states[-2:]
    norms = {}
    for kind, of in (("parameter_norm", lambda name: 0), ("update_norm", lambda name: before[name].astype(np.float64))):
        differences = {name: after[name].astype(np.float64) - of(name) for name in PARAMETERS}
        norms |= {f"{kind}.{name}": float(np.linalg.norm(value)) for name, value in differences.items()}
        norms[kind] = float(np.sqrt(sum(np.sum(value**2) for value in differences.values())))
    return norms


@pytest.mark.parametrize("name", ["m.csv", "m.jsonl", "events/"])
def test_norms_are_those_of_numpy(name: str, folder: Path, tmp_path: Path) -> None:
    """In the lines of the steps that were asked for, and of no others."""
    succeed(*training(folder, "--steps=6", "--norms-every=3", "--norms-steps=1..2", f"--metrics={tmp_path}/{name}"))
    lines: list[dict] = []
    if name == "m.csv":
        lines = list(csv.DictReader((tmp_path / name).read_text().splitlines()))
    elif name == "m.jsonl":
        lines = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
    else:
        lines = [values for _, values in read_events(tmp_path / "events/events.out.tfevents.tenon")]
    for step, line in enumerate(lines, 1):
        wanted = expected(folder, tmp_path, step)
        if step in (1, 2, 3, 6):
            assert {key: float(line[key]) for key in wanted} == pytest.approx(wanted, rel=1e-6)
        else:
            assert all(line.get(key) in ("", None) for key in wanted)
        assert not any("mu" in key for key in line)


@pytest.mark.parametrize("options", [(), ("--precision=bf16-state",), ("--target=sm_90", "--no-cubins")])
def test_norms_change_no_bit(options: tuple[str, ...], folder: Path, tmp_path: Path) -> None:
    """State is the same with and without, also where it is held in another form or by a GPU."""
    succeed("compile", folder / "step.mlir", "-o", tmp_path / "step.tenon", *options)
    arguments = training(folder, "--steps=4")
    if "--target=sm_90" in options:
        arguments.append(f"--cuda-driver={BUILD / 'lib' / 'libtenon-emulated-cuda.so'}")
    for name, watched in (("plain", []), ("watched", ["--norms-every=1", f"--metrics={tmp_path}/m.csv"])):
        succeed(arguments[0], tmp_path / "step.tenon", *arguments[2:], *watched, f"--save={tmp_path}/{name}.safetensors")
    assert (tmp_path / "plain.safetensors").read_bytes() == (tmp_path / "watched.safetensors").read_bytes()
    lines = list(csv.DictReader((tmp_path / "m.csv").open()))
    assert len(lines) == 4 and all(float(line["update_norm.params.w"]) > 0 for line in lines)


def test_a_resumed_run_goes_on(folder: Path, tmp_path: Path) -> None:
    """The file is that of a run that was never stopped."""
    options = ["--norms-every=2", f"--metrics={tmp_path}/m.csv", f"--checkpoints={tmp_path}/c", "--resume"]
    succeed(*training(folder, "--until=3", *options))
    succeed(*training(folder, "--until=6", *options))
    succeed(*training(folder, "--until=6", "--norms-every=2", f"--metrics={tmp_path}/whole.csv"))
    assert (tmp_path / "m.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_what_norms_need(folder: Path, tmp_path: Path) -> None:
    """A file to stand in, parameters, and names that no result has."""
    assert "--metrics" in refused(2, *training(folder, "--norms-every=2"))
    for wrong in ("--norms-every=0", "--norms-steps=2..1"):
        assert "expected" in refused(2, *training(folder, wrong, f"--metrics={tmp_path}/m.csv"))
    (tmp_path / "none.mlir").write_text(STEP.replace("['params']", "['ema']"))
    succeed("compile", tmp_path / "none.mlir", "-o", tmp_path / "none.tenon")
    arguments = training(folder, "--norms-every=1", f"--metrics={tmp_path}/m.csv")
    errors = refused(1, "run", tmp_path / "none.tenon", "--zero-state", *arguments[4:])
    assert "the step has none that are floats" in errors
    succeed("compile", folder / "step.mlir", "-o", tmp_path / "named.tenon", "--name", "3=update_norm")
    assert "--name of tenon compile" in refused(1, arguments[0], tmp_path / "named.tenon", *arguments[2:])
