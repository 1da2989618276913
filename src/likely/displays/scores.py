"""Displays of scores: reliability diagram, Tippett plot and histograms by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from likely._constraints import is_count
from likely._typing import Floats, Labels
from likely.displays.base import CurveDisplay, TrialsDisplay, make_trials
from likely.displays.canvas import INK, MatplotlibCanvas
from likely.displays.rates import as_applications
from likely.evaluation import Curve, ReliabilityCurve, TippettCurve, Trials
from likely.exceptions import InvalidParameterError
from likely.plots import curves
from likely.plots.canvas import Trace, share_axis


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(TrialsDisplay, CurveDisplay):
    """Reliability diagram: claimed against observed posteriors of the target at a prior, for each PAV block.

    The blocks are those of the best monotone map of the scores. A calibrated system lies on the diagonal. Each block is
    a horizontal piece of the line. The disc in its middle has an area proportional to the block's share of the trials.

    Attributes
    ----------
    curves : dict {system: ReliabilityCurve}
    prior : float

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = ReliabilityDisplay.from_predictions(y, llr, name="A")
    >>> display.frame("pandas")[["claimed_low", "claimed_high", "observed"]].round(2).values.tolist()
    [[0.05, 0.27, 0.0], [0.38, 0.73, 0.5], [0.88, 0.98, 1.0]]
    """

    curves: Mapping[str, ReliabilityCurve]
    prior: float = 0.5
    _size: ClassVar[tuple[float, float]] = (4.9, 4.8)
    _legend_loc: ClassVar[str] = "upper left"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        prior: float = 0.5,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        prior : float, default 0.5
            Prior of the target, with which llrs are converted to posteriors.
        y_true, scores, name, pos_label, sample_weight
            As for :meth:`BayesErrorDisplay.from_predictions`.
        """
        if not 0 < prior < 1:
            raise InvalidParameterError(
                f"prior must be in the open interval (0, 1), but is {prior!r}.", parameter="prior"
            )
        trials = make_trials(y_true, scores, name, pos_label, sample_weight)
        return cls({key: each.reliability_curve() for key, each in trials.items()}, prior)

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        traces = []
        for name, curve in self.curves.items():
            weight = curve.targets + curve.nontargets
            traces.append(Trace(name, {"": (*curve.posteriors(self.prior), weight / weight.sum())}))
        x = share_axis(1, f"Claimed posterior of the target at prior {self.prior:g} (%)")
        y = share_axis(1, f"Observed posterior at prior {self.prior:g} (%)")
        curves.draw_reliability(canvas, traces, x, y)
        canvas.add_entry("area: share of trials", linestyle="none", marker="o", alpha=0.35)

    def _columns(self, name: str) -> dict[str, Any]:
        curve = self.curves[name]
        posteriors = zip(("claimed_low", "claimed_high", "observed"), curve.posteriors(self.prior), strict=True)
        return {**curve.columns(), **dict(posteriors)}


