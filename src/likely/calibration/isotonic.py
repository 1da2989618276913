"""Isotonic calibration: the nondecreasing map of scores to log-likelihood ratios that fits the training trials best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    Constraints,
    Scope,
    ViolationError,
    check_parameters,
    class_labels,
    flag,
    floats,
    nondecreasing,
)
from likely._fitted import Fitted, all_or_nothing
from likely._typing import Booleans, Floats
from likely._validation import check_labels, check_weight, encode_labels
from likely.calibration.pav import pool
from likely.calibration.scores import Systems
from likely.calibration.steps import Steps
from likely.exceptions import InvalidDataError


@dataclass(frozen=True, eq=False)
class IsotonicState:
    """First and last score of each block of trials that PAV pooled, both with the llr of the block."""

    scores_: Annotated[Floats, nondecreasing(floats("points", finite=False))]
    llr_: Annotated[Floats, nondecreasing(floats("points", finite=False))]


class IsotonicCalibrator(Fitted, BaseEstimator):  # type: ignore[misc]
    """Isotonic calibration of scores to log-likelihood ratios, by pool adjacent violators (PAV), for two classes.

    The calibrator assumes only that a higher score favours the target more. The map minimises the training cost at
    every prior and cost at once. It needs more trials than :class:`AffineCalibrator`.

    Parameters
    ----------
    bounded : bool, default False
        Below the lowest target score and above the highest nontarget score the trials belong to one class, so their llr
        is infinite. On new data a single trial that contradicts an infinite llr makes Cllr infinite. With ``bounded``,
        one target and one nontarget are added at each end (Laplace's rule), and llrs stay finite.

    Attributes
    ----------
    classes_ : array of shape (2,)
    scores_, llr_ : arrays of shape (points,)
        First and last score of each pooled block, and the llr of the block. Scores within a block have its llr. Between
        two blocks the llr is interpolated linearly. If one of the two llrs is infinite, the finite one applies; between
        −inf and +inf the llr is 0. Scores outside the training range have the llr of the nearest end.

    References
    ----------
    N. Brümmer and J. du Preez, The PAV algorithm optimizes binary proper scoring rules, arXiv:1304.2331 (2013).

    Examples
    --------
    >>> y, scores = [0, 0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    >>> IsotonicCalibrator().fit(scores, y).transform([2.0, 3.5, 6.0])
    array([-inf,   0.,  inf])
    >>> IsotonicCalibrator(bounded=True).fit(scores, y).transform([2.0, 3.5, 6.0]).round(3)
    array([-1.099,  0.   ,  1.099])
    """

    _State = IsotonicState
    _inputs: ClassVar[Constraints] = {"classes_": class_labels()}
    _constraints: ClassVar[Constraints] = {"bounded": flag}
    scores_: Floats
    llr_: Floats

    def __init__(self, *, bounded: bool = False) -> None:
        self.bounded = bounded

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        scores : array of shape (n,), (n, 1) or (n, 2)
            Scores; they may be infinite.
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            x = self._llrs(scores).x[:, 0]
            self.classes_, is_target = _two_classes(y, len(x))
            weight = check_weight(sample_weight, len(x))
            if weight is not None:
                x, is_target, weight = x[weight > 0], is_target[weight > 0], weight[weight > 0]
            if is_target.all() or not is_target.any():
                raise InvalidDataError(
                    "IsotonicCalibrator needs rows of two classes, but all rows of one class have weight 0."
                )
            self._state = self._learn(x, is_target, weight)
        return self

    def _learn(self, x: Floats, is_target: Booleans, weight: Floats | None) -> IsotonicState:
        trained = x
        if self.bounded:  # Laplace's rule: one target and one nontarget at each end
            x = np.concatenate([x, [-np.inf, -np.inf, np.inf, np.inf]])
            is_target = np.concatenate([is_target, [False, True, False, True]])
            weight = None if weight is None else np.concatenate([weight, np.ones(4)])
        steps = Steps.of(x, is_target, weight)
        blocks = pool(steps)
        # Each block gives two points: its first and its last score, both with the llr of the block.
        ends = np.column_stack([blocks.starts[:-1], blocks.starts[1:] - 1]).ravel()
        scores, llr = steps.thresholds[ends], np.repeat(blocks.llr, 2)
        if self.bounded:  # remove the added trials at ±inf, which were needed only to bound the llrs
            added = np.repeat(np.isinf(scores[::2]) & (scores[::2] == scores[1::2]) & ~np.isin(scores[::2], trained), 2)
            scores, llr = np.clip(scores[~added], trained.min(), trained.max()), llr[~added]
        return IsotonicState(scores, llr)

    def _check_state(self, scope: Scope) -> None:
        if scope.sizes.get("k", 2) != 2:
            raise ViolationError(f"classes_ must have two classes, but has {scope.sizes['k']}")

    def transform(self, scores: Any) -> Floats:
        """Return log-likelihood ratios in the shape of the scores.

        If the scores have two columns, the first column of the result is 0.
        """
        check_is_fitted(self, "llr_")
        llrs = self._llrs(scores)
        x = llrs.x[:, 0]
        after = np.searchsorted(self.scores_, x)
        exact = self.llr_[np.minimum(after, len(self.llr_) - 1)]
        between = (after > 0) & (after < len(self.scores_))
        between[between] = self.scores_[after[between]] != x[between]
        mapped = np.where(between, self._between(x, np.clip(after, 1, len(self.llr_) - 1)), exact)
        return llrs.restore_columns(mapped).reshape(np.shape(scores))

    def _between(self, x: Floats, after: Any) -> Floats:
        """Return the llrs of scores x that lie between two neighbouring points of the map, by interpolation.

        ``after`` holds, for each score, the index of the point above it.
        """
        (low, high), (left, right) = ((values[after - 1], values[after]) for values in (self.llr_, self.scores_))
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            share = np.where(np.isfinite(right - left), (x - left) / (right - left), 0.5)
            inside = low + share * (high - low)
        one_sided = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
        inside = np.where(np.isfinite(low) & np.isfinite(high), inside, one_sided)
        return np.where(low == high, low, inside)

    def fit_transform(self, scores: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Fit the calibrator to scores, and return them calibrated."""
        return self.fit(scores, y, sample_weight).transform(scores)

    def _llrs(self, scores: Any) -> Systems:
        systems = Systems.of_one(scores, "IsotonicCalibrator")
        if systems.x.ndim > 2:
            raise InvalidDataError(
                f"IsotonicCalibrator needs scores of two classes, but they have shape {np.shape(scores)}. "
                "Use AffineCalibrator for more classes."
            )
        return systems


def _two_classes(y: Any, n: int) -> tuple[Any, Booleans]:
    labels = check_labels("IsotonicCalibrator", y)
    if len(labels) != n:
        raise InvalidDataError(f"Scores and y must have one entry for each row, but have {n} and {len(labels)}.")
    classes, codes = encode_labels(labels)
    if len(classes) != 2:
        raise InvalidDataError(
            f"IsotonicCalibrator needs two classes, but y has {classes.tolist()[:5]}. "
            "Use AffineCalibrator for more classes."
        )
    return classes, codes == 1
