"""What the tool accepts and refuses: exit codes and messages of every documented case."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, Steps, differing, refused, run, succeed
from safetensors.numpy import load_file, save_file

VERBS = ("compile", "run", "inspect", "bench", "calibrate", "plan")
STAGES = ("import", "simplify", "precision", "shard", "group", "plan", "lower", "codegen")

STEP = """module @step {
  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("w"), %arg1: tensor<4xf32> loc("x"))
      -> (tensor<4xf32> {jax.result_info = "result['w']"}, tensor<f32> {jax.result_info = "result['sum']"}) {
    BODY
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %sum = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %w, %sum : tensor<4xf32>, tensor<f32>
  }
}
"""


def step_text(body: str = "%w = stablehlo.add %arg0, %arg1 : tensor<4xf32>") -> str:
    """A tiny step whose body computes %w from %arg0, the state, and %arg1."""
    return STEP.replace("BODY", body)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A compiled tiny step that adds the batch to the state."""
    (tmp_path / "tiny.mlir").write_text(step_text())
    succeed("compile", tmp_path / "tiny.mlir", "-o", tmp_path / "tiny.tenon")
    return tmp_path / "tiny.tenon"


# Help and usage.


def test_help_lists_verbs() -> None:
    """--help names every verb, and running without one is wrong usage."""
    text = succeed("--help")
    assert all(re.search(rf"^  {verb} +\w", text, re.MULTILINE) for verb in VERBS)
    outcome = run()
    assert outcome.code == 2 and outcome.errors == text
    assert succeed("--version").startswith("tenon 0.2.0")


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_verb(verb: str) -> None:
    """A verb's help says how to call it and what every option means, in lines that fit a terminal."""
    text = succeed(verb, "--help")
    lines = text.splitlines()
    assert lines[0].startswith(f"usage: tenon {verb} ")
    options = [line for line in lines if line.startswith("  --")]
    assert options and all(re.match(r"  --[a-z-]+(=\S+)? +\S", line) for line in options)
    assert len({re.match(r"  --[\w=./|-]+ +", line).end() for line in options}) == 1  # one column
    assert max(map(len, lines)) <= 110
    assert text == succeed(verb, "-h")


