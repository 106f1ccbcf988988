"""Edited pictures: what moves is moved whole, what stays stays to the pixel, and the fill leaves no trace of the object."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from picture_scenes import HEIGHT, WIDTH, disc, ground, painted
from scipy import ndimage

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.compass.experiments.controls.plan import EDITS, find_edits, studio_of
from theodolite.instruments.compass.figures.overlay import edit_sheet
from theodolite.pairs.pictures.filling import without
from theodolite.pairs.pictures.objects import PlacingOptions, Unfit, overlap
from theodolite.pairs.pictures.whole import outline_alpha

OPTIONS = PlacingOptions()


def scene(a=(70, 90, 18), b=(150, 60, 14), *, outlines=True):
    """A red disc A and a white disc B on the background."""
    (poly_a, box_a), (poly_b, box_b) = disc(*a), disc(*b)
    pixels = painted(ground(), outline_alpha((WIDTH, HEIGHT), poly_a), (250, 20, 20))
    pixels = painted(pixels, outline_alpha((WIDTH, HEIGHT), poly_b), (255, 255, 255))
    meta = {"outlines": {"reference": poly_a, "target": poly_b}} if outlines else {}
    return Pair(
        "scene",
        Picture.from_array(pixels),
        (WIDTH, HEIGHT),
        Region("disc", box_a),
        Region("ball", box_b),
        "right",
        meta=meta,
    )


@pytest.mark.parametrize("control", ["relocation", "fix-b-move-a"])
@pytest.mark.parametrize("outlines", [True, False])
def test_one_object_moves_and_the_other_stays(control, outlines):
    pair = scene(outlines=outlines)
    edits, report = find_edits([pair], control, OPTIONS)
    assert (report.edits, report.pairs) == (4, 1)
    assert report.cut_by_box == (0 if outlines else 4)
    before = pair.picture.pixels()
    for edit in edits:
        after = edit.edited()
        assert after.direction == edit.probe
        stays, moves = ("reference", "target") if control == "relocation" else ("target", "reference")
        assert getattr(after, stays) == getattr(pair, stays)
        old, new = getattr(pair, moves).box, getattr(after, moves).box
        assert (new.width_px, new.height_px) == (old.width_px, old.height_px)
        assert new.x0 >= -0.5
        assert new.y0 >= -0.5
        assert new.x1 <= WIDTH + 0.5
        assert new.y1 <= HEIGHT + 0.5
        assert overlap(after.reference.box, after.target.box) == 0
        pixels = after.picture.pixels()
        colours = {"reference": (250, 20, 20), "target": (255, 255, 255)}
        x, y = (round(c) for c in getattr(after, moves).box.centre_px)
        np.testing.assert_array_equal(pixels[y, x], colours[moves])
        x, y = (round(c) for c in getattr(pair, stays).box.centre_px)
        np.testing.assert_array_equal(
            pixels[y - 5 : y + 5, x - 5 : x + 5], before[y - 5 : y + 5, x - 5 : x + 5]
        )
        x, y = (round(c) for c in old.centre_px)
        if math.dist(old.centre_px, new.centre_px) > old.width_px:
            assert np.abs(pixels[y, x].astype(int) - ground()[y, x]).max() < 20


def test_joint_translation_keeps_the_direction():
    pair = scene(a=(110, 90, 14), b=(150, 70, 12))
    edits, report = find_edits([pair], "joint-translation", OPTIONS)
    assert report.edits == len(edits) == 4
    for edit in edits:
        after = edit.edited()
        assert after.true_deg == pytest.approx(pair.true_deg)
        assert after.distance_px == pytest.approx(pair.distance_px)
        step = np.subtract(after.reference.box.centre_px, pair.reference.box.centre_px)
        assert np.hypot(*step) >= 0.08 * np.hypot(*pair.size_px) - 1
        sign = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}[edit.probe]
        np.testing.assert_array_equal(np.sign(step), sign)
        pixels = after.picture.pixels()
        for region, colour in ((after.reference, (250, 20, 20)), (after.target, (255, 255, 255))):
            x, y = (round(c) for c in region.box.centre_px)
            np.testing.assert_array_equal(pixels[y, x], colour)


def test_edits_drawn_together_are_those_drawn_alone():
    pair = scene()
    studio = studio_of(pair)
    for control in ("relocation", "swap-places", "joint-translation", "fix-b-move-a", "relocation"):
        for edit in find_edits([pair], control, OPTIONS)[0]:
            assert edit.edited(studio).picture == edit.edited().picture


def test_swaps_reverse_the_question_or_the_picture():
    pair = scene()
    (roles,), _ = find_edits([pair], "swap-roles", OPTIONS)
    after = roles.edited()
    assert (after.reference, after.target, after.direction) == (pair.target, pair.reference, "left")
    assert after.picture == pair.picture
    (places,), _ = find_edits([pair], "swap-places", OPTIONS)
    after = places.edited()
    assert after.direction == "left"
    assert after.reference.name == "disc"
    assert abs((after.true_deg - pair.true_deg + 180) % 360 - 180) == pytest.approx(180, abs=2)
    pixels = after.picture.pixels()
    for region, colour in ((after.reference, (250, 20, 20)), (after.target, (255, 255, 255))):
        x, y = (round(c) for c in region.box.centre_px)
        np.testing.assert_array_equal(pixels[y, x], colour)
    assert pair.id == after.id


def test_what_cannot_be_edited_is_counted_by_reason():
    entangled = replace(
        scene(outlines=False),
        id="entangled",
        reference=Region("disc", Box(60, 60, 120, 120)),
        target=Region("ball", Box(70, 40, 130, 110)),
    )
    big = replace(scene(), id="big", reference=Region("disc", Box(4, 4, 236, 176)))
    odd = replace(scene(), id="odd", direction="north-north-west")
    pairs = [scene(), entangled, big, odd]
    for control in ("relocation", "fix-b-move-a", "joint-translation"):
        edits, report = find_edits(pairs, control, OPTIONS)
        assert len(edits) + sum(report.excluded.values()) == 4 * len(pairs)
        assert report.excluded[Unfit.OVERLAP.value] == 4
        assert not {"entangled", "big"} & {edit.pair.id for edit in edits}
    _, report = find_edits(pairs, "swap-roles", OPTIONS)
    assert report.excluded == {Unfit.NO_OPPOSITE.value: 1}
    _, report = find_edits(pairs, "swap-places", OPTIONS)
    assert report.excluded[Unfit.OVERLAP.value] == 1
    assert report.excluded[Unfit.NOT_SWAPPED.value] == 1


def test_a_family_with_too_few_places_is_left_out():
    pair = scene(a=(70, 30, 18))  # no room above
    edits, _ = find_edits([pair], "relocation", PlacingOptions(min_places=3))
    assert [edit.probe for edit in edits] == ["left", "right", "below"]
    edits, report = find_edits([pair], "relocation", PlacingOptions(min_places=4))
    assert not edits
    assert report.excluded == {Unfit.NO_ROOM.value: 1, Unfit.FEW_PLACES.value: 3}


@pytest.fixture(scope="module")
def real(shared_data):
    folder = shared_data / "coco_tiny_val"
    return coco_pairs(folder / "instances.json", folder / "images").pairs


def test_real_pairs_have_outlines_and_room(real):
    assert len(real) == 178
    assert all("outlines" in pair.meta for pair in real)
    made = {control: find_edits(real, control, OPTIONS) for control in EDITS}
    for control, (edits, report) in made.items():
        per_pair = 4 if control in {"relocation", "fix-b-move-a", "joint-translation"} else 1
        assert len(edits) + sum(report.excluded.values()) == per_pair * 178
        assert report.cut_by_box == 0
        assert min(Counter(edit.pair.id for edit in edits).values()) >= min(2, per_pair)
    assert (
        made["relocation"][1].pairs == made["fix-b-move-a"][1].pairs == 132
    )  # A to B is B to A of another pair
    assert made["joint-translation"][1].pairs == 150
    assert made["swap-roles"][1].edits == 178


def test_a_real_fill_has_no_seam(real):
    """Nowhere around the hole does the picture step more sharply than it did before the object was taken out."""
    edits, _ = find_edits(real, "relocation", OPTIONS)
    for edit in edits[::60]:
        pixels, size = edit.pair.picture.pixels(), edit.pair.size_px
        alpha = outline_alpha(size, edit.pair.meta["outlines"]["target"])
        filled = without(pixels, alpha)
        before, after = (
            np.abs(np.diff(each.astype(float), axis=1)).mean(axis=-1) for each in (pixels, filled)
        )
        far = ndimage.distance_transform_edt(alpha == 0)[:, :-1]
        for ring in range(0, 16, 2):
            there = (far > ring) & (far <= ring + 2)
            assert after[there].mean() <= before[there].mean() * 1.02


def test_a_sheet_shows_every_edit():
    edits, _ = find_edits([scene()], "relocation", OPTIONS)
    sheet = edit_sheet(edits)
    assert sheet.width > 5 * 280
    assert len(np.unique(np.asarray(sheet).reshape(-1, 3), axis=0)) > 100
    with pytest.raises(UsageError, match="single pair"):
        edit_sheet([])
