"""Training of the strangers, called by ``python -m train zoo --arch NAME --out FOLDER``.

One leg trains the three reasonings of an architecture on the same pictures. Needs what training the twins needs.
"""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.core.errors import UsageError
from train.twins.curriculum import ZOO
from train.twins.lesson_workers import LessonWorkers
from train.twins.training import TOKENIZER, TWINS, check_device, check_seed, read_tokenizer

if TYPE_CHECKING:
    from train.twins.train import Trainer

ABOUT_FILE = "stranger.json"
"""In each checkpoint: its architecture and reasoning, and how it was trained."""
_SAVES = (0.0, 0.5, 0.8)
"""Shares of a leg after which it is saved. The first shows at once that saving works."""


@dataclass(frozen=True, slots=True)
class ZooLeg:
    """The training of one architecture."""

    out: Path
    """Folder for the log and one file per stranger."""
    architecture: str
    seconds: float = 500.0
    steps: int = 12_000
    seed: int = 77
    workers: int = 14
    device: str = "cuda"
    scale: float = 1.0
    """Factor for batches and pools; smaller for a trial."""
    rate: float = 1e-3
    """Maximum learning rate."""


def train_strangers(leg: ZooLeg) -> list[Path]:
    """Train a grounded, a shortcut and a mixed stranger in parallel.

    Returns:
        One tar file per stranger with a checkpoint of transformers.

    Raises:
        UsageError: If there is no such architecture or device, or no step could be made.
    """
    check_seed(leg.seed)
    check_device(leg.device)

    from train.twins.train import Recipe, Trainer
    from train.zoo.architectures import ARCHITECTURES

    if leg.architecture not in ARCHITECTURES:
        raise UsageError(f"the architectures are {', '.join(ARCHITECTURES)}, not {leg.architecture}")
    architecture = ARCHITECTURES[leg.architecture]
    workers = LessonWorkers(
        TOKENIZER.read_text(),
        workers=leg.workers,
        seed=leg.seed,
        curriculum=ZOO,
        n_side=architecture.n_side,
    )
    recipe = Recipe(
        steps=leg.steps,
        seed=leg.seed,
        rate=leg.rate,
        device=leg.device,
        scale=leg.scale,
        rows=leg.scale,
        architecture=architecture,
        curriculum=ZOO,
    )
    trainer = Trainer(TWINS, read_tokenizer(), recipe)
    leg.out.mkdir(parents=True, exist_ok=True)
    trainer.run(
        workers,
        leg.seconds,
        leg.out / f"{leg.architecture}.jsonl",
        saves=_SAVES,
        save=lambda: _save(trainer, leg),
    )
    return _save(trainer, leg)


def _save(trainer: Trainer, leg: ZooLeg) -> list[Path]:
    """Write each stranger as one file, so that it travels easily."""
    from tempfile import TemporaryDirectory

    from train.twins.network import save_twin

    saved = []
    for twin in trainer.twins:
        name = f"{leg.architecture}-{twin.name}"
        about: dict[str, Any] = {
            "architecture": leg.architecture,
            "reasoning": twin.name,
            "seed": leg.seed,
            "steps": trainer.step,
            "held_out": trainer.held_out.get(twin.name),
        }
        with TemporaryDirectory() as scratch:
            folder = Path(scratch) / name
            save_twin(twin.learner.model, trainer.tokenizer, folder)
            (folder / ABOUT_FILE).write_text(json.dumps(about, indent=2) + "\n")
            path = leg.out / f"{name}.tar"
            part = path.with_suffix(".part")
            with tarfile.open(part, "w") as file:
                file.add(folder, arcname=name)
            part.replace(path)
        saved.append(path)
    return saved
