"""Drawing the pictures, training the model on them, and writing the checkpoint."""

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
    """What was trained, on what, and how it does on pictures it has not seen."""

    episodes: int
    """Of each world and split."""
    n_pictures: int
    n_captions: int
    n_parameters: int
    steps: int
    batch: int
    learning_rate: float
    seed: int
    things_told_apart: float
    """Share of pairs of a thing that is shown and one that is not in which the first has the better caption."""
    sides_and_states: float
    """Share of sides and states whose true caption beats all its alternatives."""
    n_held_out: int
    """Pictures."""
    seconds_drawing: float
    """Less if some of it was there already."""
    seconds_fitting: float
    words: tuple[str, ...]
    """All that the captions were made of: what the model can be asked in."""


def draw_similarity(
    folder: str | Path,
    *,
    episodes: int = EPISODES,
    workers: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> int:
    """Draws the pictures that `train_similarity` needs, as far as they are not there yet.

    Args:
        folder: where they are kept, packed.
        episodes: how many of each world and split.
        workers: processes that draw; by default one per core.
        seed: where the draws begin.
        progress: told in words how far it is.

    Returns:
        How many bytes the drawings of this training take.
    """
    folder = Path(folder)
    tell = progress or (lambda _: None)
    started = time.perf_counter()
    wanted = [part for of in _wanted(episodes, seed) for part in of]
    draw_parts(
        wanted,
        folder,
        workers=workers or os.cpu_count() or 1,
        progress=lambda done, n: tell(f"{done} of {n} parts drawn, {time.perf_counter() - started:.0f} s"),
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
    """Trains a CLIP on pictures of the embedded worlds and writes it as a checkpoint of transformers.

    Args:
        out: the folder; one that holds anything else than a checkpoint is refused.
        episodes: how many of each world and split.
        drawings: where drawn pictures are kept, and taken from if they are there; by default beside `out`.
        workers: processes that draw; by default one per core.
        options: steps, batch, device and seed; by default on a GPU if there is one.
        progress: told in words how far it is.
    """
    out = Path(out)
    _refuse_other_folder(out)
    options = _on_a_device(options)
    tell = progress or (lambda _: None)
    folder = Path(drawings) if drawings is not None else drawings_beside(out)
    started = time.perf_counter()
    draw_similarity(folder, episodes=episodes, workers=workers, seed=options.seed, progress=progress)
    data, held = (_arrays(wanted, folder) for wanted in _wanted(episodes, options.seed))
    tokenizer = build_tokenizer((*data.captions, *held.captions))
    model = build_model(tokenizer, seed=options.seed)
    between = time.perf_counter()
    steps: list[int] = []

    def told(step: int, losses: dict[str, float]) -> None:
        steps.append(step)
        named = ", ".join(f"{name} {value:.3f}" for name, value in losses.items())
        tell(f"step {step}, {time.perf_counter() - between:.0f} s: {named}")

    model = fit(model, tokenizer, data, options, progress=told)
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
    """Where drawings are kept if no other place is named.

    >>> drawings_beside("models/clip").name
    'clip-drawings'
    """
    return Path(out).with_name(f"{Path(out).name}-drawings")


def _wanted(episodes: int, seed: int) -> tuple[list[Part], list[Part]]:
    """What is trained on, and what is held out: of another seed, so that the two share no episode."""
    return (
        parts(episodes, side=SIDE_PX, seed=seed),
        parts(min(_N_HELD_OUT, episodes), side=SIDE_PX, seed=seed + 1),
    )


def _arrays(wanted: list[Part], folder: Path) -> Arrays:
    drawn = read_parts(wanted, folder)
    return arrays_of(drawn.samples, drawn.pixels, seed=wanted[0].seed)


def _refuse_other_folder(out: Path) -> None:
    if out.exists() and not (out / "config.json").is_file() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is there and is no checkpoint; name a folder that is new or empty")


def _on_a_device(options: FitOptions | None) -> FitOptions:
    """The options with a device that is there, before anything is drawn."""
    import torch

    best = "cuda" if torch.cuda.is_available() else "cpu"
    options = options or FitOptions(device="auto")
    if options.device == "auto":
        options = replace(options, device=best)
    try:
        torch.empty(1, device=options.device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"there is no device {options.device!r} here; take {best}") from error
    return options
