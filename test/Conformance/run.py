#!/usr/bin/env python3
"""Runs the programs of JAX's conformance generator and says how many Tenon gets right.

Each program is exported, parsed and verified, interpreted, compiled and run; both results are compared
with what JAX gives on the CPU. Outcomes go to a JSON file as they come, so that a run that was
interrupted goes on where it was; `--again STAGE` repeats those that failed at a stage.

With `--target=sm_90` programs are compiled for a GPU and run on the emulated one instead, which is the stage `gpu`. What a
slice gave is also a line of gpu_programs.jsonl, which `--table` prints for docs/Conformance.md.

    python test/Conformance/run.py --slices 0                       # the 136 programs of slice 0
    python test/Conformance/run.py --slices 0-39                    # all
    python test/Conformance/run.py --slices 0-39 --target=sm_90     # all for a GPU
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "EndToEnd")]

import agreement
import gpu_slices
import numpy as np
import programs
import revision
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("parse", "interpret", "compile")
GPU_STAGES = ("gpu",)
SECONDS = 60


@dataclass(frozen=True)
class Gpu:
    """The architecture that programs are compiled for, and the file of the driver that runs them."""

    target: str
    driver: Path

    @property
    def variables(self) -> dict[str, str]:
        """What tells the emulated driver which GPU it is."""
        return {"TENON_EMULATED_CUDA_SM": self.target.removeprefix("sm_")}


def run_tool(build: Path, tool: str, *arguments: object, **variables: str) -> tuple[int, str]:
    """Runs a tool; returns its exit code (-1 for a hang) and its first error or the last line of a crash."""
    command = [str(build / "bin" / tool), *map(str, arguments)]
    environment = {**os.environ, **variables}
    try:
        process = subprocess.run(command, check=False, capture_output=True, timeout=SECONDS, text=True, errors="replace", env=environment)
    except subprocess.TimeoutExpired:
        return -1, f"no end within {SECONDS} s"
    errors = [line for line in process.stderr.splitlines() if "error: " in line]
    message = errors[0] if errors else (process.stderr.strip().splitlines() or [""])[-1]
    return process.returncode, re.sub(r"^.*?error: ", "", message)[:400]


def compare(program: programs.Program, text: str, found: Path, expected: Path) -> str:
    """What separates the results in two files; empty if they agree."""
    results, references = load_file(found), load_file(expected)
    if extra := sorted(results.keys() - references.keys()):
        return f"{', '.join(extra)} is too many"
    work = agreement.work_of(text)
    terms = functools.cache(functools.partial(programs.sum_terms, program))
    for name, reference in sorted(references.items()):
        if name not in results:
            return f"{name} is missing"

        def terms_of(result: str = name) -> agreement.Terms | None:
            return terms().get(result)

        if text := agreement.difference(program.group, work, results[name], reference, terms_of):
            return f"{name}: {text}"
    return ""


def judge(program: programs.Program, folder: Path, build: Path) -> dict[str, str]:
    """What happened at each stage: "ok" or the reason why not."""
    stem = folder / program.digest
    text, inputs, expected = f"{stem}.mlir", f"{stem}.in.safetensors", Path(f"{stem}.out.safetensors")
    outcome = {}
    code, message = run_tool(build, "tenon-opt", text, "-o", os.devnull)
    outcome["parse"] = "ok" if code == 0 else message
    for stage, flags in (("interpret", ["--reference"]), ("compile", ["--threads", 1])):
        found = Path(f"{stem}.{stage}.safetensors")
        found.unlink(missing_ok=True)
        code, message = run_tool(build, "tenon", "run", text, *flags, "--inputs", inputs, "--outputs", found)
        outcome[stage] = f"exit code {code}: {message}" if code else judge_results(program, Path(text), found, expected)
        found.unlink(missing_ok=True)
    return outcome


def judge_on_gpu(program: programs.Program, folder: Path, build: Path, gpu: Gpu) -> dict[str, str | int]:
    """The same of a program that is compiled for a GPU, and how many kernels it has, and how many of them no fast schedule.

    Those are the ones in `parts`, which `tenon inspect --kernels` lists.
    """
    stem = folder / f"{program.digest}"
    text, inputs, expected = Path(f"{stem}.mlir"), f"{stem}.in.safetensors", Path(f"{stem}.out.safetensors")
    file, found = Path(f"{stem}.{gpu.target}.tenon"), Path(f"{stem}.{gpu.target}.safetensors")
    found.unlink(missing_ok=True)
    # The emulated driver takes PTX.
    code, message = run_tool(build, "tenon", "compile", text, "-o", file, f"--target={gpu.target}", "--no-cubins")
    if code:
        return {"gpu": f"exit code {code}: {message}"}
    listed = subprocess.run([build / "bin/tenon", "inspect", file, "--kernels"], check=True, capture_output=True, text=True)
    schedules = re.findall(r"^kernel_\d+ +(\S+) +\d+ +\d+ ", listed.stdout, re.MULTILINE)
    outcome: dict[str, str | int] = {"kernels": len(schedules), "in_parts": schedules.count("parts")}
    run = ("run", file, f"--cuda-driver={gpu.driver}", "--inputs", inputs, "--outputs", found)
    code, message = run_tool(build, "tenon", *run, **gpu.variables)
    outcome["gpu"] = f"ran, exit code {code}: {message}" if code else judge_results(program, text, found, expected)
    for path in (file, found):
        path.unlink(missing_ok=True)
    return outcome


def judge_results(program: programs.Program, text: Path, found: Path, expected: Path) -> str:
    """ "ok" if results agree with JAX's, or what separates them."""
    if not np.any([array.size for array in load_file(expected).values()]):
        return "ok"
    different = compare(program, text.read_text(), found, expected)
    return f"differs: {different}" if different else "ok"


