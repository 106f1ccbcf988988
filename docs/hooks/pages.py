"""Pages and tables that are made from the program itself while the site is built."""

from __future__ import annotations

from typing import Any

from _commands import command_nav, command_pages
from _definitions import definitions_page
from _tables import with_tables
from mkdocs.structure.files import File, Files


def on_config(config: Any) -> Any:
    """Puts a page for every noun below *Commands*."""
    for entry in config.nav:
        if isinstance(entry, dict) and "Commands" in entry:
            entry["Commands"] = command_nav()
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the made pages to those that are written by hand."""
    made = {"definitions.md": definitions_page(), **command_pages()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the tables in that a page asks for."""
    return with_tables(markdown)
