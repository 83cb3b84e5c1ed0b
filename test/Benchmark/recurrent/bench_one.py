#!/usr/bin/env python3
"""The recurrent steps 19_bilstm, 21_gru and 22_rnn in JAX or PyTorch, for peers.py: times one and prints a line of JSON.

    python bench_one.py jax|torch-eager|torch-compile NAME f32|bf16 SECONDS

JAX runs the step that test/EndToEnd/models/generate.py exports, PyTorch a twin with its own layers: the same sizes, loss, optimizer
and clipping. In bf16 JAX casts parameters inside the loss, and PyTorch runs under autocast. Two threads; the first fifth of the
steps warms up.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / "EndToEnd/models"
LEAST_STEPS = 5


def median_of(step: Callable[[], None], seconds: float) -> float:
    """The median time of a step in seconds, repeated for as long as given."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < LEAST_STEPS or time.perf_counter() < end:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[len(times) // 5 :])


def jax_step(name: str, precision: str) -> Callable[[], None]:
    """The exported step, compiled by XLA, with its state donated from step to step."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    sys.path.insert(0, str(MODELS))
    import exportlib
    import jax
    import jax.numpy as jnp
    import numpy as np
    import steps

    if precision == "bf16":
        of_f32 = jax.value_and_grad

        def narrow(tree):
            return jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16) if leaf.dtype == jnp.float32 else leaf, tree)

        jax.value_and_grad = lambda loss, **options: of_f32(lambda parameters: loss(narrow(parameters)), **options)
    built = steps.BUILD_ON_REQUEST[name]()
    arguments = built["args"]
    leaves = [(f"arg{number}{path}", leaf) for number, argument in enumerate(arguments) for path, leaf in exportlib.paths(argument)]
    values = [
        jnp.asarray(exportlib.make(exportlib.default_init(path, leaf, number, built["hints"]), leaf.shape, np.dtype(leaf.dtype)))
        for number, (path, leaf) in enumerate(leaves)
    ]
    state, *batch = jax.tree.unflatten(jax.tree.structure(arguments), values)
    compiled = jax.jit(built["step"], donate_argnums=(0,)).lower(*arguments).compile()

    def step() -> None:
        nonlocal state
        state, loss = compiled(state, *batch)
        jax.block_until_ready((state, loss))

    return step


def torch_step(name: str, precision: str, compiles: bool) -> Callable[[], None]:
    """The twin; what XLA does with subnormal numbers is asked of PyTorch, too."""
    import torch
    from torch import nn

    class Recurrent(nn.Module):
        """An embedding, a stack of recurrent layers, and a linear layer on what each step gives."""

        def __init__(self, vocabulary: int, size: int, layers: nn.RNNBase, outputs: int) -> None:
            super().__init__()
            width = layers.hidden_size * (2 if layers.bidirectional else 1)
            self.embedding, self.layers, self.head = nn.Embedding(vocabulary, size), layers, nn.Linear(width, outputs)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.layers(self.embedding(ids))[0])

    torch.manual_seed(0)
    torch.set_num_threads(2)
    torch.set_flush_denormal(True)
    characters = dict(input_size=128, hidden_size=256, num_layers=2, batch_first=True)
    twins = {
        "19_bilstm": lambda: (Recurrent(500, 64, nn.LSTM(64, 64, batch_first=True, bidirectional=True), 10), 1e-3, None, 500, 10, 48),
        "21_gru": lambda: (Recurrent(96, 128, nn.GRU(**characters), 96), 2e-3, 1.0, 96, 96, 64),
        "22_rnn": lambda: (Recurrent(96, 128, nn.RNN(**characters), 96), 2e-3, 1.0, 96, 96, 64),
    }
    model, rate, clip, vocabulary, labels, length = twins[name]()
    ids, targets = torch.randint(0, vocabulary, (32, length)), torch.randint(0, labels, (32, length))
    optimizer = torch.optim.Adam(model.parameters(), rate, fused=True)

    def loss_of(ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            logits = model(ids)
        return nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    forward = torch.compile(loss_of) if compiles else loss_of

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        forward(ids, targets).backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    return step


def main() -> None:
    """Times the step that the command line names."""
    peer, name, precision, seconds = sys.argv[1:]
    step = jax_step(name, precision) if peer == "jax" else torch_step(name, precision, compiles=peer == "torch-compile")
    step()
    print(json.dumps({"peer": peer, "model": name, "precision": precision, "step_ms": {"median": median_of(step, float(seconds)) * 1e3}}))


if __name__ == "__main__":
    main()
