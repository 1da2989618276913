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
from likely._numerics import log, log_normalized
from likely._typing import Floats, Rows
from likely._validation import check_two
from likely.blocks import Source, SourceLearner, block_rows, count_classes
from likely.decisions import training_priors
from likely.exceptions import (
    InvalidParameterError,
    warn_of_degenerate_data,
    warn_of_no_convergence,
)
from likely.models.base import EvidenceClassifier
from likely.models.linear_scores import linear_scores
from likely.objectives import Goal, LinearProblem, Solution, choose_solver, penalty_of
from likely.objectives.problem import PENALTY
from likely.objectives.separation import Separator, find_separator, softened_targets
from likely.objectives.solvers import SOLVER

_SHARED = ("classes_", "n_features_in_", "feature_names_in_")
"""What the models of a path have in common."""


@dataclass(frozen=True, eq=False)
class LogisticState:
    """Fitted weights, the priors of the training, and how the fit ended."""

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
    """Linear log odds of the classes, fitted to their labels.

    It assumes that the log-likelihood ratios of the classes are linear in x (put :class:`likely.QuadraticFeatures` or
    :class:`likely.RadialFeatures` before it for curved ones) and nothing of how x is distributed. It returns the
    log-posteriors under the priors of its training, less the logarithms of those priors: log-likelihoods up to a
    constant of the row, so that it decides under any application. Without a penalty it breaks where the classes can be
    told apart without mistakes; that is found and said. Missing values are refused.

    Parameters
    ----------
    regularization : float >= 0, default 0
        λ: what the penalty is multiplied by, beside a mean of losses; 0 is maximum likelihood.
    penalty : {"l2", "l1", "none"} or ElasticNet, default "l2"
        ½ ‖w‖², or ‖w‖₁, which makes many weights 0, or something between. Biases are not penalised.
    training_prior : float, sequence in class order or mapping {label: prior}, optional
        Priors that the objective is weighted to, every class then weighing its prior whatever its number of rows; a
        number is that of the second of two classes. By default classes weigh as many rows as they have.
    solver : {"auto", "newton", "l-bfgs", "newton-cg"}, {"gradient-descent", "mini-batch", "online"} or GradientDescent
        By default chosen by size and shape. The first four find the same minimum; the descents are for
        learning how that goes, and come near it in as many epochs as they are given.
    tol : float, default 1e-8
        Distance of the objective to its minimum, relative, at which to stop, as estimated from the norm of the gradient
        measured by the curvature.
    max_iter : int, default 1000
        Most steps, or epochs of a descent; a solver stopped by it says how far it got.
    priors : sequence in class order or mapping {label: prior}, optional
        For ``predict``, ``predict_proba`` and ``decision_function``; the training priors if not given. Not to be
        confused with ``training_prior``: evidence does not depend on them.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    training_priors_ : array of shape (n_classes,)
    objective_ : float
        Its least value, penalty included; of softened targets, if ``separator_`` is not None.
    n_iter_ : int
        Steps over all rows.
    converged_ : bool
    gap_ : float
        Estimated distance of the objective to its minimum.
    loss_history_ : array of shape (n_iter_ + 1,)
        The objective at the start and after every step or epoch.
    separator_ : Separator or None
        A direction along which no training row is on the wrong side, if the likelihood therefore has no maximum.

    Notes
    -----
    Two classes have one weight vector, P(1 given x) = σ(w'x + b); K > 2 have a row each, P(k given x) ∝ exp(w_k'x +
    b_k). The objective is

        Σ_i a_i [−log P(y_i given x_i)] + λ ½ ‖W‖²     (or λ ‖W‖₁),

    with a_i = 1 / n, or π_k / n_k for the n_k rows of class k where a prior π is given. Weights of rows are
    frequencies. Columns are centred and scaled inside, while the penalty is on the weights in the units of X. Newton's
    method is iteratively reweighted least squares: each step solves a least squares problem with weights P (1 − P).

    Sums are over blocks of rows, so ``fit_source`` learns from rows anywhere. Sparse rows stay sparse, unless there are
    few columns.

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
    """What ``path`` goes along."""

    _State = LogisticState
    _constraints: ClassVar[Constraints] = {
        "regularization": number(0),
        "penalty": PENALTY,
        "training_prior": priors(alone=True),
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
        penalty: Any = "l2",
        training_prior: Any = None,
        solver: Any = "auto",
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
        """Fitted copies of the model for several strengths of the penalty, in the order given.

        They are fitted from the strongest to the weakest, each starting where the one before it ended. The model itself
        is not changed.

        Examples
        --------
        >>> from likely.datasets import load_tumours
        >>> X, y, _ = load_tumours()
        >>> path = LogisticRegression(penalty="l1").path(X / X.std(axis=0), y, [0.3, 0.1, 0.01])
        >>> [int((model.coef_ != 0).sum()) for model in path]
        [2, 4, 9]
        """
        models, base = self._copies(regularizations)
        return base._path(models, base._problem(base._source(X, y, sample_weight)))

    def path_source(self, source: Source, regularizations: Iterable[float]) -> list[Self]:
        """The same from the rows of a source."""
        models, base = self._copies(regularizations)
        return base._path(models, base._problem(base._opened(source)))

    def _copies(self, regularizations: Any) -> tuple[list[Self], Self]:
        """A copy of the model for each strength, and one for what they share."""
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
            start = model._solve(problem.with_penalty(*penalty_of(model.penalty, model.regularization)), start)
        return models

    def _block_rows(self, X: Rows) -> int:
        return block_rows(X)

    def _learn(self, source: Source) -> None:
        self._check_options()
        self._solve(self._problem(source))

    def _problem(self, source: Source) -> LinearProblem:
        """The objective of a source's rows; who calls has checked the options."""
        assert source.classes is not None
        self.classes_ = source.classes
        if self.priors is not None:
            self._application()  # refuses priors that do not fit the classes
        check_two("LogisticRegression", source.classes)
        counts = count_classes(source)
        priors = counts.weights / counts.weights.sum()
        if self.training_prior is not None:
            priors = training_priors("LogisticRegression", self.training_prior, source.classes)
        return LinearProblem.of(source, counts, priors, *penalty_of(self.penalty, self.regularization))

    def _solve(self, problem: LinearProblem, start: Floats | None = None) -> Floats:
        """Minimise, look whether there is a minimum, and keep what was found; gives the parameters to start from."""
        solution = self._minimised(problem, start)
        separator = None if problem.l1 > 0 or problem.l2 > 0 else find_separator(problem, solution)
        if separator is not None:
            warn_of_degenerate_data(_no_maximum(separator))
            problem = problem.with_targets(softened_targets(problem.counts.weights))
            solution = self._minimised(problem, None)
        if not solution.converged:
            warn_of_no_convergence(_stopped(solution, self.max_iter))
        self._state = self._fitted_state(problem, solution, separator)
        return solution.parameters

    def _minimised(self, problem: LinearProblem, start: Floats | None) -> Solution:
        unbounded = problem.l1 == problem.l2 == 0 and bool(np.isin(problem.setting.targets, (0, 1)).all())
        goal = Goal(self.tol, self.max_iter, problem.lowest_mixed_value if unbounded else -np.inf)
        return choose_solver(self.solver, problem.l1).solve(problem, start, goal)

    def _fitted_state(self, problem: LinearProblem, solution: Solution, separator: Separator | None) -> LogisticState:
        theta = problem.natural(solution.parameters)
        history, before = np.array(solution.history), _penalty(problem, theta)
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
        if not self.coef_.any():  # posteriors are the priors: not even rounding may tell rows apart
            return np.zeros((len(logits), len(self.classes_)))
        return evidence_of(logits, self._priors)

    def _check_options(self) -> None:
        """Raise InvalidParameterError unless the solver can take the penalty."""
        choose_solver(self.solver, penalty_of(self.penalty, self.regularization)[0])


