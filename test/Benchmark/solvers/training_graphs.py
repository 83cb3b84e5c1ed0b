"""Synthetic buffer lifetimes of training steps, as offset packing problems.

A step is written down as a list of operations, as a compiler would schedule it:
forward, loss, backward, optimizer updates as soon as a gradient is complete. Each
operation has a result, reads earlier results and may need scratch memory. A buffer
lives from its operation to its last reader. Sizes follow from widths drawn from the
seed, so that no two layers are alike; alignment is 256.

    python training_graphs.py transformer --buffers 10000 --seed 1 -o step.csv
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

ALIGNMENT = 256


@dataclass
class Step:
    """Operations in order; values are named by the index of their operation."""

    size: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    time: int = 0

    def operation(self, size: int, reads: list[int], scratch: int = 0) -> int:
        """Adds an operation with a result of `size` bytes; returns its value."""
        for value in reads:
            self.last[value] = self.time
        if scratch:
            self._buffer(scratch)
        value = self._buffer(size)
        self.time += 1
        return value

    def _buffer(self, size: int) -> int:
        self.size.append(size)
        self.first.append(self.time)
        self.last.append(self.time)
        return len(self.size) - 1

    def write(self, stream: TextIO) -> None:
        stream.write("id,lower,upper,size,alignment\n")
        stream.writelines(
            f"{i},{first},{last + 1},{size},{ALIGNMENT}\n" for i, (first, last, size) in enumerate(zip(self.first, self.last, self.size))
        )


def optimizer(step: Step, gradient: int, size: int) -> None:
    """Updates one weight: a scaled copy, then a flag-sized result."""
    scaled = step.operation(size, [gradient])
    step.operation(4, [scaled])


def transformer(step: Step, layers: int, rng: random.Random) -> None:
    """Attention and feed-forward blocks with a residual stream."""
    tokens = rng.choice([256, 384, 640, 1024])
    width = rng.choice([192, 256, 320, 512])
    stream = step.operation(tokens * width * 4, [])
    saved: list[tuple[list[int], list[int]]] = []
    for _ in range(layers):
        heads = rng.choice([4, 6, 8])
        hidden = width * rng.choice([2, 3, 4])
        act = tokens * width * 4
        mean = step.operation(tokens * 8, [stream])
        normed = step.operation(act, [stream, mean])
        qkv = step.operation(3 * act, [normed])
        scores = step.operation(tokens * tokens * heads * 2, [qkv])
        soft = step.operation(tokens * tokens * heads * 2, [scores])
        mixed = step.operation(act, [soft, qkv])
        projected = step.operation(act, [mixed], scratch=rng.choice([0, 65536]))
        stream = step.operation(act, [stream, projected])
        mean2 = step.operation(tokens * 8, [stream])
        normed2 = step.operation(act, [stream, mean2])
        up = step.operation(tokens * hidden * 4, [normed2])
        gelu = step.operation(tokens * hidden * 4, [up])
        down = step.operation(act, [gelu])
        stream_in = stream
        stream = step.operation(act, [stream, down])
        saved.append(([stream_in, mean, normed, qkv, soft, mixed, mean2, normed2, up, gelu], [hidden, act]))
    loss = step.operation(tokens * 4, [stream])
    gradient = step.operation(tokens * width * 4, [loss, stream])
    for values, (hidden, act) in reversed(saved):
        stream_in, mean, normed, qkv, soft, mixed, mean2, normed2, up, gelu = values
        weight = width * hidden * 4
        optimizer(step, step.operation(weight, [gradient, gelu]), weight)
        g = step.operation(tokens * hidden * 4, [gradient])
        g = step.operation(tokens * hidden * 4, [g, up])
        optimizer(step, step.operation(weight, [g, normed2]), weight)
        g = step.operation(act, [g], scratch=rng.choice([0, 131072]))
        g = step.operation(act, [g, mean2, stream_in])
        gradient = step.operation(act, [gradient, g])
        square = width * width * 4
        optimizer(step, step.operation(square, [gradient, mixed]), square)
        g = step.operation(act, [gradient])
        gs = step.operation(step.size[soft], [g, qkv])
        gv = step.operation(act, [g, soft])
        gs = step.operation(step.size[soft], [gs, soft])
        gq = step.operation(3 * act, [gs, gv, qkv])
        optimizer(step, step.operation(3 * square, [gq, normed]), 3 * square)
        g = step.operation(act, [gq])
        g = step.operation(act, [g, mean, stream_in])
        gradient = step.operation(act, [gradient, g])


def convolutional(step: Step, layers: int, rng: random.Random) -> None:
    """Residual stages that halve the image and widen the channels."""
    batch, side, channels = rng.choice([8, 16, 32]), 64, rng.choice([16, 24, 32])
    x = step.operation(batch * side * side * channels * 4, [])
    saved: list[tuple[int, int, int, int, int]] = []
    for layer in range(layers):
        if layer % max(1, layers // 4) == 0 and side > 8:
            side //= 2
            channels *= 2
        size = batch * side * side * channels * 4
        scratch = rng.choice([0, size // 2, size])
        conv = step.operation(size, [x], scratch=scratch)
        stats = step.operation(channels * 8, [conv])
        normed = step.operation(size, [conv, stats])
        active = step.operation(size, [normed] if rng.random() < 0.5 else [normed, x])
        saved.append((x, conv, stats, active, channels))
        x = active
    loss = step.operation(batch * 4, [x])
    gradient = step.operation(step.size[x], [loss, x])
    for inputs, conv, stats, active, channels in reversed(saved):
        g = step.operation(step.size[active], [gradient, active])
        sums = step.operation(channels * 8, [g, conv, stats])
        g = step.operation(step.size[conv], [g, conv, stats, sums])
        weight = channels * channels * 9 * 4
        optimizer(
            step,
            step.operation(weight, [g, inputs], scratch=rng.choice([0, 4 * weight])),
            weight,
        )
        gradient = step.operation(step.size[inputs], [g], scratch=rng.choice([0, 262144]))


def recurrent(step: Step, layers: int, rng: random.Random) -> None:
    """A gated cell unrolled over time, several layers deep; gradients of the shared
    weights are accumulated."""
    deep = rng.choice([2, 3, 4])
    batch = rng.choice([16, 32, 48])
    widths = [rng.choice([128, 160, 256, 384]) for _ in range(deep)]
    hidden = [step.operation(batch * w * 4, []) for w in widths]
    cell = [step.operation(batch * w * 4, []) for w in widths]
    saved: list[tuple[int, int, int, int, int, int]] = []
    for _ in range(max(1, layers // deep)):
        below = step.operation(batch * widths[0] * 4, [])
        for d, w in enumerate(widths):
            act = batch * w * 4
            gates = step.operation(4 * act, [below, hidden[d]])
            new_cell = step.operation(act, [gates, cell[d]])
            tanh = step.operation(act, [new_cell])
            new_hidden = step.operation(act, [gates, tanh])
            saved.append((d, below, gates, cell[d], tanh, hidden[d]))
            below, cell[d], hidden[d] = new_hidden, new_cell, new_hidden
    loss = step.operation(batch * 4, [hidden[-1]])
    grad_h = [step.operation(batch * w * 4, [loss]) for w in widths]
    grad_c = [step.operation(batch * w * 4, [loss]) for w in widths]
    grad_w = [step.operation(8 * w * w * 4, [loss]) for w in widths]
    for d, below, gates, old_cell, tanh, old_hidden in reversed(saved):
        act = batch * widths[d] * 4
        g = step.operation(act, [grad_h[d], gates, tanh])
        g_cell = step.operation(act, [g, grad_c[d]])
        g_gates = step.operation(4 * act, [g_cell, gates, old_cell, tanh])
        g_weight = step.operation(8 * widths[d] ** 2 * 4, [g_gates, below, old_hidden])
        grad_w[d] = step.operation(8 * widths[d] ** 2 * 4, [grad_w[d], g_weight])
        grad_c[d] = step.operation(act, [g_cell, gates])
        grad_h[d] = step.operation(act, [g_gates])
        if d > 0:
            lower = step.operation(batch * widths[d - 1] * 4, [g_gates])
            grad_h[d - 1] = step.operation(step.size[grad_h[d - 1]], [grad_h[d - 1], lower])
    for d, w in enumerate(widths):
        optimizer(step, grad_w[d], 8 * w * w * 4)


KINDS: dict[str, Callable[[Step, int, random.Random], None]] = {
    "transformer": transformer,
    "convolutional": convolutional,
    "recurrent": recurrent,
}


def generate(kind: str, buffers: int, seed: int) -> Step:
    """A step of about `buffers` buffers: the depth is found by two trials."""
    trial = Step()
    KINDS[kind](trial, 12, random.Random(seed))
    layers = max(1, round(12 * buffers / len(trial.size)))
    step = Step()
    KINDS[kind](step, layers, random.Random(seed))
    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--buffers", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", default="-")
    arguments = parser.parse_args()
    step = generate(arguments.kind, arguments.buffers, arguments.seed)
    if arguments.output == "-":
        step.write(sys.stdout)
    else:
        with open(arguments.output, "w", encoding="ascii") as stream:
            step.write(stream)


if __name__ == "__main__":
    main()
