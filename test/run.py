#!/usr/bin/env python3
"""Runs every test of the given build folders and prints one line 'N passed, N failed' at the end.

The tests are those that CTest knows; `ctest --test-dir build/dev` runs them too. What this adds is that nothing may be
missing: the suites of each kind of build are named here, a suite in which no test ran fails, and so does one that skipped
a test that is not named here.

    python test/run.py build/dev build/asan build/tsan
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent

# The suites of a build, by what it was sanitized with.
RUNTIME_SUITES = {"TenonRuntimeTests", "TenonCInterfaceTests", "TenonRuntimeDependencies", "TenonTrainWithoutPython"}
LIBRARY_SUITES = {f"TenonLibrariesTests.{isa}" for isa in ("avx2", "avx512", "avx512_bf16", "amx_bf16")}
UNIT_SUITES = (
    {f"Tenon{folder}Tests" for folder in ("Support", "Solver", "Format", "Target", "EmulatedCuda", "CudaDevice")}
    | LIBRARY_SUITES
    | RUNTIME_SUITES
)
COMPILER_SUITES = {
    f"Tenon{folder}Tests" for folder in ("Dialect", "Analysis", "Cost", "Reference", "Import", "Sharding", "Package", "Driver")
} | {f"TenonCodegenTests.{shard}" for shard in (1, 2)}


def readers(*names: str) -> set[str]:
    """The suites of programs that take any bytes."""
    return {f"TenonFuzz{name}{size}" for name in names for size in ("", ".large")}


SUITES = {
    "": UNIT_SUITES
    | COMPILER_SUITES
    | readers("StableHLO", "Roles")
    | {f"SolverFuzz.{solver}" for solver in ("packing", "ordering", "search", "recompute", "variants")}
    | {"TenonAllocationTest", "TenonInstall", "TenonInterface", "TenonMpiRanks", "lit", "Layout", "Python", "Conformance", "EndToEnd"},
    "address,undefined": UNIT_SUITES | readers("Numpy", "RunRecord", "Target", "Safetensors", "TenonFile"),
    "thread": {"TenonSolverTests", "TenonTargetTests"} | RUNTIME_SUITES,
}

# Tests that some machines cannot run, `SUITE` or `SUITE: TEST`, as shell patterns, and what tells that this is one.
MAY_BE_SKIPPED: dict[str, Callable[[], bool]] = {
    "TenonLibrariesTests.avx512": lambda: "avx512f" not in processor_flags(),
    "TenonLibrariesTests.avx512_bf16": lambda: "avx512_bf16" not in processor_flags(),
    "TenonLibrariesTests.amx_bf16": lambda: "amx_bf16" not in processor_flags(),
    # For AVX2 oneDNN adds up all terms of a sum in a row.
    "TenonLibrariesTests.avx2: Convolution.LongSumsKeepTheirDigits": lambda: True,
    "TenonLibrariesTests.avx2: Convolution.Winograd*": lambda: True,
    "EndToEnd: packed weights are for AMX": lambda: "amx_bf16" not in processor_flags(),
    # Neither has instructions for bf16.
    "TenonLibrariesTests.avx2: *.BrainFloat*": lambda: True,
    "TenonLibrariesTests.avx512: *.BrainFloat*": lambda: True,
    # Only AMX has tiles.
    "TenonLibrariesTests.avx*: Convolution.Tiles*": lambda: True,
    # They try denser grids of inputs for minutes, one per instruction set; --gtest_also_run_disabled_tests runs them.
    "TenonCodegenTests.*: ? DISABLED TEST*": lambda: True,
    "TenonFormatTests: AtomicFile.AFullDiskKeepsTheOldFile": lambda: not can_mount(),
    "EndToEnd: NOT TESTED: saving on a full disk needs the right to mount one*": lambda: not can_mount(),
}


@cache
def processor_flags() -> set[str]:
    """The instruction sets of this machine, in Linux' words."""
    flags = re.search(r"^flags\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    assert flags
    return set(flags[1].split())


@cache
def can_mount() -> bool:
    """Whether this process may mount a file system."""
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=False, capture_output=True).returncode == 0
        if mounted:
            subprocess.run(["umount", folder], check=True)
    return mounted


@dataclass
class Result:
    """What one suite reported."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: list[str] = field(default_factory=list)
    seconds: float = 0.0
    complaint: str = ""

    def fail(self, complaint: str) -> None:
        """Counts one failure more and says why."""
        self.failed += 1
        self.complaint = complaint


def count(pattern: str, text: str) -> int:
    """The sum of the numbers that a pattern's group matches."""
    return sum(int(number) for number in re.findall(pattern, text, re.MULTILINE))


def count_gtest(output: str, result: Result) -> None:
    """Reads what a GoogleTest program printed."""
    result.passed = count(r"^\[  PASSED  \] (\d+) tests?\.", output)
    result.failed = count(r"^ ?(\d+) FAILED TESTS?$", output)
    result.skipped = re.findall(r"^\[  SKIPPED \] ([\w/]+\.[\w/]+) \(", output, re.MULTILINE)
    result.skipped += re.findall(r"YOU HAVE (\d+ DISABLED TESTS?)", output)


def count_lit(output: str, result: Result) -> None:
    """Reads lit's summary. No text test is expected to fail or to be left out."""
    for words, number in re.findall(r"^ +([A-Z][A-Za-z ]+?) *: *(\d+) \(", output, re.MULTILINE):
        if words == "Passed":
            result.passed += int(number)
        elif words in ("Unsupported", "Excluded", "Skipped", "Expectedly Failed"):
            result.skipped += [words.lower()] * int(number)
        else:
            result.failed += int(number)


