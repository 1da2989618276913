"""Where the scores of each class lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from likely._typing import Floats, Labels
from likely._validation import is_count
from likely.displays import canvas
from likely.displays.base import TrialsDisplay, trials_of
from likely.displays.operating_points import as_applications
from likely.displays.tippett import finite_range
from likely.evaluation import Curve, Trials
from likely.exceptions import InvalidParameterError

__all__ = ["ScoreHistogram", "ScoreHistogramDisplay"]


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Curve):
    """Shares of each class's trials by bins of scores.

    Attributes
    ----------
    low, high : arrays of shape (bins,)
        Ends of the bins, of which only the last holds its upper end. Infinite scores are counted in the outer bins.
    targets, nontargets : arrays of shape (bins,)
        Shares of the class, each adding up to 1.
    """

    low: Floats
    high: Floats
    targets: Floats
    nontargets: Floats

    @classmethod
    def of(cls, trials: Trials, bins: int) -> Self:
        """Count trials in equal bins between the least and the greatest finite score."""
        edges = np.linspace(*finite_range([trials.llr]), bins + 1)
        scores = np.clip(trials.llr, edges[0], edges[-1])
        weight = np.ones(len(scores)) if trials.weight is None else trials.weight
        counts = [np.histogram(scores[which], edges, weights=weight[which])[0] for which in _classes(trials)]
        return cls(edges[:-1], edges[1:], *(np.asarray(count / count.sum()) for count in counts))


def _classes(trials: Trials) -> tuple[Any, Any]:
    return trials.is_target, ~trials.is_target


@dataclass(eq=False, repr=False)
class ScoreHistogramDisplay(TrialsDisplay):
    """Histograms of the scores of targets and nontargets, a panel for each system.

    Attributes
    ----------
    curves : dict {system: ScoreHistogram}
    classes : array of shape (2,)
        The labels of nontargets and of targets.
    infinite : dict {system: (int, int)}
        Numbers of scores of −∞ and of ∞, which are counted in the outer bins.
    thresholds : list of float
        Of the applications asked for.

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
        """Count scores; nothing is drawn until ``plot``.

        Parameters
        ----------
        bins : int, default 50
        application : Application, effective prior, or a sequence of them, optional
            Whose thresholds, for scores that are log-likelihood ratios, are drawn as lines.
        y_true, scores, name, pos_label, sample_weight
            As for :meth:`RocDisplay.from_predictions`.
        """
        if not is_count(bins, 1, 10**6):
            raise InvalidParameterError(f"bins must be a whole number from 1 on, but is {bins!r}.")
        trials = trials_of(y_true, scores, name, pos_label, sample_weight)
        classes = next(iter(trials.values())).classes
        infinite = {key: (int(np.isneginf(t.llr).sum()), int(np.isposinf(t.llr).sum())) for key, t in trials.items()}
        thresholds = [app.aligned(classes).threshold for app in as_applications(application)]
        return cls({key: ScoreHistogram.of(t, bins) for key, t in trials.items()}, classes, infinite, thresholds)

    def plot(self, ax: Any = None, *, legend: bool = True, **bars: Any) -> Self:
        """Draw a panel for each system.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of one for each system, optional
            By default those of a new figure, below each other.
        legend : bool, default True
        **bars
            Options of matplotlib's bars.
        """
        own = ax is None
        for i, (panel, name) in enumerate(self._begin_panels(ax, by_row=False, beside=legend)):
            self._draw_bars(panel, name, bars)
            entries = self._draw_thresholds(panel)
            last = i == len(self.curves) - 1
            canvas.tidy(panel, ("Score" if last else "") + self._note(name, last), "Share of the class")
            panel.set_ylim(bottom=0)
            if legend and i == 0:
                canvas.legend(panel, entries, beside=own)
        return self

    def _draw_bars(self, ax: Any, name: str, bars: dict[str, Any]) -> None:
        curve = self.curves[name]
        labels = self.classes.tolist()
        kinds = (("nontargets", labels[0], canvas.COLORS[1]), ("targets", labels[1], canvas.COLORS[0]))
        for kind, label, color in kinds:
            options = {"color": color, "alpha": 0.5, "label": f"{kind} ({label})", **bars}
            ax.bar(curve.low, getattr(curve, kind), curve.high - curve.low, align="edge", linewidth=0, **options)

    def _draw_thresholds(self, ax: Any) -> list[Any]:
        """Lines at the thresholds; gives their entries in the legend."""
        entries = []
        for i, threshold in enumerate(t for t in self.thresholds if np.isfinite(t)):
            style = {"color": canvas.INK, "linewidth": 1.2, "linestyle": ("-", "--", ":", "-.")[i % 4]}
            ax.axvline(threshold, **style)
            entries.append(canvas.proxy(f"threshold at effective prior {expit(-threshold):.3g}", **style))
        return entries

    def _note(self, name: str, below_label: bool) -> str:
        """What the outer bars hold besides."""
        counts = zip(self.infinite[name], ("−∞", "∞"), strict=True)
        said = " and ".join(f"{count} of {what}" for count, what in counts if count)
        if not said:
            return ""
        return ("\n" if below_label else "") + f"(the outer bars also hold infinite scores: {said})"
