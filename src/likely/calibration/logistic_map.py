"""Prior-weighted logistic regression on scores, for affine calibration and linear fusion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from likely._constraints import Constraint, Constraints, Scope, class_labels, floats, number
from likely._fitted import Fitted
from likely._numerics import log
from likely._typing import Floats, Integers, Labels
from likely.blocks import ArraySource, Block, class_counts
from likely.calibration.scores import Systems, check_training_scores
from likely.decisions import Application, training_priors
from likely.exceptions import warn_of_degenerate_data
from likely.objectives import Goal, Solution, logistic_loss, newton, softmax_loss
from likely.objectives.linear_rows import sample_each_class
from likely.objectives.separation import LONG_STEP, Margins, soften_targets
from likely.statistics.objective import Objective

_START_ROWS = 2**14
"""Rows per class of the subsample that gives the start; from there two or three passes over all rows suffice."""

ROUNDED_GRADIENT = 1e-11
"""Largest gradient, relative to the sum of the absolute values of its terms, that counts as rounding."""

_SEPARATION = (
    ": the scores separate some rows of the classes without error, so the likelihood has no maximum and the optimal "
    "weight is infinite. The map is fitted as if every class had one more row of each label (Laplace's rule), which "
    "keeps llrs finite. More rows, or rows that are harder to classify, would determine the weight."
)


def _check_offset(value: Any, scope: Scope) -> None:
    (number() if scope.sizes["k"] == 2 else floats("k"))(value, scope)


OFFSET = Constraint("a number for two classes, else one for each class", _check_offset)


class MapFit(NamedTuple):
    """Fitted map: one weight per system, and one offset for two classes, or one offset per class for more."""

    weights: Floats
    offset: Any
    objective: float
    n_iter: int
    is_softened: bool
    """Whether the targets are those of Laplace's rule, because the scores separate the classes."""
    problem: str
    """Text of the warning that the fit causes, or an empty text."""


class TrainingRows(NamedTuple):
    """Scores, labels and weights that train a map, and the priors of its objective."""

    x: Floats
    classes: Labels
    codes: Integers
    weight: Floats | None
    priors: Floats

    @property
    def totals(self) -> Floats:
        """Total weight of the rows of each class."""
        return np.bincount(self.codes, self.weight, len(self.classes)).astype(np.float64)


class LogisticMap(Fitted):
    """Base class of :class:`AffineCalibrator`, :class:`TailCalibrator` and :class:`LogisticFusion`.

    Notes
    -----
    For two classes llr = Σ_s w_s x_s + b. For more classes the calibrated log-likelihood of class k is
    Σ_s w_s x_sk + b_k, where the b_k sum to 0. The objective is the cross-entropy at the priors π of
    ``training_prior``; the total weight of each class is its prior, whatever its number of rows:

        Σ_k π_k / N_k Σ_{i in k} −log P(k given x_i),   P(k given x) ∝ π_k exp(calibrated log-likelihood of k).

    The map therefore contains no prior. There is no penalty, so an affine transformation of the scores changes the
    weights and the offset, but not the result.

    References
    ----------
    N. Brümmer and J. du Preez, Application-independent evaluation of speaker detection, Computer Speech and Language 20
    (2006).
    """

    _inputs: ClassVar[Constraints] = {"classes_": class_labels()}
    classes_: Labels
    training_prior: Any

    def _rows(self, systems: Systems, y: Any, sample_weight: Any) -> TrainingRows:
        """Validate the scores, labels and weights of ``fit``."""
        whom = type(self).__name__
        x, classes, codes, weight = check_training_scores(whom, systems, y, sample_weight)
        priors = (
            Application.equal(len(classes)).priors
            if self.training_prior is None
            else training_priors(whom, self.training_prior, classes)
        )
        return TrainingRows(x, classes, codes, weight, priors)

    def _fit(self, rows: TrainingRows, near: tuple[Floats, Any] | None = None, soften: bool = False) -> MapFit:
        """Fit the weights and the offset by Newton's method; :meth:`_warn` reports a likelihood without a maximum.

        Parameters
        ----------
        rows : TrainingRows
        near : (weights, offset), optional
            Warm start.
        soften : bool, default False
            Whether to use the targets of Laplace's rule even if the likelihood has a maximum.
        """
        x, classes, codes, weight, priors = rows
        # Standardise the scores; Newton's method runs in these units.
        standard, mean, scale = _standardize(x)
        source = ArraySource(standard.reshape(len(codes), -1), codes, weight, classes)
        totals = rows.totals
        of = objective_of(x)
        start = np.zeros(x.shape[1] + (1 if x.ndim == 2 else len(classes)))
        if near is not None:
            start = np.concatenate([near[0] * scale, np.atleast_1d(near[1] + near[0] @ mean)])
        # A misclassified row has a loss of at least log 2. An objective below that of the lightest such row means that
        # the scores separate the classes, so the solver can stop.
        lower_bound = np.log(2) * (priors / totals).min() * (1.0 if weight is None else weight.min())
        args = priors / totals, priors, np.eye(len(classes))
        softened = priors / totals, priors, soften_targets(totals)
        fitted = _solve(source, of, start, *((softened, -np.inf) if soften else (args, lower_bound)))
        is_softened, problem = soften, ""
        if not soften and (fitted.objective.value < lower_bound or _is_unbounded(source, fitted, len(classes))):
            is_softened, problem = True, _SEPARATION
            fitted = _solve(source, of, start, softened, -np.inf)
        elif not soften and not fitted.converged and not _is_stationary(source, fitted, args):
            problem = (
                f" stopped after {fitted.n_iter} steps before it reached the maximum likelihood. The best weights so "
                "far are kept. Check the scores for outliers."
            )
        # Convert the solution to the units of the scores.
        weights = fitted.parameters[: x.shape[1]] / scale
        offsets = fitted.parameters[x.shape[1] :] - weights @ mean
        offset = float(offsets[0]) if x.ndim == 2 else np.asarray(offsets - offsets.mean())
        return MapFit(weights, offset, fitted.objective.value, fitted.n_iter, is_softened, problem)

    def _warn(self, found: MapFit) -> None:
        """Warn of a map that is not at the maximum of the likelihood."""
        if found.problem:
            warn_of_degenerate_data(type(self).__name__ + found.problem)

    @staticmethod
    def _map(x: Floats, weights: Floats, offset: Any) -> Floats:
        """Return the weighted sum of the systems. A system of weight 0 has no effect, even if its score is infinite."""
        used = weights != 0
        with np.errstate(invalid="ignore"):
            total = np.tensordot(x[:, used], weights[used], (1, 0)) + offset
        # ∞ − ∞: contradictory infinite scores carry no information.
        return np.where(np.isnan(total), 0.0, total) if x.ndim == 2 else np.where(np.isnan(total), -np.inf, total)


