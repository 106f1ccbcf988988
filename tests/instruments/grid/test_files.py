"""Data sets as files: they read back here, in Hugging Face datasets, and as phrase grounding."""

import json
from dataclasses import replace

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, read_dataset, write_dataset
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.recipe import PAPER
from theodolite.instruments.grid.data.world import GridShape, read_cells, render

PLAN = DatasetPlan("pure", 2, seed=7, buckets=("A-F1-D1", "SO-F0-D2", "CMP-F0-D3"))


@pytest.fixture(scope="module")
def data():
    return make_dataset(PLAN)


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    return write_dataset(data, tmp_path_factory.mktemp("grid") / "pure")


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Hugging Face datasets, quiet and with a cache of its own."""
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    datasets.disable_progress_bars()
    return lambda *args, **kwargs: datasets.load_dataset(
        *args, split="train", cache_dir=str(tmp_path), **kwargs
    )


def test_a_plan_makes_what_generate_makes(data):
    sparse = generate(PLAN.buckets, 2, density="sparse", seed=7)
    assert len(data) == 12
    assert (data.scenes.cells[:6] == sparse.cells).all()
    assert data.name(5) == "CMP-F0-D3-sparse-00001"


def test_a_data_set_reads_back_with_its_plan(data, folder):
    stored = read_dataset(folder)
    assert stored.plan == PLAN
    assert (stored.cells == data.scenes.cells).all()
    assert (stored.guarantees == data.scenes.guarantee).all()
    assert [r.question for r in stored.records] == [data.scenes.text(i) for i in range(12)]
    assert [r.answer for r in stored.records] == [data.scenes.answer_text(i) for i in range(12)]
    described = json.loads((folder / "dataset.json").read_text())
    assert described["guarantees"]["7"]["CMP-F0-D3"]["level"] == "impossible"
    assert described["guarantees"]["17"]["SO-F0-D2"]["level"] == "full"
    assert described["recipe"]["overload"] == 0.75


def test_a_plan_of_ones_own_reads_back(tmp_path):
    plan = DatasetPlan(
        "spur",
        1,
        3,
        replace(PAPER, name="mine", sparse=0.5, world=GridShape(6, 7, 16), margin=2),
        (0.5, 20),
        ("M-F0-D1",),
        "test",
    )
    folder = write_dataset(make_dataset(plan), tmp_path / "a", pictures=False)
    assert read_dataset(folder).plan == plan
    assert not (folder / "pictures").exists()
    assert {record.split for record in read_dataset(folder).records} == {"test"}


def test_pictures_show_their_scenes(data, folder):
    for row, record in enumerate(read_dataset(folder).records):
        pixels = Picture.from_path(folder / record.file_name).pixels()
        assert (pixels == render(data.scenes.world, data.scenes.cells[row : row + 1])[0]).all()


def test_hugging_face_reads_the_folder(data, folder, hub):
    loaded = hub("imagefolder", data_dir=str(folder))
    rows = {row["id"]: row for row in loaded}
    assert len(rows) == 12
    for i in range(12):
        row = rows[data.name(i)]
        assert (
            read_cells(data.scenes.world, np.asarray(row["image"].convert("RGB"))) == data.scenes.cells[i]
        ).all()
        assert row["answer"] == data.scenes.answer_text(i)


def test_hugging_face_reads_the_table_with_its_pictures(data, folder, hub):
    loaded = hub("parquet", data_files=str(folder / "scenes.parquet"))
    for i, row in enumerate(loaded):
        assert row["image"].size == (320, 320)
        assert (read_cells(data.scenes.world, np.asarray(row["image"].convert("RGB"))) == row["cells"]).all()
        assert row["question"] == data.scenes.text(i)
        assert len(row["objects"]) == row["n_objects"]


def test_grounding_names_every_target_and_anchor_by_its_phrase(data, folder):
    """Read as MDETR reads it: boxes by picture, and the caption's characters that name each."""
    found = json.loads((folder / "grounding.json").read_text())
    names = {each["id"]: each["name"] for each in found["categories"]}
    assert len(found["images"]) == 12
    for number, image in enumerate(found["images"]):
        boxes = [each for each in found["annotations"] if each["image_id"] == number]
        wanted = np.flatnonzero((data.scenes.roles[number] > 0) & (data.scenes.roles[number] < 7))
        assert {(b["bbox"][1] // 64) * 5 + b["bbox"][0] // 64 for b in boxes} == set(wanted.tolist())
        assert all(b["bbox"][2:] == [64, 64] and b["area"] == 4096 for b in boxes)
        for box in boxes:
            ((first, last),) = box["tokens_positive"]
            phrase = [word.removesuffix("s") for word in image["caption"][first:last].split()]
            assert all(word in names[box["category_id"]] for word in phrase)


def test_a_folder_in_use_is_left_alone(data, folder):
    with pytest.raises(UsageError, match="not empty"):
        write_dataset(data, folder)


def test_what_is_not_a_data_set_is_told(tmp_path, folder):
    with pytest.raises(UsageError, match="not a data set of the grid"):
        read_dataset(tmp_path)
    (tmp_path / "dataset.json").write_text((folder / "dataset.json").read_text())
    (tmp_path / "metadata.jsonl").write_text("")
    with pytest.raises(UsageError, match="holds no scene"):
        read_dataset(tmp_path)
    (tmp_path / "metadata.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(UsageError, match=r"line 1: bucket: Field required"):
        read_dataset(tmp_path)
    line = json.loads((folder / "metadata.jsonl").read_text().splitlines()[0])
    for cells, message in (([1] * 24, "24 cells"), ([17] * 25, "0 to 16")):
        (tmp_path / "metadata.jsonl").write_text(json.dumps({**line, "cells": cells}) + "\n")
        with pytest.raises(UsageError, match=message):
            read_dataset(tmp_path)
    with pytest.raises(UsageError, match="different numbers of objects"):
        DatasetPlan("pure", 1, 0, densities=("sparse", 7))
    with pytest.raises(UsageError, match="at least one"):
        DatasetPlan("pure", 1, 0, buckets=())
