"""How much SGR depends on the way it is measured, and control traces that should score low."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.steps import heading_end
from theodolite.instruments.trace.claims.types import Step, Trace, Verifier
from theodolite.instruments.trace.formulas.sgr import AS_PAPER, HANDLINGS, Counting, mean_of, trace_sgr
from theodolite.instruments.trace.score import difference_over, mean_over
from theodolite.instruments.trace.verifiers.judging import Hedges, JudgedTrace, NoisyVerifier, judge
from theodolite.worlds.english import article_of, plural, with_article
from theodolite.worlds.episodes import Episode

# How much SGR depends on the way it is measured: counting, verifiers, errors, number of steps, length, cost.
#
# `condition_scores` measures the traces of one model in other ways. `robustness` compares such ways, and prompt styles, over
# models: does SGR still predict retention, and are models ranked alike? Source: step grounding, section 6.


ERROR_RATES = (0.02, 0.05, 0.08, 0.1)
STEP_COUNTS = (2, 4, 6, 8)
_COUNTED = {"exclude": "excluded", "penalise": "penalised", "neutral": "neutral", "credit": "credited"}


@dataclass(frozen=True, slots=True)
class ConditionScore:
    """SGR of one model, measured in one way."""

    name: str
    sgr: stats.Estimate | None
    seconds: float | None
    """Mean time of a response; for fewer steps, its share by the number of words."""


def condition_scores(  # noqa: PLR0913 - what traces are measured by
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    how: Counting = AS_PAPER,
    hedges: Hedges = "abstract",
    others: Sequence[Verifier] = (),
    seconds: float | None = None,
    seed: int = 0,
) -> list[ConditionScore]:
    """Compute SGR of the same traces with other counting, hedges, verifiers, error rates and numbers of steps.

    Args:
        traces: Traces with their claims.
        episodes: Episodes by id.
        verifier: The reference verifier.
        how: Which claims count in the reference.
        hedges: How hedged claims are judged in the reference.
        others: Further verifiers.
        seconds: Mean time of a response.
        seed: Seed of the errors.
    """
    judged = judge(traces, episodes, verifier, hedges=hedges)
    scores = [ConditionScore(name, _sgr(judged, other), seconds) for name, other in _countings(how)]
    flipped: Hedges = "as stated" if hedges == "abstract" else "abstract"
    again = judge(traces, episodes, verifier, hedges=flipped)
    scores.append(ConditionScore(f"guesses {flipped}", _sgr(again, how), seconds))
    for judge_by in (*others, *(NoisyVerifier(verifier, rate, seed) for rate in ERROR_RATES)):
        again = judge(traces, episodes, judge_by, hedges=hedges)
        scores.append(ConditionScore(f"judged by {judge_by.name}", _sgr(again, how), seconds))
    for most in STEP_COUNTS:
        cut = [limit_steps(trace, most) for trace in judged]
        cost = None if seconds is None else seconds * _words(cut) / max(1, _words(judged))
        scores.append(ConditionScore(f"at most {most} steps", _sgr(cut, how), cost))
    return scores


def _countings(how: Counting) -> Iterator[tuple[str, Counting]]:
    for handling in HANDLINGS:
        if handling != how.handling:
            yield f"unverifiable {_COUNTED[handling]}", replace(how, handling=handling)
    if how.granularity == "whole":
        yield "every claim counted", replace(how, granularity="every")
    else:
        yield "whole claim counted", replace(how, granularity="whole")


def _sgr(judged: Sequence[JudgedTrace], how: Counting) -> stats.Estimate | None:
    return mean_over([(trace_sgr(trace, how), trace.unit) for trace in judged if not trace.failure])


def _words(traces: Sequence[JudgedTrace]) -> int:
    return sum(len(step.step.text.split()) for trace in traces for step in trace.steps)


def limit_steps(trace: JudgedTrace, most: int) -> JudgedTrace:
    """Return the trace with at most this many steps, evenly spaced, so that all stages are kept."""
    n = len(trace.steps)
    if n <= most:
        return trace
    kept = sorted({round(i * (n - 1) / max(1, most - 1)) for i in range(most)})
    return replace(trace, steps=tuple(trace.steps[i] for i in kept))


def conditions_table(scores: Sequence[ConditionScore]) -> Table:
    """Return a table with one row per way of measuring."""
    columns = [
        Column("condition", "measured otherwise"),
        column("trace.sgr"),
        Column("seconds", "seconds a sample"),
    ]
    rows = [[s.name, s.sgr, None if s.seconds is None else f"{s.seconds:.3g}"] for s in scores]
    return Table.of("trace.conditions", "The same traces, measured in other ways", columns, rows)


@dataclass(frozen=True, slots=True)
class Verbosity:
    """Length of traces, and its effect on SGR."""

    words: stats.Estimate | float | None
    """Words per trace; without an interval if all traces are equally long."""
    claims_per_step: stats.Estimate | float | None
    sgr_against_words: stats.Estimate | None
    """Spearman's ρ over traces, clustered by unit."""
    sgr_of_short: stats.Estimate | None
    """SGR with every trace cut to the number of steps of the shortest quarter."""
    n_steps_of_short: int


