"""Layouts that people write, beside data parallel and Megatron: what they exchange, and that they compute the step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Steps, succeed
from test_chosen_layouts import FILES, reference, shard_report, zero  # noqa: F401
from test_ranks import CPU, STEPS, expect_as_exact, train

# By step, plan and mesh.
CASES: dict[tuple[str, str, str], dict[str, int]] = {
    ("01_mlp", "ZeRO", "data=2"): {"all_gather": 9, "all_reduce": 1, "all_to_all": 3, "reduce_scatter": 3},
    ("04_chargpt", "ZeRO", "data=2"): {"all_gather": 70, "all_reduce": 2, "all_to_all": 18, "reduce_scatter": 34},
    ("04_chargpt", "sequence", "model=2"): {"all_gather": 41, "all_reduce": 29, "all_to_all": 32, "reduce_scatter": 24},
    ("04_chargpt", "sequence", "model=4"): {"all_gather": 41, "all_reduce": 29, "all_to_all": 32, "reduce_scatter": 24},
    ("11_moe", "experts", "data=2"): {"all_gather": 17, "all_reduce": 67, "all_to_all": 12, "reduce_scatter": 8},
}


@pytest.mark.parametrize(("model", "plan", "mesh"), CASES)
def test_a_plan_of_people(steps: Steps, reference: Any, tmp_path: Path, model: str, plan: str, mesh: str) -> None:  # noqa: F811
    """Kinds and number of collectives, and state as close to that in f64 as on one rank."""
    one = reference(model)
    ranks = int(mesh.split("=")[1])
    layouts = FILES / f"{model}.{plan}.txt"
    if plan == "ZeRO":
        layouts = tmp_path / "layouts.txt"
        layouts.write_text(zero(model, one.info, ranks))
    file = tmp_path / "step.tenon"
    succeed("compile", steps[model].text, f"--mesh={mesh}", f"--sharding={layouts}", CPU, "-o", file)
    assert shard_report(steps, model, mesh, tmp_path, f"--sharding={layouts}")["collectives"] == CASES[model, plan, mesh]
    found, _ = train(file, f"--ranks={ranks}", f"--inputs={one.inputs}", f"--steps={STEPS}")
    expect_as_exact(found, one.results, one.exact)
