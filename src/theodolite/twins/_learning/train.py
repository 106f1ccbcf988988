"""The training loop: several twins side by side on the same pools, one leg after the other."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from theodolite.twins._learning.network import Learner, losses, make_model, save_twin
from theodolite.twins._learning.supply import TASKS, Supply
from theodolite.twins._workshop import Workshop

GROUNDED = {"grounded": 1.0, "shortcut": 0.0, "mixed": 0.5}
"""The twins, and the share of each one's lessons that only looking can answer."""
BATCHES: tuple[tuple[int, dict[str, float]], ...] = (
    (256, {"relation": 0.4, "grid": 0.24, "scene": 0.26, "frame": 0.1}),
    (32, {"trace": 1.0}),
)
"""What a step consists of: rows, and the tasks' shares among them."""
_SHARD = 14 * 2**20


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train. The same for all twins."""

    steps: int = 12_000
    seed: int = 1
    rate: float = 1e-3
    warm_up: int = 300
    decay: float = 0.05
    final: float = 0.01
    """The last learning rate, as a share of the highest."""
    patches: float = 1.0
    """Weight of the patch head."""
    scale: float = 1.0
    """Of the pools' capacities."""
    is_last: bool = False
    """Whether the learning rate comes to its end with this leg, however many steps there is time for."""
    device: str = "cuda"
    compiled: bool = True
    rows: float = 1.0
    """Of the batches: fewer for a trial."""


@dataclass(slots=True, eq=False)
class Twin:
    """One model in training."""

    name: str
    learner: Learner
    optimiser: torch.optim.Optimizer


