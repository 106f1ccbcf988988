"""Computes the numbers and draws the figure of the page *A real model*: ``python docs/site/real_model.py FOLDER``.

FOLDER holds the recorded answers of LLaVA-1.5-7B: ``results.json`` and ``images``. A test computes the same tables and compares
them with the page.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.answers import json_values
from theodolite.core.drawing import INK, QUIET, TRUE, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL
from theodolite.instruments.ask.instrument import ASK
from theodolite.instruments.ask.score import AskScore, score_ask
from theodolite.instruments.instrument import Study, UserData
from theodolite.instruments.scene.graph_parser import parse_graph
from theodolite.instruments.trace.claims.reading import extract_many
from theodolite.pairs import AnsweredPair, judge_looking
from theodolite.runs import Run, RunSettings, measure_run

ASSETS = Path(__file__).parents[1] / "assets"
PROMPTS = {
    "Multiple Choice": "multiple choice",
    "Chain-of-Thought": "describe, then answer",
    "Scene Graph CoT": "scene graph, then answer",
}
COUPLES = (
    "left / right",
    "left / on top",
    "right / on top",
    "left / under",
    "right / under",
    "on top / under",
)
_INVERTED, _MOVED, _UNMOVED, _LOST = "#6a4c93", "#e69f00", "#aab0b6", "#ffffff"
_DIRECTIONS = {"Left": "left", "Right": "right", "On top": "above", "Under": "below"}
_CLAIMED = {"left of": "Left", "right of": "Right", "on": "On top", "on top of": "On top", "over": "On top", "under": "Under", "below": "Under", "beneath": "Under"}  # fmt: skip


def measure(folder: Path) -> dict[str, AskScore]:
    """Return the scores of every prompt, from the recorded answers."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for label in PROMPTS:
            own = UserData("ask", "questions", folder / "results.json", folder / "images")
            (plan,) = ASK.plan(Study(Path(place) / "data", data=own), "text")
            model = f"replay:{folder / 'results.json'}?prompt_label={label}"
            run = Path(place) / label
            measure_run(run, RunSettings(plan.kind, model, 0, plan.settings), plan.items, plan.factory(model))
            with Run.open(run) as opened:
                found[label] = score_ask(opened)
    return found


def accuracy_table(scores: dict[str, AskScore]) -> str:
    """Accuracy beside what pairs show, by prompt."""
    head = [
        "prompt",
        "accuracy",
        *(f"{couple}: both right" for couple in ("left / right", "left / under", "right / under")),
    ]
    head.insert(3, "left / right: same answer twice")
    rows = []
    for label, score in scores.items():
        counts = {couple: _counts(_of(score.pairs, couple)) for couple in COUPLES}
        both = {couple: f"{n['followed']} of {sum(n.values())}" for couple, n in counts.items()}
        right = next(each.accuracy for each in score.settings if each.setting == "picture")
        accuracy = f"{100 * right.value:.1f} %" if right else ""
        same = f"{counts['left / right']['unmoved']} of {sum(counts['left / right'].values())}"
        rows.append(
            [
                PROMPTS[label],
                accuracy,
                both["left / right"],
                same,
                both["left / under"],
                both["right / under"],
            ]
        )
    return _markdown(head, rows)


def verdict_table(scores: dict[str, AskScore]) -> str:
    """Return the verdict on all pairs, on left against right, and on pairs with *under*."""
    rows = []
    for label, score in scores.items():
        parts = {
            "all": score.pairs,
            "left / right": _of(score.pairs, "left / right"),
            "with *under*": [pair for pair in score.pairs if "under" in pair.relation],
        }
        for name, pairs in parts.items():
            relevant = [pair for pair in pairs if pair.edit.is_relevant]
            judged = judge_looking(relevant)
            shares = [f"{100 * share.value:.0f} %" for share in (judged.followed, judged.inverted) if share]
            accuracy = f"{100 * judged.accuracy.value:.0f} %" if judged.accuracy else ""
            looking = _share(judged.looking)
            rows.append([PROMPTS[label], name, accuracy, *shares, looking, f"**{judged.standing}**"])
    return _markdown(["prompt", "pairs of", "accuracy", "followed", "inverted", "looking", "verdict"], rows)


