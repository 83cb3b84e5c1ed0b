"""The plan in every file is true, and a file that does not keep it is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import NAMES, Steps, refused, smallest, succeed


@pytest.mark.parametrize("name", NAMES)
def test_plans_are_true(models: Steps, name: str) -> None:
    """The checkers accept what the compiler writes: loops, branches, shared and donated buffers."""
    claims = succeed("verify", models[name].compiled)
    assert "instructions read what the plan says" in claims
    assert "buffers do not overlap" in claims


@pytest.mark.parametrize("name", ["04_chargpt", "08_lstm"])
def test_the_tightest_plans_are_true(steps: Steps, name: str) -> None:
    """At the smallest budget copies join what reads them, and loops run again as a whole."""
    located = steps[name].located
    claims = succeed("verify", smallest(located).output)
    again = re.search(r"recomputation +(\d+) of", claims)
    assert again and int(again[1]) > 0


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


def test_a_lowered_budget_or_a_rewritten_problem_is_refused(steps: Steps, tmp_path: Path) -> None:
    """A bound is worth what its problem and its budget are worth, and these have to be the program's."""
    step, lowered = steps["04_chargpt"], tmp_path / "lower.mlir"
    said = succeed("compile", step.text, "--memory-budget=1TiB", "-o", tmp_path / "all.tenon")
    everything = re.search(r"keeping everything: ([\d.]+) MiB", said)
    assert everything
    budget = int(float(everything[1]) * 0.97 * 2**20)
    succeed("compile", step.text, f"--memory-budget={budget}", "--compile-to=lower", "-o", lowered)
    whole = lowered.read_text()

    def verified(text: str) -> list[str | Path]:
        """Packages an edited program, with the hashes that it should have, to be verified."""
        (tmp_path / "edited.mlir").write_text(text)
        succeed("compile", tmp_path / "edited.mlir", "--compile-from=lower", "-o", tmp_path / "edited.tenon")
        return ["verify", tmp_path / "edited.tenon"]

    claims = succeed(*verified(whole))
    assert "more predicted time" in claims and "does not show" in claims
    # A budget that the file still keeps, but that leaves less than the bound allows for.
    bytes_needed = sum(int(size) for size in re.findall(r"exec\.segment @\w+ .* bytes (\d+) alignment", whole))
    assert 0 < bytes_needed < budget
    lower = whole.replace(f"memory_budget = {budget} : i64", f"memory_budget = {bytes_needed} : i64")
    assert lower != whole
    assert "the budget leaves" in (said := refused(1, *verified(lower))), said
    # A node that takes longer, wherever its cost is added up: the bound rises with it.
    dearer = whole
    for figure in (
        r"\\0Anode \d+ ", r"\\0Acost ", r"\\0Abound ",
        r"base_nanoseconds = ", r"bound_nanoseconds = ", r" nanoseconds = (?=\d+ : i64, nodes)",
    ):  # fmt: skip
        dearer, count = re.subn(f"({figure})(\\d+)", lambda found: found[1] + str(int(found[2]) + 1000), dearer, count=1)
        assert count == 1, figure
    assert "predicted to take" in refused(1, *verified(dearer))
