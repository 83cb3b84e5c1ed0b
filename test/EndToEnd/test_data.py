"""Data of a run: samples from files of every format, tokens, the order of samples, epochs, and what is refused before the first step."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, refused, succeed
from safetensors.numpy import save_file
from throttled import dots, waited

ROWS = 4
# Four samples a step. Result i is x[i] * 1000 + y[i], so that it shows which x met which y.
SAMPLES = """module @step {
  func.func public @main(%arg0: tensor<1xf32> {tf.aliasing_output = 0 : i32} loc("w"), %arg1: tensor<4x1xf32> loc("x"),
      %arg2: tensor<4xf32> loc("y"))
      -> (tensor<1xf32> {jax.result_info = "result['w']"}, RESULTS) {
    %thousand = stablehlo.constant dense<1.000000e+03> : tensor<4xf32>
    %flat = stablehlo.reshape %arg1 : (tensor<4x1xf32>) -> tensor<4xf32>
    %large = stablehlo.multiply %flat, %thousand : tensor<4xf32>
    %pair = stablehlo.add %large, %arg2 : tensor<4xf32>
    SLICES
    %w = stablehlo.add %arg0, %first : tensor<1xf32>
    return %w, VALUES
  }
}
"""

# A window of three tokens: result i is input * 1000 + target of sample 0.
TOKENS = """module @step {
  func.func public @main(%arg0: tensor<1xi32> {tf.aliasing_output = 0 : i32} loc("w"), %arg1: tensor<2x3xi32> loc("ids"),
      %arg2: tensor<2x3xi32> loc("labels"))
      -> (tensor<1xi32> {jax.result_info = "result['w']"}, RESULTS) {
    %thousand = stablehlo.constant dense<1000> : tensor<2x3xi32>
    %large = stablehlo.multiply %arg1, %thousand : tensor<2x3xi32>
    %sum = stablehlo.add %large, %arg2 : tensor<2x3xi32>
    %pair = stablehlo.reshape %sum : (tensor<2x3xi32>) -> tensor<6xi32>
    SLICES
    %w = stablehlo.add %arg0, %first : tensor<1xi32>
    return %w, VALUES
  }
}
"""


def step_text(template: str, count: int, kind: str) -> str:
    """A step with one scalar result per element of %pair."""
    slices, first = [], ""
    for i in range(count):
        taken = f"stablehlo.slice %pair [{i}:{i + 1}] : (tensor<{count}x{kind}>) -> tensor<1x{kind}>"
        slices.append(f"%s{i} = {taken}\n    %v{i} = stablehlo.reshape %s{i} : (tensor<1x{kind}>) -> tensor<{kind}>")
        first = f"%first = {taken}"
    results = ", ".join(f"tensor<{kind}> {{jax.result_info = \"result['p{i}']\"}}" for i in range(count))
    values = ", ".join(f"%v{i}" for i in range(count)) + f" : tensor<1x{kind}>, " + ", ".join([f"tensor<{kind}>"] * count)
    return template.replace("RESULTS", results).replace("SLICES", "\n    ".join([*slices, first])).replace("VALUES", values)


def compiled_step(folder: Path, template: str, count: int, kind: str) -> Path:
    """The file, with start values beside it."""
    (folder / "step.mlir").write_text(step_text(template, count, kind))
    succeed("compile", folder / "step.mlir", "-o", folder / "step.tenon")
    save_file({"w": np.zeros(1, np.float32 if kind == "f32" else np.int32)}, folder / "start.safetensors")
    return folder / "step.tenon"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step that takes four samples."""
    return compiled_step(tmp_path_factory.mktemp("samples"), SAMPLES, ROWS, "f32")


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step that takes two windows of tokens."""
    return compiled_step(tmp_path_factory.mktemp("tokens"), TOKENS, 6, "i32")


def run(program: Path, scratch: Path, *options: object) -> list[list[int]]:
    """What every step of a run was given."""
    metrics = scratch / "metrics.csv"
    succeed("run", program, "--state", program.parent / "start.safetensors", "--metrics", metrics, *options)
    return [[int(float(field)) for field in line.split(",")[1:]] for line in metrics.read_text().splitlines()[1:]]


def refusal(program: Path, scratch: Path, *options: object, code: int = 1) -> str:
    """Why a run is refused; it must not have begun."""
    metrics = scratch / "never.csv"
    said = refused(code, "run", program, "--state", program.parent / "start.safetensors", "--metrics", metrics, "--steps=300", *options)
    assert not metrics.exists()
    return said


def samples(count: int, first: int = 0) -> dict[str, np.ndarray]:
    """Sample i has x = y = i."""
    numbers = np.arange(first, first + count, dtype=np.float32)
    return {"x": numbers[:, None], "y": numbers}


def in_order(*numbers: int) -> list[list[int]]:
    """What steps are given that take these samples."""
    return [[number * 1001 for number in numbers[i : i + ROWS]] for i in range(0, len(numbers), ROWS)]


def write(data: dict[str, np.ndarray], path: Path) -> Path:
    """A file by its ending, or with none a folder of .npy files."""
    if path.suffix == ".safetensors":
        save_file(data, path)
    elif path.suffix == ".npz":
        np.savez(path, **data)
    else:
        path.mkdir()
        for name, value in data.items():
            np.save(path / f"{name}.npy", value)
    return path


@pytest.mark.parametrize("name", ["data.safetensors", "data.npz", "data"])
def test_every_format_gives_the_same_samples(name: str, program: Path, tmp_path: Path) -> None:
    """The last samples that fill no batch are left out, which is said; then the data starts again."""
    data = write(samples(11), tmp_path / name)
    assert run(program, tmp_path, f"--batches=samples:{data}", "--steps=3") == in_order(*range(8), *range(4))
    said = succeed("run", program, "--state", program.parent / "start.safetensors", f"--batches=samples:{data}")
    assert "11 samples, 2 batches of 4 per epoch; each leaves out 3" in said
    assert "--remainder=drop leaves them out" in refusal(program, tmp_path, f"--batches=samples:{data}", "--remainder=error")
    write(samples(8), other := tmp_path / f"whole{name.removeprefix('data')}")
    assert run(program, tmp_path, f"--batches=samples:{other}", "--remainder=error", "--steps=2") == in_order(*range(8))


def test_batches_are_cut_across_files(program: Path, tmp_path: Path) -> None:
    """Files of a folder follow each other in natural order, as if they were one."""
    for kind in ("safetensors", "npz", "npy"):
        folder = tmp_path / kind
        folder.mkdir()
        for number, (first, count) in {1: (0, 3), 2: (3, 6), 10: (9, 7)}.items():
            data = samples(count, first)
            if kind == "npy":
                for name, value in data.items():
                    np.save(folder / f"{name}-{number:02}.npy", value)
            else:
                write(data, folder / f"part{number}.{kind}")
        for readers in (1, 3):
            given = run(program, tmp_path, f"--batches=samples:{folder}", "--epochs=2", f"--readers={readers}")
            assert given == in_order(*range(16), *range(16))


def test_names_are_mapped(program: Path, tmp_path: Path) -> None:
    """Under other names the files say nothing until --map does; a mapped tensor is taken for nothing else."""
    data = samples(8)
    path = write({"images": data["x"], "x": data["y"]}, tmp_path / "d.npz")
    said = refusal(program, tmp_path, f"--batches=samples:{path}")
    assert "'x' is f32[]" in said or "'x' without its leading sample dimension" in said
    given = run(program, tmp_path, f"--batches=samples:{path}", "--map=images=x", "--map=x=y", "--steps=2")
    assert given == in_order(*range(8))
    assert "no batch argument of the step; it takes 'x', 'y'" in refusal(program, tmp_path, f"--batches=samples:{path}", "--map=images=w")
    assert "holds no tensor 'pictures'" in refusal(program, tmp_path, f"--batches=samples:{path}", "--map=pictures=x")
    assert "both 'images' and 'x' to 'x'" in refusal(program, tmp_path, f"--batches=samples:{path}", "--map=images=x", "--map=x=x")
    write({"a": data["x"]}, tmp_path / "a.npz")
    said = refusal(program, tmp_path, f"--batches=samples:{tmp_path / 'a.npz'}")
    assert "the step takes 'x', 'y', the file has 'a'; say which is which with --map" in said


MASK = (1 << 64) - 1


def mixed(bits: int) -> int:
    """As docs/Forms.md writes it."""
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & MASK
    return bits ^ (bits >> 31)


def shuffled(count: int, seed: int, epoch: int) -> list[int]:
    """The order that docs/Forms.md describes."""
    golden = 0x9E3779B97F4A7C15
    state = mixed((mixed((seed + golden) & MASK) + epoch * golden) & MASK)
    keys = [mixed((state + i * golden) & MASK) for i in range(1, 13)]
    bits = max(6, (count - 1).bit_length())
    low_bits = bits // 2
    low_mask, high_mask = (1 << low_bits) - 1, (1 << (bits - low_bits)) - 1
    order = []
    for place in range(count):
        number = place
        while True:
            low, high = number & low_mask, number >> low_bits
            for i in range(0, 12, 2):
                high ^= mixed((low + keys[i]) & MASK) & high_mask
                low ^= mixed((high + keys[i + 1]) & MASK) & low_mask
            number = high << low_bits | low
            if number < count:
                break
        order.append(number)
    return order


def test_shuffle_is_the_documented_order(program: Path, tmp_path: Path) -> None:
    """Each epoch takes every sample at most once, in an order of its own that seed and epoch give."""
    count, epochs = 103, 3
    path = write(samples(count), tmp_path / "d.npz")
    given = run(program, tmp_path, f"--batches=samples:{path}", f"--epochs={epochs}", "--shuffle=7")
    expected = [shuffled(count, 7, epoch)[: count // ROWS * ROWS] for epoch in range(epochs)]
    assert given == [batch for order in expected for batch in in_order(*order)]
    assert len({tuple(order) for order in expected}) == epochs
    for epoch in range(epochs):
        assert sorted(shuffled(count, 7, epoch)) == list(range(count))
    other = run(program, tmp_path, f"--batches=samples:{path}", "--epochs=1", "--shuffle=8")
    assert other != given[: len(other)]
    # Steps are shuffled as whole batches.
    save_file({name: value.reshape(2, 4, *value.shape[1:]) for name, value in samples(8).items()}, tmp_path / "s.safetensors")
    steps = run(program, tmp_path, f"--batches=steps:{tmp_path / 's.safetensors'}", "--epochs=1", "--shuffle=7")
    assert sorted(steps) == in_order(*range(8))


def test_a_resumed_run_sees_the_same_samples(program: Path, tmp_path: Path) -> None:
    """In the middle of an epoch; and other data, or another order, is noted."""
    path = write(samples(103), tmp_path / "d.npz")
    options = [f"--batches=samples:{path}", "--shuffle=7", "--checkpoints", tmp_path / "c", "--resume"]
    whole = run(program, tmp_path, f"--batches=samples:{path}", "--shuffle=7", "--epochs=2")
    for until in (1, 24, 26, 40):
        run(program, tmp_path, *options, f"--until={until}")
    assert run(program, tmp_path, *options, "--epochs=2") == whole
    record = json.loads(next((tmp_path / "c").glob("step-*40/run.json")).read_text())
    assert record["batches"] == 40 and record["data"]["order"] == "shuffled by seed 7" and record["data"]["rows"] == "103 samples"
    command = [BUILD / "bin/tenon", "run", program, *options, "--epochs=3"]
    command[command.index("--shuffle=7")] = "--shuffle=8"
    process = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    assert process.returncode == 0, process
    assert "note: data: order was 'shuffled by seed 7' and is 'shuffled by seed 8' now: from step 51 on" in process.stderr


def window_pairs(tokens: np.ndarray, numbers: list[int]) -> list[list[int]]:
    """What steps are given that take these windows of three tokens."""
    pairs = [tokens[i * 3 : i * 3 + 3].astype(int) * 1000 + tokens[i * 3 + 1 : i * 3 + 4] for i in numbers]
    return [[*map(int, pairs[i]), *map(int, pairs[i + 1])] for i in range(0, len(pairs) - 1, 2)]


@pytest.mark.parametrize("kind", ["uint8", "uint16", "int32", "int64"])
def test_tokens(kind: str, windows: Path, tmp_path: Path) -> None:
    """A raw list is cut into windows of length + 1 that share their last token, shuffled as samples are."""
    tokens = np.arange(3 * 9 + 2, dtype=kind)
    tokens.tofile(tmp_path / "tokens.bin")
    options = [f"--batches={tmp_path / 'tokens.bin'}", f"--tokens={kind}", "--map=input=ids", "--map=target=labels"]
    if kind == "int64":
        assert "which does not hold every i64" in refusal(windows, tmp_path, *options)
        return
    assert run(windows, tmp_path, *options, "--epochs=1") == window_pairs(tokens, list(range(8)))
    assert run(windows, tmp_path, *options, "--epochs=1", "--shuffle=1") == window_pairs(tokens, shuffled(9, 1, 0)[:8])
    folder = tmp_path / "folder"
    folder.mkdir()
    tokens.tofile(folder / "a.bin")
    (tokens + 100).astype(kind).tofile(folder / "b.bin")
    options[0] = f"--batches=samples:{folder}"
    given = run(windows, tmp_path, *options, "--epochs=1")
    assert len(given) == 9 and given[4][3:] == window_pairs((tokens + 100).astype(kind), [0, 0])[0][:3]


def test_wrong_tokens(windows: Path, tmp_path: Path) -> None:
    """Names, types and lengths that do not fit."""
    path = tmp_path / "t.bin"
    np.arange(100, dtype=np.uint16).tofile(path)
    given = [f"--batches={path}", "--tokens=uint16"]
    assert "the step takes 'ids', 'labels'. Say which is which" in refusal(windows, tmp_path, *given)
    assert "has only 'input', 'target' and 'window'" in refusal(windows, tmp_path, *given, "--map=x=ids")
    assert "1 argument has no value: 'labels'" in refusal(windows, tmp_path, *given, "--map=input=ids")
    assert "another argument takes 3" in refusal(windows, tmp_path, *given, "--map=input=ids", "--map=window=labels")
    path.write_bytes(b"abc")
    assert "no whole number of elements of 2 bytes" in refusal(windows, tmp_path, *given, "--map=input=ids", "--map=target=labels")
    path.write_bytes(b"abcdefgh")
    assert "holds 1 windows, a batch takes 2" in refusal(windows, tmp_path, *given, "--map=input=ids", "--map=target=labels")


def test_wrong_samples(program: Path, tmp_path: Path) -> None:
    """What does not fit is refused before the first step, with the file and both shapes."""
    good = samples(8)
    for number, (data, message) in enumerate(
        [
            ({"x": good["x"], "y": good["y"][:7]}, "holds 8 samples of 'x' and 7 of 'y'"),
            ({"x": good["x"], "y": good["y"].astype(np.int64)}, "'y' is i64[] in the file, expected f32[]"),
            ({"x": good["x"], "y": good["x"]}, "'y' is f32[1] in the file, expected f32[]"),
            (samples(3), "holds 3 samples, a batch takes 4"),
            ({"x": np.asfortranarray(np.zeros((8, 2), np.float32)), "y": good["y"]}, "in the order of Fortran"),
            ({"w": np.zeros((8, 1), np.float32), **good}, "holds the state tensor 'w'"),
            ({"x": good["x"], "y": np.array(["a"] * 8)}, "'y' is <U1 in the file"),
        ]
    ):
        path = write(data, tmp_path / f"{number}.npz")
        assert message in refusal(program, tmp_path, f"--batches=samples:{path}"), data
    np.savez_compressed(tmp_path / "c.npz", **good)
    assert "write the file with numpy.savez" in refusal(program, tmp_path, f"--batches=samples:{tmp_path / 'c.npz'}")
    whole = (write(good, tmp_path / "d.npz")).read_bytes()
    for place in (10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "d.npz").write_bytes(whole[:place])
        assert "cannot be read as an archive of arrays" in refusal(program, tmp_path, f"--batches=samples:{tmp_path / 'd.npz'}")
    mixed_folder = write(good, tmp_path / "mixed")
    write(good, mixed_folder / "z.npz")
    assert "give a folder with files of one kind" in refusal(program, tmp_path, f"--batches=samples:{mixed_folder}")
    assert "cannot open" in refusal(program, tmp_path, "--batches=samples:nowhere.npz")


def test_usage(program: Path, tmp_path: Path) -> None:
    """Options that say nothing together."""
    for option in ("--tokens=uint16", "--map=a=x", "--remainder=drop", "--shuffle=1", "--epochs=2"):
        assert "give --batches" in refusal(program, tmp_path, option, code=2)
    path = write(samples(8), tmp_path / "d.npz")
    assert "--remainder is about samples" in refusal(program, tmp_path, f"--batches={path}", "--remainder=drop", code=2)
    assert "no steps" in refusal(program, tmp_path, f"--batches=steps:{path}", "--tokens=uint16", code=2)
    for option in ("--shuffle=-1", "--tokens=float32", "--map=x", "--epochs=0", "--readers=0", "--remainder=keep"):
        assert "expected" in refusal(program, tmp_path, f"--batches=samples:{path}", option, code=2)


def test_a_file_that_is_cut_off_while_the_run_goes_on(program: Path, tmp_path: Path) -> None:
    """The batches before it are used, the run ends at the one that cannot be read, and says so."""
    path = write(samples(400), tmp_path / "d.npz")
    environment = {**os.environ, "LD_PRELOAD": str(BUILD / "lib/TenonThrottledReads.so"), "TENON_THROTTLE_FILE": str(path)}
    command = [BUILD / "bin/tenon", "run", program, "--state", program.parent / "start.safetensors", f"--batches=samples:{path}",
               "--steps=300"]  # fmt: skip
    process = subprocess.run(
        list(map(str, command)), check=False, capture_output=True, text=True, env={**environment, "TENON_THROTTLE_FAIL_AT": "100"}
    )
    assert process.returncode == 1 and "cannot read tensor" in process.stderr, process
    steps = re.search(r"note: (\d+) of 300 steps are complete", process.stderr)
    assert steps and 10 <= int(steps[1]) < 100, process.stderr


def test_readers_work_while_steps_run(tmp_path: Path) -> None:
    """At a rate that fills a batch in a third of a step little time is waited, at one that needs four steps most of it.

    Other programs may take the processors for a while, so the limits are wide; throttled.py measures the exact number.
    """
    data = tmp_path / "data.safetensors"
    save_file({"x": np.zeros((8, 512, 512), np.float32)}, data)
    (tmp_path / "step.mlir").write_text(dots(6))
    succeed("compile", tmp_path / "step.mlir", "-o", tmp_path / "step.tenon")
    median, _ = waited(tmp_path / "step.tenon", data, 1e12)
    shares = [waited(tmp_path / "step.tenon", data, 3 * (1 << 20) / (median * 1e-3))[1] for _ in range(3)]
    assert min(shares) < 10, (median, shares)
    assert waited(tmp_path / "step.tenon", data, (1 << 20) / (4 * median * 1e-3))[1] > 25


def test_shuffle_is_fair() -> None:
    """Every order of few samples, and every place of many, comes about equally often (chi-squared, at 6 standard deviations)."""

    def is_fair(counts: dict, kinds: int) -> bool:
        expected = sum(counts.values()) / kinds
        chi = sum((count - expected) ** 2 / expected for count in counts.values()) + (kinds - len(counts)) * expected
        return abs(chi - (kinds - 1)) < 6 * (2 * (kinds - 1)) ** 0.5

    for count, kinds in ((2, 2), (3, 6), (4, 24)):
        orders: dict = {}
        for epoch in range(kinds * 50):
            order = tuple(shuffled(count, 5, epoch))
            orders[order] = orders.get(order, 0) + 1
        assert is_fair(orders, kinds), (count, orders)
    for count in (10, 40):
        places: dict = {}
        for seed in range(400):
            for place, number in enumerate(shuffled(count, seed, 0)):
                places[place, number] = places.get((place, number), 0) + 1
        assert is_fair(places, count * count), count
