"""Completion in bash, zsh and fish, manual pages, examples and suggestions: all are made from the tables of options."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from compare import ROOT
from conftest import BUILD, refused, succeed

COMPLETION = ROOT / "tools" / "tenon" / "completion"
VERBS = [line.split("\t")[0] for line in succeed("--list-verbs").splitlines()]

# `tenon` and the last word as they are typed, and all that may follow.
LINES = [
    ("tenon comp", ["compile"]),
    ("tenon compile --prec", ["--precision=", "--precision-policy="]),
    ("tenon compile --precision=bf16-", ["bf16-state"]),
    ("tenon compile --precision bf", ["bf16", "bf16-state"]),
    ("tenon compile --compile-to=pl", ["plan"]),
    ("tenon run --no-such", []),
    ("tenon run --prefa", ["--prefault"]),
    ("tenon inspect LICEN", ["LICENSE"]),
    ("tenon run --state LICEN", ["LICENSE"]),
    ("tenon inspect --kernels LICEN", ["LICENSE"]),
    ("tenon inspect --precision=bf", ["bf16"]),
]


def options(verb: str) -> dict[str, list[str]]:
    """Name, `=` or nothing, words and help of each option of a verb."""
    lines = [line.split("\t") for line in succeed(verb, "--list-options").splitlines()]
    return {name: rest for name, *rest in lines}


def shell(*command: str) -> str:
    """What a shell prints that finds this build's tool."""
    path = f"{BUILD / 'bin'}:{os.environ['PATH']}"
    process = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PATH": path}, timeout=60)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_bash(line: str, expected: list[str]) -> None:
    """Bash hands words over that it has cut at '='."""
    words = [word for part in line.split(" ") for word in re.split("(=)", part) if word]
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon; printf "%s\\n" "${COMPREPLY[@]}"'
    assert shell("bash", "-c", script, str(COMPLETION / "tenon"), *words).split() == expected


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_fish(line: str, expected: list[str]) -> None:
    """Fish repeats the option before a value that is joined to it."""
    found = shell("fish", "--no-config", "-c", f"source {COMPLETION / 'tenon.fish'}; complete -C {shlex.quote(line)}")
    option = line.rpartition(" ")[2].rpartition("=")[0]
    prefix = f"{option}=" if option else ""
    assert sorted(one.split("\t")[0] for one in found.splitlines()) == sorted(prefix + word for word in expected)


ZSH = """
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=(\\"$1\\" \\$fpath); autoload -Uz compinit; compinit -u -D; unsetopt auto_menu auto_list list_beep"
zpty -w z 'show() { print -r -- "<$BUFFER>"; BUFFER=; }; zle -N show; bindkey "^X" show; print REA""DY'
zpty -r -m z ready '*READY*'
zpty -w -n z "$2"$'\\t\\x18'
zpty -r -m z answer '*<tenon*>*'
print -r -- "$answer"
"""


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_zsh(line: str, expected: list[str]) -> None:
    """A tab writes what all that may follow have in common."""
    answer = re.findall(r"<(tenon[^>]*)>", shell("zsh", "-f", "-c", ZSH, "zsh", str(COMPLETION), line))[-1]
    typed = line[: max(line.rfind(" "), line.rfind("=")) + 1]
    common = os.path.commonprefix(expected)
    assert answer.rstrip() == (typed + common if expected else line).rstrip()


@pytest.mark.parametrize("verb", VERBS)
def test_list_is_that_of_the_help(verb: str) -> None:
    """What shells are told is what people read, and every option that help names a few words of offers them."""
    text = succeed(verb, "--help")
    shown = re.findall(r"^  (--[a-z0-9-]+)(=?)(\S*) +(\S.*)$", text, re.MULTILINE)
    assert [(name, takes, said) for name, takes, _, said in shown] == [
        (name, takes, said) for name, (takes, _, said) in options(verb).items()
    ]
    for name, _, meaning, _ in shown:
        if "|" in meaning and meaning.islower():
            assert options(verb)[name][1].split() == meaning.split("|")


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_examples(verb: str) -> None:
    """Every help ends with examples, whose verbs and options exist."""
    examples = succeed(*verb.split(), "--help").partition("\nexamples:\n")[2].splitlines()
    assert examples
    for example in examples:
        tool, used, *words = shlex.split(example)
        assert tool == "tenon" and used == (verb or used)
        known = options(used)
        for word in words:
            name, _, value = word.partition("=")
            if name.startswith("--"):
                takes, values, _ = known[name]
                assert bool(value) == bool(takes) or value in values.split(), example


@pytest.mark.parametrize("verb", VERBS)
def test_nearest_option(verb: str) -> None:
    """An option with one letter less, one too many or two swapped is recognized; one that resembles none is not."""
    if verb == "verify":
        assert "; did you mean '--help'?" in refused(2, verb, "a.tenon", "--hepl")
        return
    names = list(options(verb))
    for name in names:
        for wrong in (name[:-1], name[:4] + "x" + name[4:], name[:3] + name[4] + name[3] + name[5:]):
            if wrong not in names:
                said = refused(2, verb, "a.mlir", f"{wrong}=1")
                meant = re.search(r"; did you mean '(--[a-z0-9-]+)'\?", said)
                assert meant and meant[1] in names, (wrong, said)
    assert "did you mean" not in refused(2, verb, "a.mlir", "--xylophones")


def test_nearest_verb() -> None:
    """A verb is suggested where one is near."""
    for verb in VERBS:
        assert f"unknown verb '{verb}x'; did you mean '{verb}'?" in refused(2, verb + "x")
    assert "did you mean" not in refused(2, "xylophone")


@pytest.mark.parametrize("verb", VERBS)
def test_nearest_word(verb: str) -> None:
    """A word of an enumeration is suggested where the one given is near it."""
    for name, (takes, words, _) in options(verb).items():
        word = max(words.split(), key=len, default="")
        # `--target` takes lists too, and only lists the usual ones.
        if takes and len(word) > 3:
            said = refused(2, verb, "a.mlir", f"{name}={word}x")
            assert f"; did you mean '{word}'?" in said, said


def test_manual_pages(tmp_path: Path) -> None:
    """CMake writes a page for the tool and each verb; groff reads all without a warning and shows every option."""
    succeeded = subprocess.run(
        ["cmake", f"-DTOOL={BUILD / 'bin' / 'tenon'}", f"-DFOLDER={tmp_path}", "-P", ROOT / "cmake" / "WriteManualPages.cmake"], check=False
    )
    assert succeeded.returncode == 0
    pages = {path.name: path for path in tmp_path.iterdir()}
    assert sorted(pages) == sorted(["tenon.1", *(f"tenon-{verb}.1" for verb in VERBS)])
    for name, page in pages.items():
        shown = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", page], check=True, capture_output=True, text=True)
        assert not shown.stderr
        assert "EXAMPLES" in shown.stdout and "NAME" in shown.stdout
        if name != "tenon.1":
            for option in options(name.removeprefix("tenon-").removesuffix(".1")):
                assert re.search(rf"^ +{option}\b", shown.stdout, re.MULTILINE), (name, option)
