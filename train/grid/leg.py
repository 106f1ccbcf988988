"""One training leg of a paired model: resumes the previous one, stops in time, and writes a log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.question_types import MASK
from theodolite.instruments.grid.data.world import GridShape
from theodolite.instruments.grid.models.paired import (
    FILLS,
    Kind,
    new_network,
    tile_atlas,
    to_pixels,
    write_weights,
)
from train.grid.sheets import Masking
from train.grid.stream import Supply, sheets
from train.grid.train import Schedule, Trainer

SCHEDULES: dict[Kind, Schedule] = {
    "pure": Schedule(steps=24_000, cooling=8_000),
    "spur": Schedule(steps=6_000, cooling=2_000),
}
"""The schedules of the released models. A bag of words is learned faster than relations."""


def rehearsal(kind: Kind, *, steps: int, batch: int = 2048) -> Schedule:
    """Return the same schedule, shortened."""
    return replace(
        SCHEDULES[kind],
        steps=steps,
        batch=batch,
        cooling=max(1, steps // 3),
        grounding_steps=steps // 20,
        matched=min(256, batch),
    )


def train_leg(
    kind: Kind,
    folder: Path,
    *,
    seconds: float,
    device: str,
    workers: int,
    schedule: Schedule | None = None,
    log: Callable[[str], None] = print,
) -> bool:
    """Train for at most `seconds`, and write the model after its last step.

    Args:
        kind: Which model of the pair.
        folder: Folder for the state, the log and finally ``<kind>.safetensors``.
        seconds: Time limit of this leg, including compilation.
        device: ``cuda`` or ``cpu``.
        workers: Number of processes that generate scenes.
        schedule: A schedule other than that of the released models, such as that of `rehearsal`. Its seed determines
            weights, scenes and masking.
        log: Called with each line of the log.

    Returns:
        True if training is finished.

    Raises:
        UsageError: If there is no such device, or the folder contains the training of the other model or of another
            seed.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("there is no CUDA device; --device cpu works but takes days")
    schedule = schedule or SCHEDULES[kind]
    trainer = Trainer(new_network(schedule.seed, device), schedule, to_pixels(tile_atlas(), device))
    if (folder / "training.json").exists():
        _check_same(folder, kind, schedule.seed)
        trainer.load(folder)
    if device == "cuda":
        trainer.compile()
    world = GridShape()
    masking = Masking(
        share=schedule.masked_share,
        mask_word=MASK,
        fills=tuple(tile for name, tile in FILLS.items() if name != "white"),
        yes=world.yes,
        no=world.yes + 1,
    )
    folder.mkdir(parents=True, exist_ok=True)
    stream = sheets(
        Supply(kind, schedule.seed), batch=schedule.batch, device=device, workers=workers, start=trainer.step
    )
    with (folder / "log.jsonl").open("a") as file:

        def note(line: str) -> None:
            file.write(line + "\n")
            file.flush()
            log(line)

        trainer.leg(stream, masking, until=schedule.steps, seconds=seconds, log=note)
    stream.close()
    trainer.save(folder, kind)
    if trainer.step < schedule.steps:
        return False
    about: dict[str, object] = {"kind": kind, "schedule": asdict(schedule), "torch": torch.__version__}
    write_weights(trainer.network, folder / f"{kind}.safetensors", training=json.loads(json.dumps(about)))
    return True


def _check_same(folder: Path, kind: Kind, seed: int) -> None:
    """Raise an error if the folder contains a different training."""
    stored = json.loads((folder / "training.json").read_text())
    held = stored.get("kind", kind), stored["schedule"]["seed"]
    if held != (kind, seed):
        raise UsageError(
            f"{folder} contains the training of {held[0]} with seed {held[1]}, not of {kind} with seed {seed}; choose another --out"
        )
