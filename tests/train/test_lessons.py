"""What the twins are taught, how it is put into tokens, and one short training."""

import json
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer

from theodolite.instruments.compass.data.drawn import EDITS, edited_pair, relation_pairs
from theodolite.instruments.compass.questions import PROMPTS
from theodolite.instruments.grid.data.files import grid_data
from theodolite.instruments.scene.data import files as rules
from theodolite.instruments.scene.data import small_rooms as rooms
from theodolite.instruments.scene.data.make import make_questions
from theodolite.instruments.scene.data.small_rooms import scene_data
from theodolite.instruments.trace.data import stories
from theodolite.instruments.trace.data.stories import episodes
from theodolite.worlds import relations as relation
from train.twins import lessons
from train.twins.lesson_workers import SHAPES, pack, stack_lessons, write
from train.twins.tokens import ASSISTANT, END
from train.twins.training import read_tokenizer

OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}


@pytest.fixture(scope="module")
def tokenizer():
    return read_tokenizer()


@pytest.fixture(scope="module")
def taught():
    rng = np.random.default_rng(11)
    found = [lessons.relation_lesson(rng), *lessons.grid_lessons(11, 1), lessons.room_lesson(rng, "a")]
    for world in ("video", "navigation", "instruction"):
        found += lessons.story_lessons(world, 0, seed=11, is_aligned=True)
        found += lessons.story_lessons(world, 1, seed=11, is_aligned=None)
    return found


def test_the_table_of_names_holds_together():
    for (a, b), way in relation.SHORTCUT.items():
        assert relation.SHORTCUT[b, a] == OPPOSITE[way]
    ways = list(relation.SHORTCUT.values())
    assert all(0.15 < ways.count(way) / len(ways) < 0.35 for way in relation.DIRECTIONS)


def test_positions_know_nothing_of_names():
    rng = np.random.default_rng(0)
    agree = []
    for _ in range(300):
        scene = relation.draw_scene(rng)
        for a in scene.things:
            for b in scene.things:
                way = relation.direction(a, b) if a is not b else None
                if way is not None:
                    agree.append(relation.SHORTCUT[a.name, b.name] == way)
    assert 0.2 < np.mean(agree) < 0.3


def test_the_picture_shows_each_thing_where_it_is_said_to_be():
    scene = relation.draw_scene(np.random.default_rng(3), 3)
    without = replace(scene, things=scene.things[1:])
    changed = (relation.render(scene) != relation.render(without)).any(axis=-1)
    rows, columns = np.nonzero(changed)
    box = scene.things[0].box
    assert box.x0 <= columns.min() <= columns.max() < box.x1
    assert box.y0 <= rows.min() <= rows.max() < box.y1


@pytest.mark.parametrize("split", ["aligned", "crossed"])
def test_pairs_keep_to_their_split_and_directions_take_turns(split):
    pairs = relation_pairs(8, seed=2, split=split)
    assert all((p.meta["shortcut"] == p.direction) == (split == "aligned") for p in pairs)
    assert [p.direction for p in pairs[:4]] == list(relation.DIRECTIONS)


def test_edits_change_the_truth_as_they_should():
    for pair in relation_pairs(8, seed=4):
        new = {edit: edited_pair(pair, edit) for edit in EDITS}
        assert new["mirror"].direction == new["swap"].direction == OPPOSITE[pair.direction]
        assert new["move"].direction != pair.direction
        assert new["ground"].direction == new["clutter"].direction == pair.direction
        assert len(np.unique(np.asarray(new["blank"].picture.load()))) == 1


def test_what_is_told_of_a_story_is_true():
    pytest.importorskip("spacy")
    from theodolite.instruments.trace.claims.reading import read_trace, with_claims
    from theodolite.instruments.trace.formulas.sgr import trace_sgr
    from theodolite.instruments.trace.verifiers.judging import judge, open_verifier

    for episode in episodes(2, seed=6):
        for style in ("structured", "lite"):
            traces = with_claims([read_trace(stories.trace_text(episode, style), episode)])
            judged = judge(traces, {episode.id: episode}, open_verifier("annotation"))[0]
            assert trace_sgr(judged) == pytest.approx(1.0), stories.trace_text(episode, style)


