"""The world of clips: coloured shapes on a table roll, collide, come in, go out and hide behind a screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from theodolite.core.types import Picture
from theodolite.instruments.trace.data.episode import (
    ASPECTS,
    Action,
    Episode,
    Frame,
    Relation,
    SceneObject,
    Split,
)
from theodolite.instruments.trace.data.worlds.palette import COLOURS
from theodolite.instruments.trace.data.worlds.physics import STILL_M_S, Body, Motion, simulate
from theodolite.instruments.trace.data.worlds.tabletop import (
    CAMERA,
    RADIUS_M,
    SHAPES,
    SIZE_PX,
    Seen,
    Thing,
    draw,
    is_on_picture,
    style_of,
)

N_FRAMES, FRAME_S = 8, 0.6
DURATION_S = N_FRAMES * FRAME_S
SEEN_SHARE = 0.35
"""What shows less of itself than this counts as not in view."""
KINDS = ("partner", "side", "order", "moving")


@dataclass(frozen=True, slots=True)
class VideoScenario:
    """All that a clip follows from."""

    split: Split
    kind: str
    """Which question is asked."""
    shapes: tuple[tuple[str, str], ...]
    """Colour and shape of each thing; no two have the same colour."""
    bodies: tuple[Body, ...]
    asked: tuple[int, ...]
    """The things that the question names."""
    screens: tuple[tuple[float, float, float], ...] = ((0.0, 1.2, 1.3),)
    """Where each screen stands, x and y, and how wide it is, in metres."""
    blend: float = 0.0
    """How far table and wall are changed."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> VideoScenario:
        """Out of what `as_json` wrote."""
        return cls(
            value["split"],
            value["kind"],
            tuple((c, s) for c, s in value["shapes"]),
            tuple(Body(**body) for body in value["bodies"]),
            tuple(value["asked"]),
            tuple((x, y, w) for x, y, w in value["screens"]),
            value["blend"],
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def name(self, index: int) -> str:
        """*red ball*."""
        return " ".join(self.shapes[index])


def draft_video(rng: np.random.Generator, split: Split, index: int) -> VideoScenario:
    """A clip of four things: one rolls towards another, one comes in from outside, one may rest behind a screen."""
    colours = rng.permutation(COLOURS[split])
    shapes = [str(s) for s in rng.permutation(SHAPES[split])] + [str(rng.choice(SHAPES[split]))]
    kind = KINDS[index % len(KINDS)]
    places = _spots(rng)
    target = int(rng.integers(1, 3))
    aim = np.array(places[target]) - places[0] + rng.normal(0, 0.12, 2)
    push = aim / np.hypot(*aim) * rng.uniform(1.1, 2.0)
    side = float(rng.choice([-1.0, 1.0]))
    depth = float(rng.uniform(0.5, 3.6))
    bodies = [
        Body(*places[0], float(push[0]), float(push[1]), float(rng.uniform(0.1, 1.6))),
        Body(*places[1]),
        Body(*places[2]),
        Body(
            side * 5.2,
            depth,
            -side * float(rng.uniform(1.6, 2.4)),
            float(rng.uniform(-0.3, 0.3)),
            float(rng.uniform(0, 1.4)),
        ),
    ]
    named = {
        "partner": (0,),
        "side": (0, target),
        "order": (3, 0),
        "moving": (int(rng.choice([0, target, 3])),),
    }
    screen = (float(rng.uniform(-1.6, 1.6)), float(rng.uniform(0.5, 1.6)), float(rng.uniform(1.0, 1.5)))
    rounded = tuple(
        Body(*(round(v, 3) for v in (b.x_m, b.y_m, b.vx_m_s, b.vy_m_s, b.start_s))) for b in bodies
    )
    return VideoScenario(
        split,
        kind,
        tuple((str(c), s) for c, s in zip(colours, shapes, strict=True)),
        rounded,
        named[kind],
        (tuple(round(v, 3) for v in screen),),  # type: ignore[arg-type]  # three numbers
    )


def _spots(rng: np.random.Generator) -> list[tuple[float, float]]:
    """Three places that are a metre apart at least."""
    while True:
        found = [(float(rng.uniform(-2.3, 2.3)), float(rng.uniform(0.4, 3.8))) for _ in range(3)]
        gaps = [np.hypot(a[0] - b[0], a[1] - b[1]) for i, a in enumerate(found) for b in found[:i]]
        if min(gaps) > 1.1:
            return found


def video_episode(scenario: VideoScenario, name: str) -> Episode:
    """Simulates, draws, and asks."""
    motion = simulate(scenario.bodies, DURATION_S, radius_m=RADIUS_M)
    shots = [_shot(scenario, motion, i * FRAME_S) for i in range(N_FRAMES)]
    frames = tuple(shot for shot, _ in shots)
    actions = tuple(sorted(_actions(scenario, motion), key=lambda a: (a.start_s, a.verb, a.subject)))
    task, answer, options = _question(scenario, actions, frames)
    return Episode(
        name,
        task,
        frames,
        answer=answer,
        options=options,
        actions=actions,
        known=dict.fromkeys(ASPECTS, "complete"),
        vocabulary={
            "objects": (*SHAPES["in-distribution"], *SHAPES["ood"], "screen", "table"),
            "actions": ("enter", "leave", "collide", "move"),
        },
        world="video",
        split=scenario.split,
        difficulty={
            "frames": float(len(frames)),
            "objects": float(len(scenario.shapes)),
            "options": float(len(options)),
            "events": float(_n_events(actions)),
            "visible share": float(np.mean([s.share for _, seen in shots for s in seen.values()])),
        },
        cluster=name,
        meta={"scenario": scenario.as_json(), "kind": scenario.kind},
    )


def _shot(scenario: VideoScenario, motion: Motion, time_s: float) -> tuple[Frame, dict[str, Seen]]:
    """The picture of a moment and its truth."""
    places = motion.places_m[motion.moment(time_s)]
    things = [
        Thing(f"{c}-{s}", s, c, float(x), float(y))
        for (c, s), (x, y) in zip(scenario.shapes, places, strict=True)
    ]
    panels = [
        Thing(f"screen-{i + 1}", "screen", "grey", x, y, w) for i, (x, y, w) in enumerate(scenario.screens)
    ]
    pixels, seen = draw([*things, *panels], *style_of(scenario.blend))
    objects = []
    for i, thing in enumerate((*things, *panels)):
        shown = seen[thing.id]
        is_visible = shown.share >= SEEN_SHARE and shown.box is not None
        states = {} if thing.shape == "screen" else {"moving": motion.is_moving(time_s, i)}
        objects.append(
            SceneObject(
                thing.id,
                thing.shape,
                shown.box if is_visible else None,
                is_visible,
                {"colour": thing.colour},
                states,
                (round(thing.x_m, 4), round(thing.y_m, 4), 0.0),
            )
        )
    objects.append(SceneObject("table", "table"))
    relations = tuple(Relation(o.id, "on", "table") for o in objects[:-1])
    shot = Frame(round(time_s, 3), Picture.from_array(pixels), SIZE_PX, tuple(objects), relations, CAMERA)
    return shot, {thing.id: seen[thing.id] for thing in things}


def _actions(scenario: VideoScenario, motion: Motion) -> Iterator[Action]:
    """Collisions, told of both sides; things that come into the picture and go out of it; stretches of motion."""
    ids = [f"{c}-{s}" for c, s in scenario.shapes]
    for when, first, second in motion.collisions:
        if all(is_on_picture(*motion.places_m[motion.moment(when), i]) for i in (first, second)):
            yield Action("collide", ids[first], (ids[second],), when, when)
            yield Action("collide", ids[second], (ids[first],), when, when)
    times = np.arange(len(motion.places_m)) * (DURATION_S / (len(motion.places_m) - 1))
    for i, thing in enumerate(ids):
        inside = [is_on_picture(*place) for place in motion.places_m[:, i]]
        for k in np.flatnonzero(np.diff(np.asarray(inside, int))):
            when = round(float(times[k + 1]), 3)
            yield Action("enter" if inside[k + 1] else "leave", thing, (), when, when)
        moving = np.array([s > STILL_M_S for s in motion.speeds_m_s[:, i]], int)
        edges = np.flatnonzero(np.diff(np.concatenate(([0], moving, [0]))))
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            yield Action(
                "move", thing, (), round(float(times[a]), 3), round(float(times[min(b, len(times) - 1)]), 3)
            )


def _question(
    scenario: VideoScenario, actions: Sequence[Action], frames: Sequence[Frame]
) -> tuple[str, str, tuple[str, ...]]:
    """What is asked, the answer (empty if it has none), and the options."""
    ids = [f"{c}-{s}" for c, s in scenario.shapes]
    names = [scenario.name(i) for i in range(len(ids))]
    first = scenario.asked[0]
    if scenario.kind == "partner":
        hits = [a.objects[0] for a in actions if a.verb == "collide" and a.subject == ids[first]]
        others = tuple(sorted(names[i] for i in range(len(ids)) if i != first))
        answer = names[ids.index(hits[0])] if hits else "nothing"
        return f"What does the {names[first]} collide with first?", answer, (*others, "nothing")
    if scenario.kind == "moving":
        end = frames[-1].find(ids[first])
        answer = "" if end is None or not end.is_visible else ("yes" if end.states["moving"] else "no")
        return f"Is the {names[first]} moving in the last frame?", answer, ("yes", "no")
    second = scenario.asked[1]
    if scenario.kind == "side":
        a, b = (frames[-1].find(ids[i]) for i in (first, second))
        answer = ""
        if a and b and a.box and b.box and abs(a.box.centre_px[0] - b.box.centre_px[0]) > 12:
            answer = "left" if a.box.centre_px[0] < b.box.centre_px[0] else "right"
        return (
            f"In the last frame, is the {names[first]} left or right of the {names[second]}?",
            answer,
            ("left", "right"),
        )
    enters = [a.start_s for a in actions if a.verb == "enter" and a.subject == ids[first]]
    hits_s = [a.start_s for a in actions if a.verb == "collide" and a.subject == ids[second]]
    options = (f"the {names[first]} comes in", f"the {names[second]} collides")
    answer = (
        ""
        if not enters or not hits_s or abs(enters[0] - hits_s[0]) < FRAME_S
        else options[enters[0] > hits_s[0]]
    )
    return f"What happens first: {options[0]}, or {options[1]}?", answer, options


def is_good_video(scenario: VideoScenario, wanted: int) -> bool:
    """Whether a draft is worth drawing: a collision in view, two to four events, and the answer that is wanted."""
    motion = simulate(scenario.bodies, DURATION_S, radius_m=RADIUS_M)
    actions = sorted(_actions(scenario, motion), key=lambda a: (a.start_s, a.verb, a.subject))
    if not any(a.verb == "collide" for a in actions) or not 2 <= _n_events(actions) <= 4:
        return False
    needs_last = scenario.kind in {"side", "moving"}
    last = _shot(scenario, motion, (N_FRAMES - 1) * FRAME_S)[0] if needs_last else Frame(0.0)
    _, answer, options = _question(scenario, actions, [last])
    return answer == options[wanted % len(options)]


def _n_events(actions: Sequence[Action]) -> int:
    """Comings and goings, and collisions, which are told of both sides."""
    told = [a.verb for a in actions]
    return told.count("enter") + told.count("leave") + told.count("collide") // 2


def move_video(
    scenario: VideoScenario, rng: np.random.Generator, magnitude: float
) -> tuple[VideoScenario, str, float] | None:
    """One thing that is asked for starts elsewhere, `magnitude` times four metres away; the physics runs anew."""
    for _ in range(60):
        i = int(rng.choice([k for k in range(len(scenario.bodies)) if k in scenario.asked and k != 3] or [1]))
        angle = rng.uniform(0, 2 * np.pi)
        body = scenario.bodies[i]
        x = round(body.x_m + 4 * magnitude * float(np.cos(angle)), 3)
        y = round(body.y_m + 4 * magnitude * float(np.sin(angle)), 3)
        others = [b for k, b in enumerate(scenario.bodies) if k != i]
        is_free = all(np.hypot(x - b.x_m, y - b.y_m) > 2.2 * RADIUS_M for b in others)
        if abs(x) <= 2.5 and 0.3 <= y <= 3.9 and is_free:
            bodies = tuple(replace(b, x_m=x, y_m=y) if k == i else b for k, b in enumerate(scenario.bodies))
            return replace(scenario, bodies=bodies), "-".join(scenario.shapes[i]), magnitude
    return None


def hide_video(scenario: VideoScenario, rng: np.random.Generator, magnitude: float) -> VideoScenario:
    """One more screen before a thing that is asked for, as wide as half a metre plus twice the magnitude."""
    i = int(rng.choice([k for k in scenario.asked if k != 3] or [0]))
    motion = simulate(scenario.bodies, DURATION_S, radius_m=RADIUS_M)
    x, y = motion.places_m[motion.moment(DURATION_S - FRAME_S), i]
    scale = (y - 0.55 - CAMERA.y_m) / (y - CAMERA.y_m)  # on the line of sight
    panel = (round(float(x * scale), 3), round(float(y - 0.55), 3), round(0.5 + 2 * magnitude, 3))
    return replace(scenario, screens=(*scenario.screens, panel))


def answer_video(scenario: VideoScenario, episode: Episode) -> str:
    """The answer as the episode's frames and actions now are."""
    return _question(scenario, episode.actions, episode.frames)[1]


def restyle_video(scenario: VideoScenario, magnitude: float) -> VideoScenario:
    """Another table and another wall."""
    return replace(scenario, blend=magnitude)
