"""Hostile strings to the HTML page: what models, items and settings say must never become mark-up.

A page of a run with hostile strings must have the same elements, with the same names of attributes, the same scripts and the
same styles as the page of a run with harmless ones. So no element, attribute or script came from a text, and no request can.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

from fuzz.tally import Tally, attempt
from fuzz.texts import PIECES, text
from theodolite.answers import AnswerFormat
from theodolite.core.types import Item, Record, Request, Response, Truth
from theodolite.report.html.parts import unpack
from theodolite.report.html.write import write_run_report
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure

PER_PAGE = 100
_FIELDS = ("answer", "question", "gold", "name", "reason")
_OF_MODEL = {"answer", "reason"}
_MARKUP = (
    *("<script>x()</script>", "</script><script>x()</script>", "<!--", "-->", "]]>", "<img src=//h onerror=x()>", "<svg/onload=x()>"),
    *('"><b>', "'><b>", '" onmouseover="x()', "javascript:x()", "&lt;b&gt;", "&#60;b&#62;", "</textarea>", "</title>", "</style><b>"),
    *("{{7*7}}", "{% x %}", "<\x00b>", "＜b＞", "\u2028x()", "<a href=//h>", "<base href=//h>", '<meta http-equiv="refresh">', "<link>"),
)  # fmt: skip


def run(seed: int, count: int, seconds: float | None = None) -> Tally:
    """Build pages of `PER_PAGE` items each, until `count` strings were shown or `seconds` have passed."""
    tally = Tally()
    per_page = PER_PAGE * len(_FIELDS)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        harmless = _page(home / "harmless", [dict.fromkeys(_FIELDS, f"word {i}") for i in range(PER_PAGE)])
        begun = time.monotonic()
        for number in range(max(1, count // per_page)):
            if seconds is not None and time.monotonic() - begun > seconds:
                break
            rng = random.Random(f"page/{seed}/{number}")
            rows = [{name: _string(rng, name) for name in _FIELDS} for _ in range(PER_PAGE)]
            label = f"seed {seed}, page {number}"
            skeleton = attempt(tally, label, lambda: _page(home / str(number), rows), seconds=60)  # noqa: B023 - called at once
            tally.inputs += per_page - 1
            if skeleton is not None and skeleton != harmless:
                tally.add("uncaught", f"{label}: {_difference(harmless, skeleton)}")
    return tally


def _string(rng: random.Random, name: str) -> str:
    """Return a text with mark-up in it; never empty, because a page may omit empty texts.

    Lone surrogates occur in model output only: the readers of data files refuse them.
    """
    parts = [text(rng)[:2000], rng.choice(_MARKUP), rng.choice(PIECES), rng.choice(_MARKUP)]
    rng.shuffle(parts)
    value = f"x{''.join(parts)}"
    return value if name in _OF_MODEL else value.encode("utf-8", "replace").decode()


def _page(folder: Path, rows: Sequence[dict[str, str]]) -> _Skeleton:
    """Return the skeleton of the page of a run with one item per row; its data blocks must be JSON."""
    items = [
        Item(
            f"{i} {row['name']}",
            Request.ask(row["question"]),
            options=("yes", "no"),
            meta={"natural": row["name"]},
            truth=Truth(
                (row["gold"], row["name"]),
                AnswerFormat.yes_no(),
                subject=f"{i} {row['name']}",
                cluster=row["name"],
                group=row["gold"],
                condition="base",
            ),
        )
        for i, row in enumerate(rows)
    ]
    answers = {item.id: row for item, row in zip(items, rows, strict=True)}
    info = RunInfo(
        instrument="ask", model=f"m {rows[0]['name']}", identity="fuzz", settings={"data": rows[0]["gold"]}, theodolite="0"
    )  # fmt: skip
    with closing(LocalEngine(_Saying(answers))) as engine, Run.start(folder, info) as started:
        started.plan(iter(items), whole=True)
        measure(started, engine, MeasureOptions())
    page = write_run_report([folder], out=folder / "page", one_file=True)
    skeleton = _Skeleton(page.read_text(encoding="utf-8"))
    for block in skeleton.data:
        unpack(block)
    return skeleton


class _Saying:
    """A model that answers from the rows: every fourth item fails with a reason, the others are answered."""

    batch_size = 256
    reuse = "never"
    identity = "fuzz"

    def __init__(self, rows: dict[str, dict[str, str]]) -> None:
        self._said = rows

    def measure(self, items: Sequence[Item]) -> list[Record]:
        return [
            Record(item.id, self._response(index, self._said[item.id])) for index, item in enumerate(items)
        ]

    def close(self) -> None:
        self._said = {}

    @staticmethod
    def _response(index: int, row: dict[str, str]) -> Response:
        if index % 4 == 0:
            return Response("refused", reason=row["reason"])
        return Response("answered", text=row["answer"], finish="stop")


class _Skeleton(HTMLParser):
    """The elements of a page with the names of their attributes, its scripts and styles; without its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: Counter[tuple[str, ...]] = Counter()
        self.data: list[str] = []
        self._open = ""
        self.feed(page)
        self.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Skeleton) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts["element", tag, *sorted(name for name, _ in attrs)] += 1
        self.parts.update(
            ("address", tag, name, str(value))
            for name, value in attrs
            if name in {"href", "src", "action", "srcset"} and not str(value).startswith("#")
        )
        self._open = tag if tag in {"script", "style"} else ""
        if ("type", "application/json") in attrs:
            self._open = "data"

    def handle_endtag(self, tag: str) -> None:
        self.parts["end", tag] += 1
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "data":
            self.data.append(data)
        elif self._open:
            self.parts[self._open, data] += 1

    def handle_comment(self, data: str) -> None:
        self.parts["comment", data] += 1

    def handle_decl(self, decl: str) -> None:
        self.parts["declaration", decl] += 1

    def handle_pi(self, data: str) -> None:
        self.parts["instruction", data] += 1


def _difference(harmless: _Skeleton, shown: _Skeleton) -> str:
    new = shown.parts - harmless.parts
    lost = harmless.parts - shown.parts
    return f"new: {list(new)[:3]}, lost: {list(lost)[:3]}"
