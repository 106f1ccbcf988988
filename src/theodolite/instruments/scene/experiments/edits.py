"""Answers before and after edits of the scene or of its marks (`theodolite.instruments.scene.data.pairs`)."""

from __future__ import annotations

from collections.abc import Iterator

from theodolite.instruments.scene.data.pairs import BEFORE, EDITS
from theodolite.instruments.scene.reading.results import AnswerResult, read_answer_result
from theodolite.pairs import AnsweredPair
from theodolite.runs import Result, Run


def edited_pairs(run: Run) -> Iterator[AnsweredPair]:
    """Each question of a run of pairs before and after its edits, where both were measured."""
    found: dict[str, dict[str, tuple[Result, AnswerResult]]] = {}
    for result in run.results():
        row = read_answer_result(result)
        if row.is_measured:
            found.setdefault(row.question.id, {})[row.setting] = result, row
    for name, settings in found.items():
        if BEFORE not in settings:
            continue
        result, row = settings[BEFORE]
        for setting, (other, after) in settings.items():
            if setting in EDITS:
                yield AnsweredPair(
                    name,
                    EDITS[setting],
                    row.question.scene,
                    row.answer,
                    after.answer,
                    gold=row.question.gold,
                    edited_gold=after.question.gold,
                    split=str(result.item.meta["split"]),
                    relation=row.question.competency,
                    shown=(result.item.name, other.item.name),
                )


def pairs_chance(run: Run) -> list[float]:
    """The accuracy of a random choice, for each question of a run of pairs."""
    rows = (read_answer_result(result) for result in run.results())
    return [1 / len(row.question.options) for row in rows if row.setting == BEFORE]
