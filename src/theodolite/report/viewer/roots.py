"""The folders that the viewer may read, and their pictures. Nothing outside is opened, also not through links."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite.core.errors import TheodoliteError, UsageError
from theodolite.core.types import Picture
from theodolite.diagnose.record import DIAGNOSIS_FILE
from theodolite.report.html.pictures import readable_picture
from theodolite.runs import find_runs

_RUN_FILES = ("run.json", "measured.sqlite", "measured.sqlite-wal", "measured.sqlite-shm", "scores.json")


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders that may be read."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[str | Path]) -> Roots:
        """Resolve folders.

        Raises:
            UsageError: If one does not exist.
        """
        found = []
        for folder in map(Path, folders):
            if not folder.is_dir():
                raise UsageError(
                    f"there is no folder {folder}; give a folder with runs or diagnoses, such as the --out of an earlier command"
                )
            found.append(folder.resolve())
        return cls(tuple(dict.fromkeys(found)))

    def hold(self, path: Path) -> bool:
        """Return True if a path, with links resolved, lies below one of the folders."""
        place = path.resolve()
        return any(place.is_relative_to(folder) for folder in self.folders)

    def runs(self) -> Iterator[Path]:
        """Yield all runs whose files all lie inside."""
        for root in self.folders:
            for folder in find_runs(root):
                if self.hold(folder) and all(self.hold(folder / name) for name in _RUN_FILES):
                    yield folder

    def diagnoses(self) -> Iterator[Path]:
        """Yield the folders of all diagnoses whose files lie inside."""
        for root in self.folders:
            for file in sorted(root.rglob(DIAGNOSIS_FILE)):
                if self.hold(file) and self.hold(file.parent / "items.jsonl"):
                    yield file.parent

    def name(self, path: Path) -> str:
        """Return a path for display, relative to the given folder."""
        place = path.resolve()
        for folder in self.folders:
            if place.is_relative_to(folder):
                return (Path(folder.name) / place.relative_to(folder)).as_posix()
        return path.name


def key_of(path: Path) -> str:
    """Return the key of a folder in addresses."""
    return hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]


class PictureShelf:
    """The pictures of served pages, by their names."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._held: dict[str, Picture] = {}
        self._sizes: dict[str, tuple[str, int, int] | None] = {}
        self.outside = 0
        """Number of pictures outside of the folders."""

    def place(self, picture: Picture) -> str:
        """Add a picture, if it may be read, and return its name."""
        if picture.path is not None and picture.data is None and not self._roots.hold(picture.path):
            if picture.digest not in self._sizes:
                self.outside += 1
                self._sizes[picture.digest] = None
        else:
            self._held[picture.digest] = picture
        return picture.digest

    def take(self, name: str) -> tuple[str, int, int] | None:
        """Return the name and size of a picture. None if it cannot be read."""
        if name not in self._sizes:
            try:
                self._sizes[name] = (name, *self._held[name].size)
            except (KeyError, TheodoliteError):
                self._sizes[name] = None
        return self._sizes[name]

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Return a picture in a format that browsers show, and its media subtype."""
        picture = self._held.get(name)
        if picture is None or (
            picture.path is not None and picture.data is None and not self._roots.hold(picture.path)
        ):
            return None
        try:
            content, kind, _ = readable_picture(picture.read())
        except (OSError, TheodoliteError):
            return None
        return content, "jpeg" if kind == "jpg" else kind
