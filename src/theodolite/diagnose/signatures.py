"""Signatures: patterns of behaviour with the numbers that raised them. They name behaviour, not its cause.

A signature is raised if each of its conditions holds with the whole interval of its number, and is not measured if one of
the numbers is missing. Those of scenes come from `theodolite.instruments.scene.experiments.signatures`; the others are read off the readings:

layout-driven       (compass) answers are right more often than by chance, and no method's map points 5° better than a map
                    that is the same everywhere
semantic shortcut   (grid) where a bag of words is wrong, the model says what it says more often than not; and turning the
                    direction round changes less than half of the answers
language prior      (compass, trace) at most a tenth of the answers change when the picture is blank, or the frames are gone
temporal drift      (trace) the grounding of steps falls by more than five points from the first to the last quarter
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.diagnose.catalogue import CATALOGUE
from theodolite.diagnose.record import Figure, InstrumentName, SignatureForm, SignatureStanding, TestResult
from theodolite.diagnose.table import ReadingTable, mean_of

BEYOND_DEG = 5.0
"""How much better than the uniform map a map must point to count as following the question."""
FEW = 0.1
HALF = 0.5
POINTS = 0.05
CHANCE = 0.25
"""Of four directions."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that must hold of a number."""

    label: str
    estimate: stats.Estimate | None
    holds: Callable[[stats.Estimate], bool]
    words: str
    """What is asked of it."""


def judge(
    name: str,
    instrument: InstrumentName,
    model: str,
    conditions: Sequence[Condition],
    *,
    test: TestResult | None = None,
) -> SignatureForm:
    """The signature, raised if every condition holds."""
    lacking = [condition.label for condition in conditions if condition.estimate is None]
    measured = [(c, c.estimate) for c in conditions if c.estimate is not None]
    failing = [(c, e) for c, e in measured if not c.holds(e)]
    standing: SignatureStanding = "not measured" if lacking else "not raised" if failing else "raised"
    if lacking:
        because = f"not measured: {', '.join(lacking)}"
    else:
        verb = "but should be" if failing else "which is"
        because = "; ".join(
            f"{c.label} {e.value:.2f} [{e.low:.2f}, {e.high:.2f}], {verb} {c.words}"
            for c, e in failing or measured
        )
    numbers = {condition.label: Figure.of(estimate) for condition, estimate in measured}
    return _form(name, instrument, model, standing=standing, because=because, numbers=numbers, test=test)


def _form(
    name: str,
    instrument: InstrumentName,
    model: str,
    *,
    standing: SignatureStanding,
    because: str,
    numbers: dict[str, Figure],
    test: TestResult | None,
) -> SignatureForm:
    entry = CATALOGUE[name]
    return SignatureForm(
        name=name,
        instrument=instrument,
        model=model,
        standing=standing,
        because=because,
        numbers=numbers,
        test=test,
        confirming_test=entry.confirming_test,
        remedy=entry.remedy,
        remedy_source=entry.source,
    )


def compass_signatures(table: ReadingTable, model: str, *, seed: int) -> list[SignatureForm]:
    """Layout-driven and language prior, from the aligned and crossed splits together."""
    excess = {key: pooled(table, model, key, seed=seed) for key in _keys(table, "compass.excess_sound")}
    measured = {key: estimate for key, estimate in excess.items() if estimate is not None}
    best = max(measured, key=lambda key: measured[key].high, default="")
    label = f"DAE below the uniform map's, best of {len(measured)} methods"
    if best:
        label += f" ({best.partition(':')[2]})"
    return [
        judge(
            "layout-driven",
            "compass",
            model,
            [
                Condition(
                    "answers that are right",
                    pooled(table, model, "compass.right", seed=seed),
                    lambda x: x.low > CHANCE,
                    "above chance",
                ),
                Condition(
                    label,
                    measured.get(best),
                    lambda x: x.high < BEYOND_DEG,
                    f"less than {BEYOND_DEG:g}°",
                ),
            ],
        ),
        _unmoved("compass", model, table, "compass.blank_changes", "a blank picture", seed=seed),
    ]


def grid_signatures(table: ReadingTable, model: str, *, seed: int) -> list[SignatureForm]:
    """Semantic shortcut: the bag of words."""
    agreed, changed = (
        pooled(table, model, key, seed=seed) for key in ("grid.bag_of_words", "grid.swap_changes")
    )
    return [
        judge(
            "semantic shortcut",
            "grid",
            model,
            [
                Condition(
                    "agreement with a bag of words where it is wrong",
                    agreed,
                    lambda x: x.low > HALF,
                    "above ½",
                ),
                Condition(
                    "answers that change with the direction", changed, lambda x: x.high < HALF, "below ½"
                ),
            ],
        )
    ]


def trace_signatures(
    model: str,
    *,
    decline: stats.Estimate | None,
    test: stats.HypothesisTest | None,
    blind_changes: stats.Estimate | None,
) -> list[SignatureForm]:
    """Temporal drift and language prior."""
    return [
        judge(
            "temporal drift",
            "trace",
            model,
            [
                Condition(
                    "SGR of the first quarter of the steps minus the last",
                    decline,
                    lambda x: x.low > POINTS,
                    "above five points",
                )
            ],
            test=test_form("the grounding of steps does not fall", test),
        ),
        judge(
            "language prior",
            "trace",
            model,
            [
                Condition(
                    "answers that change without the frames",
                    blind_changes,
                    lambda x: x.high < FEW,
                    "below a tenth",
                )
            ],
        ),
    ]


def scene_signature(
    name: str, model: str, *, numbers: Mapping[str, stats.Estimate], because: str, **rest: object
) -> SignatureForm:
    """A signature that scoring of scenes has read already.

    Args:
        name: of the signature.
        model: whose.
        numbers: behind it.
        because: in words.
        rest: ``standing``, and ``test`` if there is one.
    """
    test = rest.get("test")
    return _form(
        name,
        "scene",
        model,
        standing=rest["standing"],  # type: ignore[arg-type]  # one of the three
        because=because,
        numbers={label: Figure.of(estimate) for label, estimate in numbers.items()},
        test=test_form(name, test if isinstance(test, stats.HypothesisTest) else None),
    )


def pooled(table: ReadingTable, model: str, key: str, *, seed: int) -> stats.Estimate | None:
    """The mean of a readout over all splits; None without a reading."""
    found = [table.column(model, column) for column in table.columns if column[0] == key]
    values = np.concatenate([values for values, _ in found]) if found else np.zeros(0)
    clusters = [cluster for _, names in found for cluster in names]
    return mean_of(values, clusters, seed=seed) if len(set(clusters)) > 1 else None


def test_form(name: str, test: stats.HypothesisTest | None) -> TestResult | None:
    """A test as it stands in the document."""
    if test is None:
        return None
    return TestResult(name=name, statistic=test.statistic, p_value=test.p_value, n=test.n, method=test.method)


def _unmoved(
    instrument: InstrumentName, model: str, table: ReadingTable, key: str, what: str, *, seed: int
) -> SignatureForm:
    changed = pooled(table, model, key, seed=seed)
    condition = Condition(
        f"answers that change with {what}", changed, lambda x: x.high < FEW, "below a tenth"
    )
    return judge("language prior", instrument, model, [condition])


def _keys(table: ReadingTable, prefix: str) -> list[str]:
    return sorted({key for key, _ in table.columns if key.startswith(f"{prefix}:")})
