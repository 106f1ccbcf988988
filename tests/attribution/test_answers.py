"""Maps of answers in words: teacher-forced, the same as those of options where both say the same, on every family."""

import numpy as np
import pytest

from theodolite.attribution import attribute, find_methods
from theodolite.attribution.attribute import attribute_answer
from theodolite.attribution.shared_pass import option_tokens
from theodolite.attribution.written import Span, WrittenAnswer, score_answer, text_tokens
from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.core.types import Picture, Request
from theodolite.models import open_model

FAMILIES = [entry.name for entry in registry().entries("family")]
OPTIONS = ["1", "2", "3"]
BLACK = Picture.from_array(np.zeros((60, 80, 3), np.uint8))
BY_NAME = ["tam", "attention", "attention:-1.0", "occlusion"]


@pytest.fixture(scope="module", params=FAMILIES)
def opened(request, tiny):
    model = open_model(f"hf:{tiny(request.param)}?dtype=float32")
    model.checkpoint.model.double()
    return model


@pytest.fixture(scope="module")
def asked():
    pixels = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    return Request.ask(Picture.from_array(pixels), "where is the red one?", max_tokens=6)


@pytest.fixture(scope="module")
def told(opened, asked):
    """The model's own answer, and its maps."""
    ((_, ids),) = opened.write([asked])
    answer = WrittenAnswer.of_tokens(opened.checkpoint, ids)
    spans = {"whole": Span(tuple(range(len(ids)))), "last": Span((len(ids) - 1,))}
    methods = [*find_methods(["all"]), *find_methods(BY_NAME)]
    return answer, spans, attribute_answer(opened, asked, answer, spans, methods=methods)


def test_greedy_decoding_writes_what_teacher_forcing_finds_best(opened, asked, told):
    answer, _, found = told
    assert found.scores.is_best.all()
    again = score_answer(opened.checkpoint, [asked, asked.with_pictures([BLACK])], answer)
    np.testing.assert_allclose(again.log_probabilities[0], found.scores.log_probabilities[0], atol=1e-9)
    assert not np.allclose(again.log_probabilities[1], again.log_probabilities[0], atol=1e-6)


def test_an_answer_of_one_token_has_the_map_of_that_option(opened, asked):
    (first, *_) = option_tokens(opened.checkpoint, asked, OPTIONS)
    answer = WrittenAnswer.of_text(opened.checkpoint, asked, OPTIONS[0])
    assert answer.ids[0] == first
    methods = [
        method for method in [*find_methods(["all"]), *find_methods(BY_NAME)] if not method.is_contrastive
    ]
    (option,) = attribute(opened, [asked], [OPTIONS], methods=methods, targets=["option:0"])
    spoken = attribute_answer(opened, asked, answer, {"it": Span((0,))}, methods=methods)
    for method in methods:
        if method.name == "tam" and len(answer.ids) > 1:
            continue
        one = option.find(method.name, "option:0" if method.has_target else "")
        (other,) = spoken.find(method.name, "it")
        # at layer -2 the sum is zero but for rounding, so only its order of magnitude is the same
        tolerance = 1e-5 if not method.caveat.startswith("at layer") else 10
        scale = np.abs(one.values).max()
        np.testing.assert_allclose(
            other.values, one.values, atol=tolerance * scale, rtol=0, err_msg=method.name
        )


def test_every_method_places_every_span(told):
    _, spans, found = told
    names = {each.method for each in found.maps}
    assert names == {method.name for method in find_methods(["all"])} | set(BY_NAME)
    for each in found.maps:
        assert each.target in spans
        assert each.values.shape == (each.grid.n_tokens,)
        assert (each.values >= 0).all(), each.method
        assert not each.values[~each.grid.has_place].any() or each.method != "occlusion"
    assert all(found.find("chefer", "whole")[0].values.any() for _ in spans)


def test_gradients_of_a_whole_answer_are_the_sum_of_its_tokens(opened, asked, told):
    """The signed relevance of gradient methods is linear in the logits: the whole is the sum of its parts."""
    answer, _, _ = told
    n = len(answer.ids)
    spans = {"whole": Span(tuple(range(n))), **{str(i): Span((i,)) for i in range(n)}}
    found = attribute_answer(opened, asked, answer, spans, methods=["attention"])
    whole = found.find("attention", "whole")[0].values
    parts = sum(found.find("attention", str(i))[0].values for i in range(n))
    np.testing.assert_allclose(whole, parts, rtol=1e-5)


def test_shares_of_picture_question_and_earlier_words_are_one(told):
    _, spans, found = told
    for method in ("chefer", "attention", "tam", "attnlrp"):
        for span in spans:
            share = found.shares[method, span]
            assert share.picture + share.question + share.earlier == pytest.approx(1)
            assert 0 <= share.template <= 1
    assert not [key for key in found.shares if key[0] in {"gradcam", "occlusion"}]


def test_a_contrast_of_two_tokens_is_the_difference_of_their_gradients(opened, asked):
    answer = WrittenAnswer.of_text(opened.checkpoint, asked, "1")
    other = option_tokens(opened.checkpoint, asked, OPTIONS)[1]
    same = attribute_answer(
        opened,
        asked,
        answer,
        {"against": Span((0,), other), "itself": Span((0,), answer.ids[0])},
        methods=["gradient-norm"],
    )
    assert same.find("gradient-norm", "against")[0].values.max() > 1e-6
    np.testing.assert_allclose(same.find("gradient-norm", "itself")[0].values, 0, atol=1e-12)


def test_words_keep_their_tokens(tiny_qwen2_vl, asked):
    checkpoint = open_model(f"hf:{tiny_qwen2_vl}").checkpoint
    answer = WrittenAnswer.of_text(checkpoint, asked, "The dog, of 1.5 kg, isn't 左边 there.")
    words = [answer.text[a:b] for a, b in answer.words()]
    assert words == ["The", "dog", "of", "1.5", "kg", "isn't", "左", "边", "there"]
    for span in answer.words():
        tokens = answer.tokens_of(span)
        assert tokens
        written = answer.text[answer.spans[tokens[0]][0] : answer.spans[tokens[-1]][1]]
        assert answer.text[slice(*span)] in written or not written.strip()
    every = [token for span in answer.words() for token in answer.tokens_of(span)]
    assert len(every) == len(set(every))


def test_the_question_is_told_from_the_template(opened, asked):
    (row,) = opened.checkpoint.encode([opened.checkpoint.prompt(asked)], [asked], padding_side="left")[
        "input_ids"
    ].tolist()
    tokens = text_tokens(opened.checkpoint, asked, row)
    text = opened.checkpoint.tokenizer.decode([row[token.position] for token in tokens])
    assert "where is the red one?" in text
    assert len(text) < len("where is the red one?") + 10


def test_an_empty_answer_is_told(opened, asked):
    with pytest.raises(UsageError, match="answer is empty"):
        WrittenAnswer.of_text(opened.checkpoint, asked, " ")