def verbosity(traces: Sequence[JudgedTrace], *, how: Counting = AS_PAPER, seed: int = 0) -> Verbosity:
    """Measure the length of traces, and its effect on SGR."""
    judged = [trace for trace in traces if trace.steps]
    lengths = [(float(_words([trace])), trace.unit) for trace in judged]
    scored = [
        (sgr, words, unit)
        for trace, (words, unit) in zip(judged, lengths, strict=True)
        if (sgr := trace_sgr(trace, how)) is not None
    ]
    short = max(1, int(np.quantile([len(trace.steps) for trace in judged], 0.25)) if judged else 0)
    per_step = [(float(len(s.counted(how.granularity))), t.unit) for t in judged for s in t.steps]
    return Verbosity(
        words=_mean_length(lengths),
        claims_per_step=_mean_length(per_step),
        sgr_against_words=_rank_correlation(scored, seed),
        sgr_of_short=mean_over([(trace_sgr(limit_steps(t, short), how), t.unit) for t in judged]),
        n_steps_of_short=short,
    )


def _mean_length(rows: Sequence[tuple[float, str]]) -> stats.Estimate | float | None:
    return mean_over(rows, bounds=None) or mean_of([value for value, _ in rows])


def _rank_correlation(rows: Sequence[tuple[float, float, str]], seed: int) -> stats.Estimate | None:
    sgr, words, units = ([row[i] for row in rows] for i in range(3))
    if len(set(units)) < 5 or np.ptp(sgr) == 0 or np.ptp(words) == 0:
        return None
    clusters = None if len(set(units)) == len(units) else units
    return stats.spearman(sgr, words, clusters=clusters, seed=seed)


def verbosity_table(found: Verbosity) -> Table:
    """Return a table with one row."""
    key = "trace.verbosity"
    columns = [
        column(key, "words", "words per trace"),
        column(key, "claims_per_step", "claims per step"),
        column(key, "rho", "ρ(SGR, words)"),
        column(key, "sgr_of_short", f"SGR of {found.n_steps_of_short} steps"),
    ]
    row = [found.words, found.claims_per_step, found.sgr_against_words, found.sgr_of_short]
    return Table.of("trace.verbosity", "Verbosity", columns, [row])


@dataclass(frozen=True, slots=True)
class MeasuringCondition:
    """One way of measuring, over models."""

    name: str
    sgr: Mapping[str, float]
    """By model."""
    seconds: float | None = None
    """Cost of a sample, if known."""


@dataclass(frozen=True, slots=True)
class ConditionRobustness:
    """One way of measuring, compared with the reference over models."""

    condition: str
    r: stats.Estimate | None
    """Pearson's r of this SGR and retention."""
    rho: stats.Estimate | None
    """Spearman's ρ of this SGR and the reference's."""
    shift: float | None
    """Mean difference from the reference's SGR."""
    seconds: float | None
    n_models: int


def robustness(
    reference: MeasuringCondition, conditions: Sequence[MeasuringCondition], retention: Mapping[str, float]
) -> list[ConditionRobustness]:
    """Compare ways of measuring, the reference first. Fewer than three models give no correlation.

    Args:
        reference: The reference way of measuring.
        conditions: The other ways.
        retention: Retention by model.
    """
    return [_compared(condition, reference, retention) for condition in (reference, *conditions)]


def _compared(
    condition: MeasuringCondition, reference: MeasuringCondition, retention: Mapping[str, float]
) -> ConditionRobustness:
    both = sorted(set(condition.sgr) & set(reference.sgr))
    known = sorted(set(condition.sgr) & set(retention))
    mine, theirs = [condition.sgr[m] for m in both], [reference.sgr[m] for m in both]
    return ConditionRobustness(
        condition.name,
        _correlation([condition.sgr[m] for m in known], [retention[m] for m in known], ranks=False),
        None if condition is reference else _correlation(mine, theirs, ranks=True),
        float(np.mean(mine) - np.mean(theirs)) if both else None,
        condition.seconds,
        len(both),
    )


