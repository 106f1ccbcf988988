"""Second-order gradients against differences: of forward passes for the words, of first gradients for the image tokens."""

import numpy as np
import pytest
import torch

from theodolite.attribution import second_order
from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.core.types import Picture, Request
from theodolite.models import find_family, open_model

TEXT = "How many red circles are left of blue square? Answer with a number alone."
WORDS = ((0, 3), (9, 12), (25, 29))
OPTIONS = ("1", "2", "3")
PICTURE = Picture.from_array(np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8))
REQUEST = Request.ask(PICTURE, TEXT, max_tokens=4)
STEP = 3e-3
"""Norms work in single precision, whatever the model's: smaller steps drown in its noise."""


def output(logits):
    return logits[0] - torch.logsumexp(logits[1:], 0)


class Forward:
    """The output as a function of what is added to the first layer's input; forward passes alone."""

    def __init__(self, model):
        self.checkpoint = model.checkpoint
        self.checkpoint.model.double()
        text = self.checkpoint.prompt(REQUEST)
        self.inputs = self.checkpoint.encode([text], [REQUEST], padding_side="left")
        self.prompt, self.ids = text, self.inputs["input_ids"][0].tolist()
        self.options = [self.checkpoint.token_ids(text + each)[-1] for each in OPTIONS]
        self.layer = find_family(self.checkpoint.model).decoder(self.checkpoint.model).layers[0]
        self.hidden = None
        self(0.0)

    def __call__(self, added):
        """The output as a tensor; what the layer was given stays in `hidden`."""

        def hook(_, positional, named):
            self.hidden = (positional[0].detach() + added).requires_grad_()
            return (self.hidden, *positional[1:]), named

        handle = self.layer.register_forward_pre_hook(hook, with_kwargs=True)
        try:
            return output(self.checkpoint.logits(self.inputs, 1)[0, -1][self.options])
        finally:
            handle.remove()

    def shares(self, word):
        """How much of each token's letters a word has, letter by letter."""
        start, spans = self.prompt.rfind(TEXT), self.checkpoint.token_spans(self.prompt)
        place = torch.zeros(1, len(self.ids), 1, dtype=torch.float64)
        for k, (low, high) in enumerate(reversed(spans), 1):
            letters = [c for c in range(low, high) if self.prompt[c] != " "]
            inside = [c for c in letters if start + word[0] <= c < start + word[1]]
            if inside:
                place[0, -k] = len(inside) / len(letters)
        return place

    def differenced(self, word):
        """r_w as the slope of the output when the word's own input grows."""
        self(0.0)
        own = STEP * self.shares(word) * self.hidden.detach()
        return (self(own) - self(-own)).item() / (2 * STEP)

    def relevance(self, added):
        """Every r_w from first gradients, with something put on top of the input."""
        (slope,) = torch.autograd.grad(self(added), self.hidden)
        by_token = (self.hidden.detach() * slope).sum(-1, keepdim=True)
        return np.array([(self.shares(word) * by_token).sum().item() for word in WORDS])


@pytest.fixture(params=["llava", "qwen2_vl"])
def model(request, tiny):
    opened = open_model(f"hf:{tiny(request.param)}")
    yield opened
    opened.close()


def test_both_orders_are_those_of_differences(model):
    forward = Forward(model)
    found = second_order(model, REQUEST, OPTIONS, WORDS, output)
    wanted = forward.relevance(0.0)
    assert found.words == pytest.approx(wanted, rel=1e-4, abs=1e-7)
    assert found.words == pytest.approx([forward.differenced(word) for word in WORDS], rel=2e-2, abs=2e-4)
    assert np.ptp(found.words) > 0
    # One image token, by every number of it.
    image = model.checkpoint.model.config.image_token_id
    position, width = forward.ids.index(image), forward.hidden.shape[-1]
    slopes = np.zeros((len(WORDS), width))
    for d in range(width):
        nudge = torch.zeros_like(forward.hidden)
        nudge[0, position, d] = STEP
        slopes[:, d] = (forward.relevance(nudge) - forward.relevance(-nudge)) / (2 * STEP)
    together = np.abs(np.sign(wanted) @ slopes).sum()
    assert found.values[0] == pytest.approx(together, rel=2e-2)
    apart = second_order(model, REQUEST, OPTIONS, WORDS, output, one_by_one=True)
    assert apart.values[0] == pytest.approx(np.abs(slopes).sum(), rel=2e-2)
    assert apart.words == pytest.approx(found.words)
    assert len(found.values) == forward.ids.count(image) == len(np.reshape(found.grid.rects_px, (-1, 4)))


def test_nothing_stays_behind(model):
    weights = list(model.checkpoint.model.parameters())
    before = [(p.requires_grad, p.grad) for p in weights]
    second_order(model, REQUEST, OPTIONS, WORDS, output)
    assert [(p.requires_grad, p.grad) for p in weights] == before
    layers = find_family(model.checkpoint.model).decoder(model.checkpoint.model).layers
    assert not layers[0]._forward_pre_hooks


def test_what_cannot_be_differentiated_is_told(model):
    with pytest.raises(UsageError, match="need a picture"):
        second_order(model, Request.ask(TEXT, max_tokens=4), OPTIONS, WORDS, output)
    with pytest.raises(UsageError, match="no word from 60 to 90"):
        second_order(model, REQUEST, OPTIONS, ((0, 3), (60, 90)), output)
    with pytest.raises(UsageError, match="one number, not 3"):
        second_order(model, REQUEST, OPTIONS, WORDS, lambda logits: logits)
    with pytest.raises(UnsupportedError, match="scripted:"):
        second_order(open_model("scripted:constant"), REQUEST, OPTIONS, WORDS, output)


ENDS = "{% endif %}{% endfor %}{% endfor %}"
LOWER = "{% for m in messages %}{% for p in m['content'] %}{% if p['type'] == 'image' %}<image>{% else %}{{ p['text'] | lower }}"
TEXT_FIRST = "{% for m in messages %}{% for p in m['content'] | reverse %}{% if p['type'] == 'image' %}<image>{% else %}{{ p['text'] }}"


@pytest.mark.parametrize(
    ("template", "told"), [(LOWER, "chat template changes"), (TEXT_FIRST, "must come after the picture")]
)
def test_words_that_cannot_be_found_are_told(tiny_llava, template, told):
    model = open_model(f"hf:{tiny_llava}")
    model.checkpoint.processor.chat_template = template + ENDS
    with pytest.raises(UnsupportedError, match=told):
        second_order(model, REQUEST, OPTIONS, WORDS, output)
