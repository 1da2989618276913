"""Covariance shapes: estimation, shrinkage and flooring of full, diagonal and spherical covariances.

The shapes hold hyperparameters only. :mod:`likely.densities.factors` holds the estimated covariances, and
:mod:`likely.densities.natural_form` their arithmetic in EM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import eigh, rq
from sklearn.base import BaseEstimator

from likely._constraints import Constraints, check_argument, check_parameters, either, flag, instance_of, number, one_of
from likely._formatting import format_count
from likely._numerics import is_rounding
from likely._typing import Booleans, Floats, Integers, TargetName
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
from likely.exceptions import DegenerateDataError, InvalidParameterError, warn_of_degenerate_data
from likely.statistics import DiagonalMoments, Moments

FLOOR = 1e-9
"""Default floor of the eigenvalues of a correlation matrix."""

CONSTANT_SHARE = 0.3
"""Variance of a column that is constant in one class, relative to its variance pooled within all classes. The value was
chosen by measurements on digits and mushrooms (docs/decisions/0020-floors-of-constant-columns.md)."""

_oas = replace(one_of("oas"), description="'oas'")
_NOT_AVAILABLE = {
    "ledoit-wolf": "The strength of Ledoit and Wolf needs fourth moments, which are not collected. Use 'oas'.",
}
"""Remedies for names of strengths that are not available."""


class Covariance(BaseEstimator):  # type: ignore[misc]
    """Base class of covariance shapes, with the rule for singular covariances.

    The data do not determine the variance of a constant column (a variance that is only rounding), or the eigenvalues
    of the correlation matrix below ``floor``. These are floored, each relative to its own scale, with a warning that
    names the class and its rank. ``floor=0`` raises an error instead. If classes have separate covariances, a column
    that is constant in one class and varies in another gets 0.3 times its variance pooled within all classes (or
    ``floor`` times, if that is more). Any other constant column gets ``floor`` times its variance over all rows (if
    that is zero too, times its mean square, or 1).

    Parameters
    ----------
    shrinkage : float from 0 to 1, default 0
        Weight of a simpler shape in the estimate: the diagonal of the covariance for :class:`Full`, the average
        variance for :class:`Diagonal`. Unlike a floor, shrinkage changes the estimate in every direction.
    floor : float from 0 to 1, default 1e-9
        Minimum eigenvalue of the correlation matrix, and variance of a column that is constant in every class relative
        to the column's variance over all rows.
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

    shrinkage: Any

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
            Moments of all rows, which give the scale of a column that is constant in every part.
        n_means : int
            Number of means estimated for each part; an unbiased estimate subtracts it from the weight.
        remedy : str
            Advice in the message about a singular part.
        """
        check_parameters(self)
        self._check_target(parts)
        lost = n_means if self.unbiased else 0
        common = _Common(parts, whole, self.floor, lost)
        # Threads are worth their overhead if a factorisation takes milliseconds.
        apply: Any = for_each if whole.n_features >= 128 else map
        found = apply(lambda part: self._estimate_one(part, common, lost), list(parts))
        estimates, ranks, constants = zip(*found, strict=True)
        found_ranks = [_PartRank(*s) for s in zip(names, parts, ranks, constants, strict=True)]
        _report_singular(self, found_ranks, common, remedy)
        return self._stack(estimates)

    def n_parameters(self, n_features: int) -> int:
        """Return the number of free parameters of one covariance."""
        raise NotImplementedError

    def _check_target(self, parts: Sequence[Any]) -> None:
        """Raise if these parts cannot be shrunk as the parameters ask."""

    def _estimate_one(self, part: Any, common: _Common, lost: float) -> tuple[Any, int, Integers]:
        """Return the estimate, its rank before flooring, and the constant columns."""
        raise NotImplementedError

    def _stack(self, estimates: tuple[Any, ...]) -> Covariances:
        return DiagonalCovariances(np.stack(estimates))


class Full(Covariance):
    """Full covariance: all variances and covariances, shrunk towards a simpler covariance.

    Shrinkage makes the estimate of a class with few rows more stable (regularised discriminant analysis). It enters
    when the covariance is estimated from moments, so cross-validation of any number of strengths takes one pass.

    Parameters
    ----------
    shrinkage : float from 0 to 1, or "oas", default 0
        Weight s of the target in the estimate. With 0 the estimate is the covariance of the class, with 1 the target.
        "oas" computes the strength that minimises the expected squared error for Gaussian rows (oracle approximating
        shrinkage) from the covariance and the weight of the rows. It needs ``towards="identity"``.
    towards : {"diagonal", "pooled", "identity"}, default "diagonal"
        Target: the variances of the class without its correlations, the covariance pooled within all classes, or the
        average variance of the class times the identity. "diagonal" does not depend on the units of the columns, and
        "pooled" on no invertible linear map. "identity" does not depend on rotations and suits columns in one unit.
        "pooled" needs classes with separate covariances.
    floor, unbiased
        As for every :class:`Covariance`.

    Notes
    -----
    The estimate for class k with covariance S_k is (1 − s) S_k + s T_k, where T_k is diag(S_k), the pooled covariance
    W = Σ_k n_k S_k / n, or (tr S_k / d) I. Friedman (1989) divides the sum (1 − s) n_k S_k + s n W by its weight
    (1 − s) n_k + s n instead, so classes with few rows are shrunk more. With ``unbiased``, S_k and W have the divisors
    n_k − 1 and n − K.

    For "oas", s = min(1, (a + m²) / ((n + 1) (a − m² / d))), where a is the mean square of the elements of S and
    m = tr S / d (Chen et al. 2010, eq. 23 without the terms 2 / d, as in scikit-learn). The strength of Ledoit and Wolf
    (2004) is not available, because it needs fourth moments of the rows.

    References
    ----------
    J. H. Friedman, Regularized discriminant analysis, Journal of the American Statistical Association 84 (1989)
    165–175.

    Y. Chen, A. Wiesel, Y. C. Eldar and A. O. Hero, Shrinkage algorithms for MMSE covariance estimation, IEEE
    Transactions on Signal Processing 58 (2010) 5016–5029.

    Examples
    --------
    >>> from likely import GaussianClassifier
    >>> X, y = [[0.0, 0.0], [2.0, 0.0], [1.0, 5.0], [1.0, 9.0]], ["a", "a", "b", "b"]
    >>> GaussianClassifier(Full(shrinkage=0.5, towards="pooled")).fit(X, y).covariances_
    array([[[0.75, 0.  ],
            [0.  , 1.  ]],
    <BLANKLINE>
           [[0.25, 0.  ],
            [0.  , 3.  ]]])
    """

    moments = Moments
    name = "full"
    fitted = FullCovariances
    natural_form = FullForm
    _constraints: ClassVar[Constraints] = {
        "shrinkage": either(number(0, 1), _oas, remedy=lambda value: _NOT_AVAILABLE.get(str(value), "")),
        "towards": one_of("diagonal", "pooled", "identity"),
        "floor": number(0, 1),
        "unbiased": flag,
    }

    def __init__(
        self,
        shrinkage: float | Literal["oas"] = 0.0,
        *,
        towards: TargetName = "diagonal",
        floor: float = FLOOR,
        unbiased: bool = False,
    ) -> None:
        self.shrinkage = shrinkage
        self.towards = towards
        self.floor = floor
        self.unbiased = unbiased

    def n_parameters(self, n_features: int) -> int:
        return n_features * (n_features + 1) // 2

    def _check_target(self, parts: Sequence[Any]) -> None:
        if self.shrinkage == "oas" and self.towards != "identity":
            raise InvalidParameterError(
                f"shrinkage='oas' of Full needs towards='identity', but towards is {self.towards!r}. Set "
                "towards='identity', or give shrinkage as a number.",
                parameter="towards",
            )
        if self.towards == "pooled" and self.shrinkage and len(parts) == 1:
            raise InvalidParameterError(
                "towards='pooled' of Full needs classes with separate covariances, but there is one covariance, so the "
                "pooled covariance is the covariance itself. Use GaussianClassifier with tied=False. Alternatively, "
                "set towards='diagonal' or towards='identity'.",
                parameter="towards",
            )

    def _estimate_one(self, part: Any, common: _Common, lost: float) -> tuple[Any, int, Integers]:
        # Shrink, scale to a correlation matrix, floor its eigenvalues, and scale back.
        C = part.covariance(lost)
        s = _estimate_oas_strength(C, part.weight) if isinstance(self.shrinkage, str) else self.shrinkage
        if self.towards == "pooled" and s:
            C = (1 - s) * C + s * common.pooled_covariance
        elif self.towards == "identity" and s:
            average = C.trace() / len(C)
            C = (1 - s) * C
            np.fill_diagonal(C, C.diagonal() + s * average)
        variances, constant = common.floor_constant_columns(C.diagonal())
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        # The diagonal of C is the target "diagonal", so only the correlations shrink.
        R = (1 - s if self.towards == "diagonal" else 1.0) * C / np.outer(scale, scale)
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

    def _estimate_one(self, part: Any, common: _Common, lost: float) -> tuple[Floats, int, Integers]:
        variances = part.variances(lost)
        variances = (1 - self.shrinkage) * variances + self.shrinkage * variances.mean()
        variances, constant = common.floor_constant_columns(variances)
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

    def _estimate_one(self, part: Any, common: _Common, lost: float) -> tuple[Floats, int, Integers]:
        variances, constant = common.floor_constant_columns(part.variances(lost))
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


def _estimate_oas_strength(C: Floats, weight: float) -> float:
    """Return the oracle approximating shrinkage of a covariance towards its average variance (see :class:`Full`)."""
    d = len(C)
    mean_square, square = float(np.mean(np.square(C))), float(C.trace() / d) ** 2
    spread = (weight + 1) * (mean_square - square / d)
    return min((mean_square + square) / spread, 1.0) if spread > 0 else 1.0


@dataclass(frozen=True, eq=False)
class _Common:
    """What the estimates of all parts share: the scales of constant columns and the pooled covariance.

    Parameters
    ----------
    parts : sequence of moments
    whole : DiagonalMoments
        Moments of all rows.
    floor : float
    lost : float
        Degrees of freedom that the mean of each part takes.
    """

    parts: Sequence[Any]
    whole: DiagonalMoments
    floor: float
    lost: float

    @cached_property
    def pooled_covariance(self) -> Floats:
        """Covariance pooled within the parts."""
        pooled = reduce(add, (part.centred() for part in self.parts))
        return np.asarray(pooled.covariance(self.lost * len(self.parts)))

    @cached_property
    def _typical(self) -> Floats:
        """Root mean square of each column over all rows."""
        return np.asarray(np.sqrt(self.whole.mean**2 + self.whole.variances()))

    @cached_property
    def _within(self) -> Floats:
        """Variances within the parts; 0 for a column that is constant in each, or if there is only one part."""
        if len(self.parts) == 1:
            return np.zeros_like(self._typical)
        within = reduce(add, (part.diagonal().centred() for part in self.parts)).variances()
        return np.where(is_rounding(within, self._typical), 0.0, within)

    @property
    def share(self) -> float:
        """Variance of a column that is constant in one part only, relative to its variance within the parts."""
        return max(self.floor, CONSTANT_SHARE)

    @cached_property
    def _floors(self) -> Floats:
        """Variances that constant columns get."""
        total = self.whole.variances()
        scale = np.where(is_rounding(total, self._typical), self.whole.mean**2, total)
        filled = self.floor * np.where(scale > 0, scale, 1.0)
        return np.where(self._within > 0, self.share * self._within, filled)

    def floor_constant_columns(self, variances: Floats) -> tuple[Floats, Integers]:
        """Floor the variances of constant columns, and return the variances and the indices of these columns."""
        # A variance is rounding relative to the root mean square of the column over all rows.
        constant = is_rounding(variances, self._typical)
        return np.where(constant, self._floors, variances), np.flatnonzero(constant)

    def vary_elsewhere(self, columns: Integers) -> Booleans:
        """Return which of some constant columns vary within another part."""
        return np.asarray(self._within[columns] > 0)


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


def _report_singular(shape: Covariance, parts: list[_PartRank], common: _Common, remedy: str) -> None:
    """Give one warning for all singular parts. If ``floor`` is 0, raise one error instead."""
    singular = [part for part in parts if part.rank < part.part.n_features]
    if not singular:
        return
    sentences = [part.sentence(shape.name) for part in singular[:3]]
    if len(singular) > 3:
        sentences.append(f"{format_count(len(singular) - 3, 'more covariance is', 'more covariances are')} singular.")
    if shape.floor == 0:
        raise DegenerateDataError(" ".join([*sentences, remedy, "Alternatively, set a floor above 0."]))
    # Columns that vary in another class have a scale; the other directions that are not determined have none.
    elsewhere = [int(common.vary_elsewhere(part.constant).sum()) for part in singular]
    if any(elsewhere):
        sentences.append(
            f"Constant columns that vary in another class were given {common.share:g} of their variance within all "
            "classes."
        )
    d = parts[0].part.n_features
    if any(part.rank + n < d for part, n in zip(singular, elsewhere, strict=True)):
        floor = min_eigenvalue(shape.floor, d)
        sentences.append(f"The remaining directions were floored at {floor:g} of their scale.")
    warn_of_degenerate_data(" ".join([*sentences, remedy]))
