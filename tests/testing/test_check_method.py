"""The check of methods finds every broken promise; the check is tried on the example plug-in in tests/docs."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from theodolite.attribution import Method, Need
from theodolite.core.errors import ContractError
from theodolite.testing import check_method


def norm(evidence, target):
    """A sound score: the norm of the gradient three layers from the end."""
    return evidence.gradient(target, -3, contrastive=False).norm(dim=-1)


SOUND = Method("mine", "norm of the gradient", "", Need.HIDDEN_GRADIENT, norm)


def test_a_sound_method_passes():
    assert check_method(SOUND).remarks == ()


def test_scores_that_cancel_are_told():
    remarks = check_method("grad-act").remarks
    assert len(remarks) == 2
    assert all("below 1e-06: they are rounding errors" in remark for remark in remarks)


def spoils(evidence, target):
    evidence.hidden_gradients[target][-2].mul_(3.0)
    return norm(evidence, target)


def reads_on(evidence, target):
    return norm(evidence, target) + evidence.flows[target]


def by_batch(evidence, target):
    scores = norm(evidence, target)
    return scores / scores.sum()


_DRAWS = np.random.default_rng()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"summary": ""}, "is described: it has no name, or no summary"),
        ({"sound_variant": "nowhere"}, "its sound variant 'nowhere' is no registered method"),
        ({"score": lambda e, t: norm(e, t)[:, :-1]}, r"its scores have shape \(2, .*not \(batch, tokens\)"),
        ({"score": lambda e, t: norm(e, t).tolist()}, "it returned a list; scores on tokens are a tensor"),
        ({"score": lambda e, t: norm(e, t) / 0}, "on a llava, a score is not finite"),
        (
            {"scores_on": "features", "needs": Need.FEATURE_GRADIENT, "score": lambda *_: 3},
            "it returned a int",
        ),
        (
            {
                "scores_on": "features",
                "needs": Need.FEATURE_GRADIENT,
                "score": lambda *_: [[[1.0]], [[1.0]]],
            },
            r"it gives .* scores for .* features",
        ),
        ({"score": reads_on}, "`needs` leaves out what it reads: alone on a llava it raised KeyError"),
        (
            {"score": lambda e, t: norm(e, t) * float(_DRAWS.random())},
            "is deterministic: on a llava the same requests get different scores",
        ),
        ({"score": by_batch}, "on a qwen2_vl a request gets other scores in a batch than alone"),
        (
            {"score": lambda e, _: norm(e, "option:0")},
            "on a llava all targets get the same scores; set has_target=False",
        ),
        ({"score": spoils}, "it changes the scores of grad-act-layers, which is computed after it"),
        ({"score": lambda *_: 1 / 0}, "on a qwen2_vl, it raised ZeroDivisionError"),
    ],
)
def test_each_broken_promise_is_found(changes, told):
    with pytest.raises(ContractError, match="mine does not fulfil the method contract") as error:
        check_method(replace(SOUND, **changes))
    assert re.search(told, str(error.value)), str(error.value)


def test_a_score_without_a_target_is_no_fault():
    rollout = replace(SOUND, needs=Need.ATTENTION, has_target=False, score=lambda e, _: e.rollout())
    assert check_method(rollout).problems == ()


def test_what_is_no_method_is_refused():
    with pytest.raises(ContractError, match="is not a theodolite"):
        check_method(torch.nn.Identity())
