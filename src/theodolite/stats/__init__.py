"""Estimates with confidence intervals, and tests with p-values.

Estimates are returned as `Estimate` (value, interval, level, method and n, the number of independent units), tests as
`HypothesisTest` or a similar record. Items that depend on each other, such as the questions about one scene, share a
label in `clusters=`; n then counts clusters. All randomness comes from `seed=`. Invalid input raises a `UsageError`; no
function returns NaN.

- means, shares and paired differences: `clustered_mean`, `clustered_difference`, `equivalent`; of two
  independent samples: `independent_difference`, `estimate_difference`; paired, with their test:
  `paired_difference`; of item scores, and the comparison of models: `Scores`, `score_mean`
- any other statistic: `bootstrap`, `bootstrap_distribution`
- tests of differences: `permutation_test`, `sign_flip_test`, `binomial_test`
- ranking and selective prediction: `roc_auc`, `risk_coverage`, `aurc`, `excess_aurc`, `accuracy_at_coverage`
- association: `pearson`, `spearman`, `partial_correlation`, `correlation_permutation_test`, `eta_squared`,
  `jonckheere_terpstra`, `mutual_information`, `cohen_kappa`
- directions and distributions: `circular_mean`, `resultant_length`, `circular_distance`, `jensen_shannon_divergence`
- multiple tests: `holm`; sample size: `theodolite.stats.power.MeanDesign`

>>> print(clustered_mean([1, 1, 0, 1, 0, 0, 1, 1], ["a", "a", "b", "b", "c", "c", "d", "d"]))
0.625 [0.221, 0.907] (n=4, 8 items)
"""

from theodolite.core.tables import Estimate, HypothesisTest
from theodolite.stats.agreement import cohen_kappa
from theodolite.stats.auc import roc_auc
from theodolite.stats.bootstrap import bootstrap, bootstrap_distribution
from theodolite.stats.circular import circular_distance, circular_mean, resultant_length
from theodolite.stats.clustered import (
    Equivalence,
    binomial_test,
    clustered_difference,
    clustered_mean,
    equivalent,
    estimate_difference,
    independent_difference,
    paired_difference,
    wilson_interval,
)
from theodolite.stats.correlation import partial_correlation, pearson, spearman
from theodolite.stats.information import (
    MutualInformation,
    eta_squared,
    jensen_shannon_divergence,
    mutual_information,
)
from theodolite.stats.permutation import correlation_permutation_test, holm, permutation_test, sign_flip_test
from theodolite.stats.risk_coverage import (
    RiskCoverage,
    accuracy_at_coverage,
    aurc,
    excess_aurc,
    risk_coverage,
)
from theodolite.stats.samples import SHARE, BatchStatistic, Bounds
from theodolite.stats.scores import Difference, Scores, score_mean
from theodolite.stats.trend import jonckheere_terpstra

__all__ = [
    "SHARE",
    "BatchStatistic",
    "Bounds",
    "Difference",
    "Equivalence",
    "Estimate",
    "HypothesisTest",
    "MutualInformation",
    "RiskCoverage",
    "Scores",
    "accuracy_at_coverage",
    "aurc",
    "binomial_test",
    "bootstrap",
    "bootstrap_distribution",
    "circular_distance",
    "circular_mean",
    "clustered_difference",
    "clustered_mean",
    "cohen_kappa",
    "correlation_permutation_test",
    "equivalent",
    "estimate_difference",
    "eta_squared",
    "excess_aurc",
    "holm",
    "independent_difference",
    "jensen_shannon_divergence",
    "jonckheere_terpstra",
    "mutual_information",
    "paired_difference",
    "partial_correlation",
    "pearson",
    "permutation_test",
    "resultant_length",
    "risk_coverage",
    "roc_auc",
    "score_mean",
    "sign_flip_test",
    "spearman",
    "wilson_interval",
]
