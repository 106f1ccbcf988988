"""One command checks every kind of plug-in, found by its name."""

import json

import pytest

from theodolite.cli.main import main
from theodolite.core.registry import Entry, registry
from theodolite.testing import check_plugin


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["scripted:looker"], "model"),
        (["looker"], "model"),
        (["attention-rollout"], "method"),
        (["removal"], "explainer"),
        (["annotation"], "verifier"),
        (["oracle", "--kind", "explainer"], "explainer"),
    ],
)
def test_a_plug_in_is_found_by_its_name(arguments, kind, capsys):
    assert main(["check", *arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["name"], told["kind"], told["keeps_contract"]) == (arguments[0], kind, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["oracle"],
            "'oracle' names plug-ins of several kinds; say which with --kind explainer or behaviour",
        ),
        (["chefr"], "there is no plug-in 'chefr'; did you mean 'chefer'?"),
        (["hf"], "there is no plug-in 'hf'; a model is written hf:NAME"),
        (["zzzzzz"], "there is no plug-in 'zzzzzz'; `theodolite list` shows what there is"),
        (["kitti"], "the source kitti needs a small sample of the files that it reads: --data PATH"),
        (
            ["chefer", "--data", "."],
            "--data is for sources and instruments, and chefer is of the kind method",
        ),
        (["ask"], "ask needs data that it can read, with --data"),
        (["chefer", "--kind", "family"], "--kind takes instrument, model"),
    ],
)
def test_wrong_names_are_one_sentence(arguments, told, capsys):
    assert main(["check", *arguments]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_a_broken_plug_in_is_told_line_by_line(monkeypatch, capsys):
    entry = Entry("verifier", "yes", f"{__name__}:open_yes", "says yes", origin="tests")
    monkeypatch.setitem(registry()._entries, ("verifier", "yes"), entry)
    assert main(["check", "yes", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["keeps_contract"]) == ("verifier", False)
    assert any(each.startswith("negation flips the verdict: ") for each in told["problems"])
    assert main(["check", "yes"]) == 2
    assert "yes does not fulfil the verifier contract" in capsys.readouterr().err


class Yes:
    """A verifier that supports everything."""

    name = "yes"

    def verify(self, claims, episode):
        from theodolite.instruments.trace.claims.types import Verdict

        return [Verdict("supported") for _ in claims]


def open_yes(_):
    return Yes()


def test_a_plug_in_that_is_no_such_thing_is_told_in_json(monkeypatch, capsys):
    entry = Entry("method", "nothing", f"{__name__}:open_yes", "no method", origin="tests")
    monkeypatch.setitem(registry()._entries, ("method", "nothing"), entry)
    assert main(["check", "nothing", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["problems"] == [
        "the registered method 'nothing' is not a theodolite.attribution.Method of that name"
    ]


def test_the_function_is_public():
    assert check_plugin("uniform", kind="explainer").kind == "explainer"
