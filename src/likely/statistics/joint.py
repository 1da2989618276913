"""Moments of rows and of the numbers to be predicted from them: all that a linear regression learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from likely._constraints import Scope, ViolationError, count, instance_of
from likely._numerics import Workspace, dense
from likely._typing import Floats, Rows
from likely.exceptions import IncompatiblePartsError
from likely.statistics.moments import Moments, about_mean, scatter_about_zero

_WORKSPACE = Workspace()


@dataclass(frozen=True, eq=False)
class JointMoments:
    """The moments of rows and targets side by side, as of one row [x, t].

    Parameters
    ----------
    moments : Moments
        Of the columns of x, followed by those of t.
    n_targets : int
        How many of them are targets.

    Examples
    --------
    >>> import numpy as np
    >>> joint = JointMoments.of(np.array([[1.0], [2.0], [6.0]]), np.array([[2.0], [3.0], [4.0]]))
    >>> joint.inputs.scatter, joint.cross
    (array([[14.]]), array([[5.]]))
    """

    moments: Annotated[Moments, instance_of(Moments, d="w")]
    n_targets: Annotated[int, count(1)]

    def _check_state(self, scope: Scope) -> None:
        if self.n_features < 1:
            raise ViolationError(
                f"n_targets must leave some features of {scope.sizes['w']} columns, but is {self.n_targets}"
            )
        scope.sizes |= {"d": self.n_features, "t": int(self.n_targets)}

    @property
    def n_features(self) -> int:
        """Number of columns that are not targets."""
        return self.moments.n_features - self.n_targets

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return self.moments.weight

    @property
    def inputs(self) -> Moments:
        """The moments of the rows alone."""
        return self.moments.leading(self.n_features)

    @property
    def cross(self) -> Floats:
        """Σ w (x − mean)(t − mean)', of shape (n_features, n_targets)."""
        return self.moments.scatter[: self.n_features, self.n_features :]

    @property
    def target_mean(self) -> Floats:
        """Means of the targets, of shape (n_targets,)."""
        return self.moments.mean[self.n_features :]

    @property
    def target_scatter(self) -> Floats:
        """Sums of squared deviations of each target, of shape (n_targets,)."""
        return self.moments.scatter.diagonal()[self.n_features :]

    @classmethod
    def zero(cls, n_features: int, n_targets: int) -> JointMoments:
        """The moments of no rows."""
        return cls(Moments.zero(n_features + n_targets), n_targets)

    @classmethod
    def of(cls, X: Rows, targets: Floats, weight: Floats | None = None) -> JointMoments:
        """The moments of rows, dense or sparse, and of their targets.

        Rows about zero are used where they are. Others are copied about their mean, beside the targets, into one reused
        piece of memory, so that one product gives all of the scatter.
        """
        X = dense(X)
        n, m = len(X), targets.shape[1]
        if not n:
            return cls.zero(X.shape[1], m)
        w = np.ones(n) if weight is None else weight
        total = float(w.sum())
        # Targets about their mean, so that one product gives the sums of the rows, and theirs with the targets.
        beside = _WORKSPACE.array("weight and targets", (n, m + 1))
        beside[:, 0] = w
        target_mean = np.asarray(w @ targets / total)
        np.subtract(targets, target_mean, out=beside[:, 1:])
        left = w @ beside[:, 1:] / total  # the rounding of the mean, which targets far from zero magnify
        beside[:, 1:] -= left
        target_mean = target_mean + left
        sums = X.T @ beside
        mean = np.concatenate([sums[:, 0] / total, target_mean])
        inputs = scatter_about_zero(X, mean[:-m]) if weight is None else None
        if inputs is None:
            return cls(Moments(total, *_side_by_side(X, beside[:, 1:], mean, weight)), m)
        return cls(Moments(total, mean, _bordered(inputs, sums[:, 1:], beside[:, 1:])), m)

    def __add__(self, other: JointMoments) -> JointMoments:
        if not isinstance(other, JointMoments) or self.n_targets != other.n_targets:
            came = f"{other.n_targets} targets" if isinstance(other, JointMoments) else type(other).__name__
            raise IncompatiblePartsError(
                f"Moments with {self.n_targets} targets cannot be added to {came}. Every instalment must have the same."
            )
        return JointMoments(self.moments + other.moments, self.n_targets)

    def is_finite(self) -> bool:
        """Whether the sums are finite, which they are only if rows and targets were, and not too large to square."""
        return self.moments.is_finite()


def _side_by_side(X: Floats, targets: Floats, mean: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Mean and scatter of rows, copied about their mean, and of targets that are about theirs already."""
    (n, d), m = X.shape, targets.shape[1]
    both = _WORKSPACE.array("rows and targets", (n, d + m))
    np.subtract(X, mean[:d], out=both[:, :d])
    both[:, d:] = targets
    return about_mean(both, mean, weight)


def _bordered(inputs: Floats, cross: Floats, targets: Floats) -> Floats:
    """The scatter of rows and targets, from the parts of it that are known.

    Targets about their mean sum to zero but for rounding, which rows about zero do not magnify.
    """
    d, m = cross.shape
    scatter = np.empty((d + m, d + m))
    scatter[:d, :d], scatter[:d, d:], scatter[d:, :d] = inputs, cross, cross.T
    scatter[d:, d:] = targets.T @ targets
    return scatter
