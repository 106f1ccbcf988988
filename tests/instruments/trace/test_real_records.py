"""Three hundred real records of Video-LLaVA: every one is read, and what they say is counted."""

import json
from collections import Counter

import pytest

from theodolite.cli.main import main
from theodolite.instruments.trace.claims.language import sentence_spans
from theodolite.instruments.trace.claims.reading import extract_many
from theodolite.instruments.trace.claims.types import NOT_UNDERSTOOD
from theodolite.instruments.trace.data.traces import read_traces


@pytest.fixture(scope="module")
def file(shared_data):
    return shared_data / "star" / "video_llava_traces.jsonl"


@pytest.fixture(scope="module")
def told(file):
    """The sentences and the claims of every record, in the same order."""
    traces, problems = read_traces(file)
    assert problems == []
    texts = [step.text for each in traces for step in each.steps]
    return traces, texts, extract_many(texts)


def test_every_record_is_read_step_by_step(file, told):
    traces, texts, _ = told
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(records) == 300
    assert len({each.episode for each in traces}) == len({record["question_id"] for record in records})
    assert not any(each.is_lower_bound for each in traces)
    whole = " ".join(" ".join(str(v) for v in record.values()) for record in records)
    assert all(text.strip()[:40] in whole for text in texts[::97])


def test_claims_and_guesses_per_sentence(told):
    """Measured when this was written: 5.7 claims a sentence, of which 11 % are guesses. The bounds are wide on purpose."""
    _, texts, found = told
    n_sentences = sum(len(sentence_spans(text)) for text in texts)
    claims = [claim for each in found for claim in each]
    assert 5.0 < len(claims) / n_sentences < 6.5
    guesses = [claim for claim in claims if claim.hedge and claim.hedge != NOT_UNDERSTOOD]
    assert 0.08 < len(guesses) / len(claims) < 0.14
    unread = sum(claim.kind == "unread" for claim in claims)
    assert 0 < unread / sum(not claim.is_part for claim in claims) < 0.15
    kinds = Counter(claim.kind for claim in claims)
    assert kinds["entity"] > kinds["action"] > kinds["spatial"] > 0
    assert sum(not each for each in found) / len(found) < 0.05  # hardly a sentence says nothing
    for text, each in list(zip(texts, found, strict=True))[::211]:
        assert all(0 <= claim.span[0] < claim.span[1] <= len(text) for claim in each)


def test_the_command_counts_the_same(file, told, tmp_path, capsys):
    few = tmp_path / "few.jsonl"
    few.write_text("".join(line + "\n" for line in file.read_text().splitlines()[:10]))
    assert main(["trace", "verify", str(few), "--claims", "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)["tables"][0]["rows"][0]
    traces, _ = read_traces(few)
    n_steps = sum(len(each.steps) for each in traces)
    assert counted["claims"] == sum(len(each) for each in told[2][:n_steps])
    assert counted["sentences_per_second"] > 0
    assert 0 < counted["hedged"] < 1