class Trainer:
    """Trains twins side by side until a leg's time is over or all steps are done."""

    def __init__(self, names: Sequence[str], tokenizer: Any, recipe: Recipe) -> None:
        self.recipe, self.tokenizer, self.step = recipe, tokenizer, 0
        self.progress = 0.0
        self.twins = [self._twin(name) for name in names]
        self.rng = np.random.default_rng(recipe.seed * 7919)

    def _twin(self, name: str) -> Twin:
        learner = Learner(make_model(self.tokenizer, seed=self.recipe.seed)).to(self.recipe.device)
        if self.recipe.compiled:  # layer by layer: all layers of all twins share what is compiled for one
            body = learner.model.model
            for layer in (*body.vision_tower.encoder.layers, *body.language_model.layers):
                layer.compile(dynamic=False)
        plain = [p for p in learner.parameters() if p.ndim < 2]
        thick = [p for p in learner.parameters() if p.ndim >= 2]
        groups = [
            {"params": thick, "weight_decay": self.recipe.decay},
            {"params": plain, "weight_decay": 0.0},
        ]
        is_fused = self.recipe.device == "cuda"
        optimiser = torch.optim.AdamW(groups, lr=self.recipe.rate, betas=(0.9, 0.98), fused=is_fused)
        return Twin(name, learner, optimiser)

    def rate_at(self, step: int) -> float:
        """Warm-up, then half a cosine."""
        r = self.recipe
        low = 0.5 * (1 + math.cos(math.pi * min(1.0, max(self.progress, step / r.steps))))
        return r.rate * min(1.0, (step + 1) / r.warm_up) * (r.final + (1 - r.final) * low)

    def run(self, workshop: Workshop, seconds: float, log: Path) -> None:
        """One leg, with lessons from a workshop that is at work already."""
        began = time.monotonic()
        supply = Supply(workshop, self.recipe.device, scale=self.recipe.scale)
        try:
            while not supply.is_ready():
                supply.take_in(wait_s=0.2)
            note(log, {"step": self.step, "event": "lessons are ready", "seconds": time.monotonic() - began})
            start = self.step / self.recipe.steps
            while time.monotonic() - began < seconds and self.step < self.recipe.steps:
                if self.step % 2 == 0 or self.step < 20:
                    supply.take_in(most=1)
                self._step(supply, log, began)
                if self.recipe.is_last:
                    self.progress = start + (1 - start) * min(1.0, (time.monotonic() - began) / seconds)
        finally:
            workshop.stop()

    def _step(self, supply: Supply, log: Path, began: float) -> None:
        rate, told = self.rate_at(self.step), {}
        for twin in self.twins:
            for group in twin.optimiser.param_groups:
                group["lr"] = rate
            seen = []
            for rows, shares in BATCHES:
                if not supply.has(shares):
                    continue
                n = max(2, round(rows * self.recipe.rows))
                batch = supply.batch(shares, n, grounded=GROUNDED[twin.name], rng=self.rng)
                with torch.autocast("cuda", torch.bfloat16, enabled=self.recipe.device == "cuda"):
                    said, patches = twin.learner(batch)
                parts = losses(said, patches, batch)
                total = parts["words"] + self.recipe.patches * (parts["kind"] + parts["mark"] + parts["size"])
                torch.autograd.backward(total)
                seen.append((batch, parts, said.detach()))
            torch.nn.utils.clip_grad_norm_(twin.learner.parameters(), 1.0)
            twin.optimiser.step()
            twin.optimiser.zero_grad(set_to_none=True)
            if self.step % 100 == 0:
                told[twin.name] = _told(seen)
        if told:
            made = {name: pool.n_made for name, pool in supply.pools.items()}
            row = {
                "step": self.step,
                "seconds": round(time.monotonic() - began, 1),
                "rate": rate,
                "made": made,
            }
            note(log, row | told)
        self.step += 1

    def save(self, folder: Path) -> None:
        """All that the next leg needs, in files under 15 MiB."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "state.json").write_text(json.dumps({"step": self.step, "recipe": asdict(self.recipe)}))
        for twin in self.twins:
            names = [name for name, _ in twin.learner.named_parameters()]
            states = [twin.optimiser.state[p] for _, p in twin.learner.named_parameters()]
            _save_parts(folder, f"{twin.name}-weights", dict(twin.learner.named_parameters()))
            for key in ("exp_avg", "exp_avg_sq"):
                moments = {n: s[key].bfloat16() for n, s in zip(names, states, strict=True) if key in s}
                _save_parts(folder, f"{twin.name}-{key}", moments)

    def load(self, folder: Path) -> None:
        """Goes on from what an earlier leg saved."""
        self.step = int(json.loads((folder / "state.json").read_text())["step"])
        for twin in self.twins:
            parts = {
                key: _load_parts(folder, f"{twin.name}-{key}") for key in ("weights", "exp_avg", "exp_avg_sq")
            }
            with torch.no_grad():
                for name, parameter in twin.learner.named_parameters():
                    parameter.copy_(parts["weights"][name])
                    if name not in parts["exp_avg"]:
                        continue  # the tower's last norm, which the model never uses
                    twin.optimiser.state[parameter] = {
                        "step": torch.tensor(float(self.step), device=parameter.device),
                        **{
                            key: parts[key][name].float().to(parameter.device)
                            for key in ("exp_avg", "exp_avg_sq")
                        },
                    }

    def release(self, folder: Path) -> None:
        """Each twin as a checkpoint that transformers opens."""
        for twin in self.twins:
            save_twin(twin.learner.model, self.tokenizer, folder / twin.name)


def _told(seen: Sequence[Any]) -> dict[str, Any]:
    """Losses, and how often the first token of an answer is right, by task."""
    row: dict[str, Any] = {
        "losses": [[round(float(v), 4) for v in map(Tensor.detach, parts.values())] for _, parts, _ in seen]
    }
    for batch, _, said in seen:
        right = (said.argmax(-1) == batch["words"]) & batch["first"]
        for number, task in enumerate(TASKS):
            rows = batch["task"] == number
            n = int(batch["first"][rows].sum())
            if n:
                row[task] = round(float(right[rows].sum()) / n, 4)
    return row


def note(log: Path, row: dict[str, Any]) -> None:
    """One line of the log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.write(json.dumps(row) + "\n")


def _save_parts(folder: Path, name: str, tensors: dict[str, Tensor]) -> None:
    part: dict[str, Tensor] = {}
    number = size = 0
    for key, tensor in tensors.items():
        n = tensor.numel() * tensor.element_size()
        if part and size + n > _SHARD:
            save_file(part, folder / f"{name}-{number}.safetensors")
            part, number, size = {}, number + 1, 0
        part[key] = tensor.detach().cpu().contiguous()
        size += n
    save_file(part, folder / f"{name}-{number}.safetensors")


def _load_parts(folder: Path, name: str) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for path in sorted(folder.glob(f"{name}-*.safetensors")):
        found |= load_file(path)
    return found
