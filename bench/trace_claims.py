"""Speed of parsing traces into claims and judging them by geometry, and of parsing real sentences."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.result import Result
from theodolite.instruments.trace.claims.language import sentence_spans
from theodolite.instruments.trace.claims.reading import extract_many, read_trace, with_claims
from theodolite.instruments.trace.claims.types import Step, Trace
from theodolite.instruments.trace.data.traces import read_traces
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.worlds.stories import WORLDS, make_world

N_EPISODES, N_BYTES = 12, 100_000
RECORDS = Path(__file__).resolve().parents[2] / "shared" / "data" / "star" / "video_llava_traces.jsonl"


def run() -> Iterator[Result]:
    """Time correct traces of every embedded world from text to verdicts, then real traces from text to claims."""
    verifier = open_verifier("annotation")
    extract_many(["The red ball is left of the blue cube."])  # loads the parser
    n_all, seconds_all = 0, 0.0
    for world in WORLDS:
        episodes = {e.id: e for e in make_world(world, N_EPISODES, seed=5)}
        texts = {name: str(episode.meta["oracle"]) for name, episode in episodes.items()}
        started = time.perf_counter()
        traces = with_claims([read_trace(text, episodes[name]) for name, text in texts.items()])
        judged = judge(traces, episodes, verifier)
        seconds = time.perf_counter() - started
        assert all(not trace.failure for trace in judged)
        n = _n_sentences([step.text for trace in traces for step in trace.steps])
        n_all, seconds_all = n_all + n, seconds_all + seconds
        yield Result(f"parsed and judged by geometry, {world}", n / seconds, "sent./s")
    yield Result("parsed and judged by geometry, all worlds", n_all / seconds_all, "sent./s", at_least=150)
    if RECORDS.is_file():
        texts = [step.text for trace in read_traces(RECORDS)[0] for step in trace.steps]
        started = time.perf_counter()
        extract_many(texts)
        rate = _n_sentences(texts) / (time.perf_counter() - started)
        yield Result("parsed only, real sentences of Video-LLaVA", rate, "sent./s")
        yield Result("100 kB of distinct real sentences, CPU time", _cpu_seconds(texts), "s")


def _cpu_seconds(texts: Sequence[str]) -> float:
    """Return the least CPU time of three passes over one trace of 100 kB without repeated sentences."""
    sentences = dict.fromkeys(text[a:b] for text in texts for a, b in sentence_spans(text))
    steps, size = [], 0
    for sentence in sentences:
        if size < N_BYTES:
            steps.append(Step(sentence))
            size += len(sentence) + 1
    spent = []
    for _ in range(3):
        started = time.process_time()
        with_claims([Trace("e", tuple(steps))])
        spent.append(time.process_time() - started)
    return min(spent)


def _n_sentences(texts: Sequence[str]) -> int:
    return sum(len(sentence_spans(text)) for text in texts)
