"""A whole diagnosis with scripted models of known reasoning: one that looks, and one that reads the words."""

import json
from functools import partial

import known_models
import pytest

from theodolite.cli import diagnose as _diagnose
from theodolite.cli.main import main
from theodolite.core.errors import ModelError, StorageError, UsageError
from theodolite.core.scores import OWN_SPLIT
from theodolite.core.views import UNSEEN
from theodolite.diagnose.api import Diagnosed, diagnose
from theodolite.diagnose.compare import pairs_table
from theodolite.diagnose.record import read_diagnosis
from theodolite.diagnose.request import DiagnosisRequest, opened
from theodolite.diagnose.running import read_items, run_diagnosis
from theodolite.diagnose.separation import Twins
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.instrument import UserData, find_instruments
from theodolite.models import scripted as _scripted
from theodolite.runs import EngineOptions, Run, find_runs
from theodolite.twins.workspace import model_capability
from toy_instrument import TOY, registered

FEW = 22
LOOKS, READS = "scripted:looks", "scripted:reads"
TWINS = Twins(LOOKS, READS)
FOUR = ("compass", "grid", "scene", "trace")


@pytest.fixture(autouse=True, scope="module")
def known():
    """Two scripted models that give text alone, under names of their own."""
    with pytest.MonkeyPatch.context() as patch:
        known_models.put_in(patch)
        yield


@pytest.fixture(scope="module")
def asked(tmp_path_factory, put_stories):
    """A request of few items; the data are made once for all of them, and the stories are half as many as in a quick diagnosis."""
    home = tmp_path_factory.mktemp("home") / "data"
    put_stories(home, "quick")

    def make(folder, *models, instruments=FOUR, size=FEW, **rest):
        folder.mkdir(exist_ok=True)
        if not (folder / "data").exists():
            (folder / "data").symlink_to(home)
        found = find_instruments(instruments) if isinstance(instruments[0], str) else instruments
        return DiagnosisRequest(models or (LOOKS, READS), folder, found, size, twins=TWINS, **rest)

    return make


@pytest.fixture(scope="module")
def made(tmp_path_factory, asked):
    folder = tmp_path_factory.mktemp("diagnosis")
    return Diagnosed(run_diagnosis(asked(folder, size="quick")), folder)


def test_both_are_placed_where_they_belong_by_every_instrument(made):
    for name in ("compass", "grid", "scene", "trace"):
        top, bottom = (made.view(model, name) for model in (LOOKS, READS))
        assert top.verdict.standing in {"looks", "looks at least sometimes"}, name
        assert bottom.verdict.standing in {"does not look", "no looking found", "not settled"}, name
        assert top.counts.planned == top.counts.answered > 0
    assert made.diagnosis.model(LOOKS).verdict.standing in {"looks", "looks at least sometimes"}
    assert made.diagnosis.model(READS).verdict.standing == "does not look"


def test_looking_is_that_of_what_looks_and_of_nothing_else(made):
    """The neutral edits change no answer of a model that looks."""
    neutral = []
    for name in FOUR:
        (looks,), (reads,) = (made.view(model, name).looking for model in (LOOKS, READS))
        relevant = [(a, b) for a, b in zip(looks.edits, reads.edits, strict=True) if a.is_relevant]
        assert relevant
        for top, bottom in relevant:
            assert top.n == bottom.n > 0
            assert top.followed.value > 0.9, (name, top.name)
            assert (bottom.followed.value, bottom.unmoved.value) == (0, 1), (name, bottom.name)
            assert "blind answers" in top.excludes
            assert (top.looking.value > 0.9, bottom.looking.value) == (True, 0), (name, top.name)
            shares = (top.followed, top.inverted, top.moved, top.unmoved, top.lost)
            assert sum(share.value for share in shares) == pytest.approx(1)
        neutral += [form for form in looks.edits if not form.is_relevant]
    assert all(form.kept.value > 0.9 and form.followed is None for form in neutral)
    assert {row[1] for row in pairs_table(made.diagnosis).rows} == set(FOUR)