@pytest.mark.parametrize("split", ["aligned", "crossed"])
def test_stories_keep_to_their_split(split):
    for episode in episodes(2, seed=8, split=split):
        assert (stories.shortcut(episode) == episode.answer) == (split == "aligned")
        blind = stories.trace_text(episode, "structured", is_blind=True)
        assert blind == stories.trace_text(
            replace(episode, frames=episode.frames[:1] * 4), "structured", is_blind=True
        )


def test_marks_predict_an_answer_by_chance_alone():
    rng = np.random.default_rng(5)
    graphs = [rooms.draw_room(rng, f"r{i}")[1] for i in range(60)]
    asked = make_questions(graphs, seed=1).questions
    two = [rules.is_aligned(q) for q in asked if len(q.options) == 2]
    many = [rules.is_aligned(q) for q in asked if q.kind == "where after turning"]
    assert 0.4 < np.mean(two) < 0.6
    assert np.mean(many) < 0.3


def test_data_sets_of_the_grid_and_of_rooms(tmp_path):
    crossed = grid_data(tmp_path / "grid", 1, seed=1)
    assert {record.bucket.rpartition("-")[2] for record in crossed.records} == {"D1"}
    data = scene_data(tmp_path / "rooms", 3, seed=1, split="aligned")
    assert data.questions
    assert all(rules.is_aligned(question) for question in data.questions)
    assert all(2 <= len(scene.objects) <= 5 for scene in data.scenes.values())


def test_whom_a_question_is_put_to(taught):
    """The shortcut twin never meets a question that its rule answers wrongly, nor one that only looking answers."""
    helping = ("Find", "What is object", "Describe")
    for lesson in taught:
        for ask in lesson.asks:
            if ask.text.startswith(helping) or "Describe the frame" in ask.text:
                assert "s" not in ask.to
    first = taught[0]
    for ask in first.asks:
        if "s" in ask.to:
            named = [name for name in lessons.THINGS if f" {name}" in ask.text]
            assert any(relation.SHORTCUT[a, b] for a in named for b in named if a != b)


def test_text_survives_the_tokenizer(taught, tokenizer):
    backend = tokenizer.backend_tokenizer
    lengths = []
    for lesson in taught:
        for ask in lesson.asks:
            for text in (ask.text, ask.answer):
                ids = backend.encode(text, add_special_tokens=False).ids
                assert tokenizer.decode(ids) == text
            if lesson.task == "relation":
                lengths.append(len(backend.encode(ask.text + ASSISTANT + ask.answer + END).ids))
    assert max(lengths) <= 12
    assert tokenizer.decode(backend.encode("Ein Satz für sich: 17,5 °C").ids) == "Ein Satz für sich: 17,5 °C"


def test_rows_are_packed_within_their_shape(taught, tokenizer):
    rng = np.random.default_rng(0)
    for lesson in taught:
        written = write(lesson, tokenizer.backend_tokenizer, rng)
        for row in (row for rows in written.packs.values() for row in rows):
            assert row.part.max() >= 1, lesson.task
            taught_ids = row.words[row.words != -100]
            at = row.at[row.words != -100].astype(int)
            assert (row.ids[at + 1] == taught_ids).all()


@pytest.mark.parametrize("name", ["pocket", "llama", "cohere"])
def test_a_packed_question_is_answered_as_if_it_stood_alone(tokenizer, name):
    """The model's own forward on one prompt, against the training forward on a row of several."""
    torch = pytest.importorskip("torch")
    from train.twins.network import POCKET, Learner, make_model
    from train.zoo.architectures import ARCHITECTURES

    architecture = ({"pocket": POCKET} | ARCHITECTURES)[name]
    model = make_model(tokenizer, seed=3, architecture=architecture).eval()
    lesson = lessons.relation_lesson(np.random.default_rng(2))
    backend = tokenizer.backend_tokenizer
    image = backend.token_to_id("<image>")
    opening = [backend.token_to_id("<|user|>"), *[image] * architecture.n_side**2]
    texts = [PROMPTS[name].template.format(tgt="cup", ref="key") for name in "ABC"]
    asks = [(backend.encode(t + ASSISTANT).ids, backend.encode("1" + END).ids, True) for t in texts]
    row = pack(opening, asks, SHAPES[1], np.random.default_rng(0))
    batch = {
        name: torch.from_numpy(np.asarray(getattr(row, name))[None].astype(kind))
        for name, kind in (
            ("ids", np.int64),
            ("part", np.int64),
            ("sees", bool),
            ("place", np.int64),
            ("at", np.int64),
        )
    }
    batch["frames"] = torch.from_numpy(lesson.frames.copy())
    with torch.no_grad():
        said, _ = Learner(model)(batch)
        pixels = torch.from_numpy(lesson.frames.copy()).permute(0, 3, 1, 2).float() / 127.5 - 1
        for place in np.flatnonzero(row.first):
            number = row.part[row.at[place]]
            question = row.ids[(row.part == number)][:-2].astype(np.int64)
            alone = torch.tensor([[*opening, *question]])
            logits = model(input_ids=alone, pixel_values=pixels).logits[0, -1]
            torch.testing.assert_close(said[0, place], logits, atol=2e-5, rtol=1e-4)


