"""Features of kernels: Nyström features, whose dot products approximate a kernel, and kernel principal components."""

from __future__ import annotations

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
from likely._typing import Floats, Rows
from likely._validation import check_rows
from likely.blocks import SAMPLE_ROWS, Block, Source, SourceLearner, check_finite
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.features.expansions import Expansion, finite_sample
from likely.features.linear import with_signs
from likely.kernels import Kernel, check_semi_definite, kernel_of, matrix_of, weighted_sums
from likely.kernels.gram import (
    all_at_once,
    check_landmarks,
    columns_of,
    directions,
    fitted_kernel,
    gram_of,
    hardly_vary,
    is_precomputed,
    landmark_rows,
    landmarks_of,
    warn_of_lost_digits,
)
from likely.kernels.standard import KERNEL

MOST_ROWS = 10_000
"""Rows whose whole matrix models take apart: minutes of work, and memory of a few times 800 MB."""

MOST_PCA_ROWS = 30_000
"""Rows whose matrix, of 7 GB, is still made; finding its eigenvectors takes as much again."""


@dataclass(frozen=True, eq=False)
class NystromState:
    """The fitted kernel, the landmarks, and the projection of kernels with them."""

    kernel_: Annotated[Kernel, instance_of(Kernel)]
    landmarks_: Annotated[Floats, floats("n", "d")]
    projection_: Annotated[Floats, floats("n", "out")]


