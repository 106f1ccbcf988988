"""Training of the twins, called by ``python -m train twins --out FOLDER``.

Needs only torch, transformers, tokenizers, safetensors, numpy and Pillow.
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
from theodolite.core.scores import LESSON_SEEDS
from train.twins.lesson_workers import LessonWorkers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

TWINS = ("grounded", "shortcut", "mixed")
TOKENIZER = Path(__file__).with_name("tokenizer.json")
"""Written by `write_tokenizer`. It is fixed, so that all twins have the same tokens."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of training."""

    out: Path
    """Folder for the state, the log and the finished twins. An existing state is resumed."""
    twins: tuple[str, ...] = TWINS
    seconds: float = 500.0
    steps: int = 12_000
    """Total steps of all legs."""
    seed: int = 1
    workers: int = 14
    device: str = "cuda"
    scale: float = 1.0
    """Factor for batches and pools; smaller for a trial."""
    until: float = 1.0
    """Position in the learning-rate schedule at the end of this leg; 1 for the last."""
    number: int = 0
    """Number of the leg. Each has different lessons."""
    kept: Path | None = None
    """Folder in which legs share their lessons (about ten gigabytes). Default: lessons are not shared."""
    start: Path | None = None
    """Checkpoints to start from, one folder per twin. Default: random weights."""
    rate: float = 1e-3
    """Maximum learning rate."""


def train(leg: Leg) -> Path:
    """Train twins in parallel on the same pools of pictures. Only the questions differ.

    Returns:
        The folder with one checkpoint per twin.

    Raises:
        UsageError: If a name is wrong, there is no such device, or no step could be made.
    """
    state = leg.out / "state"
    is_begun = _check(leg, state)
    check_device(leg.device)

    from train.twins.train import Recipe, Trainer, note

    workers = LessonWorkers(TOKENIZER.read_text(), workers=leg.workers, seed=leg.seed + 1000 * leg.number)
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
    trainer.run(workers, leg.seconds, leg.out / "log.jsonl")
    trainer.release(leg.out / "twins")
    trainer.save(state)
    return leg.out / "twins"


def check_device(name: str) -> None:
    """Set up torch for training on a device.

    Raises:
        UsageError: If there is no such device.
    """
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(
            "there is no GPU on this machine; use one that has a GPU, or try a few steps with --device cpu"
        )
    try:
        torch.device(name)
    except RuntimeError as error:
        raise UsageError(f"there is no device {name!r}; use cuda or cpu") from error
    torch.backends.cuda.matmul.allow_tf32 = True


def check_seed(seed: int) -> None:
    """Refuse a seed whose lessons could be those of a certificate."""
    if not 0 <= seed < LESSON_SEEDS:
        raise UsageError(
            f"lessons have seeds below {LESSON_SEEDS:,}, certificates above: choose a smaller --seed or --leg"
        )


def _check(leg: Leg, state: Path) -> bool:
    """Check the settings before any picture is drawn. Return True if the training has already started."""
    wrong = [name for name in leg.twins if name not in TWINS]
    if wrong or not leg.twins:
        raise UsageError(f"the twins are {', '.join(TWINS)}, not {wrong[0] if wrong else 'none'}")
    check_seed(leg.seed + 1000 * leg.number)
    for checkpoint in [leg.start / name for name in leg.twins] if leg.start is not None else []:
        if not (checkpoint / "model.safetensors").is_file():
            raise UsageError(f"{checkpoint} contains no model.safetensors to start from")
    is_begun = (state / "state.json").exists()
    if is_begun and leg.start is not None:
        raise UsageError(
            f"{leg.out} contains a training that has already started; omit --start or choose another --out"
        )
    if is_begun and (steps_made := json.loads((state / "state.json").read_text())["step"]) >= leg.steps:
        raise UsageError(
            f"the training in {leg.out} has already made {steps_made} steps; use more than --steps {leg.steps}"
        )
    return is_begun


def read_tokenizer() -> PreTrainedTokenizerFast:
    """Load the tokenizer of the twins."""
    from train.twins.tokens import as_tokenizer

    return as_tokenizer(TOKENIZER)


def write_tokenizer() -> None:
    """Create the tokenizer from a fixed sample of lessons."""
    from train.twins.tokens import make_backend

    make_backend(_sample(), fixed=_fixed()).save(str(TOKENIZER), pretty=False)


def _fixed() -> list[str]:
    """Return the fixed parts of every prompt, including numbers."""
    from theodolite.instruments.compass.questions import PROMPTS, TABLE_9
    from train.twins import lessons

    parts = [
        part for name in TABLE_9 for part in re.split(r"\{\w+\}", PROMPTS[name].template) if len(part) > 1
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
    sample = [lessons.relation_lesson(rng) for _ in range(60)]
    sample += [*lessons.grid_lessons(3, 16), *(lessons.room_lesson(rng, "sample") for _ in range(240))]
    for world in ("video", "navigation", "instruction"):
        for number in range(50):
            is_aligned = True if number % 3 == 0 else None
            sample += lessons.story_lessons(world, number, seed=1, is_aligned=is_aligned)
    for lesson in sample:
        yield from (part for part in lesson.opening if part is not None)
        for ask in lesson.asks:
            yield ask.text
            yield ask.answer
