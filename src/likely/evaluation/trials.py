"""Scores of two classes, sorted once; all metrics and curves are computed from them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit

from likely._html import html_table
from likely._numerics import log
from likely._typing import EERMethod, Floats, Integers
from likely._validation import check_option
from likely.blocks import for_each
from likely.calibration.pav import Pooled, pool
from likely.calibration.steps import CHUNK, MAX_RESAMPLED_STEPS, Steps
from likely.decisions import Application, as_application, llr_threshold
from likely.evaluation.confusion import Confusion
from likely.evaluation.curves import (
    BayesErrorCurve,
    CostCurve,
    CrossEntropyCurve,
    DetCurve,
    ReliabilityCurve,
    RocCurve,
    TippettCurve,
)
from likely.evaluation.truth import check_two_classes
from likely.exceptions import InvalidParameterError

Applications: TypeAlias = "Application | float | Sequence[Application | float] | Floats"
"""One application, or a sequence of applications. A number stands for ``Application.binary(number)``."""


class Trials:
    """Labelled scores of two classes, sorted once, with their metrics and curves.

    A trial is accepted as a target if its score is at least the threshold. Trials of equal scores are accepted or
    rejected together, so their order does not matter. Infinite scores are allowed, NaN is not.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
        Labels of two classes, of any type.
    llr : array of shape (n,), or (n, 2)
        Natural log-likelihood ratios, target against nontarget, or the two log-likelihoods in class order. Metrics that
        use the ranking only (``eer``, ``roc_auc``, ``min_dcf``, ``min_cllr`` and the curves of rates) take scores of
        any kind.
    pos_label : label, optional
        The target; by default the second label in sorted order.
    sample_weight : array of shape (n,), optional
        Frequencies.

    Attributes
    ----------
    classes : array of shape (2,)
        The labels of nontargets and of targets.
    n_nontargets, n_targets : float
        Total weights of nontargets and of targets.
    steps : Steps
        The distinct scores and, for each of them, the weights of misses and false alarms if it is the threshold.

    Examples
    --------
    >>> trials = Trials([0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0])
    >>> round(trials.roc_auc(), 4), round(trials.eer(), 4), trials.eer_threshold()
    (0.8889, 0.1667, 1.0)
    >>> round(trials.cllr(), 4), round(trials.min_cllr(), 4)
    (0.6719, 0.3333)
    >>> trials.actual_dcf([0.5, 0.1]).round(4), trials.min_dcf([0.5, 0.1]).round(4)
    (array([0.6667, 0.6667]), array([0.3333, 0.3333]))
    """

    def __init__(self, y_true: Any, llr: Any, *, pos_label: Any = None, sample_weight: Any = None) -> None:
        self.classes, self.is_target, self.llr, self.weight = check_two_classes(y_true, llr, pos_label, sample_weight)
        self._set_steps(Steps.of(self.llr, self.is_target, self.weight))

    def _set_steps(self, steps: Steps) -> None:
        self.steps = steps
        self.n_targets, self.n_nontargets = float(steps.misses[-1]), float(steps.false_alarms[0])

    def reweighted(self, weight: Floats) -> Trials:
        """Return the same trials, with the weight of each row multiplied by ``weight``. Nothing is sorted again."""
        other = object.__new__(Trials)
        other.classes, other.is_target, other.llr = self.classes, self.is_target, self.llr
        other.weight = weight if self.weight is None else weight * self.weight
        other._set_steps(self.steps.reweighted(self._cell_of_row, other.weight))
        return other

    def coarse(self) -> Trials:
        """Return the same trials with fewer distinct scores if there are many, so that reweighting is fast.

        Each score is lowered a little, to the next lower score that is kept.
        """
        if len(self.steps.thresholds) < MAX_RESAMPLED_STEPS:
            return self
        other = copy(self)
        other.__dict__.pop("pooled", None)
        other.__dict__.pop("_cell_of_row", None)
        other._set_steps(self.steps.subsample())
        return other

    @cached_property
    def _cell_of_row(self) -> Integers:
        return self.steps.cells_of(self.llr, self.is_target)

    @cached_property
    def pooled(self) -> Pooled:
        """The blocks of the best monotone map, which are the edges of the ROC's convex hull.

        The blocks are found by pooling adjacent violators (PAV; see :mod:`likely.calibration.pav`).
        """
        return pool(self.steps)

    # Rates that need no application.

    def roc_auc(self) -> float:
        """Return the area under the ROC: the probability that a target scores above a nontarget; ties count half."""
        misses, alarms = self.steps.misses, self.steps.false_alarms
        lost = 0.0
        # Sum the area above the curve by the trapezoidal rule. Use chunks of points that fit into the cache.
        for start, stop in _chunks(len(misses) - 1):
            passed = (alarms[start:stop] - alarms[start + 1 : stop + 1]) / self.n_nontargets
            lost += float(passed @ (misses[start:stop] + misses[start + 1 : stop + 1])) / self.n_targets
        return 1 - lost / 2

    def eer(self, method: EERMethod = "rocch") -> float:
        """Return the equal error rate, at which the rates of misses and false alarms are equal.

        Parameters
        ----------
        method : {"rocch", "step", "interpolated"}, default "rocch"
            "rocch" is the rate at which the convex hull of the ROC meets the line of equal rates. This is the maximum
            over all priors of the minimum error, and at most 0.5. "step" is the mean of both rates at the threshold
            where they differ least. "interpolated" is the rate at which the ROC itself, with straight lines between its
            points, meets the line of equal rates.
        """
        check_option("method", method, ("rocch", "step", "interpolated"))
        if method == "step":
            return float(sum(self._rates(self.steps, self._balanced_point())) / 2)
        of = self.pooled if method == "rocch" else self.steps
        # Intersect the segment of the curve that crosses the line of equal rates with that line.
        after = self._crossing(of)
        (miss, alarm), (miss_after, alarm_after) = self._rates(of, after - 1), self._rates(of, after)
        share = (alarm - miss) / ((alarm - miss) + (miss_after - alarm_after))
        return float(miss + share * (miss_after - miss))

    def eer_threshold(self) -> float:
        """Return the threshold at which the rates of misses and false alarms differ least."""
        return self._threshold(self._balanced_point())

    # Costs of decisions.

    def actual_dcf(self, applications: Applications, normalize: bool = True) -> Any:
        """Return the cost of deciding by the llrs as given, at one application (a number) or several (an array).

        Parameters
        ----------
        applications : Application, or effective prior, or a sequence of them
            A number p stands for ``Application.binary(p)``.
        normalize : bool, default True
            Divide by the cost of the best constant decision, which includes rejecting everything if the application
            has a reject cost.
        """
        return self._dcf(self.steps, self.steps.thresholds, applications, normalize)

    def min_dcf(self, applications: Applications, normalize: bool = True) -> Any:
        """Return the minimum cost over all monotone maps of the scores; parameters as for :meth:`actual_dcf`.

        Without a reject cost this is the minimum over all thresholds. Among these are the two thresholds that accept
        all trials or none, so a normalised minimum is at most 1.
        """
        return self._dcf(self.pooled, self.pooled.llr, applications, normalize)

    def min_dcf_threshold(self, applications: Applications) -> Any:
        """Return the threshold of minimum cost; infinite if it is best to accept nothing.

        Scores equal to a finite threshold are accepted. Every threshold above the next lower score gives the same
        decisions.
        """
        apps, single = self._applications(applications)
        accepted = [self.pooled.starts[app.accepted_from(self.pooled.llr)] for app in apps]
        found = np.array([self._threshold(int(point)) for point in accepted])
        return float(found[0]) if single else found

    def calibration_loss(self, applications: Applications, normalize: bool = True) -> Any:
        """Return the cost of bad calibration, actual minus minimum; parameters as for :meth:`actual_dcf`."""
        return self.actual_dcf(applications, normalize) - self.min_dcf(applications, normalize)

    # Costs of log-likelihood ratios.

    def cllr(self) -> float:
        """Return Cllr, the mean cost of the llrs in bits. It is 0 for perfect llrs, and 1 if all llrs are 0.

        References
        ----------
        Brümmer, N. and du Preez, J. (2006). Application-independent evaluation of speaker detection. Computer Speech
        and Language 20, 230-275.
        """
        return float(self._cross_entropy(self.steps, self.steps.thresholds, 0.0))

    def min_cllr(self) -> float:
        """Return Cllr after the best monotone map of the scores (PAV)."""
        return float(self._cross_entropy(self.pooled, self.pooled.llr, 0.0))

    def confusion(self, application: Application | float) -> Confusion:
        """Return the confusion matrix of the decisions by the llrs as given, in an application."""
        (app,), _ = self._applications(application)
        return Confusion(self.classes, _by_decision(self.steps, app.decide_codes(self.steps.thresholds)))

    def __repr__(self) -> str:
        nontarget, target = self.classes.tolist()
        return f"<Trials: {self.n_targets:g} targets ({target!r}), {self.n_nontargets:g} nontargets ({nontarget!r})>"

    def _repr_html_(self) -> str:
        nontarget, target = self.classes.tolist()
        rows: list[list[Any]] = [
            ["targets", f"{target}: {self.n_targets:g}"],
            ["nontargets", f"{nontarget}: {self.n_nontargets:g}"],
            ["equal error rate", self.eer()],
            ["area under the ROC curve", self.roc_auc()],
            ["Cllr, bits", self.cllr()],
            ["minimum Cllr, bits", self.min_cllr()],
        ]
        return html_table("Trials", ["", "value"], rows)

    # Curves.

    def roc_curve(self) -> RocCurve:
        """Return the receiver operating characteristic with all its points."""
        alarms, misses, thresholds = self._points(slice(None, None, -1))
        return RocCurve(alarms, 1 - misses, thresholds)

    def roc_hull(self) -> RocCurve:
        """Return the corners of the convex hull of the ROC."""
        alarms, misses, thresholds = self._points(self.pooled.starts[::-1])
        return RocCurve(alarms, 1 - misses, thresholds)

    def det_curve(self) -> DetCurve:
        """Return the detection error trade-off with all its points."""
        return DetCurve(*self._points(slice(None, None, -1)))

    def bayes_error_curve(self, prior_log_odds: Any = None) -> BayesErrorCurve:
        """Return normalised actual and minimum costs over prior log-odds, by default from −5 to 5."""
        odds = _grid("prior_log_odds", prior_log_odds, -5, 5)
        # Prior-weighted costs of a miss and of a false alarm. Both are divided by the smaller of the two, which is the
        # cost of the best constant decision.
        with np.errstate(over="ignore"):
            stakes = np.exp(np.maximum(odds, 0)), np.exp(np.maximum(-odds, 0))
        return BayesErrorCurve(odds, *self._actual_and_minimum(odds, *stakes))

    def cost_curve(self, effective_priors: Any = None) -> CostCurve:
        """Return actual and minimum costs, not normalised, over effective priors, by default 101 from 0 to 1."""
        priors = _grid("effective_priors", effective_priors, 0, 1, bounded=True)
        odds = log(priors) - log(1 - priors)
        actual, minimum = self._actual_and_minimum(odds, priors, 1 - priors)
        return CostCurve(priors, actual, minimum, np.minimum(priors, 1 - priors))

    def cross_entropy_curve(self, prior_log_odds: Any = None) -> CrossEntropyCurve:
        """Return the empirical cross-entropy in bits over prior log-odds, by default from −5 to 5."""
        odds = _grid("prior_log_odds", prior_log_odds, -5, 5)
        actual = for_each(lambda shift: self._cross_entropy(self.steps, self.steps.thresholds, shift), odds.tolist())
        minimum = [self._cross_entropy(self.pooled, self.pooled.llr, shift) for shift in odds]
        prior = expit(odds)
        neutral = (prior * np.logaddexp(0, -odds) + (1 - prior) * np.logaddexp(0, odds)) / np.log(2)
        return CrossEntropyCurve(odds, np.array(actual), np.array(minimum), neutral)

    def tippett_curve(self) -> TippettCurve:
        """Return the shares of the targets and of the nontargets with at least a given llr."""
        llr = np.concatenate([[-np.inf], self.steps.thresholds])
        misses, alarms = self._rates(self.steps, np.maximum(np.arange(len(llr)) - 1, 0))
        return TippettCurve(llr, 1 - misses, alarms)

    def reliability_curve(self) -> ReliabilityCurve:
        """Return claimed against observed log-likelihood ratios, by blocks of the best monotone map (PAV)."""
        blocks, scores = self.pooled, self.steps.thresholds
        low, high = scores[blocks.starts[:-1]], scores[blocks.starts[1:] - 1]
        return ReliabilityCurve(low, high, blocks.llr, blocks.targets, blocks.nontargets)

    # Internals.

    def _points(self, which: Any) -> tuple[Floats, Floats, Floats]:
        """Return three arrays: the rates of false alarms, the rates of misses, and the thresholds.

        ``which`` selects the operating points: indices, or a slice, of the distinct scores in ascending order. After
        the highest score there is one more point, with an infinite threshold, where nothing is accepted.
        """
        misses, alarms = self._rates(self.steps, which)
        return alarms, misses, np.append(self.steps.thresholds, np.inf)[which]

    def _rates(self, of: Steps | Pooled, point: Any) -> tuple[Any, Any]:
        """Return the rates of misses and of false alarms at the operating points with the indices ``point``.

        Operating points are those of the ROC (``Steps``) or of its convex hull (``Pooled``).
        """
        return of.misses[point] / self.n_targets, of.false_alarms[point] / self.n_nontargets

    def _threshold(self, point: int) -> float:
        return float(self.steps.thresholds[point]) if point < len(self.steps.thresholds) else np.inf

    def _crossing(self, of: Steps | Pooled) -> int:
        """Return the index of the first operating point at which the miss rate is at least the false alarm rate."""
        return bisect_left(
            range(len(of.misses)), True, key=lambda point: bool(np.less_equal(*self._rates(of, point)[::-1]))
        )

    def _balanced_point(self) -> int:
        """Return the index of the operating point at which the rates of misses and of false alarms differ least."""
        after = self._crossing(self.steps)
        gaps = [abs(np.subtract(*self._rates(self.steps, point))) for point in (after - 1, after)]
        return after if gaps[1] <= gaps[0] else after - 1

    def _dcf(self, of: Steps | Pooled, llr: Floats, applications: Applications, normalize: bool) -> Any:
        """Return the cost of Bayes decisions: a number for one application, an array for several.

        ``llr`` is the llr of each step or pooled block of ``of``, in ascending order. The decisions use these llrs.
        """
        values = np.asarray(applications)
        if values.ndim and values.dtype.kind in "fiu":
            return self._dcf_at_priors(of, llr, values.astype(np.float64), normalize)
        apps, single = self._applications(applications)
        costs = [self._risk(of, llr, app) / (app.constant_cost if normalize else 1.0) for app in apps]
        return float(costs[0]) if single else np.array(costs)

    def _dcf_at_priors(self, of: Steps | Pooled, llr: Floats, priors: Floats, normalize: bool) -> Floats:
        """Return the costs of :meth:`_dcf` for an array of effective priors, computed in one vectorised operation."""
        if priors.ndim > 1 or not ((priors > 0) & (priors < 1)).all():
            raise InvalidParameterError(
                f"Effective priors must be in the open interval (0, 1), but are {priors.tolist()}."
            )
        constants = np.minimum(priors, 1 - priors) if normalize else np.ones(len(priors))
        with np.errstate(over="ignore"):
            stakes = priors / constants, (1 - priors) / constants
        odds = -np.array([llr_threshold(1 - prior, prior) for prior in priors.tolist()])
        return self._costs_at(of, llr, odds, *stakes)

    def _applications(self, applications: Any) -> tuple[list[Application], bool]:
        """Return a list of the applications, each in class order, and True if a single application was given."""
        single = np.ndim(applications) == 0
        several = [applications] if single else applications
        return [as_application(app).aligned(self.classes) for app in several], single

    def _risk(self, of: Steps | Pooled, llr: Floats, app: Application) -> float:
        """Return the expected cost of Bayes decisions in one application. ``of`` and ``llr`` are as in :meth:`_dcf`."""
        if app.reject_cost is None:
            miss, alarm = self._rates(of, app.accepted_from(llr))
            return app.risk(np.array([[1 - alarm, alarm], [miss, 1 - miss]]))
        return app.risk(_by_decision(of, app.decide_codes(llr)) / [[self.n_nontargets], [self.n_targets]])

    def _costs_at(
        self, of: Steps | Pooled, llr: Floats, odds: Floats, miss_stake: Floats, alarm_stake: Floats
    ) -> Floats:
        """Return the costs of Bayes decisions at an array of prior log-odds, ``odds``.

        The decisions use ``llr``, the ascending llrs of the steps or blocks of ``of``. ``miss_stake`` and
        ``alarm_stake`` are the factors of the miss rate and of the false alarm rate: the cost of the error times the
        prior of its class.
        """
        accepted = np.where(np.isneginf(odds), len(llr), np.searchsorted(llr, -odds))
        miss, alarm = self._rates(of, accepted)
        return _products(miss_stake, miss) + _products(alarm_stake, alarm)

    def _actual_and_minimum(self, odds: Floats, miss_stake: Floats, alarm_stake: Floats) -> tuple[Floats, Floats]:
        stakes = (odds, miss_stake, alarm_stake)
        actual = self._costs_at(self.steps, self.steps.thresholds, *stakes)
        return actual, self._costs_at(self.pooled, self.pooled.llr, *stakes)

    def _cross_entropy(self, of: Steps | Pooled, llr: Floats, odds: float) -> float:
        """Return the mean of −log₂ posterior of the true class, at prior log-odds ``odds``.

        ``of`` and ``llr`` are as for :meth:`_dcf`. The prior of a class is divided among its trials.
        """
        prior = expit(odds)
        bits = np.zeros(2)
        for start, stop in _chunks(len(llr)):
            targets = np.diff(of.misses[start : stop + 1]) / self.n_targets
            nontargets = np.diff(of.false_alarms[start : stop + 1]) / -self.n_nontargets
            logit = llr[start:stop] + odds
            # Targets cost log(1 + exp(−logit)), nontargets log(1 + exp(logit)). Compute both without overflow.
            shared = np.log1p(np.exp(-np.abs(logit)))
            bits += _total(targets, shared - np.minimum(logit, 0)), _total(nontargets, shared + np.maximum(logit, 0))
        return _total(np.array([prior, 1 - prior]), bits) / float(np.log(2))


def _by_decision(of: Steps | Pooled, decided: Integers) -> Floats:
    """Return the weights of the trials by true class and decision, as an array of shape (2, 3).

    Rows are nontargets and targets. Columns are decisions: nontarget, target, rejected. ``decided`` has the decision
    for each step or block, as a column index or −1 for rejected.
    """
    weights = [of.false_alarms[:-1] - of.false_alarms[1:], np.diff(of.misses)]
    return np.array([np.bincount(decided % 3, weight, 3) for weight in weights])


def _chunks(n: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + CHUNK, n)) for start in range(0, n, CHUNK))


def _total(weight: Floats, cost: Floats) -> float:
    """Return Σ weight · cost. The product of an infinite cost and a weight of 0 counts as 0."""
    if np.isfinite(cost[0]) and np.isfinite(cost[-1]):
        return float(weight @ cost)
    return float(np.sum(_products(cost, weight)))


def _products(cost: Floats, weight: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(np.multiply(weight, cost, where=weight > 0, out=np.zeros(np.shape(cost))))


def _grid(name: str, values: Any, low: float, high: float, bounded: bool = False) -> Floats:
    """Return ``values`` as a 1D array, or 101 numbers from ``low`` to ``high`` if ``values`` is None.

    Raise InvalidParameterError unless all numbers are finite and, if ``bounded``, lie between ``low`` and ``high``.
    ``name`` is the name of the parameter in the message.
    """
    if values is None:
        return np.linspace(low, high, 101)
    grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    legal = np.isfinite(grid) & (((low <= grid) & (grid <= high)) | (not bounded))
    if grid.ndim != 1 or not legal.all():
        bounds = f"between {low:g} and {high:g}" if bounded else "finite"
        raise InvalidParameterError(f"{name} must be a 1D array of numbers, {bounds}, but is {values!r}.")
    return grid
