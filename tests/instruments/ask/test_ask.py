"""From questions to a verdict: models of known behaviour must get the verdict that they earn."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from plans import reseal
from theodolite.answers import READER
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Request
from theodolite.instruments.ask.data.questions import Question
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.ask.questions import SETTINGS, plan_questions
from theodolite.instruments.ask.score import score_ask, score_tables
from theodolite.models import ask_measurer, open_model
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure

THREE = ("picture", "blind", "swapped")


def asked(folder, model, *, n=80, settings=THREE, questions=None, limit=None):
    engine = LocalEngine(ask_measurer(open_model(model)))
    info = RunInfo(instrument="ask", model=model, identity=engine.identity, theodolite="0")
    run = Run.start(folder, info)
    run.plan(plan_questions(questions or list(make_squares(n)), settings=settings))
    measure(run, engine, MeasureOptions(limit=limit))
    return run


def scored(folder, model, **how):
    with asked(folder, model, **how) as run:
        return score_ask(run)


def worded_apart(n):
    """Questions that their words alone tell apart, so that a log can be searched by text."""
    return [replace(q, question=f"Item {i}: {q.question}") for i, q in enumerate(make_squares(n))]


def by_setting(score):
    return {s.setting: s for s in score.settings}


def test_one_that_looks(tmp_path):
    score = scored(tmp_path / "run", "scripted:looker", n=160)
    settings = by_setting(score)
    assert score.verdict == "looks"
    assert settings["picture"].accuracy.value == 1
    assert settings["blind"].refused == 160
    swapped = score.comparisons[-1]
    assert (swapped.against, swapped.drop.value, swapped.follows.value) == ("swapped", 1.0, 1.0)
    assert swapped.drop.low > 0.9
    assert swapped.p_value < 1e-6


def test_one_that_guesses(tmp_path):
    score = scored(tmp_path / "run", "scripted:guesser", n=160)
    assert score.verdict == "no looking found"
    swapped = score.comparisons[-1]
    assert (swapped.drop.value, swapped.same_answer.value) == (0.0, 1.0)
    assert swapped.drop.low < 0 < swapped.drop.high
    assert swapped.p_value == 1
    assert score.majority == 0.25


def test_an_oracle_knows_without_looking_and_is_found_out(tmp_path):
    """It is given the answer about the original picture, so only edits show that it does not look."""
    score = scored(tmp_path / "run", "scripted:oracle", questions=worded_apart(120), settings=SETTINGS)
    assert by_setting(score)["blind"].accuracy.value == 1
    assert {(pair.edit.name, pair.outcome) for pair in score.pairs} == {
        ("mirror", "unmoved"),
        ("light", "kept"),
        ("ask again", "kept"),
    }
    assert score.verdict == "does not look"


def recording(kind, folder, questions):
    """What a model that looks has answered to the original pictures: a run of ours, or a log of lmms-eval."""
    looker = "scripted:looker"
    if kind == "run":
        asked(folder / "first", looker, questions=questions, settings=("picture",)).__exit__()
        return f"replay:{folder / 'first'}"
    ids = {"log by id": "{q.id}", "log by text": "doc-{q.id}"}[kind]
    said = open_model(looker).generate([Request.ask(*q.pictures, q.prompt) for q in questions])
    rows = [
        {"doc_id": ids.format(q=q), "input": q.prompt, "filtered_resps": response.text}
        for q, response in zip(questions, said, strict=True)
    ]
    path = folder / "x_samples_y.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"replay:{path}"


@pytest.mark.parametrize("kind", ["run", "log by id", "log by text"])
def test_a_recording_of_the_pictures_never_answers_for_other_ones(tmp_path, kind):
    """Asked once or twice: who looked must not come out as one who does not."""
    questions = worded_apart(24)
    model = recording(kind, tmp_path, questions)
    scores = [scored(tmp_path / "again", model, questions=questions) for _ in range(2)]
    for score in scores:
        settings = by_setting(score)
        assert (settings["picture"].answered, settings["picture"].accuracy.value) == (24, 1.0)
        assert [settings[s].failed for s in ("blind", "swapped")] == [24, 24]
        assert score.verdict == "not settled"


def test_the_same_words_about_several_pictures_are_not_searched_by_text():
    recalls = {item.name: item.request.recall for item in plan_questions(list(make_squares(2)))}
    assert recalls.pop("square-00000/picture") == "id"  # both ask where the red square is
    assert recalls.pop("square-00001/picture") == "id"
    assert set(recalls.values()) == {"content"}
    assert {name.partition("/")[2] for name in recalls} == {
        "blind",
        "mirror",
        "light",
        "exchanged",
        "exchanged-mirror",
        "picture/again",
    }
    plain = plan_questions(worded_apart(2), settings=("picture",))
    assert {item.request.recall for item in plain if not item.truth.repeats} == {"words"}


@pytest.mark.parametrize(
    ("model", "field"),
    [("scripted:refuser", "refused"), ("scripted:rambler", "unreadable"), ("scripted:flaky", "failed")],
)
def test_no_answers_are_counted_apart(tmp_path, model, field):
    settings = by_setting(scored(tmp_path / "run", model))
    counts = {name: getattr(settings["picture"], name) for name in ("refused", "unreadable", "failed")}
    assert counts.pop(field) > 0
    assert set(counts.values()) == {0}


@pytest.mark.parametrize("model", ["scripted:guesser", "scripted:oracle"])
@pytest.mark.parametrize(
    ("n", "verdict"),
    [(20, "not settled"), (48, "not settled"), (160, "no looking found")],
)
def test_a_verdict_never_contradicts_its_own_interval(tmp_path, model, n, verdict):
    """All answers alike: with few pictures, others may still be out there."""
    score = scored(tmp_path / "run", model, questions=worded_apart(n))
    swapped = score.comparisons[-1]
    assert score.verdict == verdict
    assert (swapped.drop.high < 0.1) == (verdict == "no looking found")


def test_one_pair_that_differs_does_not_make_the_rest_surer(tmp_path):
    """A bootstrap of 60 pairs with one of +1 knows [0, 0.05]; the missing −1 is not known to be that rare."""
    run = asked(tmp_path / "run", "scripted:oracle", questions=worded_apart(60))
    with run:
        seq = next(r.seq for r in run.results() if r.item.truth.condition == "swapped")
        run.store._db.execute("UPDATE records SET text = 'dunno' WHERE seq = ?", (seq,))
        reseal(run.store._db)
        score = score_ask(run)
    swapped = score.comparisons[-1]
    assert swapped.drop.value == pytest.approx(1 / 60)
    assert swapped.drop.low < -0.02


def test_many_questions_about_two_pictures_are_two_observations(tmp_path):
    """Twelve questions on each of two pictures, all lost when the pictures change: no verdict, and p = 1/2."""
    pair = list(make_squares(2))
    questions = [
        replace(pair[i % 2], id=f"q{i}", question=f"Item {i}: {pair[i % 2].question}") for i in range(24)
    ]
    score = scored(tmp_path / "run", "scripted:looker", questions=questions)
    swapped = score.comparisons[-1]
    assert (swapped.drop.value, swapped.drop.n, swapped.drop.n_items) == (1.0, 2, 24)
    assert swapped.p_value == 0.5
    assert (score.verdict, "2 pictures" in score.because) == ("not settled", True)


def test_too_few_questions_give_no_verdict(tmp_path):
    score = scored(tmp_path / "run", "scripted:looker", questions=worded_apart(8))
    assert score.verdict == "not settled"
    assert "too few" in score.because


def test_without_another_setting_there_is_no_verdict(tmp_path):
    score = scored(tmp_path / "run", "scripted:looker", questions=worded_apart(80), settings=("picture",))
    assert (score.verdict, score.comparisons) == ("not settled", ())


@pytest.mark.parametrize(
    ("model", "outcome", "verdict"),
    [
        ("looker", "followed", "looks"),
        ("guesser", "unmoved", "no looking found"),
        ("refuser", "unmoved", "refuses"),
    ],
)
def test_the_same_words_about_several_pictures_need_no_other_request(tmp_path, model, outcome, verdict):
    """Forty questions about four pictures each: six pairs of plain answers, in one cluster."""
    score = scored(tmp_path / "run", f"scripted:{model}", n=160, settings=("picture",))
    pairs = [pair for pair in score.pairs if pair.edit.is_relevant]
    assert Counter(pair.outcome for pair in pairs) == {outcome: 240}
    assert {pair.edit.name for pair in pairs} == {"another picture"}
    assert set(Counter(pair.cluster for pair in pairs).values()) == {6}
    assert set(Counter(pair.relation for pair in pairs).values()) == {40}
    assert "left / right" in {pair.relation for pair in pairs}
    assert score.verdict == verdict


def test_mirrored_pictures_settle_what_other_words_cannot(tmp_path):
    score = scored(tmp_path / "run", "scripted:looker", questions=worded_apart(120), settings=SETTINGS)
    outcomes = Counter((pair.edit.name, pair.outcome) for pair in score.pairs)
    assert outcomes == {
        ("mirror", "followed"): 2 * 60,  # each also with the two squares exchanged
        ("light", "lost"): 120,  # it knows exact colours only
        ("ask again", "kept"): 24,
    }
    assert score.verdict == "looks"


def test_a_model_that_can_no_longer_be_read_with_other_pictures_is_not_said_to_look(tmp_path):
    """The drop alone would say that it looks."""
    run = asked(tmp_path / "run", "scripted:oracle", questions=worded_apart(60))
    with run:
        for seq in [r.seq for r in run.results() if r.item.truth.condition == "swapped"]:
            run.store._db.execute("UPDATE records SET text = 'well' WHERE seq = ?", (seq,))
        reseal(run.store._db)
        score = score_ask(run)
    assert score.comparisons[-1].drop.low > 0
    assert (score.verdict, "have no answer" in score.because) == ("not settled", True)


def test_a_run_that_is_only_begun_is_scored_as_far_as_it_is(tmp_path):
    score = scored(tmp_path / "run", "scripted:looker", questions=worded_apart(80), limit=90)
    assert [s.asked for s in score.settings] == [30, 30, 30]
    assert score.comparisons[0].drop.n_items == 30


def test_scoring_again_gives_the_same_and_asks_nobody(tmp_path):
    with asked(tmp_path / "run", "scripted:flaky") as run:
        first = score_ask(run)
    with Run.open(tmp_path / "run", writable=True) as run:
        assert score_ask(run) == first
        assert run.tables() == score_tables(first)
        assert run.scores()["instrument"] == "ask"
        (reading,) = next(run.results()).parsed
        assert (reading.parser, reading.status) == (READER, "value")


def test_swaps_show_another_answer_and_prefer_the_same_words():
    questions = list(make_squares(40))
    by_picture = {q.pictures[0].digest: q for q in questions}
    for item in plan_questions(questions, settings=("swapped",), seed=5):
        shown = by_picture[item.request.pictures[0].digest]
        assert shown.answer != item.truth.golds[0]
        assert shown.answer == item.meta["shown"]
        assert shown.prompt in item.request.text


def test_swaps_between_other_words_claim_nothing_about_what_is_shown():
    questions = [
        Question(f"q{i}", f"Where is {i}?", "ab"[i % 2], q.pictures) for i, q in enumerate(make_squares(6))
    ]
    items = list(plan_questions(questions, settings=("swapped",)))
    assert len(items) == 6
    assert all("shown" not in item.meta for item in items)


def test_questions_that_nothing_fits_have_no_swap():
    questions = [Question(f"q{i}", "Is it there?", "yes", q.pictures) for i, q in enumerate(make_squares(6))]
    assert list(plan_questions(questions, settings=("swapped",))) == []
    with pytest.raises(UsageError, match="at least two"):
        list(plan_questions(questions[:1]))


def test_a_replayed_log_gets_no_answers_that_it_does_not_hold(tmp_path):
    """A log of the usual kind holds answers with pictures only: the blind setting must stay empty.

    Another picture with the same words is another question of the log.
    """
    questions = list(make_squares(24))
    log = tmp_path / "x_samples_y.jsonl"
    rows = [{"doc_id": q.id, "input": q.prompt, "filtered_resps": q.answer} for q in questions]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = by_setting(scored(tmp_path / "run", f"replay:{log}", questions=questions))
    assert settings["picture"].accuracy.value == 1
    assert (settings["blind"].failed, settings["swapped"].failed) == (24, 0)
    assert settings["swapped"].accuracy.value == 0


def test_a_run_of_another_instrument_is_refused(tmp_path):
    info = RunInfo(instrument="compass", model="x", identity="x", theodolite="0")
    with Run.start(tmp_path / "run", info) as run, pytest.raises(UsageError, match="run of compass"):
        score_ask(run)


def test_a_run_without_questions_or_of_strange_ones_is_told(tmp_path):
    info = RunInfo(instrument="ask", model="x:y", identity="x", theodolite="0")
    with Run.start(tmp_path / "run", info) as run:
        with pytest.raises(UsageError, match="has no questions yet"):
            score_ask(run)
        run.plan([Item("odd", Request.ask("?"))])
        with pytest.raises(UsageError, match="'odd' has no right answer"):
            score_ask(run)


def test_edited_pictures_are_kept_and_have_the_same_content_anywhere(tmp_path):
    """So that a replay finds the answers about them, whatever encoder wrote the files."""
    questions = list(make_squares(4))
    plans = [
        list(plan_questions(questions, folder=folder))
        for folder in (None, tmp_path / "a", tmp_path / "a", tmp_path / "b")
    ]
    assert {tuple(item.id for item in plan) for plan in plans} == {tuple(item.id for item in plans[0])}
    mirrored = next(item for item in plans[1] if item.truth.condition == "mirror")
    shown = mirrored.request.pictures[0]
    assert shown.path.parent == tmp_path / "a"
    assert (shown.pixels() == questions[0].pictures[0].pixels()[:, ::-1]).all()


def test_asking_again_is_another_request_with_greedy_decoding():
    items = {item.name: item for item in plan_questions(list(make_squares(30)))}
    first, again = (items[f"square-00000/picture{which}"].request for which in ("", "/again"))
    assert first.digest != again.digest
    assert (first.messages, again.temperature) == (again.messages, 0)
    assert sum(name.endswith("/again") for name in items) == 24
