"""Training steps exported from PyTorch by torchax train as PyTorch itself does.

The fixtures in models/pytorch are what export.py there wrote; neither it nor PyTorch is needed here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import HERE, succeed
from safetensors.numpy import load_file

FIXTURES = HERE / "models" / "pytorch"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.mlir"))


def test_fixtures() -> None:
    """What the tests below read is there."""
    assert NAMES == ["attention", "batch_norm", "embedding"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", ["compiled", "interpreted"])
def test_losses(name: str, way: str, tmp_path: Path) -> None:
    """The loss of every step is PyTorch's."""
    expected = json.loads((FIXTURES / f"{name}.json").read_text())["losses"]
    program, metrics = FIXTURES / f"{name}.mlir", tmp_path / "metrics.csv"
    assert len(expected) == 5 and expected[-1] < expected[0]
    if way == "compiled":
        program = tmp_path / f"{name}.tenon"
        succeed("compile", FIXTURES / f"{name}.mlir", "-o", program)
    inputs = FIXTURES / f"{name}.safetensors"
    succeed(
        "run", program, *([] if way == "compiled" else ["--reference"]), "--inputs", inputs, "--steps", len(expected),
        "--metrics", metrics, "--outputs", tmp_path / "outputs.safetensors",
    )  # fmt: skip
    losses = [float(line.split(",")[-1]) for line in metrics.read_text().splitlines()[1:]]
    np.testing.assert_allclose(losses, expected, rtol=2e-5)
    final, start = load_file(tmp_path / "outputs.safetensors"), load_file(inputs)
    assert all(not np.array_equal(final[f"result{i}"], start[f"arg{i}"]) for i in range(len(final) - 1))