@dataclass(frozen=True, slots=True)
class _Asked:
    target: str
    reference: str
    text: str
    answer: str
    truth: str


def _asked(folder: Path, label: str) -> list[_Asked]:
    rows = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    found = []
    for row in rows:
        if row["prompt_label"] == label:
            names = re.search(r"Where is the (.+?) relative to the (.+?)\?", row["prompt"])
            if names is not None:
                found.append(
                    _Asked(names[1], names[2], row["scene_graph"], row["answer"], row["ground_truth"])
                )
    return found


def graphs_table(folder: Path) -> str:
    """Return what the model's own scene graphs say, by the right answer."""
    rows = []
    asked = _asked(folder, "Scene Graph CoT")
    for truth in (*_DIRECTIONS, "all"):
        some = [each for each in asked if truth in {each.truth, "all"}]
        drawn = [(each, direction) for each in some if (direction := _drawn_direction(each))]
        placed = sum(direction == _DIRECTIONS[each.truth] for each, direction in drawn)
        own = sum(direction == _DIRECTIONS.get(each.answer) for each, direction in drawn)
        right = sum(each.answer == each.truth for each, _ in drawn)
        rows.append([truth, len(some), len(drawn), f"{placed} of {len(drawn)}", f"{right} of {len(drawn)}", f"{own} of {len(drawn)}"])  # fmt: skip
    head = [
        "right answer",
        "graphs",
        "with two boxes",
        "boxes right",
        "answer right",
        "boxes agree with the answer",
    ]
    return _markdown(head, rows)


def graphs_read(folder: Path) -> tuple[int, int, int]:
    """How many graphs there are, how many contain JSON, and how many the reader of numbered star graphs reads."""
    texts = [each.text for each in _asked(folder, "Scene Graph CoT")]
    return len(texts), sum(any(True for _ in json_values(t)) for t in texts), sum(parse_graph(t, 1, [1, 2]).is_read for t in texts)  # fmt: skip


def _drawn_direction(asked: _Asked) -> str:
    """Return the direction from the reference to the target, by the centres of their boxes. Empty if a box is missing."""
    boxes = {}
    for value in json_values(asked.text):
        for name, box in _boxes(value.value):
            boxes.setdefault(name, box)
    target, reference = boxes.get(asked.target), boxes.get(asked.reference)
    if target is None or reference is None:
        return ""
    try:
        return CARDINAL.between(reference, target).name
    except UsageError:  # the same centre
        return ""


def _boxes(value: Any, name: str = "") -> Iterator[tuple[str, Box]]:
    """Yield the named boxes anywhere in a JSON value, as four numbers under ``position``."""
    if isinstance(value, list):
        for each in value:
            yield from _boxes(each, name)
    if not isinstance(value, dict):
        return
    own = next(
        (str(value[key]) for key in ("name", "type", "label") if isinstance(value.get(key), str)), name
    )
    place = value.get("position")
    if isinstance(place, list) and len(place) == 4 and all(isinstance(x, int | float) for x in place):
        x0, y0, x1, y1 = (1000.0 * x for x in place)
        if x0 < x1 and y0 < y1:
            yield own.replace("_", " ").casefold(), Box(x0, y0, x1, y1)
    for key, each in value.items():
        yield from _boxes(each, key)


def prose_table(folder: Path) -> str:
    """Return what the model's descriptions claim about the two objects, by the right answer."""
    asked = _asked(folder, "Chain-of-Thought")
    claims = extract_many([each.text for each in asked])
    said: dict[str, list[tuple[_Asked, str]]] = {}
    for each, found in zip(asked, claims, strict=True):
        for claim in found:
            heads = (claim.subject.head, claim.object.head if claim.object else "")
            names = (each.target.split(), each.reference.split())
            is_placing = claim.kind == "spatial" and not claim.is_negated and not claim.hedge
            if is_placing and all(h and h.split()[-1] in n for h, n in zip(heads, names, strict=True)) and claim.predicate in _CLAIMED:  # fmt: skip
                said.setdefault(each.truth, []).append((each, _CLAIMED[claim.predicate]))
    rows = []
    for truth in (*_DIRECTIONS, "all"):
        some = said.get(truth, []) if truth != "all" else [one for each in said.values() for one in each]
        n = len(some)
        true = sum(claimed == each.truth for each, claimed in some)
        own = sum(claimed == each.answer for each, claimed in some)
        texts = sum(truth in {each.truth, "all"} for each in asked)
        rows.append([truth, texts, n, f"{true} of {n}", f"{own} of {n}"])
    return _markdown(
        ["right answer", "descriptions", "claims that place the two", "true", "agree with the answer"], rows
    )


