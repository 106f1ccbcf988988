"""What the readers of published data sets share."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, dump, inside, is_there, read_json, read_lines
from theodolite.core.forms import Whole
from theodolite.core.pictures import stored_size
from theodolite.core.types import Picture
from theodolite.worlds.episodes import (
    Aspect,
    Episode,
    Knowledge,
)


def picture_folder(path: str | Path | None) -> Path | None:
    """The folder of pictures that was named.

    Raises:
        UsageError: there is no such folder.
    """
    if path is not None and not Path(path).is_dir():
        raise UsageError(f"there is no folder of pictures {path}")
    return None if path is None else Path(path)


def find_picture(folder: Path, names: Iterable[str]) -> Picture | None:
    """The first picture of these names that is in a folder; None if there is none.

    Raises:
        UsageError: A name leads out of the folder.
    """
    places = (inside(folder, name, "picture") for name in names)
    found = next((place for place in places if is_there(place)), None)
    return None if found is None else Picture.from_path(found)


def with_own_ids(episodes: Iterable[Episode]) -> list[Episode]:
    """The same episodes, each with an id of its own: a second ``q7`` becomes ``q7#2``."""
    seen: Counter[str] = Counter()
    own = []
    for episode in episodes:
        seen[episode.id] += 1
        n = seen[episode.id]
        own.append(episode if n == 1 else replace(episode, id=f"{episode.id}#{n}"))
    return own


def without_pictures(episodes: Sequence[Episode], folder: Path | None, layout: str) -> Iterator[Problem]:
    """A word if a folder of pictures was named and none of them is in it."""
    if folder is not None and not any(f.picture is not None for e in episodes for f in e.frames):
        yield Problem(str(folder), f"no frame has its picture there; they are looked for as {layout}")


# Data sets of episodes on disk.
#
# ``manifest.json``   world, licence, how the set was made, number of episodes
# ``episodes.jsonl``  one episode per line; only ``id``, ``task`` and ``frames`` are required
# ``frames/``         the pictures, named by the episodes with paths relative to the folder
#
# A single JSONL file without a manifest can be read too. A frame may be a bare path. Without ``known``, whatever is listed is
# known partially. Without ``size_px``, the size is read from the picture.
#
# A line with an error is reported with its number, and the other lines are read.


FORMAT_VERSION = 1
_MANIFEST, _EPISODES, _FRAMES = "manifest.json", "episodes.jsonl", "frames"


class Manifest(BaseModel):
    """The description of a data set."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False)

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
    found, problems = read_lines(file, lambda value: read_episode(value, file.parent))
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
                line = dump(episode, exclude_defaults=True, picture=partial(_write_picture, folder))
                line.setdefault("known", {})  # where it is missing, what is listed counts as known
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
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
            f"{path} is of format {version:.3g}, this Theodolite knows {FORMAT_VERSION}: upgrade Theodolite"
        )
    try:
        return check(Manifest, value)
    except UsageError as error:
        raise UsageError(f"{path} is not a manifest of episodes: {error}") from error


def read_episode(value: Any, folder: Path) -> Episode:
    """Return the episode of a line of ``episodes.jsonl``. Paths of pictures are relative to `folder`.

    Raises:
        UsageError: It is wrong.
    """
    has_known = isinstance(value, dict) and value.get("known") is not None
    episode = check(Episode, _completed(value), picture=partial(_picture, folder))
    frames = tuple(
        replace(frame, size_px=frame.picture.size)
        if frame.picture is not None and frame.size_px is None
        else frame
        for frame in episode.frames
    )
    partly: dict[Aspect, Knowledge] = dict.fromkeys(_listed(episode), "partial")
    return replace(episode, frames=frames, known=episode.known if has_known else partly)


def _completed(value: Any) -> Any:
    """A line with what is read as missing: a frame may be the path of its picture; its time is by default its position."""
    if not isinstance(value, dict):
        return value
    frames = value.get("frames")
    if isinstance(frames, list):
        frames = [_completed_frame(frame, place) for place, frame in enumerate(frames)]
    known = value.get("known")
    return {**value, "frames": frames, "known": {} if known is None else known}


def _completed_frame(frame: Any, place: int) -> Any:
    fields = {"picture": frame} if isinstance(frame, str) else frame
    if isinstance(fields, dict) and fields.get("time_s") is None:
        return {**fields, "time_s": float(place)}
    return fields


def _listed(episode: Episode) -> list[Aspect]:
    """Return the aspects that an episode lists anything of."""
    things = [thing for frame in episode.frames for thing in frame.objects]
    says: dict[Aspect, bool] = {
        "objects": bool(things),
        "boxes": any(thing.box is not None for thing in things),
        "attributes": any(thing.attributes for thing in things),
        "states": any(thing.states for thing in things),
        "relations": any(frame.relations for frame in episode.frames),
        "actions": bool(episode.actions),
        "poses": any(frame.pose is not None for frame in episode.frames),
    }
    return [aspect for aspect, is_listed in says.items() if is_listed]


def _picture(folder: Path, name: Any) -> Picture:
    """A picture beside the file. A path outside the folder is refused, since the picture would be sent to the model."""
    target = inside(folder, check(str, name), "picture")
    picture = Picture.from_path(target)
    stored_size(target, name)  # reads the header only
    return picture


def _write_picture(folder: Path, picture: Picture) -> str:
    ending = re.sub(r"\W", "", picture.media_type.partition("/")[2])
    name = f"{_FRAMES}/{picture.digest.partition('-')[2][:24]}.{ending}"
    target = folder / name
    if not target.exists():
        target.write_bytes(picture.read())
    return name
