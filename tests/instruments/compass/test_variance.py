"""The variance partition recovers what was planted."""

import numpy as np
import pytest
from controls_made import GRID, box_at, sample, spot

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.controls.results import NothingToScoreError
from theodolite.instruments.compass.experiments.controls.score import (
    FamilyResponses,
    partition,
    variance_control,
)

LEVELS = ("left", "right", "above", "below")
SECTORS = 8


def effects(shift):
    """One vector per level, mean zero, mean square one."""
    rows = np.roll(np.eye(4, SECTORS), shift, axis=1)
    rows = rows - rows.mean(axis=0)
    return rows / np.sqrt((rows**2).sum(axis=1).mean())


def planted(seed, strength, noise, *, n=40, shift=0, left_out=0.0, spread=1.0):
    """A layout of mean square `spread`² per pair, an effect of the level, and noise; some probes are not there."""
    rng = np.random.default_rng(seed)
    layouts = np.random.default_rng(1000 + seed).normal(0, spread / np.sqrt(SECTORS), (n, SECTORS))
    values, levels, bases = [], [], []
    for i in range(n):
        for level, effect in zip(LEVELS, effects(shift), strict=True):
            if rng.random() < left_out:
                continue
            values.append(layouts[i] + strength * effect + rng.normal(0, noise / np.sqrt(SECTORS), SECTORS))
            levels.append(level)
            bases.append(f"pair {i}")
    return FamilyResponses.of(values, levels, bases, bases)


def recovered(strength, noise, *, left_out=0.0, repetitions=20):
    """How often each figure's interval holds the truth."""
    within = noise**2 * 3 / 4  # of four probes around their own mean
    other = 0.1
    truth = {
        "eta": strength**2 / (strength**2 + noise**2 + 1),
        "consistent": strength**2 / (strength**2 + within),
        "share": (strength**2 + within) / (strength**2 + other**2 + 2 * within),
    }
    held = dict.fromkeys(truth, 0)
    for seed in range(repetitions):
        found = partition(
            planted(seed, strength, noise, left_out=left_out),
            planted(500 + seed, other, noise, shift=4, left_out=left_out),
            seed=seed,
        )
        estimates = {
            "eta": found.eta_squared["direction"],
            "consistent": found.consistent["direction"],
            "share": found.direction_share_per_df,
        }
        for name, estimate in estimates.items():
            held[name] += not estimate.excludes(truth[name])
    return held


@pytest.mark.parametrize("strength", [0.15, 0.3, 0.6])
def test_a_planted_direction_is_recovered_within_its_interval(strength):
    """Of 20 intervals of 95 %, 16 or more hold the truth with probability .997."""
    held = recovered(strength, noise=0.3)
    assert min(held.values()) >= 16, held


def test_families_with_missing_probes_do_not_bias_what_is_sound():
    held = recovered(0.2, noise=0.3, left_out=0.4)
    assert min(held["consistent"], held["share"]) >= 16, held


def test_noise_looks_like_half_to_the_papers_share_and_like_nothing_to_the_sound_one():
    found = partition(planted(0, 0.0, 0.3), planted(1, 0.0, 0.3), seed=0)
    assert not found.direction_share.excludes(0.5)
    for name in ("direction", "location"):
        assert not found.consistent[name].excludes(0)
        assert abs(found.consistent[name].value) < 0.05
    strong = partition(planted(0, 0.4, 0.3), planted(1, 0.0, 0.3), seed=0)
    assert strong.consistent["direction"].low > 0.5
    assert not strong.consistent["location"].excludes(0)
    assert strong.direction_share.low > 0.6


