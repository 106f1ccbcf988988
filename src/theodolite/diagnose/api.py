"""`diagnose` and `open_diagnosis`, the public functions of the package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.diagnose.record import DIAGNOSIS_FILE, read_diagnosis
from theodolite.diagnose.request import DiagnosisRequest, Progress, check_folder, find_size
from theodolite.diagnose.result import Diagnosed
from theodolite.diagnose.running import run_diagnosis
from theodolite.diagnose.user_data import find_user_data
from theodolite.instruments.instrument import Instrument, UserData, find_instruments, instruments
from theodolite.runs import EngineOptions

__all__ = ["DEFAULT_MODELS", "diagnose", "open_diagnosis"]

DEFAULT_MODELS = ("pocket:grounded", "pocket:mixed", "pocket:shortcut")
"""Three models of known reasoning: one looks, one looks at times, one does not."""


def diagnose(  # noqa: PLR0913 - one parameter per option
    *models: str,
    out: str | Path = "report",
    size: str | int = "standard",
    instruments: Sequence[str] = (),
    data: Iterable[str | Path] = (),
    images: str | Path | None = None,
    seed: int = 0,
    options: EngineOptions | None = None,
    progress: Progress | None = None,
) -> Diagnosed:
    """Measure models with all instruments, and give a verdict on whether they use the picture.

    What was measured before in the same folder is not measured again.

    Args:
        models: Names such as ``hf:PATH``. Default: three shipped models of known reasoning.
        out: The folder of the diagnosis.
        size: ``quick``, ``standard``, ``large``, or a number of items.
        instruments: Names of instruments. Default: all that have data.
        data: Your own data sets.
        images: The folder of their pictures, if it is not that of the data.
        seed: Seed of all random draws.
        options: Engine, workers and cache.
        progress: Called with the model, the instrument and the progress.
    """
    chosen = tuple(dict.fromkeys(models)) or DEFAULT_MODELS
    if len(chosen) < len(models):
        raise UsageError("a model is given twice; to compare two seeds of one model, use two folders")
    own = find_user_data(data, None if images is None else Path(images), instruments)
    request = DiagnosisRequest(
        models=chosen,
        folder=Path(out),
        instruments=_chosen(instruments, own),
        size=find_size(size),
        seed=seed,
        data=own,
        options=options or EngineOptions(),
        progress=progress or (lambda *_: None),
    )
    check_folder(request.folder)
    _check_overwrite(request)
    return Diagnosed(run_diagnosis(request), request.folder)


def _chosen(names: Sequence[str], data: Sequence[UserData]) -> tuple[Instrument, ...]:
    """Return the instruments of the given names, or all that have data.

    Raises:
        UsageError: If an instrument lacks the data it needs.
    """
    given = {own.instrument for own in data}
    found = find_instruments(names) if names else instruments()
    if not names:
        return tuple(each for each in found if not each.needs_data or each.name in given)
    for each in found:
        if each.needs_data and each.name not in given:
            raise UsageError(f"{each.name} has no built-in data; pass your own with --data: {each.takes}")
    return found


def _check_overwrite(request: DiagnosisRequest) -> None:
    """Refuse to overwrite a diagnosis that has other models, instruments, size or seed."""
    if not (request.folder / DIAGNOSIS_FILE).exists():
        return
    old = read_diagnosis(request.folder)
    lost = [model.name for model in old.models if not model.is_recorded]
    lost = [name for name in lost if name not in request.models]
    known = {each.name for each in request.instruments}
    lost += [each.name for each in old.instruments if each.name not in known]
    lost += [f"size {old.size}"] if old.size != str(request.size) else []
    lost += [f"seed {old.seed}"] if old.seed != request.seed else []
    if lost:
        raise UsageError(
            f"{request.folder} holds a diagnosis with {', '.join(lost)}, which would be lost; choose another folder with "
            "--out, or include it in this diagnosis"
        )


def open_diagnosis(folder: str | Path) -> Diagnosed:
    """Open a stored diagnosis."""
    return Diagnosed(read_diagnosis(folder), Path(folder))
