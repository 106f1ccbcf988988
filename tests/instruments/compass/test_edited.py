"""Edits of pictures with a known right answer."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_squares import squares

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.drawn import blank, hidden, mirrored, part_box


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
