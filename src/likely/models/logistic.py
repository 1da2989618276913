"""Logistic regression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.special import log_expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    Constraints,
    check_parameters,
    count,
    flag,
    floats,
    instance_of,
    none_or,
    number,
    priors,
    probabilities,
    tuple_of,
)
from likely._numerics import log, log_normalize
from likely._typing import Floats, PenaltyName, Rows, SolverName
from likely._validation import check_n_classes
from likely.blocks import Source, SourceLearner, block_rows, count_classes
from likely.decisions import training_priors
from likely.exceptions import (
    InvalidParameterError,
    warn_of_degenerate_data,
    warn_of_no_convergence,
)
from likely.models.base import EvidenceClassifier
from likely.models.linear_scores import linear_scores
from likely.objectives import ElasticNet, Goal, GradientDescent, LinearProblem, Solution, choose_solver, resolve_penalty
from likely.objectives.problem import PENALTY
from likely.objectives.separation import Separator, find_separator, soften_targets
from likely.objectives.solvers import SOLVER

_SHARED = ("classes_", "n_features_in_", "feature_names_in_")
"""Attributes that all models of a path (fits with several values of ``regularization``) have in common."""


@dataclass(frozen=True, eq=False)
class LogisticState:
    """Fitted weights, training priors, and the outcome of the fit.

    ``_far`` holds the mean of the rows and the intercepts for centred rows, if the rows are far from zero; else None.
    """

    coef_: Annotated[Floats, floats("r", "d")]
    intercept_: Annotated[Floats, floats("r")]
    _priors: Annotated[Floats, probabilities("k")]
    _far: Annotated[tuple[Floats, Floats] | None, none_or(tuple_of(floats("d"), floats("r")))]
    separator_: Annotated[Separator | None, none_or(instance_of(Separator, d="d", r="r"))]
    objective_: Annotated[float, number(finite=False)]
    loss_history_: Annotated[Floats, floats("steps", finite=False, nan=True)]
    n_iter_: Annotated[int, count()]
    converged_: Annotated[bool, flag]
    gap_: Annotated[float, number(finite=False)]


class LogisticRegression(EvidenceClassifier, SourceLearner):
    """Logistic regression for two or more classes.

    The model is unpenalised by default (``regularization=0.0``): the weights are maximum-likelihood estimates, unlike
    those of scikit-learn's ``LogisticRegression``. Set ``regularization`` above 0 to penalise the weights.

    The model assumes that the log-likelihood ratios of the classes are linear in x. It makes no assumption about the
    distribution of x. For nonlinear ratios put :class:`likely.QuadraticFeatures` or :class:`likely.RadialFeatures`
    before it. ``log_likelihood`` returns the log-posteriors under the training priors minus the logarithms of those
    priors. These are log-likelihoods up to a constant per row, so they support decisions in any application.

    If a hyperplane separates the classes, the likelihood has no maximum. An unpenalised fit detects this, warns and
    softens the targets. Missing values raise an error.

    Parameters
    ----------
    regularization : float >= 0, default 0.0
        λ, the factor of the penalty, which is added to the mean loss. 0 gives maximum likelihood.
    penalty : {"l2", "l1", "none"} or ElasticNet, default "l2"
        Penalty: ½ ‖w‖² ("l2"), ‖w‖₁ ("l1", which sets many weights to 0), or a combination of both. Intercepts are not
        penalised.
    training_prior : float, sequence in class order or mapping {label: prior}, optional
        Priors to which the objective is weighted: each class has its prior as total weight, whatever its number of
        rows. A number is the prior of the second of two classes. By default the total weight of each class is its share
        of the rows.
    solver : {"auto", "newton", "l-bfgs", "newton-cg"}, {"gradient-descent", "mini-batch", "online"} or GradientDescent
        Solver, by default chosen by the size and shape of the data. The first four find the same minimum. The
        gradient descents are for teaching; they approach the minimum within the given number of epochs.
    tol : float, default 1e-8
        Stopping tolerance: the relative distance of the objective from its minimum. The distance is estimated from the
        norm of the gradient in the metric of the inverse Hessian.
    max_iter : int, default 1000
        Maximum number of steps, or of epochs for gradient descent. A solver that reaches it warns and reports the
        remaining distance from the minimum.
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict``, ``predict_proba`` and ``decision_function``, by default the training priors. Unlike
        ``training_prior``, they do not affect ``log_likelihood`` and ``llr``.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    training_priors_ : array of shape (n_classes,)
    objective_ : float
        Minimum of the objective, including the penalty; with softened targets if ``separator_`` is not None.
    n_iter_ : int
        Number of steps over all rows.
    converged_ : bool
        Whether the solver reached the tolerance.
    gap_ : float
        Estimated distance of the objective from its minimum.
    loss_history_ : array of shape (n_iter_ + 1,)
        Objective at the start and after every step or epoch.
    separator_ : Separator or None
        If the likelihood has no maximum, a direction along which no training row is on the wrong side.

    Notes
    -----
    Two classes have one weight vector, P(1 given x) = σ(w'x + b). K > 2 classes have one weight vector each,
    P(k given x) ∝ exp(w_k'x + b_k). The objective is

        Σ_i a_i [−log P(y_i given x_i)] + λ ½ ‖W‖²     (or λ ‖W‖₁),

    with a_i = 1 / n, or a_i = π_k / n_k for the n_k rows of class k if a training prior π is given. Sample weights are
    frequencies. The solver centres and scales the columns internally, but the penalty applies to the weights in the
    units of X. Newton's method is iteratively reweighted least squares: each step solves a least squares problem with
    weights P (1 − P).

    The objective is a sum over blocks of rows, so ``fit_source`` learns from data that do not fit in memory. Sparse
    rows stay sparse, unless there are few columns.

    Examples
    --------
    >>> from likely.datasets import load_tumours
    >>> X, y, _ = load_tumours()
    >>> model = LogisticRegression(regularization=1e-2, training_prior=0.5).fit(X, y)
    >>> model.coef_.shape, round(model.objective_, 4), model.llr(X[:2]).round(2)
    ((1, 30), 0.108, array([31.56, 11.95]))
    """

    by_class = True

    path_parameter: ClassVar[str] = "regularization"
    """Name of the parameter that ``path`` varies."""

    _State = LogisticState
    _constraints: ClassVar[Constraints] = {
        "regularization": number(0),
        "penalty": PENALTY,
        "training_prior": priors(scalar=True),
        "solver": SOLVER,
        "tol": number(above=0, below=1),
        "max_iter": count(1, 10**9),
        "priors": priors(),
    }
    coef_: Floats
    intercept_: Floats

    def __init__(
        self,
        regularization: float = 0.0,
        *,
        penalty: PenaltyName | ElasticNet | None = "l2",
        training_prior: Any = None,
        solver: SolverName | GradientDescent = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        priors: Any = None,
    ) -> None:
        self.regularization = regularization
        self.penalty = penalty
        self.training_prior = training_prior
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.priors = priors

    def path(self, X: Any, y: Any, regularizations: Iterable[float], sample_weight: Any = None) -> list[Self]:
        """Return fitted copies of the model for several values of ``regularization``, in the given order.

        The copies are fitted from the strongest penalty to the weakest. Each one starts from the solution of the
        previous one (warm start). The model itself does not change.

        Examples
        --------
        >>> from likely.datasets import load_tumours
        >>> X, y, _ = load_tumours()
        >>> path = LogisticRegression(penalty="l1").path(X / X.std(axis=0), y, [0.3, 0.1, 0.01])
        >>> [int((model.coef_ != 0).sum()) for model in path]
        [2, 4, 9]
        """
        models, base = self._make_copies(regularizations)
        return base._path(models, base._problem(base._source(X, y, sample_weight)))

    def path_source(self, source: Source, regularizations: Iterable[float]) -> list[Self]:
        """Return fitted copies of the model as ``path`` does, but fitted to the rows of a source."""
        models, base = self._make_copies(regularizations)
        return base._path(models, base._problem(base._open_source(source)))

    def _make_copies(self, regularizations: Any) -> tuple[list[Self], Self]:
        """Return one unfitted copy of the model for each value of ``regularization``, and one more copy.

        The additional copy reads the training rows, and holds the attributes that all copies share.
        """
        if not np.iterable(regularizations) or isinstance(regularizations, str):
            raise InvalidParameterError(
                f"path takes several values of regularization, such as [1e-3, 1e-2], but got {regularizations!r}."
            )
        models = [clone(self).set_params(regularization=strength) for strength in regularizations]
        for model in models:
            check_parameters(model)
            model._check_options()
        return models, clone(self).set_params(regularization=0.0)

    def _path(self, models: list[Self], problem: LinearProblem) -> list[Self]:
        start: Floats | None = None
        for model in sorted(models, key=lambda model: -model.regularization):
            model.__dict__.update({name: value for name, value in vars(self).items() if name in _SHARED})
            start = model._solve(problem.with_penalty(*resolve_penalty(model.penalty, model.regularization)), start)
        return models

    def _block_rows(self, X: Rows) -> int:
        return block_rows(X)

    def _learn(self, source: Source) -> None:
        self._check_options()
        self._solve(self._problem(source))

    def _problem(self, source: Source) -> LinearProblem:
        """Return the minimisation problem of the rows of a source. The caller has already checked the options."""
        assert source.classes is not None
        self.classes_ = source.classes
        if self.priors is not None:
            self._application()  # raises if the priors do not match the classes
        check_n_classes("LogisticRegression", source.classes)
        counts = count_classes(source)
        priors = counts.weights / counts.weights.sum()
        if self.training_prior is not None:
            priors = training_priors("LogisticRegression", self.training_prior, source.classes)
        return LinearProblem.of(source, counts, priors, *resolve_penalty(self.penalty, self.regularization))

    def _solve(self, problem: LinearProblem, start: Floats | None = None) -> Floats:
        """Minimise the objective, set the fitted state, and return the parameters for a warm start."""
        solution = self._minimise(problem, start)
        # Only an unpenalised objective can lack a minimum: a penalty bounds the weights.
        separator = None if problem.l1 > 0 or problem.l2 > 0 else find_separator(problem, solution)
        if separator is not None:
            warn_of_degenerate_data(_describe_separation(separator))
            problem = problem.with_targets(soften_targets(problem.counts.weights))
            solution = self._minimise(problem, None)
        if not solution.converged:
            warn_of_no_convergence(_describe_stop(solution, self.max_iter))
        self._state = self._make_state(problem, solution, separator)
        return solution.parameters

    def _minimise(self, problem: LinearProblem, start: Floats | None) -> Solution:
        unbounded = problem.l1 == problem.l2 == 0 and bool(np.isin(problem.setting.targets, (0, 1)).all())
        goal = Goal(self.tol, self.max_iter, problem.separation_bound if unbounded else -np.inf)
        return choose_solver(self.solver, problem.l1).solve(problem, start, goal)

    def _make_state(self, problem: LinearProblem, solution: Solution, separator: Separator | None) -> LogisticState:
        theta = problem.unscale(solution.parameters)
        history, before = np.array(solution.history), _penalty(problem, theta)
        # The softmax does not change if the parameters of all classes are shifted by the same vector. Remove such a
        # shift, and correct the last objective for the change of the penalty.
        if len(theta) > 1:
            theta = theta - _common_shift(theta, problem.l1, problem.l2)
            history[-1] += _penalty(problem, theta) - before
        coef, centred = theta[:, :-1].copy(), theta[:, -1].copy()
        centre = problem.setting.centre
        return LogisticState(
            coef_=coef,
            intercept_=centred - coef @ centre,
            _priors=problem.priors,
            _far=(centre, centred) if problem.setting.is_far else None,
            separator_=separator,
            objective_=float(history[-1]),
            loss_history_=history,
            n_iter_=solution.n_iter,
            converged_=solution.converged,
            gap_=solution.gap,
        )

    @property
    def training_priors_(self) -> Floats:
        check_is_fitted(self)
        priors: Floats = self._priors
        return priors

    def _evidence(self, X: Rows) -> Floats:
        centre, intercept = (None, self.intercept_) if self._far is None else self._far
        logits = linear_scores(X, self.coef_, intercept, centre)
        if not self.coef_.any():  # posteriors equal the priors, so return exact zeros
            return np.zeros((len(logits), len(self.classes_)))
        return subtract_priors(logits, self._priors)

    def _check_options(self) -> None:
        """Raise InvalidParameterError unless the solver supports the penalty."""
        choose_solver(self.solver, resolve_penalty(self.penalty, self.regularization)[0])


def subtract_priors(logits: Floats, priors: Floats) -> Floats:
    """Return the log-posteriors given by logits minus the log-priors, of shape (n, n_classes).

    For two classes there is one column of logits, the log odds of the second class.
    """
    if logits.shape[1] > 1:
        return np.asarray(log_normalize(logits) - log(priors))
    return np.asarray(np.column_stack([log_expit(-logits[:, 0]), log_expit(logits[:, 0])]) - log(priors))


def _penalty(problem: LinearProblem, theta: Floats) -> float:
    W = theta[:, :-1]
    return float(problem.l1 * np.abs(W).sum() + problem.l2 / 2 * np.square(W).sum())


def _common_shift(theta: Floats, l1: float, l2: float) -> Floats:
    """Return a vector to subtract from the parameters of every class. Subtracting it changes no posterior.

    It is the mean of the parameters over the classes, except for the weights with an L1 penalty. The minimum of this
    penalty already determines the weights, so their shift is 0. Only for an even number of classes without L2 penalty,
    any shift between the two middle weights of a column has the same penalty. The lower of the two is then subtracted,
    so that it becomes 0.
    """
    shift: Floats = theta.mean(axis=0)
    if l1 > 0:
        free = l2 == 0 and len(theta) % 2 == 0
        shift[:-1] = np.sort(theta[:, :-1], axis=0)[len(theta) // 2 - 1] if free else 0.0
    return shift


def _describe_separation(separator: Separator) -> str:
    which = "all" if separator.least_margin > 0 else "some"
    return (
        f"LogisticRegression: a hyperplane separates {which} rows of the classes without error, so the likelihood has "
        "no maximum and the optimal weights are infinite. The attribute separator_ holds such a hyperplane. Its "
        f"margins range from {separator.least_margin:.3g} to {separator.most_margin:.3g}. The model is fitted as if "
        "every class had one more row of each label (Laplace's rule). To determine the weights by a penalty instead, "
        "set regularization > 0."
    )


def _describe_stop(solution: Solution, max_iter: int) -> str:
    value, steps = solution.history[-1], solution.n_iter
    start = (
        f"LogisticRegression stopped after {steps} step{'s' * (steps != 1)} with the objective at {value:.6g}. The "
        "gradient indicates that the objective is above its minimum by a relative gap of about "
        f"{solution.gap / abs(value):.1e}. The last weights are kept. "
    )
    if solution.diverged:
        return start + "The steps then diverged. Lower learning_rate, or do not set it."
    if steps < max_iter:
        return start + "Rounding errors stopped the descent: columns may be nearly collinear, or tol is too small."
    return start + "Raise max_iter, use solver='auto', or raise tol."
