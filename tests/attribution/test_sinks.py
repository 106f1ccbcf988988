"""Attention sinks: planted massive activations are found and masked in every map, and nothing else is."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from textbook import OPTIONS, Textbook

from theodolite.attribution import attribute, find_methods
from theodolite.attribution.recorder import SinkCount, features_of
from theodolite.attribution.shared_pass import option_tokens, prepare
from theodolite.core.errors import UsageError
from theodolite.geometry import TokenGrid
from theodolite.models import find_family

TAU = 4.0
"""The tiny models have 32 dimensions, so that no activation is more than √32 = 5.7 times the root mean square."""


@contextmanager
def planted(model, requests, image_tokens, *, at_first=True):
    """Gives the first token of each prompt, and some image tokens, a massive activation in one dimension."""
    layers = find_family(model.checkpoint.model).decoder(model.checkpoint.model).layers
    batch = prepare(model.checkpoint, requests, [OPTIONS] * len(requests))
    where = torch.zeros(batch.inputs["attention_mask"].shape, dtype=torch.bool)
    for row, placed in enumerate(batch.placed):
        where[row, batch.inputs["attention_mask"][row].int().argmax()] = at_first
        where[row, placed[0].positions[image_tokens]] = True

    def plant(_, positional, named):
        hidden = positional[0].clone()
        hidden[..., 7] += 1e4 * where[-len(hidden) :, -hidden.shape[1] :].to(hidden.dtype)
        return (hidden, *positional[1:]), named

    handle = layers[1].register_forward_pre_hook(plant, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def test_sinks_are_masked_in_every_map_and_nothing_else(model, requests):
    request, sinks = requests[:1], [2, 5]
    with planted(model, request, sinks):
        how = {"targets": ["option:1"], "options": [OPTIONS]}
        (plain,) = attribute(model, request, **how)
        (masked,) = attribute(model, request, mask_sinks=TAU, **how)
    assert (plain.n_sinks, masked.n_sinks) == (None, 2)
    assert {each.method for each in masked.maps} == {method.name for method in find_methods(["all"])}
    tokens = next(each.grid for each in plain.maps if each.method == "chefer")
    for one, other in zip(plain.maps, masked.maps, strict=True):
        is_sink = np.zeros(tokens.n_tokens, bool)
        is_sink[sinks] = True
        if one.method == "gradcam":
            is_sink = features_of(tokens, is_sink, one.grid)
            assert 0 < is_sink.sum() < len(is_sink) / 2
        assert not other.values[is_sink].any()
        np.testing.assert_array_equal(other.values[~is_sink], one.values[~is_sink])
        if one.text_mass is not None and one.method == "attention-rollout":
            assert other.text_mass < one.text_mass  # the first token is a sink, too


def test_without_massive_activations_nothing_is_masked(model, requests):
    plain, masked = (
        attribute(model, requests, [OPTIONS] * 3, methods=["chefer", "gradcam"], mask_sinks=tau)
        for tau in (None, 5.6)
    )
    for one, other in zip(plain, masked, strict=True):
        assert other.n_sinks == 0
        for left, right in zip(one.maps, other.maps, strict=True):
            np.testing.assert_array_equal(left.values, right.values)


@pytest.mark.parametrize("threshold", [1.5, 2.0, 2.5])
def test_sinks_are_those_of_the_definition(model, requests, threshold):
    """In the tiny models only a low threshold finds any."""
    found = attribute(model, requests, [OPTIONS] * 3, methods=["chefer"], mask_sinks=threshold)
    plain = attribute(model, requests, [OPTIONS] * 3, methods=["chefer"])
    for masked, whole, request in zip(found, plain, requests, strict=True):
        book = Textbook(model.checkpoint, request, option_tokens(model.checkpoint, request, OPTIONS))
        is_image = book.inputs["input_ids"][0] == find_family(book.model).image_token_id(book.model)
        is_sink = book.sinks(threshold)[is_image].numpy()
        assert masked.n_sinks == is_sink.sum()
        wanted = np.where(is_sink, 0, whole.find("chefer", "pred").values)
        np.testing.assert_array_equal(masked.find("chefer", "pred").values, wanted)
    if threshold < 2:
        assert any(each.n_sinks for each in found)


def test_an_activation_that_the_first_token_does_not_have_is_no_sink(model, requests):
    with planted(model, requests[:1], [2], at_first=False):
        (found,) = attribute(model, requests[:1], [OPTIONS], methods=["chefer"], mask_sinks=TAU)
    assert found.n_sinks == 0


def test_a_padded_batch_starts_at_its_first_real_token(model, requests):
    with planted(model, requests, [1, 3]):
        found = attribute(model, requests, [OPTIONS] * 3, methods=["chefer"], mask_sinks=TAU, batch_size=3)
    assert [each.n_sinks for each in found] == [2, 2, 2]


def test_a_sink_is_one_in_half_of_the_layers():
    is_token = torch.tensor([[False, True, True, True]])
    count = SinkCount(4.0, is_token)
    for massive in ([0, 1, 2], [1, 2], [1], [1, 3]):
        hidden = torch.ones(1, 4, 64)
        hidden[0, massive, 9] = 100.0
        count.see(hidden)
    assert count.sinks().tolist() == [[False, True, True, False]]


def test_features_belong_to_the_tokens_of_their_part():
    tokens = TokenGrid.regular((40, 40), (2, 2))
    fine = TokenGrid.regular((40, 40), (4, 4))
    found = features_of(tokens, np.array([False, True, False, False]), fine)
    assert np.flatnonzero(found).tolist() == [2, 3, 6, 7]
    whole = TokenGrid(tokens.rects_px, 40, 40, np.array([0, 0, 1, 1]))
    parts = TokenGrid(fine.rects_px, 40, 40, np.where(np.arange(16) < 4, 0, 1))
    assert np.flatnonzero(features_of(whole, np.array([False, True, False, False]), parts)).tolist() == [2, 3]


def test_a_threshold_is_above_zero(model, requests):
    with pytest.raises(UsageError, match="must be a finite number above 0"):
        attribute(model, requests[:1], [OPTIONS], methods=["chefer"], mask_sinks=0.0)
