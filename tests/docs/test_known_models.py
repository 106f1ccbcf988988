"""The page *Known models* has the numbers of its results, and these are what the recorded answers give."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from docs.site import known_models as made
from theodolite.cli.main import main
from theodolite.pairs.balance import design_of

ROOT = Path(__file__).parents[2]
PAGE = made.PAGE.read_text(encoding="utf-8")
MODELS = made.read()


def found(stem, relation=made.ALL):
    return next(each for each in MODELS[made.FOLDER / f"{stem}.json"].results if each.relation == relation)


def test_the_tables_of_the_page_are_those_of_the_results():
    assert made.with_tables(PAGE, made.tables(list(MODELS.values()))) == PAGE


def test_a_place_without_a_table_is_an_error():
    with pytest.raises(ValueError, match="has 0 places for the table other"):
        made.with_tables(PAGE, {"other": "| a |"})


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_model_says_where_it_is_from(path):
    known = MODELS[path]
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", known.source)
    assert re.fullmatch(r"[0-9a-f]{40}", known.commit)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", known.date)
    assert known.licence in {"MIT", "Apache-2.0"}
    assert known.data in made.SETS.values()
    assert known.whole
    assert known.parts
    for each in known.results:
        shares = (each.followed, each.inverted, each.unmoved, each.moved, each.lost)
        assert sum(shares) == pytest.approx(1, abs=0.001)
        value, low, high = each.looking
        assert value == pytest.approx(each.followed - each.inverted, abs=0.001)
        assert low <= value <= high


def test_there_are_thirty_models():
    assert len({known.model.partition(",")[0] for known in MODELS.values()}) >= 30


def test_the_sentences_have_the_numbers_of_the_results():
    old, new = (found(f"circles_claude-{name}-sonnet", "circles overlap") for name in ("3", "3.5"))
    touch = [found(f"circles_claude-{name}-sonnet", "circles touch").looking[0] for name in ("3", "3.5")]
    motion = found("blink_gpt-4o", "Multi-view Reasoning")
    clip = found("pope_clip-vit-l-14-336")
    style = MODELS[made.FOLDER / "blink_instructblip-7b.json"]
    tasks = ("Art Style", "Jigsaw", "Multi-view Reasoning", "Relative Depth", "Visual Similarity")
    five = [each for each in style.parts if each.relation in tasks]
    right = sum(each.accuracy * each.answers for each in five) / sum(each.answers for each in five)
    widest = max(abs(end) for each in five for end in each.looking)
    n = sum(len(known.results) for known in MODELS.values())
    blink = [known for known in MODELS.values() if known.data == "BLINK"]
    looks = [
        known.model
        for known in blink
        for each in known.parts
        if each.relation == "Multi-view Reasoning" and each.looking[1] > 0
    ]
    words = " ".join(PAGE.split())
    for text in (
        f"{made.percent(old.accuracy)} and {made.percent(new.accuracy)} of {old.answers} answers",
        f"Looking is {made.interval(old)} and {made.interval(new)}",
        f"says the same twice in {made.percent(new.unmoved)}",
        f"*No* is right for {new.answers - new.pairs} of the {new.answers} pictures",
        f"a constant *no* has {made.percent(1 - new.pairs / new.answers)} accuracy",
        f"is reversed ({100 * touch[0]:.1f} and {100 * touch[1]:.1f})",
        f"{made.percent(motion.accuracy)} accurate, with two options",
        f"Of {motion.pairs} pairs of pictures it follows {made.percent(motion.followed)} (five pairs), inverts none",
        f"the same answer twice in {made.percent(motion.unmoved)}",
        f"Looking is {made.interval(motion)}, p = {motion.p:.3f}".replace("= 0", "= "),
        f"Of {len(blink)} models only {looks[0]} is proven",
        f"{made.percent(right)} accurate with two options, and it follows 0 of {sum(each.pairs for each in five)} pairs",
        f"interval within ±{100 * widest:.1f}",
        f"in {made.percent(clip.unmoved)} of the pairs the answer is the same twice",
        f"The rest is small: {made.interval(clip)}",
        f"among {n} of models that do not look, about {round(n / 100)} would",
    ):
        assert text.replace("about 2 ", "about two ") in words
    assert (len(five), round(motion.followed * motion.pairs), motion.inverted, len(looks)) == (5, 5, 0, 1)
    assert motion.verdict == "not settled"
    assert {(each.followed, each.inverted, each.unmoved, each.verdict) for each in five} == {
        (0, 0, 1, "no looking found")
    }
    parts = MODELS[made.FOLDER / "pope_clip-vit-l-14-336.json"].parts
    assert [each.verdict == "answers the other way round" for each in parts] == [False, False, True]
    assert f"has {len(MODELS)} recorded runs" in (ROOT / "docs" / "balance.md").read_text(encoding="utf-8")


def test_llava_follows_left_against_right_and_names_under_wrongly():
    prompts = ("choose", "describe-first", "scene-graph-first")
    sides = [found(f"whatsup_llava-1.5-7b_{prompt}", "left / right") for prompt in prompts]
    assert [round(each.followed * each.pairs) for each in sides] == [19, 47, 52]
    assert all(each.inverted == 0 and each.looking[1] > 0 for each in sides)
    under = found("whatsup_llava-1.5-7b_describe-first", "right / under")
    assert (round(under.followed * under.pairs), under.pairs) == (1, 52)
    assert under.verdict == "tells them apart, names them wrongly"


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_the_figure_has_a_dot_for_every_model(ground):
    axes = made.figure(list(MODELS.values()), ground).axes[0]
    large = [each for each in axes.collections if each.get_label() and not each.get_label().startswith("_")]
    assert sum(len(each.get_offsets()) for each in large) == len(MODELS)
    assert (made.ASSETS / f"known_models_{ground}.svg").is_file()


# From the recorded answers.


@pytest.fixture(scope="module")
def expected(shared_data):
    """What an independent script found by one random matching, by set, model and split."""
    path = shared_data / "real_logs" / "expected.tsv"
    if not path.is_file():
        pytest.skip("needs the recorded answers")
    with path.open(encoding="utf-8") as file:
        return {(row["set"], row["model"], row["split"]): row for row in csv.DictReader(file, delimiter="\t")}


def test_every_number_is_beside_that_of_one_random_matching(expected):
    """Ours is the mean over all matchings. With more than two answers the script pairs the most frequent ones first."""
    gaps = []
    for known in MODELS.values():
        name, _, model = Path(known.log).name.removesuffix(".jsonl.gz").partition("__")
        splits = {called: split for split, called in (known.relations or {}).items()}
        for each in known.parts:
            split = splits.get(each.relation, each.relation.replace(" ", "_"))
            row = expected.get((name, model, split)) or expected.get((name, model, split[:22]))
            if row is None:  # What'sUp, and six variants of LLaVA, are not in the script's table
                assert name in {"pope_hsa", "results.json"}
                continue
            assert each.pairs == int(row["pairs"])
            assert 100 * each.accuracy == pytest.approx(float(row["accuracy"]), abs=2)
            gaps.append(abs(100 * each.looking[0] - float(row["difference"])))
    assert (
        f"by {np.mean(gaps):.1f} points on average, and by {max(gaps):.1f} at most over {len(gaps)} rows"
        in " ".join(PAGE.split())
    )
    assert len(gaps) == 170


@pytest.mark.parametrize(
    "stem",
    [
        "circles_claude-3.5-sonnet",
        "blink_gpt-4o",
        "blink_instructblip-7b",
        "whatsup_llava-1.5-7b_describe-first",
    ],
)
def test_results_are_what_the_recorded_answers_give(expected, shared_data, stem):
    known = MODELS[made.FOLDER / f"{stem}.json"]
    assert tuple(made.results(made.recorded(known, shared_data))) == known.results


def test_a_result_is_what_the_program_says_of_the_log(expected, shared_data, tmp_path, capsys):
    known = MODELS[made.FOLDER / "circles_claude-3.5-sonnet.json"]
    log = f"{shared_data / known.log}?split=TouchingCircle/overlapping-prompt"
    run = tmp_path / "run"
    assert main(["ask", "run", "--model", f"replay:{log}", "--data", log, "--out", str(run), "--json"]) == 0
    (row,) = next(
        table["rows"]
        for table in json.loads(capsys.readouterr().out)["tables"]
        if table["name"] == "ask.pairs"
    )
    ours = found("circles_claude-3.5-sonnet", "circles overlap")
    assert row["pairs"] == ours.pairs
    assert [row["looking"][end] for end in ("value", "low", "high")] == pytest.approx(ours.looking, rel=1e-5)


@pytest.mark.parametrize(
    ("stem", "relation"), [("circles_gpt-4o", "circles touch"), ("pope_llava-1.6-vicuna-7b", "popular")]
)
def test_the_mean_over_all_matchings_is_that_of_many_random_ones(expected, shared_data, stem, relation):
    known = MODELS[made.FOLDER / f"{stem}.json"]
    answers = [each for each in made.recorded(known, shared_data) if each.split == relation]
    looking = design_of(made.pairs_of(answers)).outcomes()
    drawn = np.mean([_one_matching(answers, seed) for seed in range(20)])
    assert looking["followed"] - looking["inverted"] == pytest.approx(drawn, abs=0.012)


def _one_matching(answers, seed):
    rng = np.random.default_rng(seed)
    sides = {}
    for each in answers:
        sides.setdefault(each.question, {"yes": [], "no": []})[each.truth].append(each.answer.value)
    total = n = 0
    for said in sides.values():
        k = min(len(said["yes"]), len(said["no"]))
        for one, two in zip(rng.permutation(said["yes"])[:k], rng.permutation(said["no"])[:k], strict=True):
            total += (one, two) == ("yes", "no")
            total -= (one, two) == ("no", "yes")
            n += 1
    return total / n


def test_a_log_of_another_model_is_one_more_file(tmp_path, monkeypatch):
    """One file with the name of a log is completed, and those without their logs stay as they are."""
    entry = {
        "model": "New",
        "data": "POPE",
        "source": "https://github.com/a/b",
        "commit": "0" * 40,
        "date": "2026-01-31",
        "licence": "MIT",
    }
    rows = [
        {
            "question": f"Is there a {thing}?",
            "image": f"{i}.jpg",
            "truth": truth,
            "answer": truth,
            "split": "random",
        }
        for thing in ("dog", "cup")
        for i, truth in enumerate(["yes", "no"] * 20)
    ]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "new.json").write_text(json.dumps({**entry, "log": "new.jsonl"}))
    old = replace(found_any(), log="absent.jsonl")
    made.write(tmp_path / "old.json", old)
    monkeypatch.setattr(made, "read", lambda: read(tmp_path))
    made.compute(tmp_path)
    after = read(tmp_path)
    assert after[tmp_path / "old.json"] == old
    new = after[tmp_path / "new.json"].whole
    assert (new.looking[0], new.pairs, new.verdict) == (1, 40, "looks at least sometimes")
    (tmp_path / "empty.json").write_text(json.dumps({**entry, "log": "nowhere.jsonl"}))
    with pytest.raises(ValueError, match=r"empty.json has no results, and there is no log"):
        made.compute(tmp_path)


read = made.read


def found_any():
    return next(iter(MODELS.values()))
