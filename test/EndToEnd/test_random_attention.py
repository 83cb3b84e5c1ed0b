"""Random attention as JAX exports it, compiled and interpreted."""

from __future__ import annotations

from pathlib import Path

import pytest
import random_attention
from conftest import BUILD

PACK = 8


@pytest.mark.parametrize("first", range(0, 40, PACK))
def test_random_attention(first: int, tmp_path: Path) -> None:
    """The first fragments; random_attention.py goes on."""
    assert not random_attention.Runner(BUILD, tmp_path).differing(first, PACK)
