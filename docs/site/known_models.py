"""Makes the page *Known models*, from the root of the repository.

``python -m docs.site.known_models`` writes its tables and figures from the results in ``docs/known_models``.
``python -m docs.site.known_models FOLDER`` first computes these results again, from the recorded answers below FOLDER.

A model is one file of ``docs/known_models``: what it is, where its answers are from and under which licence, and the log. The
command fills in the results. Logs are read as `diagnose --data LOG` reads them, and judged by `theodolite.pairs`.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from bench.balance import natural_pairs
from theodolite.answers import Answer, normal_form, read_answer
from theodolite.core.drawing import styled
from theodolite.core.files import Problem, check, dump
from theodolite.instruments.ask.data.questions import PictureFinder, read_question
from theodolite.models.logs import log_rows
from theodolite.models.tables import first
from theodolite.pairs import AnsweredPair, judge_looking
from theodolite.pairs.verdict import Looking

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "known_models"
PAGE = DOCS / "known_models.md"
ASSETS = DOCS / "assets"
ALL = "all"
"""The relation of the result on all pairs of a model and data set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the answers to one kind of question show. Intervals have level 99 %."""

    relation: str
    answers: int
    accuracy: float
    """Share of right answers among all answers, as the sources count."""
    paired: float
    """The same among the paired answers, both right answers weighed equally."""
    pairs: int
    pictures: int
    followed: float
    inverted: float
    unmoved: float
    moved: float
    lost: float
    looking: tuple[float, float, float]
    """Followed minus inverted, and the ends of its interval."""
    p: float
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A model and its recorded answers to a data set: one file."""

    model: str
    data: str
    source: str
    commit: str
    date: str
    """The day of the commit."""
    licence: str
    log: str
    """The log, below the folder of logs."""
    where: Mapping[str, str] | None = None
    """The rows of the log that count, by the values of fields."""
    relations: Mapping[str, str] | None = None
    """The splits that count, and what they are called. None: all, under their own names."""
    results: tuple[Result, ...] = ()

    @property
    def whole(self) -> Result:
        """The result on all pairs."""
        return next(result for result in self.results if result.relation == ALL)

    @property
    def parts(self) -> list[Result]:
        """The results by relation."""
        return [result for result in self.results if result.relation != ALL]


def read(folder: Path = FOLDER) -> dict[Path, Known]:
    """Return all known models, by file."""
    return {
        path: check(Known, json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.glob("*.json"))
    }


