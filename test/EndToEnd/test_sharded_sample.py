"""The sample of the models' steps on ranks that every change has to pass, and what the command for all of them makes of outcomes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import BUILD

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
def test_run(run: tuple[str, str, str, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Three steps are as close to float64 as those of one rank, and exchange what is expected."""
    name, batch, mesh, plan = run
    folder = tmp_path_factory.getbasetemp() / "sharded"
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
    known = Record(tmp_path / "outcomes.jsonl", sharded_models.Outcome).known
    assert known == record.known and known[key].passes
    lines = sharded_models.table(list(known.values())).splitlines()
    assert lines[2].startswith("| `01_mlp` |  | 1 of 1 |  |  |  | 0 of 1 | 68 | 1.00 | 8.00 | data=2, batch, 8 rows: `w` |")
    assert "1 of 2 runs pass" in lines[-1]
