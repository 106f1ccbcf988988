"""The tables *section → command* of the page on the papers: every command runs, and gives what the page promises."""

from __future__ import annotations

import json
import random
import re
import shlex
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from theodolite.cli.main import main
from theodolite.core import drawing

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
_SECTION = re.compile(r"^## ([^\n]+)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| `(theodolite [^`|]+)` \| ([^|]+) \|$", re.MULTILINE)
_PROMISE = re.compile(r"`([^`]+)`(?:: ([^`]+?))?(?=; `|$)")

SECTIONS = dict(_SECTION.findall(PAGE.read_text(encoding="utf-8")))
THINGS = {"cup": "#c22", "ball": "#26c", "book": "#282", "lamp": "#a5a", "vase": "#fa0"}


def commands(text):
    """The commands above a section's table."""
    lines = _BLOCK.search(text).group(1).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines]


def promises(text):
    """What a row says that its command gives: tables with the titles of some of their columns, or files."""
    return _PROMISE.findall(text)


def not_among(columns, titles):
    """What is left of a list of columns when those that a table has are taken out."""
    for title in sorted(titles, key=len, reverse=True):
        columns = columns.replace(title, "")
    return columns.strip(" ,;")


def run(words, capsys):
    capsys.readouterr()
    assert main([*words, "--json"]) == 0, f"{shlex.join(words)}: {capsys.readouterr().err}"
    return {table["name"]: table for table in json.loads(capsys.readouterr().out).get("tables", [])}


def write_coco(folder):
    """Four pictures of five things each, annotated as COCO's are, and captions in VSR's form."""
    (folder / "images").mkdir()
    rng, names = random.Random(0), list(THINGS)
    images, annotations, captions = [], [], []
    places = [(20, 20), (230, 30), (120, 110), (30, 180), (220, 170)]
    for number in range(4):
        picture = Image.new("RGB", (320, 240), "#e8e4dc")
        rng.shuffle(names)
        for name, (left, top) in zip(names, places, strict=True):
            x, y = left + rng.randrange(20), top + rng.randrange(10)
            ImageDraw.Draw(picture).rectangle([x, y, x + 44, y + 40], fill=THINGS[name])
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": sorted(THINGS).index(name) + 1,
                    "bbox": [x, y, 45, 41],
                    "area": 45 * 41,
                    "iscrowd": 0,
                    "segmentation": [[x, y, x + 45, y, x + 45, y + 41, x, y + 41]],
                }
            )
        file = f"{number:012d}.jpg"
        picture.save(folder / "images" / file)
        images.append({"id": number, "file_name": file, "width": 320, "height": 240})
        caption = f"The {names[0]} is at the left side of the {names[1]}."
        captions.append({"image": file, "caption": caption, "label": 1, "relation": "at the left side of"})
    categories = [{"id": i + 1, "name": name} for i, name in enumerate(sorted(THINGS))]
    (folder / "instances.json").write_text(
        json.dumps({"images": images, "annotations": annotations, "categories": categories})
    )
    (folder / "vsr.jsonl").write_text("\n".join(map(json.dumps, captions)))


def write_beliefs(folder):
    """Pairs of beliefs, labelled."""
    sides = ["left", "right", "above", "below"]
    rows = [
        {"first": f"the {thing} is {a}", "second": f"the {thing} is {b}", "same": a == b}
        for thing in THINGS
        for a in sides
        for b in sides
    ]
    (folder / "beliefs.jsonl").write_text("\n".join(map(json.dumps, rows)))


def write_labels(folder):
    """The claims that were written for labelling, labelled by two."""
    rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    for who, shift in (("a", 0), ("b", 5)):
        labels = ["supported" if (i + shift) % 6 else "unsupported" for i in range(len(rows))]
        filled = [{**row, "label": label} for row, label in zip(rows, labels, strict=True)]
        (folder / f"labels-{who}.jsonl").write_text("\n".join(map(json.dumps, filled)))


def test_every_paper_has_a_table_of_commands():
    assert list(SECTIONS) == ["CREG", "GridVQA-X", "CRISP", "Step grounding"]
    for text in SECTIONS.values():
        rows = _ROW.findall(text)
        assert len(rows) == text.count("| `theodolite ") >= 12
        assert all(promises(gives) for _, _, gives in rows)


@pytest.mark.parametrize("paper", SECTIONS)
def test_every_command_gives_what_the_page_says(paper, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(drawing, "DPI", 40)
    if paper == "CREG":
        write_coco(tmp_path)
    if paper == "Step grounding":
        write_beliefs(tmp_path)
    for words in commands(SECTIONS[paper]):
        run(words, capsys)
    given = {}
    for section, command, gives in _ROW.findall(SECTIONS[paper]):
        if "labels-a.jsonl" in command:
            write_labels(tmp_path)
        if command not in given:
            given[command] = run(shlex.split(command)[1:], capsys)
        for name, columns in promises(gives):
            if "/" in name or name.endswith(".jsonl"):
                assert (tmp_path / name).exists(), f"{section}: `{command}` does not write {name}"
                continue
            assert name in given[command], f"{section}: `{command}` gives {list(given[command])}"
            titles = {column["title"] for column in given[command][name]["columns"]}
            assert not not_among(columns, titles), f"{section}: {name} has {titles}"


def test_the_check_of_columns_can_fail():
    assert not_among("TCS, equation 2; SGR", {"SGR", "TCS, equation 2"}) == ""
    assert not_among("SGR, HR", {"SGR"}) == "HR"