def test_every_verdict_has_exhibits_with_their_pictures(made):
    for model in (LOOKS, READS):
        for name in FOUR:
            exhibits = made.view(model, name).looking[0].exhibits
            assert 1 <= len(exhibits) <= 4, (model, name)
            for each in exhibits:
                pictures = [*each.before.pictures, *each.after.pictures]
                assert pictures
                assert all((made.folder / picture).is_file() for picture in pictures)
                assert each.before.pictures != each.after.pictures


def test_what_a_black_box_does_not_allow_is_told(made):
    left = {out.instrument: out for out in made.diagnosis.model(LOOKS).left_out if "gradients" in out.what}
    assert set(left) == {"compass", "grid"}
    assert "hf:PATH" in left["compass"].remedy
    assert made.view(LOOKS, "compass").status == "partly measured"
    assert made.view(LOOKS, "scene").status == "measured"
    behaviour = {r.key for r in made.diagnosis.instrument("grid").metrics}
    assert {"grid.right", "grid.bag_of_words", "grid.swap_changes", "grid.clear_keeps"} <= behaviour


def test_signatures_are_judged_for_every_model(made):
    """Fourteen rooms are too few for a level of 1 to lie above ½ with its whole interval, and enough to rule things out."""
    standing = {(s.model, s.instrument, s.name): s.standing for s in made.diagnosis.signatures}
    aligned = next(
        s for s in made.diagnosis.signatures if (s.model, s.name) == (LOOKS, "structural alignment")
    )
    assert aligned.numbers["level of SGC"].value == pytest.approx(1)
    assert aligned.numbers["level of QA"].low > 0.5
    assert standing[LOOKS, "scene", "semantic shortcut"] == "not raised"
    assert standing[LOOKS, "scene", "language prior"] == "not raised"
    assert standing[LOOKS, "compass", "layout-driven"] == "not measured"
    assert {"temporal drift", "language prior", "modality trust bias", "perception–reasoning disconnect"} <= {
        name for _, _, name in standing
    }


def test_models_are_compared_item_by_item(made):
    right = [c for c in made.diagnosis.comparisons if c.metric == "compass.right" and c.split == "crossed"]
    assert len(right) == 1
    assert right[0].difference.low > 0


def test_every_row_can_be_shown(made):
    rows = list(read_items(made.folder))
    assert {row.instrument for row in rows} == {"compass", "grid", "scene", "trace"}
    assert all((made.folder / picture).is_file() for row in rows for picture in row.pictures)
    assert len({(row.model, row.instrument, row.id, row.split) for row in rows}) == len(rows)
    plain = [row for row in rows if row.model == LOOKS and row.condition == "plain"]
    assert all(row.correct is not False for row in plain)
    unseen = [row for row in rows if row.condition in UNSEEN]
    assert {row.instrument for row in unseen} == {"compass", "grid", "scene", "trace"}
    assert all(row.correct is None for row in unseen), "there is nothing to be right about"
    trace = next(row for row in plain if row.instrument == "trace")
    stories = {(row.split, row.cluster) for row in rows if row.instrument == "trace"}
    assert len({cluster for _, cluster in stories}) == len(stories), "stories of two splits are other stories"
    assert all(claim.verdict == "supported" for step in trace.steps.steps for claim in step.claims)
    grid = next(row for row in plain if row.instrument == "grid")
    assert {cell.role for cell in grid.cells.cells} & {"target_1", "anchor_1"}
    scene = next(row for row in plain if row.instrument == "scene" and row.kind == "scene graph")
    said, true = ({o.mark: o for o in side} for side in (scene.plan.said, scene.plan.true))
    assert set(said) == set(true)
    assert all(abs(said[mark].z_m - true[mark].z_m) < 0.5 for mark in true)
    mirrored = next(row for row in rows if row.condition == "mirrored")
    assert mirrored.pictures != next(r for r in rows if r.cluster == mirrored.cluster).pictures


