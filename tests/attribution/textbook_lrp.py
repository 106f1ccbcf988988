"""AttnLRP as relevance messages: no gradients, one request, each rule of the paper written out on the forward values."""

from collections import defaultdict

import torch

_NAME = "textbook_lrp"


class Messages:
    """One request through a checkpoint in double precision, every intermediate value kept."""

    def __init__(self, checkpoint, request, option_ids):
        from theodolite.models import find_family

        self.model, self.option_ids = checkpoint.model, option_ids
        self.decoder = find_family(self.model).decoder(self.model)
        self.inputs = checkpoint.encode([checkpoint.prompt(request)], [request], padding_side="left")
        self.given, self.gave, self.attention = {}, {}, []
        self.lost = defaultdict(float)
        """Relevance that a rule keeps instead of handing it down: of biases and of the softmax."""
        self._forward()

    def _forward(self):
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.masking_utils import eager_mask

        AttentionInterface.register(_NAME, self._attend)
        AttentionMaskInterface.register(_NAME, eager_mask)

        def keep(module, positional, named, output):
            given = positional[0] if positional else named["hidden_states"]
            self.given[module] = given[0]
            self.gave[module] = (output[0] if isinstance(output, tuple) else output)[0]

        handles = [
            module.register_forward_hook(keep, with_kwargs=True)
            for part in (*self.decoder.layers, self.decoder.norm, self.decoder.head)
            for module in part.modules()
        ]
        config = self.model.config.get_text_config()
        before = config._attn_implementation
        config._attn_implementation = {"": _NAME}  # of the language model alone
        try:
            with torch.no_grad():
                self.model(**self.inputs, use_cache=False)
        finally:
            config._attn_implementation = {"": before}
            for handle in handles:
                handle.remove()

    def _attend(self, module, query, key, value, mask, scaling=None, **more):
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, 1)[0], value.repeat_interleave(groups, 1)[0]
        scores = query[0] @ key.transpose(1, 2) * scaling
        weights = torch.softmax(scores + mask[0, :, :, : key.shape[1]], dim=-1)
        self.attention.append((query[0], key, value, scores, weights, groups))
        return (weights @ value).transpose(0, 1)[None], None

    @torch.no_grad()
    def relevance(self, option):
        """Relevance (tokens, width) at the first layer, from the top down; what enters between layers is added."""
        self.lost.clear()
        hidden = self.given[self.decoder.norm]
        weights = self.decoder.head.weight[self.option_ids[option]]
        relevance = torch.zeros_like(hidden)
        relevance[-1] = self.gave[self.decoder.norm][-1] * weights  # the norm hands it on as it is
        entered = torch.zeros_like(hidden)
        for i in reversed(range(len(self.decoder.layers))):
            layer = self.decoder.layers[i]
            relevance = self._block(layer, self.attention[i], relevance)
            if i:
                before, now = self.gave[self.decoder.layers[i - 1]], self.given[layer]
                entered = entered + _over(now - before, now) * relevance
                relevance = _over(before, now) * relevance
        return relevance + entered

    def _block(self, layer, attention, relevance):
        last = (
            layer.pre_feedforward_layernorm
            if hasattr(layer, "pre_feedforward_layernorm")
            else layer.post_attention_layernorm
        )
        middle, out, first = self.given[last], self.gave[layer], self.given[layer]
        through = self._mlp(layer.mlp, _over(out - middle, out) * relevance)
        relevance = _over(middle, out) * relevance + through
        through = self._attention(layer.self_attn, attention, _over(middle - first, middle) * relevance)
        return _over(first, middle) * relevance + through

    def _mlp(self, mlp, relevance):
        half = self._linear(mlp.down_proj, relevance) / 2  # for the gate, and for what it lets through
        if hasattr(mlp, "gate_up_proj"):
            return self._linear(mlp.gate_up_proj, torch.cat([half, half], dim=-1))
        return self._linear(mlp.gate_proj, half) + self._linear(mlp.up_proj, half)

    def _attention(self, attention, call, relevance):
        query, key, value, scores, weights, groups = call
        heads, tokens, width = query.shape
        output = (weights @ value).transpose(0, 1).reshape(tokens, -1)
        ratio = _over(self._linear(attention.o_proj, relevance), output)
        ratio = ratio.reshape(tokens, heads, width).transpose(0, 1)
        to_value = value * (weights.transpose(1, 2) @ ratio) / 2
        to_weights = weights * (ratio @ value.transpose(1, 2)) / 2
        to_scores = scores * (to_weights - weights * to_weights.sum(dim=-1, keepdim=True))
        self.lost["softmax"] += float(to_weights.sum() - to_scores.sum())
        ratio = _over(to_scores, query @ key.transpose(1, 2))
        to_query, to_key = query * (ratio @ key) / 2, key * (ratio.transpose(1, 2) @ query) / 2
        own = self._projected(attention, heads, groups)
        parts = [
            _turn_back(own[0], query, to_query),
            _together(_turn_back(own[1].repeat_interleave(groups, 0), key, to_key), groups),
            _together(to_value, groups),
        ]
        flat = [part.transpose(0, 1).reshape(tokens, -1) for part in parts]
        if hasattr(attention, "qkv_proj"):
            return self._linear(attention.qkv_proj, torch.cat(flat, dim=-1))
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        return sum(self._linear(each, part) for each, part in zip(projections, flat, strict=True))

    def _projected(self, attention, heads, groups):
        """Queries and keys before they are rotated, (heads, tokens, width)."""
        if hasattr(attention, "qkv_proj"):
            whole = self.gave[attention.qkv_proj]
            width = whole.shape[-1] // (heads + 2 * heads // groups)
            parts = whole.split([heads * width, heads // groups * width, heads // groups * width], dim=-1)
            found = [part.reshape(len(whole), -1, width) for part in parts[:2]]
        else:
            found = [
                (self.gave[norm] if norm is not None else self.gave[own])
                for norm, own in (
                    (getattr(attention, "q_norm", None), attention.q_proj),
                    (getattr(attention, "k_norm", None), attention.k_proj),
                )
            ]
        tokens = len(self.given[attention.o_proj])
        # a norm over heads sees (tokens, heads, width), or in Gemma 3 (heads, tokens, width)
        return [
            part if part.dim() == 3 and part.shape[1] == tokens != part.shape[0]
            else part.reshape(tokens, count, -1).transpose(0, 1)
            for part, count in zip(found, (heads, heads // groups), strict=True)
        ]  # fmt: skip

    def _linear(self, module, relevance):
        ratio = _over(relevance, self.gave[module])
        if module.bias is not None:
            self.lost["biases"] += float((ratio * module.bias).sum())
        return self.given[module] * (ratio @ module.weight)


def _over(relevance, value):
    return torch.where(value == 0, 0, relevance / torch.where(value == 0, 1, value))


def _together(relevance, groups):
    heads, tokens, width = relevance.shape
    return relevance.reshape(heads // groups, groups, tokens, width).sum(dim=1)


def _turn_back(before, after, relevance):
    """Through a rotation of pairs (i, i + half), whose angle follows from the vectors before and after."""
    a, b = before.chunk(2, dim=-1)
    x, y = after.chunk(2, dim=-1)
    cos, sin = _over(a * x + b * y, a**2 + b**2), _over(a * y - b * x, a**2 + b**2)
    first, second = relevance.chunk(2, dim=-1)
    to_x, to_y = _over(first, x), _over(second, y)
    return torch.cat([a * (cos * to_x + sin * to_y), b * (cos * to_y - sin * to_x)], dim=-1)
