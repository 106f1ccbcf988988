"""What each edit excludes: strategies that read only what it keeps, from the pixels, never beat the bound; a looker follows all.

Discs of different colours lie on a grey background. A *view* is what a strategy reads from a picture; a strategy is any
function of question and view. For each name in ``Edit.excludes`` there is a view, and strategies are drawn at random.
"""

import colorsys
import math
import random
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pytest

from theodolite.answers import Answer
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL, OPPOSITE
from theodolite.pairs import EDITS, AnsweredPair
from theodolite.pairs.pictures import (
    Cutout,
    UnfitError,
    exchange,
    find_move,
    flip,
    light,
    mirror,
    move,
    noise,
    reencode,
    remove,
)
from theodolite.pairs.pictures.whole import outline_alpha

SIZE = (320, 240)
HUES = {"red": 0.0, "yellow": 60.0, "green": 120.0, "blue": 240.0, "pink": 300.0}
PAIRS = 24
ELSEWHERE = {
    "exchange the marks",
    "move an object",
    "another camera",
    "edit the frames",
    "other walls",
    "decoy elsewhere",
    "edit other frames",
    "exchange, not asked for",
    "another camera, not asked for",
    "exchange the marks, not asked for",
}
"""Edits of scenes, grids and episodes, tested with their instruments."""


@dataclass(frozen=True)
class Scene:
    """Discs of one radius: name to centre."""

    discs: tuple[tuple[str, tuple[int, int]], ...]
    radius: int = 13

    def cutout(self, name):
        x, y = dict(self.discs)[name]
        turns = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        corners = np.stack([x + self.radius * np.cos(turns), y + self.radius * np.sin(turns)], axis=1)
        r = self.radius
        return Cutout(Box(x - r, y - r, x + r, y + r), (tuple(corners.ravel().tolist()),))

    def boxes_but(self, *names):
        return [self.cutout(name).box for name, _ in self.discs if name not in names]

    def picture(self):
        y, x = np.mgrid[: SIZE[1], : SIZE[0]]
        pixels = np.repeat((90 + x / 8 + y / 8)[..., None], 3, axis=2)
        for name, _ in self.discs:
            alpha = outline_alpha(SIZE, self.cutout(name).outline)[..., None]
            colour = np.array(colorsys.hsv_to_rgb(HUES[name] / 360, 0.9, 0.9)) * 255
            pixels = alpha * colour + (1 - alpha) * pixels
        return Picture.from_array(pixels.round().astype(np.uint8))


@cache
def seen(picture):
    """Name to centre and area of every disc, found by hue in the pixels."""
    pixels = picture.pixels().astype(float)
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    chroma = pixels.max(axis=2) - pixels.min(axis=2)
    hue = np.degrees(np.arctan2(math.sqrt(3) * (green - blue), 2 * red - green - blue)) % 360
    found = {}
    for name, angle in HUES.items():
        inside = (chroma > 70) & (np.abs((hue - angle + 180) % 360 - 180) < 25)
        if inside.sum() > 100:
            rows, columns = np.nonzero(inside)
            found[name] = (columns.mean() + 0.5, rows.mean() + 0.5, float(inside.sum()))
    return found


@dataclass(frozen=True)
class Question:
    """Where is the target relative to the reference? Without a reference: is the target there?"""

    target: str
    reference: str = ""

    @property
    def options(self):
        return CARDINAL.names if self.reference else ("yes", "no")


def look(question, picture):
    """The right answer, from the pixels alone."""
    things = seen(picture)
    if not question.reference:
        return "yes" if question.target in things else "no"
    (x0, y0, _), (x, y, _) = things[question.reference], things[question.target]
    return CARDINAL.between(Box(x0 - 1, y0 - 1, x0 + 1, y0 + 1), Box(x - 1, y - 1, x + 1, y + 1)).name


def tens(value):
    """To ten pixels: discs lie at multiples of ten, and are found to a fraction of a pixel."""
    return round(value / 10)


def place(name, picture):
    things = seen(picture)
    return (tens(things[name][0]), tens(things[name][1])) if name in things else None


