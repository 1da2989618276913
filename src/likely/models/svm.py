"""Support vector machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    flag,
    floats,
    instance_of,
    integers,
    none_or,
    number,
    one_of,
    optional,
    priors,
)
from likely._formatting import format_count
from likely._typing import Floats, Labels, Rows
from likely._validation import check_two
from likely.blocks import Block, Source, SourceLearner, block_rows, check_finite, count_classes
from likely.decisions import training_priors
from likely.exceptions import (
    InvalidParameterError,
    warn_of_degenerate_data,
    warn_of_no_convergence,
)
from likely.kernels import Kernel, kernel_of, weighted_sums
from likely.kernels.gram import columns_of, fitted_kernel, is_precomputed, landmark_rows, landmarks_of
from likely.kernels.standard import KERNEL
from likely.models.base import ScoreClassifier
from likely.models.linear_scores import check_scores, linear_scores
from likely.models.svm_training import plan_solvers, train
from likely.objectives.svm.task import SVM_SOLVER, Machine, Task, class_scores, describe_sides, sides_of

LEAST = 1e-100
"""Costs of a row must lie between this and its inverse."""

_SHARED = ("n_features_in_", "feature_names_in_")
"""What the models of a path have in common."""


@dataclass(frozen=True, eq=False)
class SVMState:
    """The fitted kernel, the planes or the support vectors of all problems, and how the fit ended.

    ``_sides`` are the sides of the classes in each problem; scores of rows less ``_centre`` have the biases
    ``_centred``. Linear kernels have ``coef_``; rows in memory give support vectors.
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


