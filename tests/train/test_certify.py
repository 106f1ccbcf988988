"""Certificates of models whose reasoning is known beforehand: exact reasoners, and scripts that look or do not."""

import itertools
import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from theodolite.cli.main import main
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.types import Request, Response
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.data.files import scene_shortcut
from theodolite.instruments.scene.data.small_rooms import edited_scenes, scene_data
from theodolite.instruments.trace.claims.reading import read_trace
from theodolite.instruments.trace.data.stories import episodes, trace_text
from theodolite.instruments.trace.formulas.sgr import trace_sgr
from theodolite.models import open_model
from theodolite.models.pocket import pocket_folder
from theodolite.stats import Estimate
from theodolite.twins.certificate import (
    BARS,
    Certificate,
    Line,
    certificate_tables,
    read_certificate,
    released_certificate,
    twin_of,
    verdicts,
)
from theodolite.worlds.relations import SHORTCUT
from train.__main__ import main as train
from train.certify import trace as _certify_trace
from train.certify.certify import CertificateSettings, certify, score, write_certificate
from train.certify.grid import grid_edits, grid_lines, grid_probes
from train.certify.probes import Probe, ask, difference, mean
from train.certify.relation import FOLLOWED, KEPT, relation_edits, relation_lines, relation_probes
from train.certify.scene import says_rule, scene_edits, scene_lines, scene_probes
from train.certify.trace import trace_edits, trace_lines, trace_probes
from train.twins.card import card_of


class Scripted:
    """A black box that answers requests by a function of them, hints and all."""

    name = identity = "scripted"
    batch_size = 16
    takes_hints = True
    lacks = {"choose": "it only writes"}  # noqa: RUF012 - a fake

    def __init__(self, script):
        self.script = script
        self.asked = 0

    def generate(self, requests):
        self.asked += len(requests)
        said = [self.script(request) for request in requests]
        return [each if isinstance(each, Response) else Response("answered", text=each) for each in said]

    def close(self):
        pass


def rows_of(probes, model):
    return [row for chunk in ask(probes, [model]) for row in chunk[0]]


def values_of(lines):
    return {(line.what, line.split, line.part): line.estimate.value for line in lines}


def seer():
    """One who is told what is true of the very picture it is shown."""
    return Scripted(lambda request: str(request.hint["gold"]))


def by_name(request):
    """Says what the table of names says, whatever the picture shows."""
    patterns = (
        r"where is the (.+?) relative to the (.+?)\?",
        r"Is the (.+?) to the left.*the ([a-z ]+?)\? Answer",
        r"position of (.+?) relative to (.+?)\?",
    )
    found = next(match for pattern in patterns if (match := re.search(pattern, request.text)))
    return SHORTCUT[found[1], found[2]]


def relation_all(n, seed):
    return itertools.chain(relation_probes(n, seed), relation_edits(n, seed))


def n_of(lines):
    return {(line.what, line.split, line.part): line.estimate.n_items for line in lines}


def test_one_who_sees_the_relation_follows_every_edit_and_keeps_under_the_others():
    lines = list(relation_lines(rows_of(relation_all(8, 1), seer())))
    values = values_of(lines)
    assert values["accuracy", "aligned", ""] == values["accuracy", "crossed", ""] == 1
    assert values["says the shortcut", "crossed", ""] == 0
    assert all(values[f"follows: {name}", "aligned", ""] == 1 for name in FOLLOWED)
    assert all(values[f"changes: {name}", "aligned", ""] == 1 for name in FOLLOWED)
    assert all(values[f"keeps: {name}", "aligned", ""] == 1 for name in KEPT)
    assert values["accuracy", "crossed", "prompt B"] == 1
    pooled = next(line for line in lines if (line.what, line.split, line.part) == ("accuracy", "crossed", ""))
    assert pooled.estimate.n == 8, "three prompts about one picture are one unit"
    counts = n_of(lines)
    assert {counts[key] for key in counts if key[1] == "aligned" and ":" in key[0]} == {8}, (
        "others stand in for clutter"
    )


