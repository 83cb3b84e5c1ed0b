"""Random attention, recurrent layers and losses as JAX exports them, compiled and interpreted."""

from __future__ import annotations

from pathlib import Path

import pytest
import random_attention
import random_fragments
from conftest import BUILD

PACK = 6


@pytest.mark.parametrize("first", range(0, 12, PACK))
def test_random_fragments(first: int, tmp_path: Path) -> None:
    """The first fragments; random_fragments.py goes on."""
    seeds = [seed for seed in range(first, first + PACK) if random_fragments.is_judged(seed)]
    assert not random_fragments.differing(random_attention.Runner(BUILD, tmp_path), seeds)
