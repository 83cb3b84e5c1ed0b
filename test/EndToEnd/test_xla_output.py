"""Steps that leave as StableHLO: XLA, here the CPU client in jaxlib, accepts, compiles and runs them like the original."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import xla
from conftest import NAMES, Steps, refused, run, succeed
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir


def generic_form(text: str) -> str:
    """What jaxlib's printer makes of a module, so that spelling does not matter."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        assert module.operation.verify()
        return module.operation.get_asm(print_generic_op_form=True)


def exported(source: Path, scratch: Path, *options: object) -> str:
    """The text that leaves."""
    succeed("compile", source, "--target=stablehlo", "-o", scratch / "out.mlir", *options)
    return (scratch / "out.mlir").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_planned_is_unchanged(models: Steps, tmp_path: Path, name: str) -> None:
    """Without a budget the module that leaves is the one that came, signature, attributes and all, in both spellings."""
    original = (models.folder / f"{name}.mlir").read_text()
    expected = generic_form(original)
    assert generic_form(exported(models.folder / f"{name}.mlir", tmp_path)) == expected
    text = exported(models.folder / f"{name}.mlir", tmp_path, "--generic")
    assert generic_form(text) == expected
    assert '"stablehlo.' in text and " stablehlo." not in text


@pytest.mark.parametrize("name", NAMES)
def test_steps_run_beside_the_original(models: Steps, tmp_path: Path, name: str) -> None:
    """Five steps in XLA, in one process: equal bits in every result."""
    info = json.loads((models.folder / f"{name}.json").read_text())
    first = xla.XlaStep((models.folder / f"{name}.mlir").read_text())
    second = xla.XlaStep(exported(models.folder / f"{name}.mlir", tmp_path))
    (expected, losses), (found, found_losses) = xla.run(first, info), xla.run(second, info)
    assert losses == found_losses
    assert [value.tobytes() for value in found] == [value.tobytes() for value in expected]
    assert second.temporary_bytes == first.temporary_bytes


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    """The programs for eight devices."""
    result = Steps(tmp_path_factory.mktemp("sharded"))
    result.export("15_chargpt_sharded", "16_shard_map_mlp", small=False)
    return result


@pytest.mark.parametrize("name", ["15_chargpt_sharded", "16_shard_map_mlp"])
def test_eight_devices(sharded: Steps, tmp_path: Path, name: str) -> None:
    """Shardings and collectives leave as they came, and eight devices run the step alike."""
    source = sharded.folder / f"{name}.mlir"
    text = exported(source, tmp_path)
    assert generic_form(text) == generic_form(source.read_text())
    assert "sdy.mesh" in text and "mhlo.sharding" not in text
    environment = dict(os.environ, XLA_FLAGS="--xla_force_host_platform_device_count=8")
    command = [sys.executable, xla.__file__, source, tmp_path / "out.mlir", sharded.folder / f"{name}.json", "--devices=8"]
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, check=False)
    assert process.returncode == 0, process.stderr[-3000:]
    shown = json.loads(process.stdout)
    assert shown["losses"][0] == shown["losses"][1] and shown["results"] > 0
    assert shown["differ"] == 0


UNKNOWN = """
module @later attributes {future.flag = 3 : i32} {
  func.func public @main(%arg0: tensor<4xf32> {jax.buffer_donor = true, mhlo.memory_kind = "device"}, %arg1: tensor<2xf32>)
      -> (tensor<4xf32> {jax.result_info = "result[0]", mhlo.layout_mode = "default"}) {
    %0 = "future.scramble"(%arg0) {seed = 7 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    "future.record"(%arg0) : (tensor<4xf32>) -> ()
    %1 = "stablehlo.newer_than_this"(%0) {mode = "x"} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "future.scramble"(%1) {mhlo.frontend_attributes = {a = "b"}} : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
"""


def test_unknown_operations_stay(tmp_path: Path) -> None:
    """What Tenon does not understand is kept in place and reported; only native targets refuse it."""
    (tmp_path / "in.mlir").write_text(UNKNOWN)
    outcome = run("compile", tmp_path / "in.mlir", "--target=stablehlo", "-o", tmp_path / "out.mlir")
    assert outcome.code == 0
    for name in ("future.scramble", "future.record", "stablehlo.newer_than_this"):
        assert f"operation '{name}' is not understood; it is kept as it is" in outcome.errors
    text = (tmp_path / "out.mlir").read_text()
    assert re.findall(r'"(\w+\.\w+)"\(', text) == re.findall(r'"(\w+\.\w+)"\(', UNKNOWN)
    for attribute in ("future.flag = 3", "jax.buffer_donor = true", 'mhlo.memory_kind = "device"', "seed = 7",
                      'jax.result_info = "result[0]"', 'mhlo.layout_mode = "default"', 'a = "b"'):  # fmt: skip
        assert attribute in text
    assert "unknown operation 'future.scramble', used 2 times" in refused(1, "compile", tmp_path / "in.mlir", "-o", tmp_path / "x")


def test_long_booleans_are_spelled_out(tmp_path: Path) -> None:
    """Versions of MLIR do not agree on how booleans are packed into a string of bytes, so there is none."""
    bits = [bool(i % 3 == 0) for i in range(200)]
    words = ", ".join(str(bit).lower() for bit in bits)
    (tmp_path / "in.mlir").write_text(f"""func.func public @main() -> tensor<200xi1> {{
      %0 = stablehlo.constant dense<[{words}]> : tensor<200xi1>
      return %0 : tensor<200xi1>
    }}""")
    text = exported(tmp_path / "in.mlir", tmp_path)
    assert 'dense<"0x' not in text
    assert xla.XlaStep(text).call([])[0].tolist() == bits


@pytest.mark.parametrize("option", ["--cpu=x86-64-v3", "--fuse", "--compile-to=plan", "--roles=x", "--machine=x"])
def test_native_options_are_refused(tmp_path: Path, option: str) -> None:
    """Options that mean nothing to XLA are mistakes, and so is --generic for the CPU."""
    (tmp_path / "in.mlir").write_text(UNKNOWN)
    said = refused(2, "compile", tmp_path / "in.mlir", "--target=stablehlo", option, "-o", tmp_path / "out.mlir")
    assert option.partition("=")[0] in said
    refused(2, "compile", tmp_path / "in.mlir", "--generic", "-o", tmp_path / "out.tenon")