def write(path: Path, known: Known) -> None:
    """Write a known model with its results."""
    path.write_text(json.dumps(dump(known), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# From logs to results.


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer of a log."""

    question: str
    picture: str
    truth: str
    answer: Answer
    split: str

    @property
    def is_right(self) -> bool:
        """True if the answer could be read and is the right one."""
        return self.answer.is_read and self.answer.value == self.truth


def recorded(known: Known, logs: Path) -> list[Recorded]:
    """Return the recorded answers of a model, each read as its question asks for."""
    with tempfile.TemporaryDirectory() as empty:  # pictures are known by their names alone
        finder, found = PictureFinder(Path(empty)), []
        problems: list[Problem] = []
        rows = log_rows(logs / known.log, problems)
        for number, row in enumerate(rows, 1):
            if any(str(row.get(field)) != value for field, value in (known.where or {}).items()):
                continue
            split = str(row.get("split", ""))
            if known.relations is not None and split not in known.relations:
                continue
            question = read_question(row, number, finder, may_lack_picture=True)
            said = read_answer(str(first(row, "response") or ""), question.format)
            if said.is_read:  # an answer by letter is the option of that letter
                option = question.format.options.get(str(said.value), said.value)
                said = Answer("value", normal_form(str(option)))
            name = question.pictures[0].digest
            split = (known.relations or {}).get(split, split).replace("_", " ")
            found.append(Recorded(question.question, name, normal_form(question.answer), said, split))
    if problems:
        raise ValueError(f"{known.log}: {problems[0]}")
    return found


def results(answers: Sequence[Recorded]) -> Iterator[Result]:
    """Yield the results by relation, and on all pairs: relations are splits, or else the two right answers of a pair."""
    splits = list(dict.fromkeys(answer.split for answer in answers))
    if splits == [""]:
        truths = list(dict.fromkeys(answer.truth for answer in answers))
        parts = {
            f"{one} / {other}".replace("to the ", ""): [
                each for each in answers if each.truth in (one, other)
            ]
            for one, other in combinations(sorted(truths), 2)
        }
    else:
        parts = {split: [answer for answer in answers if answer.split == split] for split in sorted(splits)}
    pairs = {relation: pairs_of(some, relation) for relation, some in parts.items()}
    whole = pairs_of(answers) if _overlap(parts) else [pair for own in pairs.values() for pair in own]
    for relation, some in {ALL: answers, **parts}.items():
        yield result(relation, some, judge_looking(whole if relation == ALL else pairs[relation]))


def _overlap(parts: Mapping[str, Sequence[Recorded]]) -> bool:
    """Return True if a question is asked about the same picture in several parts; then pairs are made of all together."""
    seen = [{(answer.question, answer.picture) for answer in some} for some in parts.values()]
    return sum(map(len, seen)) > len(set().union(*seen))


def pairs_of(answers: Sequence[Recorded], relation: str = "") -> list[AnsweredPair]:
    """Return pairs that hold every picture of a question whose pictures have different right answers."""
    asked: defaultdict[str, dict[str, Recorded]] = defaultdict(dict)
    for answer in answers:
        asked[answer.question].setdefault(answer.picture, answer)
    pairs = []
    for question, shown in asked.items():
        for pair in natural_pairs(question, [(picture, each.truth) for picture, each in shown.items()]):
            one, other = (shown[picture].answer for picture in pair.pictures)
            pairs.append(replace(pair, before=one, after=other, relation=relation))
    return pairs


def result(relation: str, answers: Sequence[Recorded], found: Looking) -> Result:
    """Return what a verdict says of some answers."""

    def share(estimate: Any) -> float:
        return _short(estimate.value) if estimate is not None else 0.0

    if found.looking is None or found.p_value is None:
        raise ValueError(f"no two pictures of {relation} have the same question and different right answers")
    looking = found.looking
    return Result(
        relation=relation,
        answers=len(answers),
        accuracy=_short(sum(answer.is_right for answer in answers) / len(answers)),
        paired=share(found.accuracy),
        pairs=looking.n_items,
        pictures=looking.n,
        followed=share(found.followed),
        inverted=share(found.inverted),
        unmoved=share(found.unmoved),
        moved=share(found.moved),
        lost=share(found.lost),
        looking=(_short(looking.value), _short(looking.low), _short(looking.high)),
        p=_short(found.p_value),
        verdict=found.standing,
    )


def _short(value: float) -> float:
    """Return a number with six digits, which no table rounds twice; an end just beside zero stays beside it."""
    return float(f"{value:.6g}")


def compute(logs: Path) -> None:
    """Compute the results of all models whose logs are there; those of the others stay."""
    for path, known in read().items():
        if (logs / known.log).is_file():
            write(path, replace(known, results=tuple(results(recorded(known, logs)))))
        elif not known.results:
            raise ValueError(f"{path.name} has no results, and there is no log {logs / known.log}")
        sys.stderr.write(f"{path.stem}\n")


# From results to the page.


def tables(models: Sequence[Known]) -> dict[str, str]:
    """Return all tables of the page, by the name of their place in it."""
    by_data: defaultdict[str, list[Known]] = defaultdict(list)
    for known in models:
        by_data[known.data].append(known)
    return {
        "models": _markdown(
            ["model", "data", *_COLUMNS], [[k.model, k.data, *_cells(k.whole)] for k in _ranked(models)]
        ),
        **{
            name: _markdown(
                ["model", "question", *_COLUMNS],
                [[k.model, part.relation, *_cells(part)] for k in by_data[data] for part in k.parts],
            )
            for name, data in SETS.items()
        },
        "sources": _markdown(
            ["data", "answers from", "commit", "licence", "models"],
            [
                [
                    data,
                    f"[{source.removeprefix('https://github.com/')}]({source})",
                    f"`{commit[:8]}`, {date}",
                    licence,
                    str(n),
                ]
                for (data, source, commit, date, licence), n in _sources(models).items()
            ],
        ),
    }


SETS = {"circles": "VLMs are blind", "pope": "POPE", "whatsup": "What'sUp", "blink": "BLINK"}
"""The data sets, by the names of their tables."""
_COLUMNS = ("accuracy", "followed", "inverted", "looking", "pairs", "verdict")


def _ranked(models: Sequence[Known]) -> list[Known]:
    return sorted(models, key=lambda known: -known.whole.looking[0])


def _sources(models: Sequence[Known]) -> dict[tuple[str, str, str, str, str], int]:
    found: defaultdict[tuple[str, str, str, str, str], int] = defaultdict(int)
    for k in models:
        found[k.data, k.source, k.commit, k.date, k.licence] += 1
    return found


def _cells(found: Result) -> list[str]:
    return [
        percent(found.accuracy),
        percent(found.followed),
        percent(found.inverted),
        interval(found),
        f"{found.pairs}",
        found.verdict,
    ]


def percent(share: float) -> str:
    """Return a share in per cent.

    >>> percent(0.8125), percent(1.0)
    ('81.2 %', '100.0 %')
    """
    return f"{100 * share:.1f} %"


def interval(found: Result) -> str:
    """Return looking with its interval, in per cent."""
    value, low, high = (f"{100 * end:.1f}".replace("-0.0", "0.0").replace("-", "−") for end in found.looking)
    if low == "0.0" and found.looking[1] > 0:
        low = "above 0"
    if high == "0.0" and found.looking[2] < 0:
        high = "below 0"
    return f"{value} [{low}, {high}]"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def with_tables(page: str, made: Mapping[str, str]) -> str:
    """Return the page with its tables made anew: each follows a comment with its name."""
    for name, table in made.items():
        page, n = re.subn(rf"(<!-- {name} -->\n)(?:\|.*\n)*", lambda found: f"{found[1]}{table}\n", page)  # noqa: B023
        if n != 1:
            raise ValueError(f"the page has {n} places for the table {name}")
    return page


# The figure.


_GROUNDS = {
    "light": ("#1f2328", "#59636e", "#d1d9e0", ("#6a2c91", "#0072b2", "#c45300", "#00795a")),
    "dark": ("#f0f6fc", "#9198a1", "#3d444d", ("#c9a4f2", "#6fbdf0", "#ffb27a", "#55d3ae")),
}
"""Ink, quiet ink, rule and the colours of the data sets, on both grounds."""


def figure(models: Sequence[Known], ground: str) -> Figure:
    """Draw accuracy against looking: a dot for each model and data set, a small one for each kind of question."""
    ink, quiet, rule, colours = _GROUNDS[ground]
    with styled():
        drawn = Figure(figsize=(10, 5.6), layout="constrained", facecolor="none")
        axes = drawn.add_subplot(facecolor="none")
        axes.plot([0.5, 1], [0, 1], color=rule, linewidth=1.4, zorder=1)
        axes.axhline(0, color=rule, linewidth=1.0, zorder=1)
        along: dict[str, Any] = {
            "rotation": math.degrees(math.atan(2)),
            "rotation_mode": "anchor",
            "transform_rotates_text": True,
        }
        axes.text(0.63, 0.235, "two balanced answers", color=quiet, fontsize=10, va="top", **along)
        for colour, data in zip(colours, SETS.values(), strict=True):
            some = [known for known in models if known.data == data]
            parts = [part for known in some for part in known.parts]
            axes.scatter(*_places(parts), s=13, color=colour, alpha=0.45, linewidth=0, zorder=2)
            axes.scatter(
                *_places([known.whole for known in some]),
                s=58,
                color=colour,
                linewidth=0,
                zorder=3,
                label=f"{data} ({len(some)})",
            )
        for known, relation, words, x, y in _named(models):
            found = next(each for each in known.results if each.relation == relation)
            if relation != ALL:
                colour = dict(zip(SETS.values(), colours, strict=True))[known.data]
                axes.scatter(*_places([found]), s=52, color=colour, edgecolor=ink, linewidth=1.1, zorder=4)
            axes.annotate(
                words,
                (found.accuracy, found.looking[0]),
                xytext=(x, y),
                textcoords="offset points",
                color=ink,
                fontsize=10.5,
                ha="right" if x < 0 else "left" if x else "center",
                va="center",
                arrowprops={"arrowstyle": "-", "color": quiet, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 4},
            )
        axes.set(xlim=(0.2, 1.01), ylim=(-0.13, 1.02))
        axes.set_xlabel("accuracy", color=ink, fontsize=12)
        axes.set_ylabel("looking: followed − inverted", color=ink, fontsize=12)
        ticks = [0.2, 0.4, 0.6, 0.8, 1.0]
        axes.set_xticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks], color=ink, fontsize=10.5)
        axes.set_yticks(
            [0.0, *ticks], [f"{100 * tick:.0f} %" for tick in (0.0, *ticks)], color=ink, fontsize=10.5
        )
        axes.tick_params(color=rule)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(rule)
        axes.legend(loc="upper left", labelcolor=ink, fontsize=11, handletextpad=0.3, borderaxespad=0.2)
    return drawn


def _places(found: Sequence[Result]) -> tuple[list[float], list[float]]:
    return [each.accuracy for each in found], [each.looking[0] for each in found]


_NAMED = (
    ("circles_claude-3-sonnet", "circles overlap", "Claude 3 Sonnet: do the circles overlap?", -34, 20),
    ("circles_claude-3.5-sonnet", "circles overlap", "Claude 3.5 Sonnet: the same", 0, -30),
    ("blink_gpt-4o", "Multi-view Reasoning", "GPT-4o: which way does the camera move?", 26, -20),
    ("blink_gpt-4o", ALL, "GPT-4o", -30, 18),
    ("blink_instructblip-7b", ALL, "InstructBLIP-7B", -66, 50),
    ("pope_clip-vit-l-14-336", ALL, "CLIP, by captions", 24, -14),
    ("circles_gemini-1.5-pro", ALL, "Gemini 1.5 Pro", -34, 24),
    ("whatsup_llava-1.5-7b_scene-graph-first", ALL, "LLaVA-1.5-7B, scene graph first", -50, 16),
)
"""The dots that are named: file, relation, words, and where the words stand."""


def _named(models: Sequence[Known]) -> Iterator[tuple[Known, str, str, int, int]]:
    by_file = {path.stem: known for path, known in read().items()}
    for stem, relation, words, x, y in _NAMED:
        if by_file[stem] in models:
            yield by_file[stem], relation, words, x, y


def main(arguments: Sequence[str]) -> None:
    """Compute the results if there are logs, and make the page."""
    for given in arguments:
        compute(Path(given))
    models = list(read().values())
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables(models)), encoding="utf-8")
    for ground in _GROUNDS:
        place = ASSETS / f"known_models_{ground}.svg"
        with rc_context({"svg.hashsalt": ground}):  # the same names at every run
            figure(models, ground).savefig(place, transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1:])
