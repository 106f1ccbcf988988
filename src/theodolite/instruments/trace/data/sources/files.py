"""What the readers of published data sets share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, inside, is_there
from theodolite.core.types import Picture
from theodolite.instruments.trace.data.episode import Episode


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
