"""Entry points beside the step: they read its state by name, write none of it, and are evaluated while it trains."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import tenon
from conftest import BUILD, HAS_BF16, IN_BF16, refused, run, succeed
from safetensors.numpy import load_file, save_file
from test_watching import read_events

# Every step adds the mean of the samples to w, half of that to the average, and counts.
STEP = """module @train {
  func.func public @main(
      %w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("state['params']['w']"),
      %a: tensor<4xf32> {tf.aliasing_output = 1 : i32} loc("state['ema']['w']"),
      %n: tensor<i32> {tf.aliasing_output = 2 : i32} loc("state['opt']['seen']"),
      %x: tensor<2x4xf32> loc("x"))
      -> (tensor<4xf32> {jax.result_info = "result[0]['params']['w']"},
          tensor<4xf32> {jax.result_info = "result[0]['ema']['w']"},
          tensor<i32> {jax.result_info = "result[0]['opt']['seen']"},
          tensor<f32> {jax.result_info = "result[1]"}) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %mean = stablehlo.multiply %sum, %half : tensor<4xf32>
    %w1 = stablehlo.add %w, %mean : tensor<4xf32>
    %h = stablehlo.multiply %mean, %half : tensor<4xf32>
    %a1 = stablehlo.add %a, %h : tensor<4xf32>
    %n1 = stablehlo.add %n, %one : tensor<i32>
    %loss = stablehlo.reduce(%mean init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %w1, %a1, %n1, %loss : tensor<4xf32>, tensor<4xf32>, tensor<i32>, tensor<f32>
  }
}
"""
# The loss is least after three steps; what it is besides depends on the samples. The table is a constant of its own.
EVAL = """module @eval {
  func.func public @main(
      %w: tensor<4xf32> loc("params['w']"),
      %n: tensor<i32> loc("seen"),
      %x: tensor<3x4xf32> loc("x"))
      -> (tensor<f32> {jax.result_info = "result['loss']"}, tensor<3xf32> {jax.result_info = "result['each']"}) {
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %table = stablehlo.constant dense<[1.0, -2.0, 0.5, 4.0]> : tensor<4xf32>
    %c = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
    %d = stablehlo.subtract %c, %three : tensor<f32>
    %e = stablehlo.multiply %d, %d : tensor<f32>
    %v = stablehlo.multiply %w, %table : tensor<4xf32>
    %each = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
    %l = stablehlo.add %e, %s : tensor<f32>
    return %l, %each : tensor<f32>, tensor<3xf32>
  }
}
"""
TABLE = np.array([1.0, -2.0, 0.5, 4.0], np.float32)
PREDICT = """module @predict {
  func.func public @main(%w: tensor<4xf32> loc("state['params']['w']"), %x: tensor<64x4xf32> loc("batch['x']"))
      -> (tensor<64x4xf32> {jax.result_info = "result"}) {
    %b = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<4xf32>) -> tensor<64x4xf32>
    %p = stablehlo.multiply %b, %x : tensor<64x4xf32>
    return %p : tensor<64x4xf32>
  }
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled file, with modules, a start and samples beside it."""
    folder = tmp_path_factory.mktemp("entries")
    for name, text in (("step", STEP), ("eval", EVAL), ("predict", PREDICT)):
        (folder / f"{name}.mlir").write_text(text)
    random = np.random.default_rng(7)
    start = {
        "params.w": random.normal(size=4).astype(np.float32),
        "ema.w": random.normal(size=4).astype(np.float32),
        "opt.seen": np.array(0, np.int32),
    }
    save_file(start, folder / "start.safetensors")
    save_file({"x": random.normal(size=(10, 4)).astype(np.float32)}, folder / "train.safetensors")
    save_file({"x": random.normal(size=(8, 4)).astype(np.float32)}, folder / "held.safetensors")
    save_file({"x": random.normal(size=(64, 4)).astype(np.float32)}, folder / "inputs.safetensors")
    out = compile_with(folder, "file.tenon", "eval=eval.mlir", "predict=predict.mlir")
    (folder / "printed.txt").write_text(out)
    return folder


def compile_with(folder: Path, output: str, *entries: str, options: tuple[str, ...] = ()) -> str:
    """Compiles the step with entry points; what is printed."""
    command = ["compile", folder / "step.mlir", "-o", folder / output, "--cpu=x86-64-v3", "--verify-forms", *options]
    for entry in entries:
        name, module = entry.split("=")
        command += ["--entry", f"{name}={folder / module}"]
    return succeed(*command)


def training(folder: Path, *options: object) -> list[object]:
    """The arguments of a run on the samples."""
    start, samples = folder / "start.safetensors", folder / "train.safetensors"
    return ["run", folder / "file.tenon", "--state", start, f"--batches=samples:{samples}", *options]


def test_what_was_matched_is_printed(folder: Path) -> None:
    """By the whole name silently, by its end with both names."""
    printed = (folder / "printed.txt").read_text()
    assert "eval reads 2 tensors of the state; inputs: eval.x; results: eval.loss, eval.each" in printed
    assert "seen is opt.seen" in printed
    assert "predict reads 1 tensors of the state; inputs: predict.x; results: predict.result0" in printed
    inspected = succeed("inspect", folder / "file.tenon")
    for name in ("eval.x", "eval.loss", "predict.x"):
        assert name in inspected


def test_entry_points_are_verified(folder: Path) -> None:
    """Each has a plan of its own, which holds; temporaries are those of the one that needs most."""
    out = succeed("verify", folder / "file.tenon")
    assert "'eval' writes none" in out and "'predict' writes none" in out
    assert len(re.findall("^packing", out, re.MULTILINE)) == 3


def test_evaluating_changes_no_bit(folder: Path, tmp_path: Path) -> None:
    """State and metrics of a run that evaluates after every step are those of one that does not."""
    held = f"--eval-batches=samples:{folder / 'held.safetensors'}"
    for name, options in (("plain", ()), ("watched", ("--eval-every=1", held))):
        succeed(
            *training(folder, "--steps=7", "--save", tmp_path / f"{name}.safetensors", "--metrics", tmp_path / f"{name}.csv"),
            *options,
        )
    assert (tmp_path / "plain.safetensors").read_bytes() == (tmp_path / "watched.safetensors").read_bytes()
    watched = [line.rpartition(",")[0] for line in (tmp_path / "watched.csv").read_text().splitlines()]
    assert (tmp_path / "plain.csv").read_text().splitlines() == watched


def test_means_are_those_of_numpy(folder: Path) -> None:
    """Two batches of three of eight samples, with the state after each second step."""
    out = succeed(*training(folder, "--steps=4", "--eval-every=2"), f"--eval-batches=samples:{folder / 'held.safetensors'}")
    held = load_file(folder / "held.safetensors")["x"]
    found = {int(step): float(loss) for step, loss in re.findall(r"evaluated +step (\d+): eval.loss (\S+)", out)}
    assert found.keys() == {2, 4}
    for step, loss in found.items():
        expected = np.mean([(step - 3) ** 2 + batch.sum(dtype=np.float64) for batch in (held[:3], held[3:6])])
        assert loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["m.csv", "m.jsonl"])
def test_metrics_hold_the_means(name: str, folder: Path, tmp_path: Path) -> None:
    """In the line of each evaluated step, also of a run that goes on from a checkpoint between two evaluations."""
    held = f"--eval-batches=samples:{folder / 'held.safetensors'}"
    whole = succeed(*training(folder, "--steps=7", "--eval-every=2", held, f"--metrics={tmp_path}/whole-{name}"))
    printed = {int(step): float(loss) for step, loss in re.findall(r"evaluated +step (\d+): eval.loss (\S+)", whole)}
    assert printed.keys() == {2, 4, 6}
    text = (tmp_path / f"whole-{name}").read_text()
    lines = [json.loads(line) for line in text.splitlines()] if name == "m.jsonl" else list(csv.DictReader(text.splitlines()))
    assert len(lines) == 7
    for step, line in enumerate(lines, 1):
        if step in printed:
            assert float(line["eval.loss"]) == pytest.approx(printed[step], rel=1e-8)
        else:
            assert line["eval.loss"] == (None if name == "m.jsonl" else "")
    options = ["--eval-every=2", held, f"--metrics={tmp_path}/{name}", f"--checkpoints={tmp_path}/c", "--resume"]
    succeed(*training(folder, "--until=3", *options))
    with (tmp_path / name).open("a") as lost:
        lost.write("lost")
    succeed(*training(folder, "--until=7", *options))
    assert (tmp_path / name).read_text() == text
    # Without the evaluation the file has other columns.
    assert "has other columns than this run" in refused(1, *training(folder, "--until=8", *options[2:]))


def test_events_hold_the_means(folder: Path, tmp_path: Path) -> None:
    """Only the steps that were evaluated have them."""
    held = f"--eval-batches=samples:{folder / 'held.safetensors'}"
    out = succeed(*training(folder, "--steps=5", "--eval-every=2", held, f"--metrics={tmp_path}/events/"))
    printed = [float(loss) for loss in re.findall(r"eval.loss (\S+)", out)]
    found = read_events(tmp_path / "events/events.out.tfevents.tenon")
    assert ["eval.loss" in values for _, values in found] == [False, True, False, True, False]
    assert [values["eval.loss"] for _, values in found if "eval.loss" in values] == pytest.approx(printed, rel=1e-6)
    assert all("loss" in values for _, values in found)


def test_predicting_writes_results(folder: Path, tmp_path: Path) -> None:
    """`run --entry` runs nothing else; the state has no successor."""
    inputs, out = folder / "inputs.safetensors", tmp_path / "out.safetensors"
    state = ("--state", folder / "start.safetensors")
    succeed("run", folder / "file.tenon", "--entry", "predict", *state, "--inputs", inputs, "--outputs", out)
    expected = load_file(inputs)["x"] * load_file(folder / "start.safetensors")["params.w"]
    assert np.array_equal(load_file(out)["predict.result0"], expected)
    succeed("run", folder / "file.tenon", "--entry=predict", "--check-memory", *state, "--inputs", inputs)
    errors = refused(1, "run", folder / "file.tenon", "--entry", "test", *state)
    assert "'step', 'eval', 'predict'" in errors
    assert "'predict.x'" in refused(1, "run", folder / "file.tenon", "--entry", "predict", *state)


def test_the_best_checkpoint_is_kept(folder: Path, tmp_path: Path) -> None:
    """The loss is least after step 3; --keep spares that checkpoint, also in a run that goes on."""
    options = (
        "--eval-every=1", f"--eval-batches=samples:{folder / 'held.safetensors'}", "--keep-best=eval.loss",
        "--checkpoints", tmp_path / "c", "--keep=1", "--save-every=1", "--resume",
    )  # fmt: skip
    for until in (5, 8):
        out = succeed(*training(folder, f"--until={until}", *options))
        assert "best       step 3: eval.loss" in out
        assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["step-000000003", f"step-00000000{until}"]
    kept = load_file(tmp_path / "c/step-000000003/state-1-of-1.safetensors")
    assert kept["opt.seen"] == 3
    record = json.loads((tmp_path / "c/step-000000008/run.json").read_text())
    assert record["best"]["step"] == "3" and record["best"]["rule"] == "eval.loss"
    # A file with other entry points goes on from the same checkpoints.
    compile_with(folder, "plain.tenon")
    succeed("run", folder / "plain.tenon", f"--batches=samples:{folder / 'train.safetensors'}", *options[3:], "--until=9")


def test_entry_points_on_a_gpu(folder: Path, tmp_path: Path) -> None:
    """The emulated driver computes what the processor does, between steps, and checks every access."""
    driver = f"--cuda-driver={BUILD / 'lib' / 'libtenon-emulated-cuda.so'}"
    entry = f"eval={folder / 'eval.mlir'}"
    succeed("compile", folder / "step.mlir", "-o", tmp_path / "gpu.tenon", "--target=sm_90", "--no-cubins", "--entry", entry)
    assert "'eval' writes none" in succeed("verify", tmp_path / "gpu.tenon")
    options = training(folder, "--steps=4", "--eval-every=2", f"--eval-batches=samples:{folder / 'held.safetensors'}")
    said = {}
    for name, program in (("cpu", folder / "file.tenon"), ("gpu", tmp_path / "gpu.tenon")):
        out = succeed(options[0], program, *options[2:], *([driver] if name == "gpu" else []))
        said[name] = [float(loss) for loss in re.findall(r"eval.loss (\S+)", out)]
    assert len(said["cpu"]) == 2
    assert said["gpu"] == pytest.approx(said["cpu"], rel=1e-5)


def test_python_runs_entry_points(folder: Path, tmp_path: Path) -> None:
    """The same numbers, through the C interface; state stays as it is."""
    entries = {name: folder / f"{name}.mlir" for name in ("eval", "predict")}
    tenon.compile_file(folder / "step.mlir", tmp_path / "file.tenon", entries=entries)
    program = tenon.load(tmp_path / "file.tenon")
    program.load_state(folder / "start.safetensors")
    assert program.entries == ["eval", "predict"]
    assert list(program.batch) == ["x"] and list(program.results) == ["loss"]
    before = {name: tensor.read() for name, tensor in program.state.items()}
    x = load_file(folder / "held.safetensors")["x"][:3]
    for results in (program.run_entry("eval", x), program.run_entry("eval", x=x)):
        assert results["loss"] == pytest.approx(9 + x.sum(dtype=np.float64), rel=1e-5)
        np.testing.assert_allclose(results["each"], x @ (before["params.w"] * TABLE), rtol=1e-5)
    assert all(np.array_equal(value, program.state[name].read()) for name, value in before.items())
    program.run(load_file(folder / "train.safetensors")["x"][:2])
    assert program.run_entry("eval", x)["loss"] == pytest.approx(4 + x.sum(dtype=np.float64), rel=1e-5)
    for wrong in (lambda: program.run_entry("step"), lambda: program.run_entry("eval"), lambda: program.run_entry("eval", x, x)):
        with pytest.raises(tenon.ArgumentError):
            wrong()


def changed(folder: Path, tmp_path: Path, before: str, after: str) -> str:
    """What the compiler says of the evaluation with one text in place of another."""
    assert before in EVAL
    (tmp_path / "wrong.mlir").write_text(EVAL.replace(before, after))
    entry = f"eval={tmp_path / 'wrong.mlir'}"
    return refused(1, "compile", folder / "step.mlir", "-o", tmp_path / "x.tenon", "--entry", entry)


# A product that is worth rounding, of a parameter that steps update, and an average of it.
WIDE_STEP = """module @train {
  func.func public @main(
      %w: tensor<256x256xf32> {tf.aliasing_output = 0 : i32} loc("state['params']['w']"),
      %a: tensor<256x256xf32> {tf.aliasing_output = 1 : i32} loc("state['opt_state']['mu']['w']"),
      %x: tensor<64x256xf32> loc("x"))
      -> (tensor<256x256xf32> {jax.result_info = "result[0]['params']['w']"},
          tensor<256x256xf32> {jax.result_info = "result[0]['opt_state']['mu']['w']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rate = stablehlo.constant dense<0.001> : tensor<256x256xf32>
    %tenth = stablehlo.constant dense<0.1> : tensor<256x256xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
    %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
    %part = stablehlo.multiply %g, %tenth : tensor<256x256xf32>
    %a1 = stablehlo.add %a, %part : tensor<256x256xf32>
    %change = stablehlo.multiply %a1, %rate : tensor<256x256xf32>
    %w1 = stablehlo.subtract %w, %change : tensor<256x256xf32>
    %sq = stablehlo.multiply %y, %y : tensor<64x256xf32>
    %loss = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<64x256xf32>, tensor<f32>) -> tensor<f32>
    return %w1, %a1, %loss : tensor<256x256xf32>, tensor<256x256xf32>, tensor<f32>
  }
}
"""
# Reads the parameter rounded, moved, element by element and in a loop, and gives back what it read; the average it calls its own name.
WIDE_EVAL = """module @eval {
  func.func public @main(
      %w: tensor<256x256xf32> loc("params['w']"),
      %m: tensor<256x256xf32> loc("mu['w']"),
      %x: tensor<32x256xf32> loc("x"))
      -> (tensor<f32> {jax.result_info = "result['loss']"}, tensor<256x256xf32> {jax.result_info = "result['turned']"},
          tensor<256x256xf32> {jax.result_info = "result['w']"}, tensor<256x256xf32> {jax.result_info = "result['m']"},
          tensor<256x256xf32> {jax.result_info = "result['thrice']"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<256x256xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    %sq = stablehlo.multiply %y, %y : tensor<32x256xf32>
    %loss = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<32x256xf32>, tensor<f32>) -> tensor<f32>
    %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %thrice:2 = stablehlo.while(%i = %none, %sum = %zeros) : tensor<i32>, tensor<256x256xf32>
      cond {
        %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %next = stablehlo.add %i, %one : tensor<i32>
        %more = stablehlo.add %sum, %w : tensor<256x256xf32>
        stablehlo.return %next, %more : tensor<i32>, tensor<256x256xf32>
      }
    return %loss, %t, %w, %m, %thrice#1
        : tensor<f32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>
  }
}
"""


@pytest.mark.parametrize("target", ["cpu", "gpu", "ranks"])
@pytest.mark.parametrize(("precision", "held"), [("bf16", "held_in_parts"), ("bf16-state", "held_in_bf16"), ("f16", "")])
def test_state_in_another_form_is_read_as_it_is_held(precision: str, held: str, target: str, tmp_path: Path) -> None:
    """What an entry point reads is what users see, bit by bit, and the step computes the same with and without it."""
    for name, text in (("step", WIDE_STEP), ("eval", WIDE_EVAL)):
        (tmp_path / f"{name}.mlir").write_text(text)
    random = np.random.default_rng(11)
    w = (random.normal(size=(256, 256)) / 16).astype(np.float32)
    save_file({"params.w": w, "opt_state.mu.w": np.zeros_like(w)}, tmp_path / "start.safetensors")
    save_file({"x": random.normal(size=(3, 64, 256)).astype(np.float32)}, tmp_path / "steps.safetensors")
    x = random.normal(size=(32, 256)).astype(np.float32)
    save_file({"x": x}, tmp_path / "x.safetensors")
    wished = {"operations": {"stablehlo.dot_general": "f16" if precision == "f16" else "bf16"}}
    (tmp_path / "policy.json").write_text(json.dumps(wished))
    options = [f"--precision={precision}", f"--precision-policy={tmp_path / 'policy.json'}", "--verify-forms"]
    options += ["--target=sm_90", "--no-cubins", "--no-libraries"] * (target == "gpu")
    options += ["--mesh=data=2,model=2"] * (target == "ranks")
    options += IN_BF16 * (target != "gpu")
    driver = [f"--cuda-driver={BUILD / 'lib' / 'libtenon-emulated-cuda.so'}"] * (target == "gpu")
    driver += ["--ranks=4"] * (target == "ranks")
    entry = ("--entry", f"eval={tmp_path / 'eval.mlir'}", f"--report={tmp_path / 'report.json'}")
    succeed("compile", tmp_path / "step.mlir", "-o", tmp_path / "both.tenon", *options, *entry)
    succeed("compile", tmp_path / "step.mlir", "-o", tmp_path / "step.tenon", *options)
    stages = {stage["stage"]: stage for stage in json.loads((tmp_path / "report.json").read_text())["stages"]}
    # A processor without products of bf16 has no use for the parts.
    if held and (target == "gpu" or precision == "bf16-state" or HAS_BF16):
        assert "params.w" in stages["precision"][held]
    assert "'eval' writes none" in succeed("verify", tmp_path / "both.tenon")
    for name in ("both", "step"):
        data = ("--state", tmp_path / "start.safetensors", "--batches", tmp_path / "steps.safetensors")
        watched = ["--eval-every=1", f"--eval-batches=samples:{tmp_path / 'x.safetensors'}"] * (name == "both")
        save = f"--save={tmp_path / name}.safetensors"
        succeed("run", tmp_path / f"{name}.tenon", *data, "--steps=3", save, *watched, *driver)
    # Hidden state, such as the step that rounding by chance counts, is in the file, too.
    assert (tmp_path / "both.safetensors").read_bytes() == (tmp_path / "step.safetensors").read_bytes()
    state, out = load_file(tmp_path / "both.safetensors"), tmp_path / "out.safetensors"
    save_file({"eval.x": x}, tmp_path / "inputs.safetensors")
    given = ("--state", tmp_path / "both.safetensors", "--inputs", tmp_path / "inputs.safetensors", "--outputs", out)
    succeed("run", tmp_path / "both.tenon", "--entry=eval", *given, *driver)
    found, w = load_file(out), state["params.w"]
    assert np.array_equal(found["eval.w"], w) and np.array_equal(found["eval.turned"], w.T)
    assert np.array_equal(found["eval.m"], state["opt_state.mu.w"])
    assert np.array_equal(found["eval.thrice"], w + w + w)
    assert found["eval.loss"] == pytest.approx(np.sum((x.astype(np.float64) @ w) ** 2), rel=1e-2)


@pytest.mark.parametrize(
    ("mesh", "ranks", "layouts"),
    [
        ("data=2,model=2", 4, "params.w = [model]\nx = [data, -]\neval.x = [-, model]\n"),
        ("data=2", 2, "x = [data, -]\n  eval.x = [data, -] # two of three rows\neval.each = [data]\n"),
        ("model=4", 4, "params.w = [model:(2)2]\n"),
    ],
)
def test_entry_points_of_several_ranks(mesh: str, ranks: int, layouts: str, folder: Path, tmp_path: Path) -> None:
    """They read the parts of the state that each rank has, on inputs that are cut as the file says, and change no bit."""
    (tmp_path / "layouts.txt").write_text(layouts)
    cut = (f"--mesh={mesh}", f"--sharding={tmp_path / 'layouts.txt'}")
    compile_with(folder, tmp_path / "both.tenon", "eval=eval.mlir", "predict=predict.mlir", options=cut)
    assert "'eval' writes none" in succeed("verify", tmp_path / "both.tenon")
    (tmp_path / "layouts.txt").write_text("".join(line for line in layouts.splitlines(True) if "eval." not in line))
    compile_with(folder, tmp_path / "step.tenon", options=cut)
    held = ("--eval-every=2", f"--eval-batches=samples:{folder / 'held.safetensors'}")
    said = {}
    for name, program, options in (
        ("one", folder / "file.tenon", held),
        ("both", tmp_path / "both.tenon", (*held, f"--ranks={ranks}")),
        ("plain", tmp_path / "step.tenon", (f"--ranks={ranks}",)),
    ):
        arguments = training(folder, "--steps=4", f"--save={tmp_path / name}.safetensors", *options)
        out = succeed(arguments[0], program, *arguments[2:])
        said[name] = [float(loss) for loss in re.findall(r"eval.loss (\S+)", out)]
    assert len(said["one"]) == 2 and said["both"] == pytest.approx(said["one"], rel=1e-5)
    assert (tmp_path / "both.safetensors").read_bytes() == (tmp_path / "plain.safetensors").read_bytes()
    x = load_file(folder / "held.safetensors")["x"][:3]
    save_file({"eval.x": x}, tmp_path / "x.safetensors")
    state, out = tmp_path / "both.safetensors", tmp_path / "out.safetensors"
    run_it = ("run", tmp_path / "both.tenon", f"--ranks={ranks}", "--state", state, "--outputs", out)
    succeed(*run_it, "--entry=eval", "--inputs", tmp_path / "x.safetensors")
    w = load_file(state)["params.w"]
    np.testing.assert_allclose(load_file(out)["eval.each"], x @ (w * TABLE), rtol=1e-5)
    succeed(*run_it, "--entry=predict", "--inputs", folder / "inputs.safetensors")
    assert np.array_equal(load_file(out)["predict.result0"], load_file(folder / "inputs.safetensors")["x"] * w)


def test_layouts_of_entry_points_that_are_wrong(folder: Path, tmp_path: Path) -> None:
    """State lies where the step has it; names are those of the entry point."""
    (tmp_path / "layouts.txt").write_text("params.w = [model]\neval.w = [-]\n")
    arguments = ("compile", folder / "step.mlir", "-o", tmp_path / "x.tenon", "--mesh=model=2", f"--sharding={tmp_path / 'layouts.txt'}")
    eval_entry = ("--entry", f"eval={folder / 'eval.mlir'}")
    errors = refused(1, *arguments, *eval_entry)
    assert "argument 0 has the layout [-], and the step has 'params.w' in the layout [model]" in errors
    assert "this is about the entry point 'eval'" in errors
    (tmp_path / "layouts.txt").write_text("params.w = [model]\neval.y = [-]\n")
    errors = refused(1, *arguments, *eval_entry)
    assert "layouts.txt:2" in errors and "'y'" in errors
    assert "'eval.y'" in refused(1, *arguments)


def test_what_does_not_match_is_an_error(folder: Path, tmp_path: Path) -> None:
    """A leaf without a counterpart lists what it may have been meant to be."""
    # Two tensors end like this.
    errors = changed(folder, tmp_path, "params['w']", "variables['params']['v']['w']")
    assert "candidates: 'params.w', 'ema.w'" in errors
    errors = changed(folder, tmp_path, "params['w']", "params['kernel']")
    assert "argument 0, 'params.kernel'" in errors and "candidates: 'params.w', 'ema.w'" in errors
    errors = changed(folder, tmp_path, '"seen"', "\"params['count']\"")
    assert "argument 1, 'params.count'" in errors and "candidates: 'opt.seen'" in errors
    errors = changed(folder, tmp_path, '%x: tensor<3x4xf32> loc("x")', "%x: tensor<3x4xf32> loc(\"opt['seen']\")")
    assert "argument 2, 'opt.seen', is tensor<3x4xf32>, the step has tensor<i32>" in errors


def test_state_is_not_written(folder: Path, tmp_path: Path) -> None:
    """An entry point whose result would replace an argument is refused."""
    (tmp_path / "two.mlir").write_text(STEP)
    entry = f"two={tmp_path / 'two.mlir'}"
    errors = refused(1, "compile", folder / "step.mlir", "-o", tmp_path / "x.tenon", "--entry", entry)
    assert "write no state" in errors and "'params.w'" in errors


@pytest.mark.parametrize("entry", ["step=eval.mlir", "init=eval.mlir", "a-b=eval.mlir", "eval", "eval="])
def test_names_are_checked(folder: Path, tmp_path: Path, entry: str) -> None:
    """Exit code 2, and what a name may be."""
    outcome = run("compile", folder / "step.mlir", "-o", tmp_path / "x.tenon", "--entry", entry)
    assert outcome.code == 2 and "expected a name" in outcome.errors


def test_options_that_contradict(folder: Path) -> None:
    """Evaluation needs batches, and the best a folder."""
    for options, said in (
        (("--eval-every=1",), "--eval-batches"),
        (("--keep-best=eval.loss",), "--eval-every"),
        (("--entry=eval", "--steps=3"), "no options of training"),
    ):
        outcome = run("run", folder / "file.tenon", *options)
        assert outcome.code == 2 and said in outcome.errors


def test_a_budget_holds_with_entry_points(folder: Path, tmp_path: Path) -> None:
    """What the entry points add counts."""
    plain = 64 * 1024
    compile_with(folder, "budget.tenon", "predict=predict.mlir", options=(f"--memory-budget={plain}",))
    assert "budget" in succeed("verify", folder / "budget.tenon")
    outcome = run(
        "compile", folder / "step.mlir", "-o", tmp_path / "x.tenon", "--memory-budget=1500",
        "--entry", f"predict={folder / 'predict.mlir'}",
    )  # fmt: skip
    assert outcome.code == 3


def test_names_of_the_step_are_not_taken(folder: Path, tmp_path: Path) -> None:
    """Tensors of an entry point are addressed by its name."""
    entry = f"params={folder / 'eval.mlir'}"
    errors = refused(1, "compile", folder / "step.mlir", "-o", tmp_path / "x.tenon", "--entry", entry)
    assert "the step has a tensor 'params.w'" in errors
