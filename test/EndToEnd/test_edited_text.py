"""Texts between stages that a user edited: what is no longer in form is an error, never a crash or a silent answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import refused, run, succeed

STAGES = ["import", "simplify", "precision", "group", "plan", "lower", "codegen"]

# Products that are wide enough to be calls of a library.
STEP = """
module @step {
  func.func @main(%w: tensor<96x96xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<32x96xf32>)
      -> (tensor<96x96xf32> {jax.result_info = "result[0]['w']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %loop:2 = stablehlo.while(%k = %i, %v = %x) : tensor<i32>, tensor<32x96xf32>
    cond {
      %more = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %k, %one : tensor<i32>
      %d = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0] : (tensor<32x96xf32>, tensor<96x96xf32>) -> tensor<32x96xf32>
      %t = stablehlo.tanh %d : tensor<32x96xf32>
      stablehlo.return %next, %t : tensor<i32>, tensor<32x96xf32>
    }
    %square = stablehlo.multiply %loop#1, %loop#1 : tensor<32x96xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<32x96xf32>, tensor<f32>) -> tensor<f32>
    %g = stablehlo.dot_general %x, %square, contracting_dims = [0] x [0] : (tensor<32x96xf32>, tensor<32x96xf32>) -> tensor<96x96xf32>
    %new = stablehlo.subtract %w, %g : tensor<96x96xf32>
    return %new, %loss : tensor<96x96xf32>, tensor<f32>
  }
}
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The text after each stage, with everything that a budget adds."""
    folder = tmp_path_factory.mktemp("edited")
    (folder / "step.mlir").write_text(STEP)
    found = {}
    for stage in STAGES:
        path = folder / f"{stage}.mlir"
        succeed("compile", folder / "step.mlir", "--memory-budget=1MiB", f"--compile-to={stage}", "-o", path)
        found[stage] = path.read_text()
    return found


def end_of_value(text: str, start: int) -> int:
    """Where the attribute that begins at `start` ends: at the first comma or closing bracket that is its neighbour's."""
    depth, at, quoted = 0, start, False
    while True:
        letter = text[at]
        if quoted:
            at += letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "[{(<":
            depth += 1
        elif letter in "]})>":
            if depth == 0:
                return at
            depth -= 1
        elif letter == "," and depth == 0:
            return at
        at += 1


def edits(text: str) -> Iterator[tuple[str, str]]:
    """Texts of which the first attribute of each name holds something else, or is gone."""
    seen = set()
    for match in re.finditer(r"\b((?:step|exec)\.[a-z_]+) = ", text):
        if match[1] in seen:
            continue
        seen.add(match[1])
        end = end_of_value(text, match.end())
        for value in ('"x"', "-1 : i64", "[{}]", "array<i64: -1, 9223372036854775807>"):
            yield f"{match[1]} = {value}", text[: match.end()] + value + text[end:]
        # Another name that no dialect knows is the same as leaving it out.
        yield f"without {match[1]}", text[: match.start()] + f'"edited.{match[1]}"' + text[match.end() - 3 :]


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage not in ("simplify", "precision")])  # whose form is that of import
def test_edited_attributes(texts: dict[str, str], stage: str, tmp_path: Path) -> None:
    """Whatever stands in place of an attribute: the file is made, or an error says why not."""
    source, output, count = tmp_path / "edited.mlir", tmp_path / "edited.tenon", 0
    for what, text in edits(texts[stage]):
        source.write_text(text)
        output.unlink(missing_ok=True)
        outcome = run("compile", source, f"--compile-from={stage}", "-o", output)
        assert outcome.code in (0, 1), (what, outcome)
        assert outcome.code == 0 or "error: " in outcome.errors, (what, outcome)
        assert output.exists() == (outcome.code == 0), what
        if outcome.code == 0:  # and what is made can be loaded
            succeed("inspect", output)
        count += 1
    assert count >= 20


def test_malformed_figures(texts: dict[str, str], tmp_path: Path) -> None:
    """The figures of the plan that keeps everything are named with what they should be."""
    source = tmp_path / "figures.mlir"
    for value in ('"x"', "{}", "{bytes = 1 : i64}", "{bytes = -5 : i64, nanoseconds = -7 : i64}"):
        source.write_text(texts["group"].replace("step.flops", f"step.keeping_everything = {value}, step.flops", 1))
        said = refused(1, "compile", source, "--compile-from=group", "-o", tmp_path / "x.tenon")
        assert f"'step.keeping_everything' is {value}, expected {{bytes, nanoseconds}}" in said


