"""Curves as data, for plots, tables and reports; they contain nothing about drawing."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit, ndtri

from likely._html import html_table
from likely._typing import Floats
from likely.exceptions import InvalidParameterError

SHOWN_POINTS = 9
"""Maximum number of points of a curve that a notebook shows as a table."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Columns of equal length, one value for each point of a curve."""

    def columns(self) -> dict[str, Floats]:
        """Return the values of each coordinate by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _repr_html_(self) -> str:
        columns = self.columns()
        n = len(next(iter(columns.values())))
        # Choose points at equal steps from the first point to the last, and include both of these.
        shown = np.unique(np.linspace(0, n - 1, min(n, SHOWN_POINTS)).round().astype(int))
        rows = [[str(i), *(float(values[i]) for values in columns.values())] for i in shown.tolist()]
        note = "" if len(shown) == n else f"{len(shown)} of {n} points are shown."
        return html_table(type(self).__name__, ["point", *columns], rows, note)


@dataclass(frozen=True, eq=False)
class RocCurve(Curve):
    """Receiver operating characteristic: true against false positive rate.

    The curve starts at (0, 0), where nothing is accepted, and ends at (1, 1), where everything is.

    Attributes
    ----------
    fpr, tpr : arrays of shape (points,)
        Shares of the nontargets and of the targets that are accepted.
    thresholds : array of shape (points,)
        Scores at or above the threshold are accepted; infinite at the first point, where nothing is accepted.
    """

    fpr: Floats
    tpr: Floats
    thresholds: Floats

    def auc(self) -> float:
        """Area under the curve."""
        return float(np.trapezoid(self.tpr, self.fpr))


@dataclass(frozen=True, eq=False)
class DetCurve(Curve):
    """Detection error trade-off: miss rate against false alarm rate.

    The curve starts at (0, 1), where nothing is accepted, and ends at (1, 0), where everything is.

    Attributes
    ----------
    fpr, fnr : arrays of shape (points,)
        Shares of the nontargets accepted and of the targets rejected.
    thresholds : array of shape (points,)
    """

    fpr: Floats
    fnr: Floats
    thresholds: Floats

    def probits(self) -> tuple[Floats, Floats]:
        """Return both rates on the normal-deviate scale.

        On this scale the curve of Gaussian scores is a straight line. Both coordinates are infinite at the ends.
        """
        return np.asarray(ndtri(self.fpr)), np.asarray(ndtri(self.fnr))


@dataclass(frozen=True, eq=False)
class BayesErrorCurve(Curve):
    """Normalised costs against the log-odds of the effective prior of the application.

    Attributes
    ----------
    prior_log_odds : array of shape (points,)
    actual : array of shape (points,)
        Cost of deciding by the llrs as given, divided by the cost of the best constant decision.
    minimum : array of shape (points,)
        Minimum cost over all thresholds on these scores; never more than 1.
    """

    prior_log_odds: Floats
    actual: Floats
    minimum: Floats


@dataclass(frozen=True, eq=False)
class CostCurve(Curve):
    """Costs against the effective prior, not normalised; the minimum is the lower envelope of the operating points.

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
        Cross-entropy of the llrs as given.
    minimum : array of shape (points,)
        Cross-entropy after the best monotone map (PAV).
    neutral : array of shape (points,)
        Cross-entropy of llrs that are all 0, that is, without the scores.
    """

    prior_log_odds: Floats
    actual: Floats
    minimum: Floats
    neutral: Floats


@dataclass(frozen=True, eq=False)
class TippettCurve(Curve):
    """Tippett plot: shares of the targets and of the nontargets whose llr is at least a given value.

    Attributes
    ----------
    llr, targets, nontargets : arrays of shape (points,)
        The first point is at −inf, where both shares are 1.
    """

    llr: Floats
    targets: Floats
    nontargets: Floats


@dataclass(frozen=True, eq=False)
class ReliabilityCurve(Curve):
    """Claimed against observed log-likelihood ratios, for blocks of neighbouring scores (PAV).

    Attributes
    ----------
    low, high : arrays of shape (blocks,)
        Lowest and highest score of each block.
    llr : array of shape (blocks,)
        The log-likelihood ratio observed in the trials of the block; infinite if the block has one class only.
    targets, nontargets : arrays of shape (blocks,)
        Weights of the two classes in the block.
    """

    low: Floats
    high: Floats
    llr: Floats
    targets: Floats
    nontargets: Floats

    def posteriors(self, prior: float = 0.5) -> tuple[Floats, Floats, Floats]:
        """Return posteriors of the target at a prior, as three arrays with one value for each block.

        The first two are the claimed posteriors at the lowest and at the highest score of the block. The third is the
        posterior observed in the trials of the block.
        """
        if not 0 < prior < 1:
            raise InvalidParameterError(f"prior must be in the open interval (0, 1), but is {prior!r}.")
        odds = np.log(prior) - np.log1p(-prior)
        low, high, observed = (np.asarray(expit(llr + odds)) for llr in (self.low, self.high, self.llr))
        return low, high, observed


@dataclass(frozen=True, eq=False)
class RiskCoverageCurve(Curve):
    """Cost of the decided rows against their share, if the rows of the highest expected cost are rejected first.

    Attributes
    ----------
    coverage : array of shape (points,)
        Share of the rows that are decided, increasing to 1.
    risk : array of shape (points,)
        Mean cost of the decided rows.
    reject_cost : array of shape (points,)
        The highest expected cost among the decided rows. With this reject cost, exactly these rows are decided.
    """

    coverage: Floats
    risk: Floats
    reject_cost: Floats