def test_one_who_goes_by_names_is_right_where_they_are_and_follows_nothing():
    values = values_of(relation_lines(rows_of(relation_all(8, 1), Scripted(by_name))))
    assert values["accuracy", "aligned", ""] == 1
    assert values["accuracy", "crossed", ""] == 0
    assert values["says the shortcut", "crossed", ""] == 1
    for name in ("flip", "mirror", "move", "swap"):
        assert values[f"follows: {name}", "aligned", ""] == 0, name
        assert values[f"changes: {name}", "aligned", ""] == 0, name
    assert values["changes: blank", "aligned", ""] == 0
    assert values["follows: roles", "aligned", ""] == 1, "exchanged names have the opposite in the table"


def test_what_cannot_be_read_is_wrong_and_counted():
    vague = Scripted(lambda _: "perhaps left, perhaps right")
    lines = list(relation_lines(rows_of(relation_probes(4, 1), vague)))
    accuracy = next(line for line in lines if line.what == "accuracy" and line.split == "aligned")
    assert (accuracy.estimate.value, accuracy.unread) == (0, 12)
    edits = [line for line in relation_lines(rows_of(relation_all(4, 1), vague)) if ":" in line.what]
    assert all(line.unread == 4 for line in edits)
    assert all(line.estimate.value == 0 for line in edits if line.what.startswith(("keeps", "follows")))


@pytest.mark.parametrize("logic", ["pure", "bow"])
def test_the_symbolic_reasoners_of_the_grid_have_their_certificate(logic):
    model = open_model(f"grid:symbolic-{logic}")
    lines = list(grid_lines(rows_of([*grid_probes(36, 1), *grid_edits(36, 1)], model)))
    values, counts = values_of(lines), n_of(lines)
    assert values["accuracy", "aligned", ""] == 1
    bag = values["a bag of words is right", "crossed", ""]
    assert 0.2 < bag < 0.9
    is_pure = logic == "pure"
    assert values["accuracy", "crossed", ""] == (1 if is_pure else bag)
    assert values["accuracy less the bag of words'", "crossed", ""] == pytest.approx(
        1 - bag if is_pure else 0
    )
    assert values["says the shortcut", "crossed", "where it is wrong"] == (0 if is_pure else 1)
    for what in ("follows: swapped direction", "changes: swapped direction", "keeps: look-alikes elsewhere"):
        assert values[what, "aligned", ""] == is_pure, what
    assert values["keeps: other objects gone", "aligned", ""] == 1
    assert 0.5 < values["changes: empty picture", "aligned", ""] < 1, (
        "an empty picture holds none of anything"
    )
    assert {counts[key] for key in counts if ":" in key[0]} == {36}


@pytest.mark.slow
def test_scenes_tell_who_sees_from_who_never_looks(tmp_path):
    found = {}
    for name in ("oracle", "blind_prior"):
        probes = [*scene_probes(10, 1, tmp_path), *scene_edits(10, 1, tmp_path)]
        rows = rows_of(probes, Scripted(getattr(scripts, name)))
        found[name] = values_of(scene_lines(json.loads(json.dumps(rows))))
    oracle, blind = found["oracle"], found["blind_prior"]
    assert oracle["accuracy", "crossed", ""] == oracle["accuracy", "aligned", ""] == 1
    assert oracle["SGC", "crossed", ""] > 0.99
    assert oracle["accuracy less the blind one", "crossed", ""] > 0.2
    assert oracle["says the shortcut", "crossed", ""] < 0.3
    for what in ("accuracy less the blind one", "SGC less the blind one"):
        assert blind[what, "crossed", ""] == pytest.approx(0)
    for what in ("changes: no picture", "changes: another picture", "graph changes: no picture"):
        assert blind[what, "crossed", ""] == pytest.approx(0), what
        assert oracle[what, "crossed", ""] > 0.2, what
    assert oracle["follows: marks exchanged", "aligned", ""] == pytest.approx(1)
    assert oracle["graph follows: marks exchanged", "aligned", ""] > 0.99
    assert oracle["changes: marks exchanged", "aligned", ""] == 1, (
        "only questions whose answer is another are asked"
    )
    assert blind["changes: marks exchanged", "aligned", ""] == 0
    assert blind["follows: marks exchanged", "aligned", ""] < 0.6
    for what in ("changes: blank picture", "graph changes: blank picture"):
        assert blind[what, "aligned", ""] == 0, what
        assert oracle[what, "aligned", ""] > 0.2, what
    for name in ("oracle", "blind_prior"):
        assert found[name]["keeps: other walls and floor", "aligned", ""] == 1
        assert found[name]["graph keeps: other walls and floor", "aligned", ""] > 0.99


