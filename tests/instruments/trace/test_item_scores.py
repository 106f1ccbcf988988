"""Item scores: of one scripted model that looks, and one that says the same whatever it is shown."""

from statistics import mean

import numpy as np
import pytest
from made_worlds import edits, made
from trace_world import group_of

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import by_metric, metrics_of
from theodolite.core.tables import Estimate
from theodolite.core.types import Record, Response
from theodolite.instruments.instrument import item_rows
from theodolite.instruments.trace import score
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.data.dataset import write_episodes
from theodolite.instruments.trace.experiments.edits import reliance
from theodolite.instruments.trace.formulas.vrs import edited_pair
from theodolite.instruments.trace.instrument import TRACE
from theodolite.instruments.trace.questions import BLIND, plan_study
from theodolite.instruments.trace.score import item_scores
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure

WORLDS = ("video", "navigation")


def told(request):
    """The looker: the trace that is true of the frames shown."""
    return str(request.hint["gold"])


class Scripted:
    reuse, batch_size, identity = "never", 64, "scripted"

    def __init__(self, script):
        self.script = script

    def measure(self, items):
        return [Record(item.id, Response("answered", text=self.script(item))) for item in items]

    def close(self):
        pass


@pytest.fixture(scope="module")
def episodes():
    own = [e for world in WORLDS for e in made(world)[::2]]
    return [*own, *(e for world in WORLDS for e in edits(world))]


@pytest.fixture(scope="module")
def data(episodes, tmp_path_factory):
    return write_episodes(episodes, tmp_path_factory.mktemp("episodes"))


def run_of(folder, script, items, data, instrument="trace"):
    info = RunInfo(
        instrument=instrument,
        model="m",
        identity="scripted",
        settings={"data": str(data), "split": "aligned"},
        seed=0,
        theodolite="0",
    )
    run = Run.start(folder, info)
    run.plan(items, whole=True)
    measure(run, LocalEngine(Scripted(script)), MeasureOptions())
    return run


def values_of(run):
    return {
        key: {each.item: each.value for each in rows if each.value is not None}
        for key, rows in by_metric(item_scores(run)).items()
    }


@pytest.fixture(scope="module")
def found(episodes, data, tmp_path_factory):
    """Scores of a looker, and of a model that always tells the story of the unedited frames, which was true."""
    folder = tmp_path_factory.mktemp("runs")
    by_id = {e.id: e for e in episodes}

    def by_heart(item):
        episode = by_id[item.meta["episode"]]
        base = by_id[episode.edit.base] if episode.edit else episode
        return str(base.meta["oracle"])

    got = {}
    for name, script in (("looker", lambda item: told(item.request)), ("by heart", by_heart)):
        with run_of(folder / name, script, plan_study(episodes), data) as run:
            got[name] = values_of(run)
    return got


def test_every_plain_episode_is_read_and_asked_once_without_frames(episodes, found):
    own = {e.id for e in episodes if e.edit is None}
    blind = [item for item in plan_study(episodes) if item.meta["wording"] == BLIND]
    assert {item.meta["episode"] for item in blind} == own
    assert all(not item.request.pictures for item in blind)
    for values in found.values():
        assert set(values["trace.sgr"]) == set(values["trace.blind_changes"]) == own
        assert set(values) <= {metric.key for metric in metrics_of("trace")}


def test_where_the_story_learnt_by_heart_is_true_sgr_and_accuracy_see_no_difference(found):
    for key in ("right", "sgr", "hr", "tcs", "tcs_aware"):
        assert found["looker"][f"trace.{key}"] == found["by heart"][f"trace.{key}"], key
    assert set(found["looker"]["trace.sgr"].values()) == {1.0}


def test_edited_frames_tell_them_apart(found):
    looker, by_heart = found["looker"], found["by heart"]
    for key in ("updated", "vrs_paper", "vrs_sound", "answer_changes", "blind_changes", "blind_retold"):
        assert all(value == 0 for value in by_heart[f"trace.{key}"].values()), key
        assert mean(looker[f"trace.{key}"].values()) > 0.9, key
    for key in ("retold", "retold_beyond"):
        assert all(value == 0 for value in by_heart[f"trace.{key}"].values()), key
        assert all(value > 0.2 for value in looker[f"trace.{key}"].values()), key
    assert set(looker["trace.edited_sgr"].values()) == {1.0}
    assert all(value < 1 for value in by_heart["trace.edited_sgr"].values())
    for episode, sgr in by_heart["trace.edited_sgr"].items():
        assert by_heart["trace.edited_fall"][episode] == pytest.approx(1 - sgr)
    assert set(looker["trace.answer_follows"].values()) == {1.0}
    assert set(by_heart["trace.answer_follows"].values()) == {0.0}


