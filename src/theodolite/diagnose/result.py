"""The result of a diagnosis, shown as text in a terminal and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, cast

from theodolite.core.registry import registry
from theodolite.core.views import ItemRow
from theodolite.diagnose.exhibits import Exhibits, exhibits
from theodolite.diagnose.frames import FrameName, frame_rows, to_frame
from theodolite.diagnose.items import read_items
from theodolite.diagnose.names import with_short_names
from theodolite.diagnose.pairs_table import lookings
from theodolite.diagnose.record import Diagnosis, InstrumentOfModel, LookingForm, SignatureForm, Standing
from theodolite.diagnose.verdict import label_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from theodolite.core.drawing import Drawing

CAPTION = "Followed: the answer is right before and after an edit that changes it. Without looking: 0 %, at most 25 % by chance."

_COLOURS: Mapping[Standing, str] = {
    "looks": "#1a7f37",
    "looks at times": "#8a5a00",
    "does not look": "#b42318",
    "cannot do the task": "#57606a",
    "cannot be read": "#57606a",
    "not settled": "#57606a",
    "not measured": "#57606a",
}


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


def raised(diagnosis: Diagnosis) -> list[SignatureForm]:
    """Return the signatures that were raised."""
    return [signature for signature in diagnosis.signatures if signature.standing == "raised"]


def followed_words(looking: LookingForm) -> str:
    """Format the share of followed pairs with its interval."""
    f = looking.followed
    return "" if f is None else f"{100 * f.value:.0f} % [{100 * f.low:.0f}, {100 * f.high:.0f}] followed"


def verdict_rows(diagnosis: Diagnosis) -> list[tuple[str, list[tuple[str, Standing, str]]]]:
    """Return the verdict table: by label, for each model the followed share, the standing and the sentence.

    The user's own data come first. An instrument that has both own data and drawn pictures has two rows.
    """
    cells: dict[str, dict[str, tuple[str, Standing, str]]] = {}
    for label, view, looking in lookings(diagnosis):
        told = looking.because[:1].upper() + looking.because[1:] + "."
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
    return f'<td style="text-align:left" title="{tip}"><b style="color:{_COLOURS[standing]}">{standing}</b>{shown}</td>'
