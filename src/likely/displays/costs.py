"""Displays of costs: Bayes error, cost curve, cross-entropy, and cost against coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from likely.decisions import Application
from likely.displays.base import CurveDisplay, TrialsDisplay, make_trials, name_estimators, name_scores, score_classes
from likely.displays.canvas import MatplotlibCanvas
from likely.evaluation import (
    BayesErrorCurve,
    CostCurve,
    CrossEntropyCurve,
    Interval,
    RiskCoverageCurve,
    actual_dcf,
    confidence_intervals,
    min_dcf,
    risk_coverage_curve,
)
from likely.exceptions import InvalidParameterError
from likely.plots import curves
from likely.plots.canvas import Trace


class _CostsDisplay(TrialsDisplay, CurveDisplay):
    """A display of curves that have x in the first column, and columns ``actual`` and ``minimum``."""

    def _traces(self) -> list[Trace]:
        traces = []
        for name, curve in self.curves.items():
            x = next(iter(curve.columns().values()))
            traces.append(Trace(name, {"": (x, curve.actual), "minimum": (x, curve.minimum)}, self._note(name)))
        return traces

    def _note(self, name: str) -> str:
        return ""


@dataclass(eq=False, repr=False)
class BayesErrorDisplay(_CostsDisplay):
    """Bayes error plot: normalised actual and minimum costs of systems against prior log-odds.

    Attributes
    ----------
    curves : dict {system: BayesErrorCurve}
    bands : dict {system: {"actual": Interval, "minimum": Interval}}
        Bootstrap intervals at each point. The dict is empty unless ``n_resamples`` was given.

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = BayesErrorDisplay.from_predictions(y, llr, name="A", prior_log_odds=[-1.0, 0.0, 2.0])
    >>> display.curves["A"].actual.round(3), display.curves["A"].minimum.round(3)
    (array([1.239, 0.667, 0.667]), array([0.333, 0.333, 0.333]))
    """

    curves: Mapping[str, BayesErrorCurve]
    bands: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        prior_log_odds: Any = None,
        n_resamples: int | None = None,
        groups: Any = None,
        level: float = 0.95,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true : array of labels of shape (n,)
        scores : array of shape (n,) or (n, 2), or mapping {name: scores}
            Log-likelihood ratios, or two log-likelihoods in class order.
        name : str, optional
            Name of a single system.
        prior_log_odds : array of shape (points,), optional
            By default 101 values from −5 to 5.
        n_resamples : int, optional
            Number of bootstrap resamples for bands. A common number is 1000, which takes some seconds for each system.
            By default there are no bands.
        groups : array of labels of shape (n,), optional
            Rows with the same label are resampled together, such as the rows of one speaker.
        level : float, default 0.95
            Confidence level of the band at each single point.
        pos_label, sample_weight
            As for :meth:`RocDisplay.from_predictions`.
        """
        if n_resamples is None and groups is not None:
            raise InvalidParameterError(
                "groups only affects bootstrap bands. Request bands with n_resamples=1000.", parameter="groups"
            )
        trials = make_trials(y_true, scores, name, pos_label, sample_weight)
        curves = {key: each.bayes_error_curve(prior_log_odds) for key, each in trials.items()}
        if n_resamples is None:
            return cls(curves)
        odds = next(iter(curves.values())).prior_log_odds
        measures = {
            "actual": partial(actual_dcf, applications=expit(odds), pos_label=pos_label),
            "minimum": partial(min_dcf, applications=expit(odds), pos_label=pos_label),
        }
        options = {"groups": groups, "sample_weight": sample_weight, "n_resamples": n_resamples, "level": level}
        systems = name_scores(scores, name).items()
        return cls(curves, {key: confidence_intervals(measures, y_true, values, **options) for key, values in systems})

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        curves.draw_bayes_error(canvas, self._traces())
        for k, (name, curve) in enumerate(self.curves.items()):
            for kind, band in self.bands.get(name, {}).items():
                alpha = 0.2 if kind == "actual" else 0.12
                canvas.band(curve.prior_log_odds, np.asarray(band.low), np.asarray(band.high), k, alpha)

    def _columns(self, name: str) -> dict[str, Any]:
        bands = self.bands.get(name, {})
        ends = {f"{kind}_{end}": getattr(band, end) for kind, band in bands.items() for end in ("low", "high")}
        return {**super()._columns(name), **ends}


