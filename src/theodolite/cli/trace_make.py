"""``theodolite trace make|audit|perturb|import``: episodes whose truth is known, and those of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from theodolite import __version__
from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import counter, print_table
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.audit import BLIND_CHECK, WorldAudit, audit_world
from theodolite.instruments.trace.data.dataset import (
    EpisodeSet,
    Manifest,
    Problem,
    read_episodes,
    write_episodes,
)
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.data.sources.r2r import read_r2r
from theodolite.instruments.trace.data.sources.star import read_star
from theodolite.instruments.trace.data.sources.teach import read_teach
from theodolite.instruments.trace.data.sources.videos import N_FRAMES, read_videos
from theodolite.instruments.trace.data.worlds.edits import FAMILIES, Family, perturbed
from theodolite.instruments.trace.data.worlds.make import EXTRA_WORLD, WORLDS, make_world

app = typer.Typer()


@app.command("make")
def make(
    folder: o.Out,
    world: Annotated[
        str,
        typer.Option(
            "--world",
            metavar="|".join((*WORLDS, EXTRA_WORLD)),
            help="Clips with events, walks, or missions; miniworld is an extra that needs OpenGL.",
        ),
    ] = "video",
    n: Annotated[int, typer.Option("--n", min=1, help="How many episodes of each split.")] = 20,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Make episodes with exact truth, in-distribution and out of it, and audit them."""
    made: list[Episode] = []
    _check_empty(folder)
    episodes = make_world(world, n, seed=seed)
    with counter("making episodes") as count:

        def each() -> Iterator[Episode]:
            for episode in episodes:
                made.append(episode)
                count(len(made), 2 * n)
                yield episode

        settings = {"world": world, "n": n, "seed": seed, "version": __version__}
        source = f"theodolite trace make --world {world} --n {n} --seed {seed}"
        manifest = Manifest(
            world=world, n_episodes=0, licence="CC0-1.0", source=source, seed=seed, settings=settings
        )
        write_episodes(each(), folder, manifest=manifest)
    _show_audit(audit_world(made, seed=seed), folder, json=json)


@app.command("audit")
def audit(data: o.Data, seed: o.Seed = 0, json: o.AsJson = False) -> None:
    """Check that the splits share nothing and are equally hard; fails if they do, or are not."""
    found = read_episodes(data)
    _show_audit(audit_world(found.episodes, seed=seed), data, found.problems, json=json)


