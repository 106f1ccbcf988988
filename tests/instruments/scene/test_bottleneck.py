"""Lost points go to their cause: scripted models of known cause, alone and mixed, at the size that `scene make` gives."""

from dataclasses import replace

import numpy as np
import pytest
from known_causes import (
    KNOWN,
    Known,
    blind_to,
    clear,
    four_causes,
    guess,
    misses,
    one_of_four,
    prior,
    reasons_or_not,
    seven_two_one,
)
from scene_worlds import asked, box_world, rows_of, scored

from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.experiments.bottleneck import bottleneck_table
from theodolite.instruments.scene.experiments.noise import scene_rng
from theodolite.instruments.scene.figures.scores import bottleneck_bars
from theodolite.instruments.scene.questions import Settings
from theodolite.instruments.scene.signatures import PaperNumbers, judge_as_in_paper
from theodolite.stats import Estimate

SETTINGS = Settings(qa=("base", "blind", "true graph"), graph=("base",))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return box_world(10, seed=6, folder=tmp_path_factory.mktemp("world"))


def divided(world, model, settings=SETTINGS):
    script = model.script({scene.id: scene.star() for scene in world.scenes.values()})
    return scored(asked(world, script, settings=settings))


CASES = [
    pytest.param(name, model, id=f"{name}-{i}")
    for name, models in KNOWN.items()
    for i, model in enumerate(models)
]


def words(name):
    return set(name.replace(" and ", ", ").split(", ")) if "consistent" not in name else {name}


@pytest.mark.parametrize(("name", "model"), CASES)
def test_a_scripted_cause_is_named(world, name, model):
    found = divided(world, model).bottlenecks[None]
    assert words(found.name) == words(name), found.sentence
    assert sum(part.points.value for part in found.parts.values()) == pytest.approx(
        found.lost.value, abs=1e-12
    )
    assert all(part.points.value >= 0 for part in found.parts.values())
    shares = [part.share.value for part in found.parts.values() if part.share is not None]
    assert not shares or sum(shares) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [300, 301, 302])
def test_every_scripted_cause_is_named_on_other_scenes_too(tmp_path, seed):
    world = renamed(box_world(10, seed=seed, folder=tmp_path), seed)
    for name, models in KNOWN.items():
        for model in models:
            found = divided(world, model).bottlenecks[None]
            assert words(found.name) == words(name), found.sentence


def test_at_least_twelve_models_of_known_cause():
    assert len(CASES) >= 12


def renamed(world, seed):
    """The same kind of world under other names, so that the models draw their faults anew."""
    scenes = {f"{key}-{seed}": replace(scene, id=f"{key}-{seed}") for key, scene in world.scenes.items()}
    questions = tuple(
        replace(question, id=f"{question.id}-{seed}", scene=f"{question.scene}-{seed}")
        for question in world.questions
    )
    return SceneData(scenes, questions, world.folder)


