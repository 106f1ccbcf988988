import functools
import json
import re
import shutil
from typing import get_args

import numpy as np
import pytest
import torch

from theodolite.core.errors import ModelError, UsageError
from theodolite.core.types import Item, Message, Picture, Request
from theodolite.models import ask_measurer, open_model
from theodolite.runs.engine import measure_batch
from theodolite.testing import Family, check_model, tiny_checkpoint


@pytest.fixture(scope="module", params=get_args(Family))
def checkpoint(request, tiny):
    return tiny(request.param)


@pytest.fixture(scope="module")
def model(checkpoint):
    return open_model(f"hf:{checkpoint}?batch_size=8")


def requests(n=8):
    """Other lengths, picture sizes and numbers of pictures in each, so that padding matters."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        shots = [
            Picture.from_array(rng.integers(0, 256, (40 + 9 * i, 70 - 3 * i, 3), dtype=np.uint8))
            for _ in range(1 + i % 2)
        ]
        found.append(Request.ask(*shots, "where is the red one? " * (1 + i), max_tokens=10))
    return found


def reference_log_probabilities(model, request, option):
    """Token by token, one forward pass each, no batch, no cache: the definition itself."""
    checkpoint = model.checkpoint
    prompt = checkpoint.prompt(request)
    n_bare = checkpoint.encode([prompt], [request], padding_side="right")["input_ids"].shape[1]
    inputs = checkpoint.encode([prompt + option], [request], padding_side="right")
    ids = inputs["input_ids"][0]
    with torch.inference_mode():
        logits = checkpoint.model(**inputs).logits[0].double()
    return sum(float(torch.log_softmax(logits[t - 1], -1)[ids[t]]) for t in range(n_bare, len(ids)))


def test_it_keeps_the_contract(model):
    check_model(model)


def test_a_batch_of_eight_answers_as_eight_batches_of_one(model):
    together = model.generate(requests())
    alone = [model.generate([request])[0] for request in requests()]
    assert [r.text for r in together] == [r.text for r in alone]
    assert len({r.text for r in together}) > 4, "answers that are all alike would prove nothing"
    assert [r.prompt_tokens for r in together] == [r.prompt_tokens for r in alone]


def test_answers_follow_the_picture(model):
    request, other = requests()[0], requests()[2].pictures[0]
    changed = Request((Message.user(other, request.text),), max_tokens=10)
    assert model.generate([request])[0].text != model.generate([changed])[0].text


def test_generation_matches_plain_transformers(checkpoint, model):
    """The same prompt through the library's own calls."""
    request = requests()[1]
    inputs = model.checkpoint.encode([model.checkpoint.prompt(request)], [request], padding_side="left")
    output = model.checkpoint.model.generate(**inputs, max_new_tokens=10, do_sample=False)
    ids = output[0, inputs["input_ids"].shape[1] :]
    assert (
        model.checkpoint.tokenizer.decode(ids, skip_special_tokens=True) == model.generate([request])[0].text
    )


@pytest.mark.parametrize("options", [("left", "right"), ("left of it", "no", "below and above"), ("x",)])
def test_log_probabilities_match_their_definition(model, options):
    for request in requests(3):
        choice = model.choose([request], [options])[0]
        wanted = [reference_log_probabilities(model, request, option) for option in options]
        assert choice.log_probabilities == pytest.approx(wanted, abs=1e-4)


def test_choosing_in_a_batch_is_choosing_alone(model):
    asked = [*requests(5), Request.ask("no picture, where?")]
    options = [
        ("left", "right"),
        ("yes", "no", "maybe so"),
        ("a b c", "b"),
        ("left", "right"),
        ("x", "yy zz"),
        ("left", "no"),
    ]
    together = model.choose(asked, options)
    alone = [model.choose([a], [o])[0] for a, o in zip(asked, options, strict=True)]
    for one, other in zip(together, alone, strict=True):
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)


def test_single_token_options_agree_with_the_first_generated_token(model):
    request = requests()[3]
    vocabulary = model.checkpoint.tokenizer
    letters = tuple("abcdefghijklmnopqrstuvwxyz")
    assert all(len(vocabulary(letter)["input_ids"]) == 1 for letter in letters)
    choice = model.choose([request], [letters])[0]
    inputs = model.checkpoint.encode([model.checkpoint.prompt(request)], [request], padding_side="left")
    with torch.inference_mode():
        logits = model.checkpoint.model(**inputs).logits[0, -1]
    best = max(letters, key=lambda letter: float(logits[vocabulary(letter)["input_ids"][0]]))
    assert choice.best == best


@pytest.mark.parametrize("options", [(), ("a", "a"), ("a", "")])
def test_wrong_options_are_refused(model, options):
    with pytest.raises(UsageError):
        model.choose(requests(1), [options])


def test_sampling_is_drawn_from_the_requests_own_seed(model):
    def sampled(seed):
        request = Request(requests()[0].messages, max_tokens=12, temperature=5.0, seed=seed)
        return model.generate([request, requests()[1]])[0].text

    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    assert sampled(7) == sampled(7)
    assert len({sampled(seed) for seed in range(4)}) > 1
    assert torch.equal(before, torch.random.get_rng_state()), "the process's own generator was touched"


def test_sampling_without_a_seed_is_refused(model):
    response = model.generate([Request(requests()[0].messages, temperature=1.0)])[0]
    assert response.status == "failed"
    assert "seed" in response.reason


