"""What the end-to-end tests share: the tool, and small training steps as the generator writes them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "models"), str(HERE.parents[1] / "python")]

import compare
import numpy as np
import pytest
import replays
from replays import one_at_a_time
from safetensors.numpy import load_file, save_file

BUILD = Path(os.environ.get("TENON_BUILD", compare.ROOT / "build/dev")).resolve()

# Features of this processor, by Linux' names.
PROCESSOR = frozenset(next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")).split())

# Whether some code for this processor multiplies numbers of bf16, and the options for it. Where only vectors do, the compiler is told of a
# processor that is quick with them: Intel's are not, so a step stays f32 there by itself.
HAS_BF16 = "avx512_bf16" in PROCESSOR or "amx_bf16" in PROCESSOR
IN_BF16 = ["--cpu=x86-64-v4+avx512bf16"] if HAS_BF16 and "amx_bf16" not in PROCESSOR else []

# What compiles for a GPU to be run on the emulated driver, which takes no machine code: test_machine_code.py looks at that.
ON_GPU = ("--target=sm_90", "--no-cubins")

# No run of the tool on these inputs comes near it; a hang is a failure, not a wait.
SECONDS = 120


# Every exported step that runs on one device.
NAMES = [
    "01_mlp", "02_cnn", "02b_cnn_rbg", "03_resnet18", "04_chargpt", "05_gpt2_124m", "06_gpt2_124m_scan_remat",
    "07_llama_bf16", "08_lstm", "09_unet_ddpm", "10_vit_tiny", "11_moe", "12_chargpt_accum",
    "13_mlp_f16_loss_scale", "14_while_fori", "17_chargpt_remat", "18_unread_leaves",
]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """How a run of the tool ended."""

    code: int
    out: str
    errors: str


def run(*arguments: object, cwd: Path | None = None) -> Outcome:
    """Runs the tool; fails if it crashes, hangs, or ends with an exit code that is not documented."""
    command = [str(BUILD / "bin" / "tenon"), *map(str, arguments)]
    process = subprocess.run(command, check=False, capture_output=True, cwd=cwd, timeout=SECONDS, stdin=subprocess.DEVNULL)
    outcome = Outcome(process.returncode, process.stdout.decode(errors="replace"), process.stderr.decode(errors="replace"))
    assert outcome.code in (0, 1, 2, 3, 4, 5, 6), (command, outcome)
    return outcome


def refused(code: int, *arguments: object, cwd: Path | None = None) -> str:
    """Runs the tool, which must end with `code` and say why; returns what it said."""
    outcome = run(*arguments, cwd=cwd)
    assert outcome.code == code, (arguments, outcome)
    assert "error: " in outcome.errors, (arguments, outcome)
    return outcome.errors


def succeed(*arguments: object, cwd: Path | None = None) -> str:
    """Runs the tool, which must succeed; returns its output."""
    outcome = run(*arguments, cwd=cwd)
    assert outcome.code == 0, (arguments, outcome)
    return outcome.out


@dataclass(frozen=True)
class Compiled:
    """What the compiler made of a text."""

    outcome: Outcome
    output: Path
    stages: dict[str, dict]  # what the report says of each

    @property
    def plan(self) -> dict:
        """What the report says of the plan."""
        return self.stages["plan"]


# Where what was compiled is kept for other tests; kept_for_others says so.
compilations: Path


def compiled(source: Path, *options: object, code: int = 0) -> Compiled:
    """What the compiler makes of a text with these options, which must end with `code`: compiled once per run of the tests.

    Not for tests of what compiling twice gives, nor for those of messages that name files.
    """
    key = hashlib.sha256(json.dumps([source.read_text(), *map(str, options)]).encode()).hexdigest()[:32]
    folder = compilations / key
    is_text = any(str(option).startswith(("--compile-to", "--target=stablehlo")) for option in options)
    output, report, ended = (folder / name for name in ("out.mlir" if is_text else "out.tenon", "report.json", "outcome.json"))
    with one_at_a_time(compilations / f"{key}.lock"):
        if not ended.exists():
            folder.mkdir(exist_ok=True)
            outcome = run("compile", source, "-o", output, "--report", report, *options)
            ended.write_text(json.dumps([outcome.code, outcome.out, outcome.errors]))
    outcome = Outcome(*json.loads(ended.read_text()))
    assert outcome.code == code, (source, options, outcome)
    stages = json.loads(report.read_text())["stages"] if report.exists() else []
    return Compiled(outcome, output, {stage["stage"]: stage for stage in stages})


def for_all_gpus(step: Step) -> Compiled:
    """A step for GPUs of all kinds, with machine code, without libraries: it takes long to assemble, so tests share it."""
    source = step.located if compare.needs_locations(step.info) else step.text
    return compiled(source, "--target=sm_80,sm_90,sm_100,sm_120", "--no-libraries")


def smallest(source: Path, *options: object) -> Compiled:
    """What is compiled for the smallest budget that is found."""
    return compiled(source, "--memory-budget=smallest", "--verify-forms", *options)


def smallest_budget(source: Path, *options: object) -> int:
    """That budget, in bytes."""
    return smallest(source, *options).plan["budget"]


@dataclass(frozen=True)
class Step:
    """An exported step, the file it compiles to, and start values for all its arguments."""

    name: str
    text: Path
    located: Path  # the text with locations
    compiled: Path
    inputs: Path
    info: dict

    def outputs(self, scratch: Path, *options: object, steps: int = 3, program: Path | None = None) -> dict:
        """The results after some steps, by `result<i>`."""
        path = scratch / "outputs.safetensors"
        succeed("run", program or self.compiled, "--inputs", self.inputs, "--steps", steps, "--outputs", path, *options)
        return load_file(path)

    def expected_losses(self, steps: int = 5) -> list[float]:
        """The losses that JAX gets."""
        return replays.replayed(self.text.read_text(), self.info, False, steps)[1]

    def losses(self, scratch: Path, *options: object, steps: int = 5) -> list[float]:
        """The losses of some steps."""
        path = scratch / "metrics.csv"
        succeed("run", self.compiled, "--inputs", self.inputs, "--steps", steps, "--metrics", path, *options)
        return [float(line.split(",")[-1]) for line in path.read_text().splitlines()[1:]]


def shared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder that all processes of a test run see."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


class Generator:
    """Writes the texts of steps: a process that keeps JAX, which takes longer to start than to trace most of them."""

    COMMAND = (sys.executable, str(HERE / "models" / "generate.py"))

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def write(self, name: str, *options: str) -> None:
        """Writes one step."""
        if name.startswith(FOR_EIGHT_DEVICES):
            subprocess.run([*self.COMMAND, name, *options], check=True, capture_output=True)
            return
        if not self.process:
            self.process = subprocess.Popen([*self.COMMAND, "--requests"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin and self.process.stdout
        print(json.dumps([name, *options]), file=self.process.stdin, flush=True)
        assert self.process.stdout.readline() == "done\n", f"{name} was not written; the generator's errors are above"

    def end(self) -> None:
        """Ends the process, if there is one."""
        if self.process:
            self.process.communicate()


# Steps whose devices JAX has to know of when it starts.
FOR_EIGHT_DEVICES = ("15", "16")
generator = Generator()

# The batch of a small step whose default is too small, in every test. With two images the last statistics of the residual
# network are over two numbers, whose variance by the difference of two squares has no digit in common with the exact one.
BATCHES = {"03_resnet18": 8}


class Steps:
    """Exports steps and compiles them when they are first asked for, once for all processes that share the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: dict[str, Step] = {}

    def export(self, *names: str, batch: int | None = None) -> None:
        """Writes the texts of steps that are not there yet."""
        for name in names:
            size = BATCHES.get(name) if batch is None else batch
            with one_at_a_time(self.folder / f"{name}.export.lock"):
                if (self.folder / f"{name}.json").exists():
                    continue
                with tempfile.TemporaryDirectory(dir=self.folder) as made:
                    generator.write(name, "--no-run", "--small", *([f"--batch={size}"] if size else []), "--out", made)
                    # Who sees the description of a step, which comes last, sees all of it.
                    for file in sorted(Path(made).iterdir(), key=lambda file: file.suffix == ".json"):
                        file.replace(self.folder / file.name)

    def give(self, name: str, folder: Path) -> None:
        """Puts what the generator wrote of a step into a folder, for who would start it there; the description comes last."""
        self.export(name)
        folder.mkdir(parents=True, exist_ok=True)
        # The text with locations is short, or packed; another process may be unpacking it.
        located = self.folder / f"{name}.loc.mlir.gz"
        for file in (self.folder / f"{name}.mlir", located if located.exists() else located.with_suffix(""), self.folder / f"{name}.json"):
            shutil.copy(file, folder)

    def with_batch(self, batch: int, name: str) -> Steps:
        """Steps at another batch size, of which one is exported."""
        others = Steps(self.folder / f"batch-{batch}")
        others.folder.mkdir(exist_ok=True)
        others.export(name, batch=batch)
        return others

    def __getitem__(self, name: str) -> Step:
        """A step by the generator's name."""
        if name not in self.steps:
            self.steps[name] = self._make(name)
        return self.steps[name]

    def _make(self, name: str) -> Step:
        if not (self.folder / f"{name}.json").exists():
            self.export(name)
        located = self.folder / f"{name}.loc.mlir"
        info = json.loads((self.folder / f"{name}.json").read_text())
        step = Step(
            name,
            self.folder / f"{name}.mlir",
            located,
            self.folder / f"{name}.tenon",
            self.folder / f"{name}.inputs.safetensors",
            info,
        )
        with one_at_a_time(self.folder / f"{name}.lock"):
            if not located.exists():
                located.write_bytes(gzip.decompress((self.folder / f"{name}.loc.mlir.gz").read_bytes()))
            if not step.compiled.exists():
                save_file(compare.start_values(info), step.inputs)
                # Where leaves were dropped, names must tell the succession.
                succeed("compile", located if compare.needs_locations(info) else step.text, "-o", step.compiled)
        return step


