"""Counterfactual controls: traces that should have a low SGR.

Sides exchanged, objects exchanged, or the steps reversed; and random traces. A verifier that only rewards well-formed
sentences would score them like the real ones. Source: step grounding, section 7.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.articles import article_of, plural, with_article
from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.steps import heading_end
from theodolite.instruments.trace.claims.types import Step, Trace, Verifier
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.formulas.sgr import AS_PAPER, Counting, trace_sgr
from theodolite.instruments.trace.score import difference_over, mean_over
from theodolite.instruments.trace.verifiers.judging import Hedges, JudgedTrace, judge

Inversion: TypeAlias = Literal["spatial", "entity", "temporal"]
"""``spatial``: left for right, above for below, in front of for behind. ``entity``: other colours and objects.
``temporal``: the steps in reverse, and before for after."""

INVERSIONS: tuple[Inversion, ...] = get_args(Inversion)

_ORDER = {word: words.OPPOSITES[word] for word in ("before", "after")}


def counterfactual(trace: Trace, inversion: Inversion, *, episode: Episode, seed: int = 0) -> Trace:
    """The same trace with its statements inverted. Its claims must be extracted again.

    The frames stay in place, so with ``temporal`` the last step is about the first frames.

    >>> from theodolite.instruments.trace.data.episode import Episode, Frame
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
    """The words of a step, without a heading that names its old frame."""
    return text[heading_end(text) :]


def _exchanged(text: str, table: dict[str, str]) -> str:
    """Exchanges all words of a table at once, with their articles; whole words only, case preserved.

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
        found = table[word.casefold()]
        found = found[:1].upper() + found[1:] if word[:1].isupper() else found
        return f"{article}{article_of(found)[1:]} {found}" if article else found

    return pattern.sub(other, text)


def _other_things(trace: Trace, episode: Episode, generator: np.random.Generator) -> dict[str, str]:
    """For every colour another one, for every listed object one that the episode does not show."""
    said = " ".join(step.text for step in trace.steps).casefold()
    shown = {t.category for frame in episode.frames for t in frame.objects}
    spare = [
        label
        for label in (*episode.vocabulary.get("objects", ()), *words.ABSENT)
        if not any(words.may_mean(label, c) for c in shown)
    ]
    table = {}
    shift = 1 + int(generator.integers(len(words.HUES) - 1))
    for place, hue in enumerate(words.HUES):
        table[hue] = words.HUES[(place + shift) % len(words.HUES)]
    for category in sorted(shown | {w for c in shown for w in words.KINDS.get(c, ())}):
        if spare and re.search(rf"\b{re.escape(category)}\b", said):
            table[category] = spare[int(generator.integers(len(spare)))]
    return {a: b for a, b in table.items() if re.search(rf"\b{re.escape(a)}\b", said)}


def random_trace(episode: Episode, labels: RandomLabels, *, n_steps: int = 6, seed: int = 0) -> Trace:
    """A grammatical random trace: objects, attributes, relations and actions are drawn step by step.

    Args:
        episode: Only its id and number of frames are used.
        labels: What to draw from, the same for all episodes of a set.
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
        """A sentence of one of four kinds: existence, place, action, number."""

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
    """Traces that should score badly, against the real ones."""

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
    """Counterfactual and random traces of the same episodes, judged in the same way. Parsing them takes time."""
    real = [trace for trace in judged if not trace.failure]
    labels = RandomLabels(list(episodes.values()))
    made: dict[str, list[Trace]] = {
        inversion: [
            counterfactual(t.trace, inversion, episode=episodes[t.trace.episode], seed=seed) for t in real
        ]
        for inversion in INVERSIONS
    }
    made["random"] = [random_trace(episodes[t.trace.episode], labels, seed=seed) for t in real]
    found = []
    for name, traces in made.items():
        false = judge(with_claims(traces), episodes, verifier, hedges=hedges)
        rates = [(trace_sgr(t, how), trace_sgr(f, how), t.unit) for t, f in zip(real, false, strict=True)]
        sgr = mean_over([(rate, unit) for _, rate, unit in rates])
        found.append(Control(name, sgr, difference_over(rates)))
    return found


def controls_table(found: Sequence[Control]) -> Table:
    """One row per control."""
    columns = [
        Column("control", "control"),
        Column("sgr", "SGR", "share", "trace.sgr"),
        Column("fall", "fall in points", "points", "trace.control_fall"),
    ]
    rows = [[c.name, c.sgr, c.fall] for c in found]
    return Table.of("trace.controls", "Counterfactual and random traces", columns, rows)
