"""Metrics and curves of two classes' scores as functions, each thin over :class:`Trials`."""

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
from likely.evaluation.trials import Applications, Trials


def actual_dcf(
    y_true: Any,
    scores: Any,
    applications: Applications,
    normalize: bool = True,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> Any:
    """Cost of deciding by llrs as they are, at one application or several; see :meth:`Trials.actual_dcf`.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores being log-likelihood ratios.
    applications : Application, effective prior, or a sequence or array of them
        A number p stands for ``Application.binary(p)``; many numbers at once are fastest as an array.
    normalize : bool, default True
        Divide by the cost of the best constant decision.

    Returns
    -------
    float, or array for several applications

    Examples
    --------
    >>> actual_dcf(["no", "no", "yes", "yes"], [-2.0, 1.0, 0.5, 3.0], 0.5)
    0.5
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).actual_dcf(applications, normalize)


def min_dcf(
    y_true: Any,
    scores: Any,
    applications: Applications,
    normalize: bool = True,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> Any:
    """The least cost over all thresholds, at one application or several; see :meth:`Trials.min_dcf`.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.
    applications : Application, effective prior, or a sequence or array of them
        A number p stands for ``Application.binary(p)``; many numbers at once are fastest as an array.
    normalize : bool, default True
        Divide by the cost of the best constant decision.

    Returns
    -------
    float, or array for several applications

    Examples
    --------
    >>> min_dcf(["no", "no", "yes", "yes"], [-2.0, 1.0, 0.5, 3.0], [0.5, 0.9])
    array([0.5, 0.5])
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).min_dcf(applications, normalize)


def min_dcf_threshold(
    y_true: Any, scores: Any, applications: Applications, *, pos_label: Any = None, sample_weight: Any = None
) -> Any:
    """The score from which on to accept for the least cost; see :meth:`Trials.min_dcf_threshold`.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.
    applications : Application, effective prior, or a sequence or array of them
        A number p stands for ``Application.binary(p)``; many numbers at once are fastest as an array.

    Returns
    -------
    float, or array for several applications

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> min_dcf_threshold(y, llr, [0.5, 0.01])
    array([-0.5,  2. ])
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).min_dcf_threshold(applications)


def calibration_loss(
    y_true: Any,
    scores: Any,
    applications: Applications,
    normalize: bool = True,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> Any:
    """What bad calibration costs: actual minus minimum cost.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores being log-likelihood ratios.
    applications : Application, effective prior, or a sequence or array of them
        A number p stands for ``Application.binary(p)``; many numbers at once are fastest as an array.
    normalize : bool, default True
        Divide by the cost of the best constant decision.

    Returns
    -------
    float, or array for several applications

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> round(calibration_loss(y, llr, 0.5), 3)
    0.333
    """
    trials = Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight)
    return trials.calibration_loss(applications, normalize)


def cllr(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Mean cost of the log-likelihood ratio in bits; llrs of 0 cost exactly 1; see :meth:`Trials.cllr`.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores being log-likelihood ratios.

    Returns
    -------
    float

    Examples
    --------
    >>> cllr([0, 1], [0.0, 0.0])
    1.0
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).cllr()


def min_cllr(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Cllr after the best monotone map of the scores (PAV).

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.

    Returns
    -------
    float

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> round(min_cllr(y, llr), 3)
    0.333
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).min_cllr()


def eer(y_true: Any, scores: Any, method: str = "rocch", *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Equal error rate, by default by the ROC's convex hull; see :meth:`Trials.eer`.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.
    method : {"rocch", "step", "interpolated"}, default "rocch"
        By the convex hull of the ROC, the nearest step, or straight lines between its points.

    Returns
    -------
    float

    Examples
    --------
    >>> y, tied = [0, 0, 0, 1, 1, 1], [1.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    >>> [round(eer(y, tied, method), 3) for method in ("rocch", "step", "interpolated")]
    [0.4, 0.333, 0.4]
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).eer(method)


def eer_threshold(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """The score from which on to accept so that misses and false alarms are as equally frequent as can be.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.

    Returns
    -------
    float

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> eer_threshold(y, llr)
    1.0
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).eer_threshold()


def auc(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Area under the ROC: the chance that a target scores above a nontarget, ties counting half.

    Parameters
    ----------
    y_true, scores, pos_label, sample_weight
        As for :class:`Trials`, scores of any kind, the higher the more a target.

    Returns
    -------
    float

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> round(auc(y, llr), 3)
    0.889
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).auc()


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
