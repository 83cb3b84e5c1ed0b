"""Checkpoints: runs that are stopped, killed, damaged or moved to another file, and go on."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import refused
from killed_runs import BUILD, DOING, SAVE_EVERY, STEPS, Run, compile_step, kill_and_resume
from safetensors.numpy import load_file


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled step, with start values and batches beside it."""
    return compile_step(tmp_path_factory.mktemp("trained"))


def begun(program: Path, scratch: Path, until: int = 30) -> Run:
    """A run that has come to a step, with checkpoints."""
    scratch.mkdir(exist_ok=True)
    run = Run(program, scratch)
    process = run.start(until=until)
    assert process.returncode == 0, process
    return run


def whole(program: Path, tmp_path: Path) -> tuple[bytes, bytes]:
    """State and metrics of a run that nobody stopped."""
    return begun(program, tmp_path / "whole", STEPS).outcome()


def started(run: Run, *options: str) -> subprocess.Popen:
    """A run that does not end by itself."""
    return subprocess.Popen(run.command(*options, until=10**9), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def checkpoints(run: Run) -> list[str]:
    """What is in the folder."""
    return sorted(path.name for path in (run.scratch / "checkpoints").iterdir())


def test_what_a_checkpoint_holds(program: Path, tmp_path: Path) -> None:
    """Ordinary safetensors, and a record of the run; the newest three are kept."""
    run = begun(program, tmp_path / "run")
    assert checkpoints(run) == ["step-000000021", "step-000000028", "step-000000030"]
    newest = run.scratch / "checkpoints" / "step-000000030"
    assert sorted(path.name for path in newest.iterdir()) == ["run.json", "state-1-of-1.safetensors"]
    record = json.loads((newest / "run.json").read_text())
    assert record["step"] == record["batches"] == 30
    assert record["metrics_bytes"] == (run.scratch / "metrics.csv").stat().st_size
    assert record["settings"]["lr"]["schedule"] == "warmup_cosine:value=0.01,warmup=10,steps=50,end=0.001"
    # The value of the last step, which counts from 0.
    expected = 0.001 + 0.009 * 0.5 * (1 + np.cos(np.pi * 19 / 40))
    assert float(record["settings"]["lr"]["value"]) == pytest.approx(expected, rel=1e-6)
    state, saved = (load_file(path) for path in (newest / "state-1-of-1.safetensors", run.scratch / "final.safetensors"))
    assert state.keys() == saved.keys() == record["tensors"].keys()
    assert all(state[name].tobytes() == saved[name].tobytes() for name in state)
    assert state["count"] == 30


def test_the_summary_says_what_saving_cost(program: Path, tmp_path: Path) -> None:
    """How often, how long, and how much of the time; not what was saved before the first step to try it."""
    process = Run(program, tmp_path).start(until=30)
    found = re.search(r"^saving     (\d+) times, median ([\d.]+) ms, ([\d.]+) % of the time$", process.stdout, re.MULTILINE)
    # After steps 7, 14, 21, 28 and 30, and the file of --save.
    assert found and found[1] == "6", process.stdout
    assert 0 < float(found[2]) and 0 < float(found[3]) < 100


def test_goes_on_with_equal_bits(program: Path, tmp_path: Path) -> None:
    """Also with another number of threads, and with a file of another budget; the finished run has nothing left to do."""
    expected = whole(program, tmp_path)
    smallest = subprocess.run(
        [BUILD / "bin" / "tenon", "compile", program.parent / "step.mlir", "-o", tmp_path / "x.tenon", "--memory-budget=1KiB"],
        check=False, capture_output=True, text=True,
    ).stderr  # fmt: skip
    budget = re.search(r"smallest budget that was planned is (\d+) bytes", smallest)
    assert budget, smallest
    small = compile_step(program.parent, f"--memory-budget={budget[1]}", name="small.tenon")
    for file, options in ((program, ["--threads=1"]), (program, ["--threads=2"]), (small, [])):
        run = begun(program, tmp_path / "run")
        process = Run(file, run.scratch).start(*options)
        assert process.returncode == 0 and "30 steps are complete" in process.stdout and not process.stderr, process
        assert run.outcome() == expected
        again = run.start()
        assert again.returncode == 0 and "step 60 is complete, there is nothing to do" in again.stdout
        assert run.outcome() == expected
        shutil.rmtree(run.scratch)


def test_says_that_bits_differ(program: Path, tmp_path: Path) -> None:
    """A file of another precision goes on and says so."""
    run = begun(program, tmp_path / "run")
    bf16 = compile_step(program.parent, "--precision=bf16-state", name="bf16.tenon")
    process = Run(bf16, run.scratch).start()
    assert process.returncode == 0, process
    assert "note: precision was 'f32' and is 'bf16-state' now: from step 31 on, bits differ" in process.stderr
    assert run.outcome()[1].splitlines()[:31] == whole(program, tmp_path)[1].splitlines()[:31]


def test_other_constants_are_told(program: Path, tmp_path: Path) -> None:
    """The signature is the same, so the run goes on, and says that the step is not."""
    run = begun(program, tmp_path / "run")
    other = tmp_path / "other"
    shutil.copytree(program.parent, other)
    text = (other / "step.mlir").read_text()
    changed, count = re.subn(r"dense<[1-9]\.\d+e-0\d> : tensor<f32>", "dense<7.500000e-01> : tensor<f32>", text, count=1)
    assert count == 1 and changed != text
    (other / "step.mlir").write_text(changed)
    process = Run(compile_step(other), run.scratch).start()
    assert process.returncode == 0, process
    assert re.search(r"note: constants was '\w+' and is '\w+' now: from step 31 on, bits differ", process.stderr), process


def test_another_signature_is_refused(program: Path, tmp_path: Path) -> None:
    """With what differs, and nothing is changed."""
    run = begun(program, tmp_path / "run")
    other = tmp_path / "other"
    other.mkdir()
    process = Run(compile_step(other, rows=4), run.scratch).start()
    assert process.returncode == 1
    assert re.search(r"another signature:\n  x was 'batch f32 8x16' and is 'batch f32 4x16' now", process.stderr), process.stderr
    assert checkpoints(run)[-1] == "step-000000030"


def test_damage_is_found_and_named(program: Path, tmp_path: Path) -> None:
    """Any byte that is changed in the newest checkpoint makes the run go on from the one before, with equal bits."""
    expected = whole(program, tmp_path)
    run = begun(program, tmp_path / "run")
    kept = tmp_path / "kept"
    shutil.copytree(run.scratch, kept)
    numbers = np.random.default_rng(1)
    for name, places in (("run.json", 25), ("state-1-of-1.safetensors", 25)):
        for _ in range(places):
            shutil.rmtree(run.scratch)
            shutil.copytree(kept, run.scratch)
            path = run.scratch / "checkpoints" / "step-000000030" / name
            data = bytearray(path.read_bytes())
            # White space in front of a name and behind the end means nothing in JSON.
            place = numbers.integers(len(data))
            while name == "run.json" and data[place : place + 1].isspace():
                place = numbers.integers(len(data))
            data[place] ^= 1 << numbers.integers(8)
            path.write_bytes(data)
            process = run.start()
            assert process.returncode == 0, (name, place, process)
            assert "note: '" in process.stderr and "an older checkpoint is taken" in process.stderr, (name, place, process)
            assert "28 steps are complete" in process.stdout
            assert run.outcome() == expected
    for folder in (run.scratch / "checkpoints").iterdir():
        (folder / "run.json").write_text("{}")
    process = run.start()
    assert process.returncode == 1 and "no checkpoint in" in process.stderr and "is damaged" in process.stderr


def test_another_version_is_refused(program: Path, tmp_path: Path) -> None:
    """It may be whole, so no older one is taken in its place."""
    run = begun(program, tmp_path / "run")
    record = run.scratch / "checkpoints" / "step-000000030" / "run.json"
    record.write_text(record.read_text().replace('"checkpoint_version": 1,', '"checkpoint_version": 2,'))
    process = run.start()
    assert process.returncode == 1 and "has the version 2, this Tenon reads 1" in process.stderr, process
    assert "step-000000030" in checkpoints(run)


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "null", "{}", '{"checkpoint_version": "1"}', '{"checkpoint_version": 1}', "[" * 100_000, '{"a": 1, "a": 1}', "\xff",
     '{"checkpoint_version": 1, "step": -1, "hash": 5}', '{"checkpoint_version": 1.5}'],
)  # fmt: skip
def test_a_record_that_is_none(text: str, program: Path, tmp_path: Path) -> None:
    """Whatever is in the file, the checkpoint before it is taken."""
    run = begun(program, tmp_path / "run")
    (run.scratch / "checkpoints" / "step-000000030" / "run.json").write_bytes(text.encode("latin-1"))
    process = run.start()
    assert process.returncode == 0 and "28 steps are complete" in process.stdout and "is damaged" in process.stderr, process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_with_a_checkpoint(number: signal.Signals, program: Path, tmp_path: Path) -> None:
    """Exit code 5 after the step; the run then goes on as if nothing had been."""
    run = Run(program, tmp_path)
    with subprocess.Popen(
        run.command("--save-every=1h", until=10**9), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        process.stdout.readline()  # a line after a second of steps
        process.send_signal(number)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 5, said
    found = re.search(rf"stopped    by {number.name} after step (\d+), which is saved", said)
    assert found, said
    last = int(found[1])
    assert checkpoints(run)[-1] == f"step-{last:09}"
    assert len((tmp_path / "metrics.csv").read_text().splitlines()) == last + 1
    assert run.start("--save-every=1h", until=last + 5).returncode == 0
    (tmp_path / "whole").mkdir()
    other = Run(program, tmp_path / "whole")
    assert other.start("--save-every=1h", until=last + 5).returncode == 0
    assert run.outcome() == other.outcome()


def test_ends_after_a_time(program: Path, tmp_path: Path) -> None:
    """--until with a time ends with 0 and a checkpoint, --save-every with a time saves."""
    run = Run(program, tmp_path)
    command = [
        part for part in run.command("--save-every=0.2s") if not part.startswith(("--until", f"--save-every={SAVE_EVERY}", "--keep"))
    ]
    begin = time.monotonic()
    process = subprocess.run([*command, "--until=1s"], check=False, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0 and time.monotonic() - begin >= 1, process
    # The last one is that of the end; how many come before depends on the disk.
    assert len(checkpoints(run)) >= 2


def test_what_cannot_be_saved_is_said_before_the_first_step(program: Path, tmp_path: Path) -> None:
    """A missing place, a file in its place, a full disk (a limit of file sizes), and a folder of another run."""
    run = Run(program, tmp_path / "missing" / "run")
    process = run.start()
    assert process.returncode == 1 and "cannot make the folder for checkpoints" in process.stderr and "step " not in process.stdout
    run = begun(program, tmp_path / "run")
    command = [part for part in run.command() if part != "--resume"]
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    assert process.returncode == 1 and "holds checkpoints already; go on from the newest with --resume" in process.stderr
    # Of a state that is larger than everything else that a run writes.
    (tmp_path / "wide").mkdir()
    wide = compile_step(tmp_path / "wide", width=512)
    for existing in (False, True):
        scratch = tmp_path / f"full{existing}"
        scratch.mkdir()
        full = begun(wide, scratch) if existing else Run(wide, scratch)
        before = checkpoints(full) if existing else []
        process = subprocess.run(
            full.command(), check=False, capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        )  # fmt: skip
        assert process.returncode == 1 and "File too large" in process.stderr, process
        assert "steps/s" not in process.stdout
        assert checkpoints(full) == before
    blocked = Run(program, tmp_path / "blocked")
    blocked.scratch.mkdir()
    (blocked.scratch / "checkpoints").write_text("a file")
    process = blocked.start()
    assert process.returncode == 1 and "cannot open the folder for checkpoints" in process.stderr


@pytest.mark.parametrize("existing", [False, True], ids=["new", "resumed"])
def test_a_folder_that_nobody_may_write_to(existing: bool, program: Path, tmp_path: Path) -> None:
    """Is said before the first step, and what is in it stays as it is."""
    run = begun(program, tmp_path / "run") if existing else Run(program, tmp_path / "run")
    folder = run.scratch / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    before = checkpoints(run)
    folder.chmod(0o555)
    # A system administrator may write anywhere, as long as the system lets him.
    plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.access(folder, os.W_OK) else []
    process = subprocess.run([*plain, *run.command()], check=False, capture_output=True, text=True, timeout=60)
    folder.chmod(0o755)
    assert process.returncode == 1 and "Permission denied" in process.stderr, process
    assert "steps/s" not in process.stdout and checkpoints(run) == before


def test_a_folder_that_vanishes(program: Path, tmp_path: Path) -> None:
    """The save that meets it fails and says so; the run ends."""
    run = Run(program, tmp_path)
    with subprocess.Popen(
        run.command("--save-every=0.5s", until=10**9), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        process.stdout.readline()
        (tmp_path / "checkpoints").rename(tmp_path / "elsewhere")
        _, errors = process.communicate(timeout=60)
    # It may vanish at any moment of a save.
    assert process.returncode == 1 and re.search("cannot (write|replace) ", errors) and "steps are complete" in errors, errors


def test_one_run_at_a_time(program: Path, tmp_path: Path) -> None:
    """A second run in the same folder is refused."""
    run = Run(program, tmp_path)
    with started(run) as process:
        assert process.stdout
        process.stdout.readline()
        other = run.start()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert other.returncode == 1 and "another run is writing checkpoints to" in other.stderr


@pytest.mark.parametrize("seed", [0, 1], ids=["steps", "shuffled samples"])
def test_killed_runs_end_equal(seed: int, program: Path) -> None:
    """20 kills in steps, saves, reads and lines of metrics."""
    log, wrong = kill_and_resume(program, 20, seed=seed)
    assert not wrong, wrong
    kinds = {what.split()[0] for what in log}
    assert kinds == set(DOING) and log.total() >= 15, log


def test_usage(program: Path) -> None:
    """Options that say nothing together."""
    assert "give --checkpoints" in refused(2, "run", program, "--resume")
    assert "give --checkpoints" in refused(2, "run", program, "--keep=2")
    assert "give --checkpoints or --save" in refused(2, "run", program, "--save-every=2")
    for wrong in ("0", "x", "10 min", "-3", "min"):
        assert "a number of steps from 1 on, or a time" in refused(2, "run", program, f"--until={wrong}")
