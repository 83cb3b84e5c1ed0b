"""How lit runs the text tests: which files, with which tools.

The folder `test` mirrors `lib`. Every `.mlir` file in it is a test; its RUN
lines name tools from the build folder and LLVM's FileCheck, `not` and `count`.
"""

import os

import lit.formats

config.name = "Tenon"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".test"]  # noqa: F821
config.excludes = ["Unit", "EndToEnd", "Python", "Benchmark", "Layout", "Conformance", "Fuzz", "Inputs"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.test_exec_root = os.path.join(config.tenon_build, "test")  # noqa: F821

path = [config.tenon_tools, config.llvm_tools, config.environment["PATH"]]  # noqa: F821
config.environment["PATH"] = os.pathsep.join(path)  # noqa: F821
