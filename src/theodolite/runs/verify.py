"""Check a whole run folder: ``run.json``, the store, the pictures and ``scores.json``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

from theodolite.core.errors import DamageWarning, StorageError, UsageError
from theodolite.core.types import Picture
from theodolite.runs.mending import Damage, find_damage
from theodolite.runs.run import Run, read_info

__all__ = ["Damage", "verify_run"]


def verify_run(folder: str | Path) -> list[Damage]:
    """Return everything in a run folder that is not as it was written. Nothing is changed.

    Raises:
        UsageError: If the folder is not a run.
    """
    folder = Path(folder)
    store = folder / "measured.sqlite"
    if not folder.is_dir() or not (store.exists() or (folder / "run.json").exists()):
        raise UsageError(f"{folder} is not a run: it has neither run.json nor {store.name}")
    found = []
    try:
        read_info(folder)
    except (StorageError, UsageError) as error:
        found.append(Damage("run.json", "the file", str(error)))
    if not store.exists():
        return [*found, Damage(store.name, "the file", "it is missing")]
    found += find_damage(store)
    try:
        with warnings.catch_warnings(), Run.open(folder) as run:
            warnings.simplefilter("ignore", DamageWarning)  # told above, in full
            found += _damaged_pictures(run)
            run.scores()
    except (StorageError, UsageError) as error:
        is_known = any(str(error) == each.reason for each in found)
        found += [] if is_known else [Damage(folder.name, "the run", str(error))]
    return found


def _damaged_pictures(run: Run) -> Iterator[Damage]:
    checked: set[Picture] = set()
    for result in run.results():
        for picture in result.item.request.pictures:
            if picture not in checked:
                checked.add(picture)
                try:
                    picture.read()
                except UsageError as error:
                    yield Damage(str(picture.path), f"a picture of {result.item.name!r}", str(error))
