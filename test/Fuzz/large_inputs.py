#!/usr/bin/env python3
"""Writes inputs of up to 1 MiB for the programs of `test/Fuzz`, to start from.

The corpora hold small files, of which libFuzzer makes small ones. These are as large as the readers are promised to take
without a hang or much memory: many operations, arguments, attributes, names and numbers; one long literal; what a corpus
holds, over and over.

    python test/Fuzz/large_inputs.py StableHLO FOLDER
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

SIZE = 1 << 20
CORPUS = Path(__file__).parent / "Corpus"


def filled(start: str, part: str, end: str, most: int = SIZE) -> str:
    """`start` and `end` with `part` between them, `{0}` of which is a number, as often as fits."""
    parts, size = [start], len(start) + len(end)
    while size + len(text := part.replace("{0}", str(len(parts)))) <= most:
        parts.append(text)
        size += len(text)
    return "".join([*parts, end])


def stablehlo() -> Iterator[str]:
    """Programs that are long in different ways."""
    begin, end = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n", "  return %a : tensor<4xf32>\n}\n"
    yield filled(begin, "  %v{0} = stablehlo.add %a, %a : tensor<4xf32>\n", end)
    body = "^bb0(%l: tensor<f32>, %r: tensor<f32>):\n    %s = stablehlo.add %l, %r : tensor<f32>\n    stablehlo.return %s : tensor<f32>"
    call = f'  %v{{0}} = "stablehlo.all_reduce"(%a) <{{replica_groups = dense<0> : tensor<1x1xi64>}}> ({{\n  {body}\n  }})'
    yield filled(begin, call + " : (tensor<4xf32>) -> tensor<4xf32>\n", end)
    yield filled(begin, '  %v{0} = stablehlo.custom_call @f{0}(%a) {k{0} = "v{0}"} : (tensor<4xf32>) -> tensor<4xf32>\n', end)
    yield filled("func.func @main(%a: tensor<f32>", ", %a{0}: tensor<{0}xf32>", ") {\n  return\n}\n")
    yield filled("", "func.func private @f{0}(tensor<{0}xi32>) -> tensor<{0}xi1>\n", "")
    yield filled("module attributes {", "a{0} = [{0}, {0}.5, unit], ", "z = 1} {}\n")
    count = SIZE // 2 - 200
    bits = f'dense<"0x{"5A" * count}"> : tensor<{count}xui8>'
    yield f"func.func @main() -> tensor<{count}xui8> {{\n  %0 = stablehlo.constant {bits}\n  return %0 : tensor<{count}xui8>\n}}\n"
    numbers = ", ".join(["1.5"] * (SIZE // 5 - 100))
    length = numbers.count(",") + 1
    yield f"func.func @main() {{\n  %0 = stablehlo.constant dense<[{numbers}]> : tensor<{length}xf32>\n  return\n}}\n"


def roles() -> Iterator[str]:
    """Many names, one long name, and much of nothing."""
    yield filled("{", '"arg{0}": {"role": "parameter", "result": {0}}, ', '"z": {"role": "batch"}}')
    yield json.dumps({"x" * (SIZE - 100): {"role": "batch"}})
    yield filled("[", "[{0}], ", "[]]")


def target() -> Iterator[str]:
    """A machine with many devices, and one with a long name."""
    text = (CORPUS / "Target/machine.json").read_text()
    yield text.rstrip().rstrip("}") + filled(', "more": [', '{"name": "d{0}", "bytes": {0}}, ', "0]}")[: SIZE - len(text)]
    yield filled("[", "{0}.25e-3, ", "1]")
    yield text.replace('"name": "', '"name": "' + "n" * (SIZE - len(text) - 100), 1)


def safetensors() -> Iterator[bytes]:
    """Headers with many tensors, and much data."""
    empty = '{"dtype": "U8", "shape": [0, {0}], "data_offsets": [0, 0]}'
    header = filled("{", f'"t{{0}}": {empty}, ', f'"z": {empty.replace("{0}", "0")}}}', SIZE - 8)
    yield len(header).to_bytes(8, "little") + header.encode()
    small = json.dumps({"x": {"dtype": "F32", "shape": [(SIZE - 200) // 4], "data_offsets": [0, (SIZE - 200) // 4 * 4]}})
    yield len(small).to_bytes(8, "little") + small.encode() + bytes((SIZE - 200) // 4 * 4)


def numpy_files() -> Iterator[bytes]:
    """An array of many dimensions, and an archive of many arrays."""
    header = filled("{'descr': '<f4', 'fortran_order': False, 'shape': (0, ", "{0}, ", ")}")
    yield b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header.encode()
    small = b"\x93NUMPY\x01\x00" + (59).to_bytes(2, "little") + b"{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }\n\n"
    local = b"PK\x03\x04" + bytes(26) + small
    count = (SIZE - len(local) - 22) // 60
    names = [f"{number:08}.npy".encode() for number in range(count)]
    size = struct.pack("<II", len(small), len(small))
    entries = b"".join(b"PK\x01\x02" + bytes(16) + size + struct.pack("<H", len(name)) + bytes(16) + name for name in names)
    yield local + entries + b"PK\x05\x06" + struct.pack("<IHHIIH", 0, count, count, len(entries), len(local), 0)


def run_records() -> Iterator[str]:
    """A record of many tensors, and one with a long setting."""
    text = (CORPUS / "RunRecord/whole.json").read_text()
    entry = '"w{0}": {"file": "s", "hash": "0123456789abcdef0123456789abcdef"}, '
    start, end = text.rsplit('"tensors": {"w": ', 1)
    yield filled(start + '"tensors": {', entry, '"w": ' + end)
    yield text.replace('"0.1"', '"' + "1" * (SIZE - len(text) - 10) + '"')


def shared_index(size: int, name: bytes, *, shares_tables: bool) -> bytes:
    """An index whose memory spaces all have one name; they are one table over and over, or tables of their own.

    It stands for as many names as it has spaces. FlatBuffers: a table begins with the distance back to its vtable (its length,
    the table's length, where each field is); lists and strings begin with their length; offsets count from where they are.
    """
    index_vtable = struct.pack("<HHHHHHHH", 16, 12, 4, 0, 0, 0, 0, 8)  # version, memory_spaces
    space_vtable = struct.pack("<HHH2x", 6, 8, 4)  # name
    count = (size - 100 - len(name)) // (4 if shares_tables else 12)
    start = 8 + len(index_vtable)
    spaces = start + 12
    vtable = spaces + 4 + 4 * count
    tables = vtable + len(space_vtable)
    stored = 1 if shares_tables else count
    text = tables + 8 * stored
    parts = [struct.pack("<I", start), b"TENO", index_vtable]
    parts += [struct.pack("<iII", len(index_vtable), 2, spaces - (start + 8))]
    parts += [struct.pack("<I", count), *(struct.pack("<I", tables + 8 * min(i, stored - 1) - (spaces + 4 + 4 * i)) for i in range(count))]
    parts += [space_vtable, *(struct.pack("<iI", tables + 8 * i - vtable, text - (tables + 8 * i + 4)) for i in range(stored))]
    parts += [struct.pack("<I", len(name)), name, b"\0"]
    return b"".join(parts)


def tenon_files() -> Iterator[bytes]:
    """Indices that stand for far more than they hold."""
    yield shared_index(SIZE, b"x", shares_tables=True)
    yield shared_index(SIZE, b"x" * (SIZE // 2), shares_tables=False)


def repeated(reader: str) -> Iterator[bytes]:
    """What the corpus of a reader holds, over and over, and with zeros behind it."""
    for path in sorted((CORPUS / reader).iterdir()):
        content = path.read_bytes()
        if content:
            yield (content * (SIZE // len(content) + 1))[:SIZE]
            yield content + bytes(SIZE - len(content))


INPUTS = {
    "StableHLO": stablehlo,
    "Roles": roles,
    "Target": target,
    "Safetensors": safetensors,
    "Numpy": numpy_files,
    "RunRecord": run_records,
    "TenonFile": tenon_files,
}


def write_inputs(reader: str, folder: Path) -> None:
    """Fills a folder for a reader."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate([*INPUTS[reader](), *repeated(reader)]):
        data = content.encode() if isinstance(content, str) else content
        (folder / f"large{number}").write_bytes(data[:SIZE])


if __name__ == "__main__":
    write_inputs(sys.argv[1], Path(sys.argv[2]))
