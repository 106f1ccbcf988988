"""Logs and tables of other programs, and pictures."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.formats.sample import Format, json_of, lines_of, picture


def _inspect_sample() -> dict[str, Any]:
    asked = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Where is the cup?"}, {"type": "image", "image": "a.png"}],
        },
    ]
    message = {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "low"}, {"type": "text", "text": "left"}],
    }
    output = {
        "choices": [{"message": message, "stop_reason": "stop"}],
        "usage": {"input_tokens": 11, "output_tokens": 3},
    }
    return {"id": "a", "epoch": 1, "messages": asked, "output": output, "attachments": {"1": "x"}}


def log_formats() -> list[Format]:
    from theodolite.core.types import Request
    from theodolite.instruments.ask.data.questions import find_question_file, load_questions, write_questions
    from theodolite.models import open_model

    def replayed(name: str) -> Callable[[Path, Path], Any]:
        def read(folder: Path, _: Path) -> Any:
            return open_model(f"replay:{folder / name}").generate([Request.ask("Where is the cup?", ref="a")])

        return read

    def asked(name: str) -> Callable[[Path, Path], Any]:
        def read(folder: Path, out: Path) -> None:
            find_question_file(folder)
            write_questions(load_questions(folder / name).questions, out)

        return read

    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("header.json", json_of({"version": 2}))
        for number in (1, 2):
            members.writestr(f"samples/{number}_epoch_1.json", json_of({**_inspect_sample(), "id": number}))
    lmms = {
        "doc_id": 1,
        "input": "<image>\nWhere is the cup?",
        "resps": [["left"]],
        "filtered_resps": ["left"],
        "target": "left",
    }
    question = {
        "id": "q",
        "question": "Where is the cup?",
        "options": ["left", "right"],
        "answer": "left",
        "picture": "a.png",
        "group": "g",
    }
    answer = {"image": "a.png", "question": "Where is the cup?", "prediction": "left", "answer": "left"}
    talk = {
        "id": "t",
        "image": "a.png",
        "conversations": [{"from": "human", "value": "<image>\nWhere?"}, {"from": "gpt", "value": "left"}],
    }
    table = b"image,question,prediction\na.png,Where is the cup?,left\na.png,Who?,right\n"
    return [
        Format(
            "lmms-eval",
            {"x_samples_y.jsonl": lines_of(lmms, {**lmms, "doc_id": 2})},
            replayed("x_samples_y.jsonl"),
        ),
        Format(
            "inspect json",
            {
                "log.json": json_of(
                    {"version": 2, "eval": {"task": "t"}, "samples": [_inspect_sample(), _inspect_sample()]}
                )
            },
            replayed("log.json"),
        ),
        Format("inspect eval", {"log.eval": archive.getvalue()}, replayed("log.eval")),
        Format("answers jsonl", {"a.jsonl": lines_of(answer, talk)}, replayed("a.jsonl")),
        Format("answers xlsx", {"a.xlsx": _workbook(inline=False)}, replayed("a.xlsx")),
        Format("answers inline xlsx", {"a.xlsx": _workbook(inline=True)}, replayed("a.xlsx")),
        Format("answers parquet", {"a.parquet": _parquet()}, replayed("a.parquet")),
        Format("answers csv", {"a.csv": table}, replayed("a.csv")),
        Format("answers tsv", {"a.tsv": table.replace(b",", b"\t")}, replayed("a.tsv")),
        Format(
            "questions",
            {
                "questions.jsonl": lines_of(
                    question, {**question, "id": "r", "question": "Where is the pen?"}
                ),
                "a.png": picture(),
            },
            asked("questions.jsonl"),
        ),
        Format(
            "question list",
            {"q.json": json_of({"questions": [question, talk]}), "a.png": picture()},
            asked("q.json"),
        ),
    ]


_CELLS: tuple[tuple[str | int, ...], ...] = (
    ("image", "question", "prediction"),
    ("a.png", "Where is the cup?", "left _x0041_"),
    ("b.png", "Who?", 7),
)


def _workbook(*, inline: bool) -> bytes:
    """Return an Excel file with shared or with inline texts."""
    texts: list[str] = []

    def cell(place: str, value: str | int) -> str:
        if isinstance(value, int):
            return f'<c r="{place}"><v>{value}</v></c>'
        if inline:
            return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
        texts.append(f"<si><t>{value}</t></si>")
        return f'<c r="{place}" t="s"><v>{len(texts) - 1}</v></c>'

    rows = "".join(
        f'<row r="{n}">{"".join(cell(f"{column}{n}", value) for column, value in zip("ABC", row, strict=True))}</row>'
        for n, row in enumerate(_CELLS, 1)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/worksheets/sheet1.xml", f"{head}<worksheet><sheetData>{rows}</sheetData></worksheet>"
        )
        if texts:
            archive.writestr("xl/sharedStrings.xml", f"{head}<sst>{''.join(texts)}</sst>")
    return content.getvalue()


def _parquet() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    content = io.BytesIO()
    names, *rows = _CELLS
    table = [
        dict(zip(map(str, names), map(str, row), strict=True)) | {"tags": ["a"], "n": {"x": 1.5}}
        for row in rows
    ]
    parquet.write_table(pa.Table.from_pylist(table), content, compression="zstd")
    return content.getvalue()


def picture_formats() -> list[Format]:
    from theodolite.core.types import Picture

    def decoded(name: str) -> Callable[[Path, Path], Any]:
        def read(folder: Path, _: Path) -> None:
            shown = Picture.from_path(folder / name)
            if shown.pixels().shape[:2] != shown.size[::-1]:
                raise AssertionError(f"{shown.pixels().shape} is not {shown.size}")

        return read

    kinds = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp", "TIFF": "tif"}
    return [
        Format(f"picture {kind}", {f"a.{ending}": picture(24, 16, kind)}, decoded(f"a.{ending}"))
        for kind, ending in kinds.items()
    ]
