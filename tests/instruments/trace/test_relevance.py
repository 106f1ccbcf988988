"""Attention and gradient baselines of a white box: measured on a tiny checkpoint, summed by hand, and brought into predicting."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from trace_world import make_episode

from theodolite.attribution import attribute
from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Estimate, Table
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.experiments.relevance import (
    BASELINES,
    RelevanceMeasurer,
    frame_shares,
    plan_relevance,
)
from theodolite.models import open_model
from theodolite.runs import Run, RunInfo
from theodolite.worlds.episodes import Episode


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    episodes = [make_episode(i, n_frames=2) for i in range(3)]
    episodes += [make_episode(9, n_frames=2, split="ood", prefix="o")]
    return write_episodes(episodes, tmp_path_factory.mktemp("relevance") / "data")


@pytest.fixture(scope="module")
def measured(data, tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("relevance") / "run"
    model = f"hf:{tiny('llava')}"
    assert (
        main(
            [
                "trace",
                "run",
                "--relevance",
                "--model",
                model,
                "--data",
                str(data),
                "--out",
                str(out),
                "--json",
            ]
        )
        == 0
    )
    return model, out


def test_the_plan_letters_the_options_and_leaves_out_what_cannot_be_asked():
    plain = make_episode(1)
    items = list(plan_relevance([plain, Episode("bare", "?", plain.frames)]))
    assert [item.meta["episode"] for item in items] == [plain.id]
    assert items[0].options == ("A", "B")
    assert "A. left\nB. right" in items[0].request.text
    assert len(items[0].request.pictures) == len(plain.frames)
    with pytest.raises(UsageError, match="nothing to attribute"):
        list(plan_relevance([Episode("bare", "?", plain.frames)]))


def test_shares_are_those_of_the_maps(data, measured):
    """The same attribution asked for directly, and summed by hand."""
    model_name, out = measured
    model = open_model(model_name)
    items = list(plan_relevance(read_episodes(data).episodes))
    with Run.open(out) as run:
        table = run.tables()[0].as_json()
    rows = {row["baseline"]: row for row in table["rows"]}
    wanted = {name: [] for name in BASELINES}
    largest = []
    for item in items:
        if item.truth.split != "in-distribution":
            continue
        found = attribute(
            model, [item.request], [item.options], methods=list(BASELINES.values()), targets=("pred",)
        )[0]
        for name, method in BASELINES.items():
            frames = [float(np.asarray(m.values, float).sum()) for m in found if m.method == method]
            text = next(m.text_mass for m in found if m.method == method)
            assert len(frames) == 2
            assert min(frames) >= 0
            wanted[name].append(sum(frames) / (sum(frames) + text))
            if name == "attention":
                largest.append(max(frames) / sum(frames))
    model.close()
    for name, values in wanted.items():
        assert rows[name]["share"]["value"] == pytest.approx(np.mean(values), rel=1e-3)
        assert rows[name]["share"]["n"] == 3
    assert rows["attention"]["largest"]["value"] == pytest.approx(np.mean(largest), rel=1e-3)
    assert table["notes"] == []


def test_it_is_told_and_goes_on_where_it_stopped(data, measured, capsys):
    model, out = measured
    assert (
        main(["trace", "run", "--relevance", "--model", model, "--data", str(data), "--out", str(out)]) == 0
    )
    shown = capsys.readouterr().out
    assert "share on the frames" in shown
    assert "attention-rollout" in shown


def test_only_what_must_fail_fails(tiny, monkeypatch):
    from theodolite.instruments.trace.experiments import relevance

    asked = relevance.attribute

    def picky(model, requests, *rest, **more):
        if any("e1" in str(request.hint.get("episode", "")) for request in requests):
            raise UsageError("this one cannot be attributed")
        return asked(model, requests, *rest, **more)

    monkeypatch.setattr(relevance, "attribute", picky)
    items = [
        replace(item, request=replace(item.request, hint={"episode": item.meta["episode"]}))
        for item in plan_relevance([make_episode(i, n_frames=2) for i in range(3)])
    ]
    measurer = RelevanceMeasurer(open_model(f"hf:{tiny('llava')}"))
    records = measurer.measure(items)
    assert [r.response.status for r in records] == ["answered", "failed", "answered"]
    assert "cannot be attributed" in records[1].response.reason
    assert [r.item_id for r in records] == [item.id for item in items]
    measurer.close()


def test_a_black_box_is_refused(data, tmp_path, capsys):
    line = ["trace", "run", "--relevance", "--model", "scripted:trace-looker", "--data", str(data)]
    assert main([*line, "--out", str(tmp_path / "r")]) == 2
    assert "no gradients" in capsys.readouterr().err


def told(frames, text):
    record = SimpleNamespace(
        response=SimpleNamespace(is_answered=True), values={"m": {"frames": frames, "text": text}}
    )
    return SimpleNamespace(record=record, item=SimpleNamespace(cluster="u"))


def test_no_relevance_at_all_is_counted_not_dropped_silently():
    rows, n_none = frame_shares([told([1.0, 3.0], 4.0), told([0.0, 0.0], 2.0), told([0.0, 0.0], 0.0)], "m")
    assert rows == [(0.5, 0.75, "u"), (0.0, 0.5, "u")]
    assert n_none == 1


def test_predict_takes_runs_of_relevance(tmp_path, capsys):
    """Three models with tables as the two commands write them."""
    folders = []
    data = write_episodes([make_episode(0)], tmp_path / "data")
    for i, (sgr, kept, share) in enumerate(((0.9, 0.9, 0.8), (0.6, 0.7, 0.5), (0.3, 0.4, 0.3))):
        grounding = Table.of(
            "trace.grounding",
            "",
            [Column(name, name) for name in ("style", "split", "sgr", "hr", "right", "seconds")],
            [
                ["structured", split, estimate(sgr), None, estimate(right), 1.0]
                for split, right in (("in-distribution", 1.0), ("ood", kept))
            ],
        )
        baseline = Table.of(
            "trace.relevance",
            "",
            [Column("baseline", "baseline"), Column("share", "share")],
            [["attention", estimate(share)]],
        )
        for name, table in (("trace", grounding), ("trace relevance", baseline)):
            info = RunInfo(
                instrument=name,
                model=f"m{i}",
                identity="x",
                settings={"data": str(data)},
                seed=0,
                theodolite="0",
            )
            with Run.start(tmp_path / f"{name}{i}", info) as run:
                run.write_tables([table])
            folders.append(str(tmp_path / f"{name}{i}"))
    assert main(["trace", "predict", *folders, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    told = {row["predictor"]: row["r"]["value"] for row in rows if row["retention"] == "ratio" and row["r"]}
    assert told["attention"] == pytest.approx(np.corrcoef([0.8, 0.5, 0.3], [0.9, 0.7, 0.4])[0, 1])


def estimate(value):
    return Estimate(value, value - 0.1, value + 0.1, 9, 0.95, "test")
