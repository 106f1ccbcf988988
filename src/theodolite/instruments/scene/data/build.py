"""Builds a data set from a source of real scenes: filters objects, drops near-duplicates, balances, asks, marks."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.diversity import balance_crowding, drop_alike
from theodolite.instruments.scene.data.engine import make_questions, thin_questions
from theodolite.instruments.scene.data.files import (
    Manifest,
    SceneData,
    new_folder,
    read_data,
    tally,
    write_data,
    write_pictures,
)
from theodolite.instruments.scene.data.graph import SceneGraph
from theodolite.instruments.scene.data.pipeline import KeepOptions, build_graph
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.instruments.scene.data.sources.views import SourceView


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What to keep of a source."""

    keep: KeepOptions = field(default_factory=KeepOptions)
    most_scenes: int | None = None
    is_balanced: bool = True
    """True to keep sparse, common and dense scenes as 1 : 2 : 2."""
    is_diverse: bool = True
    """True to drop near-duplicates."""
    with_pictures: bool = True
    n_questions: int | None = None
    seed: int = 0


def build_data(
    folder: str | Path,
    views: Iterable[SourceView],
    *,
    options: BuildOptions | None = None,
    made: dict[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> SceneData:
    """Turns a source's pictures into a data set, and counts what is left out and why.

    Args:
        folder: New or empty.
        views: The pictures of the source.
        options: What to keep.
        made: Entries of the manifest: the source, its path, the program's version.
        progress: Called with the number of pictures read so far.
    """
    options, folder = options or BuildOptions(), new_folder(folder)
    left_out: Counter[str] = Counter()
    scenes: list[SceneGraph] = []
    pictures: dict[str, Path] = {}
    for number, view in enumerate(views, 1):
        seed = options.seed + zlib.crc32(view.view.id.encode())
        graph, counts = build_graph(view.view, view.candidates, options=options.keep, seed=seed)
        left_out += counts + view.skipped
        if progress is not None:
            progress(number)
        if graph is None:
            left_out["scenes with too few objects"] += 1
        elif options.with_pictures and not view.picture.is_file():
            left_out["scenes whose picture is missing"] += 1
        else:
            scenes.append(graph)
            pictures[graph.id] = view.picture
    scenes = _chosen(scenes, options, left_out)
    asked = make_questions(scenes, seed=options.seed)
    questions: tuple[SceneQuestion, ...] = asked.questions
    left_out.update({f"questions: no clear {competency}": n for competency, n in asked.unmet.items()})
    if options.n_questions is not None:
        questions = thin_questions(questions, options.n_questions, seed=options.seed)
    if options.with_pictures:
        scenes = [write_pictures(folder, scene, _pixels(pictures[scene.id])) for scene in scenes]
    manifest = Manifest(
        made={**(made or {}), "seed": options.seed, "keep": asdict(options.keep)},
        counts=tally(scenes, questions),
        left_out=dict(left_out),
    )
    return read_data(write_data(folder, scenes, questions, manifest))


def _chosen(scenes: list[SceneGraph], options: BuildOptions, left_out: Counter[str]) -> list[SceneGraph]:
    if options.is_diverse:
        scenes, dropped = drop_alike(scenes)
        left_out.update(dropped)
    if options.is_balanced:
        scenes, dropped = balance_crowding(scenes, most=options.most_scenes, seed=options.seed)
        left_out.update(dropped)
    elif options.most_scenes is not None and len(scenes) > options.most_scenes:
        left_out["scenes beyond the number asked for"] += len(scenes) - options.most_scenes
        scenes = scenes[: options.most_scenes]
    if not scenes:
        reasons = ", ".join(f"{n} {reason}" for reason, n in left_out.most_common(4))
        raise UsageError(
            f"no scene of the source can be used ({reasons}); relax the limits or choose another source"
        )
    return scenes


def _pixels(path: Path) -> np.ndarray:
    try:
        with Image.open(path) as opened:
            return np.asarray(opened.convert("RGB"))
    except OSError as error:
        raise UsageError(f"cannot read the picture {path}: {error}") from error
