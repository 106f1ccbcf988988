"""From runs to the rows that people browse: what all instruments share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from theodolite.core.types import Picture
from theodolite.diagnose.items import UNSEEN
from theodolite.runs import Result, write_atomically

RowStatus = Literal["answered", "refused", "failed", "unreadable"]
PICTURES = "pictures"


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of a diagnosis: rows name pictures relative to it."""

    folder: Path
    judged: dict[Path, list[Any]] = field(default_factory=dict, compare=False, repr=False, kw_only=True)
    """Traces that were judged already, by their run: rows and signatures both need them, and parsing takes long."""

    def picture(self, picture: Picture) -> str:
        """Where a picture lies below the folder; one that lies elsewhere is copied there."""
        folder = self.folder.resolve()
        if picture.path is not None:
            path = Path(os.path.abspath(picture.path))  # noqa: PTH100 - links stay links
            if path.is_relative_to(folder):
                return path.relative_to(folder).as_posix()
        name = f"{PICTURES}/{picture.digest}.{picture.media_type.partition('/')[2]}"
        if not (folder / name).exists():
            (folder / PICTURES).mkdir(parents=True, exist_ok=True)
            write_atomically(folder / name, picture.read())
        return name


Values = Mapping[tuple[str, str], Mapping[str, float]]
"""By item and split, as readings name them: the value of each readout."""


def common(result: Result, home: Home, *, is_read: bool) -> dict[str, Any]:
    """What every row has of a result: answer, status, pictures."""
    record = result.record
    status: RowStatus = "failed"
    answer, reason = "", "it was not asked"
    if record is not None:
        response = record.response
        status, answer, reason = response.status, response.text, response.reason
        if status == "answered" and not is_read:
            status, reason = "unreadable", "nothing in the answer could be read"
    pictures = [home.picture(picture) for picture in result.item.request.pictures]
    return {"answer": answer, "status": status, "reason": reason, "pictures": pictures}


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Values to six digits: rows are for people."""
    return {key: float(f"{value:.6g}") for key, value in values.items()}


def verdict(is_right: bool | None, condition: str) -> bool | None:  # noqa: FBT001 - what is judged
    """Whether an answer is right; None where it could not be read, or where the picture does not show what is asked for.

    >>> verdict(True, "plain"), verdict(False, "blank")
    (True, None)
    """
    return None if condition in UNSEEN else is_right