VIEWS = {
    "blind answers": lambda _, __: 0,
    "the words of the question": lambda question, _: (question.target, question.reference),
    "the most frequent answer": lambda _, __: "majority",
    "which objects there are": lambda question, picture: (question, tuple(sorted(seen(picture)))),
    "what is usually left or right": lambda question, picture: (
        question,
        tuple((name, tens(y), round(area, -2)) for name, (_, y, area) in sorted(seen(picture).items())),
    ),
    "what is usually on top": lambda question, picture: (
        question,
        tuple((name, tens(x), round(area, -2)) for name, (x, _, area) in sorted(seen(picture).items())),
    ),
    "which places are taken": lambda question, picture: (
        question,
        tuple(sorted(place(name, picture) for name in seen(picture))),
    ),
    "the place of the target alone": lambda question, picture: (question, place(question.target, picture)),
    "the place of the reference alone": lambda question, picture: (
        question,
        place(question.reference, picture),
    ),
    "everything but the object": lambda question, picture: (
        question,
        tuple((name, place(name, picture)) for name in sorted(seen(picture)) if name != question.target),
    ),
}
"""What a strategy may read, by the name under which an edit excludes it."""


@dataclass(frozen=True)
class Shown:
    """A question before and after an edit, with its true answers."""

    question: Question
    before: Picture
    after: Picture

    @cached_property
    def golds(self):
        return look(self.question, self.before), look(self.question, self.after)

    def outcome(self, edit, answers):
        gold, edited_gold = self.golds
        pair = AnsweredPair(
            "q",
            edit,
            self.before.digest,
            *(Answer("value", said) for said in answers),
            gold=gold,
            edited_gold=edited_gold,
        )
        return pair.outcome


def random_scene(rng):
    """Three discs at multiples of ten; the first two lie clearly in one of the four directions from each other."""
    while True:
        names = rng.sample(sorted(HUES), 3)
        spots = [(10 * rng.randint(3, 29), 10 * rng.randint(3, 21)) for _ in names]
        apart = min(math.dist(a, b) for i, a in enumerate(spots) for b in spots[:i])
        across, down = (abs(a - b) for a, b in zip(*spots[:2], strict=True))
        if apart >= 50 and min(across, down) <= 0.35 * max(across, down):
            return Scene(tuple(zip(names, spots, strict=True)))


def moved(scene, moving, fixed, direction):
    """The picture with one disc moved into a direction from another."""
    thing, others = scene.cutout(moving), scene.boxes_but(moving, fixed)
    step = find_move(thing, scene.cutout(fixed), SIZE, directions=[direction], others=others)
    return move(scene.picture(), thing, step, others=scene.boxes_but(moving))


def another(scene, question):
    """A picture of the same discs elsewhere, in which the question has another answer."""
    rng, names = random.Random(str(scene)), [name for name, _ in scene.discs]
    while True:
        spots = [spot for _, spot in random_scene(rng).discs]
        picture = Scene(tuple(zip(names, spots, strict=True))).picture()
        if look(question, picture) != look(question, scene.picture()):
            return picture


def changed(name, scene):
    """A question, and the picture before and after an edit; None where the edit is not meant for the question.

    Raises:
        UnfitError: The edit cannot be made in this scene.
    """
    (target, _), (reference, _), (third, _) = scene.discs
    question = Question(target) if name == "remove" else Question(target, reference)
    picture = scene.picture()
    now = look(Question(target, reference), picture)
    is_sideways = now in {"left", "right"}
    if name in (
        {"upside down", "mirror, not asked for"} if is_sideways else {"mirror", "upside down, not asked for"}
    ):
        return None
    rest = scene.boxes_but(target, reference)
    edited = {
        "mirror": lambda: mirror(picture),
        "upside down": lambda: flip(picture),
        "exchange": lambda: exchange(picture, scene.cutout(target), scene.cutout(reference), others=rest),
        "move the target": lambda: moved(scene, target, reference, OPPOSITE[now]),
        "move the reference": lambda: moved(scene, reference, target, now),
        "remove": lambda: remove(picture, scene.cutout(target), others=scene.boxes_but(target)),
        "another picture": lambda: another(scene, question),
        "light": lambda: light(picture),
        "noise": lambda: noise(picture),
        "re-encode": lambda: reencode(picture),
        **dict.fromkeys(
            ("unrelated objects removed", "remove, not asked for"),
            lambda: remove(picture, scene.cutout(third), others=scene.boxes_but(third)),
        ),
        "move, not asked for": lambda: moved(scene, third, reference, OPPOSITE[now]),
        "mirror, not asked for": lambda: mirror(picture),
        "upside down, not asked for": lambda: flip(picture),
        "ask again": scene.picture,
    }
    return question, picture, edited[name]()


@cache
def shown(name):
    """Pictures before and after an edit, for as many scenes as the tests need."""
    rng = random.Random(name)
    found, refused = [], 0
    while len(found) < PAIRS:
        try:
            made = changed(name, random_scene(rng))
        except UnfitError:
            refused += 1
            assert refused < 5 * PAIRS, "nearly nothing can be edited"
            continue
        if made is not None:
            found.append(Shown(*made))
    return tuple(found)


