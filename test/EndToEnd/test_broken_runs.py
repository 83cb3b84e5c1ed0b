"""Runs that break off: where a library call fails, memory is short, or there is nothing to start from."""

from __future__ import annotations

import functools
import os
import re
import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, Steps, refused, succeed
from safetensors.numpy import load_file, save_file

FAILING_CALLS = next(BUILD.glob("**/TenonFailingCalls.so"), None)


def run_failing(call: int, *arguments: object) -> subprocess.CompletedProcess:
    """Runs the tool with a oneDNN whose execution number `call` fails."""
    assert FAILING_CALLS, "build the target TenonFailingCalls"
    environment = {**os.environ, "LD_PRELOAD": str(FAILING_CALLS), "TENON_FAIL_CALL": str(call)}
    command = [BUILD / "bin" / "tenon", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=120)


@functools.cache
def executions(program: Path, inputs: Path) -> int:
    """How many library calls a step makes: the first number that does not fail."""
    low, high = 0, 64
    while low < high:
        middle = (low + high) // 2
        outcome = run_failing(middle, "run", program, "--inputs", inputs, "--threads=1")
        low, high = (middle + 1, high) if outcome.returncode else (low, middle)
    return low


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failed_call_ends_the_run(threads: int, steps: Steps, tmp_path: Path) -> None:
    """The run stops in the step, names the call, and leaves what was last saved, saying of which step it is."""
    mlp = steps["01_mlp"]
    per_step = executions(mlp.compiled, mlp.inputs)
    assert 3 <= per_step < 64
    save, metrics = tmp_path / "s.safetensors", tmp_path / "m.csv"
    outcome = run_failing(
        per_step * 4 + 1, "run", mlp.compiled, "--inputs", mlp.inputs, "--steps", 10, "--threads", threads, "--save", save,
        "--save-every", 2, "--metrics", metrics,
    )  # fmt: skip
    assert outcome.returncode == 1
    assert re.search(
        r"^error: step 5 failed in library_call_\d+, matrix multiplication \d+x\d+x\d+ f32 \(.+\): "
        r"oneDNN: out of memory; the state is only partly written$",
        outcome.stderr, re.MULTILINE,
    ), outcome.stderr  # fmt: skip
    assert f"note: 4 of 10 steps are complete; '{save}' holds the state after step 4" in outcome.stderr
    assert len(metrics.read_text().splitlines()) == 5
    whole = mlp.outputs(tmp_path, "--save", tmp_path / "whole.safetensors", steps=4)
    assert whole
    expected = load_file(tmp_path / "whole.safetensors")
    saved = load_file(save)
    assert saved.keys() == expected.keys()
    assert all(saved[name].tobytes() == expected[name].tobytes() for name in expected)


def test_an_older_file_stays_as_it_was(steps: Steps, tmp_path: Path) -> None:
    """A run that fails before it has saved leaves the file of an earlier run alone and says so."""
    mlp = steps["01_mlp"]
    save = tmp_path / "s.safetensors"
    save.write_bytes(b"old")
    outcome = run_failing(0, "run", mlp.compiled, "--inputs", mlp.inputs, "--steps", 3, "--save", save)
    assert outcome.returncode == 1 and save.read_bytes() == b"old"
    assert f"note: 0 of 3 steps are complete; this run saved no state, '{save}' is as it was before" in outcome.stderr
    outcome = run_failing(0, "run", mlp.compiled, "--inputs", mlp.inputs)
    assert "no state was saved, because --save is not given" in outcome.stderr
    for verb in ("bench", "bench --kernels"):
        outcome = run_failing(5, *verb.split(), mlp.compiled, "--steps", 3)
        assert outcome.returncode == 1 and "failed in library_call_" in outcome.stderr


def test_saves_every_few_steps(steps: Steps, tmp_path: Path) -> None:
    """--save-every needs a file, and changes nothing in what the run ends with."""
    mlp = steps["01_mlp"]
    assert "give --checkpoints or --save" in refused(2, "run", mlp.compiled, "--inputs", mlp.inputs, "--save-every=2")
    assert "a number of steps from 1 on" in refused(2, "run", mlp.compiled, "--save-every=0")
    paths = [tmp_path / "often.safetensors", tmp_path / "once.safetensors"]
    mlp.outputs(tmp_path, "--save", paths[0], "--save-every=1", steps=3)
    mlp.outputs(tmp_path, "--save", paths[1], steps=3)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_zero_state_on_request(steps: Steps, tmp_path: Path) -> None:
    """Without a start the run is refused; --zero-state starts at zero what no file gives."""
    mlp = steps["01_mlp"]
    values = load_file(mlp.inputs)
    carried = sum(leaf["donated"] for leaf in mlp.info["args"])
    batch = {name: value for name, value in values.items() if int(name.removeprefix("arg")) >= carried}
    save_file(batch, tmp_path / "batch.safetensors")
    assert "--zero-state" in refused(1, "run", mlp.compiled, "--inputs", tmp_path / "batch.safetensors")
    zeros = {name: value if name in batch else np.zeros_like(value) for name, value in values.items()}
    save_file(zeros, tmp_path / "zeros.safetensors")
    results = []
    for given in (["--zero-state", "--inputs", tmp_path / "batch.safetensors"], ["--inputs", tmp_path / "zeros.safetensors"],
                  ["--zero-state", "--inputs", mlp.inputs], ["--inputs", mlp.inputs]):  # fmt: skip
        succeed("run", mlp.compiled, *given, "--steps=2", "--outputs", tmp_path / "o.safetensors")
        results.append((tmp_path / "o.safetensors").read_bytes())
    assert results[0] == results[1] and results[2] == results[3] and results[0] != results[2]
    refused(1, "run", mlp.text, "--reference", "--zero-state")


def test_short_memory_is_found_before_the_first_step(steps: Steps, tmp_path: Path) -> None:
    """With less address space than planned (ulimit -v) loading is refused with both numbers of bytes, prefault or not."""
    mlp = steps["01_mlp"]
    summary = succeed("run", mlp.compiled, "--inputs", mlp.inputs, "--prefault")
    assert "step 1/1" in summary
    # What the process has before the program is loaded, and a little more.
    limit = 64 << 20
    large = tmp_path / "large.mlir"
    large.write_text(
        "func.func @main(%x: tensor<1024x65536xf32>) -> tensor<1024x65536xf32> {\n"
        "  %y = stablehlo.add %x, %x : tensor<1024x65536xf32>\n"
        "  return %y : tensor<1024x65536xf32>\n"
        "}\n"
    )
    succeed("compile", large, "-o", tmp_path / "large.tenon")
    for options in ([], ["--prefault"]):
        outcome = subprocess.run(
            [BUILD / "bin" / "tenon", "run", tmp_path / "large.tenon", "--zero-state", *options],
            check=False, capture_output=True, text=True, timeout=120,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 * limit, 8 * limit)),
        )  # fmt: skip
        assert outcome.returncode == 1, outcome
        found = re.search(
            r"the program needs 512\.00 MiB \((\d+) bytes\) of memory, \S+ \S+ \((\d+) bytes\) are available under the limit of "
            r"address space \(ulimit -v\); compile the step again with a --memory-budget", outcome.stderr,
        )  # fmt: skip
        assert found, outcome.stderr
        assert int(found[1]) == 512 << 20 and int(found[2]) < 8 * limit
