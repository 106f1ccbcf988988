"""Metrics of the compass: edits with a known answer, readings with values worked out by hand, and a run of a real checkpoint."""

import math

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.core.scores import by_metric
from theodolite.core.types import Choice, Picture, Record, Response
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.compass.edited import (
    IRRELEVANT,
    blank,
    brighter,
    hidden,
    mirrored,
    other_ground,
    part_box,
    without_clutter,
)
from theodolite.instruments.compass.metrics import (
    METHODS,
    METRICS,
    ReadingMeasurer,
    plan_readings,
    readings,
    readings_factory,
    shown_item,
)
from theodolite.instruments.compass.prompts import PROMPTS
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure


def squares(direction="left", *, others=()):
    """A red target and a blue reference on grey, 40 × 20 or 20 × 40."""
    pixels = np.full((20, 40, 3), 90, np.uint8)
    target, reference = Box(4, 6, 10, 12), Box(24, 4, 34, 16)
    if direction in {"above", "below"}:
        pixels = pixels.transpose(1, 0, 2).copy()
        target, reference = Box(6, 4, 12, 10), Box(4, 24, 16, 34)
    for box, colour in ((target, (220, 10, 10)), (reference, (10, 10, 220))):
        pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)] = colour
    for box in others:
        pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)] = (10, 200, 10)
    size = (pixels.shape[1], pixels.shape[0])
    return Pair(
        f"pair-{direction}",
        Picture.from_array(pixels),
        size,
        Region("blue square", reference),
        Region("red square", target),
        direction,
        others=tuple(others),
    )


@pytest.mark.parametrize(("direction", "after"), [("left", "right"), ("above", "below")])
def test_mirroring_moves_pixels_and_boxes_together_and_turns_the_answer(direction, after):
    pair = squares(direction)
    turned = mirrored(pair)
    box = turned.target.box
    inside = turned.picture.pixels()[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)]
    assert (inside == (220, 10, 10)).all()
    assert turned.direction == after
    assert abs((turned.true_deg - pair.true_deg) % 360 - 180) < 30
    assert np.array_equal(mirrored(turned).picture.pixels(), pair.picture.pixels())


def test_only_cardinal_directions_are_mirrored():
    from dataclasses import replace

    with pytest.raises(UsageError, match="upper left"):
        mirrored(replace(squares(), direction="upper left"))


def test_a_blank_picture_has_the_mean_colour_everywhere():
    pair = squares()
    pixels = blank(pair).picture.pixels()
    assert np.unique(pixels.reshape(-1, 3), axis=0).shape[0] == 1
    assert np.abs(pixels[0, 0] - pair.picture.pixels().reshape(-1, 3).mean(axis=0)).max() <= 0.5


def test_hiding_touches_the_box_alone():
    pair = squares()
    before, after = pair.picture.pixels(), hidden(pair, pair.target.box).picture.pixels()
    changed = (before != after).any(axis=2)
    assert changed[6:12, 4:10].all()
    assert changed.sum() == 36


def test_parts_cover_the_picture_once():
    cover = np.zeros((40, 80), int)
    for part in range(16):
        box = part_box((80, 40), part)
        cover[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)] += 1
    assert (cover == 1).all()


def test_irrelevant_changes_leave_target_and_reference_where_they_are():
    pair = squares(others=(Box(14, 2, 18, 6),))
    for name, change in IRRELEVANT.items():
        edited = change(pair)
        assert edited is not None, name
        assert (edited.direction, edited.target, edited.reference) == (
            pair.direction,
            pair.target,
            pair.reference,
        )
        assert edited.picture.digest != pair.picture.digest, name


def test_other_ground_keeps_things_and_changes_the_rest():
    pair = squares()
    after = other_ground(pair).picture.pixels()
    assert (after[6:12, 4:10] == (220, 10, 10)).all()
    assert (after[0, 0] != 90).any()
    assert (brighter(pair).picture.pixels() >= pair.picture.pixels()).all()


