"""The function that people call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.diagnose.measuring import How
from theodolite.diagnose.position import Twins
from theodolite.diagnose.record import DIAGNOSIS_FILE, read_diagnosis
from theodolite.diagnose.request import DATA, Order, Tell, check_folder
from theodolite.diagnose.result import Diagnosed
from theodolite.diagnose.running import run_diagnosis
from theodolite.diagnose.study import INSTRUMENTS, Study, find_instruments, find_size
from theodolite.diagnose.user_data import find_own_data

DEFAULT_MODELS: tuple[str, ...] = tuple(Twins())
"""Both twins, side by side."""


def diagnose(
    *models: str,
    out: str | Path = "report",
    size: str = "standard",
    instruments: Sequence[str] = INSTRUMENTS,
    data: Iterable[str | Path] = (),
    seed: int = 0,
    how: How | None = None,
    tell: Tell | None = None,
) -> Diagnosed:
    """Measures models with all instruments, and says whether and where they are grounded.

    What was measured before in the same folder is not measured again.

    Args:
        models: by name, such as ``hf:PATH``; both twins if none is given.
        out: the folder of the diagnosis.
        size: ``quick``, ``standard`` or ``large``.
        instruments: some of compass, grid, scene and trace.
        data: one's own data sets, measured beside the twins' own.
        seed: of every random draw.
        how: engine and workers.
        tell: called with model, instrument and how far it is.
    """
    chosen = tuple(dict.fromkeys(models)) or DEFAULT_MODELS
    if len(chosen) < len(models):
        raise UsageError("a model is named twice; compare a model with itself by two seeds, in two folders")
    folder = Path(out)
    order = Order(
        models=chosen,
        study=Study(folder / DATA, find_size(size), seed, find_own_data(data)),
        folder=folder,
        instruments=find_instruments(instruments),
        how=how or How(),
        tell=tell or (lambda *_: None),
    )
    check_folder(folder)
    _keep_what_is_there(order)
    return Diagnosed(run_diagnosis(order), folder)


def _keep_what_is_there(order: Order) -> None:
    """Refuses to write over a diagnosis that says more, or something else: whoever adds a model or an instrument names all."""
    if not (order.folder / DIAGNOSIS_FILE).exists():
        return
    old = read_diagnosis(order.folder)
    lost = [model.name for model in old.models if not model.name.startswith("log:")]
    lost = [name for name in lost if name not in order.models]
    lost += [each.name for each in old.instruments if each.name not in order.instruments]
    lost += [f"size {old.size}"] if old.size != order.study.size.name else []
    lost += [f"seed {old.seed}"] if old.seed != order.study.seed else []
    if lost:
        raise UsageError(
            f"{order.folder} holds a diagnosis with {', '.join(lost)}, which would be lost; choose another folder with --out, or "
            "name that again beside what is new"
        )


def open_diagnosis(folder: str | Path) -> Diagnosed:
    """A diagnosis that was made before."""
    return Diagnosed(read_diagnosis(folder), Path(folder))
