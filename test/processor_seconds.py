"""Prints the processor seconds of tests, those of the programs that they start included, which other work on the machine does not change.

PYTHONPATH=test pytest -p processor_seconds -n 2 test/EndToEnd
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Generator

import pytest

LARGEST = 25
START = pytest.StashKey[float]()

by_test: Counter[str] = Counter()


def processor_seconds() -> float:
    """What this process and those that it waited for have taken."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test begins."""
    item.stash[START] = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The last report of a test holds what it took, also where another process prints it."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append(("processor seconds", processor_seconds() - item.stash[START]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collects what tests took."""
    for name, value in report.user_properties:
        if name == "processor seconds":
            by_test[report.nodeid] += value


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line per file and for the tests that took most."""
    by_file: Counter[str] = Counter()
    for test, seconds in by_test.items():
        by_file[test.split("::")[0]] += seconds
    terminalreporter.section("processor seconds")
    for name, seconds in [("all", by_file.total()), *by_file.most_common(), *by_test.most_common(LARGEST)]:
        terminalreporter.write_line(f"{seconds:8.1f}  {name}")
