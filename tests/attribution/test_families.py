"""The shared pass on every architecture: attention seen, gradients everywhere, equal to the textbook."""

import numpy as np
import pytest
from textbook import OPTIONS, Textbook

from theodolite.attribution import attribute
from theodolite.attribution.shared_pass import option_tokens
from theodolite.core.registry import registry
from theodolite.models import find_family, open_model

FAMILIES = [entry.name for entry in registry().entries("family")]


@pytest.fixture(scope="module", params=FAMILIES)
def opened(request, tiny, requests):
    model = open_model(f"hf:{tiny(request.param)}?dtype=float32")
    model.checkpoint.model.double()
    # The textbook asks transformers for outputs. Unless that is the first thing asked, transformers 5.22 counts the layers of
    # a vision tower twice if the model itself asks for their outputs, and so reads another layer.
    Textbook(model.checkpoint, requests[0], [0, 1]).run()
    return model


@pytest.fixture(scope="module")
def found(opened, requests):
    return attribute(opened, requests, [OPTIONS] * 3, targets=["option:1"], batch_size=1)


def close(got, wanted):
    scale = np.abs(np.asarray(wanted)).max()
    assert scale > 0
    np.testing.assert_allclose(got, wanted, atol=1e-5 * scale, rtol=0)


def test_every_method_equals_its_textbook_version(opened, requests, found):
    for each, request in zip(found, requests, strict=True):
        book = Textbook(opened.checkpoint, request, option_tokens(opened.checkpoint, request, OPTIONS))
        family = find_family(opened.checkpoint.model)
        is_image = family.is_image_token(opened.checkpoint.model, book.inputs["input_ids"][0])
        plain, normalised = book.chefer(1)
        gradient, hidden = book.hidden_gradient(lambda logits: logits[1], -2)
        wanted = {
            "chefer": plain,
            "chefer-normalised": normalised,
            "attention-rollout": book.rollout(),
            "gradient-norm": gradient.norm(dim=-1),
            "grad-act-absolute": (gradient * hidden).abs().sum(dim=-1),
        }
        for name, relevance in wanted.items():
            close(
                each.find(name, "" if name == "attention-rollout" else "option:1").values,
                relevance[is_image].numpy(),
            )
        close(each.find("gradcam", "option:1").values, book.gradcam(1).numpy())


def test_every_map_has_its_place_and_says_something(found):
    for each in found:
        for relevance in each.maps:
            assert relevance.values.size == relevance.grid.n_tokens
            assert (relevance.values >= 0).all(), relevance.method
            assert relevance.values.max() > 0, relevance.method


def test_pieces_without_a_place_are_kept_apart(found):
    for each in found:
        relevance = each.find("chefer", "option:1")
        assert np.isnan(relevance.grid.rects_px[~relevance.grid.has_place]).all()
