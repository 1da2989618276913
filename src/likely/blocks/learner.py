"""Base classes of estimators that learn from a source, and of those that learn by adding up statistics.

Every fitting method is atomic: an error leaves the estimator unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    ABSENT,
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
    """Base class of estimators that learn from a source; a subclass defines ``_learn``."""

    by_class: ClassVar[bool] = False
    """Whether labels are needed."""
    fits_are_isolated: ClassVar[bool] = True
    """Whether fitting uses no global state and ``fit_transform`` equals ``fit`` followed by ``transform``.
    Cross-validation may then share fits and use threads."""

    def _learn(self, source: Source) -> None:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory; an error leaves the estimator unchanged.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : array of labels of shape (n,), if the estimator learns from classes
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
        """Fit to the rows of a source; an error leaves the estimator unchanged."""
        with all_or_nothing(self):
            check_parameters(self)
            self._learn(self._open_source(source))
        return self

    def _source(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        first: bool = True,
        encode: Callable[[Labels], tuple[Labels, Integers]] = encode_labels,
    ) -> ArraySource:
        """Return validated rows as a source; ``encode`` returns the classes and the class code of each label."""
        rows, labels, weight, kept = check_training(self, self._name(), X, y, sample_weight, first, self.by_class)
        classes, codes = (None, None) if labels is None else encode(labels)
        return ArraySource(rows, codes, weight, classes, block_rows=self._block_rows(rows), positions=kept)

    def _block_rows(self, X: Rows) -> int | None:
        """Return the maximum number of rows of a block, in row order; None lets the source decide."""
        return None

    def _open_source(self, source: Source) -> Source:
        """Check that the source has classes if they are needed, and replace the columns of an earlier fit."""
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
    """Fitted state of an additive learner: the sum over rows, and the parameters estimated from it.

    A subclass for each learner declares the types of ``statistics_`` and ``_parameters``.

    Parameters
    ----------
    statistics_ : statistic
        The sum over all training rows; ABSENT if the parameters were given.
    _parameters : frozen value, or None
        None if rows were added since parameters were last estimated.
    _announced : bool
        Whether all classes were given in the first ``partial_fit``.
    _adds_up : bool
        Whether more rows can be added to the sum.
    """

    statistics_: Any
    _parameters: Any = None
    _announced: Annotated[bool, flag] = False
    _adds_up: Annotated[bool, flag] = True


class AdditiveLearner(SourceLearner):
    """Base class of estimators whose parameters are estimated from one sum over the rows.

    The sum is kept by class if labels are needed. A subclass defines the statistic it needs (``_statistic``: a function
    of a block and its arguments) and how parameters are estimated from it (``_estimate``). ``partial_fit`` only adds to
    the sum; parameters are estimated when the model is used next. Several batches therefore give the same model as one
    fit of all rows, and a batch that is too small to estimate parameters raises no error until the model is used.
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
        """Estimate the parameters from statistics, without rows.

        If ``adds_up`` is False, no rows can be added to the statistics, and ``partial_fit`` raises an error.
        """
        with all_or_nothing(self):
            check_parameters(self)
            if classes is not None:
                self.classes_ = classes
            self.n_features_in_ = statistics.n_features
            self._state = self._State(statistics, self._estimate(statistics), _adds_up=adds_up)
        return self

    def _set_given(self, parameters: Any, n_features: int, statistics: Any = ABSENT) -> Self:
        """Set parameters that were given, not estimated; rows cannot be added to them."""
        self.n_features_in_ = n_features
        self._state = self._State(statistics, parameters, _adds_up=False)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of rows; the order and sizes of batches do not matter.

        An error leaves the model unchanged.

        Parameters
        ----------
        classes : array of labels, optional
            All classes; a label that is not among them then raises an error. By default new classes are added when they
            first occur.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            first = "_state" not in vars(self)
            if not first:
                self._check_can_add()
            source = self._source(X, y, sample_weight, first, lambda labels: self._encode(labels, classes))
            of, args = self._statistic()
            batch = source.reduce(of, *args)
            total = batch if first else self.statistics_ + batch
            announced = classes is not None or (not first and self._announced)
            self._state = self._State(total, _announced=announced and self.by_class)
        return self

    def _check_can_add(self) -> None:
        """Raise if no rows can be added to the sums, or if the parameters now need another kind of sums."""
        if self._is_given():
            raise IncompatiblePartsError(
                f"{self._name()} was made from given parameters and has no sums over rows, so partial_fit cannot add "
                "rows. Use fit, which replaces the parameters by estimates."
            )
        if not self._adds_up:
            raise IncompatiblePartsError(
                f"{self._name()} was fitted by EM to rows with missing values, so partial_fit cannot add rows. Fit all "
                "rows at once, or use covariance='diagonal'."
            )
        if self.by_class != hasattr(self.statistics_, "parts"):
            raise IncompatiblePartsError(
                f"Parameters of {self._name()} were changed after it was fitted, so partial_fit cannot add rows. Call "
                "fit again."
            )

    def _is_given(self) -> bool:
        """Return whether the parameters were given, not estimated."""
        return not hasattr(self, "statistics_")

    def _encode(self, labels: Labels, classes: Any) -> tuple[Labels, Integers]:
        """Return ``classes_``, with new labels added unless all classes were given, and the code of each label."""
        found, codes = encode_labels(labels)
        known = getattr(self, "classes_", found[:0])
        named = known if classes is None else check_labels("classes", list(classes))
        expected = np.union1d(known, named) if len(known) else np.unique(named)
        if len({_kind(labels) for labels in (known, named, found) if len(labels)}) > 1:
            raise InvalidDataError(
                f"All labels must have the same type, but {found.tolist()[0]!r} follows {expected.tolist()[0]!r}."
            )
        announced = classes is not None or ("_state" in vars(self) and self._announced)
        unknown = np.setdiff1d(found, expected if classes is None else named).tolist()
        if announced and unknown:
            raise InvalidDataError(
                f"The label {unknown[0]!r} is not among the announced classes {expected.tolist()}. "
                "Pass all classes to the first partial_fit."
            )
        merged = np.union1d(expected, found)
        # New classes change the codes of the known ones.
        if hasattr(self, "statistics_") and len(merged) > len(known):
            moved = np.searchsorted(merged, known)
            self.statistics_ = self.statistics_.regrouped(lambda code: int(moved[code]))
        self.classes_ = merged
        return merged, np.searchsorted(merged, found)[codes]

    def _get_parameters(self) -> Any:
        """Return the parameters; estimate them first if rows were added since the last use."""
        check_is_fitted(self)
        if self._parameters is None:
            try:
                check_parameters(self)
                self._state = replace(self._state, _parameters=self._estimate(self.statistics_))
            except DegenerateDataError as error:
                raise NotEnoughDataError(str(error)) from None
        return self._parameters

    def _check_state(self, scope: Scope) -> None:
        """Check the sums of a loaded model: their classes and type and, if it has parameters, that none are missing."""
        if not scope.fitted:
            return
        if not hasattr(self, "statistics_"):
            if self._parameters is None:
                raise ViolationError(
                    "must have parameters, or sums from which parameters can be estimated, but has neither"
                )
            if self._adds_up:
                raise ViolationError("must have sums to which rows can be added, but has none")
            return
        sums, pending, k = self.statistics_, self._parameters is None, scope.sizes.get("k", 0)
        by_class = isinstance(sums, ByClass)
        if by_class and max(sums.parts) >= k:
            raise ViolationError(f"has sums of the class at position {max(sums.parts)}, but has only {k} classes")
        if by_class and not pending and len(sums.parts) < k:
            raise ViolationError("must have sums of every class that has parameters, but lacks those of some class")
        first = next(iter(sums.parts.values())) if by_class else sums
        if pending and getattr(self, "needs", None) is Moments and isinstance(first, DiagonalMoments):
            raise ViolationError("needs sums of products of columns, but has only sums of squares")
        if pending and by_class != self.by_class:
            needed, found = ("by class", "of all rows") if self.by_class else ("of all rows", "by class")
            raise ViolationError(f"needs sums {needed}, but has sums {found}")


def _kind(labels: Labels) -> str:
    return "text" if labels.dtype.kind in "USOT" else "number"
