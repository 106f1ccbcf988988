"""The numbers of a diagnosis as rows, for pandas."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args, overload

from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.core.registry import registry
from theodolite.core.tables import Estimate
from theodolite.core.types import Picture
from theodolite.core.views import ItemRow
from theodolite.core.words import interval, upper_first
from theodolite.diagnose.compare import lookings
from theodolite.diagnose.pair_verdicts import OUTCOME_COLOURS, label_of, tone_of
from theodolite.diagnose.record import (
    Diagnosis,
    InstrumentOfModel,
    LookingResult,
    PairExample,
    PairsResult,
    ShownAnswer,
    SignatureResult,
    with_short_names,
)
from theodolite.diagnose.running import read_items
from theodolite.pairs import Standing
from theodolite.pairs.outcomes import SHARES

if TYPE_CHECKING:
    from pandas import DataFrame
    from PIL.Image import Image

    from theodolite.core.drawing import Drawing
    from theodolite.core.views import ItemRow

__all__ = [
    "Exhibit",
    "Exhibits",
    "FrameName",
    "exhibits",
    "frame_rows",
    "picture_of",
    "to_frame",
]


FrameName: TypeAlias = Literal["verdicts", "edits", "metrics", "items"]


def frame_rows(diagnosis: Diagnosis, items: Iterable[ItemRow], what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame.

    Args:
        diagnosis: The diagnosis.
        items: Its items, used for ``items`` alone.
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
                shares = _shares(looking)
                yield {**common, "verdict": looking.standing, "pairs": looking.n_relevant, **shares}
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
    found: dict[str, float | None] = {}
    for name in SHARES:
        figure = getattr(form, name)
        found |= _interval(name, figure) if name == "followed" else {name: figure.value if figure else None}
    return found


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
    """The instrument, or ``your data (…)``."""
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
        return "".join(each._repr_html_() for each in self._found) or "no examples"


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
    """The first picture of a side of a pair. None if it is missing or lies outside of the diagnosis."""
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
    said = escape(side.read_as or side.answer or "no answer")
    truth = "" if is_right else f" (right: {escape(side.gold)})"
    colour = OUTCOME_COLOURS["followed" if is_right else "unmoved"]
    return f'<div>{shown}<div>{word}: <span style="color:{colour}">{said}</span>{truth}</div></div>'


def _data_url(picture: Image) -> str:
    small = picture.convert("RGB")
    small.thumbnail((_THUMBNAIL, _THUMBNAIL))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


# The result of a diagnosis, shown as text in a terminal and as a table in a notebook.


CAPTION = "Followed: the answer is right before and after an edit that changes it. Without looking: 0 %, at most 25 % by chance."


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosed:
    """A diagnosis and its folder."""

    diagnosis: Diagnosis
    folder: Path
    """The folder of ``diagnosis.json``, ``items.jsonl`` and the runs."""

    @property
    def verdicts(self) -> dict[str, str]:
        """By model, the verdict in one sentence."""
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
        """Draw the outcomes of all pairs as bars. The drawing shows itself in a notebook, and has ``save(path)``.

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


def followed_words(looking: LookingResult) -> str:
    """Format the share of followed pairs with its interval."""
    f = looking.followed
    return "" if f is None else f"{interval(f)} followed"


def verdict_rows(diagnosis: Diagnosis) -> list[tuple[str, list[tuple[str, Standing, str]]]]:
    """Return the verdict table: by label, for each model the followed share, the standing and the sentence.

    The user's own data come first. An instrument that has both own data and drawn pictures has two rows.
    """
    cells: dict[str, dict[str, tuple[str, Standing, str]]] = {}
    for label, view, looking in lookings(diagnosis):
        told = upper_first(looking.because) + "."
        cells.setdefault(label, {})[view.model] = followed_words(looking), looking.standing, told
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
        (label, [found.get(model.name, missing) for model in diagnosis.models])
        for label, found in cells.items()
    ]


def text_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the lines of the verdict as plain text."""
    diagnosis = with_short_names(diagnosis)
    rows = verdict_rows(diagnosis)
    for place, model in enumerate(diagnosis.models):
        yield f"{model.name}: {model.verdict.standing}. {model.verdict.sentence}"
        for label, cells in rows:
            words, standing, _ = cells[place]
            yield f"  {label:20} {standing:20} {words}".rstrip()
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
    for label, found in verdict_rows(diagnosis):
        cells = "".join(_cell(*cell) for cell in found)
        rows.append(f"<tr><th style='text-align:left'>{escape(label)}</th>{cells}</tr>")
    overall = "".join(_cell("", model.verdict.standing, model.verdict.sentence) for model in diagnosis.models)
    rows.append(f"<tr><th style='text-align:left'>verdict</th>{overall}</tr>")
    signs = "".join(
        f"<li><b>{escape(s.name)}</b> ({escape(s.model)}, {s.instrument}): {escape(s.because)}</li>"
        for s in raised(diagnosis)
    )
    listed = f"<p>Signatures raised (behaviour, not cause):</p><ul>{signs}</ul>" if signs else ""
    told = "".join(
        f"<li><b>{escape(model.name)}</b>: {escape(model.verdict.sentence)}</li>"
        for model in diagnosis.models
    )
    return f"<table>{''.join(rows)}</table><ul>{told}</ul><p>{CAPTION}</p>{listed}"


def _cell(words: str, standing: Standing, title: str) -> str:
    shown = f"<br>{escape(words)}" if words else ""
    tip = escape(title, quote=True)
    return f'<td style="text-align:left" title="{tip}"><b style="color:{tone_of(standing).colour}">{standing}</b>{shown}</td>'