def test_values_of_rows_are_the_readings(made):
    rows = [r for r in read_items(made.folder) if r.instrument == "grid" and r.model == READS and r.values]
    figure = next(
        m.figure
        for r in made.diagnosis.instrument("grid").metrics
        for m in r.models
        if (r.key, r.split, m.model) == ("grid.right", "crossed", READS)
    )
    mine = [row.values["grid.right"] for row in rows if row.split == "crossed"]
    assert sum(mine) / len(mine) == pytest.approx(figure.value)


def test_the_document_says_what_it_rests_on(made):
    view = made.view(LOOKS, "trace")
    assert all((made.folder / run / "run.json").exists() for run in view.runs)
    assert read_diagnosis(made.folder) == made.diagnosis


def test_the_same_order_again_asks_nothing(made, monkeypatch, asked):
    def refuse(*_):
        raise AssertionError("nothing should be asked again")

    monkeypatch.setattr(_scripted.ScriptedModel, "generate", refuse)
    again = run_diagnosis(asked(made.folder, size="quick"))
    assert again.instruments == made.diagnosis.instruments


def test_interrupted_it_goes_on(tmp_path, monkeypatch, asked):
    n_asked = 0
    real = _scripted.ScriptedModel.generate

    def interrupted(self, requests):
        nonlocal n_asked
        n_asked += len(requests)
        if n_asked > 300:
            raise KeyboardInterrupt
        return real(self, requests)

    with monkeypatch.context() as patch:
        patch.setattr(_scripted.ScriptedModel, "generate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_diagnosis(asked(tmp_path, instruments=(TOY,), size=120))
    finished = 0
    for folder in find_runs(tmp_path):
        with Run.open(folder) as run:
            finished += run.tally().answered
    assert 0 < finished <= 300
    calls = []
    monkeypatch.setattr(
        _scripted.ScriptedModel, "generate", lambda self, rs: calls.extend(rs) or real(self, rs)
    )
    whole = run_diagnosis(asked(tmp_path, instruments=(TOY,), size=120))
    total = sum(view.counts.planned for each in whole.instruments for view in each.models)
    assert len(calls) <= total - finished


def test_another_model_is_compared_with_twins_that_are_measured_with_it(tmp_path, asked):
    told = []
    both = run_diagnosis(asked(tmp_path / "both", instruments=(TOY,)))
    found = run_diagnosis(
        asked(tmp_path / "one", READS, instruments=(TOY,), progress=lambda m, i, w: told.append((m, i, w)))
    )
    assert [model.name for model in found.models] == [READS]
    mine, theirs = found.instrument("toy").metrics, both.instrument("toy").metrics
    assert [(m.grounded, m.separation) for m in mine] == [(m.grounded, m.separation) for m in theirs]
    assert found.instrument("toy").models[0].looking == both.instrument("toy").models[1].looking
    assert {m for m, _, w in told if w == "done"} == {READS, LOOKS}


def test_own_data_have_figures(tmp_path, made, asked):
    request = asked(tmp_path, instruments=("scene",), size="quick")
    (scene,) = request.instruments
    mine = UserData("scene", "scenes", request.study(scene).place("scene-crossed").resolve())
    found = run_diagnosis(asked(tmp_path, instruments=("scene",), data=(mine,))).instrument("scene")
    rows = [r for r in found.metrics if r.split == OWN_SPLIT and r.key == "scene.sgc"]
    assert len(rows) == 1
    assert rows[0].models[0].figure.value == pytest.approx(1)
    assert rows[0].separates  # both twins are here, and were asked the same


def test_questions_of_the_user_are_measured_and_named_first(tmp_path, asked):
    questions = write_questions(make_squares(24), tmp_path / "squares")
    chosen = (*find_instruments(["ask"]), TOY)
    alone = run_diagnosis(asked(tmp_path / "alone", instruments=(TOY,), size=20))
    own = UserData("ask", "questions", questions)
    found = run_diagnosis(asked(tmp_path / "both", instruments=chosen, size=20, data=(own,)))
    own_views = found.instrument("ask").models
    for before, after, view in zip(alone.models, found.models, own_views, strict=True):
        assert view.verdict.standing != "not measured"
        mine, _, drawn = after.verdict.sentence.partition(". On drawn pictures: ")
        designs = {each.standing: [] for each in view.looking}
        for each in view.looking:
            designs[each.standing].append(
                "your pictures (ask)" if each.is_natural else "your pictures, edited (ask)"
            )
        assert view.verdict.standing in designs
        for standing, labels in designs.items():
            assert f"{standing} in {' and '.join(labels)}" in mine.lower()
        assert drawn == before.verdict.sentence[:1].lower() + before.verdict.sentence[1:]
    accuracy = {
        seen.model: seen.figure.value
        for metric in found.instrument("ask").metrics
        if (metric.key, metric.split) == ("ask.accuracy:picture", OWN_SPLIT)
        for seen in metric.models
    }
    assert accuracy[LOOKS] == 1 > accuracy[READS]
    rows = [row for row in read_items(tmp_path / "both") if (row.instrument, row.model) == ("ask", LOOKS)]
    plain = [row for row in rows if row.condition == "plain"]
    assert len(plain) == 20  # of 24 questions, as many as the size says
    assert {"plain", "blind", "mirror", "light"} <= {row.condition for row in rows}
    assert all(row.values["ask.accuracy:picture"] == 1 for row in plain)
    assert found.settings["data"] == {"ask": str(questions)}


def test_a_model_that_fails_at_every_item_gives_no_verdict_and_its_reason(tmp_path, asked):
    found = run_diagnosis(asked(tmp_path, "scripted:flaky?every=1", LOOKS, READS, instruments=(TOY,)))
    view = found.instrument("toy").models[0]
    assert view.status == "failed"
    assert view.counts.failed == view.counts.planned
    assert "none of its" in view.because
    assert view.verdict.standing in {"not measured", "cannot be read"}


def test_a_model_that_refuses_is_counted_apart_from_wrong(tmp_path, asked):
    found = run_diagnosis(asked(tmp_path, "scripted:refuser", LOOKS, READS, instruments=(TOY,)))
    view = found.instrument("toy").models[0]
    assert (view.counts.refused, view.counts.failed) == (view.counts.planned, 0)
    assert view.verdict.standing == "refuses"


def test_what_a_model_gives_is_found_out():
    with opened(LOOKS) as model:
        assert (model.gives, model_capability(LOOKS)) == ("text", "text")
        assert model.capabilities == ("text",)


def test_a_folder_that_cannot_be_written_is_told_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="choose another folder"):
        diagnose(LOOKS, out=tmp_path / "file" / "below")


