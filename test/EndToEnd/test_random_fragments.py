"""Random attention, recurrent layers and losses as JAX exports them, compiled and interpreted."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
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


def test_weights_of_one_key(tmp_path: Path) -> None:
    """A fragment whose queries give nearly all weight to one of two keys, so that slopes are small differences."""
    assert not random_fragments.differing(random_attention.Runner(BUILD, tmp_path), [960])


def test_exact_results_are_in_f64() -> None:
    """What results are held against is computed in f64 throughout."""
    with jax.enable_x64(True):
        for seed in filter(random_fragments.is_judged, range(60)):
            one = random_fragments.fragment(seed)
            wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in one.tensors]
            assert "f32[" not in str(jax.make_jaxpr(one.run)(*wide)), one.name
