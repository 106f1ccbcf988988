"""The twins' own readings: shipped with the package where they fit, measured where they do not.

A shipped file fits if the twins are the same (their identity is a hash of their files) and the items are the same (a hash of
all that a model is shown of them). Anything else, such as another seed, is measured in the same diagnosis.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from theodolite.core.errors import StorageError
from theodolite.core.scores import Reading
from theodolite.core.types import content_hash
from theodolite.diagnose.record import InstrumentName
from theodolite.diagnose.study import Study
from theodolite.runs import Run

FORMAT = 1
_FOLDER = "calibration"
_PLAIN: Mapping[str, tuple[str, str]] = {
    "compass": ("condition", "plain"),
    "grid-behaviour": ("condition", "plain"),
    "grid-anchors": ("condition", "plain"),
    "scene": ("setting", "base"),
    "trace": ("wording", "original"),
}
"""By kind of run: which of its items every model is asked, whatever it gives."""


def items_hash(folders: Sequence[Path]) -> str:
    """A hash of the items that every model is asked, names and content; one's own data do not count."""
    found: list[str] = []
    for folder in folders:
        with Run.open(folder) as run:
            if run.info.instrument not in _PLAIN or "-own" in folder.name:
                continue
            field, value = _PLAIN[run.info.instrument]
            found += [
                f"{result.item.name} {result.item.request.digest}"
                for result in run.results()
                if result.item.meta.get(field) == value
            ]
    return content_hash(sorted(found))


def shipped_path(study: Study, instrument: InstrumentName) -> Path:
    """Where the package keeps the readings of a size and a seed."""
    folder = Path(str(resources.files("theodolite.diagnose"))) / _FOLDER
    return folder / f"{instrument}-{study.size.name}-{study.seed}.json.gz"


def read_calibration(
    path: Path, *, items: str, identities: Mapping[str, str]
) -> dict[str, list[Reading]] | None:
    """The twins' readings in a file; None if there is no such file, or if it is of other twins or other items."""
    if not path.is_file():
        return None
    try:
        stored = json.loads(gzip.decompress(path.read_bytes()))
        if stored["format"] != FORMAT or stored["items_hash"] != items:
            return None
        if stored["identities"] != dict(identities):
            return None
        return {twin: _unpacked(stored, twin) for twin in identities}
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise StorageError(
            f"{path} is damaged ({type(error).__name__}); remove it, and the twins are measured anew"
        ) from error


def write_calibration(
    path: Path,
    readings: Mapping[str, Sequence[Reading]],
    *,
    items: str,
    identities: Mapping[str, str],
) -> Path:
    """Writes the twins' readings of one instrument, for `read_calibration`."""
    rows = sorted({(r.item, r.cluster) for found in readings.values() for r in found})
    columns = sorted({(r.readout, r.split) for found in readings.values() for r in found})
    place = {item: number for number, (item, _) in enumerate(rows)}
    values: dict[str, list[list[float | None]]] = {}
    for twin, found in readings.items():
        cells: list[list[float | None]] = [[None] * len(columns) for _ in rows]
        for reading in found:
            column = columns.index((reading.readout, reading.split))
            cells[place[reading.item]][column] = float(f"{reading.value:.8g}")
        values[twin] = cells
    stored: dict[str, Any] = {
        "format": FORMAT,
        "items_hash": items,
        "identities": dict(identities),
        "rows": rows,
        "columns": columns,
        "values": values,
    }
    text = json.dumps(stored, separators=(",", ":"), allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def _unpacked(stored: Mapping[str, Any], twin: str) -> list[Reading]:
    return [
        Reading(item, key, float(value), cluster, split)
        for (item, cluster), cells in zip(stored["rows"], stored["values"][twin], strict=True)
        for (key, split), value in zip(stored["columns"], cells, strict=True)
        if value is not None
    ]
