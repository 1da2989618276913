"""Support vector machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    ABSENT,
    Constraints,
    Scope,
    ViolationError,
    check_parameters,
    count,
    either,
    flag,
    floats,
    instance_of,
    integers,
    is_number,
    none_or,
    number,
    one_of,
    optional,
    priors,
)
from likely._formatting import format_count
from likely._typing import Floats, KernelName, Labels, Multiclass, Rows, SVMSolverName
from likely._validation import check_n_classes
from likely.blocks import Block, Source, SourceLearner, block_rows, check_finite, count_classes
from likely.decisions import training_priors
from likely.exceptions import (
    InvalidParameterError,
    warn_of_degenerate_data,
    warn_of_no_convergence,
)
from likely.kernels import Kernel, KernelEstimator, resolve_kernel, weighted_sums
from likely.kernels.gram import copy_landmarks, fit_kernel, is_precomputed, landmark_rows, prepare_landmarks
from likely.kernels.standard import KERNEL
from likely.models.base import ScoreClassifier
from likely.models.linear_scores import check_scores, linear_scores
from likely.models.svm_training import plan_solvers, train
from likely.objectives import DualSolver, PrimalSolver
from likely.objectives.svm.task import SVM_SOLVER, Machine, Task, combine_scores, describe_sides, make_sides

MIN_COST = 1e-100
"""Lower bound of the cost of a row; the upper bound is its inverse."""

BIAS_SCALE = replace(
    none_or(replace(either(number(0, 0), number(1e-50, 1e50)), description="0, a number from 1e-50 to 1e+50")),
    remedy=lambda value: (
        "A small constant leaves almost no bias; with 0 there is none. Without bias_scale the bias is free."
        if is_number(value) and 0 < value < 1e-50
        else ""
    ),
)
"""Scale of a penalised bias: 0 for no bias, None for a free bias."""

_SHARED = ("n_features_in_", "feature_names_in_")
"""Attributes that the models of a path share."""


@dataclass(frozen=True, eq=False)
class SVMState:
    """Fitted kernel, hyperplanes or support vectors of all problems, and the outcome of the fit.

    ``_sides`` holds the side of each class in each problem. ``_centred`` holds the intercepts for rows from which
    ``_centre`` is subtracted. ``coef_`` exists for linear kernels, support vectors for rows in memory.
    """

    kernel_: Annotated[Kernel, instance_of(Kernel)]
    _sides: Annotated[Floats, floats("problems", "k")]
    _centre: Annotated[Floats | None, none_or(floats("d"))]
    _centred: Annotated[Floats, floats("problems")]
    intercept_: Annotated[Floats, floats("problems")]
    margins_: Annotated[Floats, floats("problems", finite=False)]
    primal_objective_: Annotated[float, number()]
    dual_objective_: Annotated[float, number()]
    n_iter_: Annotated[int, count()]
    converged_: Annotated[bool, flag]
    coef_: Annotated[Any, optional(floats("problems", "d"))] = ABSENT
    support_: Annotated[Any, optional(integers("n"))] = ABSENT
    support_vectors_: Annotated[Any, optional(landmark_rows("n"))] = ABSENT
    dual_coef_: Annotated[Any, optional(floats("problems", "n"))] = ABSENT


class SVM(KernelEstimator, ScoreClassifier, SourceLearner):
    """Support vector machine with soft or hard margin, linear or kernel.

    The model makes no assumption about the distribution of the rows. The score is positive on the side of the second
    class and ±1 on the margins. It has no probabilistic meaning; :class:`likely.CalibratedClassifier` converts it to
    log-likelihood ratios. The score depends on the scale of the columns, so put :class:`likely.Standardize` before the
    SVM. Otherwise columns in small units have no influence, and the solver may be slow. Missing values raise an error.

    Parameters
    ----------
    C : float > 0, optional
        Cost of a row per unit of margin violation, by default 1. ``inf`` gives a hard margin: no row may violate the
        margin. If no surface separates the classes, a hard margin raises :class:`likely.NotSeparableError` with a
        proof. If rounding errors leave the question open, it raises :class:`likely.DegenerateDataError`.
    kernel : {"linear", "polynomial", "rbf", "precomputed"}, Kernel or function, default "linear"
        Kernel function, such as ``RBFKernel(0.1)``, ``PolynomialKernel(3)``, a sum or product of kernels, or a
        function of two arrays of rows. With "precomputed", X is the kernel matrix of the training rows.
    bias_scale : float >= 0, optional
        By default the bias is not penalised. A number K adds a feature that equals K in all rows and whose weight is
        penalised like the other weights, as in many textbooks. The kernel then increases by K². With 0 there is no
        bias: the decision surface of a linear kernel passes through the origin. A joint margin of more than two classes
        needs a bias.
    training_prior : float, sequence in class order or mapping {label: prior}, optional
        Priors to which the classes are reweighted: rows of class k then have the cost C · prior / share of the class.
        A number is the prior of the second of two classes.
    multiclass : {"ovr", "ovo", "joint"}, default "ovr"
        Strategy for more than two classes. "ovr" trains one class against the rest. "ovo" trains one problem per pair
        of classes and counts votes; pairs are in sorted order, the later class is the side +1, and votes give poor
        log-likelihood ratios after calibration. "joint" trains all classes at once with one margin (see Notes). For
        two classes all three are the same problem.
    regularization : float > 0, optional
        λ, an alternative to C: C = 1 / (λ n), so that the objective is λ/2 ‖w‖² plus a mean of losses. Set only one of
        ``C`` and ``regularization``.
    solver : {"auto", "dual", "primal"}, DualSolver or PrimalSolver, default "auto"
        "auto" chooses the primal for a joint margin, for sources that are not in memory, and for linear kernels with
        more than 2048 rows, except sparse rows with 2000 columns or more. Otherwise it chooses the dual. If the dual of
        a linear SVM does not converge, "auto" tries the primal too.
    tol : float, default 1e-4
        Stopping tolerance: the duality gap relative to the primal objective.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    kernel_ : Kernel
        Fitted kernel, including parameters estimated from the data.
    support_ : array of int of shape (n_support,)
        Indices of the rows with a dual coefficient other than 0 in any problem. This attribute and the next three do
        not exist after fitting from a source that is not in memory.
    support_vectors_ : array of shape (n_support, n_features)
        Support vectors. This attribute does not exist for a precomputed kernel.
    dual_coef_ : array of shape (n_problems, n_support)
        Dual variables α times the side, +1 or −1. Two classes are one problem.
    multipliers_ : array of shape (n_problems, n_support)
        Dual variables α.
    coef_ : array of shape (n_problems, n_features)
        Weights of the features. This attribute exists only for linear kernels.
    intercept_ : array of shape (n_problems,)
    margins_ : array of shape (n_problems,)
        1 / ‖w‖, the distance between the margin and the decision surface in the feature space of the kernel.
    primal_objective_, dual_objective_ : float
        Primal and dual objective, summed over the problems. The optimum lies between them.
    gap_ : float
        Duality gap: ``primal_objective_ - dual_objective_``.
    n_iter_ : int
        Largest number, over the problems, of working sets solved or of passes over the rows.
    converged_ : bool
        Whether the duality gap of every problem is within the tolerance.

    Notes
    -----
    Let z = ±1 be the side of a row. The primal and the dual are

        min ½ ‖w‖² + Σ C_i max(0, 1 − z_i (w'φ(x_i) + b)),
        max Σ α_i − ½ Σ α_i α_j z_i z_j k(x_i, x_j)   over 0 ≤ α_i ≤ C_i and Σ α_i z_i = 0,

    with w = Σ α_i z_i φ(x_i). C_i is the product of C, the weight of the row, and the ratio of ``training_prior`` to
    the share of the class; thus weights are frequencies. With ``bias_scale`` the penalty is ½ (‖w‖² + b² / K²), and the
    dual has no constraint Σ α_i z_i = 0. For K = 0, b is 0. Every dual value is a lower bound of every primal value,
    so the gap bounds the distance of both from the optimum.

    A joint margin has one score f_k = w_k'φ(x) + b_k per class. The primal and the dual are

        min ½ Σ_k ‖w_k‖² + Σ C_i max_k (1 − [k = y_i] + f_k(x_i) − f_y(x_i)),
        max Σ β_iy − ½ Σ_k ‖Σ β_ik φ(x_i)‖²   over Σ_k β_ik = 0, β_ik ≤ 0 but 0 ≤ β_iy ≤ C_i, and Σ_i β_ik = 0,

    with y = y_i and w_k = Σ β_ik φ(x_i). ``dual_coef_`` holds β; small coefficients are set to 0. The joint problem is
    solved in the primal and needs a finite C. For nonlinear kernels it is solved on features whose dot products equal
    the kernel, which limits it to 10 000 rows. All classes form one problem: each objective has one value, and each
    class has a weight vector, an intercept and a margin.

    The dual is solved by decomposition into working sets of 1024 rows, or more if more rows are free. Matrix products
    compute the rows of the kernel matrix, and a cache of limited size keeps them. For a linear kernel and many sparse
    rows with many columns, the dual is solved by coordinate descent. The primal is solved by Newton's method on a
    smoothed hinge loss that converges to the hinge loss; the dual coefficients of the rows at the margin follow from
    the weights.

    References
    ----------
    Cortes and Vapnik, Support-vector networks, Machine Learning 20 (1995). Fan, Chen and Lin, Working set selection
    using second order information for training support vector machines, JMLR 6 (2005). Crammer and Singer, On the
    algorithmic implementation of multiclass kernel-based vector machines, JMLR 2 (2001).

    Examples
    --------
    >>> import likely
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], ["a", "a", "b", "b"]
    >>> model = SVM(C=float("inf")).fit(X, y)
    >>> model.coef_.round(6), model.intercept_.round(6), model.margins_.round(6)
    (array([[1., 0.]]), array([-1.]), array([1.]))
    >>> model.decision_function([[3.0, 0.0]]).round(6)
    array([2.])
    """

    by_class = True
    _State = SVMState
    _constraints: ClassVar[Constraints] = {
        "C": none_or(number(above=0, finite=False)),
        "kernel": KERNEL,
        "bias_scale": BIAS_SCALE,
        "training_prior": priors(scalar=True),
        "multiclass": one_of("ovr", "ovo", "joint"),
        "regularization": none_or(number(above=0)),
        "solver": SVM_SOLVER,
        "tol": number(above=0, below=1),
    }
    coef_: Floats
    dual_coef_: Floats
    intercept_: Floats
    primal_objective_: float
    dual_objective_: float

    path_parameter: ClassVar[str] = "C"
    """Name of the parameter that ``path`` varies."""

    def __init__(
        self,
        C: float | None = None,
        *,
        kernel: KernelName | Kernel | Callable[..., Any] = "linear",
        bias_scale: float | None = None,
        training_prior: Any = None,
        multiclass: Multiclass = "ovr",
        regularization: float | None = None,
        solver: SVMSolverName | DualSolver | PrimalSolver = "auto",
        tol: float = 1e-4,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.bias_scale = bias_scale
        self.training_prior = training_prior
        self.multiclass = multiclass
        self.regularization = regularization
        self.solver = solver
        self.tol = tol

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows in memory. An error leaves the model unchanged.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            With a precomputed kernel, the kernel matrix of shape (n, n).
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies: C is multiplied by the weight of each row.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def path(self, X: Any, y: Any, values: Iterable[float], sample_weight: Any = None) -> list[Self]:
        """Return fitted copies of the model for several values of C, in the given order.

        The copies share one kernel and are fitted from the smallest C to the largest. Each one starts from the solution
        of the previous one (warm start). The model itself does not change.

        Examples
        --------
        >>> from likely.datasets import load_tumours
        >>> X, y, _ = load_tumours()
        >>> path = SVM(kernel="rbf").path(X / X.std(axis=0), y, [0.1, 1.0, 10.0])
        >>> [len(model.support_) for model in path]
        [229, 119, 93]
        """
        if not np.iterable(values) or isinstance(values, str):
            raise InvalidParameterError(f"path takes several values of C, such as [0.1, 1, 10], but got {values!r}.")
        if self.regularization is not None:
            raise InvalidParameterError("path varies C, but regularization is set and replaces C. Use one of the two.")
        models = [clone(self).set_params(C=value) for value in values]
        for model in models:
            model._check_options()
        base = clone(self)
        base._fit_all(sorted(models, key=lambda model: model._cost), base._source(X, y, sample_weight))
        for model in models:
            vars(model).update({name: value for name, value in vars(base).items() if name in _SHARED})
        return models

    def _learn(self, source: Source) -> None:
        self._check_options()
        self._fit_all([self], source)

    def _fit_all(self, models: list[Self], source: Source) -> None:
        """Fit models that differ only in C, sorted from the smallest C to the largest."""
        classes = source.require_classes("SVM")
        check_n_classes("SVM", classes)
        kernel, rows = resolve_kernel(self.kernel, "SVM"), source.arrays
        is_hard = any(model.regularization is None and np.isinf(model._cost) for model in models)
        # With two classes the joint problem is the ordinary one.
        is_joint = self.multiclass == "joint" and len(classes) > 2
        if is_joint and self.bias_scale == 0:
            raise InvalidParameterError(
                "SVM with multiclass='joint' needs biases, but bias_scale is 0. Set bias_scale > 0. Alternatively, "
                "use multiclass='ovr' or multiclass='ovo'.",
                parameter="bias_scale",
            )
        plan = plan_solvers(self.solver, kernel, source, is_hard, is_joint)
        counts = count_classes(source)
        source.reduce(check_finite)
        if rows is not None:
            kernel = fit_kernel(kernel, rows.X, rows.weight, rows.positions)
        weights = None if rows is None else rows.weight
        costs = [model._costs(counts.weights, classes, weights) for model in models]
        sides = make_sides(self.multiclass, len(classes))
        machines = train(Task(source, kernel, self.bias_scale, sides, costs, self.tol, counts), plan)
        for model, machine in zip(models, machines, strict=True):
            model._keep(machine, kernel, sides, source)

    @property
    def _cost(self) -> float:
        """C, or its default value."""
        return 1.0 if self.C is None else float(self.C)

    def _costs(self, weights: Floats, classes: Labels, row_weights: Floats | None) -> Floats:
        """Return the cost of a row of each class, per unit of its weight."""
        total = float(weights.sum())
        with np.errstate(all="ignore"):
            C = self._cost if self.regularization is None else 1 / np.multiply(self.regularization, total)
            costs = np.full(len(classes), C, dtype=np.float64)
            if self.training_prior is not None:
                costs *= training_priors("SVM", self.training_prior, classes) / (weights / total)
            low, high = (1.0, 1.0) if row_weights is None else (float(row_weights.min()), float(row_weights.max()))
            low, high = float(costs.min()) * low, float(costs.max()) * high
        is_hard = np.isinf(self._cost) and self.regularization is None
        if not is_hard and not MIN_COST < low <= high < 1 / MIN_COST:
            raise InvalidParameterError(
                f"The cost of a row of SVM must be between {MIN_COST:g} and {1 / MIN_COST:g}, but costs range from "
                f"{low:g} to {high:g}. The costs are computed from C, training_prior and sample_weight. If "
                "regularization is set, it replaces C, and the number of rows matters too."
            )
        return costs

    def _keep(self, machine: Machine, kernel: Kernel, sides: Floats, source: Source) -> None:
        rows, support, intercept = source.arrays, machine.support, machine.intercept
        optional: dict[str, Any] = {}
        if machine.coef is not None:
            optional["coef_"] = machine.coef
            if machine.centre is not None:
                intercept = intercept - machine.coef @ machine.centre
        if support is not None and rows is not None:
            optional["support_"] = support if rows.positions is None else rows.positions[support]
            if not kernel.is_precomputed:
                optional["support_vectors_"] = copy_landmarks(kernel, rows.X[support])
            optional["dual_coef_"] = machine.dual_coef
        with np.errstate(divide="ignore"):
            margins = 1 / np.sqrt(machine.squares)
        self.classes_ = source.require_classes("SVM")
        self._state = SVMState(
            kernel,
            sides,
            machine.centre,
            machine.intercept,
            intercept,
            margins,
            float(machine.primal.sum()),
            float(machine.dual.sum()),
            int(machine.n_iter.max()),
            machine.converged,
            **optional,
        )
        if machine.converged and not machine.precise:
            warn_of_degenerate_data(
                "SVM: the kernel values are so large compared with their differences that rounding errors in the "
                "scores and objectives exceed the gap. Put Standardize before SVM, or lower the degree of the kernel."
            )
        if not machine.converged:
            warn_of_no_convergence(_describe_stop(machine, sides, self.classes_))

    def _scores(self, X: Rows) -> Floats:
        if hasattr(self, "coef_"):
            scores = linear_scores(X, self.coef_, self._centred, self._centre)
        else:
            check_finite(Block(X))
            rows = self.support_ if self.kernel_.is_precomputed else self.support_vectors_
            with np.errstate(over="ignore", invalid="ignore"):
                scores = weighted_sums(prepare_landmarks(self.kernel_, rows), X, self.dual_coef_.T) + self.intercept_
            check_scores(scores, X)
        return combine_scores(scores, self._sides)

    def _block_rows(self, X: Rows) -> int:
        return block_rows(X)

    @property
    def multipliers_(self) -> Floats:
        """Dual variables α of the support vectors, in each problem."""
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise AttributeError("SVM has no multipliers_ after fitting from a source that is not in memory.")
        return np.asarray(np.abs(self.dual_coef_))

    @property
    def gap_(self) -> float:
        """Duality gap: primal objective minus dual objective."""
        check_is_fitted(self)
        return self.primal_objective_ - self.dual_objective_

    def _check_options(self) -> None:
        check_parameters(self)
        if self.C is not None and self.regularization is not None:
            raise InvalidParameterError(
                f"C={self.C!r} and regularization={self.regularization!r} of SVM set the same cost. Set only one of "
                "them.",
                parameter="regularization",
            )

    @classmethod
    def _from_file(cls, parameters: dict[str, Any]) -> SVM:
        """Return a model with the parameters of a file. If an old file holds C and regularization, C is ignored."""
        if parameters["regularization"] is not None:
            parameters = {**parameters, "C": None}
        return cls(**parameters)

    def _check_state(self, scope: Scope) -> None:
        """Check that there are feature weights, or dual coefficients with their support vectors."""
        if not scope.fitted or hasattr(self, "coef_"):
            return
        needed = ["support_", "dual_coef_"] if self.kernel_.is_precomputed else ["support_vectors_", "dual_coef_"]
        missing = next((name for name in needed if not hasattr(self, name)), None)
        if missing is not None:
            raise ViolationError(f"must have the attribute {missing}, because its kernel needs it, but lacks it")
        if self.kernel_.is_precomputed and (self.support_ >= self.n_features_in_).any():
            raise ViolationError("support_ must hold indices of training rows, but has an index beyond the last row")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def _describe_stop(machine: Machine, sides: Floats, classes: Labels) -> str:
    """Return the warning about the problem with the largest relative gap."""
    gaps = (machine.primal - machine.dual) / np.abs(machine.primal)
    worst = int(gaps.argmax())
    problem = describe_sides(sides[worst], classes) if len(gaps) == len(sides) else "all classes at once"
    return (
        f"SVM stopped after {format_count(int(machine.n_iter[worst]), 'step')} with the primal objective at "
        f"{machine.primal[worst]:.6g} and the dual objective at {machine.dual[worst]:.6g} ({problem}). The relative "
        f"gap is {gaps[worst]:.1e}. The last solution is kept. If the columns have very different scales, put "
        "Standardize before SVM. Otherwise, lower C, raise tol, or raise max_iter of the solver. A larger cache_mb "
        "of DualSolver may also help."
    )
