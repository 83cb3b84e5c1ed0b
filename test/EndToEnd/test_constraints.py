"""What authors say inside a step of where values lie: kept from both of JAX's spellings, binding, and without effect on numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import HERE, refused, succeed
from safetensors.numpy import load_file, save_file
from test_ranks import CPU

MESH = "--mesh=data=2,model=2"
SPELLINGS = ["sdy", "mhlo"]


@pytest.fixture(scope="session")
def constrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the steps."""
    folder = tmp_path_factory.mktemp("constrained")
    subprocess.run([sys.executable, HERE / "constrained_steps.py", folder], check=True, capture_output=True)
    return folder


def results(file: Path, inputs: Path, *options: object) -> dict[str, np.ndarray]:
    """Those of one step."""
    outputs = file.with_suffix(".outputs")
    succeed("run", file, *options, "--steps=1", f"--inputs={inputs}", f"--outputs={outputs}")
    return load_file(outputs)


def expect_equal(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], rtol: float = 2e-5) -> None:
    """Up to the order of sums."""
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=rtol / 10, err_msg=name)


def parts_of(step: Path, folder: Path, *options: object) -> tuple[str, dict[str, Any]]:
    """What each rank runs, and what the stage that cuts says of it."""
    report = folder / "report.json"
    succeed("compile", step, MESH, *options, CPU, "--verify-forms", "--compile-to=shard", "-o", folder / "parts.mlir", f"--report={report}")
    (shard,) = [stage for stage in json.loads(report.read_text())["stages"] if stage["stage"] == "shard"]
    return (folder / "parts.mlir").read_text(), shard


def layouts_in(parts: str) -> list[tuple[str, str]]:
    """Of arguments and results, by name."""
    return [(name, layout) for layout, name in re.findall(r'step\.layout = "([^"]*)", step\.name = "([^"]*)"', parts)]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("sharding", ["solve", "propagate"])
@pytest.mark.parametrize("name", ["layers", "rounds"])
def test_numbers(constrained: Path, tmp_path: Path, name: str, sharding: str, spelling: str) -> None:
    """Four ranks compute what JAX and one rank do; the checker has found every value where its constraint says."""
    step, inputs = constrained / f"{name}.{spelling}.mlir", constrained / f"{name}.inputs"
    expected = load_file(constrained / f"{name}.expected")
    succeed("compile", step, CPU, "-o", tmp_path / "whole.tenon")
    expect_equal(results(tmp_path / "whole.tenon", inputs), expected)
    succeed("compile", step, MESH, f"--sharding={sharding}", "--verify-forms", CPU, "-o", tmp_path / "parts.tenon")
    expect_equal(results(tmp_path / "parts.tenon", inputs, "--ranks=4"), expected)
    succeed("verify", tmp_path / "parts.tenon")


@pytest.mark.parametrize("sharding", ["solve", "propagate"])
@pytest.mark.parametrize("name", ["layers", "rounds"])
def test_spellings_say_the_same(constrained: Path, tmp_path: Path, name: str, sharding: str) -> None:
    """Layouts and collectives are the same."""
    (new, newly), (old, formerly) = (
        parts_of(constrained / f"{name}.{spelling}.mlir", tmp_path, f"--sharding={sharding}") for spelling in SPELLINGS
    )
    assert layouts_in(new) == layouts_in(old)
    assert newly["collectives"] == formerly["collectives"]


def test_constraints_bind(constrained: Path, tmp_path: Path) -> None:
    """A step that is quickest with no exchange at all exchanges what its author wants cut; `?` leaves the choice."""
    _, free = parts_of(constrained / "free_layers.sdy.mlir", tmp_path)
    assert free["collectives"] == {}
    parts, bound = parts_of(constrained / "layers.sdy.mlir", tmp_path)
    assert bound["collectives"]
    assert "stablehlo.tanh" in parts and "tensor<8x4xf32>" in parts
    assert bound["communication_seconds"] > free["communication_seconds"]


def test_constraints_alone_are_propagated(constrained: Path, tmp_path: Path) -> None:
    """Rows of the batch, and columns and rows of the parameters, follow from what is said of activations."""
    parts, _ = parts_of(constrained / "layers.sdy.mlir", tmp_path, "--sharding=propagate")
    parameters = [("w1", "[-, model]"), ("w2", "[model, -]")]
    assert layouts_in(parts) == [*parameters, ("x", "[data, -]"), ("y", "[data, -]"), *parameters, ("loss", "[]")]


def test_formats_go_through_constraints(constrained: Path, tmp_path: Path) -> None:
    """A constraint moves no bits: in bf16, too, the ranks compute what one rank does."""
    step, inputs = constrained / "layers.sdy.mlir", constrained / "layers.inputs"
    succeed("compile", step, CPU, "--precision=bf16", "-o", tmp_path / "whole.tenon")
    succeed("compile", step, MESH, CPU, "--precision=bf16", "--verify-forms", "-o", tmp_path / "parts.tenon")
    one = results(tmp_path / "whole.tenon", inputs)
    expect_equal(results(tmp_path / "parts.tenon", inputs, "--ranks=4"), one, rtol=2e-2)


