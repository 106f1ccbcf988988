"""Runs of every instrument, made by the program itself, as rows and figures: held against what is known of them."""

import numpy as np
import pytest

from theodolite.cli.main import main
from theodolite.diagnose.api import browse, data_of
from theodolite.report.html.parts import unpack
from theodolite.report.html.write import write_run_report
from theodolite.runs import Run


def do(*words):
    assert main([str(word) for word in words]) == 0, words


def browsed(folder, **options):
    with Run.open(folder) as run:
        return browse(run, lambda picture: picture.digest, **options)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    home = tmp_path_factory.mktemp("scene")
    do("scene", "make", "--indoor", 2, "--outdoor", 0, "--seed", 3, "--questions", 6, "--out", home / "data")
    do("scene", "run", "--model", "scripted:oracle", "--data", home / "data", "--settings", "all", "--out", home / "run")  # fmt: skip
    return home


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    home = tmp_path_factory.mktemp("grid")
    do("grid", "make", "--size", 3, "--buckets", "M-F0-D1", "--density", "sparse", "--out", home / "data")
    do("grid", "run", "--explainers", "all", "--model", "grid:symbolic-pure", "--data", home / "data", "--explainers", "oracle,removal,uniform", "--out", home / "run")  # fmt: skip
    return home


def test_a_scene_that_is_told_truly_lies_where_it_is(scene):
    rows = browsed(scene / "run").rows
    seen = [row for row in rows if row.condition == "plain"]
    assert seen
    assert all(row.plan is not None and row.pictures for row in seen)
    assert all(row.correct is not False for row in seen)
    for row in seen:
        said, true = ({o.mark: (o.x_m, o.z_m) for o in side} for side in (row.plan.said, row.plan.true))
        assert set(said) == set(true)
        gaps = [np.hypot(said[m][0] - true[m][0], said[m][1] - true[m][1]) for m in true]
        assert max(gaps) < 0.6  # distances are told to the centimetre, directions in words
    asked = [row for row in seen if row.kind != "scene graph"]
    assert all(row.question in row.prompt and len(row.question) < len(row.prompt) for row in asked)


def test_data_that_may_not_be_read_are_not_read(scene):
    with Run.open(scene / "run") as run:
        assert data_of(run) == [scene / "data"]
    rows = browsed(scene / "run", may_read_data=False).rows
    assert rows
    assert all(row.plan is None for row in rows)
    assert {row.status for row in rows} == {"answered"}


def test_data_that_are_gone_are_told_of(scene, tmp_path, monkeypatch):
    (scene / "data").rename(tmp_path / "moved")
    try:
        found = browsed(scene / "run")
    finally:
        (tmp_path / "moved").rename(scene / "data")
    assert found.rows
    assert all(row.plan is None for row in found.rows)


def test_the_map_that_knows_the_truth_lies_on_targets_and_anchors(explained):
    rows = browsed(explained / "run").rows
    assert len(rows) == 3
    for row in rows:
        maps = {one.name: np.array(one.values) for one in row.cells.maps}
        assert set(maps) == {"oracle", "removal", "uniform"}
        counted = {(c.row, c.column) for c in row.cells.cells if c.role.startswith(("target", "anchor"))}
        assert {tuple(place) for place in np.argwhere(maps["oracle"] > 0)} == counted
        assert np.abs(maps["removal"]).max() == 1.0
        assert len(row.cells.word_masses["oracle"]) == len(row.cells.words)
        assert sum(row.cells.word_masses["oracle"]) == pytest.approx(1, abs=1e-3)
        assert row.correct is True
    with Run.open(explained / "run") as run:
        size = next(run.results()).item.request.pictures[0].size
    assert rows[0].cells.maps[0].place_px == (0.0, 0.0, *map(float, size))


def test_a_run_of_accuracy_is_read_by_its_own_reader(explained):
    do(
        "grid",
        "run",
        "--model",
        "grid:symbolic-bow",
        "--data",
        explained / "data",
        "--out",
        explained / "bow",
    )
    found = browsed(explained / "bow")
    with Run.open(explained / "bow") as run:
        hits = [r.record.response.text.strip() == r.item.truth.golds[0] for r in run.results()]
    assert [row.correct for row in found.rows] == hits
    figures = {f.key: f.figure.value for f in found.figures}
    assert figures == {"grid.accuracy": pytest.approx(np.mean(hits)), "grid.bow_agreement": 1.0}


def test_maps_of_a_white_box_are_shown_where_they_lie(tiny_llava, tmp_path, visit):
    do("compass", "make", "--size", 3, "--out", tmp_path / "pairs")
    do("compass", "run", "--model", f"hf:{tiny_llava}", "--data", tmp_path / "pairs", "--methods", "chefer", "--out", tmp_path / "run")  # fmt: skip
    found = browsed(tmp_path / "run")
    for row in found.rows:
        view = row.overlay
        assert sum(view.sectors["chefer"].values()) == pytest.approx(1, abs=1e-3)
        assert view.maps[0].place_px == (0.0, 0.0, *map(float, view.size_px))
        assert np.abs(view.maps[0].values).max() == 1.0
    with Run.open(tmp_path / "run") as run:
        meta = next(run.results()).item.meta
    assert list(found.rows[0].overlay.target_px) == meta["target"]["box"]
    assert {f.key.partition(":")[0] for f in found.figures} >= {"compass.dae_paper", "compass.ea_sound"}
    page = visit(write_run_report([tmp_path / "run"], out=tmp_path / "page").as_uri())
    page.click("#row-0")
    for part in (".o-wedge", ".o-true", "image"):
        assert page.locator(f"#item {part}").count() > 0
    page.click("text=Heat map")
    cells = np.array(found.rows[0].overlay.maps[0].values)
    assert page.locator("#item .o-heat, #item .o-heat-minus").count() == (np.abs(cells) >= 0.02).sum()


def test_the_item_page_of_a_scene_has_its_map(scene, tmp_path, visit):
    path = write_run_report([scene / "run"], out=tmp_path / "page")
    text = path.read_text()
    assert "scene.sgc" in text
    page = visit(path.as_uri())
    page.select_option("[name=condition]", "plain")
    page.click("#row-0")
    marks = page.locator("#item .a-true").count()
    assert marks == page.locator("#item .a-said").count() > 1
    index = unpack(text.partition('id="items-index">')[2].partition("</script>")[0])
    assert all(row[12] for row in index["rows"] if row[4] == "plain")