def test_help_shows_the_stages() -> None:
    """What --compile-to and --compile-from take stands in the help, in order, with the form each leaves behind."""
    text = succeed("compile", "--help")
    assert re.findall(r"^  ([a-z]+) +\w+ form +\w", text, re.MULTILINE) == list(STAGES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["conpile"], "unknown verb 'conpile'"),
        (["compile"], "expected 1 argument (FILE.mlir), found 0"),
        (["compile", "a.mlir", "b.mlir", "-o", "c"], "expected 1 argument (FILE.mlir), found 2"),
        (["compile", "a.mlir"], "pass -o OUT.tenon"),
        (["compile", "a.mlir", "-o"], "option '-o' needs a value"),
        (["compile", "a.mlir", "-o", "b", "--wings"], "unknown option '--wings'"),
        (["compile", "a.mlir", "-o", "b", "--compile-to=nowhere"], "expected one of " + ", ".join(STAGES)),
        (["compile", "a.mlir", "-o", "b", "--compile-from", "there"], "expected one of " + ", ".join(STAGES)),
        (["compile", "a.mlir", "-o", "b", "--target=abacus"], "'--target' is given 'abacus': expected cpu"),
        (["compile", "a.mlir", "-o", "b", "--cpu=z80"], "unknown feature set 'z80', expected host, x86-64-v3"),
        (["compile", "a.mlir", "-o", "b", "--fuse=maybe"], "'--fuse' is given 'maybe': expected true or false"),
        (["compile", "a.mlir", "-o", "b", "--threads=-1"], "'--threads' is given '-1': expected a number"),
        (["compile", "a.mlir", "-o", "b", "--threads=some"], "'--threads' is given 'some': expected a number"),
        (["compile", "a.mlir", "-o", "b", "--remarks=("], "'(' is no regular expression"),
        (["run", "a.tenon", "--steps=0"], "'--steps' is given '0': expected a number from 1 on"),
        (["run", "a.tenon", "--steps=99999999999999999999"], "expected a number from 1 on"),
        (["plan", "a.mlir"], "pass --mesh=AXES, --frontier=K, --offload=K, --also=FILE.mlir, --dump-problems=DIR or --error"),
        (["plan", "a.mlir", "--frontier=1001"], "1 to 1000"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, tmp_path: Path) -> None:
    """Wrong usage ends with exit code 2, before any file is looked at."""
    (tmp_path / "a.mlir").write_text(step_text())
    assert message in refused(2, *arguments, cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mlir"]


# Modules that are refused.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "main"),
        ("module {", "expected"),
        ("all work and no play", "'all' is unknown"),
        ("\x00\x01\xff\xfe", "error: "),
        ("module {\n}", "main"),
        (step_text().replace("@main", "@other"), "main"),
        (step_text("%w = tosa.add %arg0, %arg1 : tensor<4xf32>"), "'tosa"),
        (step_text('%w = "other.add"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>'), "'other"),
        (step_text("%w = stablehlo.sum %arg0, %arg1 : tensor<4xf32>"), "'stablehlo.sum'"),
        (step_text("%w = stablehlo.add %arg0, %arg2 : tensor<4xf32>"), "%arg2"),
        (step_text("%w = stablehlo.add %arg0, %arg1 : tensor<5xf32>"), "%arg0"),
        (step_text().replace("4xf32", "?xf32"), "argument 0 'w' has the dynamic shape 'tensor<?xf32>'"),
        (step_text().replace("4xf32", "4000000000x4000000000x4xf32"), "arg0"),
        ("x" + "(" * 200_000, "error: "),
        ("module {" * 20_000, "error: "),
    ],
    ids=[
        "empty", "open", "prose", "bytes", "hollow", "no main", "unknown dialect", "unknown generic dialect",
        "unknown operation", "unknown value", "wrong type", "dynamic shape", "size overflows", "brackets", "nesting",
    ],
)  # fmt: skip
def test_wrong_modules(text: str, message: str, tmp_path: Path) -> None:
    """A module that cannot be read or is no step ends with exit code 1, naming what is wrong and where."""
    source = tmp_path / "step.mlir"
    source.write_bytes(text.encode("latin-1"))
    said = refused(1, "compile", source, "-o", tmp_path / "step.tenon")
    assert message in said, said
    assert "step.mlir" in said
    assert not (tmp_path / "step.tenon").exists()


def test_unsupported_operations_are_all_listed(tmp_path: Path) -> None:
    """Operations without native code end with exit code 4; each is named, not only the first."""
    body = """%a = stablehlo.custom_call @first(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %b = stablehlo.custom_call @second(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %w = stablehlo.custom_call @third(%b) : (tensor<4xf32>) -> tensor<4xf32>"""
    (tmp_path / "step.mlir").write_text(step_text(body))
    said = refused(4, "compile", tmp_path / "step.mlir", "-o", tmp_path / "step.tenon")
    # In the message itself, not only in the line of source below it.
    messages = " ".join(re.findall("error: (.*)", said))
    for name in ("first", "second", "third"):
        assert name in messages, said
    assert not (tmp_path / "step.tenon").exists()


