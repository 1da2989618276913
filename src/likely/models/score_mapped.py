"""Base class of classifiers that map the scores of other classifiers: calibration and fusion."""

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
from likely._validation import check_labels, check_n_classes, check_option, check_weight, name_in_messages
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
    """Trained models, the map of their scores to log-likelihoods, and the scores on which the map was trained."""

    models_: Annotated[list[Any], none_or(list_of(SCORER, types=(list,)))]
    floors_: Annotated[list[float], list_of(number(finite=False), types=(list,))]
    map_: Annotated[Any, Constraint("a map of scores", lambda value, scope: hasattr(value, "transform"))]
    _shares: Annotated[Floats, probabilities("k")]
    scores_: Annotated[Floats | None, NOT_SAVED] = None
    calibrated_scores_: Annotated[Floats | None, NOT_SAVED] = None


class ScoreMapped(MetaEstimatorMixin, EvidenceClassifier, BaseEstimator):  # type: ignore[misc]
    """Base class of :class:`CalibratedClassifier` and :class:`FusedClassifier`, with their cross-validation.

    Each row is scored by models that were not trained on the fold of the row. The scores of all folds together train
    the map. The final models are trained on all rows. A subclass provides the models (``_models``), the map (``_map``),
    and the arrangement of the scores of all models for the map (``_stack_scores``).
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

    def _stack_scores(self, scores: list[Floats], models: list[Any]) -> Floats:
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
        """Train the models and the map. An error leaves the classifier unchanged.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            Rows. With ``cv="prefit"``, the models must not have been trained on these rows. For models with precomputed
            kernels, X is the kernel matrix of all rows, (n, n); with ``cv="prefit"``, it is the kernel matrix of these
            rows with the training rows of the models.
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies, for the models and the map. Rows of weight 0 are dropped. If ``cv`` is a list of positions, or
            a kernel is precomputed, rows of weight 0 keep their places among rows and columns, but have no effect.
        groups : array of shape (n,), optional
            Groups of the rows, for a ``cv`` that keeps groups together.
        calibration_set : (X, y) or (X, y, sample_weight), optional
            Held-out rows that train the map, instead of the folds.
        out_of_fold : array, or list of arrays, one for each model, optional
            Out-of-fold scores of the models, if :func:`likely.kfold_scores` has already computed them. The models are
            then only trained on all rows, and ``calibrated_scores_`` is None. The scores must not include rows of
            weight 0.

        Returns
        -------
        self
        """
        check_parameters(self)
        y = check_labels(type(self).__name__, y)
        weight, cv = check_weight(sample_weight, len(y)), _make_folds(self.cv)
        if weight is not None and not self._counts_all_rows(cv):
            X, y, weight, groups = _drop_zero_weights(X, y, weight, groups)
        for model in self._models():
            check_scorer(model, weight is not None)
        classes = np.unique(y)
        check_n_classes(type(self).__name__, classes)
        pooled = self._given_scores(out_of_fold, len(y))
        held_out, prefit = _check_calibration_set(calibration_set, cv), isinstance(cv, str)
        with name_in_messages(self):
            if not (pooled or prefit or held_out):
                pooled = self._out_of_fold(X, y, cv, groups, weight)
            models = self._models() if prefit else [_fit_copy(model, X, y, weight) for model in self._models()]
            # Train the map on scores of rows that the models have not seen: held-out rows, or all rows out of fold.
            map_X, map_y, map_weight = held_out or (X, y, weight)
            scores = pooled or self._scores(models, map_X)
        _check_classes(classes, map_y, scores, models)
        floors = [floor_of(part, model) for part, model in zip(scores, models, strict=False)]
        arranged = self._stack_scores(_convert_scores(scores, floors, len(classes)), models)
        fitted_map = clone(self._map()).fit(arranged, map_y, sample_weight=map_weight)
        calibrated = None
        if not (prefit or held_out or out_of_fold is not None):
            calibrated = kfold_calibrate(self._map(), arranged, y, _map_folds(cv), groups, weight)
        kept = None if prefit or held_out else arranged
        shares = _class_shares(y, classes, weight)
        self.classes_ = classes
        self._state = self._State(models, floors, fitted_map, shares, kept, calibrated)
        return self

    def _counts_all_rows(self, cv: Any) -> bool:
        """Return whether rows of weight 0 must be kept, because positions refer to all rows.

        These are the positions in a list of folds (``cv``), or the columns of a precomputed kernel matrix.
        """
        return isinstance(cv, list) or (not isinstance(cv, str) and any(map(is_pairwise, self._models())))

    def _given_scores(self, out_of_fold: Any, n: int) -> list[Floats]:
        """Return the out-of-fold scores that the caller passed, one array for each model; without any, an empty list.

        Raise unless there are scores of n rows for each model.
        """
        if out_of_fold is None:
            return []
        parts = [out_of_fold] if hasattr(out_of_fold, "shape") else list(out_of_fold)
        arrays = [np.asarray(part, dtype=np.float64) for part in parts]
        if len(arrays) != len(self._models()) or any(len(part) != n for part in arrays):
            raise InvalidDataError(
                f"out_of_fold must hold one array of {n} rows for each of {len(self._models())} models, but holds "
                f"arrays of the shapes {[part.shape for part in arrays]}."
            )
        return arrays

    def _out_of_fold(self, X: Any, y: Labels, cv: Any, groups: Any, weight: Floats | None) -> list[Floats]:
        found: list[Floats] = kfold_scores(self._models(), X, y, cv, groups, weight) if self._models() else []
        return found

    def _pack_state(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the state for a model file, without prefit models.

        Prefit models are already in the file, because they are parameters of the classifier.
        """
        given, fitted = self._models(), state["models_"]
        prefit = len(given) == len(fitted) > 0 and all(a is b for a, b in zip(given, fitted, strict=True))
        return {**state, "models_": None} if prefit else state

    def _unpack_state(self, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "models_": self._models()} if state["models_"] is None else state

    def _check_state(self, scope: Scope) -> None:
        """Check that models and map have the same classes, and that there is one floor per model."""
        if not scope.fitted:
            return
        k, n = scope.sizes["k"], len(self.models_)
        known = [part.classes_ for part in [*self.models_, self.map_] if hasattr(part, "classes_")]
        if any(len(theirs) != k or not (np.sort(theirs) == self.classes_).all() for theirs in known):
            raise ViolationError(
                f"classes_ must equal the classes of the models and of the map, but are {show(self.classes_)}"
            )
        if len(self.floors_) != n:
            raise ViolationError(f"floors_ must hold one floor for each of {n} models, but holds {len(self.floors_)}")
        inner = scope.scope_of(self.map_) or Scope()
        if n and inner.sizes.get("s", n) != n:
            raise ViolationError(f"map_ must fuse {n} systems, but fuses {inner.sizes['s']}")
        widths = [each.sizes["d"] for each in map(scope.scope_of, self.models_) if each and "d" in each.sizes]
        if len(set(widths)) > 1:
            raise ViolationError(f"models_ must take the same number of columns, but take {widths}")
        scope.sizes |= {"d": widths[0]} if widths else {}

    @property
    def training_priors_(self) -> Floats:
        """Share of each class among the rows passed to ``fit``."""
        return np.asarray(self._shares)

    def log_likelihood(self, X: Any) -> Floats:
        """Return calibrated log-likelihoods up to a constant per row, of shape (n, n_classes), without priors."""
        check_is_fitted(self, "map_")
        with name_in_messages(self):
            scores = _convert_scores(self._scores(self.models_, X), self.floors_, len(self.classes_))
        mapped = np.asarray(self.map_.transform(self._stack_scores(scores, self.models_)))
        return np.column_stack([np.zeros(len(mapped)), mapped]) if mapped.ndim == 1 else mapped

    def _scores(self, models: list[Any], X: Any) -> list[Floats]:
        """Return the scores of the rows X, one array for each trained model."""
        return [scores_of(model, X) for model in models]

    @property
    def n_features_in_(self) -> int:
        """Number of input features of the first model."""
        return int(self._first("n_features_in_"))

    @property
    def feature_names_in_(self) -> Any:
        """Names of the input features of the first model."""
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
    """Raise unless the labels and the models have the same classes, and every row has a score.

    ``classes`` are the classes of the rows passed to ``fit``, and ``y`` the labels of the rows that train the map.
    """
    if len(scores[0]) != len(y):
        raise InvalidDataError(
            f"X and y must have the same number of rows, but X has {len(scores[0])} and y has {len(y)}."
        )
    known = [("The rows that train the map have", np.unique(y))]
    known += [(f"{type(model).__name__} has", getattr(model, "classes_", classes)) for model in models]
    for whose, theirs in known:
        if not np.array_equal(np.sort(theirs), classes):
            raise IncompatiblePartsError(
                f"{whose} the classes {np.asarray(theirs).tolist()}, but y has the classes {classes.tolist()}."
            )


