"""Whatever the input, a function of the family gives finite figures or a UsageError; never NaN, never a warning."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite import stats
from theodolite.core.errors import UsageError

odd = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 1 / 3, 5e-324, 1e-200, 1e-9, 1e99, -1e99, 1e308, np.nan, np.inf]
)
number = st.one_of(odd, st.integers(0, 3).map(float), st.floats(-10, 10))
rows = st.lists(
    st.tuples(number, number, st.booleans(), st.booleans(), st.sampled_from("abc")), min_size=0, max_size=9
)

CALLS = {
    "bootstrap": lambda d: stats.bootstrap(d.x, n_resamples=20, seed=0),
    "percentile": lambda d: stats.bootstrap(
        (d.x, d.y), "ratio", interval="percentile", n_resamples=20, seed=0
    ),
    "clustered": lambda d: stats.bootstrap((d.x, d.y), "difference", clusters=d.g, n_resamples=20, seed=0),
    "permutation": lambda d: stats.permutation_test(d.x, d.y[:2], n_permutations=20, seed=0),
    "sign_flip": lambda d: stats.sign_flip_test(d.x, d.y, clusters=d.g, n_permutations=20, seed=0),
    "correlation": lambda d: stats.correlation_permutation_test(d.x[:5], d.y[:5], seed=0),
    "auc": lambda d: stats.roc_auc(d.x, d.a),
    "auc_clustered": lambda d: stats.roc_auc(d.x, d.a, clusters=d.g),
    "aurc": lambda d: stats.aurc(d.x, d.a, n_resamples=20, seed=0),
    "excess": lambda d: stats.excess_aurc(d.x, d.a, clusters=d.g, n_resamples=20, seed=0),
    "at_coverage": lambda d: stats.accuracy_at_coverage(d.x, d.a, coverage=0.4, n_resamples=20, seed=0),
    "pearson": lambda d: stats.pearson(d.x, d.y),
    "spearman": lambda d: stats.spearman(d.x, d.y),
    "partial": lambda d: stats.partial_correlation(d.x, d.y, covariates=d.a),
    "kappa": lambda d: stats.cohen_kappa(d.a, d.b, weights="linear"),
    "kappa_labels": lambda d: stats.cohen_kappa(d.x, d.y),
    "information": lambda d: stats.mutual_information(d.a, d.g, n_permutations=20, seed=0),
    "eta": lambda d: stats.eta_squared(d.x, d.g, n_resamples=20, seed=0),
    "omega": lambda d: stats.eta_squared(d.x, d.a, corrected=True, n_resamples=20, seed=0),
    "trend": lambda d: stats.jonckheere_terpstra(d.x[:6], d.g[:6]),
    "trend_normal": lambda d: stats.jonckheere_terpstra(d.x, d.g, method="normal"),
    "paired": lambda d: stats.paired_difference(d.a, d.b, d.g, seed=0)[0],
}


def columns_of(x, y, a, b, g):
    return SimpleNamespace(x=x, y=y, a=a, b=b, g=g)


@pytest.mark.parametrize("name", CALLS)
@settings(deadline=None, max_examples=40)
@given(rows)
def test_finite_figures_or_a_usage_error(name, rows):
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 5
    try:
        result = CALLS[name](columns_of(*columns))
    except UsageError:
        return
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        assert not isinstance(value, float) or np.isfinite(value), field.name


@pytest.mark.parametrize("name", CALLS)
def test_ordinary_input_is_answered(name):
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 24)).round(1)
    a, b = generator.random((2, 24)) < 0.5
    assert CALLS[name](columns_of(x, y, a, b, np.tile(list("abcdefgh"), 3))).n >= 5