def test_missing_files(tmp_path: Path, tiny: Path) -> None:
    """Files that are not there or cannot be written are named."""
    for verb in ("compile", "plan"):
        options = ["-o", tmp_path / "x"] if verb == "compile" else ["--dump-problems", tmp_path]
        assert "nothing.mlir" in refused(1, verb, tmp_path / "nothing.mlir", *options)
    for verb in ("run", "inspect", "bench"):
        assert "nothing.tenon" in refused(1, verb, tmp_path / "nothing.tenon")
    assert str(tmp_path) in refused(1, "compile", tmp_path, "-o", tmp_path / "x")
    assert str(tmp_path) in refused(1, "run", tmp_path)
    (tmp_path / "step.mlir").write_text(step_text())
    nowhere = tmp_path / "nowhere" / "x"
    for options in (["-o", nowhere], ["-o", tmp_path / "x", "--report", nowhere], ["-o", tmp_path / "x", "--roles", nowhere],
                    ["-o", tmp_path / "x", "--machine", nowhere]):  # fmt: skip
        assert str(nowhere) in refused(1, "compile", tmp_path / "step.mlir", *options)
    save_file({"arg0": np.ones(4, np.float32), "arg1": np.ones(4, np.float32)}, tmp_path / "in.safetensors")
    for option in ("--state", "--inputs", "--batches", "--metrics", "--save", "--outputs"):
        given = [] if option == "--inputs" else ["--inputs", tmp_path / "in.safetensors"]
        assert str(nowhere) in refused(1, "run", tiny, *given, option, nowhere), option


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ("{", "roles.json"),
        ("[]", "roles.json"),
        ('{"arg9": {"role": "batch"}}', "arg9"),
        ('{"arg0": {"role": "boss", "result": 0}}', "boss"),
        ('{"arg0": {"role": "state", "result": 7}}', "7"),
        ('{"arg0": {"role": "state", "result": 1}}', "tensor<f32>"),
        ('{"arg0": {"role": "state", "result": 0}, "arg1": {"role": "state", "result": 0}}', "result"),
        ('{"arg0": {"role": "state", "result": "0"}}', "result"),
    ],
)
def test_wrong_roles(roles: str, message: str, tmp_path: Path) -> None:
    """A roles file that does not fit the step is refused with the entry."""
    (tmp_path / "step.mlir").write_text(step_text())
    (tmp_path / "roles.json").write_text(roles)
    said = refused(1, "compile", tmp_path / "step.mlir", "-o", tmp_path / "x", "--roles", tmp_path / "roles.json")
    assert message in said, said


# Modules with several functions.

SEVERAL = """module @several {
  func.func private @double(%x: tensor<f32>) -> tensor<f32> {
    %r = stablehlo.add %x, %x : tensor<f32>
    return %r : tensor<f32>
  }
  func.func public @init() -> tensor<f32> {
    %r = stablehlo.constant dense<3.0> : tensor<f32>
    return %r : tensor<f32>
  }
  func.func public @main() -> tensor<f32> {
    %x = func.call @init() : () -> tensor<f32>
    %r = func.call @double(%x) : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
  func.func public @twice() -> (tensor<f32>, tensor<f32>) {
    %x = func.call @main() : () -> tensor<f32>
    %r = func.call @double(%x) : (tensor<f32>) -> tensor<f32>
    return %r, %x : tensor<f32>, tensor<f32>
  }
}
"""


@pytest.mark.parametrize("interpreted", [[], ["--reference"]], ids=["compiled", "interpreted"])
def test_function_is_chosen(interpreted: list[str], tmp_path: Path) -> None:
    """--function runs any function of a module, @main by default; others may call it."""
    (tmp_path / "several.mlir").write_text(SEVERAL)
    for options, values in (([], [6]), (["--function=main"], [6]), (["--function=init"], [3]), (["--function=twice"], [12, 6])):
        succeed("run", tmp_path / "several.mlir", *options, *interpreted, "--outputs", tmp_path / "o.safetensors")
        found = load_file(tmp_path / "o.safetensors")
        assert [found[f"result{i}"] for i in range(len(found))] == values


def test_function_is_compiled(tmp_path: Path) -> None:
    """The choice is made when compiling; asking a compiled file for another function is wrong usage."""
    (tmp_path / "several.mlir").write_text(SEVERAL)
    program = tmp_path / "init.tenon"
    succeed("compile", tmp_path / "several.mlir", "--function=init", "-o", program)
    for options in ([], ["--function=main"]):
        succeed("run", program, *options, "--outputs", tmp_path / "o.safetensors")
        assert load_file(tmp_path / "o.safetensors")["result0"] == 3
    for verb in ("run", "bench"):
        said = refused(2, verb, program, "--function=init")
        assert "holds one function" in said and "compile the module with --function=init" in said


