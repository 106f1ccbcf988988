"""One table, rendered everywhere: nothing is lost, and hostile text stays text."""

import io
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from theodolite.core.tables import Column, Estimate, Table
from theodolite.report.tables import as_html, as_markdown, as_rich, tables_json

HOSTILE = '<script>alert(1)</script><img src=x onerror="x">&amp;"\' [bold]b[/bold] | \\ {{7*7}} {key}'
ESTIMATE = Estimate(0.5, 0.4, 0.6, n=90, level=0.95, method="Wilson")
TABLE = Table.of(
    "ask.settings",
    "Accuracy",
    [
        Column("who", "model"),
        Column("right", "right", "share", "ask.accuracy"),
        Column("n", "asked", "count"),
    ],
    [["one", ESTIMATE, 90], ["two", None, 0]],
    ["Chance is 25 %."],
)
EVIL = Table.of(
    HOSTILE,
    HOSTILE,
    [Column("a", HOSTILE, key=HOSTILE), Column("b", HOSTILE)],
    [[HOSTILE, HOSTILE]],
    [HOSTILE],
)


class Page(HTMLParser):
    """The elements, attributes and text of an HTML fragment."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def test_html_holds_every_cell_and_note():
    page = Page(as_html(TABLE))
    assert page.texts == [
        *("Accuracy", "model", "right", "asked"),
        *("one", "50.0 % [40.0, 60.0]", "90", "two", "–", "0", "Chance is 25 %."),
    ]
    assert page.tags.count("tr") == 3
    assert page.attributes.count(("scope", "col")) == 3
    assert page.attributes.count(("class", "right")) == 2 * 3  # numbers stand at the right, heading and cells
    assert "a" not in page.tags


def test_headings_are_linked_to_their_definitions():
    page = Page(as_html(TABLE, link="#def-{}".format))
    assert [value for name, value in page.attributes if name == "href"] == ["#def-ask.accuracy"]


def test_hostile_text_is_escaped_in_html():
    page = Page(as_html(EVIL, link="#def-{}".format))
    assert set(page.tags) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "a", "p"}
    assert {name for name, _ in page.attributes} <= {"scope", "class", "href"}
    assert page.texts == [HOSTILE] * 6
    assert [value for name, value in page.attributes if name == "href"] == [f"#def-{HOSTILE}"]


@given(st.text(), st.text(), st.text())
def test_no_text_breaks_out_of_html(title, head, cell):
    table = Table.of("a.b", title, [Column("x", head, key="k")], [[cell]], [cell])
    page = Page(as_html(table, link=lambda key: f"#{key}"))
    assert page.tags.count("td") == 1
    assert set(page.tags) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "a", "p"}


def test_markdown_has_a_line_for_each_row():
    assert as_markdown(TABLE).splitlines() == [
        "**Accuracy**",
        "",
        "| model | right | asked |",
        "| --- | ---: | ---: |",
        "| one | 50.0 % [40.0, 60.0] | 90 |",
        "| two | – | 0 |",
        "",
        "Chance is 25 %.",
    ]


def test_markdown_keeps_its_columns_whatever_stands_in_a_cell():
    lines = as_markdown(
        Table.of("a.b", "A", [Column("x", "a|b"), Column("y", "y")], [["p|q\nr", "|"]])
    ).splitlines()
    assert lines[2] == r"| a\|b | y |"
    assert lines[4] == r"| p\|q r | \| |"


@pytest.mark.parametrize("width", [40, 160])
def test_the_terminal_shows_text_as_it_is(width):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(as_rich(EVIL))
    shown = "".join(console.file.getvalue().split())
    assert shown.count("[bold]b[/bold]") >= 2 if width == 160 else "bold" in shown
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(as_rich(TABLE))
    shown = console.file.getvalue()
    assert "50.0 % [40.0," in shown
    assert "Accuracy" in shown


def test_json_is_the_tables_and_what_stands_beside_them():
    value = tables_json([TABLE, EVIL], run="runs/a", model="m")
    assert list(value) == ["run", "model", "tables"]
    assert [Table.from_json(table) for table in value["tables"]] == [TABLE, EVIL]
