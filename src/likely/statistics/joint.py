"""Joint moments of the features and targets of rows, from which linear regression is estimated."""

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
    """Moments of the concatenated rows [x, t] of features and targets.

    Parameters
    ----------
    moments : Moments
        Moments of the columns of x, followed by the columns of t.
    n_targets : int
        Number of targets.

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
                f"n_targets must be less than {scope.sizes['w']} (the number of columns), but is {self.n_targets}"
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
        """The moments of the features."""
        return self.moments.leading(self.n_features)

    @property
    def cross(self) -> Floats:
        """Scatter between features x and targets t, Σ w (x − mean)(t − mean)', of shape (n_features, n_targets)."""
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
        """Return the moments of no rows."""
        return cls(Moments.zero(n_features + n_targets), n_targets)

    @classmethod
    def of(cls, X: Rows, targets: Floats, weight: Floats | None = None) -> JointMoments:
        """Return the joint moments of rows, dense or sparse, and of their targets.

        If the mean of the rows is near zero, the rows are not copied. Otherwise the centred rows and targets are
        written side by side into one array, so that one matrix product gives the whole scatter matrix. The memory of
        this array is reused.
        """
        X = dense(X)
        n, m = len(X), targets.shape[1]
        if not n:
            return cls.zero(X.shape[1], m)
        w = np.ones(n) if weight is None else weight
        total = float(w.sum())
        # One product X'[w, t − mean of t] gives the weighted sum of the rows and, if there are no weights, the sums of
        # products of the rows with the centred targets.
        factors = _WORKSPACE.array("weight and targets", (n, m + 1))
        factors[:, 0] = w
        target_mean = np.asarray(w @ targets / total)
        np.subtract(targets, target_mean, out=factors[:, 1:])
        # Correct the rounding error of the mean, which is large for targets far from zero.
        error = w @ factors[:, 1:] / total
        factors[:, 1:] -= error
        target_mean = target_mean + error
        sums = X.T @ factors
        mean = np.concatenate([sums[:, 0] / total, target_mean])
        inputs = scatter_about_zero(X, mean[:-m]) if weight is None else None
        if inputs is None:
            return cls(Moments(total, *_centred_moments(X, factors[:, 1:], mean, weight)), m)
        return cls(Moments(total, mean, _join_scatter(inputs, sums[:, 1:], factors[:, 1:])), m)

    def __add__(self, other: JointMoments) -> JointMoments:
        if not isinstance(other, JointMoments) or self.n_targets != other.n_targets:
            got = f"{other.n_targets} targets" if isinstance(other, JointMoments) else type(other).__name__
            raise IncompatiblePartsError(
                f"Moments with {self.n_targets} targets cannot be added to {got}. Every batch must have the same "
                "number of targets."
            )
        return JointMoments(self.moments + other.moments, self.n_targets)

    def is_finite(self) -> bool:
        """Return whether all sums are finite.

        They are not finite if a value of a row is not finite, or if its square overflows.
        """
        return self.moments.is_finite()


def _centred_moments(X: Floats, targets: Floats, mean: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return the mean and the scatter matrix of the concatenated rows of features and targets.

    ``X`` is not centred, and ``mean`` begins with its mean. A centred copy of it is made. ``targets`` are centred.
    """
    (n, d), m = X.shape, targets.shape[1]
    both = _WORKSPACE.array("rows and targets", (n, d + m))
    np.subtract(X, mean[:d], out=both[:, :d])
    both[:, d:] = targets
    return about_mean(both, mean, weight)


def _join_scatter(inputs: Floats, cross: Floats, targets: Floats) -> Floats:
    """Return the scatter matrix of features and targets from its blocks.

    ``inputs`` is the scatter matrix of the features. ``cross`` holds the sums of products of the features with the
    centred ``targets``. The features need not be centred for these sums, because centred targets sum to zero up to
    rounding. This rounding error is multiplied by the mean of the features, which is near zero here.
    """
    d, m = cross.shape
    scatter = np.empty((d + m, d + m))
    scatter[:d, :d], scatter[:d, d:], scatter[d:, :d] = inputs, cross, cross.T
    scatter[d:, d:] = targets.T @ targets
    return scatter
