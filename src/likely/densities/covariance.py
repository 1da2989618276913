"""Covariance shapes: estimation, shrinkage and flooring of full, diagonal and spherical covariances.

The shapes hold hyperparameters only. :mod:`likely.densities.factors` holds the estimated covariances, and
:mod:`likely.densities.natural_form` their arithmetic in EM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh, rq
from sklearn.base import BaseEstimator

from likely._constraints import Constraints, check_argument, check_parameters, either, flag, instance_of, number, one_of
from likely._numerics import is_rounding
from likely._typing import Floats, Integers
from likely.blocks import for_each
from likely.densities.factors import (
    Covariances,
    DiagonalCovariances,
    FullCovariances,
    factor_if_well_conditioned,
    invert_factor,
    min_eigenvalue,
)
from likely.densities.natural_form import DiagonalForm, FullForm, NaturalForm, SphericalForm
from likely.exceptions import DegenerateDataError, warn_of_degenerate_data
from likely.statistics import DiagonalMoments, Moments

FLOOR = 1e-9
"""Default floor of the eigenvalues of a correlation matrix."""


class Covariance(BaseEstimator):  # type: ignore[misc]
    """Base class of covariance shapes, with the rule for singular covariances.

    The data do not determine the variance of a constant column (a variance that is only rounding), or the eigenvalues
    of the correlation matrix below ``floor``. These are floored, each relative to its own scale, with a warning that
    names the class and its rank. ``floor=0`` raises an error instead. A constant column gets ``floor`` times the
    variance of that column over all classes (if that is zero too, times its mean square, or 1).

    Parameters
    ----------
    shrinkage : float from 0 to 1, default 0
        Weight of a simpler shape in the estimate: the diagonal of the covariance for :class:`Full`, the average
        variance for :class:`Diagonal`. Unlike a floor, shrinkage changes the estimate in every direction.
    floor : float from 0 to 1, default 1e-9
        Minimum eigenvalue of the correlation matrix, and minimum variance of a constant column relative to the column's
        variance over all rows.
    unbiased : bool, default False
        Divide by the weight less the number of estimated means, instead of the weight (maximum likelihood).
    """

    moments: ClassVar[Any] = DiagonalMoments
    """Class of the statistic from which the shape is estimated."""

    name: ClassVar[str]
    _constraints: ClassVar[Constraints] = {
        "shrinkage": number(0, 1),
        "floor": number(0, 1),
        "unbiased": flag,
    }

    fitted: ClassVar[type[Covariances]] = DiagonalCovariances
    """The class of the estimates."""

    natural_form: ClassVar[type[NaturalForm]]
    """Class with the arithmetic of EM for Gaussians of this shape."""

    def __init__(self, shrinkage: float = 0.0, *, floor: float = FLOOR, unbiased: bool = False) -> None:
        self.shrinkage = shrinkage
        self.floor = floor
        self.unbiased = unbiased

    def estimate(
        self, parts: Sequence[Any], names: Sequence[str], whole: DiagonalMoments, n_means: int = 1, remedy: str = ""
    ) -> Any:
        """Estimate the covariances of ``parts``.

        Parameters
        ----------
        parts : sequence of moments
        names : sequence of str
            Name of each part in messages.
        whole : DiagonalMoments
            Moments of all rows, which give the scale of a constant column.
        n_means : int
            Number of means estimated for each part; an unbiased estimate subtracts it from the weight.
        remedy : str
            Advice in the message about a singular part.
        """
        check_parameters(self)
        lost = n_means if self.unbiased else 0
        # Threads are worth their overhead if a factorisation takes milliseconds.
        apply: Any = for_each if whole.n_features >= 128 else map
        found = apply(lambda part: self._estimate_one(part, whole, lost), list(parts))
        estimates, ranks, constants = zip(*found, strict=True)
        _report_singular(self, [_PartRank(*s) for s in zip(names, parts, ranks, constants, strict=True)], remedy)
        return self._stack(estimates)

    def n_parameters(self, n_features: int) -> int:
        """Return the number of free parameters of one covariance."""
        raise NotImplementedError

    def _estimate_one(self, part: Any, whole: DiagonalMoments, lost: float) -> tuple[Any, int, Integers]:
        """Return the estimate, its rank before flooring, and the constant columns."""
        raise NotImplementedError

    def _stack(self, estimates: tuple[Any, ...]) -> Covariances:
        return DiagonalCovariances(np.stack(estimates))


class Full(Covariance):
    """Full covariance: all variances and covariances."""

    moments = Moments
    name = "full"
    fitted = FullCovariances
    natural_form = FullForm

    def n_parameters(self, n_features: int) -> int:
        return n_features * (n_features + 1) // 2

    def _estimate_one(self, part: Any, whole: DiagonalMoments, lost: float) -> tuple[Any, int, Integers]:
        # Scale to a correlation matrix, shrink its off-diagonal elements, floor its eigenvalues, and scale back.
        C = part.covariance(lost)
        variances, constant = _floor_constant_columns(C.diagonal(), whole, self.floor)
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        R = (1 - self.shrinkage) * C / np.outer(scale, scale)
        np.fill_diagonal(R, 1.0)
        R, U, rank = _floor_varying_columns(R, constant, self.floor)
        R *= np.outer(scale, scale)
        U /= scale[:, None]
        return (R, U), rank, constant

    def _stack(self, estimates: tuple[Any, ...]) -> FullCovariances:
        matrices, whiteners = zip(*estimates, strict=True)
        return FullCovariances(np.stack(matrices), np.stack(whiteners))


class Diagonal(Covariance):
    """Diagonal covariance: columns are conditionally independent given the class (Gaussian naive Bayes)."""

    name = "diagonal"
    natural_form = DiagonalForm

    def n_parameters(self, n_features: int) -> int:
        return n_features

    def _estimate_one(self, part: Any, whole: DiagonalMoments, lost: float) -> tuple[Floats, int, Integers]:
        variances = part.variances(lost)
        variances = (1 - self.shrinkage) * variances + self.shrinkage * variances.mean()
        variances, constant = _floor_constant_columns(variances, whole, self.floor)
        return variances, len(variances) - len(constant), constant


class Spherical(Covariance):
    """Spherical covariance: one variance for all columns, so distances are Euclidean.

    Parameters
    ----------
    floor, unbiased
        As for every :class:`Covariance`.
    """

    name = "spherical"
    natural_form = SphericalForm
    shrinkage = 0.0
    _constraints: ClassVar[Constraints] = {"floor": number(0, 1), "unbiased": flag}

    def __init__(self, *, floor: float = FLOOR, unbiased: bool = False) -> None:
        self.floor = floor
        self.unbiased = unbiased

    def n_parameters(self, n_features: int) -> int:
        return 1

    def _estimate_one(self, part: Any, whole: DiagonalMoments, lost: float) -> tuple[Floats, int, Integers]:
        variances, constant = _floor_constant_columns(part.variances(lost), whole, self.floor)
        if len(constant) == len(variances):
            return np.full_like(variances, variances.mean()), 0, constant
        # Constant columns need no floor in the average as long as some column varies. Columns with missing values have
        # less weight in it.
        columns = part.diagonal()
        degrees = np.maximum(columns.column_weights - lost, 0.0)
        average = columns.scatter[degrees > 0].sum() / degrees.sum() if degrees.any() else 0.0
        return np.full_like(variances, average), len(variances), np.empty(0, dtype=np.intp)


_SHAPES = {shape.name: shape for shape in (Full, Diagonal, Spherical)}

SHAPE = either(
    one_of(*_SHAPES),
    instance_of(Covariance),
    remedy=lambda value: "Set tied=True." if isinstance(value, str) and value == "tied" else "",
)
"""A shape, or the name of one."""


def shape_of(covariance: Any) -> Covariance:
    """Return the shape given by a constructor's ``covariance``: a shape, or the name of one."""
    if isinstance(covariance, Covariance):
        return covariance
    check_argument("covariance", covariance, SHAPE)
    return _SHAPES[covariance]()


