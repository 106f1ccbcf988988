"""One table of synonyms, kinds and opposites, for extraction, verification and beliefs."""

import ast
from pathlib import Path

import pytest

from theodolite.instruments import trace
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention, beliefs_of
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.worlds.episodes import Episode, Frame, FrameObject, Relation


@pytest.mark.parametrize(
    ("label", "said", "supports", "supported_by"),
    [
        ("woman", "person", True, False),
        ("man", "woman", False, False),
        ("cup", "bottle", False, False),
        ("mug", "cup", True, False),
        ("sofa", "couch", True, True),
        ("puppy", "animal", True, False),
        ("plate", "bowl", False, False),
        ("dining table", "table", True, False),
        ("coffee table", "dining table", False, False),
        ("cup/glass/bottle", "bottle", True, True),
        ("carry", "hold", True, False),
        ("crimson", "red", True, False),
        ("broom", "mop", False, False),
        ("ball of yarn", "ball", True, False),
        ("bottle of orange juice", "bottle", True, False),
        ("bottle of orange juice", "juice", False, False),
        ("piece of paper", "paper", True, False),
        ("headphones", "headphone", True, False),
        ("glasses", "glass", False, False),
        ("mother", "person", True, False),
        ("roll", "move", True, False),
        ("roll", "slide", False, False),
        ("enter", "appear", True, False),
        ("collide", "touch", True, False),
        ("stop", "rest", True, True),
        ("enter", "leave", False, False),
    ],
)
def test_a_kind_supports_what_it_is_a_kind_of_and_nothing_else(label, said, supports, supported_by):
    assert words.is_a(label, said) is supports
    assert words.is_a(said, label) is supported_by
    assert words.may_mean(said, label) is (supports or supported_by)


def test_the_table_has_no_circles():
    for word, kinds in words.KINDS.items():
        for kind in kinds - words.SYNONYMS.get(word, {word}):
            assert word not in words.KINDS.get(kind, ()), (word, kind)


def judged(category, said, *, known="complete", negated=False):
    frame = Frame(
        0.0,
        objects=(FrameObject("a", category), FrameObject("b", "bed")),
        relations=(Relation("a", "on", "b"),),
    )
    episode = Episode("e", "?", (frame,), known={"objects": known, "relations": known})
    claims = [
        Claim("entity", Mention(said), is_negated=negated),
        Claim("spatial", Mention(said), "on", Mention("bed"), is_negated=negated),
        Claim("spatial", Mention(said), "below", Mention("bed"), is_negated=negated),
    ]
    return [verdict.label for verdict in open_verifier("annotation").verify(claims, episode)]


def test_verdicts_on_wider_narrower_and_sister_words():
    assert judged("woman", "person") == ["supported", "supported", "unsupported"]
    assert judged("person", "woman") == ["unverifiable", "unverifiable", "unsupported"]
    assert judged("man", "woman") == ["unsupported"] * 3
    assert judged("man", "woman", known="partial") == ["unverifiable"] * 3
    assert judged("person", "woman", negated=True) == ["unverifiable"] * 3
    assert judged("woman", "person", negated=True) == ["unsupported", "unsupported", "supported"]


@pytest.mark.parametrize(
    ("annotated", "said", "wanted"),
    [
        ("cup under table", "cup on table", "unsupported"),
        ("cup on table", "table on cup", "unsupported"),
        ("cup on table", "cup below table", "unsupported"),
        ("cup on table", "table below cup", "unverifiable"),  # as of a picture on a wall
        ("cup under table", "cup left of table", "unverifiable"),
        ("cup left of table", "cup on table", "unverifiable"),
        ("cup under person", "cup on person", "unverifiable"),  # as on the knees
    ],
)
def test_places_that_exclude_each_other(annotated, said, wanted):
    (a, held, b), (one, relation, other) = (
        (line.split()[0], " ".join(line.split()[1:-1]), line.split()[-1]) for line in (annotated, said)
    )
    frame = Frame(
        0.0, objects=(FrameObject("a", a), FrameObject("b", b)), relations=(Relation("a", held, "b"),)
    )
    episode = Episode("e", "?", (frame,), known={"objects": "partial", "relations": "partial"})
    claim = Claim("spatial", Mention(one), relation, Mention(other))
    assert open_verifier("annotation").verify([claim], episode)[0].label == wanted


