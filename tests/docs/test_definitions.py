"""Every figure is defined, every definition is of a figure that exists, and all of it can be read."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import theodolite
from theodolite.core.errors import UsageError
from theodolite.report.definitions import definition, definition_of, definitions, read_definitions

PACKAGE = Path(theodolite.__file__).parent
COVERED = ("ask", "compass", "grid", "scene", "trace", "twins", "diagnose")
FIGURE = re.compile(r"\b(Estimate|Figure|Ratio)\b")
BY_NAME = {
    ("compass", "ControlRow.figures"),  # by the names of FIGURES
    *(("compass", f"DirectionFigures.{name}") for name in ("accuracy", "dae", "uniform_dae")),  # of a figure
}


def figure_fields(package: str) -> set[tuple[str, str]]:
    """``Class.field`` of every public dataclass field that holds an estimate."""
    found = set()
    for path in sorted(
        (PACKAGE / ("" if package in {"twins", "diagnose"} else "instruments") / package).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found |= {
                    (package, f"{node.name}.{ast.unparse(field.target)}")
                    for field in node.body
                    if isinstance(field, ast.AnnAssign)
                    and FIGURE.search(re.sub(r"Callable\[.*\]", "", ast.unparse(field.annotation)))
                }
    return found


@pytest.mark.parametrize("package", COVERED)
def test_every_figure_that_a_record_holds_is_defined_once(package):
    held = figure_fields(package) - BY_NAME
    named = [
        (package, field)
        for each in definitions().values()
        if each.instrument == package
        for field in each.fields
    ]
    assert held, "no records found: the test looks in the wrong place"
    assert held - set(named) == set(), "define these in report/definitions.toml"
    assert set(named) - held == set(), "these fields are gone: take them out of report/definitions.toml"
    assert len(named) == len(set(named)), "a field has two definitions"


def called(instrument: str) -> list[str]:
    return [name for each in definitions().values() if each.instrument == instrument for name in each.called]


def test_every_named_figure_of_the_compass_controls_is_defined():
    from theodolite.instruments.compass.experiments.controls.results import FIGURES

    assert sorted(called("compass")) == sorted(FIGURES)


def test_every_named_figure_of_the_grid_is_defined():
    from theodolite.instruments.grid.estimates import MEASURES, TEXT_MEASURES

    from theodolite.instruments.grid.models import certify as certificate

    lines = {
        certificate.ACCURACY,
        certificate.AGREES,
        certificate.FOLLOWS,
        certificate.INVARIANT,
        certificate.KEEPS,
    }
    assert (set(MEASURES) | set(TEXT_MEASURES) | lines) - set(called("grid")) == set()
    assert len(called("grid")) == len(set(called("grid")))


INSTRUMENTS_WITH_METRICS = [
    name for name in COVERED if (PACKAGE / "instruments" / name / "metrics.py").is_file()
]


@pytest.mark.parametrize("instrument", INSTRUMENTS_WITH_METRICS)
def test_every_metric_of_single_items_has_a_definition_that_points_the_same_way(instrument):
    metrics = import_module(f"theodolite.instruments.{instrument}.metrics").METRICS
    assert metrics
    for metric in metrics:
        found = definition_of(metric.key)
        assert found.instrument == instrument
        if found.grounded != "neither":
            assert (found.grounded == "higher") == metric.higher_is_grounded, metric.key
    kinds = {metric.key.partition(".")[2].partition(":")[0] for metric in metrics}
    defined = [k for d in definitions().values() if d.instrument == instrument for k in d.metrics]
    assert sorted(defined) == sorted(kinds)


def test_readings_of_the_same_thing_name_each_other():
    known = definitions()
    assert known["compass.excess_dae"].beside == ("compass.dae", "compass.below_uniform")
    for each in known.values():
        for key in each.beside:
            assert known[key].instrument == each.instrument
            assert each.key in known[key].beside


def test_meanings_are_one_sentence_and_formulas_are_plain():
    for each in definitions().values():
        assert each.meaning.endswith("."), each.key
        assert re.search(r"[.!?] [A-Z]", each.meaning) is None, each.key
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
        (('unit = "share"', 'unit = "parsec"'), "unit of a.b is one of share"),
        (('meaning = "y."', ""), "lacks its meaning"),
        (('reading = "ours"', 'reading = "paper"'), "does not say its source"),
        (('formula = "x"', 'formula = "x"\nbeside = ["a.c"]'), "'a.c', which is not defined"),
        (('formula = "x"', 'formula = "x"\ncolour = "red"'), "unknown entry 'colour'"),
    ],
)
def test_a_broken_definition_is_told(change, message):
    assert read_definitions(GOOD)["a.b"].title == "bee"
    with pytest.raises(UsageError, match=message):
        read_definitions(GOOD.replace(*change))
