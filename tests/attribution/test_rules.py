"""AttnLRP on every architecture: equal to its messages written out, and nothing is lost on the way."""

import numpy as np
import pytest
import torch
from textbook import OPTIONS
from textbook_lrp import Messages

from theodolite.attribution import Need, attribute, find_methods
from theodolite.attribution.shared_pass import SharedPass, option_tokens, prepare
from theodolite.core.errors import UnsupportedError
from theodolite.core.registry import registry
from theodolite.models import find_family, open_model

FAMILIES = [entry.name for entry in registry().entries("family")]


def opened(folder):
    """A checkpoint in double precision, with biases that are not zero, as trained ones are not."""
    model = open_model(f"hf:{folder}?dtype=float32")
    model.checkpoint.model.double()
    torch.manual_seed(1)
    for name, weight in model.checkpoint.model.named_parameters():
        if name.endswith("bias") and "vis" not in name:
            torch.nn.init.normal_(weight, std=0.3)
    return model


def signed(model, requests, targets=("option:1",)):
    """Relevance with its sign and the options' logits, in one padded batch."""
    batch = prepare(model.checkpoint, requests, [OPTIONS] * len(requests))
    with SharedPass(model.checkpoint, Need.RULES, contrastive=False) as shared:
        return shared.run(batch, targets, None)


def messages(model, request):
    ids = option_tokens(model.checkpoint, request, OPTIONS)
    return Messages(model.checkpoint, request, ids)


@pytest.mark.parametrize("family", FAMILIES)
def test_relevance_equals_the_messages_written_out(family, tiny, requests):
    model = opened(tiny(family))
    evidence = signed(model, requests)
    for i, request in enumerate(requests):
        book = messages(model, request)
        wanted = book.relevance(1)
        own = evidence.propagated["option:1"][i][evidence.is_token[i]]
        scale = float(wanted.sum(dim=-1).abs().max())
        np.testing.assert_allclose(own.numpy(), wanted.sum(dim=-1).numpy(), atol=2e-5 * scale, rtol=0)
        # nothing is lost on the way: what does not arrive is what biases and the softmax keep
        logit = float(evidence.logits[i, 1])
        assert float(own.sum()) + sum(book.lost.values()) == pytest.approx(logit, abs=2e-4 * scale)
        assert abs(book.lost["softmax"]) > 1e-3 * scale


def test_without_attention_and_biases_a_logit_arrives_whole(tiny, requests):
    model = opened(tiny("llava"))
    decoder = find_family(model.checkpoint.model).decoder(model.checkpoint.model)
    with torch.no_grad():
        for layer in decoder.layers:
            layer.self_attn.o_proj.weight.zero_()
    evidence = signed(model, requests)
    relevance = evidence.propagated["option:1"]
    np.testing.assert_allclose(relevance.sum(dim=-1).numpy(), evidence.logits[:, 1].numpy(), rtol=1e-5)
    assert not relevance[:, :-1].any()  # only the last token reaches the answer


def test_the_map_is_the_absolute_value_at_image_tokens(tiny, requests):
    model = opened(tiny("qwen2_vl"))
    evidence = signed(model, requests, ("option:0", "option:2"))
    found = attribute(
        model, requests, [OPTIONS] * 3, methods=["attnlrp"], targets=["option:0", "option:2"], batch_size=3
    )
    for i, each in enumerate(found):
        for target in ("option:0", "option:2"):
            row, positions = evidence.propagated[target][i], evidence.placed[i][0].positions
            got = each.find("attnlrp", target)
            np.testing.assert_allclose(got.values, row[positions].abs().numpy(), rtol=1e-5)
            assert got.values.sum() + got.text_mass == pytest.approx(float(row.abs().sum()), rel=1e-5)
    assert not np.allclose(found[0].maps[0].values, found[0].maps[1].values)


def test_the_model_is_left_as_it_was(tiny, requests):
    model = opened(tiny("llava"))
    attribute(
        model, requests, [OPTIONS] * 3, methods=["attnlrp"]
    )  # transformers adds hooks of its own at first
    modules = list(model.checkpoint.model.modules())
    before = [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in modules]
    attribute(model, requests, [OPTIONS] * 3, methods=["attnlrp"])
    assert [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in modules] == before
    assert model.checkpoint.model.config.get_text_config()._attn_implementation == "sdpa"


def test_a_module_without_a_rule_is_refused(tiny, requests):
    model = opened(tiny("llava"))
    decoder = find_family(model.checkpoint.model).decoder(model.checkpoint.model)
    decoder.layers[1].mlp.act_fn = torch.nn.Softmax(dim=-1)
    with pytest.raises(UnsupportedError, match="no rule for the module Softmax"):
        attribute(model, requests, [OPTIONS] * 3, methods=["attnlrp"])


def test_a_choice_of_experts_is_refused(tiny, requests):
    model = opened(tiny("llava"))
    decoder = find_family(model.checkpoint.model).decoder(model.checkpoint.model)
    decoder.layers[1].mlp.experts = torch.nn.ModuleList()
    with pytest.raises(UnsupportedError, match="no rule for the choice of experts in Qwen2MLP"):
        attribute(model, requests, [OPTIONS] * 3, methods=["attnlrp"])


def test_it_has_no_caveat():
    (method,) = find_methods(["attnlrp"])
    assert method.requirements == "a second pass through all language layers"
    assert not method.caveat
