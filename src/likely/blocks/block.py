"""A few rows with what belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely.exceptions import InvalidDataError, MissingValuesError

__all__ = ["Block"]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a source.

    Parameters
    ----------
    X : array or CSR array of shape (n, n_features)
        Numbers of any width; statistics sum them in double precision.
    codes : array of int of shape (n,), or None
        Each row's class, as a position in the source's ``classes``.
    weight : array of shape (n,), or None
        Frequencies, all positive; None stands for ones.
    folds : array of int of shape (n,), or None
        The fold in which each row is held out.
    positions : sequence of int, optional
        Where the rows are in the source, for messages; 0, 1, … if not given.
    targets : array of shape (n, n_targets), or None
        What a regression is to predict.
    is_copy : bool
        Whether the rows were copied for this block, so that a statistic may use their memory as working space.
    """

    X: Rows
    codes: Integers | None = None
    weight: Floats | None = None
    folds: Integers | None = None
    positions: Sequence[int] | Integers | None = None
    targets: Floats | None = None
    is_copy: bool = False

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, which: Integers) -> Block:
        """Some of the rows, in the order asked for, with all that belongs to them."""
        places = range(len(self)) if self.positions is None else self.positions
        positions = places.start + which if isinstance(places, range) else np.asarray(places)[which]
        return Block(
            self.X[which],
            None if self.codes is None else self.codes[which],
            None if self.weight is None else self.weight[which],
            None if self.folds is None else self.folds[which],
            positions,
            None if self.targets is None else self.targets[which],
            is_copy=True,
        )

    def non_finite(self) -> InvalidDataError:
        """The error that says where this block's first NaN or infinity is, or that its sums overflowed."""
        X = dense(self.X)
        bad = np.argwhere(~np.isfinite(X))
        if not len(bad):
            column = np.abs(X).max(axis=0).argmax()
            return InvalidDataError(
                f"Values of column {column} reach {np.abs(X[:, column]).max():.3g}, too large to be squared and "
                "summed. Rescale that column."
            )
        infinite = np.argwhere(np.isinf(X))
        row, column = infinite[0] if len(infinite) else bad[0]
        position = row if self.positions is None else self.positions[row]
        where = f"in row {position}, column {column}"
        if np.isnan(X[row, column]):
            return MissingValuesError(
                f"X contains NaN {where}. Fill in missing values, or use a model that takes them: Gaussian classifiers "
                "and mixtures score such rows, and learn from them (classifiers by partial_fit too, where covariances "
                "are diagonal or spherical)."
            )
        return InvalidDataError(
            f"X contains infinity (inf) {where}. Replace it by a finite number, or by NaN if the value is missing."
        )

    def non_finite_targets(self) -> InvalidDataError | None:
        """The error that says which of this block's targets cannot be squared and summed, if there is one."""
        with np.errstate(all="ignore"):
            if self.targets is None or np.isfinite(np.square(self.targets).sum()):
                return None
        bad = np.argwhere(~np.isfinite(self.targets))
        if not len(bad):
            reached = np.abs(self.targets).max()
            return InvalidDataError(f"Values of y reach {reached:.3g}, too large to be squared and summed. Rescale y.")
        row, column = bad[0]
        position = row if self.positions is None else self.positions[row]
        what = "NaN" if np.isnan(self.targets[row, column]) else "infinity (inf)"
        where = f"row {position}" + (f", column {column}" if self.targets.shape[1] > 1 else "")
        return InvalidDataError(f"Input y contains {what} in {where}. Drop rows whose target is not known.")
