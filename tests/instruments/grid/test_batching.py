"""Scenes side by side, budgets shared out, and estimators held against plain ones."""

import itertools
from math import comb

import numpy as np
import pytest

from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, write_dataset
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.explainers.batching import run_together
from theodolite.instruments.grid.explainers.contract import make_case, share_budget
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.game import (
    Game,
    design,
    exact_interactions,
    exact_shares,
    kernel_shap,
    paired_coalitions,
    regressed_interactions,
    symmetric,
)
from theodolite.instruments.grid.explainers.multishap import _sides
from theodolite.instruments.grid.explainers.pid import convex_pid, convex_pids
from theodolite.instruments.grid.explainers.readers import Shown, open_reader
from theodolite.instruments.grid.explainers.second_order import SlopeRequest
from theodolite.instruments.grid.formulas.maps import score_map
from theodolite.instruments.grid.measure import ExplainMeasurer
from theodolite.instruments.grid.questions import ExplainPlan, plan_explanations


@pytest.fixture(scope="module")
def pure():
    return open_reader("grid:pure")


# --- one network, many scenes ---


def test_answers_alone_are_those_of_the_whole_network(pure):
    import torch

    batch = generate("M-F0-D2", 3, density="dense", seed=1)
    with torch.no_grad():
        features = pure._reader._tiles[torch.as_tensor(batch.cells).long()].view(3, 5, 5, -1)
        embedded = pure.network.embed(torch.as_tensor(batch.words).long())
        whole = pure.network(features, embedded).answer
        alone = pure.network.answers(features, embedded)
    assert torch.allclose(whole, alone, atol=1e-4)
    assert whole.std() > 1


def test_slopes_of_a_batch_are_those_of_each_scene(pure):
    batch = generate(["M-F0-D1", "CMP-F0-D1"], 1, density="sparse", seed=2)
    requests = [
        SlopeRequest(batch, row, int(batch.answer[row]), explained, form)
        for row, explained in ((0, "expected"), (1, "expected"), (0, "log-odds"))
        for form in ("explained", "mixed")
    ]
    together = pure.slopes(requests)
    for request, found in zip(requests, together, strict=True):
        (alone,) = pure.slopes([request])
        assert np.abs(found.heat - alone.heat).max() <= 1e-3 * alone.heat.max()
        assert found.relevance == pytest.approx(alone.relevance, abs=1e-3 * np.abs(alone.relevance).max())
    assert np.abs(together[0].heat - together[2].heat).max() > 0.01 * together[0].heat.max()
    assert requests[1].passes == 2 + int((batch.words[0] > 0).sum())


class Asking:
    """What a job asks for, step by step; remembers what it got."""

    def __init__(self, batch, row, steps):
        self.batch, self.row, self.steps = batch, row, steps

    def __call__(self, reader):
        found = []
        for size in self.steps:
            rows = np.full(size, self.row)
            masks = np.ones((size, 25), bool), np.ones((size, self.batch.words.shape[1]), bool)
            masks[0][np.arange(size), np.arange(size)] = False
            found.append(reader.logits(Shown(self.batch, rows, rows, *masks)))
        return found


def test_jobs_that_ask_in_turns_get_their_own_answers_in_few_batches(pure, monkeypatch):
    batch = generate("M-F0-D1", 4, density="sparse", seed=3)
    jobs = [Asking(batch, row, steps) for row, steps in enumerate([(2, 3), (1,), (), (4, 1, 2)])]
    alone = [job(pure) for job in jobs]
    sizes, plain = [], pure.logits

    def counted(shown):
        sizes.append(len(shown))
        return plain(shown)

    monkeypatch.setattr(pure, "logits", counted)
    together = run_together(pure, jobs)
    assert sizes == [2 + 1 + 4, 3 + 1, 2]
    for one, other in zip(alone, together, strict=True):
        assert [len(each) for each in one] == [len(each) for each in other]
        for a, b in zip(one, other, strict=True):
            assert np.allclose(a, b, atol=1e-3)


def test_a_job_that_fails_stops_no_other(pure):
    batch = generate("M-F0-D1", 2, density="sparse", seed=3)
    ended = []

    def broken(_):
        raise ValueError("this one")

    def whole(reader):
        ended.append(Asking(batch, 0, (1, 1))(reader))

    with pytest.raises(ValueError, match="this one"):
        run_together(pure, [broken, whole])
    assert len(ended) == 1