def objective_of(x: Floats) -> Callable[..., Objective]:
    """Return the function that computes value, gradient and Hessian of the objective for a block of the scores."""
    return _binary if x.ndim == 2 else _multiclass


def _solve(source: ArraySource, of: Any, start: Floats, args: tuple[Floats, ...], lower_bound: float) -> Solution:
    """Minimise the objective. If there are many rows, start from the solution on a subsample of each class."""
    n_classes = len(args[1])
    counts = source.reduce(class_counts, n_classes)
    if counts.rows.sum() > 4 * _START_ROWS * n_classes and not start.any():
        few = sample_each_class(source, counts.rows, _START_ROWS)
        shares = args[1] / few.reduce(class_counts, n_classes).weights
        found = newton(lambda theta: few.reduce(of, theta, shares, *args[1:]), start, Goal(lower_bound=lower_bound))
        start = found.parameters if found.converged else start
    # Newton's method converges quadratically. From zero the last step passes tol by a wide margin. A start close to the
    # solution can stop just at tol, so it needs a smaller one.
    tol = 1e-18 if start.any() else 1e-15
    goal = Goal(tol, lower_bound=lower_bound)
    return newton(lambda theta: source.reduce(of, theta, *args), start, goal)


def _is_unbounded(source: ArraySource, fitted: Solution, n_classes: int) -> bool:
    """Return whether the last Newton step favours the true class of some rows and harms none: no maximum exists."""
    step = fitted.late_step
    if step is None or np.abs(step).max() <= 1e-3 * (1 + np.abs(fitted.parameters).max()):
        return False
    margins = source.reduce(_margins, step, n_classes)
    return bool(margins.is_separating and margins.largest_size >= LONG_STEP)


def _is_stationary(source: ArraySource, fitted: Solution, args: tuple[Floats, ...]) -> bool:
    """Return whether the gradient is at rounding level, relative to the sum of the absolute values of its terms."""
    sizes = source.reduce(_gradient_sizes, fitted.parameters, *args)
    return bool((np.abs(fitted.objective.gradient) <= ROUNDED_GRADIENT * sizes).all())


def _gradient_sizes(block: Block, theta: Floats, class_weight: Floats, priors: Floats, targets: Floats) -> Floats:
    """Return the sums of the absolute values of the terms of the gradient, for a block."""
    X, codes, n_classes = np.asarray(block.X), block.require_codes(), len(priors)
    weight = class_weight[codes] if block.weight is None else class_weight[codes] * block.weight
    if n_classes == 2:
        logits = _llrs(block, theta) + np.log(priors[1] / priors[0])
        sizes = weight * np.abs(logistic_loss(logits, targets[:, 1].take(codes))[1])
        return np.append(sizes @ np.abs(X), sizes.sum())
    logits = _log_likelihoods(block, theta, n_classes) + log(priors)
    sizes = weight[:, None] * np.abs(softmax_loss(logits, targets, codes)[1])
    return np.concatenate([[np.vdot(np.abs(x), sizes) for x in _by_system(block, n_classes)], sizes.sum(axis=0)])


def _margins(block: Block, direction: Floats, n_classes: int) -> Margins:
    logits = _llrs(block, direction) if n_classes == 2 else _log_likelihoods(block, direction, n_classes)
    return Margins.of(logits, block.require_codes())


