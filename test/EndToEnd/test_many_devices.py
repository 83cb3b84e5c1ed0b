"""A program for eight devices gives what JAX gives on eight: interpreted on simulated ones, on one device, and on eight ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import compare
import numpy as np
from conftest import HERE, Steps, succeed
from safetensors.numpy import load_file, save_file
from test_ranks import CPU

NAME = "16_shard_map_mlp"

# In a process of its own, because the number of devices is fixed when JAX starts.
PEER = f"""
import sys
sys.path.insert(0, sys.argv[1])
import jax, steps
from safetensors.numpy import load_file, save_file
build = steps.BUILD["{NAME}"](**steps.SMALL["{NAME}"])
leaves, tree = jax.tree_util.tree_flatten(build["args"])
given = load_file(sys.argv[2])
assert len(jax.devices()) == 8 and len(leaves) == len(given)
results = jax.jit(build["step"])(*jax.tree_util.tree_unflatten(tree, [given["arg%d" % i] for i in range(len(leaves))]))
flat = jax.tree_util.tree_leaves(results)
save_file({{"result%d" % i: jax.device_get(value) for i, value in enumerate(flat)}}, sys.argv[3])
"""


def test_shard_map(sharded: Steps, tmp_path: Path) -> None:
    """Two steps: what one gives, the next one takes. The interpreter has a device for each run of the body."""
    source = sharded.folder / f"{NAME}.mlir"
    info = json.loads((sharded.folder / f"{NAME}.json").read_text())
    values = compare.start_values(info)
    inputs, found, expected = (tmp_path / f"{part}.safetensors" for part in ("inputs", "found", "expected"))
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    text = source.read_text()
    assert "sdy.manual_computation" in text and "mhlo.num_partitions = 8" in text
    one, eight = tmp_path / "one.tenon", tmp_path / "eight.tenon"
    succeed("compile", source, CPU, "-o", one)
    succeed("compile", source, CPU, "--mesh=data=4,model=2", "--verify-forms", "-o", eight)
    ways = [[source, "--reference"], [one, "--steps=1"], [eight, "--steps=1", "--ranks=8"]]
    for _ in range(2):
        save_file(values, inputs)
        peer = [sys.executable, "-c", PEER, str(HERE / "models"), str(inputs), str(expected)]
        subprocess.run(peer, check=True, env=environment, capture_output=True)
        theirs = load_file(expected)
        for way in ways:
            succeed("run", *way, "--inputs", inputs, "--outputs", found)
            ours = load_file(found)
            assert ours.keys() == theirs.keys()
            for name, wanted in theirs.items():
                np.testing.assert_allclose(ours[name], wanted, rtol=2e-6, atol=1e-7, err_msg=f"{name} of {way}")
        for i in range(4):  # the state, in the order of the arguments
            assert not np.array_equal(theirs[f"result{i}"], values[f"arg{i}"])
            values[f"arg{i}"] = theirs[f"result{i}"]
