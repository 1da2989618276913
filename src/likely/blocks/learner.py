"""Estimators that learn from a source, and those that learn by adding up statistics: fit, instalments and sources.

Every method that learns is all or nothing: an error leaves the estimator in its earlier state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    Constraints,
    Scope,
    ViolationError,
    check_parameters,
    class_labels,
    flag,
    optional,
)
from likely._fitted import INPUTS, Fitted, all_or_nothing
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
from likely.statistics import ByClass, DiagonalMoments, Moments


class SourceLearner(Fitted, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators that learn from a source; a subclass says how (``_learn``)."""

    by_class: ClassVar[bool] = False
    """Whether labels are needed."""
    fits_are_isolated: ClassVar[bool] = True
    """Fitting uses no global state, and ``fit_transform`` is ``fit`` and ``transform``: cross-validation may share fits
    and use threads."""

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
            check_parameters(self)
            self._learn(self._source(X, y, sample_weight))
        return self

    def fit_source(self, source: Source) -> Self:
        """Learn from the rows of a source, wherever they are; an error leaves the estimator as it was."""
        with all_or_nothing(self):
            check_parameters(self)
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


@dataclass(frozen=True, eq=False)
class AdditiveState:
    """What an additive learner keeps: the sum, and the parameters that follow from it.

    A subclass for each learner declares what ``statistics_`` and ``_parameters`` must be.

    Parameters
    ----------
    statistics_ : statistic
        The sum over all rows learned from.
    _parameters : frozen value, or None
        None where instalments have come since parameters were last estimated.
    _announced : bool
        Whether all classes were named in the first ``partial_fit``.
    _adds_up : bool
        Whether the sum is one that further rows can be added to.
    """

    statistics_: Any
    _parameters: Any = None
    _announced: Annotated[bool, flag] = False
    _adds_up: Annotated[bool, flag] = True


class AdditiveLearner(SourceLearner):
    """Base of the estimators whose parameters follow from one sum over the rows, kept by class where labels are needed.

    A subclass says which statistic it needs (``_statistic``: a function of a block and its arguments) and how
    parameters follow from it (``_estimate``). Learning in instalments keeps the sum and estimates when the model is
    next used, so instalments give what one fit of all the rows gives, and one too small to estimate from is no error
    until the model is used.
    """

    _State: ClassVar[Any] = AdditiveState
    _inputs: ClassVar[Constraints] = {**INPUTS, "classes_": optional(class_labels(1))}
    _state: Any
    classes_: Labels
    statistics_: Any

    def _statistic(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        raise NotImplementedError

    def _estimate(self, statistics: Any) -> Any:
        raise NotImplementedError

    def _learn(self, source: Source) -> None:
        of, args = self._statistic()
        self.estimate(source.reduce(of, *args), source.classes)

    def estimate(self, statistics: Any, classes: Labels | None = None, *, adds_up: bool = True) -> Self:
        """Learn from statistics that were added up already, without any rows.

        Unless it ``adds_up``, the sum is one that no rows can be added to, and ``partial_fit`` raises.
        """
        with all_or_nothing(self):
            check_parameters(self)
            if classes is not None:
                self.classes_ = classes
            self.n_features_in_ = statistics.n_features
            self._state = self._State(statistics, self._estimate(statistics), _adds_up=adds_up)
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
            check_parameters(self)
            first = "_state" not in vars(self)
            if not first:
                self._check_goes_on()
            source = self._source(X, y, sample_weight, first, lambda labels: self._encoded(labels, classes))
            of, args = self._statistic()
            instalment = source.reduce(of, *args)
            total = instalment if first else self.statistics_ + instalment
            announced = classes is not None or (not first and self._announced)
            self._state = self._State(total, _announced=announced and self.by_class)
        return self

    def _check_goes_on(self) -> None:
        """Refuse to add to sums that are not of the rows as they came, or not of the kind that is now needed."""
        if not self._adds_up:
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
        announced = classes is not None or ("_state" in vars(self) and self._announced)
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
        self.classes_ = merged
        return merged, np.searchsorted(merged, found)[codes]

    def _learned(self) -> Any:
        """The parameters, estimated now if instalments have come since the last use."""
        check_is_fitted(self, "statistics_")
        if self._parameters is None:
            try:
                check_parameters(self)
                self._state = replace(self._state, _parameters=self._estimate(self.statistics_))
            except DegenerateDataError as error:
                raise NotEnoughDataError(str(error)) from None
        return self._parameters

    def _check_state(self, scope: Scope) -> None:
        """Check sums on loading: of the known classes, of all of them if parameters exist, and of the kind needed."""
        if not scope.fitted:
            return
        sums, pending, k = self.statistics_, self._parameters is None, scope.sizes.get("k", 0)
        by_class = isinstance(sums, ByClass)
        if by_class and max(sums.parts) >= k:
            raise ViolationError(f"has sums of a class {max(sums.parts)}, but knows {k}")
        if by_class and not pending and len(sums.parts) < k:
            raise ViolationError("has parameters of classes that it has no sums of")
        first = next(iter(sums.parts.values())) if by_class else sums
        if pending and getattr(self, "needs", None) is Moments and isinstance(first, DiagonalMoments):
            raise ViolationError("needs sums of products of columns, but has sums of squares alone")
        if pending and by_class != self.by_class:
            raise ViolationError("needs sums by class, or sums of all rows, but has the others")


def _kind(labels: Labels) -> str:
    return "text" if labels.dtype.kind in "USOT" else "number"