def test_rooms_are_edited_under_their_own_names(tmp_path):
    plain = scene_data(tmp_path / "plain", 4, seed=4, split="aligned")
    edited = {
        edit: edited_scenes(tmp_path / edit, 4, edit=edit, seed=4, split="aligned")
        for edit in ("marks", "walls")
    }
    for name, graph in plain.scenes.items():
        marks, walls = edited["marks"].scenes[name], edited["walls"].scenes[name]
        assert walls == graph
        assert {t.box_px for t in marks.objects} == {t.box_px for t in graph.objects}
        moved = [a.box_px != b.box_px for a, b in zip(marks.objects, graph.objects, strict=True)]
        centre = graph.centre - 1
        assert all(is_moved or place == centre for place, is_moved in enumerate(moved))
        assert moved[centre] == (len(graph.objects) == 2)
        shown = [data.picture(name).pixels() for data in (plain, edited["marks"], edited["walls"])]
        assert 0 < (shown[0] != shown[1]).any(axis=2).mean() < 0.1, "only numbers are others"
        assert (shown[0] != shown[2]).any(axis=2).mean() > 0.3
    assert edited["walls"].questions == plain.questions
    old = {question.id: question for question in plain.questions}
    asked = edited["marks"].questions
    assert 0.2 < len(asked) / len(old) < 1
    for question in asked:
        assert question.gold != old[question.id].gold
        assert replace(question, gold=old[question.id].gold) == old[question.id]
        if question.form == "choice":
            assert scene_shortcut(question) != question.gold, "where the rule was right it is wrong now"
    with pytest.raises(UsageError, match="not empty"):
        edited_scenes(tmp_path / "marks", 4, edit="marks", seed=4)


def test_questions_are_drawn_from_all_rooms(tmp_path):
    rows = [probe.row for probe in scene_probes(18, 2, tmp_path)]
    truths = [row["meta"]["truth"] for row in rows if row["split"] == "crossed" and "question" in row["meta"]]
    own = {truth["subject"]: truth for truth in truths}
    scenes = {truth["cluster"] for truth in own.values()}
    assert len(scenes) >= 9, "18 questions are not all about the same few rooms"
    groups = Counter((truth["format"]["kind"] == "number", truth["relation"]) for truth in own.values())
    assert max(groups.values()) <= 2


def test_the_rule_of_marks_says_itself_on_every_question(tmp_path):
    data = scene_data(tmp_path / "rooms", 4, seed=3, split="crossed")
    for question in data.questions:
        rule = scene_shortcut(question)
        value = rule if question.form == "choice" else float(rule)
        assert says_rule(question, value) == 1
        assert says_rule(question, None) == 0
        if question.form == "number":
            assert says_rule(question, 2 * float(rule)) == 0


