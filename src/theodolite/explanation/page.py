"""The pages of explanations: one file for each, in which a word shows its map, and an index of several."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.attribution import find_methods
from theodolite.core.errors import UsageError
from theodolite.core.tables import duration, percent
from theodolite.explanation.cells import DrawnMap, levels
from theodolite.explanation.record import ANSWER, Explanation, MapTest, Standing
from theodolite.report.html.parts import DataBlock, Pictures, into_page, render_page
from theodolite.report.tables import tables_json
from theodolite.runs import write_atomically

TONES: dict[Standing, str] = {
    "holds": "holds",
    "not settled": "unsettled",
    "chance": "chance",
    "blind": "blind",
}
PAGE, FIGURE, NUMBERS, MAPS = "explanation.html", "explanation.png", "explanation.json", "maps.npz"


def save(explanation: Explanation, path: Path) -> Path:
    """Write an explanation: all files into a folder, or one file by its extension."""
    suffix = path.suffix.casefold()
    if suffix == ".html":
        write_atomically(path, page(explanation).encode())
        return path
    if suffix == ".json":
        write_atomically(path, numbers(explanation).encode())
        return path
    if suffix:
        return explanation.plot().save(path)
    for name in (NUMBERS, FIGURE, PAGE):
        save(explanation, path / name)
    arrays = io.BytesIO()
    np.savez_compressed(arrays, allow_pickle=False, **_arrays(explanation))
    write_atomically(path / MAPS, arrays.getvalue())
    return path / PAGE


def _arrays(explanation: Explanation) -> dict[str, Any]:
    """Return the values of all maps and the exact place of each of them, by number."""
    arrays: dict[str, Any] = {}
    for i, each in enumerate(explanation.maps):
        arrays[f"values_{i}"], arrays[f"rects_px_{i}"] = each.values, each.grid.rects_px
    return arrays


def document(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON. The maps are in `MAPS`, under the numbers given here."""
    e = explanation
    return {
        "model": e.model,
        "question": e.question,
        "pictures": [picture.digest for picture in e.pictures],
        "answer": e.answer,
        "is_own": e.is_own,
        "instead": e.instead,
        "sentence": e.sentence,
        "tests": [_test_json(test) for test in e.tests],
        "words": [asdict(word) for word in e.words],
        "shares_by": e.shares_by,
        "maps": [
            {"number": i, "method": m.method, "span": m.target, "picture": m.picture}
            for i, m in enumerate(e.maps)
        ],
        "read": e.n_read,
        "passes": e.n_passes,
        "seconds": round(e.seconds, 3),
        "notes": list(e.notes),
        "settings": dict(e.settings),
        **tables_json([e.table()]),
    }


def _test_json(test: MapTest) -> dict[str, Any]:
    curves = {
        name: {key: getattr(curve, key).tolist() for key in ("shares", "own", "even", "others")}
        | {"gain": curve.gain}
        for name, curve in (("deletion", test.deletion), ("insertion", test.insertion))
    }
    return {
        "method": test.method,
        "standing": test.standing,
        "sentence": test.sentence,
        "share": test.share,
        "loss": test.loss,
        "other_losses": list(test.other_losses),
        "whole_loss": test.whole_loss,
        "changes": test.changes,
        "n_others_change": test.n_others_change,
        "whole_changes": test.whole_changes,
        "p_value": test.p_value,
        "unit": test.unit,
        "findings": [asdict(finding) for finding in test.findings],
        **curves,
    }


