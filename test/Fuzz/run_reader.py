#!/usr/bin/env python3
"""Runs a program of test/Fuzz on always the same inputs: small ones, made from the corpus, or some of 1 MiB.

python test/Fuzz/run_reader.py build/dev/bin/TenonFuzzStableHLO StableHLO --runs=3000
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import large_inputs

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Returns the program's exit code, 1 if it did not run the inputs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("reader", help="names the corpus and the large inputs")
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--large", action="store_true", help="inputs of up to 1 MiB")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as found, tempfile.TemporaryDirectory() as made:
        limits = ["-seed=1", f"-runs={arguments.runs}", "-timeout=5", "-rss_limit_mb=1024", "-print_funcs=0", "-print_final_stats=1"]
        limits += [f"-max_len={1 << 20 if arguments.large else 65536}", f"-len_control={0 if arguments.large else 100}"]
        if arguments.large:
            large_inputs.write_inputs(arguments.reader, Path(made))
        corpus = Path(made) if arguments.large else HERE / "Corpus" / arguments.reader
        assert any(corpus.iterdir()), f"{corpus} holds no inputs"
        command = [arguments.program, *limits, f"-artifact_prefix={found}/", found, corpus]
        process = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(process.stdout)
    executed = re.search(r"number_of_executed_units: *(\d+)", process.stdout)
    if process.returncode == 0 and (not executed or int(executed[1]) < arguments.runs):
        print(f"{arguments.program.name} did not run {arguments.runs} inputs")
        return 1
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
