"""Normalised costs over all applications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

from scipy.special import expit

from likely.displays import canvas
from likely.displays.actual_and_minimum import CostsDisplay
from likely.displays.base import trials_of
from likely.displays.systems import named_scores
from likely.evaluation import BayesErrorCurve, Interval, actual_dcf, intervals, min_dcf
from likely.exceptions import InvalidParameterError

__all__ = ["BayesErrorDisplay"]


@dataclass(eq=False, repr=False)
class BayesErrorDisplay(CostsDisplay):
    """Normalised actual and minimum costs of one or several systems, against the applications' prior log-odds.

    Attributes
    ----------
    curves : dict {system: BayesErrorCurve}
    bands : dict {system: {"actual": Interval, "minimum": Interval}}
        Bootstrap intervals at each point; empty unless ``n_resamples`` was given.

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = BayesErrorDisplay.from_predictions(y, llr, name="A", prior_log_odds=[-1.0, 0.0, 2.0])
    >>> display.curves["A"].actual.round(3), display.curves["A"].minimum.round(3)
    (array([1.239, 0.667, 0.667]), array([0.333, 0.333, 0.333]))
    """

    curves: Mapping[str, BayesErrorCurve]
    bands: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    _labels: ClassVar[tuple[str, str]] = (
        "Prior log-odds of the application (misses matter more →)",
        "Normalised cost",
    )
    _worth_seeing: ClassVar[float] = 1.3

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
            Of a single system.
        prior_log_odds : array of shape (points,), optional
            By default 101 from −5 to 5.
        n_resamples : int, optional
            Compute bootstrap bands from so many resamples; 1000 are usual, and take some seconds for each system.
        groups : array of labels of shape (n,), optional
            Rows that are drawn together, such as those of a speaker.
        level : float, default 0.95
            Confidence of the bands, point by point.
        pos_label, sample_weight
            As for :meth:`RocDisplay.from_predictions`.
        """
        if n_resamples is None and groups is not None:
            raise InvalidParameterError("groups are for bootstrap bands. Ask for these by n_resamples=1000.")
        trials = trials_of(y_true, scores, name, pos_label, sample_weight)
        curves = {key: each.bayes_error(prior_log_odds) for key, each in trials.items()}
        if n_resamples is None:
            return cls(curves)
        odds = next(iter(curves.values())).prior_log_odds
        measures = {
            "actual": partial(actual_dcf, applications=expit(odds), pos_label=pos_label),
            "minimum": partial(min_dcf, applications=expit(odds), pos_label=pos_label),
        }
        options = {"groups": groups, "sample_weight": sample_weight, "n_resamples": n_resamples, "level": level}
        systems = named_scores(scores, name).items()
        return cls(curves, {key: intervals(measures, y_true, values, **options) for key, values in systems})

    def _draw_system(self, ax: Any, name: str, line: dict[str, Any]) -> None:
        super()._draw_system(ax, name, line)
        for kind, alpha in (("actual", 0.2), ("minimum", 0.12)):
            band = self.bands.get(name, {}).get(kind)
            if band is not None:
                ax.fill_between(self._x(name), band.low, band.high, color=line["color"], alpha=alpha, linewidth=0)

    def _draw_reference(self, ax: Any) -> list[Any]:
        style = {"color": canvas.QUIET, "linestyle": ":", "linewidth": 1.2}
        ax.axhline(1.0, zorder=1, **style)
        return [canvas.proxy("best decision without scores", **style)]

    def _top(self, highest: float) -> float:
        return min(max(1.05 * highest, 1.1), self._worth_seeing)

    def _columns(self, name: str) -> dict[str, Any]:
        bands = self.bands.get(name, {})
        ends = {f"{kind}_{end}": getattr(band, end) for kind, band in bands.items() for end in ("low", "high")}
        return {**super()._columns(name), **ends}
