"""Verdicts of pairs in the record: by edit and relation, with examples, words and the size that would settle them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from theodolite.core.drawing import QUIET
from theodolite.core.scores import OWN_SPLIT
from theodolite.core.tables import Cell, Column, Estimate, Table, listed, upper_first
from theodolite.core.types import content_hash, fields_of
from theodolite.core.views import ItemRow
from theodolite.diagnose.record import (
    Comparison,
    Diagnosis,
    LookingResult,
    OpenQuestion,
    PairExample,
    PairsResult,
    ShownAnswer,
    Source,
    Verdict,
)
from theodolite.instruments.instrument import Instrument
from theodolite.pairs import AnsweredPair, Edit, Standing, judge_looking, pair_shares, pairs_to_settle
from theodolite.pairs.outcomes import SHARES
from theodolite.stats.power import clusters_needed

__all__ = [
    "by_source",
    "instrument_verdict",
    "label_of",
    "looking_result",
    "model_verdict",
    "outcome_words",
    "readability_table",
]


# Table of the answers that could be read. Unread answers are not missing at random, so every diagnosis shows it.


_COLUMNS = [
    Column("model", "model"),
    Column("instrument", "instrument"),
    Column("asked", "asked", "count"),
    Column("read", "read", "share"),
    Column("refused", "refused", "count"),
    Column("none_of_these", "none of these", "count"),
    Column("cut_off", "cut off", "count"),
    Column("ambiguous", "ambiguous", "count"),
    Column("unreadable", "unreadable", "count"),
    Column("failed", "failed", "count"),
]


def readability_table(diagnosis: Diagnosis) -> Table:
    """Build the table, with one row for each model and instrument."""
    rows: list[list[Cell]] = []
    for model in diagnosis.models:
        for instrument in diagnosis.instruments:
            for view in instrument.models:
                c = view.counts
                if view.model != model.name or c is None or not c.planned:
                    continue
                asked = c.planned - c.pending
                read = 1 - c.lost / asked if asked else None
                lost = (c.refused, c.none_of_these, c.cut_off, c.ambiguous, c.unreadable, c.failed)
                rows.append([model.name, instrument.name, asked, read, *lost])
    return Table.of("diagnose.readability", "Answers that could be read", _COLUMNS, rows)


# The verdicts of pairs in the record: shares by edit and by relation, and the pairs that are shown as examples.


_Key = TypeVar("_Key")
_EXHIBITS = 4


def by_source(pairs: Iterable[AnsweredPair]) -> dict[Source, list[AnsweredPair]]:
    """Separate the pairs of the user's own data from those of drawn pictures, own data first.

    A source without a relevant pair is left out: there is nothing to judge by.
    """
    found: dict[Source, list[AnsweredPair]] = {"own": [], "drawn": []}
    for pair in pairs:
        found["own" if pair.split == OWN_SPLIT else "drawn"].append(pair)
    return {source: some for source, some in found.items() if any(pair.edit.is_relevant for pair in some)}


def looking_result(
    source: Source, pairs: Sequence[AnsweredPair], *, chance: float | None, rows: Mapping[str, ItemRow]
) -> LookingResult:
    """Judge pairs, and summarise them by edit and by relation.

    Args:
        source: Where the pairs come from.
        pairs: The pairs, at least one of them relevant.
        chance: The accuracy of a random choice.
        rows: The rows of the model, by id, for exhibits.
    """
    return LookingResult(
        **fields_of(judge_looking(pairs, chance=chance)),
        source=source,
        edits=[_of_edit(edit, some) for edit, some in _grouped(pairs, lambda pair: pair.edit).items()],
        relations=_relations(pairs),
        exhibits=_exhibits(pairs, rows),
    )


def _of_edit(edit: Edit, pairs: Sequence[AnsweredPair]) -> PairsResult:
    return _summary(
        edit.name, pairs, is_relevant=edit.is_relevant, keeps=list(edit.keeps), excludes=list(edit.excludes)
    )


def _relations(pairs: Sequence[AnsweredPair]) -> list[PairsResult]:
    """Summarise the relevant pairs by relation. Empty if there is only one relation."""
    relevant = [pair for pair in pairs if pair.edit.is_relevant and pair.relation]
    groups = _grouped(relevant, lambda pair: pair.relation)
    if len(groups) < 2:
        return []
    return [_summary(name, some, is_relevant=True) for name, some in sorted(groups.items())]


def _summary(
    name: str, pairs: Sequence[AnsweredPair], *, is_relevant: bool, **more: list[str]
) -> PairsResult:
    shares = pair_shares(pairs)
    estimates = {share: getattr(shares, share) for share in SHARES}
    if not is_relevant:
        unread = [float(pair.outcome == "lost") for pair in pairs]
        estimates["lost"] = _mean(unread, [pair.cluster for pair in pairs])
    return PairsResult(name=name, is_relevant=is_relevant, n=len(pairs), **estimates, **more)  # type: ignore[arg-type]


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


def _exhibits(pairs: Sequence[AnsweredPair], rows: Mapping[str, ItemRow]) -> list[PairExample]:
    """Choose examples by rule: two of the most frequent outcome of relevant pairs, and one of each other outcome.

    A changed neutral pair counts as another outcome. Within an outcome, edits take turns in the order of their names and the
    pair is the one with the smallest hash of its name, so that nobody picks the examples.
    """
    known = [pair for pair in pairs if all(name in rows for name in pair.shown)]
    order = sorted(known, key=lambda pair: content_hash([pair.item, pair.edit.name]))
    frequent = Counter(pair.outcome for pair in order if pair.edit.is_relevant).most_common()
    found: list[PairExample] = []
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


def _exhibit(pair: AnsweredPair, rows: Mapping[str, ItemRow], why: str) -> PairExample:
    before, after = (rows[name] for name in pair.shown)
    return PairExample(
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


# The words and colours of outcomes and verdicts, the same in every form of the report.


OUTCOMES: Mapping[str, str] = {
    "followed": "followed",
    "moved": "moved elsewhere",
    "unmoved": "did not move",
    "lost": "lost",
}
"""The outcomes of relevant pairs, in words. Neutral pairs are kept or changed."""
OUTCOME_COLOURS: Mapping[str, str] = {
    "followed": "#00775a",
    "moved": "#b07800",
    "unmoved": "#b8324a",
    "lost": "#c3c9cf",
}


class Tone(NamedTuple):
    """The colour of a verdict."""

    name: str
    """In the style sheet."""
    colour: str
    """On white."""
    terminal: str


TONES: Mapping[Standing, Tone] = {
    "looks": Tone("good", "#00694d", "green"),
    "looks at times": Tone("unsure", "#755c00", "yellow"),
    "does not look": Tone("bad", "#b00d27", "red"),
}
"""The verdicts that answer the question, from the most to the least."""
_NO_TONE = Tone("quiet", QUIET, "")


def tone_of(standing: Standing) -> Tone:
    """Return the colour of a verdict. One that answers nothing is grey."""
    return TONES.get(standing, _NO_TONE)


# The verdict of one instrument and of all instruments together, from the verdicts of pairs.


_IN = "{} in {{}}"
_AT_LEAST = "looks in {}, always or at times is not settled"
"""Looking is proven, but not how often."""


def label_of(instrument: str, source: Source) -> str:
    """Name what a verdict is about.

    The user's own data come first in every list.
    """
    return f"your data ({instrument})" if source == "own" else instrument


def outcome_words(looking: LookingResult | PairsResult) -> str:
    """Count the outcomes in words: how many pairs followed, moved and did not move."""
    n = looking.n_relevant if isinstance(looking, LookingResult) else looking.n
    counts = [(getattr(looking, name), words) for name, words in {**OUTCOMES, "lost": "were lost"}.items()]
    parts = [
        f"{round(figure.value * n)} {word}"
        for figure, word in counts
        if figure is not None and (figure.value > 0 or word == "followed")
    ]
    return f"of {n} pairs, {listed(parts)}"


def instrument_verdict(
    lookings: Sequence[LookingResult], judged: tuple[Standing, str] | None = None, why_not: str = ""
) -> Verdict:
    """Phrase the verdict of one instrument on a model. The user's own data decide if there are any.

    Args:
        lookings: The verdicts of its pairs, own data first.
        judged: A verdict by other means, if there are no pairs.
        why_not: Why there is no verdict.
    """
    if not lookings and judged is not None:
        standing, because = judged
        return Verdict(standing=standing, sentence=f"Without pairs: {because}.")
    if not lookings:
        return Verdict(standing="not measured", sentence=f"Not measured: {why_not.rstrip('.')}.")
    sentences = [
        f"{'On your data, ' if each.source == 'own' else ''}{outcome_words(each)}: {each.because}.{_by_relation(each)}"
        for each in lookings
    ]
    sentence = " ".join(upper_first(each) for each in sentences)
    return Verdict(standing=lookings[0].standing, sentence=sentence)


def _by_relation(looking: LookingResult) -> str:
    """Name the relations that are followed most and least, if they surely differ."""
    known = [(form.name, form.followed) for form in looking.relations if form.followed is not None]
    if len(known) < 2:
        return ""
    (worst, low), *_, (best, high) = sorted(known, key=lambda each: each[1].value)
    if low.high >= high.low:
        return ""
    return f" Most for {best} ({100 * high.value:.0f} %), least for {worst} ({100 * low.value:.0f} %)."


def model_verdict(
    standings: Mapping[str, Standing], own: Collection[str] = (), proven: Collection[str] = ()
) -> Verdict:
    """Combine the verdicts of all instruments into one. The user's own data decide if there are any.

    If all instruments that settle the question agree, that is the verdict. If some look and others do not, the model looks
    at times. A model that cannot do a task, or cannot be read, is judged by the other instruments.

    Args:
        standings: The verdicts, by label.
        own: The labels of the user's own data.
        proven: The labels under which it looks at least at times, since blind answers are excluded.

    >>> model_verdict({"grid": "looks", "scene": "cannot do the task"}).standing
    'looks'
    >>> model_verdict({"mine": "does not look", "grid": "looks"}, own=["mine"]).standing
    'does not look'
    >>> model_verdict({"mine": "not settled"}, own=["mine"], proven=["mine"]).sentence
    'Looks in mine, always or at times is not settled.'
    """
    deciding = {standing for name, standing in standings.items() if not own or name in own}
    words = _told(standings, proven)
    settled = [standing for standing in TONES if standing in deciding]
    overall: Standing = "not measured"
    if settled:
        overall = settled[0] if len(settled) == 1 else "looks at times"
    else:
        others: tuple[Standing, ...] = ("not settled", "cannot do the task", "cannot be read")
        overall = next((standing for standing in others if standing in deciding), "not measured")
    if own:
        first = {name: standing for name, standing in standings.items() if name in own}
        rest = {name: standing for name, standing in standings.items() if name not in own}
        words = _told(first, proven) + (f". On drawn pictures: {_told(rest, proven)}" if rest else "")
    return Verdict(standing=overall, sentence=(upper_first(words) or "Nothing was measured") + ".")


def _told(standings: Mapping[str, Standing], proven: Collection[str]) -> str:
    """Name the instruments by verdict, those that settle the question first."""
    groups: dict[str, list[str]] = {words: [] for words in (*map(_IN.format, TONES), _AT_LEAST)}
    for name, standing in standings.items():
        is_open = standing == "not settled" and name in proven
        groups.setdefault(_AT_LEAST if is_open else _IN.format(standing), []).append(name)
    return "; ".join(words.format(listed(names)) for words, names in groups.items() if names)


# Sample size for results that are not settled.


POWER = 0.8


def open_looking(
    instrument: Instrument,
    model: str,
    looking: LookingResult,
    pairs: Sequence[AnsweredPair],
    *,
    chance: float | None,
) -> OpenQuestion | None:
    """Return the sample size that would settle a verdict of pairs. None if it is settled."""
    if looking.standing != "not settled":
        return None
    factor = pairs_to_settle(pairs, chance=chance)
    n_now = looking.n_relevant
    is_own = looking.source == "own"
    needed = None if factor is None else math.ceil(factor * n_now)
    basis = "if the shares are those measured"
    if factor is None:
        basis = "a share lies too close to a threshold: no feasible number of pairs would settle it"
    return OpenQuestion(
        model=model,
        instrument=instrument.name,
        question=f"Does it look{' at your pictures' if is_own else ''}? {upper_first(looking.because)}.",
        n_now=n_now,
        n_needed=needed,
        unit="pairs",
        size=None if is_own else needed,
        power=POWER,
        basis=basis,
    )


def open_comparison(comparison: Comparison) -> OpenQuestion | None:
    """Return the open question and the sample size for a difference whose interval contains zero, else None."""
    figure = comparison.difference
    if figure is None or figure.low > 0 or figure.high < 0 or figure.value == 0:
        return None
    needed = clusters_needed(figure, 0.0, power=POWER)
    return OpenQuestion(
        model=comparison.first,
        instrument=comparison.instrument,
        question=f"Does it differ from {comparison.second} in {comparison.metric} ({comparison.split})? The difference is "
        f"{figure.value:+.3f} [{figure.low:+.3f}, {figure.high:+.3f}].",
        n_now=figure.n,
        n_needed=needed,
        power=POWER,
        basis="if the true difference is the one measured, with a paired t-test"
        if needed
        else "the difference is too close to zero for any feasible number of clusters",
    )