@app.command("perturb")
def perturb(
    data: o.Data,
    folder: o.Out,
    families: Annotated[
        str, typer.Option("--families", metavar="LIST", help=f"Which of {', '.join(FAMILIES)}.")
    ] = ",".join(FAMILIES),
    magnitudes: Annotated[
        str, typer.Option("--magnitudes", metavar="LIST", help="How strong, each in (0, 1].")
    ] = "0.5",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Edit only the first so many.")] = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Edit episodes at the source; each edit has its new truth, and names the episode whose truth is the old one."""
    chosen, strengths = _families(families), _magnitudes(magnitudes)
    found = read_episodes(data)
    base = [e for e in found.episodes if e.edit is None][:limit]
    if not base:
        raise UsageError(f"{data} holds no episode that is not itself an edit")
    _check_empty(folder)
    done: Counter[tuple[str, str]] = Counter()
    problems: list[Problem] = list(found.problems)
    jobs = [(e, f, m) for e in base for f in chosen for m in strengths]
    with counter("editing episodes") as count:

        def each() -> Iterator[Episode]:
            yield from base
            for i, (episode, family, strength) in enumerate(jobs):
                new = _edit(episode, family, strength, seed, problems)
                done[family, "made" if new is not None else "not to be had"] += 1
                count(i + 1, len(jobs))
                if new is not None:
                    yield new

        source = f"theodolite trace perturb --families {families} --magnitudes {magnitudes} --seed {seed}"
        settings = {"families": chosen, "magnitudes": strengths, "of": str(data), "version": __version__}
        manifest = Manifest(world=base[0].world, n_episodes=0, source=source, seed=seed, settings=settings)
        write_episodes(each(), folder, manifest=manifest)
    rows = [[f, str(done[f, "made"]), str(done[f, "not to be had"])] for f in chosen]
    if json:
        print_json(
            {
                "folder": str(folder),
                "n_base": len(base),
                "edits": {row[0]: {"made": int(row[1]), "not to be had": int(row[2])} for row in rows},
                "problems": [asdict(p) for p in problems],
            }
        )
        return
    print_table(
        ["edit", "made", "not to be had"], rows, title=f"{len(base)} episodes and their edits in {folder}"
    )
    _show_problems(problems)


@app.command("import")
def import_command(
    data: o.Data,
    folder: o.Out,
    form: Annotated[str, typer.Option("--format", metavar="star|r2r|teach|videos", help="Whose data it is.")],
    images: Annotated[
        Path | None, typer.Option("--images", metavar="DIR", help="Where the pictures lie (STAR, TEACh).")
    ] = None,
    classes: Annotated[
        Path | None, typer.Option("--classes", metavar="PATH", help="The names of labels (STAR).")
    ] = None,
    n_frames: Annotated[
        int, typer.Option("--frames", min=1, help="How many of a video whose line lists none.")
    ] = N_FRAMES,
    json: o.AsJson = False,
) -> None:
    """Read STAR, R2R or TEACh as they are published, or one's own videos, and write them as episodes.

    Videos are named by the lines of a JSONL file: {"id": "c1", "video": "c1.mp4", "task": "What falls?"}.
    """
    with TemporaryDirectory() as kept:
        readers: dict[str, Callable[[], EpisodeSet]] = {
            "star": lambda: read_star(data, frames=images, classes=classes),
            "r2r": lambda: read_r2r(data),
            "teach": lambda: read_teach(data, images=images),
            "videos": lambda: read_videos(data, kept, n_frames=n_frames),
        }
        if form not in readers:
            raise UsageError(f"--format takes {', '.join(readers)}, not {form!r}")
        _check_empty(folder)
        found = readers[form]()
        about = Manifest(world=form, n_episodes=0, source=f"{form}: {data.name}")
        write_episodes(found.episodes, folder, manifest=about)
    told = _counts(found.episodes)
    if json:
        print_json({"folder": str(folder), **told, "problems": [asdict(p) for p in found.problems]})
        return
    print_table(
        ["what", "number"], [[name, str(value)] for name, value in told.items()], title=f"{form} in {folder}"
    )
    _show_problems(found.problems)


def _counts(episodes: Sequence[Episode]) -> dict[str, int]:
    frames = [frame for episode in episodes for frame in episode.frames]
    return {
        "episodes": len(episodes),
        "units": len({e.unit for e in episodes}),
        "frames": len(frames),
        "frames with a picture": sum(f.picture is not None for f in frames),
        "frames with a pose": sum(f.pose is not None for f in frames),
        "boxes": sum(t.box is not None for f in frames for t in f.objects),
        "things without a box": sum(t.box is None for f in frames for t in f.objects),
        "relations": sum(len(f.relations) for f in frames),
        "actions": sum(len(e.actions) for e in episodes),
    }


def _edit(
    episode: Episode, family: Family, strength: float, seed: int, problems: list[Problem]
) -> Episode | None:
    try:
        return perturbed(episode, family, magnitude=strength, seed=seed)
    except UsageError as error:
        problems.append(Problem(episode.id, str(error)))
        return None


def _families(text: str) -> list[Family]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    chosen = [family for family in FAMILIES if family in words]
    if not words or set(words) - set(FAMILIES):
        raise UsageError(f"--families takes some of {', '.join(FAMILIES)}, not {text!r}")
    return chosen


def _magnitudes(text: str) -> list[float]:
    try:
        values = [float(word) for word in text.split(",") if word.strip()]
    except ValueError:
        values = []
    if not values or not all(0 < value <= 1 for value in values):
        raise UsageError(f"--magnitudes takes numbers in (0, 1] with commas between, not {text!r}")
    return list(dict.fromkeys(values))


def _check_empty(folder: Path) -> None:
    if (folder / "episodes.jsonl").exists():
        raise UsageError(f"{folder} holds episodes already; give another folder, or remove it")


def _show_audit(result: WorldAudit, folder: Path, problems: Sequence[Problem] = (), *, json: bool) -> None:
    if json:
        told = {"problems": [asdict(p) for p in problems]}
        print_json({"folder": str(folder), "is_sound": result.is_sound, **asdict(result), **told})
    else:
        rows = [[check.name, check.outcome, check.detail] for check in result.checks]
        title = f"{result.world}: {result.n_in_distribution} episodes in-distribution, {result.n_ood} out of it, in {folder}"
        print_table(["check", "outcome", "in-distribution and ood"], rows, title=title)
        out.print(_verdict(result))
        _show_problems(problems)
    if not result.is_sound:
        raise typer.Exit(1)


def _verdict(result: WorldAudit) -> str:
    """What the checks come to, in a sentence."""
    open_ = [check.name for check in result.checks if check.outcome == "undecided"]
    undecided = [name.removeprefix("difficulty: ") for name in open_ if name != BLIND_CHECK]
    if not result.is_sound:
        return "The splits cannot be compared."
    if BLIND_CHECK in open_:
        rest = f", and to compare {', '.join(undecided)}" if undecided else ""
        return (
            "The splits share nothing; too few episodes to say that one must look, since always the same option "
            f"would be right too often{rest}: make more."
        )
    if undecided:
        return (
            "The splits share nothing; too few episodes to show that they are equally hard in "
            f"{', '.join(undecided)}: make more."
        )
    return "The splits share nothing and are equally hard."


def _show_problems(problems: Sequence[Problem]) -> None:
    for problem in problems[:20]:
        note(f"{problem.where}: {problem.reason}")
    if len(problems) > 20:
        note(f"… and {len(problems) - 20} more")
