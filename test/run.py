#!/usr/bin/env python3
"""Runs every test suite and prints one line 'N passed, N failed' at the end.

In order of speed: unit tests, random solver problems, lit tests, readers with damaged input, Python tests, sanitized
unit tests. Each suite's output is shown as it comes; its numbers are read from its own summary.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "Fuzz"))

import large_inputs

ROOT = Path(__file__).resolve().parent.parent
LIT = Path("/usr/lib/llvm-22/bin/lit")

# Random problems per solver against brute force, and the most buffers, operations or nodes of one. The seeds are
# 0 to PROBLEM_SEEDS - 1; SolverFuzz resumes at any other.
PROBLEM_SEEDS = 2000
PROBLEM_SIZES = {"packing": 7, "ordering": 7, "recompute": 7, "variants": 7}


@dataclass
class Result:
    """What one suite reported."""

    name: str
    passed: int
    failed: int
    seconds: float


def run(name: str, command: list[str], environment: dict[str, str] | None = None) -> tuple[str, int, float]:
    """Runs a command, echoing its output, and returns the output, exit code and seconds."""
    print(f"\n== {name}: {' '.join(command)}", flush=True)
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout
    lines = []
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line)
    return "".join(lines), process.wait(), time.monotonic() - start


def count(pattern: str, text: str) -> int:
    """The sum of the numbers that a pattern's group matches."""
    return sum(int(number) for number in re.findall(pattern, text, re.MULTILINE))


def run_unit_tests(build: Path, label: str) -> list[Result]:
    """Runs every GoogleTest program of a build."""
    results = []
    for program in sorted(build.glob("bin/Tenon*Tests")):
        output, code, seconds = run(f"{label} {program.name}", [str(program), "--gtest_brief=1"])
        passed = count(r"^\[  PASSED  \] (\d+) test", output)
        failed = count(r"^ ?(\d+) FAILED TESTS?$", output)
        if code != 0 and failed == 0:
            failed = 1  # crashed before it could say so
        results.append(Result(f"{label} {program.name}", passed, failed, seconds))
    return results


def run_random_problems(build: Path) -> list[Result]:
    """Compares the solvers with brute force; one test per solver."""
    results = []
    for kind, most in PROBLEM_SIZES.items():
        command = [str(build / "bin/SolverFuzz"), kind, "0", str(PROBLEM_SEEDS), str(most)]
        _, code, seconds = run(f"random {kind}", command)
        results.append(Result(f"random {kind}", int(code == 0), int(code != 0), seconds))
    return results


def run_lit(build: Path) -> Result:
    """Runs the lit tests."""
    output, code, seconds = run("lit", [sys.executable, str(LIT), "-sv", str(build / "test")])
    passed = count(r"^\s*Passed\s*:\s*(\d+)", output) + count(r"^\s*Expectedly Failed\s*:\s*(\d+)", output)
    failed = count(r"^\s*(?:Failed|Unresolved|Timed Out|Unexpectedly Passed)\s*:\s*(\d+)", output)
    if code != 0 and failed == 0:
        failed = 1
    return Result("lit", passed, failed, seconds)


# How often each reader is given other bytes.
FUZZ_RUNS = {"StableHLO": 3000}
FUZZ_RUNS_OF_OTHERS = 20000
FUZZ_RUNS_OF_LARGE_INPUTS = 40


def run_readers(build: Path, label: str) -> list[Result]:
    """Runs the programs of test/Fuzz, always the same inputs: small ones, and some of 1 MiB."""
    results = []
    for program in sorted(build.glob("bin/TenonFuzz*")):
        reader = program.name.removeprefix("TenonFuzz")
        for large in (False, True):
            name = f"{label} {program.name}{' large' if large else ''}"
            with tempfile.TemporaryDirectory() as found, tempfile.TemporaryDirectory() as made:
                runs = FUZZ_RUNS_OF_LARGE_INPUTS if large else FUZZ_RUNS.get(reader, FUZZ_RUNS_OF_OTHERS)
                limits = ["-seed=1", f"-runs={runs}", "-timeout=5", "-rss_limit_mb=1024", "-verbosity=0", "-print_funcs=0"]
                limits += [f"-max_len={1 << 20 if large else 65536}", "-len_control=0" if large else "-len_control=100"]
                if large:
                    large_inputs.write_inputs(reader, Path(made))
                corpus = made if large else str(ROOT / "test/Fuzz/Corpus" / reader)
                _, code, seconds = run(name, [str(program), *limits, f"-artifact_prefix={found}/", found, corpus])
            results.append(Result(name, int(code == 0), int(code != 0), seconds))
    return results


def run_pytest(build: Path, folder: str) -> Result:
    """Runs the Python tests of one folder."""
    output, code, seconds = run(
        f"pytest {folder}",
        [sys.executable, "-m", "pytest", "-q", "--durations=5", f"test/{folder}"],
        {"TENON_BUILD": str(build)},
    )
    summary = output.strip().splitlines()[-1] if output.strip() else ""
    passed = count(r"(\d+) passed", summary)
    failed = count(r"(\d+) failed", summary) + count(r"(\d+) errors?", summary)
    if code not in (0, 5) and failed == 0:
        failed = 1
    return Result(f"pytest {folder}", passed, failed, seconds)


def main() -> int:
    """Runs the suites that exist and reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build folder")
    parser.add_argument("--sanitized", type=Path, help="build folder of the sanitized unit tests")
    arguments = parser.parse_args()
    build = arguments.build.resolve()

    results = run_unit_tests(build, "unit")
    results += run_random_problems(build)
    results.append(run_lit(build))
    results += run_readers(build, "fuzz")
    for folder in ("Layout", "Python", "Conformance", "EndToEnd"):
        if any((ROOT / "test" / folder).glob("test_*.py")):
            results.append(run_pytest(build, folder))
    if arguments.sanitized:
        results += run_unit_tests(arguments.sanitized.resolve(), "sanitized")
        results += run_readers(arguments.sanitized.resolve(), "sanitized")

    print("\n== summary")
    for result in results:
        print(f"{result.name:40} {result.passed:5} passed {result.failed:4} failed {result.seconds:8.1f} s")
    passed = sum(result.passed for result in results)
    failed = sum(result.failed for result in results)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
