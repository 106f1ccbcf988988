"""What remains after an edit is measured: frames, ghosts, things copied in; what touches is told by outlines; neutral edits."""

import io
import math
from pathlib import Path

import numpy as np
import pytest
from picture_scenes import HEIGHT, RED, WHITE, WIDTH, disc, disc_picture, ground, painted
from PIL import Image

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import Registry, register, registry
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL
from theodolite.pairs.pictures import (
    Cutout,
    Studio,
    Unfit,
    UnfitError,
    developed,
    find_move,
    mirror,
    neutral_exchange,
    neutral_move,
    neutral_removal,
    paste_in_place,
    remove,
    try_exchange,
    try_remove,
)
from theodolite.pairs.pictures.objects import fault_of, relation
from theodolite.pairs.pictures.quality import LIMITS, Quality, foreign_share, remaining_edge
from theodolite.pairs.pictures.sheet import SheetEntry, edit_sheet
from theodolite.pairs.pictures.whole import box_alpha, outline_alpha

SIZE = (WIDTH, HEIGHT)
COCO = Path(__file__).parents[3] / "shared" / "data" / "coco_tiny_val"


def boxed(x0, y0, x1, y1):
    """A rectangle with its outline."""
    return Cutout(Box(x0, y0, x1, y1), ((x0, y0, x1, y0, x1, y1, x0, y1),))


def test_a_frame_left_standing_is_refused():
    """A screen is annotated without its frame: the removed screen leaves the frame."""
    pixels = ground()
    pixels[70:106, 90:136] = 20
    pixels[75:101, 95:131] = 240
    screen, whole = boxed(95, 75, 131, 101), boxed(90, 70, 136, 106)
    assert try_remove(pixels, screen).quality.measures["remains"] > LIMITS["remains"].most
    with pytest.raises(UnfitError) as caught:
        remove(pixels, screen)
    assert caught.value.reason in {Unfit.REMAINS, Unfit.TRACE}
    assert try_remove(pixels, whole).quality.measures["remains"] < 0.1
    assert try_remove(pixels, whole).is_fit


@pytest.mark.parametrize("wide", [4, 8, 12])
def test_the_frame_is_found_wherever_it_stands(wide):
    alpha = box_alpha(SIZE, Box(90, 60, 140, 110))
    framed = ground()
    framed[60 - wide : 110 + wide, 90 - wide : 140 + wide] = 30
    assert remaining_edge(ground(), alpha) == 0
    assert remaining_edge(framed, alpha) > LIMITS["remains"].most
    rng = np.random.default_rng(0)
    grass = rng.normal(110, 25, (HEIGHT, WIDTH, 3)).clip(0, 255).astype(np.uint8)
    assert remaining_edge(grass, alpha) < LIMITS["remains"].most, "texture is no frame"


def test_what_was_copied_in_from_elsewhere_is_foreign():
    alpha = box_alpha(SIZE, Box(90, 60, 140, 110))
    filled = ground()
    filled[75:95, 100:130] = (240, 220, 20)
    assert foreign_share(ground(), ground(), alpha) == 0
    share = 20 * 30 / (60 * 60)
    assert foreign_share(ground(), filled, alpha) == pytest.approx(share, rel=0.35)


def test_the_first_fault_is_the_reason_and_of_several_objects_the_worse_counts():
    fine, bad = {"misfit": 5.0, "contrast": 60.0}, {"misfit": 20.0, "contrast": 3.0}
    assert Quality(fine).fault is None
    joined = Quality(fine).joined(bad)
    assert joined.measures == {"misfit": 20.0, "contrast": 3.0}
    assert joined.fault == Unfit.UNSEEN
    assert Quality(fine, refused=Unfit.COVERED).fault == Unfit.COVERED


def test_outlines_tell_what_touches_and_what_only_shares_a_box():
    polygon = (20.0, 20.0, 120.0, 20.0, 20.0, 120.0)
    corner = Cutout(Box(20, 20, 120, 120), (polygon,))  # the upper left half of its box
    far, near = boxed(95, 95, 115, 115), boxed(60, 60, 80, 80)
    assert relation(far, corner, SIZE) == "apart"
    assert relation(Cutout(far.box), corner, SIZE) == "on", "without an outline the box decides"
    assert relation(near, corner, SIZE) == "touching"
    assert relation(near, corner, SIZE, step=(80, 60)) == "apart"
    assert relation(boxed(30, 30, 50, 50), corner, SIZE) == "on"
    assert relation(corner, boxed(30, 30, 50, 50), SIZE) == "touching", (
        "what lies on it would be left in the air"
    )
    assert fault_of(far, SIZE, [corner]) is None
    assert fault_of(near, SIZE, [corner]) == Unfit.COVERED
    assert fault_of(near, SIZE, [corner.box]) is None, "a box that holds it is what it lies on"


