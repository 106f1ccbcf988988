import asyncio
import base64
import io
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image

from fault_server import COUNTS, ODD_REPLIES, FaultServer
from theodolite.core.errors import ModelError, UnsupportedError, UsageError
from theodolite.core.types import Message, Picture, Request
from theodolite.models import ServedModel, open_model, require
from theodolite.models.openai import Secret

TRANSFORMERS = (sys.executable, "-m", "transformers.cli.transformers")
KEY = "sk-theodolite-secret-0123456789"


def opened(server, options="timeout=2&retries=3"):
    return open_model(f"openai:some-model@{server.url}?{options}")


def ask(server, text, options="timeout=2&retries=3"):
    return opened(server, options).generate([Request.ask(text)])[0]


def test_it_is_a_served_model(fault_server):
    assert isinstance(opened(fault_server), ServedModel)


def test_what_is_sent_is_what_was_asked(fault_server, picture):
    request = Request(
        (Message("system", ("Be brief.",)), Message.user("Look:", picture, "Where?")),
        max_tokens=7,
        temperature=0.5,
        seed=3,
        stop=("END",),
        ref="q1",
        hint={"gold": "SECRET-GOLD"},
    )
    opened(fault_server).generate([request])
    _, body = fault_server.requests[-1]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("some-model", 7, 0.5)
    assert (body["seed"], body["stop"]) == (3, ["END"])
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    first, shown, last = body["messages"][1]["content"]
    assert (first["text"], last["text"]) == ("Look:", "Where?")
    head, _, data = shown["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == picture.read()
    assert "SECRET-GOLD" not in str(body)


def test_a_turned_photo_is_sent_upright(fault_server):
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    Image.new("RGB", (6, 2)).save(buffer, format="JPEG", exif=exif)
    opened(fault_server).generate([Request.ask(Picture.from_bytes(buffer.getvalue()), "Where?")])
    url = fault_server.requests[-1][1]["messages"][0]["content"][0]["image_url"]["url"]
    sent = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    assert (sent.format, sent.size) == ("PNG", (2, 6))


@pytest.mark.parametrize(
    "image",
    [
        Image.fromarray(np.array([[0, 65535], [300, 40000]], np.uint16)),
        Image.new("RGBA", (2, 2), (255, 0, 0, 0)),
    ],
)
def test_a_picture_that_readers_see_differently_is_sent_as_we_see_it(fault_server, image):
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    shown = Picture.from_bytes(buffer.getvalue())
    opened(fault_server).generate([Request.ask(shown, "Where?")])
    url = fault_server.requests[-1][1]["messages"][0]["content"][0]["image_url"]["url"]
    sent = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    assert sent.mode == "RGB"
    assert (np.asarray(sent) == shown.pixels()).all()


def closes_after_errors(server):
    """Serve two connections: a list of models fails, and the connection is closed a moment later, unannounced."""
    for _ in range(2):
        connection = server.accept()[0]
        while head := connection.recv(65536):
            is_list = head.startswith(b"GET")
            answer = b"{}" if is_list else b'{"choices": [{"message": {"content": "left"}}]}'
            status = b"500 Internal Server Error" if is_list else b"200 OK"
            connection.sendall(b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n%b" % (status, len(answer), answer))
            if is_list:
                time.sleep(0.5)
                break
        connection.close()


def test_a_request_does_not_share_the_connection_of_the_check():
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=closes_after_errors, args=[server], daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        model = open_model(f"openai:some-model@{url}?retries=0&timeout=10")
        (response,) = model.generate([Request.ask("Where?")])
        assert (response.text, response.reason) == ("left", "")
        thread.join()


@pytest.mark.parametrize(
    ("fault", "reason", "asked"),
    [
        ("429", "HTTP 429", 4),
        ("500", "HTTP 500", 4),
        ("400", "HTTP 400.*your request is bad", 1),
        ("reset", "connection lost", 4),
        ("hang", "no answer within 0.3 s", 4),
        ("truncated", "connection lost", 4),
        ("bad-json", "not a chat completion", 4),
        ("not-json", "not a chat completion", 4),
        ("empty-choice", "no choice", 4),
        ("null-choice", "no choice", 4),
        ("no-message", "no message", 4),
        ("huge", "larger than 4 MiB", 1),
        ("bomb", "larger than 4 MiB", 1),
    ],
)
def test_every_fault_ends_as_a_failure_with_its_reason(fault_server, fault, reason, asked):
    seconds = 0.3 if fault == "hang" else 10
    response = ask(fault_server, f"fault:{fault} please", f"timeout={seconds}&retries=3")
    assert response.status == "failed"
    assert re.search(reason, response.reason), response.reason
    assert sum(fault_server.counts.values()) == asked == response.attempts


@pytest.mark.parametrize(("fault", "attempts"), [("429-twice", 3), ("500-once", 2), ("503-once", 2)])
def test_what_passes_is_asked_again(fault_server, fault, attempts):
    response = ask(fault_server, f"fault:{fault} please")
    assert (response.status, response.attempts) == ("answered", attempts)


@pytest.mark.parametrize(("fault", "text"), [("number", "5"), ("fraction", "-0.5")])
def test_a_number_as_content_is_an_answer(fault_server, fault, text):
    answered = ask(fault_server, f"fault:{fault} please")
    assert (answered.status, answered.text) == ("answered", text)


@pytest.mark.parametrize("fault", ["refusal", "filter", "refusal-part", "safety", "declined", "policy"])
def test_a_refusal_is_not_a_failure(fault_server, fault):
    response = ask(fault_server, f"fault:{fault} please")
    assert response.status == "refused"
    assert response.reason


def test_an_empty_answer_is_an_answer(fault_server):
    response = ask(fault_server, "fault:empty-text please")
    assert (response.status, response.text, response.finish) == ("answered", "", "stop")


def test_thinking_and_tokens_are_kept_apart(fault_server):
    response = ask(fault_server, "fault:thinking please")
    assert (response.text, response.reasoning) == ("left", "the cup is on the left")
    assert (response.prompt_tokens, response.completion_tokens, response.finish) == (5, 2, "stop")


@pytest.mark.parametrize(
    ("fault", "message"),
    [("401", "OPENAI_API_KEY"), ("404", "no model 'some-model'"), ("quota", "the quota at")],
)
def test_what_concerns_every_request_ends_the_run(fault_server, fault, message):
    with pytest.raises(ModelError, match=message):
        ask(fault_server, f"fault:{fault} please")


def test_a_server_that_is_gone_is_told_at_once():
    started = time.monotonic()
    with pytest.raises(ModelError, match="no server answers at"):
        open_model("openai:x@http://127.0.0.1:9/v1").generate([Request.ask("hi")])
    assert time.monotonic() - started < 10


def test_a_server_that_dies_half_way_ends_the_run_and_not_the_patience(fault_server):
    model = opened(fault_server, "timeout=2&retries=0&max_in_flight=8")
    requests = [Request.ask(f"fault:500 {i}") for i in range(200)]
    with pytest.raises(ModelError, match="50 requests in a row"):
        model.generate(requests)


def test_a_few_failures_between_answers_do_not_end_the_run(fault_server):
    model = opened(fault_server, "timeout=2&retries=0&max_in_flight=4")
    requests = [Request.ask(f"fault:{'500' if i % 2 else 'fine'} {i}") for i in range(160)]
    statuses = [response.status for response in model.generate(requests)]
    assert statuses.count("answered") == 80


def test_requests_that_the_server_rejects_do_not_end_the_run(fault_server):
    model = opened(fault_server, "timeout=5&retries=0&max_in_flight=8")
    requests = [Request.ask(f"fault:400 {i}") for i in range(120)] + [Request.ask("hi")]
    assert [r.status for r in model.generate(requests)] == ["failed"] * 120 + ["answered"]


def test_the_bound_on_requests_in_flight_holds(fault_server):
    fault_server.delay = 0.01
    model = opened(fault_server, "max_in_flight=5")
    assert all(r.is_answered for r in model.generate([Request.ask(f"hi {i}") for i in range(60)]))
    assert 4 <= fault_server.most_in_flight <= 5


def test_retry_after_is_honoured(fault_server):
    started = time.monotonic()
    assert ask(fault_server, "fault:429-twice please").is_answered
    assert time.monotonic() - started >= 0.1  # twice 0.05 s, as the server asked


def test_it_cannot_choose_and_says_so(fault_server):
    with pytest.raises(UnsupportedError, match="cannot give the log-probabilities of options"):
        require(opened(fault_server), "choose")


@pytest.mark.parametrize(
    "name",
    [
        "openai:x",
        "openai:@http://h/v1",
        "openai:x@ftp://h",
        "openai:x@h/v1",
        "openai:x@http://me:pw@h/v1",
        "openai:x@http://[::1/v1",
        "openai:x@http://h:port/v1",
    ],
)
def test_a_wrong_name_is_refused(name):
    with pytest.raises(UsageError) as told:
        open_model(name)
    assert "pw" not in str(told.value)


@pytest.mark.parametrize("option", ["retries=-1", "max_in_flight=0", "timeout=soon", "color=red"])
def test_a_wrong_option_is_refused(option):
    with pytest.raises(UsageError, match=option.partition("=")[0]):
        open_model(f"openai:x@http://h/v1?{option}")


def test_it_works_inside_a_running_loop(fault_server):
    async def notebook():
        return opened(fault_server).generate([Request.ask("hi")])

    assert asyncio.run(notebook())[0].is_answered


def test_the_key_is_sent_and_goes_nowhere_else(fault_server, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = opened(fault_server)
    with caplog.at_level(logging.DEBUG, logger="theodolite"):
        echoed = model.generate([Request.ask(f"what is {KEY}?")])[0]
    assert f"authorization: bearer {KEY}" in fault_server.requests[-1][0].lower()
    assert KEY not in str(echoed) + model.identity + model.name + caplog.text
    assert "[key]" in echoed.text
    with pytest.raises(ModelError) as told:
        model.generate([Request.ask("fault:401 please")])
    assert KEY not in str(told.value)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "  "])
def test_white_space_around_a_key_is_no_part_of_it(fault_server, monkeypatch, ending):
    monkeypatch.setenv("OPENAI_API_KEY", KEY + ending)
    assert opened(fault_server).generate([Request.ask("hi")])[0].is_answered
    assert f"bearer {KEY}\r\n" in fault_server.requests[-1][0].lower()


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY} x", f"{KEY}\u00e9", f"\x00{KEY}", "schl\u00fcssel"])
def test_a_key_that_no_header_can_carry_is_refused_on_opening(fault_server, monkeypatch, key):
    monkeypatch.setattr(os, "environ", {**os.environ, "OPENAI_API_KEY": key})
    with pytest.raises(ModelError, match="the key in OPENAI_API_KEY") as told:
        opened(fault_server)
    assert KEY not in str(told.value)
    assert key not in str(told.value)


