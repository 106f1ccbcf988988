"""``theodolite trace make | import | perturb | audit``: make, import, edit and check episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note
from theodolite.cli.making import whole_folder
from theodolite.cli.output import counter, show
from theodolite.cli.trace_checks import Verifier
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem
from theodolite.instruments.trace.data.episode import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from theodolite.core.tables import Table
    from theodolite.instruments.trace.data.dataset import EpisodeSet
    from theodolite.instruments.trace.data.episode import Episode, Family

app = typer.Typer()

_STORIES = "stories"
_WORLDS = ("video", "navigation", "instruction", "miniworld", _STORIES)
_FORMATS = ("star", "r2r", "teach", "videos")


@app.command("make")
def make(
    folder: o.NewFolder,
    world: Annotated[
        str,
        typer.Option(
            "--world",
            metavar="|".join(_WORLDS),
            help="Clips with events, walks, or missions; miniworld needs OpenGL; stories are short, and what pocket: twins know.",
        ),
    ] = "video",
    size: Annotated[int, typer.Option("--size", min=1, help="Number of episodes per split.")] = 20,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Make episodes with exact ground truth, in distribution and out of distribution, and audit them."""
    from theodolite import __version__
    from theodolite.instruments.trace.data.dataset import Manifest, write_episodes
    from theodolite.instruments.trace.data.worlds.make import make_world

    world = o.one_of(world, _WORLDS, "--world")
    made: list[Episode] = []
    with counter("making episodes") as count, whole_folder(folder) as place:
        episodes = _stories(size, seed) if world == _STORIES else make_world(world, size, seed=seed)

        def each() -> Iterator[Episode]:
            for episode in episodes:
                made.append(episode)
                count(len(made), max(len(made), 2 * size))
                yield episode

        manifest = Manifest(
            world=world,
            n_episodes=0,
            licence="CC0-1.0",
            source=f"theodolite trace make --world {world} --size {size} --seed {seed}",
            seed=seed,
            settings={"world": world, "n": size, "seed": seed, "version": __version__},
        )
        write_episodes(each(), place, manifest=manifest)
    audit(folder, tables="", verifier="annotation", seed=seed, json=json)


def _stories(size: int, seed: int) -> Iterator[Episode]:
    """Episodes like those that the shipped twins learnt, with their edits."""
    from theodolite.instruments.trace.data.stories import episodes, with_edits

    return with_edits(episodes(size, seed=seed), seed=seed)