class SVM(ScoreClassifier, SourceLearner):
    """Support vector machine with soft or hard margin, linear or kernel.

    It assumes nothing of how rows are distributed. Its score is positive on the side of the second class and ±1 on the
    margins; it has no probabilistic meaning until :class:`likely.CalibratedClassifier` gives it one. It depends on the
    scale of the columns: put :class:`likely.Standardize` before it. Without it columns in small units have no
    influence, and solving may be slow. Missing values are refused.

    Parameters
    ----------
    C : float > 0, optional
        Cost of a row for every unit that it is within the margin, by default 1. ``inf`` asks for a hard margin: no row
        may be within, and if no surface separates the classes :class:`likely.NotSeparableError` is raised, with a
        proof. If rounding leaves it open, :class:`likely.DegenerateDataError` is raised.
    kernel : {"linear", "polynomial", "rbf", "precomputed"}, Kernel or function, default "linear"
        Dot products of rows, such as ``RBFKernel(0.1)``, ``PolynomialKernel(3)``, sums and products of kernels, or a
        function of two arrays of rows. With "precomputed" X is the kernel of all training rows.
    bias_scale : float > 0, optional
        By default the bias is free. A number K stands for a feature that is K for all rows and whose weight is
        penalised like the others, as many courses teach it: the kernel is then larger by K².
    training_prior : float, sequence in class order or mapping {label: prior}, optional
        Priors to balance the classes to: rows of class k then cost C · prior / share of the class. A number is the
        prior of the second of two classes.
    multiclass : {"ovr", "ovo", "joint"}, default "ovr"
        Of more than two classes, each against the rest; each pair, which vote (pairs are in sorted order, the later
        class the side +1; votes make poor evidence when calibrated); or all at once, with one margin, see Notes. Two
        classes are the same problem in all three.
    regularization : float > 0, optional
        λ, in place of C: C = 1 / (λ n), with which the objective is λ/2 ‖w‖² plus a mean of losses. Give one of the
        two.
    solver : {"auto", "dual", "primal"}, DualSolver or PrimalSolver, default "auto"
        "auto" takes the primal for a joint margin, for sources, and for linear kernels of more than 2048 rows unless
        they are sparse with 2000 columns or more; and the dual otherwise. Where a linear machine does not converge in
        the dual the primal is tried too.
    tol : float, default 1e-4
        Gap of the primal and the dual objective, relative to the primal, at which to stop.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    kernel_ : Kernel
        With what was taken from the data.
    support_ : array of int of shape (n_support,)
        Rows with a multiplier > 0 in any problem. From a source that is not in memory there is neither this nor the
        next three.
    support_vectors_ : array of shape (n_support, n_features)
        Those rows; not with a precomputed kernel.
    dual_coef_ : array of shape (n_problems, n_support)
        Multipliers times the side, +1 or −1. Two classes are one problem.
    multipliers_ : array of shape (n_problems, n_support)
    coef_ : array of shape (n_problems, n_features)
        Of linear kernels.
    intercept_ : array of shape (n_problems,)
    margins_ : array of shape (n_problems,)
        1 / ‖w‖: the distance of the margin from the surface, in the kernel's space.
    primal_objective_, dual_objective_ : float
        Summed over the problems. The best value of both lies between them.
    gap_ : float
        Their difference.
    n_iter_ : int
        Working sets solved, or passes over the rows, of the problem that took most.
    converged_ : bool
        Whether the gap of every problem is within the tolerance.

    Notes
    -----
    With z = ±1 the side of a row, the primal and the dual are

        min ½ ‖w‖² + Σ C_i max(0, 1 − z_i (w'φ(x_i) + b)),
        max Σ α_i − ½ Σ α_i α_j z_i z_j k(x_i, x_j)   over 0 ≤ α_i ≤ C_i and Σ α_i z_i = 0,

    with w = Σ α_i z_i φ(x_i). C_i is C times the weight of the row, so weights are frequencies, times the ratio of
    ``training_prior`` to the share of the class. With ``bias_scale`` the penalty has b² / K² beside ‖w‖², and the dual
    has no constraint Σ α_i z_i = 0. Every dual value is below every primal value, so their gap bounds the distance of
    both from the optimum.

    A joint margin has a score f_k = w_k'φ(x) + b_k of each class, and the primal and the dual are

        min ½ Σ_k ‖w_k‖² + Σ C_i max_k (1 − [k = y_i] + f_k(x_i) − f_y(x_i)),
        max Σ β_iy − ½ Σ_k ‖Σ β_ik φ(x_i)‖²   over Σ_k β_ik = 0, β_ik ≤ 0 but 0 ≤ β_iy ≤ C_i, and Σ_i β_ik = 0,

    with y = y_i, w_k = Σ β_ik φ(x_i). ``dual_coef_`` holds the β; small ones are dropped. It is solved in the primal,
    for kernels on features whose dot products they are, so at most 10 000 rows can be learned from then; C must be
    finite. All classes are one problem: there is one value of either objective, and a weight vector, bias and margin of
    each class.

    The dual is solved by working sets of 1024 rows, or more where more are free, whose rows of the kernel's matrix are
    made by matrix products and kept within a limit of memory; or, of a linear kernel and many sparse rows of many
    columns, one multiplier after the other. The primal is solved by Newton's method on a smoothed loss that becomes the
    true one; the multipliers of its rows at the margin then follow from the weights.

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
        "bias_scale": none_or(number(1e-50, 1e50)),
        "training_prior": priors(alone=True),
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
    """What ``path`` goes along."""

    def __init__(
        self,
        C: float | None = None,
        *,
        kernel: Any = "linear",
        bias_scale: float | None = None,
        training_prior: Any = None,
        multiclass: str = "ovr",
        regularization: float | None = None,
        solver: Any = "auto",
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
        """Learn from rows in memory; an error leaves the model as it was.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            With a precomputed kernel, the kernel of all rows, (n, n).
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies: what C is multiplied by for each row.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def path(self, X: Any, y: Any, values: Iterable[float], sample_weight: Any = None) -> list[Self]:
        """Fitted copies of the model for several values of C, in the order given.

        They are fitted from the smallest to the largest with one kernel, each starting where the one before it ended.
        The model itself is not changed.

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
            raise InvalidParameterError("path goes along C, but regularization is set, which stands in its place.")
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
        """Fit models that differ by C alone, from the smallest on."""
        classes = source.require_classes("SVM")
        check_two("SVM", classes)
        kernel, rows = kernel_of(self.kernel, "SVM"), source.arrays
        is_hard = any(model.regularization is None and np.isinf(model._cost) for model in models)
        # Two classes have one margin in any case.
        plan = plan_solvers(self.solver, kernel, source, is_hard, self.multiclass == "joint" and len(classes) > 2)
        counts = count_classes(source)
        source.reduce(check_finite)
        if rows is not None:
            kernel = fitted_kernel(kernel, rows.X, rows.weight, rows.positions)
        weights = None if rows is None else rows.weight
        costs = [model._costs(counts.weights, classes, weights) for model in models]
        sides = sides_of(self.multiclass, len(classes))
        machines = train(Task(source, kernel, self.bias_scale, sides, costs, self.tol, counts), plan)
        for model, machine in zip(models, machines, strict=True):
            model._keep(machine, kernel, sides, source)

    @property
    def _cost(self) -> float:
        """C, or its default."""
        return 1.0 if self.C is None else float(self.C)

    def _costs(self, weights: Floats, classes: Labels, of_rows: Floats | None) -> Floats:
        """What a row of each class costs, for each unit of its weight."""
        total = float(weights.sum())
        with np.errstate(all="ignore"):
            C = self._cost if self.regularization is None else 1 / np.multiply(self.regularization, total)
            costs = np.full(len(classes), C, dtype=np.float64)
            if self.training_prior is not None:
                costs *= training_priors("SVM", self.training_prior, classes) / (weights / total)
            least, most = (1.0, 1.0) if of_rows is None else (float(of_rows.min()), float(of_rows.max()))
            ends = float(costs.min()) * least, float(costs.max()) * most
        if not (np.isinf(self._cost) and self.regularization is None) and not LEAST < ends[0] <= ends[1] < 1 / LEAST:
            raise InvalidParameterError(
                f"What a row of SVM costs must lie between {LEAST:g} and {1 / LEAST:g}, but comes to {ends[0]:g} to "
                f"{ends[1]:g} by C, or regularization and the number of rows, by training_prior, and by sample_weight."
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
                optional["support_vectors_"] = landmarks_of(kernel, rows.X[support])
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
                "SVM: kernels of rows are so large beside their differences that scores, and so the objectives, have "
                "fewer digits than the gap promises. Put Standardize before it, or lower the degree of the kernel."
            )
        if not machine.converged:
            warn_of_no_convergence(_stopped(machine, sides, self.classes_))

    def _scores(self, X: Rows) -> Floats:
        if hasattr(self, "coef_"):
            scores = linear_scores(X, self.coef_, self._centred, self._centre)
        else:
            check_finite(Block(X))
            rows = self.support_ if self.kernel_.is_precomputed else self.support_vectors_
            with np.errstate(over="ignore", invalid="ignore"):
                scores = weighted_sums(columns_of(self.kernel_, rows), X, self.dual_coef_.T) + self.intercept_
            check_scores(scores, X)
        return class_scores(scores, self._sides)

    def _block_rows(self, X: Rows) -> int:
        return block_rows(X)

    @property
    def multipliers_(self) -> Floats:
        """The dual variables α of the support vectors, in each problem."""
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise AttributeError("SVM has no multipliers of rows when it learned from a source that is not in memory.")
        return np.asarray(np.abs(self.dual_coef_))

    @property
    def gap_(self) -> float:
        """By how much the primal objective is above the dual."""
        check_is_fitted(self)
        return self.primal_objective_ - self.dual_objective_

    def _check_options(self) -> None:
        check_parameters(self)
        if self.C is not None and self.regularization is not None:
            raise InvalidParameterError(
                f"C={self.C!r} and regularization={self.regularization!r} of SVM stand for the same cost. Give one of "
                "them.",
                parameter="regularization",
            )

    @classmethod
    def _from_file(cls, parameters: dict[str, Any]) -> SVM:
        """A model with the parameters of a file. Older files hold both C and regularization, which then counts."""
        if parameters["regularization"] is not None:
            parameters = {**parameters, "C": None}
        return cls(**parameters)

    def _check_state(self, scope: Scope) -> None:
        """Either weights of columns, or dual coefficients and the rows that they belong to."""
        if not scope.fitted or hasattr(self, "coef_"):
            return
        needed = ["support_", "dual_coef_"] if self.kernel_.is_precomputed else ["support_vectors_", "dual_coef_"]
        missing = next((name for name in needed if not hasattr(self, name)), None)
        if missing is not None:
            raise ViolationError(f"must have {missing}, which its kernel needs, but has not")
        if self.kernel_.is_precomputed and (self.support_ >= self.n_features_in_).any():
            raise ViolationError("support_ must be positions of training rows, but goes beyond them")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def _stopped(machine: Machine, sides: Floats, classes: Labels) -> str:
    """The message about the problem with the largest gap."""
    gaps = (machine.primal - machine.dual) / np.abs(machine.primal)
    worst = int(gaps.argmax())
    problem = describe_sides(sides[worst], classes) if len(gaps) == len(sides) else "all classes at once"
    return (
        f"SVM stopped after {format_count(int(machine.n_iter[worst]), 'step')} with the primal objective at "
        f"{machine.primal[worst]:.6g} and the dual at {machine.dual[worst]:.6g} ({problem}): a gap of "
        f"{gaps[worst]:.1e} of the "
        "primal. What was found so far is kept. If columns are of very different scale put Standardize before it. Else "
        "lower C, raise max_iter or cache_mb of the solver, or raise tolerance if that is near enough."
    )
