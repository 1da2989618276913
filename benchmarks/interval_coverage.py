"""Simulated coverage of confidence intervals: ``python benchmarks/interval_coverage.py [SIMULATIONS]``.

The log-likelihood ratios are Gaussian with variance d² and means ±d²/2. They are therefore calibrated, minimum and
actual costs are equal, and all true values are known. Every simulation draws trials and computes 95 % intervals.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from likely import actual_dcf, cllr, confidence_intervals, eer, min_cllr, min_dcf, roc_auc
from likely.evaluation.bootstrap import Bootstrap
from likely.evaluation.trials import Trials

SIZES = [(2.0, 100, 400), (2.0, 500, 2000), (3.5, 200, 2000), (3.5, 1000, 10_000)]
"""Separation d (2: EER 16 %; 3.5: EER 4 %), targets, nontargets."""

MEASURES = {
    "DCF, .5": partial(actual_dcf, applications=0.5),
    "DCF, .1": partial(actual_dcf, applications=0.1),
    "Cllr": cllr,
    "AUC": roc_auc,
    "min DCF, .5": partial(min_dcf, applications=0.5),
    "min DCF, .1": partial(min_dcf, applications=0.1),
    "EER": eer,
    "min Cllr": min_cllr,
}


def truths(d):
    """Return the true values, in the order of MEASURES."""
    mean = d * d / 2

    def cost(prior):
        threshold = np.log((1 - prior) / prior)
        misses, alarms = norm.cdf((threshold - mean) / d), norm.sf((threshold + mean) / d)
        return (prior * misses + (1 - prior) * alarms) / min(prior, 1 - prior)

    def bits(llr):
        return norm.pdf(llr, mean, d) * np.logaddexp(0, -llr) / np.log(2)

    costs = [cost(0.5), cost(0.1)]
    mean_bits = quad(bits, mean - 12 * d, mean + 12 * d)[0]
    return np.array([*costs, mean_bits, norm.cdf(d / np.sqrt(2)), *costs, norm.cdf(-d / 2), mean_bits])


def simulate(d, targets, nontargets, rng):
    y = np.repeat([0, 1], [nontargets, targets])
    return y, d * rng.normal(size=len(y)) + np.where(y == 1, 1, -1) * d * d / 2


def percentiles(y, llr, n_resamples, seed):
    """Return percentile bootstrap intervals, for comparison."""
    trials = Trials(y, llr)
    methods = [getattr(Trials, getattr(m, "func", m).__name__) for m in MEASURES.values()]
    options = [getattr(m, "keywords", {}) for m in MEASURES.values()]

    def all_of(weight):
        resample = trials.reweighted(weight)
        return np.array([method(resample, **option) for method, option in zip(methods, options, strict=True)])

    return np.quantile(Bootstrap(y, None, n_resamples, seed).evaluate(all_of), [0.025, 0.975], axis=0)


def coverage(d, targets, nontargets, n_simulations, n_resamples=300):
    """Return the share of simulations whose interval contains the true value: ours, and percentile intervals."""
    rng, truth = np.random.default_rng(0), truths(d)
    hits = np.zeros((2, len(MEASURES)))
    for seed in range(n_simulations):
        y, llr = simulate(d, targets, nontargets, rng)
        found = confidence_intervals(MEASURES, y, llr, n_resamples=n_resamples, seed=seed).values()
        hits[0] += [i.low <= t <= i.high for i, t in zip(found, truth, strict=True)]
        low, high = percentiles(y, llr, n_resamples, seed)
        hits[1] += (low <= truth) & (truth <= high)
    return hits / n_simulations


def main():
    n_simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print("| d | targets | nontargets | interval |", " | ".join(MEASURES), "|")
    print("|--:" * 3 + "|---" + "|--:" * len(MEASURES) + "|")
    for size in SIZES:
        for name, row in zip(("ours", "percentile"), coverage(*size, n_simulations), strict=True):
            print(
                "|", " | ".join(f"{s:g}" for s in size), "|", name, "|", " | ".join(f"{100 * c:.1f}" for c in row), "|"
            )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
