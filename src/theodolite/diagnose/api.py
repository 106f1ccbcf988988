"""Run, plan and open a diagnosis; show it in a notebook, as data frames and as text; follow its progress."""

from __future__ import annotations

import base64
import io
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args, overload

from theodolite.core.errors import (
    MissingExtraError,
    ModelError,
    TheodoliteError,
    UnsupportedError,
    UsageError,
)
from theodolite.core.options import find_size
from theodolite.core.registry import registry
from theodolite.core.scores import Capability, ItemScore
from theodolite.core.tables import Estimate, duration, interval, percent, upper_first
from theodolite.core.types import Picture
from theodolite.core.views import ItemRow
from theodolite.diagnose.compare import lookings
from theodolite.diagnose.pair_verdicts import OUTCOME_COLOURS, label_of, tone_of
from theodolite.diagnose.record import (
    DIAGNOSIS_FILE,
    Diagnosis,
    InstrumentOfModel,
    LookingResult,
    PairExample,
    PairsResult,
    ShownAnswer,
    SignatureResult,
    read_diagnosis,
    with_short_names,
)
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
from theodolite.diagnose.running import read_items, run_diagnosis
from theodolite.instruments.instrument import (
    Instrument,
    Place,
    UserData,
    find_instruments,
    instrument_of_run,
    instruments,
    item_rows,
)
from theodolite.models import VisionLanguageModel
from theodolite.models.replay import is_foreign, is_log, own_questions
from theodolite.pairs import Standing
from theodolite.pairs.outcomes import SHARES
from theodolite.runs import Cost, EngineOptions, Run, RunSettings, Tally, plan_cost
from theodolite.stats import score_mean

if TYPE_CHECKING:
    from pandas import DataFrame
    from PIL.Image import Image

    from theodolite.core.drawing import Drawing
    from theodolite.core.views import ItemRow

__all__ = [
    "DEFAULT_MODELS",
    "Browsed",
    "Exhibit",
    "Exhibits",
    "FrameName",
    "Overall",
    "RunFigure",
    "browse",
    "data_of",
    "diagnose",
    "exhibits",
    "figures_of",
    "frame_rows",
    "make_request",
    "open_diagnosis",
    "picture_of",
    "plan_diagnosis",
    "printed",
    "to_frame",
]


# The numbers of a diagnosis as rows, for pandas.


FrameName: TypeAlias = Literal["verdicts", "edits", "metrics", "items"]


