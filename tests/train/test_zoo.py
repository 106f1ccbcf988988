"""``python -m train zoo``: strangers in other architectures, what they are taught, and the table of their verdicts."""

import json
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from theodolite.core.errors import UsageError, WorkerError
from theodolite.core.types import Message, Picture, Request
from theodolite.models import open_model
from train.__main__ import main
from train.twins import grids, lessons
from train.twins.curriculum import ZOO
from train.twins.lesson_workers import LessonWorkers, assign_kinds
from train.zoo.evaluate import read_stranger, rows_of, table

MOST = 16 * 2**20


@pytest.mark.parametrize("n_side", [5, 8, 10, 16])
def test_a_patch_of_a_grid_is_labelled_by_the_cell_in_its_middle(n_side):
    scene = next(iter(grids.scenes_with_questions("pure", 1, seed=4)))
    lesson = next(iter(lessons.grid_lessons(4, 1, n_side=n_side)))
    labels = lesson.labels.reshape(n_side, n_side)
    for row in range(n_side):
        for column in range(n_side):
            down, across = (int((place + 0.5) / n_side * grids.SIDE) for place in (row, column))
            shown = int(scene.classes[down * grids.SIDE + across])
            name = lessons.LABELS[labels[row, column]]
            assert name.startswith("grid ") == (shown > 0)
            if shown:
                assert labels[row, column] - lessons.LABELS.index("grid red circle") == shown - 1


@pytest.mark.parametrize("n_side", [8, 10])
def test_a_thing_is_found_in_the_patch_of_its_label(n_side):
    lesson = lessons.relation_lesson(np.random.default_rng(5), n_side=n_side)
    asked = [ask for ask in lesson.asks if ask.text.startswith("Find the ")]
    assert len(asked) >= 2
    for ask in asked:
        column, row = (int(word.split()[1]) for word in ask.answer.split(", "))
        patch = (row - 1) * n_side + column - 1
        assert lessons.LABELS[lesson.labels[0, patch]] == ask.text.removeprefix("Find the ").removesuffix(".")


def test_only_what_is_taught_is_drawn():
    assert assign_kinds(3, ZOO) == [["relation", "grid"]] * 3
    assert {kind for kinds in assign_kinds(20, ZOO) for kind in kinds} == {"relation", "grid"}
    assert set(ZOO.tasks) == {"relation", "grid"}


def test_a_worker_that_dies_is_told_at_once(tmp_path):
    from train.twins.train import Recipe, Trainer
    from train.twins.training import read_tokenizer

    workers = LessonWorkers("no tokenizer", workers=1, seed=1, curriculum=ZOO)
    trainer = Trainer(["shortcut"], read_tokenizer(), Recipe(device="cpu", scale=0.001, curriculum=ZOO))
    with pytest.raises(WorkerError, match=r"a lesson worker failed .*expected ident"):
        trainer.run(workers, 100, tmp_path / "log.jsonl")


@pytest.mark.parametrize("name", ["cohere", "llama"])
def test_a_step_gives_three_strangers_that_open_like_any_checkpoint(name, tmp_path):
    words = ["zoo", "--arch", name, "--device", "cpu", "--workers", "1", "--steps", "1", "--scale", "0.001"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    packed = sorted(tmp_path.glob("*.tar"))
    assert [path.stem for path in packed] == [f"{name}-{r}" for r in ("grounded", "mixed", "shortcut")]
    assert all(path.stat().st_size < MOST for path in packed)
    last = json.loads((tmp_path / f"{name}.jsonl").read_text().splitlines()[-1])
    assert set(last["mixed"]["held out"]) == {"relation", "grid"}

    with tarfile.open(packed[1]) as file:
        file.extractall(tmp_path, filter="data")
    stranger = read_stranger(tmp_path / f"{name}-mixed")
    assert (stranger.architecture, stranger.reasoning) == (name, "mixed")
    model = open_model(f"{stranger.name}?device=cpu")
    picture = Picture.from_array(np.zeros((320, 320, 3), np.uint8))
    answer = model.generate([Request((Message.user(picture, "What is there?"),), max_tokens=3)])[0]
    model.close()
    assert answer.is_answered


def test_what_cannot_be_done_is_told(tmp_path, capsys):
    for words, told in (
        ([], "either --arch to train strangers or --evaluate"),
        (["--arch", "llama", "--evaluate", "x"], "either --arch to train strangers or --evaluate"),
        (["--arch", "nobody", "--device", "cpu"], "the architectures are llama, cohere, not nobody"),
        (["--evaluate", str(tmp_path)], "is no stranger"),
    ):
        assert main(["zoo", "--out", str(tmp_path / "out"), *words]) == 2
        assert told in capsys.readouterr().err


def _diagnosis(standings):
    """A diagnosis of models by one instrument, from their verdicts and looking."""
    views = []
    for model, (standing, share) in standings.items():
        figures = {
            name: SimpleNamespace(value=value, low=value, high=value)
            for name, value in (
                ("looking", share),
                ("followed", share),
                ("inverted", 0.0),
                ("moved", 0.0),
                ("unmoved", 1 - share),
            )
        }
        looking = SimpleNamespace(standing=standing, n_relevant=48, **figures)
        views.append(SimpleNamespace(model=model, looking=[looking]))
    return SimpleNamespace(instruments=[SimpleNamespace(name="compass", models=views)])


def test_the_table_holds_verdicts_against_what_is_known(tmp_path):
    strangers = []
    for reasoning in ("shortcut", "mixed", "grounded"):
        folder = tmp_path / reasoning
        folder.mkdir()
        (folder / "stranger.json").write_text(json.dumps({"architecture": "llama", "reasoning": reasoning}))
        strangers.append(read_stranger(folder))
    names = [s.name for s in strangers]

    said = [("does not look", 0.0), ("sometimes looks", 0.45), ("looks", 0.9)]
    rows = list(rows_of(strangers, _diagnosis(dict(zip(names, said, strict=True)))))
    assert [row.reasoning for row in rows] == ["grounded", "mixed", "shortcut"]
    assert [row.expected for row in rows] == pytest.approx([0.9, 0.45, 0.0])
    assert all(row.is_right for row in rows)
    assert "| compass | llama mixed | 0.50 | sometimes looks | 48 | 0.45 [0.45, 0.45] |" in table(rows)

    said = [("not settled", 0.05), ("looks", 0.45), ("looks", 0.9)]
    rows = list(rows_of(strangers, _diagnosis(dict(zip(names, said, strict=True)))))
    assert [row.is_right for row in rows] == [True, False, True]
    said = [("does not look", 0.0), ("sometimes looks", 0.7), ("looks", 0.9)]
    rows = list(rows_of(strangers, _diagnosis(dict(zip(names, said, strict=True)))))
    assert [row.is_right for row in rows] == [True, False, True]


def test_a_damaged_stranger_is_refused(tmp_path):
    for text in ("", "[]", "{}", '{"architecture": "llama", "reasoning": "wise"}'):
        (tmp_path / "stranger.json").write_text(text)
        with pytest.raises(UsageError, match="stranger"):
            read_stranger(Path(tmp_path))