def test_a_wrong_engine_is_told():
    with pytest.raises(UsageError, match="there are: local, ray"):
        EngineOptions("cluster")


@pytest.fixture
def short(monkeypatch):
    """The command with the toy instrument, and with our own two models for twins."""
    monkeypatch.setattr(_diagnose, "DEFAULT_MODELS", (LOOKS, READS))
    asked = partial(DiagnosisRequest, twins=TWINS)
    monkeypatch.setattr("theodolite.diagnose.api.DiagnosisRequest", asked)
    with registered(TOY):
        yield


def test_the_command_prints_a_verdict_and_writes_a_report(tmp_path, short, capsys):
    status = main(["diagnose", "--instruments", "toy", "--out", str(tmp_path / "r")])
    printed = capsys.readouterr()
    assert status == 0
    assert "scripted:looks" in printed.out
    assert "Does it look?" in printed.out
    assert "100 %" in printed.out
    assert "behaviour, not its cause" in printed.out
    assert len(printed.out.splitlines()) <= 40
    assert "toy: done" in printed.err
    assert (tmp_path / "r" / "index.html").is_file()
    assert str(tmp_path / "r" / "index.html") in printed.out.replace("\n", "")


def test_the_command_prints_json_that_fits_its_schema(tmp_path, short, capsys):
    jsonschema = pytest.importorskip("jsonschema")
    assert main(["diagnose", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert main(["diagnose", "--quick", "--instruments", "toy", "--out", str(tmp_path / "r"), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema).validate(value)
    assert value["models"][0]["name"] == LOOKS


def test_failures_end_with_status_one(tmp_path, short, capsys):
    asked = ["diagnose", "--model", "scripted:flaky?every=2", "--instruments", "toy"]
    assert main([*asked, "--out", str(tmp_path / "r")]) == 1
    assert "theodolite runs show" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "hf:/no/such/folder"], "/no/such/folder"),
        (["--model", "nonsense"], "scheme:target"),
        (["--model", "scriptd:looks"], "did you mean 'scripted'"),
        (["--model", "replay:/no/such/log"], "nothing to replay"),
        (["--model", "openai:vlm@http://127.0.0.1:9/v1"], "127.0.0.1:9"),
        (["--instruments", "sextant"], "ask, compass, grid, scene, trace"),
        (["--data", "/no/such/data"], "/no/such/data does not exist"),
        (["--size", "huge"], "quick"),
        (["--size", "5"], "a whole number of pairs, at least 6"),
        (["--quick", "--size", "large"], "give one of them"),
        (["--engine", "cluster"], "local or ray"),
        (["--ray-address", "auto"], "--engine ray"),
        (["--out", "/proc/nowhere"], "choose another folder"),
    ],
)
def test_what_a_new_user_gets_wrong_gets_one_sentence(tmp_path, short, capsys, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert main(["diagnose", *words]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "Traceback" not in told
    assert told.count("error:") == 1


def test_a_server_that_is_down_is_told_before_anything_is_measured(tmp_path, asked):
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:9"):
        run_diagnosis(asked(tmp_path, "openai:vlm@http://127.0.0.1:9/v1"))
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_white_box_gets_maps_and_explainers(tmp_path, tiny_llava):
    """A tiny checkpoint that knows nothing: every metric is there, and nothing is claimed of so few items."""
    name = f"hf:{tiny_llava}"
    chosen = find_instruments(["compass", "grid"])
    found = run_diagnosis(DiagnosisRequest((name,), tmp_path, chosen, 6, twins=Twins(name, name)))
    assert found.models[0].capabilities == ["text", "choices", "gradients"]
    assert not found.models[0].left_out
    keys = {metric.key for each in found.instruments for metric in each.metrics}
    assert {"compass.dae_paper:chefer", "compass.image_share:chefer", "compass.occlusion"} <= keys
    assert {"grid.direction_words:removal", "grid.swap_shift"} <= keys
    assert all(view.verdict.standing != "looks" for each in found.instruments for view in each.models)
    rows = list(read_items(tmp_path))
    overlay = next(row.overlay for row in rows if row.overlay is not None and row.overlay.maps)
    assert len(overlay.maps[0].values) == 16
    assert sum(overlay.sectors["chefer"].values()) == pytest.approx(1, abs=0.01)
    assert any(row.cells is not None and row.cells.maps for row in rows)


@pytest.mark.slow
def test_workers_elsewhere_find_the_same(tmp_path):
    pytest.importorskip("ray")
    name = "scripted:constant?text=2"
    found = []
    for engine in ("local", "ray"):
        request = DiagnosisRequest(
            (name,),
            tmp_path / engine,
            find_instruments(["compass", "grid"]),
            6,
            options=EngineOptions(engine, 1 if engine == "ray" else None),
            twins=Twins(name, name),
        )
        found.append(run_diagnosis(request))
    assert found[0].instruments[0].metrics == found[1].instruments[0].metrics
    assert found[0].instruments[1].metrics == found[1].instruments[1].metrics


def test_a_small_checkpoint_works_in_larger_batches_on_one_core(tiny_llava):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with opened(f"hf:{tiny_llava}") as model:
            assert (model.model.batch_size, torch.get_num_threads()) == (32, 1)
        assert torch.get_num_threads() == 2
        with opened(f"hf:{tiny_llava}?batch_size=3") as model:
            assert model.model.batch_size == 3
    finally:
        torch.set_num_threads(before)
