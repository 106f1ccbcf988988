"""Render a table for the terminal, as HTML, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.core.harmless import for_terminal
from theodolite.core.tables import Table, Unit

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["as_html", "as_markdown", "as_rich", "tables_json"]

_TEXT: frozenset[Unit] = frozenset({""})


def as_rich(table: Table) -> Group:
    """Render for a terminal, without interpreting mark-up. The title may be wider than the table."""
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        drawn.add_column(Text(for_terminal(column.title)), overflow="fold")
    for row in table.text_rows():
        drawn.add_row(*(Text(for_terminal(cell)) for cell in row))
    return Group(*([Text(for_terminal(table.title), style="bold")] if table.title else []), drawn)


def as_markdown(table: Table) -> str:
    r"""Render as Markdown, with title and notes.

    >>> from theodolite.core.tables import Column
    >>> print(as_markdown(Table.of("a.b", "Shares", [Column("who", "who"), Column("x", "x", "share")], [["a|b", 0.5]])))
    **Shares**
    <BLANKLINE>
    | who | x |
    | --- | ---: |
    | a\|b | 50.0 % |
    """
    heads = " | ".join(_plain(column.title) for column in table.columns)
    rule = " | ".join("---" if column.unit in _TEXT else "---:" for column in table.columns)
    lines = [f"| {heads} |", f"| {rule} |"]
    lines += [f"| {' | '.join(map(_plain, row))} |" for row in table.text_rows()]
    title = [f"**{_plain(table.title)}**", ""] if table.title else []
    notes = [line for note in table.notes for line in ("", note)]
    return "\n".join([*title, *lines, *notes])


def as_html(table: Table, *, link: Callable[[str], str] | None = None) -> str:
    """Render as HTML. All text is escaped.

    Args:
        table: The table.
        link: Function from the key of a definition to its address. Default: headings have no links.
    """
    heads = "".join(
        f'<th scope="col"{_side(column.unit)}>{_head(column.title, column.key, link)}</th>'
        for column in table.columns
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_side(column.unit)}>{escape(cell)}</td>"
            for cell, column in zip(row, table.columns, strict=True)
        )
        + "</tr>"
        for row in table.text_rows()
    )
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    notes = "".join(f'<p class="small quiet">{escape(note)}</p>' for note in table.notes)
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{notes}"


def tables_json(tables: Iterable[Table], **more: Any) -> dict[str, Any]:
    """Return the JSON of a scoring command: ``{…, "tables": […]}``."""
    return {**more, "tables": [table.as_json() for table in tables]}


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _side(unit: Unit) -> str:
    return "" if unit in _TEXT else ' class="right"'


def _head(title: str, key: str, link: Callable[[str], str] | None) -> str:
    if not key or link is None:
        return escape(title)
    return f'<a href="{escape(link(key))}">{escape(title)}</a>'
