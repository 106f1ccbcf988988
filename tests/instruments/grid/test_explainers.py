"""Explainers on games whose answer is known, and on the symbolic twins."""

import itertools
import math

import grid_plain
import numpy as np
import pytest

from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.geometry import TokenGrid
from theodolite.instruments.grid.data.batch import cell_mask, word_roles
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.world import GridShape
from theodolite.instruments.grid.explainers import dime as dime_module
from theodolite.instruments.grid.explainers.contract import Case, make_case
from theodolite.instruments.grid.explainers.emap import project, share_of_means
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.game import (
    Convention,
    Game,
    PlayerSet,
    cross_interactions,
    exact_interactions,
    exact_shares,
    sampled_interactions,
    share_out,
    spectrum,
)
from theodolite.instruments.grid.explainers.pid import (
    BatchSettings,
    batch_pid,
    convex_pid,
    gaussian_pid,
    score_pid,
)
from theodolite.instruments.grid.explainers.readers import NetworkReader, Pool, Shown, open_reader
from theodolite.instruments.grid.explainers.relevance import array_explainer, as_cells, token_map_as_cells

RNG = np.random.default_rng(5)


def game_of(function, n_cells, n_words, budget=None):
    """A game from a function of coalitions (m, n)."""
    return Game(
        lambda c, w: function(np.concatenate([c, w], axis=1)),
        cells=list(range(n_cells)),
        words=list(range(n_words)),
        shape=(n_cells, n_words),
        budget=budget,
    )


def random_table_game(n_cells, n_words, seed=0):
    values = np.random.default_rng(seed).normal(size=2 ** (n_cells + n_words))
    return game_of(lambda s: values[s @ (2 ** np.arange(s.shape[1]))], n_cells, n_words), values


# --- indices, against plain sums over orders and subsets ---


def plain_shapley(values, n):
    found = np.zeros(n)
    for order in itertools.permutations(range(n)):
        code = 0
        for player in order:
            found[player] += values[code | 1 << player] - values[code]
            code |= 1 << player
    return found / math.factorial(n)


def plain_banzhaf(values, n):
    return np.array(
        [np.mean([values[c | 1 << i] - values[c] for c in range(2**n) if not c >> i & 1]) for i in range(n)]
    )


def plain_interaction(values, n, i, j):
    total = 0.0
    for c in range(2**n):
        if c >> i & 1 or c >> j & 1:
            continue
        s = c.bit_count()
        weight = math.factorial(s) * math.factorial(n - s - 2) / math.factorial(n - 1)
        total += weight * (values[c | 1 << i | 1 << j] - values[c | 1 << i] - values[c | 1 << j] + values[c])
    return total


def test_exact_indices_are_those_of_their_definitions():
    game, values = random_table_game(3, 2)
    assert np.allclose(exact_shares(game.enumerate(), "shapley"), plain_shapley(values, 5))
    assert np.allclose(exact_shares(game.enumerate(), "banzhaf"), plain_banzhaf(values, 5))
    found = exact_interactions(game.enumerate())
    for i, j in itertools.combinations(range(5), 2):
        assert found[i, j] == pytest.approx(plain_interaction(values, 5, i, j))
    assert game.calls == 32


@pytest.mark.parametrize("size", [2, 3, 5])
def test_in_a_unanimity_game_each_pair_inside_has_the_same_interaction(size):
    inside = np.isin(np.arange(8), [0, 5, 1, 6, 2][:size])
    game = game_of(lambda s: (s | ~inside).all(axis=1) * 1.0, 5, 3)
    found = cross_interactions(game, seed=0)
    expected = np.outer(inside[:5], inside[5:]) / (size - 1)
    assert found.is_exact
    assert np.allclose(found.values, expected)


def pair_game(n_cells, n_words, budget=None):
    """A game of main effects and pairs alone, and its interactions."""
    rng = np.random.default_rng(1)
    n = n_cells + n_words
    pairs = np.triu(rng.normal(size=(n, n)), 1)
    game = game_of(
        lambda s: s @ np.arange(n) + np.einsum("mi,ij,mj->m", s * 1.0, pairs, s * 1.0),
        n_cells,
        n_words,
        budget,
    )
    return game, pairs[:n_cells, n_cells:]


