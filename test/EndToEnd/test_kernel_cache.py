"""Kernels that were compiled before are taken from a folder, and nothing but the time tells. test_machine_code.py has those for GPUs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Steps, compiled, refused, succeed

# What `keep` writes beside the code: two hashes of 16 bytes.
HASHES = 32


def kept(cache: Path) -> dict[str, bytes]:
    """What each file of a cache holds."""
    return {file.name: file.read_bytes() for file in cache.iterdir()} if cache.exists() else {}


@pytest.mark.parametrize(
    ("name", "options"), [("04_chargpt", ()), ("01_mlp", ("--cpu=x86-64-v3", "--subnormals=keep", "--no-libraries", "--fuse=false"))]
)
def test_same_bytes(steps: Steps, name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    """A step has the same bytes without a cache, with an empty one, a full one, and one that is damaged."""
    step, out, cache = steps[name], tmp_path / "out.tenon", tmp_path / "cache"
    expected = compiled(step.text, *options, "--kernel-cache=none").output.read_bytes()
    command = ("compile", step.text, "-o", out, *options, f"--kernel-cache={cache}")
    succeed(*command, "--threads=1")
    files = kept(cache)
    assert out.read_bytes() == expected and len(files) > 3
    assert all(name.endswith(".object") and content[HASHES : HASHES + 4] == b"\x7fELF" for name, content in files.items())
    # The text with places in the user's program has the same kernels.
    for source in (step.text, step.located):
        succeed(*command[:1], source, *command[2:])
        assert kept(cache) == files
    first, second, third = sorted(cache.iterdir())[:3]
    first.write_bytes(b"")
    second.write_bytes(second.read_bytes()[:-1] + b"x")
    third.write_bytes(files[second.name])
    succeed(*command)
    assert out.read_bytes() == expected and kept(cache) == files
    # A folder that cannot be one is no error.
    (tmp_path / "file").write_text("")
    succeed(*command[:-1], f"--kernel-cache={tmp_path / 'file'}")
    assert out.read_bytes() == expected


def test_a_changed_step_has_most_kernels(steps: Steps, tmp_path: Path) -> None:
    """Where one number changes, what does not use it is not compiled again."""
    text, out, cache, changed = steps["01_mlp"].text, tmp_path / "out.tenon", tmp_path / "cache", tmp_path / "changed.mlir"
    momentum = "dense<0.899999976>"
    assert momentum in text.read_text()
    changed.write_text(text.read_text().replace(momentum, "dense<0.850000024>"))
    succeed("compile", text, "-o", out, f"--kernel-cache={cache}")
    before, files = out.read_bytes(), kept(cache)
    succeed("compile", changed, "-o", out, f"--kernel-cache={cache}")
    assert out.read_bytes() == compiled(changed, "--kernel-cache=none").output.read_bytes() != before
    now = kept(cache)
    assert {name: now[name] for name in files} == files and 0 < len(now) - len(files) < len(files)


def test_the_variable_names_a_folder(steps: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option says otherwise; a target without code of kernels refuses the option and not the variable."""
    text, out = steps["01_mlp"].text, tmp_path / "out.tenon"
    named, other = tmp_path / "named", tmp_path / "other"
    monkeypatch.setenv("TENON_KERNEL_CACHE", str(named))
    for options in (["--kernel-cache=none"], [f"--kernel-cache={other}"], ["--target=stablehlo"], ["--compile-to=lower"]):
        succeed("compile", text, "-o", out, *options)
        assert not named.exists(), options
    succeed("compile", text, "-o", out)
    assert kept(named) == kept(other) != {}
    monkeypatch.setenv("TENON_KERNEL_CACHE", "")
    succeed("compile", text, "-o", out)
    assert sorted(os.listdir(tmp_path)) == ["named", "other", "out.tenon"]
    said = refused(2, "compile", text, "-o", out, "--target=stablehlo", f"--kernel-cache={other}")
    assert "--kernel-cache is for the target cpu" in said
