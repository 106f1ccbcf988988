"""The shipped twins: they open like any checkpoint, and do what they were made for."""

import pytest

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.drawn import edited_pair, relation_pairs
from theodolite.instruments.compass.questions import PROMPTS, gold_index, plan_pairs
from theodolite.models import open_model

pytest.importorskip("torch")


def share_right(model, pairs):
    items = list(plan_pairs(pairs, [PROMPTS["A"]]))
    said = [response.text.strip() for response in model.generate([item.request for item in items])]
    return sum(text == item.options[gold_index(item)] for text, item in zip(said, items, strict=True)) / len(
        items
    )


@pytest.fixture(scope="module", params=["grounded", "shortcut"])
def twin(request):
    model = open_model(f"pocket:{request.param}?batch_size=24")
    yield request.param, model
    model.close()


def test_accuracy_does_not_tell_them_apart_where_the_shortcut_is_right(twin):
    assert share_right(twin[1], relation_pairs(24, seed=70, split="aligned")) >= 0.8


def test_only_one_of_them_looks(twin):
    name, model = twin
    crossed = share_right(model, relation_pairs(24, seed=71, split="crossed"))
    assert crossed >= 0.8 if name == "grounded" else crossed <= 0.1


def test_only_one_of_them_follows_a_mirrored_picture(twin):
    name, model = twin
    mirrored = [edited_pair(pair, "mirror") for pair in relation_pairs(24, seed=72, split="aligned")]
    right = share_right(model, mirrored)
    assert right >= 0.8 if name == "grounded" else right <= 0.1


def test_there_is_no_fourth():
    with pytest.raises(UsageError, match="grounded, mixed, shortcut"):
        open_model("pocket:nobody")
