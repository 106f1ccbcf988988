"""Edits of pictures with a known right answer."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_squares import squares

from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.instruments.compass.data.edited import (
    IRRELEVANT,
    blank,
    brighter,
    hidden,
    mirrored,
    other_ground,
    part_box,
    without_clutter,
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