def test_misspelt_function(tmp_path: Path) -> None:
    """A function that is not there ends with exit code 1 and the public ones that are."""
    source = tmp_path / "several.mlir"
    source.write_text(SEVERAL)
    for command in (["run", source], ["run", source, "--reference"], ["compile", source, "-o", tmp_path / "x"],
                    ["inspect", source], ["plan", source, "--frontier=2"], ["bench", source]):  # fmt: skip
        said = refused(1, *command, "--function=mian")
        assert "found no function @mian with a body" in said
        assert [name for name in ("init", "main", "twice", "double") if f"--function={name}" in said] == ["init", "main", "twice"]
    (tmp_path / "step.mlir").write_text(SEVERAL.replace("@main", "@step"))
    assert "choose it with --function=step" in refused(1, "run", tmp_path / "step.mlir")


# Values that do not fit.


def test_wrong_state(tiny: Path, tmp_path: Path) -> None:
    """State with a wrong name, shape or type is refused with what was found and expected; nothing is written."""
    good, batch = np.ones(4, np.float32), {"x": np.ones(4, np.float32)}
    save_file(batch, tmp_path / "batch.safetensors")
    cases = [
        ({"v": good}, "'w' is missing, expected f32[4]"),
        ({"w": np.ones(5, np.float32)}, "'w' is f32[5] in the file, expected f32[4]"),
        ({"w": np.ones((4, 1), np.float32)}, "'w' is f32[4, 1] in the file, expected f32[4]"),
        ({"w": np.ones(4, np.float64)}, "'w' is f64[4] in the file, expected f32[4]"),
        ({"w": np.ones(4, np.int32)}, "'w' is i32[4] in the file, expected f32[4]"),
    ]
    (tmp_path / "old.safetensors").write_text("old")
    for values, message in cases:
        save_file(values, tmp_path / "state.safetensors")
        said = refused(
            1, "run", tiny, "--state", tmp_path / "state.safetensors", "--inputs", tmp_path / "batch.safetensors",
            "--save", tmp_path / "old.safetensors",
        )  # fmt: skip
        assert message in said and "state.safetensors" in said, said
        assert (tmp_path / "old.safetensors").read_text() == "old"


def test_missing_values(tiny: Path, tmp_path: Path) -> None:
    """Arguments that nothing gives a value are all named."""
    said = refused(1, "run", tiny)
    assert "2 arguments have no value: 'w', 'x'" in said
    save_file({"w": np.ones(4, np.float32)}, tmp_path / "w.safetensors")
    assert "1 argument has no value: 'x'" in refused(1, "run", tiny, "--inputs", tmp_path / "w.safetensors")


def test_wrong_batches(tiny: Path, tmp_path: Path) -> None:
    """Batches need a leading step dimension, or a file per step, and the right shape."""
    save_file({"w": np.ones(4, np.float32)}, tmp_path / "w.safetensors")
    (tmp_path / "empty").mkdir()
    for values, message in [
        ({"x": np.ones(4, np.float32)}, "f32[] in the file, expected f32[4]"),
        ({"x": np.ones((3, 5), np.float32)}, "f32[5]"),
        ({"x": np.ones((0, 4), np.float32)}, "counts steps"),
        ({"x": np.ones((3, 4), np.int64)}, "i64[4]"),
    ]:
        save_file(values, tmp_path / "b.safetensors")
        said = refused(1, "run", tiny, "--inputs", tmp_path / "w.safetensors", "--batches", tmp_path / "b.safetensors")
        assert "'x'" in said and message in said, said
    said = refused(1, "run", tiny, "--inputs", tmp_path / "w.safetensors", "--batches", tmp_path / "empty")
    assert "no .safetensors, .npy or .npz file in" in said


def test_reference_takes_modules(tiny: Path, tmp_path: Path) -> None:
    """The interpreter reads modules; what it cannot take is refused."""
    refused(1, "run", tiny, "--reference")
    assert "--inputs" in refused(1, "run", tmp_path / "tiny.mlir", "--reference")
    refused(1, "run", tmp_path / "tiny.mlir", "--reference", "--save", tmp_path / "x")


