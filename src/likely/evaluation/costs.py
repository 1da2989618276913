"""Costs of scores of any number of classes: Bayes risk, cross-entropy, risk-coverage curve and open-set cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from likely._typing import Floats, Integers, Labels
from likely.calibration import AffineCalibrator
from likely.decisions import Application, OpenSetCost, as_application, cost_of_open_set
from likely.evaluation.confusion import Confusion, count_decisions
from likely.evaluation.curves import RiskCoverageCurve
from likely.evaluation.truth import check_evidence
from likely.exceptions import InvalidDataError

Priors = Sequence[float] | Mapping[Any, float] | Floats | None


def bayes_risk(
    y_true: Any,
    log_likelihoods: Any,
    application: Application | float,
    normalize: bool = True,
    *,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the expected cost of Bayes decisions in an application, for any number of classes.

    The rows of a class share its prior, whatever their number.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
    log_likelihoods : array of shape (n, n_classes), or (n,) for two classes' llrs
        Columns in the order of ``labels``. Infinities are legal.
    application : Application, or effective prior for two classes
        With a reject cost, a row is rejected if rejecting it has the lowest expected cost.
    normalize : bool, default True
        Divide by the cost of the best constant decision: the best class for all rows, or, with a reject cost, rejecting
        all rows if that is cheaper. An error is raised if that cost is 0.
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
    evidence = _Evidence.of(y_true, log_likelihoods, labels, sample_weight)
    return evidence.risk(evidence.application(application), normalize)


def bayes_risk_after_affine(
    y_true: Any,
    log_likelihoods: Any,
    application: Application | float,
    normalize: bool = True,
    *,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the Bayes risk after the best affine calibration (one scale, an offset for each class) on the same scores.

    The calibration minimises the cross-entropy at the application's priors. For more than two classes, this risk is
    used in place of a minimum cost. It is not the minimum over all maps of the scores, and not even the minimum risk
    over all affine maps, because the calibration minimises another quantity.

    Parameters
    ----------
    y_true, log_likelihoods, application, normalize, labels, sample_weight
        As for :func:`bayes_risk`. Log-likelihoods must be finite.

    Examples
    --------
    >>> from likely import Application
    >>> y, scores = [0, 0, 1, 1, 2, 2], [[9, 5, 0], [6, 5, 0], [5, 9, 0], [5, 2, 0], [0, 0, 3], [5, 0, 4]]
    >>> app = Application.equal(3)
    >>> round(bayes_risk(y, scores, app), 3), round(bayes_risk_after_affine(y, scores, app), 3)
    (0.5, 0.5)
    """
    evidence = _Evidence.of(y_true, log_likelihoods, labels, sample_weight)
    app = evidence.application(application)
    return evidence.calibrated(app.priors).risk(app, normalize)


def cross_entropy(
    y_true: Any, log_likelihoods: Any, priors: Priors = None, *, labels: Any = None, sample_weight: Any = None
) -> float:
    """Return the mean −log posterior of the true class in nats at given priors, for any number of classes.

    Without the scores, the cross-entropy is the entropy of the priors. Scores with a higher cross-entropy are worse
    than no scores.

    Parameters
    ----------
    y_true, log_likelihoods, labels, sample_weight
        As for :func:`bayes_risk`.
    priors : sequence in class order or mapping {label: prior}, optional
        By default all classes are equally frequent. The rows of a class share its prior.

    Examples
    --------
    >>> round(cross_entropy([0, 1, 2], [[0, 0, 0]] * 3), 4)  # log 3: the scores have no information
    1.0986
    """
    evidence = _Evidence.of(y_true, log_likelihoods, labels, sample_weight)
    return evidence.cross_entropy(evidence.at_priors(priors))


def cross_entropy_after_affine(
    y_true: Any, log_likelihoods: Any, priors: Priors = None, *, labels: Any = None, sample_weight: Any = None
) -> float:
    """Return the cross-entropy after the best affine calibration on the same scores, at the same priors.

    The difference to :func:`cross_entropy` is the loss that a scale and an offset for each class can remove.

    Parameters
    ----------
    y_true, log_likelihoods, priors, labels, sample_weight
        As for :func:`cross_entropy`. Log-likelihoods must be finite.

    Examples
    --------
    >>> y, scores = [0, 0, 1, 1, 2, 2], [[9, 5, 0], [6, 5, 0], [5, 9, 0], [5, 2, 0], [0, 0, 3], [5, 0, 4]]
    >>> round(cross_entropy(y, scores), 3), round(cross_entropy_after_affine(y, scores), 3)
    (0.803, 0.487)
    """
    evidence = _Evidence.of(y_true, log_likelihoods, labels, sample_weight)
    app = evidence.at_priors(priors)
    return evidence.calibrated(app.priors).cross_entropy(app)


