"""Maps made elsewhere: both forms of files, cells and pixels, and hostile files."""

import json

import numpy as np
import pytest

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import cell_mask
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, read_dataset, write_dataset
from theodolite.instruments.grid.experiments.given_maps import given_maps_table, read_maps
from theodolite.instruments.grid.questions import scenes_of


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    plan = DatasetPlan("pure", 4, 0, buckets=("M-F0-D1", "SO-F0-D2"), densities=("dense",))
    folder = tmp_path_factory.mktemp("grid") / "data"
    return read_dataset(write_dataset(make_dataset(plan), folder, pictures=False))


def truths(data):
    masks = cell_mask(scenes_of(data), "truth")
    return {record.id: mask * 1.0 for record, mask in zip(data.records, masks, strict=True)}


def rows_of(table):
    names = [column.name for column in table.columns]
    return {row[0]: dict(zip(names, row, strict=True)) for row in table.rows}


def value(cell):
    return getattr(cell, "value", cell)


def test_a_map_of_the_truth_is_perfect_and_a_flat_one_has_the_masks_area(data, tmp_path):
    np.savez_compressed(tmp_path / "true.npz", **truths(data))
    table, problems = given_maps_table(tmp_path / "true.npz", data)
    row = rows_of(table)["all"]
    assert not problems
    assert row["n"] == 8
    assert {
        value(row[name]) for name in ("rma", "normalised_rma", "rra", "map_auc", "iou", "pixel_iou_paper")
    } == {1}
    assert value(row["adversarial_mass"]) == 0
    assert set(rows_of(table)) == {"all", "M-F0-D1", "SO-F0-D2"}
    np.savez(tmp_path / "flat.npz", **{scene: np.ones((5, 5)) for scene in truths(data)})
    row = rows_of(given_maps_table(tmp_path / "flat.npz", data)[0])["all"]
    assert value(row["normalised_rma"]) == pytest.approx(0)
    assert value(row["rma"]) == pytest.approx(np.mean([mask.mean() for mask in truths(data).values()]))


def test_a_folder_as_the_public_code_reads_it_gives_the_same_by_pixel(data, tmp_path):
    rng = np.random.default_rng(0)
    maps = {scene: rng.normal(size=(5, 5)) for scene in truths(data)}
    np.savez(tmp_path / "cells.npz", **maps)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, (scene, cells) in enumerate(maps.items()):
        large = cells.repeat(64, axis=0).repeat(64, axis=1)
        named = {"scene": np.array(scene)} if number % 2 else {}
        np.savez(folder / f"{number if number % 2 else scene}.npz", attribution=large, **named)
    by_cell, by_pixel = (
        rows_of(given_maps_table(tmp_path / name, data)[0]) for name in ("cells.npz", "folder")
    )
    for group, row in by_cell.items():
        for name, cell in row.items():
            if name not in {"bucket", "density"}:
                assert value(by_pixel[group][name]) == pytest.approx(value(cell)), name
    scene = data.records[0]
    inside = abs(maps[scene.id])[truths(data)[scene.id] > 0].sum() / abs(maps[scene.id]).sum()
    np.savez(tmp_path / "one.npz", **{scene.id: maps[scene.id]})
    one = rows_of(given_maps_table(tmp_path / "one.npz", data)[0])["all"]
    assert value(one["rma"]) == pytest.approx(inside)


def test_what_cannot_be_scored_is_told_and_costs_itself(data, tmp_path):
    good, *others = truths(data)
    bad = dict(
        zip(others, (np.zeros((5, 5)), np.ones((7, 5)), np.full((5, 5), np.nan), np.ones(25)), strict=False)
    )
    np.savez(tmp_path / "maps.npz", **{good: truths(data)[good], "nowhere": np.ones((5, 5)), **bad})
    table, problems = given_maps_table(tmp_path / "maps.npz", data)
    assert rows_of(table)["all"]["n"] == 1
    reasons = sorted(problem.reason for problem in problems)
    assert reasons == [
        "a map has rows and columns of numbers",
        "a map must be finite everywhere",
        "a map of 7×5 does not fit 5×5 cells",
        "data has no such scene",
        "the map is zero everywhere",
    ]


def header(shape, descr="'<f8'"):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no array",
        header((10**9, 10**9)),
        header((1, 1), "'|O'") + b"\x80\x04N.",
        header((2, 2)) + b"12345678",
    ],
)
def test_hostile_files_are_refused(content, tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "maps.npz", "w") as archive:
        archive.writestr("scene.npy", content)
    with pytest.raises(UsageError, match=r"no map of .* could be read"):
        read_maps(tmp_path / "maps.npz")


def test_from_the_command_line(data, tmp_path, capsys):
    np.savez(tmp_path / "maps.npz", **truths(data))
    given = ["grid", "score", "--maps", str(tmp_path / "maps.npz"), "--data", str(data.folder), "--json"]
    assert main(given) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["name"] == "grid.given_maps"
    assert table["rows"][0]["rma"] == 1
    for wrong in (["grid", "score"], given[:4], [*given, "runs/some"]):
        assert main(wrong) == 2
        assert "give runs, or maps with --maps PATH" in capsys.readouterr().err
