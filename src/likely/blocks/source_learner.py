"""Estimators that learn from a source: rows in memory become one, and errors change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from likely._typing import Integers, Labels, Rows
from likely._validation import check_training, encode_labels
from likely.blocks.arrays import ArraySource
from likely.blocks.source import Source
from likely.exceptions import SourceError

__all__ = ["SourceLearner", "all_or_nothing"]


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
        if self.by_class and source.classes is None:
            raise SourceError(
                f"{self._name()} learns from classes, but the source has none. Give it codes and classes."
            )
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


@contextmanager
def all_or_nothing(*estimators: Any) -> Iterator[None]:
    """Whatever goes wrong inside, the estimators are afterwards as they were before."""
    before = [estimator.__dict__.copy() for estimator in estimators]
    try:
        yield
    except BaseException:
        for estimator, state in zip(estimators, before, strict=True):
            estimator.__dict__.clear()
            estimator.__dict__.update(state)
        raise
