"""A penalised sum of losses of linear logits over the rows of a source: what solvers minimise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from likely._numerics import is_rounding
from likely._typing import Floats
from likely.blocks import ArraySource, Block, Source
from likely.exceptions import InvalidDataError
from likely.objectives import linear
from likely.objectives.linear import Setting
from likely.objectives.sampling import Census, census, some_of_each_class
from likely.statistics import DiagonalMoments
from likely.statistics.objective import Objective

__all__ = ["LinearProblem"]

SAMPLE_ROWS, SAMPLE_VALUES, MOST_SAMPLE_VALUES = 2**13, 2**21, 2**25
"""A start is sought on a sample of about so many rows, of more where rows are short and of fewer where they are very
wide, if that is a small part of all: from there few passes over all rows are left."""

FAR = 1e3
"""Standard deviations from zero to the centre, from which on the centre is taken off every row."""


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Minimise Σ weighted losses + λ₁ ‖w‖₁ + λ₂ / 2 ‖w‖², the biases free.

    Solvers see parameters v of standardised columns, flat, with every bias after the weights of its row, so that no
    column's unit and no origin matters to them; the penalty remains on the weights in the user's units, w = v · unit.

    Parameters
    ----------
    source : Source
    setting : Setting
    unit : array of shape (d,)
        1 / standard deviation of each column; 0 for a constant one, whose weight then is 0.
    shape : (int, int)
        Of the parameters: one row for two classes, else one a class; the columns and the bias.
    l1, l2 : float
        Strengths of the penalties.
    counts : Census
    priors : array of shape (n_classes,)
        What every class weighs in all.
    some : LinearProblem, optional
        The same on a sample of the rows, where there are many.
    """

    source: Source
    setting: Setting
    unit: Floats
    shape: tuple[int, int]
    l1: float
    l2: float
    counts: Census
    priors: Floats
    some: LinearProblem | None = None
    _last: list[Any] = field(default_factory=lambda: [None, None], init=False, repr=False)

    @classmethod
    def of(cls, source: Source, counts: Census, priors: Floats, l1: float, l2: float) -> LinearProblem:
        """The problem of a source's rows, every class weighing its prior in all."""
        sample = _sample(source, counts)
        sampled = None if sample is None else sample.reduce(_columns)
        centre, deviation = _frame(source, sampled)
        unit = np.divide(1.0, deviation, out=np.zeros(len(deviation)), where=deviation > 0)
        far = not source.is_sparse and bool((np.abs(centre) * unit > FAR).any())
        setting = Setting(priors / counts.weights, np.eye(len(priors)), centre, far)
        shape = (1 if len(priors) == 2 else len(priors), source.n_features + 1)
        problem = cls(source, setting, unit, shape, l1, l2, counts, priors)
        if sample is None or sampled is None:
            return problem
        few = sample.reduce(census, len(priors))
        setting = replace(setting, class_weight=priors / few.weights)
        # A column that the sample shows constant is left out of it.
        seen = np.where(is_rounding(sampled.variances(), sampled.mean), 0.0, unit)
        return replace(problem, some=replace(problem, source=sample, setting=setting, counts=few, unit=seen))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.rows.sum())

    @property
    def lowest_mixed_value(self) -> float:
        """A value below which every row is on its right side, since its loss is then below log 2."""
        return float(np.log(2) * (self.setting.class_weight * self.counts.lightest).min())

    def start(self) -> Floats:
        """Parameters that look at no column: weights of 0, and biases that give the priors."""
        v = np.zeros(self.shape)
        logs = np.log(self.priors)
        v[:, -1] = logs[1] - logs[0] if len(v) == 1 else logs - logs.mean()
        return v.reshape(-1)

    @property
    def value_at_start(self) -> float:
        """The objective there: the cross-entropy of the targets and the priors."""
        return -float(self.priors @ (self.setting.targets @ np.log(self.priors)))

    def penalised(self, l1: float, l2: float) -> LinearProblem:
        """The same problem with other penalties."""
        some = None if self.some is None else self.some.penalised(l1, l2)
        return replace(self, l1=l1, l2=l2, some=some)

    def softened(self, targets: Floats) -> LinearProblem:
        """The same problem with other targets."""
        some = None if self.some is None else self.some.softened(targets)
        return replace(self, setting=replace(self.setting, targets=targets), some=some)

    @property
    def n_parameters(self) -> int:
        return self.shape[0] * self.shape[1]

    @cached_property
    def units(self) -> Floats:
        """The unit of every parameter: w = v · unit; 1 for biases."""
        return np.append(self.unit, 1.0)

    @cached_property
    def squares(self) -> Floats:
        """What half the square of every parameter costs, flat."""
        return np.tile(self.l2 * np.append(np.square(self.unit), 0.0), self.shape[0])

    @cached_property
    def absolutes(self) -> Floats:
        """What the absolute value of every parameter costs, flat."""
        return np.tile(self.l1 * np.append(self.unit, 0.0), self.shape[0])

    def natural(self, v: Floats) -> Floats:
        """Parameters in the user's units about the centre, of the problem's shape."""
        return np.asarray(v.reshape(self.shape) * self.units)

    def slope(self, v: Floats) -> Objective:
        """Value and gradient of all but the absolute values; kept for the array last asked about."""
        if self._last[0] is not v:
            sums = self.source.reduce(linear.slope, self.natural(v), self.setting)
            self._last[:] = [v, self._standardised(v, sums)]
        return self._last[1]  # type: ignore[no-any-return]

    def value(self, v: Floats) -> float:
        """The whole objective."""
        return self.slope(v).value + self.absolute_penalty(v)

    def curvature(self, v: Floats) -> Objective:
        """Value, gradient and Hessian of all but the absolute values."""
        sums = self.source.reduce(linear.curvature, self.natural(v), self.setting)
        smooth = self._standardised(v, sums)
        units = np.tile(self.units, self.shape[0])
        hessian = sums.curvature * units[:, None] * units
        hessian[np.diag_indices_from(hessian)] += self.squares
        return replace(smooth, curvature=hessian)

    def product(self, v: Floats, direction: Floats) -> Floats:
        """The Hessian times a direction."""
        sums = self.source.reduce(linear.product, self.natural(v), self.natural(direction), self.setting)
        return np.asarray((sums * self.units).reshape(-1) + self.squares * direction)

    def absolute_penalty(self, v: Floats) -> float:
        """What the absolute values cost."""
        return float(self.absolutes @ np.abs(v))

    def _standardised(self, v: Floats, sums: Objective) -> Objective:
        gradient = (sums.gradient.reshape(self.shape) * self.units).reshape(-1)
        return Objective(sums.value + float(self.squares @ np.square(v)) / 2, gradient + self.squares * v)


