"""Models that the caller holds: a transformers model with its processor, and any object that fulfils the contract."""

import pytest
import torch

import theodolite
from theodolite.core.errors import ModelError, UsageError
from theodolite.core.types import Request, Response
from theodolite.diagnose.request import given_models
from theodolite.models import loaded_model, open_model
from theodolite.runs import EngineOptions
from toy_instrument import TOY

WORDS = Request.ask("Where is it?", max_tokens=4)


class Always:
    """The smallest model: one word."""

    name, identity, lacks, batch_size = "mine:always", "always", {"choose": "it only talks"}, 4
    is_closed = False

    def generate(self, requests):
        return [Response("answered", text="left", finish="stop") for _ in requests]

    def close(self):
        self.is_closed = True


@pytest.fixture(scope="module")
def parts():
    """Model and processor of a pocket twin, as a notebook would have them."""
    opened = open_model("pocket:grounded")
    return opened.checkpoint.model, opened.checkpoint.processor, opened


@pytest.fixture
def toy(monkeypatch):
    """Lets the toy instrument be found by its name."""
    from theodolite.diagnose import api as _api

    monkeypatch.setattr(_api, "find_instruments", lambda _: (TOY,))


def test_a_model_in_memory_answers_as_the_one_opened_by_name(parts):
    model, processor, opened = parts
    wrapped = loaded_model(model, processor, name="mine")
    assert wrapped.name == "memory:mine"
    assert [r.text for r in wrapped.generate([WORDS])] == [r.text for r in opened.generate([WORDS])]
    assert loaded_model(model, processor).name == "memory:grounded"


def test_closing_leaves_the_model_as_it_was(parts):
    model, processor, _ = parts
    settings = model.generation_config
    model.train()
    try:
        with given_models(model, processor) as found:
            assert list(found) == ["memory:grounded"]
            assert not model.training
        assert model.training
        assert model.generation_config is settings
    finally:
        model.eval()


def test_the_identity_is_that_of_the_weights(parts):
    model, processor, _ = parts
    before = loaded_model(model, processor).identity
    assert loaded_model(model, processor, name="other").identity == before
    weights = next(model.parameters())
    with torch.no_grad():
        first = weights.view(-1)[0].clone()
        weights.view(-1)[0] += 1
    try:
        assert loaded_model(model, processor).identity != before
    finally:
        with torch.no_grad():
            weights.view(-1)[0] = first
    assert loaded_model(model, processor).identity == before


def test_an_object_that_fulfils_the_contract_is_diagnosed_and_stays_open(tmp_path, toy):
    model = Always()
    found = theodolite.diagnose(model, out=tmp_path, instruments="toy", size="quick")
    assert [each.name for each in found.diagnosis.models] == ["mine:always"]
    assert found.diagnosis.models[0].calls > 0
    assert not model.is_closed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((object(),), "a object is not a model"),
        (([],), "no model is given"),
        (([Always(), Always()],), "mine:always is given twice"),
        (("scripted:echo", object()), "processor belongs to one transformers model"),
    ],
)
def test_what_is_no_model_is_told_at_once(tmp_path, given, said):
    with pytest.raises(UsageError, match=said):
        theodolite.diagnose(*given, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_transformers_model_needs_its_processor(parts, tmp_path):
    model, processor, _ = parts
    with pytest.raises(UsageError, match="needs its processor"):
        theodolite.diagnose(model, out=tmp_path)
    with pytest.raises(ModelError, match="has no tokenizer"):
        theodolite.diagnose(model, processor.tokenizer, out=tmp_path)
    with pytest.raises(UsageError, match="cannot be sent to workers"):
        theodolite.diagnose(model, processor, out=tmp_path, options=EngineOptions("ray"))