@dataclass(eq=False, repr=False)
class CostCurveDisplay(_CostsDisplay):
    """Cost curves: actual and minimum costs of systems against the effective prior. Costs are not normalised.

    Attributes
    ----------
    curves : dict {system: CostCurve}

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = CostCurveDisplay.from_predictions(y, llr, name="A", effective_priors=[0.1, 0.5])
    >>> display.curves["A"].minimum.round(3), display.curves["A"].constant
    (array([0.033, 0.167]), array([0.1, 0.5]))
    """

    curves: Mapping[str, CostCurve]

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        effective_priors: Any = None,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        effective_priors : array of shape (points,), optional
            By default 101 values from 0 to 1.
        y_true, scores, name, pos_label, sample_weight
            As for :meth:`BayesErrorDisplay.from_predictions`.
        """
        trials = make_trials(y_true, scores, name, pos_label, sample_weight)
        return cls({key: each.cost_curve(effective_priors) for key, each in trials.items()})

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        first = next(iter(self.curves.values()))
        curves.draw_cost_curve(canvas, self._traces(), (first.effective_prior, first.constant))


@dataclass(eq=False, repr=False)
class CrossEntropyDisplay(_CostsDisplay):
    """Empirical cross-entropy (ECE) plot of one or several systems against prior log-odds.

    Attributes
    ----------
    curves : dict {system: CrossEntropyCurve}
    cllr, min_cllr : dict {system: float}
        The values of the actual and of the minimum curve at prior log-odds 0.

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = CrossEntropyDisplay.from_predictions(y, llr, name="A")
    >>> round(display.cllr["A"], 4), round(display.min_cllr["A"], 4)
    (0.6719, 0.3333)
    """

    curves: Mapping[str, CrossEntropyCurve]
    cllr: Mapping[str, float]
    min_cllr: Mapping[str, float]

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        prior_log_odds: Any = None,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true, scores, name, prior_log_odds, pos_label, sample_weight
            As for :meth:`BayesErrorDisplay.from_predictions`.
        """
        trials = make_trials(y_true, scores, name, pos_label, sample_weight)
        return cls(
            {key: each.cross_entropy_curve(prior_log_odds) for key, each in trials.items()},
            {key: each.cllr() for key, each in trials.items()},
            {key: each.min_cllr() for key, each in trials.items()},
        )

    def _note(self, name: str) -> str:
        actual = f"{self.cllr[name]:.3f}".replace("inf", "∞")
        return f"Cllr {actual}, minimum {self.min_cllr[name]:.3f}"

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        first = next(iter(self.curves.values()))
        curves.draw_cross_entropy(canvas, self._traces(), (first.prior_log_odds, first.neutral))


@dataclass(eq=False, repr=False)
class RiskCoverageDisplay(CurveDisplay):
    """Risk-coverage curves: mean cost of the decided rows against their share, for any number of classes.

    Attributes
    ----------
    curves : dict {system: RiskCoverageCurve}

    Examples
    --------
    >>> from likely import Application
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = RiskCoverageDisplay.from_predictions(y, llr, Application([0.5, 0.5]), name="A")
    >>> display.curves["A"].coverage.round(2), display.curves["A"].risk.round(2)
    (array([0.17, 0.33, 0.5 , 0.83, 1.  ]), array([0.  , 0.  , 0.  , 0.2 , 0.33]))
    """

    curves: Mapping[str, RiskCoverageCurve]
    _legend_beside: ClassVar[bool] = False

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        application: Application,
        *,
        name: str | None = None,
        labels: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of log-likelihoods; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true : array of labels of shape (n,)
        scores : array of shape (n, n_classes), or (n,) for two classes' llrs, or mapping {name: scores}
            Log-likelihoods, with columns in the order of ``labels``.
        application : Application
            Priors and costs. A reject cost has no effect.
        name : str, optional
            Name of a single system.
        labels : sequence of labels, optional
            The classes in column order; by default, the sorted classes of ``y_true``.
        sample_weight : array of shape (n,), optional
            Frequency weights.
        """
        options = {"labels": labels, "sample_weight": sample_weight}
        systems = name_scores(scores, name)
        return cls(
            {key: risk_coverage_curve(y_true, values, application, **options) for key, values in systems.items()}
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        application: Application,
        *,
        name: str | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of fitted estimators; nothing is drawn until ``plot``.

        Parameters
        ----------
        estimator : fitted classifier, or mapping {name: classifier}
            The classifier's scores are its ``log_likelihood``, or else its ``decision_function``.
        X : array or frame of shape (n, n_features)
        y : array of labels of shape (n,)
        application, name, sample_weight
            As for ``from_predictions``. By default, a single system has the name of the estimator's class.
        """
        curves = {}
        for key, system in name_estimators(estimator, name).items():
            classes, scores = score_classes(system, X, y)
            curves[key] = risk_coverage_curve(y, scores, application, labels=classes, sample_weight=sample_weight)
        return cls(curves)

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        traces = [
            Trace(name, {"": (curve.coverage, curve.risk)}, f"cost {curve.risk[-1]:.3g} if all are decided")
            for name, curve in self.curves.items()
        ]
        curves.draw_risk_coverage(canvas, traces)