def _sample(source: Source, counts: Census) -> ArraySource | None:
    """Some rows of each class, if there are many times as many in all."""
    most = max(SAMPLE_ROWS, min(4 * SAMPLE_ROWS, SAMPLE_VALUES // source.n_features))
    if not source.is_sparse:
        most = min(most, max(1, MOST_SAMPLE_VALUES // source.n_features))
    if counts.rows.sum() < 4 * most:
        return None
    return some_of_each_class(source, counts.rows, max(1, most // len(counts.rows)))


def _frame(source: Source, sampled: DiagonalMoments | None) -> tuple[Floats, Floats]:
    """Centre and deviation of the columns: of a sample, or of all rows if there is none or it shows one constant."""
    if sampled is not None and not source.is_sparse and not is_rounding(sampled.variances(), sampled.mean).any():
        return sampled.mean, np.sqrt(sampled.variances())
    columns = source.reduce(_columns)
    variances = columns.variances()
    tiny = np.flatnonzero((variances > 0) & (variances < 1e-280))
    if len(tiny):
        raise InvalidDataError(
            f"Column {tiny[0]} varies by {np.sqrt(variances[tiny[0]]):.1e}, too little to be squared. Rescale it."
        )
    return columns.mean, np.where(is_rounding(variances, columns.mean), 0.0, np.sqrt(variances))


def _columns(block: Block) -> DiagonalMoments:
    with np.errstate(all="ignore"):
        columns = DiagonalMoments.of(block.X, block.weight)
    if not columns.is_finite() or (columns.column_weights < columns.weight).any():
        raise block.non_finite()
    return columns
