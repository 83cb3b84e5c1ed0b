"""Layouts that people write for the generator's steps, as lines of a file for `--sharding`, and layouts by chance.

A plan of people says how arguments lie: the batch, the parameters and what an optimizer keeps of them.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

Rules = tuple[tuple[str, str], ...]

# How the words of a parameter's name say that it is cut along `model`: columns, then rows; vocabularies; experts; heads. Dimensions
# that a layout does not name are in front, as that of the layers of a scan.
TRANSFORMER: Rules = (
    (r"(qkv|fc1|q|k|v|gate|up)\.kernel", "[-, model]"),
    (r"(qkv|fc1)\.bias", "[model]"),
    (r"(proj|fc2|o|down)\.kernel", "[model, -]"),
    (r"(wte_embed|embed)\.embedding", "[model, -]"),
    (r"lm_head\.kernel", "[-, model]"),
)
HEADS: Rules = (
    (r"(query|key|value)\.kernel", "[-, model, -]"),
    (r"(query|key|value)\.bias", "[model, -]"),
    (r"out\.kernel", "[model, -, -]"),
)


def perceptron(first: int) -> Rules:
    """Columns of a layer, and rows of the next."""
    columns, rows = f"l{first}", f"l{first + 1}"
    return ((rf"{columns}\.kernel", "[-, model]"), (rf"{columns}\.bias", "[model]"), (rf"{rows}\.kernel", "[model, -]"))


# By step of the generator.
MEGATRON: dict[str, Rules] = {
    "01_mlp": perceptron(1),
    "04_chargpt": TRANSFORMER,
    "05_gpt2_124m": TRANSFORMER,
    "06_gpt2_124m_scan_remat": TRANSFORMER,
    "07_llama_bf16": TRANSFORMER,
    "10_vit_tiny": TRANSFORMER,
    "11_moe": HEADS,
    "12_chargpt_accum": TRANSFORMER,
    "13_mlp_f16_loss_scale": perceptron(0),
    "17_chargpt_remat": TRANSFORMER,
}
EXPERTS: dict[str, Rules] = {"11_moe": ((r"MoE_\d+\.w[12]", "[model, -, -]"),)}


@dataclass(frozen=True)
class Argument:
    """Of an exported step."""

    number: int
    name: str
    shape: tuple[int, ...]
    role: str

    def line(self, axes_of: dict[int, str]) -> str:
        """Where some dimensions are cut."""
        return f"arg{self.number} = [{', '.join(axes_of.get(dim, '-') for dim in range(len(self.shape)))}]"


def arguments_of(tenon: Path, text: Path, description: Path) -> list[Argument]:
    """With the names and roles that Tenon finds, and the shapes of the generator's description."""
    shown = subprocess.run([tenon, "inspect", text, "--json"], check=True, capture_output=True, text=True).stdout
    rows = json.loads(shown)
    rows = rows if isinstance(rows, list) else rows["arguments"]
    shapes = [tuple(leaf["shape"]) for leaf in json.loads(description.read_text())["args"] if leaf["in_main"]]
    return [Argument(i, row["name"], shape, row["role"]) for i, (row, shape) in enumerate(zip(rows, shapes, strict=True))]


def sizes_of(mesh: str) -> dict[str, int]:
    """Axes with their sizes."""
    return {axis: int(size) for axis, size in (part.split("=") for part in mesh.split(","))}


def batch_lines(arguments: Iterable[Argument], axis: str, rows: int | None = None) -> list[str]:
    """What every step gets anew, along the dimension of so many rows; the first one where their number is not given."""
    batches = [a for a in arguments if a.role == "batch" and a.shape]
    return [a.line({a.shape.index(rows) if rows else 0: axis}) for a in batches]


def state_lines(arguments: Iterable[Argument], axis: str, count: int, *roles: str) -> list[str]:
    """What has these roles, along the first dimension that so many ranks cut evenly."""
    lines = []
    for argument in arguments:
        cut = next((dim for dim, extent in enumerate(argument.shape) if extent % count == 0), None)
        if argument.role in roles and cut is not None:
            lines.append(argument.line({cut: axis}))
    return lines


def lines_by_name(arguments: Iterable[Argument], rules: Rules, axis: str) -> list[str]:
    """Parameters with such names, along `axis` in place of `model`, and what an optimizer keeps of them, whose names end alike."""
    lines = []
    for argument in arguments:
        found = (layout for pattern, layout in rules if re.search(rf"(^|\.){pattern}$", argument.name))
        layout = next(found, None)
        if layout and argument.role != "batch":
            words = layout.strip("[]").split(", ")
            first = len(argument.shape) - len(words)
            lines.append(argument.line({first + dim: axis for dim, word in enumerate(words) if word == "model"}))
    return lines


def random_lines(shapes: Iterable[tuple[int, ...]], mesh: str, seed: int) -> list[str]:
    """For each argument of @main, each axis of the mesh along a dimension or along none, by chance."""
    drawn = random.Random(seed)
    lines = []
    for number, shape in enumerate(shapes):
        axes: list[list[str]] = [[] for _ in shape]
        names = list(sizes_of(mesh))
        for axis in drawn.sample(names, len(names)):
            dim = drawn.randrange(len(axes) + 1)
            if dim < len(axes):
                axes[dim].append(axis)
        lines.append(f"arg{number} = [{', '.join(' '.join(names) or '-' for names in axes)}]")
    return lines
