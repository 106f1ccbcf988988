"""The verdict of one instrument and of all instruments together, from the verdicts of pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from theodolite.diagnose.record import LookingForm, PairsForm, Source, Standing, Verdict

__all__ = ["instrument_verdict", "label_of", "model_verdict", "outcome_words"]

_LOOKS: tuple[Standing, ...] = ("looks", "looks at times", "does not look")
"""The verdicts that answer the question, from the most to the least."""
_WORDS: Mapping[Standing, str] = {
    "looks": "looks in {}",
    "looks at times": "looks at times in {}",
    "does not look": "does not look in {}",
    "cannot do the task": "cannot do the task in {}",
    "cannot be read": "cannot be read in {}",
    "not settled": "not settled in {}",
    "not measured": "not measured in {}",
}
_AT_LEAST = "looks in {}, always or at times is not settled"
"""Looking is proven, but not how often."""


def label_of(instrument: str, source: Source) -> str:
    """Name what a verdict is about.

    The user's own data come first in every list.
    """
    return f"your data ({instrument})" if source == "own" else instrument


def outcome_words(looking: LookingForm | PairsForm) -> str:
    """Count the outcomes in words: how many pairs followed, moved and did not move."""
    n = looking.n_relevant if isinstance(looking, LookingForm) else looking.n
    counts = [
        (looking.followed, "followed"),
        (looking.moved, "moved elsewhere"),
        (looking.unmoved, "did not move"),
        (looking.lost, "were lost"),
    ]
    parts = [
        f"{round(figure.value * n)} {word}"
        for figure, word in counts
        if figure is not None and (figure.value > 0 or word == "followed")
    ]
    return f"of {n} pairs, {_listed(parts)}"


def instrument_verdict(
    lookings: Sequence[LookingForm], judged: tuple[Standing, str] | None = None, why_not: str = ""
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
    sentence = " ".join(each[:1].upper() + each[1:] for each in sentences)
    return Verdict(standing=lookings[0].standing, sentence=sentence)


def _by_relation(looking: LookingForm) -> str:
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
    settled = [standing for standing in _LOOKS if standing in deciding]
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
    return Verdict(standing=overall, sentence=(words[:1].upper() + words[1:] or "Nothing was measured") + ".")


def _told(standings: Mapping[str, Standing], proven: Collection[str]) -> str:
    """Name the instruments by verdict, those that settle the question first."""
    groups: dict[str, list[str]] = {words: [] for words in (*(_WORDS[each] for each in _LOOKS), _AT_LEAST)}
    for name, standing in standings.items():
        is_open = standing == "not settled" and name in proven
        groups.setdefault(_AT_LEAST if is_open else _WORDS[standing], []).append(name)
    return "; ".join(words.format(_listed(names)) for words, names in groups.items() if names)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