def frame_rows(diagnosis: Diagnosis, items: Iterable[ItemRow], what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a data frame.

    Args:
        diagnosis: The diagnosis.
        items: Its items, used only for ``items``.
        what: ``verdicts`` (a row for each model and kind of pictures), ``edits`` (for each edit), ``metrics`` (for each
            metric and split) or ``items`` (for each question that was asked).

    Raises:
        UsageError: If there is no such frame.
    """
    if what not in get_args(FrameName):
        raise UsageError(f"there is no frame {what!r}; there are {', '.join(get_args(FrameName))}")
    if what == "items":
        for row in items:
            yield {
                "model": row.model,
                "instrument": row.instrument,
                "item": row.id,
                "split": row.split,
                "condition": row.condition,
                "question": row.question,
                "answer": row.answer,
                "read_as": row.read_as,
                "gold": row.gold,
                "correct": row.correct,
                "status": row.status,
            }
    elif what == "metrics":
        yield from _metrics(diagnosis)
    else:
        for label, view, looking in lookings(diagnosis):
            common = {"model": view.model, "pictures": label}
            if what == "verdicts":
                judged = {"verdict": looking.standing, "pairs": looking.n_relevant}
                accuracy = looking.accuracy.value if looking.accuracy else None
                yield {**common, **judged, **_shares(looking), "accuracy": accuracy}
            else:
                for form in looking.edits:
                    about = {"edit": form.name, "is_relevant": form.is_relevant, "pairs": form.n}
                    yield {**common, **about, **_shares(form)}


def _metrics(diagnosis: Diagnosis) -> Iterator[dict[str, Any]]:
    names = {metric.key: metric.name for metric in diagnosis.metrics}
    for instrument in diagnosis.instruments:
        for metric in instrument.metrics:
            for mean in metric.models:
                yield {
                    "model": mean.model,
                    "instrument": instrument.name,
                    "metric": metric.key,
                    "name": names.get(metric.key, metric.key),
                    "split": metric.split,
                    **_interval("mean", mean.figure),
                    "clusters": mean.figure.n if mean.figure else 0,
                    "why_not": mean.why_not,
                }


def _shares(form: LookingResult | PairsResult) -> dict[str, float | None]:
    figures = {name: getattr(form, name) for name in SHARES}
    shares = {name: figure.value if figure else None for name, figure in figures.items()}
    return {**_interval("looking", form.looking), "p_value": form.p_value, **shares}


def _interval(name: str, figure: Estimate | None) -> dict[str, float | None]:
    if figure is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}


def to_frame(rows: Iterable[dict[str, Any]]) -> DataFrame:
    """Build a DataFrame.

    Raises:
        MissingExtraError: If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", "to_pandas()") from None
    return pd.DataFrame.from_records(list(rows))


# The pairs that a diagnosis shows as examples: both pictures, the question and the answers.


_THUMBNAIL = 192
"""The longest side of a picture in a notebook, in pixels. `Exhibit.pictures` has them in full."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One pair: the same question before and after an edit."""

    model: str
    pictures_of: str
    """The instrument, or ``your pictures (…)``."""
    form: PairExample
    """Question, edit, outcome, answers, and the rule by which it was chosen."""
    folder: Path

    def pictures(self) -> tuple[Image | None, Image | None]:
        """Return the first picture before and after the edit. None if it cannot be read."""
        before, after = (picture_of(side, self.folder) for side in (self.form.before, self.form.after))
        return before, after

    def __repr__(self) -> str:
        before, after = self.form.before, self.form.after
        return (
            f"{self.model}, {self.pictures_of}, {self.form.edit}: {self.form.question!r} {before.read_as!r} (right: "
            f"{before.gold!r}) → {after.read_as!r} (right: {after.gold!r}): {self.form.outcome}"
        )

    def _repr_html_(self) -> str:
        sides = zip(("before", "after"), (self.form.before, self.form.after), self.pictures(), strict=True)
        cells = "".join(_side(word, side, picture) for word, side, picture in sides)
        title = f"<b>{escape(self.form.outcome)}</b> ({escape(self.form.edit)}): {escape(self.form.question)}"
        about = f"{escape(self.model)}, {escape(self.pictures_of)}; chosen as {escape(self.form.why)}"
        style = "display:inline-block;vertical-align:top;margin:4px 20px 12px 0;max-width:430px"
        return f'<div style="{style}"><div>{title}</div><div style="display:flex;gap:10px">{cells}</div><small>{about}</small></div>'


class Exhibits(Sequence[Exhibit]):
    """Examples in the order of the report."""

    def __init__(self, found: Sequence[Exhibit]) -> None:
        self._found = tuple(found)

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, place: int) -> Exhibit: ...
    @overload
    def __getitem__(self, place: slice) -> Exhibits: ...
    def __getitem__(self, place: int | slice) -> Exhibit | Exhibits:
        return Exhibits(self._found[place]) if isinstance(place, slice) else self._found[place]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._found)) or "no examples"

    def _repr_html_(self) -> str:
        return "".join(exhibit._repr_html_() for exhibit in self._found) or "no examples"


