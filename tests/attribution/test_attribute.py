"""The shared pass: what it refuses, what it leaves behind, and how much it does."""

import gc

import numpy as np
import pytest
import torch
from textbook import OPTIONS

from theodolite.attribution import Method, Need, RelevanceMap, attribute, find_methods
from theodolite.attribution.flow import AttentionCall, GradientFlow, last_token, roll_out
from theodolite.attribution.shared_pass import option_tokens
from theodolite.core.errors import ContractError, UnsupportedError, UsageError
from theodolite.core.types import Request
from theodolite.models import open_model


def hooks(model):
    """Every hook on every module."""
    return [
        (name, kind, len(getattr(module, kind)))
        for name, module in model.named_modules()
        for kind in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
        if getattr(module, kind)
    ]


def failing(evidence, target):
    raise RuntimeError("this method breaks")


@pytest.mark.parametrize("mode", ["fine", "a method breaks", "the model breaks", "wrong target"])
def test_nothing_stays_behind(model, requests, mode, monkeypatch):
    inner = model.checkpoint.model
    text_config = inner.config.get_text_config()
    model.generate(requests[:1])  # transformers leaves hooks of its own with the first forward pass
    before = hooks(inner), text_config._attn_implementation, torch.is_grad_enabled()
    methods = ["all"] if mode != "a method breaks" else [Method("x", "", "", Need.FEATURE_GRADIENT, failing)]
    if mode == "the model breaks":
        norm = inner.model.language_model.norm
        monkeypatch.setattr(norm, "forward", lambda *_: 1 / 0)
    if mode == "fine":
        attribute(model, requests[:1], [OPTIONS], methods=methods)
    else:
        with pytest.raises((RuntimeError, ZeroDivisionError, UsageError)):
            attribute(
                model,
                requests[:1],
                [OPTIONS],
                methods=methods,
                targets=["nobody" if "wrong" in mode else "pred"],
            )
    assert (hooks(inner), text_config._attn_implementation, torch.is_grad_enabled()) == before
    gc.collect()


def test_answers_are_the_same_before_and_after(model, requests):
    before = [response.text for response in model.generate(requests)]
    attribute(model, requests, [OPTIONS] * 3)
    assert [response.text for response in model.generate(requests)] == before


def test_no_backward_goes_deeper_than_its_method_needs(model, requests, monkeypatch):
    """Counts the attention outputs that a gradient could pass: the graph itself."""
    from theodolite.attribution import recorder as _recorder

    seen = []
    original = _recorder.Recorder.see

    def see(self, call, output):
        seen.append(output.requires_grad)
        original(self, call, output)

    monkeypatch.setattr(_recorder.Recorder, "see", see)
    layers = len(model.checkpoint.model.model.language_model.layers)
    wanted = {
        "attention-rollout": 0,
        "gradient-norm": 4,
        "integrated-gradients": 0,
        "chefer": layers,
        "gradcam": layers,
    }
    for name, depth in wanted.items():
        seen.clear()
        attribute(model, requests[:1], [OPTIONS], methods=[name])
        assert (len(seen), sum(seen)) == (layers, depth), name


def test_as_few_backwards_as_the_targets_need(model, requests, monkeypatch):
    calls = []
    original = torch.autograd.grad
    monkeypatch.setattr(torch.autograd, "grad", lambda *a, **k: calls.append(1) or original(*a, **k))
    cheap = [m.name for m in find_methods(["all"]) if not m.name.startswith("integrated")]
    (found,) = attribute(model, requests[:1], [OPTIONS], methods=["chefer", "gradcam"])
    assert len(calls) == 1
    calls.clear()
    attribute(
        model,
        requests[:1],
        [OPTIONS],
        methods=cheap,
        targets=["pred", "gt"],
        gold=[int(np.argmin(found.logits))],
    )
    # the answer, the truth, and the runner-up through the last layers; the answer and the truth again by rules
    assert len(calls) == 3 + 2
    calls.clear()
    attribute(model, requests[:1], [OPTIONS], methods=cheap, targets=["pred", "gt"], gold=[found.predicted])
    assert len(calls) == 2 + 1  # answer and truth are the same


def test_several_pictures_get_a_map_each(model, requests):
    two = Request.ask(requests[0].pictures[0], requests[1].pictures[0], "which?")
    (found,) = attribute(model, [two], [OPTIONS], methods=["chefer", "gradcam"])
    for method in ("chefer", "gradcam"):
        first, second = (found.find(method, "pred", picture) for picture in (0, 1))
        assert (first.grid.width_px, second.grid.width_px) == (80, 64)
        assert first.values.size == first.grid.n_tokens