@pytest.mark.parametrize(("budget", "least"), [(700, 0.999), (200, 0.3)])
def test_regression_finds_the_interactions_of_a_game_of_pairs_within_its_budget(budget, least):
    game, truth = pair_game(14, 8, budget=budget)
    found = cross_interactions(game, seed=0)
    assert not found.is_exact
    assert found.method == f"regression, {game.calls} coalitions"
    assert game.calls <= budget
    assert np.corrcoef(found.values.ravel(), truth.ravel())[0, 1] > least
    assert np.abs(found.values).max() < 2 * np.abs(truth).max()


def test_sampling_pair_by_pair_is_unbiased_and_keeps_to_its_budget():
    game, truth = pair_game(4, 3, budget=100)
    assert np.allclose(
        sampled_interactions(game, seed=0).values, truth
    )  # every draw is exact in a game of pairs
    assert game.calls <= 100
    bent, values = random_table_game(3, 3, seed=4)
    found = sampled_interactions(bent, seed=0, draws=4000).values
    exact = exact_interactions(values)[:3, 3:]
    assert np.abs(found - exact).max() < 0.15
    assert np.abs(exact).max() > 0.3


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
def test_sampled_shares_of_an_additive_game_are_its_weights(index):
    weights = np.arange(24.0)
    game = game_of(lambda s: s @ weights, 16, 8, budget=120)
    found = share_out(game, index, seed=0)
    assert not found.is_exact
    assert game.calls <= 120
    assert np.allclose(found.values, weights, atol=1e-3)


def test_the_budget_is_kept_and_what_is_known_is_not_asked_again():
    asked = []
    game = Game(
        lambda c, _: asked.append(len(c)) or c.sum(1) * 1.0, cells=[0, 1], words=[], shape=(2, 1), budget=3
    )
    game.values(np.array([[1, 1], [1, 1], [0, 1]], bool))
    assert (game.calls, sum(asked)) == (2, 2)
    with pytest.raises(UsageError, match="budget is 3 model calls: 2 are used, and 2 more"):
        game.enumerate()
    assert sum(asked) == 2
    other = game.with_budget(4)
    other.enumerate()
    assert (other.calls, sum(asked)) == (4, 4)


def test_a_game_refuses_masks_and_players_of_the_wrong_size():
    game = game_of(lambda s: s.sum(1) * 1.0, 3, 2)
    with pytest.raises(UsageError, match=r"coalitions of 5 players have shape \(m, 5\), got \(1, 4\)"):
        game.values(np.ones((1, 4), bool))
    with pytest.raises(UsageError, match="cells that play must be different"):
        Game(lambda c, _: c.sum(1) * 1.0, cells=[0, 3], words=[], shape=(3, 1))


def test_the_spectrum_is_the_functional_anova():
    game, values = random_table_game(2, 2)
    keep = 0.7
    members = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(bool)
    weight = np.where(members, keep, 1 - keep).prod(axis=1)
    mean = weight @ values
    found = spectrum(game.enumerate(), keep=keep)
    assert found[0] == pytest.approx(mean**2)
    assert found[1:].sum() == pytest.approx(weight @ (values - mean) ** 2)
    main = [
        np.sum(weight[members[:, 0] == b] * values[members[:, 0] == b]) / (keep if b else 1 - keep)
        for b in (0, 1)
    ]
    assert found[1] == pytest.approx(keep * (1 - keep) * (main[1] - main[0]) ** 2)


# --- EMAP, InterSHAP ---

F = np.array([[-1.3, 0.3, -0.2], [0.8, 3, 1.1], [1.1, -0.1, 0.7]])


def test_the_worked_example_of_emap_and_both_readings_of_intershap():
    found = project(F)
    assert np.allclose(np.diag(found.additive), [-0.8, 2.1, 0.5])
    assert np.allclose(np.diag(found.residual), [-0.5, 0.9, 0.2])
    assert found.interaction_share() == pytest.approx(0.34, abs=0.005)
    assert np.allclose(found.local_shares(), [0.263, 0.375, 0.667], atol=5e-4)
    assert np.allclose(found.local_shares(weight=0.5), [0.152, 0.231, 0.5], atol=5e-4)
    assert share_of_means(found) == pytest.approx(1.0)