def exhibits(
    diagnosis: Diagnosis, folder: Path, model: str | None = None, instrument: str | None = None
) -> Exhibits:
    """Return the examples of a diagnosis, of one model or instrument if given.

    Raises:
        UsageError: If there is no such model or instrument.
    """
    if model is not None:
        diagnosis.model(model)
    wanted = None if instrument is None else diagnosis.instrument(instrument)

    def found() -> Iterator[Exhibit]:
        for label, view, looking in lookings(diagnosis):
            if model not in {None, view.model} or (wanted is not None and view not in wanted.models):
                continue
            for form in looking.exhibits:
                yield Exhibit(view.model, label, form, folder)

    return Exhibits(list(found()))


def picture_of(side: ShownAnswer, folder: Path) -> Image | None:
    """Return the first picture of one side of a pair. None if it is missing or lies outside of the diagnosis."""
    if not side.pictures:
        return None
    path = (folder / side.pictures[0]).resolve()
    if not path.is_relative_to(folder.resolve()):
        return None
    try:
        return Picture.from_path(path).load()
    except UsageError:
        return None


def _side(word: str, side: ShownAnswer, picture: Image | None) -> str:
    shown = f'<img alt="{word}" src="{_data_url(picture)}">' if picture is not None else "<i>no picture</i>"
    is_right = side.read_as == side.gold
    answer = escape(side.read_as or side.answer or "no answer")
    truth = "" if is_right else f" (right: {escape(side.gold)})"
    colour = OUTCOME_COLOURS["followed" if is_right else "unmoved"]
    return f'<div>{shown}<div>{word}: <span style="color:{colour}">{answer}</span>{truth}</div></div>'


def _data_url(picture: Image) -> str:
    small = picture.convert("RGB")
    small.thumbnail((_THUMBNAIL, _THUMBNAIL))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


# The result of a diagnosis, shown as text in a terminal and as a table in a notebook.


