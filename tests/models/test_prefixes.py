"""Answers from shared prefixes are those of whole prompts, for every architecture; and a picture is computed once."""

import json
import shutil
from collections import Counter
from typing import get_args

import numpy as np
import pytest
import torch

from theodolite.core.types import Message, Picture, Request
from theodolite.models import find_family, open_model
from theodolite.models.prefixes import batches_of, groups
from theodolite.testing import Family, tiny_checkpoint
from theodolite.testing.tiny.parts import save_model, text_sizes

OPTIONS = [("left", "right"), ("left of it", "no", "below and above"), ("x", "yy zz")]


@pytest.fixture(scope="module", params=get_args(Family))
def models(request, tiny):
    """The same checkpoint twice: sharing prefixes, and reading every prompt as a whole."""
    return both(tiny(request.param))


def both(folder, batch_size=6):
    return tuple(
        open_model(f"hf:{folder}?batch_size={batch_size}&share={share}") for share in ("true", "false")
    )


def pictures(n=3):
    rng = np.random.default_rng(0)
    return [
        Picture.from_array(rng.integers(0, 256, (40 + 30 * i, 90 - 20 * i, 3), dtype=np.uint8))
        for i in range(n)
    ]


def questions():
    """Several about each picture, about two pictures at once, after other words, and about none; in mixed order."""
    shots = pictures()
    asked = [
        Request.ask(shot, f"where is the {colour} one? " * (1 + n), max_tokens=6 + n)
        for n, colour in enumerate(("red", "blue", "green", "yellow"))
        for shot in shots
    ]
    asked += [Request.ask(*shots[:2], words, max_tokens=8) for words in ("left or right?", "which is above?")]
    asked += [Request.ask("look: ", shots[0], words, max_tokens=8) for words in ("left?", "no, is it right?")]
    system = Message("system", ("answer in one word",))
    asked += [Request((system, Message.user(shots[1], words)), max_tokens=8) for words in ("left?", "above?")]
    return [*asked, Request.ask("no picture, where?", max_tokens=8), Request.ask("where?", max_tokens=8)]


def told(responses):
    return [(r.status, r.text, r.finish, r.prompt_tokens, r.completion_tokens) for r in responses]


def assert_same_choices(shared, whole, asked):
    options = [OPTIONS[i % len(OPTIONS)] for i in range(len(asked))]
    for one, other in zip(shared.choose(asked, options), whole.choose(asked, options), strict=True):
        assert one.options == other.options
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)


def test_answers_are_the_same_to_the_token(models):
    shared, whole = models
    found = told(shared.generate(questions()))
    assert found == told(whole.generate(questions()))
    assert len(set(found)) > len(found) / 2, "answers that are all alike would prove nothing"


def test_choices_are_the_same(models):
    assert_same_choices(*models, questions())


def test_a_picture_is_computed_once_for_all_its_questions_and_options(models):
    shared, _ = models
    family = find_family(shared.checkpoint.model)
    rows = Counter()
    projector = family.projector(shared.checkpoint.model)
    hook = projector.register_forward_hook(lambda *_: rows.update(passes=1))
    try:
        shared.choose([Request.ask(pictures()[0], "where?")], [OPTIONS[0]])
        once = rows.pop("passes")
        asked = [Request.ask(pictures()[0], f"where is {word}?") for word in ("red", "blue", "green")]
        shared.choose(asked, [OPTIONS[1]] * 3)
        assert rows.pop("passes") == once
        shared.generate(asked)
        assert rows.pop("passes") == once
    finally:
        hook.remove()


def test_the_switch_reads_whole_prompts(models, monkeypatch):
    def never(*_):
        raise AssertionError("a prefix was shared")

    monkeypatch.setattr("theodolite.models.huggingface.encode_prefixes", never)
    shared, whole = models
    assert whole.generate(questions()[:2])[0].is_answered
    with pytest.raises(AssertionError, match="shared"):
        shared.choose(questions()[:1], OPTIONS[:1])


def test_stop_words_and_limits_end_each_answer_by_itself(models):
    shared, whole = models
    first = shared.generate(questions())[0].text
    shot = pictures()[0]
    asked = [
        Request.ask(shot, f"where is the {colour} one? ", max_tokens=n)
        for n, colour in ((1, "red"), (9, "blue"), (4, "green"))
    ]
    asked += [Request(request.messages, max_tokens=9, stop=(first[1:3],)) for request in asked]
    assert told(shared.generate(asked))[:3] == told(whole.generate(asked))[:3]
    for one, other in zip(shared.generate(asked)[3:], whole.generate(asked)[3:], strict=True):
        assert (one.text, one.finish) == (other.text, other.finish)


