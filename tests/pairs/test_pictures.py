"""Edits of photographs: what moves is moved whole, what stays stays to the pixel, and what would not look right is refused."""

import io
import math

import numpy as np
import pytest
from picture_scenes import HEIGHT, RED, WHITE, WIDTH, disc, disc_picture, ground, painted
from PIL import Image

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.pairs.pictures import (
    Cutout,
    Studio,
    Unfit,
    UnfitError,
    exchange,
    find_exchange,
    find_move,
    flip,
    light,
    mirror,
    move,
    noise,
    reencode,
    remove,
)
from theodolite.pairs.pictures.filling import patched, without
from theodolite.pairs.pictures.objects import PlacingOptions, clear_step, is_clear, is_on, joint_step, step_to
from theodolite.pairs.pictures.whole import box_alpha, outline_alpha, pasted

SIZE = (WIDTH, HEIGHT)
OPTIONS = PlacingOptions()
WHOLE = {
    "mirror": mirror,
    "flip": flip,
    "light": light,
    "darker": lambda picture: light(picture, -0.2),
    "noise": noise,
    "reencode": reencode,
}


def rotated_photograph():
    """A JPEG with EXIF orientation 6: stored on its side, shown upright with a bright bar on the left."""
    upright = np.full((60, 40, 3), 40, np.uint8)
    upright[:, :10] = 220
    stored = Image.fromarray(np.rot90(upright))
    exif = Image.Exif()
    exif[0x0112] = 6
    data = io.BytesIO()
    stored.save(data, "JPEG", quality=95, exif=exif)
    return Picture.from_bytes(data.getvalue())


def coded(image, form, **options):
    data = io.BytesIO()
    image.save(data, form, **options)
    return Picture.from_bytes(data.getvalue())


RAMP = np.linspace(0, 255, 30 * 20).reshape(20, 30)
KINDS = {
    "rotated": rotated_photograph,
    "grey": lambda: coded(Image.fromarray(RAMP.astype(np.uint8)), "PNG"),
    "cmyk": lambda: coded(Image.fromarray(np.dstack([RAMP] * 4).astype(np.uint8), "CMYK"), "JPEG"),
    "16 bit": lambda: coded(Image.fromarray((RAMP * 257).astype(np.uint16)), "PNG"),
    "transparent": lambda: coded(Image.fromarray(np.dstack([RAMP] * 4).astype(np.uint8), "RGBA"), "PNG"),
    "palette": lambda: coded(Image.fromarray(RAMP.astype(np.uint8)).convert("P"), "GIF"),
    "one pixel": lambda: coded(Image.new("RGB", (1, 1), "red"), "PNG"),
}


@pytest.mark.parametrize("edit", WHOLE)
@pytest.mark.parametrize("kind", KINDS)
def test_edits_of_whole_pictures_keep_the_size_as_shown_and_are_the_same_each_time(edit, kind):
    picture = KINDS[kind]()
    edited = WHOLE[edit](picture)
    assert edited.size == picture.size
    assert edited == WHOLE[edit](picture) == WHOLE[edit](picture.pixels())


def test_a_photograph_on_its_side_is_mirrored_as_it_is_shown():
    picture = rotated_photograph()
    shown = picture.pixels()
    assert shown[:, :8].mean() > 200, "the bar is on the left"
    assert mirror(picture).pixels()[:, -8:].mean() > 200, "and then on the right"
    assert np.array_equal(flip(flip(picture)).pixels(), shown)
    assert np.array_equal(mirror(mirror(picture)).pixels(), shown)


