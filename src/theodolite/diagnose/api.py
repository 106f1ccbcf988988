"""How far a diagnosis is, in one line: which of all steps, its items, and the time that is left."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from theodolite.core.errors import MissingExtraError, ModelError, UnsupportedError, UsageError
from theodolite.core.options import find_size
from theodolite.core.scores import Capability
from theodolite.core.words import duration
from theodolite.diagnose.record import DIAGNOSIS_FILE, read_diagnosis
from theodolite.diagnose.request import (
    DiagnosisRequest,
    ModelLike,
    Opened,
    Progress,
    check_folder,
    find_user_data,
    given_models,
    opened,
)
from theodolite.diagnose.result import Diagnosed
from theodolite.diagnose.running import run_diagnosis
from theodolite.instruments.instrument import Instrument, UserData, find_instruments, instruments
from theodolite.models import VisionLanguageModel
from theodolite.runs import Cost, EngineOptions, RunSettings, Tally, plan_cost

__all__ = [
    "DEFAULT_MODELS",
    "Overall",
    "diagnose",
    "make_request",
    "open_diagnosis",
    "plan_diagnosis",
    "printed",
]


Step: TypeAlias = tuple[str, str]
"""A model and an instrument."""
_ENDED = frozenset({"done", "left out"})
_LINE_EVERY_S = 0.5


class Overall:
    """Follows all steps of a diagnosis. Called like any `Progress`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: dict[Step, str] = {}
        """All steps, each with its last word."""
        self._tallies: dict[Step, Tally] = {}
        self._first: dict[Step, tuple[float, int]] = {}
        """The time of the first tally, and the number of items done by then."""
        self._seconds: dict[Step, float] = {}
        self._now: Step | None = None
        self._last = clock()

    def __call__(self, model: str, instrument: str, progress: Tally | str) -> None:
        """Note the progress of a step."""
        step, now = (model, instrument), self._clock()
        if self._now is not None:
            self._seconds[self._now] = self._seconds.get(self._now, 0.0) + now - self._last
        self._last = now
        if isinstance(progress, str):
            self._steps[step] = progress
            if progress == "waiting":
                return
        else:
            self._steps[step] = "asking"
            self._tallies[step] = progress
            self._first.setdefault(step, (now, _done(progress)))
        self._now = step

    @property
    def place(self) -> str:
        """The current step among all: ``2 of 4``."""
        begun = sum(word != "waiting" for word in self._steps.values())
        return f"{begun} of {len(self._steps)}"

    @property
    def tally(self) -> Tally | None:
        """The tally of the current step."""
        return self._tallies.get(self._now) if self._now else None

    def tally_of(self, model: str, instrument: str) -> Tally | None:
        """The last tally of a step."""
        return self._tallies.get((model, instrument))

    def spent(self, model: str, instrument: str) -> float:
        """Seconds spent on a step so far."""
        return self._seconds.get((model, instrument), 0.0)

    @property
    def left(self) -> str:
        """The time that is left, over all steps; ``at least``, if an instrument was not measured before. Empty if not known."""
        here = self._left_here()
        waiting = [step for step, word in self._steps.items() if word == "waiting"]
        known = [self._expected(step) for step in waiting]
        seconds = (here or 0.0) + sum(each for each in known if each is not None)
        if (here is None and self._steps.get(self._now or ("", "")) == "asking") or not seconds:
            return ""
        return f"{'at least ' if None in known else ''}{duration(seconds)} left"

    def line(self) -> str:
        """Say it all in one line."""
        if self._now is None:
            return ""
        word, tally = self._steps[self._now], self.tally
        if word == "asking" and tally is not None:
            word = f"{_done(tally)} of {tally.planned} items"
        left = self.left
        return f"{self.place}: {' '.join(self._now)}, {word}" + (f", {left}" if left else "")

    def _left_here(self) -> float | None:
        """Seconds left for the items of the current step. None if not known."""
        step, tally = self._now, self.tally
        if step is None or tally is None or self._steps[step] != "asking":
            return None
        began, first = self._first[step]
        new = _done(tally) - first
        remaining = tally.planned - _done(tally)
        if new <= 0:
            return 0.0 if not remaining else None
        return (self._clock() - began) / new * remaining

    def _expected(self, step: Step) -> float | None:
        """Seconds of a step, by those of other models on the same instrument. None if there are none."""
        model, instrument = step
        ended = {each: self.spent(*each) for each, word in self._steps.items() if word in _ENDED}
        others = [spent for (_, name), spent in ended.items() if name == instrument]
        if not others:
            return None
        mine, theirs = 0.0, 0.0
        for (name, known), spent in ended.items():
            before = [each for (other, same), each in ended.items() if same == known and other != model]
            if name == model and before:
                mine, theirs = mine + spent, theirs + sum(before) / len(before)
        return sum(others) / len(others) * (mine / theirs if theirs else 1.0)


def _done(tally: Tally) -> int:
    return tally.finished + tally.failed


@contextmanager
def printed(progress: Progress | bool) -> Iterator[Progress]:  # noqa: FBT001 - a switch, or a function
    """Context manager: a function to call with the progress; True prints one line on standard error and rewrites it."""
    if not isinstance(progress, bool):
        yield progress
        return
    overall, width, last = Overall(), 0, -_LINE_EVERY_S

    def told(model: str, instrument: str, now: Tally | str) -> None:
        nonlocal width, last
        overall(model, instrument, now)
        if time.monotonic() - last >= _LINE_EVERY_S and (line := overall.line()):
            sys.stderr.write(f"\r{line:{width}}")
            sys.stderr.flush()
            width, last = len(line), time.monotonic()

    yield told if progress else lambda *_: None
    if width:
        sys.stderr.write(f"\r{'':{width}}\r")


# What a diagnosis would take, before it: requests, pictures, tokens and time, by model and instrument.


def plan_diagnosis(request: DiagnosisRequest) -> dict[str, dict[str, Cost]]:
    """Count what a diagnosis would ask, and ask a few items of each run to find out time and tokens.

    Data are made in a temporary folder, and nothing is kept. A model that cannot be reached is counted without its time.

    Returns:
        The cost of each instrument, by model.
    """
    with tempfile.TemporaryDirectory() as scratch:
        here = replace(request, folder=Path(scratch))
        return {name: _of_model(here, name) for name in request.models}


def _of_model(request: DiagnosisRequest, name: str) -> dict[str, Cost]:
    with ExitStack() as stack:
        model: Opened | None = None
        why = ""
        try:
            model = stack.enter_context(opened(name, request.given))
        except (MissingExtraError, ModelError) as error:
            why = str(error)
        found = {}
        for instrument in request.instruments:
            request.progress(name, instrument.name, "planning")
            try:
                found[instrument.name] = _of_instrument(request, name, model, instrument, why)
            except UnsupportedError as error:
                found[instrument.name] = Cost(why_not=f"left out: {error}")
        return found


def _of_instrument(
    request: DiagnosisRequest, name: str, model: Opened | None, instrument: Instrument, why: str
) -> Cost:
    gives: Capability = model.gives if model else "text"
    total = Cost()
    for plan in instrument.plan(request.study(instrument), gives):
        cost = plan_cost(
            plan.items,
            plan.measurer(model.model) if model else None,
            RunSettings(plan.kind, name, request.seed),
            options=request.options,
            calls=plan.calls,
            more=plan.more,
        )
        total += replace(cost, why_not=why) if why else cost
    return total


# `diagnose` and `open_diagnosis`, the public functions of the package.


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