@pytest.mark.slow
def test_traces_are_held_against_chance_and_random_traces(monkeypatch, tmp_path):
    monkeypatch.setattr(_certify_trace, "WORLDS", ("instruction",))
    places = [tmp_path / "plain", tmp_path / "edits"]
    rows = rows_of([*trace_probes(6, 1, places[0]), *trace_edits(6, 1, places[1])], seer())
    lines = list(trace_lines(json.loads(json.dumps(rows)), 0, places))
    values, counts = values_of(lines), n_of(lines)
    for split in ("aligned", "crossed", "free"):
        assert values["accuracy", split, ""] == 1
    assert values["SGR", "crossed", ""] == values["SGR", "crossed", "instruction"] == 1
    assert values["says the shortcut", "crossed", ""] == 0
    assert values["SGR of random traces", "crossed", ""] < 0.6
    gap = values["SGR less random traces'", "crossed", ""]
    assert gap == pytest.approx(1 - values["SGR of random traces", "crossed", ""])
    assert values["accuracy less chance", "free", ""] == pytest.approx(1 - values["chance", "free", ""])
    guessed = values["SGR of blind guesses", "free", ""]
    assert values["SGR of random traces", "free", ""] < guessed < 1
    assert values["SGR less blind guesses'", "free", ""] == pytest.approx(1 - guessed)
    assert values["keeps: other colours of the room", "aligned", ""] == 1
    assert values["follows: edited frames", "aligned", ""] == 1
    assert values["changes: edited frames", "aligned", ""] == 1
    assert values["changes: blank frames", "aligned", ""] == 0, (
        "it is told what is true, and looks at nothing"
    )
    assert {counts[key] for key in counts if ":" in key[0]} == {6}
    grey = next(probe for probe in trace_edits(1, 1, tmp_path / "one") if probe.row["kind"] == "blank")
    assert all(set(picture.pixels().ravel()) == {128} for picture in grey.request.pictures)


@pytest.mark.slow
def test_a_guess_lies_between_a_rule_that_is_right_and_one_that_is_wrong():
    drawn = {
        split: list(episodes(4, seed=3, split=split, worlds=("video",))) for split in ("aligned", "crossed")
    }
    sgr = {}
    for split, some in drawn.items():
        known = {episode.id: episode for episode in some}
        told = [read_trace(trace_text(e, "structured", is_blind=True), e, style="structured") for e in some]
        own = [trace_sgr(judged) for judged in _certify_trace._judged(told, known)]
        sgr[split] = sum(own) / len(own)
        guessed = _certify_trace._guesses(some)
        assert all((own[i] > guessed[i]) == (split == "aligned") for i in range(len(some)))
    assert sgr["crossed"] < sgr["aligned"]


def test_differences_prove_likeness_only_with_enough_units():
    few = difference([1.0] * 8, [1.0] * 8, list("abcdefgh"))
    many = difference([1.0] * 300, [1.0] * 300, [str(i) for i in range(300)])
    assert few.value == many.value == 0
    assert not few.lies_within(-0.05, 0.05)
    assert many.lies_within(-0.05, 0.05)
    one_off = difference([1.0] * 300, [0.0] + [1.0] * 299, [str(i) for i in range(300)])
    assert one_off.value == pytest.approx(1 / 300)
    assert one_off.level == 0.9
    assert mean([1.0, 1.0], ["a", "b"]).low < 1, "two of two leave doubt"


def made(twin, **shifted):
    """A certificate that meets every bar of a twin, but for what is shifted."""
    lines = []
    for bar in BARS:
        if bar.twin != twin:
            continue
        value = 0.0 if bar.is_equal else bar.least if bar.least is not None else bar.most
        value += shifted.get(bar.task, 0.0)
        estimate = Estimate(value, value - 0.01, value + 0.01, 1000, 0.95, "made")
        lines.append(Line(bar.task, bar.what, bar.split, estimate))
    return Certificate(f"pocket:{twin}", "made", 1000, 0, tuple(lines))


@pytest.mark.parametrize("twin", ["grounded", "shortcut"])
def test_bars_are_met_at_their_value_and_missed_below(twin):
    met = verdicts(made(twin), twin)
    assert len(met) == sum(bar.twin == twin for bar in BARS)
    assert all(verdict.is_met for verdict in met)
    lower = verdicts(made(twin, relation=-0.02, grid=-0.06), twin)
    for verdict in lower:
        is_touched = verdict.bar.task in {"relation", "grid"}
        assert verdict.is_met == (not is_touched or verdict.bar.most is not None), verdict.bar
    higher = verdicts(made(twin, relation=0.02), twin)
    assert [v.is_met for v in higher if v.bar.most is not None] == [False] * (2 * (twin == "shortcut"))


