"""Puts the twins' readings into the package: ``python -m theodolite.diagnose._calibrate DIR``, DIR a diagnosis of both twins."""

from __future__ import annotations

import sys
from pathlib import Path

from theodolite.diagnose._calibration import items_hash, shipped_path, write_calibration
from theodolite.diagnose._position import Twins
from theodolite.diagnose._reading import readings_of
from theodolite.diagnose._study import Study, find_size
from theodolite.diagnose.record import read_diagnosis
from theodolite.errors import UsageError


def ship_calibration(folder: str | Path, *, twins: Twins | None = None) -> list[Path]:
    """Writes the files that `diagnose` finds for other models of the same size and seed.

    Args:
        folder: a diagnosis of both twins, without data of one's own.
        twins: their names.

    Returns:
        One file for each instrument.
    """
    folder, pair = Path(folder), twins or Twins()
    diagnosis = read_diagnosis(folder)
    identities = {name: diagnosis.model(name).identity for name in pair}
    if diagnosis.settings.get("data"):
        raise UsageError(f"{folder} was made with data of one's own; make one without --data")
    study = Study(folder / "data", find_size(diagnosis.size), diagnosis.seed)
    written = []
    for instrument in diagnosis.instruments:
        runs = {
            view.model: [folder / run for run in view.runs]
            for view in instrument.models
            if view.model in identities
        }
        readings = {name: readings_of(instrument.name, runs[name]) for name in pair}
        path = shipped_path(study, instrument.name)
        items = items_hash(runs[pair.grounded])
        written.append(write_calibration(path, readings, items=items, identities=identities))
    return written


if __name__ == "__main__":
    for path in ship_calibration(sys.argv[1]):
        sys.stdout.write(f"{path.stat().st_size:>9} {path.name}\n")