def test_sums_of_squares_are_the_plain_ones():
    direction, location = planted(3, 0.3, 0.2, n=6), planted(4, 0.2, 0.2, n=6, shift=2)
    found = partition(direction, location, seed=0)

    def within(family):
        total = 0.0
        for base in set(family.bases):
            own = family.values[family.bases == base]
            total += ((own - own.mean(axis=0)) ** 2).sum()
        return total

    expected = within(direction) / (within(direction) + within(location))
    assert found.direction_share.value == pytest.approx(expected)
    grand = direction.values.mean(axis=0)
    between = sum(
        (direction.levels == level).sum()
        * ((direction.values[direction.levels == level].mean(axis=0) - grand) ** 2).sum()
        for level in LEVELS
    )
    assert found.eta_squared["direction"].value == pytest.approx(
        between / ((direction.values - grand) ** 2).sum()
    )
    products, sizes, count = 0.0, 0.0, 0
    by_base = {
        base: dict(
            zip(
                direction.levels[direction.bases == base],
                direction.values[direction.bases == base],
                strict=True,
            )
        )
        for base in set(direction.bases)
    }
    for first in range(4):
        for second in range(first + 1, 4):
            steps = [own[LEVELS[first]] - own[LEVELS[second]] for own in by_base.values()]
            crossed = [steps[i] @ steps[j] for i in range(6) for j in range(6) if i != j]
            products += np.mean(crossed)
            sizes += np.mean([step @ step for step in steps])
            count += 1
    assert count == 6
    assert found.consistent["direction"].value == pytest.approx(products / sizes)


def test_pairs_of_one_family_are_counted_and_left_out_of_the_share():
    direction, location = planted(0, 0.3, 0.1, n=8), planted(1, 0.3, 0.1, n=5)
    found = partition(direction, location, seed=0)
    assert found.excluded == {"pairs without the family location": 3}
    assert found.direction_share.n == 5
    assert found.eta_squared["direction"].n == 8


def test_pictures_and_not_pairs_are_resampled():
    direction, location = planted(0, 0.3, 0.1, n=8), planted(1, 0.3, 0.1, n=8)
    pictures = {f"pair {i}": f"picture {i // 2}" for i in range(8)}
    both = [
        FamilyResponses.of(
            f.values, f.levels.tolist(), f.bases.tolist(), [pictures[b] for b in f.bases.tolist()]
        )
        for f in (direction, location)
    ]
    found = partition(*both, seed=0)
    assert found.direction_share.n == found.consistent["direction"].n == found.eta_squared["location"].n == 4


def test_what_cannot_be_partitioned_is_said():
    with pytest.raises(NothingToScoreError, match="1 pairs have both"):
        partition(planted(0, 0.3, 0.1, n=1), planted(1, 0.3, 0.1, n=1))
    with pytest.raises(UsageError, match="a level, a pair and a picture"):
        FamilyResponses.of(np.ones((3, 8)), ["a"], ["b"], ["c"])
    constant = FamilyResponses.of(np.ones((8, 3)), list(LEVELS) * 2, list("aaaabbbb"), list("aaaabbbb"))
    found = partition(constant, constant)
    assert found.direction_share is None
    assert found.consistent == found.eta_squared == {"direction": None, "location": None}


def test_compasses_of_edited_pictures_are_partitioned():
    """A map that stays with B: the direction from A explains it, the common place of A and B does not."""
    moved, translated = [], []
    steps = {"left": (-60, 0), "right": (60, 0), "above": (0, -60), "below": (0, 60)}
    rng = np.random.default_rng(0)
    for i in range(12):
        b = box_at(*rng.uniform((130, 100), (190, 140)))
        a = box_at(b.centre_px[0] - 45, b.centre_px[1] + 12)
        for probe, (right, down) in steps.items():
            from_a = b.moved(-right, -down)
            moved.append(
                sample(
                    f"p{i}", from_a, b, {"chefer@gt": spot(*b.centre_px)}, control="fix-b-move-a", probe=probe
                )
            )
            there = b.moved(right / 2, down / 2)
            translated.append(
                sample(
                    f"p{i}",
                    a.moved(right / 2, down / 2),
                    there,
                    {"chefer@gt": spot(*there.centre_px)},
                    control="joint-translation",
                    probe=probe,
                )
            )
    found = variance_control(moved, translated)
    for projection in ("paper", "sound"):
        direction = found.row("chefer@gt", "direction", projection).estimates
        location = found.row("chefer@gt", "location", projection).estimates
        assert direction["within_image_share"].low > 0.9
        assert location["within_image_share"].high < 0.1
        assert direction["consistent"].low > 0.8
        assert direction["eta_squared"].value > 0.8
        assert location["eta_squared"].value < 0.3
        assert direction["within_image_share"].value + location["within_image_share"].value == pytest.approx(
            1
        )
    assert GRID.n_tokens == len(moved[0].maps["chefer@gt"].values)
