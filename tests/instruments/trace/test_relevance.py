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
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.experiments.predict import ModelRow
from theodolite.instruments.trace.experiments.prediction_rows import with_relevance
from theodolite.instruments.trace.experiments.relevance import BASELINES, _shares, plan_relevance
from theodolite.models import open_model
from theodolite.runs import Run


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
        main(["trace", "relevance", "--model", model, "--data", str(data), "--out", str(out), "--json"]) == 0
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
        scores = run.scores()
    wanted = {name: [] for name in BASELINES}
    largest = []
    for item in items:
        if item.meta["split"] != "in-distribution":
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
        assert scores["shares"][name]["value"] == pytest.approx(np.mean(values), rel=1e-3)
        assert scores["shares"][name]["n"] == 3
    assert scores["largest_frame"]["attention"]["value"] == pytest.approx(np.mean(largest), rel=1e-3)
    assert (scores["failed"], scores["pending"]) == (0, 0)


def test_it_is_told_and_goes_on_where_it_stopped(data, measured, capsys):
    model, out = measured
    assert main(["trace", "relevance", "--model", model, "--data", str(data), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "share on the frames" in shown
    assert "attention-rollout" in shown


def test_only_what_must_fail_fails(tiny, monkeypatch):
    from theodolite.instruments.trace.experiments import relevance as _relevance

    asked = _relevance.attribute

    def picky(model, requests, *rest, **more):
        if any("e1" in str(request.hint.get("episode", "")) for request in requests):
            raise UsageError("this one cannot be attributed")
        return asked(model, requests, *rest, **more)

    monkeypatch.setattr(_relevance, "attribute", picky)
    items = [
        replace(item, request=replace(item.request, hint={"episode": item.meta["episode"]}))
        for item in plan_relevance([make_episode(i, n_frames=2) for i in range(3)])
    ]
    measurer = _relevance.RelevanceMeasurer(open_model(f"hf:{tiny('llava')}"))
    records = measurer.measure(items)
    assert [r.response.status for r in records] == ["answered", "failed", "answered"]
    assert "cannot be attributed" in records[1].response.reason
    assert [r.item_id for r in records] == [item.id for item in items]
    measurer.close()


def test_a_black_box_is_refused(data, tmp_path, capsys):
    line = ["trace", "relevance", "--model", "scripted:trace-looker", "--data", str(data)]
    assert main([*line, "--out", str(tmp_path / "r")]) == 2
    assert "no gradients" in capsys.readouterr().err


def told(frames, text):
    record = SimpleNamespace(
        response=SimpleNamespace(is_answered=True), values={"m": {"frames": frames, "text": text}}
    )
    return SimpleNamespace(record=record, item=SimpleNamespace(meta={"cluster": "u"}))


def test_no_relevance_at_all_is_counted_not_dropped_silently():
    rows, n_none = _shares([told([1.0, 3.0], 4.0), told([0.0, 0.0], 2.0), told([0.0, 0.0], 0.0)], "m")
    assert rows == [(0.5, 0.75, "u"), (0.0, 0.5, "u")]
    assert n_none == 1


def test_baselines_stand_beside_the_runs():
    rows = [ModelRow("m", "video", 0.8, 0.6, {"sgr": 0.7}), ModelRow("n", "video", 0.8, 0.5, {"sgr": 0.5})]
    share = {"value": 0.4}
    scores = [
        {"model": "m", "benchmark": "video", "shares": {"attention": share, "gradient": None}},
        {"model": "x", "benchmark": "video", "shares": {"attention": share}},
    ]
    found, why = with_relevance(rows, scores)
    assert found[0].predictors == {"sgr": 0.7, "attention": 0.4}
    assert found[1].predictors == {"sgr": 0.5}
    assert len(why) == 1
    assert "no run to set it beside" in why[0]


def test_predict_takes_runs_of_relevance(tmp_path, capsys):
    """Three models with scores as the two commands write them."""
    from theodolite.runs import RunInfo

    folders = []
    data = write_episodes([make_episode(0)], tmp_path / "data")
    for i, (sgr, kept, share) in enumerate(((0.9, 0.9, 0.8), (0.6, 0.7, 0.5), (0.3, 0.4, 0.3))):

        def group(split, accuracy, sgr=sgr):
            told = {"sgr": {"value": sgr}, "accuracy": {"value": accuracy}, "hr": None}
            return {
                "style": "structured",
                "split": split,
                "grounding": told,
                "consistency": None,
                "seconds": 1.0,
            }

        both = (
            (
                "trace",
                {
                    "model": f"m{i}",
                    "groups": [group("in-distribution", 1.0), group("ood", kept)],
                    "conditions": [],
                },
            ),
            (
                "trace relevance",
                {"model": f"m{i}", "benchmark": "toy", "shares": {"attention": {"value": share}}},
            ),
        )
        for name, score in both:
            info = RunInfo(
                instrument=name,
                model=f"m{i}",
                identity="x",
                settings={"data": str(data)},
                seed=0,
                theodolite="0",
            )
            with Run.start(tmp_path / f"{name}{i}", info) as run:
                run.write_scores(score)
            folders.append(str(tmp_path / f"{name}{i}"))
    assert main(["trace", "predict", *folders, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["prediction"]["associations"]
    told = {a["predictor"]: a["r"]["value"] for a in found if a["retention"] == "ratio" and a["r"]}
    assert told["attention"] == pytest.approx(np.corrcoef([0.8, 0.5, 0.3], [0.9, 0.7, 0.4])[0, 1])
