"""The edits of objects that a set of annotated photographs allows, tried, counted and drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theodolite.core.errors import StorageError, UsageError, reason_of
from theodolite.core.tables import Column, Table
from theodolite.core.types import Picture
from theodolite.instruments.ask.data.questions import PictureFinder, Unusable
from theodolite.instruments.coco import EditTrial, read_instances, try_edits
from theodolite.pairs.pictures.sheet import SheetEntry, edit_sheet

__all__ = ["TriedEdit", "edits_table", "try_all", "write_sheets"]


@dataclass(frozen=True, slots=True)
class TriedEdit:
    """An edit that was tried, and the photograph before it."""

    before: Picture
    trial: EditTrial

    @property
    def sheet(self) -> str:
        """The sheet on which it is drawn."""
        if not self.trial.edited.is_fit:
            return "refused"
        return "neutral" if self.trial.is_neutral else "accepted"

    @property
    def kind(self) -> str:
        """The kind of the relevant edit; for a neutral one, that of its own."""
        return self.trial.edited.kind


def try_all(
    annotations: Path,
    images: Path,
    *,
    fill: str,
    seed: int,
    progress: Callable[[str, int, int], None] = lambda _, __, ___: None,
) -> tuple[list[TriedEdit], Counter[str]]:
    """Try every edit of the annotated photographs, and count by reason the photographs that cannot be read.

    A move of one object to one place is kept once, whichever other object it is seen from.

    Raises:
        UsageError: No photograph can be read.
    """
    instances, finder = read_instances(annotations), PictureFinder(images)
    usual, unused = instances.narrowness(), Counter[str]()
    tried: list[TriedEdit] = []
    for done, picture in enumerate(instances.pictures, 1):
        try:
            shown = finder.find(picture.file_name)
            shown.pixels()
        except Unusable as error:
            unused[str(error)] += 1
            continue
        except UsageError:
            unused["picture cannot be decoded"] += 1
            continue
        known: set[object] = set()
        for trial in try_edits(picture, shown, usual, fill=fill, seed=seed):
            key = (trial.edited.kind, trial.edited.changed, trial.is_neutral)
            if key not in known:
                known.add(key)
                tried.append(TriedEdit(shown, trial))
        progress("photographs", done, len(instances.pictures))
    if not tried:
        lost = "; ".join(f"{n} × {reason}" for reason, n in unused.items())
        raise UsageError(f"there is no object to edit in {images}{': ' + lost if lost else ''}")
    return tried, unused


def edits_table(tried: Sequence[TriedEdit]) -> Table:
    """Build a table of how many edits of each kind look right, and why the others do not."""
    rows: list[list[str | int]] = []
    for is_neutral in (False, True):
        of_role = [each for each in tried if each.trial.is_neutral == is_neutral]
        for kind in dict.fromkeys(each.kind for each in of_role):
            own = [each for each in of_role if each.kind == kind]
            fit = [each for each in own if each.trial.edited.is_fit]
            faults = Counter(
                fault.value for each in own if (fault := each.trial.edited.quality.fault) is not None
            )
            rows.append(
                [
                    f"{kind}, neutral" if is_neutral else kind,
                    len(own),
                    len(fit),
                    len({each.before.digest for each in fit}),
                    "; ".join(f"{n} × {reason}" for reason, n in faults.most_common()),
                ]
            )
    return Table.of(
        "ask.edits",
        "Edits of objects in the photographs",
        [
            Column("edit", "edit"),
            Column("tried", "tried", "count"),
            Column("accepted", "accepted", "count"),
            Column("pictures", "in pictures", "count"),
            Column("refused", "refused"),
        ],
        rows,
    )


def write_sheets(tried: Sequence[TriedEdit], folder: Path, *, size: int, seed: int) -> list[Path]:
    """Write ``accepted.png``, ``neutral.png`` and ``refused.png``, each with at most `size` edits drawn at random.

    Raises:
        StorageError: If the folder cannot be written.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("accepted", "neutral", "refused"):
            own = [each for each in tried if each.sheet == name]
            chosen = sorted(np.random.default_rng(seed).permutation(len(own))[:size].tolist())
            if chosen:
                path = folder / f"{name}.png"
                edit_sheet([_shown(own[index]) for index in chosen]).save(path)
                written.append(path)
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {reason_of(error)}; choose another --out") from error
    return written


def _shown(tried: TriedEdit) -> SheetEntry:
    trial = tried.trial
    about = " and ".join(trial.names) if trial.edited.kind == "exchange" else trial.names[0]
    role = "neutral for " if trial.is_neutral else ""
    verb = {"remove": "removed", "move": "moved", "exchange": "exchanged", "in place": "pasted in place"}
    caption = f"{role}{about}: {verb[trial.edited.kind]}, {Path(trial.picture.file_name).name}"
    return SheetEntry(tried.before, trial.edited, caption)
