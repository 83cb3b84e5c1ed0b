#!/usr/bin/env python3
"""What can be said of steps on a GPU without one: nodes of their graphs, predicted time, planned memory, compile time, size of files.

    python gpu_static.py measure OUT.jsonl [--only nodes,prediction,compiling] [--match REGEX] [--build BUILD] [--scratch FOLDER]
    python gpu_static.py table OUT.jsonl            the tables "Without a GPU" of docs/Benchmarks/Gpu.md

Nothing is run on a GPU, nor on an emulated one. Each outcome is written as soon as it is known, and what OUT.jsonl holds is not
measured again: remove it, or lines of it, to measure anew. `nodes` are those of the graph of a step at full size: kernels, calls
and copies, one launch that does the work of several kernels counting one. `prediction` prices each group of GPT-2's plan, with
32 sequences of 1,024 tokens in bf16, at fixed rates of an H200 (Rates), without a budget and within one. `compiling` measures
the compiler on two cores with machine code: without a cache, with an empty one, with a full one, and with one constant changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu import ROOT, Preparation, Timed, own, succeed

KINDS = ("nodes", "prediction", "compiling")
MOST_NODES = {"04_chargpt": 120, "05_gpt2_124m": 300, "07_llama_bf16": 300, "10_vit_tiny": 300}
LARGE = Timed("05_gpt2_124m", "bf16", 32, 1024)
BUDGET = 9_000_000_000
ASKED = {"ms": 55.0, "gigabytes": 12.5, "slower_percent": 8.0, "seconds": 10.0, "megabytes": 5.0, "seconds_again": 1.0}
CHANGED = ("dense<9.99999993E-9>", "dense<2.0E-8>")  # Adam's epsilon


@dataclass(frozen=True)
class Rates:
    """What an H200 is taken to reach."""

    library: float = 680e12  # FLOP/s
    attention: float = 300e12
    gradient: float = 230e12
    memory: float = 3.87e12  # bytes/s
    node: float = 1.5e-6  # seconds

    def seconds(self, group: dict) -> float:
        """Of a group in a step: its products or its bytes, whichever take longer."""
        products = {"attention": self.attention, "attention_gradient": self.gradient}.get(group["root"], self.library)
        return max(group["flops"] / products, group["bytes"] / self.memory) * group["runs"]


def kind_of(group: dict) -> str:
    """In words of the tables."""
    special = {"attention": "attention", "attention_gradient": "gradient of attention", "scatter": "scatter"}
    plain = {"library": "products (cuBLASLt)", "elementwise": "element-wise kernels", "row": "kernels of rows", "column": "sums of columns"}
    return special.get(group["root"]) or plain.get(group["kind"]) or ("others" if group["root"] else "rows or elements with sums")


class Measurement:
    """Compiles steps and writes down what is known."""

    def __init__(self, scratch: Path, build: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.scratch, self.preparation = scratch, Preparation(scratch, build)

    def text(self, step: Timed) -> Path:
        """The exported step."""
        size = [*([f"--batch={step.batch}"] if step.batch else []), *([f"--length={step.length}"] if step.length else [])]
        return self.preparation.export(step.name, "--no-run", *size)[0]

    def compile(self, text: Path, step: Timed, *options: object) -> tuple[Path, dict[str, dict]]:
        """The file and the report, by stages."""
        out, report = self.scratch / "step.tenon", self.scratch / "report.json"
        words = ["--target=sm_90", f"--precision={step.policy}", f"--report={report}", *options]
        succeed([self.preparation.tool, "compile", text, "-o", out, *words])
        return out, {stage["stage"]: stage for stage in json.loads(report.read_text())["stages"]}

    def nodes(self, step: Timed) -> dict:
        """Of a step's graph."""
        code = self.compile(self.text(step), step, "--no-cubins")[1]["codegen"]
        return {"invocations": code["invocations"], "joint": code["joint_launches"], "nodes": code["nodes"], "asked": MOST_NODES[step.name]}

    def prediction(self, step: Timed, budget: int) -> dict:
        """Times by kind of group, and memory."""
        out, stages = self.compile(self.text(step), step, "--no-cubins", *([f"--memory-budget={budget}"] if budget else []))
        rates, kinds = Rates(), {}
        for group in stages["plan"]["groups"]:
            kind = kinds.setdefault(kind_of(group), {"groups": 0, "seconds": 0.0, "bytes": 0.0, "flops": 0.0})
            kind["groups"] += group["runs"]
            kind["seconds"] += rates.seconds(group)
            kind["bytes"] += group["bytes"] * group["runs"]
            kind["flops"] += group["flops"] * group["runs"]
        nodes = stages["codegen"]["nodes"]
        kinds["starting nodes"] = {"groups": nodes, "seconds": nodes * rates.node, "bytes": 0.0, "flops": 0.0}
        said = succeed([self.preparation.tool, "inspect", out])
        planned = sum(map(int, re.findall(r"^(?:state|batch|results|temporaries|constants) +(\d+)$", said, re.MULTILINE)))
        return {"budget": budget, "kinds": kinds, "seconds": sum(kind["seconds"] for kind in kinds.values()), "planned": planned}

    def compiling(self, step: Timed) -> dict:
        """Seconds with machine code on two cores, and whether a cache changes bytes."""
        text, cache = self.text(step), self.scratch / "kernels"
        changed = self.scratch / "changed.mlir"
        changed.write_text(text.read_text().replace(*CHANGED))
        shutil.rmtree(cache, ignore_errors=True)
        files, seconds = {}, {}
        cores = sorted(os.sched_getaffinity(0))[:2]
        kept = [f"--kernel-cache={cache}"]
        for name, source, options in (
            ("without a cache", text, []), ("with an empty cache", text, kept), ("again", text, kept),
            ("again, changed", changed, kept), ("changed, without a cache", changed, []),
        ):  # fmt: skip
            out = self.scratch / f"{name}.tenon"
            command = [self.preparation.tool, "compile", source, "-o", out, "--target=sm_90", f"--precision={step.policy}", *options]
            begin = time.monotonic()
            done = own(command, preexec_fn=lambda: os.sched_setaffinity(0, cores))
            seconds[name] = time.monotonic() - begin
            if done.returncode:
                sys.exit(done.stderr[-3000:])
            files[name] = out.read_bytes()
        first = files["without a cache"]
        equal = all(files[name] == first for name in ("with an empty cache", "again"))
        equal &= files["again, changed"] == files["changed, without a cache"] != first
        return {"seconds": seconds, "equal": equal, "bytes": len(first), "cores": len(cores)}

    def all(self, only: list[str]) -> Iterator[tuple[str, str, Callable[[], dict]]]:
        """Kind, label, and what measures it."""
        steps = [Timed(name, policy) for name in MOST_NODES for policy in ("f32", "bf16")]
        for step in (*steps, LARGE) if "nodes" in only else ():
            yield "nodes", step.label, lambda step=step: self.nodes(step)
        for budget in (0, BUDGET) if "prediction" in only else ():
            label = f"{LARGE.label} {f'within {budget / 1e9:g} GB' if budget else 'without a budget'}"
            yield "prediction", label, lambda budget=budget: self.prediction(LARGE, budget)
        if "compiling" in only:
            yield "compiling", LARGE.label, lambda: self.compiling(LARGE)