def test_item_scores_are_the_formulas_by_episode(episodes, data, tmp_path):
    """Their means are SGR and HR of the traces, and VRS is that of the episode's own pairs."""
    rng = np.random.default_rng(0)
    texts = {}
    for episode in episodes:
        lines = str(episode.meta["oracle"]).splitlines()
        turned = [line.replace(" left ", " right ") if rng.random() < 0.4 else line for line in lines]
        texts[episode.id] = "\n".join(turned)
    with run_of(
        tmp_path / "run", lambda item: texts[item.meta["episode"]], plan_study(episodes), data
    ) as run:
        values = values_of(run)
    verifier = open_verifier("annotation")
    by_id = {e.id: e for e in episodes}
    traces = {
        e.id: t
        for e, t in zip(
            episodes,
            with_claims([read_trace(texts[e.id], e) for e in episodes]),
            strict=True,
        )
    }
    own = [e for e in episodes if e.edit is None]
    group = group_of(judge([traces[e.id] for e in own], by_id, verifier))
    for key in ("sgr", "hr", "right"):
        assert mean(values[f"trace.{key}"].values()) == pytest.approx(group.mean(key).value), key
    checked = 0
    for episode in own:
        retold = {}
        for e in episodes:
            if e.edit is not None and e.edit.base == episode.id:
                sides = [
                    [line.partition("): ")[2] for line in texts[x.id].splitlines() if line.startswith("Step")]
                    for x in (episode, e)
                ]
                n = max(map(len, sides))
                padded = [side + [""] * (n - len(side)) for side in sides]
                changed = [a != b for a, b in zip(*padded, strict=True)]
                retold.setdefault(e.edit.is_relevant, []).append(mean(map(float, changed)))
        assert values["trace.retold"][episode.id] == pytest.approx(mean(retold[True]))
        if False in retold:
            beyond = mean(retold[True]) - mean(retold[False])
            assert values["trace.retold_beyond"][episode.id] == pytest.approx(beyond)
        pairs = [
            edited_pair(traces[episode.id], traces[e.id], (episode, e), verifier)
            for e in episodes
            if e.edit is not None and e.edit.base == episode.id
        ]
        edited = sum(p.n_edited for p in pairs)
        if edited:
            assert values["trace.updated"][episode.id] == pytest.approx(
                sum(p.n_updated for p in pairs) / edited
            )
        sweep = reliance(pairs).sweep
        if sweep:
            assert values["trace.vrs_paper"][episode.id] == pytest.approx(sweep["ε=0.01, clip=10"])
            checked += 1
    assert checked > 2


RESPONSES = {
    "failed: gone": Response.failed("gone"),
    "refused": Response("refused", reason="policy"),
    "cut off": Response("answered", text="Step 1: A red ball.\nStep 2: A", finish="length"),
    "unreadable": Response("answered", text="Step 1: A red ball.\nStep 2: A box.", finish="stop"),
}


def test_every_item_without_a_value_says_why(episodes, data, tmp_path):
    own = [e.id for e in episodes if e.edit is None]
    lost = dict(zip(own, RESPONSES.items(), strict=False))

    class Losing(Scripted):
        def measure(self, items):
            return [
                Record(item.id, lost[item.meta["episode"]][1])
                if item.meta["episode"] in lost and item.meta["wording"] == "original"
                else Record(item.id, Response("answered", text=told(item.request), finish="stop"))
                for item in items
            ]

    info = RunInfo(
        instrument="trace",
        model="m",
        identity="scripted",
        settings={"data": str(data)},
        seed=0,
        theodolite="0",
    )
    with Run.start(tmp_path / "run", info) as run:
        run.plan(plan_study(episodes), whole=True)
        measure(run, LocalEngine(Losing(told)), MeasureOptions())
        scores = item_scores(run)
        tables = TRACE.tables(run)
    by = {(s.item, s.metric): s for s in scores}
    for name, (reason, _) in lost.items():
        right = by[name, "trace.right"]
        assert right.reason == reason
        assert right.value == (None if reason.startswith("failed") else 0.0)
        if reason in {"failed: gone", "refused"}:
            assert {by[name, f"trace.{key}"].reason for key in ("sgr", "hr", "tcs", "edited_sgr")} == {reason}
        assert by[name, "trace.blind_changes"].reason == reason
    assert {s.item for s in scores} == set(own)
    assert {s.split for s in scores} == {"in-distribution", "ood"}
    notes = " ".join(next(t for t in tables if t.name == "trace.grounding").notes)
    assert "without a trace: refused" in notes
    assert "without a trace: failed: gone" in notes
    assert "1 cut off" in notes


def test_tables_and_item_scores_are_one_number_under_one_name(episodes, data, tmp_path):
    """Every metric of the instrument stands in its tables, with the mean of its item scores."""
    rng = np.random.default_rng(1)

    def script(item):
        lines = told(item.request).splitlines()
        return "\n".join(line.replace(" left ", " right ") if rng.random() < 0.4 else line for line in lines)

    with run_of(tmp_path / "run", script, plan_study(episodes), data) as run:
        scores, tables = TRACE.score(run), TRACE.tables(run)
    shown = {}
    for table in tables:
        for column, cell in zip(table.columns, table.rows[0], strict=True):
            shown.setdefault(column.key, cell)
    for metric in metrics_of("trace"):
        expected = stats.score_mean(metric, scores)
        assert isinstance(expected, Estimate), metric.key
        assert shown[metric.key] == expected, metric.key


def test_a_run_is_parsed_once_in_a_process(episodes, data, tmp_path, monkeypatch):
    parsed = []
    real = score.with_claims
    monkeypatch.setattr(
        score, "with_claims", lambda traces, **how: parsed.append(len(traces)) or real(traces, **how)
    )
    items = list(plan_study(episodes))
    with run_of(tmp_path / "run", lambda item: told(item.request), items, data) as run:
        scores = TRACE.score(run)
        TRACE.tables(run)
        rows = list(item_rows(TRACE, run, lambda picture: picture.digest, scores))
        TRACE.signatures([run.folder], scores, seed=0)
    assert parsed == [len(items)]
    assert len(rows) == len(items)
    blind = {row.status for row in rows if row.condition == "blind"}
    assert blind == {"none of these"}  # what the looker says without frames is not an option
    assert {row.status for row in rows if row.condition == "plain"} == {"answered"}


def test_another_instruments_run_is_refused(tmp_path, data):
    with (
        run_of(tmp_path / "run", told, (), data, instrument="scene") as run,
        pytest.raises(UsageError, match="scene"),
    ):
        item_scores(run)
