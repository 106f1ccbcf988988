"""Finding the pictures that annotation files name."""

from __future__ import annotations

from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.files import inside, is_there
from theodolite.core.types import Picture
from theodolite.instruments.compass.data.selection import Filter


class PictureFolder:
    """A folder of pictures, which may be links. Reads the size of each file once. No name leads out of the folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"there is no folder of pictures {folder}")
        self.folder = folder
        self._found: dict[str, tuple[Picture, tuple[int, int]]] = {}
        self._first_missing = ""

    def find(self, name: str) -> tuple[Picture, tuple[int, int]]:
        """A picture and its width and height.

        Raises:
            UsageError: The file is not there, is not a picture, or its name leads out of the folder.
        """
        if name not in self._found:
            picture = Picture.from_path(self._place(name))
            self._found[name] = picture, picture.size
        return self._found[name]

    def fault(self, name: str, size_px: tuple[int, int] | None) -> Filter | None:
        """Why a picture cannot be used; None if it can.

        Args:
            name: Relative to the folder.
            size_px: Width and height as annotated; None if they are not.
        """
        try:
            place = self._place(name)
        except UsageError:
            return Filter.ELSEWHERE
        if name not in self._found and not is_there(place):
            self._first_missing = self._first_missing or name
            return Filter.MISSING
        try:
            found = self.find(name)[1]
        except UsageError:
            return Filter.DAMAGED
        return None if size_px in {None, found} else Filter.ANOTHER_SIZE

    def note(self) -> tuple[str, ...]:
        """Names the first picture that was not found, if there is one."""
        if not self._first_missing:
            return ()
        return (f"pictures were looked for in {self.folder}; the first not found is {self._first_missing}",)

    def _place(self, name: str) -> Path:
        try:
            return inside(self.folder, name, "picture")
        except UsageError as error:
            raise UsageError(f"{error}, or name its folder with --images") from None
