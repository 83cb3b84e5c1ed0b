"""Steps compiled for GPUs, run on the emulated CUDA driver, against the same steps compiled for the processor."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compare
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import replays
from conftest import BUILD, NAMES, ON_GPU, Outcome, Steps, compiled, differing, for_all_gpus, refused, run, succeed
from conftest import Step as ModelStep
from safetensors.numpy import load_file, save_file

# Small enough for the emulated driver; those of the second line have loops or conditionals.
MODELS = [
    "01_mlp", "18_unread_leaves",
    "02_cnn", "04_chargpt", "08_lstm", "14_while_fori",
]  # fmt: skip
# Those with products of 16 bits, which tensor cores sum in an order of their own.
TENSOR_MODELS = ["07_llama_bf16", "13_mlp_f16_loss_scale"]

# The kernels that no schedule for GPUs takes, by their last operation.
IN_PARTS: dict[str, list[str]] = {}

DRIVER = BUILD / "lib" / "libtenon-emulated-cuda.so"


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the emulated driver but those that a test sets."""
    for name in [name for name in os.environ if name.startswith(("TENON_EMULATED_CUDA_", "TENON_CUDA_"))]:
        monkeypatch.delenv(name)


SHAPES = [(300, 7), (7,), (), (64, 33), (1025,)]


def adam(state: dict, gradients: dict) -> tuple[dict, jax.Array]:
    """An update by Adam, and a result beside the state."""
    t = state["t"] + 1
    moments = {name: 0.9 * state["m"][name] + 0.1 * gradients[name] for name in gradients}
    squares = {name: 0.999 * state["v"][name] + 0.001 * gradients[name] ** 2 for name in gradients}
    new = {}
    for name in gradients:
        mean, square = moments[name] / (1 - 0.9**t), squares[name] / (1 - 0.999**t)
        new[name] = state["w"][name] - 0.01 * mean / (jnp.sqrt(square) + 1e-8)
    return {"t": t, "w": new, "m": moments, "v": squares}, jnp.tanh(new["0"])


def text_of(step: Callable, *examples: Any) -> str:
    """The export of a step whose first argument is its state."""
    return jax.jit(step, donate_argnums=0).trace(*examples).lower(lowering_platforms=("cpu",)).as_text(debug_info=True)


class Step:
    """A step compiled for the processor and for GPUs, with values to start from."""

    def __init__(self, folder: Path, text: str, target: str = "sm_80,sm_90") -> None:
        self.folder = folder
        self.text = folder / "step.mlir"
        self.text.write_text(text)
        self.cpu, self.gpu = folder / "cpu.tenon", folder / "gpu.tenon"
        succeed("compile", self.text, "-o", self.cpu, "--no-libraries")
        succeed("compile", self.text, "-o", self.gpu, f"--target={target}", "--no-cubins")
        self.inputs = folder / "inputs.safetensors"

    def run(self, file: Path, *options: object, steps: int = 2) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Results of the last step, and the state behind it."""
        results, state = self.folder / "results.safetensors", self.folder / "state.safetensors"
        succeed(
            "run", file, f"--inputs={self.inputs}", f"--steps={steps}", f"--outputs={results}", f"--save={state}",
            f"--cuda-driver={DRIVER}", *options,
        )  # fmt: skip
        return load_file(results), load_file(state)


@pytest.fixture(scope="module")
def update(tmp_path_factory: pytest.TempPathFactory) -> Step:
    """The update by Adam."""
    random = np.random.default_rng(1)
    normal = lambda scale: {str(i): np.asarray(random.normal(size=s) * scale, np.float32) for i, s in enumerate(SHAPES)}  # noqa: E731
    squares = {name: value**2 for name, value in normal(1 / 8).items()}
    state, gradients = {"t": np.float32(0), "w": normal(1), "m": normal(1 / 8), "v": squares}, normal(1)
    step = Step(tmp_path_factory.mktemp("adam"), text_of(adam, state, gradients))
    values = jax.tree.leaves((state, gradients))
    save_file({f"arg{i}": np.array(value) for i, value in enumerate(values)}, step.inputs)
    return step


def same_bits(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    """Equal tensors under equal names."""
    assert one.keys() == other.keys() and one
    for name, value in one.items():
        assert value.dtype == other[name].dtype and value.tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize("capability", [80, 86, 90])
def test_update_has_the_bits_of_the_processor(update: Step, capability: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two updates; a GPU between the file's architectures runs the code of the lower one."""
    monkeypatch.setenv("TENON_EMULATED_CUDA_SM", str(capability))
    results, state = update.run(update.gpu)
    expected_results, expected_state = update.run(update.cpu)
    same_bits(results, expected_results)
    same_bits(state, expected_state)
    assert state["t"] == 2 and not np.array_equal(state["w.0"], load_file(update.inputs)["arg11"])


