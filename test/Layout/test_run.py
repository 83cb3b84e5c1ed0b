"""test/run.py on build folders made by hand in which something is missing or wrong: it has to say so and fail."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# By its path, because test/Conformance has a program of that name too.
specification = importlib.util.spec_from_file_location("run_all_tests", ROOT / "test/run.py")
assert specification and specification.loader
run = importlib.util.module_from_spec(specification)
sys.modules[specification.name] = run
specification.loader.exec_module(run)

PASSED = "[==========] 3 tests ran.\n[  PASSED  ] 3 tests.\n"


def folder_with(folder: Path, *tests: tuple[str, str, str, int]) -> Path:
    """A build folder whose suites print a text and end with an exit code: name, kind, text and code."""
    lines = []
    for name, kind, text, code in tests:
        (folder / f"{name}.txt").write_text(text)
        lines.append(f'add_test({name} "/bin/sh" "-c" "cat {folder}/{name}.txt && exit {code}")')
        lines.append(f'set_tests_properties({name} PROPERTIES LABELS "{kind}" SKIP_RETURN_CODE 77)')
    (folder / "CTestTestfile.cmake").write_text("\n".join(lines))
    return folder


def outcome(folder: Path, *tests: tuple[str, str, str, int]) -> dict[str, tuple[int, int, str]]:
    """Passed, failed and the complaint of every suite."""
    results = run.run(folder_with(folder, *tests), {name for name, *_ in tests}, 2)
    assert len(results) == len(tests)
    return {result.suite: (result.passed, result.failed, result.complaint) for result in results}


def test_good_suites_are_counted(tmp_path: Path) -> None:
    """Every kind of suite, as its program reports today."""
    assert outcome(
        tmp_path,
        ("unit", "gtest", PASSED, 0),
        ("lit", "lit", "Testing Time: 1.00s\n\nTotal Discovered Tests: 12\n  Passed: 12 (100.00%)\n", 0),
        ("python", "pytest", "....\n== slowest 8 durations ==\n1.00s call x\n4 passed, 1 warning in 1.50s\n", 0),
        ("long", "pytest", "== 4 passed in 71.50s (0:01:11) ==\n", 0),
        ("tool", "program", "", 0),
    ) == {"unit": (3, 0, ""), "lit": (12, 0, ""), "python": (4, 0, ""), "long": (4, 0, ""), "tool": (1, 0, "")}


def test_failures_are_counted(tmp_path: Path) -> None:
    """Also of programs that end before they could say so, or that hide what failed."""
    found = outcome(
        tmp_path,
        ("unit", "gtest", "[  PASSED  ] 3 tests.\n[  FAILED  ] 2 tests, listed below:\n\n 2 FAILED TESTS\n", 1),
        ("crash", "gtest", "[ RUN      ] A.B\n", 139),
        ("late", "gtest", PASSED, 1),
        ("lit", "lit", "  Passed: 3 (75.00%)\n  Failed: 1 (25.00%)\n", 1),
        ("python", "pytest", "1 failed, 3 passed, 2 errors in 0.10s\n", 1),
        ("hidden", "pytest", "1 failed, 3 passed in 0.10s\n", 0),
        ("tool", "program", "", 3),
    )
    assert {name: numbers[:2] for name, numbers in found.items()} == {
        "unit": (3, 2), "crash": (0, 1), "late": (3, 1), "lit": (3, 1), "python": (3, 3), "hidden": (3, 1), "tool": (0, 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        ("gtest", "", 0),
        ("gtest", "[==========] 0 tests from 0 test suites ran.\n[  PASSED  ] 0 tests.\n", 0),
        ("lit", "", 0),
        ("lit", "Total Discovered Tests: 0\n", 0),
        ("pytest", "no tests ran in 0.01s\n", 5),
        ("pytest", "no tests ran in 0.01s\n", 0),
        ("pytest", "", 0),
    ],
)
def test_nothing_ran(tmp_path: Path, kind: str, text: str, code: int) -> None:
    """A suite in which no test ran has failed."""
    assert outcome(tmp_path, ("suite", kind, text, code))["suite"][:2] == (0, 1)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("gtest", "[  SKIPPED ] A.B (0 ms)\n[  PASSED  ] 2 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.B\n"),
        ("gtest", PASSED + "\n  YOU HAVE 1 DISABLED TEST\n"),
        ("lit", "  Unsupported:  1 (8.33%)\n  Passed     : 11 (91.67%)\n"),
        ("lit", "  Passed           : 11 (91.67%)\n  Expectedly Failed:  1 (8.33%)\n"),
        ("pytest", "SKIPPED [1] test/x.py:7: there is no JAX\n3 passed, 1 skipped in 0.10s\n"),
        ("pytest", "3 passed, 1 xfailed in 0.10s\n"),
        ("pytest", "3 passed, 1 deselected in 0.10s\n"),
    ],
)
def test_skips_must_be_named(tmp_path: Path, kind: str, text: str) -> None:
    """What is left out is a failure unless this machine is known not to be able to run it."""
    _, failed, complaint = outcome(tmp_path, ("suite", kind, text, 0))["suite"]
    assert failed == 1 and complaint.startswith("skipped what is not expected")


def test_named_skips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named test or suite may be skipped where the machine is one that cannot run it, and only there."""
    tests = [
        ("unit", "gtest", "[  SKIPPED ] A.B (0 ms)\n[  PASSED  ] 2 tests.\n", 0),
        ("isa", "gtest", "this processor cannot\n", 77),
    ]
    monkeypatch.setattr(run, "MAY_BE_SKIPPED", {"unit: A.*": lambda: True, "isa": lambda: True})
    assert [numbers[:2] for numbers in outcome(tmp_path, *tests).values()] == [(2, 0), (0, 0)]
    monkeypatch.setattr(run, "MAY_BE_SKIPPED", {"unit: A.*": lambda: False, "isa": lambda: False})
    assert [numbers[:2] for numbers in outcome(tmp_path, *tests).values()] == [(2, 1), (0, 1)]


def test_missing_and_unknown_suites(tmp_path: Path) -> None:
    """A suite that CTest does not know, a program that was not built, and a suite that is named nowhere."""
    folder = folder_with(tmp_path, ("new", "program", "", 0))
    with (folder / "CTestTestfile.cmake").open("a") as file:
        file.write(f'\nadd_test(unbuilt "{folder}/bin/Unbuilt")\n')
    failed = {result.suite: result.complaint for result in run.run(folder, {"unbuilt", "gone"}, 2)}
    assert failed.keys() == {"new", "unbuilt", "gone"} and all(failed.values())
    assert "does not exist" in failed["gone"] and "not named" in failed["new"]


def test_empty_build_folder(tmp_path: Path) -> None:
    """Where nothing was built, everything is missing."""
    command = [sys.executable, ROOT / "test/run.py", tmp_path]
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    assert process.returncode == 1
    assert process.stdout.splitlines()[-1] == f"0 passed, {len(run.SUITES[''])} failed"
