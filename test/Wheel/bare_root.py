#!/usr/bin/env python3
"""Installs the wheels into roots of Debian that have Python and nothing else, trains there, and runs docs/FirstRun.md.

    sudo test/Wheel/bare_root.py [--wheels build/wheels] [--suites bookworm,trixie] [--work FOLDER]

Needs root, mmdebstrap, and Debian's and PyPI's servers. The roots and what is downloaded stay in FOLDER for the next time.
Prints a line of docs/Benchmarks/Wheels.md for each root; the exit code is 1 if something failed or took longer than it may.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "test" / "EndToEnd"))

from shown_commands import check_output, script, sessions, write_programs  # noqa: E402

# From the start of installing to the first step that has run, without downloads.
MOST_SECONDS = 60
# All of docs/FirstRun.md, with the installation, without downloads.
MOST_PAGE_SECONDS = 300
# What a user installs besides; numpy is what the wheel asks for.
OTHERS = ["jax", "jaxlib", "scikit-learn", "numpy", "safetensors"]


def pinned() -> list[str]:
    """The versions of OTHERS that Tenon is tested with."""
    lines = (ROOT / "python" / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line.split("==")[0] in OTHERS]


def unpack(suite: str, work: Path) -> Path:
    """A fresh root with the packages that one of `python3-venv` asks for."""
    archive = work / f"{suite}.tar"
    if not archive.exists():
        part = archive.with_name(f"{suite}.part.tar")
        subprocess.run(["mmdebstrap", "-q", "--variant=minbase", "--include=python3-venv", suite, part], check=True)
        part.rename(archive)
    root = Path(tempfile.mkdtemp(prefix=f"{suite}-", dir=work))
    root.chmod(0o755)
    subprocess.run(["tar", "-xf", archive, "-C", root, "--exclude=./dev"], check=True)
    for folder in ("dev", "proc", "tmp", "work", "wheelhouse"):
        (root / folder).mkdir(exist_ok=True)
    return root


class Bare:
    """Runs commands in a root."""

    def __init__(self, root: Path, wheelhouse: Path) -> None:
        self.root, self.wheelhouse = root, wheelhouse

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Starts a command that sees the root, the wheelhouse and the kernel's own file systems, and no variables."""
        mounts = "mount --bind /dev $0/dev && mount -t proc proc $0/proc && mount --bind $1 $0/wheelhouse"
        return subprocess.Popen(
            [
                "unshare",
                "--mount",
                "sh",
                "-c",
                f'{mounts} && root=$0 && shift && exec /usr/sbin/chroot "$root" "$@"',
                self.root,
                self.wheelhouse,
            ]
            + list(command),
            env={
                "PATH": "/work/venv/bin:/usr/bin:/bin",
                "HOME": "/work",
                "JAX_PLATFORMS": "cpu",
                "LC_ALL": "C.UTF-8",
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": "/wheelhouse",
            },
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *command: str) -> str:
        """Runs a command and returns what it said."""
        process = self.start(*command)
        said, _ = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"{said}\nerror: {' '.join(command)} ended with exit code {process.returncode} in {self.root}")
        return said


def download(bare: Bare, wheels: Path, wheelhouse: Path) -> None:
    """Fetches the packages for the Python of the root, and puts the wheels beside them."""
    # The pip of this machine is the one that reaches a package index.
    version = bare.run("/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    if not list(wheelhouse.glob("jax-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "-q", "-d", wheelhouse, "--only-binary=:all:"]
        command += [
            "--python-version",
            version,
            "--implementation",
            "cp",
            "--abi",
            f"cp{version.replace('.', '')}",
            "--abi=abi3",
            "--abi=none",
        ]
        for minor in (17, 27, 28, 34, 36):
            command += ["--platform", f"manylinux_2_{minor}_x86_64"]
        subprocess.run([*command, "--platform=manylinux2014_x86_64", *pinned()], check=True)
    for wheel in wheels.glob("tenon*.whl"):
        shutil.copy(wheel, wheelhouse)


def run_page(bare: Bare) -> float:
    """Runs docs/FirstRun.md in a folder of its own, and returns the seconds that it took."""
    page = (ROOT / "docs" / "FirstRun.md").read_text()
    folder = bare.root / "page"
    folder.mkdir()
    write_programs(page, folder)
    shown = sessions(page)
    (folder / "first-run.sh").write_text(f"cd /page\n{script(shown)}")
    start = time.monotonic()
    # What is printed besides the output, such as that a process was killed, is no part of the page.
    said = bare.run("bash", "-c", "bash /page/first-run.sh 2> /page/errors || { cat /page/errors; exit 1; }")
    seconds = time.monotonic() - start
    check_output(shown, said)
    return seconds


def processor_seconds() -> float:
    """What this process and those that it has waited for took of processors."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass
class Times:
    """In seconds: what creating the environment and installing took, and that of processors; from the start of it to the
    first step; and the whole page."""

    environment: float
    installed: float
    processor: float
    first: float
    page: float


def test(suite: str, wheels: Path, work: Path) -> Times:
    """Everything in one root."""
    wheelhouse = work / f"wheels-{suite}"
    wheelhouse.mkdir(exist_ok=True)
    root = unpack(suite, work)
    try:
        bare = Bare(root, wheelhouse)
        download(bare, wheels, wheelhouse)
        shutil.copy(HERE / "train.py", root / "work")
        start, used = time.monotonic(), processor_seconds()
        bare.run("/usr/bin/python3", "-m", "venv", "/work/venv")
        environment = time.monotonic() - start
        # Python compiles what is imported when it is imported.
        install = ["-m", "pip", "install", "-q", "--no-index", "--no-compile", "--find-links=/wheelhouse"]
        bare.run("/work/venv/bin/python", *install, "tenon[jax,compiler]")
        installed, processor = time.monotonic() - start, processor_seconds() - used
        process = bare.start("/work/venv/bin/python", "/work/train.py")
        first, said = None, []
        for line in process.stdout:
            first = first or (time.monotonic() - start if "first step" in line else None)
            said.append(line)
        if process.wait() != 0 or first is None:
            raise SystemExit(f"{''.join(said)}\nerror: train.py failed in {root}")
        print(f"{suite}: {bare.run('tenon', '--version').strip()}\n{''.join(said)}", end="", flush=True)
        bare.run("/work/venv/bin/python", *install, *pinned())
        print("after scikit-learn:\n" + bare.run("/work/venv/bin/python", "/work/train.py", "--scikit-learn-first"), end="")
        return Times(environment, installed, processor, first, run_page(bare))
    finally:
        shutil.rmtree(root)


def main() -> int:
    """See the top of the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, default=ROOT / "build" / "wheels")
    parser.add_argument("--suites", default="bookworm,trixie")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "roots")
    arguments = parser.parse_args()
    found = sorted(path.name for path in arguments.wheels.glob("tenon*.whl"))
    if len(found) != 2:
        raise SystemExit(f"error: {arguments.wheels} has not one wheel of each package, but {found}; make them with tools/wheel")
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        raise SystemExit("error: this needs root and mmdebstrap")
    arguments.work.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    slow = False
    for suite in arguments.suites.split(","):
        load = os.getloadavg()[0]
        times = test(suite, arguments.wheels, arguments.work.resolve())
        slow |= times.first > MOST_SECONDS or times.page > MOST_PAGE_SECONDS
        columns = [times.environment, times.installed, times.processor, times.first, times.page, load]
        print(f"| {commit} | {suite} | {' | '.join(f'{value:.1f}' for value in columns)} |", flush=True)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
