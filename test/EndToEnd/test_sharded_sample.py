"""The sample of the models' steps on ranks that every change has to pass, and what the command for all of them makes of outcomes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import BUILD, Steps

CONFORMANCE = Path(__file__).resolve().parents[1] / "Conformance"
sys.path.insert(0, str(CONFORMANCE))

import sharded_models
from models_in_float64 import Record

# Those that take parts of a second: batches that no mesh cuts evenly, and layouts that nobody would write.
SAMPLE = [
    ("14_while_fori", "11", "data=8", "batch"),
    ("14_while_fori", "11", "data=2,model=4", "random 2"),
    ("18_unread_leaves", "11", "data=4", "chosen"),
    ("18_unread_leaves", "11", "data=2,model=4", "random 1"),
    ("18_unread_leaves", "11", "data=8", "fully sharded"),
]


@pytest.mark.parametrize("run", SAMPLE, ids=" ".join)
def test_run(steps: Steps, run: tuple[str, str, str, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Three steps are as close to float64 as those of one rank, and exchange what is expected."""
    name, batch, mesh, plan = run
    folder = tmp_path_factory.getbasetemp() / "sharded"
    steps.with_batch(int(batch), name).give(name, folder / f"{name}.{batch}")
    outcome = sharded_models.judge(sharded_models.Model(name, batch, folder, BUILD), mesh, plan, commit="")
    assert outcome.passes, outcome
    assert plan == "chosen" or sum(sharded_models.expected_collectives()[" ".join(run)].values()) > 0


def test_record(tmp_path: Path) -> None:
    """The latest outcome of a key counts, and the table has what is open."""
    record = Record(tmp_path / "outcomes.jsonl", sharded_models.Outcome)
    key = ("01_mlp", "8", "data=2", "batch")
    record.add(sharded_models.Outcome(*key, commit="a", median=1.0, largest=9.0))
    record.add(sharded_models.Outcome("01_mlp", "8", "data=2", "random 1", commit="a", why="refused"))
    assert not any(outcome.passes for outcome in record.known.values())
    record.add(sharded_models.Outcome(*key, commit="b", median=1.0, largest=8.0, tensor="w", collectives={"all_reduce": 7}))
    near = sharded_models.Outcome("01_mlp", "8", "data=4", "batch", commit="b", median=1.0, largest=7.0, nearby_largest=1.0)
    far = sharded_models.Outcome(
        "01_mlp", "8", "data=8", "batch", commit="b", median=2.5, largest=7.0, nearby_median=2.1, nearby_largest=7.0
    )
    assert near.passes and not near.is_near
    near.largest = 8.5
    assert not near.passes and near.is_near and not far.passes and not far.is_near
    record.add(near)
    record.add(far)
    record.rewrite()
    known = Record(tmp_path / "outcomes.jsonl", sharded_models.Outcome).known
    assert known == record.known and known[key].passes
    lines = sharded_models.table(list(known.values())).splitlines()
    assert lines[2].startswith("| `01_mlp` |  | 1 + 1 of 3 |  |  |  | 0 of 1 | 66 | 2.50 | 8.50 | data=4, batch, 8 rows: `` |")
    assert "1 of 4 runs pass and 1 are near" in lines[-1]
