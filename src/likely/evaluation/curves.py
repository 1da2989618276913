"""Curves as values: what a plot, a table or a report needs, and nothing of how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit, ndtri

from likely._typing import Floats
from likely.exceptions import InvalidParameterError


@dataclass(frozen=True, eq=False)
class Curve:
    """Columns of equal length, one value for each point of a curve."""

    def columns(self) -> dict[str, Floats]:
        """The points by the names of their coordinates."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, eq=False)
class RocCurve(Curve):
    """Hits against false alarms, from accepting nothing (0, 0) to accepting everything (1, 1).

    Attributes
    ----------
    fpr, tpr : arrays of shape (points,)
        Shares of the nontargets and of the targets that are accepted.
    thresholds : array of shape (points,)
        The scores from which on they are; infinite at the first point, where nothing is accepted.
    """

    fpr: Floats
    tpr: Floats
    thresholds: Floats

    def auc(self) -> float:
        """Area under the curve."""
        return float(np.trapezoid(self.tpr, self.fpr))


@dataclass(frozen=True, eq=False)
class DetCurve(Curve):
    """Misses against false alarms, from accepting nothing (0, 1) to accepting everything (1, 0).

    Attributes
    ----------
    fpr, fnr : arrays of shape (points,)
        Shares of the nontargets accepted and of the targets refused.
    thresholds : array of shape (points,)
    """

    fpr: Floats
    fnr: Floats
    thresholds: Floats

    def probits(self) -> tuple[Floats, Floats]:
        """Both rates on the normal-deviate scale, where Gaussian scores make a straight line; infinite at the ends."""
        return np.asarray(ndtri(self.fpr)), np.asarray(ndtri(self.fnr))


@dataclass(frozen=True, eq=False)
class BayesErrorCurve(Curve):
    """Normalised costs against the application, given by the log-odds of its effective prior.

    Attributes
    ----------
    prior_log_odds : array of shape (points,)
    actual : array of shape (points,)
        Cost of deciding by the llrs as they are, as a multiple of the best constant decision's.
    minimum : array of shape (points,)
        The least cost that any threshold on these scores gives; never more than 1.
    """

    prior_log_odds: Floats
    actual: Floats
    minimum: Floats


@dataclass(frozen=True, eq=False)
class CostCurve(Curve):
    """Costs against the effective prior, not normalised: the lower envelope of the operating points.

    Attributes
    ----------
    effective_prior, actual, minimum : arrays of shape (points,)
    constant : array of shape (points,)
        Cost of the best constant decision, min(π̃, 1 − π̃).
    """

    effective_prior: Floats
    actual: Floats
    minimum: Floats
    constant: Floats


@dataclass(frozen=True, eq=False)
class CrossEntropyCurve(Curve):
    """Empirical cross-entropy in bits against prior log-odds; at log-odds 0 it is Cllr.

    Attributes
    ----------
    prior_log_odds : array of shape (points,)
    actual : array of shape (points,)
        Mean bits needed to tell the truth with the llrs as they are.
    minimum : array of shape (points,)
        The same after the best monotone map (PAV).
    neutral : array of shape (points,)
        The same with the llrs all 0, that is, without the scores.
    """

    prior_log_odds: Floats
    actual: Floats
    minimum: Floats
    neutral: Floats


@dataclass(frozen=True, eq=False)
class TippettCurve(Curve):
    """Shares of the trials whose llr is at least a value, by class.

    Attributes
    ----------
    llr, targets, nontargets : arrays of shape (points,)
        The first point lies at −inf, where both shares are 1.
    """

    llr: Floats
    targets: Floats
    nontargets: Floats


@dataclass(frozen=True, eq=False)
class ReliabilityCurve(Curve):
    """What scores claim against what the trials show, by blocks of neighbouring scores (PAV).

    Attributes
    ----------
    low, high : arrays of shape (blocks,)
        Least and greatest score of each block.
    llr : array of shape (blocks,)
        The log-likelihood ratio that the trials of the block show; infinite where it holds one class alone.
    targets, nontargets : arrays of shape (blocks,)
        Weights of the two classes in the block.
    """

    low: Floats
    high: Floats
    llr: Floats
    targets: Floats
    nontargets: Floats

    def posteriors(self, prior: float = 0.5) -> tuple[Floats, Floats, Floats]:
        """Claimed posteriors at the low and high end of each block, and the observed one, at a prior."""
        if not 0 < prior < 1:
            raise InvalidParameterError(f"prior must lie between 0 and 1, but is {prior!r}.")
        odds = np.log(prior) - np.log1p(-prior)
        low, high, observed = (np.asarray(expit(llr + odds)) for llr in (self.low, self.high, self.llr))
        return low, high, observed


@dataclass(frozen=True, eq=False)
class RiskCoverageCurve(Curve):
    """Cost of the decided rows against their share, when the least certain are rejected first.

    Attributes
    ----------
    coverage : array of shape (points,)
        Share of the rows that are decided, rising to 1.
    risk : array of shape (points,)
        Mean cost of the decided rows.
    reject_cost : array of shape (points,)
        The highest expected cost among the decided rows: a reject cost of this size decides just them.
    """

    coverage: Floats
    risk: Floats
    reject_cost: Floats
