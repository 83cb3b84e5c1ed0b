"""Every exported training step, at sizes a test can afford, against JAX and a float64 replay."""

from __future__ import annotations

import compare
import pytest
from conftest import BUILD, NAMES, Steps


@pytest.mark.parametrize("name", NAMES)
def test_model(models: Steps, name: str) -> None:
    """The first loss is JAX's and five steps stay as close to the exact values as JAX's."""
    result = compare.compare(BUILD, models.folder, name)
    assert result.first_error <= compare.tolerance(name), result.first_error
    assert not result.over_eight, result.over_eight
    assert len(result.over_twice) <= 0.05 * result.tensors, result.over_twice
