#!/usr/bin/env python3
"""Times the step of a framework on two devices of this machine that share its batch, and prints a line of JSON with `step_ms`.

    python rank_peers.py ddp|ddp-compile|jax PEERS NAME SECONDS

`ddp` runs the PyTorch twin of a step in two processes with a thread each, under DistributedDataParallel with gloo, eager or
compiled; PEERS holds `torch_models.py`, whose build(NAME) gives module, optimizer, clipping and batch. `jax` runs the step of
test/EndToEnd/models on two host devices, with the batch cut and the state on both. Each takes the batch of the one-device step
together. The time is the median of the steps but the first fifth.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

RANKS = 2


def timed(step: Callable[[], None], seconds: float, goes_on: Callable[[bool], bool]) -> list[float]:
    """Milliseconds of steps for so long; `goes_on` says whether all ranks do."""
    for _ in range(2):
        step()
    times, end = [], time.perf_counter() + seconds
    while goes_on(time.perf_counter() < end or len(times) < 5):
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def report(times: list[float]) -> None:
    """Prints the line."""
    print(json.dumps({"steps": len(times), "step_ms": {"median": statistics.median(times[len(times) // 5 :])}}))


def ddp_rank(peers: str, name: str, seconds: float, compiles: bool) -> None:
    """One of the processes; the launcher has set what PyTorch reads from the environment."""
    import torch
    import torch.distributed as dist

    sys.path.insert(0, peers)
    import torch_models

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    module, make_optimizer, clip, batch = torch_models.build(name)
    inputs, labels = (part.chunk(RANKS)[rank].contiguous() for part in batch)
    model = torch.nn.parallel.DistributedDataParallel(module.train())
    optimizer = make_optimizer(model.parameters())

    def forward() -> torch.Tensor:
        out = model(inputs)
        return torch.nn.functional.cross_entropy(out.view(-1, out.shape[-1]), labels.view(-1))

    run = torch.compile(forward) if compiles else forward

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        run().backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    def goes_on(mine: bool) -> bool:
        all_go = torch.tensor([int(mine)])
        dist.broadcast(all_go, 0)
        return bool(all_go)

    times = timed(step, seconds, goes_on)
    if rank == 0:
        report(times)
    dist.destroy_process_group()


def ddp() -> None:
    """Starts the processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        "WORLD_SIZE": str(RANKS),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    ranks = [
        subprocess.Popen([sys.executable, *sys.argv], env=os.environ | common | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(RANKS)
    ]
    if any([rank.wait() for rank in ranks]):
        sys.exit("rank_peers.py: a rank has failed")


def run_jax(name: str, seconds: float) -> None:
    """One process with two devices, whose threads are those of the machine."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={RANKS}"
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "EndToEnd/models"))
    import exportlib
    import jax
    import jax.numpy as jnp
    import numpy as np
    import steps
    from jax.sharding import NamedSharding, PartitionSpec

    built = steps.BUILD[name]()
    state, *batch = args = built["args"]
    paths = [(f"arg{i}{path}", leaf) for i, each in enumerate(args) for path, leaf in exportlib.paths(each)]
    values = [
        jnp.asarray(exportlib.make(exportlib.default_init(path, leaf, k, built["hints"]), leaf.shape, np.dtype(leaf.dtype)))
        for k, (path, leaf) in enumerate(paths)
    ]
    mesh = jax.make_mesh((RANKS,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    whole, cut = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    values = jax.tree.unflatten(jax.tree.structure(args), values)
    state_now, *batch_now = [jax.device_put(values[0], whole), *(jax.device_put(part, cut) for part in values[1:])]
    of_batch = [jax.tree.map(lambda _: cut, part) for part in batch]
    compiled = jax.jit(
        built["step"], donate_argnums=(0,), in_shardings=(jax.tree.map(lambda _: whole, state), *of_batch), out_shardings=whole
    )

    def step() -> None:
        nonlocal state_now
        state_now, loss = compiled(state_now, *batch_now)
        jax.block_until_ready((state_now, loss))

    report(timed(step, seconds, bool))


def main() -> None:
    """Runs a peer, or one of its processes."""
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    peer, peers, name, seconds = sys.argv[1:]
    if peer == "jax":
        run_jax(name, float(seconds))
    elif "RANK" in os.environ:
        ddp_rank(peers, name, float(seconds), peer == "ddp-compile")
    else:
        ddp()


if __name__ == "__main__":
    main()
