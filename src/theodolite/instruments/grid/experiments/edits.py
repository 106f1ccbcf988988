"""Behaviour under edits: does the answer depend on the relation, or on what a bag of words counts?

Each scene is asked as it is and after edits whose right answer is known (`theodolite.instruments.grid.data.edits`):

swapped     every direction reversed; the right answer changes and that of a bag of words is wrong
decoyed     look-alikes of a target added outside the valid region until a bag of words is wrong; the right answer stays
cleared     objects removed that are neither named nor look like a target; the right answer stays
emptied     all objects removed
exchanged, target moved, anchor moved
            two objects exchange their cells, or one object moves to an empty cell; the right answer changes

Metrics of answers: right; swap_changes and swap_follows (the answer is another, the right one, after the swap); decoy_keeps
and clear_keeps (the answer stays); empty_changes; bag_of_words (the answer is that of a bag of words, where that is wrong).
Metrics of log-probabilities: swap_shift and decoy_shift, ½ Σ |p − p′|; heeds_relation, their difference. A model that uses
the relation shifts with the swap and not with decoys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from theodolite.core.scores import Capability, ItemScore, Metric
from theodolite.instruments.grid.data.edits import (
    ANCHOR_MOVED,
    CLEARED,
    DECOYED,
    EMPTIED,
    EXCHANGED,
    PLAIN,
    SWAPPED,
    TARGET_MOVED,
)
from theodolite.instruments.grid.experiments.accuracy import NOT_ASKED, AnsweredItem, read_answers
from theodolite.instruments.grid.formulas.shift import relation_shift, shift
from theodolite.instruments.grid.questions import read_answer
from theodolite.pairs import AnsweredPair
from theodolite.pairs.edits import CLEAR, DECOY, EXCHANGE, MOVE_REFERENCE, MOVE_TARGET
from theodolite.runs import Run


def _metric(key: str, name: str, needs: Capability = "text", *, higher: bool = True) -> Metric:
    return Metric(f"grid.{key}", name, higher, "ours", needs)


METRICS: tuple[Metric, ...] = (
    _metric("right", "answer is right"),
    _metric("swap_changes", "answer changes when the direction is reversed"),
    _metric("swap_follows", "answer follows the reversed direction"),
    _metric("decoy_keeps", "answer stays when look-alikes are added elsewhere"),
    _metric("clear_keeps", "answer stays when unrelated objects are removed"),
    _metric("empty_changes", "answer changes with an empty picture"),
    _metric("bag_of_words", "answer of a bag of words, where it is wrong", higher=False),
    _metric("swap_shift", "shift of the answer when the direction is reversed", "choices"),
    _metric("decoy_shift", "shift of the answer with look-alikes elsewhere", "choices", higher=False),
    Metric(
        "grid.heeds_relation",
        "shift with the direction minus shift with look-alikes",
        higher_is_grounded=True,
        origin="ours",
        needs="choices",
        bounds=(-1.0, 1.0),
        unit="points",
    ),
)


PICTURE_EDITS = {
    EXCHANGED: EXCHANGE,
    TARGET_MOVED: MOVE_TARGET,
    ANCHOR_MOVED: MOVE_REFERENCE,
    DECOYED: DECOY,
    CLEARED: CLEAR,
}
"""The edits of the picture. A reversed direction is an edit of the question, so it does not show that a model looks."""


def edit_scores(run: Run) -> list[ItemScore]:
    """Every metric of every scene. An edit that a scene does not have gives no score, nor do shifts without log-probabilities."""
    return [score for edits in _by_scene(run) for score in _scene_scores(edits)]


def edited_pairs(run: Run) -> Iterator[AnsweredPair]:
    """Each scene before and after the edits of its picture."""
    for edits in _by_scene(run):
        plain = edits[PLAIN]
        scene, split = str(plain.meta["scene"]), str(plain.meta["split"])
        for kind, edit in PICTURE_EDITS.items():
            if kind not in edits or any(edits[each].result.record is None for each in (PLAIN, kind)):
                continue
            items = plain.result.item, edits[kind].result.item
            before, after = (
                read_answer(each.result.item, each.result.record) for each in (plain, edits[kind])
            )
            yield AnsweredPair(
                scene,
                edit,
                scene,
                before,
                after,
                gold=str(items[0].meta["gold"]),
                edited_gold=str(items[1].meta["gold"]),
                split=split,
                relation=str(plain.meta.get("relation") or ""),
                shown=(items[0].name, items[1].name),
            )


def _by_scene(run: Run) -> Iterator[dict[str, AnsweredItem]]:
    """The answers about each scene, by edit, of scenes that were asked about as they are."""
    scenes: dict[str, dict[str, AnsweredItem]] = {}
    for each in read_answers(run):
        scenes.setdefault(str(each.meta["scene"]), {})[str(each.meta["condition"])] = each
    return (edits for edits in scenes.values() if PLAIN in edits)


def _scene_scores(edits: Mapping[str, AnsweredItem]) -> Iterator[ItemScore]:
    meta = edits[PLAIN].meta
    scene, split = str(meta["scene"]), str(meta["split"])
    said = {kind: each.said for kind, each in edits.items()}
    gold = {kind: str(each.meta["gold"]) for kind, each in edits.items()}

    def score(key: str, value: float, *needed: str) -> ItemScore:
        """The score, or the reason why one of the answers it needs is missing."""
        reason = next((edits[kind].reason for kind in needed if edits[kind].reason), "")
        return ItemScore(scene, f"grid.{key}", None if reason else float(value), scene, split, reason=reason)

    before = said[PLAIN]
    missing = edits[PLAIN].reason
    right = None if missing in NOT_ASKED else float(before == gold[PLAIN])
    yield ItemScore(scene, "grid.right", right, scene, split, reason=missing)
    if meta["bag_of_words"] != gold[PLAIN]:
        yield score("bag_of_words", before == meta["bag_of_words"], PLAIN)
    if SWAPPED in edits:
        yield score("swap_changes", said[SWAPPED] != before, PLAIN, SWAPPED)
        yield score("swap_follows", said[SWAPPED] == gold[SWAPPED], PLAIN, SWAPPED)
    for key, kind in (("decoy_keeps", DECOYED), ("clear_keeps", CLEARED)):
        if kind in edits:
            yield score(key, said[kind] == before, PLAIN, kind)
    if EMPTIED in edits:
        yield score("empty_changes", said[EMPTIED] != before, PLAIN, EMPTIED)
    swap, decoy = (
        shift(edits[PLAIN].choice, edits[kind].choice) if kind in edits else None
        for kind in (SWAPPED, DECOYED)
    )
    if swap is not None:
        yield score("swap_shift", swap)
    if decoy is not None:
        yield score("decoy_shift", decoy)
    both = relation_shift(swap, decoy)
    if both is not None:
        yield score("heeds_relation", both)
