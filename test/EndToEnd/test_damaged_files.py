"""Files that are cut short or changed at many places: an error message, never a crash or a hang, and nothing lost."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, SECONDS, Outcome, Step, Steps, refused, run, succeed
from safetensors.numpy import load_file, save_file

PAGE = 4096


def places(size: int, count: int, seed: int) -> list[int]:
    """Both ends, and random places between, in order."""
    inside = np.random.default_rng(seed).integers(0, size, count)
    return sorted({0, 1, size // 2, size - 1, *map(int, inside)})


def flipped(content: bytes, place: int) -> bytes:
    """The content with one bit of one byte changed."""
    return content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :]


def told(outcome: Outcome, codes: tuple[int, ...]) -> None:
    """Fails unless a run ended with one of the codes, and with a message where it failed."""
    assert outcome.code in codes, outcome
    assert outcome.code == 0 or "error: " in outcome.errors, outcome


@pytest.fixture(scope="module")
def loop(steps: Steps) -> Step:
    """A step with a loop, small enough to run very often."""
    return steps["14_while_fori"]


def test_cut_module(loop: Step, tmp_path: Path) -> None:
    """A text that ends early is refused."""
    text = loop.located.read_bytes()
    source = tmp_path / "cut.mlir"
    for place in places(text.rindex(b"}"), 24, seed=1):
        source.write_bytes(text[:place])
        assert "cut.mlir" in refused(1, "compile", source, "-o", tmp_path / "cut.tenon")
        assert not (tmp_path / "cut.tenon").exists()


def test_changed_module(loop: Step, tmp_path: Path) -> None:
    """A text with a changed character is refused, or is another valid text."""
    text = loop.text.read_bytes()
    source = tmp_path / "changed.mlir"
    for place in places(len(text), 36, seed=2):
        source.write_bytes(flipped(text, place))
        told(run("compile", source, "-o", tmp_path / "changed.tenon", "--verify-forms"), (0, 1, 4))


@pytest.mark.parametrize("stage", ["simplify", "group", "plan", "lower"])
def test_changed_form(loop: Step, stage: str, tmp_path: Path) -> None:
    """The same for the text between stages."""
    source = tmp_path / "form.mlir"
    succeed("compile", loop.text, f"--compile-to={stage}", "-o", source)
    text = source.read_bytes()
    for place in places(len(text), 14, seed=len(stage)):
        for changed in (text[:place], flipped(text, place)):
            source.write_bytes(changed)
            told(run("compile", source, f"--compile-from={stage}", "-o", tmp_path / "x", "--verify-forms"), (0, 1, 4))


def test_cut_file(loop: Step, tmp_path: Path) -> None:
    """A `.tenon` file that ends early is refused, wherever it ends."""
    content = loop.compiled.read_bytes()
    path = tmp_path / "cut.tenon"
    borders = [border + near for border in range(0, len(content), PAGE) for near in (-1, 0, 1)]
    for place in sorted({*places(len(content), 12, seed=3), *(b for b in borders if 0 <= b < len(content))}):
        path.write_bytes(content[:place])
        for verb in ("run", "inspect"):
            # Inspecting reads no section, so it may not miss one; it must not print anything false either.
            outcome = run(verb, path)
            told(outcome, (1,) if verb == "run" else (0, 1))
            assert outcome.code == 0 or "cut.tenon" in outcome.errors, outcome


def test_changed_file(loop: Step, tmp_path: Path) -> None:
    """A changed byte in a `.tenon` file is noticed, unless it is in the padding that nothing reads."""
    content = loop.compiled.read_bytes()
    expected = loop.outputs(tmp_path, "--threads=1")
    path = tmp_path / "changed.tenon"
    harmless = 0
    chosen = sorted({*range(0, 64, 3), *places(len(content), 50, seed=4)})
    for place in chosen:
        path.write_bytes(flipped(content, place))
        outcome = run(
            "run", path, "--inputs", loop.inputs, "--steps", 3, "--outputs", tmp_path / "o.safetensors", "--threads=1"
        )
        told(outcome, (0, 1))
        if outcome.code == 0:
            harmless += 1
            assert content[place] == 0, place
            outputs = load_file(tmp_path / "o.safetensors")
            assert all(outputs[name].tobytes() == expected[name].tobytes() for name in expected), place
        else:
            assert "changed.tenon" in outcome.errors or "the file" in outcome.errors, outcome
    assert harmless < len(chosen) / 2


def test_other_files(loop: Step, tmp_path: Path) -> None:
    """Files of other kinds are told apart, and so is a version that does not exist yet."""
    for content in (b"", b"TENON\0", loop.inputs.read_bytes(), loop.text.read_bytes(), os.urandom(3 * PAGE)):
        (tmp_path / "other.tenon").write_bytes(content)
        assert "other.tenon" in refused(1, "run", tmp_path / "other.tenon")
    content = bytearray(loop.compiled.read_bytes())
    content[6:8] = (999).to_bytes(2, "little")
    (tmp_path / "other.tenon").write_bytes(content)
    assert "999" in refused(1, "run", tmp_path / "other.tenon")
    assert "tenon" in refused(1, "run", loop.compiled, "--inputs", loop.compiled)


def test_damaged_values(loop: Step, tmp_path: Path) -> None:
    """A safetensors file that ends early is refused; so is a damaged header, unless it is still a valid one."""
    content = loop.inputs.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    path = tmp_path / "values.safetensors"
    for place in sorted({header - 1, header, header + 1, *places(len(content), 16, seed=5)}):
        path.write_bytes(content[:place])
        assert "values.safetensors" in refused(1, "run", loop.compiled, "--inputs", path)
    for place in sorted({*range(8), *places(header, 30, seed=6)}):
        path.write_bytes(flipped(content, place))
        told(run("run", loop.compiled, "--inputs", path, "--threads=1"), (0, 1))
    for length in (0, 1, len(content), 1 << 40, (1 << 64) - 1):
        path.write_bytes(length.to_bytes(8, "little") + content[8:])
        assert "values.safetensors" in refused(1, "run", loop.compiled, "--inputs", path)


# Saving where there is no room.


@pytest.fixture(scope="module")
def small(steps: Steps) -> Step:
    """A step whose state, 2.6 MB, is larger than the disks below."""
    return steps["01_mlp"]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=False, capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"NOT TESTED: saving on a full disk needs the right to mount one: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def check_save_is_atomic(small: Step, folder: Path, **limits: object) -> None:
    """Saving into a folder without room fails, names the file, and leaves what was there."""
    for option in ("--save", "--outputs"):
        old = folder / f"{option[2:]}.safetensors"
        old.write_bytes(b"what was there")
        process = subprocess.run(
            [BUILD / "bin" / "tenon", "run", small.compiled, "--inputs", small.inputs, option, old],
            check=False, capture_output=True, text=True, timeout=60, **limits,
        )  # fmt: skip
        told(Outcome(process.returncode, process.stdout, process.stderr), (1,))
        assert str(old) in process.stderr and "untouched" in process.stderr
        assert old.read_bytes() == b"what was there"
    assert sorted(path.name for path in folder.iterdir()) == ["outputs.safetensors", "save.safetensors"]


def test_full_disk(small: Step, tiny_disk: Path) -> None:
    """On a disk that fills up, saving fails and the old file stays."""
    check_save_is_atomic(small, tiny_disk)


def test_full_disk_for_the_compiler(small: Step, tiny_disk: Path) -> None:
    """The same for what the compiler writes, where even an empty file may not fit."""
    (tiny_disk / "x.tenon").write_bytes(b"old")
    try:
        (tiny_disk / "filler").write_bytes(b"x" * (1 << 20))
    except OSError:
        pass
    said = refused(1, "compile", small.text, "-o", tiny_disk / "x.tenon")
    assert "x.tenon" in said and (tiny_disk / "x.tenon").read_bytes() == b"old"
    said = refused(1, "compile", small.text, "--compile-to=plan", "-o", tiny_disk / "plan.mlir")
    assert "plan.mlir" in said and not (tiny_disk / "plan.mlir").exists()


def test_file_size_limit(small: Step, tmp_path: Path) -> None:
    """The same where the process may not write large files."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    folder = tmp_path / "limited"
    folder.mkdir()
    check_save_is_atomic(small, folder, preexec_fn=limit)


