"""Building a data set from a source of real scenes: filter, drop near-duplicates, balance, ask, mark."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, is_there, read_each, told_problems
from theodolite.core.pictures import decode
from theodolite.instruments.scene.data.files import (
    BROKEN,
    Manifest,
    SceneData,
    SceneQuestion,
    new_folder,
    read_data,
    tally,
    write_data,
    write_pictures,
)
from theodolite.instruments.scene.data.make import make_questions, thin_questions
from theodolite.instruments.scene.data.pipeline import (
    Found,
    KeepOptions,
    SourceView,
    balance_crowding,
    build_graph,
    drop_alike,
)
from theodolite.worlds.scene_graph import SceneGraph


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
    views: Iterable[Found],
    *,
    options: BuildOptions | None = None,
    made: dict[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> SceneData:
    """Turn a source's pictures into a data set, and count what is left out and why.

    Args:
        folder: New or empty.
        views: The pictures of the source, and the problems of its broken records.
        options: What to keep.
        made: Entries of the manifest: the source, its path, the program's version.
        progress: Called with the number of pictures read so far.
    """
    options, folder = options or BuildOptions(), new_folder(folder)
    scenes, pictures, left_out, problems = _read(views, options, progress)
    scenes = _chosen(scenes, options, left_out, problems)
    asked = make_questions(scenes, seed=options.seed)
    questions: tuple[SceneQuestion, ...] = asked.questions
    left_out.update({f"questions: no clear {competency}": n for competency, n in asked.unmet.items()})
    if options.n_questions is not None:
        questions = thin_questions(questions, options.n_questions, seed=options.seed)
    if options.with_pictures:
        scenes = [
            write_pictures(folder, scene, decode(pictures[scene.id], is_turned=False)) for scene in scenes
        ]
    manifest = Manifest(
        made={**(made or {}), "seed": options.seed, "keep": asdict(options.keep)},
        counts=tally(scenes, questions),
        left_out=dict(left_out),
        problems=told_problems(problems),
    )
    return read_data(write_data(folder, scenes, questions, manifest))


def _read(
    views: Iterable[Found], options: BuildOptions, progress: Callable[[int], None] | None
) -> tuple[list[SceneGraph], dict[str, Path], Counter[str], list[Problem]]:
    """Return the scenes of a source, their pictures by id, what was left out, and the broken records."""
    left_out: Counter[str] = Counter()
    scenes: list[SceneGraph] = []
    pictures: dict[str, Path] = {}
    problems: list[Problem] = []
    for number, view in enumerate(views, 1):
        if isinstance(view, Problem):
            problems.append(view)
            continue
        built, wrong = read_each([(view.view.id, view)], partial(_graph, options=options))
        problems += wrong
        if progress is not None:
            progress(number)
        for _, (graph, counts) in built:
            left_out += counts + view.skipped
            if graph is None:
                left_out["scenes with too few objects"] += 1
            elif options.with_pictures and not is_there(view.picture):
                left_out["scenes whose picture is missing"] += 1
            elif graph.id in pictures:
                problems.append(Problem(graph.id, "the scene occurs twice; the first is kept"))
            else:
                scenes.append(graph)
                pictures[graph.id] = view.picture
    if problems:
        left_out[BROKEN] = len(problems)
    return scenes, pictures, left_out, problems


def _graph(view: SourceView, options: BuildOptions) -> tuple[SceneGraph | None, Counter[str]]:
    seed = options.seed + zlib.crc32(view.view.id.encode())
    return build_graph(view.view, view.candidates, options=options.keep, seed=seed)


def _chosen(
    scenes: list[SceneGraph], options: BuildOptions, left_out: Counter[str], problems: Sequence[Problem]
) -> list[SceneGraph]:
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
        listed = "".join(f"; {problem}" for problem in told_problems(problems))
        raise UsageError(
            f"no scene of the source can be used ({reasons}); relax the limits or choose another source{listed}"
        )
    return scenes
