"""What a user brings: arrays, corners, prompts and pair files of one's own."""

import json

import numpy as np
import pytest
from compass_samples import SIZE, around, box_at, make_sample, planted
from table_rows import rows_of

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.data.pairs import Pair, Region, pair_cautions
from theodolite.instruments.compass.experiments.utility import Confidence, on_common_samples
from theodolite.instruments.compass.formulas.dae import DirectionMass
from theodolite.instruments.compass.formulas.projection import (
    ProjectionOptions,
    TokenMap,
    project,
    project_batch,
)
from theodolite.instruments.compass.questions import PROMPTS, Prompt, find_prompts, read_prompts
from theodolite.instruments.compass.tables import ScoreSettings, score_samples

A, B = Box(30, 30, 50, 50), Box(60, 10, 80, 30)


def test_an_array_of_rows_and_columns_is_a_map_of_the_whole_picture():
    values = np.random.default_rng(0).random((3, 6, 8))
    grid = TokenGrid.regular((80, 60), (6, 8))
    ours = project(TokenMap.from_array(values, size_px=(80, 60)), reference=A, target=B)
    placed = project(TokenMap(values.reshape(3, 48), grid), reference=A, target=B)
    assert ours.shape == (3,)
    np.testing.assert_array_equal(ours.distribution, placed.distribution)


def test_an_array_may_cover_a_part_of_the_picture():
    found = TokenMap.from_array(np.ones((2, 2)), size_px=(80, 60), region_px=(10, 0, 70, 60))
    assert found.grid.rects_px[0].tolist() == [10, 0, 40, 30]


def test_corners_do_as_a_box():
    relevance = TokenMap.from_array(np.random.default_rng(1).random((6, 8)), size_px=(80, 60))
    by_corners = project(relevance, reference=(30, 30, 50, 50), target=[60, 10, 80, 30])
    np.testing.assert_array_equal(
        by_corners.distribution, project(relevance, reference=A, target=B).distribution
    )
    batch = project_batch([relevance], references=[[30, 30, 50, 50]], targets=[(60, 10, 80, 30)])
    np.testing.assert_array_equal(batch[0].distribution, by_corners.distribution)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: project(np.ones((6, 8)), reference=A, target=B), r"TokenMap\.from_array"),
        (lambda: TokenMap.from_array(np.ones(8), size_px=(80, 60)), "rows and columns"),
        (lambda: TokenMap.from_array([["a", "b"]], size_px=(80, 60)), "real numbers"),
        (lambda: TokenMap(np.array(["a"]), TokenGrid.regular((8, 8), (1, 1))), "real numbers"),
        (lambda: project(TokenMap.from_array(np.ones((2, 2)), size_px=(9, 9)), reference=(1, 2)), "corners"),
        (lambda: project(TokenMap.from_array(np.ones((2, 2)), size_px=(9, 9)), reference="box"), "corners"),
        (lambda: ProjectionOptions(sectors=8.5), "sectors"),
    ],
)
def test_what_is_no_map_or_box_is_refused_in_words(call, words):
    with pytest.raises(UsageError, match=words):
        call()


@pytest.fixture
def batch() -> DirectionMass:
    """Three samples, two maps each, eight sectors."""
    values = np.random.default_rng(2).random((2, 6, 8))
    each = TokenMap.from_array(values, size_px=(80, 60))
    return project_batch([each] * 3, references=[A] * 3, targets=[B] * 3)