def test_save_over_special_files(small: Step, tmp_path: Path) -> None:
    """A save must not put a file in the place of a device or a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    outcome = run("run", small.compiled, "--inputs", small.inputs, "--save", pipe)
    assert pipe.is_fifo(), "saving has replaced a pipe with a file"
    told(outcome, (1,))


def test_metrics_on_full_device(small: Step) -> None:
    """Metrics that cannot be written are an error too."""
    if not Path("/dev/full").is_char_device():
        pytest.skip("NOT TESTED: there is no /dev/full")
    said = refused(1, "run", small.compiled, "--inputs", small.inputs, "--metrics", "/dev/full")
    assert "/dev/full" in said


def test_kill_while_saving(small: Step, tmp_path: Path) -> None:
    """Killed at any write, before the file is durable, before it gets its name and after: the old file or the whole new one."""
    folder = tmp_path / "saved"
    folder.mkdir()
    path = folder / "state.safetensors"

    def save(steps: int, kill_at: int) -> subprocess.CompletedProcess[str]:
        command = [BUILD / "bin" / "tenon", "run", small.compiled, "--inputs", small.inputs, f"--steps={steps}", "--save", path]
        preloaded = {
            "LD_PRELOAD": str(BUILD / "lib/TenonKillWhileWriting.so"),
            "TENON_KILL_FOLDER": str(folder),
            "TENON_KILL_AT": str(kill_at),
        }
        return subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **preloaded}, timeout=SECONDS)

    assert save(1, kill_at=0).returncode == 0
    old = path.read_bytes()
    killed: list[str] = []
    for kill_at in range(1, 1000):
        path.write_bytes(old)
        process = save(2, kill_at)
        if process.returncode == 0:
            break
        said = re.search(r"^killed at (\w+)$", process.stderr, re.MULTILINE)
        assert said and process.returncode == -signal.SIGKILL, process
        found = path.read_bytes()
        if "rename" in killed:
            assert len(found) == len(old) and found != old
            load_file(path)
        else:
            assert found == old, (kill_at, said[1])
        killed.append(said[1])
    # What was shown was shown of a save: all its calls were reached, and the last run made it whole.
    assert killed.count("write") > 2 and killed.count("rename") == 1
    assert "fsync" in killed[: killed.index("rename")] and "write" not in killed[killed.index("rename") :]
    assert path.read_bytes() == found != old


def test_values_are_not_evaluated(loop: Step, tmp_path: Path) -> None:
    """Not-a-number and infinity pass through as data."""
    values = load_file(loop.inputs)
    name = next(name for name, value in values.items() if value.dtype == np.float32 and value.size > 1)
    values[name] = np.full_like(values[name], np.nan)
    save_file(values, tmp_path / "nan.safetensors")
    succeed("run", loop.compiled, "--inputs", tmp_path / "nan.safetensors", "--metrics", tmp_path / "m.csv")
    assert "nan" in (tmp_path / "m.csv").read_text()