def _llrs(block: Block, theta: Floats) -> Floats:
    llrs: Floats = np.asarray(block.X).dot(theta[:-1])  # a third of the time of @ for few columns
    llrs += theta[-1]
    return llrs


def _log_likelihoods(block: Block, theta: Floats, n_classes: int) -> Floats:
    """Return Σ_s w_s x_s + b, summed system by system; an einsum over few systems takes twice as long."""
    total = np.tile(theta[-n_classes:], (len(block), 1))
    for weight, scores in zip(theta[:-n_classes], _by_system(block, n_classes), strict=True):
        total += weight * scores
    return total


def _by_system(block: Block, n_classes: int) -> list[Floats]:
    """Return scores of shape (n, n_classes), one array per system."""
    X = np.asarray(block.X)
    return [X[:, start : start + n_classes] for start in range(0, X.shape[1], n_classes)]


def _binary(block: Block, theta: Floats, class_weight: Floats, priors: Floats, targets: Floats) -> Objective:
    """Return value, gradient and Hessian of the cross-entropy of llrs X w + b at a prior, for a block."""
    X, codes = np.asarray(block.X), block.require_codes()
    weight = class_weight.take(codes)
    if block.weight is not None:
        weight *= block.weight
    target = targets[:, 1].take(codes)
    loss, residual, slope = logistic_loss(_llrs(block, theta) + np.log(priors[1] / priors[0]), target)
    residual *= weight
    slope *= weight
    # Hessian X'DX with D = diag(weight · P (1 − P)), bordered by the row and column of the offset.
    weighted = X.T * slope
    hessian = np.empty((len(theta), len(theta)))
    hessian[:-1, :-1] = weighted @ X
    hessian[-1, :-1] = hessian[:-1, -1] = weighted.sum(axis=1)
    hessian[-1, -1] = slope.sum()
    return Objective(float(weight @ loss), np.append(residual @ X, residual.sum()), hessian)


def _multiclass(block: Block, theta: Floats, class_weight: Floats, priors: Floats, targets: Floats) -> Objective:
    """Return value, gradient and Hessian of the cross-entropy of Σ_s w_s x_s + b at given priors, for a block."""
    n_classes, codes = len(priors), block.require_codes()
    systems = _by_system(block, n_classes)
    weight = class_weight[codes] if block.weight is None else class_weight[codes] * block.weight
    loss, residual, posteriors = softmax_loss(_log_likelihoods(block, theta, n_classes) + log(priors), targets, codes)
    residual *= weight[:, None]
    gradient = np.concatenate([[np.vdot(scores, residual) for scores in systems], np.ones(len(block)) @ residual])
    return Objective(float(weight @ loss), gradient, _hessian(systems, posteriors, weight))


def _hessian(systems: list[Floats], posteriors: Floats, weight: Floats) -> Floats:
    """Return the Hessian of the softmax loss in weights and offsets.

    It is singular, because a common shift of all offsets does not change the loss.
    """
    n_systems, n_classes = len(systems), posteriors.shape[1]
    rows, columns = np.ones(len(posteriors)), np.ones(n_classes)  # matrix products with ones are faster than sum
    spread = weight[:, None] * posteriors
    hessian = np.empty((n_systems + n_classes,) * 2)
    for s, scores in enumerate(systems):
        # Scores minus their posterior mean, weighted: the covariance of the scores under the posterior.
        centred = scores - ((scores * posteriors) @ columns)[:, None]
        centred *= spread
        hessian[s, :n_systems] = [np.vdot(centred, other) for other in systems]
        hessian[s, n_systems:] = hessian[n_systems:, s] = rows @ centred
    hessian[n_systems:, n_systems:] = np.diag(rows @ spread) - posteriors.T @ spread
    return hessian


def _standardize(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return scores centred by the median and divided by the scale of each system, the medians, and the scales.

    The solution does not depend on them, only its accuracy does. Medians and quantiles of a subsample are robust to
    outliers. For more than two classes each row is centred first, because a constant per row has no effect. A system
    with the same score in all rows is uninformative; its scores become 0.
    """
    axes = 0 if x.ndim == 2 else (0, 2)
    sizes = np.maximum(x.max(axis=axes), -x.min(axis=axes))
    size = sizes.max()
    if not 1e-100 < size < 1e100 and size > 0:  # differences and products might overflow or underflow
        standard, middle, scale = _standardize(x / size)
        return standard, middle * size, scale * size
    centred = x if x.ndim == 2 else x - x.mean(axis=2, keepdims=True)
    some = slice(None, None, max(1, len(x) // _START_ROWS))
    middle = np.median(centred[some], axis=0)
    centred = centred - middle
    reach = np.maximum(centred.max(axis=axes), -centred.min(axis=axes))
    scale = np.quantile(np.abs(centred[some]), 0.68, axis=axes)
    scale = np.where(scale > 1e-9 * reach, scale, reach)
    constant = reach <= 64 * np.finfo(np.float64).eps * sizes
    if constant.any():
        centred[:, constant] = 0.0
    scale[constant] = 1.0
    centred /= scale if x.ndim == 2 else scale[:, None]
    return centred, middle, scale
