"""Any classifier with calibrated evidence, and several of them fused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from likely._constraints import (
    Constraints,
    Scope,
    ViolationError,
    either,
    instance_of,
    label,
    list_of,
    mapping_of,
    none_or,
    object_with,
    priors,
    text,
    tuple_of,
)
from likely._typing import Floats
from likely._validation import check_scores
from likely.calibration import AffineCalibrator, IsotonicCalibrator, LogisticFusion, ProductFusion, VotingFusion
from likely.exceptions import InvalidParameterError
from likely.models.score_mapped import FOLDS, SCORER, ScoreMapped, ScoreMappedState


@dataclass(frozen=True, eq=False)
class CalibratedState(ScoreMappedState):
    """What a calibrated classifier learns."""

    map_: Annotated[Any, instance_of(AffineCalibrator, IsotonicCalibrator)]


@dataclass(frozen=True, eq=False)
class FusedState(ScoreMappedState):
    """What a fused classifier learns."""

    map_: Annotated[Any, instance_of(LogisticFusion, ProductFusion, VotingFusion)]


class CalibratedClassifier(ScoreMapped):
    """A classifier whose scores are made log-likelihood ratios: any of scikit-learn's, a network, a boosted tree.

    Its ``log_likelihood``, or else ``decision_function``, or else ``predict_log_proba``, is calibrated by the K-fold
    protocol: out-of-fold scores of K models are pooled and train the calibrator; the model itself is trained on
    everything. Assumes that scores of models trained on some of the folds are like those of the model trained on all.

    Parameters
    ----------
    estimator : classifier
    calibrator : calibrator, default AffineCalibrator()
        Anything with ``fit(scores, y, sample_weight)`` and ``transform(scores)``.
    cv : int, splitter, iterable of (train, test), or "prefit", default 5
        The folds; ``"prefit"`` for an estimator that is fitted already: ``fit`` then trains only the calibrator, on
        rows that the estimator has not learned from. For a held-out calibration set see ``fit``.
    priors : sequence in class order or mapping {label: prior}, optional
        Of ``predict`` and ``predict_proba``; by default the classes' shares of the training rows.

    Attributes
    ----------
    classes_ : array of labels
    model_ : classifier
        Trained on everything.
    map_ : calibrator
        Trained on the pooled scores.
    scores_ : array of shape (n,) or (n, n_classes), or None
        The pooled out-of-fold scores, in row order; None without folds.
    calibrated_scores_ : array of the same shape, or None
        They, calibrated by K-fold: what to judge model and calibrator by.
    floors_ : list of float
        What log posteriors of −inf are counted as, where the estimator gives posteriors: half the least posterior above
        0 among those that trained the calibrator.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from likely import cllr
    >>> from likely.datasets import load_tumours
    >>> X, y, names = load_tumours()
    >>> forest = CalibratedClassifier(RandomForestClassifier(50, random_state=0)).fit(X, y)
    >>> round(cllr(y, forest.scores_), 2), round(cllr(y, forest.calibrated_scores_), 2)
    (0.19, 0.18)
    >>> forest.llr(X[:2]).round(1)
    array([6.3, 6.3])
    """

    _State: ClassVar[Any] = CalibratedState
    _constraints: ClassVar[Constraints] = {
        "estimator": SCORER,
        "calibrator": none_or(object_with("a calibrator, such as AffineCalibrator()", "fit", "transform")),
        "cv": FOLDS,
        "priors": priors(),
    }

    def __init__(self, estimator: Any, *, calibrator: Any = None, cv: Any = 5, priors: Any = None) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.priors = priors

    def _check_state(self, scope: Scope) -> None:
        super()._check_state(scope)
        if scope.fitted and len(self.models_) != 1:
            raise ViolationError(f"models_ must be one, but are {len(self.models_)}")

    @property
    def model_(self) -> Any:
        """The model trained on everything."""
        return self.models_[0]

    def _models(self) -> list[Any]:
        return [self.estimator]

    def _map(self) -> Any:
        return AffineCalibrator() if self.calibrator is None else self.calibrator

    def _arranged(self, scores: list[Floats], models: list[Any]) -> Floats:
        return scores[0]


class FusedClassifier(ScoreMapped):
    """Several classifiers' scores fused into one evidence, by the K-fold protocol.

    Parameters
    ----------
    estimators : list of classifiers or of (name, classifier), or mapping {name: classifier}, optional
        Without any, the rows themselves are scores: of shape (n, systems) for two classes, or (n, systems, n_classes).
    fuser : fuser, default LogisticFusion()
        Anything with ``fit(scores, y, sample_weight)`` and ``transform(scores)``.
    cv : int, splitter, iterable of (train, test), or "prefit", default 5
        As for :class:`CalibratedClassifier`.
    priors : sequence in class order or mapping {label: prior}, optional
        Of ``predict`` and ``predict_proba``; by default the classes' shares of the training rows.

    Attributes
    ----------
    classes_ : array of labels
    models_ : list of classifiers
        Trained on everything.
    map_ : fuser
    scores_ : array of shape (n, systems) or (n, systems, n_classes), or None
        The pooled out-of-fold scores.
    calibrated_scores_ : array of shape (n,) or (n, n_classes), or None
        They, fused by K-fold: what to judge the fusion by.

    Examples
    --------
    >>> from likely import GaussianClassifier, cllr
    >>> from likely.datasets import load_tumours
    >>> X, y, names = load_tumours()
    >>> systems = [GaussianClassifier(tied=True), GaussianClassifier("diagonal")]
    >>> fused = FusedClassifier(systems).fit(X, y)
    >>> [round(cllr(y, column), 3) for column in fused.scores_.T], round(cllr(y, fused.calibrated_scores_), 3)
    ([0.2, 1.285], 0.136)
    """

    _State: ClassVar[Any] = FusedState
    _constraints: ClassVar[Constraints] = {
        "estimators": none_or(
            replace(
                either(mapping_of(label, SCORER), list_of(either(SCORER, tuple_of(text, SCORER)), min_length=1)),
                description="a list of classifiers or of (name, classifier), a mapping {name: classifier}",
            )
        ),
        "fuser": none_or(object_with("a fuser, such as LogisticFusion()", "fit", "transform")),
        "cv": FOLDS,
        "priors": priors(),
    }

    def __init__(self, estimators: Any = None, *, fuser: Any = None, cv: Any = 5, priors: Any = None) -> None:
        self.estimators = estimators
        self.fuser = fuser
        self.cv = cv
        self.priors = priors

    def _named(self) -> dict[str, Any]:
        """The classifiers by name: their own, or that of their place."""
        entries = self.estimators.items() if isinstance(self.estimators, Mapping) else self.estimators
        if not isinstance(entries, Iterable) or not (entries := list(entries)):
            raise InvalidParameterError(
                f"estimators of FusedClassifier must be a list of classifiers, or be None for scores, not "
                f"{self.estimators!r}."
            )
        pairs = [entry if isinstance(entry, tuple) else (f"system{i}", entry) for i, entry in enumerate(entries)]
        if len(dict(pairs)) < len(pairs):
            raise InvalidParameterError(
                f"The classifiers of FusedClassifier need a name each, but these are {[name for name, _ in pairs]}."
            )
        return dict(pairs)

    def _listed(self) -> dict[str, Any]:
        """The classifiers by name, or nothing: what is no list of classifiers is refused by ``fit``."""
        return self._named() if isinstance(self.estimators, (list, tuple, Mapping)) and self.estimators else {}

    def _models(self) -> list[Any]:
        return [] if self.estimators is None else list(self._named().values())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, and those of the classifiers by name, as in ``name__parameter``."""
        params: dict[str, Any] = super().get_params(deep=False)
        if not deep:
            return params
        parts = {**self._listed(), "fuser": self.fuser}
        nested = {name: part for name, part in parts.items() if hasattr(part, "get_params")}
        inner = {f"{name}__{key}": value for name, part in nested.items() for key, value in part.get_params().items()}
        return {**params, **nested, **inner}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, a classifier by its name, or a classifier's own as ``name__parameter``."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        named = self._listed()
        replaced = {name: params.pop(name) for name in list(params) if name in named}
        if replaced:
            self.estimators = list({**named, **replaced}.items())
        super().set_params(**params)
        return self

    def _map(self) -> Any:
        return LogisticFusion() if self.fuser is None else self.fuser

    def _scores(self, models: list[Any], X: Any) -> list[Floats]:
        return super()._scores(models, X) if models else [check_scores("FusedClassifier", X)]

    def _arranged(self, scores: list[Floats], models: list[Any]) -> Floats:
        return np.stack(scores, axis=1) if models else scores[0]