CAPTION = (
    "Looking: pairs with right answers about both pictures, minus pairs with each answer right for the other picture. A model "
    "that does not use what tells the pictures apart has 0, whatever its accuracy. Intervals are 99 %."
)


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosed:
    """A diagnosis and its folder."""

    diagnosis: Diagnosis
    folder: Path
    """The folder of ``diagnosis.json``, ``items.jsonl`` and the runs."""

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict in one sentence, by model."""
        return {model.name: model.verdict.sentence for model in self.diagnosis.models}

    def view(self, model: str, instrument: str) -> InstrumentOfModel:
        """Return the results of one instrument on one model."""
        self.diagnosis.model(model)
        return next(v for v in self.diagnosis.instrument(instrument).models if v.model == model)

    def items(self) -> Iterator[ItemRow]:
        """Yield the rows of all measured items."""
        return read_items(self.folder)

    def to_pandas(self, what: FrameName = "verdicts") -> DataFrame:
        """Return numbers as a pandas DataFrame.

        Args:
            what: ``verdicts`` (a row for each model and kind of pictures), ``edits`` (for each edit), ``metrics`` (for each
                metric and split) or ``items`` (for each question that was asked).

        Raises:
            MissingExtraError: If pandas is not installed.
            UsageError: If there is no such table.
        """
        return to_frame(frame_rows(self.diagnosis, self.items() if what == "items" else (), what))

    def plot(self, *, title: str = "") -> Drawing:
        """Draw the outcomes of all pairs as bars. The drawing is displayed in a notebook, and has ``save(path)``.

        Raises:
            UsageError: If there are no relevant pairs.
        """
        draw = cast("Callable[..., Drawing]", registry().entry("figure", "looking").load())
        return draw(self.diagnosis, title=title)

    def exhibits(self, model: str | None = None, instrument: str | None = None) -> Exhibits:
        """Return the pairs that are shown as examples, of one model or instrument if given.

        Raises:
            UsageError: If there is no such model or instrument.
        """
        return exhibits(self.diagnosis, self.folder, model, instrument)

    def __repr__(self) -> str:
        return "\n".join(text_lines(self.diagnosis))

    def _repr_html_(self) -> str:
        return html_table(self.diagnosis)


def raised(diagnosis: Diagnosis) -> list[SignatureResult]:
    """Return the signatures that were raised."""
    return [signature for signature in diagnosis.signatures if signature.standing == "raised"]


def looking_words(looking: LookingResult) -> str:
    """Format looking with its interval, beside the accuracy on the same items."""
    if looking.looking is None or looking.accuracy is None:
        return ""
    return f"{interval(looking.looking)}, accuracy {percent(looking.accuracy.value)}"


def verdict_rows(diagnosis: Diagnosis) -> list[tuple[str, list[tuple[str, Standing, str]]]]:
    """Return the verdict table: by label, for each model looking and accuracy, the standing and the sentence.

    The user's own data come first. An instrument that has both own data and drawn pictures has two rows.
    """
    cells: dict[str, dict[str, tuple[str, Standing, str]]] = {}
    for label, view, looking in lookings(diagnosis):
        sentence = upper_first(looking.because) + "."
        cells.setdefault(label, {})[view.model] = looking_words(looking), looking.standing, sentence
    for instrument in diagnosis.instruments:
        for view in instrument.models:
            if not view.looking:
                label = label_of(instrument.name, "own" if instrument.has_own_data_only else "drawn")
                why = (
                    ""
                    if view.status == "measured" or view.verdict.standing != "not measured"
                    else view.status
                )
                cells.setdefault(label, {})[view.model] = why, view.verdict.standing, view.verdict.sentence
    order = [each.name for each in diagnosis.instruments]
    cells = dict(sorted(cells.items(), key=lambda each: order.index(each[0]) if each[0] in order else -1))
    missing: tuple[str, Standing, str] = ("", "not measured", "Not measured.")
    return [
        (label, [by_model.get(model.name, missing) for model in diagnosis.models])
        for label, by_model in cells.items()
    ]


def text_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the lines of the verdict as plain text."""
    diagnosis = with_short_names(diagnosis)
    rows = verdict_rows(diagnosis)
    for column, model in enumerate(diagnosis.models):
        yield f"{model.name}: {model.verdict.standing}. {model.verdict.sentence}"
        for label, cells in rows:
            words, standing, _ = cells[column]
            yield f"  {label:30} {standing:26} {words}".rstrip()
        for signature in raised(diagnosis):
            if signature.model == model.name:
                yield f"  raised: {signature.name} ({signature.instrument}): {signature.because}"
        for left in model.left_out:
            yield f"  left out of {left.instrument}: {left.what}"
    yield CAPTION


def html_table(diagnosis: Diagnosis) -> str:
    """Format the verdict as a small HTML table. All text is escaped."""
    diagnosis = with_short_names(diagnosis)
    heads = "".join(f"<th style='text-align:left'>{escape(model.name)}</th>" for model in diagnosis.models)
    rows = [f"<tr><th></th>{heads}</tr>"]
    for label, verdicts in verdict_rows(diagnosis):
        cells = "".join(_cell(*cell) for cell in verdicts)
        rows.append(f"<tr><th style='text-align:left'>{escape(label)}</th>{cells}</tr>")
    overall = "".join(_cell("", model.verdict.standing, model.verdict.sentence) for model in diagnosis.models)
    rows.append(f"<tr><th style='text-align:left'>verdict</th>{overall}</tr>")
    signs = "".join(
        f"<li><b>{escape(s.name)}</b> ({escape(s.model)}, {s.instrument}): {escape(s.because)}</li>"
        for s in raised(diagnosis)
    )
    listed = f"<p>Signatures raised (behaviour, not cause):</p><ul>{signs}</ul>" if signs else ""
    items = "".join(
        f"<li><b>{escape(model.name)}</b>: {escape(model.verdict.sentence)}</li>"
        for model in diagnosis.models
    )
    return f"<table>{''.join(rows)}</table><ul>{items}</ul><p>{CAPTION}</p>{listed}"