def risk_coverage_curve(
    y_true: Any,
    log_likelihoods: Any,
    application: Application | float,
    *,
    labels: Any = None,
    sample_weight: Any = None,
) -> RiskCoverageCurve:
    """Return the cost of the decided rows against their share, if rows of the highest expected cost are rejected first.

    Shares and costs are at the application's priors. The application's reject cost, if any, is ignored. Rows of equal
    expected cost are decided or rejected together.

    Parameters
    ----------
    y_true, log_likelihoods, application, labels, sample_weight
        As for :func:`bayes_risk`.

    Examples
    --------
    >>> curve = risk_coverage_curve([0, 0, 1, 1], [-3.0, 0.2, 0.1, 3.0], 0.5)
    >>> curve.coverage, curve.risk.round(2)
    (array([0.5 , 0.75, 1.  ]), array([0.  , 0.33, 0.25]))
    """
    evidence = _Evidence.of(y_true, log_likelihoods, labels, sample_weight)
    app = evidence.application(application)
    app = Application(app.priors, app.costs)
    decided, rows = app.decide_codes(evidence.scores), np.arange(len(evidence.codes))
    expected = app.expected_costs(evidence.scores)[rows, decided]
    weight, order = evidence.row_weights(app), np.argsort(expected)
    # Expected costs are sums of products, so equal costs may differ by rounding. Count such costs as equal.
    last = np.append(np.diff(expected[order]) > 1e-12 * expected[order][1:], True)
    coverage = np.cumsum(weight[order])
    paid = np.cumsum((weight * app.costs[evidence.codes, decided])[order])
    kept = last & (coverage > 0)
    return RiskCoverageCurve(coverage[kept] / coverage[-1], paid[kept] / coverage[kept], expected[order][kept])


