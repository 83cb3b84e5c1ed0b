"""Steps whose batch is cut into logical shards have the same bits on every number of ranks, and are as exact as on one rank."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Steps, refused, succeed
from test_ranks import CPU, STEPS, Reference, expect_as_exact, train

SHARDS = "--logical-shards=8"
RANKS = (1, 2, 4, 8)


@pytest.fixture(scope="session")
def eight(steps: Steps, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """By name, a step with eight rows, and what it does on one rank and in f64."""
    folder = tmp_path_factory.mktemp("eight-rows")

    def make(name: str) -> tuple[Steps, Reference]:
        steps_of_eight = steps.with_batch(8, name)
        return steps_of_eight, Reference(steps_of_eight, name, folder)

    return functools.cache(make)


def compiled(text: Path, ranks: int, folder: Path, *options: str) -> Path:
    """A file for so many ranks; without a mesh for one."""
    file = folder / f"{ranks}.tenon"
    mesh = [f"--mesh=data={ranks}"] if ranks > 1 else []
    succeed("compile", text, SHARDS, *mesh, *options, "--verify-forms", CPU, "-o", file)
    return file


def bits_of(found: list[np.ndarray]) -> list[bytes]:
    """Of each tensor."""
    return [value.tobytes() for value in found]


@pytest.mark.parametrize("name", ["01_mlp", "04_chargpt"])
def test_bits_do_not_depend_on_ranks(eight: Any, tmp_path: Path, name: str) -> None:
    """State and losses are equal on 1, 2, 4 and 8 ranks, and about as close to f64 as those of one rank."""
    steps, one = eight(name)
    runs = {}
    for ranks in RANKS:
        file = compiled(steps[name].text, ranks, tmp_path)
        runs[ranks] = train(file, f"--ranks={ranks}", f"--inputs={one.inputs}", f"--steps={STEPS}")
        assert bits_of(runs[ranks][0]) == bits_of(runs[1][0]), ranks
        assert runs[ranks][1] == runs[1][1], ranks
        succeed("verify", file)
    expect_as_exact(runs[1][0], one.results, one.exact)


@pytest.mark.parametrize(("mesh", "sizes"), [("data={}", (2, 8)), ("data={},model=2", (1, 2, 4))])
def test_chosen_layouts(eight: Any, tmp_path: Path, mesh: str, sizes: tuple[int, ...]) -> None:
    """They may cut more than the batch, along a second axis, too, and bits are equal on all numbers of ranks."""
    steps, one = eight("01_mlp")
    found = []
    for count in sizes:
        file = tmp_path / f"{count}.tenon"
        options = ("--sharding=solve", f"--mesh={mesh.format(count)}")
        succeed("compile", steps["01_mlp"].text, SHARDS, *options, "--verify-forms", CPU, "-o", file)
        ranks = count * (2 if "model" in mesh else 1)
        found.append(train(file, f"--ranks={ranks}", f"--inputs={one.inputs}", f"--steps={STEPS}"))
        succeed("verify", file)
        assert bits_of(found[-1][0]) == bits_of(found[0][0]) and found[-1][1] == found[0][1], count
    expect_as_exact(found[0][0], one.results, one.exact)


def test_sums_of_16_bits(eight: Any, tmp_path: Path) -> None:
    """They are added in f32, also between ranks."""
    steps, one = eight("01_mlp")
    found = []
    for ranks in (1, 2, 8):
        file = compiled(steps["01_mlp"].text, ranks, tmp_path, "--precision=bf16")
        found.append(bits_of(train(file, f"--ranks={ranks}", f"--inputs={one.inputs}", f"--steps={STEPS}")[0]))
    assert found[0] == found[1] == found[2]


def test_the_cost_is_printed(eight: Any, tmp_path: Path) -> None:
    """By compile, by plan and in the report."""
    text = eight("01_mlp")[0]["01_mlp"].text
    line = r"^shards +8 along data, 4 on each rank: ([\d.]+) ms predicted, ([\d.]+) ms with one on each rank \(([-\d.]+) % more\)$"
    for command in (("compile", text, "-o", tmp_path / "x.tenon", f"--report={tmp_path / 'report.json'}"), ("plan", text)):
        said = succeed(*command, SHARDS, "--mesh=data=2", CPU)
        (found,) = re.findall(line, said, re.MULTILINE)
        assert float(found[0]) > 0 and float(found[1]) > 0
    stages = json.loads((tmp_path / "report.json").read_text())["stages"]
    (shard,) = [stage for stage in stages if stage["stage"] == "shard"]
    assert (shard["mesh"], shard["ranks"]) == ("data=2", 2)
    assert (shard["logical_shards"]["mesh"], shard["logical_shards"]["each"]) == ("data=8", 4)


def test_one_shard(eight: Any, tmp_path: Path) -> None:
    """It is the step itself, so its gradient of an embedding is no share of a sum either."""
    said = succeed("compile", eight("04_chargpt")[0]["04_chargpt"].text, "--logical-shards=1", CPU, "-o", tmp_path / "x.tenon")
    assert "shards         1 along data, 1 on each rank" in said
    assert "(0.0 % more)" in said


@pytest.mark.parametrize(
    ("code", "options", "why"),
    [
        (2, ["--logical-shards=6"], "expected a power of two"),
        (2, ["--logical-shards=0"], "expected a number from 1 on"),
        (2, ["--logical-shards=8", "--mesh=data=3"], "that the 3 ranks along 'data' divide"),
        (2, ["--logical-shards=8", "--mesh=data=2", "--fast-collectives"], "--fast-collectives adds up in an order of a library's"),
        (1, ["--logical-shards=16"], "has 8"),
    ],
)
def test_refusals(eight: Any, tmp_path: Path, code: int, options: list[str], why: str) -> None:
    """What has no tree, and a batch that the shards do not divide."""
    text = eight("01_mlp")[0]["01_mlp"].text
    assert why in refused(code, "compile", text, *options, "-o", tmp_path / "x.tenon")
