"""The question engine against a plain reading of the coordinates, and against guessers who see only the options."""

import itertools
import math
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from scene_made import strewn_scene, strewn_scenes

from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.files import SceneQuestion
from theodolite.instruments.scene.data.make import QUOTAS, make_questions, thin_questions
from theodolite.instruments.scene.formulas.layout import SECTORS
from theodolite.instruments.scene.kinds import GROUPS, KINDS


@cache
def scenes():
    return strewn_scenes(400)


@cache
def scenes_by_id():
    return {scene.id: scene for scene in scenes()}


@cache
def asked_of_scenes():
    return make_questions(scenes(), seed=3)


def questions():
    return asked_of_scenes().questions


def gold_key(question: SceneQuestion):
    return question.options[question.letters.index(question.gold)].key


def plain_answer(question: SceneQuestion):  # noqa: PLR0911 - one way out per kind
    """The meaning of the answer, from the coordinates of a level camera: x right, y down, z forward."""
    scene = scenes_by_id()[question.scene]
    at = {thing.id: np.array(thing.centre_cam) for thing in scene.objects}
    box = {thing.id: thing for thing in scene.objects}
    kind, marks = question.kind, question.objects
    if kind in {"length", "height", "width"}:
        return f"{getattr(box[marks[0]], kind + '_m'):.2f}"
    if kind == "distance to camera":
        return f"{math.sqrt((at[marks[0]] ** 2).sum()):.2f}"
    if kind == "distance between":
        return f"{math.sqrt(((at[marks[0]] - at[marks[1]]) ** 2).sum()):.2f}"
    if kind == "distance after placing":
        x, _, z = at[marks[0]]
        step = {"left": (-1, 0), "right": (1, 0), "in front of": (0, -1), "behind": (0, 1)}[question.relation]
        x, z = x + step[0] * question.distance_m, z + step[1] * question.distance_m
        return f"{math.hypot(x - at[marks[1]][0], z - at[marks[1]][2]):.2f}"
    if question.competency == "direction":
        return plain_direction(question, at, box)
    if question.competency == "ranking":
        value = {
            "rank by volume": lambda m: -np.prod(box[m].size_lwh_m),
            "rank by height": lambda m: -box[m].height_m,
            "rank by distance": lambda m: np.linalg.norm(at[m]),
        }[kind]
        return "-".join(map(str, sorted(marks, key=value)))
    if question.competency == "counting":
        a, rest = marks[0], [m for m in at if m != marks[0]]
        within = {
            "count within": lambda m: np.linalg.norm(at[m] - at[a]) < question.distance_m,
            "count beyond": lambda m: np.linalg.norm(at[m] - at[a]) > question.distance_m,
            "count in direction": lambda m: {
                "left": at[m][0] < at[a][0],
                "right": at[m][0] > at[a][0],
                "in front of": at[m][2] < at[a][2],
                "behind": at[m][2] > at[a][2],
            }[question.relation],
        }[kind]
        return str(sum(map(within, rest)))
    if question.competency == "transformation":
        a, b, c = marks
        facing, target = (
            complex(*(at[m] - at[a])[[2, 0]]) for m in (b, c)
        )  # forward + i·right: clockwise from above
        turn = np.degrees(np.angle(target / facing)) % 360
        return SECTORS[int(((turn + 22.5) % 360) // 45)]
    value = {
        "larger": lambda m: -np.prod(box[m].size_lwh_m),
        "taller": lambda m: -box[m].height_m,
        "wider": lambda m: -box[m].width_m,
        "closer to camera": lambda m: np.linalg.norm(at[m]),
        "farther from camera": lambda m: -np.linalg.norm(at[m]),
        "closer to object": lambda m: np.linalg.norm(at[m] - at[marks[0]]),
        "farther from object": lambda m: -np.linalg.norm(at[m] - at[marks[0]]),
    }[kind]
    return str(min(marks[-2:], key=value))


def plain_direction(question, at, box):
    a, b = question.objects
    dx, _, dz = at[a] - at[b]
    true = {
        "is left": dx < 0,
        "is right": dx > 0,
        "is in front": dz < 0,
        "is behind": dz > 0,
        # y points down: the bottom of a is at y + h/2
        "is above": (at[b][1] - box[b].height_m / 2) - (at[a][1] + box[a].height_m / 2) > -0.2,
        "is below": (at[a][1] - box[a].height_m / 2) - (at[b][1] + box[b].height_m / 2) > -0.2,
    }
    if question.kind != "position":
        return "yes" if true[question.kind] else "no"
    words = [
        *(["left"] if dx < -0.2 else ["right"] if dx > 0.2 else []),
        *(["in front of"] if dz < -0.2 else ["behind"] if dz > 0.2 else []),
    ]
    if question.domain == "indoor":
        words += ["up"] if true["is above"] else ["down"] if true["is below"] else []
    return "+".join(words)


def test_every_gold_is_what_the_coordinates_say():
    for question in questions():
        said = question.gold if question.form == "number" else gold_key(question)
        assert said == plain_answer(question), question


def test_all_kinds_and_all_nine_groups_are_asked():
    assert {question.kind for question in questions()} == set(KINDS)
    assert {question.group for question in questions()} == set(GROUPS)
    assert all(q.domain == "indoor" for q in questions() if q.kind in {"is above", "is below"})


def test_the_quotas_are_met_or_counted():
    wanted = sum(sum(QUOTAS[scene.difficulty].values()) for scene in scenes())
    assert len(questions()) + sum(asked_of_scenes().unmet.values()) == wanted
    assert sum(asked_of_scenes().unmet.values()) < 0.02 * wanted


def test_letters_are_in_order_and_evenly_right():
    counts = defaultdict(Counter)
    for question in questions():
        if question.form == "choice":
            assert (
                len({o.key for o in question.options})
                == len({o.text for o in question.options})
                == len(question.options)
            )
            assert [line[:2] for line in question.lines.splitlines()[2:]] == [
                f"{x}:" for x in question.letters
            ]
            counts[len(question.options)][question.gold] += 1
            counts[question.competency, len(question.options)][question.gold] += 1
    for counted in counts.values():
        total = sum(counted.values())
        assert max(counted.values()) - min(counted.values()) <= max(0.05 * total, 6), counts


@pytest.mark.parametrize("kind", ["is left", "is right", "is in front", "is behind", "is above", "is below"])
def test_yes_and_no_are_evenly_right(kind):
    golds = Counter(q.gold for q in questions() if q.kind == kind)
    assert abs(golds["A"] - golds["B"]) <= 2


def test_all_six_orders_occur_and_none_is_favoured():
    counts = Counter()
    for question in questions():
        if question.competency == "ranking":
            order = gold_key(question).split("-")
            counts[tuple(question.objects.index(int(mark)) for mark in order)] += 1
    total = sum(counts.values())
    assert len(counts) == 6
    assert all(abs(n - total / 6) < 4 * math.sqrt(total * 5 / 36) for n in counts.values())


def test_the_options_do_not_tell_which_of_them_is_right():
    """Guessers who see the options but not the scene stay at chance, each a plausible way to read a leak."""

    def lonely_sector(keys):
        apart = [min((SECTORS.index(k) - SECTORS.index(o)) % 8 for o in keys if o != k) for k in keys]
        return int(np.argmax(apart))

    guessers = {
        "counting": [lambda keys, r=r: sorted(range(4), key=lambda i: int(keys[i]))[r] for r in range(4)],
        "transformation": [
            lonely_sector,
            *(lambda keys, s=s: keys.index(s) if s in keys else 0 for s in SECTORS),
        ],
        "ranking": [
            lambda keys: max(
                range(4), key=lambda i: sum(x == y for k in keys for x, y in zip(k, keys[i], strict=True))
            )
        ],
    }
    for competency, tries in guessers.items():
        asked = [q for q in questions() if q.competency == competency]
        for guess in tries:
            right = sum(guess([o.key for o in q.options]) == q.letters.index(q.gold) for q in asked)
            assert right / len(asked) < 0.25 + 3.5 * math.sqrt(0.25 * 0.75 / len(asked)), (
                competency,
                right,
                len(asked),
            )


def test_positions_offer_as_many_words_as_are_true():
    for question in questions():
        if question.kind == "position":
            assert len({key.count("+") for key in (o.key for o in question.options)}) == 1
            # mirrored sets: every word that is offered is offered as often as its opposite, or in all four
            words = Counter(word for o in question.options for word in o.key.split("+"))
            assert set(words.values()) <= {1, 2, 4}


def test_no_answer_hangs_on_a_hair():
    """Moving everything by a centimetre changes no answer that is chosen among options."""
    rng = np.random.default_rng(0)
    for question in questions()[::3]:
        if question.form == "number":
            continue
        scene = scenes_by_id()[question.scene]
        nudged = []
        for thing in scene.objects:
            centre = tuple(np.array(thing.centre_cam) + rng.uniform(-0.01, 0.01, 3))
            size = [side + rng.uniform(-0.01, 0.01) for side in thing.size_lwh_m]
            nudged.append(type(thing)(thing.id, "crate", centre, (1.0, 0, 0, 0), *size, thing.box_px))
        try:
            scenes_by_id()[question.scene] = type(scene)(
                scene.id, scene.domain, tuple(nudged), scene.camera, scene.up_cam
            )
            assert gold_key(question) == plain_answer(question), question
        finally:
            scenes_by_id()[question.scene] = scene


def gaps_that_decide(question):
    """The differences, in metres, that an answer hangs on, and how large each must be."""
    scene = scenes_by_id()[question.scene]
    at = {thing.id: np.array(thing.centre_cam) for thing in scene.objects}
    a, is_indoor = question.objects[0], question.domain == "indoor"
    rest = [mark for mark in at if mark != a]
    if question.kind == "count in direction":
        axis = 0 if question.relation in {"left", "right"} else 2
        return [(abs(at[m][axis] - at[a][axis]), 0.3 if is_indoor else 0.5) for m in rest]
    if question.competency == "counting":
        far = [np.linalg.norm(at[m] - at[a]) for m in rest]
        return [
            (abs(d - question.distance_m), max(0.25 if is_indoor else 0.5, 0.1 * max(d, question.distance_m)))
            for d in far
        ]
    if question.kind in {"is left", "is right", "is in front", "is behind"}:
        axis = 0 if question.kind in {"is left", "is right"} else 2
        return [(abs(at[a][axis] - at[question.objects[1]][axis]), 0.3 if is_indoor else 0.5)]
    if question.kind in {"closer to camera", "farther from camera", "rank by distance"}:
        far = sorted(np.linalg.norm(at[m]) for m in question.objects)
        return [(y - x, max(0.3 if is_indoor else 1.0, 0.1 * y)) for x, y in itertools.pairwise(far)]
    if question.kind in {"larger", "rank by volume"}:
        sizes = sorted(scene[m].volume_m3 for m in question.objects)
        return [(y - x, 0.25 * y) for x, y in itertools.pairwise(sizes)]
    return []


def test_every_difference_is_as_large_as_promised():
    checked = Counter()
    for question in questions():
        for gap, least in gaps_that_decide(question):
            assert gap >= least - 1e-9, question
            checked[question.kind] += 1
    assert len(checked) == 12
    assert min(checked.values()) >= 40


def test_the_same_seed_asks_the_same():
    assert (
        make_questions(scenes()[:40], seed=3).questions
        == questions()[: len(make_questions(scenes()[:40], seed=3).questions)]
    )
    assert make_questions(scenes()[:40], seed=4).questions != make_questions(scenes()[:40], seed=3).questions


def test_no_question_is_asked_twice_or_answers_another():
    for _, asked in itertools.groupby(questions(), key=lambda q: q.scene):
        seen = [(q.kind, frozenset(q.objects), q.relation, q.distance_m) for q in asked]
        assert len(seen) == len(set(seen))
        camera = [
            objects for kind, objects, *_ in seen if kind in {"closer to camera", "farther from camera"}
        ]
        assert len(camera) == len(set(camera))


def test_what_is_asked_can_be_read_off_the_star():
    for question in questions():
        centre = scenes_by_id()[question.scene].centre
        if question.kind in {
            "distance between",
            "where after turning",
            "distance after placing",
            "closer to object",
        }:
            assert question.objects[0] == centre
        if question.competency == "direction":
            assert centre in question.objects


def test_along_the_ground_only_what_is_about_level_is_asked_about():
    asked = [q for q in questions() if q.competency in {"transformation", "deduction"}]
    for question in asked:
        at = [np.array(scenes_by_id()[question.scene][mark].centre_cam) for mark in question.objects]
        for other in at[1:]:
            assert (
                abs(other[1] - at[0][1]) <= 0.4 * math.hypot(other[0] - at[0][0], other[2] - at[0][2]) + 1e-9
            )
    assert len(asked) > 500


def test_marks_stand_for_objects_nowhere_else_in_the_words():
    for question in questions():
        assert "crate" not in question.lines
        assert all(f"object {mark}" in question.text for mark in question.objects)


def test_thinning_keeps_every_cell_in_proportion():
    kept = thin_questions(questions(), 1500, seed=1)
    assert len(kept) == 1500
    assert [q.id for q in kept] == sorted((q.id for q in kept), key=[q.id for q in questions()].index)
    before, after = (Counter((q.domain, q.group) for q in qs) for qs in (questions(), kept))
    for cell, n in before.items():
        assert abs(after[cell] - n * 1500 / len(questions())) <= 4
    with pytest.raises(UsageError, match="make more scenes"):
        thin_questions(questions(), 10**6)


def test_two_things_side_by_side_yield_what_can_be_asked():
    made = make_questions([strewn_scene("one", "outdoor", 2, 5)])
    assert {q.competency for q in made.questions} <= {"size", "distance", "direction", "deduction"}
