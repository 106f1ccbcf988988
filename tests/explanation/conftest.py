import numpy as np
import pytest

from theodolite.core.types import Picture, Response

SQUARE = (slice(30, 50), slice(66, 92))
"""Where the evidence of the planted picture is: rows and columns."""


@pytest.fixture(scope="session")
def planted():
    """A grey picture with noise, and a red square in it."""
    pixels = np.random.default_rng(0).integers(100, 150, (80, 120, 3), dtype=np.uint8)
    pixels[SQUARE] = (220, 20, 20)
    return Picture.from_array(pixels)


class BlackBox:
    """A model that gives text only: it says that there is a red thing if at least half of the square is red."""

    name = identity = "memory:black-box"
    lacks = {"choose": "it gives text only"}  # noqa: RUF012
    batch_size = 8

    def __init__(self, *, looks=True):
        self.looks = looks
        self.n = 0

    def generate(self, requests):
        """Answer by the pixels of the square, or the same always."""
        self.n += len(requests)
        return [Response("answered", text=self._text(request)) for request in requests]

    def _text(self, request):
        square = request.pictures[0].pixels()[SQUARE].astype(int)
        is_red = (square[..., 0] - square[..., 1] > 100).mean() >= 0.5
        return "a red square" if is_red or not self.looks else "nothing at all"

    def close(self):
        """Do nothing."""


@pytest.fixture
def black_box():
    return BlackBox()


@pytest.fixture
def blind_box():
    return BlackBox(looks=False)
