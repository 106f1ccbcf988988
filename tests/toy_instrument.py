"""A small instrument of the tests' own: it counts dots, and asks again with a dot removed, and when the picture is blank."""

from contextlib import contextmanager

import numpy as np
import pytest

from theodolite.answers import AnswerFormat
from theodolite.answers.grading import read_item
from theodolite.core.registry import Entry, registry
from theodolite.core.scores import ItemScore, Metric
from theodolite.core.types import Item, Message, Picture, Request, Truth
from theodolite.instruments.instrument import Instrument, RunPlan
from theodolite.models import ask_measurer
from theodolite.pairs.outcomes import REMOVE


class Toy(Instrument):
    """Does it count what the picture shows?"""

    name = "toy"
    question = "Does it count what the picture shows?"
    run_kinds = ("toy",)
    metrics = (
        Metric("toy.right", "the count is right", True, "ours", "text"),
        Metric("toy.changes", "the count changes when the picture is blank", True, "ours", "text"),
    )

    def plan(self, study, gives):
        n = {"quick": 13, "standard": 20, "large": 40}.get(study.size, study.size)
        items = [item for split in study.splits for i in range(n) for item in asked(split, i, study.seed)]
        yield RunPlan("toy", "toy", {"n": n}, lambda _: items, ask_measurer)

    def score(self, run):
        read = {r.item.name: read_item(r.item, r.record) for r in run.results()}
        scores = []
        for r in run.results():
            if r.item.truth.is_plain:
                name, truth, plain = r.item.name, r.item.truth, read[r.item.name]
                blank = read[name.replace("plain", "blank")]
                right = float(plain.value == float(truth.golds[0])) if plain.is_read else None
                changes = float(plain.value != blank.value) if plain.is_read and blank.is_read else None
                for key, value in (("toy.right", right), ("toy.changes", changes)):
                    reason = "" if value is not None else "not read"
                    scores.append(ItemScore(name, key, value, truth.cluster, truth.split, reason=reason))
        return scores


def asked(split, number, seed):
    """One picture as it is, with a dot removed, and blank."""
    gold = 4 + number % 5
    pixels = np.full((40, 40, 3), 235, np.uint8)
    blank = pixels.copy()
    places = np.random.default_rng([seed, number, len(split)]).permutation(1600)[:gold]
    pixels.reshape(-1, 3)[places] = 0
    removed = pixels.copy()
    removed.reshape(-1, 3)[places[0]] = 235
    true = gold
    for condition, shown in (("plain", pixels), ("removed", removed), ("blank", blank)):
        gold = true - 1 if condition == "removed" else true
        about = {} if condition != "removed" else {"edit": REMOVE.name, "base": f"{split}-{number}/plain"}
        truth = Truth(
            (str(gold),),
            AnswerFormat.count(),
            cluster=f"{split}-{number}",
            split=split,
            condition=condition,
            **about,
        )
        words = f"Item {split} {number}: how many dots? Answer with a number alone."
        message = Message.user(Picture.from_array(shown), words)
        name = f"{split}-{number}/{condition}"
        yield Item(name, Request((message,), max_tokens=8, ref=name, hint={"gold": str(gold)}), truth=truth)


TOY = Toy()


@contextmanager
def registered(*instruments):
    """Lets instruments be found under their names, as if a plug-in had registered them."""
    with pytest.MonkeyPatch.context() as patch:
        for each in instruments:
            entry = Entry(
                "instrument", each.name, f"{__name__}:{each.name.upper()}", each.question, origin="tests"
            )
            patch.setitem(registry()._entries, ("instrument", each.name), entry)
        yield
