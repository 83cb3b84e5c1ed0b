"""docs/Tutorial.md shows what its commands print: they are run here, in order, and compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from compare import ROOT
from conftest import BUILD

TUTORIAL = (ROOT / "docs" / "Tutorial.md").read_text()


def sessions(text: str) -> list[tuple[str, str]]:
    """Commands with the output that stands below each of them, in order."""
    blocks = re.findall(r"^```\n(\$ .*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [tuple(part.split("\n", 1)) for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]


def expected_pattern(output: str) -> str:
    """A pattern for a command's output: a line `...` is any number of lines, seconds and sizes of files are any number."""
    pattern = re.escape(output).replace(re.escape("...\n"), "(?:.*\n)*")
    return re.sub(r"\d+\\\.\d+\\ (s|KB)\b", r"\\d+\\.\\d+ \1", pattern)


def test_commands_print_what_the_tutorial_shows(tmp_path: Path) -> None:
    """Every command succeeds, and its output is the tutorial's but for seconds and sizes of files."""
    program = re.search(r"^```python\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
    assert program
    (tmp_path / "line.py").write_text(program[1])
    path = f"{BUILD / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    commands = sessions(TUTORIAL)
    assert len(commands) > 10
    for command, output in commands:
        process = subprocess.run(
            command, shell=True, check=False, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PATH": path}
        )
        assert process.returncode == 0, (command, process.stderr)
        assert re.fullmatch(expected_pattern(output), process.stdout), (command, process.stdout, output)
