"""Whatever names a thing names it with the right article."""

import re

import numpy as np
import pytest
from made_worlds import edits, made

from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace
from theodolite.instruments.trace.experiments.robustness import RandomLabels, counterfactual, random_trace
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.worlds.english import with_article, with_right_articles
from theodolite.worlds.episodes import Episode, Frame
from theodolite.worlds.facts import falsified
from theodolite.worlds.palette import PAINTS
from theodolite.worlds.stories import WORLDS

WRONG = re.compile(r"\b[Aa] (?:[aeio]|umbrella)\w*|\b[Aa]n [^aeiou\W]\w*")


def wrong(*values):
    """All wrong articles in texts, however deep they lie."""
    found = []
    for value in values:
        if isinstance(value, str):
            found += WRONG.findall(value)
        elif isinstance(value, dict):
            found += wrong(*value.values())
        elif isinstance(value, (list, tuple)):
            found += wrong(*value)
    return found


def test_the_pattern_of_these_tests_finds_wrong_ones():
    assert wrong({"a": ["There is a orange ball.", ("An red cube",)]}, "an owl, a cat") == [
        "a orange",
        "An red",
    ]


@pytest.mark.parametrize("world", WORLDS)
def test_worlds_and_what_is_made_of_them(world):
    episodes = (*made(world), *edits(world))
    told = [str(e.meta["oracle"]) for e in episodes]
    assert any("orange" in text for text in told)
    assert not wrong([(e.task, e.answer, e.options, dict(e.meta)) for e in episodes])
    sentences = {s for text in told for s in re.findall(r"There is [^.]+\.", text)}
    draws = [falsified(s, np.random.default_rng(k)) for s in sentences for k in range(20)]
    assert any(" an orange " in text for text in (*sentences, *draws))
    assert not wrong(draws)


def test_denials_made_false_and_colours_exchanged():
    rng = np.random.default_rng(0)
    assert falsified("There is no orange cone.", rng) == "There is an orange cone."
    assert falsified("There is no red cone.", rng) == "There is a red cone."
    assert "There is an orange ball." in {
        falsified("There is a red ball.", np.random.default_rng(k)) for k in range(40)
    }
    others = {falsified("There is an orange cone.", np.random.default_rng(k)) for k in range(40)}
    assert "There is a red cone." in others
    assert others <= {f"There is a {hue} cone." for hue in PAINTS}


def test_random_traces():
    episodes = made("instruction")
    labels = RandomLabels(episodes)
    texts = [
        step.text for e in episodes for seed in range(40) for step in random_trace(e, labels, seed=seed).steps
    ]
    assert any("There is an orange" in text for text in texts)
    assert any("boxes." in text for text in texts)
    assert not any("boxs" in text for text in texts)
    assert not wrong(texts)


def test_other_things_bring_their_article_and_other_words_keep_theirs():
    episode = Episode("e", "?", (Frame(0.0),), vocabulary={"objects": ("owl",)})
    said = "A red cup. A brown bag, an blue jar. An orange hat near a red mat, an XML file."
    seen = set()
    for seed in range(30):
        found = counterfactual(Trace("e", (Step(said, (0,)),)), "entity", episode=episode, seed=seed)
        text = found.steps[0].text
        seen |= set(re.findall(r"[Aa]n? \w+", text))
        assert not [w for w in wrong(text) if "XML" not in w]
        assert text.endswith("an XML file.")
    assert seen >= {"An orange", "an orange", "A red", "a red"}


def test_the_reason_of_a_verdict():
    verifier = open_verifier("annotation")
    episode = made("video")[0]
    claims = [Claim("entity", Mention(head)) for head in ("idea", "atmosphere", "axolotl", "zyzzyva")]
    evidence = [verdict.evidence for verdict in verifier.verify(claims, episode)]
    assert not wrong(evidence)
    assert any(" an " in f" {text}" for text in evidence)


def test_sound_not_spelling():
    assert with_article("hour") == "an hour"
    assert with_article("uniform") == "a uniform"
    assert with_article("unicorn") == "a unicorn"
    assert with_article("user") == "a user"
    assert with_article("uneven floor") == "an uneven floor"
    assert with_article("umbrella") == "an umbrella"
    assert with_article("usher") == "an usher"
    assert with_article("one-way street") == "a one-way street"
    assert with_article("onion") == "an onion"
    assert (
        with_right_articles("A owl on an table; plan b, vitamin a") == "An owl on a table; plan b, vitamin a"
    )
