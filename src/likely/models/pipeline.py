"""Chains of features that end in a model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import numpy as np
import sklearn.pipeline
from sklearn import get_config
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from likely._typing import Floats, Labels
from likely.blocks import AdditiveLearner, Source, all_or_nothing
from likely.decisions import Application
from likely.densities import class_moments, moments
from likely.exceptions import IncompatiblePartsError, InvalidParameterError, MissingValuesError, SourceError
from likely.resampling.chains import estimate_chain, fits_in_memory, is_mappable, needs_of, steps_of
from likely.statistics import ByClass, Moments

__all__ = ["Pipeline", "make_pipeline"]


def _last_has(name: str) -> Callable[[Any], bool]:
    return lambda pipeline: hasattr(pipeline.steps[-1][1], name)


class Pipeline(sklearn.pipeline.Pipeline):  # type: ignore[misc]
    """scikit-learn's pipeline, passing on evidence, decisions, weights and instalments.

    Chains of this library's linear features and Gaussian models learn from sums: the moments of the input are added up
    by class, and every step is estimated from the moments that the steps before it would pass on, without seeing a row
    twice. So ``partial_fit`` and ``fit_source`` are exact for them. Other chains are fitted step by step.

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
        """Fit every step on what the steps before it pass on; weights go to all steps.

        An error leaves the pipeline as it was.
        """
        with all_or_nothing(self, *steps_of(self)):
            if params or not self._learns_from_sums() or not self._fit_sums(X, y, sample_weight):
                self.__dict__.pop("_sums", None)
                if sample_weight is not None:
                    params |= self._weights_by_step(sample_weight)
                super().fit(X, y, **params)
        return self

    def _fit_sums(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Learn from sums, unless they need too much memory or rows that are complete."""
        with suppress(MissingValuesError, _TooLargeError), all_or_nothing(self, *steps_of(self)):
            self._sums = _ChainSums(self).fit(X, y, sample_weight)
            return True
        return False

    @available_if(_last_has("transform"))  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit, and map the rows through all steps."""
        return self.fit(X, y, **params).transform(X)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more instalment; parameters as for :meth:`likely.GaussianClassifier.partial_fit`.

        The steps are estimated when the pipeline is next used.
        """
        if "_sums" not in self.__dict__ and self.__sklearn_is_fitted__():
            raise IncompatiblePartsError(
                "This pipeline was fitted step by step, which leaves no sums that more rows could be added to. "
                "Learn the first instalment by partial_fit too."
            )
        self._sums = self.__dict__.get("_sums", _ChainSums(self)).partial_fit(X, y, classes, sample_weight)
        for step in steps_of(self):
            step.__dict__.pop("statistics_", None)
        return self

    def fit_source(self, source: Source) -> Self:
        """Learn from the rows of a source, wherever they are, in one pass."""
        with all_or_nothing(self, *steps_of(self)):
            self._sums = _ChainSums(self).fit_source(source)
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

    def _learns_from_sums(self) -> bool:
        """Whether the whole chain follows from moments; what scikit-learn would refuse or watch is left to it."""
        names = [name for name, _ in self.steps]
        well_named = len(set(names)) == len(names) and not any("__" in name for name in names)
        routed = get_config()["enable_metadata_routing"]
        return self.memory is None and not self.verbose and well_named and not routed and is_mappable(steps_of(self))

    def _weights_by_step(self, sample_weight: Any) -> dict[str, Any]:
        if get_config()["enable_metadata_routing"]:
            return {"sample_weight": sample_weight}
        steps = [(name, step) for name, step in self.steps if step not in (None, "passthrough")]
        for name, step in steps:
            if not has_fit_parameter(step, "sample_weight"):
                raise InvalidParameterError(
                    f"The step {name!r} ({type(step).__name__}) takes no sample_weight, so the chain cannot be fitted "
                    f"with weights. To weight other steps, pass them by name, as in {self.steps[-1][0]}__sample_weight."
                )
        return {f"{name}__sample_weight": sample_weight for name, _ in steps}

    def _bring_up_to_date(self) -> None:
        """Estimate the steps from the sums, if there are any and they suffice."""
        if "_sums" in self.__dict__:
            with suppress(NotFittedError):
                self._sums.bring_up_to_date()

    @property
    def named_steps(self) -> Any:
        """The steps by name, up to date."""
        self._bring_up_to_date()
        return super().named_steps

    def __getitem__(self, which: Any) -> Any:
        """A step, or a part of the chain, up to date."""
        self._bring_up_to_date()
        return super().__getitem__(which)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of what the last step gives."""
        self._bring_up_to_date()
        return super().get_feature_names_out(input_features)

    @property
    def n_features_in_(self) -> int:
        """Number of features of the input."""
        return int(self._sums.n_features_in_ if "_sums" in self.__dict__ else super().n_features_in_)

    @property
    def classes_(self) -> Labels:
        """The classes, of which there may be more with the next instalment."""
        return np.asarray(self._sums.classes_ if "_sums" in self.__dict__ else super().classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = all(get_tags(step).input_tags.allow_nan for step in steps_of(self))
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # scikit-learn asks before every use: the moment to estimate from the instalments that have come since.
        if "_sums" in self.__dict__:
            self._sums.bring_up_to_date()
        return bool(super().__sklearn_is_fitted__())


class _TooLargeError(SourceError):
    """The moments of a chain's input would take too much memory."""


class _ChainSums(AdditiveLearner):
    """The sums of a whole chain: moments of its input, from which every step is estimated in turn."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        """Whether any step learns from labels."""
        return any(getattr(step, "by_class", False) for step in steps_of(self.pipeline))

    def bring_up_to_date(self) -> None:
        """Estimate the steps, if rows have come or steps were replaced since they last were."""
        if any(not hasattr(step, "statistics_") for step in steps_of(self.pipeline)):
            self._parameters = None
        self._learned()

    def _learn(self, source: Source) -> None:
        n_cells = 1 if source.classes is None else len(source.classes)
        if not fits_in_memory(needs_of(steps_of(self.pipeline)), n_cells, source.n_features):
            raise _TooLargeError(f"The moments of {n_cells} classes of {source.n_features} features exceed the memory.")
        super()._learn(source)

    def _statistic(self) -> Any:
        return (class_moments if self.by_class else moments), (needs_of(steps_of(self.pipeline)),)

    def _estimate(self, statistics: Any) -> Any:
        steps = steps_of(self.pipeline)
        needs = needs_of(steps)
        by_class = statistics if isinstance(statistics, ByClass) else ByClass({0: statistics})
        enough = isinstance(statistics, ByClass) or not self.by_class
        if not enough or (needs is Moments and not isinstance(by_class.total(), Moments)):
            raise IncompatiblePartsError(
                "Steps were put in that need more than what was learned of the rows; the pipeline must be fitted anew."
            )
        estimate_chain(steps, by_class, getattr(self, "classes_", None))
        _pass_names_on(steps, getattr(self, "feature_names_in_", None))
        return steps

    def _name(self) -> str:
        return "Pipeline"


def _pass_names_on(steps: list[Any], names: Any) -> None:
    """Let every step remember the column names it will be given, if it will be given any."""
    for step in steps:
        step.__dict__.pop("feature_names_in_", None)
        if names is not None:
            step.feature_names_in_ = names
        own = vars(step).get("_sklearn_output_config", {})
        named = own.get("transform", get_config()["transform_output"]) != "default"
        names = step.get_feature_names_out() if named and step is not steps[-1] else None


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> Pipeline:
    """A :class:`Pipeline` whose steps are named after their classes.

    Parameters
    ----------
    *steps : features, and a model as the last
    memory, verbose
        As in scikit-learn.

    Examples
    --------
    >>> from likely import PCA, NearestMeanClassifier
    >>> list(make_pipeline(PCA(2), NearestMeanClassifier()).named_steps)
    ['pca', 'nearestmeanclassifier']
    """
    named = sklearn.pipeline.make_pipeline(*steps)
    return Pipeline(named.steps, memory=memory, verbose=verbose)
