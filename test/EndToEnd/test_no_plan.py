"""What a budget that cannot be kept is answered, what is left out of recomputation, and what batch would fit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Step, Steps, compiled, refused, run, smallest, smallest_budget, succeed

# What nothing may compute again: at most so much of a step's values.
MOST_EXCLUDED = 0.05
SMALLEST = r"smallest budget that was planned is (\d+) bytes"
LISTED = (
    "01_mlp", "02_cnn", "03_resnet18", "04_chargpt", "05_gpt2_124m", "06_gpt2_124m_scan_remat", "08_lstm", "09_unet_ddpm",
    "10_vit_tiny", "11_moe", "12_chargpt_accum", "13_mlp_f16_loss_scale", "14_while_fori",
)  # fmt: skip


def refusal(step: Step, budget: str) -> str:
    """Why there is no plan within a budget; nothing is written."""
    refused_step = compiled(step.located, f"--memory-budget={budget}", code=3)
    assert not refused_step.output.exists()
    return refused_step.outcome.errors


def number(pattern: str, text: str) -> int:
    """The number a message gives."""
    found = re.search(pattern, text)
    assert found, text
    return int(found[1])


@pytest.mark.parametrize("name", ["01_mlp", "04_chargpt", "08_lstm"])
def test_three_answers(steps: Steps, name: str) -> None:
    """Infeasible with what cannot shrink; not found with the best bound; and the smallest budget, which is one."""
    step = steps[name]
    hopeless = refusal(step, "1KiB")
    assert "infeasible (proved) with the kernels that were formed" in hopeless and "state" in hopeless
    assert re.search(r"that '[^']*\.py:\d+' needs at once \((reads|writes) \d", hopeless), hopeless
    bound = number(r"these take (\d+) bytes", hopeless)
    made = smallest(step.located)
    least = made.plan["budget"]
    assert number(SMALLEST, hopeless) == least >= made.plan["bytes"]
    assert "could be saved with these kernels, first run in this order" in succeed("verify", made.output)
    # Up to the bound it is proved; from there to the smallest budget it is not.
    assert bound < least
    assert "infeasible (proved)" in refusal(step, str(bound - 1))
    for budget in (bound, least - least // 100):
        between = refusal(step, str(budget))
        assert number(SMALLEST, between) == least
        if budget >= bound:
            assert "not found (not proved infeasible)" in between
            assert number(r"every plan needs (\d+) bytes", between) == bound


@pytest.mark.parametrize("name", LISTED)
def test_exclusions_are_few(models: Steps, name: str) -> None:
    """Nearly every value may be computed again."""
    plan = compiled(models[name].located, "--memory-budget=1TiB", "--verify-forms").plan
    assert plan["excluded_bytes"] <= MOST_EXCLUDED * plan["value_bytes"]


def test_exclusions_are_listed(steps: Steps) -> None:
    """A step made of loops says which of them run once, where, and why."""
    plan = compiled(steps["14_while_fori"].located, "--memory-budget=1TiB", "--verify-forms").plan
    assert sum(entry["bytes"] for entry in plan["exclusions"]) == plan["excluded_bytes"] > 0
    assert all(entry["reason"] and entry["source"] for entry in plan["exclusions"])
    text = succeed("plan", steps["14_while_fori"].located, "--frontier=1")
    assert re.search(r"not recomputable: .* of values, \d+\.\d\d %", text)
    assert re.search(r"a loop that updates state runs once: .*\.py:\d+", text)
    assert re.search(r"smallest budget \d+ bytes \(.*\), with these kernels every plan needs .* \(proved\)", text)


def test_other_batch_sizes(steps: Steps, tmp_path: Path) -> None:
    """Two exports forecast the largest batch; the forecast for a third is near what it takes."""
    texts = {batch: steps.with_batch(batch, "01_mlp").folder / "01_mlp.mlir" for batch in (2, 4)} | {8: steps["01_mlp"].text}
    table = succeed("plan", texts[8], f"--also={texts[2]}")
    assert [line.split()[0] for line in table.splitlines()] == ["batch", "8", "2", "each"]
    needed = compiled(texts[4], "--memory-budget=1TiB").plan["bytes"]
    fits = succeed("plan", texts[8], f"--also={texts[2]}", f"--memory-budget={needed}")
    assert abs(number(r": (\d+) keeping everything", fits) - 4) <= 1, fits
    # What is forecast to fit with everything kept fits the more with something computed again; and the smallest budget
    # of the third batch is where the forecast of recomputing has it.
    assert number(r"(\d+) recomputing", fits) >= number(r": (\d+) keeping everything", fits)
    least = smallest_budget(texts[4])
    fits = succeed("plan", texts[8], f"--also={texts[2]}", f"--memory-budget={least}")
    assert abs(number(r"(\d+) recomputing", fits) - 4) <= 1, fits
    both = ("compile", texts[8], f"--also={texts[2]}", "-o", tmp_path / "x.tenon")
    assert "largest batch within 1.00 GiB" in succeed(*both, "--memory-budget=1GiB")
    # Also when nothing fits, beside the refusal.
    nothing = run(*both, "--memory-budget=1KiB")
    assert nothing.code == 3 and "none keeping everything, none recomputing" in nothing.out
    assert "--also needs --memory-budget" in refused(2, "compile", texts[8], f"--also={texts[2]}", "-o", tmp_path / "x")
    assert "not one step" in refused(1, "plan", texts[8], f"--also={steps['04_chargpt'].text}")
    assert "no argument differs" in refused(1, "plan", texts[8], f"--also={texts[8]}")


def test_the_smallest_budget_by_name(steps: Steps, tmp_path: Path) -> None:
    """Asked for by name it is what asking for its bytes gives, also through texts; what it does not go with is refused."""
    step, smallest_of = steps["01_mlp"].located, "--memory-budget=smallest"
    made, out = smallest(step), tmp_path / "out.tenon"
    by_bytes = compiled(step, f"--memory-budget={made.plan['budget']}", "--verify-forms")
    assert made.output.read_bytes() == by_bytes.output.read_bytes()
    for stage in ("simplify", "group", "plan"):
        text = tmp_path / f"{stage}.mlir"
        succeed("compile", step, smallest_of, f"--compile-to={stage}", "-o", text)
        succeed("compile", text, f"--compile-from={stage}", "-o", out)
        assert out.read_bytes() == made.output.read_bytes()
    assert "layouts that are chosen" in refused(2, "compile", step, smallest_of, "--mesh=data=2", "-o", out)
    assert "whose memory XLA plans" in refused(2, "compile", step, smallest_of, "--target=stablehlo", "-o", out)
    assert "--also needs --memory-budget=SIZE" in refused(2, "compile", step, smallest_of, f"--also={step}", "-o", out)
    assert "give a size" in refused(2, "plan", step, smallest_of, f"--also={step}")
    for size in ("small", "0"):
        assert "or smallest" in refused(2, "compile", step, f"--memory-budget={size}", "-o", out)
