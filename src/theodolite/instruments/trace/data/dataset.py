"""Data sets of episodes on disk.

``manifest.json``   world, licence, how the set was made, number of episodes
``episodes.jsonl``  one episode per line; only ``id``, ``task`` and ``frames`` are required
``frames/``         the pictures, named by the episodes with paths relative to the folder

A single JSONL file without a manifest can be read too. A frame may be a bare path. Without ``known``, whatever is listed is
known partially. Without ``size_px``, the size is read from the picture.

A line with an error is reported with its number, and the other lines are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, inside, read_json, read_lines
from theodolite.core.forms import Number, Whole
from theodolite.core.pictures import stored_size
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.trace.data.episode import (
    Action,
    Aspect,
    Edit,
    Episode,
    Family,
    Frame,
    Knowledge,
    Pose,
    Relation,
    SceneObject,
    Split,
)

FORMAT_VERSION = 1
_MANIFEST, _EPISODES, _FRAMES = "manifest.json", "episodes.jsonl", "frames"


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False)


class _ObjectForm(_Form):
    id: str = Field(min_length=1)
    category: str = Field(min_length=1)
    box: tuple[Number, Number, Number, Number] | None = None
    is_visible: bool = True
    attributes: dict[str, str] = {}
    states: dict[str, bool] = {}
    position_m: tuple[Number, Number, Number] | None = None


class _RelationForm(_Form):
    subject: str
    predicate: str
    object: str


class _PoseForm(_Form):
    x_m: Number
    y_m: Number
    z_m: Number = 0.0
    heading_deg: Number = 0.0
    pitch_deg: Number = 0.0


class _ActionForm(_Form):
    verb: str
    subject: str
    objects: list[str] = []
    start_s: Number = 0.0
    end_s: Number = 0.0
    label: str = ""


class _FrameForm(_Form):
    picture: str | None = None
    time_s: Number | None = None
    """By default its position in the sequence, in seconds."""
    size_px: tuple[Whole, Whole] | None = None
    objects: list[_ObjectForm] = []
    relations: list[_RelationForm] = []
    pose: _PoseForm | None = None
    state: dict[str, Any] = {}
    number: Whole | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: object) -> object:
        return {"picture": value} if isinstance(value, str) else value


class _EditForm(_Form):
    base: str
    family: Family
    magnitude: Number
    edited: list[str] = []
    note: str = ""


class _EpisodeForm(_Form):
    id: str = Field(min_length=1)
    task: str
    frames: list[_FrameForm] = Field(min_length=1)
    answer: str = ""
    options: list[str] = []
    actions: list[_ActionForm] = []
    known: dict[Aspect, Knowledge] | None = None
    """By default partial for every aspect that is listed."""
    vocabulary: dict[Aspect, list[str]] = {}
    world: str = ""
    split: Split = "in-distribution"
    difficulty: dict[str, Number] = {}
    cluster: str = ""
    edit: _EditForm | None = None
    meta: dict[str, Any] = {}


class Manifest(_Form):
    """The description of a data set."""

    format_version: Whole = FORMAT_VERSION
    world: str = ""
    n_episodes: int = Field(ge=0, le=2**53)
    licence: str = ""
    source: str = ""
    """Its origin, or the command that made it."""
    seed: Whole | None = None
    settings: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class EpisodeSet:
    """The episodes of a folder or file."""

    episodes: tuple[Episode, ...]
    problems: tuple[Problem, ...]
    manifest: Manifest | None = None


def read_episodes(path: str | Path) -> EpisodeSet:
    """Reads a data set: a folder, or a single JSONL file.

    Invalid lines, duplicate ids and pictures that cannot be opened are reported as problems; the other episodes are read.

    Raises:
        UsageError: The file cannot be read at all, or holds no usable episode.
    """
    path = Path(path)
    manifest = _read_manifest(path / _MANIFEST) if path.is_dir() else None
    file = path / _EPISODES if path.is_dir() else path
    found, problems = read_lines(file, lambda value: episode_from_json(value, file.parent))
    episodes: dict[str, Episode] = {}
    for where, episode in found:
        if episode.id in episodes:
            problems.append(Problem(where, f"the id {episode.id!r} occurs twice; the first is kept"))
        episodes.setdefault(episode.id, episode)
    if not episodes:
        raise UsageError(f"{file} holds no usable episode" + (f": {problems[0].reason}" if problems else ""))
    if manifest is not None and manifest.n_episodes != len(episodes):
        problems.append(
            Problem(
                str(path / _MANIFEST), f"lists {manifest.n_episodes} episodes, {len(episodes)} are usable"
            )
        )
    return EpisodeSet(tuple(episodes.values()), tuple(problems), manifest)


def write_episodes(
    episodes: Iterable[Episode], folder: str | Path, *, manifest: Manifest | None = None
) -> Path:
    """Writes a data set. A picture that several frames share is written once.

    Returns:
        The folder.
    """
    folder = Path(folder)
    n = 0
    try:
        (folder / _FRAMES).mkdir(parents=True, exist_ok=True)
        with (folder / _EPISODES).open("w", encoding="utf-8") as file:
            for episode in episodes:
                form = _episode_form(episode, folder)
                file.write(form.model_dump_json(exclude_defaults=True) + "\n")
                n += 1
        about = (manifest or Manifest(n_episodes=n)).model_copy(update={"n_episodes": n})
        (folder / _MANIFEST).write_text(about.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the data set into {folder}: {error.strerror}") from error
    return folder


def _read_manifest(path: Path) -> Manifest | None:
    if not path.exists():
        return None
    value = read_json(path)
    version = value.get("format_version", FORMAT_VERSION) if isinstance(value, dict) else None
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise UsageError(
            f"{path} is of format {version:.3g}, this Theodolite knows {FORMAT_VERSION}: pip install -U theodolite"
        )
    try:
        return check(Manifest, value)
    except UsageError as error:
        raise UsageError(f"{path} is not a manifest of episodes: {error}") from error


def episode_from_json(value: Any, folder: Path) -> Episode:
    """An episode from the object of a line of ``episodes.jsonl``. Paths of pictures are relative to `folder`.

    Raises:
        UsageError: It is wrong.
    """
    form = check(_EpisodeForm, value)
    plain = {name: getattr(form, name) for name in _EpisodeForm.model_fields}
    return Episode(
        **plain
        | {
            "known": dict.fromkeys(_listed(form), "partial") if form.known is None else form.known,
            "frames": tuple(_frame(f, place, folder) for place, f in enumerate(form.frames)),
            "options": tuple(form.options),
            "actions": tuple(Action(**a.model_dump() | {"objects": tuple(a.objects)}) for a in form.actions),
            "vocabulary": {aspect: tuple(words) for aspect, words in form.vocabulary.items()},
            "edit": form.edit and Edit(**form.edit.model_dump() | {"edited": tuple(form.edit.edited)}),
        }
    )


def _listed(form: _EpisodeForm) -> list[Aspect]:
    """The aspects that an episode lists anything of."""
    things = [thing for frame in form.frames for thing in frame.objects]
    says: dict[Aspect, bool] = {
        "objects": bool(things),
        "boxes": any(thing.box is not None for thing in things),
        "attributes": any(thing.attributes for thing in things),
        "states": any(thing.states for thing in things),
        "relations": any(frame.relations for frame in form.frames),
        "actions": bool(form.actions),
        "poses": any(frame.pose is not None for frame in form.frames),
    }
    return [aspect for aspect, is_listed in says.items() if is_listed]


def _frame(form: _FrameForm, place: int, folder: Path) -> Frame:
    picture = None if form.picture is None else _picture(folder, form.picture)
    return Frame(
        time_s=float(place) if form.time_s is None else form.time_s,
        picture=picture,
        size_px=picture.size if form.size_px is None and picture is not None else form.size_px,
        objects=tuple(SceneObject(**o.model_dump() | {"box": o.box and Box(*o.box)}) for o in form.objects),
        relations=tuple(Relation(**r.model_dump()) for r in form.relations),
        pose=None if form.pose is None else Pose(**form.pose.model_dump()),
        state=form.state,
        number=form.number,
    )


def _picture(folder: Path, name: str) -> Picture:
    """A picture beside the file. A path outside the folder is refused, since the picture would be sent to the model."""
    target = inside(folder, name, "picture")
    picture = Picture.from_path(target)
    stored_size(target, name)  # reads the header only
    return picture


def _episode_form(episode: Episode, folder: Path) -> _EpisodeForm:
    bare = tuple(replace(frame, picture=None) for frame in episode.frames)
    plain = asdict(replace(episode, frames=bare))
    for form, frame in zip(plain["frames"], episode.frames, strict=True):
        form["picture"] = None if frame.picture is None else _write_picture(frame.picture, folder)
        for thing in form["objects"]:
            thing["box"] = thing["box"] and tuple(thing["box"].values())
    return _EpisodeForm.model_validate(plain)


def _write_picture(picture: Picture, folder: Path) -> str:
    ending = re.sub(r"\W", "", picture.media_type.partition("/")[2])
    name = f"{_FRAMES}/{picture.digest.partition('-')[2][:24]}.{ending}"
    target = folder / name
    if not target.exists():
        target.write_bytes(picture.read())
    return name
