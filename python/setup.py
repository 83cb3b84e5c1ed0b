"""Packages the tool and the runtime library beside the Python files, and the compiler where it is in the same folder."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent))

from native_files import arguments

setup(**arguments("tenon"))
