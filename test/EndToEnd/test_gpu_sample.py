"""The sample of the models' steps on the emulated GPU that every change has to pass: sm_90 with the smallest budget."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import BUILD, NAMES, Steps

CONFORMANCE = Path(__file__).resolve().parents[1] / "Conformance"
sys.path.insert(0, str(CONFORMANCE))

import gpu_models

# In f16 it takes half a minute and more to find the smallest budgets of the others; gpu_models.py does it.
IN_F16 = {
    "01_mlp",
    "02_cnn",
    "02b_cnn_rbg",
    "06_gpt2_124m_scan_remat",
    "08_lstm",
    "12_chargpt_accum",
    "14_while_fori",
    "18_unread_leaves",
}


@pytest.mark.parametrize("name", NAMES)
def test_step(steps: Steps, name: str, tmp_path: Path) -> None:
    """Two steps are as close to float64 as the processor's, or as near as that is where it starts from numbers next to these."""
    steps.give(name, tmp_path)
    model = gpu_models.Model(name, tmp_path, BUILD)
    for precision in ("f32", "bf16", *(["f16"] if name in IN_F16 else [])):
        outcome = gpu_models.judge(model, precision, "sm_90", "M", commit="")
        assert outcome.passes or outcome.is_near, outcome
        assert outcome.kernels > 0 and outcome.budget_bytes > 0


def test_judgement(steps: Steps, tmp_path: Path) -> None:
    """A tensor that is off is found, and one over a limit fails the run."""
    steps.give("18_unread_leaves", tmp_path)
    model = gpu_models.Model("18_unread_leaves", tmp_path, BUILD)
    values = [value.copy() for value in model.exact]
    errors, differing = model.errors(values)
    assert set(errors.values()) == {0.0} and not differing
    number = next(i for i, value in enumerate(values) if value.dtype.kind == "f" and value.size > 1)
    values[number].flat[0] += 1
    errors, _ = model.errors(values)
    assert max(errors.values()) > 1e-3
    nearby = model.errors_nearby(model.on_processor("f32", "sm_90"), 2.0**-9, model.processor_errors("f32", "sm_90"))
    assert all(error >= model.processor_errors("f32", "sm_90")[name] for name, error in nearby.items())
    assert 1e-6 < max(nearby.values()) < 1e-1
    outcome = gpu_models.Outcome("step", "f32", "sm_90", "M", commit="")
    outcome.compare({"a": 0.5, "b": 0.2}, {"a": 0.1, "b": 0.01}, 1e-6, lambda: {"a": 0.5, "b": 0.1})
    assert (outcome.median, outcome.tensor, outcome.largest) == (pytest.approx(12.5), "b", pytest.approx(20))
    assert outcome.is_near and (outcome.nearby_median, outcome.nearby_largest) == (pytest.approx(1.5), pytest.approx(2))
    outcome = gpu_models.Outcome("step", "f32", "sm_90", "M", commit="", median=1.0, largest=9.0)
    assert not outcome.passes and gpu_models.Outcome("step", "f32", "sm_90", "M", commit="", median=2.0, largest=8.0).passes
    lines = gpu_models.table([outcome]).splitlines()
    assert lines[2].startswith("| `step` | f32 | 1 | 0 | 1.00 | 9.00 | sm_90, budget M |")