def test_state_goes_from_one_to_the_other(update: Step, tmp_path: Path) -> None:
    """A file of state that a GPU saved is one for the processor, and the other way round."""
    _, state = update.run(update.gpu, steps=3)
    _, first = update.run(update.gpu, steps=1)
    save_file(first, tmp_path / "first.safetensors")
    _, resumed = update.run(update.cpu, f"--state={tmp_path / 'first.safetensors'}", steps=2)
    assert resumed["t"] == 2  # --inputs gave it anew
    batch = {name: value for name, value in load_file(update.inputs).items() if int(name[3:]) > 3 * len(SHAPES)}
    save_file(batch, tmp_path / "batch.safetensors")
    for file in (update.cpu, update.gpu):
        succeed(
            "run", file, f"--state={tmp_path / 'first.safetensors'}", f"--inputs={tmp_path / 'batch.safetensors'}",
            "--steps=2", f"--save={tmp_path / 'third.safetensors'}", f"--cuda-driver={DRIVER}",
        )  # fmt: skip
        same_bits(load_file(tmp_path / "third.safetensors"), state)


def test_compiles_the_same_bytes_twice_and_in_parts(update: Step, tmp_path: Path) -> None:
    """Also through the text of every stage."""
    whole = update.gpu.read_bytes()
    again = tmp_path / "again.tenon"
    succeed("compile", update.text, "-o", again, "--target=sm_90,sm_80,sm_90", "--no-cubins")
    assert again.read_bytes() == whole
    for stage in ("import", "simplify", "precision", "group", "plan", "lower", "codegen"):
        text = tmp_path / f"{stage}.mlir"
        # test_machine_code.py does so with machine code, which the text of this stage holds.
        without_code = () if stage == "codegen" else ("--no-cubins",)
        succeed("compile", update.text, f"--compile-to={stage}", "-o", text, "--target=sm_80,sm_90", "--no-cubins")
        assert 'architectures = "sm_80,sm_90"' in text.read_text()
        succeed("compile", text, f"--compile-from={stage}", "-o", again, "--target=sm_80,sm_90", *without_code)
        assert again.read_bytes() == whole, stage
    said = refused(1, "compile", text, "--compile-from=codegen", "-o", again, "--target=sm_90")
    assert "--target=sm_90 contradicts" in said and "which was written for sm_80,sm_90" in said


def test_inspect_and_verify(update: Step) -> None:
    """What the file says of itself, and that its plan holds."""
    said = succeed("inspect", update.gpu)
    assert "needs a GPU from sm_80 on" in said
    assert "code for sm_80: " in said and "code for sm_90: " in said and "driver 525 or later (CUDA 12.0)" in said
    succeed("verify", update.gpu)
    kernel = succeed("inspect", update.gpu, "--ptx=kernel_0")
    assert re.search(r"\{\n\t\.loc 1 \d+ 1\n", kernel)


def run_update(update: Step, *options: object) -> Outcome:
    """A run that is expected to fail."""
    return run("run", update.gpu, f"--inputs={update.inputs}", *options)


def test_without_a_driver(update: Step) -> None:
    """What is missing, and what to do."""
    outcome = run_update(update, "--cuda-driver=/nowhere/libcuda.so.1")
    assert outcome.code == 1
    assert "there is no driver of NVIDIA's: /nowhere/libcuda.so.1: cannot open shared object file" in outcome.errors
    assert "compile the step again with --target=cpu" in outcome.errors
    outcome = run_update(update, f"--cuda-driver={BUILD / 'lib' / 'libtenon-runtime.so'}")
    assert outcome.code == 1 and "lacks cuInit, cuDriverGetVersion" in outcome.errors