def _floor_constant_columns(variances: Floats, whole: DiagonalMoments, floor: float) -> tuple[Floats, Integers]:
    """Floor the variances of constant columns, and return the variances and the indices of these columns."""
    # A variance is rounding relative to the root mean square of the column over all rows.
    total = whole.variances()
    typical = np.sqrt(whole.mean**2 + total)
    constant = is_rounding(variances, typical)
    scale = np.where(is_rounding(total, typical), whole.mean**2, total)
    filled = floor * np.where(scale > 0, scale, 1.0)
    return np.where(constant, filled, variances), np.flatnonzero(constant)


def _floor_varying_columns(R: Floats, constant: Integers, floor: float) -> tuple[Floats, Floats, int]:
    """Apply :func:`_floor_eigenvalues` to the varying columns; constant columns are uncorrelated with all others."""
    if not len(constant):
        return _floor_eigenvalues(R, floor)
    varying = np.delete(np.arange(len(R)), constant)
    matrix, whitener = np.eye(len(R)), np.eye(len(R))
    if not len(varying):
        return matrix, whitener, 0
    block = np.ix_(varying, varying)
    matrix[block], whitener[block], rank = _floor_eigenvalues(R[block], floor)
    return matrix, whitener, rank


def _floor_eigenvalues(R: Floats, floor: float) -> tuple[Floats, Floats, int]:
    """Return a correlation matrix with floored eigenvalues, its upper triangular whitener, and its rank.

    The whitener of a floored matrix is computed from its eigenvectors by RQ decomposition: a Cholesky factor of the
    matrix would have lost as many digits as the floor has zeros.
    """
    # Fast path: the Cholesky factor of a well conditioned matrix.
    lower = factor_if_well_conditioned(R, floor)
    if lower is not None:
        return R, invert_factor(lower), len(R)
    # Raise the eigenvalues to the floor, and make the whitener V Λ^−½ triangular.
    values, vectors = eigh(R)
    smallest = min_eigenvalue(floor, len(R))
    raised = np.maximum(values, smallest)
    whitener, _ = rq(vectors / np.sqrt(raised))
    return (vectors * raised) @ vectors.T, np.triu(whitener), int((values > smallest).sum())


