"""Every constraint a verifier checks has a test that violates it.

The specification numbers the constraints of an operation; the verifiers in
`lib/Dialect/StableHLO/Verify*.cpp` carry labels such as `dot_general_c14` beside
the code, and `test/Dialect/StableHLO/*-errors.mlir` names its failing cases by
them. Labels, tests and the committed list of what the specification demands must
agree.
"""

import re
from pathlib import Path

root = Path(__file__).resolve().parents[2]
verifiers = root / "lib" / "Dialect" / "StableHLO"
tests = root / "test" / "Dialect" / "StableHLO"
constraints = Path(__file__).parent / "stablehlo-constraints.txt"

label = re.compile(r"\b([a-z][a-z0-9_]*_c[0-9]+)\b")
# A failing case is a function named after its label, `_b` and so on for further
# ones; the error is expected before the next case begins.
case = re.compile(r"func\.func @([a-z][a-z0-9_]*_c[0-9]+)(?:_[a-z])?\(")


def labels_in_verifiers() -> set[str]:
    """The labels in comments of the verifiers."""
    found: set[str] = set()
    for path in sorted(verifiers.glob("Verify*.cpp")):
        for line in path.read_text().splitlines():
            comment = line.partition("//")[2]
            found |= set(label.findall(comment))
    return found


def labels_in_tests() -> set[str]:
    """The labels of cases that expect an error."""
    found: set[str] = set()
    for path in sorted(tests.glob("*-errors.mlir")):
        for part in path.read_text().split("// -----"):
            if "expected-error" in part:
                found |= set(case.findall(part))
    return found


def demanded() -> set[str]:
    """The labels of the committed list."""
    lines = constraints.read_text().splitlines()
    return {line.strip() for line in lines if line and not line.startswith("#")}


def test_every_label_is_tested() -> None:
    code, test = labels_in_verifiers(), labels_in_tests()
    assert code, "no labels found in the verifiers"
    assert sorted(code - test) == [], "checked, but no failing test"
    assert sorted(test - code) == [], "tested, but no label beside the code"


def test_every_constraint_is_labelled() -> None:
    code, specification = labels_in_verifiers(), demanded()
    assert specification, "the list of constraints is empty"
    assert sorted(specification - code) == [], "in the specification, but not checked"
    assert sorted(code - specification) == [], "checked, but not in the specification"
