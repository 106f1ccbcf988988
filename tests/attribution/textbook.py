"""Each method in its plain textbook form: one request, eager attention, whole matrices, one backward per method."""

import torch

OPTIONS = ("1", "2", "3", "4")


class Textbook:
    """One request through a checkpoint with eager attention, everything kept."""

    def __init__(self, checkpoint, request, option_ids):
        self.checkpoint, self.model = checkpoint, checkpoint.model
        self.inputs = checkpoint.encode([checkpoint.prompt(request)], [request], padding_side="left")
        self.option_ids = torch.tensor(option_ids)

    def run(self, attention="sdpa"):
        """Logits of the options, attentions (heads, N, N) if eager, and hidden states (N, D), all in one graph."""
        kept = {}

        def keep_features(module, positional, named):
            kept["features"] = positional[0].detach().requires_grad_()
            return (kept["features"], *positional[1:]), named

        handle = self.projector().register_forward_pre_hook(keep_features, with_kwargs=True)
        before = self.model.config.get_text_config()._attn_implementation
        self.model.config.get_text_config()._attn_implementation = {"": attention}
        try:
            output = self.model(
                **self.inputs, use_cache=False, output_attentions=True, output_hidden_states=True
            )
        finally:
            handle.remove()
            self.model.config.get_text_config()._attn_implementation = {"": before}
        logits = output.logits[0, -1][self.option_ids]
        return logits, output.attentions, output.hidden_states, kept["features"]

    def projector(self):
        from theodolite.models import find_family

        return find_family(self.model).projector(self.model)

    def roles(self, gold):
        logits = self.run()[0]
        order = logits.argsort(descending=True).tolist()
        return {"gt": gold, "pred": order[0], "second": order[1]}

    def chefer(self, option):
        """The whole matrix R, layer by layer from the bottom."""
        logits, attentions, _, _ = self.run("eager")
        gradients = torch.autograd.grad(logits[option], attentions)
        identity = torch.eye(attentions[0].shape[-1], dtype=attentions[0].dtype)
        plain, normalised = identity.clone(), identity.clone()
        for attention, gradient in zip(attentions, gradients, strict=True):
            cam = (attention[0] * gradient[0]).clamp(min=0).mean(dim=0)
            plain = plain + cam @ plain
            step = cam + identity
            normalised = (step / step.sum(dim=-1, keepdim=True)) @ normalised
        plain[-1, -1] -= 1
        return plain[-1].detach(), normalised[-1].detach()

    def rollout(self):
        joint = None
        for attention in self.run("eager")[1]:
            step = attention[0].mean(dim=0) + torch.eye(attention.shape[-1], dtype=attention.dtype)
            step = step / step.sum(dim=-1, keepdim=True)
            joint = step if joint is None else step @ joint
        return joint[-1].detach()

    def hidden_gradient(self, value, layer):
        """The gradient of a function of the logits at one hidden state, and that hidden state."""
        logits, _, hidden, _ = self.run()
        (gradient,) = torch.autograd.grad(value(logits), hidden[layer])
        return gradient[0].detach(), hidden[layer][0].detach()

    def sinks(self, threshold):
        """Which tokens are attention sinks: one token, layer and dimension at a time."""
        inputs = [hidden[0].detach() for hidden in self.run()[2]][2:-1]  # of the layers from the third on
        votes = [0] * len(inputs[0])
        for hidden in inputs:
            peaks = [(token.abs() / token.pow(2).mean().sqrt()).tolist() for token in hidden]
            dimensions = [d for d, peak in enumerate(peaks[0]) if peak >= threshold]
            for j, own in enumerate(peaks):
                votes[j] += any(own[d] >= threshold for d in dimensions)
        return torch.tensor([vote >= len(inputs) / 2 for vote in votes])

    def contrast(self, target, gold):
        roles = self.roles(gold)
        tgt = roles[target]
        neg = roles["pred"] if roles["pred"] != tgt else roles["second"]
        return lambda logits: logits[tgt] - logits[neg]

    def contrastive(self, target, gold):
        return self.layers(self.contrast(target, gold))

    def layers(self, value):
        layers = []
        for layer in (-2, -3, -4, -5):
            gradient, hidden = self.hidden_gradient(value, layer)
            layers.append((gradient * hidden).sum(dim=-1).abs())
        weights = torch.softmax(torch.stack([layer.max() for layer in layers]), dim=0)
        return sum(w * layer for w, layer in zip(weights, layers, strict=True))

    def contrastive_sound(self, target, gold):
        total = 0
        for layer in (-3, -4, -5):
            gradient, hidden = self.hidden_gradient(self.contrast(target, gold), layer)
            one = (gradient * hidden).sum(dim=-1).abs()
            total = total + one / one.max()
        return total / 3

    def gradcam(self, option):
        logits, _, _, features = self.run()
        (gradient,) = torch.autograd.grad(logits[option], features)
        flat, slope = (
            features.detach().reshape(-1, features.shape[-1]),
            gradient.reshape(-1, features.shape[-1]),
        )
        return torch.relu((flat * slope.mean(dim=0)).sum(dim=-1))

    def integrated(self, option, *, baseline, alphas):
        """Replaces the last block's input through a hook, one whole forward pass per step."""
        from theodolite.models import find_family

        last = find_family(self.model).decoder(self.model).layers[-1]
        hidden = self.run()[2][-2].detach()
        start = torch.zeros_like(hidden) if baseline == "zero" else hidden.mean(dim=1, keepdim=True)
        total = torch.zeros_like(hidden)
        for alpha in alphas:
            point = (start + alpha * (hidden - start)).requires_grad_()
            handle = last.register_forward_pre_hook(
                lambda _, positional, named, point=point: ((point, *positional[1:]), named),
                with_kwargs=True,
            )
            logits = self.model(**self.inputs, use_cache=False).logits[0, -1][self.option_ids]
            handle.remove()
            total += torch.autograd.grad(logits[option], point)[0]
        return ((hidden - start) * total / len(alphas))[0].sum(dim=-1).abs()
