"""Steps for several ranks, in each precision, within their least memory: true plans, and the bits of runs with all the memory."""

from __future__ import annotations

import re
from pathlib import Path

import compare
import pytest
from conftest import Steps, refused, succeed
from safetensors.numpy import save_file
from test_ranks import CPU, train

RANKS = {"model=2": 2, "data=2,model=2": 4}
# Plenty: nothing is computed again, and layouts are those of the smaller budget.
PLENTY = 1 << 40
# Conditionals that skip an update, and state in 16 bits.
CASES = [
    ("13_mlp_f16_loss_scale", "bf16-state", "data=2,model=2"),
    ("13_mlp_f16_loss_scale", "f32", "model=2"),
    ("01_mlp", "bf16-state", "data=2,model=2"),
]


@pytest.mark.parametrize(("model", "precision", "mesh"), CASES)
def test_the_smallest_budget(steps: Steps, tmp_path: Path, model: str, precision: str, mesh: str) -> None:
    """A file that is planned within it is true, and that of the text after `shard`; its ranks compute what ranks with more memory do."""
    options = (f"--mesh={mesh}", f"--precision={precision}", CPU)
    step = steps[model]
    refusal = refused(3, "compile", step.located, *options, "--memory-budget=1KiB", "-o", tmp_path / "none.tenon")
    least = re.search(r"smallest budget that was planned is (\d+) bytes", refusal)
    assert least, refusal
    tight, parts, resumed, roomy = (tmp_path / name for name in ("tight.tenon", "parts.mlir", "resumed.tenon", "roomy.tenon"))
    budget = f"--memory-budget={least[1]}"
    succeed("compile", step.located, *options, budget, "-o", tight)
    assert ", the budget" in succeed("verify", tight)
    succeed("compile", step.located, *options, budget, "--compile-to=shard", "-o", parts)
    succeed("compile", parts, "--compile-from=shard", "-o", resumed)
    assert tight.read_bytes() == resumed.read_bytes()
    succeed("compile", parts, "--compile-from=shard", f"--memory-budget={PLENTY}", "-o", roomy)
    inputs = tmp_path / "inputs.safetensors"
    save_file(compare.start_values(step.info), inputs)
    ran = [train(file, f"--ranks={RANKS[mesh]}", f"--inputs={inputs}", "--steps=2")[0] for file in (tight, roomy)]
    assert [tensor.tobytes() for tensor in ran[0]] == [tensor.tobytes() for tensor in ran[1]]