def _convert_scores(scores: list[Floats], floors: list[float], k: int) -> list[Floats]:
    """Return the scores of each model as one score per row for two classes, or one per row and class for k > 2 classes.

    Log-posteriors of −inf are replaced by the floor of the model.
    """
    if not floors:  # there are no models: X holds the scores themselves
        return scores
    return [in_classes(part, k, floor) for part, floor in zip(scores, floors, strict=True)]


def _class_shares(y: Labels, classes: Labels, weight: Floats | None) -> Floats:
    totals = np.array([((y == label) * (1.0 if weight is None else weight)).sum() for label in classes])
    return np.asarray(totals / totals.sum())


def _fit_copy(model: Any, X: Any, y: Labels, weight: Floats | None) -> Any:
    return clone(model).fit(X, y, **({} if weight is None else {"sample_weight": weight}))


def _check_calibration_set(calibration_set: Any, cv: Any) -> tuple[Any, Labels, Floats | None] | None:
    """Return the rows, labels and weights of the calibration set, or None if there is none; raise if it is invalid."""
    if calibration_set is None:
        return None
    if isinstance(cv, str):
        raise InvalidParameterError(
            "With cv='prefit', the map is trained on the rows passed to fit. Do not pass calibration_set."
        )
    if not isinstance(calibration_set, (tuple, list)) or len(calibration_set) not in (2, 3):
        raise InvalidParameterError("calibration_set must be (X, y) or (X, y, sample_weight).")
    X, y, *weight = calibration_set
    labels = check_labels("calibration_set", y)
    return X, labels, check_weight(weight[0], len(labels)) if weight else None


def _make_folds(cv: Any) -> Any:
    """Return the folds ``cv`` in a form that can be iterated twice: an iterator becomes a list. None means 5 folds."""
    if isinstance(cv, str):
        check_option("cv", cv, ("prefit",))
    if cv is None:
        return 5
    return cv if isinstance(cv, (int, str)) or hasattr(cv, "split") else list(cv)


def _map_folds(cv: Any) -> Any:
    """Return the folds in which the map is trained and evaluated.

    They are the folds of the models, except that 5 folds replace leave-one-out.
    """
    return 5 if isinstance(cv, LeaveOneOut) else cv


def _drop_zero_weights(X: Any, y: Labels, weight: Floats, groups: Any) -> tuple[Any, Labels, Floats, Any]:
    """Return the rows, labels, weights and groups without the rows of weight 0."""
    kept = np.flatnonzero(weight)
    X = csr_array(X) if issparse(X) else X if hasattr(X, "shape") else np.asarray(X)  # type: ignore[call-overload]
    return take(X, kept), y[kept], weight[kept], None if groups is None else np.asarray(groups)[kept]
