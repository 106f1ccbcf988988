"""The report: a page that opens from disk, needs no network, and shows every figure with its interval.

`write_report` makes it of a diagnosis, `write_run_report` of runs, `write_comparison` of two of either.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from theodolite.diagnose.items import ITEMS_FILE, read_items
from theodolite.diagnose.record import read_diagnosis
from theodolite.errors import StorageError
from theodolite.report._html_definitions import Glossary
from theodolite.report._html_diagnosis import diagnosis_context
from theodolite.report._html_items import item_table
from theodolite.report._html_page import DataBlock, render_page
from theodolite.report._html_pictures import Pictures
from theodolite.runs import write_atomically

__all__ = ["write_report"]

REPORT_FOLDER, PAGE = "report", "index.html"


def write_report(folder: str | Path, *, out: str | Path | None = None, one_file: bool = False) -> Path:
    """Writes the page of a diagnosis.

    Args:
        folder: of the diagnosis: ``diagnosis.json``, and ``items.jsonl`` with its pictures if items are to be shown.
        out: the folder of the page; ``report`` in the diagnosis's own if not given.
        one_file: whether the pictures go into the page itself, to be sent as a single file.

    Returns:
        The page.
    """
    folder = Path(folder)
    diagnosis = read_diagnosis(folder)
    folder = folder if folder.is_dir() else folder.parent
    target = Path(out) if out is not None else folder / REPORT_FOLDER
    names = {readout.key: readout.name for readout in diagnosis.readouts}
    glossary = Glossary(names)
    context = diagnosis_context(diagnosis, glossary)
    blocks: list[DataBlock] = []
    has_items = (folder / ITEMS_FILE).exists()
    if has_items:
        pictures = Pictures(target, is_inside=one_file)
        home = folder.resolve()

        def take(name: str) -> tuple[str, int, int] | None:
            path = (home / name).resolve()
            return pictures.take(path) if path.is_relative_to(home) else None

        table = item_table(read_items(folder), names, take=take)
        blocks = table.blocks(glossary, pictures.inside)
        if pictures.missing:
            context["items_note"] = f"{len(pictures.missing)} pictures could not be read and are not shown."
    return _write(target, "diagnosis.html", {**context, "has_items": has_items}, glossary, blocks)


def _write(
    target: Path, template: str, context: dict[str, Any], glossary: Glossary, blocks: list[DataBlock]
) -> Path:
    # The body is drawn twice: only then is it known which definitions it links to.
    render_page(template, {**context, "definitions": []})
    page = render_page(template, {**context, "definitions": glossary.listed()}, data=blocks)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make {target}: {error.strerror}; choose another --out") from error
    path = target / PAGE
    write_atomically(path, page)
    return path
