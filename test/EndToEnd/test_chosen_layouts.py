"""Layouts that the compiler chooses: steps train as on one rank, in no more time than plans that people write."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import BUILD, Steps, refused, succeed
from plans_of_people import random_lines
from test_ranks import BATCH, CPU, MEGATRON, STEPS, Reference, expect_as_exact, train

RANKS = {"data=2": 2, "data=4": 4, "data=2,model=2": 4}
# The others on the mesh with two axes.
ON_ALL_MESHES = ["01_mlp", "04_chargpt"]
ON_ONE_MESH = [
    "02_cnn", "02b_cnn_rbg", "03_resnet18", "05_gpt2_124m", "06_gpt2_124m_scan_remat", "07_llama_bf16", "08_lstm", "09_unet_ddpm",
    "10_vit_tiny", "11_moe", "12_chargpt_accum", "13_mlp_f16_loss_scale", "14_while_fori", "17_chargpt_remat",
]  # fmt: skip
CASES = [(model, mesh) for model in ON_ALL_MESHES for mesh in RANKS] + [(model, "data=2,model=2") for model in ON_ONE_MESH]
REPOSITORY = Path(__file__).parents[2]
FILES = Path(__file__).parent / "layouts"


@pytest.fixture(scope="session")
def reference(steps: Steps, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """References by the names of steps."""
    folder = tmp_path_factory.mktemp("one-rank")

    @functools.cache
    def made(model: str) -> Reference:
        steps.export(model)
        return Reference(steps, model, folder)

    return made


def shard_report(steps: Steps, model: str, mesh: str, folder: Path, *options: object, text: Path | None = None) -> dict[str, Any]:
    """What the stage that cuts the step says of it."""
    report = folder / "report.json"
    to = ("--compile-to=shard", "--verify-forms", "-o", folder / "parts.mlir", f"--report={report}", CPU)
    succeed("compile", text or steps[model].text, f"--mesh={mesh}", *options, *to)
    (shard,) = [stage for stage in json.loads(report.read_text())["stages"] if stage["stage"] == "shard"]
    return shard


def seconds_of(report: dict[str, Any]) -> float:
    """What the step is predicted to take."""
    return report["compute_seconds"] + report["communication_seconds"]


@pytest.mark.parametrize(("model", "mesh"), CASES)
def test_errors(steps: Steps, reference: Any, tmp_path: Path, model: str, mesh: str) -> None:
    """State is as close to that in f64 as on one rank."""
    one = reference(model)
    file = tmp_path / f"{model}.tenon"
    succeed("compile", steps[model].text, f"--mesh={mesh}", CPU, "-o", file)
    found, _ = train(file, f"--ranks={RANKS[mesh]}", f"--inputs={one.inputs}", f"--steps={STEPS}")
    # Its last layers normalize few numbers per channel, of which f32 itself has few digits.
    expect_as_exact(found, one.results, one.exact, jumps=model == "03_resnet18")
    assert "layouts: predicted" in succeed("inspect", file)
    assert "no choice below" in succeed("verify", file)


def zero(model: str, info: dict[str, Any], count: int) -> str:
    """ZeRO: the batch and the optimizer's state along `data`, parameters whole."""
    lines = BATCH[model]
    for number, argument in enumerate(argument for argument in info["args"] if argument["in_main"]):
        shape = argument["shape"]
        cut = next((dim for dim, extent in enumerate(shape) if extent % count == 0), None)
        if not argument["donated"] or cut is None:
            continue
        is_parameter = "['params']" in argument["path"]
        axes = ["data" if dim == cut and not is_parameter else "-" for dim in range(len(shape))]
        lines += f"arg{number} = [{', '.join(axes)}]\n"
    return lines


def fully_sharded(model: str, info: dict[str, Any], count: int) -> str:
    """State along `data` in its first dimension that can be cut evenly, and the batch."""
    lines = BATCH[model]
    batches = {line.split(" ")[0] for line in lines.splitlines()}
    for number, argument in enumerate(info["args"]):
        cut = next((dim for dim, extent in enumerate(argument["shape"]) if extent % count == 0), None)
        if cut is None or f"arg{number}" in batches:
            continue
        axes = ["data" if dim == cut else "-" for dim in range(len(argument["shape"]))]
        lines += f"arg{number} = [{', '.join(axes)}]\n"
    return lines


def plans_of_people(model: str, info: dict[str, Any], mesh: str) -> dict[str, str]:
    """Layouts that people write, as files, by name."""
    plans = {}
    if "data" in mesh:
        plans["data parallel"] = BATCH[model]
        plans["fully sharded"] = fully_sharded(model, info, int(mesh.split("=")[1][0]))
        plans["ZeRO"] = zero(model, info, int(mesh.split("=")[1][0]))
    if "model" in mesh:
        plans["Megatron"] = MEGATRON[model]
        if model == "04_chargpt":
            plans["sequence parallel"] = (FILES / f"{model}.sequence.txt").read_text()
    if "data" in mesh and "model" in mesh:
        plans["both"] = BATCH[model] + MEGATRON[model]
    return plans