def numbers(explanation: Explanation) -> str:
    """Return the numbers of an explanation as JSON."""
    return json.dumps(document(explanation), indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the answer on the page: a word with its map, or what lies between."""

    text: str
    span: str = ""
    tenth: int = 0
    """Tenths that came from the picture."""


def page(explanation: Explanation, *, index: bool = False) -> str:
    """Return the page of an explanation, in one file.

    Args:
        explanation: What to show.
        index: True if there is an index beside it.
    """
    inside: dict[str, str] = {}
    shown = Pictures(into_page(inside), is_small=False)
    pictures = []
    for picture in explanation.pictures:
        name, width, height = shown.take_picture(picture) or ("", *picture.size)
        pictures.append({"name": name, "width": width, "height": height})
    maps, grids = _maps(explanation)
    methods = list(dict.fromkeys(each["method"] for each in maps))
    data = {
        "pictures": pictures,
        "inside": inside,
        "maps": maps,
        "grids": grids,
        "marked": {t.method: [lines.round(1).tolist() for lines in t.marked] for t in explanation.tests},
        "facts": {word.span: explanation.describe(word) for word in explanation.words},
        "whole": ANSWER,
        "method": methods[0],
    }
    context = {
        "e": explanation,
        "index": index,
        "tone": TONES[explanation.test.standing],
        "pieces": pieces(explanation),
        "has_words": bool(explanation.words),
        "methods": methods,
        "bars": [_bar(test) for test in explanation.tests],
        "described": [(m.name, m.summary, m.paper) for m in find_methods(methods)],
        "seconds": duration(explanation.seconds),
    }
    return render_page("explanation.html", context, data=[DataBlock("explanation", data)])


def _maps(explanation: Explanation) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the maps by span and method as bytes, and the edges of their cells, each once."""
    known: dict[bytes, int] = {}
    grids: list[dict[str, Any]] = []
    maps = []
    for method, span in dict.fromkeys((m.method, m.target) for m in explanation.maps):
        drawn = [DrawnMap.of(each) for each in explanation.find(span, method)]
        parts = []
        for each, level in zip(drawn, levels(drawn), strict=True):
            key = each.xs.tobytes() + b"|" + each.ys.tobytes()
            if key not in known:
                known[key] = len(grids)
                grids.append({"xs": each.xs.tolist(), "ys": each.ys.tolist()})
            cells = base64.b64encode((level * 255).round().astype(np.uint8).tobytes()).decode()
            parts.append({"grid": known[key], "cells": cells})
        maps.append({"span": span, "method": method, "parts": parts})
    return maps, grids


def pieces(explanation: Explanation) -> list[Piece]:
    """Divide the answer into words with a map and what lies between; chosen parts follow at the end."""
    found: list[Piece] = []
    end = 0
    for word in sorted(explanation.words, key=lambda word: word.start):
        if word.start < end or word.span.startswith("part: "):
            continue
        found.append(Piece(explanation.answer[end : word.start]))
        share = word.shares.picture if word.shares else 0.0
        found.append(Piece(explanation.answer[word.start : word.end], word.span, round(10 * share)))
        end = word.end
    found.append(Piece(explanation.answer[end:]))
    for word in explanation.words:
        if word.span.startswith("part: "):
            share = word.shares.picture if word.shares else 0.0
            found += [Piece("\n"), Piece(word.text, word.span, round(10 * share))]
    return found


def _bar(test: MapTest) -> dict[str, Any]:
    """Return the places on the test's bar, in the units of its drawing."""
    values = [test.loss, test.whole_loss, 0.0, *test.other_losses]
    low, high = min(values), max(values)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(20 + 960 * (value - low) / span, 1)

    heights = np.linspace(22, 58, len(test.other_losses))[
        np.random.default_rng(0).permutation(len(test.other_losses))
    ]
    return {
        "method": test.method,
        "standing": {"chance": "no better than chance", "blind": "nothing to show"}.get(
            test.standing, test.standing
        ),
        "tone": TONES[test.standing],
        "sentence": test.sentence,
        "label": f"loss {test.loss:.3g} with the marked part hidden, {np.mean(test.other_losses):.3g} on average elsewhere, "
        f"{test.whole_loss:.3g} without the picture",
        "own": place(test.loss),
        "whole": place(test.whole_loss),
        "zero": place(0.0),
        "others": [(place(x), round(float(y), 1)) for x, y in zip(test.other_losses, heights, strict=True)],
        "part": percent(test.share),
        "unit": "log-probability" if test.unit == "nats" else "share of its words",
        "findings": [
            {
                "name": name,
                "shown": "–" if value is None else f"{value:+.2f}".replace("-", "−"),
                "words": words,
            }
            for name, value, words in (
                ("deletion", test.deletion.gain, "mean loss beyond that of the map moved elsewhere"),
                ("insertion", test.insertion.gain, "mean gain beyond that of the map moved elsewhere"),
                *((f.name, f.value, f.words) for f in test.findings),
            )
        ],
    }


def notebook_html(explanation: Explanation) -> str:
    """Return the figure with its sentence, for a notebook."""
    picture = base64.b64encode(explanation.plot()._repr_png_()).decode()
    return (
        f'<img alt="{escape(explanation.sentence)}" style="max-width:900px;width:100%" '
        f'src="data:image/png;base64,{picture}">'
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One explanation of several."""

    name: str
    folder: str
    """Its file without the extension."""
    question: str
    answer: str
    sentence: str
    standing: Standing


def write_index(folder: Path, model: str, rows: Sequence[Row], failed: Sequence[tuple[str, str]]) -> Path:
    """Write the index of several explanations.

    Raises:
        UsageError: If there is none.
    """
    if not rows and not failed:
        raise UsageError("there is nothing to explain")
    n = sum(row.standing == "holds" for row in rows)
    summary = (
        f"{n} of {len(rows)} maps hold"
        if len(rows) != 1
        else ("The map holds" if n else "The map does not hold")
    )
    shown = [
        {
            "name": row.name,
            "page": f"{row.folder}.html",
            "picture": f"{row.folder}-map.jpg",
            "question": row.question,
            "answer": row.answer,
            "sentence": row.sentence,
            "tone": TONES[row.standing],
        }
        for row in rows
    ]
    text = render_page(
        "explanations.html", {"model": model, "summary": summary, "rows": shown, "failed": failed}
    )
    path = folder / "index.html"
    write_atomically(path, text.encode())
    return path
