"""Chains of features that end in a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import sklearn.pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from likely._typing import Floats, Labels
from likely.blocks import AdditiveLearner, Source
from likely.decisions import Application
from likely.densities import class_moments
from likely.exceptions import InvalidParameterError
from likely.resampling.chains import estimate_chain, needs_of, steps_of

__all__ = ["Pipeline", "make_pipeline"]


def _last_has(name: str) -> Callable[[Any], bool]:
    return lambda pipeline: hasattr(pipeline.steps[-1][1], name)


class Pipeline(sklearn.pipeline.Pipeline):  # type: ignore[misc]
    """scikit-learn's pipeline, passing on evidence, decisions, weights and instalments.

    ``partial_fit`` and ``fit_source`` are for chains of this library's linear features and Gaussian models, and exact:
    the moments of the input are added up by class, and every step is estimated from the moments that the steps before
    it would pass on, without seeing a row twice.

    Parameters
    ----------
    steps, memory, verbose
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likely import GaussianClassifier, LDA, PCA
    >>> X, y = load_iris(return_X_y=True)
    >>> chain = make_pipeline(PCA(3), LDA(), GaussianClassifier(tied=True)).fit(X, y)
    >>> chain.log_likelihood(X[:2]).shape, chain.score(X, y)
    ((2, 3), 0.9866666666666667)
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit every step on what the steps before it pass on; weights go to all steps."""
        self.__dict__.pop("_sums", None)
        if sample_weight is not None:
            params |= {f"{name}__sample_weight": sample_weight for name in self._weighted_steps()}
        super().fit(X, y, **params)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more instalment; parameters as for :meth:`likely.GaussianClassifier.partial_fit`."""
        self._chain().partial_fit(X, y, classes, sample_weight)
        return self

    def fit_source(self, source: Source) -> Self:
        """Learn from the rows of a source, wherever they are, in one pass."""
        self.__dict__.pop("_sums", None)
        self._chain().fit_source(source)
        return self

    @available_if(_last_has("log_likelihood"))  # type: ignore[untyped-decorator]
    def log_likelihood(self, X: Any) -> Floats:
        """Log-likelihoods of the last step, of shape (n, n_classes), without priors."""
        return np.asarray(self.steps[-1][1].log_likelihood(self._features(X)))

    @available_if(_last_has("llr"))  # type: ignore[untyped-decorator]
    def llr(self, X: Any) -> Floats:
        """Log-likelihood ratios of the last step, second class against first, without priors."""
        return np.asarray(self.steps[-1][1].llr(self._features(X)))

    @available_if(_last_has("decide"))  # type: ignore[untyped-decorator]
    def decide(self, X: Any, application: Application) -> Labels:
        """The decisions that cost least in an application; None, in an object array, where it rejects."""
        return np.asarray(self.steps[-1][1].decide(self._features(X), application))

    def _features(self, X: Any) -> Any:
        check_is_fitted(self)
        for step in steps_of(self)[:-1]:
            X = step.transform(X)
        return X

    def _chain(self) -> _Chain:
        if "_sums" not in self.__dict__:
            self._sums = _Chain(self)
        return self._sums

    def _weighted_steps(self) -> list[str]:
        steps = [(name, step) for name, step in self.steps if step not in (None, "passthrough")]
        for name, step in steps:
            if not has_fit_parameter(step, "sample_weight"):
                raise InvalidParameterError(
                    f"The step {name!r} ({type(step).__name__}) takes no sample_weight, so the chain cannot be fitted "
                    f"with weights. To weight other steps, pass them by name, as in {self.steps[-1][0]}__sample_weight."
                )
        return [name for name, _ in steps]

    @property
    def n_features_in_(self) -> int:
        """Number of features of the input."""
        return int(self._sums.n_features_in_ if "_sums" in self.__dict__ else super().n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = all(get_tags(step).input_tags.allow_nan for step in steps_of(self))
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # scikit-learn asks before every use: the moment to estimate from the instalments that have come since.
        if "_sums" in self.__dict__:
            self._sums._learned()
        return bool(super().__sklearn_is_fitted__())


class _Chain(AdditiveLearner):
    """The sums of a whole chain: moments of its input by class, from which every step is estimated in turn."""

    by_class = True

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def _statistic(self) -> Any:
        return class_moments, (needs_of(steps_of(self.pipeline)),)

    def _estimate(self, statistics: Any) -> Any:
        steps = steps_of(self.pipeline)
        estimate_chain(steps, statistics, self.classes_)
        if hasattr(self, "feature_names_in_"):
            steps[0].feature_names_in_ = self.feature_names_in_
        return steps


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> Pipeline:
    """A :class:`Pipeline` whose steps are named after their classes.

    Examples
    --------
    >>> from likely import PCA, NearestMeanClassifier
    >>> list(make_pipeline(PCA(2), NearestMeanClassifier()).named_steps)
    ['pca', 'nearestmeanclassifier']
    """
    named = sklearn.pipeline.make_pipeline(*steps)
    return Pipeline(named.steps, memory=memory, verbose=verbose)
