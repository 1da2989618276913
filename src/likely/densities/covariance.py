"""Covariance shapes: how a covariance is estimated, shrunk and floored, and which arithmetic it has in EM.

The shapes hold hyperparameters only; :mod:`likely.densities.factors` holds the values that they estimate.
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
    invert_factor,
    min_eigenvalue,
    factor_if_well_conditioned,
)
from likely.densities.natural_form import DiagonalForm, FullForm, NaturalForm, SphericalForm
from likely.exceptions import DegenerateDataError, warn_of_degenerate_data
from likely.statistics import DiagonalMoments, Moments

FLOOR = 1e-9


class Covariance(BaseEstimator):  # type: ignore[misc]
    """A shape of covariance and the rule for singular ones.

    A column whose variance is only the rounding of a constant, and a direction whose share of the correlation is less
    than ``floor``, are not determined by the data. They are floored, each relative to its own scale, with a warning
    that names the class and its rank; ``floor=0`` raises instead. A constant column gets ``floor`` times the variance
    of that column over all classes (where that is zero too, times its mean square, or 1).

    Parameters
    ----------
    shrinkage : float from 0 to 1, default 0
        How far the estimate is moved to a simpler shape: for :class:`Full` its own diagonal, for :class:`Diagonal` its
        own average variance. Unlike a floor it is felt in every direction.
    floor : float from 0 to 1, default 1e-9
        Least eigenvalue of the correlation matrix, and the least variance of a constant column, relative to the
        column's variance over all rows.
    unbiased : bool, default False
        Divide by the weight less the number of means estimated, and not by the weight (maximum likelihood).
    """

    moments: ClassVar[Any] = DiagonalMoments
    """The statistic from which the shape is estimated."""

    name: ClassVar[str]
    _constraints: ClassVar[Constraints] = {
        "shrinkage": number(0, 1),
        "floor": number(0, 1),
        "unbiased": flag,
    }

    fitted: ClassVar[type[Covariances]] = DiagonalCovariances
    """The class of the estimates."""

    natural_form: ClassVar[type[NaturalForm]]
    """The arithmetic of mixtures of such Gaussians."""

    def __init__(self, shrinkage: float = 0.0, *, floor: float = FLOOR, unbiased: bool = False) -> None:
        self.shrinkage = shrinkage
        self.floor = floor
        self.unbiased = unbiased

    def estimate(
        self, parts: Sequence[Any], names: Sequence[str], whole: DiagonalMoments, n_means: int = 1, remedy: str = ""
    ) -> Any:
        """The covariances of ``parts``.

        Parameters
        ----------
        parts : sequence of moments
        names : sequence of str
            How to speak of each part in a message.
        whole : DiagonalMoments
            The moments of all rows, from which a constant column takes its scale.
        n_means : int
            Means that were estimated for each part: the degrees of freedom an unbiased estimate divides less by.
        remedy : str
            What to advise when a part is singular.
        """
        check_parameters(self)
        lost = n_means if self.unbiased else 0
        # Threads pay for themselves where a factorisation takes milliseconds.
        apply: Any = for_each if whole.n_features >= 128 else map
        found = apply(lambda part: self._estimate_one(part, whole, lost), list(parts))
        estimates, ranks, constants = zip(*found, strict=True)
        _report_singular(self, [_PartRank(*s) for s in zip(names, parts, ranks, constants, strict=True)], remedy)
        return self._stack(estimates)

    def n_parameters(self, n_features: int) -> int:
        """Number of free parameters of one covariance."""
        raise NotImplementedError

    def _estimate_one(self, part: Any, whole: DiagonalMoments, lost: float) -> tuple[Any, int, Integers]:
        """The estimate, its rank before flooring, and the columns that are constant."""
        raise NotImplementedError

    def _stack(self, estimates: tuple[Any, ...]) -> Covariances:
        return DiagonalCovariances(np.stack(estimates))


class Full(Covariance):
    """All variances and covariances: an ellipse of any direction."""

    moments = Moments
    name = "full"
    fitted = FullCovariances
    natural_form = FullForm

    def n_parameters(self, n_features: int) -> int:
        return n_features * (n_features + 1) // 2

    def _estimate_one(self, part: Any, whole: DiagonalMoments, lost: float) -> tuple[Any, int, Integers]:
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
    """Variances alone: columns that are independent given the class (Gaussian naive Bayes)."""

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
    """One variance for all columns: distances are Euclidean.

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
        # A constant column is no trouble for an average, as long as some column varies. Columns with missing values
        # weigh less in it.
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
    """The shape that a constructor's ``covariance`` stands for: a shape, or the name of one."""
    if isinstance(covariance, Covariance):
        return covariance
    check_argument("covariance", covariance, SHAPE)
    return _SHAPES[covariance]()


def _floor_constant_columns(variances: Floats, whole: DiagonalMoments, floor: float) -> tuple[Floats, Integers]:
    """Variances in which those of constant columns are floored, and which columns those are."""
    total = whole.variances()
    typical = np.sqrt(whole.mean**2 + total)
    constant = is_rounding(variances, typical)
    scale = np.where(is_rounding(total, typical), whole.mean**2, total)
    filled = floor * np.where(scale > 0, scale, 1.0)
    return np.where(constant, filled, variances), np.flatnonzero(constant)


def _floor_varying_columns(R: Floats, constant: Integers, floor: float) -> tuple[Floats, Floats, int]:
    """The same as :func:`_floor_eigenvalues`, with constant columns left out of the work: they are correlated with none."""
    if not len(constant):
        return _floor_eigenvalues(R, floor)
    varying = np.delete(np.arange(len(R)), constant)
    matrix, whitener = np.eye(len(R)), np.eye(len(R))
    if not len(varying):
        return matrix, whitener, 0
    among = np.ix_(varying, varying)
    matrix[among], whitener[among], rank = _floor_eigenvalues(R[among], floor)
    return matrix, whitener, rank


def _floor_eigenvalues(R: Floats, floor: float) -> tuple[Floats, Floats, int]:
    """A correlation matrix with its eigenvalues floored, its upper triangular whitener, and its rank.

    The whitener of a floored matrix is triangularised from its eigenvectors: a Cholesky factor of the matrix itself
    would have lost as many digits as the floor has zeros.
    """
    lower = factor_if_well_conditioned(R, floor)
    if lower is not None:
        return R, invert_factor(lower), len(R)
    values, vectors = eigh(R)
    least = min_eigenvalue(floor, len(R))
    raised = np.maximum(values, least)
    whitener, _ = rq(vectors / np.sqrt(raised))
    return (vectors * raised) @ vectors.T, np.triu(whitener), int((values > least).sum())


@dataclass(frozen=True)
class _PartRank:
    """What there is to say of a part that may be singular."""

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
    """One warning, or with ``floor=0`` one error, for all parts that are singular."""
    singular = [part for part in parts if part.rank < part.part.n_features]
    if not singular:
        return
    sentences = [part.sentence(shape.name) for part in singular[:3]]
    if len(singular) > 3:
        sentences.append(f"So it is with {len(singular) - 3} more.")
    if shape.floor == 0:
        raise DegenerateDataError(" ".join([*sentences, remedy, "Or give a floor above 0."]))
    said = (
        f"What is missing was floored at {min_eigenvalue(shape.floor, parts[0].part.n_features):g} of its own scale."
    )
    warn_of_degenerate_data(" ".join([*sentences, said, remedy]))
