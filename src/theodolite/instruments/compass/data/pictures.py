"""The folder that pictures are named relative to: what is in it, how large, and nothing from outside it."""

from __future__ import annotations

from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.instruments.compass.data.selection import Filter


class PictureFolder:
    """Finds pictures by name, reads each file's size once, and says why one cannot be used."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"there is no folder of pictures {folder}")
        self.folder = folder
        self._found: dict[str, tuple[Picture, tuple[int, int]]] = {}
        self._first_missing = ""

    def find(self, name: str) -> tuple[Picture, tuple[int, int]]:
        """A picture and its width and height.

        Raises:
            UsageError: it lies outside the folder, links followed, is not there, or is no picture.
        """
        if name not in self._found:
            place = self._place(name)
            picture = Picture.from_path(place)
            self._found[name] = picture, picture.size
        return self._found[name]

    def fault(self, name: str, size_px: tuple[int, int]) -> Filter | None:
        """Why a picture cannot be used, or None.

        Args:
            name: relative to the folder.
            size_px: as annotated.
        """
        if name not in self._found and not self._place(name).is_file():
            self._first_missing = self._first_missing or name
            return Filter.MISSING
        return None if self.find(name)[1] == size_px else Filter.ANOTHER_SIZE

    def note(self) -> tuple[str, ...]:
        """Which picture was not found first, if one was not."""
        if not self._first_missing:
            return ()
        return (f"pictures were looked for in {self.folder}; the first not found is {self._first_missing}",)

    def _place(self, name: str) -> Path:
        place = self.folder / name
        if not place.resolve().is_relative_to(self.folder.resolve()):
            raise UsageError(
                f"the picture {name} lies outside {self.folder}; move it there, or name its folder with --images"
            )
        return place
