"""The training loop: several twins trained in parallel on the same pools, leg by leg."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from theodolite.core.errors import UsageError
from train.twins.card import card_of
from train.twins.curriculum import TWINS, Curriculum
from train.twins.lesson_workers import LessonWorkers
from train.twins.network import POCKET, Architecture, Learner, losses, make_model, save_twin, start_from
from train.twins.supply import TASKS, Supply

WHOSE = {"grounded": "g", "shortcut": "s", "mixed": "m"}
"""The twins, and the letter of the questions for each."""
_SHARD = 14 * 2**20
_WARM_UP = 4
_Record = tuple[torch.cuda.CUDAGraph, list[dict[str, Tensor]], list[Any]]
"""A recorded step: the graph, its inputs and its outputs."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Training settings, the same for all twins."""

    steps: int = 12_000
    seed: int = 1
    rate: float = 1e-3
    warm_up: int = 300
    decay: float = 0.05
    final: float = 0.01
    """Final learning rate, as a share of the maximum."""
    patches: float = 1.0
    """Weight of the patch head."""
    scale: float = 1.0
    """Factor for the capacities of the pools."""
    until: float = 1.0
    """Position in the half-cosine learning-rate schedule at the end of this leg."""
    device: str = "cuda"
    is_fast: bool = True
    """True to compile layers and to record a step as a CUDA graph; only on a GPU."""
    rows: float = 1.0
    """Factor for the batch sizes; smaller for a trial."""
    kept: Path | None = None
    """Folder in which legs share their lessons."""
    architecture: Architecture = POCKET
    curriculum: Curriculum = TWINS


class Twin:
    """One model in training."""

    def __init__(self, name: str, learner: Learner, recipe: Recipe) -> None:
        self.name, self.learner, self.recipe = name, learner, recipe
        self.first_step = 0
        self.on_gpu = recipe.device.startswith("cuda")
        self.is_fast = recipe.is_fast and self.on_gpu
        if self.is_fast:  # compiled by layer, so that all layers of all twins share the compiled code
            body = learner.model.model
            for layer in (*body.vision_tower.encoder.layers, *body.language_model.layers):
                layer.compile(dynamic=False)
        groups = [
            {"params": [p for p in learner.parameters() if p.ndim >= 2], "weight_decay": recipe.decay},
            {"params": [p for p in learner.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ]
        rate = torch.tensor(recipe.rate, device=recipe.device) if self.on_gpu else recipe.rate
        self.optimiser = torch.optim.AdamW(
            groups, lr=rate, betas=(0.9, 0.98), fused=self.on_gpu, capturable=self.on_gpu
        )
        weights = recipe.curriculum.weights
        self._shares = torch.tensor([weights.get(task, 0.0) for task in TASKS], device=recipe.device)
        self._recorded: _Record | None = None
        self._n_played = 0

    def rate(self, step: int, progress: float) -> float:
        """Return the learning rate at a step and position of the training: warm-up, then half a cosine."""
        r, (first, last) = self.recipe, self.recipe.curriculum.span(self.name)
        low = 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - first) / (last - first))))
        warm = min(1.0, (step - self.first_step + 1) / r.warm_up)
        return r.rate * warm * (r.final + (1 - r.final) * low)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next steps."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def step(self, batches: list[dict[str, Tensor]]) -> list[Any]:
        """Run one step on some batches and return each batch's losses and logits.

        After a few warm-up steps, the whole step of a fast twin is recorded as a CUDA graph. It consists of thousands of
        small kernels, which take longer to launch than to run.
        """
        self._n_played += 1
        if not self.is_fast or self._n_played <= _WARM_UP:
            self.optimiser.zero_grad(set_to_none=True)
            return self._forward_and_back(batches)
        self._recorded = self._recorded or self._record(batches)
        graph, inputs, outputs = self._recorded
        for kept, batch in zip(inputs, batches, strict=True):
            for name, values in kept.items():
                values.copy_(batch[name])
        graph.replay()
        return outputs

    def _record(self, batches: list[dict[str, Tensor]]) -> _Record:
        inputs = [{name: values.clone() for name, values in batch.items()} for batch in batches]
        self.optimiser.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            outputs = self._forward_and_back(inputs)
        return graph, inputs, outputs

    def _forward_and_back(self, batches: list[dict[str, Tensor]]) -> list[Any]:
        seen = []
        for batch in batches:
            parts, logits = self._losses(batch | {"frames": augment(batch["frames"])})
            weight = self.recipe.patches
            torch.autograd.backward(parts["words"] + weight * (parts["kind"] + parts["mark"] + parts["size"]))
            seen.append(({name: part.detach() for name, part in parts.items()}, logits.detach()))
        torch.nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
        self.optimiser.step()
        return seen

    def _losses(self, batch: dict[str, Tensor]) -> tuple[dict[str, Tensor], Tensor]:
        with torch.autocast("cuda", torch.bfloat16, enabled=self.on_gpu, cache_enabled=False):
            logits, patches = self.learner(batch)
        return losses(logits, patches, batch, self._shares), logits

    @torch.no_grad()
    def first_token_accuracy(self, batch: dict[str, Tensor]) -> float:
        """Return how often the first token of an answer is right."""
        with torch.autocast("cuda", torch.bfloat16, enabled=self.on_gpu, cache_enabled=False):
            logits, _ = self.learner(batch)
        return _right(batch, logits, slice(None))