MIXED = {
    "seven, two, one": (
        Known(blind_to(0.7), seven_two_one),
        lambda q: (
            "perception"
            if misses(q.scene, 0.7)
            else "reasoning"
            if scene_rng(q.id, 10).random() < 2 / 3
            else "use"
        ),
    ),
    "four causes": (Known(blind_to(0.3), four_causes), one_of_four),
    "reasoning or prior": (
        Known(clear, reasons_or_not),
        lambda q: "reasoning" if scene_rng(q.id, 11).random() < 0.5 else "prior",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXED)
def test_the_shares_of_a_mixture_are_what_was_mixed(tmp_path, name):
    model, cause_of = MIXED[name]
    errors, hits = {}, []
    for seed in range(200, 212):
        world = renamed(box_world(10, seed=seed, folder=tmp_path), seed)
        score = divided(world, model)
        found = score.bottlenecks[None]
        lost = {}
        sizes = {}
        for group in score.cases.groups:
            sizes[group] = sizes.get(group, 0) + 1
        for case, base in zip(score.cases.cases, score.cases.base, strict=True):
            cause = cause_of(case.question)
            if cause is None:
                continue
            lost[cause] = lost.get(cause, 0.0) + (1 - base) / sizes[case.question.group_name]
        for cause, points in lost.items():
            share, estimate = points / sum(lost.values()), found.parts[cause].share
            errors.setdefault(cause, []).append(estimate.value - share)
            hits.append(estimate.low <= share <= estimate.high)
    assert all(abs(np.mean(each)) < 0.04 for each in errors.values()), errors
    assert all(np.sqrt(np.mean(np.square(each))) < 0.09 for each in errors.values()), errors
    assert np.mean(hits) >= 0.95


def test_a_cause_that_is_sure_alone_but_not_most_is_a_cause_in_part(world):
    found = divided(world, Known(clear, guess)).bottlenecks[None]

    unsure = dict.fromkeys(found.parts, Estimate(0.3, 0.02, 0.5, n=100, level=0.95, method="test"))
    unsure["reasoning"] = flat(0.3)
    parts = {cause: replace(part, share=unsure[cause]) for cause, part in found.parts.items()}
    assert replace(found, parts=parts).name == "reasoning in part"
    assert (
        replace(found, parts=parts | {"use": replace(parts["use"], share=flat(0.2))}).name
        == "reasoning and use"
    )


def test_refusals_are_no_fault_of_seeing_or_reasoning(world):
    found = scored(asked(world, scripts.refuser, settings=SETTINGS)).bottlenecks[None]
    assert found.name == "no answer"
    assert found.parts["no answer"].share.value == 1


def test_without_the_true_graph_nothing_is_divided(world):
    settings = Settings(qa=("base", "blind"), graph=("base",))
    assert not divided(world, Known(clear, guess), settings).bottlenecks


def test_without_blind_answers_there_is_no_prior(world):
    settings = Settings(qa=("base", "true graph"), graph=("base",))
    found = divided(world, Known(clear, prior), settings).bottlenecks[None]
    assert "prior" not in found.parts
    assert sum(part.points.value for part in found.parts.values()) == pytest.approx(found.lost.value)


def test_the_table_has_a_row_a_cause_and_the_verdict(world, tmp_path):
    score = divided(world, Known(blind_to(0.7), seven_two_one))
    found = score.bottlenecks
    table = bottleneck_table(found)
    rows = rows_of(table)
    assert set(rows) == {*found[None].parts, "consistent and wrong"}
    assert rows["use"]["share"] == found[None].parts["use"].share
    assert rows["use"]["atomic"] == found["atomic"].parts["use"].share
    assert found[None].name in table.title
    drawing = bottleneck_bars(
        {"openai:a-model-with-a-long-name-72B-Instruct": found[None], "b": found["atomic"]}
    )
    bars = [patch for patch in drawing.figure.axes[0].patches if patch.get_width() > 0]
    assert sum(patch.get_width() for patch in bars) == pytest.approx(2)
    assert drawing.save(tmp_path / "b.png").stat().st_size > 5000


def flat(value):
    return Estimate(value, value - 0.01, value + 0.01, n=100, level=0.95, method="test")


def test_the_papers_gap_has_the_blind_scores_as_floor():
    """CRISP, section 4.2: QA rises by 16 points with the picture, SGC by 3, whatever a prior graph would score."""
    found = judge_as_in_paper(
        PaperNumbers(qa=flat(0.56), sgc=flat(0.4), qa_drop=flat(0.16), sgc_drop=flat(0.03))
    )
    assert found["semantic–geometric gap"].is_raised
    assert found["semantic shortcut"].is_raised
    assert not judge_as_in_paper(PaperNumbers(qa_drop=flat(0.16), sgc_drop=flat(0.2)))[
        "semantic–geometric gap"
    ].is_raised
    assert judge_as_in_paper(PaperNumbers())["structural alignment"].standing == "not measured"


def test_the_papers_disconnect_is_derived_above_base(world):
    score = divided(world, Known(clear, guess))
    assert score.paper_signatures["perception–reasoning disconnect"].standing == "not measured"
    settings = Settings(qa=("base", "blind"), graph=("base", "blind"))
    score = divided(world, Known(clear, guess), settings)
    assert score.paper_signatures["perception–reasoning disconnect"].is_raised