class NystromFeatures(ClassNamePrefixFeaturesOutMixin, Expansion):  # type: ignore[misc]
    """Replace the columns by features whose dot products are nearly a kernel, from its values at some landmarks.

    Linear models of the outputs are kernel machines of as many terms as there are landmarks, learned from any number
    of rows, in memory or not. The approximation is exact for rows that are landmarks, and the better elsewhere the
    nearer landmarks are. Kernels depend on the scale of the columns, and those of dot products on the origin: put
    :class:`likely.Standardize` before it. Outputs come in the order of their size; those that would be rounding are 0.
    Missing values are refused.

    Parameters
    ----------
    n_landmarks : int, default 100
        How many different training rows to draw, if there are so many; also the number of outputs.
    kernel : {"rbf", "linear", "polynomial"}, Kernel or function, default "rbf"
    landmarks : array of shape (n_landmarks, n_features), optional
        The landmarks themselves; nothing but what the kernel takes from the data is then learned from the rows.
    random_state : int, RandomState or None
        For the draw; an int gives the same landmarks every time.

    Attributes
    ----------
    kernel_ : Kernel
        With what it took from the data.
    landmarks_ : array of shape (n_drawn, n_features)
    projection_ : array of shape (n_drawn, n_outputs)
        What the kernel of a row with the landmarks is multiplied by.
    n_features_in_ : int

    Notes
    -----
    With landmarks Z and their matrix K_ZZ = UΛU', outputs are k(x, Z) U Λ^−½, so that dot products of them are
    K_xZ K_ZZ⁺ K_Zx. Landmarks are drawn, and the kernel is fitted, from at most 16 384 rows, evenly taken, in one pass
    over arrays or a source; equal rows among them are one, with the sum of their weights, to which the chance of a row
    to be drawn first is proportional.

    References
    ----------
    C. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 13, 2001.

    Examples
    --------
    >>> import likely
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> phi = NystromFeatures(4, kernel=likely.RBFKernel(0.5)).fit_transform(X)
    >>> (phi @ phi.T)[0].round(3)  # exact where all rows are landmarks
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
        self, n_landmarks: int = 100, *, kernel: Any = "rbf", landmarks: Any = None, random_state: Any = None
    ) -> None:
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.landmarks = landmarks
        self.random_state = random_state

    def expands_to(self, n_features: int) -> int:
        """Number of outputs: one for each landmark."""
        check_parameters(self)
        self._check_kernel()
        return int(self.n_landmarks) if self.landmarks is None else len(self.landmarks)

    def _learn(self, source: Source) -> None:
        self._check_kernel()
        rows, weight = source.reduce(finite_sample).distinct()
        kernel = kernel_of(self.kernel, "NystromFeatures").fitted(rows, weight)
        check_semi_definite(kernel, rows)
        landmarks = self._drawn(rows, weight) if self.landmarks is None else self._given(source.n_features)
        U, roots = rooted(kernel, landmarks, landmarks)
        if not len(roots):
            raise DegenerateDataError(
                f"NystromFeatures needs landmarks that tell rows apart, but the kernel {kernel} of all of them "
                f"is 0 (n_samples={len(rows)}). Give it other rows, or another kernel."
            )
        projection = np.zeros((landmarks.shape[0], self.expands_to(source.n_features)))
        projection[:, : len(roots)] = U / roots
        self._state = NystromState(kernel, landmarks, projection)

    def _check_kernel(self) -> None:
        if kernel_of(self.kernel, "NystromFeatures").is_precomputed:
            raise InvalidParameterError(
                "kernel of NystromFeatures must be one of rows, which it compares with landmarks, but is precomputed: "
                "its matrix is there already. Use KernelPCA, which takes one."
            )

    def _drawn(self, rows: Floats, weight: Floats) -> Floats:
        """Rows drawn one after the other, each with chances by weight among those left (Efraimidis and Spirakis)."""
        order = np.argsort(check_random_state(self.random_state).exponential(size=len(rows)) / weight, kind="stable")
        return rows[np.sort(order[: self.n_landmarks])]

    def _given(self, n_features: int) -> Floats:
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
            np.matmul(matrix_of(columns_of(self.kernel_, self.landmarks_), rows), self.projection_, out=out)
        return bool(np.isfinite(out).all())

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.shape[1])


def rooted(kernel: Kernel, landmarks: Rows, X: Rows) -> tuple[Floats, Floats]:
    """U and the roots of Λ in K = UΛU', the matrix of landmarks that are the rows X; so U Λ^½ are features of them.

    The largest root is the first; those that are rounding are left out. Rows that hardly vary are warned of.
    """
    K = gram_of(kernel, landmarks, X)
    if hardly_vary(K):
        warn_of_lost_digits(kernel)
    values, U = directions(K)
    return with_signs(U), np.sqrt(values)


@dataclass(frozen=True, eq=False)
class KernelPCAState:
    """The fitted kernel, the rows it compares with, and the directions."""

    kernel_: Annotated[Kernel, instance_of(Kernel)]
    landmarks_: Annotated[Any, landmark_rows("n")]
    eigenvalues_: Annotated[Floats, floats("out", above=0)]
    dual_coef_: Annotated[Floats, floats("n", "out")]
    offset_: Annotated[Floats, floats("out")]


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SourceLearner):  # type: ignore[misc]
    """Project onto the directions of largest variance in the space whose dot products a kernel gives.

    Curves along which the rows vary become straight lines there. Kernels depend on the scale of the columns, and those
    of dot products on the origin: put :class:`likely.Standardize` before it. All training rows are kept and compared
    with each other, so it is for some thousands of rows; put :class:`likely.NystromFeatures` before :class:`likely.PCA`
    for more. Components whose variance is rounding are left out. The signs make the largest score among the training
    rows positive. Missing values are refused.

    Parameters
    ----------
    n_components : int, optional
        How many directions to keep, if so many hold any variance; by default all that do.
    kernel : {"rbf", "linear", "polynomial", "precomputed"}, Kernel or function, default "rbf"
        With "precomputed", X is the kernel of all training rows with each other, and afterwards that of new rows with
        the training rows.

    Attributes
    ----------
    kernel_ : Kernel
        With what it took from the data.
    n_components_ : int
    eigenvalues_ : array of shape (n_components_,)
        Of the centred matrix: the weight of the training rows times the variances along the directions.
    landmarks_ : array or CSR array of shape (n, n_features)
        The training rows; for a precomputed kernel their positions, of shape (n,).
    dual_coef_ : array of shape (n, n_components_)
        The directions as sums of the training rows in the kernel's space.
    offset_ : array of shape (n_components_,)
        Scores of the mean, which are taken off.
    n_features_in_ : int

    Notes
    -----
    For weights w of sum N, and K with its weighted means taken off rows and columns, the eigenvectors u of
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

    def __init__(self, n_components: int | None = None, *, kernel: Any = "rbf") -> None:
        self.n_components = n_components
        self.kernel = kernel

    @property
    def n_components_(self) -> int:
        check_is_fitted(self)
        return len(self.eigenvalues_)

    def transform(self, X: Any) -> Floats:
        """Scores of rows along the directions, of shape (n, n_components_)."""
        check_is_fitted(self)
        rows = check_rows(self, X)
        check_finite(Block(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = weighted_sums(columns_of(self.kernel_, self.landmarks_), rows, self.dual_coef_)
            scores = np.asarray(sums - self.offset_)
        if not np.isfinite(scores).all():
            raise Block(rows).non_finite()
        return scores

    def _learn(self, source: Source) -> None:
        kernel = kernel_of(self.kernel, "KernelPCA")
        rows = all_at_once(source, "KernelPCA", MOST_PCA_ROWS, "Put NystromFeatures before PCA instead.")
        rows.reduce(check_finite)
        kernel = fitted_kernel(kernel, rows.X, rows.weight, rows.positions)
        landmarks = landmarks_of(kernel, rows.X, rows.positions)
        weight = np.ones(rows.X.shape[0]) if rows.weight is None else rows.weight
        K = gram_of(kernel, landmarks, rows.X)
        doubtful = hardly_vary(K)
        self._state = KernelPCAState(kernel, landmarks, *self._decompose(K, weight, kernel))
        if doubtful:
            warn_of_lost_digits(kernel)

    def _decompose(self, K: Floats, weight: Floats, kernel: Kernel) -> tuple[Floats, Floats, Floats]:
        """Eigenvalues, dual coefficients and offset, from a matrix that is overwritten to save memory."""
        total, root = weight.sum(), np.sqrt(weight)
        mean = K @ weight / total
        middle = float(weight @ mean) / total
        K -= mean
        K -= (mean - middle)[:, None]
        K *= root
        K *= root[:, None]
        values, U = directions(K, self.n_components, abs(middle) * total)
        if not len(values):
            raise DegenerateDataError(
                f"KernelPCA needs rows that vary, but in the space of {kernel} they do not, beyond rounding "
                f"(n_samples={len(weight)}). Put Standardize before it if they are far from 0, or use another kernel."
            )
        scores = with_signs(U / root[:, None])
        dual_coef = scores * weight[:, None] / np.sqrt(values)
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