def test_library_descriptions(texts: dict[str, str], tmp_path: Path) -> None:
    """A description that is one, but not that of its group or its slices, is refused by the compiler, not by who loads the file."""
    source = tmp_path / "described.mlir"

    def edited(stage: str, old: str, new: str) -> str:
        assert old in texts[stage], (stage, old)
        source.write_text(texts[stage].replace(old, new))
        return refused(1, "compile", source, f"--compile-from={stage}", "-o", tmp_path / "x.tenon")

    for stage in ("group", "plan"):
        said = edited(stage, "k = 32 : i64", "k = 31 : i64")
        assert "step.mlir:22:" in said  # where the dot stands in the user's text
        assert "'step.group' op has 'exec.library' with k = 31 : i64, but its operations need k = 32 : i64; correct the entry" in said
    for stage in ("lower", "codegen"):
        said = edited(stage, "lhs_stride_k = 96 : i64", "lhs_stride_k = 97 : i64")
        assert "step.mlir:22:" in said
        assert "'exec.invoke' op passes 'memref<32x96xf32>' as argument #0, 12288 bytes, of which 'library_1' uses 12412" in said
        said = edited(stage, 'epilogue = "none"', 'epilogue = "bias"')
        assert re.search(r"'exec.invoke' op passes 4 slices, 'library_\d' takes 5", said), said


def test_workspace_of_a_library(tmp_path: Path) -> None:
    """A workspace that is smaller than what the library needs is refused where the file is made."""
    (tmp_path / "step.mlir").write_text("""
        func.func @main(%w: tensor<3x3x8x16xf32>, %x: tensor<4x16x16x8xf32>) -> tensor<4x16x16x16xf32> {
          %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
            {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<4x16x16x8xf32>, tensor<3x3x8x16xf32>) -> tensor<4x16x16x16xf32>
          return %y : tensor<4x16x16x16xf32>
        }""")
    source = tmp_path / "lowered.mlir"
    succeed("compile", tmp_path / "step.mlir", "--compile-to=lower", "-o", source)
    text = source.read_text()
    needed = re.search(r"} workspace (\d+)", text)
    assert needed and int(needed[1]) > 64
    # The call and its slice agree with the description; only the library knows better.
    source.write_text(text.replace(f"workspace {needed[1]}", "workspace 64").replace(f"memref<{needed[1]}xi8>", "memref<64xi8>"))
    said = refused(1, "compile", source, "--compile-from=lower", "-o", tmp_path / "x.tenon")
    assert f"'exec.library' op gives its call 64 bytes of workspace, the library needs {needed[1]}" in said


def test_no_main(texts: dict[str, str], tmp_path: Path) -> None:
    """A text without a step is refused with what is missing."""
    source = tmp_path / "empty.mlir"
    source.write_text("module {\n}\n")
    for stage in STAGES:
        said = refused(1, "compile", source, f"--compile-from={stage}", "--memory-budget=1MiB", "-o", tmp_path / "x.tenon")
        assert "@main" in said or "a program in exec form" in said


def test_first_stage_behind_the_last(texts: dict[str, str], tmp_path: Path) -> None:
    """A compilation does not run past the stage it was told to end at."""
    source, output = tmp_path / "grouped.mlir", tmp_path / "out.mlir"
    source.write_text(texts["group"])
    said = refused(2, "compile", source, "--compile-from=group", "--compile-to=simplify", "-o", output)
    assert "--compile-from=group begins behind the last stage, simplify" in said
    assert not output.exists()
    succeed("compile", source, "--compile-from=group", "--compile-to=group", "-o", output)
    assert "step.group" in output.read_text() and "exec.program" not in output.read_text()


def test_problem_that_cannot_be_written(tmp_path: Path) -> None:
    """A problem that was asked for and not written is an error."""
    (tmp_path / "step.mlir").write_text(STEP)
    (tmp_path / "problems" / "offset-packing.csv").mkdir(parents=True)
    said = refused(1, "plan", tmp_path / "step.mlir", "--dump-problems", tmp_path / "problems")
    assert "cannot write" in said and "offset-packing.csv" in said


def test_attributes_of_later_stages(tmp_path: Path) -> None:
    """An exported module that holds what only later stages write is compiled as if it did not, or refused."""
    source = tmp_path / "step.mlir"
    source.write_text(STEP.replace("module @step {", "module @step attributes {step.expectations = [{}]} {"))
    succeed("compile", source, "-o", tmp_path / "step.tenon")
    source.write_text("""
        module attributes {step.expectations = [{}]} {
          func.func @main() {
            %0 = stablehlo.constant dense<1> : tensor<i32>
            check.expect_eq_const %0, dense<1> : tensor<i32>
            return
          }
        }""")
    succeed("run", source)
    source.write_text(STEP.replace("module @step {", 'module @step attributes {step.segment_bytes = "none"} {'))
    assert "'step.segment_bytes' is \"none\"" in refused(1, "compile", source, "-o", tmp_path / "step.tenon")
