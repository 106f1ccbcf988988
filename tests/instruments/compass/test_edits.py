"""Edited pictures: what moves is moved whole, what stays stays to the pixel, and the fill leaves no trace of the object."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.compass.experiments.controls.edits import EDITS, Studio, Unfit, find_edits
from theodolite.instruments.compass.figures.edit_sheets import edit_sheet
from theodolite.pairs.pictures.cutting import (
    box_alpha,
    outline_alpha,
    pasted,
    without,
)
from theodolite.pairs.pictures.placing import (
    PlacingOptions,
    joint_step,
    overlap,
    step_to,
)

WIDTH, HEIGHT = 240, 180
OPTIONS = PlacingOptions()


def ground():
    """A background that brightens to the right and downward."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return np.stack([40 + x / 3, 60 + y / 3, 90 + (x + y) / 8], axis=-1).round().astype(np.uint8)


def disc(cx, cy, radius):
    """A polygon of many corners, and its box."""
    turns = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    corners = np.stack([cx + radius * np.cos(turns), cy + radius * np.sin(turns)], axis=1)
    return [corners.ravel().tolist()], Box(cx - radius, cy - radius, cx + radius, cy + radius)


def painted(pixels, alpha, colour):
    out = pixels.astype(float)
    return (alpha[..., None] * np.array(colour) + (1 - alpha[..., None]) * out).round().astype(np.uint8)


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


def test_alphas_cover_what_they_should():
    polygons, box = disc(60, 50, 20)
    alpha = outline_alpha((WIDTH, HEIGHT), polygons)
    assert alpha.shape == (HEIGHT, WIDTH)
    assert alpha.sum() == pytest.approx(math.pi * 400, rel=0.02)
    y, x = np.nonzero(alpha)
    assert (x.mean(), y.mean()) == (pytest.approx(59.5, abs=0.1), pytest.approx(49.5, abs=0.1))
    assert box_alpha((WIDTH, HEIGHT), Box(10.25, 20, 30, 40.5)).sum() == pytest.approx(19.75 * 20.5)
    assert box_alpha((WIDTH, HEIGHT), box).sum() == pytest.approx(1600)
    with pytest.raises(UsageError, match="three corners"):
        outline_alpha((10, 10), [[1, 2, 3, 4]])


def test_the_fill_is_the_background():
    """On a smooth background the object is gone without a trace: colours within three levels everywhere."""
    polygons, _ = disc(120, 90, 26)
    alpha = outline_alpha((WIDTH, HEIGHT), polygons)
    filled = without(painted(ground(), alpha, (250, 20, 20)), alpha)
    assert np.abs(filled.astype(int) - ground()).max() <= 3


def test_an_outline_drawn_too_tight_leaves_no_ring():
    """Annotated outlines miss the object's rim by a pixel or two; the hole is wider than they are."""
    drawn, annotated = (outline_alpha((WIDTH, HEIGHT), disc(120, 90, radius)[0]) for radius in (26, 24))
    filled = without(painted(ground(), drawn, (250, 20, 20)), annotated)
    assert np.abs(filled.astype(int) - ground()).max() <= 12


def test_pixels_far_from_the_hole_stay_exactly():
    polygons, _ = disc(60, 60, 12)
    alpha = outline_alpha((WIDTH, HEIGHT), polygons)
    noisy = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    filled = without(noisy, alpha)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    far = np.hypot(x - 60, y - 60) > 12 + 14
    np.testing.assert_array_equal(filled[far], noisy[far])
    inside = alpha == 1
    assert filled[inside].std() < noisy[inside].std() / 4  # blurred, not copied


def test_what_stays_is_put_back_and_lends_no_colour():
    pixels = ground()
    kept, _ = disc(100, 90, 16)
    gone, _ = disc(128, 90, 16)
    keep, alpha = (outline_alpha((WIDTH, HEIGHT), each) for each in (kept, gone))
    pixels = painted(painted(pixels, keep, (250, 20, 20)), alpha, (255, 255, 255))
    filled = without(pixels, alpha, keep=keep)
    np.testing.assert_array_equal(filled[keep == 1], pixels[keep == 1])
    right = (alpha == 1) & (keep == 0)
    assert np.abs(filled[right].astype(int) - ground()[right]).max() <= 6
    with pytest.raises(UsageError, match="no background"):
        without(pixels, np.ones((HEIGHT, WIDTH), np.float32))


def test_a_pasted_object_has_no_halo():
    polygons, _ = disc(60, 60, 20)
    alpha = outline_alpha((WIDTH, HEIGHT), polygons)
    source = painted(ground(), alpha, (250, 20, 20))
    dark = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    out = pasted(dark, source, alpha, (70, 35), feather_px=1.0)
    moved = np.roll(alpha, (35, 70), (0, 1))
    assert not out[moved == 0].any()  # nothing outside the outline
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    distance = np.hypot(x + 0.5 - 130, y + 0.5 - 95)
    assert (out[distance < 16] == (250, 20, 20)).all()
    rim = out[(distance > 17) & (distance < 21)].astype(int)
    # On black, every rim pixel is a darker red: the old background's green and blue do not come along.
    assert rim[:, 1].max() <= 25
    assert rim[:, 2].max() <= 25
    with pytest.raises(UsageError, match="out of a picture"):
        pasted(dark, source, alpha, (WIDTH, 0), feather_px=1.0)


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
    studio = Studio(pair)
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


def test_places_keep_the_distance_where_there_is_room():
    fixed, moving = Box(100, 80, 120, 100), Box(150, 85, 160, 95)
    for direction, unit in (("left", (-1, 0)), ("right", (1, 0)), ("above", (0, -1)), ("below", (0, 1))):
        moved = moving.moved(*step_to(moving, fixed, direction, (WIDTH, HEIGHT), OPTIONS))
        step = np.subtract(moved.centre_px, fixed.centre_px)
        np.testing.assert_allclose(step, 45.0 * np.array(unit), atol=0.5)
    # At the edge a place may lie a little aside, but not more than the tilt allows.
    low = Box(100, 160, 120, 176)
    tall = Box(20, 100, 30, 160)
    step = step_to(tall, low, "left", (WIDTH, HEIGHT), OPTIONS)
    moved = tall.moved(*step)
    angle = math.degrees(math.atan2(abs(moved.centre_px[1] - 168), abs(moved.centre_px[0] - 110)))
    assert 0 < angle <= 25.5
    assert step_to(tall, low, "left", (WIDTH, HEIGHT), PlacingOptions(max_tilt_deg=0)) is None
    assert joint_step(Box(2, 2, 100, 100), "left", (WIDTH, HEIGHT), OPTIONS) is None
    for wrong in ({"max_tilt_deg": 45}, {"min_shift_share": 0.5}, {"min_places": 5}):
        with pytest.raises(UsageError):
            PlacingOptions(**wrong)


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