def test_stop_words_end_an_answer(model):
    request = requests()[0]
    whole = model.generate([request])[0].text
    word = whole[4:6]
    cut = model.generate([Request(request.messages, max_tokens=10, stop=(word,))])[0]
    assert cut.text == whole[: whole.index(word)]
    assert cut.finish == "stop"


def test_the_length_limit_is_told(model):
    response = model.generate([Request(requests()[0].messages, max_tokens=1)])[0]
    assert (response.finish, response.completion_tokens) == ("length", 1)


def test_a_checkpoints_own_habits_are_not_used(tiny_llava, tmp_path):
    """A generation config that samples and punishes repetition must not change what greedy means."""
    folder = shutil.copytree(tiny_llava, tmp_path / "habits")
    path = folder / "generation_config.json"
    habits = {"do_sample": True, "temperature": 2.0, "top_p": 0.5, "repetition_penalty": 5.0}
    path.write_text(json.dumps({**json.loads(path.read_text()), **habits}))
    plain, habitual = open_model(f"hf:{tiny_llava}"), open_model(f"hf:{folder}")
    assert [r.text for r in plain.generate(requests(4))] == [r.text for r in habitual.generate(requests(4))]


def test_identity_follows_the_weights_and_the_precision(tiny_llava, tmp_path):
    same = shutil.copytree(tiny_llava, tmp_path / "elsewhere")
    other = tiny_checkpoint(tmp_path / "other", "llava", seed=1)
    identity = open_model(f"hf:{tiny_llava}").identity
    assert open_model(f"hf:{same}").identity == identity
    assert open_model(f"hf:{other}").identity != identity
    assert open_model(f"hf:{tiny_llava}?dtype=bfloat16").identity != identity


def test_half_precision_runs(tiny_llava):
    model = open_model(f"hf:{tiny_llava}?dtype=bfloat16")
    assert model.checkpoint.model.dtype == torch.bfloat16
    assert all(r.is_answered for r in model.generate(requests(3)))


def test_a_device_map_places_the_model(tiny_llava):
    pytest.importorskip("accelerate")
    model = open_model(f"hf:{tiny_llava}?device_map=auto&dtype=float32")
    plain = open_model(f"hf:{tiny_llava}?dtype=float32")
    assert [r.text for r in model.generate(requests(3))] == [r.text for r in plain.generate(requests(3))]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:./no/such/folder", "there is no checkpoint folder"),
        ("hf:nowhere", "there is no checkpoint folder"),
        ("hf:no/such", "cannot load the checkpoint"),
        ("hf:no/such?device=gpu7", "there is no device 'gpu7'"),
    ],
)
def test_a_missing_checkpoint_is_told(name, message):
    with pytest.raises((ModelError, UsageError), match=re.escape(message)):
        open_model(name)


def test_a_missing_gpu_is_told(tiny_llava):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ModelError, match="no CUDA GPU"):
        open_model(f"hf:{tiny_llava}?device=cuda")


def test_a_folder_without_weights_is_told(tiny_llava, tmp_path):
    folder = shutil.copytree(tiny_llava, tmp_path / "x", ignore=shutil.ignore_patterns("*.safetensors"))
    with pytest.raises(ModelError, match="cannot load the checkpoint"):
        open_model(f"hf:{folder}")


def test_pickled_weights_are_not_loaded(tiny_llava, tmp_path):
    folder = shutil.copytree(tiny_llava, tmp_path / "x", ignore=shutil.ignore_patterns("*.safetensors"))
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="cannot load"):
        open_model(f"hf:{folder}")


def test_a_checkpoint_without_chat_template_is_told(tiny_llava, tmp_path):
    folder = shutil.copytree(tiny_llava, tmp_path / "x", ignore=shutil.ignore_patterns("*.jinja"))
    for path in folder.glob("*.json"):
        data = json.loads(path.read_text())
        if isinstance(data, dict) and data.pop("chat_template", None):
            path.write_text(json.dumps(data))
    with pytest.raises(ModelError, match="no chat template"):
        open_model(f"hf:{folder}")


def test_logits_that_are_no_numbers_are_a_failure_and_no_answer(tmp_path, picture):
    """Weights damaged half way: neither writing nor choosing may make an answer of NaN."""
    model = open_model(f"hf:{tiny_checkpoint(tmp_path / 'tiny', 'llava')}")
    items = [
        Item(str(i), Request.ask(picture, f"where? {i}", max_tokens=4), ("left", "right")) for i in range(3)
    ]
    with torch.no_grad():
        model.checkpoint.model.lm_head.weight.fill_(torch.nan)
    for answering, reason in (("write", "logits are NaN"), ("choose", "must be numbers")):
        records = measure_batch(ask_measurer(model, answering), items)
        assert [record.response.status for record in records] == ["failed"] * 3
        assert all(reason in record.response.reason for record in records)


def test_logits_that_are_no_numbers_spoil_their_own_row_alone(tmp_path, picture):
    model = open_model(f"hf:{tiny_checkpoint(tmp_path / 'tiny', 'llava')}")
    requests = [Request.ask(picture, f"where? {i}", max_tokens=4) for i in range(3)]
    wanted = model.generate(requests)
    forward = model.checkpoint.model.forward

    @functools.wraps(forward)
    def spoil(*args, **kwargs):
        output = forward(*args, **kwargs)
        if len(output.logits) == len(requests):  # not the common beginning
            output.logits[1] = torch.nan
        return output

    model.checkpoint.model.forward = spoil
    found = model.generate(requests)
    assert [r.status for r in found] == ["answered", "failed", "answered"]
    assert [found[i].text for i in (0, 2)] == [wanted[i].text for i in (0, 2)]
