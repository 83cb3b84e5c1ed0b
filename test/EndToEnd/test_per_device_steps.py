"""Bodies that authors wrote per device, with `shard_map`: on one device, on ranks, and interpreted as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HERE, succeed
from safetensors.numpy import load_file
from test_constraints import expect_equal, results
from test_ranks import CPU

MESH = "--mesh=data=2,model=2"
NAMES = ["layers", "derived", "gathered", "exchanged", "images", "rows", "along_one"]
# How a body begins in a spelling.
BEGINS = {"sdy": "sdy.manual_computation", "mhlo": "@SPMDFullToShardShape"}


@pytest.fixture(scope="session")
def per_device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the steps."""
    folder = tmp_path_factory.mktemp("per-device")
    subprocess.run([sys.executable, HERE / "per_device_steps.py", folder], check=True, capture_output=True)
    assert {file.name for file in folder.glob("*.mlir")} == {f"{name}.{spelling}.mlir" for name in NAMES for spelling in BEGINS}
    return folder


# Convolutions and branches are no matter of the spelling.
@pytest.mark.parametrize(
    ("name", "spelling"), [(name, "sdy") for name in NAMES] + [(name, "mhlo") for name in ("derived", "gathered", "exchanged", "along_one")]
)
def test_numbers(per_device: Path, tmp_path: Path, name: str, spelling: str) -> None:
    """One device and four ranks compute what JAX does on four devices."""
    step, inputs = per_device / f"{name}.{spelling}.mlir", per_device / f"{name}.inputs"
    expected = load_file(per_device / f"{name}.expected")
    assert BEGINS[spelling] in step.read_text()
    succeed("compile", step, CPU, "-o", tmp_path / "whole.tenon")
    expect_equal(results(tmp_path / "whole.tenon", inputs), expected)
    succeed("compile", step, MESH, "--verify-forms", CPU, "-o", tmp_path / "parts.tenon")
    expect_equal(results(tmp_path / "parts.tenon", inputs, "--ranks=4"), expected)
    succeed("verify", tmp_path / "parts.tenon")
