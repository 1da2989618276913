"""Validation of rows, labels, weights and scores in public methods. Internal functions trust their arguments.

Whether the values of rows are finite is not checked here, because a separate pass over the rows would take as long as
learning a diagonal Gaussian. It is checked on the sums that learning computes anyway: they are not finite if a value is
not (see ``Block.non_finite``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from likely._constraints import is_number
from likely._typing import Floats, Integers, Labels, Rows
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError


def check_rows(estimator: Any, X: Any, reset: bool = False) -> Rows:
    """Return rows as an array of numbers or a CSR array, after checking the names and the number of their columns.

    With ``reset``, the names and the number are stored in the estimator; otherwise they must equal the stored ones.
    Numbers keep their type here. They are converted to double precision later, one block of rows at a time.
    """
    name = _outermost.get() or type(estimator).__name__
    if not reset:
        check_width(name, estimator, X)
    try:
        valid: Any = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
        )
    except ValueError as error:
        raise InvalidDataError(_describe_text(name, X) or str(error), parameter="X") from error
    return _sum_duplicates(valid) if issparse(valid) else np.asarray(valid)


_outermost: ContextVar[str] = ContextVar("_outermost", default="")
"""Class name of the estimator that messages about rows name, or an empty text. See :func:`name_in_messages`."""


@contextmanager
def name_in_messages(estimator: Any) -> Iterator[None]:
    """Let messages about rows name this estimator instead of the inner steps to which it passes the rows."""
    if _outermost.get():
        yield
        return
    token = _outermost.set(type(estimator).__name__)
    try:
        yield
    finally:
        _outermost.reset(token)


def check_width(name: str, estimator: Any, X: Any) -> None:
    """Raise unless the rows have as many columns as the training rows of the estimator.

    The names of the columns are checked by scikit-learn. ``name`` is the name of the estimator in the message.
    """
    shape: Any = getattr(X, "shape", ())
    n = getattr(estimator, "n_features_in_", None)
    if n is None or len(shape) != 2 or shape[1] == n or not shape[0] or not shape[1]:
        return
    fitted = getattr(estimator, "feature_names_in_", None)
    columns = "" if fitted is None else f" It was fitted to the columns {', '.join(map(repr, fitted[:20].tolist()))}"
    more = "" if fitted is None else f" and {n - 20} more." if n > 20 else "."
    raise InvalidDataError(
        f"X has {shape[1]} features, but {name} is expecting {n} features as input.{columns}{more}", parameter="X"
    )


def _describe_text(name: str, X: Any) -> str:
    """Return a message about the first text in rows that must be numbers, or an empty message if no cell is a text.

    Only columns that can hold texts are copied, so the memory is bounded by theirs.
    """
    names = getattr(X, "columns", None)
    if names is None:
        array = np.empty(0) if issparse(X) else np.asarray(X)
        columns: Any = array.T if array.ndim == 2 and array.dtype.kind in "OUST" else ()
    else:
        columns = (X[key] for key in names)
    for j, column in enumerate(columns):
        values = np.asarray(column)
        if values.ndim != 1 or values.dtype.kind not in "OUST":
            continue
        row = next(
            (i for i, value in enumerate(values.tolist()) if isinstance(value, str) and not _is_number(value)), None
        )
        if row is not None:
            which = f"column {j}" if names is None else f"column {list(names)[j]!r}"
            return (
                f"{name} takes columns of numbers, but {which} holds the text {values[row][:40]!r} in row {row}. "
                "Convert categories to numbers first, for instance with Encode(). Alternatively, leave the column out."
            )
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _sum_duplicates(X: Any) -> Any:
    """Return a CSR array in which no entry is stored twice. Values that were stored for the same entry are added."""
    X = csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_training(
    estimator: Any,
    owner: str,
    X: Any,
    y: Any,
    sample_weight: Any,
    reset: bool,
    supervised: bool,
    regression: bool = False,
) -> tuple[Rows, Any, Floats | None, Integers | None]:
    """Return the training rows, their labels, their weights, and the indices of the rows that were kept.

    Rows of weight zero are dropped. The indices are None if all rows were kept, the labels are None unless
    ``supervised``, and the weights are None if none were given. With ``regression``, numeric targets are returned in
    place of the labels.
    """
    X = check_rows(estimator, X, reset)
    check_y = check_targets if regression else check_labels
    labels = check_y(owner, y) if supervised else None
    if labels is not None:
        check_consistent_length(X, labels)
    weight = check_weight(sample_weight, X.shape[0])
    if weight is None or weight.all():
        return X, labels, weight, None
    kept = np.flatnonzero(weight)
    return X[kept], None if labels is None else labels[kept], weight[kept], kept


def check_weight(sample_weight: Any, n: int) -> Floats | None:
    """Return the weights of n rows as an array, or None if ``sample_weight`` is None.

    Weights are frequencies: they must be finite, not negative and not all zero. A single number is the weight of
    every row.
    """
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim != 1:
        raise InvalidDataError(f"Sample weights must be 1D array or scalar, but have shape {weight.shape}.")
    if len(weight) != n:
        raise InvalidDataError(f"sample_weight must have one value for each of the {n} rows, but has {len(weight)}.")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise InvalidDataError(
            f"Weights must be finite frequencies >= 0, but row {bad[0]} has the weight {weight[bad[0]]}."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise InvalidDataError(
            f"Weights are too large to be summed: the largest is {weight.max():.3g}. Divide all weights by a constant."
        )
    if not weight.any():
        raise InvalidDataError("Sample weights must contain at least one non-zero number: all rows have weight 0.")
    return weight


def encode_labels(y: Labels) -> tuple[Labels, Integers]:
    """Return the classes in sorted order, and the index of each label among them.

    Integer labels in a small range are counted instead of sorted, because counting takes a tenth of the time for a
    million labels.
    """
    if y.dtype.kind in "iub" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < 2**16:
            shifted = (y - y.min()).astype(np.intp) if y.dtype.kind == "u" else y.astype(np.intp) - low
            occurs = np.bincount(shifted) > 0
            if occurs.all():
                return np.arange(len(occurs)).astype(y.dtype) + y.min(), shifted
            return np.flatnonzero(occurs).astype(y.dtype) + y.min(), (np.cumsum(occurs) - 1)[shifted]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.intp)


def check_option(name: str, value: Any, options: Any) -> None:
    """Raise unless a value is one of the options."""
    if value not in options:
        raise InvalidParameterError(
            f"{name} must be one of {', '.join(map(repr, options))}, but is {value!r}.", parameter=name
        )


def check_confidence(value: Any) -> None:
    """Raise unless a value can be the confidence level of an interval: a number between 0 and 1, both excluded."""
    if not (is_number(value) and 0 < value < 1):
        raise InvalidParameterError(
            f"confidence must be a number in the open interval (0, 1), such as 0.95, but is {value!r}."
        )


def check_labels(owner: str, y: Any) -> Labels:
    """Return labels as an array of one type. Raise if a label is missing or infinite, or if the labels mix types."""
    if y is None:
        raise InvalidDataError(f"{owner} requires y to be passed, but the target y is None. Give one label per row.")
    labels: Labels = column_or_1d(y, warn=True)
    if labels.dtype.kind in "iubUS":
        return labels
    values = labels.astype(object).tolist() if labels.dtype.kind in "OT" else labels.tolist()
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    missing = [_is_missing(value) for value in values]
    if any(missing):
        raise InvalidDataError(
            f"Input y contains NaN: the label of row {missing.index(True)} is missing. Drop rows without a label."
        )
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        row = int(np.isinf(labels).argmax())
        raise InvalidDataError(f"Input y contains infinity (inf) in row {row}, which cannot be a label.")
    if labels.dtype.kind in "OT":
        labels = _to_one_type(values)
    check_classification_targets(labels)
    return labels


def check_n_classes(owner: str, classes: Labels, remedy: str = "") -> None:
    """Raise unless y has at least two classes."""
    if len(classes) < 2:
        found = f"only one class: {classes.tolist()[0]!r}" if len(classes) else "no rows"
        raise DegenerateDataError(f"{owner} needs at least two classes, but y has {found}. {remedy}".rstrip())


def check_targets(owner: str, y: Any) -> Floats:
    """Return the targets of a regression as an array of doubles, of shape (n,) or (n, n_targets).

    Missing targets become NaN. Whether targets are finite is checked later, on the sums that learning computes.
    """
    if y is None:
        raise InvalidDataError(f"{owner} requires y to be passed, but the target y is None. Give one number per row.")
    targets = np.asarray(y)
    if targets.ndim not in (1, 2) or 0 in targets.shape[1:]:
        raise InvalidDataError(
            f"y of {owner} must have shape (n,), or (n, n_targets) for several targets, but has shape {targets.shape}."
        )
    if targets.dtype.kind not in "iufbO":
        raise InvalidDataError(
            f"y of {owner} must hold numbers, but has type {targets.dtype}. Convert y to numbers first."
        )
    if targets.dtype.kind == "O":
        targets = np.array([_to_number(owner, value) for value in targets.ravel()]).reshape(targets.shape)
    return targets.astype(np.float64, copy=False)


def _to_number(owner: str, value: Any) -> float:
    if _is_missing(value):
        return np.nan
    if not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise InvalidDataError(f"y of {owner} must hold numbers, but holds {value!r} ({type(value).__name__}).")


def _is_missing(value: Any) -> bool:
    try:
        return value is None or not bool(value == value)
    except TypeError:  # NA of pandas: comparing it with itself gives NA, which has no truth value
        return True


def _to_one_type(values: list[Any]) -> Labels:
    """Convert Python objects of one type to an array of that type."""
    types = sorted({type(value).__name__ for value in values})
    if len(types) > 1:
        raise InvalidDataError(f"Labels must be of one type, but y mixes {' and '.join(types)}. Use y.astype(str).")
    return np.array(values)


def check_scores(owner: str, scores: Any) -> Floats:
    """Return scores as an array of doubles. Scores may be infinite. Raise if a score is NaN or not a number."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"Scores given to {owner} must be numbers: {error}.") from None
    if values.ndim == 0:
        raise InvalidDataError(f"{owner} takes one score per row, but scores is a single number.")
    if values.size and np.isnan(values.min()):
        row = int(np.isnan(values.reshape(len(values), -1)).any(axis=1).argmax())
        raise InvalidDataError(
            f"Scores given to {owner} may be infinite but not NaN: row {row} has NaN. Drop the rows with NaN, or "
            "set their scores to the llr 0, which is neutral."
        )
    return values


def as_floats(value: Any) -> Floats | None:
    """Return a new array of doubles, or None if the value cannot be converted."""
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