def test_an_additive_matrix_has_no_interaction_and_a_constant_one_no_share():
    additive = project(np.arange(4.0)[:, None] + np.arange(4.0)[None])
    assert additive.interaction_share() == pytest.approx(0)
    assert project(np.ones((3, 3))).interaction_share() is None
    assert np.isnan(project(np.ones((3, 3))).local_shares()).all()
    with pytest.raises(UsageError, match="square"):
        project(np.ones((2, 3)))


# --- PID ---


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0, 1, 1, 0], (0, 0, 0, 1)),
        ([0, 0, 0, 1], (0.3113, 0, 0, 0.5)),
        ([0, 1, 1, 1], (0.3113, 0, 0, 0.5)),
        ([0, 0, 1, 1], (0, 1, 0, 0)),
    ],
)
def test_the_convex_programme_on_gates(y, expected):
    found = convex_pid([0, 0, 1, 1], [0, 1, 0, 1], y)
    parts = (found.redundant, found.unique_1, found.unique_2, found.synergy)
    assert np.allclose(parts, expected, atol=1e-3)


def test_a_copy_in_both_sources_is_redundant():
    assert convex_pid([0, 1], [0, 1], [0, 1]).redundant == pytest.approx(1)


def test_gaussian_parts_for_one_target_are_those_of_the_smaller_source():
    y = RNG.normal(size=20000)
    found = gaussian_pid(y + RNG.normal(size=20000), y + 0.5 * RNG.normal(size=20000), y)
    assert found.redundant == pytest.approx(0.5 * math.log2(2), abs=0.03)  # Barrett 2015: the least of both
    assert found.unique_1 == pytest.approx(0, abs=0.01)
    assert found.unique_2 == pytest.approx(0.5 * math.log2(5) - 0.5, abs=0.03)


def test_two_gaussians_and_their_sum_are_synergy_and_their_pair_is_unique():
    a, b = RNG.normal(size=(2, 20000))
    together = gaussian_pid(a, b, a + b + 0.1 * RNG.normal(size=20000))
    assert together.synergy > 3
    assert together.redundant < 1
    apart = gaussian_pid(a, b, np.stack([a, b], axis=1) + 0.5 * RNG.normal(size=(20000, 2)))
    assert apart.synergy == pytest.approx(0, abs=0.01)
    assert apart.unique_1 == pytest.approx(0.5 * math.log2(5), abs=0.05)


@pytest.mark.slow
def test_learnt_alignment_tells_a_gate_from_a_copy():
    a, b = RNG.integers(0, 2, (2, 256))
    quick = BatchSettings(epochs=30, alignment_epochs=8, sinkhorn=20)
    assert batch_pid(a * 1.0, b * 1.0, a ^ b, settings=quick).synergy > 0.8
    copy = batch_pid(a * 1.0, b * 1.0, a, settings=quick)
    assert copy.unique_1 > 0.8
    assert copy.synergy < 0.1
    with pytest.raises(UsageError, match="32 samples"):
        batch_pid(a[:8], b[:8], a[:8])


def test_synergy_of_a_model_that_reads_directions_is_above_its_null_and_a_bag_of_words_has_less():
    batch = generate("M-F1-D1", 300, mode="pure", density="sparse", seed=2)
    scores = {}
    for logic in ("pure", "bow"):
        rows = np.arange(len(batch))
        shown = Shown(batch, rows, rows, np.ones((300, 25), bool), np.ones((300, 28), bool))
        said = open_reader(f"grid:symbolic-{logic}").logits(shown).argmax(axis=1)
        scores[logic] = score_pid(batch, said, estimator="convex", shuffles=9)
    assert scores["pure"].p_value == 0.1
    assert scores["pure"].corrected_synergy > 0.2
    assert scores["bow"].corrected_synergy < 0.05


# --- DIME ---


def dime_case(model="grid:symbolic-pure", budget=None, n=5):
    batch = generate("M-F0-D1", n, density="sparse", seed=3)
    reader = open_reader(model)
    return make_case(reader, batch, 0, pool=Pool(reader, batch, np.arange(n), Convention())).with_budget(
        budget
    )


