"""A second, plain reading of the grid's questions: sentences taken apart as text, objects looped over one by one."""

import re

import numpy as np

from theodolite.instruments.grid.models.symbolic import hide_words, symbolic_counts

COLOURS = ["red", "green", "blue", "yellow"]
SHAPES = ["circle", "square", "triangle", "pentagon"]


def objects_of(batch, row):
    """(colour, shape, row, column) of every object, from the class ids."""
    found = []
    for cell, class_id in enumerate(batch.cells[row].tolist()):
        if class_id:
            colour, shape = divmod(class_id - 1, 4)
            found.append((COLOURS[colour], SHAPES[shape], *divmod(cell, batch.world.columns)))
    return found


def fits(thing, description):
    """Whether an object is what a phrase such as "red circles" or "square" names."""
    words = [word.removesuffix("s") for word in description.split()]
    return all(word == "object" or word in thing[:2] for word in words)


def stands(thing, direction, anchor):
    """Whether an object lies in a direction from another."""
    down, right = thing[2] - anchor[2], thing[3] - anchor[3]
    return {"left of": right < 0, "right of": right > 0, "above": down < 0, "below": down > 0}[direction]


def groups_of(question):
    """[(target phrase, [(direction, anchor phrase), …]), …] out of a sentence."""
    text = question.rstrip("?")
    text = re.sub(r"^(How many|Is there any|Are there more) ", "", text)
    groups = []
    for part in text.split(" than "):
        pieces = re.split(r"(left of|right of|above|below)", part)
        target = re.sub(r" (are|that is)\s*$", "", pieces[0].strip())
        relations = [
            (direction, re.sub(r"[, ]*(and)?\s*$", "", anchor).strip())
            for direction, anchor in zip(pieces[1::2], pieces[2::2], strict=True)
        ]
        groups.append((target, relations))
    return groups


def count(objects, target, relations):
    """How many objects fit a target and stand in every relation; anchors must be unique."""
    anchors = []
    for direction, phrase in relations:
        named = [thing for thing in objects if fits(thing, phrase)]
        assert len(named) == 1, f"{len(named)} objects fit the anchor {phrase}"
        anchors.append((direction, named[0]))
    return sum(fits(thing, target) and all(stands(thing, *anchor) for anchor in anchors) for thing in objects)


def answer(objects, question, *, drop=None, relations_count=True):
    """The answer in words; `drop` leaves out one relation of the whole question, counted from 0."""
    numbers, first = [], 0
    for target, relations in groups_of(question):
        kept = [r for i, r in enumerate(relations, first) if i != drop] if relations_count else []
        first += len(relations)
        numbers.append(count(objects, target, kept))
    if question.startswith("How many"):
        return str(numbers[0])
    is_yes = numbers[0] > numbers[1] if len(numbers) == 2 else numbers[0] > 0
    return "yes" if is_yes else "no"


def count_with_gaps(batch, row, cells_shown, words_shown, *, bag=False):
    """What a symbolic twin counts when objects and words are hidden: n, or n₁ − n₂ for a comparison."""
    objects = [
        thing for thing in objects_of(batch, row) if cells_shown[thing[2] * batch.world.columns + thing[3]]
    ]
    words = batch.text(row).lower().replace("?", " ?").replace(",", " ,").split()
    names = {c: c for c in COLOURS} | {s: s for s in SHAPES} | {s + "s": s for s in SHAPES}
    groups, description, direction = [], [], None
    for place, word in enumerate(words):
        if word in {"left", "right", "above", "below"}:
            direction = (
                (word + " of" if word in {"left", "right"} else word) if words_shown[place] else "hidden"
            )
        if word in names and words_shown[place]:
            description.append(names[word])
        if word.startswith("object") or names.get(word) in SHAPES:  # the noun ends its phrase
            if direction is None:
                groups.append((description, []))
            else:
                groups[-1][1].append((direction, description))
            description, direction = [], None
    numbers = []
    for target, relations in groups:
        held = []
        for said, phrase in relations:
            named = [thing for thing in objects if all(word in thing[:2] for word in phrase)]
            if said != "hidden" and len(named) == 1 and not bag:
                held.append((said, named[0]))
        numbers.append(
            sum(
                all(w in thing[:2] for w in target) and all(stands(thing, *anchor) for anchor in held)
                for thing in objects
            )
        )
    return numbers[0] - numbers[1] if len(numbers) == 2 else numbers[0]


def symbolic_game(batch, row, logic):
    """The number of targets that a symbolic model counts in one scene, with only some cells and words shown."""

    def value(cell_mask, word_mask):
        cells = np.where(cell_mask, batch.cells[row], 0).astype(np.uint8)
        counts = symbolic_counts(batch.world, cells, hide_words(batch, row, word_mask), logic=logic)
        return (counts[:, 0] - counts[:, 1]).astype(float)

    return value
