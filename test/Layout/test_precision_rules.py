"""Every operation that a step may hold says what number formats it takes and gives."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include/tenon"


def operations() -> set[str]:
    """The operations of stablehlo, and those of chlo that step form keeps."""
    found = set()
    for path in (INCLUDE / "Dialect/StableHLO").glob("*.td"):
        found |= {f"stablehlo.{name}" for name in re.findall(r"^def StableHLO_\w+Op\b\s*:\s*\w+<\"([^\"]+)\"", path.read_text(), re.M)}
    verifier = (ROOT / "lib/Import/VerifyStepForm.cpp").read_text()
    kept = re.search(r"keptOperations\[\] = \{(.*?)\};", verifier, re.S)
    assert kept
    return found | set(re.findall(r'"([\w.]+)"', kept[1]))


def rules() -> list[str]:
    """The operations that PrecisionRules.td has a line for, in its order."""
    return re.findall(r'^def : Rule<"([^"]+)", \w+, \w+>;$', (INCLUDE / "Precision/PrecisionRules.td").read_text(), re.M)


def test_every_operation_has_one_line() -> None:
    """The two lists are the same, and nothing has two lines."""
    known, lines = operations(), rules()
    assert len(known) > 100
    assert sorted(lines) == sorted(known), (set(lines) ^ known, [name for name in lines if lines.count(name) > 1])
