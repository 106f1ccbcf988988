"""The page of definitions, made from ``definitions.toml`` in the package."""

from __future__ import annotations

import html
import inspect
import re
import sys
from importlib import import_module
from itertools import groupby
from pathlib import Path

from theodolite.core.scores import Definition, definitions
from theodolite.instruments.instrument import instruments

sys.path.append(str(Path(__file__).parents[2]))  # for `train`, which is not in the package

_OTHERS = {
    "twins": "Which metrics separate a model that looks from one that does not?",
    "diagnose": "All instruments on one model.",
}
_WAY = {
    "higher": ("↑", "higher where a model looks"),
    "lower": ("↓", "lower where a model looks"),
    "neither": ("○", "says nothing about looking by itself"),
}
_READING = {
    "paper": "as published",
    "sound": "ours, where the published reading can mislead",
    "ours": "ours",
}
_HEAD = """# Definitions

Every number that the program reports, with the function that computes it. Each is shown with an interval and a sample size:
[How numbers are made](numbers.md). The report links its numbers here.

**Which way.** {ways}. Other things being equal: no single number proves that a model looks.

**Readings.** <span class="reading paper">paper</span> is as published, <span class="reading sound">sound</span> is ours where the
published reading can mislead, <span class="reading ours">ours</span> has nothing like it in the papers. Where there are two
readings of the same thing, each names the other.

There are {n} definitions. In Python: `theodolite.core.scores.definition("compass.dae")`.
"""


def definitions_page(*, is_built: bool) -> str:
    """Return the page, as Markdown.

    Args:
        is_built: True for the site, which has names to link to, and the code of each number; False for the repository.
    """
    known = definitions()
    questions = {each.name: each.question for each in instruments()} | _OTHERS
    ways = ", ".join(f'<span class="way">{sign}</span> {words}' for sign, words in _WAY.values())
    lines = [_HEAD.format(ways=ways, n=len(known))]
    for instrument, group in groupby(known.values(), key=lambda each: each.instrument):
        lines += [f"## {instrument}", "", questions.get(instrument, ""), ""]
        lines += [_entry(each, is_built=is_built) for each in group]
    return "\n".join(lines) + "\n"


def _entry(each: Definition, *, is_built: bool) -> str:
    sign, way = _WAY[each.grounded]
    facts = [f'<span class="way" title="{way}">{sign}</span>', _unit(each.unit)]
    if each.headline:
        facts.insert(0, "<strong>read first</strong>")
    facts.append(
        f'<span class="reading {each.reading}" title="{_READING[each.reading]}">{each.reading}</span>'
    )
    if each.source:
        facts.append(html.escape(each.source))
    facts.append(f"<code>{each.key}</code>")
    title = "" if each.title.casefold() == each.name.casefold() else f"*{html.escape(each.title)}.* "
    lines = [
        *([f"({each.anchor})="] if is_built else []),
        f"### {html.escape(each.name)}",
        "",
        f'<p class="facts" id="{each.anchor}">{" · ".join(facts)}</p>',
        "",
        f"{title}{html.escape(each.meaning)}",
        "",
        f'<div class="plain-formula">{_with_indices(each.formula)}</div>',
        "",
    ]
    if each.function:
        lines += [*(_code(each.function) if is_built else [f"Computed by {_place(each.function)}."]), ""]
    if each.caution:
        lines += [f'<p class="caution">{html.escape(each.caution)}</p>', ""]
    if each.beside:
        named = ", ".join(f"[{html.escape(definitions()[key].name)}](#{key})" for key in each.beside)
        lines += [f"Beside it: {named}.", ""]
    return "\n".join(lines)


def _code(function: str) -> list[str]:
    """Where the number is computed, and the code itself, folded."""
    module, _, name = function.partition(":")
    found = import_module(module if module.startswith("train.") else f"theodolite.{module}")
    for part in name.split("."):
        found = getattr(found, part)
    return [
        f'<details class="code"><summary>Computed by {_place(function)}</summary>',
        "",
        "```python",
        inspect.getsource(inspect.unwrap(found)).rstrip(),
        "```",
        "",
        "</details>",
    ]


def _place(function: str) -> str:
    module, _, name = function.partition(":")
    return f"<code>{name}</code> in <code>{module.replace('.', '/')}.py</code>"


def _with_indices(formula: str) -> str:
    """Return a plain formula as HTML, with what follows an underscore set lower."""
    lowered = re.sub(
        r"_(?:\{([^}]*)\}|([^\W_]+))",
        lambda found: f"<sub>{found[1] or found[2]}</sub>",
        html.escape(formula),
    )
    return lowered.replace("  ", " &nbsp;")


def _unit(unit: str) -> str:
    return {"number": "a number", "count": "a count", "p": "a p-value"}.get(unit, unit)
