"""What is paid for the rows that are decided, when the least certain ones are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from likely.decisions import Application
from likely.displays import canvas
from likely.displays.base import Display, draw_line
from likely.displays.systems import evidence_of, named_estimators, named_scores
from likely.evaluation import RiskCoverageCurve, risk_coverage

__all__ = ["RiskCoverageDisplay"]


@dataclass(eq=False, repr=False)
class RiskCoverageDisplay(Display):
    """Cost of the decided rows of one or several systems against their share, for any number of classes.

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
        """Compute the curves of evidence; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true : array of labels of shape (n,)
        scores : array of shape (n, n_classes), or (n,) for two classes' llrs, or mapping {name: scores}
            Log-likelihoods, columns in the order of ``labels``.
        application : Application
            Its priors and costs; its own reject cost, if any, plays no part.
        name : str, optional
            Of a single system.
        labels : sequence of labels, optional
            The classes in column order; by default those of ``y_true``, sorted.
        sample_weight : array of shape (n,), optional
            Frequencies.
        """
        options = {"labels": labels, "sample_weight": sample_weight}
        systems = named_scores(scores, name)
        return cls({key: risk_coverage(y_true, values, application, **options) for key, values in systems.items()})

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
            It is asked for its ``log_likelihood``, or, if it has none, for ``decision_function``.
        X : array or frame of shape (n, n_features)
        y : array of labels of shape (n,)
        application, name, sample_weight
            As for ``from_predictions``; a single system is by default named after its class.
        """
        curves = {}
        for key, system in named_estimators(estimator, name).items():
            classes, scores = evidence_of(system, X, y)
            curves[key] = risk_coverage(y, scores, application, labels=classes, sample_weight=sample_weight)
        return cls(curves)

    def plot(self, ax: Any = None, *, legend: bool = True, **line: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        legend : bool, default True
        **line
            Options of matplotlib's lines, for all curves.
        """
        ax = self._begin(ax)
        highest = max(float(curve.risk.max()) for curve in self.curves.values())
        ax.set(xlim=(0, 1), ylim=(0, 1.08 * highest if highest > 0 else 1.0))
        for name, curve, color in self._colored():
            label = f"{name} (cost {curve.risk[-1]:.3g} with all decided)"
            draw_line(ax, curve.coverage, curve.risk, **{"color": color, "label": label, **line})
        canvas.tidy(ax, "Share of rows decided (the most certain first)", "Mean cost of the decided rows")
        if legend:
            canvas.legend(ax)
        return self