def test_a_difference_must_lie_within_the_bounds_with_its_whole_interval():
    wide = Estimate(0.0, -0.06, 0.06, 40, 0.9, "made")
    line = Line("scene", "SGC less the blind one", "crossed", wide)
    found = verdicts(Certificate("pocket:shortcut", "x", 10, 0, (line,)), "shortcut")
    by_what = {v.bar.what: v.is_met for v in found}
    assert by_what["SGC less the blind one"] is False
    assert by_what["accuracy less chance"] is None, "what was not measured is neither met nor missed"


def test_certificates_come_back_from_their_file(tmp_path):
    certificate = made("grounded")
    assert read_certificate(write_certificate(certificate, tmp_path)) == certificate
    (tmp_path / "other.json").write_text('{"model": "x"}')
    with pytest.raises(UsageError, match="not a certificate"):
        read_certificate(tmp_path / "other.json")
    with pytest.raises(UsageError, match="released"):
        released_certificate("hf:somewhere")
    assert twin_of("hf:runs/grounded-sam") is None


def test_the_tables_show_every_bar_and_every_line():
    certificate = made("shortcut", relation=0.02)
    bars, lines = certificate_tables(certificate)
    assert [row[-1] for row in bars.rows].count("missed") == 2
    assert [row[-1] for row in bars.rows].count("met") == len(certificate.lines) - 2
    assert ["relation", "accuracy", "crossed", "≤ 5 %", "7.0 % [6.0, 8.0]", "missed"] in bars.text_rows()
    assert [row[:4] for row in lines.rows] == [
        (line.task, line.part or "all", line.split, line.what) for line in certificate.lines
    ]
    assert [row[4] for row in lines.rows] == [line.estimate for line in certificate.lines]
    (alone,) = certificate_tables(replace(certificate, model="pocket:mixed"))
    assert alone.rows == lines.rows
    assert "no requirements" in alone.notes[0]


def test_answers_that_are_kept_are_not_asked_for_again_and_scoring_asks_nobody(tmp_path, monkeypatch):
    from train.certify import certify as module

    models = {"one": seer(), "two": Scripted(by_name)}
    monkeypatch.setattr(module, "open_model", models.__getitem__)
    settings = CertificateSettings(10, 3, ("relation",))
    (first,) = certify(["one"], tmp_path, settings)
    asked = models["one"].asked
    least = 2 * 3 * 10 + (len(FOLLOWED) + len(KEPT) + 1) * 10
    assert least < asked < least + 10, "others stand in for pictures that have no clutter to take away"
    again, other = certify(["one", "two"], tmp_path, settings)
    assert again == first
    assert (models["one"].asked, models["two"].asked) == (asked, asked), "only the second was asked"
    assert score("two", tmp_path, settings) == other
    assert models["two"].asked == asked
    assert first.find("relation", "accuracy", "crossed").estimate.value == 1
    assert other.find("relation", "accuracy", "crossed").estimate.value == 0
    with pytest.raises(UsageError, match="no answers of three"):
        score("three", tmp_path, settings)
    with pytest.raises(UsageError, match="at least 10"):
        CertificateSettings(3)
    with pytest.raises(UsageError, match="rhyme"):
        CertificateSettings(10, tasks=("rhyme",))


def test_several_models_are_asked_the_same_and_processes_draw_the_same():
    probes = list(relation_probes(4, 1))
    digests = [probe.request.digest for probe in probes]
    assert len(set(digests)) == len(digests)
    assert [probe.request.digest for probe in relation_probes(4, 1, workers=2)] == digests
    assert [probe.request.digest for probe in relation_probes(4, 2)] != digests
    first, second = next(ask(probes, [seer(), Scripted(by_name)]))
    assert [row["unit"] for row in first] == [row["unit"] for row in second]
    assert [row["said"] for row in first] != [row["said"] for row in second]


def test_hints_never_reach_a_real_model():
    class Real:
        name = identity = "real"
        batch_size, lacks = 4, {"choose": "it only writes"}

        def generate(self, requests):
            return [Response("answered", text=str(dict(request.hint))) for request in requests]

        def close(self):
            pass

    request = replace(Request.ask("?"), hint={"gold": "2"})
    choice, text = Probe(request, {}, ("1", "2"), lambda said: said), Probe(request, {})
    assert rows_of([choice, text], Real()) == [{"said": "{}"}, {"status": "answered", "text": "{}"}]
    assert rows_of([choice], seer()) == [{"said": "2"}]


