"""Kernel logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from likely._typing import Floats, KernelName, Rows
from likely._validation import check_n_classes
from likely.blocks import SAMPLE_ROWS, Block, MappedSource, Source, SourceLearner, check_finite
from likely.decisions import training_priors
from likely.exceptions import InvalidParameterError, NotConvergedWarning, suppress_warnings, warn_of_no_convergence
from likely.features.expansions import replace_rows
from likely.features.kernel_features import MAX_ROWS, NystromFeatures, factor_gram
from likely.kernels import Kernel, KernelEstimator, resolve_kernel, weighted_sums
from likely.kernels.gram import (
    check_landmarks,
    copy_landmarks,
    fit_kernel,
    is_precomputed,
    landmark_rows,
    prepare_landmarks,
    require_in_memory,
)
from likely.kernels.standard import KERNEL
from likely.models.base import EvidenceClassifier
from likely.models.linear_scores import check_scores
from likely.models.logistic import LogisticRegression, subtract_priors

MAX_FEATURE_VALUES = 2**27
"""Maximum number of feature values (rows times landmark features) that are kept in memory. If there are more, every
pass over the rows computes the features again."""

MAX_STEPS = 10_000
"""Maximum number of solver steps for each value of ``regularization``."""


@dataclass(frozen=True, eq=False)
class KernelLogisticState:
    """Fitted kernel, landmarks, dual coefficients, and the outcome of the fit."""

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
    """Kernel logistic regression for two or more classes.

    Like :class:`likely.LogisticRegression`, ``log_likelihood`` returns the log-posteriors under the training priors
    minus the logarithms of those priors. These are log-likelihoods up to a constant per row, so they support decisions
    in any application. Every score depends on all training rows, or on all landmarks.

    Kernels depend on the scale of the columns. Dot-product kernels also depend on the origin, and lose digits for data
    far from it. Put :class:`likely.Standardize` before the model. Missing values raise an error.

    Parameters
    ----------
    regularization : float > 0, default 1e-2
        λ, the factor of the penalty, which is added to the mean loss. Without a penalty the objective has no minimum.
    kernel : {"rbf", "linear", "polynomial", "precomputed"}, Kernel or function, default "rbf"
        Kernel function. With "precomputed", X is a kernel matrix: in ``fit`` that of the training rows, later that of
        new rows with the training rows.
    training_prior : float, sequence in class order or mapping {label: prior}, optional
        Priors to which the objective is weighted, as for :class:`likely.LogisticRegression`.
    n_landmarks : int, optional
        Number of training rows on which the log odds depend, drawn as in :class:`likely.NystromFeatures`. By default
        all rows are used, and the solution is the minimum over the whole space of the kernel. It must be set for more
        than 10 000 rows.
    tol : float, default 1e-8
        Stopping tolerance: the relative distance of the objective from its minimum.
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict``, ``predict_proba`` and ``decision_function``, by default the training priors.
    random_state : int, RandomState or None
        Random state of the draw of landmarks.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    kernel_ : Kernel
        Fitted kernel, including parameters estimated from the data.
    landmarks_ : array or CSR array of shape (n_landmarks, n_features)
        Landmarks; for a precomputed kernel, their indices among the training rows, of shape (n_landmarks,).
    dual_coef_ : array of shape (1, n_landmarks) for two classes, else (n_classes, n_landmarks)
        Coefficients β of the landmarks.
    intercept_ : array of shape (1,) or (n_classes,)
    training_priors_ : array of shape (n_classes,)
    objective_ : float
        Minimum of the objective, including the penalty.
    gap_ : float
        Estimated distance of the objective from its minimum.
    n_iter_ : int
        Number of solver steps.
    converged_ : bool
        Whether the solver reached the tolerance.

    Notes
    -----
    The logits are f_k(x) = Σ_j β_kj k(x, z_j) + b_k; two classes have one logit, that of the second class. The
    objective is

        Σ_i a_i [−log P(y_i given x_i)] + λ/2 Σ_k β_k'Kβ_k

    with a_i as for :class:`likely.LogisticRegression`. With K = UΛU' and β = U Λ^−½ w the penalty is λ/2 ‖w‖² and the
    logits are linear in the features k(x, Z) U Λ^−½. The model is therefore a logistic regression on these features. By
    the representer theorem the minimum over all functions in the space of the kernel has this form.

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
    """Name of the parameter that ``path`` varies."""

    _State = KernelLogisticState
    _constraints: ClassVar[Constraints] = {
        "regularization": replace(
            number(above=0), remedy=lambda value: "Without a penalty the log odds grow without bound."
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
        kernel: KernelName | Kernel | Callable[..., Any] = "rbf",
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
        """Return fitted copies of the model for several values of ``regularization``, in the given order.

        The copies share the kernel matrix and its eigendecomposition, which is computed once. The model itself does not
        change.

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
            self._application()  # raises if the priors do not match the classes

    def _check_kernel(self) -> None:
        kernel = resolve_kernel(self.kernel, "KernelLogisticRegression")
        if self.n_landmarks is None:
            return
        if kernel.is_precomputed:
            raise InvalidParameterError(
                "n_landmarks of KernelLogisticRegression must not be set with kernel='precomputed', because all rows "
                "of a precomputed kernel matrix are landmarks. Omit n_landmarks, or pass a smaller matrix."
            )

    def _make_linear_model(self) -> LogisticRegression:
        return LogisticRegression(training_prior=self.training_prior, tol=self.tol, max_iter=MAX_STEPS)

    def _keep(self, space: _FeatureSpace, linear: LogisticRegression) -> None:
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
                f"{value:.6g}. The gradient indicates that the objective is above its minimum by a relative gap of "
                f"about {self.gap_ / value:.1e}. The last solution is kept. Raise tol or regularization."
            )

    def _check_state(self, scope: Scope) -> None:
        check_landmarks(self, scope)

    @property
    def training_priors_(self) -> Floats:
        check_is_fitted(self)
        priors: Floats = self._priors
        return priors

    def _evidence(self, X: Rows) -> Floats:
        check_finite(Block(X))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = weighted_sums(prepare_landmarks(self.kernel_, self.landmarks_), X, self.dual_coef_.T)
            logits = np.asarray(sums + self.intercept_)
        return subtract_priors(check_scores(logits, X), self._priors)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


class _FeatureSpace(NamedTuple):
    """Space of features whose dot products are the kernel, or approximate it.

    It consists of the kernel k, the landmarks Z, the matrix P (``projection``), and a source with the features
    k(x, Z) P of all training rows x.
    """

    kernel: Kernel
    landmarks: Rows
    projection: Floats
    source: Source


def _fit_all(models: list[Any], source: Source) -> None:
    """Fit models that differ only in ``regularization`` to the same source, with one feature space for all of them."""
    for model in models:
        model._check_options(source)
    first = models[0]
    space = _span_all_rows(first, source) if first.n_landmarks is None else _span_landmarks(first, source)
    with suppress_warnings(NotConvergedWarning):
        linear = first._make_linear_model().path_source(space.source, [float(model.regularization) for model in models])
    for model, found in zip(models, linear, strict=True):
        model._keep(space, found)


def _span_all_rows(model: KernelLogisticRegression, source: Source) -> _FeatureSpace:
    rows = require_in_memory(source, "KernelLogisticRegression", MAX_ROWS, "Set n_landmarks, such as n_landmarks=1000.")
    rows.reduce(check_finite)
    kernel = fit_kernel(resolve_kernel(model.kernel, ""), rows.X, rows.weight, rows.positions)
    landmarks = copy_landmarks(kernel, rows.X, rows.positions)
    # K = U diag(roots²) U', so the rows of U diag(roots) are features whose dot products are the kernel.
    U, roots = factor_gram(kernel, landmarks, rows.X)
    return _FeatureSpace(kernel, landmarks, U / roots, replace_rows(rows, U * roots))


def _span_landmarks(model: KernelLogisticRegression, source: Source) -> _FeatureSpace:
    features = NystromFeatures(model.n_landmarks or 1, kernel=model.kernel, random_state=model.random_state)
    features.set_output(transform="default").fit_source(source)
    # Columns of the projection beyond the rank of the kernel matrix are 0; drop them.
    rank = int(features.projection_.any(axis=0).sum())
    features.projection_ = features.projection_[:, :rank].copy()
    learned = (features.kernel_, features.landmarks_, features.projection_)
    rows = source.arrays
    if rows is not None and rows.X.shape[0] * rank <= MAX_FEATURE_VALUES:
        return _FeatureSpace(*learned, replace_rows(rows, features.transform(rows.X)))
    return _FeatureSpace(*learned, MappedSource(source, features.transform, rank))