def count_pytest(output: str, result: Result) -> None:
    """Reads pytest's last line, and its list of skipped tests, which give their reasons."""
    summary = re.findall(r"^=*\s*((?:\d+ \w+(?:, )?)+) in [\d.]+s.*$", output, re.MULTILINE)
    for number, word in re.findall(r"(\d+) (\w+)", summary[-1]) if summary else ():
        if word == "passed":
            result.passed += int(number)
        elif word in ("failed", "error", "errors", "xpassed"):
            result.failed += int(number)
        elif word in ("deselected", "xfailed"):
            result.skipped += [word] * int(number)
    for number, reason in re.findall(r"^SKIPPED \[(\d+)\] [^:]+:\d+: (.*)$", output, re.MULTILINE):
        result.skipped += [reason] * int(number)


COUNTERS = {"gtest": count_gtest, "lit": count_lit, "pytest": count_pytest}


def judge(case: ElementTree.Element, kind: str) -> Result:
    """What a suite reported, from CTest's record of it. A suite in which nothing ran has failed."""
    result = Result(case.attrib["name"], seconds=float(case.attrib.get("time", 0)))
    skipped = case.find("skipped")
    if case.attrib["status"] == "notrun" and skipped is not None and "SKIP_RETURN_CODE" in skipped.attrib.get("message", ""):
        if not may_be_skipped(result.suite):
            result.fail("was skipped, which is not expected on this machine")
        result.skipped = ["all of it"]
        return result
    ok = case.attrib["status"] == "run"
    if counter := COUNTERS.get(kind):
        counter(case.findtext("system-out") or "", result)
    else:
        result.passed = int(ok)
    if not ok and not result.failed:
        result.fail(f"did not end well: {case.attrib['status']}")
    elif result.passed + result.failed == 0:
        result.fail("ran no test")
    elif unexpected := [test for test in result.skipped if not may_be_skipped(f"{result.suite}: {test}")]:
        result.fail(f"skipped what is not expected to be skipped on this machine: {', '.join(unexpected)}")
    return result


def may_be_skipped(name: str) -> bool:
    """Whether this machine cannot run a suite or a test."""
    return any(fnmatchcase(name, pattern) and excused() for pattern, excused in MAY_BE_SKIPPED.items())


def sanitizer(build: Path) -> str:
    """What a build folder was configured to be sanitized with."""
    cache_file = build / "CMakeCache.txt"
    text = cache_file.read_text() if cache_file.exists() else ""
    found = re.search(r"^TENON_SANITIZE:\w+=(.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def kinds(build: Path) -> dict[str, str]:
    """How each suite that CTest knows is counted."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    found = {}
    for test in json.loads(shown.stdout)["tests"]:
        labels = next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
        found[test["name"]] = labels[0] if labels else "program"
    return found


def run(build: Path, expected: set[str], jobs: int) -> list[Result]:
    """Runs a build folder's suites with CTest, and fails those that should exist and do not, or were not named."""
    print(f"\n== {build}", flush=True)
    known = kinds(build)
    results = []
    for suite in sorted(expected - known.keys()):
        results.append(Result(suite))
        results[-1].fail("does not exist: CTest knows no such suite")
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.xml"
        command = ["ctest", "--test-dir", build, f"-j{jobs}", "--output-on-failure", "--output-junit", record]
        command += ["--test-output-size-passed", str(1 << 26), "--test-output-size-failed", str(1 << 26)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode if known else 0
        cases = list(ElementTree.parse(record).iter("testcase")) if record.exists() else []
    for case in cases:
        results.append(judge(case, known[case.attrib["name"]]))
        for line in re.findall(r"^\d+\.\d+s (?:call|setup) .*$", case.findtext("system-out") or "", re.MULTILINE):
            print(line)
    for suite in sorted(known.keys() - {case.attrib["name"] for case in cases}):
        results.append(Result(suite))
        results[-1].fail("was not run")
    for result in results:
        if result.suite not in expected and not result.failed:
            result.fail("is not named in test/run.py, so nobody would miss it")
    if code != 0 and not any(result.failed for result in results):
        results.append(Result("ctest", failed=1, complaint=f"ended with exit code {code}"))
    return results


def main() -> int:
    """Runs what was asked for and reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", type=Path, nargs="*", default=[ROOT / "build/dev"], help="build folders (build/dev)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="suites at a time (as many as processors)")
    arguments = parser.parse_args()

    results: list[tuple[Path, Result]] = []
    for build in arguments.builds:
        expected = SUITES.get(sanitizer(build.resolve()))
        if expected is None:
            parser.error(f"{build} is sanitized with '{sanitizer(build.resolve())}', expected one of {', '.join(SUITES)}")
        results += [(build, result) for result in run(build.resolve(), expected, arguments.jobs)]

    print("\n== summary")
    for build, result in results:
        name = f"{build.name} {result.suite}"
        numbers = f"{result.passed:5} passed {result.failed:4} failed {len(result.skipped):4} skipped"
        print(f"{name:38} {numbers} {result.seconds:8.1f} s  {result.complaint}".rstrip())
        for test in sorted(set(result.skipped)):
            print(f"    skipped: {test}")
    passed = sum(result.passed for _, result in results)
    failed = sum(result.failed for _, result in results)
    print(f"{sum(len(result.skipped) for _, result in results)} skipped")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
