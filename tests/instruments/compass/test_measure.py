"""Pairs through tiny real checkpoints: what is stored is what was measured."""

import numpy as np
import pytest

from theodolite.attribution import attribute
from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.measure import (
    TARGETS,
    AttributionMeasurer,
    ConditionsMeasurer,
    MapOptions,
    map_key,
    read_samples,
)
from theodolite.instruments.compass.questions import PROMPTS, gold_index, pair_item, plan_pairs
from theodolite.models import open_model
from theodolite.runs import LocalEngine, Run, RunInfo, measure


@pytest.fixture(scope="module", params=["llava", "qwen2_vl"])
def name(request, tiny):
    return f"hf:{tiny(request.param)}?batch_size=4"


@pytest.fixture(scope="module")
def pairs():
    return list(coloured_squares(6, seed=1).pairs)


def measured(folder, name, pairs, **how):
    engine = LocalEngine(AttributionMeasurer(open_model(name), MapOptions(**{"targets": TARGETS, **how})))
    info = RunInfo(instrument="compass", model=name, identity=engine.identity, theodolite="0")
    run = Run.start(folder, info)
    run.plan(plan_pairs(pairs, [PROMPTS["A"]]))
    assert measure(run, engine).failed == 0
    return run


def test_a_run_holds_what_attribution_gives(tmp_path, name, pairs):
    methods = ["chefer", "gradcam", "attention-rollout"]
    with measured(tmp_path / "run", name, pairs, methods=methods) as run:
        samples = list(read_samples(run))
    assert [sample.id for sample in samples] == [pair.id for pair in pairs]
    items = list(plan_pairs(pairs, [PROMPTS["A"]]))
    found = attribute(
        open_model(name),
        [item.request for item in items],
        [item.options for item in items],
        methods=methods,
        targets=["gt", "pred"],
        gold=[gold_index(item) for item in items],
    )
    for sample, each, pair in zip(samples, found, pairs, strict=True):
        added = sample.maps.keys() - {map_key(m.method, m.target) for m in each.maps}
        assert added == ({"gradcam-tokens@gt", "gradcam-tokens@pred"} if "qwen" in name else set())
        for key in added:
            assert sample.maps[key].grid is sample.maps["chefer@gt"].grid
            np.testing.assert_allclose(  # four features are merged into a token
                sample.maps[key].values,
                sample.maps[key.replace("-tokens", "")].values.reshape(-1, 4).mean(axis=1),
                rtol=1e-5,
            )
        for relevance in each.maps:
            stored = sample.maps[map_key(relevance.method, relevance.target)]
            np.testing.assert_allclose(stored.values, relevance.values, rtol=1e-4, atol=1e-7)
            np.testing.assert_allclose(stored.grid.rects_px, relevance.grid.rects_px, rtol=1e-6)
            if relevance.text_mass is None:
                assert stored.text_mass is None
            else:
                assert stored.text_mass == pytest.approx(relevance.text_mass, rel=1e-4)
        np.testing.assert_allclose(sample.logits, each.logits, rtol=1e-4, atol=1e-4)
        assert (sample.direction, sample.reference, sample.target) == (
            pair.direction,
            pair.reference,
            pair.target,
        )
        assert sample.size_px == pair.size_px
        assert sample.is_correct == (sample.predicted == sample.gold)


def test_log_probabilities_are_those_of_choosing(tmp_path, name, pairs):
    with measured(tmp_path / "run", name, pairs[:3], methods=["attention-rollout"]) as run:
        samples = list(read_samples(run))
    items = list(plan_pairs(pairs[:3], [PROMPTS["A"]]))
    chosen = open_model(name).choose([item.request for item in items], [item.options for item in items])
    for sample, choice in zip(samples, chosen, strict=True):
        np.testing.assert_allclose(sample.log_probabilities, choice.log_probabilities, atol=1e-3)


def test_a_black_box_and_an_empty_wish_are_refused(name):
    with pytest.raises(UnsupportedError, match="provides no gradients"):
        AttributionMeasurer(open_model("scripted:looker"), MapOptions())
    with pytest.raises(UsageError, match="no target"):
        AttributionMeasurer(open_model(name), MapOptions(["chefer"], []))
    with pytest.raises(UsageError, match="no method 'chafer'"):
        AttributionMeasurer(open_model(name), MapOptions(["chafer"], ["gt"]))


def test_another_instruments_run_is_refused(tmp_path):
    info = RunInfo(instrument="ask", model="x", identity="x", theodolite="0")
    with Run.start(tmp_path / "run", info) as run, pytest.raises(UsageError, match="a run of ask"):
        list(read_samples(run))


def test_neither_originals_nor_edits_always_come_first_in_a_batch():
    measurer = ConditionsMeasurer(open_model("scripted:guesser"), "text")
    first = []
    for start in range(12):
        pairs = list(coloured_squares(4, seed=start).pairs)
        items = [
            pair_item(pair, PROMPTS["A"], condition=name) for pair in pairs for name in ("light", "plain")
        ]
        records = measurer.measure(items)
        assert [record.item_id for record in records] == [item.id for item in items]
        order = sorted(range(len(items)), key=lambda i: records[i].place)
        conditions = [items[i].truth.condition for i in order]
        assert conditions == sorted(conditions, reverse=conditions[0] == "plain")
        first.append(conditions[0])
    assert set(first) == {"light", "plain"}
