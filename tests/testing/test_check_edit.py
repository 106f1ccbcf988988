"""The contract of edits: shipped ones keep it, and every broken line is told."""

import numpy as np
import pytest

from theodolite.testing import BrokenContractError, check_edit, check_plugin


def mean_fill(pixels, mask, seed):
    """The mean colour of what is known, with seeded grain."""
    out = pixels.copy()
    grain = np.random.default_rng(seed).normal(0, 3, (int(mask.sum()), 3))
    out[mask] = np.clip(pixels[~mask].mean(axis=0) + grain, 0, 255).round()
    return out


@pytest.mark.parametrize("name", ["copied", "blurred"])
def test_shipped_edits_keep_the_contract(name):
    assert check_plugin(name).kind == "edit"
    assert check_edit(name).remarks == ()


def test_an_edit_of_ones_own_keeps_it():
    assert check_edit(mean_fill).remarks == ()


def in_place(pixels, mask, seed):
    pixels[mask] = mean_fill(pixels, mask, seed)[mask]
    return pixels


def forgets_the_seed(pixels, mask, _):
    return mean_fill(pixels, mask, np.random.default_rng().integers(1 << 30))


def as_floats(pixels, mask, seed):
    return mean_fill(pixels, mask, seed) / 255


def raises(_pixels, _mask, _seed):
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (in_place, "it changes the picture that it is given"),
        (forgets_the_seed, "the same seed gives different pictures"),
        (as_floats, "returned float64 of shape"),
        (lambda pixels, *_: pixels.copy(), "the masked part is as it was"),
        (lambda *_: None, "returned a NoneType, not an array"),
        (raises, "out of memory"),
    ],
)
def test_each_broken_line_is_told(edit, words):
    with pytest.raises(BrokenContractError, match=words):
        check_edit(edit)


def test_a_fill_that_lets_the_object_shine_through_is_remarked():
    def veiled(pixels, mask, seed):
        out = mean_fill(pixels, mask, seed)
        out[mask] = (0.7 * out[mask] + 0.3 * pixels[mask]).round()
        return out

    assert any("depends on the object" in remark for remark in check_edit(veiled).remarks)


def test_what_is_no_function_is_no_edit():
    with pytest.raises(BrokenContractError, match="not a function"):
        check_edit(3)
