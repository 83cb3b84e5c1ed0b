"""Cuts large transformer steps for large meshes, and measures from the text to the checked partitioned program.

    python sharding_scale.py --build build/dev [--layers N...] [--sharding solve|people] [--results FILE] [--write]

The step is a GPT with forward, backward and AdamW, exported from shapes alone: nobody here could hold its parameters. With 61 layers it
has 50,000 operations. It is cut for 64 and for 4,096 devices on four axes, with layouts that are chosen, and with those of people (batch,
positions, columns and rows, and state along the batch's axis). Kernels are neither grouped nor packed. FILE keeps every row, so that an
ended run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "EndToEnd"))

import revision

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Benchmarks/Sharding.md"
BEGIN, END = "<!-- table of test/Benchmark/sharding_scale.py -->", "<!-- end of the table of scale -->"
MESHES = {64: "pod=2,data=8,seq=2,model=2", 4096: "pod=8,data=16,seq=4,model=8"}
# What is asked for: processor seconds, bytes, and operations of the program for 4,096 devices beside those for 64.
SECONDS, BYTES, GROWTH = 90, 6 << 30, 1.05
VOCABULARY, WIDTH, HEADS, LENGTH, BATCH = 51200, 8192, 64, 2048, 1024


def export(layers: int, folder: Path) -> Path:
    """The text of a step with that many layers."""
    text = folder / f"gpt{layers}.mlir"
    if text.exists():
        return text
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.path.insert(0, str(ROOT / "test/EndToEnd/models"))
    import jax
    import steps

    made = steps.gpt(VOCABULARY, WIDTH, layers, HEADS, LENGTH, BATCH, LENGTH)
    abstract = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), made["args"])
    text.write_text(jax.jit(made["step"], donate_argnums=0).lower(*abstract).as_text())
    return text


def layouts_of_people(layers: int) -> str:
    """Batch, positions, columns and rows, and the rest of each parameter along the batch's axis."""
    block = {
        "fc1.kernel": "[data, model]", "fc1.bias": "[model]", "fc2.kernel": "[model, data]", "fc2.bias": "[data]",
        "qkv.kernel": "[data, model]", "qkv.bias": "[model]", "proj.kernel": "[model, data]", "proj.bias": "[data]",
    }  # fmt: skip
    return "".join(f"params.h{number}.{name} = {layout}\n" for number in range(layers) for name, layout in block.items())


def batches(text: Path) -> list[str]:
    """Names of the two arguments that are no state."""
    count = len(re.findall(r"%arg\d+: ", text.read_text().split("\n", 2)[1]))
    return [f"arg{count - 2}", f"arg{count - 1}"]


def measure(build: Path, text: Path, layers: int, devices: int, sharding: str, folder: Path, limit: int) -> dict[str, Any]:
    """One row of the table; of a compilation that takes more than `limit` seconds of the processor, what it took until then."""
    parts, report = folder / "parts.mlir", folder / "report.json"
    command = [build / "bin/tenon", "compile", text, f"--mesh={MESHES[devices]}", "--compile-to=shard", "-o", parts]
    command += [f"--report={report}", "--cpu=x86-64-v4", "--threads=2"]
    if sharding == "people":
        layouts = folder / "layouts.txt"
        layouts.write_text("".join(f"{name} = [pod data, seq]\n" for name in batches(text)) + layouts_of_people(layers))
        command.append(f"--sharding={layouts}")
    started = time.monotonic()

    command = ["prlimit", f"--cpu={limit}", *command]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read() if process.stderr else ""
    _, status, used = os.wait4(process.pid, 0)
    row: dict[str, Any] = {
        "layers": layers, "devices": devices, "sharding": sharding, "seconds": used.ru_utime + used.ru_stime,
        "wall": time.monotonic() - started, "bytes": used.ru_maxrss * 1024,
    }  # fmt: skip
    if status and row["seconds"] >= 0.9 * limit:
        operations = sum(" = " in line for line in text.read_text().splitlines())
        return row | {"ends": False, "operations": operations}
    if status:
        raise SystemExit(f"layers {layers}, {devices} devices, {sharding}: {said.strip()[-2000:]}")
    stages = {stage["stage"]: stage for stage in json.loads(report.read_text())["stages"]}
    shard = stages["shard"]
    with parts.open() as lines:
        operations = sum(" = " in line and not line.startswith("#") for line in lines)
    return row | {
        "ends": True, "operations": stages["read"]["operations"], "parts": operations, "check": shard["check"],
        "stages": {name: stage["seconds"] for name, stage in stages.items()},
        "gap": shard["choice"]["gap"] if "choice" in shard else None,
    }  # fmt: skip


def table(rows: list[dict[str, Any]], commit: str) -> str:
    """The rows as Markdown, with what was asked for."""
    lines = [
        f"Commit {commit}, two threads, x86_64. Seconds are of the processor. Asked for, at 50,000 operations and 4,096 devices: at most",
        f"{SECONDS} s, {BYTES >> 30} GiB, and {GROWTH:.2f} times the operations of the program for 64 devices.",
        "",
        "| layers | operations | devices | layouts | operations of the program | times those for 64 | gap % | seconds | GiB |",
        "|---:|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in sorted(rows, key=lambda row: (row["layers"], row["sharding"], row["devices"])):
        if not row["ends"]:
            lines.append(
                f"| {row['layers']} | {row['operations']} | {row['devices']} | {row['sharding']} | not found | | "
                f"| more than {row['seconds']:.0f} | {row['bytes'] / (1 << 30):.2f} |"
            )
            continue
        like = (row["layers"], row["sharding"], 64)
        same = [other for other in rows if (other["layers"], other["sharding"], other["devices"]) == like and other["ends"]]
        growth = f"{row['parts'] / same[0]['parts']:.3f}" if same else ""
        gap = "" if row["gap"] is None else f"{row['gap'] * 100:.1f}"
        lines.append(
            f"| {row['layers']} | {row['operations']} | {row['devices']} | {row['sharding']} | {row['parts']} | {growth} | {gap} "
            f"| {row['seconds']:.1f} | {row['bytes'] / (1 << 30):.2f} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Measures what FILE lacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--layers", type=int, nargs="+", default=[4, 61])
    parser.add_argument("--devices", type=int, nargs="+", choices=list(MESHES), default=list(MESHES))
    parser.add_argument("--sharding", nargs="+", choices=("solve", "people"), default=["solve", "people"])
    parser.add_argument("--limit", type=int, default=600, help="processor seconds of a compilation")
    parser.add_argument("--texts", type=Path, help="where to keep the texts")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    results = arguments.results
    rows = json.loads(results.read_text()) if results and results.exists() else []
    with tempfile.TemporaryDirectory() as scratch:
        texts = arguments.texts or Path(scratch)
        texts.mkdir(parents=True, exist_ok=True)
        for layers in arguments.layers:
            for sharding in arguments.sharding:
                for devices in arguments.devices:
                    if any((row["layers"], row["sharding"], row["devices"]) == (layers, sharding, devices) for row in rows):
                        continue
                    rows.append(measure(arguments.build, export(layers, texts), layers, devices, sharding, Path(scratch), arguments.limit))
                    print(json.dumps(rows[-1]), flush=True)
                    if results:
                        results.write_text(json.dumps(rows, indent=1))
    text = table(rows, revision.commit())
    if arguments.write:
        page = PAGE.read_text()
        begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(f"{page[:begin]}\n\n{text}\n\n{page[end:]}")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
