"""Runs the tool as several processes of MPI on this machine."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

from conftest import BUILD, SECONDS, Outcome

# More ranks than processors, which wait for each other in memory that they share.
LAUNCHER = (
    "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
    "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none",
)  # fmt: skip
TOOL = str(BUILD / "bin" / "tenon")


def command(ranks: int, *arguments: object) -> list[str]:
    """`tenon run` with so many ranks, each line of which is marked with its rank."""
    return [*LAUNCHER, "--tag-output", "-n", str(ranks), TOOL, "run", *map(str, arguments)]


def run(ranks: int, *arguments: object) -> Outcome:
    """Runs steps to their end."""
    return run_all(command(ranks, *arguments))


def run_all(whole: list[str]) -> Outcome:
    """Runs a launcher to its end, which must come."""
    process = subprocess.run(whole, check=False, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    return Outcome(process.returncode, process.stdout.decode(errors="replace"), process.stderr.decode(errors="replace"))


def succeed(ranks: int, *arguments: object) -> str:
    """As run(), which must succeed; returns what was said on standard output."""
    outcome = run(ranks, *arguments)
    assert outcome.code == 0, (arguments, outcome)
    return outcome.out


def refused(ranks: int, *arguments: object) -> str:
    """As run(), which must end with an error; returns what was said of it."""
    outcome = run(ranks, *arguments)
    assert outcome.code == 1, (arguments, outcome)
    return outcome.errors


def said_by(rank: int, text: str) -> str:
    """What one rank said, of what all said."""
    return "".join(re.findall(rf"^\[\d+,{rank}\]<(?:stdout|stderr)>:(.*\n)", text, re.MULTILINE))


def wait_until_gone(processes: list[int]) -> None:
    """Waits until processes have ended, which they must do soon; whether somebody asks for their exit code does not matter."""

    def is_running(process: int) -> bool:
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    until = time.monotonic() + 10
    while any(map(is_running, processes)):
        assert time.monotonic() < until, processes
        time.sleep(0.01)


class Running:
    """Ranks that run steps, until something happens to one of them."""

    def __init__(self, ranks: int, *arguments: object) -> None:
        self.ranks = ranks
        self.process = subprocess.Popen(
            command(ranks, *arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def processes(self) -> list[int]:
        """The processes of the ranks that are there, by rank."""
        found = {}
        for child in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            for number in child.read_text().split():
                surroundings = Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
                found |= {int(value[21:]): int(number) for value in surroundings if value.startswith(b"OMPI_COMM_WORLD_RANK=")}
        return [found[rank] for rank in sorted(found)]

    def wait_for(self, file: Path, lines: int) -> list[int]:
        """Waits until a file has so many lines; the processes of the ranks."""
        until = time.monotonic() + SECONDS
        while not file.exists() or file.read_text().count("\n") < lines:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until
            time.sleep(0.005)
        found = self.processes()
        assert len(found) == self.ranks
        return found

    def end(self) -> Outcome:
        """Waits for the end, which must come soon."""
        try:
            out, _ = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            raise
        return Outcome(self.process.returncode, out, out)
