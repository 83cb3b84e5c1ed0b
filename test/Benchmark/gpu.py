#!/usr/bin/env python3
"""Runs steps on one of NVIDIA's GPUs: bits against the processor's, losses against JAX's, times, and what kernels take.

    python gpu.py prepare FOLDER [--build BUILD] [--only bits,losses,time]   anywhere: exports, compiles, computes what is expected
    python gpu.py run FOLDER OUT.jsonl [--only ...] [--seconds N]            where the GPU is
    python gpu.py table OUT.jsonl... [PEERS.jsonl...]                        the tables of docs/Benchmarks/Gpu.md

FOLDER takes all that `run` needs: the tool, its library, the compiled files and what they are expected to give. There, Python
with numpy and safetensors is enough; start values are made from the recipes of the exported steps. Every outcome is written as
soon as it is known. `bits` are results of steps whose kernels are all ours, against those of the same step on the processor, or
on the emulated GPU where tensor cores sum. `losses` are of five steps with cuBLASLt. `checks` are by compute-sanitizer, where
it is installed: accesses outside of memory, and races in shared memory. `runtime` is that the bits of steps do not depend on
how they are run: with remembered algorithms, one behind the other, and, where PyTorch is, in its memory and its stream. `time`
is of steps at full size, with `tenon bench`, once as a whole and once kernel by kernel; meanwhile the GPU's memory is watched.
PEERS.jsonl has lines of other frameworks' times.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/EndToEnd/models"))

import recipe  # noqa: E402

GENERATE = ROOT / "test/EndToEnd/models/generate.py"
DRIVER = "lib/libtenon-emulated-cuda.so"
KINDS = ("bits", "losses", "checks", "runtime", "time")
BITS_STEPS, LOSS_STEPS, RUNTIME_STEPS = 2, 5, 20

SMALL = (
    "01_mlp", "02_cnn", "02b_cnn_rbg", "03_resnet18", "04_chargpt", "05_gpt2_124m", "06_gpt2_124m_scan_remat", "07_llama_bf16", "08_lstm",
    "09_unet_ddpm", "10_vit_tiny", "11_moe", "12_chargpt_accum", "13_mlp_f16_loss_scale", "14_while_fori", "17_chargpt_remat",
    "18_unread_leaves",
)  # fmt: skip
# Steps with products that tensor cores sum: by a policy, or because they are written so.
SUMMED_BY_TENSOR_CORES = {"07_llama_bf16", "13_mlp_f16_loss_scale"}
LOWERED = ("01_mlp", "02_cnn", "04_chargpt", "10_vit_tiny")
CHECKED = {"02_cnn.bf16", "04_chargpt.f32", "04_chargpt.bf16"}
RUNTIME = ("01_mlp", "04_chargpt", "10_vit_tiny")


@dataclass(frozen=True)
class Timed:
    """A step at a size."""

    name: str
    policy: str
    batch: int = 0  # as exported
    length: int = 0

    @property
    def label(self) -> str:
        """For files and tables."""
        size = (f"_b{self.batch}" if self.batch else "") + (f"_t{self.length}" if self.length else "")
        return f"{self.name}{size}.{self.policy}"


TIMED = (
    Timed("05_gpt2_124m", "bf16", 32, 1024), Timed("05_gpt2_124m", "bf16", 8, 1024), Timed("05_gpt2_124m", "f32", 8, 1024),
    Timed("01_mlp", "f32"), Timed("03_resnet18", "f32", 128), Timed("03_resnet18", "bf16", 128), Timed("04_chargpt", "f32"),
    Timed("04_chargpt", "bf16"), Timed("05_gpt2_124m", "bf16"), Timed("07_llama_bf16", "bf16"), Timed("10_vit_tiny", "f32"),
    Timed("10_vit_tiny", "bf16"), Timed("05_gpt2_124m", "tf32", 8, 1024), Timed("10_vit_tiny", "tf32"), Timed("01_mlp", "tf32"),
)  # fmt: skip


def own(command: list[object], **options: Any) -> subprocess.CompletedProcess:
    """A command with its output as text."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def succeed(command: list[object], **options: Any) -> str:
    """What a command prints; ends the program if it fails."""
    done = own(command, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} exited {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


# ---------------------------------------------------------------- before


@dataclass
class Case:
    """One thing to run on the GPU."""

    kind: str
    label: str
    file: str  # in the folder, as all names are
    info: str  # with the start values
    expected: str = ""  # results, of bits
    losses: list[float] = field(default_factory=list)  # JAX's
    planned: int = 0  # bytes, of time


class Preparation:
    """Fills a folder with cases."""

    def __init__(self, folder: Path, build: Path) -> None:
        self.folder, self.build, self.tool = folder, build, build / "bin/tenon"

    def export(self, name: str, *options: object) -> tuple[Path, str]:
        """The text of a step, which stays outside of the folder, and its description in it."""
        out = self.folder.parent / f"{self.folder.name}.exported" / "".join(map(str, options)).strip("-")
        out.mkdir(parents=True, exist_ok=True)
        description = out / f"{name}.json"
        if not description.exists():
            succeed([sys.executable, GENERATE, name, *options, "--out", out])
        info = json.loads(description.read_text())
        drops = not all(leaf["in_main"] for leaf in info["args"])
        text = out / f"{name}{'.loc' if drops else ''}.mlir"
        if not text.exists():
            succeed(["gunzip", "-k", f"{text}.gz"])
        short = f"{name}.{out.name}.json"
        shutil.copy(description, self.folder / short)
        return text, short

    def compile(self, text: Path, name: str, *options: object) -> Path:
        """A compiled file; of the processor's and the emulator's only results go into the folder."""
        path = self.folder / name
        if not path.exists():
            succeed([self.tool, "compile", text, "-o", path, *options])
        return path

    def expected(self, text: Path, file: Path, info: str, options: list[object], emulated: bool) -> str:
        """Results of the steps on the processor, or on the emulated GPU."""
        path = self.folder / f"{file.stem}.expected.json"
        if path.exists() and path.stat().st_mtime > file.stat().st_mtime:
            return path.name
        inputs, results = path.with_suffix(".inputs"), path.with_suffix(".results")
        write_inputs(self.folder / info, inputs)
        reference = file
        if not emulated:
            reference = self.folder / f"{file.stem}.cpu"
            succeed([self.tool, "compile", text, "-o", reference, "--no-libraries", *options])
        succeed(
            [
                self.tool, "run", reference, f"--inputs={inputs}", f"--steps={BITS_STEPS}", f"--outputs={results}",
                f"--cuda-driver={self.build / DRIVER}",
            ],
            env=dict(os.environ, TENON_EMULATED_CUDA_SM="90"),
        )  # fmt: skip
        path.write_text(json.dumps(digests(results)))
        inputs.unlink()
        results.unlink()
        if not emulated:
            reference.unlink()
        return path.name

    def small(self, kinds: list[str]) -> Iterator[Case]:
        """Steps at small sizes."""
        for name, policy in [*((name, "f32") for name in SMALL), *((name, "bf16") for name in LOWERED)]:
            # With two images the last statistics of the residual network are over two numbers.
            text, info = self.export(name, "--small", *(["--batch=8"] if name == "03_resnet18" else []))
            label, options = f"{name}.{policy}", ["--target=sm_90", f"--precision={policy}"]
            if "bits" in kinds:
                file = self.compile(text, f"{label}.bits.tenon", "--no-libraries", *options)
                emulated = policy != "f32" or name in SUMMED_BY_TENSOR_CORES
                expected = self.expected(text, file, info, options[1:], emulated)
                yield Case("bits", label, file.name, info, expected=expected)
                if "checks" in kinds and label in CHECKED:
                    yield Case("checks", label, file.name, info)
            if "losses" in kinds:
                file = self.compile(text, f"{label}.losses.tenon", *options)
                yield Case("losses", label, file.name, info, losses=json.loads((self.folder / info).read_text())["run"]["losses"])
            if "runtime" in kinds and name in RUNTIME:
                file = self.compile(text, f"{label}.losses.tenon", *options)
                yield Case("runtime", label, file.name, info)

    def timed(self) -> Iterator[Case]:
        """Steps at full size."""
        for step in TIMED:
            size = [*([f"--batch={step.batch}"] if step.batch else []), *([f"--length={step.length}"] if step.length else [])]
            text, info = self.export(step.name, "--no-run", *size)
            file = self.compile(text, f"{step.label}.time.tenon", "--target=sm_90", f"--precision={step.policy}")
            segments = re.findall(
                r"^(?:state|batch|results|temporaries|constants) +(\d+)$", succeed([self.tool, "inspect", file]), re.MULTILINE
            )
            yield Case("time", step.label, file.name, info, planned=sum(map(int, segments)))


def prepare(arguments: argparse.Namespace) -> None:
    """Everything that needs no GPU."""
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    preparation = Preparation(folder, arguments.build)
    cases = []
    for case in [*preparation.small(arguments.only), *(preparation.timed() if "time" in arguments.only else [])]:
        print(f"{case.kind:6} {case.label}", flush=True)
        cases.append(asdict(case))
    (folder / "cases.json").write_text(json.dumps(cases, indent=1))
    for name in ("bin/tenon", "lib"):
        source = arguments.build / name
        found = source.glob("libtenon-runtime.so*") if source.is_dir() else [source]
        for each in found:
            into = folder / each.relative_to(arguments.build)
            into.parent.mkdir(exist_ok=True)
            shutil.copy(each, into)
    shutil.copytree(ROOT / "python/tenon", folder / "python/tenon", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{len(cases)} cases, {size / 2**20:.1f} MiB in {folder}")


# ---------------------------------------------------------------- where the GPU is


def write_inputs(info: Path, path: Path) -> None:
    """The start values of a step as a file."""
    leaves = [leaf for leaf in json.loads(info.read_text())["args"] if leaf["in_main"]]
    save_file({f"arg{i}": recipe.make(leaf["init"], leaf["shape"], np.dtype(leaf["dtype"])) for i, leaf in enumerate(leaves)}, path)


def digests(path: Path) -> dict[str, dict]:
    """Of each tensor of a file a hash, in which all NaN are alike since their bits are not defined, and numbers to compare with others."""
    found = {}
    for name, value in load_file(path).items():
        if np.issubdtype(value.dtype, np.floating) or value.dtype.name == "bfloat16":
            value = np.where(np.isnan(value), np.array(np.nan, value.dtype), value)
        numbers = value.astype(np.float64).ravel()
        digest = hashlib.sha256(f"{value.dtype} {value.shape}".encode() + value.tobytes()).hexdigest()
        found[name] = {"hash": digest, "norm": float(np.linalg.norm(numbers)), "head": numbers[:64].tolist()}
    return found


IN_PYTORCH = """
import sys, time, numpy as np, torch, tenon
file, inputs, steps, state, cublaslt = sys.argv[1:]
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    program = tenon.load(file, cublaslt=cublaslt or None, stream=stream.cuda_stream)
    program.load_arguments(inputs)
    own = {}
    for name, tensor in program.state.items():
        if isinstance(tensor.memory, str):
            continue
        own[name] = torch.from_dlpack(tensor).clone()
        assert own[name].is_cuda and own[name].data_ptr() != tensor.memory.address
        program.bind(name, own[name])
    batch = {name: torch.from_numpy(tensor.read()).cuda() for name, tensor in program.batch.items()}
    for step in range(int(steps)):
        for name, value in batch.items():
            moved = value.clone()
            program.tensors[name].write(moved)
            moved.zero_()
        program.step()
program.save(state)
times = []
for step in range(1000):
    begin = time.perf_counter()
    program.step()
    times.append(time.perf_counter() - begin)
print(f"{len(own)} of {len(program.state)} in PyTorch's memory, step and wait {sorted(times)[500] * 1e6:.1f} us")
"""


class MemoryWatch:
    """The most memory of the GPU that is in use while it is entered, in MiB, by the driver's word every tenth of a second."""

    def __enter__(self) -> MemoryWatch:
        self.most, self.process = 0, None
        if shutil.which("nvidia-smi"):
            query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-lms", "100"]
            self.process = subprocess.Popen(query, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process:
            self.process.terminate()
            said = self.process.communicate()[0]
            self.most = max(map(int, re.findall(r"^(\d+)$", said, re.MULTILINE)), default=0)


class Machine:
    """Runs cases on the GPU."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder, self.scratch = folder, scratch
        self.tool = folder / "bin/tenon"
        self.tool.chmod(0o755)
        self.options: list[str] = []
        # Python's packages bring cuBLASLt where the system does not.
        for place in sys.path:
            for found in sorted(Path(place).glob("nvidia/*/lib/libcublasLt.so.13")):
                self.options = [f"--cublaslt={found}"]

    def tenon(self, *arguments: object, seconds: float = 100) -> subprocess.CompletedProcess:
        """The tool on the GPU."""
        try:
            return own([self.tool, *arguments, *self.options], timeout=seconds)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess([], 124, "", f"no end within {seconds:.0f} s")

    def inputs(self, case: dict) -> Path:
        """The file with a case's start values."""
        path = self.scratch / f"{case['kind']}.{case['label']}.inputs.safetensors"
        if not path.exists():
            write_inputs(self.folder / case["info"], path)
        return path

    def train(self, case: dict, steps: int, *options: object) -> str:
        """Makes some steps from the start values; what went wrong, if anything."""
        inputs = self.inputs(case)
        done = self.tenon("run", self.folder / case["file"], f"--inputs={inputs}", f"--steps={steps}", "--device=cuda", *options)
        return done.stderr[-1500:] if done.returncode else ""

    def bits(self, case: dict) -> dict:
        """Compares results with those of the processor or the emulated GPU."""
        path = self.scratch / f"{case['label']}.results.safetensors"
        if error := self.train(case, BITS_STEPS, f"--outputs={path}"):
            return {"error": error}
        found = digests(path)
        path.unlink()
        expected = json.loads((self.folder / case["expected"]).read_text())
        differing = {}
        for name, digest in expected.items():
            other = found.get(name, {})
            if other.get("hash") != digest["hash"]:
                pairs = zip(digest["head"], other.get("head", []), strict=False)
                apart = max((abs(a - b) for a, b in pairs), default=math.inf)
                differing[name] = f"norm {other.get('norm')}, expected {digest['norm']}, {apart:.3g} apart at the head"
        return {"tensors": len(expected), "differing": differing}

    def losses(self, case: dict) -> dict:
        """The losses of some steps, against JAX's."""
        metrics = self.scratch / f"{case['label']}.csv"
        if error := self.train(case, LOSS_STEPS, f"--metrics={metrics}"):
            return {"error": error}
        losses = [float(line.split(",")[-1]) for line in metrics.read_text().splitlines()[1:]]
        pairs = list(zip(losses, case["losses"], strict=True))
        return {"losses": losses, "expected": case["losses"], "largest": max(abs(a - b) / max(abs(b), 1e-6) for a, b in pairs)}

    def checks(self, case: dict) -> dict:
        """What compute-sanitizer finds in a step."""
        sanitizer, inputs = shutil.which("compute-sanitizer"), self.inputs(case)
        if not sanitizer:
            return {"skipped": "compute-sanitizer is not installed"}
        row = {}
        for tool in ("memcheck", "racecheck", "initcheck"):
            command = [self.tool, "run", self.folder / case["file"], f"--inputs={inputs}", "--steps=1", "--device=cuda"]
            done = own([sanitizer, f"--tool={tool}", *command], timeout=90)
            said = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", done.stdout + done.stderr)
            row[tool] = said[1] if said else (done.stdout + done.stderr)[-500:]
        return row

    def batches(self, case: dict) -> list[str]:
        """Options that give each of some steps a batch of its own."""
        leaves = [leaf for leaf in json.loads((self.folder / case["info"]).read_text())["args"] if leaf["in_main"]]
        given = {f"arg{i}": recipe.make(leaf["init"], leaf["shape"], np.dtype(leaf["dtype"])) for i, leaf in enumerate(leaves)
                 if not leaf["donated"] and leaf["shape"]}  # fmt: skip
        path = self.scratch / f"{case['label']}.batches.safetensors"
        # The same values in other places.
        save_file({name: np.stack([np.roll(value, step) for step in range(RUNTIME_STEPS)]) for name, value in given.items()}, path)
        return [f"--batches={path}"]

    def runtime(self, case: dict) -> dict:
        """Whether state after some steps is the same however they are run."""
        state, cache = self.scratch / f"{case['label']}.state.safetensors", self.scratch / f"{case['label']}.algorithms"
        remembered, batches = f"--algorithm-cache={cache}", self.batches(case)
        shutil.rmtree(cache, ignore_errors=True)
        ways = {
            "first": [remembered], "again": [remembered], "waiting": [remembered, *batches, "--stop-if=loss>1e30"],
            "ahead": [remembered, *batches], "tuned": [remembered, "--tune"], "as tuned": [remembered],
        }  # fmt: skip
        found: dict[str, Any] = {}
        for way, options in ways.items():
            if error := self.train(case, RUNTIME_STEPS, f"--save={state}", *options):
                return {"error": f"{way}: {error}"}
            found[way] = digests(state)
        row: dict[str, Any] = {"algorithms": len(list(cache.iterdir())) if cache.exists() else 0}
        row |= {f"{a}, {b}": found[a] == found[b] for a, b in (("first", "again"), ("waiting", "ahead"), ("tuned", "as tuned"))}
        command = [sys.executable, "-c", IN_PYTORCH, self.folder / case["file"], self.inputs(case), RUNTIME_STEPS, state]
        cublaslt = self.options[0].split("=")[1] if self.options else ""
        paths = os.pathsep.join([str(self.folder / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = dict(os.environ, PYTHONPATH=paths, TENON_BUILD=str(self.folder), TENON_ALGORITHM_CACHE=str(cache))
        done = own([*command, cublaslt], env=environment, timeout=100)
        if "No module named 'torch'" in done.stderr:
            return row | {"pytorch": "not installed"}
        row["pytorch"] = done.stdout.strip() or done.stderr[-1000:]
        row["tuned, pytorch"] = done.returncode == 0 and digests(state) == found["tuned"]
        return row

    def time(self, case: dict) -> dict:
        """The time of a step, of its kernels, and the most memory of the GPU that was used."""
        inputs, file = self.inputs(case), self.folder / case["file"]
        try:
            with MemoryWatch() as memory:
                done = self.tenon("bench", file, f"--inputs={inputs}", "--steps=30", seconds=60)
            if done.returncode:
                return {"error": done.stderr[-1500:]}
            step = re.search(r"min ([\d.]+) ms, median ([\d.]+) ms, max ([\d.]+) ms", done.stdout)
            row = dict(zip(("min_ms", "median_ms", "max_ms"), map(float, step.groups()), strict=True)) if step else {"said": done.stdout}
            row |= {"planned": case["planned"], "used_mib": memory.most}
            done = self.tenon("bench", file, f"--inputs={inputs}", "--steps=5", "--kernels", "--rows=1000", seconds=60)
            kernels = re.findall(r"^ *([\d.]+) +[\d.]+% +(\d+)  (\S+) +(.*)$", done.stdout, re.MULTILINE)
            row["kernels"] = [[float(ms), int(runs), name, what] for ms, runs, name, what in kernels] or done.stderr[-500:]
        finally:
            inputs.unlink(missing_ok=True)
        return row


def run(arguments: argparse.Namespace) -> None:
    """Runs the cases of a folder, correctness first."""
    scratch = Path(arguments.scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    machine, begin = Machine(arguments.folder.resolve(), scratch), time.monotonic()
    cases = [case for case in json.loads((arguments.folder / "cases.json").read_text()) if case["kind"] in arguments.only]
    cases = [case for case in cases if re.search(arguments.match, case["label"])]

    def record(case: dict) -> dict:
        row = {"kind": case["kind"], "label": case["label"]}
        if time.monotonic() - begin > arguments.seconds:
            row["error"] = "out of time"
        else:
            started = time.monotonic()
            try:
                row |= getattr(machine, case["kind"])(case)
            except Exception as fault:  # noqa: BLE001
                # The other cases go on.
                row["error"] = repr(fault)
            row["seconds"] = round(time.monotonic() - started, 2)
        with arguments.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        shown = {key: value for key, value in row.items() if key not in ("kernels", "expected")}
        print(json.dumps(shown)[:700], flush=True)
        return row

    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    gpu = own(query).stdout.strip() if shutil.which(query[0]) else "emulated"
    with arguments.out.open("a") as file:
        file.write(json.dumps({"kind": "machine", "gpu": gpu, "cublaslt": machine.options}) + "\n")
    # The GPU has room for several small steps at a time; times are taken alone.
    timed = [case for case in cases if case["kind"] == "time"]
    others = [case for case in cases if case["kind"] != "time"]
    with ThreadPoolExecutor(12) as pool:
        made = pool.map(machine.inputs, timed)
        list(pool.map(record, others))
        list(made)
    for case in timed:
        record(case)


# ---------------------------------------------------------------- afterwards


def table(arguments: argparse.Namespace) -> None:
    """Prints what was found; of a case that ran again its last outcome."""
    rows = [json.loads(line) for path in arguments.outcomes for line in path.read_text().splitlines()]
    last = {(row.get("kind"), row.get("label")): row for row in rows if "kind" in row}
    of = lambda kind: [row for (found, _), row in last.items() if found == kind]  # noqa: E731
    for machine in of("machine"):
        print(f"GPU, driver, memory: {machine['gpu']}\n")
    bits = of("bits")
    equal = [row for row in bits if row.get("differing") == {}]
    print(f"Bits: {len(equal)} of {len(bits)} steps equal, {sum(row['tensors'] for row in equal)} tensors.")
    for row in bits:
        if row not in equal:
            print(f"- `{row['label']}`: {row.get('error') or row['differing']}")
    for row in of("checks"):
        found = "; ".join(f"{tool} {said}" for tool, said in row.items() if tool.endswith("check"))
        print(f"- compute-sanitizer, `{row['label']}`: {found}")
    print("\n| step | losses | JAX's | farthest |\n|---|---|---|---:|")
    for row in of("losses"):
        if "error" in row:
            print(f"| `{row['label']}` | {row['error']} | | |")
            continue
        shown = [" ".join(f"{loss:.4f}" for loss in row[key][:: len(row[key]) - 1]) for key in ("losses", "expected")]
        print(f"| `{row['label']}` | {shown[0]} | {shown[1]} | {row['largest']:.1e} |")
    print("\n| step | ms | kernels' ms | launches | planned MiB | used MiB |\n|---|---:|---:|---:|---:|---:|")
    for row in of("time"):
        if "error" in row:
            print(f"| `{row['label']}` | {row['error']} | | | | |")
            continue
        kernels = row["kernels"] if isinstance(row["kernels"], list) else []
        sums = f"{sum(kernel[0] for kernel in kernels):.2f} | {sum(kernel[1] for kernel in kernels)}"
        print(f"| `{row['label']}` | {row['median_ms']:.2f} | {sums} | {row.get('planned', 0) / 2**20:.0f} | {row.get('used_mib', '')} |")
    peers = [row for row in rows if "peer" in row]
    if peers:
        print("\n| peer | step | ms | peak MiB |\n|---|---|---:|---:|")
    for row in peers:
        peak = (row["peak_allocated"] or 0) / 2**20
        print(f"| {row['peer']} {row['version']} {row['mode']} | {row['model']} | {row['median_ms']:.2f} | {peak:.0f} |")


def main() -> None:
    """Takes a verb."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    words = lambda text: text.split(",")  # noqa: E731
    verb = verbs.add_parser("prepare")
    verb.add_argument("folder", type=Path)
    verb.add_argument("--build", type=Path, default=ROOT / "build/dev")
    verb.add_argument("--only", type=words, default=list(KINDS))
    verb.set_defaults(do=prepare)
    verb = verbs.add_parser("run")
    verb.add_argument("folder", type=Path)
    verb.add_argument("out", type=Path)
    verb.add_argument("--only", type=words, default=list(KINDS))
    verb.add_argument("--match", default="", help="only cases whose label the regular expression finds")
    verb.add_argument("--seconds", type=float, default=500, help="starts nothing after so many")
    verb.add_argument("--scratch", default="/tmp/tenon-gpu")
    verb.set_defaults(do=run)
    verb = verbs.add_parser("table")
    verb.add_argument("outcomes", type=Path, nargs="+")
    verb.set_defaults(do=table)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