def test_clutter_goes_and_named_things_stay():
    pair = squares(others=(Box(14, 2, 18, 6),))
    after = without_clutter(pair).picture.pixels().astype(int)
    assert (np.abs(after[2:6, 14:18] - 90) < 30).all(), "the green square is gone"
    assert (after[6:12, 4:10] == (220, 10, 10)).all()
    assert without_clutter(squares()) is None
    assert without_clutter(squares(others=(Box(24, 4, 34, 16),))) is None, (
        "what covers the reference cannot go"
    )


class Scripted:
    """Answers by condition, with known log-probabilities."""

    reuse, batch_size, identity = "never", 8, "scripted"

    def __init__(self, log_probabilities):
        self.of = log_probabilities

    def measure(self, items):
        found = []
        for item in items:
            values = self.of(item)
            if isinstance(values, str):
                found.append(Record(item.id, Response("answered", text=values)))
            else:
                choice = Choice(item.options, tuple(values))
                found.append(Record(item.id, Response("answered", text=choice.best), choice))
        return found

    def close(self):
        pass


def run_of(folder, measurer, items, instrument="compass"):
    info = RunInfo(
        instrument=instrument, model="m", identity=measurer.identity, settings={}, seed=0, theodolite="0"
    )
    run = Run.start(folder, info)
    run.plan(items, whole=True)
    measure(run, LocalEngine(measurer), MeasureOptions())
    return run


def values_of(run):
    return {key: [each.value for each in rows] for key, rows in by_metric(readings(run)).items()}


def test_behaviour_readings_have_the_values_of_their_formulas(tmp_path):
    """Left is right with margin log 4; the mirror image says right; one part takes half of the margin away."""
    sure, split, even = math.log(0.4), math.log(0.1), math.log(0.25)

    def answers(item):
        condition = item.meta["condition"]
        if condition == "mirrored":
            return [split, sure, split, split]
        if condition == "blank":
            return [even] * 4
        if condition == "part hidden 5":
            return [math.log(0.2), split, split, split]
        if condition == "target hidden":
            return [split, sure, split, split]
        return [sure, split, split, split]

    with run_of(
        tmp_path / "run", Scripted(answers), plan_readings([squares()], gives="choices", split="aligned")
    ) as run:
        found = values_of(run)
        assert {each.split for each in readings(run)} == {"aligned"}
    assert found["compass.right"] == [1.0]
    assert found["compass.mirror_follows"] == found["compass.mirror_changes"] == [1.0]
    assert found["compass.blank_changes"] == [0.0]
    p, q = np.array([4, 1, 1, 1]) / 7, np.array([1, 4, 1, 1]) / 7
    assert found["compass.mirror_shift"] == [pytest.approx(np.abs(p - q).sum() / 2)]
    assert found["compass.blank_shift"] == [pytest.approx(np.abs(p - 0.25).sum() / 2)]
    assert found["compass.occlusion"] == [pytest.approx(0.5)]
    assert found["compass.target_effect"] == [pytest.approx(2.0)], "the margin turns from log 4 to −log 4"
    assert found["compass.reference_effect"] == [pytest.approx(0.0)]


def test_what_is_shown_is_what_the_condition_says():
    pair = squares()
    shown = {item.meta["condition"]: shown_item(item) for item in plan_readings([pair])}
    assert len(shown) == 5 + 16

    def pixels(condition):
        return shown[condition].request.pictures[0].pixels()

    assert np.array_equal(pixels("plain"), pair.picture.pixels())
    assert np.array_equal(pixels("mirrored"), mirrored(pair).picture.pixels())
    assert np.array_equal(pixels("blank"), blank(pair).picture.pixels())
    assert np.array_equal(pixels("target hidden"), hidden(pair, pair.target.box).picture.pixels())
    assert np.array_equal(pixels("reference hidden"), hidden(pair, pair.reference.box).picture.pixels())
    for part in (0, 7, 15):
        expected = hidden(pair, part_box(pair.size_px, part)).picture.pixels()
        assert np.array_equal(pixels(f"part hidden {part}"), expected)
    gold = {name: item.options[item.meta["gold"]] for name, item in shown.items()}
    assert gold.pop("mirrored") == "2"
    assert set(gold.values()) == {"1"}
    assert len({item.request.text for item in shown.values()}) == 1


