"""`diagnose` and `open_diagnosis`, the public functions of the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.diagnose.models import ModelLike, given_models
from theodolite.diagnose.progress import printed
from theodolite.diagnose.record import DIAGNOSIS_FILE, read_diagnosis
from theodolite.diagnose.request import DiagnosisRequest, Progress, check_folder, find_size
from theodolite.diagnose.result import Diagnosed
from theodolite.diagnose.running import run_diagnosis
from theodolite.diagnose.user_data import find_user_data
from theodolite.instruments.instrument import Instrument, UserData, find_instruments, instruments
from theodolite.models import VisionLanguageModel
from theodolite.runs import EngineOptions

__all__ = ["DEFAULT_MODELS", "diagnose", "make_request", "open_diagnosis"]

DEFAULT_MODELS = ("pocket:grounded", "pocket:mixed", "pocket:shortcut")
"""Three models of known reasoning: one looks, one looks at times, one does not."""


def diagnose(  # noqa: PLR0913 - one parameter per option
    model: ModelLike | Sequence[ModelLike] = DEFAULT_MODELS,
    processor: Any = None,
    *,
    data: str | Path | Iterable[str | Path] = (),
    size: str | int = "standard",
    instruments: str | Sequence[str] = (),
    out: str | Path = "report",
    images: str | Path | None = None,
    seed: int = 0,
    options: EngineOptions | None = None,
    progress: Progress | bool = False,
) -> Diagnosed:
    """Measure models with all instruments, and give a verdict on whether they use the picture.

    What was measured before in the same folder is not measured again.

    Args:
        model: A name such as ``hf:PATH`` or ``openai:NAME@URL``; a transformers model in memory, with its `processor`; any
            object that fulfils the model contract (`theodolite.models.VisionLanguageModel`); or a list of these.
            Default: three shipped models of known reasoning.
        processor: The processor of a transformers model in memory.
        data: Your own data sets: questions about pictures, COCO instances, grids, scenes, episodes.
        size: ``quick``, ``standard``, ``large``, or a number of pairs for each instrument.
        instruments: Names of instruments. Default: all that have data.
        out: The folder of the diagnosis.
        images: The folder of the pictures of `data`, if it is another one.
        seed: Seed of all random draws.
        options: Engine, workers and cache.
        progress: True prints one line that says how far it is; or a function that is called with the model, the instrument
            and the progress.

    Returns:
        The diagnosis, which shows itself in a notebook, and has ``to_pandas()``, ``plot()`` and ``exhibits()``.

    Raises:
        UsageError: If what is given does not fit together.
        ModelError: If a model cannot be used.
    """
    with given_models(model, processor) as models, printed(progress) as told:
        request = make_request(
            tuple(models),
            data=data,
            size=size,
            instruments=instruments,
            out=out,
            images=images,
            seed=seed,
            options=options,
            progress=told,
            given={name: each for name, each in models.items() if each is not None},
        )
        check_folder(request.folder)
        _check_overwrite(request)
        return Diagnosed(run_diagnosis(request), request.folder)


def make_request(  # noqa: PLR0913 - one parameter per option
    models: tuple[str, ...],
    *,
    data: str | Path | Iterable[str | Path] = (),
    size: str | int = "standard",
    instruments: str | Sequence[str] = (),
    out: str | Path = "report",
    images: str | Path | None = None,
    seed: int = 0,
    options: EngineOptions | None = None,
    progress: Progress | None = None,
    given: Mapping[str, VisionLanguageModel] | None = None,
) -> DiagnosisRequest:
    """Check and collect the options of `diagnose`. Nothing is measured or written."""
    names = (instruments,) if isinstance(instruments, str) else tuple(instruments)
    sets = (data,) if isinstance(data, str | Path) else tuple(data)
    own = find_user_data(sets, None if images is None else Path(images), names)
    return DiagnosisRequest(
        models=models,
        folder=Path(out),
        instruments=_chosen(names, own),
        size=find_size(size),
        seed=seed,
        data=own,
        options=options or EngineOptions(),
        progress=progress or (lambda *_: None),
        given=given or {},
    )


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
