"""Commands that a page of the documentation shows, with what they print; test/Wheel runs them without the packages of tests."""

from __future__ import annotations

import re
from pathlib import Path

# Stands between the outputs of two commands of a script.
MARK = "\x1e"


def write_programs(page: str, folder: Path) -> None:
    """The Python programs that the page asks to save under a name."""
    programs = re.findall(r"\bSave this as `(\w+\.py)`.*?^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert programs
    for name, program in programs:
        (folder / name).write_text(program)


def sessions(page: str) -> list[tuple[str, str]]:
    """Commands with the output that stands below each of them, in order."""
    blocks = re.findall(r"^```\n(\$ .*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [tuple(part.split("\n", 1)) for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]


def expected_pattern(output: str) -> str:
    """A pattern for a command's output: a line `...` is any number of lines, seconds and sizes of files are any number."""
    pattern = re.escape(output).replace(re.escape("...\n"), "(?:.*\n)*")
    return re.sub(r"\d+\\\.\d+\\ (s|KB)\b", r"\\d+\\.\\d+ \1", pattern)


def script(shown: list[tuple[str, str]]) -> str:
    """All commands as one script for bash, which ends at the first that fails."""
    return "set -e\n" + "".join(f"{command}\nprintf '\\x1e'\n" for command, _ in shown)


def check_output(shown: list[tuple[str, str]], printed: str) -> None:
    """Fails with the first command whose output is not that of the page."""
    outputs = printed.split(MARK)
    for (command, expected), output in zip(shown, outputs[:-1], strict=True):
        assert re.fullmatch(expected_pattern(expected), output), (command, output, expected)
    assert outputs[-1] == ""
