"""Features whose dot products are nearly a kernel: what does not fit in memory as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array, check_random_state

from likely._typing import Floats, Rows
from likely._validation import is_count
from likely.blocks import Source
from likely.blocks.sample import SAMPLE_ROWS
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.features.base import with_signs
from likely.features.expansion import Expansion, finite_sample
from likely.kernels import Kernel, check_semi_definite, kernel_of, matrix_of
from likely.kernels.gram import columns_of, directions, gram_of, hardly_vary, warn_of_lost_digits

__all__ = ["MOST_ROWS", "NystromFeatures", "rooted"]

MOST_ROWS = 10_000
"""Rows whose whole matrix models take apart: minutes of work, and memory of a few times 800 MB."""


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
    >>> phi = NystromFeatures(4, likely.RBFKernel(0.5)).fit_transform(X)
    >>> (phi @ phi.T)[0].round(3)  # exact where all rows are landmarks
    array([1.   , 0.607, 0.135, 0.011])
    """

    def __init__(
        self, n_landmarks: int = 100, kernel: Any = "rbf", landmarks: Any = None, random_state: Any = None
    ) -> None:
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.landmarks = landmarks
        self.random_state = random_state

    def expands_to(self, n_features: int) -> int:
        """Number of outputs: one for each landmark."""
        self._check_parameters()
        return int(self.n_landmarks) if self.landmarks is None else len(self.landmarks)

    def _learn(self, source: Source) -> None:
        self._check_parameters()
        rows, weight = source.reduce(finite_sample).distinct()
        self.kernel_ = kernel_of(self.kernel, "NystromFeatures").fitted(rows, weight)
        check_semi_definite(self.kernel_, rows)
        self.landmarks_ = self._drawn(rows, weight) if self.landmarks is None else self._given(source.n_features)
        U, roots = rooted(self.kernel_, self.landmarks_, self.landmarks_)
        if not len(roots):
            raise DegenerateDataError(
                f"NystromFeatures needs landmarks that tell rows apart, but the kernel {self.kernel_} of all of them "
                f"is 0 (n_samples={len(rows)}). Give it other rows, or another kernel."
            )
        self.projection_ = np.zeros((self.landmarks_.shape[0], self.expands_to(source.n_features)))
        self.projection_[:, : len(roots)] = U / roots

    def _check_parameters(self) -> None:
        if self.landmarks is None and not is_count(self.n_landmarks, 1, SAMPLE_ROWS):
            raise InvalidParameterError(
                f"n_landmarks of NystromFeatures must be a whole number from 1 to {SAMPLE_ROWS}, but is "
                f"{self.n_landmarks!r}."
            )
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
