"""Pipeline: transformers that are applied one after another, followed by a model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import sklearn.pipeline
from sklearn import get_config
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from likely._constraints import (
    Constraint,
    Constraints,
    Scope,
    ViolationError,
    flag,
    instance_of,
    list_of,
    none_or,
    one_of,
    optional,
    show,
    text,
)
from likely._fitted import all_or_nothing
from likely._typing import Floats, Labels
from likely._validation import name_in_messages
from likely.blocks import AdditiveLearner, AdditiveState, Source, class_moments, moments
from likely.decisions import Application
from likely.exceptions import IncompatiblePartsError, InvalidParameterError, MissingValuesError, SourceError
from likely.models.base import EVIDENCE
from likely.models.streaming import expanded_width, fit_from_source, fit_large_expansion, propagate_names, score_in_runs
from likely.resampling.chains import estimate_chain, fits_in_memory, is_isolated, is_mappable, needs_of, steps_of
from likely.statistics import ByClass, DiagonalMoments, Moments


def _last_has(name: str) -> Callable[[Any], bool]:
    return lambda pipeline: hasattr(pipeline.steps[-1][1], name)


def _can_transform(pipeline: Any) -> bool:
    return pipeline.steps[-1][1] in (None, "passthrough") or hasattr(pipeline.steps[-1][1], "transform")


def _check_steps(value: Any, scope: Scope) -> None:
    if type(value) is not list or not value:
        raise ViolationError(f"must be a list of steps, but is {show(value)}")
    if not all(type(pair) is tuple and len(pair) == 2 and isinstance(pair[0], str) for pair in value):
        raise ViolationError("must be pairs of a name and a step, but one is not such a pair")
    if len({name for name, _ in value}) < len(value):
        raise ViolationError("must have unique names, but two names are equal")
    active = [step for _, step in value if not (step is None or (isinstance(step, str) and step == "passthrough"))]
    if any(not hasattr(step, "transform") for step in active[:-1]):
        raise ViolationError("must all have the method transform, except the last step, but another step lacks it")
    if active and not hasattr(active[-1], "fit"):
        raise ViolationError("must end with a model, but the last step is not a model")
    _check_widths([scope.scope_of(step) or Scope() for step in active], scope)


def _check_widths(steps: list[Scope], scope: Scope) -> None:
    """Check that each step outputs as many columns as the next step takes, where both numbers are known.

    Store in ``scope`` the sizes of the whole pipeline: its input columns, output columns and classes.
    """
    width = None
    scope.fitted = bool(steps) and steps[-1].fitted
    if scope.fitted and not all(step.fitted for step in steps):
        raise ViolationError("must all be fitted if the last step is fitted, but one step is not fitted")
    for i, step in enumerate(steps):
        d = step.sizes.get("d")
        if None not in (width, d) and width != d:
            raise ViolationError(f"must be compatible, but step {i} takes {d} columns and gets {width} columns")
        if i == 0 and d is not None:
            scope.sizes["d"] = d
        width = step.sizes.get("out")
    if steps and "k" in steps[-1].sizes:
        scope.sizes["k"] = steps[-1].sizes["k"]
    if width is not None:
        scope.sizes["out"] = width


STEPS: Constraints = {
    "steps": Constraint("a list of pairs of name and step", _check_steps),
    "transform_input": none_or(list_of(text)),
    "memory": one_of(None),
    "verbose": flag,
}
"""Constraints of the parameters of a pipeline in a model file. ``memory`` must be None, because it would name a cache
folder of pickles, which are unsafe to load."""


@dataclass(frozen=True, eq=False)
class ChainState(AdditiveState):
    """Moments of the input of a pipeline, and the steps estimated from them (``_parameters``).

    A model file holds the steps elsewhere; in the file, ``_parameters`` is only a flag that tells whether they are
    fitted.
    """

    statistics_: Annotated[Any, instance_of(ByClass, Moments, DiagonalMoments, d="d")]
    _parameters: Annotated[Any, flag] = None


class Pipeline(sklearn.pipeline.Pipeline):  # type: ignore[misc]
    """Pipeline of transformers and a final model, with log-likelihoods, sample weights and ``partial_fit``.

    This class extends scikit-learn's ``Pipeline``. Pipelines of linear features and Gaussian models of this library are
    estimated from sums: the moments of the input are summed by class, and every step is estimated from the moments that
    the previous steps transform, without a second pass over the rows. For these pipelines ``partial_fit`` is exact, and
    ``fit_source`` needs one pass. Other pipelines are fitted step by step. From a source, each step is fitted to the
    rows that the previous steps transform, block by block.

    An expansion such as :class:`likely.QuadraticFeatures` of all rows may not fit in memory. If it would have more than
    2²⁷ values and every step has ``fit_source``, ``fit`` also works block by block. The result is the same up to
    rounding, or up to the tolerance of an iterative model. Scores through an expansion are computed in runs of rows.

    Parameters
    ----------
    steps, memory, verbose
        Parameters of scikit-learn's ``Pipeline``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likely import GaussianClassifier, LDA, PCA
    >>> X, y = load_iris(return_X_y=True)
    >>> chain = make_pipeline(PCA(3), LDA(), GaussianClassifier(tied=True)).fit(X, y)
    >>> chain.log_likelihood(X[:2]).shape, chain.score(X, y)
    ((2, 3), 0.9866666666666667)
    """

    _constraints: ClassVar[Constraints] = STEPS
    _inputs: ClassVar[Constraints] = {
        "_sums": optional(Constraint("sums", lambda value, scope: instance_of(ChainSums, d="d")(value, scope)))
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit every step to the output of the previous steps. Weights are passed to all steps.

        An error leaves the pipeline unchanged.
        """
        with all_or_nothing(self, *steps_of(self)), name_in_messages(self):
            plain = not params and self._is_plain()
            if not plain or not self._fit_sums(lambda sums: sums.fit(X, y, sample_weight)):
                self.__dict__.pop("_sums", None)
                if not plain or not fit_large_expansion(steps_of(self), X, y, sample_weight):
                    weights = {} if sample_weight is None else self._weights_by_step(sample_weight)
                    super().fit(X, y, **(params | weights))
        return self

    def _fit_sums(self, fit: Callable[[ChainSums], ChainSums]) -> bool:
        """Estimate all steps from the summed moments of the input. Return whether this was possible.

        ``fit`` sums the moments and estimates the steps. It is impossible if a step cannot be estimated from
        moments, if the moments need too much memory, or if values are missing.
        """
        if is_mappable(steps_of(self)):
            with suppress(MissingValuesError, TooLargeError), all_or_nothing(self, *steps_of(self)):
                self._sums = fit(ChainSums(self))
                return True
        return False

    @available_if(_last_has("transform"))  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the pipeline, and transform the rows by all steps."""
        return self.fit(X, y, **params).transform(X)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows to the fit.

        The parameters are those of :meth:`likely.GaussianClassifier.partial_fit`.

        The steps are estimated when the pipeline is used next.
        """
        if "_sums" not in self.__dict__ and self.__sklearn_is_fitted__():
            raise IncompatiblePartsError(
                "This pipeline was fitted step by step, so it has no sums to which more rows could be added. "
                "Use partial_fit for the first batch too."
            )
        self._sums = self.__dict__.get("_sums", ChainSums(self)).partial_fit(X, y, classes, sample_weight)
        for step in steps_of(self):
            step.__dict__.pop("_state", None)
        return self

    def fit_source(self, source: Source) -> Self:
        """Fit the pipeline to the rows of a source, in one pass if it can be estimated from moments.

        Otherwise each step in turn is fitted to the rows that the previous steps transform. An error leaves the
        pipeline unchanged.
        """
        with all_or_nothing(self, *steps_of(self)):
            if not self._fit_sums(lambda sums: sums.fit_source(source)):
                self.__dict__.pop("_sums", None)
                fit_from_source(steps_of(self), source)
        return self

    @available_if(_last_has("path"))  # type: ignore[untyped-decorator]
    def path(self, X: Any, y: Any, values: Any, sample_weight: Any = None) -> list[Self]:
        """Return fitted copies of the pipeline for several values of one parameter of the last step.

        It is the parameter that ``path`` of the last step varies: ``regularization`` for logistic regression,
        ``n_components`` for mixtures. The transformers are fitted once, and the copies share them. The pipeline itself
        does not change.
        """
        features, (name, model) = clone(self).steps[:-1], self.steps[-1]
        if features:
            head = type(self)(features).fit(X, y, sample_weight=sample_weight)
            X, features = head.transform(X), head.steps
        models = clone(model).path(X, y, values, sample_weight)
        return [type(self)([*features, (name, fitted)]) for fitted in models]

    @available_if(_last_has("log_likelihood"))  # type: ignore[untyped-decorator]
    def log_likelihood(self, X: Any) -> Floats:
        """Return the log-likelihoods of the last step, of shape (n, n_classes), without priors."""
        return np.asarray(self._score_last_step("log_likelihood", X))

    @available_if(_last_has("llr"))  # type: ignore[untyped-decorator]
    def llr(self, X: Any) -> Floats:
        """Return the log-likelihood ratios of the last step, second class against first, without priors."""
        return np.asarray(self._score_last_step("llr", X))

    @available_if(_last_has("decide"))  # type: ignore[untyped-decorator]
    def decide(self, X: Any, application: Application) -> Labels:
        """Return the decisions of minimum expected cost in an application.

        If the application can reject, the result is an object array with None for rejected rows.
        """
        return np.asarray(self._score_last_step("decide", X, application))

    def _score_last_step(self, method: str, X: Any, *args: Any) -> Any:
        """Call a method of the last step with the rows that the previous steps transform."""
        last = self.steps[-1][1]
        return self._in_runs(lambda rows: getattr(last, method)(self._features(rows), *args), X)

    def __getattr__(self, name: str) -> Any:
        # If the last step has no log-likelihoods, its own error message explains why; let the step raise it.
        if name in EVIDENCE and not hasattr(self.steps[-1][1], name):
            return getattr(self.steps[-1][1], name)
        return super().__getattribute__(name)

    def _features(self, X: Any) -> Any:
        for step in steps_of(self)[:-1]:
            X = step.transform(X)
        return X

    @available_if(_can_transform)  # type: ignore[untyped-decorator]
    def transform(self, X: Any, **params: Any) -> Any:
        """Transform the rows by all steps."""
        return self._in_runs(super().transform, X, **params)

    @available_if(_last_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any, **params: Any) -> Any:
        """Return the predictions of the last step."""
        return self._in_runs(super().predict, X, **params)

    @available_if(_last_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **params: Any) -> Any:
        """Return the posteriors of the last step, of shape (n, n_classes)."""
        return self._in_runs(super().predict_proba, X, **params)

    @available_if(_last_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any, **params: Any) -> Any:
        """Return the log-posteriors of the last step, of shape (n, n_classes)."""
        return self._in_runs(super().predict_log_proba, X, **params)

    @available_if(_last_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **params: Any) -> Any:
        """Return the scores of the last step. They include its priors if the last step has log-likelihoods."""
        return self._in_runs(super().decision_function, X, **params)

    @available_if(_last_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Return the score of the last step, such as the accuracy of a classifier."""
        check_is_fitted(self)
        usual = getattr(type(self.steps[-1][1]), "score", None)
        if expanded_width(steps_of(self)) and usual in (ClassifierMixin.score, RegressorMixin.score) and not params:
            return usual(self, X, y, sample_weight)
        return super().score(X, y, sample_weight, **params)

    def _in_runs(self, score: Callable[..., Any], X: Any, **params: Any) -> Any:
        """Return ``score(X)``. If a step expands rows, compute it in runs of rows, which saves memory."""
        check_is_fitted(self)
        with name_in_messages(self):
            return score(X, **params) if params else score_in_runs(score, X, expanded_width(steps_of(self)))

    def _is_plain(self) -> bool:
        """Return whether the pipeline can be fitted without scikit-learn's ``fit``.

        Caching, progress messages, metadata routing, and errors about names of steps need scikit-learn's ``fit``.
        """
        names = [name for name, _ in self.steps]
        well_named = len(set(names)) == len(names) and not any("__" in name for name in names)
        return self.memory is None and not self.verbose and well_named and not get_config()["enable_metadata_routing"]

    def _weights_by_step(self, sample_weight: Any) -> dict[str, Any]:
        if get_config()["enable_metadata_routing"]:
            return {"sample_weight": sample_weight}
        steps = [(name, step) for name, step in self.steps if step not in (None, "passthrough")]
        for name, step in steps:
            if not has_fit_parameter(step, "sample_weight"):
                raise InvalidParameterError(
                    f"The step {name!r} ({type(step).__name__}) takes no sample_weight, so the pipeline cannot be "
                    f"fitted with weights. To pass weights only to another step, use the name of that step, as in "
                    f"{self.steps[-1][0]}__sample_weight."
                )
        return {f"{name}__sample_weight": sample_weight for name, _ in steps}

    @property
    def fits_are_isolated(self) -> bool:
        """Whether no step uses global state while it is fitted, so that folds may be fitted in threads."""
        return is_isolated(self)

    def _unpack_state(self, state: dict[str, Any]) -> dict[str, Any]:
        sums = state["_sums"]
        sums.pipeline = self
        sums._parameters = steps_of(self) if sums._parameters else None
        return state

    def _check_state(self, scope: Scope) -> None:
        if "_sums" in vars(self) and not is_mappable(steps_of(self)):
            raise ViolationError("has sums, but its steps cannot be estimated from sums")

    def _bring_up_to_date(self) -> None:
        """Estimate the steps from the summed moments, if there are such sums and they include enough rows."""
        if "_sums" in self.__dict__:
            with suppress(NotFittedError):
                self._sums.bring_up_to_date()

    @property
    def named_steps(self) -> Any:
        """Steps by name, estimated from all batches so far."""
        self._bring_up_to_date()
        return super().named_steps

    def __getitem__(self, which: Any) -> Any:
        """Return a step or a part of the pipeline, estimated from all batches so far."""
        self._bring_up_to_date()
        return super().__getitem__(which)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the output columns of the last step."""
        self._bring_up_to_date()
        return super().get_feature_names_out(input_features)

    @property
    def n_features_in_(self) -> int:
        """Number of input features."""
        return int(self._sums.n_features_in_ if "_sums" in self.__dict__ else super().n_features_in_)

    @property
    def classes_(self) -> Labels:
        """Classes of the training rows. The next batch of ``partial_fit`` may add classes."""
        return np.asarray(self._sums.classes_ if "_sums" in self.__dict__ else super().classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = all(get_tags(step).input_tags.allow_nan for step in steps_of(self))
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # scikit-learn calls this method before every use of the pipeline. Therefore it is here that the steps are
        # estimated again if partial_fit has added rows.
        if "_sums" in self.__dict__:
            self._sums.bring_up_to_date()
        return bool(super().__sklearn_is_fitted__())


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> Pipeline:
    """Return a :class:`Pipeline` whose steps are named after their classes.

    Parameters
    ----------
    *steps : transformers, and a model or transformer as the last step
    memory, verbose
        Parameters of scikit-learn's ``Pipeline``.

    Examples
    --------
    >>> from likely import PCA, NearestMeanClassifier
    >>> list(make_pipeline(PCA(2), NearestMeanClassifier()).named_steps)
    ['pca', 'nearestmeanclassifier']
    """
    named = sklearn.pipeline.make_pipeline(*steps)
    return Pipeline(named.steps, memory=memory, verbose=verbose)


class TooLargeError(SourceError):
    """Raised if the moments of the input of a pipeline would need too much memory."""


class ChainSums(AdditiveLearner):
    """Estimator of a whole pipeline.

    It sums the moments of the input, and estimates one step after another from these moments.
    """

    _State = ChainState
    _constraints: ClassVar[Constraints] = {}

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    # In memory, this object refers to its pipeline. In a model file, the pipeline contains this object, so the
    # reference is not saved; the pipeline sets it again after loading.

    def _attributes(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "pipeline"}

    @classmethod
    def _from_file(cls, values: dict[str, Any]) -> Self:
        return cls(None)

    def _pack_state(self, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "_parameters": state["_parameters"] is not None}

    def _check_state(self, scope: Scope) -> None:
        """Do nothing, because the pipeline itself checks that its steps can be estimated from sums."""

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        """Whether any step needs labels."""
        return any(getattr(step, "by_class", False) for step in steps_of(self.pipeline))

    def bring_up_to_date(self) -> None:
        """Estimate the steps, if rows were added or steps were replaced since the last estimate."""
        if any(not hasattr(step, "statistics_") for step in steps_of(self.pipeline)):
            self._parameters = None
        self._get_parameters()

    def _learn(self, source: Source) -> None:
        n_cells = 1 if source.classes is None else len(source.classes)
        if not fits_in_memory(needs_of(steps_of(self.pipeline)), n_cells, source.n_features):
            raise TooLargeError(f"The moments of {n_cells} classes of {source.n_features} features exceed the memory.")
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
                "The new steps need statistics that the pipeline has not collected. Fit the pipeline again."
            )
        estimate_chain(steps, by_class, getattr(self, "classes_", None))
        propagate_names(steps, getattr(self, "feature_names_in_", None))
        return steps

    def _name(self) -> str:
        return "Pipeline"