@pytest.mark.parametrize("fault", ["echo-as-no-completion", "echo-as-finish", "echo-as-error"])
@pytest.mark.parametrize("key", [KEY, "sk-4711"])
def test_a_key_that_a_server_sends_back_goes_no_further(fault_server, monkeypatch, fault, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    model = opened(fault_server, "timeout=5&retries=0")
    for padding in range(60):  # wherever the text is cut, no part of the key is left
        response = model.generate([Request.ask(f"fault:{fault} {'.' * padding} Bearer {key}")])[0]
        assert key[:6] not in str(response)


ENCODINGS = {
    **{f"base64 after {n}": lambda key, n=n: base64.b64encode(b"x" * n + key.encode() + b"yz").decode() for n in range(4)},
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(f"Bearer {key}".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "capital hexadecimal": lambda key: key.encode().hex().upper(),
    "percent": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "address": lambda key: quote(key, safe=""),
    "json": lambda key: "".join(f"\\u{byte:04x}" for byte in key.encode()),
    "html": lambda key: "".join(f"&#{byte};" for byte in key.encode()),
    "backwards": lambda key: key[::-1],
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("key", [KEY, "sk-47+11/=~>?"])
def test_an_encoded_key_goes_no_further(encoding, key):
    secret = Secret(key)
    encoded = ENCODINGS[encoding](key)
    told = secret.clean(f"before {encoded} after")
    assert "[key]" in told
    assert told.startswith("before ")
    assert told.endswith(" after")
    inner = encoded[4:-6] if encoding.startswith("base64") else encoded
    assert inner not in told
    assert len(told) < len("before [key] after") + 20
    assert secret.clean("left of the cup, 0123456789abcdef") == "left of the cup, 0123456789abcdef"


def test_a_key_in_an_error_of_the_connection_goes_no_further(monkeypatch):
    """Whatever text a client library puts into its errors, before the run and during it."""
    import openai

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = open_model("openai:x@http://127.0.0.1:9/v1?retries=0")

    async def fails(*_, **__):
        raise openai.APIConnectionError(request=None) from ValueError("x" * 480 + f" Bearer {KEY}")

    async def ask_once():
        client = model._here().client
        monkeypatch.setattr(client, "post", fails)
        return await model.answer(Request.ask("hi"))

    async def check():
        monkeypatch.setattr(model._here().client.models, "list", fails)
        await model.check()

    reason = asyncio.run(ask_once()).reason
    assert "connection lost" in reason
    with pytest.raises(ModelError) as told:
        asyncio.run(check())
    for text in (reason, str(told.value)):
        assert KEY[:6] not in text


def test_a_placeholder_for_a_key_is_not_cut_out_of_answers(fault_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "left")
    assert ask(fault_server, "is it left?").text == "you said: is it left?"


def test_a_packed_answer_is_read_though_none_was_asked_for(fault_server):
    assert ask(fault_server, "fault:packed please").text == "left"
    assert "accept-encoding: identity" in fault_server.requests[-1][0].lower()


def test_another_variable_can_hold_the_key(fault_server, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    opened(fault_server, "key_env=MY_KEY").generate([Request.ask("hi")])
    assert KEY in fault_server.requests[-1][0]


@pytest.mark.parametrize("name", COUNTS)
def test_a_usage_count_is_a_number_that_can_be_stored(fault_server, name):
    response = ask(fault_server, f"fault:count-{name} please")
    assert (response.status, response.text) == ("answered", "left")
    assert response.prompt_tokens == response.completion_tokens == COUNTS[name][1]


def test_whatever_one_reply_holds_costs_only_its_own_item(fault_server, tmp_path):
    """Every odd reply in one run, between ordinary ones: all are accounted for, and the ordinary ones are stored."""
    from theodolite.core.types import Item
    from theodolite.models import ask_factory
    from theodolite.runs import Run, RunSettings, measure_run

    odd = [*ODD_REPLIES, *(f"count-{name}" for name in COUNTS), "bomb", "huge", "bad-json", "400"]
    plan = [Item(f"odd-{name}", Request.ask(f"fault:{name} x")) for name in odd]
    plan += [Item(f"plain-{i}", Request.ask(f"hi {i}")) for i in range(20)]
    model = f"openai:some-model@{fault_server.url}?timeout=5&retries=0"
    tally = measure_run(tmp_path / "run", RunSettings("ask", model), lambda _: plan, ask_factory(model))
    assert (tally.planned, tally.pending - tally.failed) == (len(plan), 0)
    with Run.open(tmp_path / "run") as run:
        found = {r.item.name: r.record.response for r in run.results()}
    assert all(found[f"plain-{i}"].text == f"you said: hi {i}" for i in range(20))
    assert found["odd-content-parts"].text == "left!"
    assert found["odd-content-surrogate"].text == "?"
    assert all(response.reason for response in found.values() if response.status == "failed")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(fault_server, picture, status, tmp_path):
    other = FaultServer()
    try:
        for target in (other.url, fault_server.url):  # nor to the same server
            request = Request.ask(f"fault:redirect-{status} {target}/chat/completions", picture)
            response = opened(fault_server).generate([request])[0]
            assert response.status == "failed"
            assert f"redirects to '{target}" in response.reason
        assert not other.requests
        assert len(fault_server.requests) == 2
    finally:
        other.stop()


@pytest.mark.parametrize(
    "told",
    [
        "Incorrect API key provided: sk-theod******************6789.",
        "key sk-th…89 is unknown",
        "key sk-th...6789 is unknown",
        "the key ending in 6789 has expired",
        "the key ***6789",
        "no such key: sk-theodolite-sec",
        "hash of secret-012345 differs",
        "sk-t is not a prefix",
    ],
)
def test_parts_of_a_key_in_a_server_s_error_go_no_further(fault_server, monkeypatch, told):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    reason = ask(fault_server, f"fault:echo-as-400 {told}", "timeout=5&retries=0").reason
    assert "[key]" in reason
    for part in ("6789", "sk-t", "theod", "secret-0", "…89"):
        assert part not in reason


def test_ordinary_words_of_an_error_are_kept(fault_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    told = "the picture is 1234 x 67890 pixels, too large... ask for less"
    assert told in ask(fault_server, f"fault:echo-as-400 {told}", "timeout=5&retries=0").reason


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"[1]", b'"x"', b"null", b'{"data": 5}', b" " * (8 << 20), b"\xff"]
)
def test_a_strange_list_of_models_stops_nothing(fault_server, monkeypatch, body):
    monkeypatch.setattr(fault_server, "models", body)
    assert ask(fault_server, "hi").is_answered


@pytest.mark.slow
def test_a_real_server_answers_as_the_checkpoint_does(tiny_llava, picture, tmp_path):
    """``transformers serve`` with a tiny checkpoint: real HTTP, real chat template, real pictures."""
    port = _free_port()
    log = (tmp_path / "log").open("w")
    server = subprocess.Popen(
        [
            *TRANSFORMERS,
            "serve",
            str(tiny_llava),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--device",
            "cpu",
        ],
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    try:
        served = open_model(f"openai:{tiny_llava}@http://127.0.0.1:{port}/v1?timeout=60&max_in_flight=4")
        _wait_for(served, server, tmp_path / "log")
        rng = np.random.default_rng(3)
        other = Picture.from_array(rng.integers(0, 256, (56, 56, 3), dtype=np.uint8))
        requests = [
            Request.ask(p, f"where is {word}?", max_tokens=6)
            for p in (picture, other)
            for word in ("red", "blue")
        ]
        local = open_model(f"hf:{tiny_llava}").generate(requests)
        remote = served.generate(requests)
        assert [r.status for r in remote] == ["answered"] * 4
        assert [r.text for r in remote] == [r.text for r in local]
    finally:
        server.terminate()
        server.wait(20)
        log.close()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(model, server, log):
    for _ in range(240):
        try:
            model.generate([])
        except ModelError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.5)
        else:
            return
    pytest.fail(log.read_text())
