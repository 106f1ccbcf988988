"""Servers that lose text, pictures or system text on the way to their model are found out, whatever they tell."""

import json
import re

import pytest

from chat_server import Chat, serving
from theodolite.cli.main import main
from theodolite.core.errors import ModelError
from theodolite.core.types import Message, Request
from theodolite.models import open_model
from theodolite.testing import check_model
from theodolite.testing.check_server import reaches_the_model
from theodolite.testing.findings import Remark

TEXT = "for two different questions: text does not reach the model"
BESIDE = "for two different questions about a picture: text does not reach the model if there is a picture"
PICTURES = "for three different pictures: pictures do not reach the model"
SYSTEM = "system text does not reach the model; "
SILENT = {"usage": False, "logprobs": "left out"}


def found(chat, options=""):
    """The problems and the remarks of the probe."""
    with serving(chat) as name:
        told = list(reaches_the_model(open_model(name + options)))
    remarks = tuple(each for each in told if isinstance(each, Remark))
    return tuple(each for each in told if not isinstance(each, Remark)), remarks


@pytest.mark.parametrize(
    "settings",
    [
        {},
        SILENT,
        {"usage": False},
        {"logprobs": "refused"},
        {"stop": "ignored"},
        {"answers": "same"},
        {"answers": "same", "jitter": 1e-6},
    ],
)
def test_a_server_that_passes_everything_on_keeps_the_contract(settings):
    problems, remarks = found(Chat(**settings))
    assert not problems
    told = {"token counts": "usage" in settings, "log-probabilities": "logprobs" in settings}
    assert remarks == tuple(f"the server gives no {what}" for what, missing in told.items() if missing)


@pytest.mark.parametrize("more", [{}, SILENT, {"usage": False}, {"answers": "same"}])
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"reads_text": False}, [TEXT, BESIDE]),
        ({"reads_lists": False}, [BESIDE, PICTURES]),
        ({"pictures": "dropped"}, [PICTURES]),
        ({"pictures": "dropped", "reads_text": False}, [TEXT, BESIDE, PICTURES]),
    ],
)
def test_what_does_not_arrive_is_told(settings, more, told):
    problems, _ = found(Chat(**settings | more))
    assert len(problems) == len(told)
    assert all(problem.endswith(end) for problem, end in zip(problems, told, strict=True))


def test_the_sentence_names_what_was_compared():
    same = "the prompt's token count, the answer and its log-probabilities are the same"
    assert found(Chat(pictures="dropped"))[0] == (f"{same} {PICTURES}",)
    assert found(Chat(pictures="dropped", **SILENT))[0] == (f"the answer is the same {PICTURES}",)


def test_a_placeholder_is_no_picture():
    """The prompt grows with a picture, whichever it is."""
    assert found(Chat(pictures="counted"))[0][0].endswith(PICTURES)
    problems, remarks = found(Chat(pictures="counted", logprobs="refused"))
    assert not problems
    assert any("a picture adds 9 tokens" in each and "placeholder" in each for each in remarks)


def test_what_changes_by_itself_is_no_evidence():
    problems, remarks = found(Chat(answers="moody", **SILENT))
    assert not problems
    assert any("it cannot be told what reaches the model" in each for each in remarks)
    assert found(Chat(pictures="dropped", answers="same", jitter=1e-3))[0][0].endswith(PICTURES)


def test_a_server_that_takes_text_only_is_told_apart():
    problems, _ = found(Chat(takes_lists=False))
    assert re.search("does not answer a question about a picture: HTTP 400.*must be a string$", problems[0])


@pytest.mark.parametrize(
    ("settings", "remark", "cure"),
    [
        ({"system": "refused"}, "refuses system text .HTTP 400.*System role not supported", "system=user"),
        ({"system": "ignored"}, SYSTEM, "system=user"),
        ({"stop": "refused"}, "refuses stop strings .HTTP 400.*unknown field: stop", "stop=here"),
    ],
)
def test_what_a_server_need_not_support_has_a_cure(settings, remark, cure):
    problems, remarks = found(Chat(**settings))
    assert not problems
    assert re.search(remark, remarks[0])
    assert f"?{cure}" in remarks[0]
    assert found(Chat(**settings), f"&{cure}") == ((), ())


def test_text_without_a_picture_is_sent_as_plain_text(picture):
    chat = Chat()
    with serving(chat) as name:
        model = open_model(name)
        turns = (Message("system", ("Be brief.",)), Message.user("One.", "Two."))
        model.generate([Request(turns), Request.ask(picture, "Where?")])
    plain, shown = (body["messages"] for body in chat.bodies)
    if len(plain) == 1:
        plain, shown = shown, plain
    assert [message["content"] for message in plain] == ["Be brief.", "One.\nTwo."]
    assert [part["type"] for part in shown[0]["content"]] == ["image_url", "text"]


def test_system_text_can_be_sent_in_the_user_s_turn(picture):
    chat = Chat()
    with serving(chat) as name:
        model = open_model(f"{name}&system=user")
        for content in (("Where?",), (picture, "Where?")):
            model.generate([Request((Message("system", ("Be brief.",)), Message.user(*content)))])
        assert "system=user" in model.identity
    plain, shown = (body["messages"] for body in chat.bodies)
    assert plain == [{"role": "user", "content": "Be brief.\n\nWhere?"}]
    assert [part.get("text") for part in shown[0]["content"]] == ["Be brief.\n\n", None, "Where?"]


@pytest.mark.parametrize("stop", ["obeyed", "ignored"])
@pytest.mark.parametrize("option", ["", "&stop=here"])
def test_answers_end_at_stop_strings_whatever_the_server_does(stop, option):
    chat = Chat(stop=stop)
    with serving(chat) as name:
        request = Request((Message.user("hi"),), stop=(" more", " and"))
        (response,) = open_model(name + option).generate([request])
    assert response.text.startswith("w")
    assert " " not in response.text
    assert ("stop" in chat.bodies[0]) == (not option)


def test_the_whole_contract_is_kept_by_a_server_without_extras(capsys):
    chat = Chat(system="refused", stop="refused", **SILENT)
    with serving(chat) as name:
        assert main(["check", name]) == 0
    written = " ".join(capsys.readouterr().err.split())
    assert "keeps the model contract" in written
    assert "refuses system text" in written


def test_the_command_tells_and_exits_with_2(capsys):
    with serving(Chat(pictures="dropped", usage=False)) as name:
        assert main(["check", name, "--json"]) == 2
        told = json.loads(capsys.readouterr().out)
        assert main(["check", name]) == 2
    assert (told["kind"], told["keeps_contract"], len(told["problems"])) == ("model", False, 1)
    assert told["remarks"] == ["the server gives no token counts"]
    written = capsys.readouterr().err
    assert "pictures do not reach the model" in " ".join(written.split())
    assert "gives no token counts" in written


def test_a_server_that_is_not_there_is_one_error():
    with pytest.raises(ModelError, match="no server answers"):
        check_model("openai:x@http://127.0.0.1:9/v1")


def test_pictures_of_the_probe_have_one_size():
    """Otherwise a change in the number of tokens would say nothing about their content."""
    from theodolite.testing.check_server import _requests

    sizes = {picture.size for request in _requests().values() for picture in request.pictures}
    assert len(sizes) == 1
