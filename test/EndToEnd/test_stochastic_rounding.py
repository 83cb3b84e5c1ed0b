"""State held in bf16 and rounded by chance: the compiled operation against a model, and steps that are trained so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import IN_BF16, Steps, compiled, refused, succeed
from safetensors.numpy import load_file, save_file
from test_precision import check_same_bits, deviation, passed, run, segments

Words = np.ndarray
KEY = (123456789, 3987654321)


def mixing_round(x: Words, round: int) -> Words:
    shift, factor = ((17, 0xED5AD4BB), (11, 0xAC4C1B51), (15, 0x31848BAB))[round]
    return (x ^ (x >> np.uint32(shift))) * np.uint32(factor)


def mixed(x: int) -> int:
    words = np.array([x], np.uint32)
    for round in range(3):
        words = mixing_round(words, round)
    return int((words ^ (words >> np.uint32(14)))[0])


def random_bits(shape: tuple[int, ...], step: int) -> Words:
    """The 16 random bits of each element, as the description of `step.stochastic_round` says."""
    first = mixed(KEY[0] ^ step)
    second = mixed(KEY[1] ^ first)
    index = np.arange(int(np.prod(shape)), dtype=np.uint32).reshape(shape)
    x = mixing_round(index ^ np.uint32(first), 0) + np.uint32(second)
    return mixing_round(mixing_round(x, 1), 2) >> np.uint32(16)


def rounded(values: np.ndarray, step: int, flush: bool) -> np.ndarray:
    """The bits of bf16 to which f32 is rounded."""
    bits = values.view(np.uint32).copy()
    magnitude = bits & np.uint32(0x7FFFFFFF)
    if flush:
        bits = np.where(magnitude < 0x00800000, bits & np.uint32(0x80000000), bits)
    added = np.where(magnitude > 0x7F7F0000, np.uint32(0x8000), random_bits(values.shape, step))
    total = np.where(magnitude > 0x7F800000, bits | np.uint32(0x00400000), bits + added)
    return (total >> np.uint32(16)).astype(np.uint16)


ROUND = """
func.func @main(
    %x: tensor<ROWSx32xf32> {step.aliases = [], step.name = "x", step.role = #step.role<batch>, step.role_reason = ""},
    %n: tensor<ui32> {step.aliases = [], step.name = "n", step.role = #step.role<batch>, step.role_reason = ""})
    -> (tensor<ROWSx32xbf16> {step.aliases = [], step.name = "y"}, tensor<32xROWSxbf16> {step.aliases = [], step.name = "t"}) {
  %key = stablehlo.constant dense<[123456789, 3987654321]> : tensor<2xui32>
  %0 = step.stochastic_round %x, %n, %key : (tensor<ROWSx32xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<ROWSx32xbf16>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<ROWSx32xf32>) -> tensor<32xROWSxf32>
  %2 = step.stochastic_round %1, %n, %key : (tensor<32xROWSxf32>, tensor<ui32>, tensor<2xui32>) -> tensor<32xROWSxbf16>
  return %0, %2 : tensor<ROWSx32xbf16>, tensor<32xROWSxbf16>
}
"""
LOWS = (0x0000, 0x0001, 0x0100, 0x4000, 0x7FFF, 0x8000, 0x8001, 0xFFFF)


def patterns(every: int) -> np.ndarray:
    """Every upper half of an f32 with some lower halves; of all upper halves each of that number."""
    high = np.arange(0, 0x10000, every, dtype=np.uint32)
    return np.ascontiguousarray((high[:, None] << np.uint32(16) | np.array(LOWS, np.uint32)).reshape(-1, 32)).view(np.float32)


def same_numbers(bits: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the bits of bf16 are equal, where they are no NaN in both."""
    is_nan = [(each & 0x7FFF) > 0x7F80 for each in (bits, expected)]
    return bool(np.array_equal(*is_nan) and np.array_equal(bits[~is_nan[0]], expected[~is_nan[0]]))


@pytest.mark.parametrize("subnormals", ["flush", "keep"])
def test_rounds_all_patterns(subnormals: str, tmp_path: Path) -> None:
    """What is compiled, alone and with others, expanded to plain operations, and interpreted, has the bits of the model."""
    flush = subnormals == "flush"
    expanded = f"--precision-expand-stochastic-rounding=flush-subnormals={str(flush).lower()}"
    inputs, program = tmp_path / "in.safetensors", tmp_path / "round.tenon"
    for every, step, passes, options in (
        (1, 7, (), ()),
        (1, 2**32 - 1, (), ("--fuse=false", "--cpu=x86-64-v3")),
        (1, 7, (expanded,), ()),
        (64, 7, (), ("--reference",)),
    ):
        values = patterns(every)
        expected = {"y": rounded(values, step, flush), "t": rounded(np.ascontiguousarray(values.T), step, flush)}
        save_file({"x": values, "n": np.array(step, np.uint32)}, inputs)
        text = passed(ROUND.replace("ROWS", str(len(values))), tmp_path, *passes)
        if options == ("--reference",):
            runs = [(text, ("--reference", f"--subnormals={subnormals}"))]
        else:
            succeed("compile", text, "--compile-from=precision", f"--subnormals={subnormals}", *options, "-o", program)
            runs = [(program, ()), (program, ("--threads=1",))]
        for source, given in runs:
            outputs = tmp_path / "out.safetensors"
            succeed("run", source, "--inputs", inputs, "--outputs", outputs, "--steps", 1, *given)
            found = list(load_file(outputs).values())
            found = {"y" if x.shape == expected["y"].shape else "t": x.view(np.uint16) for x in found}
            assert all(same_numbers(found[name], expected[name]) for name in expected), (passes, options)


MOVE = """
func.func public @main(%state: tensor<4096xf32> loc("params.w"), %by: tensor<f32> loc("by"))
    -> (tensor<4096xf32> {jax.result_info = "params.w"}) {
  %0 = stablehlo.broadcast_in_dim %by, dims = [] : (tensor<f32>) -> tensor<4096xf32>
  %1 = stablehlo.add %state, %0 : tensor<4096xf32>
  return %1 : tensor<4096xf32>
}
"""


@pytest.mark.parametrize(("start", "by"), [(4096.0, 1.0), (-4096.0, -1.0), (1.0, 2.0**-13), (1.0, -(2.0**-15))])
def test_small_updates_move_the_mean(start: float, by: float, tmp_path: Path) -> None:
    """Updates far below the last place, which rounding to nearest loses, move the mean of a tensor as they should."""
    step, program, inputs, state = (tmp_path / name for name in ("move.mlir", "move.tenon", "in.safetensors", "state.safetensors"))
    step.write_text(MOVE)
    succeed("compile", step, "--precision=bf16-state", "-o", program)
    save_file({"params.w": np.full(4096, start, np.float32), "by": np.array(by, np.float32)}, inputs)
    steps = 64
    succeed("run", program, "--inputs", inputs, "--steps", steps, "--save", state)
    moved = load_file(state)["params.w"].astype(np.float64) - start
    # Each step rounds up or down at the share |by| of the way, the variance of which is at most that share.
    unit = 2.0 ** (np.floor(np.log2(abs(start))) - 7)
    share = abs(by) / unit
    assert share < 0.5
    assert abs(moved.mean() - steps * by) < 4 * unit * np.sqrt(steps * share / moved.size)
    assert len(np.unique(moved)) > 1


@pytest.mark.parametrize("name", ["01_mlp", "04_chargpt"])
def test_trains_like_f32(steps: Steps, name: str, tmp_path: Path) -> None:
    """The losses of ten steps are those of f32 up to the digits of bf16; users see f32; the state takes half the bytes."""
    step = steps[name]
    lowered = compiled(step.text, "--precision=bf16-state", *IN_BF16)
    succeed("verify", lowered.output)
    assert lowered.stages["precision"]["held_in_bf16"] and not lowered.stages["precision"]["held_in_parts"]
    wide, expected = run(step.compiled, step.inputs, tmp_path, steps=10)
    narrow, values = run(lowered.output, step.inputs, tmp_path, steps=10)
    np.testing.assert_allclose(narrow, wide, rtol=0, atol=2**-8 * wide[0])
    assert {name: (x.dtype, x.shape) for name, x in values.items()} == {name: (x.dtype, x.shape) for name, x in expected.items()}
    bytes_of = [{row["name"]: row["bytes"] for row in segments(file)} for file in (lowered.output, step.compiled)]
    assert bytes_of[0]["state"] < 0.51 * bytes_of[1]["state"]
    assert bytes_of[0]["temporaries"] <= bytes_of[1]["temporaries"]


def test_compiled_as_interpreted(steps: Steps, tmp_path: Path) -> None:
    """One step of the compiled program is the interpreted lowered text's; sums in another order round a few elements apart."""
    step = steps["01_mlp"]
    text = compiled(step.text, "--precision=bf16-state", "--compile-to=precision").output
    program = compiled(step.text, "--precision=bf16-state").output
    _, expected = run(text, step.inputs, tmp_path, "--reference")
    _, values = run(program, step.inputs, tmp_path)
    floats = [name for name, x in expected.items() if x.dtype == np.float32]
    assert deviation(values, expected, floats) < 2**-8
    for name in floats:
        assert np.mean(values[name] != expected[name]) < 0.05 or values[name].size == 1


def test_same_bits(steps: Steps, tmp_path: Path) -> None:
    """Threads, a budget, no fusion and a resumed run change no bit; another seed does, and so does another step."""
    step = steps["01_mlp"]
    expected, held = check_same_bits(step, "--precision=bf16-state", 1, tmp_path)
    assert held["__tenon__.rounding_step"] == 2
    narrow = compiled(step.text, "--precision=bf16-state").stages["precision"]["held_in_bf16"]
    assert all((held[name].view(np.uint32) & 0xFFFF == 0).all() and held[name].dtype == np.float32 for name in narrow)
    seeded = compiled(step.text, "--precision=bf16-state", "--rounding-seed=18446744073709551615").output
    _, values = run(seeded, step.inputs, tmp_path, steps=4)
    assert any((values[name] != expected[name]).any() for name in expected)


def test_options(steps: Steps, tmp_path: Path) -> None:
    """A text between stages says the policy and the seed; a seed alone is refused; a policy keeps an argument f32."""
    step, text, policy = steps["01_mlp"], tmp_path / "text.mlir", tmp_path / "policy.json"
    options = ("--precision=bf16-state", "--rounding-seed=5")
    whole, resumed = tmp_path / "whole.tenon", tmp_path / "resumed.tenon"
    succeed("compile", step.text, *options, "-o", whole)
    for stage in ("simplify", "precision", "group"):
        succeed("compile", step.text, *options, f"--compile-to={stage}", "-o", text)
        assert 'precision = "bf16-state"' in text.read_text() and "rounding_seed = 5" in text.read_text()
        succeed("compile", text, f"--compile-from={stage}", "-o", resumed)
        assert resumed.read_bytes() == whole.read_bytes()
    assert "--precision=bf16-state" in refused(2, "compile", step.text, "--rounding-seed=5", "-o", whole)
    refused(2, "compile", step.text, "--precision=bf16-state", "--rounding-seed=-1", "-o", whole)
    policy.write_text('{"arguments": {"params.l1.kernel": "f32"}}')
    kept = compiled(step.text, "--precision=bf16-state", f"--precision-policy={policy}").stages["precision"]["held_in_bf16"]
    assert "params.l1.kernel" not in kept and "params.l2.kernel" in kept
