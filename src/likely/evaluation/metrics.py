"""Numbers of two classes' scores as functions, each thin over :class:`Trials`.

Several numbers of the same scores are better asked of one ``Trials``, which sorts once.
"""

from __future__ import annotations

from typing import Any

from likely.evaluation.trials import Applications, Trials

__all__ = [
    "actual_dcf",
    "auc",
    "calibration_loss",
    "cllr",
    "eer",
    "eer_threshold",
    "min_cllr",
    "min_dcf",
    "min_dcf_threshold",
]


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
