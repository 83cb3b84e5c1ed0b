"""The revision that results are of."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit() -> str:
    """Its short name."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent).stdout.strip()
