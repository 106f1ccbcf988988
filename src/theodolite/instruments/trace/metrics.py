"""What a run of traces reads off each episode: the paper's scores, and whether trace and answer follow edited frames.

right               the answer is the true one
sgr, hr             share of supported claims, mean over steps; share of steps with an unsupported claim
tcs, tcs_aware      temporal consistency by equation 2, and slot by slot
vrs_paper           equation 4 over the episode's own edits: clip(Δ_relevant/|P_relevant| ÷ (Δ_irrelevant/|P_irrelevant| + 0.01), 0, 10)
vrs_sound           (Σ updated / Σ edited) ÷ ((Σ changed + ½) / (Σ unedited + 1)), over statements
updated             of the statements that the relevant edits made false, the share no longer made
edited_sgr          mean SGR of the traces on relevant edits, against what the edited frames show
edited_fall         sgr − edited_sgr: a trace that was true by luck falls when the frames change, one that looks does not
retold              share of steps in other words, step by step, mean over relevant edits
retold_beyond       the same less the mean over irrelevant edits, which change nothing that can be claimed
answer_changes      of the edits that change the right answer, the share after which another answer is given
answer_follows      of the same, the share after which the new right answer is given
blind_changes       another answer is given without any frame
blind_retold        of the statements made with the frames, the share not made without them

Edits are those of `theodolite.instruments.trace.data.worlds.edits.perturbed`; an episode without any has no readings of edits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric, Origin
from theodolite.core.tables import Unit
from theodolite.core.types import Item, Message, Request
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.steps import heading_end
from theodolite.instruments.trace.claims.types import Step, Trace, Verifier
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.formulas.sgr import step_hallucinates, trace_sgr
from theodolite.instruments.trace.formulas.tcs import Transition, transitions
from theodolite.instruments.trace.formulas.vrs import EditedPair, edited_pair, equation_4, sound_reliance
from theodolite.instruments.trace.prompts import Style, trace_prompt
from theodolite.instruments.trace.questions import plan_traces
from theodolite.instruments.trace.verifiers.beliefs import facts_of
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, judge, open_verifier
from theodolite.runs import Result, Run

__all__ = ["BLIND", "METRICS", "plan_readings", "readings"]

INSTRUMENT = "trace"
BLIND = "blind"
"""The wording of an item that shows no frame."""
_STYLE: Style = "structured"
_NOTHING_SEEN = "Step 1: I see no frame.\nFinal answer: unknown"
"""All that a script which looks can truly say without frames."""

_ROWS: tuple[tuple[str, str, Origin], ...] = (
    ("right", "answer is right", "ours"),
    ("sgr", "SGR", "paper"),
    ("hr", "hallucinating steps (HR)", "paper"),
    ("tcs", "TCS, equation 2", "paper"),
    ("tcs_aware", "TCS that sees contradictions", "sound"),
    ("vrs_paper", "VRS, equation 4", "paper"),
    ("vrs_sound", "VRS over statements", "sound"),
    ("updated", "edited facts are updated", "sound"),
    ("edited_sgr", "SGR on edited frames", "ours"),
    ("edited_fall", "fall of SGR on edited frames", "ours"),
    ("retold", "steps change with edited frames", "ours"),
    ("retold_beyond", "steps change with edited frames beyond irrelevant ones", "ours"),
    ("answer_changes", "answer changes with edited frames", "ours"),
    ("answer_follows", "answer follows edited frames", "ours"),
    ("blind_changes", "answer changes without frames", "ours"),
    ("blind_retold", "statements change without frames", "ours"),
)
_BOUNDS: Mapping[str, tuple[float, float] | None] = {
    "vrs_paper": (0.0, 10.0),
    "vrs_sound": None,
    "edited_fall": (-1.0, 1.0),
    "retold_beyond": (-1.0, 1.0),
}
_UNITS: Mapping[str, Unit] = {
    "vrs_paper": "ratio",
    "vrs_sound": "ratio",
    "edited_fall": "points",
    "retold_beyond": "points",
}
METRICS: tuple[Metric, ...] = tuple(
    Metric(
        f"trace.{key}",
        name,
        higher_is_grounded=key not in {"hr", "edited_fall"},
        origin=origin,
        needs="text",
        bounds=_BOUNDS.get(key, (0.0, 1.0)),
        unit=_UNITS.get(key, "share"),
    )
    for key, name, origin in _ROWS
)


def plan_readings(episodes: Sequence[Episode], *, max_tokens: int = 1024) -> Iterator[Item]:
    """Every episode, edits among them, and every episode that is no edit once more without its frames.

    Args:
        episodes: with pictures.
        max_tokens: the longest answer.
    """
    yield from plan_traces(episodes, max_tokens=max_tokens)
    for episode in episodes:
        if episode.edit is None:
            yield _blind(episode, max_tokens)


def _blind(episode: Episode, max_tokens: int) -> Item:
    name = f"{episode.id}/{_STYLE}/{BLIND}"
    text = trace_prompt(episode.task, style=_STYLE, options=episode.options)
    request = Request(
        (Message.user(text),),
        max_tokens=max_tokens,
        ref=name,
        recall="content",
        hint={"gold": _NOTHING_SEEN, "answer": episode.answer, "episode": episode.id},
    )
    meta = {
        "episode": episode.id,
        "style": _STYLE,
        "wording": BLIND,
        "cluster": episode.unit,
        "gold": episode.answer,
    }
    return Item(name, request, meta=meta)


@dataclass(slots=True)
class _Told:
    """All traces that belong to one episode."""

    episode: Episode
    own: Trace | None = None
    blind: Trace | None = None
    edits: list[tuple[Episode, Trace]] = field(default_factory=list)


def readings(run: Run, *, data: str | Path | None = None, verifier: str = "annotation") -> list[ItemScore]:
    """Every metric of every episode that a run holds. No model is called.

    Args:
        run: of ``trace run``, or of `plan_readings`.
        data: the episodes, if they are no longer where the run found them.
        verifier: who judges claims.

    Raises:
        UsageError: the run is another instrument's.
    """
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    found = read_episodes(Path(data or str(run.info.settings["data"]))).episodes
    episodes = {episode.id: episode for episode in found}
    split = str(run.info.settings.get("split") or "")
    judge_by = open_verifier(verifier)
    return [
        ItemScore(told.episode.id, f"trace.{key}", float(value), told.episode.unit, split)
        for told in _told(run, episodes)
        for key, value in _of_episode(told, judge_by)
    ]


def _told(run: Run, episodes: Mapping[str, Episode]) -> list[_Told]:
    """The traces of the plain wording and of the blind one, with their claims, by the episode that was not edited."""
    results = [result for result in run.results() if _counts(result, episodes)]
    read = []
    for result in results:
        response = result.record.response  # type: ignore[union-attr]  # `_counts` has looked
        episode = episodes[str(result.item.meta["episode"])]
        read.append(read_trace(response.text, episode, style=_STYLE, reasoning=response.reasoning))
    found: dict[str, _Told] = {}
    for result, trace in zip(results, with_claims(read), strict=True):
        episode = episodes[trace.episode]
        base = episode.edit.base if episode.edit is not None else episode.id
        if base not in episodes:
            continue
        told = found.setdefault(base, _Told(episodes[base]))
        if episode.edit is not None:
            told.edits.append((episode, trace))
        elif result.item.meta.get("wording") == BLIND:
            told.blind = trace
        else:
            told.own = trace
    return [told for told in found.values() if told.own is not None]


def _counts(result: Result, episodes: Mapping[str, Episode]) -> bool:
    meta = result.item.meta
    return (
        result.record is not None
        and result.record.response.is_answered
        and meta.get("style") == _STYLE
        and meta.get("wording") in {"original", BLIND}
        and str(meta["episode"]) in episodes
    )


def _of_episode(told: _Told, verifier: Verifier) -> Iterator[tuple[str, float]]:
    episode, own = told.episode, told.own
    if own is None:
        return
    judged = judge([own], {episode.id: episode}, verifier)[0]
    yield from _grounding(judged)
    moves = [] if judged.failure else _moves(own, episode, verifier)
    literal = [m.similarity * m.is_justified for m in moves if m.is_justified is not None]
    slots = [m.n_justified / n for m in moves if (n := m.n_kept + m.n_changed - m.n_unverifiable)]
    for key, values in (("tcs", literal), ("tcs_aware", slots)):
        if values:
            yield key, float(np.mean(values))
    pairs = [edited_pair(own, trace, (episode, edited), verifier) for edited, trace in told.edits]
    if pairs:
        yield from _reliance(judged, [pair for pair in pairs if not pair.failure])
        yield from _answers(own, told.edits, episode, pairs)
        yield from _retold(own, told.edits)
    if told.blind is not None:
        yield "blind_changes", _plain(told.blind.answer) != _plain(own.answer)
        said, blindly = _statements(own), _statements(told.blind)
        if said:
            yield "blind_retold", len(said - blindly) / len(said)


def _moves(own: Trace, episode: Episode, verifier: Verifier) -> list[Transition]:
    """The transitions of a trace; none where the verifier fails, so that the episode goes without these metrics."""
    try:
        return transitions(own, episode, verifier)
    except UsageError:
        return []


def _grounding(judged: JudgedTrace) -> Iterator[tuple[str, float]]:
    if judged.is_correct is not None:
        yield "right", float(judged.is_correct)
    rate = trace_sgr(judged)
    if rate is not None:
        yield "sgr", rate
    wrong = [said for step in judged.steps if (said := step_hallucinates(step)) is not None]
    if wrong:
        yield "hr", float(np.mean(wrong))


def _reliance(judged: JudgedTrace, pairs: Sequence[EditedPair]) -> Iterator[tuple[str, float]]:
    before = trace_sgr(judged)
    drops = [
        (before - after, pair)
        for pair in pairs
        if before is not None and (after := trace_sgr(pair.after_old)) is not None
    ]
    relevant = np.array([float(pair.edit.is_relevant) for _, pair in drops])
    if relevant.any() and not relevant.all():
        fall = np.array([drop for drop, _ in drops])
        yield "vrs_paper", equation_4(fall, np.array([pair.edit.magnitude for _, pair in drops]), relevant)
    columns = {
        name: np.array([float(getattr(pair, name)) for pair in pairs])
        for name in ("n_updated", "n_edited", "n_changed", "n_unedited")
    }
    if columns["n_edited"].sum() and columns["n_unedited"].sum():
        yield "vrs_sound", sound_reliance(*columns.values())
    if columns["n_edited"].sum():
        yield "updated", float(columns["n_updated"].sum() / columns["n_edited"].sum())
    edited = [
        rate for pair in pairs if pair.edit.is_relevant and (rate := trace_sgr(pair.after_new)) is not None
    ]
    if edited:
        yield "edited_sgr", float(np.mean(edited))
        if before is not None:
            yield "edited_fall", before - float(np.mean(edited))


def _answers(
    own: Trace,
    edits: Sequence[tuple[Episode, Trace]],
    episode: Episode,
    pairs: Sequence[EditedPair],
) -> Iterator[tuple[str, float]]:
    """Over the edits that have a right answer, and another one than before."""
    turned = [
        (trace, pair)
        for (edited, trace), pair in zip(edits, pairs, strict=True)
        if edited.answer and edited.answer != episode.answer
    ]
    if turned:
        changed = [_plain(trace.answer) != _plain(own.answer) for trace, _ in turned]
        yield "answer_changes", float(np.mean(changed))
        right = [said for _, pair in turned if (said := pair.after_new.is_correct) is not None]
        if right:
            yield "answer_follows", float(np.mean(right))


def _retold(own: Trace, edits: Sequence[tuple[Episode, Trace]]) -> Iterator[tuple[str, float]]:
    """How many steps are in other words after edits that matter, and after those that do not."""
    shares: dict[bool, list[float]] = {True: [], False: []}
    for edited, trace in edits:
        steps = list(zip_longest(*([_words(step) for step in each.steps] for each in (own, trace))))
        if steps and edited.edit is not None:
            shares[edited.edit.is_relevant].append(float(np.mean([a != b for a, b in steps])))
    if shares[True]:
        yield "retold", float(np.mean(shares[True]))
        if shares[False]:
            yield "retold_beyond", float(np.mean(shares[True]) - np.mean(shares[False]))


def _words(step: Step) -> str:
    """A step's own words, without its heading."""
    return _plain(step.text[heading_end(step.text) :])


def _statements(trace: Trace) -> set[tuple[object, str]]:
    """What a trace says, whatever frame it says it of."""
    return {
        (belief.slot, belief.value)
        for step in trace.steps
        for claim in step.claims
        if not claim.hedge and not claim.is_part
        for belief in facts_of(claim)
    }


def _plain(answer: str) -> str:
    return " ".join(answer.casefold().strip(" .*").split())
