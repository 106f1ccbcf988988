"""Answers read and scored: plain questions, edits, several anchors, several models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from theodolite.answers import READER, Answer
from theodolite.answers.grading import answers_right, is_right, read_item
from theodolite.core.scores import ItemScore, column, metric_of
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import PLAIN, Choice, Item
from theodolite.instruments.grid.data.batch import (
    CLEARED,
    DECOYED,
    EMPTIED,
    SWAPPED,
)
from theodolite.instruments.grid.data.files import IMPORTED
from theodolite.instruments.grid.data.recipe import PAPER, RELEASED
from theodolite.instruments.grid.formulas.maps import relation_shift, shift
from theodolite.instruments.grid.published import paper_accuracies
from theodolite.runs import Parsed, Result, Run
from theodolite.stats import Scores, score_mean
from theodolite.stats.scores import difference_table

# Plain questions: answers read and scored by bucket and density (the paper's Tables 3 and 4).
#
# On pure scenes the right answer and that of a bag of words differ, so a model near one is far from the other.
#
# accuracy        1 if the answer is right; an answer that cannot be read is not right
# bow_agreement   1 if the answer is that of a bag of words


ACCURACY = "grid.accuracy"
BOW_AGREEMENT = "grid.bow_agreement"
NOT_ASKED = {"failed", "pending"}


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """One item of a run and its answer."""

    result: Result
    answer: Answer

    @property
    def item(self) -> Item:
        """The item that was asked."""
        return self.result.item

    @property
    def meta(self) -> Mapping[str, Any]:
        """What only the grid knows about the item."""
        return cast("Mapping[str, Any]", self.result.item.meta)

    @property
    def is_right(self) -> bool:
        """True if the answer is right."""
        return answers_right(self.result.item, self.answer)

    @property
    def follows_words(self) -> bool:
        """True if the answer is that of a bag of words."""
        return is_right(self.answer, str(self.meta["bag_of_words"]))

    @property
    def misleads_words(self) -> bool:
        """True if the answer of a bag of words is wrong."""
        return str(self.meta["bag_of_words"]) not in self.result.item.truth.golds

    @property
    def said(self) -> str | None:
        """The answer as text; None if there is none."""
        return str(self.answer.value) if self.answer.is_read else None

    @property
    def choice(self) -> Choice | None:
        """The log-probabilities of the options, where they were measured."""
        return self.result.record.choice if self.result.record is not None else None

    @property
    def reason(self) -> str:
        """Why there is no answer: pending, failed, refused, cut off, ambiguous, unreadable …; empty if there is one."""
        if self.answer.is_read:
            return ""
        record = self.result.record
        if record is None:
            return "pending"
        return "failed" if record.response.status == "failed" else self.answer.status


def read_answers(run: Run) -> list[AnsweredItem]:
    """Read every item of a run with its answer."""
    answers = [AnsweredItem(result, read_item(result.item, result.record)) for result in run.results()]
    run.write_parsed(
        Parsed(answer.result.item.id, READER, answer.answer.status, answer.answer.value)
        for answer in answers
        if answer.result.record is not None and answer.result.record.response.is_answered
    )
    return answers


def accuracy_scores(run: Run) -> list[ItemScore]:
    """Score both metrics on every scene.

    A failed request has no value. An answer that was refused or cannot be read counts as 0, with the reason.
    """
    scores: list[ItemScore] = []
    for answer in read_answers(run):
        name, group = answer.item.name, f"{answer.item.truth.group} {answer.meta['density']}"
        for key, is_true in ((ACCURACY, answer.is_right), (BOW_AGREEMENT, answer.follows_words)):
            value = None if answer.reason in NOT_ASKED else float(is_true)
            scores.append(ItemScore(name, key, value, name, group=group, reason=answer.reason))
    return scores


def accuracy_table(model: str, scores: Sequence[ItemScore]) -> Table:
    """Return accuracy and agreement by bucket, at each density."""
    groups = list(dict.fromkeys(score.group for score in scores))
    densities = list(dict.fromkeys(group.partition(" ")[2] for group in groups))
    rows: list[list[Cell]] = []
    for bucket in dict.fromkeys(group.partition(" ")[0] for group in groups):
        row: list[Cell] = [bucket]
        for density in densities:
            some = [score for score in scores if score.group == f"{bucket} {density}"]
            row += [score_mean(metric_of(key), some) for key in (ACCURACY, BOW_AGREEMENT)]
        rows.append(row)
    columns = [Column("bucket", "bucket")]
    for density in densities:
        columns += [
            column(ACCURACY, f"accuracy_{density}", f"right, {density}"),
            column(BOW_AGREEMENT, f"bow_agreement_{density}", f"like a bag of words, {density}"),
        ]
    return Table.of("grid.accuracy", model, columns, rows, _notes(scores))


def _notes(scores: Sequence[ItemScore]) -> list[str]:
    """Return how many answers have no value or could not be read, by reason."""
    mine = [score for score in scores if score.metric == ACCURACY]
    reasons = dict.fromkeys(score.reason for score in mine if score.reason)
    return [
        f"{sum(score.reason == reason for score in mine)} of {len(mine)} answers: {reason}."
        for reason in reasons
    ]


# Questions with several anchors: which of them does a model ignore?
#
# A question of depth two or three restricts its targets by two or three anchors. A model that ignores anchor k gives the
# answer without it, which on pure scenes is wrong.
#
# deep_right         1 if the answer is right
# dropped_anchor_k   1 if the answer is the one without anchor k, where that is wrong; k from 1
# deep_bag_of_words  1 if the answer is the one without any anchor, where that is wrong


def anchor_scores(run: Run) -> list[ItemScore]:
    """Score every metric on every scene; without a value where the answer could not be read."""
    scores: list[ItemScore] = []
    for answer in read_answers(run):
        scene, split = answer.item.subject, answer.item.truth.split
        for key, is_true in _values(answer):
            value = None if answer.reason else float(is_true)
            scores.append(ItemScore(scene, f"grid.{key}", value, scene, split, reason=answer.reason))
    return scores


def _values(answered: AnsweredItem) -> Iterator[tuple[str, bool]]:
    yield "deep_right", answered.is_right
    for k, without in enumerate(answered.meta["dropped"], 1):
        if without is not None and without not in answered.item.truth.golds:
            yield f"dropped_anchor_{k}", is_right(answered.answer, without)
    if answered.misleads_words:
        yield "deep_bag_of_words", answered.follows_words


# Behaviour under edits: does the answer depend on the relation, or on what a bag of words counts?
#
# Each scene is asked as it is and after edits whose right answer is known (`theodolite.instruments.grid.data.batch`):
#
# swapped     every direction reversed; the right answer changes and that of a bag of words is wrong
# decoyed     look-alikes of a target added outside the valid region until a bag of words is wrong; the right answer stays
# cleared     objects removed that are neither named nor look like a target; the right answer stays
# emptied     all objects removed
# exchanged, target moved, anchor moved
#             two objects exchange their cells, or one object moves to an empty cell; the right answer changes
#
# Metrics of answers: right; swap_changes and swap_follows (the answer is another, the right one, after the swap); decoy_keeps
# and clear_keeps (the answer stays); empty_changes; bag_of_words (the answer is that of a bag of words, where that is wrong).
# Metrics of log-probabilities: swap_shift and decoy_shift, ½ Σ |p − p′|; heeds_relation, their difference. A model that uses
# the relation shifts with the swap and not with decoys.


def edit_scores(run: Run) -> list[ItemScore]:
    """Score every metric on every scene. Edits that a scene does not have give no score, nor do shifts without log-probabilities."""
    return [score for edits in _by_scene(run) for score in _scene_scores(edits)]


def _by_scene(run: Run) -> Iterator[dict[str, AnsweredItem]]:
    """Yield the answers about each scene, by edit, for scenes whose unedited form was asked about."""
    scenes: dict[str, dict[str, AnsweredItem]] = {}
    for answer in read_answers(run):
        scenes.setdefault(answer.item.subject, {})[answer.item.truth.condition] = answer
    return (edits for edits in scenes.values() if PLAIN in edits)


def _scene_scores(edits: Mapping[str, AnsweredItem]) -> Iterator[ItemScore]:
    plain = edits[PLAIN]
    scene, split = plain.item.subject, plain.item.truth.split
    answers = {kind: answer.said for kind, answer in edits.items()}

    def score(key: str, value: float, *needed: str) -> ItemScore:
        """Return the score, or the reason why one of the answers it needs is missing."""
        reason = next((edits[kind].reason for kind in needed if edits[kind].reason), "")
        return ItemScore(scene, f"grid.{key}", None if reason else float(value), scene, split, reason=reason)

    before = answers[PLAIN]
    missing = plain.reason
    right = None if missing in NOT_ASKED else float(plain.is_right)
    yield ItemScore(scene, "grid.right", right, scene, split, reason=missing)
    if plain.misleads_words:
        yield score("bag_of_words", plain.follows_words, PLAIN)
    if SWAPPED in edits:
        yield score("swap_changes", answers[SWAPPED] != before, PLAIN, SWAPPED)
        yield score("swap_follows", edits[SWAPPED].is_right, PLAIN, SWAPPED)
    for key, kind in (("decoy_keeps", DECOYED), ("clear_keeps", CLEARED)):
        if kind in edits:
            yield score(key, answers[kind] == before, PLAIN, kind)
    if EMPTIED in edits:
        yield score("empty_changes", answers[EMPTIED] != before, PLAIN, EMPTIED)
    swap, decoy = (
        shift(plain.choice, edits[kind].choice) if kind in edits else None for kind in (SWAPPED, DECOYED)
    )
    if swap is not None:
        yield score("swap_shift", swap)
    if decoy is not None:
        yield score("decoy_shift", decoy)
    both = relation_shift(swap, decoy)
    if both is not None:
        yield score("heeds_relation", both)


# Several models on the same scenes: accuracies beside the paper's Tables 3 and 4, and paired tests.


_PAPER_PRESETS = (PAPER.name, RELEASED.name, IMPORTED)
"""The kinds of scenes that the paper's numbers stand beside."""


