"""Curves of two classes' scores as functions, each thin over :class:`Trials`."""

from __future__ import annotations

from typing import Any

from likely.evaluation.curves import (
    BayesErrorCurve,
    CostCurve,
    CrossEntropyCurve,
    DetCurve,
    ReliabilityCurve,
    RocCurve,
    TippettCurve,
)
from likely.evaluation.trials import Trials

__all__ = [
    "bayes_error",
    "cost_curve",
    "det",
    "empirical_cross_entropy",
    "reliability",
    "roc",
    "roc_hull",
    "tippett",
]


def roc(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> RocCurve:
    """Receiver operating characteristic, both end points included.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.

    Returns
    -------
    RocCurve

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> curve = roc(y, llr)
    >>> curve.fpr.round(2), curve.tpr.round(2)
    (array([0.  , 0.  , 0.  , 0.33, 0.33, 0.67, 1.  ]), array([0.  , 0.33, 0.67, 0.67, 1.  , 1.  , 1.  ]))
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).roc()


def roc_hull(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> RocCurve:
    """Corners of the ROC's convex hull.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.

    Returns
    -------
    RocCurve

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> roc_hull(y, llr).fpr.round(2)
    array([0.  , 0.  , 0.33, 1.  ])
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).roc_hull()


def det(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> DetCurve:
    """Detection error trade-off, both end points included.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.

    Returns
    -------
    DetCurve

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> curve = det(y, llr)
    >>> curve.fpr[[0, -1]], curve.fnr[[0, -1]]
    (array([0., 1.]), array([1., 0.]))
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).det()


def bayes_error(
    y_true: Any, scores: Any, prior_log_odds: Any = None, *, pos_label: Any = None, sample_weight: Any = None
) -> BayesErrorCurve:
    """Normalised actual and minimum cost against prior log-odds; see :meth:`Trials.bayes_error`.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores being log-likelihood ratios.
    prior_log_odds : array of shape (points,), optional
        By default 101 from −5 to 5.

    Returns
    -------
    BayesErrorCurve

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> bayes_error(y, llr, [-1.0, 0.0, 1.0]).minimum.round(3)
    array([0.333, 0.333, 0.333])
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).bayes_error(prior_log_odds)


def cost_curve(
    y_true: Any, scores: Any, effective_priors: Any = None, *, pos_label: Any = None, sample_weight: Any = None
) -> CostCurve:
    """Actual and minimum cost against the effective prior, not normalised; see :meth:`Trials.cost_curve`.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores being log-likelihood ratios.
    effective_priors : array of shape (points,), optional
        By default 101 from 0 to 1.

    Returns
    -------
    CostCurve

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> cost_curve(y, llr, [0.1, 0.5]).minimum.round(3)
    array([0.033, 0.167])
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).cost_curve(effective_priors)


def empirical_cross_entropy(
    y_true: Any, scores: Any, prior_log_odds: Any = None, *, pos_label: Any = None, sample_weight: Any = None
) -> CrossEntropyCurve:
    """Cross-entropy in bits against prior log-odds; see :meth:`Trials.empirical_cross_entropy`.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores being log-likelihood ratios.
    prior_log_odds : array of shape (points,), optional
        By default 101 from −5 to 5.

    Returns
    -------
    CrossEntropyCurve

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> curve = empirical_cross_entropy(y, llr, [0.0])
    >>> curve.actual.round(3), curve.minimum.round(3), curve.neutral
    (array([0.672]), array([0.333]), array([1.]))
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).empirical_cross_entropy(
        prior_log_odds
    )


def tippett(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> TippettCurve:
    """Shares of targets and nontargets with at least a given llr.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores being log-likelihood ratios.

    Returns
    -------
    TippettCurve

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> tippett(y, llr).targets.round(2)
    array([1.  , 1.  , 1.  , 1.  , 0.67, 0.67, 0.33])
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).tippett()


def reliability(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> ReliabilityCurve:
    """What scores claim against what the trials show, by blocks of the best monotone map (PAV).

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores being log-likelihood ratios.

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> curve = reliability(y, llr)
    >>> curve.llr, curve.targets
    (array([-inf,   0.,  inf]), array([0., 1., 2.]))
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).reliability()
