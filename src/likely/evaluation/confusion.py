"""Confusion matrices, and the rates and costs computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._html import html_table
from likely._typing import Floats, Integers, Labels
from likely._validation import check_labels, check_weight
from likely.decisions import Application, as_application
from likely.evaluation.truth import check_lengths, codes_of
from likely.exceptions import InvalidDataError


@dataclass(frozen=True, eq=False)
class Confusion:
    """Confusion matrix: decisions counted by true class, with rejections.

    A rejected row is neither right nor wrong, so accuracy, error rate and rejection rate add up to 1. Rates by class
    compare each class with all others, in the order of ``labels``; for two classes the second entry is the target's.

    Attributes
    ----------
    labels : array of shape (n_classes,)
    counts : array of shape (n_classes, n_classes + 1)
        ``counts[truth, decision]``, with the rejected rows in the last column.

    Examples
    --------
    >>> table = confusion(["a", "a", "b", "b", "b"], ["a", "b", "b", "b", None])
    >>> table.counts
    array([[1., 1., 0.],
           [0., 2., 1.]])
    >>> table.accuracy, table.error_rate, table.rejection_rate
    (0.6, 0.2, 0.2)
    >>> table.recall.round(3), table.precision.round(3)
    (array([0.5  , 0.667]), array([1.   , 0.667]))
    """

    labels: Labels
    counts: Floats

    def _repr_html_(self) -> str:
        rejects = bool(self.counts[:, -1].any())
        header = ["truth", *(f"decided {label}" for label in self.labels.tolist()), *(["rejected"] if rejects else [])]
        counts = self.counts if rejects else self.counts[:, :-1]
        rows = [
            [label, *(f"{count:g}" for count in row)] for label, row in zip(self.labels.tolist(), counts, strict=True)
        ]
        rates = f"Accuracy {self.accuracy:.3g}, error rate {self.error_rate:.3g}"
        return html_table(
            "Confusion", header, rows, rates + (f", rejected {self.rejection_rate:.3g}." if rejects else ".")
        )

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows decided correctly."""
        return float(self._right.sum() / self.total)

    @property
    def rejection_rate(self) -> float:
        """Share of the rows that were rejected."""
        return float(self.counts[:, -1].sum() / self.total)

    @property
    def error_rate(self) -> float:
        """Share of the rows decided wrongly."""
        return float((self.counts[:, :-1].sum() - self._right.sum()) / self.total)

    @property
    def tpr(self) -> Floats:
        """True positive rate (recall, sensitivity): share of each class's rows that were decided correctly."""
        return _share(self._right, self._truths)

    @property
    def fnr(self) -> Floats:
        """False negative rate: share of each class's rows that were decided to be of another class.

        For each class, ``fnr``, ``tpr`` and the share of rejected rows add up to 1.
        """
        return _share(self.counts[:, :-1].sum(axis=1) - self._right, self._truths)

    @property
    def fpr(self) -> Floats:
        """False positive rate: for each class, the share of all other rows that were decided to be of the class."""
        return _share(self._decided - self._right, self.total - self._truths)

    @property
    def tnr(self) -> Floats:
        """True negative rate: for each class, the share of all other rows that were decided to be of another class."""
        others = self.counts[:, :-1].sum() - self.counts[:, :-1].sum(axis=1) - (self._decided - self._right)
        return _share(others, self.total - self._truths)

    @property
    def recall(self) -> Floats:
        """Recall of each class, the same as ``tpr``."""
        return self.tpr

    @property
    def precision(self) -> Floats:
        """Share of the decisions for each class that are correct; 0 if no decision is for it, as in scikit-learn."""
        return _share(self._right, self._decided)

    @property
    def f1(self) -> Floats:
        """Harmonic mean of precision and recall of each class; 0 if no row and no decision is of that class."""
        return _share(2 * self._right, self._truths + self._decided)

    def rates(self) -> Floats:
        """Return the counts as shares of each class's rows, in the shape of ``counts``; 0 for a class without rows."""
        return _share(self.counts, self._truths[:, None])

    def weighted_error(self, priors: Sequence[float] | Mapping[Any, float] | Floats | None = None) -> float:
        """Return the mean of the error rates of the classes, weighted by priors; by default the priors are equal."""
        application = Application.equal(len(self.labels)) if priors is None else Application(priors)
        return float(self._application(application).priors @ self.fnr)

    def risk(self, application: Application | float, normalize: bool = True) -> float:
        """Return the expected cost of the decisions in an application.

        By default the expected cost is divided by the cost of the best constant decision.
        """
        aligned = self._application(application)
        return aligned.risk(self.rates()) / (aligned.constant_cost if normalize else 1.0)

    def _application(self, value: Any) -> Application:
        application = as_application(value).aligned(self.labels)
        absent = np.flatnonzero((application.priors > 0) & (self._truths == 0))
        if len(absent):
            raise InvalidDataError(
                f"Every class with a prior above 0 must have rows, but class {self.labels.tolist()[absent[0]]!r} of "
                "the application has none. Add rows of that class, or set its prior to 0."
            )
        return application

    @property
    def _right(self) -> Floats:
        return np.diagonal(self.counts)

    @property
    def _truths(self) -> Floats:
        return np.asarray(self.counts.sum(axis=1))

    @property
    def _decided(self) -> Floats:
        return np.asarray(self.counts[:, :-1].sum(axis=0))


def confusion(y_true: Any, y_decided: Any, *, labels: Any = None, sample_weight: Any = None) -> Confusion:
    """Count decisions by true class.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
    y_decided : array of labels of shape (n,)
        Decisions. A rejected row has None; the array then has the type object.
    labels : sequence of labels, optional
        All classes in the required order; by default the sorted labels of both arrays.
    sample_weight : array of shape (n,), optional
        Frequencies.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> confusion([0, 0, 1], [0, 1, 1]).counts
    array([[1., 1., 0.],
           [0., 1., 0.]])
    """
    if not np.size(y_true):
        raise InvalidDataError("y_true must have rows, but is empty.")
    truth, decided = check_labels("confusion", y_true), np.asarray(y_decided)
    check_lengths("y_decided", decided, len(truth))
    rejected = np.array([label is None for label in decided], dtype=bool)
    made = truth[:0] if rejected.all() else check_labels("confusion", decided[~rejected])
    if len(made) and (truth.dtype.kind in "US") != (made.dtype.kind in "US"):
        raise InvalidDataError(f"Labels must be of one type, but y_true holds {truth[0]!r} and y_decided {made[0]!r}.")
    classes, truths = codes_of(truth, np.union1d(truth, made) if labels is None else labels)
    columns = np.full(len(truth), len(classes), dtype=np.intp)
    columns[~rejected] = codes_of(made, classes, "y_decided")[1] if len(made) else 0
    return Confusion(classes, count_decisions(truths, columns, len(classes), check_weight(sample_weight, len(truth))))


def count_decisions(truths: Integers, decisions: Integers, n_classes: int, weight: Floats | None) -> Floats:
    """Sum weights by true class and decision, in shape (n_classes, n_classes + 1).

    A rejection has the code −1 or ``n_classes``, and is counted in the last column.
    """
    cells = truths * (n_classes + 1) + decisions % (n_classes + 1)
    table = np.bincount(cells, weight, n_classes * (n_classes + 1)).reshape(n_classes, -1)
    return table.astype(np.float64)


def _share(part: Floats, whole: Any) -> Floats:
    wholes = np.broadcast_to(whole, np.shape(part))
    return np.asarray(np.divide(part, wholes, out=np.zeros(np.shape(part)), where=wholes > 0))