def test_missing_compiler(tiny: Path, tmp_path: Path) -> None:
    """The tool alone runs compiled steps; for a module it says which executable is missing, and links to it are followed."""
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(BUILD / "bin/tenon", alone)
    (tmp_path / "link").symlink_to(BUILD / "bin/tenon")
    save_file({"w": np.ones(4, np.float32), "x": np.ones(4, np.float32)}, tmp_path / "in.safetensors")

    def call(tool: Path, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run([tool, *map(str, arguments)], check=False, capture_output=True, text=True, cwd=tmp_path)

    assert call(alone / "tenon", "run", tiny, "--inputs", tmp_path / "in.safetensors").returncode == 0
    for command in (["compile", "tiny.mlir", "-o", "x"], ["plan", "tiny.mlir"], ["run", "tiny.mlir"], ["inspect", "tiny.mlir"],
                    ["bench", "tiny.mlir"], ["run", "tiny.mlir", "--reference"]):  # fmt: skip
        outcome = call(alone / "tenon", *command)
        assert outcome.returncode == 1 and f"'{alone}/tenon-compiler': No such file" in outcome.stderr
    assert call(tmp_path / "link", "compile", "tiny.mlir", "-o", "linked.tenon").returncode == 0
    assert (tmp_path / "linked.tenon").read_bytes() == tiny.read_bytes()


# What runs do.


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_crash_is_an_internal_error(number: signal.Signals, tmp_path: Path) -> None:
    """A compiler that crashes, here by a signal while it reads, ends with 70, says how to repeat it, leaves the old file."""
    (tmp_path / "old.tenon").write_bytes(b"old")
    command = [BUILD / "bin" / "tenon", "compile", "-", "-o", "old.tenon"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # More than a pipe holds (64 KiB): once all is written, the compiler has begun to read.
        process.stdin.write(" " * (1 << 20))
        process.stdin.flush()
        process.send_signal(number)
        errors = process.communicate()[1]
    assert process.returncode == 70
    assert "error: internal error of tenon" in errors
    assert f"cd {tmp_path} && tenon compile - -o old.tenon" in errors
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_run_carries_state_and_wraps_batches(tiny: Path, tmp_path: Path) -> None:
    """State goes from step to step, batches start over at their end, and every file is as documented."""
    save_file({"state": np.zeros(1, np.float32), "w": np.zeros(4, np.float32)}, tmp_path / "start.safetensors")
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    save_file({"x": rows}, tmp_path / "stacked.safetensors")
    (tmp_path / "folder").mkdir()
    for i, row in enumerate(rows):
        save_file({"arg1": row}, tmp_path / "folder" / f"batch{i}.safetensors")
    for batches in ("stacked.safetensors", "folder"):
        out = succeed(
            "run", tiny, "--state", tmp_path / "start.safetensors", "--batches", tmp_path / batches, "--steps", 5,
            "--metrics", tmp_path / "m.csv", "--save", tmp_path / "s.safetensors", "--outputs", tmp_path / "o.safetensors",
        )  # fmt: skip
        total = np.cumsum(rows[[0, 1, 2, 0, 1]], axis=0)
        expected = ["step,sum"] + [f"{i},{int(total[i].sum())}" for i in range(5)]
        assert (tmp_path / "m.csv").read_text().splitlines() == expected
        saved, outputs = load_file(tmp_path / "s.safetensors"), load_file(tmp_path / "o.safetensors")
        assert saved.keys() == {"w"} and outputs.keys() == {"result0", "result1"}
        np.testing.assert_array_equal(saved["w"], total[-1])
        np.testing.assert_array_equal(outputs["result0"], total[-1])
        assert "step 5/5" in out and f"{int(total[-1].sum())}" in out


def test_saved_state_resumes(steps: Steps, tmp_path: Path) -> None:
    """Two steps, saved and resumed for three more, are five steps to the bit."""
    mlp = steps["01_mlp"]
    straight = mlp.outputs(tmp_path, steps=5)
    mlp.outputs(tmp_path, "--save", tmp_path / "half.safetensors", steps=2)
    carried = sum(leaf["donated"] for leaf in mlp.info["args"])
    batch = {name: value for name, value in load_file(mlp.inputs).items() if int(name.removeprefix("arg")) >= carried}
    save_file(batch, tmp_path / "batch.safetensors")
    succeed(
        "run", mlp.compiled, "--state", tmp_path / "half.safetensors", "--inputs", tmp_path / "batch.safetensors",
        "--steps", 3, "--outputs", tmp_path / "resumed.safetensors",
    )  # fmt: skip
    assert not differing(straight, load_file(tmp_path / "resumed.safetensors"))


def test_module_runs_like_its_file(steps: Steps, tmp_path: Path) -> None:
    """`tenon run` of a module compiles it in memory and gives the same bits."""
    mlp = steps["01_mlp"]
    compiled, direct = mlp.outputs(tmp_path), mlp.outputs(tmp_path, program=mlp.text)
    assert not differing(compiled, direct)


def test_inspect(steps: Steps, tiny: Path, tmp_path: Path) -> None:
    """A module's table has a line per argument, as text and as JSON; a file's has its segments and tensors."""
    mlp = steps["01_mlp"]
    arguments = [leaf for leaf in mlp.info["args"] if leaf["in_main"]]
    rows = json.loads(succeed("inspect", mlp.located, "--json"))
    rows = rows if isinstance(rows, list) else rows["arguments"]
    assert len(rows) == len(arguments)
    table = succeed("inspect", mlp.located)
    assert all(f"arg{i}" in table for i in range(len(arguments)))
    text = succeed("inspect", tiny)
    assert all(word in text for word in ("state", "batch", "results", "entry point 'step'", "4xf32"))
    # What a file is, its first bytes say, and not its name.
    renamed = tmp_path / "model"
    renamed.write_bytes(tiny.read_bytes())
    assert "entry point 'step'" in succeed("inspect", renamed)
    assert "holds bytes that are no text" in refused(1, "compile", renamed, "-o", tmp_path / "x.tenon")


def test_report(steps: Steps, tmp_path: Path) -> None:
    """The report splits the time over all stages; remarks are printed and reported when asked for."""
    report = tmp_path / "report.json"
    outcome = run(
        "compile", steps["01_mlp"].text, "-o", tmp_path / "x.tenon", "--report", report, "--remarks=import-.*"
    )
    assert outcome.code == 0
    content = json.loads(report.read_text())
    assert [stage["stage"] for stage in content["stages"]] == ["read", *list(STAGES)[:-1], "join", "codegen", "package"]
    assert content["exit_code"] == 0
    assert content["seconds"] == pytest.approx(sum(stage["seconds"] for stage in content["stages"]))
    assert content["remarks"]
    for remark in content["remarks"]:
        assert f"remark: {remark['text']} [{remark['category']}]" in outcome.errors
        assert remark["category"].startswith("import-")


def test_plan_dumps_problems(steps: Steps, tmp_path: Path) -> None:
    """`tenon plan` writes the packing problem that the planner was given."""
    succeed("plan", steps["01_mlp"].text, "--dump-problems", tmp_path / "problems")
    lines = (tmp_path / "problems" / "offset-packing.csv").read_text().splitlines()
    assert len(lines) > 3 and all("," in line for line in lines if not line.startswith("#"))


def test_bench(tiny: Path) -> None:
    """`tenon bench` prints step times, and with --kernels a line per kernel with the fallback share."""
    assert re.search(r"step +min [\d.]+ ms, median [\d.]+ ms, max [\d.]+ ms over 3 steps, 1 threads",
                     succeed("bench", tiny, "--steps", 3, "--threads", 1))  # fmt: skip
    table = succeed("bench", tiny, "--kernels", "--steps", 3, "--threads", 1)
    assert re.search(r"library [\d.]+%, fallback [\d.]+%", table) and re.search(r"kernel_0 +\w+ add", table)
