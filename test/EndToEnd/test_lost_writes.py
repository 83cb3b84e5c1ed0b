"""A machine that stops in the middle of a save: what the disk may hold then is an old or a new checkpoint, and whole.

The system calls of a save are recorded with strace. A file's bytes are on the disk for sure once the file was synced, a name in a folder
once the folder was; until then each of these changes may be there or not, one without the other. Such states of the disk after each of the
calls are laid out, and a run must go on from it.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from killed_runs import Run, compile_step

CALLS = (
    "openat,open,creat,mkdir,mkdirat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat"
)


@dataclass(eq=False)
class Node:
    """A file or a folder, whatever it is called."""

    content: bytearray = field(default_factory=bytearray)
    entries: dict[str, Node] | None = None  # of a folder


@dataclass
class Change:
    """What one call changes in one node: bytes behind those of a file, or names in a folder."""

    node: Node
    data: bytes = b""
    names: dict[str, Node | None] = field(default_factory=dict)


class Disk:
    """A folder as it is in memory, and which changes of it have not been synced."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.top = self._read(root)
        self.changes: list[Change | Node] = []  # a node where it was synced

    def _read(self, path: Path) -> Node:
        if path.is_dir():
            return Node(entries={child.name: self._read(child) for child in path.iterdir()})
        return Node(bytearray(path.read_bytes()))

    def find(self, path: str) -> Node | None:
        """What is there after all changes so far."""
        node = self.top
        for name in Path(path).relative_to(self.root).parts:
            found = node.entries.get(name) if node.entries is not None else None
            for change in self.changes:
                if isinstance(change, Change) and change.node is node and name in change.names:
                    found = change.names[name]
            if found is None:
                return None
            node = found
        return node

    def named(self, path: str, node: Node | None) -> Change:
        """The change that gives a path a meaning, or takes it away."""
        folder = self.find(os.path.dirname(path))
        assert folder is not None, path
        return Change(folder, names={os.path.basename(path): node})

    def states(self) -> list[tuple[int, tuple[Change, ...]]]:
        """After each call, which changes may be on the disk."""
        found = []
        for end in range(len(self.changes) + 1):
            done = [change for change in self.changes[:end] if isinstance(change, Change)]
            waiting: list[Change] = []
            for change in self.changes[:end]:
                if isinstance(change, Change):
                    waiting.append(change)
                else:
                    waiting = [other for other in waiting if other.node is not change]
            for lost in self._subsets(waiting):
                found.append((end, tuple(change for change in done if not any(change is other for other in lost))))
        return found

    @staticmethod
    def _subsets(waiting: list[Change]) -> list[tuple[Change, ...]]:
        """What may be lost: any of a few changes; of many none, all, each one alone, all but one, and all from one on."""
        if len(waiting) <= 7:
            return [lost for size in range(len(waiting) + 1) for lost in itertools.combinations(waiting, size)]
        alone = [(change,) for change in waiting]
        others = [tuple(other for other in waiting if other is not change) for change in waiting]
        return [(), *alone, *others, *[tuple(waiting[i:]) for i in range(len(waiting))]]

    def tree(self, changes: tuple[Change, ...]) -> dict[str, bytes | None]:
        """The files (and folders, None) that there are with some of the changes."""
        files: dict[str, bytes | None] = {}

        def walk(node: Node, path: str) -> None:
            if node.entries is None:
                files[path] = bytes(node.content) + b"".join(change.data for change in changes if change.node is node)
                return
            files[path] = None
            entries = dict(node.entries)
            for change in changes:
                if change.node is node:
                    entries.update(change.names)
            for name, child in entries.items():
                if child is not None:
                    walk(child, f"{path}/{name}")

        walk(self.top, "")
        return files


