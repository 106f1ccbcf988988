"""Makes a whole data set: scenes, questions, pictures, marks and what is true of each pixel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels
from theodolite.instruments.scene.data.engine import make_questions, thin_questions
from theodolite.instruments.scene.data.files import (
    MARKED,
    PICTURES,
    TRUTH,
    Manifest,
    SceneData,
    read_data,
    write_data,
)
from theodolite.instruments.scene.data.graph import SceneGraph
from theodolite.instruments.scene.data.make import MadeScene, hands, make_scenes, render_made
from theodolite.instruments.scene.data.mark_drawing import draw_marks
from theodolite.instruments.scene.data.marks import place_marks
from theodolite.instruments.scene.data.questions import Question


@dataclass(frozen=True, slots=True)
class MakeOptions:
    """What a made data set is to hold."""

    n_indoor: int
    n_outdoor: int
    seed: int = 0
    n_questions: int | None = None
    """All that the scenes yield, if not given."""
    is_rendered: bool = True
    with_truth: bool = False
    """Whether depth and instance maps are written too."""
    workers: int = 1


def make_data(
    folder: str | Path,
    options: MakeOptions,
    *,
    version: str = "",
    progress: Callable[[str, int], None] | None = None,
) -> SceneData:
    """Makes scenes and questions, draws the pictures, and writes all of it.

    Args:
        folder: where to; must not hold another data set.
        options: how many, from which seed, drawn or not.
        version: of the program, for the manifest.
        progress: is told the stage (``scenes``, ``pictures``) and how many are done.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name a new folder for the data set")
    tell = partial(progress, "scenes") if progress is not None else None
    made = make_scenes(
        options.n_indoor, options.n_outdoor, seed=options.seed, workers=options.workers, progress=tell
    )
    graphs = [scene.graph for scene in made.scenes]
    asked = make_questions(graphs, seed=options.seed)
    questions: Sequence[Question] = asked.questions
    left_out: dict[str, Any] = dict(made.left_out) | {
        f"questions: no clear {k}": v for k, v in asked.unmet.items()
    }
    if options.n_questions is not None:
        questions = thin_questions(questions, options.n_questions, seed=options.seed)
        left_out["questions beyond the number asked for"] = len(asked.questions) - len(questions)
    if options.is_rendered:
        graphs = _draw_all(folder, made.scenes, options, progress)
    manifest = Manifest(
        made={
            "source": "made",
            "indoor": options.n_indoor,
            "outdoor": options.n_outdoor,
            "seed": options.seed,
            "rendered": options.is_rendered,
            "theodolite": version,
        },
        counts=tally(graphs, questions),
        left_out=left_out,
    )
    return read_data(write_data(folder, graphs, questions, manifest))


def _draw_all(
    folder: Path, made: Sequence[MadeScene], options: MakeOptions, progress: Callable[[str, int], None] | None
) -> list[SceneGraph]:
    graphs = []
    work = partial(_draw_one, folder=folder, with_truth=options.with_truth)
    with hands(min(options.workers, len(made))) as spread:
        for graph in spread(work, made):
            graphs.append(graph)
            if progress is not None:
                progress("pictures", len(graphs))
    return graphs


def _draw_one(made: MadeScene, *, folder: Path, with_truth: bool) -> SceneGraph:
    """Draws one scene, plain and marked; returns its graph with the pictures' names."""
    drawn = render_made(made)
    if with_truth:
        (folder / TRUTH).mkdir(parents=True, exist_ok=True)
        np.savez_compressed(
            folder / TRUTH / f"{made.graph.id}.npz", depth_m=drawn.depth_m, instance=drawn.instance
        )
    return write_pictures(folder, made.graph, drawn.picture, instance=drawn.instance)


def write_pictures(
    folder: Path, graph: SceneGraph, picture: Pixels, *, instance: np.ndarray[Any, Any] | None = None
) -> SceneGraph:
    """Writes a scene's picture plain and with marks; returns its graph with their names."""
    from PIL import Image

    height, width = picture.shape[:2]
    marks = place_marks(
        {thing.id: thing.box_px for thing in graph.objects},
        (width, height),
        distances_m={thing.id: thing.distance_m for thing in graph.objects},
        instance=instance,
    )
    plain, marked = f"{PICTURES}/{graph.id}.png", f"{MARKED}/{graph.id}.png"
    try:
        for name, pixels in ((plain, picture), (marked, draw_marks(picture, marks))):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / name, compress_level=4)
    except OSError as error:
        raise UsageError(f"cannot write the pictures into {folder}: {error.strerror}") from error
    return replace(graph, picture=plain, marked=marked)


def tally(scenes: Iterable[SceneGraph], questions: Iterable[Question]) -> dict[str, Any]:
    """How many scenes by domain and crowding, and questions by group, layer and difficulty."""
    counts: Mapping[str, Counter[str]] = {
        "scenes": Counter(f"{scene.domain} {scene.crowding}" for scene in scenes),
        "questions": Counter(" ".join(question.group) for question in questions),
    }
    return {name: dict(sorted(counted.items())) for name, counted in counts.items()}
