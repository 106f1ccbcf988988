"""Runs of all instruments with a shipped model, for export."""

import json
from pathlib import Path

from theodolite.instruments.ask.data.questions import find_question_file
from theodolite.instruments.instrument import Study, UserData, find_instruments
from theodolite.models import open_model
from theodolite.runs import RunSettings, measure_run

MODEL = "pocket:mixed"
INSTRUMENTS = ("compass", "grid", "scene", "trace", "ask")
"""In this order: `ask` uses the pictures of the compass."""
SIZE = 6
"""Items of each instrument: enough for every condition."""


def make_runs(folder: Path) -> list[Path]:
    """Measure every instrument. Existing runs are kept. `ask` asks about the pictures of the compass."""
    model = open_model(MODEL)
    made = []
    for instrument in sorted(find_instruments(INSTRUMENTS), key=lambda each: INSTRUMENTS.index(each.name)):
        data = _questions(folder, made) if instrument.name == "ask" else None
        for plan in instrument.plan(Study(folder / "data", SIZE, data=data), "text"):
            run_folder = folder / "runs" / plan.name
            measure_run(
                run_folder, RunSettings(plan.kind, MODEL, 0, plan.settings), plan.items, plan.measurer(model)
            )
            made.append(run_folder)
    return made


def _questions(folder: Path, made: list[Path]) -> UserData:
    """Return a file of questions with the words and pictures of compass items."""
    from theodolite.diagnose.export.samples import read_samples

    (compass,) = (run for run in made if run.name == "compass")
    home = folder / "questions"
    home.mkdir(parents=True, exist_ok=True)
    rows = []
    for sample in read_samples(compass).samples:
        if sample.row.condition == "plain":
            (picture,) = sample.item.request.pictures
            name = f"{picture.digest[-16:]}.png"
            (home / name).write_bytes(picture.read())
            options = list(sample.rubric["format"]["options"].values())
            gold = sample.rubric["format"]["options"][sample.gold]
            question = sample.item.request.text.partition("\n")[0]
            rows.append(
                {"id": sample.id, "picture": name, "question": question, "options": options, "answer": gold}
            )
    path = home / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return UserData("ask", "questions", find_question_file(path))
