import numpy as np
import pytest

from theodolite.core.types import Picture, Request
from theodolite.models import open_model


@pytest.fixture(scope="session", params=["llava", "qwen2_vl"])
def model(request, tiny_llava, tiny_qwen2_vl):
    folder = {"llava": tiny_llava, "qwen2_vl": tiny_qwen2_vl}[request.param]
    opened = open_model(f"hf:{folder}?dtype=float32")
    opened.checkpoint.model.double()  # so that what differs is the method, not the rounding of the model
    return opened


@pytest.fixture(scope="session")
def requests():
    """Pictures of different sizes and questions of different lengths, so that batches are padded."""
    rng = np.random.default_rng(0)
    sizes = [(60, 80), (90, 64), (77, 71)]
    return [
        Request.ask(
            Picture.from_array(rng.integers(0, 256, (*size, 3), dtype=np.uint8)),
            "where is the red one? " * (i + 1),
        )
        for i, size in enumerate(sizes)
    ]