def test_an_error_of_the_model_reaches_everyone_who_asked(pure, monkeypatch):
    batch = generate("M-F0-D1", 2, density="sparse", seed=3)

    def broken(_):
        raise MemoryError("full")

    monkeypatch.setattr(pure, "logits", broken)
    with pytest.raises(MemoryError, match="full"):
        run_together(pure, [Asking(batch, row, (1,)) for row in range(2)])


def test_scenes_measured_side_by_side_have_the_maps_of_scenes_measured_alone(pure, tmp_path):
    plan = DatasetPlan("pure", 2, 0, buckets=("M-F1-D1",), densities=("sparse",))
    write_dataset(make_dataset(plan), tmp_path / "data", pictures=False)
    names = ("dime", "multishap", "multiviz", "alike-removal", "interacting-words", "emap")
    asked = ExplainPlan(str(tmp_path / "data"), names, 150, pool=2)
    items = list(plan_explanations(asked))
    together = ExplainMeasurer(pure, asked).measure(items)
    alone = [ExplainMeasurer(pure, asked).measure([item])[0] for item in items]
    assert len(items) == 3
    for one, other in zip(alone, together, strict=True):
        assert one.arrays.keys() == other.arrays.keys()
        assert one.values.get("calls") == other.values.get("calls")
        for name, array in one.arrays.items():
            size = np.abs(array.astype(float)).max()
            assert np.abs(array.astype(float) - other.arrays[name]).max() <= 2e-3 * size, name


# --- budgets ---


def case_of(bucket="M-F0-D2", density="dense"):
    return make_case(open_reader("grid:symbolic-pure"), generate(bucket, 1, density=density, seed=4), 0)


def test_every_share_is_enough_and_all_together_keep_to_the_budget():
    case, explainers = case_of(), find_explainers(["local"])
    for budget in (20, 200, 2000, 20000):
        shares = share_budget(explainers, case, budget, taken=6)
        given = {e.family: shares[e.name].calls for e in explainers if shares[e.name].calls is not None}
        assert sum(given.values()) + 6 <= budget
        assert all(s.calls is None or s.calls >= s.least for s in shares.values())
        assert all(s.least > s.left for s in shares.values() if s.calls is None)
    assert all(share.calls is not None for share in shares.values())


def test_a_share_lets_its_explainer_speak():
    case = case_of("M-F1-D1", "sparse")
    samplers = [e for e in find_explainers(["local"]) if e.samples and e.family != "dime"]
    for explainer in samplers:
        least = explainer.least(case)
        found = explainer.explain(case.with_budget(least))
        assert found.calls <= least, explainer.name


def test_readings_of_one_family_are_paid_once():
    case = case_of()
    one = share_budget(find_explainers(["multishap", "interacting-words"]), case, 1000)
    two = share_budget(find_explainers(["multishap", "multishap-mean", "interacting-words"]), case, 1000)
    assert one["multishap"].calls == two["multishap"].calls


def test_a_published_reading_may_take_half_of_what_is_left_and_no_more():
    case, explainers = case_of(), find_explainers(["multishap", "multishap-reference"])
    least = explainers[1].least(case)
    before = explainers[0].least(case) + 1
    for budget, fits in ((before + 2 * least - 1, False), (before + 2 * least, True)):
        shares = share_budget(explainers, case, budget)
        assert (shares["multishap-reference"].calls is not None) == fits


def test_both_sides_get_their_least_and_half_of_the_rest_and_words_no_more_than_all():
    game = game_of(17, 11)
    for budget, cells, words in ((32, 19, 13), (132, 69, 63), (9000, 9000 - 2048, 2048)):
        sides = _sides(game.with_budget(budget))
        assert tuple(side.budget for side in sides) == (cells, words)


def test_of_a_family_that_does_not_fit_those_members_speak_that_do():
    case, explainers = case_of(), find_explainers(["removal", "alike-removal"])
    plain, alike = (each.least(case) for each in explainers)
    shares = share_budget(explainers, case, alike, taken=1)
    assert (shares["removal"].calls, shares["alike-removal"].calls) == (plain, None)
    shares = share_budget(explainers, case, alike + 1, taken=1)
    assert (shares["removal"].calls, shares["alike-removal"].calls) == (alike, alike)


def test_sound_readings_come_before_published_ones():
    shares = share_budget(find_explainers(["multishap", "multishap-reference"]), case_of(), 100)
    assert shares["multishap"].calls == 99
    assert shares["multishap-reference"].calls is None
    assert "needs at least" in shares["multishap-reference"].reason


# --- KernelSHAP ---


