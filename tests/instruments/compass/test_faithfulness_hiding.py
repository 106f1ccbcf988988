"""Hidden sectors, pixel by pixel."""

import numpy as np
import pytest
from compass_plain import sector_of as plain_sector_of

from theodolite.core.errors import UsageError
from theodolite.core.files import check
from theodolite.core.types import Picture
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.experiments.faithfulness.plan import (
    Hiding,
    sector_labels,
    sector_of,
    visible_shares,
)
from theodolite.instruments.compass.formulas.projection import ProjectionOptions


@pytest.fixture
def pixels():
    return np.random.default_rng(3).integers(0, 256, (30, 41, 3), dtype=np.uint8)


@pytest.mark.parametrize("bins", ["edge", "centre"])
@pytest.mark.parametrize("sectors", [3, 4, 8, 12])
def test_each_pixel_is_in_the_sector_of_its_middle(sectors, bins):
    options = ProjectionOptions(sectors=sectors, bins=bins)
    labels = sector_labels((23, 17), (9.2, 6.7), options=options)
    for y in range(17):
        for x in range(23):
            assert labels[y, x] == plain_sector_of(x + 0.5 - 9.2, y + 0.5 - 6.7, sectors, bins)
    for angle in np.linspace(-360, 720, 217) + 0.01:
        step = np.cos(np.deg2rad(angle)), -np.sin(np.deg2rad(angle))
        assert sector_of(angle, options) == plain_sector_of(*step, sectors, bins)


@pytest.mark.parametrize("fill", ["grey", "blur"])
def test_only_the_hidden_sectors_change(pixels, fill):
    hiding = Hiding((20.3, 11.1), (1, 6), fill)
    before = pixels.copy()
    shown = hiding.apply(pixels)
    inside = np.isin(sector_labels((41, 30), (20.3, 11.1)), (1, 6))
    assert (pixels == before).all()
    assert (shown[~inside] == pixels[~inside]).all()
    if fill == "grey":
        assert (shown[inside] == 128).all()
    else:
        assert shown[inside].astype(float).std() < 0.5 * pixels[inside].astype(float).std()
        assert (shown[inside] != pixels[inside]).mean() > 0.9


def test_drawn_pictures_keep_every_visible_pixel_and_nothing_hidden_is_the_picture_itself(pixels):
    picture = Picture.from_array(pixels)
    hiding = Hiding((20.3, 11.1), (0, 3, 4), spared=(15.0, 8.0, 25.0, 14.0))
    assert (hiding.draw(picture).pixels() == hiding.apply(pixels)).all()
    assert (hiding.apply(pixels)[8:14, 15:25] == pixels[8:14, 15:25]).all()
    assert Hiding((20.3, 11.1), ()).draw(picture) is picture


def test_a_hiding_survives_json(pixels):
    hiding = Hiding((20.3, 11.1), (0, 5), "blur", 12, "centre", (1.0, 2.0, 3.0, 4.0))
    assert check(Hiding, hiding.hint()) == hiding
    assert check(Hiding, Hiding((1.0, 2.0), (7,)).hint()) == Hiding((1.0, 2.0), (7,))


def test_shares_count_what_the_model_sees():
    labels = sector_labels((40, 20), (20.0, 10.0))
    whole = visible_shares(TokenGrid.regular((40, 20), (2, 4)), labels, 8)
    assert whole.sum() == pytest.approx(1)
    crop = TokenGrid.regular((40, 20), (2, 2), (20.0, 0.0, 40.0, 20.0))  # the right half
    shares = visible_shares(crop, labels, 8)
    assert shares.sum() == pytest.approx(1)
    assert shares[2:6].sum() == 0
    expected = [(labels[:, 20:] == k).mean() for k in range(8)]
    assert shares == pytest.approx(expected)
    spared = sector_labels((40, 20), (20.0, 10.0), spared=Box(10, 5, 30, 15))
    assert visible_shares(crop, spared, 8).sum() == pytest.approx(1 - 100 / 400)


def test_nonsense_is_refused():
    with pytest.raises(UsageError, match="grey or blur"):
        Hiding((0, 0), (1,), "pink")
    with pytest.raises(UsageError, match="sectors 0 to 7"):
        Hiding((0, 0), (8,))
    with pytest.raises(UsageError, match="at most 254 sectors"):
        sector_labels((4, 4), (1.0, 1.0), options=ProjectionOptions(sectors=300))
