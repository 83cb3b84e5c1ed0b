"""The rules of the repository that a program can check: who includes whom, how things are called, what docs link to."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Each folder of lib may include from itself and from those above it.
FOLDERS = [
    "Support", "Solver", "Format", "Target", "Libraries", "EmulatedCuda", "Runtime", "Interfaces", "Dialect", "Analysis", "Cost",
    "Reference", "Import", "Autodiff", "Simplify", "Precision", "Sharding", "Pipelining", "Collectives", "Fusion",
    "Memory", "Codegen", "Package", "ShardingCheck", "Driver", "CAPI",
]  # fmt: skip
WITHOUT_LLVM = FOLDERS[: FOLDERS.index("Runtime") + 1]
FORBIDDEN = re.compile(r"(Utils?|Common|Misc|Helpers?)(?=[A-Z.]|$)")
SOURCES = (".cpp", ".h", ".td", ".c")
# The C library picks a variant of these by the processor, so their last bit differs between machines.
ROUNDED_BY_PROCESSOR = r"(?:exp2?|exp10|expm1|pow|log(?:2|10|1p)?|sincos|a?(?:sin|cos|tan)h?|atan2|cbrt|hypot|erfc?|[lt]gamma|polar)[fl]?"
# What executes programs (the interpreter, the runtime, the emulated GPU) makes no plan and writes no file.
WITHOUT_PLANS = ("EmulatedCuda", "Reference", "Runtime")


def sources(folder: str) -> list[Path]:
    """The sources and headers of a folder of lib, in order."""
    found = [path for base in ("lib", "include/tenon") for path in (ROOT / base / folder).rglob("*")]
    return sorted(path for path in found if path.suffix in SOURCES)


def includes(path: Path) -> list[str]:
    """What a file includes, as written."""
    return re.findall(r'^\s*#?include\s*["<]([^">]+)[">]', path.read_text(), re.MULTILINE)


@cache
def passes() -> list[tuple[str, str, str]]:
    """Stage folder, name and flag of every pass."""
    found = []
    for path in sorted((ROOT / "include/tenon").rglob("Passes.td")):
        stage = path.parent.relative_to(ROOT / "include/tenon").as_posix()
        for name, flag in re.findall(r'^def (\w+)Pass\s*:\s*Pass<\s*"([^"]+)"', path.read_text(), re.MULTILINE):
            found.append((stage, name, flag))
    return found


def dashed(name: str) -> str:
    """PlanOffsets to plan-offsets, DecomposeCHLO to decompose-chlo."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def test_folders_are_known() -> None:
    """A new folder of lib gets its place in the order here."""
    existing = {path.name for base in ("lib", "include/tenon") for path in (ROOT / base).iterdir() if path.is_dir()}
    assert not existing - set(FOLDERS)


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if (ROOT / "lib" / folder).exists()])
def test_includes_point_up(folder: str) -> None:
    """No file includes from a folder further down."""
    allowed = FOLDERS[: FOLDERS.index(folder) + 1]
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sources(folder)
        for name in includes(path)
        if name.startswith("tenon/") and "/" in name[6:] and name.split("/")[1] not in allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", [folder for folder in WITHOUT_LLVM if (ROOT / "lib" / folder).exists()])
def test_without_llvm(folder: str) -> None:
    """What the runtime is made of needs neither LLVM nor MLIR."""
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sources(folder)
        for name in includes(path)
        if name.startswith(("llvm/", "mlir/"))
    ]
    assert not wrong, "\n".join(wrong)


def calls_rounded_by_processor(text: str) -> list[str]:
    """Functions of the C library named in C++ text, outside comments, that round as the processor does."""
    code = re.sub(r"//.*|/\*.*?\*/", "", text)
    qualified = re.findall(rf"\bstd::({ROUNDED_BY_PROCESSOR})\b", code)
    builtin = re.findall(rf"\b__builtin_({ROUNDED_BY_PROCESSOR})\b", code)
    global_ = re.findall(rf"(?<!\w)::({ROUNDED_BY_PROCESSOR})\s*\(", code)
    return qualified + builtin + global_


def test_calls_rounded_by_processor_are_found() -> None:
    """The test below sees a call, and no call where there is none."""
    assert calls_rounded_by_processor("x = std::exp(y); p = __builtin_powf(x, y); f = &std::log; z = ::sin(x);") == [
        "exp", "log", "powf", "sin",
    ]  # fmt: skip
    assert not calls_rounded_by_processor("// std::exp(x)\nx = std::sqrt(y); std::logic_error e; m.log(x);")


