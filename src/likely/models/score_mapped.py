"""Classifiers made of other classifiers' scores and a map on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import LeaveOneOut
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    NOT_SAVED,
    Constraint,
    Constraints,
    Scope,
    ViolationError,
    check_parameters,
    class_labels,
    is_count,
    list_of,
    none_or,
    number,
    probabilities,
    show,
)
from likely._typing import Floats, Labels
from likely._validation import check_labels, check_n_classes, check_option, check_weight
from likely.exceptions import IncompatiblePartsError, InvalidDataError, InvalidParameterError
from likely.models.base import EvidenceClassifier
from likely.resampling.chains import check_scorer, floor_of, in_classes, is_pairwise, scores_of
from likely.resampling.folds import take
from likely.resampling.kfold import kfold_calibrate, kfold_scores

SCORER = Constraint(
    "a classifier that gives scores",
    lambda value, scope: (
        not isinstance(value, type)
        and any(hasattr(value, name) for name in ("log_likelihood", "decision_function", "predict_log_proba"))
    ),
)


def _is_folds(value: Any, scope: Scope) -> bool:
    if value is None or isinstance(value, Iterator) or (hasattr(value, "split") and not isinstance(value, str)):
        return True
    if isinstance(value, str):
        return value == "prefit"
    if is_count(value, 2, 2**53):
        return True
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(_is_fold(pair) for pair in value)


def _is_fold(pair: Any) -> bool:
    return isinstance(pair, (list, tuple)) and len(pair) == 2 and all(_are_positions(part) for part in pair)


def _are_positions(value: Any) -> bool:
    array = np.asarray(value)
    return array.ndim == 1 and array.dtype.kind in "iub" and (array.size == 0 or array.min() >= 0)


FOLDS = Constraint("a number of folds >= 2, a splitter, pairs of train and test, 'prefit' or None", _is_folds)


@dataclass(frozen=True, eq=False)
class ScoreMappedState:
    """The trained models, the map on their scores, and the scores that trained the map."""

    models_: Annotated[list[Any], none_or(list_of(SCORER, types=(list,)))]
    floors_: Annotated[list[float], list_of(number(finite=False), types=(list,))]
    map_: Annotated[Any, Constraint("a map of scores", lambda value, scope: hasattr(value, "transform"))]
    _shares: Annotated[Floats, probabilities("k")]
    scores_: Annotated[Floats | None, NOT_SAVED] = None
    calibrated_scores_: Annotated[Floats | None, NOT_SAVED] = None


class ScoreMapped(MetaEstimatorMixin, EvidenceClassifier, BaseEstimator):  # type: ignore[misc]
    """What :class:`CalibratedClassifier` and :class:`FusedClassifier` share: the K-fold protocol.

    Every row is scored by models that have not seen its fold; the pooled scores train the map; the models that will be
    used are trained on everything. A subclass says which models (``_models``) and which map (``_map``), and how the
    scores of all models are put before it (``_arranged``).
    """

    _State: ClassVar[Any] = ScoreMappedState
    _inputs: ClassVar[Constraints] = {"classes_": class_labels()}
    models_: list[Any]
    floors_: list[float]
    map_: Any
    scores_: Floats | None
    calibrated_scores_: Floats | None
    _shares: Floats
    cv: Any
    fits_are_isolated: ClassVar[bool] = True

    def _models(self) -> list[Any]:
        raise NotImplementedError

    def _map(self) -> Any:
        raise NotImplementedError

    def _arranged(self, scores: list[Floats], models: list[Any]) -> Floats:
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        calibration_set: Any = None,
        out_of_fold: Any = None,
    ) -> Self:
        """Train models and map; an error leaves the classifier as it was.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            With ``cv="prefit"``, rows that the models have not learned from. For models of precomputed kernels the
            kernel of all rows, (n, n), and with ``cv="prefit"`` that of these rows with those learned from.
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies, for models and map alike; rows of weight 0 are dropped. Where ``cv`` is a list of positions,
            or a kernel is precomputed, they keep their place among rows and columns, and are not learned from.
        groups : array of shape (n,), optional
            For a ``cv`` that keeps groups together.
        calibration_set : (X, y) or (X, y, sample_weight), optional
            Held-out rows to train the map on, in place of the folds.
        out_of_fold : array, or list of arrays, one for each model, optional
            What :func:`likely.kfold_scores` gives of the models, if it is there already: they are then only trained on
            everything, and ``calibrated_scores_`` is None. Rows of weight 0 must have been left out of it.

        Returns
        -------
        self
        """
        check_parameters(self)
        y = check_labels(type(self).__name__, y)
        weight, cv = check_weight(sample_weight, len(y)), _folds(self.cv)
        if weight is not None and not self._counts_all_rows(cv):
            X, y, weight, groups = _weighty(X, y, weight, groups)
        for model in self._models():
            check_scorer(model, weight is not None)
        classes = np.unique(y)
        check_n_classes(type(self).__name__, classes)
        pooled = self._given_scores(out_of_fold, len(y))
        held_out, prefit = _held_out(calibration_set, cv), isinstance(cv, str)
        if not (pooled or prefit or held_out):
            pooled = self._out_of_fold(X, y, cv, groups, weight)
        models = self._models() if prefit else [_fitted(model, X, y, weight) for model in self._models()]
        # The map learns from rows that the models have not: held-out ones, or all rows, each scored out of fold.
        map_X, map_y, map_weight = held_out or (X, y, weight)
        scores = pooled or self._scores(models, map_X)
        _check_classes(classes, map_y, scores, models)
        floors = [floor_of(part, model) for part, model in zip(scores, models, strict=False)]
        arranged = self._arranged(_canonical(scores, floors, len(classes)), models)
        fitted_map = clone(self._map()).fit(arranged, map_y, sample_weight=map_weight)
        calibrated = None
        if not (prefit or held_out or out_of_fold is not None):
            calibrated = kfold_calibrate(self._map(), arranged, y, _few(cv), groups, weight)
        kept = None if prefit or held_out else arranged
        shares = _class_shares(y, classes, weight)
        self.classes_ = classes
        self._state = self._State(models, floors, fitted_map, shares, kept, calibrated)
        return self

    def _counts_all_rows(self, cv: Any) -> bool:
        """Whether positions in ``cv``, or columns of a precomputed kernel, count rows of weight 0 too."""
        return isinstance(cv, list) or (not isinstance(cv, str) and any(map(is_pairwise, self._models())))

    def _given_scores(self, out_of_fold: Any, n: int) -> list[Floats]:
        """Out-of-fold scores that the caller has, one array for each model."""
        if out_of_fold is None:
            return []
        parts = [out_of_fold] if hasattr(out_of_fold, "shape") else list(out_of_fold)
        arrays = [np.asarray(part, dtype=np.float64) for part in parts]
        if len(arrays) != len(self._models()) or any(len(part) != n for part in arrays):
            raise InvalidDataError(
                f"out_of_fold must hold scores of {n} rows by each of {len(self._models())} models, but has shapes "
                f"{[part.shape for part in arrays]}."
            )
        return arrays

    def _out_of_fold(self, X: Any, y: Labels, cv: Any, groups: Any, weight: Floats | None) -> list[Floats]:
        found: list[Floats] = kfold_scores(self._models(), X, y, cv, groups, weight) if self._models() else []
        return found

    def _pack_state(self, state: dict[str, Any]) -> dict[str, Any]:
        """Models that came fitted are the parameters themselves, and are kept once."""
        given, fitted = self._models(), state["models_"]
        prefit = len(given) == len(fitted) > 0 and all(a is b for a, b in zip(given, fitted, strict=True))
        return {**state, "models_": None} if prefit else state

    def _unpack_state(self, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "models_": self._models()} if state["models_"] is None else state

    def _check_state(self, scope: Scope) -> None:
        """Check that models and map know the same classes, and that there is a floor for each model."""
        if not scope.fitted:
            return
        k, n = scope.sizes["k"], len(self.models_)
        known = [part.classes_ for part in [*self.models_, self.map_] if hasattr(part, "classes_")]
        if any(len(theirs) != k or not (np.sort(theirs) == self.classes_).all() for theirs in known):
            raise ViolationError(f"classes_ must be those of its models and of its map, but are {show(self.classes_)}")
        if len(self.floors_) != n:
            raise ViolationError(f"floors_ must be one for each model, but are {len(self.floors_)} for {n}")
        inner = scope.scope_of(self.map_) or Scope()
        if n and inner.sizes.get("s", n) != n:
            raise ViolationError(f"map_ must fuse {n} systems, but fuses {inner.sizes['s']}")
        widths = [each.sizes["d"] for each in map(scope.scope_of, self.models_) if each and "d" in each.sizes]
        if len(set(widths)) > 1:
            raise ViolationError(f"models_ must take the same columns, but take {widths}")
        scope.sizes |= {"d": widths[0]} if widths else {}

    @property
    def training_priors_(self) -> Floats:
        """The classes' shares of the rows that ``fit`` was given."""
        return np.asarray(self._shares)

    def log_likelihood(self, X: Any) -> Floats:
        """Calibrated log-likelihoods, of shape (n, n_classes), up to a constant of the row; no priors in them."""
        check_is_fitted(self, "map_")
        scores = _canonical(self._scores(self.models_, X), self.floors_, len(self.classes_))
        mapped = np.asarray(self.map_.transform(self._arranged(scores, self.models_)))
        return np.column_stack([np.zeros(len(mapped)), mapped]) if mapped.ndim == 1 else mapped

    def _scores(self, models: list[Any], X: Any) -> list[Floats]:
        """What each of the trained models gives."""
        return [scores_of(model, X) for model in models]

    @property
    def n_features_in_(self) -> int:
        """Number of features of the input, as the first model knows it."""
        return int(self._first("n_features_in_"))

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features of the input, as the first model knows them."""
        return self._first("feature_names_in_")

    def _first(self, name: str) -> Any:
        if "_state" not in self.__dict__ or not self.models_:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before it is fitted to rows.")
        return getattr(self.models_[0], name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(model).input_tags for model in self._models()]
        tags.input_tags.sparse = bool(inner) and all(part.sparse for part in inner)
        tags.input_tags.pairwise = any(part.pairwise for part in inner)
        tags.input_tags.allow_nan = bool(inner) and all(part.allow_nan for part in inner)
        return tags


def _check_classes(classes: Labels, y: Labels, scores: list[Floats], models: list[Any]) -> None:
    """Models and map must know the same classes, and the map have a score for each row."""
    if len(scores[0]) != len(y):
        raise InvalidDataError(f"X and y must have one entry for each row, but have {len(scores[0])} and {len(y)}.")
    known = [("The rows that train the map are", np.unique(y))]
    known += [(f"{type(model).__name__} knows", getattr(model, "classes_", classes)) for model in models]
    for whose, theirs in known:
        if not np.array_equal(np.sort(theirs), classes):
            raise IncompatiblePartsError(
                f"{whose} of the classes {np.asarray(theirs).tolist()}, but y holds {classes.tolist()}."
            )


def _canonical(scores: list[Floats], floors: list[float], k: int) -> list[Floats]:
    """One score a row for two classes, one for each class for more; posteriors of 0 are floored."""
    if not floors:  # the rows themselves are scores
        return scores
    return [in_classes(part, k, floor) for part, floor in zip(scores, floors, strict=True)]


def _class_shares(y: Labels, classes: Labels, weight: Floats | None) -> Floats:
    totals = np.array([((y == label) * (1.0 if weight is None else weight)).sum() for label in classes])
    return np.asarray(totals / totals.sum())


def _fitted(model: Any, X: Any, y: Labels, weight: Floats | None) -> Any:
    return clone(model).fit(X, y, **({} if weight is None else {"sample_weight": weight}))


def _held_out(calibration_set: Any, cv: Any) -> tuple[Any, Labels, Floats | None] | None:
    """Rows, labels and weights that train the map alone."""
    if calibration_set is None:
        return None
    if isinstance(cv, str):
        raise InvalidParameterError("With cv='prefit' the rows given to fit train the map: leave calibration_set out.")
    if not isinstance(calibration_set, (tuple, list)) or len(calibration_set) not in (2, 3):
        raise InvalidParameterError("calibration_set must be (X, y) or (X, y, sample_weight).")
    X, y, *weight = calibration_set
    labels = check_labels("calibration_set", y)
    return X, labels, check_weight(weight[0], len(labels)) if weight else None


def _folds(cv: Any) -> Any:
    """Folds that can be gone through twice."""
    if isinstance(cv, str):
        check_option("cv", cv, ("prefit",))
    if cv is None:
        return 5
    return cv if isinstance(cv, (int, str)) or hasattr(cv, "split") else list(cv)


def _few(cv: Any) -> Any:
    """The folds that the map is judged by: the models' own, unless every row is one."""
    return 5 if isinstance(cv, LeaveOneOut) else cv


def _weighty(X: Any, y: Labels, weight: Floats, groups: Any) -> tuple[Any, Labels, Floats, Any]:
    """Rows of weight 0 are dropped before anything else."""
    kept = np.flatnonzero(weight)
    X = csr_array(X) if issparse(X) else X if hasattr(X, "shape") else np.asarray(X)  # type: ignore[call-overload]
    return take(X, kept), y[kept], weight[kept], None if groups is None else np.asarray(groups)[kept]
