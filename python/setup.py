"""Packages the tool, the compiler and the runtime library of a build beside the Python files.

Takes the first build folder that has all of them: $TENON_BUILD, build/dev, build/release of the checkout. Without one,
it configures and builds build/release, which takes minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent.parent
# What setuptools writes on the way.
SCRATCH = ROOT / "build" / "python"
FILES = ("bin/tenon", "bin/tenon-compiler", "lib/libtenon-runtime.so")


def complete(build: Path) -> bool:
    """Whether a build folder has all that is packaged."""
    return all((build / file).is_file() for file in FILES)


def find_build() -> Path:
    """The build folder to package, built first if there is none."""
    if given := os.environ.get("TENON_BUILD"):
        if not complete(Path(given)):
            raise SystemExit(f"error: TENON_BUILD is '{given}', which lacks {' or '.join(FILES)}")
        return Path(given)
    builds = [ROOT / "build" / preset for preset in ("dev", "release")]
    for build in builds:
        if complete(build):
            return build
    subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", builds[-1], "--", "tenon", "TenonRuntimeShared"], cwd=ROOT, check=True)
    return builds[-1]


class BuildWithNative(build_py):
    """Adds the compiled files to an installation; an editable one uses the checkout's build folder."""

    def run(self) -> None:
        """Copies them into tenon/native."""
        super().run()
        if self.editable_mode:
            return
        native = Path(self.build_lib) / "tenon" / "native"
        native.mkdir(parents=True, exist_ok=True)
        for file in FILES:
            shutil.copy2(find_build() / file, native)


class PlatformWheel(bdist_wheel):
    """The compiled files fit one platform, but any version of Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """py3-none-PLATFORM."""
        return "py3", "none", super().get_tag()[2]


class NativeDistribution(Distribution):
    """Tells setuptools that there is compiled code."""

    def has_ext_modules(self) -> bool:
        """Always."""
        return True


SCRATCH.mkdir(parents=True, exist_ok=True)
setup(
    distclass=NativeDistribution,
    cmdclass={"build_py": BuildWithNative, "bdist_wheel": PlatformWheel},
    options={"build": {"build_base": str(SCRATCH)}, "egg_info": {"egg_base": str(SCRATCH)}},
)