def record(disk: Disk, trace: str) -> None:
    """Follows the calls of a trace. A call that this does not know is an error: it could change the folder unseen."""
    inside = re.escape(str(disk.root))
    for line in trace.splitlines():
        call = re.match(r"(?:\d+\s+)?(\w+)\((.*)\)\s+= (-?\d+)", line)
        if not call or int(call[3]) < 0 or not re.search(inside, line):
            assert "unfinished ..." not in line or not re.search(inside, line), line
            continue
        name, arguments = call[1], call[2]
        paths = re.findall(r'"((?:[^"\\]|\\.)*)"', arguments)
        opened = re.match(r"\d+<([^>]*)>", arguments)
        if name == "openat":
            if "O_CREAT" in arguments and disk.find(paths[0]) is None:
                disk.changes.append(disk.named(paths[0], Node()))
        elif name == "mkdir":
            disk.changes.append(disk.named(paths[0], Node(entries={})))
        elif name == "write" and opened:
            node = disk.find(opened[1])
            assert node is not None, line
            disk.changes.append(Change(node, data=bytes(int(call[3]))))
        elif name == "fsync" and opened:
            node = disk.find(opened[1])
            assert node is not None, line
            disk.changes.append(node)
        elif name == "rename":
            node = disk.find(paths[0])
            assert node is not None, line
            gone, there = disk.named(paths[0], None), disk.named(paths[1], node)
            assert gone.node is there.node, "a rename from folder to folder is two changes"
            disk.changes.append(Change(gone.node, names={**gone.names, **there.names}))
        elif name in ("unlink", "rmdir"):
            disk.changes.append(disk.named(paths[0], None))
        elif name == "unlinkat":
            folder = re.match(r"(?:\d+|AT_FDCWD)<([^>]*)>", arguments)
            assert folder, line
            disk.changes.append(disk.named(os.path.join(folder[1], paths[0]), None))
        else:
            pytest.fail(f"a call that this test does not know: {line}")


def fill_in(disk: Disk, final: dict[str, bytes | None]) -> None:
    """Gives recorded writes their bytes: files are written once, from front to back, so those are what the file holds at the end."""
    whole = disk.tree(tuple(change for change in disk.changes if isinstance(change, Change)))
    assert whole.keys() == final.keys()
    nodes = {}
    for path in final:
        node = disk.find(str(disk.root) + path)
        assert node is not None
        nodes[node] = path
    for node, path in nodes.items():
        place = len(node.content)
        for change in disk.changes:
            if isinstance(change, Change) and change.node is node and change.data:
                content = final[path]
                assert content is not None
                change.data = content[place : place + len(change.data)]
                place += len(change.data)


def lay_out(files: dict[str, bytes | None], folder: Path) -> None:
    """Writes files."""
    for path, content in files.items():
        if content is None:
            (folder / path.lstrip("/")).mkdir(exist_ok=True)
        else:
            (folder / path.lstrip("/")).write_bytes(content)


def read(folder: Path) -> dict[str, bytes | None]:
    """All files of a folder."""
    found: dict[str, bytes | None] = {"": None}
    for path in folder.rglob("*"):
        found[f"/{path.relative_to(folder)}"] = None if path.is_dir() else path.read_bytes()
    return found


@pytest.mark.parametrize("keep", [1, 3])
def test_every_state_of_the_disk_opens(keep: int, tmp_path: Path) -> None:
    """As the old checkpoint or the new one, and as the new one once the save is done."""
    run = Run(compile_step(tmp_path), tmp_path / "run")
    run.scratch.mkdir()
    assert run.start(until=7).returncode == 0
    old = (run.scratch / "final.safetensors").read_bytes()
    folder = run.scratch / "checkpoints"
    before = read(folder)
    disk = Disk(folder)
    trace = tmp_path / "trace"
    traced = ["strace", "-f", "-y", "-o", str(trace), "-e", f"trace={CALLS}", *run.command(f"--keep={keep}", "--threads=1", until=14)]
    process = subprocess.run(traced, check=False, capture_output=True, text=True)
    assert process.returncode == 0, process
    new = (run.scratch / "final.safetensors").read_bytes()
    record(disk, trace.read_text())
    after = read(folder)
    fill_in(disk, after)
    everything = tuple(change for change in disk.changes if isinstance(change, Change))
    assert disk.tree(()) == before and disk.tree(everything) == after
    seen: dict[frozenset, tuple[bool, bool]] = {}
    tried = run.scratch / "tried"
    found = []
    for end, changes in disk.states():
        files = disk.tree(changes)
        key = frozenset(files.items())
        if key not in seen:
            tried.mkdir()
            lay_out(files, tried / "checkpoints")
            process = Run(run.program, tried).start(until=1)
            assert process.returncode == 0, (end, sorted(files), process)
            state = (tried / "final.safetensors").read_bytes()
            assert state in (old, new), (end, sorted(files), process)
            seen[key] = (state == old, state == new)
            shutil.rmtree(tried)
        found.append((end, seen[key]))
    assert len(seen) > 30
    # Once the folder was synced under its new name, every state is the new one.
    done = max(i for i, change in enumerate(disk.changes) if change is disk.top) + 1
    assert {state for end, state in found if end >= done} == {(False, True)}
    assert {state for end, state in found if end < done} >= {(True, False)}
