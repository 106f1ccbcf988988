"""The contract check finds what it should."""

import json
from dataclasses import replace

import pytest

from theodolite.cli.main import main
from theodolite.core.errors import ContractError
from theodolite.instruments.trace.claims.types import Verdict
from theodolite.instruments.trace.verifiers.judging import NoisyVerifier, open_verifier
from theodolite.testing import check_verifier
from theodolite.worlds.episodes import Episode, Frame

GOOD = open_verifier("annotation")


class Bad:
    name = "bad"

    def __init__(self, change):
        self.change = change
        self.calls = 0

    def verify(self, claims, episode):
        self.calls += 1
        return self.change(self, list(claims), GOOD.verify(claims, episode))


def test_good_ones_pass():
    check_verifier("annotation")
    check_verifier(NoisyVerifier(GOOD, 0.0))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda _, __, verdicts: verdicts[:-1], "one verdict per claim"),
        (lambda _, __, verdicts: ["yes"] * len(verdicts), "invalid verdict"),
        (
            lambda self, _, verdicts: [replace(v, confidence=1 / self.calls) for v in verdicts],
            "is deterministic",
        ),
        (
            lambda _, claims, verdicts: (
                GOOD.verify(
                    [replace(c, is_negated=False) for c in claims],
                    Episode("e", "?", (Frame(0.0),)),
                )
                if len(claims) == 1
                else verdicts
            ),
            "alone",
        ),
        (lambda _, claims, __: [Verdict("supported") for _ in claims], "negation"),
    ],
)
def test_bad_ones_are_told_why(change, told):
    with pytest.raises(ContractError, match=told):
        check_verifier(Bad(change))


def test_something_else_altogether():
    with pytest.raises(ContractError, match="lacks a name"):
        check_verifier(object())


def test_they_can_be_listed(capsys):
    assert main(["list", "verifiers"]) == 0
    assert "annotation" in capsys.readouterr().out


def test_the_list_shows_how_each_is_written(capsys):
    """A bare ``detector`` is refused, so the list must not show it so."""
    assert main(["list", "verifiers", "--json"]) == 0
    written = {entry["name"]: entry["example"] for entry in json.loads(capsys.readouterr().out)}
    for name in ("detector", "actions", "tracks"):
        assert written[name].startswith(f"{name}:")
    for name in ("annotation", "ego-motion", "tracks", "similarity"):
        assert open_verifier(written[name]).name