def test_a_model_is_shown_the_changed_picture_and_the_record_belongs_to_the_item():
    seen = []

    class Model:
        name = identity = "watcher"
        lacks, batch_size = {}, 4

        def generate(self, requests):
            seen.extend(request.pictures[0].digest for request in requests)
            return [Response("answered", text="1") for _ in requests]

        def close(self):
            pass

    items = list(plan_readings([squares()], gives="text"))
    records = ReadingMeasurer(Model(), "text").measure(items)
    assert [record.item_id for record in records] == [item.id for item in items]
    assert seen == [shown_item(item).request.pictures[0].digest for item in items]
    assert len(set(seen)) == 3


def test_black_boxes_are_read_by_their_words(tmp_path):
    said = {"plain": "1) to the left", "mirrored": "To the right.", "blank": "I cannot tell: 1 or 2"}
    with run_of(
        tmp_path / "run",
        Scripted(lambda item: said[item.meta["condition"]]),
        plan_readings([squares()], gives="text"),
    ) as run:
        found = values_of(run)
    assert found == {
        "compass.right": [1.0],
        "compass.mirror_follows": [1.0],
        "compass.mirror_changes": [1.0],
    }, "what cannot be read gives no reading"


def test_a_shortcut_follows_no_mirror_image(tmp_path):
    pairs = [squares("left"), squares("above")]
    always = {"left": 0, "above": 2}

    def answers(item):
        said = [-3.0] * 4
        said[always[item.meta["pair"].removeprefix("pair-")]] = -0.1
        return said

    with run_of(tmp_path / "run", Scripted(answers), plan_readings(pairs, gives="choices")) as run:
        found = values_of(run)
    assert found["compass.right"] == [1.0, 1.0]
    for key in ("mirror_follows", "mirror_changes", "mirror_shift", "blank_shift", "occlusion"):
        assert found[f"compass.{key}"] == [0.0, 0.0], key


def test_maps_and_answers_of_a_checkpoint_are_read_from_the_stored_run(tmp_path, tiny_llava):
    from theodolite.instruments.compass.data.squares import coloured_squares

    pairs = coloured_squares(4).pairs
    measurer = readings_factory(f"hf:{tiny_llava}")()
    with run_of(tmp_path / "run", measurer, plan_readings(pairs, PROMPTS["B"])) as run:
        found = values_of(run)
        items = {each.item for each in readings(run)}
    measurer.close()
    assert items == {f"{pair.id}/B" for pair in pairs}
    known = {metric.key for metric in METRICS}
    assert set(found) <= known
    missing = known - set(found)
    assert all("_share:gradcam" in key for key in missing), "every other metric is there for every pair"
    assert all(len(values) == len(pairs) for values in found.values())
    for method in METHODS:
        angles = np.array(found[f"compass.dae_paper:{method}"])
        assert ((angles >= 0) & (angles <= 180)).all()
        hits = np.array(found[f"compass.ea_paper:{method}"])
        assert ((angles <= 45 + 1e-6) == (hits == 1)).all()
    assert all(0 <= value <= 1 for value in found["compass.image_share:chefer"])


def test_metrics_name_registered_methods_and_each_key_once():
    names = {entry.name for entry in registry().entries("method")}
    assert set(METHODS) <= names
    assert all("integrated" in name or "layers" in name or "single" in name for name in names - set(METHODS))
    keys = [metric.key for metric in METRICS]
    assert len(set(keys)) == len(keys)
    assert not next(r for r in METRICS if r.key == "compass.dae_paper:chefer").higher_is_grounded


def test_another_instruments_run_is_refused(tmp_path):
    with (
        run_of(tmp_path / "run", Scripted(lambda _: "1"), (), instrument="scene") as run,
        pytest.raises(UsageError, match="scene"),
    ):
        readings(run)
