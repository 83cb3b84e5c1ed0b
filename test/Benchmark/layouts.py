#!/usr/bin/env python3
"""Layouts that the compiler chooses, next to those that people write: what a step is predicted to take, and what fits.

    ninja -C build/dev tenon LayoutPrices
    python layouts.py measure [--only NAMES] [--meshes MESH...] [--shares SHARE...]
    python layouts.py table                         the table of docs/Benchmarks/Sharding.md

Nothing is run: steps are exported with abstract arrays, cut, checked and priced, on ranks that are GPUs with published rates
(MACHINE). Each outcome goes to layouts.jsonl as soon as it is known, and what is there is not measured again. `tenon compile` asks the
planner what fits into a budget; here it is the choice itself that keeps within the bytes that it counts (layouts/LayoutPrices.cpp).

A plan of people says how arguments lie: the batch, the parameters and what an optimizer keeps of them. It is priced twice, and
the better price counts: with everything else following from it (`--sharding=FILE`), and with everything else chosen by the
compiler (`--sharding=solve:FILE`), which is the best that any plan with these arguments can be; that is left out where the chosen
plan is proved to be the best of all. What a rank may hold is a share of what it holds under data parallelism with everything
following, and bytes are those of the problem, copies left out of plans that only follow. Sequence parallelism is about activations
alone, so it is among the second prices.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUTCOMES = Path(__file__).with_suffix(".jsonl")
sys.path[:0] = [str(ROOT / "test/EndToEnd"), str(ROOT / "test/EndToEnd/models")]

from plans_of_people import EXPERTS, MEGATRON, Argument, arguments_of, batch_lines, lines_by_name, sizes_of, state_lines
from revision import commit

MESHES = {"data=2": 2, "data=4": 4, "data=8": 8, "data=2,model=4": 8, "data=8,model=8": 64}
SHARES = (1.0, 0.5, 0.25)
# How far a choice may be above its bound for plans of people to be left unsolved.
PROVED = 5e-4
# One rank: an H100 SXM by its data sheet. Eight share a node with NVLink 4; nodes are joined by NDR InfiniBand, a card per GPU.
MACHINE = {
    "machine_version": 2,
    "name": "a rank with the published rates of an H100",
    "feature_set": "x86-64-v4+amxbf16",
    "cores": 1,
    "cache_bytes": {"level1": 262144, "level2": 52428800, "level3": 52428800},
    "gflops": {kind: {"one_core": rate, "all_cores": rate} for kind, rate in (("f32", 67e3), ("bf16", 989e3), ("f16", 989e3))},
    "gigabytes_per_second": {
        "copy": {"one_core": 3350, "all_cores": 3350},
        "read": {"one_core": 3350, "all_cores": 3350},
        "cached_copy": {"one_core": 7000, "all_cores": 7000},
    },
    "overhead_microseconds": {"launch": 1.5, "barrier": 0.001},
}
NVLINK = {"latency_microseconds": 4, "gigabytes_per_second": 394, "shared_by": 1}
INFINIBAND = {"latency_microseconds": 10, "gigabytes_per_second": 50, "shared_by": 1}


@dataclass(frozen=True)
class Case:
    """A step of the generator at a size, and the heads of its attention, which `model` has to divide."""

    step: str
    size: dict[str, Any]
    heads: int = 0


LLAMA_HALF = {"vocab": 65536, "d": 896, "layers": 24, "heads": 16, "kv": 8, "ff": 4864}
LLAMA_8 = {"vocab": 128256, "d": 4096, "layers": 32, "heads": 32, "kv": 8, "ff": 14336}
CASES = {
    "MLP": Case("01_mlp", {"B": 4096}),
    "attention blocks": Case("04_chargpt", {"B": 128, "T": 64}, 4),
    "GPT-2 124M": Case("05_gpt2_124m", {"B": 64, "T": 1024}, 12),
    "Llama 0.5B": Case("07_llama_bf16", {"B": 64, "T": 1024, **LLAMA_HALF}, 8),
    "Llama 8B": Case("07_llama_bf16", {"B": 64, "T": 1024, **LLAMA_8}, 8),
    "ViT-Tiny": Case("10_vit_tiny", {"B": 256}, 3),
    "MoE": Case("11_moe", {"B": 64, "T": 64}, 4),
    "ResNet-18": Case("03_resnet18", {"B": 256}),
}


def plans_of_people(case: Case, arguments: list[Argument], mesh: str) -> Iterator[tuple[str, list[str]]]:
    """Names of plans, and their lines."""
    sizes = sizes_of(mesh)
    everyone = " ".join(sizes)
    ranks = MESHES[mesh]
    data = batch_lines(arguments, everyone)
    yield "data parallel", data
    yield "ZeRO", data + state_lines(arguments, everyone, ranks, "optimizer_state")
    yield "fully sharded", data + state_lines(arguments, everyone, ranks, "optimizer_state", "parameter")
    if case.step in EXPERTS:
        yield "experts", data + lines_by_name(arguments, EXPERTS[case.step], everyone)
    # On one axis all ranks cut the parameters.
    if case.step in MEGATRON and case.heads % sizes.get("model", ranks) == 0:
        cut = lines_by_name(arguments, MEGATRON[case.step], "model" if "model" in sizes else everyone)
        yield "Megatron", (batch_lines(arguments, "data") if "model" in sizes else []) + cut


class Compiler:
    """Cuts a step, and says what that takes."""

    def __init__(self, build: Path, scratch: Path) -> None:
        self.tool, self.prices = build / "bin" / "tenon", build / "bin" / "LayoutPrices"
        self.scratch = scratch
        scratch.mkdir(parents=True, exist_ok=True)

    def export(self, name: str) -> Path:
        """The text of the step, with abstract arrays."""
        import exportlib
        import steps

        case = CASES[name]
        folder = self.scratch / re.sub(r"\W+", "-", name)
        text = folder / f"{case.step}.mlir"
        if not text.exists():
            folder.mkdir(exist_ok=True)
            built = steps.BUILD[case.step](**case.size)
            exportlib.export(case.step, built["step"], built["args"], str(folder), about=name, hints=built["hints"], run_steps=0)
        return text

    def machine(self, mesh: str) -> Path:
        """The last axis is within a node, and so is the only one of up to eight ranks."""
        file = self.scratch / "machine.json"
        links = [INFINIBAND] * mesh.count(",") + [NVLINK]
        file.write_text(json.dumps({**MACHINE, "links": links}))
        return file

    def price(self, text: Path, mesh: str, sharding: str, budget: int | None) -> dict[str, Any] | None:
        """What the stage that cuts the step says; nothing where it finds no plan."""
        start = time.monotonic()
        command = [self.prices, text, mesh, sharding, self.machine(mesh), "-" if budget is None else str(budget)]
        process = subprocess.run(command, check=False, capture_output=True, text=True)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{process.stderr}")
        stage = json.loads(process.stdout)
        choice = stage.get("choice", {})
        if choice and not choice["within_limit"]:
            return None
        return {
            "seconds": stage["compute_seconds"] + stage["communication_seconds"],
            "communication_seconds": stage["communication_seconds"],
            "received_bytes": stage["received_bytes"],
            "collectives": stage["collectives"],
            "peak_bytes": choice.get("peak_bytes", stage.get("peak_bytes")),
            "problem_seconds": choice.get("seconds"),
            "gap": choice.get("gap"),
            "compile_seconds": time.monotonic() - start,
        }


def measure(
    compiler: Compiler,
    names: list[str],
    meshes: list[str],
    shares: list[float],
    known: set[tuple[str, str, float]],
    write: Callable[[dict[str, Any]], None],
) -> None:
    """The named steps on these meshes at these shares, the largest shares first."""
    for share in sorted(shares, reverse=True):
        for name in names:
            for mesh in meshes:
                if (name, mesh, share) not in known:
                    write(measure_row(compiler, name, mesh, share))


def measure_row(compiler: Compiler, name: str, mesh: str, share: float) -> dict[str, Any]:
    """What is chosen, and what people's plans take."""
    text = compiler.export(name)
    plans = dict(plans_of_people(CASES[name], arguments_of(compiler.tool, text, text.with_suffix(".json")), mesh))
    files = {}
    for plan, lines in plans.items():
        files[plan] = compiler.scratch / f"{plan.replace(' ', '-')}.txt"
        files[plan].write_text("\n".join(lines) + "\n")
    followed = {plan: compiler.price(text, mesh, str(file), None) for plan, file in files.items()}
    alone = followed["data parallel"]
    assert alone
    budget = int(alone["peak_bytes"] * share)
    chosen = compiler.price(text, mesh, "solve", budget)
    # Where the bound proves that no plan is better, none of people is, whatever is chosen beside its lines.
    proved = chosen and chosen["gap"] <= PROVED
    solved = {plan: None if proved else compiler.price(text, mesh, f"solve:{file}", budget) for plan, file in files.items()}
    print(f"{name} {mesh} {share}: {chosen and chosen['seconds'] * 1e3}", file=sys.stderr, flush=True)
    prices = {plan: {"solved": solved[plan], "followed": followed[plan]} for plan in plans}
    return {"commit": commit(), "step": name, "mesh": mesh, "share": share, "budget": budget, "plans": prices, "chosen": chosen}