@pytest.mark.parametrize(
    "index", [(..., 1), (0, ...), (..., slice(0, 1)), ..., (slice(None), ..., None), (..., np.array([1, 0]))]
)
def test_an_ellipsis_never_reaches_the_sectors(batch, index):
    part = batch[index]
    assert part.shape == batch.codes[index].shape == part.used_share.shape == part.true_deg.shape
    np.testing.assert_array_equal(part.distribution.sum(axis=-1), batch.distribution.sum(axis=-1)[index])
    assert part.distribution.shape[-1] == 8


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_prompts_of_ones_own_stand_beside_the_papers(tmp_path):
    path = lines(
        tmp_path / "mine.jsonl",
        {"name": "short", "template": "{tgt} from {ref}?"},
        {"name": "two", "template": "Is {tgt} left of {ref}?", "options": {"y": "left", "n": "right"}},
    )
    short, two = read_prompts(path)
    assert short == Prompt("short", "{tgt} from {ref}?", PROMPTS["A"].options)
    assert two.tokens == ("y", "n")
    assert [prompt.name for prompt in find_prompts(f"B, {path}")] == ["B", "short", "two"]
    assert find_prompts("all") == tuple(PROMPTS[name] for name in "ABC"), "those of Table 9"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"name": "x"}, "line 1: template"),
        ({"name": "x", "template": "where is {tgt}?"}, "line 1: .*{ref}"),
        ({"name": "x", "template": "{tgt} {ref}", "option": {}}, "line 1: option"),
        ({"name": "a/b", "template": "{tgt} {ref}"}, "line 1: .*name"),
        (
            {"name": "x", "template": "{tgt} {ref}", "options": {"1": "left", "2": "left"}},
            "line 1: .*own dir",
        ),
    ],
)
def test_a_prompt_that_cannot_be_asked_is_named_by_its_line(tmp_path, row, words):
    with pytest.raises(UsageError, match=words):
        read_prompts(lines(tmp_path / "mine.jsonl", row))


def test_prompts_are_known_and_named_once(tmp_path):
    with pytest.raises(UsageError, match=r"'D'.* A, B, C, A8 or all"):
        find_prompts("D")
    with pytest.raises(UsageError, match="'A' twice"):
        find_prompts("all,A")
    (tmp_path / "none.jsonl").write_text("\n", "utf-8")
    with pytest.raises(UsageError, match="holds no prompt"):
        find_prompts(str(tmp_path / "none.jsonl"))


def pair(name, direction, target):
    return Pair(
        name, Picture("bytes-0"), SIZE, Region("cup", box_at(80, 60)), Region("pen", target), direction
    )


def test_words_that_do_not_fit_their_boxes_are_told():
    pairs = [
        pair("fits", "right", box_at(130, 55)),
        pair("slanted", "above", box_at(130, 55)),  # 84° off: arguable, not astray
        pair("opposite", "left", box_at(130, 55)),
        pair("same", "left", box_at(80, 60, side=20)),
        pair("unknown", "behind", box_at(30, 60)),
    ]
    found = pair_cautions(pairs)
    assert sorted(found.values()) == [("opposite",), ("same",)]


def test_confidences_are_compared_on_the_same_answers():
    samples = []
    for i, (reference, target) in enumerate(around(12, seed=1)):
        seen = TokenGrid.regular(
            SIZE, (6, 4), region_px=(50, 0, 110, 120)
        )  # targets at the sides are not seen
        samples.append(
            make_sample(
                i,
                maps=[planted(target, grid=seen, elsewhere=0.1, text=1.0)],
                reference=reference,
                target=target,
                logits=int(i % 4),
                cluster=f"p{i % 6}",
            )
        )
    selective = score_samples(samples, ScoreSettings(tables=("utility",))).table("selective")
    (note,) = [note for note in selective.notes if note.startswith("Left out")]
    lost = int(note.split()[2])
    assert lost > 0
    assert {row.n for row in rows_of(selective)} == {12 - lost}
    assert len({row.accuracy.value for row in rows_of(selective)}) == 1


def test_a_confidence_that_nobody_has_does_not_empty_the_others():
    def made(name, where):
        where = np.array(where, bool)
        return Confidence(name, "logits", where, np.flatnonzero(where).astype(float))

    first, second, none = on_common_samples(
        [made("a", [1, 1, 1, 0]), made("b", [0, 1, 1, 1]), made("c", [0, 0, 0, 0])]
    )
    assert first.values.tolist() == second.values.tolist() == [1.0, 2.0]
    assert none.values.size == 0
