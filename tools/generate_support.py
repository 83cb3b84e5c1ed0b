#!/usr/bin/env python3
"""Writes docs/Reference/Support.md: which operations the tools verify, interpret and compile, in which element types.

tools/generate_support.py                      # asks the tools about every operation and type, and writes the page
tools/generate_support.py --check f32,i8       # fails if the page says something else about these types

Nothing is typed in by hand but one example per operation: for every element type the example is given to `tenon-opt`,
and all examples that verify go, as one program, to the interpreter and to the compiler, which name what they refuse.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TENON_BUILD", ROOT / "build/dev"))
PAGE = ROOT / "docs" / "Reference" / "Support.md"
# One of every kind: floats with instructions and without, integers with and without sign and below a byte, booleans.
TYPES = ["f32", "f8E4M3FN", "i32", "ui8", "i4", "i1"]

# A: tensor<4x4xT>, V: tensor<4xT>, S: tensor<T>. Values: %a %b of A, %v of V, %s of S, %i %j of tensor<i32>, %n of
# tensor<4x1xi32>, %p of tensor<4x4xi1>, %u of tensor<4x4xi8>, %k of tensor<2xui64>.
SAME = "@ %a : A"
PAIR = "@ %a, %b : A"
COMBINE = "({\n^bb0(%x: S, %y: S):\n%z = stablehlo.OP %x, %y : S\nstablehlo.return %z : S\n})"
COMPARE = "({\n^bb0(%x: S, %y: S):\n%z = stablehlo.compare GE, %x, %y : (S, S) -> tensor<i1>\nstablehlo.return %z : tensor<i1>\n})"
GROUPS = "replica_groups = dense<[[0]]> : tensor<1x1xi64>"

UNARY = (
    "abs cbrt ceil cosine count_leading_zeros exponential exponential_minus_one floor log log_plus_one logistic negate not "
    "popcnt round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh"
).split()
BINARY = (
    "add and atan2 divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic shift_right_logical subtract xor"
).split()

EXAMPLES: dict[str, str] = {
    **{f"stablehlo.{name}": SAME for name in UNARY},
    **{f"stablehlo.{name}": PAIR for name in BINARY},
    "stablehlo.all_gather": f'"@"(%a) <{{all_gather_dim = 0 : i64, {GROUPS}}}> : (A) -> A',
    "stablehlo.all_reduce": f'"@"(%a) <{{{GROUPS}}}> {COMBINE} : (A) -> A'.replace("OP", "add"),
    "stablehlo.all_to_all": '"@"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, '
    "split_count = 1 : i64, split_dimension = 0 : i64}> : (A) -> A",
    "stablehlo.batch_norm_inference": '"@"(%a, %v, %v, %v, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (A, V, V, V, V) -> A',
    "stablehlo.batch_norm_training": '"@"(%a, %v, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (A, V, V) -> (A, V, V)',
    "stablehlo.batch_norm_grad": '"@"(%a, %v, %v, %v, %b) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (A, V, V, V, A) -> (A, V, V)',
    "stablehlo.bitcast_convert": "@ %a : (A) -> A",
    "stablehlo.broadcast_in_dim": "@ %v, dims = [1] : (V) -> A",
    "stablehlo.case": '"@"(%i) ({\nstablehlo.return %a : A\n}, {\nstablehlo.return %b : A\n}) : (tensor<i32>) -> A',
    "stablehlo.cholesky": "@ %a, lower = true : A",
    "stablehlo.clamp": "@ %a, %b, %a : A",
    "stablehlo.collective_broadcast": f'"@"(%a) <{{{GROUPS}}}> : (A) -> A',
    "stablehlo.collective_permute": '"@"(%a) <{source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (A) -> A',
    "stablehlo.compare": "@ EQ, %a, %b : (A, A) -> tensor<4x4xi1>",
    "stablehlo.complex": "@ %a, %b : tensor<4x4xcomplex<T>>",
    "stablehlo.concatenate": "@ %a, %b, dim = 0 : (A, A) -> tensor<8x4xT>",
    "stablehlo.convert": "@ %u : (tensor<4x4xi8>) -> A",
    "stablehlo.convolution": "@(%c, %d) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, "
    "feature_group_count = 1 : i64} : (tensor<1x4x4xT>, tensor<2x4x4xT>) -> tensor<1x3x4xT>",
    "stablehlo.custom_call": '@ @Sharding(%a) {mhlo.sharding = "{replicated}"} : (A) -> A',
    "stablehlo.dot_general": "@ %a, %b, contracting_dims = [1] x [0] : (A, A) -> A",
    "stablehlo.dynamic_slice": "@ %a, %i, %j, sizes = [2, 2] : (A, tensor<i32>, tensor<i32>) -> tensor<2x2xT>",
    "stablehlo.dynamic_update_slice": "@ %a, %b, %i, %j : (A, A, tensor<i32>, tensor<i32>) -> A",
    "stablehlo.fft": "@ %a, type = FFT, length = [4] : (A) -> A",
    "stablehlo.gather": '"@"(%a, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], '
    "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (A, tensor<4x1xi32>) -> A",
    "stablehlo.if": '"@"(%q) ({\nstablehlo.return %a : A\n}, {\nstablehlo.return %b : A\n}) : (tensor<i1>) -> A',
    "stablehlo.imag": "@ %a : (A) -> P",
    "stablehlo.iota": "@ dim = 0 : A",
    "stablehlo.is_finite": "@ %a : (A) -> tensor<4x4xi1>",
    "stablehlo.map": f'"@"(%a, %b) <{{dimensions = array<i64: 0, 1>}}> {COMBINE} : (A, A) -> A'.replace("OP", "maximum"),
    "stablehlo.optimization_barrier": "@ %a : A",
    "stablehlo.pad": "@ %a, %s, low = [1, 0], high = [0, 0], interior = [0, 0] : (A, S) -> tensor<5x4xT>",
    "stablehlo.partition_id": "@ : tensor<ui32>",
    "stablehlo.real": "@ %a : (A) -> P",
    "stablehlo.reduce": f'"@"(%a, %s) <{{dimensions = array<i64: 1>}}> {COMBINE} : (A, S) -> V'.replace("OP", "add"),
    "stablehlo.reduce_precision": "@ %a, format = e5m2 : A",
    "stablehlo.reduce_scatter": f'"@"(%a) <{{scatter_dimension = 0 : i64, {GROUPS}}}> {COMBINE} : (A) -> A'.replace("OP", "add"),
    "stablehlo.reduce_window": f'"@"(%a, %s) <{{window_dimensions = array<i64: 1, 2>}}> {COMBINE} : (A, S) -> tensor<4x3xT>'.replace(
        "OP", "add"
    ),
    "stablehlo.replica_id": "@ : tensor<ui32>",
    "stablehlo.reshape": "@ %a : (A) -> tensor<2x8xT>",
    "stablehlo.reverse": "@ %a, dims = [1] : A",
    "stablehlo.rng": "@ %s, %s, %m, distribution = UNIFORM : (S, S, tensor<2xi64>) -> A",
    "stablehlo.rng_bit_generator": '"@"(%k) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : '
    "(tensor<2xui64>) -> (tensor<2xui64>, A)",
    "stablehlo.scatter": '"@"(%a, %n, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], '
    "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> "
    + COMBINE.replace("OP", "add")
    + " : (A, tensor<4x1xi32>, A) -> A",
    "stablehlo.select": "@ %p, %a, %b : tensor<4x4xi1>, A",
    "stablehlo.select_and_scatter": '"@"(%a, %e, %s) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> '
    + COMPARE.replace("})", "}, ")
    + COMBINE.replace("({", "{").replace("OP", "add")
    + " : (A, tensor<2x2xT>, S) -> A",
    "stablehlo.slice": "@ %a [0:2, 0:4] : (A) -> tensor<2x4xT>",
    "stablehlo.sort": f'"@"(%a) <{{dimension = 1 : i64, is_stable = true}}> {COMPARE.replace("GE", "LT")} : (A) -> A',
    "stablehlo.transpose": "@ %a, dims = [1, 0] : (A) -> A",
    "stablehlo.triangular_solve": '"@"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, '
    "unit_diagonal = false}> : (A, A) -> A",
    "stablehlo.while": "@(%w = %a) : A cond {\nstablehlo.return %q : tensor<i1>\n} do {\nstablehlo.return %w : A\n}",
    **{
        f"chlo.{name}": "@ %a : A -> A"
        for name in ("acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erfc erf_inv lgamma sinh square tan").split()
    },
    "chlo.mulhi": "@ %a, %b : A, A -> A",
    "chlo.next_after": "@ %a, %b : A, A -> A",
    "chlo.polygamma": "@ %a, %b : A, A -> A",
    "chlo.zeta": "@ %a, %b : A, A -> A",
    "chlo.top_k": "@(%a, k = 2) : A -> (tensor<4x2xT>, tensor<4x2xi32>)",
}
ARGUMENTS = {
    "%a": "A", "%b": "A", "%v": "V", "%s": "S", "%i": "tensor<i32>", "%j": "tensor<i32>", "%n": "tensor<4x1xi32>",
    "%p": "tensor<4x4xi1>", "%q": "tensor<i1>", "%u": "tensor<4x4xi8>", "%k": "tensor<2xui64>",
    "%c": "tensor<1x4x4xT>", "%d": "tensor<2x4x4xT>", "%e": "tensor<2x2xT>",
}  # fmt: skip


def typed(text: str, element: str) -> str:
    """An example in one element type."""
    part = element.removeprefix("complex<").removesuffix(">")
    text = re.sub(r"\bA\b", "tensor<4x4xT>", text)
    text = re.sub(r"\bP\b", f"tensor<4x4x{part}>", text)
    text = re.sub(r"\bV\b", "tensor<4xT>", text)
    text = re.sub(r"\bS\b", "tensor<T>", text)
    return re.sub(r"\bT\b|(?<=x)T(?=>)", element, text)


def results_of(text: str) -> list[str]:
    """The result types of a typed example, from its last line."""
    last = text.splitlines()[-1] if "} do {" not in text else text.splitlines()[0].removesuffix(" cond {")
    types = last.split("->")[-1] if "->" in last else last.rsplit(" : ", 1)[1]
    types = types.strip()
    if types.startswith("("):
        types = types[1:-1]
    found = re.findall(r"tensor<(?:[^<>]|<[^<>]*>)*>", types)
    return found[-1:] if "->" not in last else found


def one(kind: str) -> str:
    """The number one in a tensor type."""
    element = re.sub(r"(\d+x)*", "", kind.removeprefix("tensor<").removesuffix(">"), count=1)
    if element.startswith("complex"):
        return "(1.0, 0.0)"
    return {"f": "1.0", "b": "1.0"}.get(element[0], "true" if element == "i1" else "1")


@dataclass
class Program:
    """Examples as one function, and the lines each of them stands on."""

    lines: list[str] = field(default_factory=list)
    owner: dict[int, str] = field(default_factory=dict)

    @staticmethod
    def of(names: list[str], element: str, constant: bool = False) -> Program:
        """A module whose @main gives all results of these examples, of arguments or of constants."""
        program = Program()
        kinds = {name: typed(kind, element) for name, kind in ARGUMENTS.items()}
        arguments = "" if constant else ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
        body, values, types = [], [], []
        for number, name in enumerate(names):
            text = typed(EXAMPLES[name].replace("@", name, 1), element)
            results = results_of(text)
            label = f"%r{number}" + (f":{len(results)}" if len(results) > 1 else "")
            body.append((name, f"{label} = {text}"))
            values += [f"%r{number}#{i}" for i in range(len(results))] if len(results) > 1 else [f"%r{number}"]
            types += results
        program.lines = [f"func.func @main({arguments}) -> ({', '.join(types)}) {{"]
        program.lines.append("%m = stablehlo.constant dense<[4, 4]> : tensor<2xi64>")
        for name, kind in kinds.items() if constant else ():
            value = "false" if name == "%q" else one(kind)  # a loop has to end
            program.lines.append(f"{name} = stablehlo.constant dense<{value}> : {kind}")
        for name, text in body:
            for line in text.splitlines():
                program.lines.append(line)
                program.owner[len(program.lines)] = name
        program.lines += [f"return {', '.join(values)} : {', '.join(types)}", "}"]
        return program

    def text(self) -> str:
        """The module."""
        return "\n".join(self.lines) + "\n"


def run(tool: str, *arguments: object) -> tuple[int, str]:
    """Runs a tool; the exit code and what it said."""
    process = subprocess.run([str(BUILD / "bin" / tool), *map(str, arguments)], capture_output=True, text=True, check=False)
    return process.returncode, process.stderr


def refused(program: Program, said: str) -> set[str]:
    """The examples that errors point at."""
    return {program.owner[int(line)] for line in re.findall(r"\.mlir:(\d+):\d+: error:", said) if int(line) in program.owner}


def verified(element: str, scratch: Path) -> list[str]:
    """The operations whose example is a valid program."""
    chunks, owners, line = [], {}, 1
    for name in EXAMPLES:
        text = Program.of([name], element).text()
        owners.update(dict.fromkeys(range(line, line + text.count("\n") + 2), name))
        chunks.append(text)
        line += text.count("\n") + 1
    file = scratch / "each.mlir"
    file.write_text("// -----\n".join(chunks))
    _, said = run("tenon-opt", file, "--split-input-file", "-o", os.devnull)
    wrong = {owners[int(at)] for at in re.findall(r"each\.mlir:(\d+):\d+: error:", said)}
    return [name for name in EXAMPLES if name not in wrong]


def accepted(names: list[str], element: str, scratch: Path, way: str) -> list[str]:
    """Of valid operations, those that are interpreted or compiled; each round takes away what was named."""
    file = scratch / "all.mlir"
    command = ("compile", file, "-o", scratch / "x.tenon") if way == "compiled" else ("run", file, "--reference")
    while names:
        program = Program.of(names, element, constant=way == "interpreted")
        file.write_text(program.text())
        code, said = run("tenon", *command)
        if code == 0:
            break
        wrong = refused(program, said)
        if not wrong:
            raise RuntimeError(f"{way}, {element}: exit code {code}\n{said[:2000]}")
        names = [name for name in names if name not in wrong]
    return names


def asked(types: list[str]) -> dict[str, dict[str, list[str]]]:
    """By operation and by what is done with it, the types it is done in."""
    found: dict[str, dict[str, list[str]]] = {name: {"verified": [], "interpreted": [], "compiled": []} for name in EXAMPLES}
    with tempfile.TemporaryDirectory() as folder:
        for element in types:
            valid = verified(element, Path(folder))
            for way in ("verified", "interpreted", "compiled"):
                for name in valid if way == "verified" else accepted(valid, element, Path(folder), way):
                    found[name][way].append(element)
    return found


def page(found: dict[str, dict[str, list[str]]], types: list[str]) -> str:
    """The page."""
    constraints = (ROOT / "test" / "Layout" / "stablehlo-constraints.txt").read_text()
    rows = []
    for name in sorted(found):
        valid = found[name]["verified"]
        short = name.removeprefix("stablehlo.")
        numbered = len(re.findall(rf"^{re.escape(short)}_c\d+$", constraints, re.MULTILINE))
        cells = [f"`{name}`", str(numbered or "")]
        cells.append("all" if valid == types else ", ".join(valid))
        for way in ("interpreted", "compiled"):
            missing = [element for element in valid if element not in found[name][way]]
            cells.append("yes" if not missing else "no" if missing == valid else "not " + ", ".join(missing))
        rows.append("| " + " | ".join(cells) + " |")
    others = [name for name in known() if name not in found]
    return "\n".join([
        "<!-- Written by tools/generate_support.py, which asks the tools; run that. -->", "",
        "# What is supported", "",
        "Every operation here and in the list below is parsed and printed, in its own and in the generic form.", "",
        f"One example per operation, in {', '.join(f'`{element}`' for element in types)}: in which of them it is valid,",
        "whether the reference interpreter runs it in these, and whether it compiles for the CPU in these. The second column",
        "counts the numbered constraints of the specification that are verified, each with a failing test.", "",
        "| operation | constraints | valid in | interpreted | compiled |", "|---|---|---|---|---|", *rows, "",
        "Parsed, printed and verified in structure, without a row of their own:",
        ", ".join(f"`{name}`" for name in others) + ".", "",
    ])  # fmt: skip


def known() -> list[str]:
    """All operations of the two dialects."""
    texts = [(PAGE.parent / f"{name}.md").read_text() for name in ("StableHLO", "CHLO")]
    return sorted(re.findall(r"^### `((?:stablehlo|chlo)\.[\w-]+)`", "".join(texts), re.MULTILINE))


def cells(text: str) -> dict[str, list[str]]:
    """The rows of a page by operation."""
    return {row[0]: row[1:] for row in re.findall(r"^\| `([\w.-]+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", text, re.MULTILINE)}


def restricted(text: str, types: list[str]) -> dict[str, tuple[list[str], ...]]:
    """What a page says about some types."""
    said = {}
    for name, (_, valid, *ways) in cells(text).items():
        held = TYPES if valid == "all" else [part for part in valid.split(", ") if part]
        lists = [[element for element in held if element in types]]
        for way in ways:
            missing = held if way == "no" else way.removeprefix("not ").split(", ") if way != "yes" else []
            lists.append([element for element in lists[0] if element not in missing])
        said[name] = tuple(lists)
    return said


def main() -> int:
    """Writes or checks the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="TYPES", help="ask about these types only, separated by commas, and compare")
    check = parser.parse_args().check
    if not check:
        PAGE.write_text(page(asked(TYPES), TYPES))
        return 0
    types = check.split(",")
    found = asked(types)
    said = restricted(PAGE.read_text(), types)
    wrong = sorted(
        name
        for name in found.keys() | said.keys()
        if said.get(name) != (tuple(found[name][way] for way in found[name]) if name in found else None)
    )
    for name in wrong:
        print(f"{name}: the page says {said.get(name)}, the tools {found.get(name)}; run tools/generate_support.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