def test_lime_is_weighted_ridge_regression():
    from sklearn.linear_model import Ridge

    masks = RNG.random((40, 6)) < 0.5
    masks[0] = True
    masks[:, 0] |= ~masks.any(axis=1)
    y = RNG.normal(size=40)
    cosine = 1 - masks.sum(axis=1) / np.sqrt(6 * masks.sum(axis=1))
    weight = np.sqrt(np.exp(-(cosine**2) / 0.25**2))
    plain = Ridge(alpha=1.0).fit(masks * 1.0, y, sample_weight=weight).coef_
    assert np.allclose(dime_module.lime(masks, y), plain)


def test_dimes_closed_form_is_the_matrix_with_its_row_replaced(monkeypatch):
    seen = []
    monkeypatch.setattr(
        dime_module,
        "lime",
        lambda masks, targets: seen.append((masks, targets)) or np.zeros((masks.shape[1], 3)),
    )
    case = dime_case()
    dime_module.disentangle(case)
    rows = case.pool.rows
    matrix = case.output(case.pool.logits(rows, rows))
    masks, targets = seen[0]
    for k in range(12):
        shown = np.ones((5, 25), bool)
        shown[:, case.game.cells] = masks[k]
        changed = matrix.copy()
        changed[0] = case.output(case.pool.masked(np.zeros(5, int), rows, shown, np.ones((5, 28), bool)))
        uc = changed[0].mean() + changed[:, 0].mean() - changed.mean()
        assert targets[k, :2] == pytest.approx([changed[0, 0], uc])
    masks, targets = seen[1]
    for k in range(12):
        shown = np.ones((5, 28), bool)
        shown[:, case.game.words] = masks[k]
        changed = matrix.copy()
        changed[:, 0] = case.output(case.pool.masked(rows, np.zeros(5, int), np.ones((5, 25), bool), shown))
        uc = changed[0].mean() + changed[:, 0].mean() - changed.mean()
        assert targets[k, :2] == pytest.approx([changed[0, 0], uc])


def test_dimes_readings_add_up_share_their_calls_and_one_of_them_vanishes():
    case = dime_case(budget=400)
    found = {
        e.name: e.explain(case)
        for e in find_explainers(["dime", "dime-unimodal", "dime-multiviz", "dime-mdetr"])
    }
    assert np.allclose(found["dime"].cells + found["dime-unimodal"].cells, found["dime-multiviz"].cells)
    assert np.allclose(found["dime"].words + found["dime-unimodal"].words, found["dime-multiviz"].words)
    assert not found["dime-mdetr"].cells.any()
    assert found["dime"].cells.any()
    assert found["dime"].calls <= 400
    assert len(case.pool.found) == 1


def test_dime_needs_references():
    batch = generate("M-F0-D1", 2, seed=3)
    reader = open_reader("grid:symbolic-pure")
    (dime,) = find_explainers(["dime"])
    with pytest.raises(UsageError, match="give the case a pool"):
        dime.explain(make_case(reader, batch, 0))
    alone = make_case(reader, batch, 0, pool=Pool(reader, batch, np.arange(1), Convention()))
    with pytest.raises(UsageError, match="at least two"):
        dime.explain(alone)


# --- MultiViz ---


class Toy:
    """A network whose answer is a known function of pixels and embeddings."""

    def __init__(self, function):
        import torch

        self.function = function
        self.table = torch.eye(40)[:, :3] + 1.0

    def embed(self, words):
        return self.table[words]

    def tiles(self, pixels):
        return pixels

    def answers(self, pixels, embedded):
        return self.function(pixels, embedded)


def toy_case(function):
    reader = object.__new__(NetworkReader)
    reader.network, reader.device, reader.name = Toy(function), "cpu", "toy"
    batch = generate("M-F1-D1", 1, seed=0)
    game = Game(lambda c, _: c.sum(1) * 1.0, cells=[], words=[], shape=(25, 28))
    return Case(game, batch, 0, said=18, answer=18, reader=reader, convention=Convention(explained="answer"))


def logits_from(z):
    import torch

    return torch.nn.functional.pad(z[:, None], (18, 1))


