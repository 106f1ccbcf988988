"""The result of a diagnosis, shown as text in a terminal and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from theodolite.core.views import ItemRow
from theodolite.diagnose.items import read_items
from theodolite.diagnose.record import Diagnosis, InstrumentOfModel, SignatureForm

POSITION_CAPTION = (
    "Position: 0 like the twin trained to ignore the picture, 1 like the twin trained to use it."
)

_COLOURS = {
    "grounded": "#1a7f37",
    "shortcut": "#b42318",
    "between": "#8a5a00",
    "mixed": "#8a5a00",
    "outside": "#8a5a00",
    "undecided": "#57606a",
    "no verdict": "#57606a",
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

    def __repr__(self) -> str:
        return "\n".join(text_lines(self.diagnosis))

    def _repr_html_(self) -> str:
        return html_table(self.diagnosis)


def raised(diagnosis: Diagnosis) -> list[SignatureForm]:
    """Return the signatures that were raised."""
    return [signature for signature in diagnosis.signatures if signature.standing == "raised"]


def position_words(view: InstrumentOfModel) -> str:
    """Format a position with its interval, or say that there is none.

    A position outside [0, 1] is marked with an exclamation mark.
    """
    if view.position is None:
        return view.status if view.status in {"left out", "failed"} else "no verdict"
    p = view.position
    mark = " !" if view.is_outside else ""
    return f"{p.value:.2f} [{p.low:.2f}, {p.high:.2f}]{mark}"


def text_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the lines of the verdict as plain text."""
    for model in diagnosis.models:
        yield f"{model.name}: {model.verdict.standing}. {model.verdict.sentence}"
        for instrument in diagnosis.instruments:
            view = next(v for v in instrument.models if v.model == model.name)
            yield f"  {instrument.name:8} {position_words(view):24} {view.verdict.standing}"
        for signature in raised(diagnosis):
            if signature.model == model.name:
                yield f"  raised: {signature.name} ({signature.instrument}): {signature.because}"
        for left in model.left_out:
            yield f"  left out of {left.instrument}: {left.what}"
    yield POSITION_CAPTION


def html_table(diagnosis: Diagnosis) -> str:
    """Format the verdict as a small HTML table. All text is escaped."""
    heads = "".join(f"<th style='text-align:left'>{escape(model.name)}</th>" for model in diagnosis.models)
    rows = [f"<tr><th></th>{heads}</tr>"]
    for instrument in diagnosis.instruments:
        cells = "".join(
            _cell(position_words(view), view.verdict.standing, view.verdict.sentence)
            for model in diagnosis.models
            for view in instrument.models
            if view.model == model.name
        )
        question = escape(instrument.question, quote=True)
        rows.append(
            f"<tr><th style='text-align:left' title=\"{question}\">{instrument.name}</th>{cells}</tr>"
        )
    overall = "".join(_cell("", model.verdict.standing, model.verdict.sentence) for model in diagnosis.models)
    rows.append(f"<tr><th style='text-align:left'>verdict</th>{overall}</tr>")
    signs = "".join(
        f"<li><b>{escape(s.name)}</b> ({escape(s.model)}, {s.instrument}): {escape(s.because)}</li>"
        for s in raised(diagnosis)
    )
    listed = f"<p>Signatures raised (behaviour, not cause):</p><ul>{signs}</ul>" if signs else ""
    return f"<table>{''.join(rows)}</table><p>{POSITION_CAPTION}</p>{listed}"


def _cell(words: str, standing: str, title: str) -> str:
    colour = _COLOURS[standing]
    shown = f"{escape(words)} " if words else ""
    tip = escape(title, quote=True)
    return f'<td style="text-align:left" title="{tip}">{shown}<b style="color:{colour}">{standing}</b></td>'
