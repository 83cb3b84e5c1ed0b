"""How much a step's process grows by running it: what the plan says, and nothing beside it.

A program is loaded and run through the C interface in a process that holds nothing else, and the high-water mark of
its resident memory is read before and after. What grows beside the planned segments is the kernels' code, the threads'
stacks, and what libraries generate.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path


def high_water() -> int:
    """The most bytes this process had in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) << 10


def growth(library: Path, program: Path, inputs: Path, steps: int = 2) -> int:
    """Bytes by which a process grows that loads `program` and the arguments in `inputs` and makes some steps."""
    run = [sys.executable, "-S", __file__, *map(str, (library, program, inputs, steps))]
    measured = subprocess.run(run, check=True, capture_output=True, text=True)
    return int(measured.stdout)


def main() -> None:
    """Prints the growth."""
    library, program, inputs, steps = sys.argv[1:]
    runtime = ctypes.CDLL(library)
    runtime.tenon_error_message.restype = ctypes.c_char_p
    handle = ctypes.c_void_p()

    def call(name: str, *arguments: object) -> None:
        if getattr(runtime, name)(*arguments) != 0:
            sys.exit(runtime.tenon_error_message().decode())

    before = high_water()
    call("tenon_load", program.encode(), None, ctypes.byref(handle))
    call("tenon_load_arguments", handle, inputs.encode())
    call("tenon_run", handle, ctypes.c_int64(int(steps)))
    print(high_water() - before)


if __name__ == "__main__":
    main()
