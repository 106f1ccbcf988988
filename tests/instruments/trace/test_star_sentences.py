"""Sentences about real frames of STAR, written by hand from their annotations, and how each must be judged.

A sentence is supported if all its claims are, and unsupported if one of them is.
"""

import pytest

from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.types import Step, Trace
from theodolite.instruments.trace.data.sources.star import read_star
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier

SENTENCES = """
0TXYV 000184
  + The person is holding a phone.
  + The person is drinking from a bottle.
  + The table is in front of the person.
  + The book is in front of the person.
  + There is a table.
  + There is a person.
  ? The person is behind the table.
  + The person is to the left of the table.
  + The book is to the right of the person.
  + The cup is above the phone.
  ? The person is in front of the table.
  - The table is behind the person.
  - The book is behind the person.
  - The phone is behind the person.
  - The person is to the right of the table.
  - The table is to the left of the person.
  - The phone is above the cup.
0TXYV 000306
  + The person is holding a phone.
  + The phone is in front of the person.
  - The phone is behind the person.
  ? There is a book.
  + The woman is holding a phone.
  ? The person is drinking from a bottle.
0TXYV 000523
  + The bottle is next to the person.
  + The bottle is to the right of the phone.
  - The bottle is to the left of the phone.
0TXYV 000669
  + The bottle is behind the person.
  ? The person is in front of the bottle.
  - The bottle is in front of the person.
  ? The person is behind the bottle.
  + The person is to the right of the bottle.
  - The bottle is to the right of the person.
  ? There is a phone.
G2AMK 000247
  + The person is standing on the floor.
  + The floor is beneath the person.
  + The floor is under the person.
  + The person is on the floor.
  + The person is above the floor.
  - The person is under the floor.
  - The woman is under the floor.
  - The floor is above the person.
  - The person is sitting on the floor.
  - The person is lying on the floor.
  - The person is lying down.
  + The clothes are beside the person.
G2AMK 000054
  + The person is holding a blanket.
  + The blanket is in front of the person.
  - The blanket is behind the person.
G2AMK 000112
  + The blanket is behind the person.
  - The blanket is in front of the person.
  + The clothes are in front of the person.
  ? The person is in front of the clothes.
G2AMK 000157
  + The person is holding the clothes.
G2AMK 000386
  + The person is touching the door.
  + The door is near the person.
G2AMK 000341
  + The door is in front of the person.
  + The person is to the left of the door.
  - The door is to the left of the person.
  ? The person is in front of the door.
M6ERH 000079
  + The food is above the person.
  + The person is below the food.
  - The person is above the food.
  - The food is below the person.
  + The person is holding food.
M6ERH 000906
  + The food is behind the person.
  - The food is in front of the person.
M6ERH 000875
  + The food is to the right of the person.
  - The food is to the left of the person.
EK19H 000212
  + The person is eating a sandwich.
  + The person is eating food.
  + The person is holding a dish.
  ? The person is holding a plate.
  + The man is eating a sandwich.
  + The dish is below the person.
  - The person is below the dish.
  - The dish is above the person.
EK19H 000169
  + The food is beneath the person.
  - The person is beneath the food.
  - The food is above the person.
EK19H 000549
  ? There is a dish.
EK19H 000456
  + There is a sandwich.
  + The person is holding a sandwich and a dish.
  + The sandwich is above the dish.
  - The dish is above the sandwich.
  - The sandwich is behind the person.
EK19H 000549
  + The food is to the right of the person.
  - The food is to the left of the person.
M6ERH 000520
  + The person is holding food.
  - The food is behind the person.
"""
LABELS = {"+": "supported", "-": "unsupported", "?": "unverifiable"}


def sentences():
    """Video, frame, text and expected label of each sentence."""
    place = ()
    for line in SENTENCES.strip().splitlines():
        if line[0] != " ":
            place = tuple(line.split())
        else:
            mark, text = line.split(maxsplit=1)
            yield (*place, text, LABELS[mark])


@pytest.fixture(scope="module")
def frames(shared_data):
    """Each annotated frame, with an episode that has it."""
    found = {}
    for episode in read_star(shared_data / "star", video_fps=30).episodes:
        for place, frame in enumerate(episode.frames):
            found.setdefault((episode.unit, f"{frame.number:06d}"), (episode, place))
    return found


def test_real_frames_are_judged_as_a_person_would(frames):
    said = list(sentences())
    traces, episodes = [], {}
    for number, (video, frame, text, _) in enumerate(said):
        episode, place = frames[video, frame]
        episodes[str(number)] = episode
        traces.append(Trace(str(number), (Step(text, (place,), "index"),)))
    wrong = []
    for (video, frame, text, expected), trace in zip(
        said, judge(with_claims(traces), episodes, open_verifier("annotation")), strict=True
    ):
        labels = {verdict.label for _, verdict in trace.steps[0].counted()}
        found = "unsupported" if "unsupported" in labels else " and ".join(sorted(labels))
        if found != expected:
            wrong.append(f"{video} {frame}: {text} is {found}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_there_are_enough_sentences_of_each_kind():
    expected = [label for *_, label in sentences()]
    assert len(expected) >= 80
    assert min(map(expected.count, ("supported", "unsupported"))) >= 30
    assert expected.count("unverifiable") >= 10
