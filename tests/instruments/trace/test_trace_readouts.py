"""Metrics of traces: on scripted models, one that looks and one that says the same whatever it is shown."""

from statistics import mean

import numpy as np
import pytest
from made_worlds import edits, made

from theodolite.core.errors import UsageError
from theodolite.core.scores import by_metric
from theodolite.core.types import Record, Response
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.data.dataset import write_episodes
from theodolite.instruments.trace.formulas.sgr import grounding
from theodolite.instruments.trace.formulas.vrs import reliance
from theodolite.instruments.trace.metrics import BLIND, METRICS, plan_readings, readings
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
    return {key: {each.item: each.value for each in rows} for key, rows in by_metric(readings(run)).items()}


@pytest.fixture(scope="module")
def found(episodes, data, tmp_path_factory):
    """Readings of a looker, and of one who always tells the first frames' story, which was true."""
    folder = tmp_path_factory.mktemp("runs")
    by_id = {e.id: e for e in episodes}

    def by_heart(item):
        episode = by_id[item.meta["episode"]]
        base = by_id[episode.edit.base] if episode.edit else episode
        return str(base.meta["oracle"])

    got = {}
    for name, script in (("looker", lambda item: told(item.request)), ("by heart", by_heart)):
        with run_of(folder / name, script, plan_readings(episodes), data) as run:
            got[name] = values_of(run)
    return got


def test_every_plain_episode_is_read_and_asked_once_without_frames(episodes, found):
    own = {e.id for e in episodes if e.edit is None}
    blind = [item for item in plan_readings(episodes) if item.meta["wording"] == BLIND]
    assert {item.meta["episode"] for item in blind} == own
    assert all(not item.request.pictures for item in blind)
    for values in found.values():
        assert set(values["trace.sgr"]) == set(values["trace.blind_changes"]) == own
        assert set(values) <= {metric.key for metric in METRICS}


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


def test_readings_are_the_instruments_own_figures_episode_by_episode(episodes, data, tmp_path):
    """The mean of the readings is SGR and HR as `grounding` has them, and VRS is that of the episode's pairs alone."""
    rng = np.random.default_rng(0)
    texts = {}
    for episode in episodes:
        lines = str(episode.meta["oracle"]).splitlines()
        turned = [line.replace(" left ", " right ") if rng.random() < 0.4 else line for line in lines]
        texts[episode.id] = "\n".join(turned)
    with run_of(
        tmp_path / "run", lambda item: texts[item.meta["episode"]], plan_readings(episodes), data
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
    figures = grounding(judge([traces[e.id] for e in own], by_id, verifier))
    assert mean(values["trace.sgr"].values()) == pytest.approx(figures.sgr.value)
    assert mean(values["trace.hr"].values()) == pytest.approx(figures.hr.value)
    assert mean(values["trace.right"].values()) == pytest.approx(figures.accuracy.value)
    from theodolite.instruments.trace.formulas.vrs import edited_pair

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


def test_failed_and_refused_answers_give_no_reading(episodes, data, tmp_path):
    lost = next(e.id for e in episodes if e.edit is None)

    class Losing(Scripted):
        def measure(self, items):
            return [
                Record(item.id, Response.failed("gone"))
                if item.meta["episode"] == lost
                else Record(item.id, Response("answered", text=told(item.request)))
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
        run.plan(plan_readings(episodes), whole=True)
        measure(run, LocalEngine(Losing(told)), MeasureOptions())
        items = {each.item for each in readings(run)}
    assert items == {e.id for e in episodes if e.edit is None} - {lost}


def test_another_instruments_run_is_refused(tmp_path, data):
    with (
        run_of(tmp_path / "run", told, (), data, instrument="scene") as run,
        pytest.raises(UsageError, match="scene"),
    ):
        readings(run)
