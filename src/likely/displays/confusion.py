"""Decisions counted by truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from likely._typing import Floats
from likely.decisions import Application
from likely.displays import canvas
from likely.displays.base import Display
from likely.displays.systems import decisions_of, named_estimators, named_scores
from likely.evaluation import Confusion, confusion

__all__ = ["ConfusionDisplay"]

_LEGIBLE = 20
"""More classes leave no room for numbers in the cells."""


@dataclass(eq=False, repr=False)
class ConfusionDisplay(Display):
    """Tables of truth against decision, a panel for each system, shaded by the share of each class's rows.

    Where rows were rejected, the last column holds them.

    Attributes
    ----------
    curves : dict {system: Confusion}

    Examples
    --------
    >>> display = ConfusionDisplay.from_predictions(["a", "a", "b", "b"], ["a", "b", "b", None], name="A")
    >>> display.curves["A"].counts
    array([[1., 1., 0.],
           [0., 1., 1.]])
    >>> display.frame("pyarrow").column_names
    ['system', 'truth', 'decision', 'count', 'rate']
    """

    curves: Mapping[str, Confusion]

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_decided: Any, *, name: str | None = None, labels: Any = None, sample_weight: Any = None
    ) -> Self:
        """Count decisions; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true : array of labels of shape (n,)
        y_decided : array of labels of shape (n,), or mapping {name: decisions}
            Decisions, as ``Application.decide`` makes them of scores; None where a row was rejected.
        name : str, optional
            Of a single system.
        labels : sequence of labels, optional
            All classes in the order wanted; by default those of both arrays, sorted.
        sample_weight : array of shape (n,), optional
            Frequencies.
        """
        options = {"labels": labels, "sample_weight": sample_weight}
        return cls({key: confusion(y_true, made, **options) for key, made in named_scores(y_decided, name).items()})

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        application: Application | None = None,
        labels: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Count the decisions of fitted estimators; nothing is drawn until ``plot``.

        Parameters
        ----------
        estimator : fitted classifier, or mapping {name: classifier}
        X : array or frame of shape (n, n_features)
        y : array of labels of shape (n,)
        application : Application, optional
            In which the estimators decide; by default they predict.
        name, labels, sample_weight
            As for ``from_predictions``; a single system is by default named after its class.
        """
        systems = named_estimators(estimator, name)
        made = {key: decisions_of(system, X, application) for key, system in systems.items()}
        return cls.from_predictions(y, made, labels=labels, sample_weight=sample_weight)

    def plot(self, ax: Any = None, *, color: str = canvas.COLORS[0]) -> Self:
        """Draw a table for each system.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of one for each system, optional
            By default those of a new figure, side by side.
        color : str, default blue
            Of cells that hold all rows of a class, as ``"#rrggbb"``.
        """
        for panel, name in self._begin_panels(ax):
            table = self.curves[name]
            n_shown = len(table.labels) + bool(table.counts[:, -1].any())
            rates, counts = table.rates()[:, :n_shown], table.counts[:, :n_shown]
            panel.imshow(_shaded(rates, color), aspect="auto" if n_shown > _LEGIBLE else "equal")
            _label_axes(panel, table, n_shown)
            if n_shown <= _LEGIBLE:
                _write_cells(panel, counts, rates)
        return self

    def _figure_size(self) -> tuple[float, float]:
        side = float(np.clip(1.4 + 0.58 * max(len(table.labels) for table in self.curves.values()), 3.4, 12))
        return side + 0.9, side

    def _columns(self, name: str) -> dict[str, Any]:
        table = self.curves[name]
        labels = table.labels.tolist()
        decisions = [*labels, None] if table.counts[:, -1].any() else labels
        return {
            "truth": [truth for truth in labels for _ in decisions],
            "decision": decisions * len(labels),
            "count": table.counts[:, : len(decisions)].ravel(),
            "rate": table.rates()[:, : len(decisions)].ravel(),
        }


def _shaded(rates: Floats, color: str) -> Floats:
    """Cells between white and the colour."""
    return np.array([[canvas.light(color, 0.9 * rate) for rate in row] for row in rates])


def _label_axes(ax: Any, table: Confusion, n_shown: int) -> None:
    labels = [str(label) for label in table.labels.tolist()]
    ax.set(xlabel="Decision", ylabel="Truth")
    shown = [*labels, "rejected"][:n_shown]
    crowded = n_shown > _LEGIBLE or max(map(len, shown)) > max(8, 42 / n_shown)
    ax.set_xticks(range(n_shown), shown, rotation=90 if crowded else 0)
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(length=0, labelsize=9 if n_shown <= _LEGIBLE else 6)
    ax.spines[:].set_visible(False)
    if n_shown > len(labels):
        ax.axvline(len(labels) - 0.5, color="white", linewidth=4)


def _write_cells(ax: Any, counts: Floats, rates: Floats) -> None:
    """Count and, below it, share of the class."""
    size = float(np.clip(60 / counts.shape[1], 7, 11))
    for (i, j), count in np.ndenumerate(counts):
        ink = "white" if rates[i, j] > 0.8 else canvas.INK
        text = _count(count) + ("" if counts.shape[1] > 12 or count == 0 else f"\n{100 * rates[i, j]:.1f} %")
        ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)


def _count(count: float) -> str:
    return f"{count:.0f}" if count == round(count) else f"{count:.4g}"