def evidence_of(logits: Floats, priors: Floats) -> Floats:
    """Log-posteriors under the priors of the training, less the logarithms of these; one logit is for two classes."""
    if logits.shape[1] > 1:
        return np.asarray(log_normalized(logits) - log(priors))
    return np.asarray(np.column_stack([log_expit(-logits[:, 0]), log_expit(logits[:, 0])]) - log(priors))


def _penalty(problem: LinearProblem, theta: Floats) -> float:
    W = theta[:, :-1]
    return float(problem.l1 * np.abs(W).sum() + problem.l2 / 2 * np.square(W).sum())


def _common_shift(theta: Floats, l1: float, l2: float) -> Floats:
    """What all classes have in common, which changes no posterior: the mean of the biases, and of the weights.

    The L1 penalty determines it, with an L2 penalty beside it or for an odd number of classes. For an even number any
    shift between the two middle weights costs the same, and the lower of them is made 0.
    """
    shift: Floats = theta.mean(axis=0)
    if l1 > 0:
        free = l2 == 0 and len(theta) % 2 == 0
        shift[:-1] = np.sort(theta[:, :-1], axis=0)[len(theta) // 2 - 1] if free else 0.0
    return shift


def _no_maximum(separator: Separator) -> str:
    which = "all" if separator.least_margin > 0 else "some"
    return (
        f"LogisticRegression: a plane tells {which} rows of the classes apart without any mistake, so the likelihood "
        "has no maximum and the best weights are infinite (separator_ holds such a plane, with margins of "
        f"{separator.least_margin:.3g} to {separator.most_margin:.3g}). Trained as if each class had one more row "
        "shown as each class (Laplace's rule). Set regularization > 0 for weights that the penalty determines."
    )


def _stopped(solution: Solution, most: int) -> str:
    value, steps = solution.history[-1], solution.n_iter
    said = (
        f"LogisticRegression stopped after {steps} step{'s' * (steps != 1)} with the objective at {value:.6g}, by its "
        f"gradient about {solution.gap / abs(value):.1e} of that above its minimum. The weights found so far are kept. "
    )
    if solution.diverged:
        return said + "Its steps then led far upwards: lower learning_rate, or leave it out."
    if steps < most:
        return (
            said
            + "Rounding let no step lead lower: columns may nearly depend on each other, or tolerance is too small."
        )
    return said + "Raise max_iter, use solver='auto', or raise tolerance if that is near enough."