class Trainer:
    """Trains twins in parallel until the time limit of a leg or the last step."""

    def __init__(self, names: Sequence[str], tokenizer: Any, recipe: Recipe) -> None:
        self.recipe, self.tokenizer, self.step = recipe, tokenizer, 0
        self.progress = 0.0
        self.held_out: dict[str, dict[str, float]] = {}
        """By model and task, the accuracy on held-out lessons at the end of the last leg."""
        self.twins = [
            Twin(
                name,
                Learner(make_model(tokenizer, seed=recipe.seed, architecture=recipe.architecture)).to(
                    recipe.device
                ),
                recipe,
            )
            for name in names
        ]
        self.rng = np.random.default_rng(recipe.seed * 7919)

    def _learning(self) -> list[Twin]:
        """Return the models whose turn it is. One that begins now gets the weights of another."""
        learning = []
        for twin in self.twins:
            first, last = self.recipe.curriculum.span(twin.name)
            if not (first <= self.progress and (self.progress < last or last == 1.0)):
                continue
            begin = self.recipe.curriculum.begins.get(twin.name)
            if begin is not None and twin.first_step == 0:
                twin.first_step = self.step
                teacher = next(other for other in self.twins if other.name == begin.weights_of)
                twin.learner.load_state_dict(teacher.learner.state_dict())
            learning.append(twin)
        return learning

    def run(
        self,
        workers: LessonWorkers,
        seconds: float,
        log: Path,
        *,
        saves: Sequence[float] = (),
        save: Callable[[], object] = lambda: None,
    ) -> None:
        """Run one leg.

        Args:
            workers: Lesson workers that are already running.
            seconds: Duration of the leg.
            log: File to which a line is appended every hundred steps.
            saves: Shares of the duration after which to save, in order.
            save: Saves what has been learnt so far.
        """
        began = time.monotonic()
        supply = Supply(
            workers,
            self.recipe.device,
            scale=self.recipe.scale,
            kept=self.recipe.kept,
            curriculum=self.recipe.curriculum,
            n_side=self.recipe.architecture.n_side,
        )
        first, start = self.step, self.progress
        try:
            while not supply.is_ready():
                if time.monotonic() - began > seconds:
                    raise UsageError(
                        f"no lessons were ready within {seconds:g} seconds, so nothing was trained: increase --seconds or "
                        "--workers, or reduce --scale"
                    )
                supply.check()
                time.sleep(0.1)
            note(log, {"step": self.step, "event": "lessons are ready", "seconds": time.monotonic() - began})
            left = list(saves)
            while (passed := time.monotonic() - began) < seconds and self.step < self.recipe.steps:
                if left and passed / seconds >= left[0]:
                    del left[0]
                    save()
                done = max(passed / seconds, (self.step - first) / (self.recipe.steps - first))
                self.progress = start + (self.recipe.until - start) * done
                self._step(supply, log, began)
            self.progress = self.recipe.until
            self.held_out = {twin.name: self._held_out(twin, supply) for twin in self.twins}
            last: dict[str, Any] = {
                name: {"held out": accuracies} for name, accuracies in self.held_out.items()
            }
            note(log, {"step": self.step, "seconds": round(time.monotonic() - began, 1)} | last)
            if self.recipe.kept is not None:
                supply.save(self.recipe.kept)
        finally:
            supply.stop()

    def _step(self, supply: Supply, log: Path, began: float) -> None:
        results: dict[str, Any] = {}
        learning = self._learning()
        supply.check()
        curriculum = self.recipe.curriculum
        for twin in learning:
            if self.step % curriculum.every[twin.name] == 0:
                twin.set_rate(twin.rate(self.step, self.progress))
                batches = [
                    supply.batch(
                        shares, max(2, round(rows * self.recipe.rows)), who=WHOSE[twin.name], rng=self.rng
                    )
                    for rows, shares in curriculum.batches
                ]
                seen = twin.step(batches)
                if self.step % 100 == 0:
                    results[twin.name] = _log_row(batches, seen)
            if self.step % 500 == 499:
                results[twin.name] = {"held out": self._held_out(twin, supply)}
        if results:
            row = {
                "step": self.step,
                "seconds": round(time.monotonic() - began, 1),
                "rate": learning[0].rate(self.step, self.progress),
                "made": {name: pool.n_made for name, pool in supply.pools.items()},
            }
            note(log, row | results)
        self.step += 1

    @staticmethod
    def _held_out(twin: Twin, supply: Supply) -> dict[str, float]:
        accuracies = {}
        for task in supply.held_out:
            batch = supply.held_out_batch(task, WHOSE[twin.name])
            if batch is not None:
                accuracies[task] = twin.first_token_accuracy(batch)
        return accuracies

    def save(self, folder: Path) -> None:
        """Save everything that the next leg needs, in files under 15 MiB."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {"step": self.step, "progress": self.progress}
        (folder / "state.json").write_text(json.dumps(state))
        for twin in self.twins:
            names = [name for name, _ in twin.learner.named_parameters()]
            states = [twin.optimiser.state[p] for _, p in twin.learner.named_parameters()]
            _save_parts(folder, f"{twin.name}-weights", dict(twin.learner.named_parameters()))
            for key in ("exp_avg", "exp_avg_sq"):
                moments = {n: s[key].bfloat16() for n, s in zip(names, states, strict=True) if key in s}
                _save_parts(folder, f"{twin.name}-{key}", moments)

    def load(self, folder: Path) -> None:
        """Restore the state saved by an earlier leg."""
        absent = [twin.name for twin in self.twins if not list(folder.glob(f"{twin.name}-weights-*"))]
        if absent:
            raise UsageError(
                f"the training in {folder} has no {absent[0]}; pass the twins that it started with"
            )
        state = json.loads((folder / "state.json").read_text())
        self.step, self.progress = int(state["step"]), float(state["progress"])
        for twin in self.twins:
            parts = {
                key: _load_parts(folder, f"{twin.name}-{key}") for key in ("weights", "exp_avg", "exp_avg_sq")
            }
            with torch.no_grad():
                for name, parameter in twin.learner.named_parameters():
                    parameter.copy_(parts["weights"][name])
                    if name not in parts["exp_avg"]:
                        continue  # the tower's last norm, which the model does not use
                    twin.optimiser.state[parameter] = {
                        "step": torch.tensor(float(self.step), device=parameter.device),
                        **{
                            key: parts[key][name].float().to(parameter.device)
                            for key in ("exp_avg", "exp_avg_sq")
                        },
                    }

    def start(self, folder: Path) -> None:
        """Start from the weights of checkpoints, one folder per twin, instead of random ones."""
        for twin in self.twins:
            start_from(twin.learner.model, self.tokenizer, folder / twin.name)

    def release(self, folder: Path) -> None:
        """Save each twin as a checkpoint of transformers."""
        for twin in self.twins:
            save_twin(twin.learner.model, self.tokenizer, folder / twin.name)
            (folder / twin.name / "README.md").write_text(card_of(twin.name), encoding="utf-8")


def augment(frames: Tensor) -> Tensor:
    """Vary the brightness and colour of each picture, and add noise."""
    values = frames.float()
    lead = (len(frames), 1, 1, 1)
    light = 1 + 0.1 * torch.randn(lead, device=frames.device)
    shift = 10 * torch.randn((*lead[:3], 3), device=frames.device)
    noise = 5 * torch.randn(frames.shape, device=frames.device)
    return (values * light + shift + noise).clamp(0, 255)


def _log_row(batches: Sequence[dict[str, Tensor]], seen: Sequence[Any]) -> dict[str, Any]:
    """Return the losses, and the accuracy of the first token of an answer by task."""
    row: dict[str, Any] = {
        "losses": [[round(float(value), 4) for value in parts.values()] for parts, _ in seen]
    }
    for batch, (_, logits) in zip(batches, seen, strict=True):
        for number, task in enumerate(TASKS):
            rows = batch["task"] == number
            if bool(rows.any()):
                row[task] = _right(batch, logits, rows)
    return row


def _right(batch: dict[str, Tensor], logits: Tensor, rows: Any) -> float:
    right = (logits.argmax(-1) == batch["words"]) & batch["first"]
    return round(float(right[rows].sum()) / max(1, int(batch["first"][rows].sum())), 4)


def note(log: Path, row: dict[str, Any]) -> None:
    """Write one line of the log."""
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
    tensors: dict[str, Tensor] = {}
    for path in sorted(folder.glob(f"{name}-*.safetensors")):
        tensors |= load_file(path)
    return tensors
