"""Every number is defined, every definition names the function that computes it, and one run has one number under one name."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from theodolite.core.errors import UsageError
from theodolite.core.scores import (
    definition,
    definitions,
    find_definition,
    headlines,
    metric_of,
    metrics_of,
    read_definitions,
)
from theodolite.core.tables import Estimate
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.instrument import Study, find_instruments, instruments
from theodolite.runs import Run, RunSettings, measure_run
from theodolite.stats import score_mean

SOURCE = Path(__file__).parents[2] / "src" / "theodolite"


@pytest.mark.parametrize("key", definitions())
def test_every_key_names_the_function_that_computes_it(key):
    module, _, name = definition(key).function.partition(":")
    assert name, f"{key} names no function"
    found = import_module(module if module.startswith("train.") else f"theodolite.{module}")
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found), f"{key}: {module}:{name} is not a function"


@pytest.mark.parametrize("instrument", instruments(), ids=lambda each: each.name)
def test_an_instrument_has_metrics_and_three_to_six_numbers_to_read_first(instrument):
    assert instrument.metrics == metrics_of(instrument.name)
    assert instrument.metrics
    assert 3 <= len(headlines(instrument.name)) <= 6


def calls(name):
    """Every call of a function in the source, with its arguments by position and by name."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield path, node.args, {each.arg: each.value for each in node.keywords}


def test_metrics_and_the_columns_that_show_them_are_made_from_definitions():
    """Only `metric_of` and `column` of core/scores.py say a name, a unit or a sign; a p-value only links to its number."""
    metrics = {path.relative_to(SOURCE).as_posix() for path, *_ in calls("Metric")}
    assert metrics == {"core/scores.py"}
    linked = [
        (path.name, ast.unparse(args[0]))
        for path, args, named in calls("Column")
        if (len(args) > 3 or "key" in named)
        and path.name != "scores.py"
        and not (isinstance(args[2], ast.Constant) and args[2].value == "p")
    ]
    assert not linked


def test_every_key_of_a_column_has_a_definition():
    found = [
        (path.name, args[0].value) for path, args, _ in calls("column") if isinstance(args[0], ast.Constant)
    ]
    assert len({key for _, key in found}) > 80, "the test looks in the wrong place"
    assert not [(name, key) for name, key in found if find_definition(key) is None]


MODELS = {
    "ask": "scripted:looker",
    "compass": "pocket:grounded",
    "grid": "grid:symbolic-bow",
    "scene": "scripted:scene-shortcut",
    "trace": "scripted:trace-dial-50",
}


@pytest.mark.parametrize("name", MODELS)
def test_tables_and_the_diagnosis_give_one_number_for_every_metric(name, tmp_path, request):
    """`score` shows the tables of a stored run; `diagnose` averages its item scores. Each metric has one value in both."""
    (instrument,) = find_instruments([name])
    data = None
    if instrument.needs_data:
        data = instrument.find_data(write_questions(make_squares(24), tmp_path / "squares"), None)
    study = Study(tmp_path / "data", 6, splits=("crossed",), data=data)
    if instrument.makes_data_slowly:
        request.getfixturevalue("put_stories")(study.folder)
    plan = next(iter(instrument.plan(study, "text")))
    settings = RunSettings(plan.kind, MODELS[name], 0, plan.settings)
    measure_run(tmp_path / "run", settings, plan.items, plan.factory(MODELS[name]))
    with Run.open(tmp_path / "run", writable=True) as run:
        scores, tables = instrument.score(run), instrument.tables(run)
    for key in {score.metric for score in scores}:
        assert metric_of(key).instrument == name
    cells = [
        (column.key, row[0], cell)
        for table in tables
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
        if isinstance(cell, Estimate)
    ]
    compared = 0
    for metric in instrument.metrics:
        expected = score_mean(metric, scores)
        if expected is None:
            continue
        keys = {definition(metric.key).key, metric.key}
        keyed = [cell for key, first, cell in cells if key in keys or first == metric.name]
        shown = keyed or [cell for *_, cell in cells]  # a column with several numbers links to one of them
        wanted = pytest.approx(abs(expected.value)), expected.n
        assert any((abs(cell.value), cell.n) == wanted for cell in shown), (
            f"{metric.key}: {expected}, not {shown}"
        )
        compared += 1
    assert compared >= 4


def test_readings_of_the_same_thing_name_each_other():
    known = definitions()
    assert known["compass.excess_dae"].beside == ("compass.dae", "compass.excess_paper")
    for each in known.values():
        for key in each.beside:
            assert known[key].instrument == each.instrument
            assert each.key in known[key].beside


def test_meanings_are_short_and_formulas_are_plain():
    for each in definitions().values():
        assert each.meaning.endswith("."), each.key
        assert len(re.findall(r"[.!?] [A-Z]", each.meaning)) <= 1, each.key
        assert not re.search(r"\\[a-z]+|[<>]script", each.formula), each.key
        assert each.key == f"{each.instrument}.{each.key.partition('.')[2]}"
        assert re.fullmatch(r"[a-z]+\.[a-z0-9_]+", each.key), "keys are anchors"


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(UsageError, match=r"did you mean 'compass\.dae'"):
        definition("compass.daee")
    with pytest.raises(UsageError, match="keys begin with ask"):
        definition("zzz")


GOOD = """
[a.b]
name = "b"
title = "bee"
unit = "share"
grounded = "higher"
reading = "ours"
formula = "x"
meaning = "y."
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('unit = "share"', 'unit = "parsec"'), "unit of a.b must be one of text, share"),
        (('meaning = "y."', ""), "has no meaning"),
        (('reading = "ours"', 'reading = "paper"'), "but has no source"),
        (('formula = "x"', 'formula = "x"\nbeside = ["a.c"]'), "'a.c', which is not defined"),
        (('formula = "x"', 'formula = "x"\ncolour = "red"'), "unknown entry 'colour'"),
        (('formula = "x"', 'formula = "x"\nlike = "a.c"'), "'a.c', which is not defined"),
        (('formula = "x"', 'formula = "x"\nneeds = "luck"'), "needs of a.b must be one of"),
    ],
)
def test_a_broken_definition_is_told(change, message):
    assert read_definitions(GOOD)["a.b"].title == "bee"
    with pytest.raises(UsageError, match=message):
        read_definitions(GOOD.replace(*change))