@app.command("audit")
def audit(
    data: o.Data,
    tables: Annotated[
        str,
        typer.Option(
            "--tables",
            metavar="LIST",
            help="More tables: alignment (how often steps are aligned with the right frames, by cue).",
        ),
    ] = "",
    verifier: Verifier = "annotation",
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Check that the splits share nothing and are equally hard (status 1 if not), and which false claims can be refuted."""
    from theodolite.instruments.trace.data.audit import audit_table, audit_world
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.experiments.alignment import alignment_table, score_alignment
    from theodolite.instruments.trace.experiments.refutation import refutation_table
    from theodolite.instruments.trace.experiments.run_tables import problem_tables
    from theodolite.instruments.trace.verifiers.judging import open_verifier

    extra = o.some_of(tables, ("alignment",), "--tables")
    found = read_episodes(data)
    shown, is_sound = [], True
    if len({episode.split for episode in found.episodes if episode.edit is None}) > 1:
        result = audit_world(found.episodes, seed=seed)
        title = f"{result.world}: {result.n_in_distribution} episodes in-distribution, {result.n_ood} ood, in {data}"
        shown.append(audit_table(result, title=title))
        is_sound = result.is_sound
    else:
        note(f"{data} has one split, so there are no two to compare")
    refutation, wrong = refutation_table(found.episodes, open_verifier(verifier))
    shown.append(refutation)
    if extra:
        shown.append(alignment_table(score_alignment(found.episodes, seed=seed)))
    problems = problem_tables([*found.problems, *wrong])
    show([*shown, *problems], json=json, data=str(data), is_sound=is_sound)
    if not is_sound:
        raise typer.Exit(1)


@app.command("perturb")
def perturb(
    data: o.Data,
    folder: o.NewFolder,
    families: Annotated[
        str, typer.Option("--families", metavar="LIST", help=f"Some of {', '.join(FAMILIES)}.")
    ] = "all",
    magnitudes: Annotated[
        str, typer.Option("--magnitudes", metavar="LIST", help="The strength of edits, each in (0, 1].")
    ] = "0.5",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Use only the first N episodes.")
    ] = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Edit episodes. Each edit has its new ground truth, and the id of the episode that it was made from."""
    from theodolite import __version__
    from theodolite.instruments.trace.data.dataset import Manifest, read_episodes, write_episodes
    from theodolite.instruments.trace.data.worlds.edits import perturbed
    from theodolite.instruments.trace.experiments.run_tables import problem_tables

    chosen, strengths = o.some_of(families, FAMILIES, "--families"), _magnitudes(magnitudes)
    if not chosen:
        raise UsageError(f"--families takes some of {', '.join(FAMILIES)}")
    found = read_episodes(data)
    base = [e for e in found.episodes if e.edit is None][:limit]
    if not base:
        raise UsageError(f"{data} has only edited episodes; use those that they were made from")
    _check_empty(folder)
    done: Counter[tuple[str, bool]] = Counter()
    problems: list[Problem] = list(found.problems)
    jobs = [(e, family, m) for e in base for family in chosen for m in strengths]
    with counter("editing episodes") as count:

        def each() -> Iterator[Episode]:
            yield from base
            for i, (episode, family, strength) in enumerate(jobs):
                new = None
                try:
                    new = perturbed(episode, cast("Family", family), magnitude=strength, seed=seed)
                except UsageError as error:
                    problems.append(Problem(episode.id, str(error)))
                done[family, new is not None] += 1
                count(i + 1, len(jobs))
                if new is not None:
                    yield new

        source = f"theodolite trace perturb --families {families} --magnitudes {magnitudes} --seed {seed}"
        settings = {"families": chosen, "magnitudes": strengths, "of": str(data), "version": __version__}
        manifest = Manifest(world=base[0].world, n_episodes=0, source=source, seed=seed, settings=settings)
        write_episodes(each(), folder, manifest=manifest)
    made = _edits_table(done, chosen, title=f"{len(base)} episodes and their edits in {folder}")
    show([made, *problem_tables(problems)], json=json, folder=str(folder))


def _edits_table(done: Counter[tuple[str, bool]], families: Sequence[str], *, title: str) -> Table:
    """One row per family of edits."""
    from theodolite.core.tables import Cell, Column, Table

    columns = [
        Column("family", "edit"),
        Column("made", "made", "count"),
        Column("impossible", "impossible", "count"),
    ]
    rows: list[list[Cell]] = [[family, done[family, True], done[family, False]] for family in families]
    return Table.of("trace.made_edits", title, columns, rows)


@app.command("import")
def import_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    folder: o.NewFolder,
    form: Annotated[
        str, typer.Option("--format", metavar="|".join(_FORMATS), help="The format of the data.")
    ],
    images: Annotated[
        Path | None,
        typer.Option("--images", metavar="DIR", help="The folder with the pictures (STAR, TEACh)."),
    ] = None,
    classes: Annotated[
        Path | None, typer.Option("--classes", metavar="PATH", help="The names of labels (STAR).")
    ] = None,
    video_fps: Annotated[
        str | None,
        typer.Option(
            "--video-fps",
            metavar="FILE|NUMBER",
            help="Frames per second (STAR): its file video_fps, JSON by video, or one number. Default: video_fps in --classes.",
        ),
    ] = None,
    n_frames: Annotated[
        int,
        typer.Option("--frames", min=1, help="Number of frames of a video, if its line does not list them."),
    ] = 8,
    json: o.AsJson = False,
) -> None:
    """Import STAR, R2R or TEACh as published, or your own videos.

    Videos are listed in a JSONL file: {"id": "c1", "video": "c1.mp4", "task": "What falls?"}.
    """
    from tempfile import TemporaryDirectory

    from theodolite.instruments.trace.data.audit import contents_table
    from theodolite.instruments.trace.data.dataset import Manifest, write_episodes
    from theodolite.instruments.trace.data.sources.r2r import read_r2r
    from theodolite.instruments.trace.data.sources.star import read_star
    from theodolite.instruments.trace.data.sources.teach import read_teach
    from theodolite.instruments.trace.data.sources.videos import read_videos
    from theodolite.instruments.trace.experiments.run_tables import problem_tables

    form = o.one_of(form, _FORMATS, "--format")
    _check_empty(folder)
    with TemporaryDirectory() as kept:
        if form == "star":
            found: EpisodeSet = read_star(data, frames=images, classes=classes, video_fps=video_fps)
        elif form == "r2r":
            found = read_r2r(data)
        elif form == "teach":
            found = read_teach(data, images=images)
        else:
            found = read_videos(data, kept, n_frames=n_frames)
        about = Manifest(world=form, n_episodes=0, source=f"{form}: {data.name}")
        write_episodes(found.episodes, folder, manifest=about)
    contents = contents_table(found.episodes, title=f"{form} in {folder}")
    show([contents, *problem_tables(found.problems)], json=json, folder=str(folder))


def _magnitudes(text: str) -> list[float]:
    try:
        values = [float(word) for word in o.listed(text)]
    except ValueError:
        values = []
    if not values or not all(0 < value <= 1 for value in values):
        raise UsageError(f"--magnitudes takes numbers in (0, 1], separated by commas, not {text!r}")
    return list(dict.fromkeys(values))


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty; choose another --out")