def _cell(words: str, standing: Standing, title: str) -> str:
    shown = f"<br>{escape(words)}" if words else ""
    tip = escape(title, quote=True)
    return f'<td style="text-align:left" title="{tip}"><b style="color:{tone_of(standing).colour}">{standing}</b>{shown}</td>'


# Turn a run into rows for browsing and into the means of its metrics. No model is called.


@dataclass(frozen=True, slots=True)
class RunFigure:
    """The mean of one metric over the items of one split."""

    key: str
    name: str
    origin: str
    split: str
    figure: Estimate


@dataclass(frozen=True, slots=True)
class Browsed:
    """The rows and means of a run, for display."""

    rows: list[ItemRow]
    figures: list[RunFigure]
    notes: list[str]
    """What could not be shown, and why."""


def data_of(run: Run) -> list[Path]:
    """Return the data files and folders named in the settings of a run."""
    data = run.info.settings.get("data")
    values = list(data.values()) if isinstance(data, Mapping) else [data]
    return [Path(value) for value in values if isinstance(value, str) and value]


def browse(run: Run, place: Place, *, may_read_data: bool = True) -> Browsed:
    """Read a run as rows and means.

    Args:
        run: A run of any instrument, finished or not.
        place: Function that stores a picture and returns its name.
        may_read_data: If False, the data files that the run names are not opened, and what needs them is left out.
    """
    instrument = instrument_of_run(run.info.instrument) if may_read_data else None
    notes: list[str] = []
    scores: list[ItemScore] = []
    rows: list[ItemRow] | None = None
    if instrument is not None:
        try:
            scores = instrument.score(run)
        except TheodoliteError as error:
            notes.append(f"no metrics: {error}")
        try:
            rows = list(item_rows(instrument, run, place, scores))
        except TheodoliteError as error:
            notes.append(f"items are shown without their details: {error}")
    if rows is None:
        rows = list(item_rows(None, run, place, scores))
    return Browsed(rows, figures_of(instrument, scores) if instrument else [], notes)


def figures_of(instrument: Instrument, scores: Sequence[ItemScore]) -> list[RunFigure]:
    """Compute the mean of every metric on every split with a value."""
    by_column: dict[tuple[str, str], list[ItemScore]] = {}
    for score in scores:
        by_column.setdefault((score.metric, score.split), []).append(score)
    figures = []
    for metric in instrument.metrics:
        for (key, split), some in by_column.items():
            mean = score_mean(metric, some) if key == metric.key else None
            if mean is not None:
                figures.append(RunFigure(key, metric.name, metric.origin, split, mean))
    return figures


Step: TypeAlias = tuple[str, str]
"""A model and an instrument."""
_ENDED = frozenset({"done", "left out"})
_LINE_EVERY_S = 0.5


