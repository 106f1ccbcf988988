"""The training curve of the twins, from a training log."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from theodolite.core.drawing import QUIET, SERIES, Drawing, new_figure, styled
from theodolite.core.errors import StorageError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points: TypeAlias = list[tuple[int, float]]
"""Steps, and the share of held-out answers whose first token is right."""

_TASKS = {"relation": "relation", "grid": "grid", "scene": "scene", "trace": "steps on four frames"}
_COLOURS = {"grounded": SERIES[3], "shortcut": SERIES[2], "mixed": SERIES[0]}


def read_log(path: str | Path | None = None) -> list[dict[str, Any]]:
    """Read ``log.jsonl`` as written by ``python -m train twins``. Default: the log of the shipped twins.

    Raises:
        StorageError: If it cannot be read.
        UsageError: If it is not such a log.
    """
    path = path or Path(__file__).with_name("training.jsonl.gz")
    try:
        content = Path(path).read_bytes()
        text = (gzip.decompress(content) if str(path).endswith(".gz") else content).decode("utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not a training log: {error}") from error
    if not all(isinstance(row, dict) and isinstance(row.get("step"), int) for row in rows):
        raise UsageError(f"{path} is not a training log: every line needs a step")
    return rows


def training_curve(rows: Iterable[Mapping[str, Any]]) -> Drawing:
    """Draw one panel per task and one line per twin: accuracy of the first token on held-out lessons.

    Args:
        rows: Rows of a training log. The steps of a training that starts from checkpoints are added to those before.

    Raises:
        UsageError: If there are no held-out results yet; the first come after 500 steps.
    """
    curves, seams = _curves(rows)
    tasks = [task for task in _TASKS if any(task in of_task for of_task in curves.values())]
    if not tasks:
        raise UsageError("the log has no results on held-out lessons; the first come after 500 steps")
    with styled():
        figure = new_figure(2.9 * len(tasks), 3.4)
        panels: Sequence[Axes] = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
        for axes, task in zip(panels, tasks, strict=True):
            for twin, of_task in curves.items():
                steps, values = zip(*of_task.get(task, [(0, float("nan"))]), strict=True)
                axes.plot(steps, values, color=_COLOURS.get(twin, QUIET), label=twin)
            for i, seam in enumerate(seams):
                label = "more kinds of lessons from here on" if i == 0 else ""
                axes.axvline(seam, color=QUIET, linewidth=1, linestyle=(0, (4, 3)), label=label)
            axes.set_title(_TASKS[task], weight="bold")
            axes.set_xlabel("step")
            axes.set_ylim(0.4, 1.01)
            axes.grid(axis="y")
            axes.xaxis.set_major_locator(_few_ticks())
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        panels[0].set_ylabel("first token right, held-out lessons")
        handles, labels = panels[-1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return Drawing(figure)


def _curves(rows: Iterable[Mapping[str, Any]]) -> tuple[dict[str, dict[str, Points]], list[int]]:
    """Return the points by twin and task, and the steps at which a training was restarted."""
    curves: dict[str, dict[str, Points]] = {}
    seams: list[int] = []
    before = last = 0
    for row in rows:
        if row.get("event") == "begun with checkpoints" and last:
            before = last
            seams.append(before)
        last = before + row["step"]
        for twin, values_of in row.items():
            held_out = values_of.get("held out") if isinstance(values_of, dict) else None
            if not isinstance(held_out, dict):
                continue
            for task in _TASKS:  # averaged, for a model trained on the lessons of both twins
                values = [value for name, value in held_out.items() if name.split()[0] == task]
                if values:
                    curves.setdefault(twin, {}).setdefault(task, []).append((last, sum(values) / len(values)))
    return curves, seams


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4, integer=True)
