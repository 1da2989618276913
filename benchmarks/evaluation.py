"""Evaluation and calibration against llreval (the packaged PYLLR), scikit-learn and plain NumPy, at equal answers.

Run it on an idle machine: ``make bench``, or ``python benchmarks/evaluation.py NAME …`` for some of the rows. The data
are simulated log-likelihood ratios; one tenth of the trials are targets.
"""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score, roc_curve
from timing import clock, report, run

from likely import (
    AffineCalibrator,
    Application,
    IsotonicCalibrator,
    Trials,
    actual_dcf,
    cllr,
    confidence_intervals,
    eer,
    min_cllr,
    min_dcf,
    roc_auc,
)

PRIORS = np.linspace(0.01, 0.99, 99)
APPLICATIONS = [Application.binary(prior) for prior in PRIORS]


def scores(n, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(int)
    return y, 2 * rng.normal(size=n) + np.where(y == 1, 2.0, -2.0)


def everything(y, llr):
    trials = Trials(y, llr)
    return np.concatenate(
        [
            [trials.eer(), trials.roc_auc(), trials.cllr(), trials.min_cllr()],
            trials.actual_dcf(APPLICATIONS),
            trials.min_dcf(APPLICATIONS),
        ]
    )


def everything_by_llreval(y, llr):
    """Compute the same with llreval and one PAV. Its call for all error rates at once fails in version 0.0.3."""
    from llreval.bayes_error_rate import fast_Bayes_error_rate
    from llreval.cllr import cllr as its_cllr
    from llreval.cllr import min_cllr as its_min_cllr
    from llreval.pav_rocch import PAV, ROCCH

    pav = PAV(llr, y)
    hull = ROCCH(pav)
    odds, constant = np.log(PRIORS) - np.log1p(-PRIORS), np.minimum(PRIORS, 1 - PRIORS)
    bits = its_cllr(llr[y == 1], llr[y == 0])
    actual, minimum = fast_Bayes_error_rate(llr, y, odds), hull.Bayes_error_rate(odds)
    # Its AUC is the area under the convex hull, so it is not compared.
    return np.concatenate([[hull.EER(), np.nan, bits, its_min_cllr(pav)], actual / constant, minimum / constant])


def everything_by_scikit_learn(y, llr):
    """Compute the same from scikit-learn's curves, with the code that a user would write."""
    fpr, tpr, thresholds = roc_curve(y, llr, drop_intermediate=False)
    errors = PRIORS[:, None] * (1 - tpr) + (1 - PRIORS[:, None]) * fpr if len(fpr) < 10**5 else None
    constant = np.minimum(PRIORS, 1 - PRIORS)
    minimum = np.array([np.min(p * (1 - tpr) + (1 - p) * fpr) for p in PRIORS]) if errors is None else errors.min(1)
    at = np.searchsorted(-thresholds, -np.log((1 - PRIORS) / PRIORS), side="right") - 1
    actual = PRIORS * (1 - tpr[at]) + (1 - PRIORS) * fpr[at]
    balance = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    posterior = 1 / (1 + np.exp(-llr))
    bits = log_loss(y, posterior, sample_weight=balance) / np.log(2)
    pooled = IsotonicRegression(y_min=0, y_max=1).fit_transform(llr, y, sample_weight=balance)
    least = log_loss(y, pooled, sample_weight=balance) / np.log(2)
    crossing = np.argmin(np.abs(1 - tpr - fpr))
    rate = (1 - tpr[crossing] + fpr[crossing]) / 2
    return np.concatenate([[rate, roc_auc_score(y, llr), bits, least], actual / constant, minimum / constant])


def gap(ours, peer, but=()):
    kept = [i for i in range(len(ours)) if i not in but and np.isfinite(peer[i])]
    return f"differ by at most {np.max(np.abs(ours[kept] - peer[kept])):.0e}"


def _everything(n):
    y, llr = scores(n)
    repeats = 5 if n < 10**7 else 2
    sort, _ = clock(lambda: np.sort(llr), repeats)
    ours, answer = clock(lambda: everything(y, llr), repeats)
    tracemalloc.start()
    everything(y, llr)
    copies = tracemalloc.get_traced_memory()[1] / llr.nbytes
    tracemalloc.stop()
    name = f"all metrics of two classes, {n:.0e} scores"
    report(name, ours, {"np.sort": sort}, f"{ours / sort:.1f} sorts; {copies:.1f} copies of the scores")
    try:
        seconds, peer = clock(lambda: everything_by_llreval(y, llr), min(repeats, 2))
        report(name, ours, {"llreval": seconds}, gap(answer, peer))
    except ImportError:
        print("llreval is not installed, so it is skipped")
    seconds, peer = clock(lambda: everything_by_scikit_learn(y, llr), min(repeats, 2))
    # Its EER (first entry) is that of the nearest step. A posterior loses digits of the llr.
    report(name, ours, {"scikit-learn and user code": seconds}, gap(answer, peer, but=(0,)))


def everything_of_1e5():
    _everything(10**5)


def everything_of_1e6():
    _everything(10**6)


def everything_of_1e7():
    _everything(10**7)


def affine():
    """Compare with scikit-learn at its default tol 1e-4 and at our precision, with the prior odds removed."""
    y, llr = scores(10**6)
    raw = 3 * llr + 1
    ours, fitted = clock(lambda: AffineCalibrator(training_prior=y.mean()).fit(raw, y), 5)
    for name, tol in (("LogisticRegression", 1e-4), ("LogisticRegression, tol 1e-7", 1e-7)):
        seconds, peer = clock(lambda tol=tol: LogisticRegression(C=np.inf, tol=tol).fit(raw[:, None], y), 3)
        odds = np.log(y.mean() / (1 - y.mean()))
        apart = abs(peer.coef_[0, 0] - fitted.scale_) + abs(peer.intercept_[0] - odds - fitted.offset_)
        report("affine calibration, 1e+06 scores", ours, {name: seconds}, f"scale and offset differ by {apart:.0e}")


def isotonic():
    y, llr = scores(10**6)
    ours, _ = clock(lambda: IsotonicCalibrator().fit(llr, y))
    seconds, _ = clock(lambda: IsotonicRegression().fit(llr, y))
    report("isotonic calibration, 1e+06 scores", ours, {"IsotonicRegression": seconds})


def bootstrap():
    y, llr = scores(10**5)
    measures = {
        "EER": eer,
        "AUC": roc_auc,
        "Cllr": cllr,
        "min Cllr": min_cllr,
        "DCF": partial(actual_dcf, applications=APPLICATIONS),
        "min DCF": partial(min_dcf, applications=APPLICATIONS),
    }
    ours, _ = clock(lambda: confidence_intervals(measures, y, llr), 1)
    once, _ = clock(lambda: everything(y, llr))
    report("bootstrap, 1000 resamples of 1e+05", ours, {"1000 times all metrics": 1000 * once})


ROWS = [everything_of_1e5, everything_of_1e6, everything_of_1e7, affine, isotonic, bootstrap]


if __name__ == "__main__":
    run(ROWS)
