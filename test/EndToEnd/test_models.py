"""Every exported training step, at sizes a test can afford, against JAX and a float64 replay."""

from __future__ import annotations

from pathlib import Path

import compare
import numpy as np
import pytest
from conftest import BUILD, NAMES, Steps

# One of a kind each; `compare.py --interpreted` takes the others, which need a minute.
INTERPRETED = ["01_mlp", "02b_cnn_rbg", "07_llama_bf16", "08_lstm", "13_mlp_f16_loss_scale", "14_while_fori", "18_unread_leaves"]


# Two images are so few that one decision of a maximum is more than all roundings of a tensor of 800 numbers.
BATCHES = {"02_cnn": 4}


@pytest.mark.parametrize("name", NAMES)
def test_model(models: Steps, name: str) -> None:
    """The first loss is JAX's and five steps stay as close to the exact values as JAX's."""
    models = models.with_batch(BATCHES[name], name) if name in BATCHES else models
    judge(compare.compare(BUILD, models.folder, name, program=models[name].compiled), name)


@pytest.mark.parametrize("name", INTERPRETED)
def test_interpreted(models: Steps, name: str) -> None:
    """The interpreter's step is held to the same limits as the compiled ones."""
    judge(compare.compare(BUILD, models.folder, name, interpreted=True), name)


def test_sharded_interpreted(sharded: Steps, tmp_path: Path) -> None:
    """A step with shardings has the same losses interpreted and compiled for one device."""
    step = sharded["15_chargpt_sharded"]
    compiled = compare.run_tenon(BUILD, step.compiled, step.info, tmp_path, 1, ["--threads=2"])[0]
    interpreted = compare.run_tenon(BUILD, step.text, step.info, tmp_path, 1, ["--reference"])[0]
    np.testing.assert_allclose(compiled, interpreted, 1e-5)


def judge(result: compare.Comparison, name: str) -> None:
    """All limits hold."""
    assert result.tensors > 0 and np.isfinite(result.losses).all(), result
    assert result.first_error <= compare.tolerance(name), result.first_error
    assert not result.over_eight, result.over_eight
    assert len(result.over_twice) <= compare.over_twice_at_most(name) * result.tensors, result.over_twice