@dataclass(frozen=True, eq=False)
class RowCosts:
    """The costs of single rows, from which a metric is computed for any weights of the rows.

    The metric is a weighted sum, over the classes, of the mean cost of the rows of a class. The costs do not depend on
    the weights, so they are computed once for all bootstrap resamples.
    """

    codes: Integers
    costs: Floats
    shares: Floats
    """Factor of the mean cost of each class in the metric: its prior, divided by the normaliser if there is one."""

    @classmethod
    def of_risk(
        cls, y_true: Any, log_likelihoods: Any, application: Any, normalize: bool = True, *, labels: Any = None
    ) -> RowCosts:
        """Return the costs of the Bayes decisions about the rows. Their :meth:`mean` is :func:`bayes_risk`."""
        evidence = _Evidence.of(y_true, log_likelihoods, labels, None)
        app = evidence.application(application)
        reject_cost = np.inf if app.reject_cost is None else app.reject_cost
        table = np.column_stack([app.costs, np.full(len(app.costs), reject_cost)])
        costs = table[evidence.codes, app.decide_codes(evidence.scores)]
        return cls(evidence.codes, costs, app.priors / (app.constant_cost if normalize else 1.0))

    @classmethod
    def of_cross_entropy(
        cls, y_true: Any, log_likelihoods: Any, priors: Priors = None, *, labels: Any = None
    ) -> RowCosts:
        """Return −log posterior of the true class of each row. The :meth:`mean` is :func:`cross_entropy`."""
        evidence = _Evidence.of(y_true, log_likelihoods, labels, None)
        app = evidence.at_priors(priors)
        return cls(evidence.codes, evidence.log_losses(app), app.priors)

    @cached_property
    def _are_finite(self) -> bool:
        return bool(np.isfinite(self.costs).all())

    def mean(self, weight: Floats | None) -> float:
        """Return Σ_k ``shares[k]`` · (mean cost of the rows of class k, weighted by ``weight``)."""
        counted = self.costs
        if weight is not None:
            counted = weight * (self.costs if self._are_finite else np.where(weight > 0, self.costs, 0.0))
        sums = np.bincount(self.codes, counted, len(self.shares))
        totals = np.bincount(self.codes, weight, len(self.shares))
        return float(self.shares @ np.divide(sums, totals, out=np.zeros(len(sums)), where=totals > 0))


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Validated log-likelihoods (``scores``), the true class of each row (``codes``), and the weights of the rows."""

    classes: Labels
    codes: Integers
    scores: Floats
    weight: Floats

    @classmethod
    def of(cls, y_true: Any, log_likelihoods: Any, labels: Any, sample_weight: Any) -> _Evidence:
        return cls(*check_evidence(y_true, log_likelihoods, labels, sample_weight))

    @property
    def totals(self) -> Floats:
        """Total weight of each class."""
        return np.bincount(self.codes, self.weight, len(self.classes)).astype(np.float64)

    def application(self, application: Any) -> Application:
        """Return the application with priors and costs in class order.

        Raise InvalidDataError if a class whose prior is above 0 has no rows.
        """
        aligned = as_application(application).aligned(self.classes)
        self._check_none_absent((aligned.priors > 0) & (self.totals == 0))
        return aligned

    def at_priors(self, priors: Priors) -> Application:
        return self.application(Application.equal(len(self.classes)) if priors is None else Application(priors))

    def risk(self, app: Application, normalize: bool) -> float:
        table = count_decisions(self.codes, app.decide_codes(self.scores), len(self.classes), self.weight)
        return Confusion(self.classes, table).risk(app, normalize)

    def cross_entropy(self, app: Application) -> float:
        weight, costs = self.row_weights(app), self.log_losses(app)
        return float(np.sum(np.multiply(weight, costs, where=weight > 0, out=np.zeros(len(costs)))))

    def log_losses(self, app: Application) -> Floats:
        """Return, for each row, −log of the posterior of its true class."""
        return np.asarray(-app.log_posteriors(self.scores)[np.arange(len(self.codes)), self.codes])

    def row_weights(self, app: Application) -> Floats:
        """Return new weights of the rows. The weights of the rows of a class add up to the prior of the class."""
        shares = np.divide(app.priors, self.totals, out=np.zeros(len(self.classes)), where=self.totals > 0)
        return np.asarray(self.weight * shares[self.codes])

    def calibrated(self, priors: Floats) -> _Evidence:
        """Return the same rows with calibrated scores.

        The affine calibration is fitted to these rows. It minimises the cross-entropy at ``priors``.
        """
        self._check_none_absent(self.totals == 0)
        calibrator = AffineCalibrator(training_prior=priors).fit(self.scores, self.codes, sample_weight=self.weight)
        return replace(self, scores=calibrator.transform(self.scores))

    def _check_none_absent(self, absent: Any) -> None:
        if absent.any():
            label = self.classes.tolist()[int(absent.argmax())]
            raise InvalidDataError(f"y_true must have rows of every expected class, but has none of class {label!r}.")


def open_set_cost(
    y_true: Any,
    log_likelihoods: Any,
    application: Application,
    unknown: Any,
    normalize: bool = True,
    *,
    labels: Any = None,
    sample_weight: Any = None,
) -> OpenSetCost:
    """Return the cost of deciding among known classes and "none of these", and the cost among the known classes alone.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
        Rows of no known class carry the label ``unknown``.
    log_likelihoods : array of shape (n, n_classes)
        One column for each hypothesis, including the unknown.
    application : Application
        Priors of all hypotheses, in column order or by label.
    unknown : label
        The hypothesis that means "none of these".
    normalize : bool, default True
        Divide each cost by that of the best constant decision.
    labels : sequence of labels, optional
        The hypotheses in column order, such as a model's ``classes_``; the sorted labels of ``y_true`` if not given.
    sample_weight : array of shape (n,), optional
        Frequencies.

    Returns
    -------
    OpenSetCost
        The fields are ``open``, ``closed``, ``unknown_accepted``, ``known_rejected`` and ``known_confused``.

    Examples
    --------
    >>> from likely import Application
    >>> y = ["ann", "ann", "bob", "bob", "nobody", "nobody"]
    >>> scores = [[3, 0, 1], [1, 0, 2], [0, 3, 1], [1, 0, -2], [0, 1, 3], [2, 0, 1]]
    >>> door = Application({"ann": 0.4, "bob": 0.4, "nobody": 0.2})
    >>> cost = open_set_cost(y, scores, door, "nobody", normalize=False)
    >>> round(cost.open, 3), round(cost.closed, 3)
    (0.5, 0.25)
    >>> cost.unknown_accepted, cost.known_rejected, cost.known_confused
    (0.5, 0.25, 0.25)
    """
    classes, codes, scores, weight = check_evidence(y_true, log_likelihoods, labels, sample_weight)
    return cost_of_open_set(as_application(application), classes, unknown, codes, scores, weight, normalize)