def parse_slices(text: str) -> set[int]:
    """Numbers and ranges separated by commas."""
    slices: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        slices.update(range(int(first), int(last or first) + 1))
    return slices


def cause(reason: str) -> str:
    """A reason without what only concerns one program, to count by."""
    return re.sub(r"\d+", "N", re.sub(r"<[^>]*>", "<>", re.sub(r"differs: .*", "differs", reason)))[:110]


def calls_unsupported_lapack(record: dict) -> bool:
    """Whether a program is refused because of a function of LAPACK that is not offered."""
    return any(re.match(r"exit code 4: .*@lapack_", record.get(stage, "")) for stage in STAGES + GPU_STAGES)


def summarize(outcomes: dict[str, dict], stages: tuple[str, ...], show_names: bool) -> None:
    """Prints how many programs passed each stage, and why the others did not."""
    run = {name: record for name, record in outcomes.items() if not record["reason"]}
    apart = {name for name, record in run.items() if calls_unsupported_lapack(record)}
    judged = {name: record for name, record in run.items() if name not in apart}
    print(f"{len(outcomes)} programs, {len(outcomes) - len(run)} of them not run by JAX itself")
    print(f"{len(apart)} of them call functions of LAPACK that are not offered")
    for stage in stages:
        passed = sum(record[stage] == "ok" for record in judged.values())
        print(f"{stage:10} {passed:5} of {len(judged)}  {100 * passed / max(1, len(judged)):.2f} %")
    if stages == GPU_STAGES:
        compiled = [record for record in judged.values() if "kernels" in record]
        slow, kernels, in_parts = (
            sum(record["in_parts"] > 0 for record in compiled),
            sum(record["kernels"] for record in compiled),
            sum(record["in_parts"] for record in compiled),
        )
        print(f"no fast schedule: {slow} of {len(compiled)} programs ({100 * slow / max(1, len(compiled)):.2f} %), ", end="")
        print(f"{in_parts} of {kernels} kernels ({100 * in_parts / max(1, kernels):.2f} %)")
    if show_names:
        print("\n".join(f"apart      {name}" for name in sorted(apart)))
    for stage in stages:
        causes = collections.defaultdict(list)
        for name, record in judged.items():
            if record[stage] != "ok":
                causes[record["group"] if "differs" in record[stage] else "", cause(record[stage])].append(name)
        for (group, reason), names in sorted(causes.items(), key=lambda item: -len(item[1])):
            print(f"{stage:10} {len(names):5}  {group:24} {reason}")
            if show_names:
                for name in names:
                    print(f"{'':18}{name}: {judged[name][stage]}")


def main() -> int:
    """Runs what was asked for and is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slices", default="0", help=f"which of the {programs.SLICES} samples, such as 0 or 0-39")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/conformance", help="where programs are kept")
    parser.add_argument("--target", help="run on the emulated GPU, compiled for this architecture, such as sm_90")
    parser.add_argument("--cuda-driver", type=Path, help="another driver than the emulated one of the build")
    parser.add_argument("--outcomes", type=Path, help="JSON of outcomes (FOLDER/outcomes.json, for a GPU FOLDER/outcomes.TARGET.json)")
    parser.add_argument("--again", choices=STAGES + GPU_STAGES, help="repeat those that failed at this stage")
    parser.add_argument("--names", action="store_true", help="name the programs that failed")
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--table", action="store_true", help="only print what gpu_programs.jsonl says")
    arguments = parser.parse_args()
    if arguments.table:
        print(gpu_slices.table())
        return 0
    stages = GPU_STAGES if arguments.target else STAGES
    if arguments.again and arguments.again not in stages:
        parser.error(f"these programs have the stages {', '.join(stages)}")
    gpu = Gpu(arguments.target, arguments.cuda_driver or arguments.build / "lib/libtenon-emulated-cuda.so") if arguments.target else None
    arguments.folder.mkdir(parents=True, exist_ok=True)
    path = arguments.outcomes or arguments.folder / (f"outcomes.{gpu.target}.json" if gpu else "outcomes.json")
    known = json.loads(path.read_text()) if path.exists() else {}
    commit = revision.commit() if gpu else ""

    slices = parse_slices(arguments.slices)
    wanted = [p for p in programs.all_programs() if p.slice in slices and re.search(arguments.only, p.name)]
    saved = time.monotonic()
    for number, program in enumerate(wanted):
        record = known.get(program.name)
        if record and (record["reason"] or not arguments.again or record[arguments.again] == "ok"):
            continue
        record = programs.exported(program, arguments.folder)
        if not record["reason"]:
            record = record | (
                judge_on_gpu(program, arguments.folder, arguments.build, gpu) | {"commit": commit}
                if gpu
                else judge(program, arguments.folder, arguments.build)
            )
        known[program.name] = record
        if time.monotonic() - saved > 10:
            path.write_text(json.dumps(known, indent=1, sort_keys=True))
            saved = time.monotonic()
            print(f"{number + 1} of {len(wanted)}", file=sys.stderr, flush=True)
    path.write_text(json.dumps(known, indent=1, sort_keys=True))
    outcomes = {program.name: known[program.name] for program in wanted}
    summarize(outcomes, stages, arguments.names)
    if gpu and not arguments.only:
        apart = {name for name, record in outcomes.items() if not record["reason"] and calls_unsupported_lapack(record)}
        gpu_slices.record(gpu.target, outcomes, apart)
    judged = [r for r in outcomes.values() if not r["reason"] and not calls_unsupported_lapack(r)]
    return int(not judged or any(r[stage] != "ok" for r in judged for stage in stages))


if __name__ == "__main__":
    sys.exit(main())
