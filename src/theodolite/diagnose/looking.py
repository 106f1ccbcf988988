"""The verdicts of pairs in the record: shares by edit and by relation, and the pairs that are shown as examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from theodolite.core.estimates import Estimate
from theodolite.core.splits import OWN_SPLIT
from theodolite.core.types import content_hash
from theodolite.core.views import ItemRow
from theodolite.diagnose.record import ExhibitForm, Figure, LookingForm, PairsForm, ShownAnswer, Source
from theodolite.pairs import AnsweredPair, Edit, judge_looking, pair_shares

__all__ = ["by_source", "looking_form"]

_Key = TypeVar("_Key")
_SHARES = ("followed", "moved", "unmoved", "lost", "kept")
_EXHIBITS = 4


def by_source(pairs: Iterable[AnsweredPair]) -> dict[Source, list[AnsweredPair]]:
    """Separate the pairs of the user's own data from those of drawn pictures, own data first.

    A source without a relevant pair is left out: there is nothing to judge by.
    """
    found: dict[Source, list[AnsweredPair]] = {"own": [], "drawn": []}
    for pair in pairs:
        found["own" if pair.split == OWN_SPLIT else "drawn"].append(pair)
    return {source: some for source, some in found.items() if any(pair.edit.is_relevant for pair in some)}


def looking_form(
    source: Source, pairs: Sequence[AnsweredPair], *, chance: float | None, rows: Mapping[str, ItemRow]
) -> LookingForm:
    """Judge pairs, and summarise them by edit and by relation.

    Args:
        source: Where the pairs come from.
        pairs: The pairs, at least one of them relevant.
        chance: The accuracy of a random choice.
        rows: The rows of the model, by id, for exhibits.
    """
    found = judge_looking(pairs, chance=chance)
    return LookingForm(
        source=source,
        standing=found.standing,
        because=found.because,
        n_relevant=found.shares.n_relevant,
        n_neutral=found.shares.n_neutral,
        **{name: _figure(getattr(found.shares, name)) for name in _SHARES},
        proof=_figure(found.followed),
        dependence=_figure(found.dependence),
        bound=found.bound,
        excluded=list(found.excluded),
        not_excluded=list(found.not_excluded),
        edits=[_of_edit(edit, some) for edit, some in _grouped(pairs, lambda pair: pair.edit).items()],
        relations=_relations(pairs),
        exhibits=_exhibits(pairs, rows),
    )


def _of_edit(edit: Edit, pairs: Sequence[AnsweredPair]) -> PairsForm:
    return _summary(
        edit.name, pairs, is_relevant=edit.is_relevant, keeps=list(edit.keeps), excludes=list(edit.excludes)
    )


def _relations(pairs: Sequence[AnsweredPair]) -> list[PairsForm]:
    """Summarise the relevant pairs by relation. Empty if there is only one relation."""
    relevant = [pair for pair in pairs if pair.edit.is_relevant and pair.relation]
    groups = _grouped(relevant, lambda pair: pair.relation)
    if len(groups) < 2:
        return []
    return [_summary(name, some, is_relevant=True) for name, some in sorted(groups.items())]


def _summary(name: str, pairs: Sequence[AnsweredPair], *, is_relevant: bool, **more: list[str]) -> PairsForm:
    shares = pair_shares(pairs)
    figures = {share: _figure(getattr(shares, share)) for share in _SHARES}
    if not is_relevant:
        unread = [float(pair.outcome == "lost") for pair in pairs]
        figures["lost"] = _figure(_mean(unread, [pair.cluster for pair in pairs]))
    return PairsForm(name=name, is_relevant=is_relevant, n=len(pairs), **figures, **more)  # type: ignore[arg-type]


def _mean(values: list[float], clusters: list[str]) -> Estimate | None:
    from theodolite.stats import clustered_mean

    return clustered_mean(values, clusters)


def _grouped(
    pairs: Iterable[AnsweredPair], key: Callable[[AnsweredPair], _Key]
) -> dict[_Key, list[AnsweredPair]]:
    found: dict[_Key, list[AnsweredPair]] = {}
    for pair in pairs:
        found.setdefault(key(pair), []).append(pair)
    return found


def _exhibits(pairs: Sequence[AnsweredPair], rows: Mapping[str, ItemRow]) -> list[ExhibitForm]:
    """Choose examples by rule: two of the most frequent outcome of relevant pairs, and one of each other outcome.

    A changed neutral pair counts as another outcome. Within an outcome, edits take turns in the order of their names and the
    pair is the one with the smallest hash of its name, so that nobody picks the examples.
    """
    known = [pair for pair in pairs if all(name in rows for name in pair.shown)]
    order = sorted(known, key=lambda pair: content_hash([pair.item, pair.edit.name]))
    frequent = Counter(pair.outcome for pair in order if pair.edit.is_relevant).most_common()
    found: list[ExhibitForm] = []
    for place, (outcome, n) in enumerate(frequent):
        some = [pair for pair in order if pair.edit.is_relevant and pair.outcome == outcome]
        second = next((pair for pair in some if pair.edit != some[0].edit), some[-1])
        why = f"{outcome}, as {n} of {sum(k for _, k in frequent)} pairs"
        shown = [some[0], second] if place == 0 and second is not some[0] else some[:1]
        found += [_exhibit(pair, rows, why) for pair in shown]
    changed = [pair for pair in order if pair.outcome == "changed"]
    if changed:
        n = sum(not pair.edit.is_relevant for pair in order)
        found.append(_exhibit(changed[0], rows, f"changed, as {len(changed)} of {n} neutral pairs"))
    return found[:_EXHIBITS]


def _exhibit(pair: AnsweredPair, rows: Mapping[str, ItemRow], why: str) -> ExhibitForm:
    before, after = (rows[name] for name in pair.shown)
    return ExhibitForm(
        edit=pair.edit.name,
        is_relevant=pair.edit.is_relevant,
        outcome=pair.outcome,
        why=why,
        question=before.question,
        before=_shown(before),
        after=_shown(after),
        excludes=list(pair.edit.excludes),
    )


def _shown(row: ItemRow) -> ShownAnswer:
    return ShownAnswer(
        item=row.id, answer=row.answer, read_as=row.read_as, gold=row.gold, pictures=list(row.pictures)
    )


def _figure(estimate: Estimate | None) -> Figure | None:
    return None if estimate is None else Figure.of(estimate)
