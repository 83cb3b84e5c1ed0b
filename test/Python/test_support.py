"""docs/Reference/Support.md says what the tools do, for three kinds of elements that are quickly asked about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_page_is_up_to_date() -> None:
    """Every operation's row agrees with the tools."""
    command = [sys.executable, ROOT / "tools/generate_support.py", "--check", "i32,i4,i1"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


def test_every_operation_is_named() -> None:
    """What the dialects define stands on the page."""
    pages = ROOT / "docs" / "Reference"
    page = (pages / "Support.md").read_text()
    defined = [
        line.removeprefix("### ").split(" ")[0]
        for name in ("StableHLO", "CHLO")
        for line in (pages / f"{name}.md").read_text().splitlines()
        if line.startswith(("### `stablehlo.", "### `chlo."))
    ]
    assert len(defined) > 150
    assert not [name for name in defined if name not in page]