def unanimity(n, terms, seed=0):
    rng = np.random.default_rng(seed)
    sets = [rng.choice(n, size=rng.integers(1, terms + 1), replace=False) for _ in range(3 * n)]
    weights = rng.normal(size=len(sets))
    members = np.zeros((len(sets), n))
    for place, inside in enumerate(sets):
        members[place, inside] = 1

    def value(cells, words):
        shown = np.concatenate([cells, words], axis=1) * 1.0
        return (shown @ members.T >= members.sum(axis=1)) @ weights

    return value


def game_of(n_cells, n_words, budget=None, terms=3, seed=0):
    value = unanimity(n_cells + n_words, terms, seed)
    return Game(
        value,
        cells=list(range(n_cells)),
        words=list(range(n_words)),
        shape=(n_cells, n_words),
        budget=budget,
    )


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_with_all_coalitions_kernel_shap_is_exact(n):
    game = game_of(n, 0, terms=n)
    assert kernel_shap(game, 2**n, seed=0) == pytest.approx(exact_shares(game.enumerate(), "shapley"))


def test_with_pairs_alone_half_of_the_coalitions_of_a_size_are_enough():
    game = game_of(9, 0, terms=2)
    exact = exact_shares(game.with_budget(None).enumerate(), "shapley")
    assert kernel_shap(game.with_budget(60), 60, seed=1) == pytest.approx(exact)


@pytest.mark.parametrize(("n", "budget"), [(6, 5), (7, 30), (10, 100), (17, 40), (17, 300)])
def test_a_design_holds_different_coalitions_with_their_complements(n, budget):
    coalitions, weights = design(n, budget, np.random.default_rng(0))
    names = {row.tobytes() for row in coalitions}
    assert len(coalitions) == len(names) == len(weights) <= budget
    assert all((~row).tobytes() in names for row in coalitions)
    assert not (coalitions.all(axis=1) | ~coalitions.any(axis=1)).any()
    sizes = coalitions.sum(axis=1)
    if budget >= 2 * n:
        assert (sizes == 1).sum() == n
        mass = sum(1 / (s * (n - s)) for s in range(1, n))
        assert weights.sum() == pytest.approx(mass)


OF_SHAPIQ = 0.602
"""Mean squared error of KernelSHAP in shapiq 1.4.1 in the same game, with the same calls and seeds."""


def test_kernel_shap_errs_less_than_that_of_shapiq():
    game = game_of(12, 0, terms=5)
    exact = exact_shares(game.with_budget(None).enumerate(), "shapley")
    errors = []
    for seed in range(10):
        asked = game.with_budget(72)
        errors.append(((kernel_shap(asked, 72, seed=seed) - exact) ** 2).mean())
        assert asked.calls <= 72
    assert np.mean(errors) < 0.3 * OF_SHAPIQ


# --- interactions by regression ---


def test_symmetric_polynomials_are_sums_over_subsets():
    for n, minus, k in ((5, 2, 3), (6, 0, 4), (7, 5, 2)):
        signs = [-1] * minus + [1] * (n - minus)
        plain = sum(np.prod(part) for part in itertools.combinations(signs, k))
        assert symmetric(n)[k, minus] == plain
    assert symmetric(8)[:, 0].tolist() == [comb(8, k) for k in range(9)]


def test_the_index_is_a_sum_of_even_fourier_terms():
    """The identity that the regression stands on, for a game of any order."""
    n = 6
    values = np.random.default_rng(0).normal(size=2**n)
    signs = 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1
    total = np.zeros((n, n))
    for size in range(2, n + 1, 2):
        for inside in itertools.combinations(range(n), size):
            coefficient = (values * signs[:, inside].prod(axis=1)).mean()
            for i, j in itertools.combinations(inside, 2):
                total[i, j] += 4 / (size - 1) * coefficient
    assert total == pytest.approx(np.triu(exact_interactions(values), 1))


@pytest.mark.parametrize(("terms", "budget", "least"), [(3, 300, 0.9999), (5, 600, 0.95)])
def test_regression_finds_interactions_of_few_players_and_keeps_to_its_budget(terms, budget, least):
    game = game_of(8, 4, terms=terms)
    exact = np.triu(exact_interactions(game.with_budget(None).enumerate()), 1)
    asked = game.with_budget(budget)
    found = regressed_interactions(asked, budget, seed=0)
    assert asked.calls <= budget
    assert 1 - ((found - exact) ** 2).sum() / (exact**2).sum() > least


