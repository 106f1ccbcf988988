"""The item scores of the twins: read from files in the package where these match, measured otherwise.

A file matches if it has the same twins (their identity is a hash of their files) and the same items (by a hash of
everything that a model is shown). Otherwise, such as with another seed, the twins are measured in the same diagnosis.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import check, parse_json, read_gzip
from theodolite.core.forms import Form, Number, Whole
from theodolite.core.scores import ItemScore
from theodolite.core.types import content_hash
from theodolite.instruments.instrument import Instrument
from theodolite.runs import Run

FORMAT = 2
_FOLDER = "calibration"


class _Stored(Form):
    """The content of a file. Files of other formats have other fields."""

    format: Whole
    items_hash: str = ""
    identities: dict[str, str] = Field(default_factory=dict)
    rows: list[tuple[str, str] | tuple[str, str, str]] = Field(default_factory=list)
    columns: list[tuple[str, str]] = Field(default_factory=list)
    values: dict[str, list[list[Number | None]]] = Field(default_factory=dict)


def items_hash(instrument: Instrument, folders: Sequence[Path]) -> str:
    """Return a hash of the names and the content of the items that every model is asked, without user data."""
    found: set[str] = set()
    for folder in folders:
        if folder.name.endswith(("-own", "-own-data")):
            continue
        with Run.open(folder) as run:
            found |= {
                f"{result.item.name} {result.item.request.digest}"
                for result in run.results()
                if instrument.is_plain(result.item)
            }
    return content_hash(sorted(found))


def shipped_path(instrument: str, size: str | int, seed: int) -> Path:
    """Return the path of the file in the package for a size and a seed. It may not exist."""
    folder = Path(str(resources.files("theodolite.diagnose"))) / _FOLDER
    return folder / f"{instrument}-{size}-{seed}.json.gz"


def read_calibration(
    path: Path, *, items: str, identities: Mapping[str, str]
) -> dict[str, list[ItemScore]] | None:
    """Read the twins' item scores. None if there is no such file, or if it has other twins or other items."""
    if not path.is_file():
        return None
    try:
        stored = check(_Stored, parse_json(read_gzip(path)))
        if stored.format != FORMAT or stored.items_hash != items or stored.identities != dict(identities):
            return None
        return {twin: _unpacked(stored, twin) for twin in identities}
    except (UsageError, ValueError) as error:
        raise StorageError(
            f"{path} is damaged ({error}); remove it, and the twins will be measured instead"
        ) from error


def write_calibration(
    path: Path,
    scores: Mapping[str, Sequence[ItemScore]],
    *,
    items: str,
    identities: Mapping[str, str],
) -> Path:
    """Write the twins' item scores of one instrument, for `read_calibration`."""
    kept = {twin: [s for s in found if s.value is not None] for twin, found in scores.items()}
    rows = sorted({(s.item, s.cluster, s.group) for found in kept.values() for s in found})
    columns = sorted({(s.metric, s.split) for found in kept.values() for s in found})
    row_of = {item: number for number, (item, _, _) in enumerate(rows)}
    values: dict[str, list[list[float | None]]] = {}
    for twin, found in kept.items():
        cells: list[list[float | None]] = [[None] * len(columns) for _ in rows]
        for score in found:
            column = columns.index((score.metric, score.split))
            cells[row_of[score.item]][column] = float(f"{score.value:.8g}")
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


def _unpacked(stored: _Stored, twin: str) -> list[ItemScore]:
    return [
        ItemScore(item, key, value, cluster, split, *group)
        for (item, cluster, *group), cells in zip(stored.rows, stored.values.get(twin, []), strict=True)
        for (key, split), value in zip(stored.columns, cells, strict=True)
        if value is not None
    ]
