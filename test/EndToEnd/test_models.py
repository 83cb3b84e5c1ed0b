"""Every exported training step, at sizes a test can afford, against JAX and a float64 replay."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import compare
import pytest

BUILD = Path(os.environ.get("TENON_BUILD", compare.ROOT / "build/dev"))
NAMES = [
    "01_mlp", "02_cnn", "02b_cnn_rbg", "03_resnet18", "04_chargpt", "05_gpt2_124m", "06_gpt2_124m_scan_remat",
    "07_llama_bf16", "08_lstm", "09_unet_ddpm", "10_vit_tiny", "11_moe", "12_chargpt_accum",
    "13_mlp_f16_loss_scale", "14_while_fori", "17_chargpt_remat", "18_unread_leaves",
]  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The steps as the generator writes them, at small sizes."""
    out = tmp_path_factory.mktemp("models")
    subprocess.run(
        [sys.executable, str(compare.HERE / "models" / "generate.py"), *NAMES, "--small", "--out", str(out)],
        check=True, capture_output=True,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("name", NAMES)
def test_model(folder: Path, name: str) -> None:
    """The first loss is JAX's and five steps stay as close to the exact values as JAX's."""
    result = compare.compare(BUILD, folder, name)
    assert result.first_loss_passed(compare.tolerance(name)), (result.first_error, result.jax_error, result.own_error)
    assert not result.over_eight, result.over_eight
    assert len(result.over_twice) <= 0.05 * result.tensors, result.over_twice