@pytest.fixture(scope="session", autouse=True)
def kept_for_others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What XLA and the compiler make of a step is made once per run of the tests, and so is the code of each kernel.

    A test of what the code generator makes of a step says --kernel-cache=none.
    """
    global compilations
    compilations = shared_folder(tmp_path_factory, "compilations")
    os.environ["TENON_KERNEL_CACHE"] = str(shared_folder(tmp_path_factory, "kernels"))
    replays.folder = shared_folder(tmp_path_factory, "replays")
    yield
    generator.end()


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    """Small training steps: a plain network, one with a loop, one with leaves that it does not read."""
    result = Steps(shared_folder(tmp_path_factory, "steps"))
    result.export("01_mlp", "04_chargpt", "14_while_fori", "18_unread_leaves")
    return result


@pytest.fixture(scope="session")
def models(steps: Steps) -> Steps:
    """Every step, at sizes a test can afford."""
    # Processes that run tests side by side start with different ones.
    steps.export(*(NAMES if os.environ.get("PYTEST_XDIST_WORKER") != "gw1" else reversed(NAMES)))
    return steps


@pytest.fixture(scope="session")
def sharded(steps: Steps) -> Steps:
    """The steps, those for eight devices among them."""
    steps.export("15_chargpt_sharded", "16_shard_map_mlp")
    return steps


def differing(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> list[str]:
    """The names of tensors whose bits differ, in order of their numbers."""
    assert a and a.keys() == b.keys()
    names = sorted(a, key=lambda name: int(name.removeprefix("result")))
    return [name for name in names if a[name].tobytes() != b[name].tobytes()]