def measure(arguments: argparse.Namespace) -> None:
    """Whatever the file of outcomes does not hold yet."""
    out: Path = arguments.out
    known = {(row["kind"], row["label"]) for row in map(json.loads, out.read_text().splitlines())} if out.exists() else set()
    for kind, label, of in Measurement(arguments.scratch, arguments.build).all(arguments.only):
        if (kind, label) in known or not re.search(arguments.match, label):
            continue
        row = {"kind": kind, "label": label, **of()}
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(kind, label, flush=True)


def table(arguments: argparse.Namespace) -> None:
    """Markdown."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    of = lambda kind: [row for row in rows if row["kind"] == kind]  # noqa: E731
    print("| step | kernels, calls and copies | launches of several kernels | nodes | asked |\n|---|---:|---:|---:|---:|")
    for row in of("nodes"):
        print(f"| `{row['label']}` | {row['invocations']} | {row['joint']} | {row['nodes']} | {row['asked']} |")
    predictions = of("prediction")
    print(f"\n| of `{LARGE.label}` | found | asked |\n|---|---:|---:|")
    if predictions:
        free = predictions[0]
        print(f"| predicted ms | {free['seconds'] * 1e3:.1f} | {ASKED['ms']:g} |")
        print(f"| planned GB | {free['planned'] / 1e9:.2f} | {ASKED['gigabytes']:g} |")
    for row in predictions[1:]:
        slower = 100 * (row["seconds"] / predictions[0]["seconds"] - 1)
        where = f"{row['label'].split(maxsplit=1)[1]} ({row['planned'] / 1e9:.2f} GB)"
        print(f"| slower {where}, % | {slower:.1f} | {ASKED['slower_percent']:g} |")
    for row in of("compiling"):
        asked = {"without a cache": "seconds", "again, changed": "seconds_again"}
        for name, seconds in row["seconds"].items():
            print(f"| compiling {name}, s | {seconds:.1f} | {f'{ASKED[asked[name]]:g}' if name in asked else ''} |")
        print(f"| file, MB | {row['bytes'] / 1e6:.2f} | {ASKED['megabytes']:g} |")
        print(f"| the same bytes with and without the cache | {'yes' if row['equal'] else 'no'} | yes |")
    for row in predictions:
        print(f"\n| {row['label']} | groups | ms | share | GB | TFLOP |\n|---|---:|---:|---:|---:|---:|")
        for kind, each in sorted(row["kinds"].items(), key=lambda entry: -entry[1]["seconds"]):
            share, moved = each["seconds"] / row["seconds"], f"{each['bytes'] / 1e9:.2f} | {each['flops'] / 1e12:.2f}"
            print(f"| {kind} | {each['groups']} | {each['seconds'] * 1e3:.2f} | {share:.0%} | {moved} |")


def main() -> None:
    """Takes a verb."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("measure")
    verb.add_argument("out", type=Path)
    verb.add_argument("--build", type=Path, default=ROOT / "build/dev")
    verb.add_argument("--only", type=lambda text: text.split(","), default=list(KINDS))
    verb.add_argument("--match", default="", help="only what has a label that the regular expression finds")
    verb.add_argument("--scratch", type=Path, default=Path("/tmp/tenon-gpu-static"))
    verb.set_defaults(do=measure)
    verb = verbs.add_parser("table")
    verb.add_argument("out", type=Path)
    verb.set_defaults(do=table)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