def model_tables(runs: Sequence[Run]) -> list[Table]:
    """Return the accuracy of every model by bucket and density, and the difference of every two; none for fewer than two runs."""
    if len(runs) < 2:
        return []
    scores = [
        [score for score in accuracy_scores(run) if score.metric == ACCURACY and score.value is not None]
        for run in runs
    ]
    names = [run.info.model for run in runs]
    if len(set(names)) < len(names):  # one model on several data sets, or twice
        names = [run.folder.name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run.folder) for run in runs]
    paper = paper_accuracies() if all(map(_is_of_paper, runs)) else {}
    return [_accuracies(names, scores, paper), _differences(dict(zip(names, scores, strict=True)))]


def _is_of_paper(run: Run) -> bool:
    """Return True if all scenes are of a preset of the paper; runs of older versions do not state it."""
    return all(
        result.item.meta.get("mode") == "pure" and result.item.meta.get("preset") in _PAPER_PRESETS
        for result in run.results()
    )


def _accuracies(
    names: Sequence[str], scores: Sequence[Sequence[ItemScore]], paper: Mapping[str, Mapping[str, float]]
) -> Table:
    groups = list(dict.fromkeys(score.group for some in scores for score in some))
    paper = {name: known for name, known in paper.items() if any(group in known for group in groups)}
    shared = [group for group in groups if all(group in known for known in paper.values())]
    rows: list[list[Cell]] = []
    for group in groups:
        ours: list[Cell] = [
            score_mean(metric_of(ACCURACY), [s for s in some if s.group == group]) for some in scores
        ]
        rows.append([group, *ours, *(known.get(group) for known in paper.values())])
    last: list[Cell] = ["mean over these" if shared == groups else "mean over those of the paper"]
    last += [score_mean(metric_of(ACCURACY), [s for s in some if s.group in shared]) for some in scores]
    last += [float(np.mean([known[group] for group in shared])) for known in paper.values()]
    columns = [
        Column("bucket", "bucket"),
        *(column(ACCURACY, f"model_{i + 1}", name) for i, name in enumerate(names)),
        *(column(ACCURACY, f"paper_{name}", f"{name} (paper)") for name in paper),
    ]
    notes = [
        "Paper: Tables 3 and 4, pure scenes of its own generator, 50 questions each; 2 points are one question."
        if paper
        else f"The paper's Tables 3 and 4 are shown only beside pure scenes of {', '.join(_PAPER_PRESETS)}."
    ]
    return Table.of("grid.accuracy_models", "Accuracy of several models", columns, [*rows, last], notes)


def _differences(scores: Mapping[str, Sequence[ItemScore]]) -> Table:
    return difference_table(
        "grid.accuracy_differences",
        "Differences of accuracy",
        Scores(scores).difference(),
        {ACCURACY: column(ACCURACY, "difference", "difference", difference=True)},
        heads=[Column("first", "model"), Column("second", "other model")],
    )
