#!/usr/bin/env python3
"""Training steps as StableHLO text, compiled and run by XLA's CPU client in jaxlib.

    python xla.py FIRST.mlir SECOND.mlir STEP.json [--devices N] [--first-on-one]

compiles both texts, runs five steps of each from the start values that STEP.json describes, and prints as JSON
the losses of both, how many results differ in a bit, how far they are apart, and the bytes of arguments that a device
has. A process of its own, because the number of devices is
fixed when the client starts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "models"))

STEPS = 5


class XlaStep:
    """A step as XLA's CPU client compiles it. Without `optimized` LLVM optimises no code, which takes up to half of the
    time: for steps of which only the memory is looked at."""

    def __init__(self, text: str, devices: int = 1, optimized: bool = True) -> None:
        import numpy as np
        from jax._src import xla_bridge
        from jax._src.interpreters import mlir as jax_mlir
        from jaxlib import _jax, xla_client
        from jaxlib.mlir import ir

        client = xla_bridge.get_backend("cpu")
        options = xla_client.CompileOptions()
        if not optimized:
            options.executable_build_options.debug_options.xla_backend_optimization_level = 0
        if devices > 1:
            build = options.executable_build_options
            build.use_spmd_partitioning = True
            build.use_shardy_partitioner = True
            build.num_partitions = devices
            build.allow_spmd_sharding_propagation_to_output = [True]
            options.num_partitions = devices
            build.device_assignment = xla_client.DeviceAssignment.create(np.arange(devices)[None])
        self.devices = client.local_devices()[:devices]
        with jax_mlir.make_ir_context():
            module = ir.Module.parse(text)
            assert module.operation.verify()
            self.executable = client.compile_and_load(module, _jax.DeviceList(tuple(self.devices)), options)
        memory = self.executable.get_compiled_memory_stats()
        self.argument_bytes: int = memory.argument_size_in_bytes
        # What does not lie in the memory of an argument.
        self.result_bytes: int = memory.output_size_in_bytes - memory.alias_size_in_bytes
        self.temporary_bytes: int = memory.temp_size_in_bytes
        self.hlo: str = self.executable.hlo_modules()[0].to_string()

    def contractions(self) -> int:
        """Dots and convolutions in the optimised module."""
        return len(re.findall(r" (?:dot|convolution)\(", self.hlo))

    def place(self, values: list[Any]) -> list[Any]:
        """Copies arrays, in the order of @main's arguments, to the devices. A run may overwrite them."""
        import jax
        from jax.sharding import SingleDeviceSharding

        if len(self.devices) == 1:
            return [jax.device_put(value, SingleDeviceSharding(self.devices[0])) for value in values]
        from jax._src.sharding_impls import GSPMDSharding

        shardings = self.executable.get_parameter_shardings()
        return [jax.device_put(value, GSPMDSharding(self.devices, sharding)) for value, sharding in zip(values, shardings, strict=True)]

    def run_placed(self, placed: list[Any]) -> list[list[Any]]:
        """Runs the step once and waits; for every result its parts on the devices."""
        results = self.executable.execute_sharded(placed).disassemble_into_single_device_arrays()
        for shards in results:
            shards[0].block_until_ready()
        return results

    def call(self, values: list[Any]) -> list[Any]:
        """Runs the step once, on arrays in the order of @main's arguments, and returns its results."""
        import numpy as np

        results = self.run_placed(self.place(values))
        if len(self.devices) == 1:
            return [np.asarray(shards[0]) for shards in results]
        return [self.joined(shards, sharding) for shards, sharding in zip(results, self.executable.get_output_shardings(), strict=True)]

    def joined(self, shards: list[Any], sharding: Any) -> Any:
        """The whole tensor that the devices hold the parts of."""
        import jax
        import numpy as np
        from jax._src.sharding_impls import GSPMDSharding

        placed = GSPMDSharding(self.devices, sharding)
        tiles = placed._hlo_sharding
        cuts = [1] * shards[0].ndim if tiles.is_replicated() else tiles.tile_assignment_dimensions()[: shards[0].ndim]
        shape = tuple(extent * count for extent, count in zip(shards[0].shape, cuts, strict=True))
        return np.asarray(jax.make_array_from_single_device_arrays(shape, placed, shards))


