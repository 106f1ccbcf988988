"""What ``theodolite grid audit`` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.text import Text

from theodolite.cli.console import note, out
from theodolite.cli.output import p_value, percent, print_table
from theodolite.instruments.grid.data.audit import Audit, BucketAudit
from theodolite.instruments.grid.data.compare import Comparison
from theodolite.instruments.grid.data.heuristics import Heuristic
from theodolite.instruments.grid.published import published
from theodolite.stats import Estimate

_SHORTCUTS = ("prior", "bag of words", "majority", "salience")
_ANCHORS = tuple(f"without anchor {k}" for k in range(1, 5))
_MODES = {"pure": "Pure", "spur": "Spurious"}


def audit_as_json(found: Audit) -> dict[str, Any]:
    """An audit as JSON, the paper's figures beside ours."""
    document = asdict(found)
    document["is_kept"] = found.is_kept
    for part, mine in zip(document["buckets"], found.buckets, strict=True):
        for each, heuristic in zip(part["heuristics"], mine.heuristics, strict=True):
            paper = published(heuristic.name, found.mode, bucket=mine.bucket, density=mine.density)
            each["paper"] = paper.success if paper else None
    document["overall"] = {
        name: {**asdict(value), "paper": paper.success if (paper := published(name, found.mode)) else None}
        for name, value in found.overall.items()
    }
    return document


def comparison_as_json(beside: Comparison) -> dict[str, Any]:
    """A comparison as JSON."""
    return {**asdict(beside), "is_kept": beside.is_kept}


def show_audit(found: Audit) -> None:
    """Success and information of every shortcut, bucket by bucket, and what is broken."""
    name = f"{_MODES[found.mode]} data, {found.preset} preset: {found.n} scenes"
    columns = [
        "bucket",
        "objects",
        "n",
        "guarantee kept",
        *_SHORTCUTS,
        *(f"– anchor {k}" for k in range(1, 5)),
    ]
    rows = [_successes(found, part) for part in found.buckets]
    print_table(columns, rows, title=f"{name}. How often each shortcut is right, in % (paper's figure)")
    out.print()
    print_table(
        ["bucket", "objects", *_SHORTCUTS, *(f"– anchor {k}" for k in range(1, 5))],
        [_informations(part) for part in found.buckets],
        title="What each shortcut tells of the answer: bits above shuffled answers (* p < .01)",
    )
    out.print()
    overall = [[each, percent(value), _paper(each, found.mode)] for each, value in found.overall.items()]
    print_table(["over all buckets", "right", "paper"], overall)
    if found.duplicates:
        note(f"{found.duplicates} scenes stand in the data set more than once")
    note(f"{found.pictures_checked} pictures compared with their scenes")
    if found.is_kept:
        note("every promise is kept")
        return
    out.print()
    broken: list[list[str | Text]] = [
        [Text(fault.promise, style="red"), str(fault.count), fault.example] for fault in found.faults
    ]
    print_table(["broken promise", "scenes", "example"], broken)


def _successes(found: Audit, part: BucketAudit) -> list[str]:
    by_name = {each.name: each for each in part.heuristics}

    def cell(name: str) -> str:
        if name not in by_name:
            return ""
        paper = published(name, found.mode, bucket=part.bucket, density=part.density)
        return _short(by_name[name].success) + (f" ({100 * paper.success:.1f})" if paper else "")

    levels = ", ".join(f"{level} {count}" for level, count in part.levels.items() if level != "none") or "–"
    return [part.bucket, str(part.objects), str(part.n), levels, *map(cell, (*_SHORTCUTS, *_ANCHORS))]


def _short(share: Estimate) -> str:
    return f"{100 * share.value:.0f} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def _informations(part: BucketAudit) -> list[str]:
    by_name = {each.name: each for each in part.heuristics}
    cells = [_bits(by_name[name]) if name in by_name else "" for name in (*_SHORTCUTS, *_ANCHORS)]
    return [part.bucket, str(part.objects), *cells]


def _bits(heuristic: Heuristic) -> str:
    found = heuristic.information
    return f"{max(0.0, found.corrected):.2f}{'*' if found.p_value < 0.01 else ''}"


def _paper(name: str, mode: str) -> str:
    paper = published(name, mode)
    return f"{100 * paper.success:.1f} % ({paper.words})" if paper else ""


def show_comparison(beside: Comparison) -> None:
    """Whether two data sets answer alike, and share no scene across splits."""
    out.print()
    rows = [
        [
            each.bucket,
            each.density,
            f"{each.n[0]}, {each.n[1]}",
            f"{each.distance:.3f}",
            p_value(each.p_value),
        ]
        for each in beside.answers
    ]
    print_table(
        ["bucket", "density", "n", "distance", "p (Holm)"],
        rows,
        title="Do both answer alike? Total variation distance of their answers",
    )
    note(
        f"{beside.shared} scenes stand in both data sets, {beside.shared_across_splits} of them in different splits"
    )
    if beside.is_kept:
        note("answers agree, and no scene crosses splits")
    for each in beside.differing:
        note(f"answers differ in {each.bucket}, {each.density}: distance {each.distance:.3f}")
