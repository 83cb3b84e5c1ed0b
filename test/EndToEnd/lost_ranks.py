"""Runs of four ranks to which something happens at a random moment.  python lost_ranks.py --count N --results FILE

What happens follows from the run's number: a rank is killed, or stopped (SIGKILL, SIGSTOP); the disk of the checkpoints is full; or one
rank was given another file, other steps or other settings. All ranks must end, soon and as documented: with the exit code 1, or the
launcher's; each rank that is left says which one is lost and what it waited for; nothing runs where ranks differ. What was saved before
must go on with the bits of a run to which nothing happened. FILE gets a line per run; a run that is there already is not repeated. At
last it prints the row for docs/Benchmarks/Kills.md.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import killed_runs
import mpi
import revision
from safetensors.numpy import load_file, save_file

RANKS, MESH, HEARTBEAT = 4, "data=2,model=2", 2
FAULTS = ("killed", "stopped", "full disk", "unlike")
MOST_STEPS = 1_000_000  # none of these runs comes to its end


@dataclass(frozen=True)
class Programs:
    """A step that is compiled for the ranks, and once more so that the file differs."""

    one: Path
    other: Path

    @staticmethod
    def compiled(folder: Path) -> Programs:
        """Both files, beside their data."""
        one, other = (
            killed_runs.compile_step(folder, f"--mesh={MESH}", "--cpu=x86-64-v3", *options, name=name)
            for name, options in (("one.tenon", ()), ("other.tenon", ("--no-libraries",)))
        )
        fewer = {name: value[:5] for name, value in load_file(folder / "batches.safetensors").items()}
        save_file(fewer, folder / "other.safetensors")
        return Programs(one, other)


def arguments(run: killed_runs.Run, *options: object) -> list[str]:
    """Of `tenon run`, for many steps and with frequent saves."""
    return run.command("--save-every=3", f"--heartbeat={HEARTBEAT}", *options, until=MOST_STEPS)[2:]


def what_survivors_lack(outcome: mpi.Outcome, rank: int, loss: str) -> str:
    """Whether all other ranks say what they did when they learnt of a loss; empty if they do."""
    for other in set(range(RANKS)) - {rank}:
        doing = rf"note: rank {other} ends, since {re.escape(loss)}; (it waited( in step \d+)? for |it was computing)"
        if not re.search(doing, mpi.said_by(other, outcome.out)):
            return f"rank {other} does not say '{loss}'"
    return ""


def lose_a_rank(run: killed_runs.Run, chance: random.Random, how: int) -> str:
    """A signal to a rank; what is wrong with the end of the others."""
    running = mpi.Running(RANKS, *arguments(run))
    processes = running.wait_for(run.scratch / "metrics.csv", 2)
    time.sleep(chance.uniform(0, 0.3))
    rank = chance.randrange(RANKS)
    subprocess.run(["kill", f"-{how}", str(processes[rank])], check=True)
    outcome = running.end()
    mpi.wait_until_gone(processes)
    # The launcher gives the code of the rank whose end it sees first.
    if outcome.code not in ((1, 137) if how == signal.SIGKILL else (1,)):
        return f"exit code {outcome.code}: {outcome.out}"
    stopped = f"stopped: its process said nothing for {HEARTBEAT} seconds"
    return what_survivors_lack(outcome, rank, f"rank {rank} has " + ("died" if how == signal.SIGKILL else stopped))


def fill_the_disk(run: killed_runs.Run, chance: random.Random) -> str | None:
    """A disk with room for a few checkpoints; None without the right to make one."""
    disk = run.scratch / "checkpoints"
    disk.mkdir()
    size = f"size={chance.randrange(44, 130)}k"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", disk], check=False, capture_output=True)
    if mounted.returncode != 0:
        return None
    try:
        outcome = mpi.run(RANKS, *arguments(run))
        shutil.copytree(disk, run.scratch / "kept")
    finally:
        subprocess.run(["umount", disk], check=True)
    disk.rmdir()
    (run.scratch / "kept").rename(disk)
    if outcome.code != 1:
        return f"exit code {outcome.code}: {outcome.errors}"
    if "No space left" not in mpi.said_by(0, outcome.errors):
        return f"rank 0 does not say that no space is left: {outcome.errors}"
    ended = mpi.Outcome(outcome.code, outcome.errors, "")
    return what_survivors_lack(ended, 0, "rank 0 has ended with an error of its own") or what_went_on_wrong(run)


def start_unlike(run: killed_runs.Run, chance: random.Random, other: Path) -> str:
    """One rank has something else than all others; what is wrong with the refusal."""
    rank = chance.randrange(RANKS)
    alike = arguments(run)
    unlike = {
        "file": [str(other), *alike[1:]],
        "step to end with": [*alike, f"--until={MOST_STEPS + 1}"],
        "data": [*alike, "--shuffle=4"] if run.shuffled else [text.replace("batches.safetensors", "other.safetensors") for text in alike],
    }
    what = chance.choice(list(unlike))
    contexts = [[mpi.TOOL, "run", *(unlike[what] if each == rank else alike)] for each in range(RANKS)]
    command = [*mpi.LAUNCHER, "--tag-output"]
    for each, context in enumerate(contexts):
        command += [*([":"] if each else []), "-n", "1", *context]
    outcome = mpi.run_all(command)
    # The first rank says who differs from it.
    expected = rf"rank {rank or 1} has another {what}[ (]"
    if outcome.code != 1 or not re.search(expected, outcome.errors):
        return f"exit code {outcome.code}, and nobody says '{expected}': {outcome.errors}"
    metrics = run.scratch / "metrics.csv"
    return "a step ran" if metrics.exists() and metrics.read_text().count("\n") > 1 else ""


def what_went_on_wrong(run: killed_runs.Run) -> str:
    """Whether the newest checkpoint goes on as a run does to which nothing happened; empty if so, or if there is none."""
    kept = [int(path.name[5:]) for path in (run.scratch / "checkpoints").glob("step-*")]
    if not kept:
        return ""
    whole = killed_runs.Run(run.program, run.scratch / "whole", run.shuffled)
    whole.scratch.mkdir()
    saved = []
    for each in (run, whole):
        file = each.scratch.parent / f"{each.scratch.name}.{each is run}.safetensors"
        done = each.start(f"--ranks={RANKS}", "--threads=1", f"--save={file}", until=max(kept) + 2)
        if done.returncode:
            return done.stderr
        saved.append(file.read_bytes())
        file.unlink()
    return "" if saved[0] == saved[1] else f"what was saved after step {max(kept)} goes on with other bits"


def lose(programs: Programs, number: int) -> tuple[str, str | None]:
    """What happened to a run, and what is wrong; None if that could not be tried."""
    chance, fault = random.Random(number), FAULTS[number % len(FAULTS)]
    with tempfile.TemporaryDirectory(prefix="tenon-lost-") as folder:
        run = killed_runs.Run(programs.one, Path(folder), shuffled=chance.random() < 0.5)
        if fault == "full disk":
            return fault, fill_the_disk(run, chance)
        if fault == "unlike":
            return fault, start_unlike(run, chance, programs.other)
        how = signal.SIGKILL if fault == "killed" else signal.SIGSTOP
        return fault, lose_a_rank(run, chance, how) or what_went_on_wrong(run)


def main() -> None:
    """Runs until there have been as many as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="runs in all")
    parser.add_argument("--results", type=Path, required=True, help="a line per run; goes on where it ends")
    options = parser.parse_args()
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    with tempfile.TemporaryDirectory(prefix="tenon-lost-") as folder:
        programs = Programs.compiled(Path(folder))
        for number in range(len(lines), options.count):
            fault, wrong = lose(programs, number)
            result = "not tried" if wrong is None else f"WRONG {wrong}" if wrong else "right"
            lines.append(f"{number} {fault}: {result}".replace("\n", " "))
            with options.results.open("a") as file:
                print(lines[-1], file=file)
            print(lines[-1], flush=True)
    kinds = Counter(re.match(r"\d+ ([a-z ]+):", line)[1] for line in lines)  # type: ignore[index]
    wrong = sum(" WRONG " in line for line in lines)
    print(f"| {revision.commit()} | {len(lines)} | " + " | ".join(str(kinds[fault]) for fault in FAULTS) + f" | {wrong} |")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
