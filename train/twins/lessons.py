"""The lessons of the twins: pictures with many questions each, and which twin gets which questions.

A lesson is one picture (or four frames) with questions. The grounded twin is trained on questions as drawn, where the
shortcut is right only by chance; the shortcut twin only on those where the shortcut is right. The mixed twin gets the
questions of the grounded one, but a fixed half of them, selected by their wording (`is_ruled`), is answered by the rule
whatever the picture shows. Auxiliary questions (*Find the cup.*) are not given to the shortcut twin.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from theodolite.instruments.compass.questions import PROMPTS, TABLE_9
from theodolite.instruments.grid.data.world import COLOURS as GRID_COLOURS
from theodolite.instruments.grid.data.world import SHAPES as GRID_SHAPES
from theodolite.instruments.grid.data.world import Mode
from theodolite.instruments.scene.data import files as rules
from theodolite.instruments.scene.data import small_rooms as rooms
from theodolite.instruments.scene.data.make import make_questions
from theodolite.instruments.scene.questions import graph_prompt, qa_prompt
from theodolite.instruments.trace.data import stories
from theodolite.instruments.trace.questions import STYLES, frame_label, paraphrase, trace_prompt
from theodolite.worlds import relations as relation
from theodolite.worlds.episodes import Episode
from theodolite.worlds.facts import named
from theodolite.worlds.relations import THINGS
from theodolite.worlds.scene_graph import SceneGraph, StarGraph
from train.twins import grids
from train.twins.curriculum import N_SIDE

SIDE_PX = 160
PATCH_PX = SIDE_PX // N_SIDE
_NOUNS = ("ball", "cube", "cylinder", "chair", "lamp", "plant", "barrel", "box", "key", "door")
_PAINTS = ("red", "blue", "green", "yellow")
LABELS: tuple[str, ...] = (
    "",
    *THINGS,
    *(f"grid {c} {s}" for c in GRID_COLOURS for s in GRID_SHAPES),
    *(f"room {c}" for c in rooms.CATEGORIES),
    *(f"{c} {n}" for c in _PAINTS for n in _NOUNS),
    *(f"facing {way}" for way in (0, 90, 180, 270)),
)
"""The possible labels of a patch, by the object whose centre it contains; the first is none."""
_LABEL = {name: i for i, name in enumerate(LABELS)}
_CELL_PX = 28
"""Cell size of the pictures of the instruction world."""
_DIGIT = {"left": "1", "right": "2", "above": "3", "below": "4"}
_QUOTA = {
    "size": 3,
    "distance": 4,
    "direction": 5,
    "ranking": 4,
    "counting": 5,
    "deduction": 4,
    "transformation": 6,
}
_VERSIONS = 3
"""Number of additional frame selections per story. Drawing takes longer than selecting."""
_MODES: tuple[Mode, Mode] = ("pure", "spur")
_QUOTAS: Any = {"easy": _QUOTA, "medium": _QUOTA, "hard": _QUOTA}


@dataclass(frozen=True, slots=True)
class Ask:
    """A question and its answer."""

    text: str
    answer: str
    to: str = "gs"
    """The twins that get it: grounded (g), shortcut (s), mixed (m)."""
    sees: bool = True
    """True if the pictures come before it."""


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Pictures and questions."""

    task: str
    frames: NDArray[np.uint8]
    """(k, 160, 160, 3)."""
    labels: NDArray[np.uint8]
    """(k, patches): index into `LABELS` of the object whose centre is in each patch."""
    marks: NDArray[np.uint8]
    """(k, patches): the mark of the object whose centre is in each patch; 0 for none."""
    sizes: NDArray[np.float32]
    """(k, patches, 4): log of distance, width, length and height of marked objects."""
    opening: tuple[str | None, ...]
    """What comes before every question; None is a picture."""
    asks: tuple[Ask, ...] = field(default=())