def figure(scores: dict[str, AskScore]) -> Drawing:
    """Bars of followed, moved and unmoved pairs, by prompt and by the two right answers."""
    with styled():
        drawn = new_figure(10.4, 3.9)
        panels = drawn.subplots(1, len(scores), sharey=True)
        for axes, (label, score) in zip(panels, scores.items(), strict=True):
            right = next(each.accuracy for each in score.settings if each.setting == "picture")
            axes.set_title(f"{PROMPTS[label]}\n", fontweight="bold", fontsize=11.5)
            axes.text(0, 1.03, f"accuracy {100 * right.value:.0f} %", transform=axes.transAxes, color=QUIET)
            for y, couple in enumerate(COUPLES):
                _bar(axes, y, _counts(_of(score.pairs, couple)))
            axes.set(xlim=(0, 100), xticks=[0, 25, 50, 75], yticks=range(len(COUPLES)), yticklabels=COUPLES)
            axes.set_ylim(len(COUPLES) - 0.45, -0.55)
            axes.tick_params(length=0)
            axes.spines["left"].set_visible(False)
            axes.spines["bottom"].set_visible(False)
        panels[0].get_yticklabels()[0].set_fontweight("bold")
        panels[1].set_xlabel("share of pairs of photographs, %")
        from matplotlib.patches import Patch

        drawn.legend(
            handles=[
                Patch(color=TRUE, label="followed: right about both"),
                Patch(color=_INVERTED, label="inverted: both exchanged"),
                Patch(color=_MOVED, label="moved elsewhere"),
                Patch(color=_UNMOVED, label="unmoved: the same answer"),
            ],
            loc="outside upper left",
            ncols=4,
            fontsize=10.5,
            handlelength=1.1,
        )
    return Drawing(drawn)


def _bar(axes: Any, y: int, counts: dict[str, int]) -> None:
    start, total = 0.0, sum(counts.values())
    for outcome, colour, ink in (("followed", TRUE, "white"), ("inverted", _INVERTED, "white"), ("moved", _MOVED, INK), ("unmoved", _UNMOVED, INK), ("lost", _LOST, INK)):  # fmt: skip
        width = 100 * counts[outcome] / total
        axes.barh(y, width, left=start, height=0.74, color=colour, edgecolor="white", linewidth=0.8, zorder=2)
        if width >= 9:
            axes.text(
                start + width / 2,
                y,
                f"{width:.0f}",
                ha="center",
                va="center",
                color=ink,
                fontsize=9.5,
                zorder=4,
            )
        start += width


def _of(pairs: Iterable[AnsweredPair], couple: str) -> list[AnsweredPair]:
    return [pair for pair in pairs if pair.relation == couple]


def _counts(pairs: Sequence[AnsweredPair]) -> dict[str, int]:
    return {
        each: sum(pair.outcome == each for pair in pairs)
        for each in ("followed", "inverted", "moved", "unmoved", "lost")
    }


def _share(estimate: Any) -> str:
    return f"{100 * estimate.value:.0f} % [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def tables(folder: Path) -> tuple[dict[str, str], dict[str, AskScore]]:
    """All tables of the page, by name, and the scores they come from."""
    scores = measure(folder)
    found = {
        "accuracy": accuracy_table(scores),
        "verdicts": verdict_table(scores),
        "graphs": graphs_table(folder),
        "prose": prose_table(folder),
    }
    return found, scores


if __name__ == "__main__":
    made, measured = tables(Path(sys.argv[1]))
    for title, text in made.items():
        sys.stdout.write(f"\n{title}\n\n{text}\n")
    sys.stdout.write(f"\ngraphs, with JSON, read as star graphs: {graphs_read(Path(sys.argv[1]))}\n")
    figure(measured).save(ASSETS / "real_model.svg")