@pytest.mark.parametrize("folder", [name for name in FOLDERS if name not in WITHOUT_PLANS and (ROOT / "lib" / name).exists()])
def test_same_bytes_on_every_processor(folder: str) -> None:
    """What decides about a plan or goes into a file is computed by Support/PortableMath, not by the C library."""
    wrong = [
        f"{path.relative_to(ROOT)} calls {name}"
        for path in sources(folder)
        if path.suffix != ".td"
        for name in calls_rounded_by_processor(path.read_text())
    ]
    # Where no name is declared that could be meant instead, an unqualified call is one of the C library's, too.
    unqualified = re.compile(rf"(?<![\w.>:]){ROUNDED_BY_PROCESSOR}\s*\(")
    if folder in ("Support", "Solver", "Target"):
        wrong += [
            f"{path.relative_to(ROOT)} calls {name}"
            for path in sources(folder)
            for name in unqualified.findall(re.sub(r"//.*", "", path.read_text()))
        ]
    assert not wrong, "\n".join(wrong)


def test_loops_know_no_processor() -> None:
    """What every target shares asks it through Instructions."""
    files = sources("Codegen/Loops")
    assert files
    for path in files:
        text = path.read_text()
        assert not re.search(r"#include \"tenon/(Codegen/CPU|Target|Libraries)/", text), path
        assert not re.search(r"avx|x86|FeatureSet", text, re.IGNORECASE), path


def test_only_the_driver_knows_stages() -> None:
    """A stage includes no other stage."""
    stages = FOLDERS[FOLDERS.index("Import") : FOLDERS.index("Package") + 1]
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for stage in stages
        for path in sources(stage)
        for name in includes(path)
        if name.startswith("tenon/") and name.split("/")[1] in stages and name.split("/")[1] != stage
    ]
    assert not wrong, "\n".join(wrong)


def test_passes_are_found() -> None:
    """The tests below look at something."""
    assert len(passes()) > 10 and ("Memory", "PlanOffsets", "memory-plan-offsets") in passes()


@pytest.mark.parametrize(("stage", "name", "flag"), passes())
def test_pass_names(stage: str, name: str, flag: str) -> None:
    """Definition, flag, file and test of a pass have one name."""
    prefix = dashed(stage.split("/")[0])
    assert flag in (f"{prefix}-{dashed(name)}", dashed(name))
    assert len(list((ROOT / "lib" / stage).rglob(f"{name}.cpp"))) == 1, f"lib/{stage} holds one {name}.cpp"
    test = ROOT / "test" / stage / f"{dashed(name)}.mlir"
    assert test.exists() and f"--{flag}" in test.read_text(), f"test/{stage}/{test.name} does not run --{flag}"


def test_no_forbidden_names() -> None:
    """A shared thing has a noun for a name."""
    folders = ("lib", "include", "tools", "test", "python")
    wrong = [
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if "__pycache__" not in path.parts and FORBIDDEN.search(path.name)
    ]
    assert not wrong


def test_files_say_what_they_are() -> None:
    """Sources open with a banner that names the file."""
    wrong = [
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in sources(folder)
        if path.suffix != ".c" and f"- {path.name}" not in path.read_text().split("\n", 1)[0]
        and f"===- {path.name}" not in path.read_text()[:200]
    ]  # fmt: skip
    assert not wrong


def test_readme_maps_the_folders() -> None:
    """The README's table names every folder of lib, every tool, and nothing that is not there."""
    rows = re.findall(r"^\| (`.*?) \|(.*)\|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    named = {name for folders, _ in rows for name in re.findall(r"`([^`]+)`", folders)}
    assert not [name for name in named if not (ROOT / name).exists()]
    existing = {f"lib/{path.name}" for path in (ROOT / "lib").iterdir() if path.is_dir()}
    assert not existing - named
    holds = next(text for folders, text in rows if folders == "`tools`")
    assert not [path.name for path in (ROOT / "tools").iterdir() if path.is_dir() and f"`{path.name}`" not in holds]


def test_links_in_docs() -> None:
    """What the documents link to exists."""
    documents = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    assert documents
    wrong = [
        f"{document.relative_to(ROOT)} links to {target}"
        for document in documents
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text())
        if not target.startswith(("http:", "https:", "mailto:")) and not (document.parent / target).exists()
    ]
    assert not wrong, "\n".join(wrong)