def test_second_order_gradients_of_a_bilinear_model_are_its_matrix_and_of_an_additive_one_nothing():
    bilinear = toy_case(lambda x, e: logits_from(x[:, 0, 0, 0] * e[:, 1, 0]))
    found = {
        e.name: e.explain(bilinear) for e in find_explainers(["multiviz", "multiviz-mixed", "multiviz-sum"])
    }
    word = int(bilinear.batch.words[0, 1])
    weight = float(bilinear.reader.network.table[word, 0])
    for each in found.values():
        assert each.pixels.shape == (320, 320)
        assert each.pixels[0, 0] == pytest.approx(weight)
        assert np.count_nonzero(each.pixels) == 1
        assert each.cells[0] == pytest.approx(weight)
    additive = toy_case(
        lambda x, e: logits_from(
            x.mean((1, 2, 3)) ** 2 + e.sum((1, 2)) ** 2 + 0 * x.sum((1, 2, 3)) * e.sum((1, 2))
        )
    )
    (multiviz,) = find_explainers(["multiviz"])
    assert not multiviz.explain(additive).cells.any()


def test_gradients_of_what_has_none_are_refused():
    (multiviz,) = find_explainers(["multiviz"])
    with pytest.raises(UnsupportedError, match="symbolic-pure is neither"):
        multiviz.explain(dime_case())


# --- the symbolic twins ---


def masses(model, explainer, bucket, n=12, budget=2000, **convention):
    """Mean mass on adversarial cells and on direction words, over maps that hold any."""
    batch = generate(bucket, n, mode="pure", density="sparse", seed=11)
    reader = open_reader(model)
    (found,) = find_explainers([explainer])
    adversarial, directions = [], []
    for row in range(n):
        case = make_case(reader, batch, row, convention=Convention(**convention)).with_budget(budget)
        explanation = found.explain(case)
        assert explanation.calls <= budget
        cells, words = np.abs(explanation.cells), np.abs(explanation.words)
        if cells.sum() > 0:
            adversarial.append(cells[cell_mask(batch, "adversarial")[row].reshape(-1)].sum() / cells.sum())
        if words.sum() > 0:
            directions.append(words[word_roles(batch)[row] == "direction"].sum() / words.sum())
    return adversarial, directions


@pytest.mark.parametrize("bucket", ["M-F0-D1", "M-F1-D2", "SO-F1-D1", "CMP-F0-D2"])
def test_removal_among_look_alikes_tells_the_twins_apart(bucket):
    pure, pure_words = masses("grid:symbolic-pure", "alike-removal", bucket)
    bow, bow_words = masses("grid:symbolic-bow", "alike-removal", bucket)
    assert np.mean(pure) < 0.1
    assert np.mean(bow) > 0.3
    assert np.mean(pure_words) > 0.2
    assert np.sum(bow_words) == 0


def test_plain_removal_is_blind_where_objects_stand_in_for_each_other():
    many = [
        (a, b)
        for a, b in zip(
            *(masses("grid:symbolic-bow", e, "M-F1-D2") for e in ("removal", "alike-removal")), strict=True
        )
    ]
    assert len(many[0][0]) < len(many[0][1]) == 12


def test_the_number_of_interacting_words_rises_with_depth_for_the_reader_and_not_for_the_bag_of_words():
    (explainer,) = find_explainers(["interacting-words"])
    means = {}
    for logic in ("pure", "bow"):
        for depth in (1, 2, 3):
            batch = generate(f"M-F0-D{depth}", 16, density="sparse", seed=4)
            reader = open_reader(f"grid:symbolic-{logic}")
            cases = (make_case(reader, batch, row).with_budget(3000) for row in range(16))
            means[logic, depth] = np.mean([explainer.explain(c).scalars["interacting_words"] for c in cases])
    assert means["pure", 1] + 0.5 < means["pure", 2]
    assert means["pure", 1] + 1 < means["pure", 3]
    assert means["bow", 3] - means["bow", 1] < 0.5
    assert means["bow", 3] < 2.2


