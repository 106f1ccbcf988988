"""Making the pictures, training the model on them, and writing the checkpoint."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from theodolite.errors import UsageError
from theodolite.trace._contrastive._arrays import arrays_of
from theodolite.trace._contrastive._checkpoint import SIDE_PX, build_model, build_tokenizer, save_checkpoint
from theodolite.trace._contrastive._fit import FitOptions, fit, held_out
from theodolite.trace._contrastive._samples import samples

EPISODES = 1500
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
    seconds_making: float
    seconds_fitting: float
    words: tuple[str, ...]
    """All that the captions were made of: what the model can be asked in."""


def train_similarity(
    out: str | Path,
    *,
    episodes: int = EPISODES,
    workers: int | None = None,
    options: FitOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> SimilarityTraining:
    """Trains a CLIP on pictures of the embedded worlds and writes it as a checkpoint of transformers.

    Args:
        out: the folder; one that holds anything else than a checkpoint is refused.
        episodes: how many of each world and split.
        workers: processes that draw; by default one per core.
        options: steps, batch, device and seed; by default on a GPU if there is one.
        progress: told in words how far it is.
    """
    out = Path(out)
    _refuse_other_folder(out)
    options = _on_a_device(options)
    tell = progress or (lambda _: None)
    workers = workers or os.cpu_count() or 1
    started = time.perf_counter()
    made = samples(
        episodes,
        side=SIDE_PX,
        seed=options.seed,
        workers=workers,
        progress=lambda n: tell(f"{n} pictures, {time.perf_counter() - started:.0f} s"),
    )
    data = arrays_of(made, seed=options.seed)
    others = samples(min(_N_HELD_OUT, episodes), side=SIDE_PX, seed=options.seed + 1, workers=workers)
    held = arrays_of(others)
    tokenizer = build_tokenizer((*data.captions, *held.captions))
    model = build_model(tokenizer, seed=options.seed)
    between = time.perf_counter()
    model = fit(
        model,
        tokenizer,
        data,
        options,
        progress=lambda step, losses: tell(
            f"step {step}, {time.perf_counter() - between:.0f} s: "
            + ", ".join(f"{name} {value:.3f}" for name, value in losses.items())
        ),
    )
    ended = time.perf_counter()
    things, sides = held_out(model, tokenizer, held)
    result = SimilarityTraining(
        episodes,
        len(made),
        len(data.captions),
        sum(weight.numel() for weight in model.parameters()),
        options.steps,
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


def _refuse_other_folder(out: Path) -> None:
    if out.exists() and not (out / "config.json").is_file() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is there and is no checkpoint; name a folder that is new or empty")


def _on_a_device(options: FitOptions | None) -> FitOptions:
    """The options with a device that is there, before anything is drawn."""
    import torch

    best = "cuda" if torch.cuda.is_available() else "cpu"
    options = options or FitOptions(device=best)
    try:
        torch.empty(1, device=options.device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"there is no device {options.device!r} here; take {best}") from error
    return options
