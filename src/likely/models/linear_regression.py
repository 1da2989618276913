"""Linear regression: ordinary least squares and ridge regression in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.special import stdtrit
from sklearn.base import RegressorMixin

from likely._constraints import (
    Constraints,
    check_argument,
    flag,
    floats,
    instance_of,
    none_or,
    number,
    one_of,
    optional,
)
from likely._fitted import INPUTS, all_or_nothing
from likely._typing import Floats
from likely._validation import check_confidence, check_rows, check_training
from likely.blocks import AdditiveLearner, AdditiveState, ArraySource, Source, joint_moments
from likely.exceptions import DegenerateDataError, InvalidParameterError
from likely.models.normal_equations import LinearFit, cached_block_rows, solve_least_squares
from likely.statistics import JointMoments


@dataclass(frozen=True, eq=False)
class Regression:
    """Linear fit, with the quantities from which its intervals are computed.

    ``weight`` is the total weight of the training rows. ``squares`` holds the residual sum of squares of each target.
    ``penalised`` tells whether a penalty was used.
    """

    fit: Annotated[LinearFit, instance_of(LinearFit, d="d", t="t")]
    weight: Annotated[float, number(above=0)]
    squares: Annotated[Floats, floats("t", low=0)]
    penalised: Annotated[bool, flag]

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the residuals: the total weight minus the number of estimated coefficients, minus 1."""
        return self.weight - self.fit.rank - 1

    def require_exact(self) -> Regression:
        """Return the regression itself, if exact intervals of its coefficients exist; otherwise raise an error.

        Exact intervals do not exist if the coefficients are penalised, or if the rows do not determine them.
        """
        self._check_unpenalised()
        d = len(self.fit.whitener)
        if self.fit.rank < d:
            raise DegenerateDataError(
                f"The rows determine only {self.fit.rank} of {d} coefficients, so the coefficients have no "
                "intervals and no standard errors. Drop constant and duplicate columns, or use more rows."
            )
        return self

    def _check_unpenalised(self) -> None:
        if self.penalised:
            raise InvalidParameterError(
                "A penalty biases the coefficients by an unknown amount, so exact intervals, exact standard "
                "errors and unbiased variances do not exist. Fit with regularization=0, or use the bootstrap."
            )

    def unbiased_variance(self) -> Floats:
        """Return the unbiased estimate of the error variance of each target."""
        self._check_unpenalised()
        if self.degrees <= 0:
            raise DegenerateDataError(
                f"A total weight of {self.weight:g} leaves no degrees of freedom after {self.fit.rank} coefficients "
                "and an intercept, so the error variance is unknown. Use more rows."
            )
        return np.asarray(self.squares / self.degrees)

    def standard_errors(self) -> Floats:
        """Return the standard errors of the coefficients, of shape (n_targets, n_features)."""
        U = self.require_exact().fit.whitener
        return np.sqrt(np.outer(self.unbiased_variance(), np.square(U).sum(axis=1) / self.weight))

    def make_intervals(self, values: Floats, errors: Floats, confidence: float) -> Floats:
        """Return Student's t intervals about ``values`` with the standard errors ``errors``.

        The last axis of the result holds the lower and upper ends.
        """
        check_confidence(confidence)
        half = float(stdtrit(self.degrees, 0.5 + confidence / 2)) * errors
        return np.stack([values - half, values + half], axis=-1)


@dataclass(frozen=True, eq=False)
class LinearRegressionState(AdditiveState):
    """Joint moments of features and targets, and the fit estimated from them."""

    statistics_: Annotated[JointMoments, instance_of(JointMoments, d="d", t="t")]
    _parameters: Annotated[Regression | None, none_or(instance_of(Regression, d="d", t="t"))] = None