def test_neutral_edits_change_a_little_everywhere():
    pixels, _ = disc_picture((70, 90, 18, RED))
    brighter, darker = (light(pixels, amount).pixels().astype(int) - pixels for amount in (0.3, -0.3))
    assert brighter.min() >= 0
    assert darker.max() <= 0
    assert np.abs(brighter + 0.3 * (pixels.astype(float) - 255)).max() <= 0.5
    grain = noise(pixels, seed=1, levels=6).pixels().astype(float) - pixels
    middle = grain[(pixels > 30).all(axis=2) & (pixels < 225).all(axis=2)]
    assert middle.std() == pytest.approx(6, rel=0.05)
    assert abs(middle.mean()) < 0.1
    assert noise(pixels, seed=1) != noise(pixels, seed=2)
    coarse, fine = (
        np.abs(reencode(pixels, quality=q).pixels().astype(int) - pixels).mean() for q in (10, 90)
    )
    assert 0 < fine < coarse < 12


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: light(ground(), 1.0), "light"),
        (lambda: reencode(ground(), quality=0), "quality"),
        (lambda: mirror(np.zeros((4, 4))), "uint8"),
        (lambda: noise(Picture.from_bytes(b"no picture")), "decode"),
        (lambda: remove(Picture("bytes-0"), Cutout(Box(0, 0, 1, 1))), "changed|cannot"),
    ],
)
def test_what_cannot_be_done_is_said_in_words(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def at(picture, box):
    x, y = (round(c) for c in box.centre_px)
    return tuple(picture.pixels()[y, x].tolist())


def test_a_removed_object_is_gone_and_all_else_stays():
    pixels, (gone, _) = disc_picture((70, 90, 18, RED), (170, 60, 14, WHITE))
    after = remove(pixels, gone).pixels()
    alone, _ = disc_picture((170, 60, 14, WHITE))
    assert np.abs(after.astype(int) - alone).max() <= 3, "as if it had never been there"
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    far = np.hypot(x - 70, y - 90) > 18 + 14
    assert np.array_equal(after[far], pixels[far])


@pytest.mark.parametrize("outlined", [True, False])
def test_objects_exchange_their_places(outlined):
    pixels, things = disc_picture((60, 90, 18, RED), (170, 80, 18, WHITE))
    if not outlined:
        things = [Cutout(thing.box) for thing in things]
    edited = exchange(pixels, *things)
    assert (at(edited, things[0].box), at(edited, things[1].box)) == (WHITE, RED)
    swapped, _ = disc_picture((60, 90, 18, WHITE), (170, 80, 18, RED))
    difference = np.abs(edited.pixels().astype(int) - swapped).max(axis=2)
    assert (difference > 12).mean() < (0.015 if outlined else 0.05), "apart from the rims"


@pytest.mark.parametrize("direction", ["left", "right", "above", "below"])
def test_an_object_moves_alone(direction):
    pixels, (thing, fixed) = disc_picture((60, 40, 12, RED), (120, 90, 14, WHITE))
    step = find_move(thing, fixed, SIZE, directions=[direction])
    edited = move(pixels, thing, step, others=[fixed.box])
    there = thing.box.moved(*step)
    assert at(edited, there) == RED
    assert at(edited, fixed.box) == WHITE
    across, down = np.subtract(there.centre_px, fixed.box.centre_px)
    along, aside = (across, down) if direction in {"left", "right"} else (down, across)
    assert np.sign(along) == (-1 if direction in {"left", "above"} else 1)
    assert abs(math.degrees(math.atan2(aside, abs(along)))) <= OPTIONS.max_tilt_deg, "no diagonal"
    assert is_clear(there, [fixed.box], OPTIONS.gap_px)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    near = (np.hypot(x - 60, y - 40) < 12 + 14) | (
        np.hypot(x - there.centre_px[0], y - there.centre_px[1]) < 14
    )
    assert np.array_equal(edited.pixels()[~near], pixels[~near]), "all else stays to the pixel"


def reason(call):
    with pytest.raises(UnfitError) as caught:
        call()
    return caught.value.reason


def test_what_would_not_look_right_is_refused_with_its_reason():
    cup, pen = Cutout(Box(40, 40, 60, 60)), Cutout(Box(140, 40, 160, 60))

    def found(thing, other=pen, others=(), directions=("right",)):
        return lambda: find_move(thing, other, SIZE, directions=directions, others=others)

    assert reason(found(Cutout(Box(0, 40, 20, 60)))) == Unfit.CUT_OFF
    assert reason(found(Cutout(Box(-5, 40, 20, 60)))) == Unfit.CUT_OFF
    assert reason(found(cup, Cutout(Box(50, 40, 90, 60)))) == Unfit.TOUCH
    assert reason(found(cup, others=[Box(55, 30, 80, 70)])) == Unfit.COVERED
    assert reason(found(cup, others=[Box(165, 0, 230, 179)])) == Unfit.NO_ROOM
    assert reason(found(cup, Cutout(Box(200, 40, 239, 60)))) == Unfit.NO_ROOM
    assert reason(lambda: find_exchange(cup, pen, SIZE, others=[Box(100, 61, 180, 80)])) == Unfit.NOT_SWAPPED
    assert reason(lambda: find_exchange(cup, Cutout(Box(30, 90, 220, 100)), SIZE)) in {
        Unfit.NOT_SWAPPED,
        Unfit.TOUCH,
    }
    assert reason(lambda: remove(ground(), Cutout(Box(-10, -10, 30, 30)))) == Unfit.CUT_OFF
    assert reason(found(Cutout(Box(2, 40, 20, 60)))) == Unfit.CUT_OFF, "annotated boxes are loose"
    assert reason(found(Cutout(Box(40, 40, 48, 100)))) == Unfit.SLIVER
    assert reason(lambda: remove(ground(), Cutout(Box(4, 4, WIDTH - 4, HEIGHT - 4)))) == Unfit.LARGE
    assert reason(lambda: remove(ground()[:9, :9], Cutout(Box(3, 3, 6, 6)))) == Unfit.LARGE, "a tiny picture"


def test_traces_and_objects_that_are_not_seen_are_refused():
    rng = np.random.default_rng(0)
    busy = (
        rng.integers(0, 2, (HEIGHT // 20, WIDTH // 20, 1), dtype=np.uint8).repeat(20, 0).repeat(20, 1) * 255
    )
    pixels = np.ascontiguousarray(np.broadcast_to(busy, (HEIGHT, WIDTH, 3)))
    thing = Cutout(Box(90, 70, 140, 110))
    assert reason(lambda: remove(pixels, thing)) == Unfit.TRACE
    assert reason(lambda: move(ground(), Cutout(Box(90, 70, 110, 90)), (30, 0))) == Unfit.UNSEEN
    half = ground()
    half[:, 120:] = 180
    half[60:80, 40:60] = 0
    boxed = Cutout(Box(30, 50, 70, 90))  # brings its dark background into the bright half
    assert Studio(half, (boxed,)).attempt("move", [(120, 0)]).quality.measures["brought"] > 35
    assert reason(lambda: move(half, boxed, (120, 0))) == Unfit.OUT_OF_PLACE
    blurred = Studio(pixels, (thing,), fill="blurred").draw([None])
    assert blurred.shape == pixels.shape, "a blur is never refused"


def test_a_cup_stays_on_its_table_or_leaves_it_as_a_whole():
    cup, other, table = Box(40, 100, 50, 110), Box(100, 100, 110, 110), Box(20, 95, 200, 150)
    assert is_on(cup, table)
    assert is_on(cup.moved(*clear_step(cup, other, "right", SIZE, [table])), table)
    assert is_clear(cup.moved(*clear_step(cup, other, "above", SIZE, [table])), [table], OPTIONS.gap_px)
    assert clear_step(cup, other, "above", SIZE, [table, Box(0, 0, 240, 90)]) is None, "only the edge is left"


def test_a_copied_fill_has_the_detail_of_the_background():
    rng = np.random.default_rng(3)
    grass = rng.normal(110, 18, (HEIGHT, WIDTH, 3)).clip(0, 255).astype(np.uint8)
    polygons, _ = disc(120, 90, 22)
    alpha = outline_alpha(SIZE, polygons)
    shown = painted(grass, alpha, RED)
    patch = patched(shown, alpha)
    inside = alpha == 1
    assert patch.pixels[inside].std() == pytest.approx(18, rel=0.2)
    assert without(shown, alpha)[inside].std() < 6, "a blur has none"
    assert patch.smear < patch.misfit, "grass is no smear"
    assert patch.misfit == pytest.approx(np.abs(rng.normal(0, 18 * math.sqrt(2), 10_000)).mean(), rel=0.15)


def test_objects_that_must_not_be_copied_are_not():
    pixels, (gone, other) = disc_picture((100, 90, 20, RED), (150, 90, 20, WHITE))
    edited = remove(pixels, gone, others=[other.box]).pixels()
    alone, _ = disc_picture((150, 90, 20, WHITE))
    assert np.abs(edited.astype(int) - alone).max() <= 4


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