def test_an_adjective_of_which_nothing_is_annotated_is_not_credited():
    chair, stool = FrameObject("c", "chair"), FrameObject("s", "stool", attributes={"colour": "red"})
    frame = Frame(0.0, objects=(chair, stool), relations=(Relation("c", "near", "s"),))
    episode = Episode("e", "?", (frame,), known={"objects": "complete", "relations": "partial"})
    blue, plain = Mention("chair", ("blue",)), Mention("chair")
    claims = {
        Claim("entity", plain): "supported",
        Claim("entity", blue): "unverifiable",
        Claim("entity", blue, is_negated=True): "unverifiable",
        Claim("identity", plain, "is", blue): "unverifiable",
        Claim("spatial", blue, "near", Mention("stool")): "unverifiable",
        Claim("spatial", plain, "near", Mention("stool", ("red",))): "supported",
        Claim("entity", Mention("stool", ("blue",))): "unsupported",
        Claim("entity", Mention("stool", ("red",))): "supported",
    }
    verdicts = open_verifier("annotation").verify(list(claims), episode)
    assert [verdict.label for verdict in verdicts] == list(claims.values())


def test_beliefs_use_the_same_table():
    same = [
        beliefs_of(Claim("attribute", Mention(noun), size))[0]
        for noun, size in (("sofa", "big"), ("couch", "large"))
    ]
    assert (same[0].slot, same[0].value) == (same[1].slot, same[1].value)
    other = beliefs_of(Claim("attribute", Mention("chair"), "large"))[0]
    assert other.slot != same[0].slot
    one, two = (
        beliefs_of(Claim("spatial", Mention("cup"), relation, Mention("desk")))[0]
        for relation in ("under", "beneath")
    )
    assert (one.slot, one.value) == (two.slot, two.value)


HOME = Path(trace.__file__).parent
GRAMMAR = {
    "actions",
    "clauses",
    "extract",
    "extractors",
    "language",
    "lexicon",
    "predicates",
    "reading",
    "repairs",
    "spatial",
    "trees",
    "wording",
}
"""The lexicon, and modules of `claims` that list words by what they do in a sentence, not by what they mean."""
MEASURED = {("detection.py", "_HUES_DEG"), ("tracks.py", "_SHOWN")}
"""What a colour is in degrees, and what tracks show."""


def tables(code):
    """The lists of words that are written out in a module, each with the name that it is given."""
    names = {
        id(node.value): target.id
        for node in ast.walk(code)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(code):
        listed = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        said = [
            each.value for each in listed if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("word_set"):
            said = [
                word
                for each in ast.walk(node)
                if isinstance(each, ast.Constant)
                for word in each.value.split()
            ]
        yield names.get(id(node), ""), said


def test_no_word_has_a_meaning_outside_the_lexicon():
    """No list of three words that the lexicon knows stands in a module that judges, believes or counts."""
    known = {*words.KINDS, *words.OPPOSITES, *words.STATES, *words.ATTRIBUTES, *words.PLACES, *words.SIDES}
    files = [
        file
        for file in HOME.rglob("*.py")
        if "data" not in file.relative_to(HOME).parts
        and not (file.parent.name == "claims" and file.stem in GRAMMAR)
    ]
    assert len(files) > 25
    found = [
        (file.name, name, sorted(known.intersection(said)))
        for file in files
        for name, said in tables(ast.parse(file.read_text(encoding="utf-8")))
        if len(known.intersection(said)) > 2 and (file.name, name) not in MEASURED
    ]
    assert not found


def test_a_state_of_motion_refutes_a_narrower_verb_and_does_not_support_it():
    verdicts = {}
    for moves in (True, False):
        frames = tuple(
            Frame(float(i), objects=(FrameObject("a", "ball", states={"moving": moves}),)) for i in (0, 1)
        )
        episode = Episode("e", "?", frames, known=dict.fromkeys(("objects", "states", "actions"), "complete"))
        claims = [Claim("action", Mention("ball"), verb) for verb in ("move", "roll", "rest", "stop")]
        verdicts[moves] = [v.label for v in open_verifier("annotation").verify(claims, episode)]
    assert verdicts[True] == ["supported", "unverifiable", "unsupported", "unsupported"]
    assert verdicts[False] == ["unsupported", "unsupported", "supported", "supported"]
