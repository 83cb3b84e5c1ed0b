"""docs/Reference is what the descriptions in the .td files say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_pages_are_up_to_date() -> None:
    """Nothing would be written anew."""
    command = [sys.executable, ROOT / "tools/generate_reference.py", "--check"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


def test_every_definition_has_its_place() -> None:
    """Every pass and every dialect stands on a page."""
    pages = {path.name: path.read_text() for path in (ROOT / "docs/Reference").glob("*.md")}
    definitions = [path.read_text() for path in (ROOT / "include/tenon").rglob("*.td")]
    flags = [flag for text in definitions for flag in re.findall(r': Pass<\s*"([^"]+)"', text)]
    assert flags
    assert not [flag for flag in flags if f"### `--{flag}`" not in pages["Passes.md"]]
    dialects = [name for text in definitions for name in re.findall(r": Dialect \{.*?let name = \"(\w+)\"", text, re.S)]
    assert dialects
    assert not [name for name in dialects if not any(f"# '{name}' Dialect" in page for page in pages.values())]
