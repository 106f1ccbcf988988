"""Reading annotation files and finding the pictures they name."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.instruments.compass.data.selection import Filter

Form = TypeVar("Form", bound=BaseModel)


class Strict(BaseModel):
    """A record of an annotation file: unknown fields are ignored, NaN is refused."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


def read_bytes(path: Path, what: str) -> bytes:
    """The content of a file.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the {what} {path}: {error.strerror}") from error


def parse(form: type[Form], data: bytes, where: str) -> Form:
    """JSON data as a record.

    Raises:
        UsageError: The data do not have that form; the message names the file and the record.
    """
    try:
        return form.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        record = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        raise UsageError(f"{where}: {record.lstrip('.') or 'the file'}: {first['msg']}") from None


class PictureFolder:
    """A folder of pictures. Reads the size of each file once, and never leaves the folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"there is no folder of pictures {folder}")
        self.folder = folder
        self._found: dict[str, tuple[Picture, tuple[int, int]]] = {}
        self._first_missing = ""

    def find(self, name: str) -> tuple[Picture, tuple[int, int]]:
        """A picture and its width and height.

        Raises:
            UsageError: The file is not there, is not a picture, or lies outside the folder once links are followed.
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
        if name not in self._found and not self._place(name).is_file():
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
        place = self.folder / name
        if not place.resolve().is_relative_to(self.folder.resolve()):
            raise UsageError(
                f"the picture {name} lies outside {self.folder}; move it there, or name its folder with --images"
            )
        return place
