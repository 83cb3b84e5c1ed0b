#!/usr/bin/env python3
"""What formats are chosen for, next to what the groups of the lowered step are predicted to take before some become one.

    python fused_model.py FOLDER [NAME...] [--build BUILD] [--within PERCENT] [--products KIND...]

FOLDER holds NAME.mlir as test/EndToEnd/models/generate.py writes it. Each step is compiled up to its groups in bf16, for
processors that widen bf16 to multiply it (`widened`) and that multiply it by `dot products` and by `tiles`; KIND leaves
out others. Nothing is run. Prints a table, and ends with code 1 if the two differ by more than PERCENT (5) anywhere.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("02_cnn", "03_resnet18", "04_chargpt", "05_gpt2_124m", "08_lstm", "10_vit_tiny")
FEATURE_SETS = {"widened": "x86-64-v4", "dot products": "x86-64-v4+avx512bf16", "tiles": "x86-64-v4+amxbf16"}
SETTLED = "its kernels were formed with it"


def stages(tool: Path, source: Path, cpu: str, folder: Path) -> dict[str, dict]:
    """The stages' reports by name."""
    report = folder / "report.json"
    options = ["--precision=bf16", f"--cpu={cpu}", "--compile-to=group", "-o", str(folder / "groups.mlir"), "--report", str(report)]
    process = subprocess.run([str(tool), "compile", str(source), *options], capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(process.stderr)
    return {stage["stage"]: stage for stage in json.loads(report.read_text())["stages"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--within", type=float, default=5, metavar="PERCENT")
    parser.add_argument("--products", nargs="+", choices=FEATURE_SETS, default=list(FEATURE_SETS), metavar="KIND")
    arguments = parser.parse_args()
    print("| step | products of bf16 | model | groups | apart | in f32 | settled |\n|---|---|---:|---:|---:|---:|---:|")
    most = 0.0
    for name in arguments.names or NAMES:
        for words in arguments.products:
            cpu = FEATURE_SETS[words]
            with tempfile.TemporaryDirectory() as folder:
                found = stages(arguments.build / "bin/tenon", arguments.folder / f"{name}.mlir", cpu, Path(folder))
            formats, model = found["precision"]["formats"], found["precision"]["predicted_seconds"]
            groups, wide = found["group"]["predicted_seconds_unfinished"], found["precision"]["predicted_seconds_f32"]
            apart = 100 * abs(model / groups - 1)
            most = max(most, apart)
            settled = sum(line["why"].startswith(SETTLED) for line in formats)
            print(
                f"| {name} | {words} | {model * 1e6:,.1f} | {groups * 1e6:,.1f} | {apart:.3f} % | {wide * 1e6:,.0f} | {settled} |",
                flush=True,
            )
    if most > arguments.within:
        sys.exit(f"the model and the groups are {most:.1f} % apart, more than {arguments.within:g} %")


if __name__ == "__main__":
    main()
