"""Scores a run of traces: the metrics of each episode, and the main tables. Never calls a model.

right               the answer is right; answers that are refused or cannot be read are not
sgr, hr             share of supported claims, mean over steps; share of steps with an unsupported claim
sgr_low, sgr_high   SGR if all unverifiable claims are wrong, and if all are right
refutable           of false claims made from the annotation, the share that the verifier refutes
unverifiable        share of claims that cannot be judged
not_understood      share of claims that are clauses which were not understood
tcs, tcs_aware      temporal consistency by equation 2, and by slots
vrs_paper           equation 4 over the episode's own edits
vrs_sound           visual reliance by facts, over the episode's own edits
updated             of the facts that the edits changed, the share no longer stated
edited_sgr          mean SGR of the traces on relevant edits, against what the edited frames show
edited_fall         sgr − edited_sgr: a trace that was true by luck falls when the frames change
retold              share of steps with other words, mean over relevant edits
retold_beyond       the same minus the mean over irrelevant edits, which change nothing that can be claimed
answer_changes      of the edits that change the right answer, the share after which another answer is given
answer_follows      of the same, the share after which the new right answer is given
blind_changes       another answer is given without any frame
blind_retold        of the statements made with the frames, the share not made without them

Edits are those of `theodolite trace make --of`; an episode without any has no metrics of edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from theodolite import stats
from theodolite.answers import READER, Answer, guarded, normal_form
from theodolite.answers.grading import read_item
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem
from theodolite.core.scores import (
    Condition,
    ItemScore,
    Signature,
    SignatureKind,
    judge_signature,
    metric_of,
)
from theodolite.core.views import ClaimView, StepsView, StepView
from theodolite.instruments.instrument import verdict
from theodolite.instruments.trace.claims.extractors import EXTRACTOR, open_extractor
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.steps import heading_end
from theodolite.instruments.trace.claims.types import Extractor, Step, Trace, Verifier, facts_of
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.formulas.refutable import Known, known_of, trace_refutable
from theodolite.instruments.trace.formulas.sgr import (
    AS_PAPER,
    Counting,
    mean_of,
    stage_sgr,
    step_grounding,
    trace_hr,
    trace_not_understood,
    trace_sgr,
    trace_sgr_bounds,
    trace_unverifiable,
)
from theodolite.instruments.trace.formulas.tcs import (
    SENTENCE_MODEL,
    TAU,
    Transition,
    trace_tcs,
    trace_tcs_aware,
    transitions,
    why_not_computed,
)
from theodolite.instruments.trace.formulas.vrs import EditedTraces, edited_pair, vrs_paper, vrs_sound
from theodolite.instruments.trace.questions import BLIND, without_pictures
from theodolite.instruments.trace.verifiers.judging import (
    Hedges,
    JudgedStep,
    JudgedTrace,
    judge,
    open_verifier,
)
from theodolite.runs import Parsed, Result, Run, Tally
from theodolite.worlds.episodes import Episode

# The traces of a run: read, parsed and judged once in a process.


INSTRUMENT, PAIRS = "trace", "trace-pairs"
"""The kinds of run; one of pairs has episodes and edits that change their answers, and is not scored."""
_KEPT_RUNS = 8


@dataclass(frozen=True, slots=True, eq=False)
class RunTrace:
    """One item of a run, with its trace if it was answered."""

    result: Result
    episode: Episode
    answer: Answer
    trace: Trace | None
    """With its claims; None if the model did not answer."""

    @property
    def style(self) -> str:
        """The prompt style."""
        return str(self.result.item.meta["style"])

    @property
    def wording(self) -> str:
        """The wording of the task."""
        return str(self.result.item.meta.get("wording") or "original")

    @property
    def is_own(self) -> bool:
        """True for an unedited episode in its original wording."""
        return self.episode.edit is None and self.wording == "original"

    @property
    def reason(self) -> str:
        """Why there is no trace: refused, failed, or not asked yet."""
        return self.answer.status if self.answer.status == "refused" else self.answer.reason


class JudgedRun:
    """The traces of a run, with verdicts on demand. Get it from `judged_run`."""

    def __init__(self, run: Run, data: Path, extractor: Extractor) -> None:
        episode_set = read_episodes(data)
        self.folder = run.folder
        self.model = run.info.model
        self.split = str(run.info.settings.get("split") or "")
        self.episodes: Mapping[str, Episode] = {episode.id: episode for episode in episode_set.episodes}
        results = list(run.results())
        known = [r for r in results if str(r.item.meta["episode"]) in self.episodes]
        self.extractor = extractor.name
        self.traces = _read(known, self.episodes, extractor)
        asked = {str(r.item.meta["episode"]) for r in results}
        self.problems: tuple[Problem, ...] = (
            *episode_set.problems,
            *(
                Problem(r.item.name, "its episode is no longer in the data")
                for r in results
                if str(r.item.meta["episode"]) not in self.episodes
            ),
            *(
                Problem(t.result.item.name, problem)
                for t in self.traces
                if t.trace
                for problem in t.trace.problems
            ),
            *(
                Problem(episode.id, "has no picture, so no model was asked about it")
                for episode in without_pictures(episode_set.episodes)
                if episode.id not in asked
            ),
        )
        self._judged: dict[tuple[str, str, Hedges], JudgedTrace] = {}
        self._known: dict[str, Mapping[str, Known]] = {}
        self._moves: dict[tuple[str, str, float, str, Hedges], list[Transition] | str] = {}
        self._pairs: dict[tuple[str, str, str, Hedges], EditedTraces] = {}

    @property
    def styles(self) -> list[str]:
        """The prompt styles in the order of the plan; the first one is the reference."""
        return list(dict.fromkeys(t.style for t in self.traces if t.is_own))

    def own(self, style: str) -> list[RunTrace]:
        """Return the unedited episodes in one style and the original wording."""
        return [t for t in self.traces if t.is_own and t.style == style]

    def split_of(self, episode: Episode) -> str:
        """Return the split of the run, if it has one, else that of the episode."""
        return self.split or episode.split

    def judged(self, trace: RunTrace, verifier: Verifier, hedges: Hedges = "abstract") -> JudgedTrace | None:
        """Return the judged trace of an item; None if it has no trace."""
        if trace.trace is None:
            return None
        key = (trace.result.item.id, verifier.name, hedges)
        if key not in self._judged:
            self._judged[key] = judge([trace.trace], self.episodes, verifier, hedges=hedges)[0]
        return self._judged[key]

    def known(self, verifier: Verifier) -> Mapping[str, Known]:
        """Return what a verifier says of claims of known truth about the unedited episodes, by id."""
        if verifier.name not in self._known:
            own = {t.episode.id: t.episode for t in self.traces if t.is_own}
            self._known[verifier.name] = known_of(list(own.values()), verifier)
        return self._known[verifier.name]

    def transitions(
        self,
        trace: RunTrace,
        verifier: Verifier,
        tau: float,
        sentence_model: str,
        hedges: Hedges = "abstract",
    ) -> list[Transition] | str:
        """Return the transitions between the steps of an item, or why the verifier failed."""
        key = (trace.result.item.id, verifier.name, tau, sentence_model, hedges)
        if trace.trace is None:
            return trace.reason
        if trace.trace.failure:
            return trace.trace.failure
        if key not in self._moves:
            own_trace, episode = trace.trace, trace.episode

            def judged() -> list[Transition] | str:
                return transitions(
                    own_trace, episode, verifier, tau=tau, embedder=sentence_model, hedges=hedges
                )

            self._moves[key] = guarded(judged, unread=str)
        return self._moves[key]

    def pair(
        self, before: RunTrace, after: RunTrace, verifier: Verifier, hedges: Hedges = "abstract"
    ) -> EditedTraces | None:
        """Return the traces of an episode and of its edit; None if one of them is missing."""
        if before.trace is None or after.trace is None:
            return None
        key = (before.result.item.id, after.result.item.id, verifier.name, hedges)
        if key not in self._pairs:
            both = before.episode, after.episode
            self._pairs[key] = edited_pair(before.trace, after.trace, both, verifier, hedges=hedges)
        return self._pairs[key]

    def edits(self, style: str) -> tuple[list[tuple[RunTrace, RunTrace]], list[Problem]]:
        """Return every answered edit in one style beside its original, and the edits whose original has no answer."""
        asked = [t for t in self.traces if t.style == style and t.wording == "original" and t.trace]
        by_episode = {t.episode.id: t for t in asked}
        pairs, lonely = [], []
        for after in asked:
            if after.episode.edit is None:
                continue
            base = after.episode.edit.base
            if base in by_episode:
                pairs.append((by_episode[base], after))
            else:
                why = f"is an edit of {base}, which has no answer; it is left out of all numbers about edits"
                lonely.append(Problem(after.episode.id, why))
        return pairs, lonely


def judged_run(run: Run, data: str | Path | None = None, extractor: str = EXTRACTOR) -> JudgedRun:
    """Return the traces of a run.

    Args:
        run: A run of ``trace run`` or of a diagnosis.
        data: The episodes, if they were moved since the run.
        extractor: Finds the claims.

    Raises:
        UsageError: The run is of another instrument, or its episodes cannot be read.
    """
    if run.info.instrument not in {INSTRUMENT, PAIRS}:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    return _judged_run(run.folder, run.tally(), Path(data or str(run.info.settings["data"])), extractor)


@lru_cache(maxsize=_KEPT_RUNS)
def _judged_run(folder: Path, _: Tally, data: Path, extractor: str) -> JudgedRun:
    with Run.open(folder) as run:
        return JudgedRun(run, data, open_extractor(extractor))


forget_runs = _judged_run.cache_clear
"""Forget all traces that were read and judged."""


def _read(
    results: Sequence[Result], episodes: Mapping[str, Episode], extractor: Extractor
) -> tuple[RunTrace, ...]:
    """Read the answers and parse all traces together."""
    shown = [episodes[str(r.item.meta["episode"])] for r in results]
    answers = [read_item(result.item, result.record) for result in results]
    answered = [
        read_trace(
            result.record.response.text,
            episode,
            style=str(result.item.meta["style"]),
            reasoning=result.record.response.reasoning,
            answer=answer,
        )
        for result, episode, answer in zip(results, shown, answers, strict=True)
        if result.record is not None and result.record.response.is_answered
    ]
    parsed = iter(with_claims(answered, extractor=extractor))
    return tuple(
        RunTrace(result, episode, answer, next(parsed) if is_answered else None)
        for result, episode, answer in zip(results, shown, answers, strict=True)
        for is_answered in [result.record is not None and result.record.response.is_answered]
    )


OF_TRACE = ("sgr", "sgr_low", "sgr_high", "hr", "unverifiable", "not_understood", "tcs", "tcs_aware")
OF_EDITS = ("vrs_paper", "vrs_sound", "updated", "edited_sgr", "edited_fall")
OF_CHANGES = ("retold", "retold_beyond", "answer_changes", "answer_follows")
OF_BLIND = ("blind_changes", "blind_retold")
_Values = Iterator[tuple[str, float | None, str]]
"""Metric, value or None, and the reason if there is none."""


@dataclass(frozen=True, slots=True)
class TraceScoreOptions:
    """How traces are judged and counted."""

    verifier: str = "annotation"
    extractor: str = EXTRACTOR
    counting: Counting = AS_PAPER
    hedges: Hedges = "abstract"
    tau: float = TAU
    sentence_model: str = SENTENCE_MODEL
    """A folder or hub id, for TCS of equation 2."""
    also_by: tuple[str, ...] = ()
    """Further verifiers, for the table of other ways to measure."""
    seed: int = 0


@dataclass(slots=True)
class _EpisodeTraces:
    """All items of one unedited episode, in one style."""

    own: RunTrace
    blind: RunTrace | None = None
    edits: list[RunTrace] = field(default_factory=list)


def item_scores(
    run: Run, *, data: str | Path | None = None, options: TraceScoreOptions | None = None
) -> list[ItemScore]:
    """Compute every metric of every episode of a run, in its first prompt style.

    Args:
        run: A run of ``trace run`` or of a diagnosis.
        data: The episodes, if they were moved since the run.
        options: How to judge and count.

    Raises:
        UsageError: The run is of another instrument.
    """
    how = options or TraceScoreOptions()
    read = judged_run(run, data, how.extractor)
    return style_scores(read, (read.styles or [""])[0], open_verifier(how.verifier), how)


def style_scores(read: JudgedRun, style: str, verifier: Verifier, how: TraceScoreOptions) -> list[ItemScore]:
    """Compute every metric of every episode in one prompt style."""
    return [
        ItemScore(
            traces.own.episode.id,
            f"trace.{key}",
            None if value is None else float(value),
            traces.own.episode.unit,
            read.split_of(traces.own.episode),
            reason=reason,
        )
        for traces in _by_episode(read, style)
        for key, value, reason in _of_episode(read, traces, verifier, how)
    ]


def _by_episode(read: JudgedRun, style: str) -> list[_EpisodeTraces]:
    by_episode = {t.episode.id: _EpisodeTraces(t) for t in read.own(style)}
    for t in read.traces:
        edit = t.episode.edit
        base = by_episode.get(edit.base if edit is not None else t.episode.id)
        if base is None or t.style != style:
            continue
        if edit is not None and t.wording == "original":
            base.edits.append(t)
        elif edit is None and t.wording == BLIND:
            base.blind = t
    return list(by_episode.values())


def _of_episode(
    read: JudgedRun, traces: _EpisodeTraces, verifier: Verifier, how: TraceScoreOptions
) -> _Values:
    own = traces.own
    yield ("refutable", *refutable_of(read.known(verifier)[own.episode.id]))
    judged = read.judged(own, verifier, how.hedges)
    if own.trace is None or judged is None:
        if own.answer.status == "refused" and own.episode.answer:
            yield "right", 0.0, own.reason
        absent = ("right", *OF_TRACE)[own.answer.status == "refused" :]
        absent += OF_EDITS + OF_CHANGES if traces.edits else ()
        absent += OF_BLIND if traces.blind is not None else ()
        yield from ((key, None, own.reason) for key in absent)
        return
    moves = read.transitions(own, verifier, how.tau, how.sentence_model, how.hedges)
    yield from of_trace(judged, moves, how.counting)
    if traces.edits:
        pairs = [read.pair(own, after, verifier, how.hedges) for after in traces.edits]
        known = [pair for pair in pairs if pair is not None]
        yield from reliance_metrics(judged, [pair for pair in known if not pair.failure], how.counting)
        yield from answer_metrics(own, traces.edits, known)
        yield from retelling_metrics(own.trace, traces.edits)
    if traces.blind is not None:
        yield from blind_metrics(own, own.trace, traces.blind)


def of_trace(judged: JudgedTrace, moves: Sequence[Transition] | str, how: Counting) -> _Values:
    """Yield the metrics of a single trace.

    Args:
        judged: The judged trace.
        moves: Its transitions, or why there are none.
        how: Which claims count.
    """
    if judged.is_correct is not None:
        yield "right", float(judged.is_correct), judged.trace.unread
    elif judged.failure:
        yield "right", None, judged.failure
    if judged.failure:
        yield from ((key, None, judged.failure) for key in OF_TRACE)
        return
    yield "sgr", trace_sgr(judged, how), "no claim can be judged"
    low, high = trace_sgr_bounds(judged, how)
    yield "sgr_low", low, "it makes no claim"
    yield "sgr_high", high, "it makes no claim"
    yield "hr", trace_hr(judged, how), "no claim can be judged"
    yield "unverifiable", trace_unverifiable(judged, how), "it makes no claim"
    yield "not_understood", trace_not_understood(judged, how), "it makes no claim"
    steps = [] if isinstance(moves, str) else moves
    why = moves if isinstance(moves, str) else "no transition between steps can be judged"
    yield "tcs", trace_tcs(steps), why_not_computed(steps) or why
    yield "tcs_aware", trace_tcs_aware(steps), why


def refutable_of(found: Known) -> tuple[float | None, str]:
    """Return the share of false claims about an episode that are refuted, or why there is none."""
    if isinstance(found, str):
        return None, found
    labels = [label for each, label in found if not each.is_true]
    return trace_refutable(labels), "nothing that is annotated can be made false"


def reliance_metrics(judged: JudgedTrace, pairs: Sequence[EditedTraces], how: Counting) -> _Values:
    """Yield VRS in both versions, facts updated, and SGR on edited frames, over the edits of one episode."""
    before = trace_sgr(judged, how)
    drops = [
        (before - after, pair)
        for pair in pairs
        if before is not None and (after := trace_sgr(pair.after_old, how)) is not None
    ]
    relevant = np.array([float(pair.edit.is_relevant) for _, pair in drops])
    size = np.array([pair.edit.magnitude for _, pair in drops])
    has_both = bool(relevant.any()) and not bool(relevant.all())
    value = vrs_paper(np.array([drop for drop, _ in drops]), size, relevant) if has_both else None
    yield "vrs_paper", value, "needs an SGR after a relevant and after an irrelevant edit"
    facts = {
        name: np.array([float(getattr(pair, name)) for pair in pairs])
        for name in ("n_updated", "n_edited", "n_changed", "n_unedited")
    }
    n_edited, n_unedited = facts["n_edited"].sum(), facts["n_unedited"].sum()
    value = vrs_sound(*facts.values()) if n_edited and n_unedited else None
    yield "vrs_sound", value, "states no edited fact, or no unedited one"
    value = float(facts["n_updated"].sum() / n_edited) if n_edited else None
    yield "updated", value, "states no edited fact"
    edited = mean_of([trace_sgr(pair.after_new, how) for pair in pairs if pair.edit.is_relevant])
    yield "edited_sgr", edited, "no claim after a relevant edit can be judged"
    fall = before - edited if before is not None and edited is not None else None
    yield "edited_fall", fall, "needs an SGR before and after a relevant edit"


def answer_metrics(own: RunTrace, edits: Sequence[RunTrace], pairs: Sequence[EditedTraces]) -> _Values:
    """Yield how answers change with the edits that change the right answer.

    Args:
        own: The original.
        edits: Its edits.
        pairs: The edited pairs of the answered edits, in the same order.
    """
    answered = [after for after in edits if after.trace is not None]
    turned = [
        (after, pair)
        for after, pair in zip(answered, pairs, strict=True)
        if after.episode.answer and after.episode.answer != own.episode.answer
    ]
    why = "no answered edit changes the right answer"
    changes = [_changes(own.answer, after.answer) for after, _ in turned]
    yield "answer_changes", mean_of([value for value, _ in changes]), changes[0][1] if changes else why
    yield "answer_follows", mean_of([pair.after_new.is_correct for _, pair in turned]), why


def retelling_metrics(own: Trace, edits: Sequence[RunTrace]) -> _Values:
    """Yield how many steps have other words after relevant edits, and after irrelevant ones."""
    shares: dict[bool, list[float]] = {True: [], False: []}
    for after in edits:
        if after.trace is None or after.episode.edit is None:
            continue
        steps = list(zip_longest(*([_words(step) for step in trace.steps] for trace in (own, after.trace))))
        if steps:
            shares[after.episode.edit.is_relevant].append(float(np.mean([a != b for a, b in steps])))
    relevant, irrelevant = mean_of(shares[True]), mean_of(shares[False])
    yield "retold", relevant, "no relevant edit was answered"
    beyond = None if relevant is None or irrelevant is None else relevant - irrelevant
    yield "retold_beyond", beyond, "needs an answered relevant and an answered irrelevant edit"


def blind_metrics(own: RunTrace, seen: Trace, blind: RunTrace) -> _Values:
    """Yield how much the answer and the statements change without frames.

    Args:
        own: The item with frames.
        seen: Its trace.
        blind: The item without frames.
    """
    if blind.trace is None and blind.answer.status != "refused":
        yield from ((key, None, blind.reason) for key in OF_BLIND)
        return
    yield ("blind_changes", *_changes(own.answer, blind.answer))
    stated = _statements(seen)
    blindly = _statements(blind.trace) if blind.trace is not None else set()
    yield "blind_retold", len(stated - blindly) / len(stated) if stated else None, "states nothing"


def _changes(before: Answer, after: Answer) -> tuple[float | None, str]:
    """Return 1 if the second answer differs from the first; None and the reason if this cannot be decided.

    A refusal, or the answer that no option holds, differs from any option.
    """
    if not before.is_read:
        return None, before.status
    if after.is_read:
        return float(normal_form(str(before.value)) != normal_form(str(after.value))), ""
    return (1.0, "") if after.status in {"refused", "none of these"} else (None, after.status)


def _words(step: Step) -> str:
    """Return the words of a step, without its heading."""
    return " ".join(step.text[heading_end(step.text) :].casefold().strip(" .*").split())


def _statements(trace: Trace) -> set[tuple[object, str]]:
    """Return the facts that a trace states about any frame."""
    return {
        (belief.slot, belief.value)
        for step in trace.steps
        for claim in step.claims
        if not claim.hedge and not claim.is_part
        for belief in facts_of(claim)
    }


def mean_over(
    rows: Sequence[tuple[float | None, str]], *, bounds: stats.Bounds | None = stats.SHARE
) -> stats.Estimate | None:
    """Return the mean of the values that are not None, clustered by the second entries."""
    known = [(value, unit) for value, unit in rows if value is not None]
    return stats.clustered_mean(
        [value for value, _ in known], [unit for _, unit in known] or None, bounds=bounds
    )


def difference_over(rows: Sequence[tuple[float | None, float | None, str]]) -> stats.Estimate | None:
    """Return the mean of first − second over the rows that have both, clustered by the third entries."""
    known = [(a, b, unit) for a, b, unit in rows if a is not None and b is not None]
    return stats.clustered_difference(
        [a for a, _, _ in known], [b for _, b, _ in known], [unit for *_, unit in known] or None
    )


def write_answers(run: Run, read: JudgedRun) -> None:
    """Store the parsed answers beside the raw text."""
    run.write_parsed(
        Parsed(t.result.item.id, READER, t.answer.status, t.answer.value) for t in read.traces if t.trace
    )


# Signatures of traces.
#
# temporal drift   the grounding of steps falls by more than five points from the first to the last quarter
# language prior   at most a tenth of the answers change without the frames


POINTS = 0.05
FEW = 0.1

TEMPORAL_DRIFT = SignatureKind(
    "temporal drift",
    "Show the same frames in another order, or the late frames first: drift follows the number of the step, not the frame "
    "(`theodolite trace make --of DATA --out EDITED`).",
    "Keep beliefs about the scene grounded as the task goes on; the paper does not say how.",
    "step grounding, sections 5.4, 7.1 and 8",
)
LANGUAGE_PRIOR = SignatureKind(
    "language prior",
    "Show the picture of another scene: an answer that stays the same was not about the picture (`theodolite ask run`).",
    "Enforce consistency between answers and perceived structure in training, and balance the answers of the data.",
    "CRISP, section 6; GridVQA-X, appendix B.1",
)


def trace_signatures(folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int) -> list[Signature]:
    """Compute temporal drift and language prior."""
    verifier = open_verifier("annotation")
    judged: list[JudgedTrace] = []
    for folder in folders:
        with Run.open(folder) as run:
            if run.info.instrument == PAIRS:
                continue
            read = judged_run(run)
        own = [read.judged(t, verifier) for t in read.own((read.styles or [""])[0])]
        judged += [trace for trace in own if trace is not None and not trace.failure]
    ends = [(stages["early"], stages["late"], t.unit) for t in judged for stages in [stage_sgr(t)]]
    drift = Condition(
        "SGR of the first quarter of the steps minus the last",
        difference_over(ends),
        lambda x: x.low > POINTS,
        "above five points",
    )
    unmoved = Condition(
        "answers that change without the frames",
        _mean("trace.blind_changes", scores),
        lambda x: x.high < FEW,
        "below a tenth",
    )
    return [
        judge_signature(TEMPORAL_DRIFT, [drift], test=_fall_test(judged, seed)),
        judge_signature(LANGUAGE_PRIOR, [unmoved]),
    ]


def _mean(key: str, scores: Sequence[ItemScore]) -> stats.Estimate | None:
    return stats.score_mean(metric_of(key), scores)


def _fall_test(judged: Sequence[JudgedTrace], seed: int) -> stats.HypothesisTest | None:
    """Test whether grounding falls from the first to the last step of a trace, by sign flips over clusters."""
    rows = [
        (first, last, trace.unit)
        for trace in judged
        if len(trace.steps) > 1
        and (first := step_grounding(trace.steps[0])) is not None
        and (last := step_grounding(trace.steps[-1])) is not None
    ]
    units = [unit for *_, unit in rows]
    if len(set(units)) < 2:
        return None
    return stats.sign_flip_test(
        [first for first, *_ in rows],
        [last for _, last, _ in rows],
        clusters=units,
        alternative="greater",
        seed=seed,
    )


# Rows of traces: every step with its claims and the verdict on each.


VERIFIER = "annotation"


def view_of(run: Run) -> Callable[[Result], dict[str, Any] | None]:
    """Return a function that returns the steps of an item. Items whose episode is gone are left out."""
    read, verifier = judged_run(run), open_verifier(VERIFIER)
    traces = {trace.result.item.id: trace for trace in read.traces}

    def view(result: Result) -> dict[str, Any] | None:
        trace = traces.get(result.item.id)
        if trace is None:
            return None
        judged = read.judged(trace, verifier)
        is_right = judged.is_correct if judged is not None and trace.answer.is_read else None
        return {
            "question": trace.episode.task,
            "correct": verdict(is_right, result.item.truth.condition),
            "steps": _view(judged, trace.episode.world),
        }

    return view


def _view(judged: JudgedTrace | None, world: str) -> StepsView | None:
    return None if judged is None else StepsView(steps=[_step(step) for step in judged.steps], world=world)


def _step(judged: JudgedStep) -> StepView:
    claims = [
        ClaimView(
            text=str(claim).partition(": ")[2] or judged.step.text[slice(*claim.span)],
            verdict=verdict.label,
            reason=verdict.reason or "",
            evidence=verdict.evidence,
        )
        for claim, verdict in judged.counted()
    ]
    return StepView(
        text=judged.step.text,
        frames=list(judged.step.frames),
        claims=claims,
        grounding=step_grounding(judged),
    )