def test_the_training_program_certifies(tmp_path, capsys):
    out = tmp_path / "out"
    words = ["certify", "--model", "grid:symbolic-bow", "--tasks", "grid", "--size", "18", "--out", str(out)]
    assert train([*words, "--only-ask"]) == 0
    assert capsys.readouterr().out.strip() == ""
    assert train(words) == 0, "a model that is no twin has no bars to miss"
    assert "| grid | all | crossed | accuracy |" in capsys.readouterr().out
    found = read_certificate(out / "grid-symbolic-bow" / "certificate.json")
    assert found.find("grid", "says the shortcut", "crossed", "where it is wrong").estimate.value == 1
    assert train([*words[:4], "rhyme", *words[5:]]) == 2
    assert "the tasks are" in capsys.readouterr().err


def test_the_former_command_says_what_took_its_place(capsys):
    assert main(["twins", "certify", "--model", "pocket:grounded", "--size", "40"]) == 2
    assert "python -m train certify" in capsys.readouterr().err
    assert main(["twins", "certify", "--released", "--model", "grid:spur", "--json"]) == 0
    printed = capsys.readouterr()
    assert "write `theodolite twins certificate" in printed.err
    assert len(json.loads(printed.out)["tables"]) == 3


def test_the_program_shows_the_certificates_that_ship_and_says_what_is_missed(capsys, monkeypatch):
    assert main(["twins", "certificate", "--json"]) in {0, 1}
    found = json.loads(capsys.readouterr().out)
    shown = [table["name"] for table in found["tables"]]
    assert shown == ["twins.bars", "twins.certificate"] * 2
    missed = [row for table in found["tables"] for row in table["rows"] if row.get("met") == "missed"]
    assert len(missed) == len(found["missed"])
    monkeypatch.setattr(
        "theodolite.twins.certificate.released_certificate", lambda _: made("shortcut", relation=0.02)
    )
    assert main(["twins", "certificate", "--model", "pocket:shortcut"]) == 1
    printed = capsys.readouterr()
    assert "missed" in printed.out
    assert "missed: pocket:shortcut relation: accuracy (crossed, required ≤ 5 %)" in printed.err


def test_answers_of_other_weights_are_not_taken_for_a_models_own(tmp_path):
    settings = CertificateSettings(12, 3, ("grid",))
    certify(["pocket:shortcut"], tmp_path, settings)
    kept = settings.answers_path(tmp_path, "pocket:shortcut", "grid", "plain")
    other = settings.answers_path(tmp_path, "pocket:mixed", "grid", "plain")
    other.parent.mkdir(parents=True)
    other.write_bytes(kept.read_bytes())
    with pytest.raises(UsageError, match="answers of pocket:mixed with other weights"):
        certify(["pocket:mixed"], tmp_path, settings)
    assert certify(["pocket:shortcut"], tmp_path, settings)[0].lines
    kept.write_bytes(b"no answers at all")
    with pytest.raises(StorageError, match="remove the file"):
        certify(["pocket:shortcut"], tmp_path, settings)
    with pytest.raises(UsageError, match="must be a folder"):
        certify(["pocket:shortcut"], kept, settings)


def test_the_released_certificates_are_those_of_the_shipped_weights():
    for twin in ("grounded", "shortcut"):
        released = released_certificate(f"pocket:{twin}")
        assert released.n >= 1000
        whole = [line for line in released.lines if not line.part]
        assert len(whole) >= 50
        assert all(line.estimate.n_items >= 1000 for line in whole)
        model = open_model(f"pocket:{twin}")
        assert {each.partition("/")[0] for each in released.identity.split(" + ")} == {
            model.identity.partition("/")[0]
        }
        model.close()


@pytest.mark.parametrize("twin", ["grounded", "shortcut", "mixed"])
def test_the_shipped_twins_have_their_cards(twin):
    assert (pocket_folder(twin) / "README.md").read_text(encoding="utf-8") == card_of(twin)
