"""How often each class was decided, against the truth; everything that counts decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._typing import Floats, Integers, Labels
from likely._validation import check_labels, check_weight
from likely.decisions import Application, as_application
from likely.evaluation.truth import check_lengths, codes_of
from likely.exceptions import InvalidDataError


@dataclass(frozen=True, eq=False)
class Confusion:
    """Decisions counted by truth.

    A rejected row is neither right nor wrong, so accuracy, error rate and rejection rate add up to 1. Rates by class
    set each class against the rest, in the order of ``labels``; for two classes the second entry is the target's.

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

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows decided rightly."""
        return float(self._right.sum() / self.total)

    @property
    def rejection_rate(self) -> float:
        """Share of the rows rejected."""
        return float(self.counts[:, -1].sum() / self.total)

    @property
    def error_rate(self) -> float:
        """Share of the rows decided wrongly."""
        return float((self.counts[:, :-1].sum() - self._right.sum()) / self.total)

    @property
    def tpr(self) -> Floats:
        """Share of each class's rows that were decided so: recall, sensitivity."""
        return _share(self._right, self._truths)

    @property
    def fnr(self) -> Floats:
        """Share of each class's rows that were decided to be of another; with ``tpr`` and the rejected it makes 1."""
        return _share(self.counts[:, :-1].sum(axis=1) - self._right, self._truths)

    @property
    def fpr(self) -> Floats:
        """Share of the rows of all other classes that were decided to be of each class."""
        return _share(self._decided - self._right, self.total - self._truths)

    @property
    def tnr(self) -> Floats:
        """Share of the rows of all other classes that were decided to be of another than each class."""
        others = self.counts[:, :-1].sum() - self.counts[:, :-1].sum(axis=1) - (self._decided - self._right)
        return _share(others, self.total - self._truths)

    @property
    def recall(self) -> Floats:
        """The same as ``tpr``."""
        return self.tpr

    @property
    def precision(self) -> Floats:
        """Share of the decisions for each class that are right; 0 where there is none, as in scikit-learn."""
        return _share(self._right, self._decided)

    @property
    def f1(self) -> Floats:
        """Harmonic mean of precision and recall of each class; 0 where no row and no decision is of it."""
        return _share(2 * self._right, self._truths + self._decided)

    def rates(self) -> Floats:
        """Decisions as shares of each class's rows, of the shape of ``counts``; zeros for a class without rows."""
        return _share(self.counts, self._truths[:, None])

    def weighted_error(self, priors: Sequence[float] | Mapping[Any, float] | Floats | None = None) -> float:
        """Error rates of the classes averaged with some priors, by default equal ones."""
        application = Application.equal(len(self.labels)) if priors is None else Application(priors)
        return float(self._application(application).priors @ self.fnr)

    def risk(self, application: Application | float, normalize: bool = True) -> float:
        """Mean cost of the decisions in an application, by default as a multiple of the best constant decision's."""
        aligned = self._application(application)
        return aligned.risk(self.rates()) / (aligned.constant_cost if normalize else 1.0)

    def _application(self, value: Any) -> Application:
        application = as_application(value).aligned(self.labels)
        absent = np.flatnonzero((application.priors > 0) & (self._truths == 0))
        if len(absent):
            raise InvalidDataError(
                f"The application expects the class {self.labels.tolist()[absent[0]]!r}, of which no row was judged."
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
    """Count decisions by truth.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
    y_decided : array of labels of shape (n,)
        None, in an object array, where a row was rejected.
    labels : sequence of labels, optional
        All classes in the order wanted; by default those of both arrays, sorted.
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
        raise InvalidDataError("There is nothing to count: y_true is empty.")
    truth, decided = check_labels("confusion", y_true), np.asarray(y_decided)
    check_lengths("y_decided", decided, len(truth))
    rejected = np.array([label is None for label in decided], dtype=bool)
    made = truth[:0] if rejected.all() else check_labels("confusion", decided[~rejected])
    if len(made) and (truth.dtype.kind in "US") != (made.dtype.kind in "US"):
        raise InvalidDataError(f"Labels must be of one type, but y_true holds {truth[0]!r} and y_decided {made[0]!r}.")
    classes, truths = codes_of(truth, np.union1d(truth, made) if labels is None else labels)
    columns = np.full(len(truth), len(classes), dtype=np.intp)
    columns[~rejected] = codes_of(made, classes, "y_decided")[1] if len(made) else 0
    return Confusion(classes, count(truths, columns, len(classes), check_weight(sample_weight, len(truth))))


def count(truths: Integers, decisions: Integers, n_classes: int, weight: Floats | None) -> Floats:
    """Weight by truth and decision, of shape (n_classes, n_classes + 1); rejected is the last decision, or −1."""
    cells = truths * (n_classes + 1) + decisions % (n_classes + 1)
    table = np.bincount(cells, weight, n_classes * (n_classes + 1)).reshape(n_classes, -1)
    return table.astype(np.float64)


def _share(part: Floats, whole: Any) -> Floats:
    wholes = np.broadcast_to(whole, np.shape(part))
    return np.asarray(np.divide(part, wholes, out=np.zeros(np.shape(part)), where=wholes > 0))