@pytest.mark.parametrize("model", ON_ALL_MESHES + ON_ONE_MESH)
def test_the_checker_follows(steps: Steps, tmp_path: Path, model: str) -> None:
    """What is written under random layouts is followed from the first operation to the last."""
    steps.export(model)
    info = json.loads((steps.folder / f"{model}.json").read_text())
    shapes = [argument["shape"] for argument in info["args"] if argument["in_main"]]
    (tmp_path / "layouts.txt").write_text("\n".join(random_lines(shapes, "data=2,model=2", 1)))
    report = shard_report(steps, model, "data=2,model=2", tmp_path, f"--sharding={tmp_path / 'layouts.txt'}")
    assert report["check"] == "accepted"


@pytest.mark.parametrize("mesh", ["data=2", "data=4", "model=4", "data=2,model=2"])
@pytest.mark.parametrize(("model", "batch"), [("01_mlp", None), ("01_mlp", 2048), ("04_chargpt", None), ("04_chargpt", 32)])
def test_no_plan_of_people_is_quicker(steps: Steps, tmp_path: Path, model: str, batch: int | None, mesh: str) -> None:
    """By the same prices; and the chosen plan is proved to be within 12 % of the best."""
    exported = steps if batch is None else steps.with_batch(batch, model)
    text = exported.folder / f"{model}.mlir"
    info = json.loads((exported.folder / f"{model}.json").read_text())
    chosen = shard_report(steps, model, mesh, tmp_path, text=text)
    assert chosen["check"] == "accepted"
    assert chosen["choice"]["gap"] <= 0.12
    assert seconds_of(chosen) <= chosen["choice"]["seconds"] * 1.001
    for name, lines in plans_of_people(model, info, mesh).items():
        (tmp_path / "layouts.txt").write_text(lines)
        theirs = shard_report(steps, model, mesh, tmp_path, f"--sharding={tmp_path / 'layouts.txt'}", text=text)
        assert seconds_of(chosen) <= seconds_of(theirs) * 1.001, name


def test_collectives(steps: Steps, tmp_path: Path) -> None:
    """Where a batch has 8 rows, its activations move and its parameters stay; where it has 2,048, gradients are scattered."""
    small = shard_report(steps, "01_mlp", "data=2", tmp_path)
    assert small["collectives"] == {"all_gather": 1, "reduce_scatter": 1}
    large = steps.with_batch(32, "04_chargpt").folder / "04_chargpt.mlir"
    report = shard_report(steps, "04_chargpt", "data=2", tmp_path, text=large)
    assert set(report["collectives"]) == {"all_gather", "reduce_scatter"}
    assert report["collectives"]["all_gather"] == report["collectives"]["reduce_scatter"]


def test_what_is_asked_for_binds(steps: Steps, tmp_path: Path) -> None:
    """A closed dimension stays as its author wrote it, an open one may be cut further."""
    text = """
    sdy.mesh @mesh = <["data"=2, "model"=2]>
    func.func @main(%w: tensor<64x64xf32> {tf.aliasing_output = 0 : i32, sdy.sharding = #sdy.sharding<@mesh, [{}, {"model", ?}]>},
                    %x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<64x64xf32> {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
      %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
      %new = stablehlo.subtract %w, %g : tensor<64x64xf32>
      return %new : tensor<64x64xf32>
    }
    """
    (tmp_path / "step.mlir").write_text(text)
    report = shard_report(steps, "", "data=2,model=2", tmp_path, text=tmp_path / "step.mlir")
    layouts = [tensor["layout"] for tensor in report["tensors"]]
    assert layouts == ["[-, model data]", "[-, -]"]
    assert [tensor["asked"] for tensor in report["tensors"]] == [True, True]


def test_budget(steps: Steps, tmp_path: Path) -> None:
    """A budget that whole state does not fit in has it cut; what no plan fits in names the smallest."""
    text, file, mesh = steps["04_chargpt"].text, tmp_path / "step.tenon", "--mesh=data=2"
    batched = steps.with_batch(32, "04_chargpt").folder / "04_chargpt.mlir"
    (tmp_path / "layouts.txt").write_text(BATCH["04_chargpt"])
    planned = succeed("plan", batched, mesh, f"--sharding={tmp_path / 'layouts.txt'}", CPU)
    most = memory_of(planned)
    for share in (1.0, 0.75):
        budget = int(most * share)
        succeed("compile", batched, mesh, f"--memory-budget={budget}", CPU, "-o", file)
        succeed("verify", file)
        segments = succeed("inspect", file)
        held = sum(int(bytes) for bytes in re.findall(r"^(?:state|batch|results|temporaries|constants) +(\d+)$", segments, re.M))
        assert held <= budget
    assert "smallest budget that was planned is" in refused(3, "compile", text, mesh, "--memory-budget=1MiB", CPU, "-o", file)


