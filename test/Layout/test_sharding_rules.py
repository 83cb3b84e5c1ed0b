"""Every operation that a step may hold says how it is cut over devices."""

from __future__ import annotations

import re

from step_operations import INCLUDE, ROOT, operations


def rules() -> dict[str, str]:
    """The structure of each operation that ShardingRules.td has a line for."""
    lines = re.findall(r'^def : Rule<"([^"]+)", (\w+)>;$', (INCLUDE / "Sharding/ShardingRules.td").read_text(), re.M)
    assert len(lines) == len(dict(lines)), "an operation has two lines"
    return dict(lines)


def test_every_operation_has_one_line() -> None:
    """The two lists are the same."""
    known, lines = operations(), rules()
    assert len(known) > 100
    assert set(lines) == known, set(lines) ^ known


def test_every_structure_is_simulated() -> None:
    """The text tests hold an operation of every structure against all splits of small shapes."""
    text = "".join(path.read_text() for path in (ROOT / "test/Sharding").glob("every-*.mlir"))
    missing = set(rules().values()) - {"absent"} - {kind for name, kind in rules().items() if f"{name}" in text}
    assert not missing, missing
