"""Writes the steps of this folder: PyTorch models, exported by torchax, with the losses that PyTorch itself gives.

    pip install torch==2.9.1 torchax==0.0.13 jax==0.10.2 safetensors
    python export.py [--out DIR]

NAME.mlir is one training step (state donated), NAME.safetensors holds the start values and the batch by `arg<i>`, and
NAME.json the losses of the first steps on that batch, from PyTorch's own modules, autograd and optimizer on the CPU.
Neither Tenon nor its tests need any of these packages but the last.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import torch
import torchax
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional
from torchax import interop

STEPS = 5
State = dict[str, torch.Tensor]


class Convolutional(nn.Module):
    """Two convolutions with batch normalisation, the second one strided, and a linear layer. Running statistics are
    not kept: torchax 0.0.13 does not update them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (
            nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.Conv2d(8, 12, 3, stride=2, padding=1, bias=False)
        )  # fmt: skip
        self.norm1, self.norm2 = (nn.BatchNorm2d(width, track_running_stats=False) for width in (8, 12))
        self.classify = nn.Linear(12, 10)

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss of a batch."""
        x = functional.relu(self.norm1(self.first(images)))
        x = functional.relu(self.norm2(self.second(x)))
        return functional.cross_entropy(self.classify(x.mean((2, 3))), labels)


class Embedded(nn.Module):
    """Words as vectors, averaged over a sentence, with dropout-free layers above them."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 16, padding_idx=0)
        self.hidden, self.classify = nn.Linear(16, 24), nn.Linear(24, 4)

    def forward(self, sentences: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss of a batch of sentences, whose ends are filled with word 0."""
        present = (sentences != 0).unsqueeze(-1).float()
        mean = (self.words(sentences) * present).sum(1) / present.sum(1)
        return functional.cross_entropy(self.classify(functional.gelu(self.hidden(mean))), labels)


class Attentive(nn.Module):
    """One block of a transformer with causal attention over characters."""

    def __init__(self) -> None:
        super().__init__()
        self.characters, self.places = nn.Embedding(32, 24), nn.Parameter(torch.randn(12, 24) * 0.02)
        self.before, self.after = nn.LayerNorm(24), nn.LayerNorm(24)
        self.inputs, self.outputs = nn.Linear(24, 72), nn.Linear(24, 24)
        self.up, self.down, self.predict = nn.Linear(24, 48), nn.Linear(48, 24), nn.Linear(24, 32)

    def forward(self, text: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        """The loss of predicting what follows every character."""
        x = self.characters(text) + self.places
        batch, length, width = x.shape
        parts = self.inputs(self.before(x)).reshape(batch, length, 3, 4, width // 4)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outputs(mixed.permute(0, 2, 1, 3).reshape(batch, length, width))
        x = x + self.down(functional.silu(self.up(self.after(x))))
        return functional.cross_entropy(self.predict(x).reshape(-1, 32), following.reshape(-1))


@dataclass(frozen=True)
class Recipe:
    """A model, how its optimizer is made, and a batch."""

    about: str
    model: Callable[[], nn.Module]
    optimizer: Callable[..., torch.optim.Optimizer]
    update: Callable[[State, State, State], tuple[State, State]]
    start: Callable[[State], State]  # the optimizer's state
    batch: Callable[[], tuple[torch.Tensor, torch.Tensor]]


def momentum(parameters: State, gradients: State, state: State) -> tuple[State, State]:
    """Gradient descent with momentum, as torch.optim.SGD(lr=0.1, momentum=0.9) does it."""
    velocities = {name: 0.9 * state[name] + gradients[name] for name in parameters}
    return {name: value - 0.1 * velocities[name] for name, value in parameters.items()}, velocities


def adamw(parameters: State, gradients: State, state: State) -> tuple[State, State]:
    """As torch.optim.AdamW(lr=0.01, weight_decay=0.1) does it."""
    count = state["count"] + 1
    new, result = {"count": count}, {}
    for name, value in parameters.items():
        gradient = gradients[name]
        first = new["first." + name] = 0.9 * state["first." + name] + 0.1 * gradient
        second = new["second." + name] = 0.999 * state["second." + name] + 0.001 * gradient * gradient
        size = torch.sqrt(second) / torch.sqrt(1 - 0.999**count) + 1e-8
        result[name] = value * (1 - 0.01 * 0.1) - 0.01 / (1 - 0.9**count) * first / size
    return result, new


def adamw_start(parameters: State) -> State:
    """Zeros, and the number of steps."""
    moments = {kind + name: torch.zeros_like(value) for kind in ("first.", "second.") for name, value in parameters.items()}
    return {"count": torch.zeros(()), **moments}


def words() -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences of different lengths."""
    sentences = torch.randint(1, 100, (8, 12))
    lengths = torch.randint(3, 13, (8, 1))
    return torch.where(torch.arange(12) < lengths, sentences, 0), torch.randint(0, 4, (8,))


RECIPES = {
    "batch_norm": Recipe(
        "convolutions with batch normalisation, SGD with momentum", Convolutional,
        lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9), momentum,
        lambda parameters: {name: torch.zeros_like(value) for name, value in parameters.items()},
        lambda: (torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,))),
    ),
    "embedding": Recipe(
        "sentences as means of embedded words, AdamW", Embedded,
        lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1), adamw, adamw_start, words,
    ),
    "attention": Recipe(
        "a transformer block with causal attention, AdamW", Attentive,
        lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1), adamw, adamw_start,
        lambda: (torch.randint(0, 32, (4, 12)), torch.randint(0, 32, (4, 12))),
    ),
}  # fmt: skip


