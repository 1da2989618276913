"""Calibrated classifier and fused classifier."""

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
from likely.calibration import (
    AffineCalibrator,
    IsotonicCalibrator,
    LogisticFusion,
    ProductFusion,
    TailCalibrator,
    VotingFusion,
)
from likely.exceptions import InvalidParameterError
from likely.models.score_mapped import FOLDS, SCORER, ScoreMapped, ScoreMappedState


@dataclass(frozen=True, eq=False)
class CalibratedState(ScoreMappedState):
    """Fitted state of a calibrated classifier."""

    map_: Annotated[Any, instance_of(AffineCalibrator, IsotonicCalibrator, TailCalibrator)]


@dataclass(frozen=True, eq=False)
class FusedState(ScoreMappedState):
    """Fitted state of a fused classifier."""

    map_: Annotated[Any, instance_of(LogisticFusion, ProductFusion, VotingFusion)]


class CalibratedClassifier(ScoreMapped):
    """Calibrated classifier: converts the scores of any classifier to log-likelihood ratios.

    The estimator can be any classifier with scores, such as a scikit-learn classifier, a neural network or gradient
    boosting. The score is its ``log_likelihood``, else its ``decision_function``, else its ``predict_log_proba``. The
    scores are calibrated by cross-validation: K models score their held-out folds, and the calibrator is trained on the
    pooled out-of-fold scores. The final model is trained on all rows. This assumes that the scores of models trained on
    K − 1 folds are distributed like those of the final model.

    Parameters
    ----------
    estimator : classifier
        Classifier to calibrate.
    calibrator : calibrator, default TailCalibrator()
        Object with ``fit(scores, y, sample_weight)`` and ``transform(scores)``.
    cv : int, splitter, iterable of (train, test), or "prefit", default 5
        Folds. Use ``"prefit"`` for an estimator that is already fitted: ``fit`` then trains only the calibrator, and
        needs rows that the estimator has not been trained on. For a held-out calibration set see ``fit``.
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict`` and ``predict_proba``, by default the share of each class among the training rows.

    Attributes
    ----------
    classes_ : array of labels
    model_ : classifier
        Model trained on all rows.
    map_ : calibrator
        Calibrator trained on the pooled scores.
    scores_ : array of shape (n,) or (n, n_classes), or None
        Pooled out-of-fold scores, in row order; None without folds.
    calibrated_scores_ : array of the same shape, or None
        The same scores, calibrated by cross-validation. Use them to evaluate the model and the calibrator.
    floors_ : list of float
        Replacement for log-posteriors of −inf, if the estimator returns posteriors: half the smallest posterior above 0
        among those that trained the calibrator.

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
        "calibrator": none_or(object_with("a calibrator, such as TailCalibrator()", "fit", "transform")),
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
            raise ViolationError(f"models_ must hold one model, but holds {len(self.models_)}")

    @property
    def model_(self) -> Any:
        """Model trained on all rows."""
        return self.models_[0]

    def _models(self) -> list[Any]:
        return [self.estimator]

    def _map(self) -> Any:
        return TailCalibrator() if self.calibrator is None else self.calibrator

    def _stack_scores(self, scores: list[Floats], models: list[Any]) -> Floats:
        return scores[0]


class FusedClassifier(ScoreMapped):
    """Fused classifier: combines the scores of several classifiers into log-likelihood ratios.

    The fuser is trained on pooled out-of-fold scores of all classifiers, as in :class:`CalibratedClassifier`. The final
    classifiers are trained on all rows.

    Parameters
    ----------
    estimators : list of classifiers or of (name, classifier), or mapping {name: classifier}, optional
        Classifiers to fuse. With None, X holds scores: of shape (n, systems) for two classes, or
        (n, systems, n_classes).
    fuser : fuser, default LogisticFusion()
        Object with ``fit(scores, y, sample_weight)`` and ``transform(scores)``.
    cv : int, splitter, iterable of (train, test), or "prefit", default 5
        Folds, as for :class:`CalibratedClassifier`.
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict`` and ``predict_proba``, by default the share of each class among the training rows.

    Attributes
    ----------
    classes_ : array of labels
    models_ : list of classifiers
        Classifiers trained on all rows.
    map_ : fuser
        Fuser trained on the pooled scores.
    scores_ : array of shape (n, systems) or (n, systems, n_classes), or None
        Pooled out-of-fold scores.
    calibrated_scores_ : array of shape (n,) or (n, n_classes), or None
        The same scores, fused by cross-validation. Use them to evaluate the fusion.

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

    def _named_estimators(self) -> dict[str, Any]:
        """Return the classifiers by name; unnamed ones are named by their position."""
        entries = self.estimators.items() if isinstance(self.estimators, Mapping) else self.estimators
        if not isinstance(entries, Iterable) or not (entries := list(entries)):
            raise InvalidParameterError(
                f"estimators of FusedClassifier must be a list of classifiers, or None for scores, but is "
                f"{self.estimators!r}."
            )
        pairs = [entry if isinstance(entry, tuple) else (f"system{i}", entry) for i, entry in enumerate(entries)]
        if len(dict(pairs)) < len(pairs):
            raise InvalidParameterError(
                f"The classifiers of FusedClassifier need unique names, but have {[name for name, _ in pairs]}."
            )
        return dict(pairs)

    def _listed_estimators(self) -> dict[str, Any]:
        """Return the classifiers by name, or nothing if ``estimators`` is not a list; ``fit`` raises in that case."""
        return (
            self._named_estimators() if isinstance(self.estimators, (list, tuple, Mapping)) and self.estimators else {}
        )

    def _models(self) -> list[Any]:
        return [] if self.estimators is None else list(self._named_estimators().values())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and those of the classifiers by name, as in ``name__parameter``."""
        params: dict[str, Any] = super().get_params(deep=False)
        if not deep:
            return params
        parts = {**self._listed_estimators(), "fuser": self.fuser}
        nested = {name: part for name, part in parts.items() if hasattr(part, "get_params")}
        inner = {f"{name}__{key}": value for name, part in nested.items() for key, value in part.get_params().items()}
        return {**params, **nested, **inner}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, a classifier by its name, or a parameter of a classifier as ``name__parameter``."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        named = self._listed_estimators()
        replaced = {name: params.pop(name) for name in list(params) if name in named}
        if replaced:
            self.estimators = list({**named, **replaced}.items())
        super().set_params(**params)
        return self

    def _map(self) -> Any:
        return LogisticFusion() if self.fuser is None else self.fuser

    def _scores(self, models: list[Any], X: Any) -> list[Floats]:
        return super()._scores(models, X) if models else [check_scores("FusedClassifier", X)]

    def _stack_scores(self, scores: list[Floats], models: list[Any]) -> Floats:
        return np.stack(scores, axis=1) if models else scores[0]
