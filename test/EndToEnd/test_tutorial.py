"""Pages show what their commands print: they are run here, in order, and compared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compare import ROOT
from conftest import BUILD
from shown_commands import check_output, script, sessions, write_programs


def run(page: str, folder: Path) -> None:
    """Every command succeeds, and its output is the page's but for seconds and sizes of files."""
    write_programs(page, folder)
    shown = sessions(page)
    assert len(shown) > 5
    path = f"{BUILD / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-c", script(shown)], check=False, capture_output=True, text=True, cwd=folder, env={**os.environ, "PATH": path}
    )
    assert process.returncode == 0, (process.stdout, process.stderr)
    check_output(shown, process.stdout)


def test_commands_print_what_the_tutorial_shows(tmp_path: Path) -> None:
    """docs/Tutorial.md."""
    run((ROOT / "docs" / "Tutorial.md").read_text(), tmp_path)


def test_commands_print_what_the_first_run_shows(tmp_path: Path) -> None:
    """docs/FirstRun.md with this build instead of wheels; test/Wheel/bare_root.py runs all of it where nothing is installed."""
    begin, heading, rest = (ROOT / "docs" / "FirstRun.md").read_text().partition("\n## Export\n")
    assert "pip install" in begin
    run(heading + rest, tmp_path)


@pytest.mark.parametrize("wrong", ["printed\n", "", "shown\nmore\n"])
def test_other_output_is_found(wrong: str) -> None:
    """A command that prints something else than the page, or more, is found; one that fails ends the script."""
    shown = [("echo first", "first\n"), ("true", wrong), ("false", "")]
    process = subprocess.run(["bash", "-c", script([*shown[:1], ("echo shown", "")])], check=True, capture_output=True, text=True)
    check_output([shown[0], ("echo shown", "shown\n")], process.stdout)
    with pytest.raises(AssertionError):
        check_output([shown[0], ("echo shown", wrong)], process.stdout)
    assert subprocess.run(["bash", "-c", script(shown)], check=False, capture_output=True).returncode == 1
