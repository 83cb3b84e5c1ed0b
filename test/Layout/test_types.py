"""The types that the Python package declares, which `py.typed` offers to other programs, are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def mypy(*files: str | Path) -> str:
    """What the type checker says of files of the package or of programs that use it."""
    command = [sys.executable, "-m", "mypy", f"--cache-dir={ROOT / 'build' / 'mypy'}", *files]
    said = subprocess.run(command, cwd=ROOT / "python", check=False, capture_output=True, text=True)
    return said.stdout + said.stderr


def test_the_package_is_typed() -> None:
    """Every module, and the marker is part of the wheel."""
    assert (ROOT / "python/tenon/py.typed").is_file()
    assert 'package-data = {tenon = ["py.typed"]}' in (ROOT / "python/pyproject.toml").read_text()
    assert "Success: no issues found" in mypy("tenon")


def test_a_wrong_use_is_found(tmp_path: Path) -> None:
    """A program that uses the package is held against its types."""
    program = tmp_path / "program.py"
    program.write_text('import tenon\n\ntenon.compile_file("step.mlir", "step.tenon", compile_threads="two")\n')
    assert '"compile_threads" to "compile_file" has incompatible type "str"; expected "int"' in mypy(program)
