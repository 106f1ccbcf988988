"""Claims out of text: constructed sentences, and real ones labelled by hand."""

import json
from pathlib import Path

import pytest
from claim_matching import match_claims

from theodolite.instruments.trace.claims.language import open_parser, sentence_spans
from theodolite.instruments.trace.claims.lexicon import may_mean
from theodolite.instruments.trace.claims.reading import extract_claims, extract_many, read_trace, with_claims
from theodolite.instruments.trace.claims.trees import Token, to_universal
from theodolite.worlds.episodes import Episode, Frame

LABELS = Path(__file__).parent / "claim_labels.jsonl"


def said(text, *, parts=True):
    return {str(claim) for claim in extract_claims(text) if parts or not claim.is_part}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The red ball is left of the blue cube.", "spatial: red ball left of blue cube"),
        ("The cup is on the table.", "spatial: cup on table"),
        ("The man is standing in front of the door.", "spatial: man in front of door"),
        ("There is a ball to the right of the box.", "spatial: ball right of box"),
        ("The chair is now on my right.", "spatial: chair right of i"),
        ("The door is behind me.", "spatial: door behind i"),
        ("He puts the book on the table.", "spatial: book on table"),
        ("The agent picks up the red ball.", "action: agent pick up red ball"),
        ("The person holding the cup is standing near the door.", "action: person hold cup"),
        ("The person holding the cup is standing near the door.", "action: person stand"),
        ("The blue ball collides with the yellow cube.", "action: blue ball collide yellow cube"),
        ("The cup is held by the woman.", "action: woman hold cup"),
        ("The ball is not moving.", "action: not ball move"),
        ("The woman might be holding a phone.", "action: [might] woman hold phone"),
        ("It seems that the man is opening the door.", "action: [seem] man open door"),
        ("I turn left.", "ego-motion: i turn left"),
        ("I am walking forward.", "ego-motion: i move forward"),
        ("Turn right.", "ego-motion: i turn right"),
        ("There are three chairs.", "count: chair 3"),
        ("There is no table.", "entity: not table"),
        ("I cannot see the red ball.", "entity: not red ball"),
        ("We do not find a cup.", "entity: not cup"),
        ("The door is closed.", "state: door closed"),
        ("The laptop is black.", "attribute: laptop black"),
        ("The men are the ones who hold a cup.", "action: man hold cup"),
        (
            "The red ball hits the cube before the blue ball leaves.",
            "temporal: red ball (hit cube) before blue ball (leave)",
        ),
    ],
)
def test_typed_claims(text, expected):
    assert expected in said(text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The person is preparing to wash the clothes.", "wash"),
        ("The purpose of the task is unclear.", "entity"),
        ("The video shows a cup.", "show"),
        ("I cannot find both.", "both"),
        ("I cannot see the red ball.", "attribute"),
        ("I can find a cup.", "find"),
        ("The cup is used for drinking.", "drink"),
        ("The ball rolls to the right.", "spatial"),
        ("At the end of the clip, the cup is on the table.", "end"),
    ],
)
def test_what_is_not_claimed(text, wrong):
    assert not [claim for claim in said(text) if wrong in claim]


def test_spans_point_into_the_text():
    text = "A dog sleeps. The red ball is left of the blue cube."
    for claim in extract_claims(text):
        assert text[slice(*claim.anchor)].strip()
        if claim.subject.span:
            assert text[slice(*claim.subject.span)].casefold() == claim.subject.head
        assert 0 <= claim.span[0] < claim.span[1] <= len(text)


def test_many_texts_are_read_like_one():
    texts = ["The cup is red.", "", "A man sits. He eats."]
    assert extract_many(texts) == [extract_claims(text) for text in texts]


def test_pronouns_and_parts_in_a_trace():
    episode = Episode("e", "?", (Frame(0.0),))
    text = "Step 1: A woman holds a red cup.\nStep 2: She drops it."
    steps = with_claims([read_trace(text, episode)])[0].steps
    assert [str(c) for c in steps[0].claims if not c.is_part] == ["action: woman hold red cup"]
    assert "action: woman drop red cup" in [str(c) for c in steps[1].claims]
    assert all(c.frames == (0,) for step in steps for c in step.claims)


def test_sentences():
    text = "1. First, e.g. a cup.\n- It costs 3.5 dollars! “Really?” Yes"
    assert [text[a:b] for a, b in sentence_spans(text)] == [
        "First, e.g. a cup.",
        "It costs 3.5 dollars!",
        "“Really?”",
        "Yes",
    ]


