import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from theodolite.__main__ import run
from theodolite.cli.main import main
from theodolite.core.scores import metric_of
from theodolite.core.tables import Table
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.pairs.outcomes import MOST_REPEATS
from theodolite.runs import Run

KEY = "sk-theodolite-secret-0123456789"


PLANNED = 24 + 24 + 12 + 24 + 24 + 12 + 12
"""With the picture, blind, mirrored, in other light, again, and with its words exchanged, on both pictures of a mirror pair.

Another picture with the same words is another question.
"""
IMPLIED = 24
"""With another picture: answered by that other question, and exported with the rest."""


@pytest.fixture
def squares(tmp_path):
    write_questions(make_squares(24), tmp_path / "squares")
    return str(tmp_path / "squares")


def theodolite(*words, **how):
    return subprocess.run(
        [sys.executable, "-m", "theodolite", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        **how,
    )


def ask(squares, out, model="scripted:looker", *more):
    return ["ask", "run", "--data", squares, "--model", model, "--out", str(out), *more]


def table_of(value, name):
    """One of the tables of a command's JSON."""
    return next(table for table in map(Table.from_json, value["tables"]) if table.name == name)


def column(table, name):
    place = [column.name for column in table.columns].index(name)
    return [row[place] for row in table.rows]


def test_a_run_from_beginning_to_end(squares, tmp_path, capsys):
    assert main(ask(squares, tmp_path / "run")) == 0
    shown = capsys.readouterr().out
    assert "looks at least sometimes: looking 100.0 %" in shown
    assert "100.0 %" in shown
    assert main(["ask", "score", str(tmp_path / "run"), "--json"]) == 0
    score = json.loads(capsys.readouterr().out)
    assert set(score) == {"run", "instrument", "model", "tables"}
    assert (score["instrument"], score["model"]) == ("ask", "scripted:looker")
    assert column(table_of(score, "ask.settings"), "accuracy")[0].value == 1.0
    assert (
        table_of(score, "ask.pairs").notes[0].startswith("looks at least sometimes: ")
    )  # 24 pictures of six questions
    assert main(["runs", "list", str(tmp_path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["instrument"], row["planned"], row["answered"]) == ("ask", PLANNED, PLANNED)
    assert main(["runs", "show", str(tmp_path / "run"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["tables"] == score["tables"]
    for kind in ("parquet", "csv", "jsonl"):
        assert main(["export", str(tmp_path / "run"), "--to", kind, "--out", str(tmp_path / kind)]) == 0
        assert sum(path.stat().st_size for path in (tmp_path / kind).iterdir()) > 1000


def test_an_exported_inspect_log_is_asked_in_place_of_the_model(squares, tmp_path, capsys):
    assert main(ask(squares, tmp_path / "run", "scripted:looker", "--limit", "60")) == 0
    assert main(["export", str(tmp_path / "run"), "--to", "inspect", "--out", str(tmp_path / "logs")]) == 0
    capsys.readouterr()
    assert main(ask(squares, tmp_path / "again", f"replay:{tmp_path / 'logs'}", "--json")) == 0
    printed = capsys.readouterr()
    # Edited pictures are found too, and a blind question also answers others with the same words.
    assert 60 <= json.loads(printed.out)["tally"]["answered"] < PLANNED
    assert "not asked: " in printed.err


def test_an_unfinished_run_is_exported_with_what_is_missing_told(squares, tmp_path, capsys):
    def export(run, to, out):
        assert main(["export", str(tmp_path / run), "--to", to, "--out", str(tmp_path / out), "--json"]) == 0
        return json.loads(capsys.readouterr().out)["written"]

    main(ask(squares, tmp_path / "part", "scripted:looker", "--limit", "20"))
    main(ask(squares, tmp_path / "whole", "scripted:looker"))
    capsys.readouterr()
    for name, status in (("part", "cancelled"), ("whole", "success")):
        written = export(name, "inspect", f"logs-{name}")
        (log,) = (tmp_path / f"logs-{name}").rglob("*.eval")
        with zipfile.ZipFile(log) as archive:
            assert json.loads(archive.read("header.json"))["status"] == status
        told = {key: n for key, n in written.items() if not key.endswith(".eval")}
        assert sum(written.values()) == PLANNED + IMPLIED
        assert ("left out: not asked yet" in told) == (name == "part")
        assert told["left out: repeats"] == 24
    part, whole = (export(name, "lmms-eval", f"tasks-{name}") for name in ("part", "whole"))
    assert part == whole  # questions need no answers
    again = ["export", str(tmp_path / "part"), "--to", "lmms-eval", "--out", str(tmp_path / "tasks-part")]
    assert main(again) == 2
    assert "is not empty" in capsys.readouterr().err


def test_several_models_are_compared_as_the_command_of_that_name_does(squares, tmp_path, capsys):
    models = ["scripted:looker", "scripted:guesser"]
    assert main(ask(squares, tmp_path / "run", models[0], "--model", models[1], "--json")) == 0
    value = json.loads(capsys.readouterr().out)
    table = table_of(value, "ask.differences")
    assert {tuple(row[:2]) for row in table.rows} == {tuple(models)}
    assert main(["compare", *value["runs"], "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)["comparisons"]
    p_values = {(metric_of(found["metric"]).name, found["split"]): found["p_holm"] for found in compared}
    shown = {(metric, split): p for _, _, metric, split, *_, p in table.rows}
    assert shown == {key: p_values[key] for key in shown}
    assert len(shown) > 1
    assert min(shown.values()) < 0.05


def test_a_run_prints_json_of_one_shape(squares, tmp_path, capsys):
    assert main(ask(squares, tmp_path / "run", "scripted:looker", "--json")) == 0
    value = json.loads(capsys.readouterr().out)
    assert set(value) == {"run", "instrument", "model", "tally", "tables"}
    assert (value["run"], value["instrument"], value["model"]) == (
        str(tmp_path / "run"), "ask", "scripted:looker"
    )  # fmt: skip
    assert (value["tally"]["planned"], value["tally"]["answered"]) == (PLANNED, PLANNED)
    assert [table["name"] for table in value["tables"]] == ["ask.settings", "ask.comparisons", "ask.pairs"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_plan_is_shown_although_no_server_answers(squares, tmp_path, capsys, as_json):
    words = ask(squares, tmp_path / "run", "openai:x@http://127.0.0.1:9/v1", "--plan", "--limit", "15")
    assert main([*words, *(["--json"] if as_json else [])]) == 0
    printed = capsys.readouterr()
    if as_json:
        assert json.loads(printed.out)["plan"]["requests"] == 15
    else:
        assert re.search(r"openai:x@\S+ +ask +15 +12 +– +at most 7,680 +–", printed.out)
        assert "no server answers at http://127.0.0.1:9/v1" in printed.err
    assert not (tmp_path / "run").exists()


def test_the_same_command_twice_asks_nothing_twice(squares, tmp_path, capsys):
    for limit, answered in ((["--limit", "30"], 30), ([], PLANNED), ([], PLANNED)):
        assert main(ask(squares, tmp_path / "run", "scripted:looker", *limit)) == 0
        with Run.open(tmp_path / "run") as run:
            assert run.tally().answered == answered
    assert "looking 100.0 %" in capsys.readouterr().out


def test_edited_questions_are_not_mixed_with_the_answers_to_the_old_ones(squares, tmp_path, capsys):
    path = Path(squares) / "questions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    assert main(ask(squares, tmp_path / "run")) == 0
    for changed in ([line.replace("Where", "Whereabouts") for line in lines[:3]] + lines[3:], lines[:-1]):
        path.write_text("".join(changed))
        capsys.readouterr()
        assert main(ask(squares, tmp_path / "run")) == 2
        assert "no longer in the plan" in capsys.readouterr().err
    path.write_text("".join(lines))
    assert main(ask(squares, tmp_path / "run")) == 0
    with Run.open(tmp_path / "run") as run:
        assert (run.tally().planned, run.tally().answered) == (PLANNED, PLANNED)


def test_tables_are_shown(squares, tmp_path, capsys):
    main(ask(squares, tmp_path / "run", "scripted:flaky"))
    capsys.readouterr()
    assert main(["runs", "list", str(tmp_path)]) == 0
    assert "scripted:flaky" in capsys.readouterr().out
    assert main(["runs", "show", str(tmp_path / "run")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "RuntimeError: scripted:flaky fails on this request" in shown


def test_everything_that_can_be_used_is_listed(capsys):
    assert main(["list"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for word in ("ask, compass, grid, scene, trace", "hf, openai, replay", "chefer", "oracle", "annotation"):
        assert word in shown
    assert main(["list", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == KINDS


KINDS = {
    *("instruments", "models", "methods", "explainers", "verifiers", "sources", "families", "behaviours"),
    "edits",
    "extractors",
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_says_what_its_entries_are(kind, capsys):
    assert main(["list", kind, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows
    assert all(row["name"] and row["summary"] and row["available"] is True for row in rows)
    assert main(["list", kind]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all((row["example"] or row["name"]) in shown for row in rows)


def test_models_and_their_scripted_behaviours_are_listed(capsys):
    assert main(["list", "models"]) == 0
    assert "an OpenAI-compatible server" in " ".join(capsys.readouterr().out.split())
    assert main(["list", "models", "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} >= {
        "hf",
        "openai",
        "replay",
        "scripted",
    }
    assert main(["list", "behaviours", "--json"]) == 0
    assert {"looker", "refuser", "scene-oracle", "trace-looker"} <= {
        row["name"] for row in json.loads(capsys.readouterr().out)
    }
    assert main(["list", "behaviours"]) == 0
    assert "declines everything" in capsys.readouterr().out


def test_failed_items_show_in_the_exit_status(squares, tmp_path, capsys):
    assert main(ask(squares, tmp_path / "run", "scripted:flaky")) == 1
    assert "items failed" in capsys.readouterr().err


def test_choosing_and_settings_are_options(squares, tmp_path, capsys):
    more = ("--answer", "choose", "--settings", "picture,swapped", "--json")
    assert main(ask(squares, tmp_path / "run", "scripted:looker", *more)) == 0
    score = json.loads(capsys.readouterr().out)
    assert column(table_of(score, "ask.settings"), "setting") == ["picture", "swapped"]
    with Run.open(tmp_path / "run") as run:
        assert next(run.results()).record.choice is not None


def test_the_cache_is_an_option(squares, tmp_path):
    for name in ("one", "two"):
        assert main(ask(squares, tmp_path / name, "scripted:looker", "--cache", str(tmp_path / "cache"))) == 0
    with Run.open(tmp_path / "two") as run:
        assert run.tally().reused == PLANNED


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ask", "run", "--data", "D", "--model", "nobody:x", "--out", "O"], "there is no model 'nobody'"),
        (["ask", "run", "--data", "D", "--model", "looker", "--out", "O"], "does not name a model"),
        (["ask", "run", "--data", "D", "--model", "scripted:x", "--out", "O"], "scripted behaviour 'x'"),
        (["ask", "run", "--data", "D", "--model", "scripted:echo?a=1", "--out", "O"], "no option 'a'"),
        (
            ["ask", "run", "--data", "nowhere", "--model", "scripted:looker", "--out", "O"],
            "cannot read the questions",
        ),
        (
            ["ask", "run", "--data", "D", "--model", "scripted:looker", "--out", "O", "--engine", "x"],
            "--engine takes local or ray, not 'x'",
        ),
        (
            ["ask", "run", "--data", "D", "--model", "scripted:looker", "--out", "O", "--settings", "x"],
            "--settings takes",
        ),
        (
            ["ask", "run", "--data", "D", "--model", "scripted:looker", "--out", "O", "--answer", "x"],
            "--answer takes",
        ),
        (
            ["ask", "run", "--data", "D", "--model", "openai:x@http://127.0.0.1:9/v1", "--out", "O"],
            "no server answers",
        ),
        (["ask", "run", "--data", "D", "--model", "hf:./x", "--out", "O"], "no checkpoint folder"),
        (["ask", "score", "nowhere"], "is not a run"),
        (["runs", "show", "nowhere"], "is not a run"),
        (["runs", "list", "nowhere"], "there is no folder"),
        (["export", "nowhere", "--out", "x", "--to", "xlsx"], "--to takes"),
        (["check", "scripted:x"], "scripted behaviour"),
        (["list", "sextants"], "there is no list of 'sextants'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(squares, tmp_path, capsys, words, message):
    words = [{"D": squares, "O": str(tmp_path / "run")}.get(word, word) for word in words]
    assert main(words) == 2
    captured = capsys.readouterr()
    told = " ".join(captured.err.split())
    assert told.startswith("error: ")
    assert message in told
    assert "Traceback" not in told
    assert main(["-v", *words]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["ask", "run"],
        ["diagnose", "--seed", "-1"],
        ["twins", "separate", "--size", "0"],
        ["--nope"],
    ],
)
def test_wrong_words_are_refused(words, capsys):
    assert main(words) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_bug_is_told_as_one(monkeypatch, capsys):
    from theodolite.cli import runs as _runs

    def broken(_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(_runs, "find_runs", broken)
    assert main(["runs", "list"]) == 70
    assert "internal error: ZeroDivisionError" in capsys.readouterr().err


def test_another_seed_is_another_run(squares, tmp_path, capsys):
    assert main(ask(squares, tmp_path / "run")) == 0
    assert main(ask(squares, tmp_path / "run", "scripted:looker", "--seed", "1")) == 2
    assert "seed=0" in capsys.readouterr().err


def test_help_and_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("theodolite 0.")
    for words in ([], ["ask"], ["runs"], ["list"], ["check"], ["ask", "run"]):
        assert main([*words, "--help"]) == 0
        assert "Usage" in capsys.readouterr().out


def test_model_text_is_never_read_as_mark_up(squares, tmp_path, capsys):
    main(ask(squares, tmp_path / "run", "scripted:constant?text=[bold]left[/nothing]"))
    assert main(["runs", "show", str(tmp_path / "run")]) == 0
    assert "[bold]left[/nothing]" in capsys.readouterr().out


def test_ctrl_c_leaves_a_run_that_goes_on(squares, tmp_path):
    words = ask(squares, tmp_path / "run", "scripted:looker?delay=0.05&batch_size=2")
    process = subprocess.Popen(
        [sys.executable, "-m", "theodolite", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - a shell's background ignores it
    )
    while True:
        time.sleep(0.1)
        assert process.poll() is None
        if (tmp_path / "run" / "run.json").exists():
            with Run.open(tmp_path / "run") as run:
                if run.tally().answered >= 4:
                    break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "run the same command again to resume" in errors
    assert "Traceback" not in errors
    assert main(words) == 0
    with Run.open(tmp_path / "run") as run:
        assert run.tally().answered == PLANNED


def test_a_reader_that_has_had_enough_is_no_error():
    listing = subprocess.Popen(
        [sys.executable, "-m", "theodolite", "list", "models"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    listing.stdout.close()
    with listing.stderr as errors:
        assert "Traceback" not in errors.read()
    listing.wait(20)


def test_a_server_full_of_faults_leaves_every_item_accounted_for(
    squares, tmp_path, fault_server, monkeypatch, capsys
):
    """Answered, refused or failed with a reason: a run against a hostile server ends, and loses nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    faults = [
        "fine",
        "429",
        "500",
        "reset",
        "hang",
        "truncated",
        "bad-json",
        "empty-choice",
        "refusal",
        "huge",
    ]
    faults += ["surrogate", "429-twice", "500-once", "filter", "not-json", "empty-text", "400", "thinking"]
    rows = [
        {
            "id": str(i),
            "question": f"fault:{faults[i % len(faults)]} {i} {KEY}",
            "answer": "left",
            "picture": "p.png",
        }
        for i in range(90)
    ]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    first = next(iter((tmp_path / "squares" / "pictures").iterdir()))
    (tmp_path / "data" / "p.png").write_bytes(first.read_bytes())
    model = f"openai:m@{fault_server.url}?timeout=2&retries=2&max_in_flight=16"
    words = ["ask", "run", "--data", str(tmp_path / "data"), "--model", model, "--out", str(tmp_path / "run")]
    assert main([*words, "--settings", "picture"]) == 1
    with Run.open(tmp_path / "run") as run:
        tally = run.tally()
        results = {r.item.name.split("/")[0]: r.record.response for r in run.results()}
    assert tally.answered + tally.refused + tally.failed == 90 + MOST_REPEATS
    assert all(response.reason for response in results.values() if not response.is_answered)
    answered = {"fine", "surrogate", "429-twice", "500-once", "thinking", "empty-text"}
    for number, response in results.items():
        fault = faults[int(number) % len(faults)]
        expected = (
            "answered" if fault in answered else "refused" if fault in {"refusal", "filter"} else "failed"
        )
        assert response.status == expected, (fault, response)
    written = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    questions = sum(
        row["question"].count(KEY) for row in rows
    )  # the key stands in our own questions and prompts, and only there
    assert written.count(KEY.encode()) <= 3 * questions
    assert KEY not in capsys.readouterr().err


def test_shell_completion_works():
    done = theodolite(
        env={
            **os.environ,
            "_THEODOLITE_COMPLETE": "complete_bash",
            "COMP_WORDS": "theodolite ru",
            "COMP_CWORD": "1",
        }
    )
    assert done.stdout.split() == ["runs"]
    done = theodolite(
        env={
            **os.environ,
            "_THEODOLITE_COMPLETE": "complete_bash",
            "COMP_WORDS": "theodolite ask run --model scr",
            "COMP_CWORD": "4",
        }
    )
    assert "scripted:looker" in done.stdout


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["theodolite", "ask", "run", "--model", "scripted", ":", "lo"], "looker"),
        (["theodolite", "ask", "run", "--model", "scripted", ":"], "looker"),
        (["theodolite", "ask", "run", "--model", "scripted:lo"], "scripted:looker"),
        (["theodolite", "ask", "run", "--model", "scr"], "scripted:looker"),
    ],
)
def test_bash_completes_behind_a_colon(words, wanted):
    """As bash calls it: words broken at colons and joined by newlines, and only the last one replaced."""
    asked = {
        "_THEODOLITE_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    assert theodolite(env={**os.environ, **asked}).stdout.split() == [wanted]


def test_ctrl_c_while_loading_is_quiet(monkeypatch):
    class Loading(ModuleType):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "theodolite.cli.main", Loading("theodolite.cli.main"))
    assert run() == 130