@dataclass(eq=False, repr=False)
class TippettDisplay(TrialsDisplay, CurveDisplay):
    """Tippett plot of one or several systems: shares of targets and of nontargets whose llr is at least a value.

    Infinite llrs are drawn on the edges of the axes.

    Attributes
    ----------
    curves : dict {system: TippettCurve}

    Examples
    --------
    >>> display = TippettDisplay.from_predictions([0, 0, 1, 1], [-2.0, 1.0, 0.5, 3.0], name="A")
    >>> display.curves["A"].llr, display.curves["A"].targets
    (array([-inf, -2. ,  0.5,  1. ,  3. ]), array([1. , 1. , 1. , 0.5, 0.5]))
    """

    curves: Mapping[str, TippettCurve]

    @classmethod
    def from_predictions(
        cls, y_true: Any, scores: Any, *, name: str | None = None, pos_label: Any = None, sample_weight: Any = None
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true, scores, name, pos_label, sample_weight
            As for :meth:`BayesErrorDisplay.from_predictions`.
        """
        trials = make_trials(y_true, scores, name, pos_label, sample_weight)
        return cls({key: each.tippett_curve() for key, each in trials.items()})

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        parts = {name: (curve.llr, curve.targets, curve.nontargets) for name, curve in self.curves.items()}
        curves.draw_tippett(canvas, [Trace(name, {"": part}) for name, part in parts.items()])


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Curve):
    """Histogram of scores: share of the trials of each class in each bin.

    Attributes
    ----------
    low, high : arrays of shape (bins,)
        Ends of the bins. Only the last bin includes its upper end. Infinite scores are counted in the outer bins.
    targets, nontargets : arrays of shape (bins,)
        Shares of the trials of the class in each bin. The shares of a class sum to 1.
    """

    low: Floats
    high: Floats
    targets: Floats
    nontargets: Floats

    @classmethod
    def of(cls, trials: Trials, bins: int) -> Self:
        """Count trials in equal bins between the lowest and the highest finite score."""
        edges = np.linspace(*curves.find_finite_range([trials.llr]), bins + 1)
        scores = np.clip(trials.llr, edges[0], edges[-1])
        weight = np.ones(len(scores)) if trials.weight is None else trials.weight
        classes = trials.is_target, ~trials.is_target
        counts = [np.histogram(scores[which], edges, weights=weight[which])[0] for which in classes]
        return cls(edges[:-1], edges[1:], *(np.asarray(count / count.sum()) for count in counts))


@dataclass(eq=False, repr=False)
class ScoreHistogramDisplay(TrialsDisplay):
    """Histograms of the scores of targets and nontargets, with a panel for each system.

    Attributes
    ----------
    curves : dict {system: ScoreHistogram}
    classes : array of shape (2,)
        The labels of nontargets and of targets.
    infinite : dict {system: (int, int)}
        Numbers of scores equal to −∞ and ∞, which are counted in the outer bins.
    thresholds : list of float
        Thresholds of the given applications on log-likelihood ratios.

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, float("inf")]
    >>> display = ScoreHistogramDisplay.from_predictions(y, llr, name="A", bins=2)
    >>> display.curves["A"].targets.round(3), display.infinite["A"]
    (array([0., 1.]), (0, 1))
    """

    curves: Mapping[str, ScoreHistogram]
    classes: Labels
    infinite: Mapping[str, tuple[int, int]]
    thresholds: list[float] = field(default_factory=list)
    _size: ClassVar[tuple[float, float]] = (5.6, 2.9)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        bins: int = 50,
        application: Any = None,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the histograms of scores; nothing is drawn until ``plot``.

        Parameters
        ----------
        bins : int, default 50
            Number of bins.
        application : Application, effective prior, or a sequence of them, optional
            Applications whose thresholds for log-likelihood ratios are drawn as lines.
        y_true, scores, name, pos_label, sample_weight
            As for :meth:`RocDisplay.from_predictions`.
        """
        if not is_count(bins, 1, 10**6):
            raise InvalidParameterError(f"bins must be a positive integer, but is {bins!r}.", parameter="bins")
        trials = make_trials(y_true, scores, name, pos_label, sample_weight)
        classes = next(iter(trials.values())).classes
        infinite = {key: (int(np.isneginf(t.llr).sum()), int(np.isposinf(t.llr).sum())) for key, t in trials.items()}
        thresholds = [app.aligned(classes).threshold for app in as_applications(application)]
        return cls({key: ScoreHistogram.of(t, bins) for key, t in trials.items()}, classes, infinite, thresholds)

    def plot(self, ax: Any = None, *, legend: bool = True, **bars: Any) -> Self:
        """Draw a panel for each system.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of one for each system, optional
            Axes to draw on; by default those of a new figure, below each other.
        legend : bool, default True
            Whether to draw a legend.
        **bars
            Options of matplotlib's bars.
        """
        own, last = ax is None, list(self.curves)[-1]
        labels = [f"{kind} ({label})" for kind, label in zip(("nontargets", "targets"), self.classes, strict=True)]
        for i, (panel, name) in enumerate(self._begin_panels(ax, by_row=False, beside=legend)):
            canvas, curve = MatplotlibCanvas(panel, bars), self.curves[name]
            edges = np.append(curve.low, curve.high[-1])
            title = ("Score" if name == last else "") + self._describe_infinite(name, below_label=name == last)
            curves.draw_histograms(canvas, edges, [curve.nontargets, curve.targets], labels, title)
            self._draw_thresholds(canvas)
            if legend and i == 0:
                canvas.legend(beside=own)
        return self

    def _draw_thresholds(self, canvas: MatplotlibCanvas) -> None:
        for i, threshold in enumerate(t for t in self.thresholds if np.isfinite(t)):
            style = {"color": INK, "linewidth": 1.2, "linestyle": ("-", "--", ":", "-.")[i % 4]}
            low, high = canvas.ax.get_xlim()
            canvas.ax.set_xlim(min(low, threshold), max(high, threshold))
            canvas.ax.axvline(threshold, **style)
            canvas.add_entry(f"threshold at effective prior {expit(-threshold):.3g}", **style)

    def _describe_infinite(self, name: str, below_label: bool) -> str:
        """Return a text about the infinite scores of a system that are counted in the outer bars, or an empty text."""
        counts = zip(self.infinite[name], ("−∞", "∞"), strict=True)
        held = " and ".join(f"{count} of {what}" for count, what in counts if count)
        if not held:
            return ""
        return ("\n" if below_label else "") + f"(the outer bars include infinite scores: {held})"