def changed(folder, target, **text):
    """Copies a checkpoint and changes its language model's config."""
    shutil.copytree(folder, target)
    path = target / "config.json"
    config = json.loads(path.read_text())
    config["text_config"].update(text)
    path.write_text(json.dumps(config))
    return target


def test_a_window_shorter_than_the_prompt_does_not_move(tiny, tmp_path):
    """Gemma's sliding layers see so many tokens back; padding between prefix and question must not count."""
    shared, whole = both(changed(tiny("gemma3"), tmp_path / "short", sliding_window=12))
    wide = open_model(f"hf:{tiny('gemma3')}")
    asked = [request for request in questions() if len(request.pictures) == 1]
    assert told(shared.generate(asked)) == told(whole.generate(asked))
    assert_same_choices(shared, whole, asked)
    assert told(shared.generate(asked)) != told(wide.generate(asked)), "the window was never reached"


def reading_ahead(folder, target):
    """Writes a LLaVA whose words attend in both directions."""
    from transformers import AutoTokenizer, GemmaConfig, LlavaConfig, LlavaForConditionalGeneration

    shutil.copytree(folder, target)
    config = LlavaConfig.from_pretrained(folder)
    sizes = text_sizes(AutoTokenizer.from_pretrained(folder))
    config.text_config = GemmaConfig(**sizes, head_dim=8, use_bidirectional_attention=True)
    torch.manual_seed(0)
    save_model(target, LlavaForConditionalGeneration(config))
    return target


def test_a_model_that_reads_ahead_shares_nothing(tiny_llava, tmp_path, monkeypatch):
    """With attention in both directions what follows changes what came before. The config says so, and it is heeded."""
    folder = reading_ahead(tiny_llava, tmp_path / "both")
    careful, whole = both(folder, batch_size=1)  # transformers masks what is ahead where a batch has padding
    asked = questions()[:6]
    assert_same_choices(careful, whole, asked)
    monkeypatch.setattr("theodolite.models.family.Family.shares_prefixes", True)
    careless, _ = both(folder, batch_size=1)
    with pytest.raises(AssertionError):
        assert_same_choices(careless, whole, asked)


def test_a_model_of_no_known_family_shares_nothing(tiny_llava, monkeypatch):
    monkeypatch.setattr("theodolite.models.huggingface.known_family", lambda _: None)
    unknown, whole = both(tiny_llava)
    assert told(unknown.generate(questions())) == told(whole.generate(questions()))


def test_one_bad_request_fails_alone(models, monkeypatch):
    shared, _ = models
    wanted = told(shared.generate(questions()[:4]))
    bad = Request.ask(Picture("bytes-0", data=b"no picture"), "where?", max_tokens=4)
    found = shared.generate([*questions()[:2], bad, *questions()[2:4]])
    assert [r.status for r in found] == ["answered", "answered", "failed", "answered", "answered"]
    assert told(found[:2] + found[3:]) == wanted


def test_half_precision_shares_too(tiny_qwen2_vl):
    model = open_model(f"hf:{tiny_qwen2_vl}?dtype=bfloat16")
    assert model.checkpoint.model.dtype == torch.bfloat16
    assert all(r.is_answered for r in model.generate(questions()))


def test_groups_have_the_same_pictures_after_the_same_words():
    asked = questions()
    found = groups(asked)
    assert sorted(i for group in found for i in group) == list(range(len(asked)))
    assert sorted(map(len, found)) == [1, 1, 2, 2, 2, 4, 4, 4]
    for group in found:
        assert len({asked[i].pictures for i in group}) == 1


@pytest.mark.parametrize("size", [1, 3, 5, 100])
def test_batches_keep_groups_whole(size):
    asked = questions()
    batches = list(batches_of(asked, size))
    assert sorted(i for batch in batches for i in batch) == list(range(len(asked)))
    whole = {frozenset(group) for group in groups(asked)}
    for batch in batches:
        assert len(batch) <= size or frozenset(batch) in whole
        assert len({bool(asked[i].pictures) for i in batch}) == 1


def test_a_group_larger_than_a_batch_branches_in_parts(tmp_path):
    folder = tiny_checkpoint(tmp_path, "qwen2_vl")
    shot = pictures()[0]
    asked = [Request.ask(shot, f"where is {i}?" * (1 + i % 3), max_tokens=5) for i in range(7)]
    small, large = (open_model(f"hf:{folder}?batch_size={size}") for size in (2, 7))
    assert told(small.generate(asked)) == told(large.generate(asked))
