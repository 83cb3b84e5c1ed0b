"""Every operation that a step may hold says what number formats it takes and gives."""

from __future__ import annotations

import re

from step_operations import INCLUDE, operations


def rules() -> list[str]:
    """The operations that PrecisionRules.td has a line for, in its order."""
    return re.findall(r'^def : Rule<"([^"]+)", \w+, \w+>;$', (INCLUDE / "Precision/PrecisionRules.td").read_text(), re.M)


def test_every_operation_has_one_line() -> None:
    """The two lists are the same, and nothing has two lines."""
    known, lines = operations(), rules()
    assert len(known) > 100
    assert sorted(lines) == sorted(known), (set(lines) ^ known, [name for name in lines if lines.count(name) > 1])