def test_a_smooth_place_without_a_piece_to_copy_is_filled_by_a_blur():
    """Stripes all around leave no piece to copy, and the desk itself is smooth."""
    pixels = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    polygons, box = disc(120, 90, 20)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    beyond = np.hypot(x - 120, y - 90) > 44
    pixels[beyond & (x // 8 % 2 == 0)] = 20
    pixels = painted(pixels, outline_alpha(SIZE, polygons), RED)
    edited = try_remove(pixels, Cutout(box, tuple(map(tuple, polygons))))
    assert edited.is_fit
    assert "rough" in edited.quality.measures
    assert np.abs(edited.picture.pixels()[80:100, 110:130].astype(int) - 200).max() <= 8


@pytest.fixture
def scene():
    """Four discs: a red and a white one asked about, and two of which the question says nothing."""
    return disc_picture((50, 50, 14, RED), (180, 50, 14, WHITE), (60, 130, 14, WHITE), (170, 130, 13, RED))


def moved_of(edited):
    ((thing, step),) = edited.changed
    return thing, step


def test_the_neutral_edit_of_a_removal_removes_something_else_of_its_size(scene):
    pixels, (asked, other, low, last) = scene
    large = Cutout(Box(100, 60, 140, 120))
    edited = neutral_removal(pixels, asked, [large, last, low], others=[other])
    assert edited.is_fit
    assert edited.kind == "remove"
    assert moved_of(edited)[0] in {low, last}
    difference = np.abs(edited.picture.pixels().astype(int) - pixels).max(axis=2)
    assert difference[35:65, 35:65].max() == 0, "the object asked about stays to the pixel"
    alone = neutral_removal(pixels, asked, [], others=[other, low, last])
    assert (alone.kind, alone.is_fit) == ("in place", True)


def test_the_neutral_edit_of_a_move_keeps_the_side(scene):
    pixels, (asked, other, low, last) = scene
    step = find_move(asked, other, SIZE, directions=["below"], others=[low.box, last.box])
    edited = neutral_move(pixels, asked, other, step, unrelated=[low], others=[last])
    assert edited.is_fit
    thing, own = moved_of(edited)
    if thing is asked:
        before, after = (CARDINAL.between(other.box, box).name for box in (asked.box, asked.box.moved(*own)))
        assert before == after
    assert 0.25 <= math.hypot(*own) / math.hypot(*step) <= 4


def test_the_neutral_edit_of_an_exchange_exchanges_others_or_pastes_in_place(scene):
    pixels, (asked, other, low, last) = scene
    assert try_exchange(pixels, asked, other, others=[low, last]).is_fit
    edited = neutral_exchange(pixels, asked, other, [low, last])
    assert edited.is_fit
    assert {thing for thing, _ in edited.changed} == {low, last}
    only = neutral_exchange(pixels, asked, other, [low], others=[last])
    assert (only.kind, only.is_fit) == ("in place", True)


def test_pasting_in_place_changes_the_rim_alone(scene):
    pixels, (asked, *rest) = scene
    edited = paste_in_place(pixels, asked, others=rest)
    difference = np.abs(edited.picture.pixels().astype(int) - pixels).max(axis=2)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    distance = np.hypot(x + 0.5 - 50, y + 0.5 - 50)
    assert difference[distance < 10].max() == 0
    assert difference[distance > 32].max() == 0
    assert difference[(distance > 12) & (distance < 16)].max() > 10, "as after a move"


def blockiness(pixels, phase):
    """How much larger steps between columns are at one phase of the compression's grid than between its blocks."""
    steps = np.abs(np.diff(pixels.astype(float).mean(axis=2), axis=1)).mean(axis=0)
    at = np.arange(len(steps)) % 8 == phase
    return steps[at].mean() / steps[~at].mean()


def test_developed_originals_bear_no_grid_that_tells_them_from_edits():
    rng = np.random.default_rng(1)
    noisy = np.kron(rng.normal(120, 20, (60, 80)), np.ones((3, 3)))[:176, :236]
    data = io.BytesIO()
    grey = np.repeat(noisy[..., None], 3, axis=2).clip(0, 255).astype(np.uint8)
    Image.fromarray(grey).save(data, "JPEG", quality=20)
    photo = Picture.from_bytes(data.getvalue())
    assert blockiness(photo.pixels(), 7) > 1.3
    assert blockiness(mirror(photo).pixels(), 7) < 1.1, "a mirrored photograph has its grid elsewhere"
    plain = developed(photo)
    assert plain.size == (212, 158)
    for picture in (plain, mirror(plain)):
        assert max(blockiness(picture.pixels(), phase) for phase in range(8)) < 1.25
        assert picture.read()[:8] == b"\x89PNG\r\n\x1a\n", "stored alike"
    assert developed(photo, scale=1) == Picture.from_array(photo.pixels())
    with pytest.raises(UsageError, match="scale"):
        developed(photo, scale=2)


def with_edit(monkeypatch, fill):
    """Register a function of this module as an edit."""
    monkeypatch.setitem(globals(), "_fill", fill)

    def mine(add):
        add("edit", "mine", f"{__name__}:_fill", summary="for a test")

    whole = Registry({"theodolite": register, "test": mine})
    monkeypatch.setattr("theodolite.pairs.pictures.filling.registry", lambda: whole)


def test_a_plug_in_fills_the_hole_and_nothing_else(monkeypatch, scene):
    pixels, (asked, *rest) = scene
    calls = []

    def fill(shown, mask, seed):
        calls.append((mask.sum(), seed))
        assert not shown.flags.writeable
        return np.full_like(shown, 90)

    with_edit(monkeypatch, fill)
    edited = try_remove(pixels, asked, others=rest, fill="mine", seed=5)
    assert [seed for _, seed in calls] == [5]
    out = edited.picture.pixels()
    assert (out[45:55, 45:55] == 90).all()
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    far = np.hypot(x - 50, y - 50) > 14 + 20
    assert np.array_equal(out[far], pixels[far])
    assert {"remains", "foreign"} <= set(edited.quality.measures)
    assert "misfit" not in edited.quality.measures, "that is of copied pieces"


def test_a_plug_in_that_breaks_its_contract_is_told(monkeypatch, scene):
    pixels, (asked, *_) = scene
    with_edit(monkeypatch, lambda shown, *_: shown[:10])
    with pytest.raises(ContractError, match="'mine' returned uint8 of shape"):
        remove(pixels, asked, fill="mine")
    with pytest.raises(UsageError, match="no edit 'absent'"):
        remove(pixels, asked, fill="absent")
    assert {"copied", "blurred"} <= {entry.name for entry in registry().entries("edit")}


def test_a_sheet_shows_each_edit_with_its_reason(scene):
    pixels, (asked, *rest) = scene
    before = Picture.from_array(pixels)
    fit = try_remove(pixels, asked, others=rest)
    unfit = try_remove(pixels, Cutout(Box(0, 0, 30, 30)))
    sheet = edit_sheet(
        [SheetEntry(before, fit, "disc: removed"), SheetEntry(before, unfit, "corner: removed")]
    )
    assert sheet.width > sheet.height
    assert len(np.unique(np.asarray(sheet).reshape(-1, 3), axis=0)) > 100
    with pytest.raises(UsageError, match="no edit"):
        edit_sheet([])


@pytest.mark.skipif(not COCO.is_dir(), reason="the COCO pictures are not beside the checkout")
def test_edits_of_photographs_that_were_looked_at_are_accepted_and_refused_as_then():
    """Of 80 photographs: the good ones stay, and the frames, slivers, held things and smears of before are gone."""
    from theodolite.instruments.coco import read_instances

    instances = read_instances(COCO / "instances.json")
    usual, pictures = instances.narrowness(), instances.by_file_name()

    def fault(number, name):
        picture = pictures[f"{number:012d}.jpg"]
        thing = next(each for each in picture.instances if each.name == name)
        reason = picture.unfit(thing, usual)
        if reason is not None:
            return reason
        photo = Picture.from_path(COCO / "images" / Path(picture.file_name).name)
        return try_remove(photo, thing.cutout(), others=picture.other_cutouts(thing)).quality.fault

    good = {532481: "kite", 208901: "airplane", 55299: "bird", 520707: "suitcase", 566282: "sports ball"}
    assert {name: fault(number, name) for number, name in good.items()} == dict.fromkeys(good.values())
    bad = {
        239041: "tv",
        404484: "tv",
        349184: "handbag",
        168458: "vase",
        20992: "hot dog",
        10764: "baseball glove",
    }
    assert all(fault(number, name) is not None for number, name in bad.items())
    assert fault(404484, "tv") == fault(349184, "handbag") == Unfit.SLIVER


def test_drawing_again_what_was_planned_is_never_refused(scene):
    """A run goes on with the edits that it planned, whatever is refused by now."""
    pixels, (asked, *rest) = scene
    studio = Studio(pixels, (asked,), others=rest)
    assert studio.attempt("move", [(60, 0)]).picture.pixels().tobytes() == studio.draw([(60, 0)]).tobytes()
