"""Metrics and curves of two classes' scores as functions, in the manner of ``sklearn.metrics``.

Each function makes :class:`Trials` of ``y_true, scores, pos_label, sample_weight`` and returns the result of the method
of the same name. The method describes the result and the other parameters. For several numbers of the same scores, make
:class:`Trials` once, which sorts the scores once.

>>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
>>> [round(float(metric(y, llr)), 3) for metric in (roc_auc, eer, eer_threshold, cllr, min_cllr)]
[0.889, 0.167, 1.0, 0.672, 0.333]
>>> [metric(y, llr, [0.5, 0.1]).round(3).tolist() for metric in (actual_dcf, min_dcf, calibration_loss)]
[[0.667, 0.667], [0.333, 0.333], [0.333, 0.333]]
>>> roc_curve(y, llr).tpr.round(2), roc_hull(y, llr).tpr.round(2)
(array([0.  , 0.33, 0.67, 0.67, 1.  , 1.  , 1.  ]), array([0.  , 0.67, 1.  , 1.  ]))
"""

from __future__ import annotations

from typing import Any

from likely._typing import EERMethod
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
    """Detection cost of deciding by the llrs as given; see :meth:`Trials.actual_dcf`.

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
    """Minimum detection cost over all thresholds; see :meth:`Trials.min_dcf`.

    Examples
    --------
    >>> min_dcf(["no", "no", "yes", "yes"], [-2.0, 1.0, 0.5, 3.0], [0.5, 0.9])
    array([0.5, 0.5])
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).min_dcf(applications, normalize)


def min_dcf_threshold(
    y_true: Any, scores: Any, applications: Applications, *, pos_label: Any = None, sample_weight: Any = None
) -> Any:
    """Threshold with the minimum detection cost; see :meth:`Trials.min_dcf_threshold`.

    Examples
    --------
    >>> min_dcf_threshold([0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0], [0.5, 0.01])
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
    """Cost of bad calibration, actual minus minimum; see :meth:`Trials.calibration_loss`."""
    trials = Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight)
    return trials.calibration_loss(applications, normalize)


def cllr(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Mean cost of the log-likelihood ratio, in bits; see :meth:`Trials.cllr`.

    Examples
    --------
    >>> cllr([0, 1, 1], [0.0, 0.0, 0.0])
    1.0
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).cllr()


def min_cllr(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Cllr after the best monotone map of the scores (PAV); see :meth:`Trials.min_cllr`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).min_cllr()


def eer(
    y_true: Any, scores: Any, method: EERMethod = "rocch", *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Equal error rate; see :meth:`Trials.eer` for the methods.

    Examples
    --------
    >>> y, scores = [0, 0, 0, 1, 1], [-1.0, 0.0, 2.0, 1.0, 3.0]
    >>> [round(eer(y, scores, method), 3) for method in ("rocch", "step", "interpolated")]
    [0.2, 0.417, 0.333]
    """
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).eer(method)


def eer_threshold(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Threshold at which the rates of misses and false alarms differ least; see :meth:`Trials.eer_threshold`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).eer_threshold()


def roc_auc(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Area under the ROC curve; see :meth:`Trials.roc_auc`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).roc_auc()


def roc_curve(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> RocCurve:
    """Receiver operating characteristic; see :meth:`Trials.roc_curve`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).roc_curve()


def roc_hull(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> RocCurve:
    """Corners of the convex hull of the ROC curve; see :meth:`Trials.roc_hull`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).roc_hull()


def det_curve(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> DetCurve:
    """Detection error trade-off; see :meth:`Trials.det_curve`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).det_curve()


def bayes_error_curve(
    y_true: Any, scores: Any, prior_log_odds: Any = None, *, pos_label: Any = None, sample_weight: Any = None
) -> BayesErrorCurve:
    """Normalised actual and minimum cost against prior log-odds; see :meth:`Trials.bayes_error_curve`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).bayes_error_curve(prior_log_odds)


def cost_curve(
    y_true: Any, scores: Any, effective_priors: Any = None, *, pos_label: Any = None, sample_weight: Any = None
) -> CostCurve:
    """Actual and minimum cost, not normalised, against the effective prior; see :meth:`Trials.cost_curve`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).cost_curve(effective_priors)


def cross_entropy_curve(
    y_true: Any, scores: Any, prior_log_odds: Any = None, *, pos_label: Any = None, sample_weight: Any = None
) -> CrossEntropyCurve:
    """Empirical cross-entropy in bits against prior log-odds; see :meth:`Trials.cross_entropy_curve`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).cross_entropy_curve(prior_log_odds)


def tippett_curve(y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None) -> TippettCurve:
    """Shares of targets and nontargets with at least a given llr; see :meth:`Trials.tippett_curve`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).tippett_curve()


def reliability_curve(
    y_true: Any, scores: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> ReliabilityCurve:
    """Claimed llrs against the llrs that the trials show; see :meth:`Trials.reliability_curve`."""
    return Trials(y_true, scores, pos_label=pos_label, sample_weight=sample_weight).reliability_curve()
