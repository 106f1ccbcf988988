"""Ship the twins' scores with the package, so that other diagnoses need not measure them: ``python -m train calibration DIR``."""

from __future__ import annotations

from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.diagnose.record import read_diagnosis
from theodolite.diagnose.separation import Twins, items_hash, shipped_path, write_calibration
from theodolite.instruments.instrument import find_instruments, score_runs


def ship_calibration(folder: str | Path, *, twins: Twins | None = None) -> list[Path]:
    """Write the files that `diagnose` uses for other models with the same size and seed.

    Args:
        folder: A diagnosis of both twins, without user data.
        twins: Names of the twins.

    Returns:
        One file per instrument.
    """
    folder, pair = Path(folder), twins or Twins()
    diagnosis = read_diagnosis(folder)
    identities = {name: diagnosis.model(name).identity for name in pair}
    if diagnosis.settings.get("data"):
        raise UsageError(f"{folder} was made with user data; repeat it without --data")
    written = []
    for form in diagnosis.instruments:
        instrument = find_instruments([form.name])[0]
        runs = {
            view.model: [folder / run for run in view.runs]
            for view in form.models
            if view.model in identities
        }
        scores = {name: score_runs(instrument, runs[name]) for name in pair}
        path = shipped_path(form.name, diagnosis.size, diagnosis.seed)
        items = items_hash(runs[pair.grounded])
        written.append(write_calibration(path, scores, items=items, identities=identities))
    return written
