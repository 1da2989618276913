"""Principal components in the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely._typing import Floats
from likely._validation import check_count, check_rows
from likely.blocks import Block, Source, SourceLearner
from likely.exceptions import DegenerateDataError
from likely.features.base import with_signs
from likely.features.expansion import finite
from likely.kernels import kernel_of, weighted_sums
from likely.kernels.gram import (
    all_at_once,
    columns_of,
    directions,
    fitted_kernel,
    gram_of,
    hardly_vary,
    is_precomputed,
    landmarks_of,
    warn_of_lost_digits,
)

__all__ = ["KernelPCA"]

MOST_ROWS = 30_000
"""Rows whose matrix, of 7 GB, is still made; finding its eigenvectors takes as much again."""


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

    def __init__(self, n_components: int | None = None, kernel: Any = "rbf") -> None:
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
        finite(Block(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = weighted_sums(columns_of(self.kernel_, self.landmarks_), rows, self.dual_coef_)
            scores = np.asarray(sums - self.offset_)
        if not np.isfinite(scores).all():
            raise Block(rows).non_finite()
        return scores

    def _learn(self, source: Source) -> None:
        kernel = kernel_of(self.kernel, "KernelPCA")
        if self.n_components is not None:
            check_count("n_components", self.n_components, "KernelPCA")
        rows = all_at_once(source, "KernelPCA", MOST_ROWS, "Put NystromFeatures before PCA instead.")
        rows.reduce(finite)
        self.kernel_ = fitted_kernel(kernel, rows.X, rows.weight, rows.positions)
        self.landmarks_ = landmarks_of(self.kernel_, rows.X, rows.positions)
        weight = np.ones(rows.X.shape[0]) if rows.weight is None else rows.weight
        K = gram_of(self.kernel_, self.landmarks_, rows.X)
        doubtful = hardly_vary(K)
        self._decompose(K, weight)
        if doubtful:
            warn_of_lost_digits(self.kernel_)

    def _decompose(self, K: Floats, weight: Floats) -> None:
        """The directions, from a matrix that is overwritten: there may be no room for another."""
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
                f"KernelPCA needs rows that vary, but in the space of {self.kernel_} they do not, beyond rounding "
                f"(n_samples={len(weight)}). Put Standardize before it if they are far from 0, or use another kernel."
            )
        scores = with_signs(U / root[:, None])
        self.eigenvalues_ = values
        self.dual_coef_ = scores * weight[:, None] / np.sqrt(values)
        self.dual_coef_ -= weight[:, None] * (self.dual_coef_.sum(axis=0) / total)
        self.offset_ = mean @ self.dual_coef_

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
