"""What the setup of a package with compiled files has in common: they go into its folder `native`.

They are those of the folder $TENON_NATIVE, which tools/wheel fills, or else the tool, the compiler and the runtime library of
a build: the first build folder that has all of them of $TENON_BUILD, build/dev, build/release of the checkout. Without one,
build/release is configured and built, which takes minutes. The package of the tool also installs completion for shells and
manual pages, which are in the folder $TENON_MAN, or in that build if all of it was built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from setuptools import Distribution
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

# setuptools brings distutils along, which has to be imported after it.
from distutils.command.install_data import install_data  # isort: skip

ROOT = Path(__file__).resolve().parent.parent
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


def native_files() -> Iterable[Path]:
    """The compiled files to package."""
    if given := os.environ.get("TENON_NATIVE"):
        return sorted(Path(given).iterdir())
    build = find_build()
    return [build / file for file in FILES]


def shared_files() -> list[tuple[str, list[str]]]:
    """Folders of an environment, with the files of the tool that belong there."""
    completion = ROOT / "tools" / "tenon" / "completion"
    man = Path(os.environ["TENON_MAN"]) if "TENON_MAN" in os.environ else find_build() / "man"
    files = {
        "share/man/man1": sorted(man.glob("*.1")),
        "share/bash-completion/completions": [completion / "tenon"],
        "share/zsh/site-functions": [completion / "_tenon"],
        "share/fish/vendor_completions.d": [completion / "tenon.fish"],
    }
    return [(folder, [str(file) for file in sources]) for folder, sources in files.items()]


class PlatformWheel(bdist_wheel):
    """The compiled files fit one platform, but any version of Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """py3-none-PLATFORM."""
        return "py3", "none", super().get_tag()[2]


class InstallShared(install_data):
    """Brings the shared files along, which setuptools would take from the folder of setup.py only."""

    def finalize_options(self) -> None:
        """Those of the tool; the package of the compiler has none."""
        super().finalize_options()
        if self.distribution.get_name() == "tenon":
            self.data_files = shared_files()


class NativeDistribution(Distribution):
    """Tells setuptools that there is compiled code, and what InstallShared installs."""

    def has_data_files(self) -> bool:
        """Always."""
        return True

    def has_ext_modules(self) -> bool:
        """Always."""
        return True


def arguments(package: str) -> dict[str, Any]:
    """What to call setuptools.setup with."""

    class BuildWithNative(build_py):
        """Adds the compiled files to an installation; an editable one uses the checkout's build folder."""

        def run(self) -> None:
            """Copies them into the package's folder `native`."""
            super().run()
            if self.editable_mode:
                return
            native = Path(self.build_lib) / package / "native"
            shutil.rmtree(native, ignore_errors=True)
            native.mkdir(parents=True)
            for file in native_files():
                shutil.copy2(file, native)

    # What setuptools writes on the way.
    scratch = ROOT / "build" / "python" / package
    scratch.mkdir(parents=True, exist_ok=True)
    return {
        "distclass": NativeDistribution,
        "cmdclass": {"build_py": BuildWithNative, "bdist_wheel": PlatformWheel, "install_data": InstallShared},
        "data_files": [],
        "options": {"build": {"build_base": str(scratch)}, "egg_info": {"egg_base": str(scratch)}},
    }
