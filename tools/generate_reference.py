#!/usr/bin/env python3
"""Writes docs/Reference from the descriptions in the .td files: one page for the passes, one per dialect.

tools/generate_reference.py           # writes the pages
tools/generate_reference.py --check   # fails, naming each page that is not what would be written
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "Reference"
OTHERS = ["Support.md"]  # tools/generate_support.py
LLVM = Path("/usr/lib/llvm-22")
# In the order of the stages.
STAGES = {
    "Import": "Import/Passes.td",
    "Simplify": "Simplify/Passes.td",
    "Precision": "Precision/Passes.td",
    "Sharding": "Sharding/Passes.td",
    "ShardingCheck": "ShardingCheck/Passes.td",
    "Collectives": "Collectives/Passes.td",
    "Fusion": "Fusion/Passes.td",
    "Memory": "Memory/Passes.td",
    "Codegen/CPU": "Codegen/CPU/Passes.td",
}
# Page, the dialect's name, and where it is defined.
DIALECTS = [
    ("StableHLO", "stablehlo", "Dialect/StableHLO/StableHLO.td"),
    ("CHLO", "chlo", "Dialect/CHLO/CHLO.td"),
    ("Shardy", "sdy", "Dialect/Shardy/Shardy.td"),
    ("Step", "step", "Dialect/Step/Operations.td"),
    ("Exec", "exec", "Dialect/Exec/Exec.td"),
    ("Check", "check", "Dialect/Check/Check.td"),
    ("Interpreter", "interpreter", "Dialect/Check/Check.td"),
]


def describe(td: str, *options: str) -> str:
    """What mlir-tblgen makes of the descriptions in a file, tidied."""
    command = [LLVM / "bin/mlir-tblgen", *options, "-I", ROOT / "include", "-I", LLVM / "include"]
    text = subprocess.run([*command, ROOT / "include/tenon" / td], capture_output=True, text=True, check=True).stdout
    text = text.split("-->\n", 1)[1].replace("[TOC]\n", "")  # its own note and a mark for another renderer
    text = re.sub(r"^### `-(?=\w)", "### `--", text, flags=re.MULTILINE)
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def pages() -> dict[str, str]:
    """File names and texts of all pages."""
    note = "<!-- Written by tools/generate_reference.py from include/tenon/{}; edit that. -->\n\n"
    passes = "# Passes\n\nEvery pass of `tenon-opt`, by stage. The examples are run by the tests.\n"
    for stage, td in STAGES.items():
        passes += f"\n## {stage}\n\n{describe(td, '-gen-pass-doc')}"
    written = {"Passes.md": note.format("*/Passes.td") + passes}
    for page, dialect, td in DIALECTS:
        written[f"{page}.md"] = note.format(td) + describe(td, "-gen-dialect-doc", f"-dialect={dialect}")
    return written


def main() -> int:
    """Writes or checks the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    texts = pages()
    existing = {path.name: path.read_text() for path in PAGES.glob("*") if path.name not in OTHERS}
    stale = sorted(name for name in texts.keys() | existing.keys() if texts.get(name) != existing.get(name))
    if check:
        for name in stale:
            print(f"docs/Reference/{name} is out of date; run tools/generate_reference.py", file=sys.stderr)
        return 1 if stale else 0
    PAGES.mkdir(exist_ok=True)
    for name in stale:
        if name in texts:
            (PAGES / name).write_text(texts[name])
        else:
            (PAGES / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
