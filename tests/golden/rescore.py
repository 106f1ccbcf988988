"""Score the runs of a stored diagnosis again, and assemble its document. No model is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def rescore(folder: Path) -> tuple[Any, Any]:
    """Return the diagnosis as JSON, and all its rows."""
    from theodolite.core.types import Picture
    from theodolite.diagnose import running
    from theodolite.diagnose.api import make_request
    from theodolite.diagnose.assemble import Question, Subject, assemble
    from theodolite.instruments.instrument import instruments
    from theodolite.runs import Run

    class NoPictures:
        """The pictures are not stored: rows name them only."""

        def __init__(self, folder: Path) -> None:
            del folder

        def place(self, picture: Picture) -> str:
            return picture.digest

    models = ("pocket:grounded", "pocket:shortcut")
    request = make_request(models, size=6, out=folder)
    kept, running.PictureStore = running.PictureStore, NoPictures  # type: ignore[assignment,misc]
    try:
        outcomes = []
        for name in models:
            folders: dict[str, list[Path]] = {}
            for each in sorted((folder / "runs" / name.replace(":", "-")).iterdir()):
                with Run.open(each) as run:
                    kind = run.info.instrument
                owner = next(one.name for one in instruments() if kind in one.run_kinds)
                folders.setdefault(owner, []).append(each)
            subject = Subject(name, "stored", ("text",), is_twin=True)
            measured = running._MeasuredModel(subject, folders, {})
            outcomes.append(running._score_model(request, measured))
    finally:
        running.PictureStore = kept  # type: ignore[misc]
    question = Question(
        seed=request.seed,
        size=str(request.size),
        data=request.described(),
        version="",
        settings={},
        references=tuple(r for one in request.instruments for r in one.references()),
        twins=request.twins,
    )
    calibration = {
        one.name: {
            o.subject.name: next(m.scores for m in o.measured if m.instrument == one.name) for o in outcomes
        }
        for one in request.instruments
    }
    document = assemble(
        question,
        [o.subject for o in outcomes],
        request.instruments,
        [m for o in outcomes for m in o.measured],
        calibration,
    )
    rows = [row.model_dump(mode="json") for o in outcomes for row in o.rows]
    return document.model_dump(mode="json"), rows
