"""Copies of offset packing instances that no choice can have been tuned to.

`mirror` turns time around; `cut` shortens every size by 0 to 3 %, in multiples of a
granule; both keep the capacity.
"""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Buffer:
    id: str
    lower: int
    upper: int
    size: int


def read(path: Path) -> list[Buffer]:
    with path.open(encoding="ascii", newline="") as stream:
        return [Buffer(row["id"], int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(stream)]


def write(path: Path, buffers: list[Buffer]) -> None:
    with path.open("w", encoding="ascii") as stream:
        stream.write("id,lower,upper,size\n")
        for b in buffers:
            stream.write(f"{b.id},{b.lower},{b.upper},{b.size}\n")


def mirror(buffers: list[Buffer]) -> list[Buffer]:
    last = max(b.upper for b in buffers)
    return [Buffer(b.id, last - b.upper, last - b.lower, b.size) for b in buffers]


def cut(buffers: list[Buffer], seed: int, granule: int = 1024) -> list[Buffer]:
    """Each size times a factor from 0.97 to 1, rounded up to the granule."""
    rng = random.Random(seed)
    result = []
    for b in buffers:
        size = int(b.size * (1 - 0.03 * rng.random()))
        rounded = max(granule, -(-size // granule) * granule)
        result.append(Buffer(b.id, b.lower, b.upper, rounded))
    return result
