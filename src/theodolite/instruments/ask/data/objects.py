"""Questions about objects with known boxes: is one there, and how many are there?

From COCO instances. For every object that is alone of its kind in a picture: "Is there a dog in the picture?", with the answer
yes; and the same question about another picture without one, with the answer no. For two to five objects of a kind: how many
there are. Where an object can be removed from the picture so that it looks right, the question is also asked about the picture
without it (`theodolite.pairs.pictures.remove`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import counted_problems
from theodolite.core.types import content_hash
from theodolite.instruments.ask.data.pictures import PictureFinder, Unusable
from theodolite.instruments.ask.data.question import Question, Removal
from theodolite.instruments.coco import AnnotatedPicture, Instance, Instances
from theodolite.pairs.pictures import Cutout
from theodolite.pairs.pictures.placing import fault_of

__all__ = ["object_questions"]

_SMALLEST = 0.01
"""The least share of the picture that an object covers."""
_LARGEST_COUNT = 5


def object_questions(
    instances: Instances, images: Path, *, seed: int = 0
) -> tuple[list[Question], Counter[str]]:
    """Make questions about the objects of annotated pictures, and count what is left out by reason.

    Args:
        instances: The annotations.
        images: The folder of the pictures.
        seed: Seed of the pictures in which an object is missing.

    Raises:
        UsageError: If there is no question.
    """
    unused: Counter[str] = Counter(counted_problems(instances.problems))
    finder = PictureFinder(images)
    questions = []
    for picture, name, answer, removed in _asked(instances, seed, unused):
        try:
            shown = finder.find(picture.file_name)
        except Unusable as error:
            unused[str(error)] += 1
            continue
        text = _how_many(name) if answer.isdigit() else _is_there(name)
        key = f"{Path(picture.file_name).with_suffix('').as_posix()}-{name}-{'count' if answer.isdigit() else 'there'}"
        removal = None if removed is None else _removal(picture, removed, answer)
        questions.append(Question(key.replace(" ", "_"), text, answer, (shown,), group=name, removal=removal))
    if not questions:
        lost = "; ".join(f"{n} × {reason}" for reason, n in unused.items())
        raise UsageError(f"there is no object to ask about in {images}{': ' + lost if lost else ''}")
    return questions, unused


def _asked(
    instances: Instances, seed: int, unused: Counter[str]
) -> Iterator[tuple[AnnotatedPicture, str, str, Instance | None]]:
    """Yield picture, name, right answer and the object to remove, if there is one."""
    without = _Absent(instances.pictures, seed)
    for picture in instances.pictures:
        for name, n in sorted(picture.counts.items()):
            some = picture.named(name)
            reason = _fault(name, some)
            if reason:
                unused[reason] += n
                continue
            removable = (each for each in some if _can_be_cut(picture, each))
            thing = next(removable, None)
            if n > 1:
                yield picture, name, str(n), thing
                continue
            yield picture, name, "yes", thing
            other = without.draw(name)
            if other is not None:
                yield other, name, "no", None


def _fault(name: str, some: Sequence[Instance]) -> str:
    """Why objects of one kind are not asked about; empty if they are."""
    if not name:
        return "an object of an unknown category"
    if any(each.is_crowd for each in some):
        return "a crowd"
    if len(some) > _LARGEST_COUNT:
        return f"more than {_LARGEST_COUNT} objects of a kind"
    if any(each.box is None or each.box_area < _SMALLEST for each in some):
        return "an object too small"
    return ""


def _can_be_cut(picture: AnnotatedPicture, thing: Instance) -> bool:
    """True if an object lies whole in the picture and nothing touches it. Whether it leaves a trace is seen when it is removed."""
    return thing.box is not None and fault_of(thing.box, picture.size_px, picture.other_boxes(thing)) is None


def _removal(picture: AnnotatedPicture, thing: Instance, answer: str) -> Removal:
    if thing.box is None:
        raise UsageError(f"the {thing.name} of {picture.file_name} has no box")
    after = str(int(answer) - 1) if answer.isdigit() else "no"
    return Removal(Cutout(thing.box, thing.outline), picture.other_boxes(thing), after)


class _Absent:
    """Draws pictures without an object, each picture at most once for each name."""

    def __init__(self, pictures: Sequence[AnnotatedPicture], seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(pictures))
        self._pictures: list[AnnotatedPicture] = [pictures[int(i)] for i in order]
        self._next: Counter[str] = Counter()

    def draw(self, name: str) -> AnnotatedPicture | None:
        """Return the next picture without an object of that name. None if there is none left."""
        start = int(content_hash(name)[:8], 16)  # other names start elsewhere, so that pictures take turns
        while self._next[name] < len(self._pictures):
            picture = self._pictures[(start + self._next[name]) % len(self._pictures)]
            self._next[name] += 1
            if name not in picture.counts and "" not in picture.counts:
                return picture
        return None


def _is_there(name: str) -> str:
    """Ask whether an object is there.

    >>> _is_there("dog"), _is_there("umbrella"), _is_there("scissors")
    ('Is there a dog in the picture? Answer yes or no.', 'Is there an umbrella in the picture? Answer yes or no.', \
'Are there scissors in the picture? Answer yes or no.')
    """
    is_plural = name.endswith("s") and not name.endswith(("ss", "us", "is"))
    article = "an" if name[:1].casefold() in "aeiou" else "a"
    start = f"Are there {name}" if is_plural else f"Is there {article} {name}"
    return f"{start} in the picture? Answer yes or no."


def _how_many(name: str) -> str:
    return f"How many objects of the kind \u201c{name}\u201d are in the picture? Answer with a number."