def _correlation(first: Sequence[float], second: Sequence[float], *, ranks: bool) -> stats.Estimate | None:
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return stats.spearman(first, second) if ranks else stats.pearson(first, second)


def robustness_table(rows: Sequence[ConditionRobustness]) -> Table:
    """Return a table with one row per way of measuring."""
    columns = [
        Column("condition", "condition"),
        column("trace.retention", "r"),
        column("trace.rank_agreement", "rho", "ρ with the reference"),
        Column("shift", "shift in points", "points"),
        Column("seconds", "seconds a sample"),
        Column("models", "models", "count"),
    ]
    cells = [
        [
            r.condition,
            r.r,
            r.rho,
            r.shift,
            None if r.seconds is None else f"{r.seconds:.3g}",
            r.n_models,
        ]
        for r in rows
    ]
    return Table.of("trace.robustness", "Robustness of the finding", columns, cells)


# The two-way control: the pictures edited and the words kept, and the words paraphrased and the pictures kept.
#
# Only edited pictures should make SGR fall. The paraphrase puts the unchanged task after another lead-in.


@dataclass(frozen=True, slots=True)
class TwoWayControl:
    """Changes of SGR and accuracy with edited pictures and with paraphrased tasks."""

    visual_sgr: stats.Estimate | None
    """Against the old truth."""
    visual_accuracy: stats.Estimate | None
    language_sgr: stats.Estimate | None
    language_accuracy: stats.Estimate | None
    p_visual_falls_more: float | None
    """Sign-flip test over units that SGR falls more for the pictures than for the words."""
    n_visual: int
    n_language: int


def two_way_control(
    visual: Sequence[tuple[JudgedTrace, JudgedTrace]],
    language: Sequence[tuple[JudgedTrace, JudgedTrace]],
    *,
    how: Counting = AS_PAPER,
    seed: int = 0,
) -> TwoWayControl:
    """Compare traces before and after.

    Args:
        visual: A trace, and one on edited pictures judged against the old truth.
        language: A trace, and one on the same pictures with a paraphrased task.
        how: Which claims count.
        seed: Seed of the sign flips.
    """
    falls = [
        [
            (g1 - g0, a.unit)
            for a, b in pairs
            if (g0 := trace_sgr(a, how)) is not None and (g1 := trace_sgr(b, how)) is not None
        ]
        for pairs in (visual, language)
    ]
    return TwoWayControl(
        *_changes(visual, how),
        *_changes(language, how),
        _falls_more(falls[0], falls[1], seed),
        len(visual),
        len(language),
    )