class Overall:
    """The progress of all steps of a diagnosis. Called like any `Progress`."""

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
        """Return the last tally of a step."""
        return self._tallies.get((model, instrument))

    def spent(self, model: str, instrument: str) -> float:
        """Return the seconds spent on a step so far."""
        return self._seconds.get((model, instrument), 0.0)

    @property
    def left(self) -> str:
        """The remaining time of all steps; ``at least`` if an instrument was not measured before. Empty if unknown."""
        here = self._left_here()
        waiting = [step for step, word in self._steps.items() if word == "waiting"]
        known = [self._expected(step) for step in waiting]
        seconds = (here or 0.0) + sum(each for each in known if each is not None)
        if (here is None and self._steps.get(self._now or ("", "")) == "asking") or not seconds:
            return ""
        return f"{'at least ' if None in known else ''}{duration(seconds)} left"

    def line(self) -> str:
        """Format the progress in one line."""
        if self._now is None:
            return ""
        word, tally = self._steps[self._now], self.tally
        if word == "asking" and tally is not None:
            word = f"{_done(tally)} of {tally.planned} items"
        left = self.left
        return f"{self.place}: {' '.join(self._now)}, {word}" + (f", {left}" if left else "")

    def _left_here(self) -> float | None:
        """Return the seconds left for the items of the current step. None if unknown."""
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
        """Estimate the seconds of a step from other models on the same instrument. None if there are none."""
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
    """Yield the function to call with the progress. True prints one line on standard error and rewrites it."""
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
    """Count what a diagnosis would ask, and ask a few items of each run to measure time and tokens.

    Data are made in a temporary folder, and nothing is kept. For a model that cannot be reached, no time is given.

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
        costs = {}
        for instrument in request.instruments:
            request.progress(name, instrument.name, "planning")
            try:
                costs[instrument.name] = _of_instrument(request, name, model, instrument, why)
            except UnsupportedError as error:
                costs[instrument.name] = Cost(why_not=f"left out: {error}")
        return costs


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
"""Three small bundled models: one looks, one does both, one ignores the picture."""


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
            Default: three small bundled models: one looks, one ignores the picture, one does both.
        processor: The processor of a transformers model in memory.
        data: Your own data sets: questions about pictures, COCO instances, grids, scenes, episodes.
        size: ``quick``, ``standard``, ``large``, or a number of pairs for each instrument.
        instruments: Names of instruments. Default: all that have data.
        out: The folder of the diagnosis.
        images: The folder of the pictures of `data`, if it is another one.
        seed: Seed of all random draws.
        options: Engine, workers and cache.
        progress: True prints one line of progress; or a function that is called with the model, the instrument and the
        progress.

    Returns:
        The diagnosis, which is displayed in a notebook, and has ``to_pandas()``, ``plot()`` and ``exhibits()``.

    Raises:
        UsageError: If the arguments are inconsistent.
        ModelError: If a model cannot be used.
    """
    with given_models(model, processor) as models, printed(progress) as callback:
        request = make_request(
            tuple(models),
            data=data,
            size=size,
            instruments=instruments,
            out=out,
            images=images,
            seed=seed,
            options=options,
            progress=callback,
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
    """Check and collect the options of `diagnose`. Nothing is measured or written.

    Takes the arguments of `diagnose`, but models by name. `given` has the models in memory by name.
    """
    names = (instruments,) if isinstance(instruments, str) else tuple(instruments)
    sets = (data,) if isinstance(data, str | Path) else tuple(data)
    are_logs = all(name.startswith("replay:") and is_log(name) for name in models)
    are_foreign = bool(models) and are_logs and all(map(is_foreign, models))
    asks = not sets and "ask" in (names or ("ask",))
    asked = own_questions(models[0]) if asks and are_foreign else ""
    if are_foreign and asks and not asked:
        raise UsageError(
            f"{models[0]} holds no right answers to its questions, or is several files; name their field, as in "
            "replay:LOG?truth=FIELD, or give questions and right answers with --data FILE"
        )
    own = find_user_data((asked,) if asked else sets, None if images is None else Path(images), names)
    own = tuple(replace(each, may_lack_pictures=are_logs) for each in own)
    return DiagnosisRequest(
        models=models,
        folder=Path(out),
        instruments=_chosen(names or [each.instrument for each in own if are_foreign], own),
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
    candidates = find_instruments(names) if names else instruments()
    if not names:
        return tuple(
            instrument for instrument in candidates if not instrument.needs_data or instrument.name in given
        )
    for instrument in candidates:
        if instrument.needs_data and instrument.name not in given:
            raise UsageError(
                f"{instrument.name} has no built-in data; pass your own with --data: {instrument.takes}"
            )
    return candidates


def _check_overwrite(request: DiagnosisRequest) -> None:
    """Refuse to overwrite a diagnosis that has other models, instruments, size or seed."""
    if not (request.folder / DIAGNOSIS_FILE).exists():
        return
    old = read_diagnosis(request.folder)
    lost = [model.name for model in old.models if not model.is_recorded]
    lost = [name for name in lost if name not in request.models]
    known = {instrument.name for instrument in request.instruments}
    lost += [instrument.name for instrument in old.instruments if instrument.name not in known]
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
