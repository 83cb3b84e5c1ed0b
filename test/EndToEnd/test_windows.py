"""Images that are cut into strips: windows read rows of other ranks, and steps train as on one rank."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import replays
from conftest import Steps, succeed
from test_chosen_layouts import reference, seconds_of, shard_report  # noqa: F401
from test_ranks import CPU, STEPS, expect_as_exact, train

# The images and their labels.
IMAGES = {"02_cnn": ("arg26", "arg27"), "03_resnet18": ("arg165", "arg166")}
# By step and mesh.
CASES: dict[tuple[str, str], dict[str, int]] = {
    ("02_cnn", "space=2"): {"all_gather": 1, "all_reduce": 4, "collective_permute": 14},
    ("02_cnn", "space=4"): {"all_gather": 1, "all_reduce": 4, "collective_permute": 14},
    ("02_cnn", "data=2,space=2"): {"all_gather": 1, "all_reduce": 9, "collective_permute": 14},
    ("03_resnet18", "space=2"): {"all_gather": 1, "all_reduce": 88, "collective_permute": 70, "reduce_scatter": 1},
    ("03_resnet18", "space=4"): {"all_gather": 4, "all_reduce": 83, "all_to_all": 3, "collective_permute": 71},
    ("03_resnet18", "data=2,space=2"): {"all_gather": 1, "all_reduce": 120, "collective_permute": 70, "reduce_scatter": 1},
}


@pytest.fixture(scope="module")
def one_step(steps: Steps, reference: Any) -> Any:  # noqa: F811
    """What one step of a model gives on one rank, and in f64."""

    @functools.cache
    def made(model: str) -> tuple[Any, Any]:
        one = reference(model)
        alone, _ = train(one.file, f"--inputs={one.inputs}", "--steps=1")
        return alone, replays.replayed(steps[model].text.read_text(), one.info, True, 1)[0]

    return made


@pytest.mark.parametrize(("model", "mesh"), CASES)
def test_strips(steps: Steps, reference: Any, one_step: Any, tmp_path: Path, model: str, mesh: str) -> None:  # noqa: F811
    """Kinds and number of collectives, and state as close to that in f64 as on one rank."""
    one = reference(model)
    batch = "data" if "data" in mesh else "-"
    images, labels = IMAGES[model]
    layouts = tmp_path / "layouts.txt"
    layouts.write_text(f"{images} = [{batch}, space, -, -]\n{labels} = [{batch}]\n")
    file = tmp_path / "step.tenon"
    succeed("compile", steps[model].text, f"--mesh={mesh}", f"--sharding={layouts}", CPU, "-o", file)
    count, alone, exact = STEPS, one.results, one.exact
    if model == "03_resnet18":
        # The last layers normalize two numbers per channel. After the second step of one rank or of the others, an element in front of
        # a ReLU may be on the other side of zero, which moves all tensors by far more than rounding; the first step has all sums.
        count, (alone, exact) = 1, one_step(model)
    ranks = 2 if mesh == "space=2" else 4
    found, _ = train(file, f"--ranks={ranks}", f"--inputs={one.inputs}", f"--steps={count}")
    expect_as_exact(found, alone, exact)
    report = shard_report(steps, model, mesh, tmp_path, f"--sharding={layouts}")
    assert report["collectives"] == CASES[model, mesh]


def test_price(steps: Steps, tmp_path: Path) -> None:
    """The choice has rows exchanged where that takes least, at the price of what is written."""
    text = """
    sdy.mesh @mesh = <["space"=2]>
    func.func @main(%x: tensor<1x64x64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"space"}, {}, {}]>}, %k: tensor<3x3x16x16xf32>)
        -> (tensor<1x64x64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"space"}, {}, {}]>}) {
      %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x64x64x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x64x64x16xf32>
      return %0 : tensor<1x64x64x16xf32>
    }
    """
    (tmp_path / "step.mlir").write_text(text)
    report = shard_report(steps, "", "space=2", tmp_path, text=tmp_path / "step.mlir")
    assert report["collectives"] == {"collective_permute": 2}
    row = 64 * 16 * 4  # bytes
    exchange = {"kind": "collective_permute", "axes": "space", "received_bytes": row, "count": 2}
    assert (report["exchanges"], report["received_bytes"]) == ([exchange], 2 * row)
    assert seconds_of(report) == pytest.approx(report["choice"]["seconds"], rel=1e-3)


def test_price_of_windows_that_add(steps: Steps, tmp_path: Path) -> None:
    """The gradient of a pool whose windows overlap: two rows of the operand and one of the source, from either side."""
    cut = 'sdy.sharding = #sdy.sharding<@mesh, [{}, {"space"}, {}, {}]>'
    text = f"""
    sdy.mesh @mesh = <["space"=2]>
    func.func @main(%x: tensor<1x64x64x16xf32> {{{cut}}}, %s: tensor<1x32x32x16xf32> {{{cut}}})
        -> (tensor<1x64x64x16xf32> {{{cut}}}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{{padding = dense<[[0, 0], [1, 0], [1, 0], [0, 0]]> : tensor<4x2xi64>,
          window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }}, {{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) : (tensor<1x64x64x16xf32>, tensor<1x32x32x16xf32>, tensor<f32>) -> tensor<1x64x64x16xf32>
      return %0 : tensor<1x64x64x16xf32>
    }}
    """
    (tmp_path / "step.mlir").write_text(text)
    report = shard_report(steps, "", "space=2", tmp_path, text=tmp_path / "step.mlir")
    assert report["collectives"] == {"collective_permute": 4}
    rows = {2 * 64 * 16 * 4, 32 * 16 * 4}  # bytes
    exchanges = [(exchange["received_bytes"], exchange["count"]) for exchange in report["exchanges"]]
    assert sorted(exchanges) == sorted((row, 2) for row in rows)
    assert report["received_bytes"] == 2 * sum(rows)
    assert seconds_of(report) == pytest.approx(report["choice"]["seconds"], rel=1e-3)
