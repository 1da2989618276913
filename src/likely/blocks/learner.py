"""Estimators that learn from a source, and those that learn by adding up statistics: fit, instalments and sources.

Every method that learns is all or nothing: an error leaves the estimator in its earlier state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely._typing import Integers, Labels, Rows
from likely._validation import check_labels, check_training, encode_labels
from likely.blocks.arrays import ArraySource
from likely.blocks.source import Source
from likely.exceptions import (
    DegenerateDataError,
    IncompatiblePartsError,
    InvalidDataError,
    NotEnoughDataError,
)

__all__ = ["AdditiveLearner", "SourceLearner", "all_or_nothing"]


class SourceLearner(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators that learn from a source; a subclass says how (``_learn``)."""

    by_class: ClassVar[bool] = False
    """Whether labels are needed."""

    def _learn(self, source: Source) -> None:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in memory; an error leaves the estimator as it was.

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
        with all_or_nothing(self):
            self._learn(self._source(X, y, sample_weight))
        return self

    def fit_source(self, source: Source) -> Self:
        """Learn from the rows of a source, wherever they are; an error leaves the estimator as it was."""
        with all_or_nothing(self):
            self._learn(self._opened(source))
        return self

    def _source(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        first: bool = True,
        encode: Callable[[Labels], tuple[Labels, Integers]] = encode_labels,
    ) -> ArraySource:
        """Checked rows as a source; ``encode`` gives the classes, and each label's position among them."""
        rows, labels, weight, kept = check_training(self, self._name(), X, y, sample_weight, first, self.by_class)
        classes, codes = (None, None) if labels is None else encode(labels)
        return ArraySource(rows, codes, weight, classes, block_rows=self._block_rows(rows), positions=kept)

    def _block_rows(self, X: Rows) -> int | None:
        """Most rows of a block, which then keep their order; the source decides if this is None."""
        return None

    def _opened(self, source: Source) -> Source:
        """A source that has what is needed; columns of an earlier fit are forgotten."""
        if self.by_class:
            source.require_classes(self._name())
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = source.n_features
        return source

    def _name(self) -> str:
        return type(self).__name__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.by_class
        return tags


class AdditiveLearner(SourceLearner):
    """Base of the estimators whose parameters follow from one sum over the rows, kept by class where labels are needed.

    A subclass says which statistic it needs (``_statistic``: a function of a block and its arguments) and how
    parameters follow from it (``_estimate``). Learning in instalments keeps the sum and estimates when the model is
    next used, so instalments give what one fit of all the rows gives, and one too small to estimate from is no error
    until the model is used.
    """

    classes_: Labels

    def _statistic(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        raise NotImplementedError

    def _estimate(self, statistics: Any) -> Any:
        raise NotImplementedError

    def _learn(self, source: Source) -> None:
        of, args = self._statistic()
        self.estimate(source.reduce(of, *args), source.classes)

    def estimate(self, statistics: Any, classes: Labels | None = None) -> Self:
        """Learn from statistics that were added up already, without any rows."""
        with all_or_nothing(self):
            self.statistics_ = statistics
            self._announced, self._adds_up = False, True
            if classes is not None:
                self.classes_ = classes
            self.n_features_in_ = statistics.n_features
            self._parameters = self._estimate(statistics)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more instalment of rows; the order and sizes of instalments do not matter.

        An error leaves the model as it was.

        Parameters
        ----------
        classes : array of labels, optional
            All classes to expect; a label that is not among them is then an error. Without it classes are added as
            they come.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            first = not hasattr(self, "statistics_")
            if not first:
                self._check_goes_on()
            source = self._source(X, y, sample_weight, first, lambda labels: self._encoded(labels, classes))
            of, args = self._statistic()
            instalment = source.reduce(of, *args)
            self.statistics_ = instalment if first else self.statistics_ + instalment
            self._parameters = None
        return self

    def _check_goes_on(self) -> None:
        """Refuse to add to sums that are not of the rows as they came, or not of the kind that is now needed."""
        if not getattr(self, "_adds_up", True):
            raise IncompatiblePartsError(
                f"{self._name()} was fitted to rows with missing values by EM, whose sums no rows can be added to. "
                "Fit all rows at once, or use covariance='diagonal'."
            )
        if self.by_class != hasattr(self.statistics_, "parts"):
            raise IncompatiblePartsError(
                f"Options of {self._name()} were changed after it learned; it must be fitted anew."
            )

    def _encoded(self, labels: Labels, classes: Any) -> tuple[Labels, Integers]:
        """``classes_``, to which new labels are added unless all were announced, and each label's position there."""
        found, codes = encode_labels(labels)
        known = getattr(self, "classes_", found[:0])
        named = known if classes is None else check_labels("classes", list(classes))
        expected = np.union1d(known, named) if len(known) else np.unique(named)
        if len({_kind(labels) for labels in (known, named, found) if len(labels)}) > 1:
            raise InvalidDataError(
                f"Labels must be of one type, but {found.tolist()[0]!r} came after {expected.tolist()[0]!r}."
            )
        announced = classes is not None or getattr(self, "_announced", False)
        strangers = np.setdiff1d(found, expected if classes is None else named).tolist()
        if announced and strangers:
            raise InvalidDataError(
                f"The label {strangers[0]!r} is not among the announced classes {expected.tolist()}. "
                "Announce all classes in the first partial_fit."
            )
        merged = np.union1d(expected, found)
        if hasattr(self, "statistics_") and len(merged) > len(known):
            moved = np.searchsorted(merged, known)
            self.statistics_ = self.statistics_.regrouped(lambda code: int(moved[code]))
        self.classes_, self._announced = merged, announced
        return merged, np.searchsorted(merged, found)[codes]

    def _learned(self) -> Any:
        """The parameters, estimated now if instalments have come since the last use."""
        check_is_fitted(self, "statistics_")
        if self._parameters is None:
            try:
                self._parameters = self._estimate(self.statistics_)
            except DegenerateDataError as error:
                raise NotEnoughDataError(str(error)) from None
        return self._parameters


@contextmanager
def all_or_nothing(*estimators: Any) -> Iterator[None]:
    """Restore the attributes of the estimators if an error is raised inside."""
    before = [estimator.__dict__.copy() for estimator in estimators]
    try:
        yield
    except BaseException:
        for estimator, state in zip(estimators, before, strict=True):
            estimator.__dict__.clear()
            estimator.__dict__.update(state)
        raise


def _kind(labels: Labels) -> str:
    return "text" if labels.dtype.kind in "USOT" else "number"
