"""A question type is one record: a type that does not exist, appended to the others, works everywhere."""

import subprocess
import sys

import pytest

from theodolite.instruments.grid.data.batch import hash_scenes
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import ALL_ASKS, BUCKET_KEYS, BUCKETS, TYPES

RECORD = """
    QuestionType(
        "NO",
        "asked for absence",
        (Asks(("are", "there", "no"), is_yes=lambda n: n[:, 0] == 0, draw=_draw_existing),),
        (1, 2),
    ),
)
\"\"\"All question types."""

WITH_RECORD = f"""
import sys
from importlib.util import find_spec, module_from_spec

name = "theodolite.instruments.grid.data.question_types"
spec = find_spec(name)
source = open(spec.origin, encoding="utf-8").read()
changed = source.replace(')\\n\"\"\"All question types.', {RECORD!r}[1:])
assert changed != source
sys.modules[name] = module = module_from_spec(spec)
exec(compile(changed, spec.origin, "exec"), module.__dict__)
"""

CHECKS = '''
import numpy as np
from theodolite.core.types import Picture, Request
from theodolite.instruments.grid.data.audit import audit
from theodolite.instruments.grid.data.batch import bag_of_words, hash_scenes
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, read_dataset, write_dataset
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS, BUCKETS, MOST_ANCHORS
from theodolite.instruments.grid.data.recipe import PRESETS, guarantee_of
from theodolite.instruments.grid.data.world import render
from theodolite.instruments.grid.data.world import COLOURS, SHAPES, class_name
from theodolite.instruments.grid.data.question_types import read_questions, words_of
from theodolite.instruments.grid.questions import plan_edits, prompt_of
from theodolite.models import open_model

assert BUCKET_KEYS[-2:] == ("NO-F0-D1", "NO-F0-D2")
print(*BUCKET_KEYS[:-2])
print(*hash_scenes(*(lambda s: (s.cells, s.words))(generate(BUCKET_KEYS[:-2], 2, seed=5))))


def is_there(text, cells):
    """Return whether an object is where the question asks for one, found by hand."""
    target, _, rest = text.removeprefix("Are there no ").rstrip("?").partition("s ")
    place = {class_name(int(c)): divmod(i, 5) for i, c in enumerate(cells) if c}
    for i, c in enumerate(cells):
        row, column = divmod(i, 5)
        holds = class_name(int(c)) == target
        for relation in rest.split(" and "):
            words = relation.split()
            y, x = place[" ".join(words[-2:])]
            holds &= {"left": column < x, "right": column > x, "above": row < y, "below": row > y}[words[0]]
        if holds:
            return True
    return False


pure, bow = open_model("grid:symbolic-pure"), open_model("grid:symbolic-bow")
for preset in PRESETS:
    for mode in ("pure", "spur"):
        for key in ("NO-F0-D1", "NO-F0-D2"):
            scenes = generate(key, 12, mode=mode, density="dense", preset=preset, seed=3)
            texts = [scenes.text(i) for i in range(12)]
            read = read_questions(np.stack([words_of(text) for text in texts]))
            assert all((getattr(read, f) == getattr(scenes.questions, f)).all() for f in ("bucket", "targets", "anchors", "directions"))
            right = ["no" if is_there(text, cells) else "yes" for text, cells in zip(texts, scenes.cells)]
            assert [scenes.answer_text(i) for i in range(12)] == right and len(set(right)) == 2, (preset, mode, key)
            asks = BUCKETS[int(scenes.bucket[0])].asks
            asked = [Request.ask(Picture.from_array(p), prompt_of(t, asks)) for p, t in zip(render(scenes.world, scenes.cells), texts)]
            assert [each.text for each in pure.generate(asked)] == right
            words = [scenes.world.answers[i] for i in bag_of_words(scenes.world, scenes.cells, scenes.questions)]
            assert [each.text for each in bow.generate(asked)] == words
            assert mode == "pure" or words == right
            assert asks.options(scenes.world) == ("yes", "no")
            if mode == "pure":
                items = list(plan_edits(scenes, [str(i) for i in range(12)]))
                golds = {item.name: item.truth.golds for item in items}
                changed = [item for item in items if item.truth.edit in {"exchange", "move the target"}]
                assert changed and all(item.truth.golds != golds[item.truth.base] for item in changed)

assert guarantee_of(BUCKETS[-1], 17).by_answer == {"yes": "full", "no": "impossible"}
plan = DatasetPlan("pure", 8, 0, buckets=("NO-F0-D1", "NO-F0-D2"), densities=("dense",))
found = audit(read_dataset(write_dataset(make_dataset(plan), sys.argv[1])), n_permutations=9)
assert found.is_kept, found.faults
'''


def test_a_new_record_is_all_that_a_new_question_type_needs(tmp_path):
    code = WITH_RECORD + CHECKS
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "data")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    keys, hashes = run.stdout.splitlines()
    scenes = generate(BUCKET_KEYS, 2, seed=5)
    assert tuple(keys.split()) == BUCKET_KEYS
    assert hashes.split() == [str(h) for h in hash_scenes(scenes.cells, scenes.words)]


def test_the_published_types_are_nineteen_buckets_in_their_order():
    assert len(BUCKETS) == 19
    assert (BUCKET_KEYS[0], BUCKET_KEYS[5], BUCKET_KEYS[-1]) == ("A-F0-D1", "SO-F1-D2", "CMP-F0-D3")


@pytest.mark.parametrize("asks", ALL_ASKS, ids=lambda asks: " ".join(asks.head))
def test_every_record_says_how_its_numbers_are_drawn(asks):
    assert (asks.draw is None) == (asks.divide is not None) == (asks.sides > 1)
    assert asks.sides == 1 or asks.is_yes is not None


def test_no_two_types_have_the_same_key():
    assert len({kind.key for kind in TYPES}) == len(TYPES)