def test_words_for_the_same_thing():
    assert may_mean("sofa", "couch")
    assert may_mean("fridge", "refrigerator")
    assert may_mean("dining table", "table")
    assert may_mean("bottle", "cup/glass/bottle")
    assert not may_mean("red table", "coffee table") or may_mean("table", "coffee table")
    assert not may_mean("chair", "table")


def clear(words):
    """Tokens from (word, lemma, tag, relation, head) in the labels of spaCy's own pipelines."""
    tokens, start = [], 0
    for i, (text, lemma, tag, dep, head) in enumerate(words):
        tokens.append(Token(i, text, lemma, tag, dep, head, start))
        start += len(text) + 1
    return tuple(tokens)


def relations(tokens):
    return {(t.text, t.dep, tokens[t.head].text) for t in tokens}


def test_labels_of_spacys_own_pipelines_become_universal_ones():
    tokens = clear(
        [
            ("The", "the", "DT", "det", 1),
            ("cup", "cup", "NN", "nsubj", 2),
            ("is", "be", "VBZ", "ROOT", 2),
            ("on", "on", "IN", "prep", 2),
            ("the", "the", "DT", "det", 5),
            ("table", "table", "NN", "pobj", 3),
        ]
    )
    assert relations(to_universal(tokens)) == {
        ("The", "det", "cup"),
        ("cup", "nsubj", "table"),
        ("is", "cop", "table"),
        ("on", "case", "table"),
        ("the", "det", "table"),
        ("table", "ROOT", "table"),
    }
    passive = clear(
        [
            ("Cups", "cup", "NNS", "nsubjpass", 2),
            ("were", "be", "VBD", "auxpass", 2),
            ("put", "put", "VBN", "ROOT", 2),
            ("down", "down", "RP", "prt", 2),
            ("by", "by", "IN", "agent", 2),
            ("him", "he", "PRP", "pobj", 4),
        ]
    )
    assert relations(to_universal(passive)) == {
        ("Cups", "nsubj:pass", "put"),
        ("were", "aux:pass", "put"),
        ("put", "ROOT", "put"),
        ("down", "compound:prt", "put"),
        ("by", "case", "him"),
        ("him", "obl:agent", "put"),
    }
    there = clear(
        [
            ("There", "there", "EX", "expl", 1),
            ("is", "be", "VBZ", "ROOT", 1),
            ("milk", "milk", "NN", "attr", 1),
            ("in", "in", "IN", "prep", 2),
            ("cups", "cup", "NNS", "pobj", 3),
        ]
    )
    assert ("milk", "nsubj", "is") in relations(to_universal(there))
    assert ("cups", "nmod", "milk") in relations(to_universal(there))


def labelled(shared_data, half):
    records = {
        r["question_id"]: r
        for r in map(json.loads, (shared_data / "star" / "video_llava_traces.jsonl").read_text().splitlines())
    }
    rows = [row for row in map(json.loads, LABELS.read_text().splitlines()) if row["half"] == half]
    texts = [records[row["record"]][row["field"]][slice(*row["span"])] for row in rows]
    return texts, [row["claims"] for row in rows]


@pytest.mark.parametrize("half", ["tuning", "test"])
def test_real_sentences_labelled_by_hand(shared_data, half):
    """The paper's parser: 91 % precision, 84 % recall. Here the labels also say whom and what each claim is about.

    They are older than comparisons, identity, possession and clauses that are not understood, which are left out.
    """
    texts, labels = labelled(shared_data, half)
    assert len(texts) == 104
    found = [
        [c for c in claims if c.kind not in {"comparison", "identity", "unread"} and c.predicate != "have"]
        for claims in extract_many(texts)
    ]
    precision, recall, hedges = match_claims(found, labels)
    assert precision >= 0.95
    assert recall >= 0.94
    assert hedges >= 0.93
    strict_precision, strict_recall, _ = match_claims(found, labels, strict=True)
    assert strict_precision >= 0.91
    assert strict_recall >= 0.90


def test_the_labels_hold_no_sentences():
    for row in map(json.loads, LABELS.read_text().splitlines()):
        assert set(row) == {"record", "field", "span", "half", "claims"}
        assert all(
            set(c) <= {"kind", "anchor", "subject", "object", "hedged", "negated"} for c in row["claims"]
        )


def test_the_name_of_the_parser_is_told():
    assert open_parser().name.startswith("en_")
