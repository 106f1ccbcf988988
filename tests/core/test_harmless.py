"""What models and strangers write is shown, and does nothing: in a terminal, in JSON, in the cells of a spreadsheet."""

import csv
import io
import json

import pytest
from rich.text import Text

from theodolite.cli import output
from theodolite.core.harmless import for_cell, for_json, for_terminal
from theodolite.core.tables import Column, Table

ACTING = "\u202egnp.exe\u202c \u2066x\u2069 \x1b[31mred\x1b[0m \x1b]0;title\x07 \x00 \x9b2J \r"
HARMFUL = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x1b\x07\x00\x9b")


@pytest.fixture
def printed(monkeypatch):
    """All that is printed, on a terminal of its own."""
    stream = io.StringIO()
    for name in ("out", "err"):
        monkeypatch.setattr(
            output, name, output._console(file=stream, force_terminal=True, width=300, color_system=None)
        )
    return stream.getvalue


def test_nothing_that_is_printed_acts_on_the_terminal(printed):
    table = Table.of(
        "a.b", f"T {ACTING}", [Column("x", f"x {ACTING}")], [[f"cell {ACTING}"]], notes=[f"n {ACTING}"]
    )
    output.show([table], json=False)
    output.note(f"note {ACTING}")
    output.print_table([f"c {ACTING}"], [[f"row {ACTING}"], [Text(f"text {ACTING}")]], title=f"t {ACTING}")
    output.err.print(Text(f"error: {ACTING}"), soft_wrap=True)
    output.print_json({"a": ACTING})
    shown = printed()
    assert not HARMFUL & set(shown)
    for word in ("cell", "note", "row", "text", "error:"):
        assert f"{word} \ufffdgnp.exe" in shown
    assert json.loads(shown[shown.rindex("{") :]) == {"a": ACTING}


def test_colours_of_our_own_are_kept(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)  # other tests set it
    stream = io.StringIO()
    console = output._console(file=stream, force_terminal=True, color_system="standard")
    console.print(Text("red \x1b[7m", style="red"))
    assert stream.getvalue() == "\x1b[31mred \ufffd[7m\x1b[0m\n"


@pytest.mark.parametrize("text", ["left\tof\nit", "naïve — 左 ½ 👩‍👩‍👧", "اليسار", ""])
def test_ordinary_text_is_as_it_was(text):
    assert for_terminal(text) == for_json(text) == text
    assert for_cell(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|' /C calc'!A0",
        "@SUM(1)",
        "+1+1",
        "-1-1",
        "\t=1",
        "\r=1",
        "-",
        "=",
        "+left",
        "-2 m",
        '=HYPERLINK("http://x")',
    ],
)
def test_a_formula_is_text(text):
    assert for_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+2", "-0.5", "1e-7", "-.5", "+1.", "0"])
def test_a_number_is_a_number(text):
    assert for_cell(text) == text


def test_cells_survive_a_reader_of_csv():
    stream = io.StringIO()
    csv.writer(stream).writerow([for_cell(text) for text in ("=1\n+2", "a\x00b", "\u202ex")])
    assert next(csv.reader(io.StringIO(stream.getvalue()))) == ["'=1\n+2", "a\ufffdb", "\ufffdx"]
