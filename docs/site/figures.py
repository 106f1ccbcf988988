"""Draws the figures of the pages again: ``python docs/site/figures.py``. They are kept beside the pages, not made at each build."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image

from theodolite.cli.main import main
from theodolite.core.types import Picture
from theodolite.diagnose.api import Diagnosed, open_diagnosis
from theodolite.diagnose.pair_verdicts import OUTCOME_COLOURS as OUTCOMES
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.data.drawn import SquaresPlan, coloured_squares
from theodolite.instruments.compass.figures.overlay import CompassView, compass_rows
from theodolite.instruments.compass.formulas.projection import SOUND, TokenMap, project
from theodolite.instruments.scene.data.make import MakeOptions, make_data
from theodolite.pairs.pictures import Cutout, exchange, mirror, remove

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "docs" / "assets"
_WIDTH_PX = 1600


def theodolite(*words: str) -> None:
    """Run a command; a failure ends it all."""
    status = main(list(words))
    if status:
        sys.exit(status)


def keep(picture: Image.Image | Path, name: str, *, colours: int = 160) -> None:
    """Write a picture small enough for a page."""
    image = Image.open(picture) if isinstance(picture, Path) else picture
    image = image.convert("RGB")
    if image.width > _WIDTH_PX:
        image = image.resize(
            (_WIDTH_PX, round(image.height * _WIDTH_PX / image.width)), Image.Resampling.LANCZOS
        )
    image.quantize(colours, dither=Image.Dither.NONE).save(ASSETS / name, optimize=True)


_GROUNDS = {"light": ("#1f2328", "#59636e", "#d1d9e0"), "dark": ("#f0f6fc", "#9198a1", "#3d444d")}
"""Ink, quiet ink and rule on both grounds of the README."""
_PAIR = "relation-aligned-0-00000/A"
"""The first pair that is asked."""
_SIZE = (10, 3.75)
_ROWS = (0.22, 0.137, 0.054)
_ROOM = 0.12
"""The least share with room for its number."""
_SHOWN = ("pocket:grounded", "pocket:mixed", "pocket:shortcut")


def pair(folder: Path) -> None:
    """Draw the picture of the README: one pair with the answers of three models, and the outcomes of all their pairs."""
    theodolite("diagnose", "--quick", "--instruments", "compass", "--out", str(folder / "report"))
    found = open_diagnosis(folder / "report")
    items = {(row.model, row.id): row for row in found.items()}
    for ground, (ink, quiet, rule) in _GROUNDS.items():
        figure = Figure(figsize=_SIZE)
        for axes in _sides(figure, items, folder / "report", ink, quiet):
            axes.set_axis_off()
        _outcomes(figure, found, ink, quiet, rule)
        name = ASSETS / f"pair_{ground}.png"
        figure.savefig(name, dpi=200, transparent=True)
        Image.open(name).quantize(255, method=Image.Quantize.FASTOCTREE).save(name, optimize=True)


def _sides(figure: Any, items: Any, folder: Path, ink: str, quiet: str) -> list[Any]:
    """Both pictures with what was asked and answered."""
    panels = []
    asked = items[_SHOWN[0], f"{_PAIR}/plain"].question.partition("? ")[0].removeprefix("In this image, ")
    figure.text(0.155, 0.945, f"“{asked[0].upper()}{asked[1:]}?”", color=ink, fontsize=12.5, weight="bold")
    for x, condition, title in ((0.155, "plain", "a picture"), (0.375, "mirrored", "the same, mirrored")):
        axes = figure.add_axes((x, 0.305, 0.21, 0.21 * _SIZE[0] / _SIZE[1]))
        axes.imshow(Image.open(folder / items[_SHOWN[0], f"{_PAIR}/{condition}"].pictures[0]))
        figure.text(x, 0.9, title, color=quiet, fontsize=9.5, va="center")
        for y, model in zip(_ROWS, _SHOWN, strict=True):
            said = items[model, f"{_PAIR}/{condition}"]
            colour = OUTCOMES["followed" if said.correct else "unmoved"]
            figure.text(
                x + 0.105, y, f"“{said.read_as}”", color="white", fontsize=10.5, weight="bold", ha="center", va="center",
                bbox={"boxstyle": "round,pad=0.28,rounding_size=0.6", "facecolor": colour, "edgecolor": "none"},
            )  # fmt: skip
        panels.append(axes)
    return panels


def _outcomes(figure: Any, found: Diagnosed, ink: str, quiet: str, rule: str) -> None:
    """One bar for each model, level with its answers, and the verdict."""
    left, width = 0.615, 0.215
    words = {
        "followed": "followed: right both times",
        "inverted": "inverted: each right for the other picture",
        "moved": "moved elsewhere",
        "unmoved": "unmoved: the same answer twice",
    }
    n = found.view(_SHOWN[0], "compass").looking[0].n_relevant
    figure.text(left, 0.945, f"{n} pairs", color=ink, fontsize=12.5, weight="bold")
    told = "Flipped, or with one thing moved. Here all three are\nright at first; only following the edit shows looking."
    figure.text(left, 0.83, told, color=quiet, fontsize=9.5, va="center", linespacing=1.5)
    for y, (outcome, text) in zip((0.69, 0.61, 0.53, 0.45), words.items(), strict=True):
        patch = Rectangle(
            (left, y - 0.022), 0.017, 0.044, color=OUTCOMES[outcome], transform=figure.transFigure
        )
        figure.add_artist(patch)
        figure.text(left + 0.027, y, text, color=ink, fontsize=9.5, va="center")
    for y, model in zip(_ROWS, _SHOWN, strict=True):
        looking = found.view(model, "compass").looking[0]
        figure.text(0.008, y, model, color=ink, fontsize=9.5, va="center", family="monospace")
        axes = figure.add_axes((left, y - 0.029, width, 0.058))
        start = 0.0
        for outcome in words:
            share = getattr(looking, outcome).value
            axes.barh(0, share, left=start, height=1, color=OUTCOMES[outcome])
            if share > _ROOM:
                style = {"color": "white", "fontsize": 9.5, "weight": "bold", "ha": "center", "va": "center"}
                axes.text(start + share / 2, 0, f"{100 * share:.0f} %", **style)
            start += share
        axes.set(xlim=(0, 1), ylim=(-0.5, 0.5))
        axes.set_axis_off()
        figure.text(
            left + width + 0.012, y, looking.standing, color=ink, fontsize=10.5, va="center", weight="bold"
        )
    figure.add_artist(
        Line2D([0.008, 0.992], [0.275, 0.275], color=rule, lw=0.8, transform=figure.transFigure)
    )


_ROCKET, _MAST, _OTHER = (
    Cutout(
        Box(298, 121, 338, 405),
        ((317, 121, 323, 121, 333, 140, 334, 330, 338, 405, 298, 405, 304, 330, 309, 140),),
    ),
    Cutout(
        Box(437, 117, 474, 385),
        ((443, 117, 451, 117, 453, 183, 458, 188, 474, 385, 437, 385, 442, 188, 443, 183),),
    ),
    Box(180, 118, 212, 385),
)
"""Box and outline of two things in ``rocket.jpg``, and the box of a third."""


def photograph(_: Path) -> None:
    """Draw a photograph and what the edits make of it: mirrored, two things exchanged, one removed."""
    original = Picture.from_path(ASSETS / "rocket.jpg")
    others = [_MAST.box, _OTHER]
    shown = [
        ("photograph", original, "rocket left of the mast"),
        ("mirrored", mirror(original), "rocket right of the mast"),
        ("exchanged", exchange(original, _ROCKET, _MAST, others=[_OTHER]), "rocket right of the mast"),
        ("removed", remove(original, _ROCKET, others=others), "no rocket"),
    ]
    figure = Figure(figsize=(8, 6.1))
    for place, (title, picture, told) in enumerate(shown):
        x, y = 0.008 + 0.5 * (place % 2), 0.535 - 0.5 * (place // 2)
        axes = figure.add_axes((x, y, 0.484, 0.484 * 8 / 6.1 * 427 / 640))
        axes.imshow(picture.pixels())
        axes.set_axis_off()
        axes.set_title(title, loc="left", fontsize=14, weight="bold", pad=5)
        axes.set_title(told, loc="right", fontsize=13, color="#59636e", pad=5)
    made = io.BytesIO()
    figure.savefig(made, dpi=120, facecolor="white")
    Image.open(made).convert("RGB").save(ASSETS / "photo_edits.jpg", quality=86, optimize=True)


def ask(folder: Path) -> None:
    """One question about four pictures with four right answers."""
    theodolite("ask", "make", "--size", "16", "--seed", "2", "--out", str(folder / "quiz"))
    rows = [
        json.loads(line)
        for line in (folder / "quiz" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    chosen = {row["answer"]: row for row in rows if row["question"] == rows[0]["question"]}
    figure = Figure(figsize=(10, 2.75), layout="constrained")
    figure.suptitle(rows[0]["question"], weight="bold", fontsize=12)
    for axes, (answer, row) in zip(figure.subplots(1, len(chosen)), chosen.items(), strict=True):
        axes.imshow(Image.open(folder / "quiz" / row["pictures"][0]))
        axes.set(xticks=[], yticks=[])
        axes.set_xlabel(answer, fontsize=11)
    figure.savefig(folder / "quiz.png", dpi=160)
    keep(folder / "quiz.png", "ask_pictures.png", colours=64)


def compass(folder: Path) -> None:
    """Relevance planted toward the target, and relevance that is everywhere, on two pairs of squares."""
    pairs = coloured_squares(32, seed=3, plan=SquaresPlan(size_px=(336, 336), max_distance_px=180)).pairs
    views = []
    for pair, kind in ((pairs[3], "toward the target"), (pairs[22], "everywhere")):
        grid = TokenGrid.regular(pair.size_px, (16, 16))
        centres = grid.rects_px.reshape(-1, 4)[:, :2] + 10.5
        is_everywhere = kind == "everywhere"
        aim = np.array([168.0, 168.0] if is_everywhere else pair.target.box.centre_px)
        values = np.exp(-((centres - aim) ** 2).sum(axis=1) / (2 * (200.0 if is_everywhere else 38.0) ** 2))
        relevance, flat = TokenMap(values, grid), TokenMap(np.ones(len(values)), grid)
        boxes = {"reference": pair.reference.box, "target": pair.target.box}
        views.append(
            CompassView(
                pair.picture.pixels(),
                pair.reference,
                pair.target,
                relevance,
                project(relevance, **boxes, options=SOUND),
                project(flat, **boxes, options=SOUND),
                method=f"planted {kind}",
                projection="sound",
            )
        )
    compass_rows(views).save(folder / "compass.png")
    keep(folder / "compass.png", "compass_overlay.png")


def grid(folder: Path) -> None:
    """How a scene is made."""
    theodolite("grid", "figures", "--out", str(folder / "grid"))
    keep(folder / "grid" / "figure-03-generation.png", "grid_scenes.png")


def scene(folder: Path) -> None:
    """Draw a room and a street, with their marks."""
    data = make_data(folder / "scene", MakeOptions(n_indoor=8, n_outdoor=8, seed=5))
    sides = []
    for domain in ("indoor", "outdoor"):
        scenes = [scene for scene in data.scenes.values() if scene.domain == domain]
        crowded = min(scenes, key=lambda scene: abs(len(scene.objects) - 6))
        sides.append(Image.fromarray(data.picture(crowded.id).pixels()))
    height = min(side.height for side in sides)
    sides = [side.resize((round(side.width * height / side.height), height)) for side in sides]
    gap = 24
    both = Image.new("RGB", (sides[0].width + gap + sides[1].width, height), "white")
    both.paste(sides[0], (0, 0))
    both.paste(sides[1], (sides[0].width + gap, 0))
    keep(both, "scenes.png", colours=256)


def trace(folder: Path) -> None:
    """Draw the steps of a model that looks at half of what it states."""
    data, run = folder / "trace", folder / "run"
    theodolite("trace", "make", "--world", "video", "--size", "8", "--seed", "2", "--out", str(data))
    theodolite("trace", "run", "--model", "scripted:trace-dial-50", "--data", str(data), "--out", str(run))
    theodolite("trace", "score", str(run), "--figures", str(folder / "steps"))
    keep(folder / "steps" / "steps_1.png", "trace_steps.png")


def twins(folder: Path) -> None:
    """Draw the training curve of the shipped ones, and the AUC of every metric."""
    subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "train", "curve", "--out", str(folder / "curve.png")], cwd=ROOT, check=True
    )
    keep(folder / "curve.png", "twins_training.png", colours=64)
    theodolite("twins", "separate", "--released", "--figures", str(folder / "areas"))
    (areas,) = (folder / "areas").glob("*.png")
    keep(areas, "twins_separation.png", colours=160)


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for draw in (pair, photograph, ask, compass, grid, scene, trace, twins):
        if wanted and draw.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory() as made:
            draw(Path(made))
