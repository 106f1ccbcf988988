"""Each promise of the contract, broken on purpose: the check must find it."""

import json
from typing import ClassVar

import pytest

from theodolite.cli.main import main
from theodolite.core.errors import ContractError, UsageError
from theodolite.core.types import Choice, Response
from theodolite.models import open_model
from theodolite.testing import check_model, tiny_checkpoint


class Sound:
    """A model that keeps every promise; the tests break one each."""

    name = "sound:x"
    identity = "sound"
    batch_size = 4
    lacks: ClassVar = {}

    def generate(self, requests):
        return open_model("scripted:echo").generate(requests)

    def choose(self, requests, options):
        return [Choice(tuple(each), (-1.0,) * len(each)) for each in options]

    def close(self):
        pass


class Nameless(Sound):
    name = ""


class Swapping(Sound):
    def generate(self, requests):
        return super().generate(requests)[::-1]


class Losing(Sound):
    def generate(self, requests):
        return super().generate(requests)[:1]


class Moody(Sound):
    calls = 0

    def generate(self, requests):
        Moody.calls += 1
        return [Response("answered", text=str(Moody.calls)) for _ in requests]


class Fragile(Sound):
    def generate(self, requests):
        for request in requests:
            for picture in request.pictures:
                picture.load()
        return [Response("answered", text="fine") for _ in requests]


class Silent(Sound):
    def generate(self, requests):
        return [Response("refused") for _ in requests]


class Meddling(Sound):
    def generate(self, requests):
        answers = super().generate(requests)
        if requests:
            requests.pop()
        return answers


class Improbable(Sound):
    def choose(self, requests, options):
        return [Choice(tuple(each), (0.5,) * len(each)) for each in options]


class Biased(Sound):
    """Likes whatever is listed first."""

    def choose(self, requests, options):
        return [Choice(tuple(each), tuple(-1.0 - i for i in range(len(each)))) for each in options]


def test_a_sound_model_passes():
    check_model(Sound())


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (Nameless, "name is ''"),
        (Swapping, "in a batch"),
        (Losing, "responses were returned"),
        (Moody, "temperature 0"),
        (Fragile, "unreadable picture"),
        (Silent, "no reason"),
        (Meddling, "requests were changed"),
        (Improbable, "at most 0"),
        (Biased, "order of the options"),
    ],
)
def test_each_broken_promise_is_found(broken, fault):
    with pytest.raises(ContractError, match=fault):
        check_model(broken())


def test_what_is_no_model_is_told_what_it_lacks():
    with pytest.raises(ContractError, match="lacks name, identity"):
        check_model(object())


def test_an_unknown_family_is_told(tmp_path):
    with pytest.raises(UsageError, match="'lava'; there are: gemma3"):
        tiny_checkpoint(tmp_path, "lava")


def test_the_command_tells_in_json(capsys):
    assert main(["check", "scripted:looker", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "scripted:looker",
        "kind": "model",
        "keeps_contract": True,
        "problems": [],
        "remarks": [],
    }
