"""Packages the compiler that tools/wheel has put into the folder $TENON_NATIVE."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from native_files import arguments

setup(**arguments("tenon_compiler"))
