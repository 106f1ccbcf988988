"""Draws the figures of the pages again: ``python docs/hooks/figures.py``. They are kept beside the pages, not made at each build."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from theodolite.cli.main import main
from theodolite.geometry import TokenGrid
from theodolite.instruments.compass.data.squares import SquaresPlan, coloured_squares
from theodolite.instruments.compass.figures.overlay import compass_rows
from theodolite.instruments.compass.figures.views import CompassView
from theodolite.instruments.compass.formulas.projection import project
from theodolite.instruments.compass.formulas.projection_options import SOUND
from theodolite.instruments.compass.formulas.token_map import TokenMap
from theodolite.instruments.scene.data.make import MakeOptions, make_data

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "docs" / "assets"
_WIDTH_PX = 1600


def theodolite(*words: str) -> None:
    """Runs a command; a failure ends it all."""
    status = main(list(words))
    if status:
        sys.exit(status)


def keep(picture: Image.Image | Path, name: str, *, colours: int = 160) -> None:
    """Writes a picture small enough for a page."""
    image = Image.open(picture) if isinstance(picture, Path) else picture
    image = image.convert("RGB")
    if image.width > _WIDTH_PX:
        image = image.resize(
            (_WIDTH_PX, round(image.height * _WIDTH_PX / image.width)), Image.Resampling.LANCZOS
        )
    image.quantize(colours, dither=Image.Dither.NONE).save(ASSETS / name, optimize=True)


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
    """A room and a street, with their marks."""
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
    """Steps of a model that looks at half of what it states."""
    data, run = folder / "trace", folder / "run"
    theodolite("trace", "make", "--world", "video", "--size", "8", "--seed", "2", "--out", str(data))
    theodolite("trace", "run", "--model", "scripted:trace-dial-50", "--data", str(data), "--out", str(run))
    theodolite("trace", "score", str(run), "--figures", str(folder / "steps"))
    keep(folder / "steps" / "steps_1.png", "trace_steps.png")


def twins(folder: Path) -> None:
    """The training curve of the shipped ones, and the AUC of every metric."""
    subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "train", "curve", "--out", str(folder / "curve.png")], cwd=ROOT, check=True
    )
    keep(folder / "curve.png", "twins_training.png", colours=64)
    theodolite("twins", "separate", "--released", "--figures", str(folder / "areas"))
    (areas,) = (folder / "areas").glob("*.png")
    keep(areas, "twins_separation.png", colours=160)


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for draw in (compass, grid, scene, trace, twins):
        if wanted and draw.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory() as made:
            draw(Path(made))