def test_tight_budget(steps: Steps, tmp_path: Path) -> None:
    """Kernels whose parts the plan may repeat alone write results of one part over what only another reads."""
    file = tmp_path / "step.tenon"
    succeed("compile", steps["04_chargpt"].text, "--mesh=data=2", "--memory-budget=5.20MiB", CPU, "-o", file)
    claims = succeed("verify", file)
    again = re.search(r"recomputation +(\d+) of", claims)
    assert again and int(again[1]) > 0


def test_smallest_budget(steps: Steps, tmp_path: Path) -> None:
    """The smallest budget that an error names has a plan, though layouts whose estimate keeps it have none."""
    step, mesh = steps["18_unread_leaves"].located, "--mesh=data=2,model=2"
    smallest = re.search(
        r"planned is (\d+) bytes", refused(3, "compile", step, mesh, "--memory-budget=1KiB", CPU, "-o", tmp_path / "step.tenon")
    )
    assert smallest
    choices = shard_report(steps, "18_unread_leaves", "data=2,model=2", tmp_path, f"--memory-budget={smallest[1]}", text=step)["limits"]
    assert [choice for choice in choices if choice.get("limit") == int(smallest[1]) and "bytes" not in choice]
    planned = [choice["bytes"] for choice in choices if "bytes" in choice]
    assert planned and min(planned) <= int(smallest[1])


def memory_of(planned: str) -> float:
    """The bytes of a rank, to the digits that people read."""
    found = re.search(r"^memory +([\d.]+) (B|KiB|MiB) on each rank", planned, re.M)
    assert found, planned
    return float(found[1]) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[found[2]]


def test_equal_bytes(steps: Steps, tmp_path: Path) -> None:
    """The choice is the same in every run and for any number of threads."""
    texts = []
    for threads in (1, 2):
        parts = tmp_path / f"{threads}.mlir"
        options = ("--mesh=data=2,model=2", f"--threads={threads}", CPU, "--compile-to=shard", "-o", parts)
        succeed("compile", steps["06_gpt2_124m_scan_remat"].text, *options)
        texts.append(parts.read_bytes())
    assert texts[0] == texts[1]


def test_plan(steps: Steps, tmp_path: Path) -> None:
    """What is chosen is explained, for ranks that nobody here has, too."""
    text = steps["01_mlp"].text
    found = succeed("plan", text, "--mesh=data=2,model=2", CPU)
    assert re.search(r"^params\.l1\.kernel +\[.*\] +\d+ +\d\.\d{3} ms  \w.*; \[.*\] takes \d+\.\d{3} ms more$", found, re.M)
    for line in ("step ", "exchange ", "choice ", "memory ", "check  +the parts compute the whole step$"):
        assert re.search(f"^{line}", found, re.M), line
    large = succeed("plan", text, "--mesh=data=512,model=8", "--target=sm_90")
    assert "4096 ranks of 'built-in H100 SXM'" in large
    assert "predicted, not measured" in large


def test_problem_is_written(steps: Steps, tmp_path: Path) -> None:
    """The solver's problem can be solved again by its command."""
    succeed("plan", steps["01_mlp"].text, "--mesh=data=2", CPU, f"--dump-problems={tmp_path}")
    problem, solution = tmp_path / "sharding.txt", tmp_path / "solution.txt"
    subprocess.run([BUILD / "bin/tenon-solve", "sharding", problem, "--effort=100", "-o", solution], check=True, capture_output=True)
    subprocess.run([BUILD / "bin/tenon-solve", "check", problem, solution], check=True, capture_output=True)


def test_refusals(steps: Steps, tmp_path: Path) -> None:
    """What cannot be is said before anything is chosen."""
    text, out = steps["01_mlp"].text, (CPU, "-o", tmp_path / "none.tenon")
    assert "more than 4096 devices" in refused(2, "compile", text, "--mesh=data=8192", *out)
    assert "--sharding needs the ranks" in refused(2, "compile", text, "--sharding=solve", *out)
    machine = json.loads((REPOSITORY / "test/Driver/Inputs/machine.json").read_text())
    machine |= {"machine_version": 2, "links": [{"latency_microseconds": 1, "gigabytes_per_second": 1, "shared_by": 1}]}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    given = (f"--machine={tmp_path / 'machine.json'}", "--mesh=data=2,model=2")
    assert "links for 1 axes, and the mesh data=2,model=2 has 2" in refused(1, "compile", text, *given, "-o", tmp_path / "none.tenon")
    (tmp_path / "layouts.txt").write_text("params.l1.kernel = [rows, -]\n")
    wrong = ("--mesh=data=2", f"--sharding={tmp_path / 'layouts.txt'}")
    assert "has no axis 'rows'" in refused(1, "compile", text, *wrong, *out)
