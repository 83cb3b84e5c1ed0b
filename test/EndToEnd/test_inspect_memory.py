"""What `tenon inspect --memory` and its picture say is what the plan holds."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from conftest import Steps, refused, run, smallest, succeed


def budgeted(steps: Steps) -> Path:
    """A step that has to compute some values again."""
    located = steps["04_chargpt"].located
    return smallest(located).output


def test_peak(steps: Steps) -> None:
    """The table lists who is live at the peak, largest first, with sources; the bytes add up to the peak."""
    program = budgeted(steps)
    text = succeed("inspect", program, "--memory", "--rows=100000")
    assert re.search(r"temporaries: lower bound for this order \S+ \S+, gap \d+\.\d\d %", text)
    assert re.search(r"[1-9]\d* values in temporaries: [1-9]\d* written over another, [1-9]\d* computed again", text)
    rows = [line.split() for line in text.split("live\n")[-1].splitlines() if line.strip()]
    sizes = [int(row[0]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert any(re.search(r"\w+\.py:\d+", " ".join(row)) for row in rows)
    assert "computed again" in text
    # No two of them overlap, and none lies outside the arena.
    ends = 0
    for row in sorted(rows, key=lambda row: int(row[1])):
        if "written over" not in " ".join(row):
            assert int(row[1]) >= ends
        ends = max(ends, int(row[1]) + int(row[0]))
    arena = next(int(line.split()[1]) for line in succeed("inspect", program).splitlines() if line.startswith("temporaries"))
    assert ends <= arena
    short = succeed("inspect", program, "--memory", "--rows=2")
    assert "smaller ones" in short


def test_picture(steps: Steps, tmp_path: Path) -> None:
    """The picture is well-formed, self-contained, and has a titled box inside its frame for every value."""
    program = budgeted(steps)
    picture = tmp_path / "memory.svg"
    succeed("inspect", program, f"--memory-picture={picture}")
    text = picture.read_text()
    assert "href" not in text and "url(" not in text and "<script" not in text
    root = ElementTree.fromstring(text)
    name = "{http://www.w3.org/2000/svg}"
    boxes = [box for box in root.iter(f"{name}rect") if box.find(f"{name}title") is not None]
    count = re.search(r"(\d+) values in temporaries", succeed("inspect", program, "--memory"))
    assert count and len(boxes) == int(count[1])
    width = float(root.attrib["width"])
    for box in boxes:
        assert 0 <= float(box.attrib["x"]) <= float(box.attrib["x"]) + float(box.attrib["width"]) <= width
        assert float(box.attrib["y"]) >= 0
    assert any("computed again" in box[0].text for box in boxes)


def test_without_a_plan(steps: Steps, tmp_path: Path) -> None:
    """A file from an edited text has no plan to show."""
    text = tmp_path / "lower.mlir"
    succeed("compile", steps["01_mlp"].text, "--compile-to=lower", "-o", text)
    text.write_text(re.sub(r" \{exec\.planned = \{.*?\}\}", "", text.read_text(), count=1))
    succeed("compile", text, "--compile-from=lower", "-o", tmp_path / "x.tenon")
    assert "holds no plan" in refused(1, "inspect", tmp_path / "x.tenon", "--memory")
    outcome = run("inspect", steps["01_mlp"].compiled, f"--memory-picture={tmp_path}/none/x.svg")
    assert outcome.code == 1
