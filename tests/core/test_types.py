import io
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice, Item, Message, Picture, Request, canonical_json, content_hash

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def png(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


@given(JSON)
@settings(max_examples=80, deadline=None)
def test_canonical_json_survives_a_round_trip(value):
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": -float("inf")}])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(value)


def test_a_picture_keeps_its_pixels():
    pixels = np.random.default_rng(1).integers(0, 256, (17, 23, 3), dtype=np.uint8)
    picture = Picture.from_array(pixels)
    assert np.array_equal(picture.pixels(), pixels)
    assert picture.size == (23, 17)
    assert picture.media_type == "image/png"


def test_a_drawn_picture_is_known_by_its_pixels_whatever_the_encoder_writes(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (17, 23, 3), dtype=np.uint8)
    drawn = Picture.from_array(pixels)
    path = tmp_path / "a.png"
    Image.fromarray(pixels).save(path, compress_level=9)
    assert path.read_bytes() != drawn.read()
    assert np.array_equal(Picture(drawn.digest, path=path).pixels(), pixels)
    pixels[0, 0, 0] ^= 1
    assert Picture.from_array(pixels).digest != drawn.digest


def test_a_flat_picture_is_not_a_tall_one():
    flat, tall = np.zeros((2, 8, 3), np.uint8), np.zeros((8, 2, 3), np.uint8)
    assert Picture.from_array(flat).digest != Picture.from_array(tall).digest


def test_a_file_is_known_by_its_bytes_and_watched(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png(np.zeros((4, 4, 3), np.uint8)))
    picture = Picture.from_path(path)
    assert picture.digest == Picture.from_bytes(path.read_bytes()).digest
    path.write_bytes(png(np.full((4, 4, 3), 9, np.uint8)))
    with pytest.raises(UsageError, match="has changed since"):
        picture.read()
    path.unlink()
    with pytest.raises(UsageError, match="cannot read"):
        picture.read()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match="nowhere"):
        Picture.from_path(tmp_path / "nowhere.png")


def test_transparent_parts_become_white():
    image = Image.new("RGBA", (2, 1), (255, 0, 0, 255))
    image.putpixel((1, 0), (0, 0, 0, 0))
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    assert Picture.from_bytes(buffer.getvalue()).pixels().tolist() == [[[255, 0, 0], [255, 255, 255]]]


def test_a_photo_is_turned_as_its_camera_says():
    image = Image.new("RGB", (6, 2))
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by a quarter
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", exif=exif)
    assert Picture.from_bytes(buffer.getvalue()).size == (2, 6)


@pytest.mark.parametrize("data", [b"", b"hello", b"\x89PNG\r\n\x1a\nbroken"])
def test_what_is_no_picture_is_said_so(data):
    with pytest.raises(UsageError, match="cannot decode the picture"):
        Picture.from_bytes(data).load()


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (0, 4, 3)])
def test_an_array_that_is_no_picture_is_refused(shape):
    with pytest.raises(UsageError, match="height, width, 3"):
        Picture.from_array(np.zeros(shape, np.uint8))
    with pytest.raises(UsageError, match="float"):
        Picture.from_array(np.zeros((4, 4, 3)))


def test_a_request_is_known_by_what_the_model_sees(picture):
    base = Request.ask(picture, "Where?")
    other = Picture.from_array(np.zeros((4, 4, 3), np.uint8))
    same = [
        Request.ask(picture, "Where?", ref="a"),
        Request((Message.user(picture, "Where?"),), hint={"gold": "left"}),
    ]
    different = [
        Request.ask("Where?"),
        Request.ask("Where?", picture),
        Request.ask(picture, "Where? "),
        Request.ask(other, "Where?"),
        Request.ask(picture, picture, "Where?"),
        Request.ask(picture, "Where?", max_tokens=7),
        Request(base.messages, temperature=0.5),
        Request(base.messages, seed=1),
        Request(base.messages, stop=("x",)),
        Request((Message("system", ("Be brief.",)), *base.messages)),
    ]
    assert all(request.digest == base.digest for request in same)
    assert len({request.digest for request in [base, *different]}) == len(different) + 1


@pytest.mark.parametrize("wrong", [{"max_tokens": 0}, {"temperature": -1}, {"temperature": float("nan")}])
def test_a_request_is_checked(wrong):
    with pytest.raises(UsageError):
        Request((Message.user("x"),), **wrong)
    with pytest.raises(UsageError, match="at least one message"):
        Request(())


def test_an_item_keeps_its_id_when_its_gold_answer_is_mended():
    request = Request.ask("Where?")
    item = Item("q1", request, meta={"gold": "left"})
    assert Item("q1", request, meta={"gold": "right"}).id == item.id
    assert Item("q2", request).id != item.id
    assert Item("q1", request, options=("a",)).id != item.id


def test_ids_do_not_change_from_version_to_version():
    # Stored runs are found again by these ids: changing them would orphan every run.
    assert content_hash(["theodolite", 1, None]) == "366013911cb3c5da77867b0b868a5f62"
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    item = Item("q1", Request.ask(Picture.from_array(pixels), "Where?", max_tokens=4), ("left", "right"))
    assert item.id == "b19ffae1e9fc29e7dde242dd08f1e73f"


def test_a_choice_sums_to_one():
    choice = Choice(("a", "b", "c"), (-1000.0, -1001.0, -1002.0))
    assert sum(choice.probabilities) == pytest.approx(1)
    assert choice.best == "a"
    assert choice.probabilities[0] / choice.probabilities[1] == pytest.approx(np.e)
    with pytest.raises(UsageError):
        Choice(("a",), ())


@pytest.mark.parametrize(
    ("options", "values", "message"),
    [
        (("a", "b"), (math.nan, -1.0), "numbers"),
        (("a", "b"), (-1.0, math.inf), "numbers"),
        (("a", "b"), (-math.inf, -math.inf), "probability zero"),
        (("a", "a"), (-1.0, -2.0), "distinct"),
    ],
)
def test_a_choice_holds_only_what_can_be_chosen_from(options, values, message):
    with pytest.raises(UsageError, match=message):
        Choice(options, values)
    assert Choice(("a", "b"), (-math.inf, 0.0)).probabilities == (0.0, 1.0)


def encoded(image, kind="PNG", **how):
    buffer = io.BytesIO()
    image.save(buffer, format=kind, **how)
    return Picture.from_bytes(buffer.getvalue())


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_of_grey_are_scaled_and_not_cut_off(kind):
    ramp = np.linspace(0, 65535, 256).round().astype(np.uint16).reshape(16, 16)
    pixels = encoded(Image.fromarray(ramp), kind).pixels()
    assert (pixels == np.arange(256).reshape(16, 16, 1)).all()


def test_a_transparent_level_of_sixteen_bits_becomes_white():
    levels = np.array([[0, 700], [40000, 65535]], np.uint16)
    pixels = encoded(Image.fromarray(levels), transparency=700).pixels()
    assert pixels[..., 0].tolist() == [[0, 255], [156, 255]]


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_grey_levels_of_unknown_range_are_refused(dtype):
    with pytest.raises(UsageError, match="range of its grey levels"):
        encoded(Image.fromarray(np.ones((2, 2), dtype)), "TIFF").pixels()
