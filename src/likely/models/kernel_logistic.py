"""Logistic regression in the space of a kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    Constraints,
    Scope,
    check_parameters,
    count,
    flag,
    floats,
    instance_of,
    none_or,
    number,
    priors,
    probabilities,
    random_state,
)
from likely._typing import Floats, Rows
from likely._validation import check_n_classes
from likely.blocks import SAMPLE_ROWS, Block, MappedSource, Source, SourceLearner
from likely.blocks import check_finite as finite
from likely.decisions import training_priors
from likely.exceptions import InvalidParameterError, NotConvergedWarning, suppress_warnings, warn_of_no_convergence
from likely.features.expansions import replace_rows
from likely.features.kernel_features import MAX_ROWS, NystromFeatures, factor_gram
from likely.kernels import Kernel, KernelEstimator, kernel_of, weighted_sums
from likely.kernels.gram import (
    all_at_once,
    check_landmarks,
    columns_of,
    fitted_kernel,
    is_precomputed,
    landmark_rows,
    landmarks_of,
)
from likely.kernels.standard import KERNEL
from likely.models.base import EvidenceClassifier
from likely.models.linear_scores import check_scores
from likely.models.logistic import LogisticRegression, subtract_priors

MOST_VALUES = 2**27
"""Values of the features by landmarks, of all rows, that are held at most; more are made anew in every pass."""

MOST_STEPS = 10_000
"""Of the solver, for each strength of the penalty."""


@dataclass(frozen=True, eq=False)
class KernelLogisticState:
    """The fitted kernel, the rows it compares with, their coefficients, and how the fit ended."""

    kernel_: Annotated[Kernel, instance_of(Kernel)]
    landmarks_: Annotated[Any, landmark_rows("n")]
    dual_coef_: Annotated[Floats, floats("r", "n")]
    intercept_: Annotated[Floats, floats("r")]
    _priors: Annotated[Floats, probabilities("k")]
    objective_: Annotated[float, number(finite=False)]
    n_iter_: Annotated[int, count()]
    converged_: Annotated[bool, flag]
    gap_: Annotated[float, number(finite=False)]


class KernelLogisticRegression(KernelEstimator, EvidenceClassifier, SourceLearner):
    """Log odds of the classes that are linear in the space of a kernel, fitted to their labels.

    Like :class:`likely.LogisticRegression` it returns the log-posteriors under the priors of its training, less the
    logarithms of those priors: log-likelihoods up to a constant of the row, so that it decides under any application.
    Every training row, or every one of some landmarks, takes part in every score. Kernels depend on the scale of the
    columns, and those of dot products on the origin, far from which digits are lost: put :class:`likely.Standardize`
    before it. Missing values are refused.

    Parameters
    ----------
    regularization : float > 0, default 1e-2
        λ: what the penalty is multiplied by, beside a mean of losses. Without a penalty there would be no minimum.
    kernel : {"rbf", "linear", "polynomial", "precomputed"}, Kernel or function, default "rbf"
        With "precomputed", X is the kernel of all training rows with each other, and afterwards that of new rows with
        the training rows.
    training_prior : float, sequence in class order or mapping {label: prior}, optional
        Priors that the objective is weighted to, as for :class:`likely.LogisticRegression`.
    n_landmarks : int, optional
        How many training rows the log odds are made of, drawn as :class:`likely.NystromFeatures` draws them. By
        default all are, and the minimum is that of the whole space; for more than 10 000 rows it must be set.
    tol : float, default 1e-8
        Distance of the objective to its minimum, relative, at which to stop.
    priors : sequence in class order or mapping {label: prior}, optional
        For ``predict``, ``predict_proba`` and ``decision_function``; the training priors if not given.
    random_state : int, RandomState or None
        For the draw of landmarks.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    kernel_ : Kernel
        With what it took from the data.
    landmarks_ : array or CSR array of shape (n_landmarks, n_features)
        For a precomputed kernel their positions among the training rows, of shape (n_landmarks,).
    dual_coef_ : array of shape (1, n_landmarks) for two classes, else (n_classes, n_landmarks)
    intercept_ : array of shape (1,) or (n_classes,)
    training_priors_ : array of shape (n_classes,)
    objective_ : float
        Its least value, penalty included.
    gap_ : float
        Estimated distance of the objective to its minimum.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    Logits are f_k(x) = Σ_j β_kj k(x, z_j) + b_k, of the second class alone where there are two, and the objective is

        Σ_i a_i [−log P(y_i given x_i)] + λ/2 Σ_k β_k'Kβ_k

    with a_i as for :class:`likely.LogisticRegression`. With K = UΛU' and β = U Λ^−½ w the penalty is λ/2 ‖w‖² and the
    logits are linear in features k(x, Z) U Λ^−½, so it is logistic regression on those; that the minimum over all
    functions of the kernel's space is of this form is the representer theorem.

    References
    ----------
    J. Zhu and T. Hastie, "Kernel logistic regression and the import vector machine", Journal of Computational and
    Graphical Statistics 14, 2005.

    Examples
    --------
    >>> import likely
    >>> X, y = [[-2.0], [-1.0], [0.0], [1.0], [2.0]], [1, 0, 0, 0, 1]
    >>> model = KernelLogisticRegression(1e-3, kernel=likely.PolynomialKernel(2)).fit(X, y)
    >>> model.llr([[-2.0], [0.0], [2.0]]).round(2)
    array([ 6.15, -9.19,  6.15])
    """

    by_class = True

    path_parameter: ClassVar[str] = "regularization"
    """What ``path`` goes along."""

    _State = KernelLogisticState
    _constraints: ClassVar[Constraints] = {
        "regularization": replace(
            number(above=0), remedy=lambda value: "Without a penalty nothing would keep the log odds from growing."
        ),
        "kernel": KERNEL,
        "training_prior": priors(scalar=True),
        "n_landmarks": none_or(count(1, SAMPLE_ROWS)),
        "tol": number(above=0, below=1),
        "priors": priors(),
        "random_state": random_state,
    }
    kernel_: Kernel
    landmarks_: Any
    dual_coef_: Floats
    intercept_: Floats

    def __init__(
        self,
        regularization: float = 1e-2,
        *,
        kernel: Any = "rbf",
        training_prior: Any = None,
        n_landmarks: int | None = None,
        tol: float = 1e-8,
        priors: Any = None,
        random_state: Any = None,
    ) -> None:
        self.regularization = regularization
        self.kernel = kernel
        self.training_prior = training_prior
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.priors = priors
        self.random_state = random_state

    def path(self, X: Any, y: Any, regularizations: Iterable[float], sample_weight: Any = None) -> list[Self]:
        """Fitted copies of the model for several strengths of the penalty, in the order given.

        They share the kernel's matrix, which is taken apart once. The model itself is not changed.

        Examples
        --------
        >>> from likely.datasets import load_tumours
        >>> X, y, _ = load_tumours()
        >>> path = KernelLogisticRegression().path(X / X.std(axis=0), y, [1e-1, 1e-2, 1e-3])
        >>> [round(model.objective_, 3) for model in path]
        [0.577, 0.361, 0.17]
        """
        if not np.iterable(regularizations) or isinstance(regularizations, str):
            raise InvalidParameterError(
                f"path takes several values of regularization, such as [1e-3, 1e-2], but got {regularizations!r}."
            )
        models = [clone(self).set_params(regularization=strength) for strength in regularizations]
        if models:
            base = models[0]
            source = base._source(X, y, sample_weight)
            seen = {name: value for name, value in vars(base).items() if name.endswith("_in_")}
            for model in models:
                model.__dict__.update(seen)
            _fit_all(models, source)
        return models

    def _learn(self, source: Source) -> None:
        _fit_all([self], source)

    def _check_options(self, source: Source) -> None:
        assert source.classes is not None
        check_n_classes("KernelLogisticRegression", source.classes)
        check_parameters(self)
        self._check_kernel()
        self.classes_ = source.classes
        if self.training_prior is not None:
            training_priors("KernelLogisticRegression", self.training_prior, source.classes)
        if self.priors is not None:
            self._application()  # refuses priors that do not fit the classes

    def _check_kernel(self) -> None:
        kernel = kernel_of(self.kernel, "KernelLogisticRegression")
        if self.n_landmarks is None:
            return
        if kernel.is_precomputed:
            raise InvalidParameterError(
                "n_landmarks of KernelLogisticRegression is for kernels of rows; with kernel='precomputed' all rows of "
                "the matrix are landmarks. Leave it out, or give a smaller matrix."
            )

    def _linear(self) -> LogisticRegression:
        return LogisticRegression(training_prior=self.training_prior, tol=self.tol, max_iter=MOST_STEPS)

    def _keep(self, space: _Space, linear: LogisticRegression) -> None:
        self._state = KernelLogisticState(
            kernel_=space.kernel,
            landmarks_=space.landmarks,
            dual_coef_=linear.coef_ @ space.projection.T,
            intercept_=linear.intercept_,
            _priors=linear.training_priors_,
            objective_=linear.objective_,
            n_iter_=linear.n_iter_,
            converged_=linear.converged_,
            gap_=linear.gap_,
        )
        if not self.converged_:
            steps, value = self.n_iter_, self.objective_
            warn_of_no_convergence(
                f"KernelLogisticRegression stopped after {steps} step{'s' * (steps != 1)} with the objective at "
                f"{value:.6g}, by its gradient about {self.gap_ / value:.1e} of that above its minimum. What was found "
                "so far is kept. Raise tolerance if that is near enough, or regularization."
            )

    def _check_state(self, scope: Scope) -> None:
        check_landmarks(self, scope)

    @property
    def training_priors_(self) -> Floats:
        check_is_fitted(self)
        priors: Floats = self._priors
        return priors

    def _evidence(self, X: Rows) -> Floats:
        finite(Block(X))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = weighted_sums(columns_of(self.kernel_, self.landmarks_), X, self.dual_coef_.T)
            logits = np.asarray(sums + self.intercept_)
        return subtract_priors(check_scores(logits, X), self._priors)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


class _Space(NamedTuple):
    """Landmarks, what makes features of a row's kernel with them, and the features of all rows."""

    kernel: Kernel
    landmarks: Rows
    projection: Floats
    source: Source


