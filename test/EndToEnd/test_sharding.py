"""Steps that are cut over a mesh, run on all simulated devices: they compute what the whole step computes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, Steps, compiled

CHECK = BUILD / "bin" / "TenonShardingCheck"
MODELS = ("01_mlp", "04_chargpt")


@pytest.fixture(scope="session")
def steps(steps: Steps, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small steps in step form."""
    folder = tmp_path_factory.mktemp("sharding")
    for name in MODELS:
        made = compiled(steps.folder / f"{name}.mlir", "--compile-to=simplify")
        (folder / f"{name}.step.mlir").write_bytes(made.output.read_bytes())
    return folder


def parameters(step: Path) -> dict[str, int]:
    """Names and ranks of the parameters of a step."""
    found = re.findall(r'%arg\d+: tensor<([0-9x]*)f32> \{[^{}]*?step\.name = "(params\.[^"]+)"', step.read_text())
    assert found
    return {name: shape.count("x") for shape, name in found}


def simulate(steps: Path, model: str, *arguments: str, layouts: str = "") -> dict[str, int]:
    """The collectives of the partitioned step, by name, after it was compared with the whole one."""
    command = [CHECK, "run", steps / f"{model}.step.mlir", "--integers=0:9", *arguments]
    if layouts:
        (steps / "layouts.txt").write_text(layouts)
        command.append(f"--layouts={steps / 'layouts.txt'}")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    counts = dict(line.split() for line in done.stdout.splitlines())
    assert float(counts.pop("farthest")) <= 2e-5
    return {name: int(count) for name, count in counts.items()}


BATCH = {"01_mlp": "arg12 = [data, -]\narg13 = [data]\n", "04_chargpt": "arg157 = [data, -]\narg158 = [data, -]\n"}
MEGATRON = "params.l1.kernel = [-, model]\nparams.l1.bias = [model]\nparams.l2.kernel = [model, -]\n"


def fully_cut(steps: Path, model: str) -> str:
    """Every parameter along its first dimension, and the batch."""
    names = parameters(steps / f"{model}.step.mlir")
    return BATCH[model] + "".join(f"{name} = [{', '.join(['data'] + ['-'] * (rank - 1))}]\n" for name, rank in names.items())


@pytest.mark.parametrize("devices", [2, 4])
def test_data_parallel_mlp(steps: Path, devices: int) -> None:
    """The gradient of each of the six parameters is summed, and so is the loss; nothing else moves."""
    assert simulate(steps, "01_mlp", f"--mesh=data={devices}", layouts=BATCH["01_mlp"]) == {"all_reduce": 7}


@pytest.mark.parametrize("devices", [2, 4])
def test_megatron_mlp(steps: Path, devices: int) -> None:
    """Columns, then rows: one sum forwards, and none backwards, since the input has no gradient."""
    assert simulate(steps, "01_mlp", f"--mesh=model={devices}", layouts=MEGATRON) == {"all_reduce": 1}


def test_both_mlp(steps: Path) -> None:
    """Both at once, each along its axis."""
    assert simulate(steps, "01_mlp", "--mesh=data=2,model=2", layouts=BATCH["01_mlp"] + MEGATRON) == {"all_reduce": 8}


@pytest.mark.parametrize("devices", [2, 4])
def test_fully_cut_mlp(steps: Path, devices: int) -> None:
    """Gradients are scattered to where the parameters lie; the loss alone is summed on all devices."""
    found = simulate(steps, "01_mlp", f"--mesh=data={devices}", layouts=fully_cut(steps, "01_mlp"))
    assert found["all_reduce"] == 1
    assert found["reduce_scatter"] >= 6
    assert set(found) <= {"all_gather", "all_reduce", "all_to_all", "reduce_scatter"}


@pytest.mark.parametrize("mesh", ["x=2", "x=4", "x=2,y=2"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_layouts_mlp(steps: Path, mesh: str, seed: int) -> None:
    """Every argument and result cut by chance."""
    found = simulate(steps, "01_mlp", f"--mesh={mesh}", f"--random={seed}")
    assert sum(found.values()) > 5


def test_data_parallel_gpt(steps: Path) -> None:
    """A sum per gradient of a parameter, two for the embedding, which is read twice, and one for the loss."""
    count = len(parameters(steps / "04_chargpt.step.mlir"))
    assert simulate(steps, "04_chargpt", "--mesh=data=2", layouts=BATCH["04_chargpt"]) == {"all_reduce": count + 2}


def test_megatron_gpt(steps: Path) -> None:
    """Each of four blocks sums twice forwards and twice backwards. Queries, keys and values come from one cut product and are gathered."""
    layouts = "".join(
        f"params.h{block}.{name} = {layout}\n"
        for block in range(4)
        for name, layout in [
            ("fc1.kernel", "[-, model]"), ("fc1.bias", "[model]"), ("fc2.kernel", "[model, -]"),
            ("qkv.kernel", "[-, model]"), ("qkv.bias", "[model]"), ("proj.kernel", "[model, -]"),
        ]
    )  # fmt: skip
    found = simulate(steps, "04_chargpt", "--mesh=model=2", layouts=layouts)
    assert found == {"all_reduce": 16, "all_gather": 16}


def test_random_layouts_gpt(steps: Path) -> None:
    """Every argument and result cut by chance."""
    assert sum(simulate(steps, "04_chargpt", "--mesh=x=2,y=2", "--random=1").values()) > 50
