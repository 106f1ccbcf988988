"""Finding the pictures that annotation files name."""

from __future__ import annotations

from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.files import inside, is_there
from theodolite.core.pictures import NotAPictureError
from theodolite.core.types import Picture
from theodolite.instruments.compass.data.selection import Filter


class PictureFolder:
    """A folder of pictures, which may be links. Every file is decoded once. No name leads out of the folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"there is no folder of pictures {folder}")
        self.folder = folder
        self._found: dict[str, tuple[Picture, tuple[int, int]] | UsageError] = {}
        self._first_missing = ""
        self._wrong: dict[str, str] = {}

    def find(self, name: str) -> tuple[Picture, tuple[int, int]]:
        """A picture and its width and height.

        Raises:
            UsageError: The file is not there, is not a whole picture, or its name leads out of the folder.
        """
        if name not in self._found:
            self._found[name] = self._decoded(name)
        found = self._found[name]
        if isinstance(found, UsageError):
            raise found.with_traceback(None)
        return found

    def _decoded(self, name: str) -> tuple[Picture, tuple[int, int]] | UsageError:
        """A picture whose every pixel can be read, or what is wrong with it: the header of a cut file is whole."""
        try:
            picture = Picture.from_path(self._place(name))
            height, width = picture.pixels().shape[:2]
        except UsageError as error:
            return error
        return picture, (width, height)

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
        except UsageError as error:
            self._wrong.setdefault(name, str(error))
            if not isinstance(error, NotAPictureError):
                return Filter.DAMAGED
            return Filter.NO_PICTURE if place.stat().st_size else Filter.EMPTY_FILE
        return None if size_px in {None, found} else Filter.ANOTHER_SIZE

    def note(self) -> tuple[str, ...]:
        """Names the first picture that was not found, and the first that cannot be used, if there are such."""
        notes = []
        if self._first_missing:
            notes.append(
                f"pictures were looked for in {self.folder}; the first not found is {self._first_missing}"
            )
        if self._wrong:
            n, first = len(self._wrong), next(iter(self._wrong.values()))
            notes.append(f"{n} {'picture' if n == 1 else 'pictures'} cannot be used; the first: {first}")
        return tuple(notes)

    def _place(self, name: str) -> Path:
        try:
            return inside(self.folder, name, "picture")
        except UsageError as error:
            raise UsageError(f"{error}, or name its folder with --images") from None
