"""Draw the pictures, train the model on them, and write the checkpoint."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from theodolite.core.errors import UsageError
from train.similarity.arrays import Arrays, arrays_of
from train.similarity.checkpoint import SIDE_PX, build_model, build_tokenizer, save_checkpoint
from train.similarity.drawings import Part, draw_parts, parts, read_parts
from train.similarity.fit import FitOptions, fit, held_out

EPISODES = 1000
_N_HELD_OUT = 32
RECORD = "training.json"


@dataclass(frozen=True, slots=True)
class SimilarityTraining:
    """Settings of a training, and accuracy on held-out pictures."""

    episodes: int
    """Episodes per world and split."""
    n_pictures: int
    n_captions: int
    n_parameters: int
    steps: int
    batch: int
    learning_rate: float
    seed: int
    things_told_apart: float
    """Share of pairs of a shown and an absent object in which the shown one has the better caption."""
    sides_and_states: float
    """Share of sides and states whose true caption beats all its alternatives."""
    n_held_out: int
    """Number of held-out pictures."""
    seconds_drawing: float
    """Less if some pictures already existed."""
    seconds_fitting: float
    words: tuple[str, ...]
    """All words of the captions: the vocabulary of the model."""


def draw_similarity(
    folder: str | Path,
    *,
    episodes: int = EPISODES,
    workers: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> int:
    """Draw the missing pictures for `train_similarity`.

    Args:
        folder: Folder of the compressed pictures.
        episodes: Episodes per world and split.
        workers: Number of drawing processes. Default: one per core.
        seed: Seed of the draws.
        progress: Called with progress messages.

    Returns:
        Size of the drawings of this training in bytes.
    """
    folder = Path(folder)
    report = progress or (lambda _: None)
    started = time.perf_counter()
    wanted = [part for of in _wanted(episodes, seed) for part in of]
    draw_parts(
        wanted,
        folder,
        workers=workers or os.cpu_count() or 1,
        progress=lambda done, n: report(f"{done} of {n} parts drawn, {time.perf_counter() - started:.0f} s"),
    )
    return sum((folder / part.file_name).stat().st_size for part in wanted)


def train_similarity(
    out: str | Path,
    *,
    episodes: int = EPISODES,
    drawings: str | Path | None = None,
    workers: int | None = None,
    options: FitOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> SimilarityTraining:
    """Train a CLIP on pictures of the embedded worlds, and write it as a checkpoint of transformers.

    Args:
        out: Folder of the checkpoint. A folder with other files is refused.
        episodes: Episodes per world and split.
        drawings: Folder of the drawn pictures, which are reused if present. Default: next to `out`.
        workers: Number of drawing processes. Default: one per core.
        options: Steps, batch, device and seed. Default: on a GPU if there is one.
        progress: Called with progress messages.
    """
    out = Path(out)
    _refuse_other_folder(out)
    options = _with_device(options)
    report = progress or (lambda _: None)
    folder = Path(drawings) if drawings is not None else drawings_beside(out)
    started = time.perf_counter()
    draw_similarity(folder, episodes=episodes, workers=workers, seed=options.seed, progress=progress)
    data, held = (_arrays(wanted, folder) for wanted in _wanted(episodes, options.seed))
    tokenizer = build_tokenizer((*data.captions, *held.captions))
    model = build_model(tokenizer, seed=options.seed)
    between = time.perf_counter()
    steps: list[int] = []

    def on_step(step: int, losses: dict[str, float]) -> None:
        steps.append(step)
        named = ", ".join(f"{name} {value:.3f}" for name, value in losses.items())
        report(f"step {step}, {time.perf_counter() - between:.0f} s: {named}")

    model = fit(model, tokenizer, data, options, progress=on_step)
    ended = time.perf_counter()
    things, sides = held_out(model, tokenizer, held)
    result = SimilarityTraining(
        episodes,
        len(data.pixels),
        len(data.captions),
        sum(weight.numel() for weight in model.parameters()),
        steps[-1],
        options.batch,
        options.learning_rate,
        options.seed,
        things,
        sides,
        len(held.pixels),
        between - started,
        ended - between,
        tuple(sorted({word for text in data.captions for word in text.split()})),
    )
    save_checkpoint(model.cpu(), tokenizer, out)
    (out / RECORD).write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")
    return result


def drawings_beside(out: str | Path) -> Path:
    """Return the default folder for drawings.

    >>> drawings_beside("models/clip").name
    'clip-drawings'
    """
    return Path(out).with_name(f"{Path(out).name}-drawings")


def _wanted(episodes: int, seed: int) -> tuple[list[Part], list[Part]]:
    """Return the training and held-out parts. They have different seeds, so that they share no episode."""
    return (
        parts(episodes, side=SIDE_PX, seed=seed),
        parts(min(_N_HELD_OUT, episodes), side=SIDE_PX, seed=seed + 1),
    )


def _arrays(wanted: list[Part], folder: Path) -> Arrays:
    drawn = read_parts(wanted, folder)
    return arrays_of(drawn.samples, drawn.pixels, seed=wanted[0].seed)


def _refuse_other_folder(out: Path) -> None:
    if out.exists() and not (out / "config.json").is_file() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists and is not a checkpoint; choose a new or empty folder")


def _with_device(options: FitOptions | None) -> FitOptions:
    """Resolve and check the device, before anything is drawn."""
    import torch

    best = "cuda" if torch.cuda.is_available() else "cpu"
    options = options or FitOptions(device="auto")
    if options.device == "auto":
        options = replace(options, device=best)
    try:
        torch.empty(1, device=options.device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"there is no device {options.device!r} on this machine; use {best}") from error
    return options