def _fit_all(models: list[Any], source: Source) -> None:
    """Fit models that differ by the strength of the penalty alone."""
    for model in models:
        model._check_options(source)
    first = models[0]
    space = _of_all_rows(first, source) if first.n_landmarks is None else _of_some_rows(first, source)
    with suppress_warnings(NotConvergedWarning):
        linear = first._linear().path_source(space.source, [float(model.regularization) for model in models])
    for model, found in zip(models, linear, strict=True):
        model._keep(space, found)


def _of_all_rows(model: KernelLogisticRegression, source: Source) -> _Space:
    rows = all_at_once(source, "KernelLogisticRegression", MAX_ROWS, "Set n_landmarks, such as n_landmarks=1000.")
    rows.reduce(finite)
    kernel = fitted_kernel(kernel_of(model.kernel, ""), rows.X, rows.weight, rows.positions)
    landmarks = landmarks_of(kernel, rows.X, rows.positions)
    U, roots = factor_gram(kernel, landmarks, rows.X)
    return _Space(kernel, landmarks, U / roots, replace_rows(rows, U * roots))


def _of_some_rows(model: KernelLogisticRegression, source: Source) -> _Space:
    features = NystromFeatures(model.n_landmarks or 1, kernel=model.kernel, random_state=model.random_state)
    features.set_output(transform="default").fit_source(source)
    rank = int(features.projection_.any(axis=0).sum())
    features.projection_ = features.projection_[:, :rank].copy()
    learned = (features.kernel_, features.landmarks_, features.projection_)
    rows = source.arrays
    if rows is not None and rows.X.shape[0] * rank <= MOST_VALUES:
        return _Space(*learned, replace_rows(rows, features.transform(rows.X)))
    return _Space(*learned, MappedSource(source, features.transform, rank))