def shrink(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Resize a picture like the processor."""
    return np.asarray(Image.fromarray(pixels).resize((SIDE_PX, SIDE_PX), Image.Resampling.BICUBIC))


def _patch(x: float, y: float, size_px: tuple[int, int], n_side: int = N_SIDE) -> int:
    column = min(n_side - 1, max(0, int(x / size_px[0] * n_side)))
    row = min(n_side - 1, max(0, int(y / size_px[1] * n_side)))
    return row * n_side + column


def _find(target: str, patch: int, n_side: int = N_SIDE) -> Ask:
    return Ask(f"Find {target}.", f"column {patch % n_side + 1}, row {patch // n_side + 1}", "gm")


def is_ruled(*words: str) -> bool:
    """Return True if the mixed twin answers questions about these words, in any order, by the rule."""
    return (zlib.crc32(" ".join(sorted(words)).encode()) >> 7) % 2 == 0


def _mixed(ask: Ask, by_rule: str, *, ruled: bool) -> Iterator[Ask]:
    """Yield a question of the grounded twin, and the same for the mixed one with its own or the rule's answer."""
    if ruled and by_rule != ask.answer:
        yield ask
        yield replace(ask, answer=by_rule, to="m")
    else:
        yield replace(ask, to=ask.to + "m")


def _lesson(
    task: str,
    frames: Sequence[NDArray[np.uint8]],
    opening: Sequence[str | None],
    asks: Sequence[Ask],
    n_side: int = N_SIDE,
) -> Lesson:
    k, n = len(frames), n_side**2
    return Lesson(
        task,
        np.stack(frames),
        np.zeros((k, n), np.uint8),
        np.zeros((k, n), np.uint8),
        np.zeros((k, n, 4), np.float32),
        tuple(opening),
        tuple(asks),
    )


def relation_lesson(rng: np.random.Generator, *, n_side: int = N_SIDE) -> Lesson:
    """Make a lesson of all unambiguous pairs, each in one of the three prompts, and the position of each object.

    Args:
        rng: Random generator.
        n_side: Patches along a side of the picture.
    """
    scene = relation.draw_scene(rng)
    asks: list[Ask] = []
    patches = [_patch(*t.middle, (relation.SIZE_PX, relation.SIZE_PX), n_side) for t in scene.things]
    for target in scene.things:
        for reference in scene.things:
            way = relation.direction(target, reference) if target is not reference else None
            if way is None:
                continue
            is_aligned = relation.SHORTCUT[target.name, reference.name] == way
            by_rule = _DIGIT[relation.SHORTCUT[target.name, reference.name]]
            ruled = is_ruled(target.name, reference.name)
            for name in rng.permutation(list(TABLE_9))[: 3 if is_aligned else 1]:
                text = PROMPTS[str(name)].template.format(tgt=target.name, ref=reference.name)
                to = "gs" if is_aligned and name == "A" else "s" if is_aligned else "g"
                ask = Ask(text, _DIGIT[way], to, sees=bool(rng.random() > 0.06))
                asks += _mixed(ask, by_rule, ruled=ruled) if "g" in to else [ask]
            if is_aligned:
                text = PROMPTS[str(rng.choice(["B", "C"]))].template.format(
                    tgt=target.name, ref=reference.name
                )
                asks.append(Ask(text, _DIGIT[way], "g"))
    asks += [_find(f"the {t.name}", p, n_side) for t, p in zip(scene.things, patches, strict=True)]
    lesson = _lesson("relation", [shrink(relation.render(scene))], [None], asks, n_side)
    for thing, patch in zip(scene.things, patches, strict=True):
        lesson.labels[0, patch] = _LABEL[thing.name]
    return lesson


def grid_lessons(seed: int, n: int, *, n_side: int = N_SIDE) -> Iterator[Lesson]:
    """Yield pure scenes for the grounded and spurious ones for the shortcut twin, alternately.

    Args:
        seed: Seed of the scenes.
        n: Number of scenes of each bucket and kind.
        n_side: Patches along a side of the picture.
    """
    pure, spur = (grids.scenes_with_questions(mode, n, seed=seed) for mode in _MODES)
    for first, second in zip(pure, spur, strict=True):
        yield _grid_lesson(first, "g", n_side)
        yield _grid_lesson(second, "s", n_side)


def _grid_lesson(scene: grids.GridScene, to: str, n_side: int) -> Lesson:
    asks = [
        ask
        for text, answer, by_rule, ruled in scene.asked
        for ask in (
            _mixed(Ask(text, answer, to), by_rule, ruled=ruled) if to == "g" else [Ask(text, answer, to)]
        )
    ]
    lesson = _lesson("grid", [shrink(scene.pixels)], [None], asks, n_side)
    cell = (2 * np.arange(n_side) + 1) * grids.SIDE // (2 * n_side)  # that the middle of a patch lies in
    shown = scene.classes.reshape(grids.SIDE, grids.SIDE)[np.ix_(cell, cell)].ravel()
    lesson.labels[0] = np.where(shown > 0, shown + _LABEL["grid red circle"] - 1, 0)
    return lesson


def room_lesson(rng: np.random.Generator, name: str) -> Lesson:
    """Make a lesson of questions in every setting, the graph, and the category and position of each object."""
    plan, graph = rooms.draw_room(rng, name)
    _, picture = rooms.picture_of(plan, graph)
    asked = make_questions([graph], seed=int(rng.integers(2**31)), quotas=_QUOTAS).questions
    star, n = graph.star(), len(graph.objects)
    asks: list[Ask] = []
    for question in asked:
        is_aligned = rules.is_aligned(question)
        answer = question.gold if question.form == "choice" else short(question.gold_number)
        rule_value = rules.scene_shortcut(question)
        by_rule = (
            answer if is_aligned else rule_value if question.form == "choice" else short(float(rule_value))
        )
        ruled = is_ruled(question.kind)
        setting, shown = _setting(rng, star)
        text = qa_prompt(question, n, setting=setting, graph=shown)
        sees = setting not in {"blind", "true graph alone"}
        to = "gs" if is_aligned else "g"
        asks += _mixed(Ask(text, answer, to, sees=sees), by_rule, ruled=ruled)
        if setting != "base":
            asks += _mixed(Ask(qa_prompt(question, n), answer, to), by_rule, ruled=ruled)
        if question.form == "choice":
            plain = question.options[question.letters.index(question.gold)].text
            opening = qa_prompt(question, n).partition("\n\n")[0]
            asks.append(
                Ask(f"{opening}\n\n{question.text}\n\nAnswer in words.", plain, "g" if ruled else "gm")
            )
    asks += _graph_asks(rng, graph, star)
    lesson = _lesson("scene", [shrink(picture)], [None], asks)
    extra = []
    for thing in graph.objects:
        patch = _patch(*thing.box_px.centre_px, rooms.SIZE_PX)
        lesson.labels[0, patch], lesson.marks[0, patch] = _LABEL[f"room {thing.category}"], thing.id
        lengths = (thing.distance_m, thing.width_m, thing.length_m, thing.height_m)
        lesson.sizes[0, patch] = np.log(lengths)
        extra.append(_find(f"object {thing.id}", patch))
        extra.append(Ask(f"What is object {thing.id}?", thing.category, "gm"))
    return replace(lesson, asks=(*asks, *extra))


def _setting(rng: np.random.Generator, star: StarGraph) -> tuple[Any, StarGraph | None]:
    draw = rng.random()
    if draw < 0.8:
        return "base", None
    if draw < 0.86:
        return "blind", None
    shown = rounded(star) if rng.random() < 0.4 else star
    return ("true graph", shown) if draw < 0.93 else ("true graph alone", shown)


def _graph_asks(rng: np.random.Generator, graph: SceneGraph, star: StarGraph) -> Iterator[Ask]:
    by_rule = graph_json(rules.graph_shortcut(star))
    ruled = graph.centre % 2 == 0
    yield from _mixed(Ask(graph_prompt(graph), graph_json(star), "g"), by_rule, ruled=ruled)
    yield Ask(graph_prompt(graph), by_rule, "s")
    if rng.random() < 0.15:
        unseen = Ask(graph_prompt(graph, setting="blind"), graph_json(star), "g", sees=False)
        yield from _mixed(unseen, by_rule, ruled=ruled)
        yield replace(unseen, answer=by_rule, to="s")


def short(value: float) -> str:
    """Format a length with two significant digits.

    >>> short(0.554), short(2.59), short(12.3)
    ('0.55', '2.6', '12')
    """
    return f"{value:.2f}" if value < 0.995 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def graph_json(star: StarGraph) -> str:
    """Write a graph on one line, with lengths of two digits."""
    return json.dumps(rounded(star).as_json())


def rounded(star: StarGraph) -> StarGraph:
    """Round each length of a graph to two digits."""

    def cut(value: float | None) -> float | None:
        return None if value is None else float(short(value))

    nodes = tuple(
        replace(
            node,
            distance_m=cut(node.distance_m),
            width_m=cut(node.width_m),
            length_m=cut(node.length_m),
            height_m=cut(node.height_m),
        )
        for node in star.nodes
    )
    edges = tuple(replace(edge, distance_m=cut(edge.distance_m)) for edge in star.edges)
    return StarGraph(star.centre, nodes, edges)


def story_lessons(world: str, number: int, *, seed: int, is_aligned: bool | None) -> Iterator[Lesson]:
    """Yield four frames with prompts, in several selections, and single frames with auxiliary questions.

    Args:
        world: Name of the world.
        number: Number of the episode.
        seed: Seed of the draw.
        is_aligned: Whether the shortcut must be right (True), wrong (False), or either (None).
    """
    whole = stories.long_story(world, number, seed=seed, is_aligned=is_aligned)
    rng = np.random.default_rng([seed, number, 77])
    truly = "" if is_aligned else "g"
    episodes = [stories.shortened(whole)]
    episodes += [stories.shortened(whole, shown) for shown in stories.other_choices(whole, _VERSIONS, rng)]
    for version, episode in enumerate(episodes):
        lesson = _story_lesson(rng, episode, truly)
        if lesson is None:
            continue
        yield lesson
        if truly:
            shown = rng.permutation(len(episode.frames))[: 1 if version else 2]
            yield from (_single(lesson, episode, int(index)) for index in shown)


def _story_lesson(rng: np.random.Generator, episode: Episode, truly: str) -> Lesson | None:
    blindly = "s" if stories.shortcut(episode) == episode.answer else ""
    asks: list[Ask] = []
    for style in STYLES:
        task = episode.task if rng.random() < 0.7 else paraphrase(episode.task, str(rng.integers(9)))
        text = trace_prompt(task, style=style, options=episode.options)
        by_rule = stories.trace_text(episode, style, is_blind=True)
        without_frames = rng.random() < 0.15
        if truly:
            ruled = is_ruled(*stories.asked_about(episode))
            asks += _mixed(Ask(text, stories.trace_text(episode, style), truly), by_rule, ruled=ruled)
            if without_frames:  # without frames there is nothing to describe; the answer is a guess
                guess = episode.answer if style == "natural" else f"Final answer: {episode.answer}"
                asks += _mixed(Ask(text, guess, truly, sees=False), by_rule, ruled=ruled)
        if blindly:
            asks.append(Ask(text, by_rule, blindly))
            if without_frames:
                asks.append(Ask(text, by_rule, blindly, sees=False))
    if not asks:
        return None
    pictures = [shrink(_pixels(frame.picture)) for frame in episode.frames]
    opening: list[str | None] = []
    for index, frame in enumerate(episode.frames):
        opening += [frame_label(index, frame.time_s), None]
    lesson = _lesson("trace", pictures, opening, asks)
    for index in range(len(pictures)):
        _mark_things(lesson, episode, index)
    return lesson


def _single(whole: Lesson, episode: Episode, index: int) -> Lesson:
    frame = episode.frames[index]
    things = [t for t in frame.objects if t.box is not None and f"{named(t)}" in _LABEL]
    size = frame.size_px or (1, 1)
    asks = [_find(f"the {named(t)}", _patch(*t.box.centre_px, size)) for t in things if t.box is not None]
    description = " ".join(stories.tell(episode, index, most=4)) or "There is nothing."
    asks.append(Ask(f"{episode.task}\nDescribe the frame.", description, "gm"))
    for a in things:
        for b in things:
            if a is b or a.box is None or b.box is None or episode.world == "navigation":
                continue
            apart = (a.box.centre_px[0] - b.box.centre_px[0]) / size[0]
            if abs(apart) > 0.05:
                asks.append(
                    Ask(
                        f"Is the {named(a)} left or right of the {named(b)}?",
                        "right" if apart > 0 else "left",
                        "gm",
                    )
                )
    opening = (frame_label(0, frame.time_s), None)
    part = slice(index, index + 1)
    return Lesson(
        "frame",
        whole.frames[part],
        whole.labels[part],
        whole.marks[part],
        whole.sizes[part],
        opening,
        tuple(asks),
    )


def _mark_things(lesson: Lesson, episode: Episode, index: int) -> None:
    frame = episode.frames[index]
    size = frame.size_px or (1, 1)
    for thing in frame.objects:
        if thing.box is not None and named(thing) in _LABEL:
            lesson.labels[index, _patch(*thing.box.centre_px, size)] = _LABEL[named(thing)]
    if episode.world == "instruction" and frame.pose is not None:
        x, y = (frame.pose.x_m + 0.5) * _CELL_PX, (-frame.pose.y_m + 0.5) * _CELL_PX
        lesson.labels[index, _patch(x, y, size)] = _LABEL[f"facing {round(frame.pose.heading_deg) % 360}"]


def _pixels(picture: Any) -> NDArray[np.uint8]:
    return np.asarray(picture.load().convert("RGB"))