def test_sampled_interacting_words_tend_to_the_enumerated_ones():
    (explainer,) = find_explainers(["interacting-words"])
    case = make_case(open_reader("grid:symbolic-pure"), generate("M-F0-D1", 1, density="sparse", seed=8), 0)
    exact, sampled = explainer.explain(case.with_budget(4096)), explainer.explain(case.with_budget(4095))
    assert exact.is_exact
    assert not sampled.is_exact
    assert np.abs(exact.words - sampled.words).max() < 0.25 * exact.words.max()
    assert np.abs(exact.cells - sampled.cells).max() < 0.35 * exact.cells.max()


def test_values_of_a_symbolic_twin_are_those_of_its_own_game():
    batch = generate("M-F0-D2", 1, density="sparse", seed=6)
    case = make_case(open_reader("grid:symbolic-pure"), batch, 0)
    masks = RNG.random((50, case.game.n)) < 0.6
    own = grid_plain.symbolic_game(batch, 0, "pure")
    cell_masks, word_masks = np.ones((50, 25), bool), np.ones((50, 28), bool)
    cell_masks[:, case.game.cells], word_masks[:, case.game.words] = masks[:, :7], masks[:, 7:]
    counts = own(cell_masks, word_masks)
    slope, offset = np.polyfit(counts, case.game.values(masks), 1)
    assert np.allclose(case.game.values(masks), slope * counts + offset)
    assert slope == pytest.approx(0.97 - 0.03 / 17)


@pytest.mark.parametrize("name", [e.name for e in find_explainers(["local"]) if not e.needs_gradients])
def test_every_explainer_keeps_to_a_small_budget_and_to_its_seed(name):
    (explainer,) = find_explainers([name])
    found = []
    for _ in range(2):
        case = dime_case(budget=300 if explainer.samples else None)
        found.append(explainer.explain(case))
        assert case.game.calls <= 300
        assert found[-1].calls <= 300
    assert np.array_equal(found[0].cells, found[1].cells)
    assert np.array_equal(found[0].words, found[1].words)


def test_conventions_change_what_is_shown():
    batch = generate("M-F0-D1", 1, seed=0)
    mask = np.ones((1, 28), bool)
    mask[0, 2] = False
    one = np.zeros(1, int)
    masked = Shown(batch, one, one, np.ones((1, 25), bool), mask).words()
    deleted = Shown(batch, one, one, np.ones((1, 25), bool), mask, hiding="delete").words()
    assert masked[0, 2] == 1
    assert deleted[0].tolist() == [*np.delete(batch.words[0], 2), 0]
    assert PlayerSet("all", "all").of(batch, 0)[0].size == 25
    with pytest.raises(UsageError, match="white, grey, black"):
        Shown(batch, one, one, np.ones((1, 25), bool), mask, fill="pink")


def test_core_models_are_read_like_their_twins():
    batch = generate(["M-F0-D1", "M-F1-D1"], 2, seed=0)
    rows = np.arange(4)
    shown = Shown(batch, rows, rows, np.ones((4, 25), bool), np.ones((4, 28), bool))
    from theodolite.instruments.grid.explainers.readers import CoreReader
    from theodolite.models import open_model

    core = CoreReader(open_model("grid:symbolic-pure"))
    assert np.allclose(core.logits(shown), open_reader("grid:symbolic-pure").logits(shown))


def test_maps_from_elsewhere_come_onto_cells():
    world = GridShape()
    grid = TokenGrid.regular((320, 320), (10, 10))
    values = np.arange(100.0)
    expected = values.reshape(5, 2, 5, 2).sum(axis=(1, 3)).reshape(-1)
    assert np.allclose(token_map_as_cells(values, grid, world), expected)
    assert np.allclose(as_cells(np.arange(25.0).reshape(5, 5), world), np.arange(25))
    with pytest.raises(UsageError, match=r"got \(4, 4\)"):
        as_cells(np.ones((4, 4)), world)
    mine = array_explainer("mine", {0: np.eye(5)})
    batch = generate("M-F0-D1", 2, seed=0)
    reader = open_reader("grid:symbolic-pure")
    assert mine.explain(make_case(reader, batch, 0)).cells.sum() == 5
    with pytest.raises(UsageError, match="no map for scene 1"):
        mine.explain(make_case(reader, batch, 1))