def own_losses(recipe: Recipe, batch: tuple[torch.Tensor, torch.Tensor]) -> list[float]:
    """What PyTorch gives, step by step."""
    torch.manual_seed(1)
    model = recipe.model()
    optimizer = recipe.optimizer(model.parameters())
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    """Exports every recipe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    out = parser.parse_args().out
    for name, recipe in RECIPES.items():
        torch.manual_seed(2)
        batch = recipe.batch()
        losses = own_losses(recipe, batch)
        torch.manual_seed(1)
        model = recipe.model()
        parameters = {key: value.detach() for key, value in model.named_parameters()}

        def step(state: dict[str, State], first: torch.Tensor, second: torch.Tensor) -> tuple[dict[str, State], torch.Tensor]:
            def loss_of(parameters: State) -> torch.Tensor:
                return torch.func.functional_call(model, parameters, (first, second))

            loss, gradients = interop.jax_value_and_grad(loss_of)(state["parameters"])
            new, optimizer = recipe.update(state["parameters"], gradients, state["optimizer"])
            return {"parameters": new, "optimizer": optimizer}, loss

        state = {"parameters": parameters, "optimizer": recipe.start(parameters)}
        with torchax.default_env():
            arguments = [jax.tree_util.tree_map(jax.numpy.asarray, jax.tree_util.tree_map(lambda t: t.numpy(), part))
                         for part in (state, *batch)]  # fmt: skip
            traced = jax.jit(interop.jax_view(step), donate_argnums=0).lower(*arguments)
        leaves = jax.tree_util.tree_leaves(arguments)
        (out / f"{name}.mlir").write_text(traced.as_text())
        save_file({f"arg{i}": jax.device_get(leaf) for i, leaf in enumerate(leaves)}, out / f"{name}.safetensors")
        versions = {"torch": torch.__version__, "torchax": torchax.__version__, "jax": jax.__version__}
        info = {"about": recipe.about, "exported_with": versions, "losses": losses}
        (out / f"{name}.json").write_text(json.dumps(info, indent=1) + "\n")
        print(name, losses)


if __name__ == "__main__":
    main()