def _changes(
    pairs: Sequence[tuple[JudgedTrace, JudgedTrace]], how: Counting
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    """Return the changes of SGR and of accuracy, after − before."""
    return (
        difference_over([(trace_sgr(b, how), trace_sgr(a, how), a.unit) for a, b in pairs]),
        difference_over([(b.is_correct, a.is_correct, a.unit) for a, b in pairs]),
    )


def _falls_more(
    visual: Sequence[tuple[float, str]], language: Sequence[tuple[float, str]], seed: int
) -> float | None:
    """Test by one-sided sign flips over the units that have both changes."""
    mean = [
        {unit: float(np.mean([v for v, u in side if u == unit])) for _, unit in side}
        for side in (visual, language)
    ]
    shared = sorted(set(mean[0]) & set(mean[1]))
    if len(shared) < 2:
        return None
    test = stats.sign_flip_test(
        [mean[0][u] for u in shared], [mean[1][u] for u in shared], alternative="less", seed=seed
    )
    return test.p_value


def two_way_table(found: TwoWayControl) -> Table:
    """Return one row for the pictures and one for the words."""
    columns = [
        Column("changed", "changed"),
        column("trace.delta_sgr"),
        column("trace.delta_accuracy"),
        Column("traces", "pairs", "count"),
    ]
    rows = [
        ["pictures, words kept", found.visual_sgr, found.visual_accuracy, found.n_visual],
        ["words, pictures kept", found.language_sgr, found.language_accuracy, found.n_language],
    ]
    p = found.p_visual_falls_more
    notes = [] if p is None else [f"SGR falls more with the pictures than with the words: p = {p:.3f}"]
    return Table.of("trace.wording", "Two-way control", columns, rows, notes)


# Counterfactual controls: traces that should have a low SGR.
#
# Sides exchanged, objects exchanged, or the steps reversed; and random traces. A verifier that only rewards well-formed
# sentences would score them like the real ones. Source: step grounding, section 7.3.


Inversion: TypeAlias = Literal["spatial", "entity", "temporal"]
"""``spatial``: left for right, above for below, in front of for behind. ``entity``: other colours and objects.
``temporal``: the steps in reverse, and before for after."""

INVERSIONS: tuple[Inversion, ...] = get_args(Inversion)

_ORDER = {word: words.OPPOSITES[word] for word in ("before", "after")}


def counterfactual(trace: Trace, inversion: Inversion, *, episode: Episode, seed: int = 0) -> Trace:
    """Return the same trace with its statements inverted. Its claims must be extracted again.

    The frames stay in place, so with ``temporal`` the last step is about the first frames.

    >>> from theodolite.worlds.episodes import Episode, Frame
    >>> episode = Episode("e", "?", (Frame(0.0),))
    >>> trace = Trace("e", (Step("The red cup is left of the box.", (0,)),))
    >>> counterfactual(trace, "spatial", episode=episode).steps[0].text
    'The red cup is right of the box.'
    """
    if inversion not in INVERSIONS:
        raise UsageError(f"there is no inversion {inversion!r}; there are {', '.join(INVERSIONS)}")
    if inversion == "spatial":
        texts = [_exchanged(step.text, words.SIDE_EXCHANGE) for step in trace.steps]
    elif inversion == "entity":
        table = _other_things(trace, episode, np.random.default_rng(seed))
        texts = [_exchanged(step.text, table) for step in trace.steps]
    else:
        texts = [_exchanged(step.text, _ORDER) for step in reversed(trace.steps)]
    steps = tuple(
        Step(_without_heading(text), step.frames, step.alignment)
        for text, step in zip(texts, trace.steps, strict=True)
    )
    return replace(trace, steps=steps)


def _without_heading(text: str) -> str:
    """Return the words of a step without a heading that names its old frame."""
    return text[heading_end(text) :]


def _exchanged(text: str, table: dict[str, str]) -> str:
    """Exchange all words of a table at once, with their articles; whole words only, case preserved.

    >>> _exchanged("A red box is near an owl, a cup behind it.", {"red": "orange", "owl": "kite", "cup": "vase"})
    'An orange box is near a kite, a vase behind it.'
    """
    if not table:
        return text
    pattern = re.compile(
        r"\b(?:(a)n? )?(" + "|".join(sorted(map(re.escape, table), key=len, reverse=True)) + r")\b",
        re.IGNORECASE,
    )

    def other(match: re.Match[str]) -> str:
        article, word = match.groups()
        replacement = table[word.casefold()]
        replacement = replacement[:1].upper() + replacement[1:] if word[:1].isupper() else replacement
        return f"{article}{article_of(replacement)[1:]} {replacement}" if article else replacement

    return pattern.sub(other, text)


def _other_things(trace: Trace, episode: Episode, generator: np.random.Generator) -> dict[str, str]:
    """Return a different colour for every colour, and for every listed object one that the episode does not show."""
    text = " ".join(step.text for step in trace.steps).casefold()
    shown = {t.category for frame in episode.frames for t in frame.objects}
    spare = [
        label
        for label in (*episode.vocabulary.get("objects", ()), *words.ABSENT)
        if not any(words.may_mean(label, c) for c in shown)
    ]
    table = {}
    shift = 1 + int(generator.integers(len(words.HUES) - 1))
    for index, hue in enumerate(words.HUES):
        table[hue] = words.HUES[(index + shift) % len(words.HUES)]
    for category in sorted(shown | {w for c in shown for w in words.KINDS.get(c, ())}):
        if spare and re.search(rf"\b{re.escape(category)}\b", text):
            table[category] = spare[int(generator.integers(len(spare)))]
    return {a: b for a, b in table.items() if re.search(rf"\b{re.escape(a)}\b", text)}


def random_trace(episode: Episode, labels: RandomLabels, *, n_steps: int = 6, seed: int = 0) -> Trace:
    """Return a grammatical random trace: objects, attributes, relations and actions are drawn step by step.

    Args:
        episode: Only its id and number of frames are used.
        labels: Labels to draw from, the same for all episodes of a set.
        n_steps: Number of steps.
        seed: Seed of the draws.
    """
    generator = np.random.default_rng([seed, int.from_bytes(episode.id.encode()[-8:], "big")])
    n = len(episode.frames)
    steps = []
    for i in range(n_steps):
        frame = int(generator.integers(n))
        steps.append(Step(labels.sentence(generator, kind=i % 4), (frame,), "index"))
    return Trace(episode.id, tuple(steps), style="random")


class RandomLabels:
    """The labels of a set of episodes, and some that it does not have."""

    def __init__(self, episodes: Sequence[Episode]) -> None:
        things = {t.category for e in episodes for f in e.frames for t in f.objects}
        listed = {label for e in episodes for label in e.vocabulary.get("objects", ())}
        self.things = sorted(things | listed | set(words.ABSENT))
        self.hues = sorted(
            {t.attributes.get("colour", "") for e in episodes for f in e.frames for t in f.objects} - {""}
            | set(words.HUES)
        )
        verbs = {a.verb for e in episodes for a in e.actions} | {
            v for e in episodes for v in e.vocabulary.get("actions", ())
        }
        self.verbs = sorted(verbs | set(words.VERBS))
        self.relations = words.RELATIONS

    def sentence(self, generator: np.random.Generator, *, kind: int) -> str:
        """Return a sentence of one of four kinds: existence, place, action, number."""

        def draw(values: Sequence[str]) -> str:
            return values[int(generator.integers(len(values)))]

        first, second = f"{draw(self.hues)} {draw(self.things)}", f"{draw(self.hues)} {draw(self.things)}"
        if kind == 0:
            return f"There is {with_article(first)}."
        if kind == 1:
            return f"The {first} is {draw(self.relations)} the {second}."
        if kind == 2:
            return f"The {first} is {_ing(draw(self.verbs))} the {second}."
        return f"I see {draw(('two', 'three', 'four', 'five'))} {plural(first)}."


def _ing(verb: str) -> str:
    first, _, rest = verb.partition(" ")
    if first.endswith("ing"):
        stem = first
    elif first.endswith("e") and not first.endswith(("ee", "ie")):
        stem = first[:-1] + "ing"
    elif re.fullmatch(r"[a-z]*[^aeiou][aeiou][bdgmnprt]", first) and len(first) <= 4:
        stem = first + first[-1] + "ing"
    else:
        stem = first + "ing"
    return f"{stem} {rest}".strip()


@dataclass(frozen=True, slots=True)
class Control:
    """Control traces, which should score badly, compared with the real ones."""

    name: str
    sgr: stats.Estimate | None
    fall: stats.Estimate | None
    """SGR of the real traces − that of these, over the same episodes."""


def control_scores(
    judged: Sequence[JudgedTrace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    how: Counting = AS_PAPER,
    hedges: Hedges = "abstract",
    seed: int = 0,
) -> list[Control]:
    """Judge counterfactual and random traces of the same episodes in the same way. Parsing them takes time.

    Args:
        judged: The real traces, judged.
        episodes: Episodes by id.
        verifier: Judges the claims.
        how: Which claims count.
        hedges: How hedged claims are judged.
        seed: Seed of the control traces.
    """
    real = [trace for trace in judged if not trace.failure]
    labels = RandomLabels(list(episodes.values()))
    by_name: dict[str, list[Trace]] = {
        inversion: [
            counterfactual(t.trace, inversion, episode=episodes[t.trace.episode], seed=seed) for t in real
        ]
        for inversion in INVERSIONS
    }
    by_name["random"] = [random_trace(episodes[t.trace.episode], labels, seed=seed) for t in real]
    controls = []
    for name, traces in by_name.items():
        false = judge(with_claims(traces), episodes, verifier, hedges=hedges)
        rates = [(trace_sgr(t, how), trace_sgr(f, how), t.unit) for t, f in zip(real, false, strict=True)]
        sgr = mean_over([(rate, unit) for _, rate, unit in rates])
        controls.append(Control(name, sgr, difference_over(rates)))
    return controls


def controls_table(found: Sequence[Control]) -> Table:
    """Return a table with one row per control."""
    columns = [
        Column("control", "control"),
        column("trace.sgr"),
        column("trace.control_fall", "fall"),
    ]
    rows = [[c.name, c.sgr, c.fall] for c in found]
    return Table.of("trace.controls", "Counterfactual and random traces", columns, rows)
