"""A run with any answer can be scored, by every instrument, and says why an answer could not be read."""

import json
from collections import Counter

import pytest
from scene_worlds import box_world
from trace_world import make_episode

from theodolite.answers import reading
from theodolite.answers import text as reader
from theodolite.cli.main import main
from theodolite.diagnose.api import browse
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.compass.instrument import COMPASS
from theodolite.instruments.instrument import Study, instrument_of_run
from theodolite.instruments.scene.data.files import Manifest, write_data
from theodolite.instruments.trace.claims import reading as trace_reading
from theodolite.instruments.trace.data.dataset import write_episodes
from theodolite.models import open_model
from theodolite.models.scripted import BEHAVIOURS
from theodolite.runs import Run
from theodolite.runs.engine import RunSettings, measure_run

BROKEN = "This sentence breaks the reader: left"
HOSTILE = (
    *("×10^{99999}" * 9, '{"' * 90, "answer:\n" * 20, "not left " * 20, "#" * 99, "{" * 300, "{" * 99 + "}" * 99),
    *('{"objects":[{"id":' + "9" * 400, "1e" + "9" * 500, "5 ft 3 İn", "① dogs sit on ② chairs. ½ m²", "''s" * 90),
    *("The man is left of the \ud800 cup.\nFinal answer: left", "<answer><think><answer>" * 9, "\u0301" * 99 + "\u202eleft"),
    *("<script>alert(1)</script>", "\x00", " " * (reader.LONGEST + 1) + "left", BROKEN),
)  # fmt: skip
FAILED = "the reader failed (RecursionError: maximum recursion depth exceeded)"


@pytest.fixture(autouse=True)
def _hostile(monkeypatch):
    """`scripted:hostile` gives the hostile answers in turn, and one of them breaks the readers."""
    said = []

    def behaviour(request, options):
        said.append(HOSTILE[len(said) % len(HOSTILE)])
        return said[-1]

    def breaking(read):
        def broken(text, *args, **options):
            if "breaks the reader" in str(text):
                raise RecursionError("maximum recursion depth exceeded")
            return read(text, *args, **options)

        return broken

    monkeypatch.setitem(BEHAVIOURS, "hostile", behaviour)
    monkeypatch.setattr(reading, "_read_part", breaking(reading._read_part))
    monkeypatch.setattr(trace_reading, "align_steps", breaking(trace_reading.align_steps))


def asked(folder, *words):
    """Runs a command that asks `scripted:hostile`."""
    run = folder / "run"
    assert main([*map(str, words), "--model", "scripted:hostile", "--out", str(run), "--json"]) == 0
    return run


def ask_run(folder):
    write_questions(make_squares(160), folder / "data")
    return asked(folder, "ask", "run", "--data", folder / "data", "--settings", "picture")


def compass_run(folder):
    plan = next(iter(COMPASS.plan(Study(folder, size=4, splits=("free",)), "text")))
    measurer = plan.measurer(open_model("scripted:hostile"))
    settings = RunSettings(plan.kind, "scripted:hostile", 0, plan.settings)
    measure_run(folder / "run", settings, plan.items, measurer)
    return folder / "run"


def grid_run(folder):
    words = ["grid", "make", "--buckets", "M-F0-D2", "--size", "12", "--out", str(folder / "data")]
    assert main(words) == 0
    return asked(folder, "grid", "run", "--data", folder / "data")


def scene_run(folder):
    (folder / "data").mkdir()
    data = box_world(8, seed=12, folder=folder / "data")
    write_data(folder / "data", data.scenes.values(), data.questions, Manifest())
    return asked(
        folder, "scene", "run", "--data", folder / "data", "--settings", "base,graphs,predicted-graph"
    )


def trace_run(folder):
    write_episodes([make_episode(seed) for seed in range(20)], folder / "data")
    return asked(folder, "trace", "run", "--data", folder / "data")


@pytest.mark.parametrize("measured", [ask_run, compass_run, grid_run, scene_run, trace_run])
def test_any_answers_can_be_scored_and_the_reason_is_told(measured, tmp_path, capsys):
    folder = measured(tmp_path)
    capsys.readouterr()
    noun = measured.__name__.removesuffix("_run")
    assert main([noun, "score", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]
    with Run.open(folder) as run:
        results = list(run.results())
        browsed = browse(run, lambda picture: picture.digest)
        scores = instrument_of_run(run.info.instrument).score(run)
    texts = Counter(result.record.response.text for result in results)
    assert len(texts) >= len(HOSTILE) - 1
    broken = [row for row in browsed.rows if row.answer == BROKEN]
    assert len(broken) == texts[BROKEN] > 0
    assert {(row.status, row.reason) for row in broken} == {("unreadable", FAILED)}
    assert not browsed.notes
    assert all(score.value is not None or score.reason for score in scores)
    if noun == "trace":
        assert FAILED in {score.reason for score in scores if score.metric == "trace.sgr"}
