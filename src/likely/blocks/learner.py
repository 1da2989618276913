"""Estimators that learn by adding up statistics: fit, instalments and sources, written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely._typing import Integers, Labels
from likely._validation import check_training, encode_labels
from likely.blocks.arrays import ArraySource
from likely.blocks.source import Source
from likely.exceptions import InvalidDataError

__all__ = ["AdditiveLearner"]


class AdditiveLearner(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators whose parameters follow from one sum over the rows.

    A subclass says which statistic it needs (``_statistic``: a function of a block and its arguments) and how
    parameters follow from it (``_estimate``). Learning in instalments keeps the sum and estimates when the model is
    next used, so instalments give what one fit of all the rows gives, and one too small to estimate from is no error
    until the model is used.
    """

    by_class: ClassVar[bool] = False
    """Whether the statistic is kept apart by class, so that labels are needed."""

    classes_: Labels

    def _statistic(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        raise NotImplementedError

    def _estimate(self, statistics: Any) -> Any:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in memory.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : array of labels of shape (n,), where the estimator learns from classes
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        self
        """
        rows, labels, weight = check_training(self, X, y, sample_weight, supervised=self.by_class)
        classes, codes = (None, None) if labels is None else encode_labels(labels)
        return self.fit_source(ArraySource(rows, codes, weight, classes))

    def fit_source(self, source: Source) -> Self:
        """Learn from the rows of a source, wherever they are."""
        of, args = self._statistic()
        statistics = source.reduce(of, *args)
        self.__dict__.pop("_announced", None)
        return self.estimate(statistics, source.classes)

    def estimate(self, statistics: Any, classes: Labels | None = None) -> Self:
        """Learn from statistics that were added up already, without any rows."""
        self.statistics_ = statistics
        if classes is not None:
            self.classes_ = classes
        self.n_features_in_ = statistics.n_features
        self._parameters = self._estimate(statistics)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more instalment of rows; the order and sizes of instalments do not matter.

        Parameters
        ----------
        classes : array of labels, optional
            The classes to expect, in the first call; a later label that is not among them is an error. Without it
            classes are added as they come.

        Returns
        -------
        self
        """
        first = not hasattr(self, "statistics_")
        rows, labels, weight = check_training(self, X, y, sample_weight, reset=first, supervised=self.by_class)
        codes = None if labels is None else self._codes_of(labels, classes, first)
        of, args = self._statistic()
        instalment = ArraySource(rows, codes, weight).reduce(of, *args)
        self.statistics_ = instalment if first else self.statistics_ + instalment
        self._parameters = None
        return self

    def _codes_of(self, labels: Labels, classes: Any, first: bool) -> Integers:
        """Positions of the labels in ``classes_``, to which new labels are added unless all were announced."""
        if first:
            self._announced = classes is not None
            self.classes_ = np.unique(classes) if self._announced else np.unique(labels)
        found, codes = encode_labels(labels)
        merged = np.union1d(self.classes_, found)
        if len(merged) > len(self.classes_):
            if getattr(self, "_announced", False):
                stranger = np.setdiff1d(found, self.classes_).tolist()[0]
                raise InvalidDataError(
                    f"The label {stranger!r} is not among the announced classes {self.classes_.tolist()}. "
                    "Announce all classes in the first partial_fit."
                )
            moved = np.searchsorted(merged, self.classes_)
            if not first:
                self.statistics_ = self.statistics_.regrouped(lambda code: int(moved[code]))
            self.classes_ = merged
        return np.searchsorted(merged, found)[codes]

    def _learned(self) -> Any:
        """The parameters, estimated now if instalments have come since the last use."""
        check_is_fitted(self, "statistics_")
        if self._parameters is None:
            self._parameters = self._estimate(self.statistics_)
        return self._parameters
