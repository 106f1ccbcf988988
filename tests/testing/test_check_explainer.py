"""The public check finds every broken promise, and our own explainers pass it."""

import numpy as np
import pytest

from theodolite.core.errors import ContractError
from theodolite.instruments.grid.explainers.contract import Explainer, Explanation
from theodolite.testing import check_explainer


@pytest.mark.parametrize(
    "name", ["alike-removal", "dime", "multishap", "pixelshap-banzhaf", "emap", "uniform"]
)
def test_our_own_explainers_pass(name):
    check_explainer(name)


def _spends(case):
    case.game.values(np.ones((1, case.game.n), bool))
    return Explanation(np.ones(25), calls=0)


_DRAWS = np.random.default_rng()


@pytest.mark.parametrize(
    ("explain", "words"),
    [
        (lambda _: Explanation(np.ones(9)), r"its map has shape \(9,\), not \(25,\)"),
        (lambda _: Explanation(np.ones(25), np.ones(3)), r"its words have shape \(3,\)"),
        (lambda _: Explanation(_DRAWS.random(25)), "the same seed gives a different map"),
        (_spends, "it reports 0 model calls but made 1"),
        (lambda _: Explanation(np.ones(25), calls=9999), "9999 model calls with a budget of 400"),
        (lambda _: Explanation(np.full(25, np.nan)), "it raised an explanation's cells hold a value"),
        (
            lambda case: case.batch.cells.__setitem__((1, 0), 3) or Explanation(np.ones(25)),
            "changed its input scene",
        ),
        (lambda _: 1 / 0, "it raised ZeroDivisionError"),
    ],
)
def test_broken_promises_are_found(explain, words):
    with pytest.raises(ContractError, match=words):
        check_explainer(Explainer("mine", "mine", explain, samples=True))


def test_what_is_no_explainer_is_refused():
    with pytest.raises(ContractError, match="is not a theodolite"):
        check_explainer(lambda _: None)