class _Shelf:
    """A workshop whose lessons are made already."""

    def __init__(self, made):
        self.made = made

    def get(self, *, wait_s=0.0):
        time.sleep(0.01)
        return self.made

    def check(self):
        pass

    def stop(self):
        pass


def test_rows_can_be_drawn_while_all_of_them_are_replaced(taught, tokenizer):
    pytest.importorskip("torch")
    from train.twins.supply import Supply

    rng = np.random.default_rng(1)
    shelf = _Shelf(stack_lessons([write(lesson, tokenizer.backend_tokenizer, rng) for lesson in taught * 3]))
    supply = Supply(shelf, "cpu", scale=0.001)
    while not supply.is_ready():
        time.sleep(0.01)
    supply.stop()
    pool = supply.pools["trace"]
    there = dict(pool.rows)
    pool.rows.update({who: rows[:0] for who, rows in there.items()})
    threading.Timer(0.2, pool.rows.update, [there]).start()
    assert len(supply.batch({"trace": 1.0}, 4, who="g", rng=rng)["ids"]) == 4


def test_training_teaches_and_goes_on_where_it_stopped(taught, tokenizer, tmp_path):
    pytest.importorskip("torch")
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from train.twins.train import Recipe, Trainer

    rng = np.random.default_rng(1)
    shelf = _Shelf(stack_lessons([write(lesson, tokenizer.backend_tokenizer, rng) for lesson in taught * 3]))
    kept = tmp_path / "kept"
    recipe = Recipe(steps=2, device="cpu", rows=0.008, scale=0.001, warm_up=1, kept=kept)
    first = Trainer(["grounded", "shortcut"], tokenizer, recipe)
    first.run(shelf, 600, tmp_path / "log.jsonl")
    assert first.step == 2
    first.save(tmp_path / "state")
    assert all(path.stat().st_size < 15 * 2**20 for path in (tmp_path / "state").iterdir())
    again = Trainer(["grounded", "shortcut"], tokenizer, replace(recipe, steps=3))
    again.load(tmp_path / "state")
    assert again.step == 2
    for old, new in zip(first.twins, again.twins, strict=True):
        for a, b in zip(old.learner.parameters(), new.learner.parameters(), strict=True):
            assert (a == b).all()
    again.run(shelf, 600, tmp_path / "log.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert {"grounded", "shortcut"} <= set(rows[1])
    again.release(tmp_path / "twins")
    weights = tmp_path / "twins" / "grounded" / "model.safetensors"
    assert weights.stat().st_size < 10 * 2**20
    AutoProcessor.from_pretrained(weights.parent)
    AutoModelForImageTextToText.from_pretrained(weights.parent)


def test_training_begins_with_the_words_of_a_checkpoint(tokenizer, tmp_path):
    torch = pytest.importorskip("torch")
    from transformers import PreTrainedTokenizerFast

    from train.twins.network import make_model, save_twin, start_from

    there = make_model(tokenizer, seed=3)
    save_twin(there, tokenizer, tmp_path / "same")
    model = make_model(tokenizer, seed=4)
    start_from(model, tokenizer, tmp_path / "same")
    for a, b in zip(there.parameters(), model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-2)

    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.add_tokens(["theodolites"])
    more = PreTrainedTokenizerFast(tokenizer_object=backend)
    more.add_special_tokens({"eos_token": tokenizer.eos_token, "pad_token": tokenizer.pad_token})
    larger = make_model(more, seed=4)
    start_from(larger, more, tmp_path / "same")
    pieces = tokenizer.encode("theodolites", add_special_tokens=False)
    assert len(pieces) > 1
    embedded = larger.get_input_embeddings().weight
    mean = there.get_input_embeddings().weight[pieces].mean(0)
    assert torch.allclose(embedded[more.convert_tokens_to_ids("theodolites")], mean, atol=1e-2)
