"""Every exported training step, at sizes a test can afford, against JAX and a float64 replay."""

from __future__ import annotations

import json
from pathlib import Path

import compare
import numpy as np
import pytest
from conftest import BUILD, NAMES, Steps

# One of a kind each; `compare.py --interpreted` takes the others, which need a minute.
INTERPRETED = ["01_mlp", "02b_cnn_rbg", "07_llama_bf16", "08_lstm", "13_mlp_f16_loss_scale", "14_while_fori", "18_unread_leaves"]


@pytest.mark.parametrize("name", NAMES)
def test_model(models: Steps, name: str) -> None:
    """The first loss is JAX's and five steps stay as close to the exact values as JAX's."""
    judge(compare.compare(BUILD, models.folder, name), name)


@pytest.mark.parametrize("name", INTERPRETED)
def test_interpreted(models: Steps, name: str) -> None:
    """The interpreter's step is held to the same limits as the compiled ones."""
    judge(compare.compare(BUILD, models.folder, name, interpreted=True), name)


def test_sharded_interpreted(models: Steps, tmp_path: Path) -> None:
    """A step with shardings has the same losses interpreted and compiled for one device."""
    name = "15_chargpt_sharded"
    models.export(name)
    info = json.loads((models.folder / f"{name}.json").read_text())
    source = models.folder / f"{name}.mlir"
    compiled, interpreted = (
        compare.run_tenon(BUILD, source, info, tmp_path, 1, how)[0] for how in (["--threads=2"], ["--reference"])
    )
    np.testing.assert_allclose(compiled, interpreted, 1e-5)


def judge(result: compare.Comparison, name: str) -> None:
    """All limits hold."""
    assert result.tensors > 0 and np.isfinite(result.losses).all(), result
    assert result.first_error <= compare.tolerance(name), result.first_error
    assert not result.over_eight, result.over_eight
    assert len(result.over_twice) <= 0.05 * result.tensors, result.over_twice
