"""Relevance methods of a real checkpoint, through the adapter, from the command line to the tables."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from theodolite.attribution import attribute
from theodolite.cli.main import app
from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.core.types import Picture, Request
from theodolite.geometry import TokenGrid
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, write_dataset
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.world import GridShape, render
from theodolite.instruments.grid.explainers.contract import make_case
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.readers import open_reader
from theodolite.instruments.grid.explainers.relevance import asked_of, token_map_as_cells
from theodolite.runs import Run

METHODS = ("chefer", "attention-rollout", "gradcam")


def plain_cells(values, rects, n=5, px=64):
    """Each token's relevance, shared out pixel by pixel among the cells that its pixels lie in."""
    found = np.zeros((n, n))
    for value, (left, top, right, bottom) in zip(np.ravel(values), np.reshape(rects, (-1, 4)), strict=True):
        if not np.isfinite(left):
            continue
        share = np.zeros((n, n))
        for row in range(n):
            for column in range(n):
                wide = min(right, (column + 1) * px) - max(left, column * px)
                high = min(bottom, (row + 1) * px) - max(top, row * px)
                share[row, column] = max(wide, 0) * max(high, 0)
        if share.sum() > 0:
            found += value * share / share.sum()
    return found.reshape(-1)


@pytest.mark.parametrize("family", ["llava", "qwen2_vl"])
def test_a_map_is_the_methods_own_laid_on_the_cells(tiny, family):
    reader = open_reader(f"hf:{tiny(family)}")
    batch = generate("M-F1-D1", 1, density="sparse", seed=0)
    case = make_case(reader, batch, 0)
    request = Request.ask(
        Picture.from_array(render(batch.world, batch.cells)[0]),
        f"{batch.text(0)} Answer with yes or no alone.",
        max_tokens=4,
    )
    gold = ("yes", "no").index(batch.world.answers[case.answer])
    for method in METHODS:
        (explainer,) = find_explainers([f"relevance:{method}"])
        found = explainer.explain(case)
        (told,) = attribute(
            reader.model, [request], [("yes", "no")], methods=[method], targets=["gt"], gold=[gold]
        )
        wanted = plain_cells(told.maps[0].values, told.maps[0].grid.rects_px)
        assert found.cells == pytest.approx(wanted, rel=1e-3, abs=1e-7 + 1e-4 * np.abs(wanted).max())
        assert np.ptp(found.cells) > 0
        assert found.words is None


def test_all_methods_can_be_named_at_once():
    names = [each.name for each in find_explainers(["relevance:all", "uniform"])]
    assert names[-1] == "uniform"
    assert {f"relevance:{method}" for method in METHODS} < set(names)
    with pytest.raises(UsageError, match="no method 'nonsense'"):
        find_explainers(["relevance:nonsense"])


def test_what_is_no_white_box_is_refused():
    case = make_case(open_reader("grid:symbolic-pure"), generate("M-F1-D1", 1, seed=0), 0)
    (explainer,) = find_explainers(["relevance:chefer"])
    with pytest.raises(UnsupportedError, match="hf:PATH"):
        explainer.explain(case)


def test_from_the_command_line_to_the_tables(tiny, tmp_path):
    plan = DatasetPlan("pure", 2, 0, buckets=("M-F1-D1", "A-F1-D1"), densities=("sparse",))
    write_dataset(make_dataset(plan), tmp_path / "data", pictures=False)
    run, command = tmp_path / "run", CliRunner()
    asked = command.invoke(
        app,
        [
            *(
                "grid",
                "run",
                "--explainers",
                "all",
                "--data",
                str(tmp_path / "data"),
                "--model",
                f"hf:{tiny('llava')}",
            ),
            *("--explainers", "relevance:chefer,relevance:attention-rollout,uniform,multiviz"),
            *("--budget", "50", "--out", str(run)),
        ],
    )
    assert asked.exit_code == 0, asked.output
    with Run.open(run) as opened:
        records = [result.record for result in opened.results(arrays=True)]
    assert len(records) == 4
    assert all(record.arrays["cells@relevance:chefer"].shape == (25,) for record in records)
    scored = command.invoke(app, ["grid", "score", str(run), "--json"])
    assert scored.exit_code == 0, scored.output
    found = json.loads(scored.stdout)
    tables = {table["name"]: table["rows"] for table in found["tables"]}
    maps = {row["explainer"]: row for row in tables["grid.explainers"]}
    assert 0 < maps["relevance:chefer"]["rma"]["value"] < 1
    assert maps["uniform"]["normalised_rma"] == pytest.approx(0, abs=1e-9)
    costs = {row["explainer"]: row for row in tables["grid.cost"]}
    assert costs["relevance:chefer"]["measured"] == 4
    assert costs["multiviz"]["measured"] == 4
    assert all(record.arrays["words@multiviz"].any() for record in records)


def test_a_map_that_overflowed_is_refused():
    grid, world = TokenGrid.regular((320, 320), (2, 2)), GridShape()
    assert token_map_as_cells([1, 2, 3, 4], grid, world).sum() == pytest.approx(10)
    with pytest.raises(UsageError, match="finite everywhere"):
        token_map_as_cells([1, np.inf, 3, 4], grid, world)


def test_counts_of_a_small_grid_are_numbers_alone():
    small = replace(generate("M-F0-D1", 1, density=5, seed=0), world=GridShape(3, 3))
    batch = replace(small, cells=small.cells[:, :9])
    _, options = asked_of(batch, 0, 1)
    assert options == tuple(str(number) for number in range(batch.world.max_count + 1))