def test_half_precision_is_close(requests, tiny_llava):
    full, half = (open_model(f"hf:{tiny_llava}?dtype={dtype}") for dtype in ("float32", "bfloat16"))
    one, other = (
        attribute(m, requests[:1], [OPTIONS], methods=["chefer"], targets=["option:0"])[0]
        for m in (full, half)
    )
    left, right = (each.find("chefer", "option:0").values for each in (one, other))
    assert np.corrcoef(left, right)[0, 1] > 0.98


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"requests": []}, "no request"),
        ({"requests": [Request.ask("no picture")]}, "needs a picture"),
        ({"options": [("1", "2"), ("1", "2")]}, "as many lists"),
        ({"options": [("1",)]}, "at least two"),
        ({"targets": []}, "no target"),
        ({"targets": ["gt"]}, "correct option"),
        ({"targets": ["nobody"]}, "there is no target"),
        ({"targets": ["option:9"]}, "there is no option:9"),
        ({"methods": ["nothing"]}, "there is no method"),
        ({"methods": ["chefer", "chefer"]}, "distinct"),
        ({"gold": [1, 2]}, "as many lists"),
        ({"options": [("left one", "left two")]}, "begin with the same token"),
    ],
)
def test_what_is_wrong_is_said(model, requests, how, message):
    given = {"requests": requests[:1], "options": [OPTIONS], "methods": ["chefer"], **how}
    with pytest.raises(UsageError, match=message):
        attribute(model, given.pop("requests"), given.pop("options"), **given)


def test_a_black_box_is_told_so(requests):
    with pytest.raises(UnsupportedError, match="scripted:looker provides no gradients"):
        attribute(open_model("scripted:looker"), requests[:1], [OPTIONS])


def test_an_architecture_that_hides_its_attention_is_told(model, requests, monkeypatch):
    from theodolite.attribution import recorder as _recorder

    monkeypatch.setattr(_recorder.Recorder, "see", lambda *_: None)
    with pytest.raises(ContractError, match=r"recorded in 0 of \d language layers"):
        attribute(model, requests[:1], [OPTIONS], methods=["chefer"])


def test_a_tail_that_differs_from_the_model_is_told(model, requests, monkeypatch):
    from theodolite.attribution import Evidence

    original = Evidence.tail
    monkeypatch.setattr(Evidence, "tail", lambda *a: original(*a) + 1)
    with pytest.raises(ContractError, match="gives different logits"):
        attribute(model, requests[:1], [OPTIONS], methods=["integrated-gradients"])


def test_the_mask_of_our_attention_is_registered(model, requests):
    """Without it transformers passes no mask and padded batches go silently wrong."""
    from transformers import AttentionMaskInterface

    attribute(model, requests[:1], [OPTIONS], methods=["attention-rollout"])
    assert {"theodolite_sdpa", "theodolite_eager"} <= set(AttentionMaskInterface())


def test_option_tokens_are_those_that_follow_the_prompt(model, requests):
    ids = option_tokens(model.checkpoint, requests[0], OPTIONS)
    assert [model.checkpoint.tokenizer.decode([token]) for token in ids] == list(OPTIONS)


def test_blocks_of_rows_make_no_difference(monkeypatch):
    """Streaming a few rows at a time, with grouped heads and a padding mask, gives what all rows at once give."""
    from theodolite.attribution import flow as _flow

    generator = torch.Generator().manual_seed(0)
    query, gradient = (
        torch.randn(2, 4, 9, 8, generator=generator),
        torch.randn(2, 9, 4, 8, generator=generator),
    )
    key, value = (torch.randn(2, 2, 9, 8, generator=generator) for _ in range(2))
    mask = torch.ones(9, 9).tril().bool()[None, None].repeat(2, 1, 1, 1)
    mask[1, :, :, :3] = False
    calls = [AttentionCall(query, key, value, mask, 0.3), AttentionCall(query.flip(1), key, value, None, 0.3)]
    found = []
    for limit in (1, 1 << 30):
        monkeypatch.setattr(_flow, "_BLOCK_ELEMENTS", limit)
        flow = GradientFlow.start(last_token(calls[-1]))
        for call in reversed(calls):
            flow.pass_layer(call, gradient)
        found.append((flow.reference, flow.normalised, roll_out(calls, last_token(calls[-1]))))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
        assert torch.isfinite(one).all()


def test_ones_own_array_becomes_a_map():
    mine = RelevanceMap.from_array(np.arange(6).reshape(2, 3), (30, 20), method="mine")
    assert mine.grid.tokens_at(25, 15).tolist() == [5]
    for wrong in (np.zeros(3), np.zeros((0, 3)), [[np.nan]]):
        with pytest.raises(UsageError):
            RelevanceMap.from_array(wrong, (30, 20), method="mine")
