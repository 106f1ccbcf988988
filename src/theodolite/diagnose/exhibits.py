"""The pairs that a diagnosis shows as examples: both pictures, the question and the answers."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, overload

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.diagnose.pairs_table import lookings
from theodolite.diagnose.record import Diagnosis, ExhibitForm, ShownAnswer

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Exhibit", "Exhibits", "exhibits", "picture_of"]

_THUMBNAIL = 192
"""The longest side of a picture in a notebook, in pixels. `Exhibit.pictures` has them in full."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One pair: the same question before and after an edit."""

    model: str
    pictures_of: str
    """The instrument, or ``your data (…)``."""
    form: ExhibitForm
    """Question, edit, outcome, answers, and the rule by which it was chosen."""
    folder: Path

    def pictures(self) -> tuple[Image | None, Image | None]:
        """Return the first picture before and after the edit. None if it cannot be read."""
        before, after = (picture_of(side, self.folder) for side in (self.form.before, self.form.after))
        return before, after

    def __repr__(self) -> str:
        before, after = self.form.before, self.form.after
        return (
            f"{self.model}, {self.pictures_of}, {self.form.edit}: {self.form.question!r} {before.read_as!r} (right: "
            f"{before.gold!r}) → {after.read_as!r} (right: {after.gold!r}): {self.form.outcome}"
        )

    def _repr_html_(self) -> str:
        sides = zip(("before", "after"), (self.form.before, self.form.after), self.pictures(), strict=True)
        cells = "".join(_side(word, side, picture) for word, side, picture in sides)
        title = f"<b>{escape(self.form.outcome)}</b> ({escape(self.form.edit)}): {escape(self.form.question)}"
        about = f"{escape(self.model)}, {escape(self.pictures_of)}; chosen as {escape(self.form.why)}"
        style = "display:inline-block;vertical-align:top;margin:4px 20px 12px 0;max-width:430px"
        return f'<div style="{style}"><div>{title}</div><div style="display:flex;gap:10px">{cells}</div><small>{about}</small></div>'


class Exhibits(Sequence[Exhibit]):
    """Examples in the order of the report."""

    def __init__(self, found: Sequence[Exhibit]) -> None:
        self._found = tuple(found)

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, place: int) -> Exhibit: ...
    @overload
    def __getitem__(self, place: slice) -> Exhibits: ...
    def __getitem__(self, place: int | slice) -> Exhibit | Exhibits:
        return Exhibits(self._found[place]) if isinstance(place, slice) else self._found[place]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._found)) or "no examples"

    def _repr_html_(self) -> str:
        return "".join(each._repr_html_() for each in self._found) or "no examples"


def exhibits(
    diagnosis: Diagnosis, folder: Path, model: str | None = None, instrument: str | None = None
) -> Exhibits:
    """Return the examples of a diagnosis, of one model or instrument if given.

    Raises:
        UsageError: If there is no such model or instrument.
    """
    if model is not None:
        diagnosis.model(model)
    wanted = None if instrument is None else diagnosis.instrument(instrument)

    def found() -> Iterator[Exhibit]:
        for label, view, looking in lookings(diagnosis):
            if model not in {None, view.model} or (wanted is not None and view not in wanted.models):
                continue
            for form in looking.exhibits:
                yield Exhibit(view.model, label, form, folder)

    return Exhibits(list(found()))


def picture_of(side: ShownAnswer, folder: Path) -> Image | None:
    """The first picture of a side of a pair. None if it is missing or lies outside of the diagnosis."""
    if not side.pictures:
        return None
    path = (folder / side.pictures[0]).resolve()
    if not path.is_relative_to(folder.resolve()):
        return None
    try:
        return Picture.from_path(path).load()
    except UsageError:
        return None


def _side(word: str, side: ShownAnswer, picture: Image | None) -> str:
    shown = f'<img alt="{word}" src="{_data_url(picture)}">' if picture is not None else "<i>no picture</i>"
    is_right = side.read_as == side.gold
    said = escape(side.read_as or side.answer or "no answer")
    truth = "" if is_right else f" (right: {escape(side.gold)})"
    colour = "#00775a" if is_right else "#b8324a"
    return f'<div>{shown}<div>{word}: <span style="color:{colour}">{said}</span>{truth}</div></div>'


def _data_url(picture: Image) -> str:
    small = picture.convert("RGB")
    small.thumbnail((_THUMBNAIL, _THUMBNAIL))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