def best_of_people(line: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The quickest of their plans that fits, and what it takes."""
    fitting = [
        (plan, price)
        for plan, prices in line["plans"].items()
        for price in prices.values()
        if price and price["peak_bytes"] <= line["budget"]
    ]
    return min(fitting, key=lambda each: each[1]["seconds"], default=None)


def times(price: dict[str, Any]) -> list[str]:
    """Milliseconds of a step, those of them in which ranks exchange, in how many exchanges, and what a rank receives."""
    milliseconds = [f"{price[seconds] * 1e3:.2f}" for seconds in ("seconds", "communication_seconds")]
    return [*milliseconds, str(sum(price["collectives"].values())), f"{price['received_bytes'] / 1e6:.1f}"]


def table(lines: list[dict[str, Any]]) -> str:
    """For docs/Benchmarks/Sharding.md."""
    columns = "ms | of exchange | exchanges | MB received"
    text = f"| step | mesh | share | MB on a rank | chosen: {columns} | gap % | best of people | {columns} | ratio |\n"
    text += "|---|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|\n"
    worst = 0.0
    missed = 0
    steps, meshes = list(CASES), list(MESHES)
    for line in sorted(lines, key=lambda each: (steps.index(each["step"]), meshes.index(each["mesh"]), -each["share"])):
        best, chosen = best_of_people(line), line["chosen"]
        row = [line["step"], line["mesh"], f"{line['share']:.2f}", f"{line['budget'] / 1e6:.1f}"]
        row += [*times(chosen), f"{chosen['gap'] * 100:.2f}"] if chosen else ["none found", "", "", "", ""]
        row += [best[0], *times(best[1])] if best else ["none fits", "", "", "", ""]
        ratio = chosen["seconds"] / best[1]["seconds"] if chosen and best else None
        worst = max(worst, ratio or 0)
        missed += bool(best and not chosen)
        row.append(f"{ratio:.4f}" if ratio else "")
        text += f"| {' | '.join(row)} |\n"
    commits = ", ".join(sorted({line["commit"] for line in lines}))
    text += f"\n{len(lines)} rows, with {commits}; the largest ratio is {worst:.4f}, "
    return text + f"and in {missed} no choice was found where a plan of people fits.\n"


def main() -> None:
    """Measures, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("measure", "table"))
    parser.add_argument("--outcomes", type=Path, default=OUTCOMES, help="file of outcomes (layouts.jsonl beside this)")
    parser.add_argument("--only", default=",".join(CASES), help="names of steps, with commas between them")
    parser.add_argument("--meshes", nargs="+", default=list(MESHES), choices=MESHES)
    parser.add_argument("--shares", nargs="+", type=float, default=list(SHARES), choices=SHARES)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "dev")
    parser.add_argument("--scratch", type=Path, default=Path("/tmp/tenon-layouts"))
    arguments = parser.parse_args()
    lines = [json.loads(line) for line in arguments.outcomes.read_text().splitlines()] if arguments.outcomes.exists() else []
    if arguments.verb == "table":
        print(table(lines), end="")
        return
    known = {(line["step"], line["mesh"], line["share"]) for line in lines}
    with arguments.outcomes.open("a") as out:

        def write(line: dict[str, Any]) -> None:
            out.write(json.dumps(line) + "\n")
            out.flush()

        measure(Compiler(arguments.build, arguments.scratch), arguments.only.split(","), arguments.meshes, arguments.shares, known, write)


if __name__ == "__main__":
    main()
