#!/usr/bin/env python3
"""Compiles steps for a GPU and writes a table of the nodes of their graphs. Nothing is run, and no GPU is needed.

    python gpu_nodes.py FOLDER [NAME...] [--build BUILD] [--target SM] [--policy P]

FOLDER holds NAME.mlir as test/EndToEnd/models/generate.py writes them. A node is a kernel, a library's call or a copy;
one launch that does the work of several kernels is one node, and what is in a loop counts once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
STEPS = ("04_chargpt", "05_gpt2_124m", "07_llama_bf16", "10_vit_tiny")


def main() -> None:
    """Prints a line per step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=STEPS)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--policy", default="f32")
    options = parser.parse_args()
    print("| step | kernels, calls and copies | launches of several kernels | nodes |\n|---|---:|---:|---:|")
    for name in options.names:
        with tempfile.TemporaryDirectory() as scratch:
            report = Path(scratch) / "report.json"
            subprocess.run(
                [
                    options.build / "bin/tenon", "compile", options.folder / f"{name}.mlir", f"--target={options.target}",
                    f"--precision={options.policy}", "--no-cubins", f"--report={report}", "-o", Path(scratch) / "step.tenon",
                ],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            stages = {stage["stage"]: stage for stage in json.loads(report.read_text())["stages"]}
        code = stages["codegen"]
        print(f"| `{name}` | {code['invocations']} | {code['joint_launches']} | {code['nodes']} |", flush=True)


if __name__ == "__main__":
    main()
