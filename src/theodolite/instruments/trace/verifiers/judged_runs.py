"""The traces of a run: read, parsed and judged once in a process.

Parsing is slow, and the item scores, tables, rows, signatures and figures of a run all need the same traces, so they all get
them here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from theodolite.answers import Answer, guarded
from theodolite.answers.grading import read_item
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Label, Trace, Verifier
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.formulas.refutable import Swap, refuted_or_why
from theodolite.instruments.trace.formulas.tcs import Transition, transitions
from theodolite.instruments.trace.formulas.vrs import EditedPair, edited_pair
from theodolite.instruments.trace.questions import without_pictures
from theodolite.instruments.trace.verifiers.judging import Hedges, JudgedTrace, judge
from theodolite.runs import Result, Run, Tally
from theodolite.worlds.episodes import Episode

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
        """Of the prompt."""
        return str(self.result.item.meta["style"])

    @property
    def wording(self) -> str:
        """Of the task."""
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

    def __init__(self, run: Run, data: Path) -> None:
        found = read_episodes(data)
        self.folder = run.folder
        self.model = run.info.model
        self.split = str(run.info.settings.get("split") or "")
        self.episodes: Mapping[str, Episode] = {episode.id: episode for episode in found.episodes}
        results = list(run.results())
        known = [r for r in results if str(r.item.meta["episode"]) in self.episodes]
        self.traces = _read(known, self.episodes)
        asked = {str(r.item.meta["episode"]) for r in results}
        self.problems: tuple[Problem, ...] = (
            *found.problems,
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
                for episode in without_pictures(found.episodes)
                if episode.id not in asked
            ),
        )
        self._judged: dict[tuple[str, str, Hedges], JudgedTrace] = {}
        self._refuted: dict[tuple[str, str], list[tuple[Swap, Label]] | str] = {}
        self._moves: dict[tuple[str, str, float, str, Hedges], list[Transition] | str] = {}
        self._pairs: dict[tuple[str, str, str, Hedges], EditedPair] = {}

    @property
    def styles(self) -> list[str]:
        """The prompt styles in the order of the plan; the first one is the reference."""
        return list(dict.fromkeys(t.style for t in self.traces if t.is_own))

    def own(self, style: str) -> list[RunTrace]:
        """The unedited episodes in one style and the original wording."""
        return [t for t in self.traces if t.is_own and t.style == style]

    def split_of(self, episode: Episode) -> str:
        """The split of the run, if it has one, else that of the episode."""
        return self.split or episode.split

    def judged(self, trace: RunTrace, verifier: Verifier, hedges: Hedges = "abstract") -> JudgedTrace | None:
        """The judged trace of an item; None if it has no trace."""
        if trace.trace is None:
            return None
        key = (trace.result.item.id, verifier.name, hedges)
        if key not in self._judged:
            self._judged[key] = judge([trace.trace], self.episodes, verifier, hedges=hedges)[0]
        return self._judged[key]

    def refuted(self, episode: Episode, verifier: Verifier) -> list[tuple[Swap, Label]] | str:
        """The verdicts on false claims about an episode, or why the verifier failed."""
        key = (episode.id, verifier.name)
        if key not in self._refuted:
            self._refuted[key] = refuted_or_why(episode, verifier)
        return self._refuted[key]

    def transitions(
        self,
        trace: RunTrace,
        verifier: Verifier,
        tau: float,
        sentence_model: str,
        hedges: Hedges = "abstract",
    ) -> list[Transition] | str:
        """The transitions between the steps of an item, or why the verifier failed."""
        key = (trace.result.item.id, verifier.name, tau, sentence_model, hedges)
        if trace.trace is None:
            return trace.reason
        if trace.trace.failure:
            return trace.trace.failure
        if key not in self._moves:
            said, episode = trace.trace, trace.episode

            def judged() -> list[Transition] | str:
                return transitions(said, episode, verifier, tau=tau, embedder=sentence_model, hedges=hedges)

            self._moves[key] = guarded(judged, unread=str)
        return self._moves[key]

    def pair(
        self, before: RunTrace, after: RunTrace, verifier: Verifier, hedges: Hedges = "abstract"
    ) -> EditedPair | None:
        """The traces of an episode and of its edit; None if one of them is missing."""
        if before.trace is None or after.trace is None:
            return None
        key = (before.result.item.id, after.result.item.id, verifier.name, hedges)
        if key not in self._pairs:
            both = before.episode, after.episode
            self._pairs[key] = edited_pair(before.trace, after.trace, both, verifier, hedges=hedges)
        return self._pairs[key]

    def edits(self, style: str) -> tuple[list[tuple[RunTrace, RunTrace]], list[Problem]]:
        """Every answered edit in one style beside its original, and the edits whose original has no answer."""
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


def judged_run(run: Run, data: str | Path | None = None) -> JudgedRun:
    """The traces of a run.

    Args:
        run: A run of ``trace run`` or of a diagnosis.
        data: The episodes, if they are no longer where the run found them.

    Raises:
        UsageError: The run is of another instrument, or its episodes cannot be read.
    """
    if run.info.instrument not in {INSTRUMENT, PAIRS}:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    return _judged_run(run.folder, run.tally(), Path(data or str(run.info.settings["data"])))


@lru_cache(maxsize=_KEPT_RUNS)
def _judged_run(folder: Path, _: Tally, data: Path) -> JudgedRun:
    with Run.open(folder) as run:
        return JudgedRun(run, data)


def _read(results: Sequence[Result], episodes: Mapping[str, Episode]) -> tuple[RunTrace, ...]:
    """Reads the answers and parses all traces together."""
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
    parsed = iter(with_claims(answered))
    return tuple(
        RunTrace(result, episode, answer, next(parsed) if is_answered else None)
        for result, episode, answer in zip(results, shown, answers, strict=True)
        for is_answered in [result.record is not None and result.record.response.is_answered]
    )
