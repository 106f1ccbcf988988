"""A small world of coloured things for the tests of trace: exact truth, and sentences that are true of it."""

import numpy as np

from theodolite.core.scores import ItemScore
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.experiments.grounding import TraceGroup
from theodolite.instruments.trace.formulas.sgr import AS_PAPER
from theodolite.instruments.trace.score import of_trace
from theodolite.worlds.episodes import Episode, Frame, FrameObject, Pose

COLOURS = {"red": (220, 40, 40), "blue": (40, 40, 220), "green": (40, 180, 40), "yellow": (230, 210, 40)}
SHAPES = ("ball", "cube", "cone")
KNOWN = {
    "objects": "complete",
    "boxes": "complete",
    "attributes": "complete",
    "relations": "complete",
    "actions": "complete",
    "poses": "none",
}
SIZE = (100, 60)


def thing(name, colour, category, x, y=20, **more):
    return FrameObject(name, category, Box(x, y, x + 10, y + 10), attributes={"colour": colour}, **more)


def drawn(objects):
    pixels = np.full((SIZE[1], SIZE[0], 3), 245, np.uint8)
    for o in objects:
        if o.is_visible:
            b = o.box
            pixels[int(b.y0) : int(b.y1), int(b.x0) : int(b.x1)] = COLOURS[o.attributes["colour"]]
    return Picture.from_array(pixels)


def make_episode(seed, *, n_frames=4, split="in-distribution", prefix="e", move=0.0):
    """Two things whose places change from frame to frame; asked which side the first is on at the end."""
    rng = np.random.default_rng([seed, 7])
    colours = rng.permutation(sorted(COLOURS))[:2]
    shapes = rng.permutation(SHAPES)[:2]
    frames, lines = [], []
    for t in range(n_frames):
        x = int(rng.integers(5, 40)) if rng.random() < 0.5 else int(rng.integers(60, 85))
        if move and t >= n_frames // 2:
            x = 90 - x - 10 + 0
        objects = (thing("a", colours[0], shapes[0], x), thing("b", colours[1], shapes[1], 45 + (t % 2), 40))
        frames.append(Frame(float(t), drawn(objects), SIZE, objects))
        side = "left" if x < 45 else "right"
        lines.append(
            f"Step {t + 1} (frame {t + 1}): The {colours[0]} {shapes[0]} is {side} of the {colours[1]} {shapes[1]}."
        )
    answer = side
    oracle = "\n".join([*lines, f"Final answer: {answer}"])
    return Episode(
        f"{prefix}{seed}",
        f"Is the {colours[0]} {shapes[0]} left or right of the {colours[1]} {shapes[1]} at the end?",
        tuple(frames),
        answer=answer,
        options=("left", "right"),
        known=KNOWN,
        world="toy",
        split=split,
        vocabulary={"objects": SHAPES},
        meta={"oracle": oracle},
    )


def group_of(judged, moves=()):
    """Judged traces as one group of the main tables."""
    scores = [
        ItemScore(f"{trace.trace.episode}#{i}", f"trace.{key}", value, trace.unit, reason=reason)
        for i, trace in enumerate(judged)
        for key, value, reason in of_trace(trace, [], AS_PAPER)
    ]
    return TraceGroup(("test",), scores, list(judged), list(moves))


def navigation():
    """A chair behind on the left; after a turn to the left it is still on the left, ahead."""
    chair = FrameObject("c", "chair", attributes={"colour": "red"}, position_m=(-4.0, -2.5, 0.0))
    poses = (Pose(0, 0, heading_deg=0), Pose(0, 0, heading_deg=-90))
    frames = tuple(Frame(float(t), objects=(chair,), pose=pose) for t, pose in enumerate(poses))
    return Episode(
        "nav", "?", frames, known={"objects": "complete", "attributes": "complete", "poses": "complete"}
    )


def claimed(text, episode):
    return with_claims([read_trace(text, episode)])[0]
