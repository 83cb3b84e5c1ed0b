"""Two small models train in lower precision as in f32, and the command that compares them goes on where it ended and can fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from conftest import BUILD

COMMAND = Path(__file__).resolve().parents[1] / "Benchmark" / "training.py"
MODELS = ("mlp", "gpt")
POLICIES = ("bf16", "bf16-state", "f16")
RUNS = 5 + len(POLICIES)  # per model: five in f32, one per policy


def train(results: Path) -> subprocess.CompletedProcess[str]:
    """One seed of a hundred steps."""
    command = [sys.executable, COMMAND, results, *MODELS, "--seeds=1", "--steps=100", f"--build={BUILD}"]
    return subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, timeout=900)


def test_trains_alike(tmp_path: Path) -> None:
    """The losses of every policy are within what is allowed; a second run trains nothing; a loss that is too high fails."""
    results = tmp_path / "results.jsonl"
    first = train(results)
    assert first.returncode == 0, (first.stdout, first.stderr)
    runs = [json.loads(line) for line in results.read_text().splitlines()]
    assert len(runs) == RUNS * len(MODELS)
    # In f16 nothing of the small network is quicker where products of f16 are not native.
    assert all(run["narrow"] > 0 for run in runs if run["run"][1] != "f32" and run["run"][:2] != ["mlp", "f16"])
    started = {run["run"][0]: run["first"] for run in runs}
    for model in MODELS:
        wide = {run["last"] for run in runs if run["run"][:2] == [model, "f32"]}
        assert len(wide) > 1, "the order of examples changes roundings"
        assert all(f"| {model} | {policy} |" in first.stdout for policy in POLICIES) and max(wide) < 0.95 * started[model]
    again = train(results)
    assert again.returncode == 0 and again.stdout == first.stdout and not again.stderr
    for run in runs:
        run["last"] *= 1.01 if run["run"][:2] == ["gpt", "bf16"] else 1
    results.write_text("".join(json.dumps(run) + "\n" for run in runs))
    worse = train(results)
    assert worse.returncode == 1 and worse.stdout.count("FAILS") == 1
