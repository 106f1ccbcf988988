"""Pages of runs and of comparisons, and the commands that write and serve them."""

import errno
import html
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from diagnosis_sample import sample_diagnosis, write_sample

from theodolite import stats
from theodolite.cli import compare as _compare
from theodolite.cli import diagnose as _diagnose
from theodolite.cli.main import main
from theodolite.cli.output import note
from theodolite.core.errors import StorageError
from theodolite.diagnose.api import Diagnosed, browse
from theodolite.diagnose.compare import Compared, Verdicts
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.report.html.write import write_comparison, write_run_report
from theodolite.runs import Run, RunInfo


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A run of ``ask`` by a model that looks, made by the program itself, and scored."""
    folder = tmp_path_factory.mktemp("asked")
    write_questions(make_squares(12), folder / "squares")
    commands = [
        ["ask", "run", "--model", "scripted:looker", "--data", str(folder / "squares"), "--out", str(folder / "looker")],
        ["ask", "run", "--model", "scripted:guesser", "--data", str(folder / "squares"), "--out", str(folder / "guesser")],
        ["ask", "score", str(folder / "looker")],
    ]  # fmt: skip
    for command in commands:
        assert main(command) == 0, command
    return folder


def words_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("<main")[2].partition("</main>")[0]))


def test_a_run_is_read_as_an_independent_count_reads_it(asked):
    with Run.open(asked / "guesser") as run:
        browsed = browse(run, lambda picture: picture.digest)
        right = {}
        for result in run.results():
            truth = result.item.truth
            right.setdefault("picture" if truth.is_plain else truth.condition, []).append(
                result.record.response.text.strip() == truth.golds[0]
            )
    figures = {figure.key: figure.figure for figure in browsed.figures}
    for setting, hits in right.items():
        figure = figures[f"ask.accuracy:{setting}"]
        assert figure.value == pytest.approx(np.mean(hits))
        assert figure.n == len(hits)
        assert figure.low <= figure.value <= figure.high


def test_the_page_of_two_runs_shows_both_with_intervals(asked, tmp_path, visit):
    path = write_run_report([asked / "looker", asked / "guesser"], out=tmp_path / "page")
    text = words_of(path.read_text())
    assert "2 runs" in text
    wilson = stats.wilson_interval(12, 12)
    assert re.search(rf"100\.0 % \[{100 * wilson.low:.1f}, 100\.0\], n 12", text)
    page = visit(path.as_uri())
    n = int(page.inner_text("#found").split()[0])
    page.select_option("[name=model]", label="scripted:guesser")
    assert int(page.inner_text("#found").split()[0]) * 2 == n
    page.click("#row-0")
    page.wait_for_selector("#item image")


def test_the_tables_of_a_run_stand_in_its_page_as_they_were_printed(asked, tmp_path):
    with Run.open(asked / "looker") as run:
        tables = run.tables()
    assert [table.name for table in tables] == ["ask.settings", "ask.comparisons", "ask.pairs"]
    page = write_run_report([asked / "looker"], out=tmp_path / "page").read_text()
    text = html.unescape(words_of(page))
    for table in tables:
        for row in table.text_rows():
            assert " ".join(row) in text
        assert all(note in text for note in table.notes)
    assert 'id="def-ask.drop"' in page


def test_a_comparison_is_a_page(tmp_path, visit):
    diagnosis = sample_diagnosis()
    path = write_comparison(
        diagnosis.comparisons, metrics=diagnosis.metrics, out=tmp_path, notes=["mind the gap"]
    )
    text = words_of(path.read_text())
    assert "+32.0 points" in text
    assert "[+24.0, +40.0], n 120" in text
    assert ".003" in text
    assert "mind the gap" in text
    assert "1 of 1 metrics differ" in text
    page = visit(path.as_uri())
    dot, zero = (page.locator(part).first.bounding_box() for part in (".strip-dot", ".strip-zero"))
    assert dot["x"] > zero["x"] + 20


def test_the_surest_differences_stand_first_and_the_rest_is_folded(tmp_path):
    one = sample_diagnosis().comparisons[0]
    many = [one.model_copy(update={"split": f"s{i}", "p_holm": (i * 7 % 30) / 30}) for i in range(30)]
    many[4] = many[4].model_copy(update={"difference": None, "p_holm": None, "why_not": "nothing in common"})
    page = write_comparison(many, metrics=sample_diagnosis().metrics, out=tmp_path).read_text()
    shown, fold = page.partition('<section id="comparisons"')[2].partition("</section>")[0].split("<details>")
    assert re.findall(r"scene, (s\d+)", shown)[0] == "s0"
    assert len(re.findall(r"scene, s\d+", shown)) == 14
    assert len(re.findall(r"scene, s\d+", fold)) == 16
    assert re.findall(r"scene, (s\d+)", fold)[-1] == "s4"  # what could not be had stands last, and says why
    assert "nothing in common" in fold


def test_a_comparison_says_first_where_both_stand(tmp_path):
    made = sample_diagnosis()
    verdicts = [Verdicts(i.name, i.models[0], i.models[2]) for i in made.instruments]
    verdicts[3] = Verdicts("trace", made.instruments[3].models[0], None)
    path = write_comparison(made.comparisons, metrics=made.metrics, out=tmp_path, verdicts=verdicts)
    page = path.read_text()
    assert page.index("Does it look?") < page.index('id="comparisons"')
    assert 'id="def-diagnose.looking"' in page
    table = page.partition("Does it look?")[2].partition("</table>")[0]
    plain = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in table.split("<tr>")[2:]]
    rows = {row.split()[0]: row for row in plain}
    assert list(rows) == ["Compass", "Grid", "Scene", "Trace"]
    assert "100.0 points [94.0, 106.0], n 120" in rows["Grid"]
    assert "61.7 points [55.7, 67.7], n 120" in rows["Grid"]
    assert (
        rows["Grid"].index("looks")
        < rows["Grid"].index("sometimes looks")
        < rows["Grid"].index("61.7 points")
    )
    assert rows["Compass"].endswith("not measured")
    assert rows["Trace"].endswith("–")
    without = write_comparison(made.comparisons, metrics=made.metrics, out=tmp_path / "runs")
    assert "Does it look?" not in without.read_text()


def test_the_command_says_first_where_both_stand(capsys):
    made = sample_diagnosis()
    verdicts = tuple(Verdicts(i.name, i.models[0], i.models[2]) for i in made.instruments)
    _compare._show(Compared("A", "B", tuple(made.comparisons), tuple(made.metrics), (), verdicts), every=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["instrument", "A", "B"]
    assert " ".join(lines[2].split()) == "compass looks 100 % [94, 106], accuracy 100 % not measured"
    assert " ".join(lines[3].split()) == (
        "grid looks 100 % [94, 106], accuracy 100 % sometimes looks 62 % [56, 68], accuracy 81 %"
    )
    assert "A minus B" in lines[7]


def test_no_comparison_is_told(tmp_path):
    assert "No metric could be compared" in write_comparison([], metrics=[], out=tmp_path).read_text()


def test_report_writes_the_page_of_a_diagnosis(tmp_path, capsys):
    folder = write_sample(tmp_path / "diagnosis", n=4)
    assert main(["report", str(folder), "--json"]) == 0
    page = json.loads(capsys.readouterr().out)["page"]
    assert page == str(folder / "index.html")


def test_report_writes_the_page_of_the_runs_below_a_folder(asked, tmp_path, capsys):
    assert main(["report", str(asked), "--out", str(tmp_path / "page"), "--one-file"]) == 0
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["index.html"]
    assert str(tmp_path / "page") in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "{empty}"], "neither a diagnosis nor a run"),
        (["report", "{nowhere}"], "there is no folder"),
        (["report", "{diagnosis}", "{asked}"], "theodolite view"),
        (["view", "{nowhere}"], "there is no folder"),
        (["view", "{nowhere}"], "; give a folder with runs"),
        (["export", "{nowhere}", "--to", "parquet", "--out", "{page}"], "; pass a run, a folder of runs"),
        (["export", "{empty}", "--to", "parquet", "--out", "{page}"], "; `theodolite diagnose` makes"),
        (["export", "{asked}", "--to", "parquet", "--out", "{file}"], "--out must be a folder"),
        (["report", "{asked}", "--out", "{file}/page"], "choose another --out"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(arguments, words, asked, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    places = {
        "empty": tmp_path / "empty",
        "nowhere": tmp_path / "nowhere",
        "page": tmp_path / "page",
        "file": tmp_path / "file",
        "asked": asked,
        "diagnosis": write_sample(tmp_path / "diagnosis", n=4),
    }
    assert main([argument.format(**places) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert words in " ".join(error.split())
    assert "Traceback" not in error


def hears_interrupts():
    """What a shell starts in the background ignores them, and hands that down."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_view_serves_until_it_is_interrupted(asked):
    process = subprocess.Popen(
        [sys.executable, "-m", "theodolite", "view", str(asked), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_interrupts,  # noqa: PLW1509 - one call, before anything runs there
    )
    try:
        text = ""
        end = time.monotonic() + 60
        while not text.endswith("}\n") and time.monotonic() < end:
            text += process.stdout.readline()
        told = json.loads(text)
        with urllib.request.urlopen(told["url"], timeout=20) as answer:  # noqa: S310 - the address of our own server
            assert "2 runs" in answer.read().decode()
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.ENOSPC, "free some space and repeat the"), (errno.EACCES, "choose another --out")],
)
def test_a_page_that_cannot_be_written_tells_what_to_do(code, words, asked, tmp_path, monkeypatch, capsys):
    def fail(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    assert main(["report", str(asked), "--out", str(tmp_path / "page")]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in (tmp_path / "page").iterdir() if path.is_file()] == []


def test_a_run_whose_folder_is_a_file_names_the_next_step(tmp_path):
    (tmp_path / "file").write_text("")
    info = RunInfo(instrument="ask", model="m", identity="x", theodolite="test")
    with pytest.raises(StorageError, match="choose another --out"):
        Run.start(tmp_path / "file", info)


def test_paths_in_messages_are_never_broken(tmp_path, capsys):
    deep = tmp_path / ("folder-of-a-long-name-" * 6) / "under another one of two words"
    assert main(["view", str(deep)]) == 2
    assert str(deep) in capsys.readouterr().err
    note(f"items lie in {deep}")
    assert f"items lie in {deep}\n" in capsys.readouterr().err
    _diagnose.show_verdict(Diagnosed(sample_diagnosis(), tmp_path), deep / "index.html")
    assert f"Full report: {deep / 'index.html'}\n" in capsys.readouterr().out