def test_budgets_go_with_constraints(constrained: Path, tmp_path: Path) -> None:
    """Choices within a budget bind them as well."""
    step, inputs = constrained / "layers.sdy.mlir", constrained / "layers.inputs"
    succeed("compile", step, MESH, CPU, "--memory-budget=64KiB", "--verify-forms", "-o", tmp_path / "parts.tenon")
    expect_equal(results(tmp_path / "parts.tenon", inputs, "--ranks=4"), load_file(constrained / "layers.expected"))


def test_other_axes_are_refused(constrained: Path, tmp_path: Path) -> None:
    """The error names the axis, the mesh, and the line of the author's program."""
    said = refused(1, "compile", constrained / "layers.sdy.mlir", "--mesh=x=2,y=2", CPU, "-o", tmp_path / "x.tenon")
    assert "'step.sharding_constraint' op is cut along axis 'data' of size 2, and the mesh is x=2,y=2" in said
    assert "constrained_steps.py" in said
    said = refused(1, "compile", constrained / "layers.mhlo.mlir", "--mesh=x=2", CPU, "-o", tmp_path / "x.tenon")
    assert "which is for 4 devices, and the mesh x=2 has 2" in said


def test_texts_without_constraints_are_refused(constrained: Path, tmp_path: Path) -> None:
    """A text that was imported for one device has none left, and a mesh for it is an error, not another layout."""
    text = tmp_path / "imported.mlir"
    succeed("compile", constrained / "layers.sdy.mlir", CPU, "--compile-to=import", "-o", text)
    assert "sharding_constraint" not in text.read_text().split("#loc")[0]
    said = refused(1, "compile", text, "--compile-from=import", MESH, "-o", tmp_path / "x.tenon")
    assert "the step had 4 sharding constraints inside, which the stage import dropped" in said
    succeed("compile", text, "--compile-from=import", "-o", tmp_path / "x.tenon")


def test_texts_with_constraints_go_on(constrained: Path, tmp_path: Path) -> None:
    """A text for a mesh keeps them, and goes on for the mesh or for one device."""
    text, inputs = tmp_path / "imported.mlir", constrained / "layers.inputs"
    succeed("compile", constrained / "layers.sdy.mlir", CPU, MESH, "--compile-to=simplify", "-o", text)
    assert text.read_text().count("step.sharding_constraint") == 4
    expected = load_file(constrained / "layers.expected")
    succeed("compile", text, "--compile-from=simplify", MESH, "-o", tmp_path / "parts.tenon")
    expect_equal(results(tmp_path / "parts.tenon", inputs, "--ranks=4"), expected)
    succeed("compile", text, "--compile-from=simplify", "-o", tmp_path / "whole.tenon")
    expect_equal(results(tmp_path / "whole.tenon", inputs), expected)


@pytest.mark.parametrize("sharding", ["solve", "propagate"])
def test_parts_of_an_axis(tmp_path: Path, sharding: str) -> None:
    """A dimension is cut by the middle of an axis, as an author asks, where no choice would do so; dimensions of other sizes are uneven."""
    text = tmp_path / "step.mlir"
    text.write_text("""
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<6x10xf32>, %w: tensor<10x7xf32>) -> (tensor<6x7xf32>, tensor<6xf32>) {
  %0 = stablehlo.tanh %x : tensor<6x10xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x":(2)2}, {"x":(1)2, ?}]> : tensor<6x10xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<6x10xf32>, tensor<10x7xf32>) -> tensor<6x7xf32>
  %cst = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<6x10xf32>, tensor<f32>) -> tensor<6xf32>
  %4 = sdy.sharding_constraint %3 <@mesh, [{"x":(4)2}]> : tensor<6xf32>
  return %2, %4 : tensor<6x7xf32>, tensor<6xf32>
}
""")
    random = np.random.default_rng(0)
    x, w = random.normal(size=(6, 10)).astype(np.float32), random.normal(size=(10, 7)).astype(np.float32)
    save_file({"arg0": x, "arg1": w}, tmp_path / "inputs")
    succeed("compile", text, "--mesh=x=8", f"--sharding={sharding}", "--verify-forms", CPU, "-o", tmp_path / "parts.tenon")
    expected = {"result0": np.tanh(x) @ w, "result1": np.tanh(x).sum(axis=1)}
    expect_equal(results(tmp_path / "parts.tenon", tmp_path / "inputs", "--ranks=8"), expected)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_xla_is_told(constrained: Path, tmp_path: Path, spelling: str) -> None:
    """In text for XLA all constraints stand as those of Shardy."""
    text = tmp_path / "step.mlir"
    succeed("compile", constrained / f"layers.{spelling}.mlir", MESH, "--target=stablehlo", "-o", text)
    written = text.read_text()
    assert written.count("sdy.sharding_constraint") >= 4
    assert '<@mesh, [{"data"}, {"model"}]>' in written
    assert "step." not in written.split("#loc")[0]