def test_a_large_budget_is_spent_on_several_regressions_that_err_less_together(monkeypatch):
    monkeypatch.setattr("theodolite.instruments.grid.explainers.game.MOST_CALLS", 300)
    game = game_of(10, 5, terms=7)
    exact = np.triu(exact_interactions(game.with_budget(None).enumerate()), 1)

    def error(budget):
        asked = game.with_budget(budget)
        found = regressed_interactions(asked, budget, seed=0)
        assert 0.7 * budget < asked.calls <= budget  # two fits may draw the same coalition
        return ((found - exact) ** 2).mean()

    assert regressed_interactions(game, 599, seed=0) == pytest.approx(
        regressed_interactions(game, 300, seed=0)
    )
    assert error(3000) < 0.4 * error(300)


def test_regression_needs_few_calls_where_few_pairs_matter():
    """What the prior on pairs is for: fewer coalitions than pairs, and yet the two that matter are found."""

    def value(cells, words):
        return 3.0 * cells[:, 2] * words[:, 1] - 2.0 * cells[:, 5] * words[:, 3] + cells.sum(1)

    game = Game(value, cells=list(range(17)), words=list(range(8)), shape=(17, 8), budget=150)
    found = regressed_interactions(game, 150, seed=0)[:17, 17:]
    assert comb(25, 2) > 2 * 150 - 1
    assert found[2, 1] == pytest.approx(3.0, abs=0.4)
    assert found[5, 3] == pytest.approx(-2.0, abs=0.4)
    found[2, 1] = found[5, 3] = 0
    assert np.abs(found).max() < 0.3


def test_a_term_of_four_players_gives_each_of_its_pairs_a_third():
    """χ of four players: I_ij = 4/3 for its six pairs, and no pair has a coefficient of its own."""

    def value(cells, words):
        signs = 2.0 * np.concatenate([cells, words], axis=1) - 1
        return signs[:, [0, 2, 3, 5]].prod(axis=1)

    game = Game(value, cells=list(range(4)), words=list(range(3)), shape=(4, 3), budget=128)
    found = regressed_interactions(game, 128, seed=0)
    wanted = np.zeros((7, 7))
    for i, j in itertools.combinations((0, 2, 3, 5), 2):
        wanted[i, j] = 4 / 3
    assert found == pytest.approx(wanted, abs=0.1)


def test_a_constant_game_has_no_interactions():
    game = Game(lambda c, _: np.full(len(c), 7.0), cells=[0, 1, 2], words=[0, 1], shape=(3, 2), budget=20)
    assert not regressed_interactions(game, 20, seed=0).any()


@pytest.mark.parametrize(("n", "pairs"), [(3, 10), (6, 12), (20, 200)])
def test_coalitions_of_a_regression_are_different_also_from_complements(n, pairs):
    found = paired_coalitions(n, pairs, np.random.default_rng(0))
    names = {row.tobytes() for row in found} | {(~row).tobytes() for row in found}
    assert len(names) == 2 * len(found)
    assert len(found) == min(pairs + 1, 2 ** (n - 1))


# --- PID of many answers at once ---


def test_many_answers_at_once_are_decomposed_like_each_alone():
    rng = np.random.default_rng(3)
    x1, x2 = rng.integers(0, 6, 40), rng.integers(0, 4, 40)
    answers = [(x1 + x2) % 3, x1 // 2, rng.integers(0, 5, 40), x1 * 0 + (x2 > 1), rng.permutation(x1)]
    together = convex_pids(x1, x2, answers)
    for y, found in zip(answers, together, strict=True):
        alone = convex_pid(x1, x2, y)
        assert found.synergy == pytest.approx(alone.synergy, abs=1e-4)
        assert found.redundant == pytest.approx(alone.redundant, abs=1e-4)
    assert len({round(found.synergy, 3) for found in together}) > 3


# --- scores of maps from levels ---


@pytest.mark.parametrize("kind", [np.float64, np.float16])
def test_maps_of_half_floats_score_as_their_values_do(kind):
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = (rng.normal(size=60) * np.exp(2 * rng.normal(size=60)) / 50).astype(kind)
        values[rng.random(60) < 0.2] = 0
        mask = rng.random(60) < 0.3
        found = score_map(values, mask)
        plain = np.abs(values.astype(np.float64))
        wins = [(a > b) + (a == b) / 2 for a in plain[mask] for b in plain[~mask]]
        assert found.auc == pytest.approx(np.mean(wins))
        assert found.rma == pytest.approx(plain[mask].sum() / plain.sum())
        k = int(mask.sum())
        tops = [mask[np.lexsort((rng.random(60), -plain))[:k]].mean() for _ in range(400)]
        assert found.rra == pytest.approx(np.mean(tops), abs=0.02)
