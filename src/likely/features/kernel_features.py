"""Features of kernels: the Nyström approximation, and kernel principal component analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    Constraints,
    Scope,
    check_parameters,
    count,
    floats,
    instance_of,
    none_or,
    numbers,
    random_state,
)
from likely._typing import Floats, KernelName, Rows
from likely._validation import check_rows
from likely.blocks import SAMPLE_ROWS, Block, Source, SourceLearner, check_finite
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.features.expansions import Expansion, sample_finite_rows
from likely.features.linear import fix_signs
from likely.kernels import Kernel, KernelEstimator, check_semi_definite, compute_matrix, resolve_kernel, weighted_sums
from likely.kernels.gram import (
    centring_cancels,
    check_landmarks,
    compute_gram,
    copy_landmarks,
    eigendecompose,
    fit_kernel,
    is_precomputed,
    landmark_rows,
    prepare_landmarks,
    require_in_memory,
    warn_of_cancellation,
)
from likely.kernels.standard import KERNEL

MAX_ROWS = 10_000
"""Maximum number of training rows of models that decompose their kernel matrix completely. At this limit the
decomposition takes minutes, and the memory is a few times the 800 MB of the matrix."""

MAX_PCA_ROWS = 30_000
"""Maximum number of training rows of KernelPCA. A kernel matrix of this size takes 7 GB, and its eigenvectors take
as much again."""


@dataclass(frozen=True, eq=False)
class NystromState:
    """Fitted kernel, landmarks, and the matrix that maps kernel values with the landmarks to features."""

    kernel_: Annotated[Kernel, instance_of(Kernel)]
    landmarks_: Annotated[Floats, floats("n", "d")]
    projection_: Annotated[Floats, floats("n", "out")]


class NystromFeatures(KernelEstimator, ClassNamePrefixFeaturesOutMixin, Expansion):  # type: ignore[misc]
    """Nyström approximation of a kernel: features computed from the kernel values of a row with some landmarks.

    Dot products of the outputs approximate the kernel. A linear model of the outputs is a kernel machine with one term
    per landmark. It can be fitted to any number of rows, in memory or not. The approximation is exact for rows that are
    landmarks. For other rows, it is better the nearer the landmarks are. Kernels depend on the scale of the columns,
    and kernels of dot products depend on the origin: use :class:`likely.Standardize` first. Outputs are sorted by their
    eigenvalue, largest first; outputs whose eigenvalue is rounding error are 0. Missing values raise an error.

    Parameters
    ----------
    n_landmarks : int, default 100
        Number of outputs, and maximum number of landmarks. Landmarks are drawn from the different training rows.
    kernel : {"rbf", "linear", "polynomial"}, Kernel or function, default "rbf"
    landmarks : array of shape (n_landmarks, n_features), optional
        Fixed landmarks; only data-dependent parameters of the kernel are then learned from the rows.
    random_state : int, RandomState or None
        Random state of the draw; an int gives the same landmarks in every fit.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its data-dependent parameters.
    landmarks_ : array of shape (n_drawn, n_features)
    projection_ : array of shape (n_drawn, n_outputs)
        Matrix by which the kernel values of a row with the landmarks are multiplied.
    n_features_in_ : int

    Notes
    -----
    With landmarks Z and their matrix K_ZZ = UΛU', outputs are k(x, Z) U Λ^−½, so that their dot products are
    K_xZ K_ZZ⁺ K_Zx. Landmarks are drawn, and the kernel is fitted, from an even sample of at most 16 384 rows, taken in
    one pass over arrays or a source. Equal rows of the sample are merged and their weights added. The probability that
    a row is drawn first is proportional to its weight.

    References
    ----------
    C. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 13, 2001.

    Examples
    --------
    >>> import likely
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> phi = NystromFeatures(4, kernel=likely.RBFKernel(0.5)).fit_transform(X)
    >>> (phi @ phi.T)[0].round(3)  # exact, because all rows are landmarks
    array([1.   , 0.607, 0.135, 0.011])
    """

    _State = NystromState
    _constraints: ClassVar[Constraints] = {
        "n_landmarks": count(1, SAMPLE_ROWS),
        "kernel": KERNEL,
        "landmarks": none_or(numbers(2)),
        "random_state": random_state,
    }
    kernel_: Kernel
    landmarks_: Floats
    projection_: Floats

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        kernel: KernelName | Kernel | Callable[..., Any] = "rbf",
        landmarks: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.landmarks = landmarks
        self.random_state = random_state

    def expands_to(self, n_features: int) -> int:
        """Return the number of outputs: one for each landmark."""
        check_parameters(self)
        self._check_kernel()
        return int(self.n_landmarks) if self.landmarks is None else len(self.landmarks)

    def _learn(self, source: Source) -> None:
        self._check_kernel()
        rows, weight = source.reduce(sample_finite_rows).distinct()
        kernel = resolve_kernel(self.kernel, "NystromFeatures").fitted(rows, weight)
        check_semi_definite(kernel, rows)
        if self.landmarks is None:
            landmarks = self._draw_landmarks(rows, weight)
        else:
            landmarks = self._check_landmarks(source.n_features)
        U, roots = factor_gram(kernel, landmarks, landmarks)
        if not len(roots):
            raise DegenerateDataError(
                f"NystromFeatures needs landmarks with kernel values other than 0, but all values of {kernel} "
                f"are 0 (n_samples={len(rows)}). Use other rows, or another kernel."
            )
        # Outputs beyond the rank of the kernel matrix are 0.
        projection = np.zeros((landmarks.shape[0], self.expands_to(source.n_features)))
        projection[:, : len(roots)] = U / roots
        self._state = NystromState(kernel, landmarks, projection)

    def _check_kernel(self) -> None:
        if resolve_kernel(self.kernel, "NystromFeatures").is_precomputed:
            raise InvalidParameterError(
                "kernel of NystromFeatures must be a function of rows, but is precomputed. NystromFeatures compares "
                "rows with landmarks. Use KernelPCA, which takes a precomputed kernel."
            )

    def _draw_landmarks(self, rows: Floats, weight: Floats) -> Floats:
        """Return at most ``n_landmarks`` rows, drawn without replacement.

        In each draw the probability of a row is proportional to its weight (Efraimidis and Spirakis, 2006).
        """
        order = np.argsort(check_random_state(self.random_state).exponential(size=len(rows)) / weight, kind="stable")
        return rows[np.sort(order[: self.n_landmarks])]

    def _check_landmarks(self, n_features: int) -> Floats:
        checked: Floats = check_array(self.landmarks, dtype=np.float64, copy=True, input_name="landmarks")
        if checked.shape[1] != n_features:
            raise InvalidDataError(
                f"landmarks of NystromFeatures must have one column for each of the {n_features} features of X, but "
                f"have {checked.shape[1]}."
            )
        return checked

    def _fill(self, rows: Floats, out: Floats) -> bool:
        if not np.isfinite(rows).all():
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(compute_matrix(prepare_landmarks(self.kernel_, self.landmarks_), rows), self.projection_, out=out)
        return bool(np.isfinite(out).all())

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.shape[1])


def factor_gram(kernel: Kernel, landmarks: Rows, X: Rows) -> tuple[Floats, Floats]:
    """Return U and the diagonal of Λ^½, where K = UΛU' is the kernel matrix of the rows X with themselves.

    ``landmarks`` are the same rows as ``copy_landmarks`` returns them. The rows of U Λ^½ are features of the rows X:
    their dot products are K. Eigenvalues are sorted, the largest first, and those that are rounding error are dropped.
    The function warns if centring K would cancel digits.
    """
    K = compute_gram(kernel, landmarks, X)
    if centring_cancels(K):
        warn_of_cancellation(kernel)
    values, U = eigendecompose(K)
    return fix_signs(U), np.sqrt(values)


@dataclass(frozen=True, eq=False)
class KernelPCAState:
    """Fitted kernel, training rows, and directions; :class:`KernelPCA` describes the attributes."""

    kernel_: Annotated[Kernel, instance_of(Kernel)]
    landmarks_: Annotated[Any, landmark_rows("n")]
    eigenvalues_: Annotated[Floats, floats("out", above=0)]
    dual_coef_: Annotated[Floats, floats("n", "out")]
    offset_: Annotated[Floats, floats("out")]


class KernelPCA(KernelEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SourceLearner):  # type: ignore[misc]
    """Kernel principal component analysis: projection onto the directions of largest variance in the kernel's space.

    Curves along which the rows vary become straight lines in this space. Kernels depend on the scale of the columns,
    and kernels of dot products depend on the origin: use :class:`likely.Standardize` first. All training rows are kept
    and compared with each other, so it is meant for some thousands of rows; for more rows use
    :class:`likely.NystromFeatures` followed by :class:`likely.PCA`. Components whose variance is rounding error are
    dropped. Signs are chosen such that the largest score of a training row is positive. Missing values raise an error.

    Parameters
    ----------
    n_components : int, optional
        Maximum number of directions to keep; by default all directions of positive variance.
    kernel : {"rbf", "linear", "polynomial", "precomputed"}, Kernel or function, default "rbf"
        With "precomputed", X is the kernel of all training rows with each other in fit, and the kernel of new rows with
        the training rows in transform.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its data-dependent parameters.
    n_components_ : int
    eigenvalues_ : array of shape (n_components_,)
        Eigenvalues of the centred matrix: total weight of the training rows times the variances along the directions.
    landmarks_ : array or CSR array of shape (n, n_features)
        The training rows; for a precomputed kernel their positions, of shape (n,).
    dual_coef_ : array of shape (n, n_components_)
        Coefficients of the directions as linear combinations of the training rows in the kernel's space.
    offset_ : array of shape (n_components_,)
        Scores of the mean, which are subtracted.
    n_features_in_ : int

    Notes
    -----
    For weights w of sum N, and K centred by the weighted means of its rows and columns, the eigenvectors u of
    W^½ K W^½ with eigenvalues λ give directions Σ_i a_i φ(x_i) with a = W^½ u / √λ, and scores

        Σ_i a_i k(x, x_i) − a'm,    m = K w / N,

    since a sums to 0. Weights are frequencies. With the linear kernel these are the scores of :class:`likely.PCA`.

    References
    ----------
    B. Schölkopf, A. Smola and K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem", Neural
    Computation 10, 1998.

    Examples
    --------
    >>> import likely
    >>> square = likely.PolynomialKernel(2, offset=0)  # the space of x²
    >>> KernelPCA(kernel=square).fit_transform([[-2.0], [-1.0], [0.0], [2.0]]).round(3).ravel()
    array([-1.75,  1.25,  2.25, -1.75])
    """

    _State = KernelPCAState
    _constraints: ClassVar[Constraints] = {"n_components": none_or(count(1)), "kernel": KERNEL}
    kernel_: Kernel
    landmarks_: Any
    eigenvalues_: Floats
    dual_coef_: Floats
    offset_: Floats

    def __init__(
        self, n_components: int | None = None, *, kernel: KernelName | Kernel | Callable[..., Any] = "rbf"
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel

    @property
    def n_components_(self) -> int:
        check_is_fitted(self)
        return len(self.eigenvalues_)

    def transform(self, X: Any) -> Floats:
        """Return the scores of rows along the directions, of shape (n, n_components_)."""
        check_is_fitted(self)
        rows = check_rows(self, X)
        check_finite(Block(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = weighted_sums(prepare_landmarks(self.kernel_, self.landmarks_), rows, self.dual_coef_)
            scores = np.asarray(sums - self.offset_)
        if not np.isfinite(scores).all():
            raise Block(rows).non_finite()
        return scores

    def _learn(self, source: Source) -> None:
        kernel = resolve_kernel(self.kernel, "KernelPCA")
        rows = require_in_memory(source, "KernelPCA", MAX_PCA_ROWS, "Put NystromFeatures before PCA instead.")
        rows.reduce(check_finite)
        kernel = fit_kernel(kernel, rows.X, rows.weight, rows.positions)
        landmarks = copy_landmarks(kernel, rows.X, rows.positions)
        weight = np.ones(rows.X.shape[0]) if rows.weight is None else rows.weight
        K = compute_gram(kernel, landmarks, rows.X)
        doubtful = centring_cancels(K)
        self._state = KernelPCAState(kernel, landmarks, *self._decompose(K, weight, kernel))
        if doubtful:
            warn_of_cancellation(kernel)

    def _decompose(self, K: Floats, weight: Floats, kernel: Kernel) -> tuple[Floats, Floats, Floats]:
        """Return the eigenvalues, the dual coefficients and the offset from the kernel matrix K of the training rows.

        K is overwritten to save memory.
        """
        total, root = weight.sum(), np.sqrt(weight)
        mean = K @ weight / total
        middle = float(weight @ mean) / total
        # In place, K becomes W^½ (K − 1 m' − m 1' + middle 1 1') W^½, where W = diag(weight) and m = mean.
        K -= mean
        K -= (mean - middle)[:, None]
        K *= root
        K *= root[:, None]
        values, U = eigendecompose(K, self.n_components, abs(middle) * total)
        if not len(values):
            raise DegenerateDataError(
                f"KernelPCA needs rows that vary, but in the space of {kernel} they differ only by rounding errors "
                f"(n_samples={len(weight)}). If the rows are far from 0, use Standardize first. Otherwise, use another "
                "kernel."
            )
        scores = fix_signs(U / root[:, None])
        dual_coef = scores * weight[:, None] / np.sqrt(values)
        # The coefficients of a direction sum to 0 up to rounding errors; subtract the sum that remains.
        dual_coef -= weight[:, None] * (dual_coef.sum(axis=0) / total)
        return values, dual_coef, mean @ dual_coef

    def _check_state(self, scope: Scope) -> None:
        check_landmarks(self, scope)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
