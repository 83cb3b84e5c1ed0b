"""The plan in every file is true, and a file that does not keep it is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import NAMES, Steps, refused, succeed


@pytest.mark.parametrize("name", NAMES)
def test_plans_are_true(models: Steps, name: str) -> None:
    """The checkers accept what the compiler writes: loops, branches, shared and donated buffers."""
    claims = succeed("verify", models[name].compiled)
    assert "instructions read what the plan says" in claims
    assert "buffers do not overlap" in claims


def test_damage_is_refused(steps: Steps, tmp_path: Path) -> None:
    """A file whose bytes changed is refused before its plan is read."""
    content = bytearray(steps["01_mlp"].compiled.read_bytes())
    content[len(content) - 100] ^= 1
    (tmp_path / "x.tenon").write_bytes(content)
    assert "damaged" in refused(1, "verify", tmp_path / "x.tenon")


def test_a_program_that_breaks_its_plan_is_refused(steps: Steps, tmp_path: Path) -> None:
    """An edit of the program that leaves the plan as it was is found; without a plan there is nothing to verify."""
    text = tmp_path / "lower.mlir"
    succeed("compile", steps["01_mlp"].text, "--compile-to=lower", "-o", text)
    whole = text.read_text()
    (tmp_path / "moved.mlir").write_text(re.sub(r"@temporaries\[[1-9]\d*\]", "@temporaries[0]", whole, count=1))
    succeed("compile", tmp_path / "moved.mlir", "--compile-from=lower", "-o", tmp_path / "moved.tenon")
    assert "does not keep its plan" in refused(1, "verify", tmp_path / "moved.tenon")
    (tmp_path / "bare.mlir").write_text(re.sub(r" \{exec\.planned = \{.*?\}\}", "", whole, count=1))
    succeed("compile", tmp_path / "bare.mlir", "--compile-from=lower", "-o", tmp_path / "bare.tenon")
    assert "holds no plan" in refused(1, "verify", tmp_path / "bare.tenon")