def test_driver_by_variable(update: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable stands for the option, which wins."""
    monkeypatch.setenv("TENON_CUDA_DRIVER", str(DRIVER))
    assert run_update(update).code == 0
    assert run_update(update, "--cuda-driver=/nowhere/libcuda.so.1").code == 1


def test_gpu_that_is_not_there(update: Step) -> None:
    """The emulated driver has one."""
    outcome = run_update(update, f"--cuda-driver={DRIVER}", "--device=cuda:1")
    assert outcome.code == 1 and "there is no GPU 1, this machine has 1, numbered from 0" in outcome.errors


def test_device_that_the_file_is_not_for(update: Step) -> None:
    """A run that insists on a processor does not take a GPU."""
    driver = f"--cuda-driver={DRIVER}"
    assert run_update(update, driver, "--device=cuda:0").code == 0
    outcome = run_update(update, driver, "--device=cpu")
    assert outcome.code == 1 and "the file is compiled for 'cuda', not for 'cpu'" in outcome.errors
    assert run_update(update, driver, "--device=gpu").code == 2
    assert run_update(update, driver, "--device=cuda:-1").code == 2


def test_older_gpu(update: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without code for the GPU says what it holds and what the GPU is."""
    file = tmp_path / "new.tenon"
    succeed("compile", update.text, "-o", file, "--target=sm_90,sm_100", "--no-cubins")
    monkeypatch.setenv("TENON_EMULATED_CUDA_SM", "86")
    outcome = run("run", file, f"--inputs={update.inputs}", f"--cuda-driver={DRIVER}")
    assert outcome.code == 4
    assert "the file holds code for sm_90, sm_100, GPU 0, Tenon emulated sm_86 is sm_86" in outcome.errors
    assert "--target=sm_86" in outcome.errors


def test_too_little_memory(update: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is planned, what is free, and the largest block."""
    monkeypatch.setenv("TENON_EMULATED_CUDA_MEMORY", "8192")
    outcome = run_update(update, f"--cuda-driver={DRIVER}")
    assert outcome.code == 1
    assert "the program needs " in outcome.errors and "8.00 KiB (8192 bytes) are available on GPU 0" in outcome.errors
    assert "the largest block of " in outcome.errors
    assert "compile the step again with a --memory-budget, or with a smaller batch" in outcome.errors


def test_failing_gpu_leaves_saved_state(update: Step, tmp_path: Path) -> None:
    """An error of the GPU ends the run with 1; what was saved before stays."""
    text = tmp_path / "codegen.mlir"
    succeed("compile", update.text, "--compile-to=codegen", "-o", text, *ON_GPU)
    # A kernel that writes far behind its results.
    lines = text.read_text().split("\\0A")
    number = next(i for i, line in enumerate(lines) if "st.global" in line and "]" in line)
    lines[number] = lines[number].replace("]", "+1073741824]")
    assert lines[number].count("1073741824") == 1
    text.write_text("\\0A".join(lines))
    file, saved = tmp_path / "broken.tenon", tmp_path / "saved.safetensors"
    succeed("compile", text, "--compile-from=codegen", "-o", file, "--target=sm_90")
    saved.write_bytes(b"what was here before")
    outcome = run("run", file, f"--inputs={update.inputs}", f"--save={saved}", f"--cuda-driver={DRIVER}")
    assert outcome.code == 1
    assert "step 1 failed: GPU 0, Tenon emulated sm_90 reports: " in outcome.errors
    assert re.search(r"emulated CUDA: kernel '.*PTX line \d+ \(st\.global\S*\), test_cuda\.py:\d+:1: out of bounds", outcome.errors)
    assert "the state is only partly written" in outcome.errors and "is as it was before" in outcome.errors
    assert saved.read_bytes() == b"what was here before"


CONTROL = """
module @control {
  func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<i32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %many = stablehlo.constant dense<5000> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = stablehlo.tanh %y : tensor<8xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<8xf32>
    }
    %1:2 = stablehlo.while(%i = %zero, %y = %0#1) : tensor<i32>, tensor<8xf32>
    cond {
      %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = stablehlo.sine %y : tensor<8xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<8xf32>
    }
    %2:2 = stablehlo.while(%i = %zero, %y = %1#1) : tensor<i32>, tensor<8xf32>
    cond {
      %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = stablehlo.cosine %y : tensor<8xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<8xf32>
    }
    %3 = "stablehlo.case"(%n) ({
      %z = stablehlo.negate %2#1 : tensor<8xf32>
      stablehlo.return %z : tensor<8xf32>
    }, {
      %z = stablehlo.exponential %2#1 : tensor<8xf32>
      stablehlo.return %z : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    return %3, %0#0 : tensor<8xf32>, tensor<i32>
  }
}
"""


def test_control_flow(tmp_path: Path) -> None:
    """A loop whose predicate is read, one repeated in its graph, one too long for that, and a conditional."""
    text, cpu, gpu, report = (tmp_path / name for name in ("control.mlir", "cpu.tenon", "gpu.tenon", "report.json"))
    text.write_text(CONTROL)
    succeed("compile", text, "-o", cpu, "--no-libraries")
    outcome = run("compile", text, "-o", gpu, *ON_GPU, f"--report={report}", "--remarks=codegen-cut-graphs")
    assert outcome.code == 0, outcome
    cuts = json.loads(report.read_text())["stages"][-2]["cuts"]
    assert [cut["place"].split(":")[-2] for cut in cuts] == ["8", "26", "35"]
    assert [word in cut["why"] for word, cut in zip(("predicate", "5000 rounds", "conditional"), cuts, strict=True)] == [True] * 3
    assert "control.mlir:17:" in outcome.errors and "the loop's 5 rounds of " in outcome.errors
    inputs = tmp_path / "inputs.safetensors"
    for trips in (0, 1, 7):
        save_file({"arg0": np.linspace(-2, 2, 8, dtype=np.float32), "arg1": np.array(trips, np.int32)}, inputs)
        outputs = []
        for file in (cpu, gpu):
            path = tmp_path / "outputs.safetensors"
            succeed("run", file, f"--inputs={inputs}", f"--outputs={path}", f"--cuda-driver={DRIVER}")
            outputs.append(load_file(path))
        same_bits(*outputs)
        assert outputs[0]["result1"] == trips


def test_refuses_what_gpus_do_not_run(update: Step, tmp_path: Path) -> None:
    """Options about processors and unknown architectures, each with its reason."""
    out = tmp_path / "out.tenon"
    for option in ("--cpu=host", "--machine=machine.json"):
        said = refused(2, "compile", update.text, "-o", out, "--target=sm_90", option)
        assert f"{option.split('=')[0]} is for the target cpu" in said
    said = refused(2, "compile", update.text, "-o", out, "--target=sm_91")
    assert "unknown GPU architecture 'sm_91', expected sm_80, sm_86, sm_89, sm_90, sm_100 or sm_120" in said
    said = refused(1, "run", update.gpu, f"--inputs={update.inputs}", f"--cuda-driver={DRIVER}", "--check-memory")
    assert "memory is checked only where the process sees it" in said


def test_python(update: Step) -> None:
    """A program from Python: arrays are copied, and what cannot be in place says so."""
    import tenon

    program = tenon.load(update.gpu, cuda_driver=DRIVER)
    program.load_arguments(update.inputs)
    program.step(2)
    _, state = update.run(update.cpu)
    np.testing.assert_array_equal(program.state["w.0"].read(), state["w.0"])
    with pytest.raises(Exception, match="lies in memory of GPU 0"):
        program.state["w.0"].array  # noqa: B018


def test_ranges_for_profilers(update: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profiler gets a range for each step and, where kernels run one by one, for each with its source."""
    monkeypatch.setenv("NVTX_INJECTION64_PATH", str(BUILD / "lib" / "TenonRangeRecorder.so"))
    ranges = tmp_path / "ranges.txt"
    monkeypatch.setenv("TENON_RANGES", str(ranges))
    update.run(update.gpu, steps=3)
    assert ranges.read_text().splitlines() == ["0 step"] * 3 + ["0 end"]
    succeed("bench", update.gpu, "--kernels", "--steps=1", f"--cuda-driver={DRIVER}")
    lines = ranges.read_text().splitlines()
    assert len(lines) > 1 and lines[-1] == "0 end"
    assert any(re.match(r"0 \w+, .*test_cuda\.py:\d+", line) for line in lines), lines[:5]
    # A file that is no such library is as none.
    monkeypatch.setenv("NVTX_INJECTION64_PATH", str(DRIVER))
    update.run(update.gpu, steps=1)


@pytest.mark.parametrize("name", MODELS)
def test_model_has_the_bits_of_the_processor(steps: Steps, name: str, tmp_path: Path) -> None:
    """Two steps, every kernel by a processor's order of sums: all results are equal to the last bit."""
    step = steps[name]
    text = step.located if compare.needs_locations(step.info) else step.text
    files = compiled(text, "--no-libraries").output, for_all_gpus(step).output
    outputs = [step.outputs(tmp_path, f"--cuda-driver={DRIVER}", steps=2, program=file) for file in files]
    assert differing(*outputs) == []


@pytest.mark.parametrize("name", NAMES)
def test_kernels_in_parts(steps: Steps, name: str) -> None:
    """The report names the kernels that run the processor's code, and there are no others than these."""
    kernels = for_all_gpus(steps[name]).stages["codegen"]["in_parts"]
    assert sorted({kernel["operations"].split()[-1] for kernel in kernels}) == IN_PARTS.get(name, [])


# Of steps with products by the library: kernels, calls and copies, and the nodes that start them at most.
NODES = {"04_chargpt": (100, 0.77), "10_vit_tiny": (200, 0.76)}


@pytest.mark.parametrize("name", NODES)
def test_small_kernels_are_launched_together(steps: Steps, name: str) -> None:
    """About a quarter of the nodes is saved by launches of several kernels, and the plan needs no more memory for it."""
    code = compiled(steps[name].text, *ON_GPU).stages["codegen"]
    least, share = NODES[name]
    assert code["invocations"] >= least and code["joint_launches"] > 0
    assert code["nodes"] <= share * code["invocations"]


def test_wide_and_narrow_blocks_in_one_launch(tmp_path: Path) -> None:
    """Unequal sums over few rows by blocks of 32 threads beside element-wise work by blocks of 256 have the bits of the processor."""

    def step(state: jax.Array, few: jax.Array, other: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        return jnp.tanh(state), jnp.sum(few, 0), jnp.max(other, 0)

    random = np.random.default_rng(7)
    values = [np.asarray(random.normal(size=shape), np.float32) for shape in [(3001,), (5, 4100), (3, 1028)]]
    made = Step(tmp_path, text_of(step, *values))
    save_file({f"arg{i}": value for i, value in enumerate(values)}, made.inputs)
    for one, other in zip(made.run(made.cpu), made.run(made.gpu), strict=True):
        same_bits(one, other)
    code = compiled(made.text, *ON_GPU).stages["codegen"]
    assert (code["invocations"], code["joint_launches"], code["nodes"]) == (3, 1, 1)


def within_twice_the_error(step: ModelStep, cpu: Path, gpu: Path, scratch: Path) -> None:
    """The state behind one step is no farther from float64 than twice as far as the processor's.

    That is asked of all tensors together and of the middle and the worst one: where a gradient is next to nothing, an
    optimizer that divides by its size makes a whole step of its sign, in one tensor here and in another there.
    """
    exact, _ = replays.replayed(step.text.read_text(), step.info, True, 1)

    def size(values: np.ndarray) -> float:
        return float(np.sqrt(np.mean(np.square(values))))

    def errors(file: Path) -> np.ndarray:
        state = step.outputs(scratch, f"--cuda-driver={DRIVER}", steps=1, program=file)
        truths = [np.asarray(truth, np.float64) for truth in exact]
        return np.array([size(state[f"result{i}"].astype(np.float64) - x) / (size(x) or 1) for i, x in enumerate(truths)])

    on_cpu, on_gpu = errors(cpu), errors(gpu)
    # Tensors that a step hardly changes may be exact on both.
    inexact = (on_cpu > 0) | (on_gpu > 0)
    for total in (size, np.median, np.max):
        assert total(on_gpu[inexact]) <= 2 * total(on_cpu[inexact]), total


@pytest.mark.parametrize("name", TENSOR_MODELS)
def test_model_on_tensor_cores(steps: Steps, name: str, tmp_path: Path) -> None:
    """The errors of one step."""
    step = steps[name]
    text = step.located if compare.needs_locations(step.info) else step.text
    files = compiled(text, "--no-libraries").output, for_all_gpus(step).output
    within_twice_the_error(step, *files, tmp_path)
