"""The audit passes data that are right, and finds each kind of fault."""

import json
import shutil

import grid_plain
import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.audit import audit, compare_datasets, try_shortcuts
from theodolite.instruments.grid.data.batch import remove_roles
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, read_dataset, write_dataset
from theodolite.instruments.grid.data.generate import generate

BUCKETS = ("A-F0-D1", "M-F0-D2", "SO-F1-D1", "CMP-F0-D2")


def write(folder, mode="pure", *, pictures=False, n=12, seed=0, split=None, buckets=BUCKETS):
    plan = DatasetPlan(mode, n, seed, densities=("dense",), buckets=buckets, split=split)
    return write_dataset(make_dataset(plan), folder, pictures=pictures)


@pytest.fixture(scope="module")
def pure(tmp_path_factory):
    return write(tmp_path_factory.mktemp("grid") / "pure", pictures=True)


def edit(folder, tmp_path, change, row=None):
    """A copy of a data set with one line changed; the first M-F0-D2 line unless given."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    lines = [json.loads(line) for line in (copy / "metadata.jsonl").read_text().splitlines()]
    row = next(i for i, line in enumerate(lines) if line["bucket"] == "M-F0-D2") if row is None else row
    change(lines[row])
    (copy / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return audit(read_dataset(copy), n_permutations=9)


def failed(found):
    return {fault.check for fault in found.faults}


@pytest.mark.parametrize("mode", ["pure", "spur"])
def test_made_data_pass_every_check(mode, tmp_path):
    found = audit(read_dataset(write(tmp_path / mode, mode)), n_permutations=9)
    assert found.is_kept
    assert found.n == 48
    assert [part.n for part in found.buckets] == [12] * 4
    assert (found.overall["bag of words"].value == 1) == (mode == "spur")


def test_pictures_are_compared(pure):
    found = audit(read_dataset(pure), n_permutations=9, most_pictures=10)
    assert found.is_kept
    assert found.pictures_checked == 10


def test_a_wrong_answer_is_found(pure, tmp_path):
    found = edit(pure, tmp_path, lambda line: line.update(answer="17"))
    assert "the answer is what the evaluator says" in failed(found)
    assert all(fault.count == 1 for fault in found.faults)
    assert "17, not" in found.faults[0].example


def test_a_missing_confuser_breaks_theorem_1(pure, tmp_path):
    """All look-alikes repainted to something harmless: the answer stays, the guarantee does not."""

    def repaint(line):
        taken = {line["cells"][i] for i, role in enumerate(line["roles"]) if role != "other"}
        harmless = next(c for c in range(1, 17) if c not in taken)
        for i, role in enumerate(line["roles"]):
            if role == "adversarial":
                line["cells"][i], line["roles"][i] = harmless, "other"

    found = edit(pure, tmp_path, repaint)
    assert {"Theorem 1 holds as guaranteed", "the guarantee is as recorded"} <= failed(found)
    assert "the answer is what the evaluator says" not in failed(found)


def test_a_second_anchor_is_found(pure, tmp_path):
    def double(line):
        anchor = line["cells"][line["roles"].index("anchor_1")]
        line["cells"][line["roles"].index("adversarial")] = anchor

    assert "every anchor is exactly one object" in failed(edit(pure, tmp_path, double))


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda line: line.update(split="nowhere"), "the split is the hash's"),
        (lambda line: line.update(hash="0" * 16), "the hash is the scene's"),
        (lambda line: line.update(bucket="M-F0-D1"), "the question is of its bucket"),
        (lambda line: line.update(guarantee="partial"), "the guarantee is as recorded"),
        (lambda line: line["roles"].reverse(), "the roles are the question's"),
        (
            lambda line: line["cells"].__setitem__(
                line["roles"].index("other")
                if "other" in line["roles"]
                else line["roles"].index("adversarial"),
                0,
            ),
            "the scene has the objects of its density",
        ),
        (
            lambda line: line.update(file_name="pictures/M-F0-D2-dense-00003.png"),
            "the picture shows the scene",
        ),
        (lambda line: line.update(file_name="pictures/none.png"), "the picture shows the scene"),
    ],
)
def test_each_failed_check_is_found(pure, tmp_path, change, check):
    assert check in failed(edit(pure, tmp_path, change))


def test_a_leak_into_spurious_data_is_found(tmp_path):
    folder = write(tmp_path / "spur", "spur")

    def leak(line):
        target = line["cells"][line["roles"].index("target_1")]
        line["cells"][line["roles"].index("other")] = target

    assert "a bag of words is right" in failed(edit(folder, tmp_path, leak))


def test_a_scene_of_another_split_is_found(tmp_path):
    folder = write(tmp_path / "test", split="test", n=2)
    description = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps({**description, "split": "validation"}))
    found = audit(read_dataset(folder), n_permutations=9)
    assert failed(found) == {"every scene is of validation"}


def test_modes_answer_alike_and_a_skew_is_found(tmp_path):
    pure, spur = (read_dataset(write(tmp_path / m, m, n=100, seed=s)) for m, s in (("pure", 1), ("spur", 2)))
    assert compare_datasets(pure, spur).is_kept
    skewed = write(tmp_path / "skewed", "spur", n=100, seed=3)
    lines = [json.loads(line) for line in (skewed / "metadata.jsonl").read_text().splitlines()]
    for line in lines:
        if line["bucket"] == "SO-F1-D1":
            line["answer"] = "yes"
    (skewed / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = compare_datasets(pure, read_dataset(skewed))
    assert [each.bucket for each in found.differing] == ["SO-F1-D1"]
    assert found.differing[0].distance == pytest.approx(0.5, abs=0.12)
    assert not found.is_kept


def test_a_skew_in_one_of_all_buckets_is_found_whatever_their_number(tmp_path):
    """Holm over 38 buckets needs more shuffles than over four: enough are made, and too few are refused."""
    folders = []
    for mode in ("pure", "spur"):
        plan = DatasetPlan(mode, 30, seed=1)
        folders.append(write_dataset(make_dataset(plan), tmp_path / mode, pictures=False))
    path = folders[1] / "metadata.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if (line["bucket"], line["density"]) == ("SO-F1-D1", "dense"):
            line["answer"] = "no"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = map(read_dataset, folders)
    assert [(each.bucket, each.density) for each in compare_datasets(first, second).differing] == [
        ("SO-F1-D1", "dense")
    ]
    with pytest.raises(UsageError, match="give at least 3800"):
        compare_datasets(first, second, n_permutations=1999)


def test_a_scene_in_two_splits_is_found(pure, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(pure, copy)
    text = (copy / "metadata.jsonl").read_text()
    (copy / "metadata.jsonl").write_text(text.replace('"split": "train"', '"split": "test"', 3))
    found = compare_datasets(read_dataset(pure), read_dataset(copy))
    assert found.shared == 48
    assert found.shared_across_splits == 3


def test_shortcuts_succeed_as_often_as_a_plain_count_says():
    for key in ("M-F0-D2", "SO-F1-D2", "CMP-F0-D3"):
        batch = generate(key, 60, density="sparse", seed=5)
        found = {each.name: each for each in try_shortcuts(batch, n_permutations=9)}
        for k in range(2):
            plain = np.mean(
                [
                    grid_plain.answer(grid_plain.objects_of(batch, i), batch.text(i), drop=k)
                    == batch.answer_text(i)
                    for i in range(60)
                ]
            )
            assert found[f"without anchor {k + 1}"].success.value == pytest.approx(plain)
        bag = np.mean(
            [
                grid_plain.answer(grid_plain.objects_of(batch, i), batch.text(i), relations_count=False)
                == batch.answer_text(i)
                for i in range(60)
            ]
        )
        assert found["bag of words"].success.value == pytest.approx(bag)
        later = batch.answer[1::2]
        assert found["prior"].success.value == pytest.approx(
            (later == np.bincount(batch.answer[::2]).argmax()).mean()
        )


def test_majority_counts_the_most_frequent_kind():
    batch = generate("SO-F0-D1", 80, mode="spur", seed=6)
    right = []
    for i in range(80):
        shapes = [thing[1] for thing in grid_plain.objects_of(batch, i)]
        right.append(str(max(map(shapes.count, set(shapes)))) == batch.answer_text(i))
    assert {h.name: h for h in try_shortcuts(batch, n_permutations=9)}[
        "majority"
    ].success.value == pytest.approx(np.mean(right))


def test_salience_finds_a_planted_leak_and_little_without():
    """Scenes without any red object whenever the answer is no: one look for red gives the answer away."""
    batch = generate("SO-F1-D1", 400, seed=2)
    honest = {h.name: h for h in try_shortcuts(batch, n_permutations=49)}["salience"]
    cells = batch.cells.copy()
    is_no = batch.answer == batch.world.yes + 1
    red = (cells >= 1) & (cells <= 4)
    cells[red & is_no[:, None]] += 4
    from theodolite.instruments.grid.data.batch import with_cells

    planted = {h.name: h for h in try_shortcuts(with_cells(batch, cells), n_permutations=49)}["salience"]
    assert honest.success.value < 0.65
    assert planted.success.value > 0.95
    assert planted.information.corrected > 0.7
    assert "red" in planted.note


def test_the_boost_decides_who_is_most_frequent():
    from dataclasses import replace

    from theodolite.instruments.grid.data.recipe import PAPER

    # Of 15 possible counts the middle one, 8, leaves only 8 others: there no rival can come more often.
    for boost, low, high in ((1.0, 0.95, 1.0), (0.0, 0.0, 1 / 15 + 0.03)):
        batch = generate("M-F0-D1", 300, mode="spur", preset=replace(PAPER, boost=boost), seed=1)
        share = {h.name: h for h in try_shortcuts(batch, n_permutations=9)}["majority"].success.value
        assert low <= share <= high


def test_the_overload_fills_confuser_regions():
    from dataclasses import replace

    from theodolite.instruments.grid.data.recipe import PAPER

    many, few = (
        (generate("M-F0-D2", 300, preset=replace(PAPER, overload=share), seed=1).roles == 7)
        .sum(axis=1)
        .mean()
        for share in (1.0, 0.0)
    )
    assert many > few + 2
    assert (remove_roles(generate("M-F0-D2", 5, seed=0), ["other"]).roles != 8).all()