HERE = [edit for edit in EDITS.values() if edit.name not in ELSEWHERE]
RELEVANT, NEUTRAL = ([e for e in HERE if e.is_relevant == wanted] for wanted in (True, False))
EXCLUDED = [(edit, name) for edit in RELEVANT for name in edit.excludes]


def ids(edits):
    return [edit.name for edit in edits]


def test_every_strategy_that_an_edit_excludes_is_tried():
    assert set(EDITS) > ELSEWHERE
    assert {name for _, name in EXCLUDED} == set(VIEWS)


@pytest.mark.parametrize("edit", RELEVANT, ids=ids(RELEVANT))
def test_a_looker_follows_every_relevant_edit(edit):
    for each in shown(edit.name):
        gold, edited_gold = each.golds
        assert gold != edited_gold
        assert each.outcome(edit, each.golds) == "followed"


@pytest.mark.parametrize("edit", NEUTRAL, ids=ids(NEUTRAL))
def test_a_looker_keeps_its_answer_under_every_neutral_edit(edit):
    for each in shown(edit.name):
        assert each.outcome(edit, each.golds) == "kept"
        assert edit.name == "ask again" or each.before != each.after


@pytest.mark.parametrize(("edit", "name"), EXCLUDED, ids=[f"{e.name} - {name}" for e, name in EXCLUDED])
def test_what_is_kept_reads_the_same_after_the_edit(edit, name):
    """From the pixels of pictures that were edited in earnest."""
    for each in shown(edit.name):
        assert VIEWS[name](each.question, each.before) == VIEWS[name](each.question, each.after)


@pytest.mark.parametrize(("edit", "name"), EXCLUDED, ids=[f"{e.name} - {name}" for e, name in EXCLUDED])
def test_deterministic_strategies_that_read_what_is_kept_follow_nothing(edit, name):
    pairs = shown(edit.name)
    common = Counter(each.golds[0] for each in pairs).most_common(1)[0][0]

    def says(seed, question, picture):
        if name == "the most frequent answer":
            return common
        return random.Random(f"{seed} {VIEWS[name](question, picture)}").choice(question.options)

    right = 0
    for seed in range(40):
        for each in pairs:
            answers = [says(seed, each.question, picture) for picture in (each.before, each.after)]
            right += answers[0] == each.golds[0]
            assert each.outcome(edit, answers) == "unmoved"
    assert right, "some guess right before the edit, and still do not follow it"


@pytest.mark.parametrize(("edit", "name"), EXCLUDED, ids=[f"{e.name} - {name}" for e, name in EXCLUDED])
def test_random_strategies_that_read_what_is_kept_follow_at_most_a_quarter(edit, name):
    """Any bias for any view: as many pairs are inverted as followed (Lemma 1)."""
    pairs = shown(edit.name)
    views = [str(VIEWS[name](each.question, each.before)) for each in pairs]
    for concentration in (0.2, 1.0, None):
        signs = []
        for seed in range(40):
            for each, view in zip(pairs, views, strict=True):
                rng = random.Random(f"{seed} {view}")
                options = each.question.options
                if concentration is None:
                    weights = [float(option in each.golds) for option in options]
                else:
                    weights = [rng.gammavariate(concentration, 1) + 1e-9 for _ in options]
                answers = random.Random(f"{seed} {each.before.digest}").choices(options, weights, k=2)
                outcome = each.outcome(edit, answers)
                signs.append((outcome == "followed") - (outcome == "inverted"))
        assert abs(np.mean(signs)) <= 4 * np.std(signs) / math.sqrt(len(signs))
        if concentration is None:
            assert np.mean(np.abs(signs)) > 0.4, "half of the pairs are followed or inverted"


@pytest.mark.parametrize(
    ("edit", "name"),
    [(edit, name) for edit in RELEVANT for name in edit.leaves if name in VIEWS],
    ids=lambda each: getattr(each, "name", each),
)
def test_what_an_edit_does_not_exclude_can_follow_it(edit, name):
    """The side of the picture on which one object lies, read from its place alone."""
    hits = []
    for each in shown(edit.name):
        gold, edited_gold = each.golds
        if {gold, edited_gold} not in ({"left", "right"}, {"above", "below"}):
            continue
        axis = 0 if gold in {"left", "right"} else 1
        ends = CARDINAL.names[2 * axis : 2 * axis + 2]
        places = [VIEWS[name](each.question, picture)[1][axis] for picture in (each.before, each.after)]
        is_far = [at * 10 > SIZE[axis] / 2 for at in places]
        if "reference" in name:
            is_far = [not far for far in is_far]
        hits.append(each.outcome(edit, [ends[far] for far in is_far]) == "followed")
    assert np.mean(hits) > 0.25
