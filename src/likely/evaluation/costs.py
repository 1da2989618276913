"""What evidence about any number of classes costs: in decisions, and by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likely._typing import Floats, Integers, Labels
from likely.calibration import AffineCalibrator
from likely.decisions import Application
from likely.evaluation.confusion import Confusion, count
from likely.evaluation.curves import RiskCoverageCurve
from likely.evaluation.truth import check_evidence
from likely.exceptions import InvalidDataError

__all__ = [
    "bayes_risk",
    "bayes_risk_after_affine",
    "cross_entropy",
    "cross_entropy_after_affine",
    "risk_coverage",
]

Priors = Sequence[float] | Mapping[Any, float] | Floats | None


def bayes_risk(
    y_true: Any,
    log_likelihoods: Any,
    application: Application,
    normalize: bool = True,
    *,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean cost of the Bayes decisions that evidence leads to in an application, for any number of classes.

    Rows of a class share its prior, however many there are.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
    log_likelihoods : array of shape (n, n_classes), or (n,) for two classes' llrs
        Columns in the order of ``labels``. Infinities are legal.
    application : Application
        With a reject cost, rows are rejected where that is cheapest.
    normalize : bool, default True
        Divide by the cost of the best decision that does not look at the evidence: the best class for all rows, or,
        where rejecting has a price, rejecting all of them if that is cheaper. An error where this costs nothing.
    labels : sequence of labels, optional
        The classes in column order; by default those of ``y_true``, sorted.
    sample_weight : array of shape (n,), optional
        Frequencies.

    Examples
    --------
    >>> from likely import Application
    >>> lending = Application({"bad": 0.1, "good": 0.9}, costs=[[0, 5], [1, 0]])
    >>> llr = [1.0, -3.0, 2.0, -1.0]  # good against bad
    >>> bayes_risk(["bad", "bad", "good", "good"], llr, lending, normalize=False)
    0.7
    >>> round(bayes_risk(["bad", "bad", "good", "good"], llr, lending), 4)  # always "good" costs 0.5
    1.4
    """
    classes, codes, scores, weight = check_evidence(y_true, log_likelihoods, labels, sample_weight)
    decided = application.aligned(classes).decide_codes(scores)
    return Confusion(classes, count(codes, decided, len(classes), weight)).risk(application, normalize)


def cross_entropy(
    y_true: Any, log_likelihoods: Any, priors: Priors = None, *, labels: Any = None, sample_weight: Any = None
) -> float:
    """Mean −log posterior of the truth in nats, at some priors, for any number of classes.

    Not looking at the evidence costs the entropy of the priors; evidence that costs more does harm.

    Parameters
    ----------
    y_true, log_likelihoods, labels, sample_weight
        As for :func:`bayes_risk`.
    priors : sequence in class order or mapping {label: prior}, optional
        By default all classes are equally frequent. Rows of a class share its prior.

    Examples
    --------
    >>> round(cross_entropy([0, 1, 2], [[0, 0, 0]] * 3), 4)  # log 3: nothing is known
    1.0986
    """
    classes, codes, scores, weight = check_evidence(y_true, log_likelihoods, labels, sample_weight)
    application = Application(np.full(len(classes), 1 / len(classes)) if priors is None else priors).aligned(classes)
    row_weight = _at_priors(codes, weight, application, classes)
    costs = -application.log_posteriors(scores)[np.arange(len(codes)), codes]
    return float(np.sum(np.multiply(row_weight, costs, where=row_weight > 0, out=np.zeros(len(codes)))))


def bayes_risk_after_affine(
    y_true: Any,
    log_likelihoods: Any,
    application: Application,
    normalize: bool = True,
    *,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Bayes risk after the best affine calibration (one scale, an offset for each class) on these very scores.

    What is left when the mistakes of calibration that a scale and offsets can mend are mended: for more than two
    classes the counterpart of a minimum cost. It is no minimum over all maps. The calibration is the best one in
    cross-entropy at the application's priors. Parameters as for :func:`bayes_risk`.
    """
    classes, codes, scores, weight = check_evidence(y_true, log_likelihoods, labels, sample_weight)
    calibrated = _calibrated(application.aligned(classes).priors, scores, codes, weight, classes)
    return bayes_risk(y_true, calibrated, application, normalize, labels=labels, sample_weight=sample_weight)


def cross_entropy_after_affine(
    y_true: Any, log_likelihoods: Any, priors: Priors = None, *, labels: Any = None, sample_weight: Any = None
) -> float:
    """Cross-entropy after the best affine calibration on these very scores, at the same priors.

    The difference to :func:`cross_entropy` is what a scale and an offset for each class can mend. Parameters as there.
    """
    classes, codes, scores, weight = check_evidence(y_true, log_likelihoods, labels, sample_weight)
    equal = np.full(len(classes), 1 / len(classes))
    application = Application(equal if priors is None else priors).aligned(classes)
    calibrated = _calibrated(application.priors, scores, codes, weight, classes)
    return cross_entropy(y_true, calibrated, priors, labels=labels, sample_weight=sample_weight)


def risk_coverage(
    y_true: Any, log_likelihoods: Any, application: Application, *, labels: Any = None, sample_weight: Any = None
) -> RiskCoverageCurve:
    """Cost of the decided rows against their share, when those of the highest expected cost are rejected first.

    Shares and costs are at the application's priors; its own reject cost, if any, plays no part. Rows of equal expected
    cost are decided or rejected together. Parameters as for :func:`bayes_risk`.
    """
    classes, codes, scores, weight = check_evidence(y_true, log_likelihoods, labels, sample_weight)
    application = Application(application.aligned(classes).priors, application.aligned(classes).costs)
    decided = application.decide_codes(scores)
    expected = application.expected_costs(scores)[np.arange(len(codes)), decided]
    row_weight = _at_priors(codes, weight, application, classes)
    order = np.argsort(expected)
    # Expected costs are sums of products: what differs by rounding alone is equal.
    last = np.append(np.diff(expected[order]) > 1e-12 * expected[order][1:], True)
    coverage = np.cumsum(row_weight[order])
    paid = np.cumsum((row_weight * application.costs[codes, decided])[order])
    kept = last & (coverage > 0)
    return RiskCoverageCurve(coverage[kept] / coverage[-1], paid[kept] / coverage[kept], expected[order][kept])


def _at_priors(codes: Integers, weight: Floats, application: Application, classes: Any) -> Floats:
    """Weights of rows, of which each class's add up to its prior."""
    totals = np.bincount(codes, weight, len(classes))
    absent = np.flatnonzero((application.priors > 0) & (totals == 0))
    if len(absent):
        raise InvalidDataError(f"Class {classes.tolist()[absent[0]]!r} has a prior, but no row was judged.")
    shares = np.divide(application.priors, totals, out=np.zeros(len(classes)), where=totals > 0)
    return np.asarray(weight * shares[codes])


def _calibrated(priors: Floats, scores: Floats, codes: Integers, weight: Floats, classes: Labels) -> Floats:
    absent = np.flatnonzero(np.bincount(codes, weight, len(classes)) == 0)
    if len(absent):
        raise InvalidDataError(f"Class {classes.tolist()[absent[0]]!r} has no rows, so it cannot be calibrated.")
    return AffineCalibrator(priors).fit(scores, codes, sample_weight=weight).transform(scores)
