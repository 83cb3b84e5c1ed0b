"""The operations that a step may hold, for tests that ask a table for a line on each."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include/tenon"


def operations() -> set[str]:
    """The operations of stablehlo, and those of other dialects that step form keeps."""
    found = set()
    for path in (INCLUDE / "Dialect/StableHLO").glob("*.td"):
        found |= {f"stablehlo.{name}" for name in re.findall(r"^def StableHLO_\w+Op\b\s*:\s*\w+<\"([^\"]+)\"", path.read_text(), re.M)}
    verifier = (ROOT / "lib/Import/VerifyStepForm.cpp").read_text()
    kept = re.search(r"keptOperations\[\] = \{(.*?)\};", verifier, re.S)
    assert kept
    return found | set(re.findall(r'"([\w.]+)"', kept[1]))