@dataclass(frozen=True)
class _PartRank:
    """Name, moments, rank and constant columns of a part that may be singular."""

    name: str
    part: Any
    rank: int
    constant: Integers

    def sentence(self, shape: str) -> str:
        d = self.part.n_features
        columns = ", ".join(map(str, self.constant[:5])) + (", …" if len(self.constant) > 5 else "")
        where = f" (constant columns: {columns})" if 0 < len(self.constant) < d else ""
        rank = f"so its {shape} covariance has rank {self.rank}{where}."
        weight = self.part.weight
        rows = "1 row" if weight == 1 else f"{weight:g} rows" if weight.is_integer() else f"a weight of {weight:g}"
        return f"{self.name} has {rows} for {d} features, {rank}"


def _report_singular(shape: Covariance, parts: list[_PartRank], remedy: str) -> None:
    """Give one warning, or with ``floor=0`` raise one error, for all singular parts."""
    singular = [part for part in parts if part.rank < part.part.n_features]
    if not singular:
        return
    sentences = [part.sentence(shape.name) for part in singular[:3]]
    if len(singular) > 3:
        sentences.append(f"The same holds for {len(singular) - 3} more.")
    if shape.floor == 0:
        raise DegenerateDataError(" ".join([*sentences, remedy, "Or set a floor above 0."]))
    floor = min_eigenvalue(shape.floor, parts[0].part.n_features)
    consequence = f"The remaining directions were floored at {floor:g} of their scale."
    warn_of_degenerate_data(" ".join([*sentences, consequence, remedy]))
