"""A memory limit is asked of the packing solver where the smallest arena that a short search finds exceeds it."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD

MOMENTS, ARENA = 30, 200  # of cache lines


def full_arena(seed: int) -> list[tuple[int, int, int]]:
    """When values begin and end and how many cache lines they take; together they fill the arena all the time."""
    choice = random.Random(seed)
    least, values = 6, []

    def split(begin: int, end: int, low: int, high: int) -> None:
        time, lines = end - begin, high - low
        small = time * lines < MOMENTS * ARENA / 40
        if (time <= 2 and lines < 2 * least) or (small and choice.random() < 0.6):
            values.append((begin, end, lines))
        elif time > 2 and (lines < 2 * least or choice.random() < 0.5):
            middle = choice.randint(begin + 1, end - 1)
            split(begin, middle, low, high)
            split(middle, end, low, high)
        elif lines >= 2 * least:
            middle = choice.randint(low + least, high - least)
            split(begin, end, low, middle)
            split(begin, end, middle, high)
        else:
            values.append((begin, end, lines))

    split(0, MOMENTS, 0, ARENA)
    return sorted(values, key=lambda value: value[0])


def step_of(values: list[tuple[int, int, int]]) -> str:
    """One group per moment, which makes the values that begin there and reads for the last time those that end."""
    types = [f"tensor<{16 * lines}xf32>" for _, _, lines in values]
    text = "module {\n  func.func @main() {\n"
    for moment in range(MOMENTS):
        made = [i for i, value in enumerate(values) if value[0] == moment]
        read = [i for i, value in enumerate(values) if value[1] - 1 == moment and value[0] != moment]
        results = f"%v{moment}" + (f":{len(made)}" if len(made) > 1 else "")
        names = ", ".join(name_of(values, i) for i in read)
        text += f"    {f'{results} = ' if made else ''}step.group generic({names}) : ({', '.join(types[i] for i in read)}) -> "
        text += f"({', '.join(types[i] for i in made)}) {{\n"
        text += f"    ^bb0({', '.join(f'%a{i}: {types[i]}' for i in read)}):\n"
        for i in made:
            text += f"      %c{i} = stablehlo.constant dense<0.0> : {types[i]}\n"
        yielded = f" {', '.join(f'%c{i}' for i in made)} : {', '.join(types[i] for i in made)}" if made else ""
        text += f"      step.yield{yielded}\n    }}\n"
    return text + "    return\n  }\n}\n"


def name_of(values: list[tuple[int, int, int]], index: int) -> str:
    """The SSA value."""
    moment = values[index][0]
    made = [i for i, value in enumerate(values) if value[0] == moment]
    return f"%v{moment}" + (f"#{made.index(index)}" if len(made) > 1 else "")


@pytest.mark.parametrize("seed", [13, 33])
def test_what_fits_is_found(seed: int, tmp_path: Path) -> None:
    """A short search for the smallest arena ends above the limit; asked for the limit, the solver finds a plan."""
    step = tmp_path / "step.mlir"
    step.write_text(step_of(full_arena(seed)))

    def temporaries(options: str) -> int:
        command = [BUILD / "bin/tenon-opt", step, f"--memory-plan-offsets={options}"]
        planned = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return int(re.search(r"temporaries = (\d+) : i64", planned)[1])

    limit = 64 * ARENA
    assert temporaries("quick") > limit
    assert temporaries(f"quick limit={limit}") <= limit
    # A limit that leaves more than the search needs anyway changes nothing.
    assert temporaries(f"quick limit={2 * limit}") == temporaries("quick")
