"""Training the twins: needs torch, transformers, tokenizers, safetensors, numpy and Pillow alone.

``python -m train twins --out FOLDER`` calls it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.splits import LESSON_SEEDS
from train.twins.lesson_workers import Workshop

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

TWINS = ("grounded", "shortcut", "mixed")
TOKENIZER = Path(__file__).with_name("tokenizer.json")
"""What `write_tokenizer` wrote: part of the recipe, so that all twins speak alike."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One stretch of training."""

    out: Path
    """Where the state, the log and the finished twins go; a state that is there is gone on from."""
    twins: tuple[str, ...] = TWINS
    seconds: float = 500.0
    steps: int = 12_000
    """Of all legs together."""
    seed: int = 1
    workers: int = 14
    device: str = "cuda"
    scale: float = 1.0
    """Of batches and pools: less for a trial."""
    until: float = 1.0
    """How far the learning rate has come down at the end of this leg: 1 with the last."""
    number: int = 0
    """Of the leg: each has lessons of its own."""
    kept: Path | None = None
    """Where legs leave their lessons to one another (some ten gigabytes): none are left if not given."""
    start: Path | None = None
    """Checkpoints to begin with, one folder for each twin; without them the first leg begins with random weights."""
    rate: float = 1e-3
    """The highest learning rate."""


def train(leg: Leg) -> Path:
    """Trains twins side by side, on the same pools of pictures; only the questions differ.

    Returns:
        The folder that holds each twin as a checkpoint.

    Raises:
        UsageError: a twin has no such name, there is no such device, or no step could be made.
    """
    state = leg.out / "state"
    is_begun = _check(leg, state)
    import torch
    from transformers.utils import logging

    from train.twins.train import Recipe, Trainer, note

    logging.disable_progress_bar()

    if leg.device.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(
            "there is no GPU here; train on a machine with one, or try a few steps with --device cpu"
        )
    try:
        torch.device(leg.device)
    except RuntimeError as error:
        raise UsageError(f"there is no device {leg.device!r}; say cuda or cpu") from error
    workshop = Workshop(TOKENIZER.read_text(), workers=leg.workers, seed=leg.seed + 1000 * leg.number)
    torch.backends.cuda.matmul.allow_tf32 = True
    recipe = Recipe(
        steps=leg.steps,
        seed=leg.seed,
        device=leg.device,
        scale=leg.scale,
        rows=leg.scale,
        until=leg.until,
        kept=leg.kept,
        rate=leg.rate,
    )
    trainer = Trainer(leg.twins, read_tokenizer(), recipe)
    if is_begun:
        trainer.load(state)
    elif leg.start is not None:
        trainer.start(leg.start)
        note(leg.out / "log.jsonl", {"step": 0, "event": "begun with checkpoints"})
    trainer.run(workshop, leg.seconds, leg.out / "log.jsonl")
    trainer.release(leg.out / "twins")
    trainer.save(state)
    return leg.out / "twins"


def _check(leg: Leg, state: Path) -> bool:
    """Whether the training has begun; what cannot be is told before any picture is drawn."""
    wrong = [name for name in leg.twins if name not in TWINS]
    if wrong or not leg.twins:
        raise UsageError(f"the twins are {', '.join(TWINS)}, not {wrong[0] if wrong else 'none'}")
    if not 0 <= leg.seed + 1000 * leg.number < LESSON_SEEDS:
        raise UsageError(
            f"lessons have seeds below {LESSON_SEEDS:,}, certificates others: choose a smaller --seed or --leg"
        )
    for place in [leg.start / name for name in leg.twins] if leg.start is not None else []:
        if not (place / "model.safetensors").is_file():
            raise UsageError(f"{place} holds no model.safetensors to begin with")
    is_begun = (state / "state.json").exists()
    if is_begun and leg.start is not None:
        raise UsageError(
            f"{leg.out} holds a training that has begun; leave --start out, or choose another --out"
        )
    if is_begun and (made := json.loads((state / "state.json").read_text())["step"]) >= leg.steps:
        raise UsageError(
            f"the training in {leg.out} has made {made} steps; ask for more than --steps {leg.steps}"
        )
    return is_begun


def read_tokenizer() -> PreTrainedTokenizerFast:
    """The twins' tokenizer."""
    from train.twins.tokens import as_tokenizer

    return as_tokenizer(TOKENIZER)


def write_tokenizer(path: Path = TOKENIZER) -> None:
    """Makes the tokenizer from a fixed sample of lessons."""
    from train.twins.tokens import make_backend

    make_backend(_sample(), fixed=_fixed()).save(str(path), pretty=False)


def _fixed() -> list[str]:
    """What stands in every prompt of a kind, numbers included."""
    from theodolite.instruments.compass.prompts import PROMPTS
    from train.twins import lessons

    parts = [
        part for prompt in PROMPTS.values() for part in re.split(r"\{\w+\}", prompt.template) if len(part) > 1
    ]
    rng = np.random.default_rng(0)
    asked = [ask.text for _ in range(8) for ask in lessons.room_lesson(rng, "sample").asks]
    openings = {text.partition("\n\n")[0] + "\n\n" for text in asked if "\n\n" in text}
    marked = {opening for opening in openings if "round mark" in opening}
    unseen = {re.split(r"\d", opening)[-1] for opening in openings - marked}
    return sorted({*parts, *marked, *unseen})


def _sample() -> Iterator[str]:
    from train.twins import lessons

    rng = np.random.default_rng(0)
    found = [lessons.relation_lesson(rng) for _ in range(60)]
    found += [*lessons.grid_lessons(3, 16), *(lessons.room_lesson(rng, "sample") for _ in range(240))]
    for world in ("video", "navigation", "instruction"):
        for number in range(50):
            is_aligned = True if number % 3 == 0 else None
            found += lessons.story_lessons(world, number, seed=1, is_aligned=is_aligned)
    for lesson in found:
        yield from (part for part in lesson.opening if part is not None)
        for ask in lesson.asks:
            yield ask.text
            yield ask.answer
