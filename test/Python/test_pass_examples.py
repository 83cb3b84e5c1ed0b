"""The examples in the descriptions of passes: each is run through its pass.

An example is a code block of Passes.td with either

    // before[: remark]       a module
    // after[: remark]        what the pass makes of it, up to the names of values

or

    // refused: MESSAGE       a module that the pass rejects with this message

A pass that needs options has them in a line before, `// options: cpu=x86-64-v3`; a file that these name follows as `// file: NAME`.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TENON_BUILD", REPOSITORY / "build" / "dev"))


@dataclass
class Pass:
    """A pass and the code blocks of its description."""

    name: str
    flag: str
    examples: list[str]


def passes() -> list[Pass]:
    """Every pass of every stage."""
    found = []
    for path in sorted((REPOSITORY / "include/tenon").rglob("Passes.td")):
        for definition in re.split(r"^(?=def )", path.read_text(), flags=re.MULTILINE)[1:]:
            name, flag = re.match(r'def (\w+)Pass\s*:\s*Pass<\s*"([^"]+)"', definition).groups()
            found.append(Pass(name, flag, re.findall(r"^ *```mlir\n(.*?)^ *```$", definition, re.MULTILINE | re.DOTALL)))
    return found


def tenon_opt(text: str, *flags: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs tenon-opt on a module, in a folder."""
    command = [str(BUILD / "bin/tenon-opt"), *flags, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=folder)


def printed(text: str, *flags: str) -> str:
    """The module as tenon-opt writes it, which gives values their own names."""
    process = tenon_opt(text, *flags)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_every_pass_has_an_example() -> None:
    assert len(passes()) > 15
    assert not [each.name for each in passes() if not each.examples]


@pytest.mark.parametrize("example", [pytest.param((p.flag, e), id=p.name) for p in passes() for e in p.examples])
def test_example(example: tuple[str, str], tmp_path: Path) -> None:
    flag, text = example
    if options := re.match(r"^ *// options: (.*)\n", text):
        flag, text = f"{flag}={options[1]}", text[options.end() :]
    if file := re.match(r"^ *// file: ([^\n]*)\n(.*?)(?=^ *// (?:before|refused))", text, re.S | re.M):
        (tmp_path / file[1]).write_text(file[2])
        text = text[file.end() :]
    if refused := re.match(r"^ *// refused: (.*)\n", text):
        process = tenon_opt(text, f"--{flag}", folder=tmp_path)
        assert process.returncode != 0
        assert refused[1] in process.stderr
        return
    before, after = re.fullmatch(r" *// before(?:: [^\n]*)?\n(.*?)^ *// after(?:: [^\n]*)?\n(.*)", text, re.S | re.M).groups()
    assert printed(before, f"--{flag}") == printed(after)
    assert printed(before) != printed(after), "the pass does nothing"