class LinearRegression(RegressorMixin, AdditiveLearner):  # type: ignore[misc]
    """Linear regression by least squares or ridge regression, for one or several targets.

    The solution has a closed form. It needs one pass over the rows, which sums the joint moments of features and
    targets. Batches (``partial_fit``) and sources (``fit_source``) therefore give the same result as one fit of all
    rows. Intervals assume that the errors are independent and Gaussian with equal variance. A few rows with large
    errors can change the fit strongly. Missing values raise an error.

    Parameters
    ----------
    regularization : float, default 0
        λ of the penalty λ/2 ‖w‖², which is added to the mean of half the squared errors. The intercept is not
        penalised. λ has the units of the variances of the features, so standardise them first. It does not depend on
        the number of rows: ``alpha`` of scikit-learn's ``Ridge`` is n λ.

    Attributes
    ----------
    coef_ : array of shape (n_features,), or (n_targets, n_features) if y had columns
    intercept_ : float, or array of shape (n_targets,)
    residual_variance_ : float, or array of shape (n_targets,)
        Maximum-likelihood estimate: the mean squared error on the training rows.
    unbiased_residual_variance_ : float, or array of shape (n_targets,)
        Sum of squared errors divided by ``degrees_of_freedom_``.
    degrees_of_freedom_ : float
        Total weight of the rows minus the number of estimated coefficients and the intercept. It ignores the penalty.
    statistics_ : JointMoments
        Sufficient statistics of the training rows.

    Notes
    -----
    The model minimises the mean over rows of ½ (y − w'x − b)² + λ/2 ‖w‖². Let m and C be the mean and covariance of the
    rows, c their covariance with y, and ȳ the mean of y. Then (C + λI) w = c and b = ȳ − w'm. Weights are frequencies,
    so n is their sum.

    Without a penalty, w has the covariance σ² (n C)⁻¹. The fitted mean at x has the variance
    σ² [1 + (x − m)' C⁻¹ (x − m)] / n, to which a new observation adds σ². With the unbiased estimate of σ² from
    n − d − 1 degrees of freedom the intervals are Student's t, and exact. A penalised w is biased by an amount that
    depends on the true coefficients, so no interval about it is exact. Methods for intervals raise an error if
    ``regularization`` is above 0, or if the rows do not determine w.

    Residual variances are differences of sums of squares. For a perfect fit they are not 0 but up to 1e-15 of the
    variance of y. If the rows do not determine w (constant or duplicate columns, fewer rows than features), the
    solution is the w of minimum norm, in units in which the columns have unit variance, with a warning.

    References
    ----------
    G. A. F. Seber and A. J. Lee, Linear Regression Analysis, Wiley 2003, sections 3.2, 5.1 and 5.3.

    Examples
    --------
    >>> model = LinearRegression().fit([[1.0], [2.0], [6.0]], [2.0, 3.0, 4.0])
    >>> model.coef_ * 14, round(model.intercept_ * 14, 9)
    (array([5.]), 27.0)
    >>> model.coef_intervals(confidence=0.95).round(2)
    array([[-1.21,  1.93]])
    >>> model.predict_interval([[3.0]], of="observation").round(2)
    array([[-3.79,  9.79]])
    """

    _had_columns = False
    """Whether y had columns; if so, results have an axis of targets even for a single target."""

    _State = LinearRegressionState
    _inputs: ClassVar[Constraints] = {**INPUTS, "_had_columns": optional(flag)}
    _constraints: ClassVar[Constraints] = {"regularization": number(0)}

    def __init__(self, regularization: float = 0.0) -> None:
        self.regularization = regularization

    @property
    def coef_(self) -> Floats:
        return self._drop_target_axis(self._regression().fit.coef)

    @property
    def intercept_(self) -> Any:
        return self._as_number(self._regression().fit.intercept)

    @property
    def residual_variance_(self) -> Any:
        regression = self._regression()
        return self._as_number(regression.squares / regression.weight)

    @property
    def unbiased_residual_variance_(self) -> Any:
        if self.regularization > 0:  # raise AttributeError, so that hasattr returns False
            raise AttributeError("A penalised LinearRegression has no unbiased_residual_variance_.")
        return self._as_number(self._regression().unbiased_variance())

    @property
    def degrees_of_freedom_(self) -> float:
        return self._regression().degrees

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Add a batch of rows to the fit. The order and sizes of the batches do not matter.

        An error leaves the model unchanged.
        """
        return super().partial_fit(X, y, sample_weight=sample_weight)

    def predict(self, X: Any) -> Floats:
        """Return the fitted mean at each row, of shape (n,), or (n, n_targets) if y had columns."""
        regression = self._regression()
        return self._drop_target_axis(regression.fit.outputs(check_rows(self, X)).T).T

    def coef_covariance(self) -> Floats:
        """Return the covariance matrix of the errors of the coefficients.

        It has the shape (n_features, n_features), or (n_targets, n_features, n_features) if y had columns. Like the
        methods for intervals, it raises an error if there is a penalty, if rows are too few, or if columns are linearly
        dependent.
        """
        regression = self._regression()
        U = regression.require_exact().fit.whitener
        return self._drop_target_axis(regression.unbiased_variance()[:, None, None] * (U @ U.T) / regression.weight)

    def coef_standard_errors(self) -> Floats:
        """Return the standard error of each coefficient, in the shape of ``coef_``."""
        return self._drop_target_axis(self._regression().standard_errors())

    def coef_intervals(self, confidence: float = 0.95) -> Floats:
        """Return confidence intervals of the coefficients. Each interval has the given confidence individually.

        Parameters
        ----------
        confidence : float between 0 and 1

        Returns
        -------
        array of shape (n_features, 2), or (n_targets, n_features, 2) if y had columns
            Lower and upper ends.
        """
        regression = self._regression()
        errors = regression.standard_errors()
        return self._drop_target_axis(regression.make_intervals(regression.fit.coef, errors, confidence))

    def intercept_interval(self, confidence: float = 0.95) -> Floats:
        """Return the confidence interval of the intercept, of shape (2,), or (n_targets, 2) if y had columns."""
        regression = self._regression().require_exact()
        centre = regression.fit.map.centre
        variance = (1 + float(np.square(centre @ regression.fit.whitener).sum())) / regression.weight
        errors = np.sqrt(variance * regression.unbiased_variance())
        return self._drop_target_axis(regression.make_intervals(regression.fit.intercept, errors, confidence))

    def predict_interval(self, X: Any, confidence: float = 0.95, of: str = "mean") -> Floats:
        """Return an interval at each row. Each interval has the given confidence individually.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        confidence : float between 0 and 1
        of : {"mean", "observation"}
            "mean" for a confidence interval of the true mean at the row, "observation" for a prediction interval of one
            new observation.

        Returns
        -------
        array of shape (n, 2), or (n, n_targets, 2) if y had columns
            Lower and upper ends.
        """
        check_argument("of", of, one_of("mean", "observation"))
        regression = self._regression().require_exact()
        rows = check_rows(self, X)
        variance = (1 + regression.fit.distances(rows)) / regression.weight + (of == "observation")
        errors = np.sqrt(variance[:, None] * regression.unbiased_variance())
        ends = regression.make_intervals(regression.fit.outputs(rows), errors, confidence)
        return ends if self._has_columns else ends[:, 0]

    def _regression(self) -> Regression:
        regression: Regression = self._get_parameters()
        return regression

    @property
    def _has_columns(self) -> bool:
        return self._had_columns or self.statistics_.n_targets > 1

    def _drop_target_axis(self, values: Floats) -> Floats:
        """Return ``values``, whose first axis is the target; without this axis if y had no columns."""
        return values if self._has_columns else values[0]

    def _as_number(self, values: Floats) -> Any:
        return values if self._has_columns else float(values[0])

    def _source(self, X: Any, y: Any, sample_weight: Any, first: bool = True, encode: Any = None) -> ArraySource:
        rows, y, weight, kept = check_training(self, self._name(), X, y, sample_weight, first, True, regression=True)
        if first:
            self._had_columns = y.ndim == 2
        targets = y if y.ndim == 2 else y[:, None]
        most = cached_block_rows(rows.shape[1] + targets.shape[1])
        return ArraySource(rows, weight=weight, block_rows=most, positions=kept, targets=targets)

    def fit_source(self, source: Source) -> Self:
        """Fit the model to the rows of a source with targets. A single target counts as y without columns."""
        with all_or_nothing(self):
            self._had_columns = False
            super().fit_source(source)
        return self

    def _statistic(self) -> Any:
        return joint_moments, ()

    def _estimate(self, statistics: JointMoments) -> Regression:
        inputs, cross = statistics.inputs, statistics.cross
        fit = solve_least_squares(inputs, cross, statistics.target_mean, self.regularization, self._name())
        W = fit.map.matrix
        # The residual sum of squares is S_tt − W'(2 S_xt − S_xx W), where S_xx, S_xt and S_tt are the scatters of
        # features and targets. Rounding errors could make it negative, so it is clipped at 0.
        fitted = np.einsum("dm,dm->m", W, 2 * cross - inputs.scatter @ W)
        squares = np.maximum(statistics.target_scatter - fitted, 0.0)
        return Regression(fit, statistics.weight, squares, self.regularization > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
