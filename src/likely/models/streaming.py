"""Fitting and scoring of pipelines in runs of rows, so that an expansion of all rows is never in memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import get_tags

from likely._constraints import is_count
from likely._validation import check_rows, check_training, encode_labels
from likely.blocks import ArraySource, Block, MappedSource, Source, with_positions
from likely.exceptions import IncompatiblePartsError, InvalidDataError

MAX_EXPANSION_VALUES = 2**27
"""Maximum number of values (a gibibyte) of an expansion that ``fit`` computes for all rows at once. A larger expansion
is computed block by block. It is computed again in every pass of every later step, which saves memory but takes
longer."""

RUN_VALUES, MIN_RUN_ROWS = 2**24, 64
"""RUN_VALUES is the number of values of an expansion in one run of consecutive rows, and MIN_RUN_ROWS the minimum
number of rows of a run. Scores are computed in such runs, and large expansions are fitted with runs as blocks."""


def fit_from_source(steps: list[Any], source: Source) -> None:
    """Fit each step to the rows of a source, after the steps before it have transformed them block by block."""
    _check_streams(steps)
    for step in steps[:-1]:
        step.fit_source(source)
        source = MappedSource(source, step.transform)
    steps[-1].fit_source(source)


def _check_streams(steps: list[Any]) -> None:
    for step in steps:
        if not hasattr(step, "fit_source"):
            raise IncompatiblePartsError(
                f"{type(step).__name__} has no fit_source, so this pipeline cannot be fitted to a source. Use fit. "
                "Alternatively, use steps of this library, such as Standardize, QuadraticFeatures and "
                "GaussianClassifier."
            )
        if step is not steps[-1] and not hasattr(step, "transform"):
            raise IncompatiblePartsError(f"{type(step).__name__} has no transform, so it must be the last step.")


def fit_large_expansion(steps: list[Any], X: Any, y: Any, sample_weight: Any) -> bool:
    """Fit the steps block by block, if the output of an expansion among them would have too many values for memory.

    Return whether the steps were fitted. They are not fitted, and the caller must fit them, if a step has no
    ``fit_source``, or if y has the shape (n, 1), which a source cannot distinguish from the shape (n,).
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or not all(hasattr(step, "fit_source") for step in steps):
        return False
    width = _max_expanded_width(steps[:-1], shape[1])
    if shape[0] * width <= MAX_EXPANSION_VALUES or np.shape(y)[1:] == (1,):
        return False
    names = BaseEstimator()
    fit_from_source(steps, _source(names, steps, X, y, sample_weight, _run_rows(width)))
    propagate_names(steps, getattr(names, "feature_names_in_", None))
    return True


def _source(names: Any, steps: list[Any], X: Any, y: Any, sample_weight: Any, block_rows: int) -> ArraySource:
    """Return a source of the validated rows in their order, with the labels or targets that the steps need.

    ``names`` is an estimator in which the names of the columns are stored.
    """
    supervised, regression = any(get_tags(step).target_tags.required for step in steps), is_regressor(steps[-1])
    rows, y, weight, kept = check_training(names, "Pipeline", X, y, sample_weight, True, supervised, regression)
    if y is None or regression:
        targets = y if y is None or y.ndim == 2 else y[:, None]
        return ArraySource(rows, None, weight, None, None, block_rows, kept, targets)
    classes, codes = encode_labels(y)
    return ArraySource(rows, codes, weight, classes, None, block_rows, kept)


def _max_expanded_width(steps: list[Any], n_features: int) -> int:
    """Return an upper bound of the number of output columns of any expansion among unfitted steps.

    Return 0 if there is no expansion.
    """
    widest = 0
    for step in steps:
        if hasattr(step, "expands_to"):
            n_features = step.expands_to(n_features)
            widest = max(widest, n_features)
        elif is_count(getattr(step, "n_components", None), 1, n_features):
            n_features = step.n_components
    return widest


def expanded_width(steps: list[Any]) -> int:
    """Return the largest number of output columns of a fitted expansion before the last step; 0 if there is none."""
    return max((step.expands_to(step.n_features_in_) for step in steps[:-1] if hasattr(step, "expands_to")), default=0)


def score_in_runs(score: Callable[[Any], Any], X: Any, width: int) -> Any:
    """Return ``score(X)``, computed in runs of consecutive rows.

    A run is so short that an expansion of its rows to ``width`` columns needs little memory. X is divided only if it is
    an array, a sparse matrix or a data frame, and if its scores are an array.
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    max_rows = _run_rows(width)
    if not width or len(shape) != 2 or shape[0] <= max_rows:
        return score(X)
    is_sparse = bool(issparse(X))
    rows = csr_array(X) if is_sparse else getattr(X, "iloc", X)
    parts = []
    for start, stop in pairwise([*range(0, shape[0], max_rows), shape[0]]):
        parts.append(_score_run(score, rows[start:stop], range(start, stop)))
        if not isinstance(parts[0], np.ndarray):
            return score(X)
    return np.concatenate(parts)


def _run_rows(width: int) -> int:
    return max(MIN_RUN_ROWS, RUN_VALUES // max(width, 1))


def _score_run(score: Callable[[Any], Any], run: Any, positions: range) -> Any:
    try:
        return score(run)
    except InvalidDataError as error:
        rows = check_rows(BaseEstimator(), run, reset=True)
        raise with_positions(error, Block(rows, positions=positions)) from None


def propagate_names(steps: list[Any], names: Any) -> None:
    """Set ``feature_names_in_`` of every step whose input has column names, and remove it from the other steps.

    ``names`` are the names of the input columns of the first step, or None.
    """
    for step in steps:
        step.__dict__.pop("feature_names_in_", None)
        if names is not None:
            step.feature_names_in_ = names
        own = vars(step).get("_sklearn_output_config", {})
        named = own.get("transform", get_config()["transform_output"]) != "default"
        names = step.get_feature_names_out() if named and step is not steps[-1] else None