def least_version(text: str) -> tuple[int, ...]:
    """The oldest StableHLO that has everything in a module, as jaxlib's serialiser sees it."""
    from jax._src.interpreters import mlir as jax_mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    # Each with something new that programs hold; the rest of 1.x is newer than 1.13.
    versions = ["0.9.0", "1.0.0", "1.1.0", "1.4.0", "1.5.0", "1.7.0", "1.9.0", "1.13.0", stablehlo.get_current_version()]
    with jax_mlir.make_ir_context() as context:
        context.emit_error_diagnostics = False
        module = ir.Module.parse(text)
        for version in versions:
            with context.attach_diagnostic_handler(lambda _: True):
                try:
                    stablehlo.serialize_portable_artifact(module, version, True)
                    return tuple(map(int, version.split(".")))
                except (ValueError, RuntimeError, ir.MLIRError):
                    continue
    raise AssertionError("no version has it")


def start_values(info: dict) -> list[Any]:
    """What the recipe of a step says of all its leaves."""
    import exportlib
    import jax.numpy as jnp

    return [exportlib.make(leaf["init"], leaf["shape"], jnp.dtype(leaf["dtype"])) for leaf in info["args"]]


def run_and_keep(step: XlaStep, info: dict, kept: tuple[int, ...]) -> tuple[dict[int, list[Any]], list[float]]:
    """The results after as many steps as `kept` says, by that number, and the losses of all steps; donated leaves become the
    first results."""
    values = start_values(info)
    donated = sum(leaf["donated"] for leaf in info["args"])
    losses: list[float] = []
    results: dict[int, list[Any]] = {}
    for number in range(1, max(kept) + 1):
        found = step.call([value for value, leaf in zip(values, info["args"], strict=True) if leaf["in_main"]])
        values[:donated] = found[:donated]
        losses.append(float(found[donated].ravel()[0]))
        if number in kept:
            results[number] = found
    return results, losses


def run(step: XlaStep, info: dict, steps: int = STEPS) -> tuple[list[Any], list[float]]:
    """The results after some steps and the losses on the way."""
    results, losses = run_and_keep(step, info, (steps,))
    return results[steps], losses


def distance(first: Any, second: Any) -> float:
    """In the 2-norm, relative to the first tensor."""
    import numpy as np

    exact = np.asarray(first, dtype=np.float64)
    return float(np.linalg.norm(np.asarray(second, dtype=np.float64) - exact) / max(np.linalg.norm(exact), 1e-30))


def main() -> int:
    """Runs both texts and prints what they showed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("info", type=Path)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--first-on-one", action="store_true", help="run the first text on one device")
    arguments = parser.parse_args()
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={arguments.devices}"
    info = json.loads(arguments.info.read_text())
    shown: dict[str, Any] = {"losses": [], "temporaries": [], "arguments": []}
    outcomes = []
    for number, text in enumerate((arguments.first.read_text(), arguments.second.read_text())):
        step = XlaStep(text, 1 if number == 0 and arguments.first_on_one else arguments.devices)
        results, losses = run(step, info)
        outcomes.append(results)
        shown["losses"].append(losses)
        shown["temporaries"].append(step.temporary_bytes)
        shown["arguments"].append(step.argument_bytes)
    pairs = list(zip(*outcomes, strict=True))
    shown["results"] = len(pairs)
    shown["differ"] = sum(first.tobytes() != second.tobytes() for first, second in pairs)
    distances = sorted(distance(first, second) for first, second in pairs)
    shown["middle"], shown["farthest"] = distances[len(pairs) // 2], distances[-1]
    print(json.dumps(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
