"""Penalised cross-entropy of linear logits over the rows of a source: the objective of logistic regression."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from likely._constraints import check_argument, check_parameters, either, instance_of, number, one_of
from likely._numerics import is_rounding
from likely._typing import Floats
from likely.blocks import ClassCounts, Source, class_counts
from likely.exceptions import InvalidDataError, InvalidParameterError
from likely.objectives import cross_entropy
from likely.objectives.cross_entropy import LogisticSetting
from likely.objectives.linear_rows import column_moments, is_far, subsample
from likely.statistics import DiagonalMoments
from likely.statistics.objective import Objective


@dataclass(frozen=True)
class ElasticNet:
    """Elastic-net penalty: a mixture of the L1 and L2 penalties.

    Parameters
    ----------
    l1_share : float between 0 and 1, default 0.5
        Share of the regularisation in the L1 term: 0 is the ridge ("l2"), 1 the lasso ("l1").

    Notes
    -----
    At regularisation λ and share ρ the penalty of weights w is λ [ρ ‖w‖₁ + (1 − ρ) / 2 ‖w‖²].

    Examples
    --------
    >>> ElasticNet(0.25).strengths(2.0)
    (0.5, 1.5)
    """

    l1_share: Annotated[float, number(0, 1)] = 0.5

    def __post_init__(self) -> None:
        check_parameters(self)

    def strengths(self, regularization: float) -> tuple[float, float]:
        """Return the factors of ‖w‖₁ and of ½ ‖w‖²."""
        return regularization * self.l1_share, regularization * (1 - self.l1_share)


_BY_NAME = {"l2": ElasticNet(0.0), "l1": ElasticNet(1.0), "none": ElasticNet(0.0), None: ElasticNet(0.0)}


PENALTY = either(one_of(*_BY_NAME), instance_of(ElasticNet))


def resolve_penalty(value: Any, regularization: Any, whom: str = "LogisticRegression") -> tuple[float, float]:
    """Return the strengths of the L1 and L2 penalties, from a name or an ElasticNet."""
    check_argument("regularization", regularization, number(0), whom)
    check_argument("penalty", value, PENALTY, whom)
    penalty = _BY_NAME[value] if value is None or isinstance(value, str) else value
    if value in (None, "none") and regularization > 0:
        raise InvalidParameterError(
            f"penalty={value!r} cannot be combined with regularization={regularization!r}. Set regularization=0, or "
            "set penalty='l2'."
        )
    return penalty.strengths(float(regularization))


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Minimise Σ weighted losses + λ₁ ‖w‖₁ + λ₂ / 2 ‖w‖², without a penalty on the biases.

    Solvers use parameters v of standardised columns, in a flat array, with every bias after the weights of its row. So
    units and origins of the columns do not affect the solvers. The penalty applies to the weights in the user's units,
    w = v · unit.

    Parameters
    ----------
    source : Source
    setting : LogisticSetting
    unit : array of shape (d,)
        1 / standard deviation of each column; 0 for a constant column, whose weight is then 0.
    shape : (int, int)
        Shape of the parameters: one row for two classes, else one for each class; a column for each feature and one
        for the bias.
    l1, l2 : float
        Strengths of the penalties.
    counts : ClassCounts
    priors : array of shape (n_classes,)
        Total weight of each class.
    subsample : LinearProblem, optional
        The same problem on a sample of the rows, if there are many rows.
    """

    source: Source
    setting: LogisticSetting
    unit: Floats
    shape: tuple[int, int]
    l1: float
    l2: float
    counts: ClassCounts
    priors: Floats
    subsample: LinearProblem | None = None
    _last: list[Any] = field(default_factory=lambda: [None, None], init=False, repr=False)

    @classmethod
    def of(cls, source: Source, counts: ClassCounts, priors: Floats, l1: float, l2: float) -> LinearProblem:
        """Return the problem of a source's rows, with rows weighted such that each class has its prior as weight."""
        # Standardise columns by a sample's moments where these suffice: that saves a pass over all rows.
        sample = subsample(source, counts)
        moments = None if sample is None else sample.reduce(column_moments)
        centre, deviation = _standardisation(source, moments)
        unit = np.divide(1.0, deviation, out=np.zeros(len(deviation)), where=deviation > 0)
        far = is_far(source, centre, np.where(deviation > 0, deviation, np.inf))
        setting = LogisticSetting(priors / counts.weights, np.eye(len(priors)), centre, far)
        shape = (1 if len(priors) == 2 else len(priors), source.n_features + 1)
        problem = cls(source, setting, unit, shape, l1, l2, counts, priors)
        if sample is None or moments is None:
            return problem
        # The same problem on the sample, with the same total weight of every class.
        few = sample.reduce(class_counts, len(priors))
        setting = replace(setting, class_weight=priors / few.weights)
        # A column that is constant in the sample gets no weight there.
        seen = np.where(is_rounding(moments.variances(), moments.mean), 0.0, unit)
        return replace(problem, subsample=replace(problem, source=sample, setting=setting, counts=few, unit=seen))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.rows.sum())

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return self.shape[0] * self.shape[1]

    @property
    def separation_bound(self) -> float:
        """Value of the objective below which the parameters classify every row correctly.

        If the objective is below this value, the loss of every row is below log 2, so its own class is most probable.
        """
        return float(np.log(2) * (self.setting.class_weight * self.counts.lightest).min())

    def start(self) -> Floats:
        """Return the parameters of the constant model: weights of 0, and biases that give the priors."""
        v = np.zeros(self.shape)
        logs = np.log(self.priors)
        v[:, -1] = logs[1] - logs[0] if len(v) == 1 else logs - logs.mean()
        return v.reshape(-1)

    @property
    def value_at_start(self) -> float:
        """The objective at :meth:`start`: the cross-entropy of the targets and the priors."""
        return -float(self.priors @ (self.setting.targets @ np.log(self.priors)))

    def with_penalty(self, l1: float, l2: float) -> LinearProblem:
        """Return the same problem with other penalties."""
        few = None if self.subsample is None else self.subsample.with_penalty(l1, l2)
        return replace(self, l1=l1, l2=l2, subsample=few)

    def with_targets(self, targets: Floats) -> LinearProblem:
        """Return the same problem with other targets."""
        few = None if self.subsample is None else self.subsample.with_targets(targets)
        return replace(self, setting=replace(self.setting, targets=targets), subsample=few)

    @cached_property
    def units(self) -> Floats:
        """The unit of every parameter of a row of θ: w = v · unit; 1 for the bias."""
        return np.append(self.unit, 1.0)

    @cached_property
    def l2_weights(self) -> Floats:
        """Factor of ½ v² in the L2 penalty for every parameter v, as a flat array."""
        return np.tile(self.l2 * np.append(np.square(self.unit), 0.0), self.shape[0])

    @cached_property
    def l1_weights(self) -> Floats:
        """Factor of abs(v) in the L1 penalty for every parameter v, as a flat array."""
        return np.tile(self.l1 * np.append(self.unit, 0.0), self.shape[0])

    def unscale(self, v: Floats) -> Floats:
        """Return parameters v in the user's units, for centred rows, in the problem's shape."""
        return np.asarray(v.reshape(self.shape) * self.units)

    def value_and_gradient(self, v: Floats) -> Objective:
        """Value and gradient of the objective without the L1 penalty; cached for the last array v."""
        if self._last[0] is not v:
            sums = self.source.reduce(cross_entropy.value_and_gradient, self.unscale(v), self.setting)
            self._last[:] = [v, self._standardise(v, sums)]
        return self._last[1]  # type: ignore[no-any-return]

    def value(self, v: Floats) -> float:
        """Value of the objective with both penalties."""
        return self.value_and_gradient(v).value + self.l1_penalty(v)

    def value_gradient_hessian(self, v: Floats) -> Objective:
        """Value, gradient and Hessian of the objective without the L1 penalty."""
        sums = self.source.reduce(cross_entropy.value_gradient_hessian, self.unscale(v), self.setting)
        smooth = self._standardise(v, sums)
        # Chain rule for w = v · unit, and the L2 penalty on the diagonal.
        units = np.tile(self.units, self.shape[0])
        hessian = sums.hessian * units[:, None] * units
        hessian[np.diag_indices_from(hessian)] += self.l2_weights
        return replace(smooth, hessian=hessian)

    def hessian_product(self, v: Floats, direction: Floats) -> Floats:
        """Return the Hessian at v times a direction, both with respect to v, without the L1 penalty."""
        sums = self.source.reduce(cross_entropy.hessian_product, self.unscale(v), self.unscale(direction), self.setting)
        return np.asarray((sums * self.units).reshape(-1) + self.l2_weights * direction)

    def l1_penalty(self, v: Floats) -> float:
        """Value of the L1 penalty."""
        return float(self.l1_weights @ np.abs(v))

    def _standardise(self, v: Floats, sums: Objective) -> Objective:
        """Convert sums in the user's units to value and gradient with respect to v, and add the L2 penalty."""
        gradient = (sums.gradient.reshape(self.shape) * self.units).reshape(-1)
        return Objective(sums.value + float(self.l2_weights @ np.square(v)) / 2, gradient + self.l2_weights * v)


def _standardisation(source: Source, sampled: DiagonalMoments | None) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the columns.

    Both are computed from the sample. All rows are used if there is no sample, if rows are sparse, or if a column is
    constant in the sample.
    """
    if sampled is not None and not source.is_sparse and not is_rounding(sampled.variances(), sampled.mean).any():
        return sampled.mean, np.sqrt(sampled.variances())
    columns = source.reduce(column_moments)
    variances = columns.variances()
    tiny = np.flatnonzero((variances > 0) & (variances < 1e-280))
    if len(tiny):
        raise InvalidDataError(
            f"Column {tiny[0]} has a standard deviation of {np.sqrt(variances[tiny[0]]):.1e}, too small to be squared. "
            "Rescale that column."
        )
    return columns.mean, np.where(is_rounding(variances, columns.mean), 0.0, np.sqrt(variances))
