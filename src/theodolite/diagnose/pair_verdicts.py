"""Verdicts of pairs in the record: by edit and relation, with examples, words and the size that would settle them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any, NamedTuple, TypeVar

from theodolite.core.drawing import QUIET
from theodolite.core.scores import OWN_SPLIT
from theodolite.core.tables import Cell, Column, Estimate, Table, listed, percent, upper_first
from theodolite.core.types import content_hash, fields_of
from theodolite.core.views import ItemRow, PairRow
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
from theodolite.pairs import (
    AnsweredPair,
    Balance,
    Edit,
    Standing,
    balance_of,
    by_design,
    judge_looking,
    pair_shares,
    reading_of,
)
from theodolite.pairs.outcomes import AGAIN, LEVEL, SHARES
from theodolite.stats.power import clusters_needed

__all__ = [
    "by_source",
    "claim_of",
    "instrument_verdict",
    "label_of",
    "looking_result",
    "matched",
    "model_verdict",
    "outcome_words",
    "pair_rows",
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


def by_source(pairs: Iterable[AnsweredPair]) -> Iterator[tuple[Source, list[AnsweredPair]]]:
    """Separate the pairs of the user's own data from those of drawn pictures, and pictures as they are from edits.

    Own data come first, and pictures as they are before edits. What has no relevant pair is left out.
    """
    known = list(pairs)
    sources: tuple[Source, ...] = ("own", "drawn")
    for source in sources:
        own = [pair for pair in known if (pair.split == OWN_SPLIT) == (source == "own")]
        for some in by_design(own):
            yield source, some


def looking_result(
    source: Source, pairs: Sequence[AnsweredPair], *, rows: Mapping[str, ItemRow], seed: int = 0
) -> LookingResult:
    """Judge pairs, and summarise them by edit and by relation.

    Args:
        source: Where the pairs come from.
        pairs: The pairs of one design, at least one of them relevant.
        rows: The rows of the model, by id, for exhibits and frequent answers.
        seed: Seed of random permutations.
    """
    judged = fields_of(judge_looking(pairs, seed=seed))
    if judged["standing"] in {"refuses", "cannot be read"}:
        judged["because"] += _frequent(pairs, rows)
    return LookingResult(
        **judged,
        source=source,
        edits=[_of_edit(edit, some, seed) for edit, some in _grouped(pairs, lambda pair: pair.edit).items()],
        relations=_relations(pairs, seed),
        reading=reading_of(pairs, seed=seed),
        exhibits=_exhibits(pairs, rows, judged),
    )


_MOST_FREQUENT = 3


def _frequent(pairs: Sequence[AnsweredPair], rows: Mapping[str, ItemRow]) -> str:
    """Quote the most frequent texts of answers."""
    texts = Counter(
        shorten(rows[name].answer, 60, placeholder=" …") or "nothing"
        for pair in pairs
        if pair.edit.is_relevant
        for name in pair.shown
        if name in rows
    )
    quoted = [f"“{text}” ({n})" for text, n in texts.most_common(_MOST_FREQUENT)]
    return f"; most often it says {listed(quoted)}" if quoted else ""


def _of_edit(edit: Edit, pairs: Sequence[AnsweredPair], seed: int) -> PairsResult:
    about = {"keeps": list(edit.keeps), "excludes": list(edit.excludes)}
    return _summary(edit.name, pairs, balance_of(pairs, seed=seed) if edit.is_relevant else None, **about)


def _relations(pairs: Sequence[AnsweredPair], seed: int) -> list[PairsResult]:
    """Summarise the relevant pairs by relation. Empty if there is only one relation."""
    relevant = [pair for pair in pairs if pair.edit.is_relevant and pair.relation]
    groups = _grouped(relevant, lambda pair: pair.relation)
    if len(groups) < 2:
        return []
    return [_summary(name, some, balance_of(some, seed=seed)) for name, some in sorted(groups.items())]


def _summary(
    name: str, pairs: Sequence[AnsweredPair], balance: Balance | None, **more: list[str]
) -> PairsResult:
    """Summarise pairs; those without a balance are neutral."""
    shares = pair_shares(pairs)
    estimates = {share: getattr(shares, share) for share in SHARES}
    if balance is None:
        unread = [float(pair.outcome == "lost") for pair in pairs]
        estimates["lost"] = _mean(unread, [pair.cluster for pair in pairs])
    return PairsResult(
        name=name,
        is_relevant=balance is not None,
        n=len(pairs),
        looking=balance.looking if balance is not None else None,
        p_value=balance.p_value if balance is not None else None,
        **estimates,
        **more,  # type: ignore[arg-type]
    )


def _mean(values: list[float], clusters: list[str]) -> Estimate | None:
    from theodolite.stats import clustered_mean

    return clustered_mean(values, clusters, level=LEVEL)


def _grouped(
    pairs: Iterable[AnsweredPair], key: Callable[[AnsweredPair], _Key]
) -> dict[_Key, list[AnsweredPair]]:
    found: dict[_Key, list[AnsweredPair]] = {}
    for pair in pairs:
        found.setdefault(key(pair), []).append(pair)
    return found


def _exhibits(
    pairs: Sequence[AnsweredPair], rows: Mapping[str, ItemRow], judged: Mapping[str, Any]
) -> list[PairExample]:
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
        share = judged.get(outcome)
        # Of pictures as they are, each is in several possible pairs; the share is that of all matchings.
        told = f"{n} of {sum(k for _, k in frequent)}"
        if judged["is_natural"] and share is not None:
            told = f"{percent(share.value)} of {judged['n_relevant']}"
        why = f"{outcome}, as {told} pairs"
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


def matched(pairs: Iterable[AnsweredPair]) -> Iterator[AnsweredPair]:
    """Yield all pairs of edits, and of pictures as they are those of one matching: each picture once for each question.

    It goes by the names of the items alone, so that it is the same for all models.
    """
    used: set[tuple[str, str]] = set()
    for pair in sorted(pairs, key=lambda each: content_hash([*each.shown]) if each.group else ""):
        places = {(pair.group, name) for name in pair.shown} if pair.group else set()
        if not places & used:
            used |= places
            yield pair


def pair_rows(model: str, instrument: str, pairs: Iterable[AnsweredPair]) -> Iterator[PairRow]:
    """Yield the pairs of a model to look through, of pictures as they are those of one matching."""
    for pair in matched(each for each in pairs if all(each.shown) and each.edit != AGAIN):
        source: Source = "own" if pair.split == OWN_SPLIT else "drawn"
        yield PairRow(
            instrument=instrument,
            model=model,
            pictures=label_of(instrument, source, is_natural=bool(pair.group)),
            edit=pair.edit.name,
            is_relevant=pair.edit.is_relevant,
            relation=pair.relation,
            outcome=pair.outcome,
            before=pair.shown[0],
            after=pair.shown[1],
        )


# The words and colours of outcomes and verdicts, the same in every form of the report.


OUTCOMES: Mapping[str, str] = {
    "followed": "followed",
    "inverted": "inverted",
    "moved": "moved elsewhere",
    "unmoved": "did not move",
    "lost": "lost",
}
"""The outcomes of relevant pairs, in words. Neutral pairs are kept or changed."""
OUTCOME_COLOURS: Mapping[str, str] = {
    "followed": "#00775a",
    "inverted": "#6a4c93",
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


_GOOD = Tone("good", "#00694d", "green")
_UNSURE = Tone("unsure", "#755c00", "yellow")
_BAD = Tone("bad", "#b00d27", "red")
TONES: Mapping[Standing, Tone] = {
    "looks": _GOOD,
    "looks at least sometimes": _UNSURE,
    "sometimes looks": _UNSURE,
    "looks, under a tenth": _UNSURE,
    "differs by relation": _UNSURE,
    "tells them apart, names them wrongly": _UNSURE,
    "answers the other way round": _BAD,
    "changes with the picture, not with the truth": _BAD,
    "no looking found": _BAD,
    "does not look": _BAD,
}
"""The verdicts that answer the question, from the most to the least."""
_PROVEN = ("looks", "looks at least sometimes", "sometimes looks", "looks, under a tenth")
_NO_TONE = Tone("quiet", QUIET, "")


def tone_of(standing: Standing) -> Tone:
    """Return the colour of a verdict. One that answers nothing is grey."""
    return TONES.get(standing, _NO_TONE)


# The verdict of one instrument and of all instruments together, from the verdicts of pairs.


def label_of(instrument: str, source: Source, *, is_natural: bool = False) -> str:
    """Name what a verdict is about.

    >>> label_of("grid", "drawn"), label_of("ask", "own"), label_of("ask", "own", is_natural=True)
    ('grid', 'your pictures, edited (ask)', 'your pictures (ask)')
    """
    if source == "own":
        return f"your pictures ({instrument})" if is_natural else f"your pictures, edited ({instrument})"
    return f"{instrument} (as drawn)" if is_natural else instrument


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
        f"{_where(each)}{outcome_words(each)}: {each.because}.{_by_relation(each)}{_by_question(each)}"
        for each in lookings
    ]
    sentence = " ".join(upper_first(each) for each in sentences)
    return Verdict(standing=lookings[0].standing, sentence=sentence)


def _where(looking: LookingResult) -> str:
    if looking.source != "own":
        return ""
    return "on your pictures, " if looking.is_natural else "on edits of your pictures, "


def _by_relation(looking: LookingResult) -> str:
    """Name the relations with most and least looking, if they surely differ."""
    known = [(form.name, form.looking) for form in looking.relations if form.looking is not None]
    if len(known) < 2:
        return ""
    (worst, low), *_, (best, high) = sorted(known, key=lambda entry: entry[1].value)
    if low.high >= high.low:
        return ""
    return f" Most for {best} ({100 * high.value:.0f} %), least for {worst} ({100 * low.value:.0f} %)."


def _by_question(looking: LookingResult) -> str:
    """Say whether the answers follow the question too."""
    reading = looking.reading
    if reading is None:
        return ""
    right = f"all four answers right in {percent(reading.all_right.value)} of {reading.n_quads} quads"
    return f" {reading.words.removesuffix('.')} ({right})."


def model_verdict(standings: Mapping[str, Standing], own: Collection[str] = ()) -> Verdict:
    """Combine the verdicts of all instruments into one. The user's own data decide if there are any.

    If all that settle the question agree, that is the verdict. If looking is proven somewhere, the model looks at least
    sometimes, or, if it surely does not always, sometimes. Otherwise the verdict says the most that was found.

    Args:
        standings: The verdicts, by label.
        own: The labels of the user's own data.

    >>> model_verdict({"grid": "looks", "scene": "cannot be read"}).standing
    'looks'
    >>> model_verdict({"grid": "looks", "scene": "does not look"}).standing
    'sometimes looks'
    >>> model_verdict({"mine": "does not look", "grid": "looks"}, own=["mine"]).standing
    'does not look'
    """
    deciding = {standing for name, standing in standings.items() if not own or name in own}
    words = _told(standings)
    settled = [standing for standing in TONES if standing in deciding]
    overall: Standing = "not measured"
    if len(settled) == 1:
        overall = settled[0]
    elif settled and settled[0] in _PROVEN:
        is_open = set(settled) <= {"looks", "looks at least sometimes"}
        overall = "looks at least sometimes" if is_open else "sometimes looks"
    elif settled:
        overall = settled[0]
    else:
        others: tuple[Standing, ...] = ("not settled", "refuses", "cannot be read")
        overall = next((standing for standing in others if standing in deciding), "not measured")
    if own:
        first = {name: standing for name, standing in standings.items() if name in own}
        rest = {name: standing for name, standing in standings.items() if name not in own}
        words = _told(first) + (f". On drawn pictures: {_told(rest)}" if rest else "")
    return Verdict(standing=overall, sentence=(upper_first(words) or "Nothing was measured") + ".")


_OTHERWISE: Mapping[Standing, str] = {
    "refuses": "It declines most of the questions",
    "cannot be read": "Most of its answers cannot be read",
    "differs by relation": "It follows some relations and answers others the other way round",
    "answers the other way round": "It tells the pictures apart, but answers the other way round",
    "tells them apart, names them wrongly": "It tells the pictures apart, but names them wrongly",
    "changes with the picture, not with the truth": "Its answers change with the picture, but not with the right answer",
    "does not look": "Its answers do not use the picture",
    "no looking found": "No sign was found that its answers use the picture",
    "not settled": "It is not settled whether its answers use the picture",
}
"""What is said where looking is not proven."""
_LEAST_TOLD = 0.005
"""Smaller shares would be rounded to zero."""


def claim_of(standing: Standing, lookings: Sequence[tuple[str, LookingResult]]) -> str:
    """Say in one sentence what is claimed of a model, with its accuracy on the same pairs. Empty if nothing was measured.

    Args:
        standing: The verdict on the model.
        lookings: The verdicts that decide, with their labels.
    """
    judged = [
        (label, each, each.looking, each.accuracy.value)
        for label, each in lookings
        if each.looking is not None and each.accuracy is not None
    ]
    if not judged:
        return ""
    is_claimed = standing in _PROVEN and any(each.is_proven for _, each, *_ in judged)
    told = [
        one for one in judged if (one[1].is_proven if is_claimed else one[1].standing == standing)
    ] or judged
    where = f" of {listed([label for label, *_ in told])}" if len(told) < len(judged) else ""
    accuracy = f"its accuracy on them is {_range([right for *_, right in told])} %"
    if not is_claimed:
        n = sum(each.n_relevant for _, each, *_ in told)
        return f"{_OTHERWISE.get(standing, upper_first(standing))} ({n} pairs{where}); {accuracy}."
    lows = [looking.low for _, _, looking, _ in told]
    some = "In some" if min(lows) < _LEAST_TOLD else f"In at least {_range(lows)} of 100"
    return f"{some} pairs{where} its answers used the picture; {accuracy}."


def _range(shares: Sequence[float]) -> str:
    low, high = (f"{100 * end:.0f}" for end in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"


def _told(standings: Mapping[str, Standing]) -> str:
    """Name the instruments by verdict, those that settle the question first."""
    groups: dict[Standing, list[str]] = {standing: [] for standing in TONES}
    for name, standing in standings.items():
        groups.setdefault(standing, []).append(name)
    return "; ".join(f"{standing} in {listed(names)}" for standing, names in groups.items() if names)


# Sample size for results that are not settled.


POWER = 0.8


def open_looking(instrument: Instrument, model: str, looking: LookingResult) -> OpenQuestion | None:
    """Return the number of pictures that would settle a verdict of pairs. None if it is settled."""
    if looking.standing != "not settled" or looking.looking is None:
        return None
    n_now, needed = looking.looking.n, looking.pictures_to_settle
    is_own = looking.source == "own"
    return OpenQuestion(
        model=model,
        instrument=instrument.name,
        question=f"Does it look{' at your pictures' if is_own else ''}? {upper_first(looking.because)}.",
        n_now=n_now,
        n_needed=needed,
        unit="pictures",
        size=None if is_own or needed is None else round(looking.n_relevant * needed / n_now),
        power=POWER,
        basis="if the shares are those measured"
        if needed is not None
        else "too close to zero, or to a tenth: no feasible number of pictures would settle it",
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
