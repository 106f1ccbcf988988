"""A page on which a person labels claims. It opens from disk and saves the file that `theodolite trace annotate` scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from theodolite.report.html.page import DataBlock, render_page
from theodolite.report.html.pictures import Pictures, into_page
from theodolite.runs import write_atomically

__all__ = ["write_label_page"]


def write_label_page(rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, str]:
    """Write the page, with the pictures in it.

    Args:
        rows: The claims, those of one step one after the other.
        path: The page. What it saves has the same name, as ``.jsonl``.

    Returns:
        Pictures that cannot be shown, with the reason.
    """
    inside: dict[str, str] = {}
    pictures = Pictures(into_page(inside), is_small=True)
    steps, first = [], 0
    for _, group in groupby(rows, key=lambda row: row["id"].rpartition("/")[0]):
        own = list(group)
        shown = [taken[0] for name in own[0]["pictures"] if (taken := pictures.take(Path(name)))]
        step = {"sentence": own[0]["sentence"], "frames": own[0]["frames"], "pictures": shown}
        steps.append({**step, "first": first, "last": (first := first + len(own))})
    key = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
    name = path.with_suffix(".jsonl").name
    task = {"key": key, "name": name, "rows": rows, "steps": steps, "inside": inside, "pictures": ""}
    page = render_page("labels.html", {"name": name}, data=[DataBlock("labels", task)])
    write_atomically(path, page.encode())
    return pictures.missing
