"""The common style of all figures: white background, grey axes, colours safe for colour-blind readers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.types import Pixels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

INK, QUIET, FAINT, GROUND = "#1b1f24", "#5f6770", "#d7dbdf", "#ffffff"
REFERENCE, TARGET, TRUE, PEAK, LAYOUT = "#0072b2", "#d55e00", "#009e73", "#6a2c91", "#8a8f94"
"""Fixed colours: reference object, target object, true direction, compass and its peak, layout alone."""

SERIES = ("#6a2c91", "#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7")
"""Colours for several lines in one figure, in order (Okabe and Ito's palette and a violet)."""

DPI = 200
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
    "savefig.facecolor": GROUND,
    "hatch.linewidth": 0.6,
}


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A finished figure."""

    figure: Figure
    """The matplotlib figure, to change or embed."""

    def _repr_png_(self) -> bytes:
        """Show the figure in a notebook."""
        buffer = io.BytesIO()
        with styled():
            self.figure.savefig(buffer, format="png", dpi=DPI)
        return buffer.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the figure as PNG, SVG, PDF or another format, chosen by the file extension.

        Raises:
            UsageError: If the extension is not supported.
            StorageError: If the file cannot be written.
        """
        path = Path(path)
        known = self.figure.canvas.get_supported_filetypes()
        if path.suffix[1:].lower() not in known:
            raise UsageError(f"cannot write a figure as {path.name!r}; use one of {', '.join(sorted(known))}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with styled():
                self.figure.savefig(path, dpi=DPI, metadata=_metadata(path))
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}") from error
        return path


def _metadata(path: Path) -> dict[str, Any] | None:
    """Return metadata without the date, so that equal figures give equal files."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())


@contextmanager
def styled() -> Iterator[None]:
    """Apply the common style within the context; matplotlib's own settings are restored afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Create an empty figure without pyplot. Width and height are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def compass_colours() -> Colormap:
    """Return a perceptually uniform colour map from almost white to the compass's violet."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("compass", ["#f1e8f7", "#c9a9de", "#9a62bd", PEAK])


def picture_size(pixels: Pixels, longest: float = 6.6) -> tuple[float, float]:
    """Return width and height in inches, so that the longer side has `longest` inches."""
    height, width = pixels.shape[:2]
    scale = longest / max(height, width)
    return width * scale, height * scale


def show_picture(axes: Axes, pixels: Pixels, *, veil: float = 0.0, veil_grey: float = 255.0) -> None:
    """Show a picture on axes in pixel coordinates: x to the right, y downward.

    Args:
        axes: The axes to draw on.
        pixels: The picture.
        veil: Opacity of a grey layer over the picture, 0 to 1, so that marks stand out.
        veil_grey: Grey level of that layer; 255 is white, 0 is black.
    """
    shown = pixels.astype(np.float64) * (1 - veil) + veil_grey * veil
    height, width = pixels.shape[:2]
    axes.imshow(shown.round().astype(np.uint8), extent=(0, width, height, 0), interpolation="lanczos")
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()


def outline(width: float = 2.5, colour: str = GROUND) -> list[Any]:
    """Return path effects that outline lines and text, so that they are legible on any picture."""
    from matplotlib import patheffects

    return [patheffects.Stroke(linewidth=width, foreground=colour), patheffects.Normal()]
