"""Extractors by name, and a language model that may find claims but not invent any."""

import json
import time
from typing import ClassVar

import pytest
from trace_world import make_episode

from theodolite.core.errors import UsageError
from theodolite.core.types import Response
from theodolite.instruments.trace.claims.extractors import ModelExtractor, open_extractor
from theodolite.instruments.trace.claims.reading import RuleExtractor, read_trace, with_claims
from theodolite.instruments.trace.claims.types import Claim, Extracted, Mention, Step, Trace
from theodolite.instruments.trace.helpers import Desk, Helper, at_desk, settled

TEXT = "The man picks up three red cups. He is not left of the table."
TRACE = Trace("e", (Step("There is a man.", (0,)), Step(TEXT, (1,))))


class Model:
    """A model that says the same to every request."""

    lacks: ClassVar = {}
    batch_size = 8

    def __init__(self, text):
        self.name = self.identity = "said"
        self.text = text
        self.requests = []

    def generate(self, requests):
        self.requests += requests
        said = self.text if isinstance(self.text, Response) else Response("answered", text=self.text)
        return [said for _ in requests]

    def close(self):
        pass


def row(**fields):
    plain = {"step": 2, "quote": TEXT, "kind": "entity", "subject": "man", "predicate": "", "object": ""}
    return {**plain, **fields}


def read(answer, trace=TRACE):
    text = answer if isinstance(answer, str | Response) else json.dumps({"claims": answer})
    return with_claims([trace], extractor=ModelExtractor(Helper.of(Model(text), "model")))[0]


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        (row(), "entity: man"),
        (row(kind="action", predicate="picks up", object="red cups"), "action: man pick up red cup"),
        (row(kind="count", subject="cups", predicate="three"), "count: cup 3"),
        (row(kind="count", subject="cups", predicate=3), "count: cup 3"),
        (row(kind="attribute", subject="cups", predicate="red"), "attribute: cup red"),
        (
            row(
                quote="He is not left of the table.",
                kind="spatial",
                predicate="left of",
                object="table",
                negated=True,
            ),
            "spatial: not man left of table",
        ),
    ],
)
def test_a_claim_in_the_words_of_its_step_is_read(said, claim):
    found = read([said]).steps
    assert [str(c) for c in found[1].claims] == [claim]
    assert found[1].claims[0].frames == (1,)
    assert found[1].claims[0].sentence in TEXT
    assert found[0].claims == ()


@pytest.mark.parametrize(
    "said",
    [
        row(quote="The man puts down a cup."),
        row(subject="dog"),
        row(kind="action", predicate="throws", object="cups"),
        row(kind="spatial", predicate="right of", object="table"),
        row(step=1, quote="There is a man.", negated=True),
        row(step=1, quote="There is a man.", kind="spatial", predicate="left of", object="table"),
        row(guess="probably"),
        row(quote=""),
    ],
)
def test_what_the_step_does_not_say_is_dropped_and_counted(said):
    found = read([said, row()])
    assert [str(c) for s in found.steps for c in s.claims] == ["entity: man"]
    assert found.problems == ("1 of 2 claims of the extractor are dropped: their words are not in the step",)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I cannot do that.",
        "Der Mann hebt drei Tassen auf.",
        "[1, 2, 3]",
        '{"claims": "none"}',
        '{"claims": [{"step": 2, "quote":',
        "[" * 100_000,
        '{"claims": [' + "{}," * 50_000 + "{}]}",
        "x" * 10_000_000,
        Response("refused", reason="policy"),
        Response.failed("no memory"),
    ],
    ids=range(11),
)
def test_a_hostile_answer_costs_only_its_claims(answer):
    started = time.perf_counter()
    found = read(answer)
    assert [s.claims for s in found.steps] == [(), ()]
    assert found.problems
    assert not found.failure
    assert time.perf_counter() - started < 60


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        7,
        {},
        row(step=0),
        row(step=3),
        row(step=True),
        row(step="2"),
        row(kind="unread"),
        row(kind="opinion"),
        row(quote=None),
        row(subject=["man"]),
        row(subject=""),
        row(kind="spatial", object="table"),
    ],
)
def test_rows_of_another_form_are_dropped(wrong):
    found = read([wrong, row()])
    assert [str(c) for s in found.steps for c in s.claims] == ["entity: man"]
    assert "1 of 2" in found.problems[0]


def test_one_request_per_trace_and_none_for_a_trace_without_steps():
    model = Model(json.dumps({"claims": [row()]}))
    extractor = ModelExtractor(Helper.of(model, "model"))
    with at_desk(Desk()) as desk:
        found = settled(lambda: with_claims([TRACE, Trace("f", ()), TRACE], extractor=extractor))
        assert desk.asked == 1  # both traces have the same words
    assert [len(t.steps) for t in found] == [2, 0, 2]
    assert "1. There is a man.\n2. The man picks" in model.requests[0].text


def test_a_scripted_extractor_finds_what_the_rules_find():
    episode = make_episode(3)
    trace = read_trace(str(episode.meta["oracle"]), episode)
    extractor = open_extractor("model:scripted:trace-extractor")
    told, ours = (
        {str(c) for s in with_claims([trace], extractor=e)[0].steps for c in s.claims if not c.is_part}
        for e in (extractor, RuleExtractor())
    )
    assert told == ours


def test_the_rules_are_the_default_and_another_pipeline_is_named(tmp_path):
    from theodolite.instruments.trace.claims.language import SHIPPED

    rules, other = open_extractor("rules"), open_extractor(f"spacy:{SHIPPED}")
    assert rules.name == "rules"
    assert other.name == f"spacy:{SHIPPED}"
    first = with_claims([TRACE])
    assert first == with_claims([TRACE], extractor=rules) == with_claims([TRACE], extractor=other)
    assert first[0].steps[1].claims[0].sentence == "The man picks up three red cups."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rules:fast", "takes no options"),
        ("spacy", "needs the name"),
        ("spacy:en_core_web_nowhere", "no spaCy pipeline"),
        ("model", "needs a model"),
        ("regex", "no extractor 'regex'"),
    ],
)
def test_names_that_are_no_extractors(name, words):
    with pytest.raises(UsageError, match=words):
        open_extractor(name)


def test_an_extractor_that_breaks_its_contract_is_told():
    from theodolite.core.errors import ContractError

    class Short:
        name = "short"

        def extract(self, traces):
            return []

    with pytest.raises(ContractError, match="0 results for 1 traces"):
        with_claims([TRACE], extractor=Short())


def test_an_extractor_of_ones_own():
    class Nouns:
        name = "nouns"

        def extract(self, traces):
            claim = Claim("entity", Mention("man"), span=(11, 14))
            return [Extracted(tuple((claim,) for _ in t.steps)) for t in traces]

    found = with_claims([TRACE], extractor=Nouns())[0]
    assert [s.claims[0].frames for s in found.steps] == [(0,), (1,)]
