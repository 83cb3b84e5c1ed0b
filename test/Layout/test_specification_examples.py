"""Every example in the StableHLO specification has a test of the same behaviour.

`stablehlo-examples.txt` lists the examples as `OPERATION_eNUMBER`. A test is a function of `test/Reference` that has the
label as its name or in the comment right above it, holds the operation, and is run by the file's `@main`, which the
tool checks expectations of.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "test" / "Reference"
LIST = Path(__file__).parent / "stablehlo-examples.txt"

LABEL = re.compile(r"\b([a-z][a-z0-9_]*)_e([0-9]+)\b")
FUNCTION = re.compile(r"((?:^//.*\n)*)^func\.func (?:private |public )?@(\w+)\(", re.MULTILINE)


def listed() -> set[str]:
    """The labels of all examples."""
    labels = (line.partition("#")[0].strip() for line in LIST.read_text().splitlines())
    return {label for label in labels if label}


def labels() -> set[str]:
    """The labels of functions that are run."""
    found: set[str] = set()
    for path in sorted(TESTS.rglob("*.mlir")):
        text = path.read_text()
        if not text.startswith("// RUN: tenon run ") or "check.expect_" not in text:
            continue
        functions = list(FUNCTION.finditer(text))
        for number, function in enumerate(functions):
            end = functions[number + 1].start() if number + 1 < len(functions) else len(text)
            comment, name = function.groups()
            body = text[function.end() : end]
            is_run = len(re.findall(rf"@{name}\b|\"{name}\"", text)) > 1
            for label in LABEL.finditer(comment + name):
                operation = rf"\bstablehlo\.{label.group(1)}\b"
                assert re.search(operation, body), f"{path.name}: @{name} holds no {label.group(1)}"
                assert is_run, f"{path.name}: nothing runs @{name}"
                found.add(label.group(0))
    return found


def test_every_example_has_a_test() -> None:
    """No example is forgotten, and no label stands for nothing."""
    examples, found = listed(), labels()
    assert len(examples) > 100
    assert sorted(examples - found) == [], "in the specification, but not tested"
    assert sorted(found - examples) == [], "tested, but not in the specification"
