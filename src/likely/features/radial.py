"""Gaussian bumps around centres."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array, check_random_state

from likely._typing import Floats
from likely._validation import is_count, is_number
from likely.blocks import Source
from likely.blocks.sample import SAMPLE_ROWS, Sample
from likely.densities.mixtures.centroids import clustered
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.features.expansion import Expansion, finite_sample
from likely.kernels import RBFKernel

__all__ = ["RadialFeatures"]


class RadialFeatures(ClassNamePrefixFeaturesOutMixin, Expansion):  # type: ignore[misc]
    """Replace the columns by bumps, each 1 at a centre and falling with the distance from it.

    Linear models of the outputs are sums of bumps. Distances are Euclidean, so columns should be on one scale: put
    :class:`likely.Standardize` before it. Far from all centres every output is 0, and a model there knows nothing.
    Missing values are refused.

    Parameters
    ----------
    n_centers : int, default 10
        How many centres to find by k-means, where none are given.
    centers : array of shape (n_centers, n_features), optional
        The centres themselves; nothing is then learned from the rows.
    width : float, optional
        Standard deviation σ of the bumps. If not given it is the mean distance of a centre from the nearest other
        one, so that neighbouring bumps overlap whatever the scale of the data; a single centre needs a width.
    random_state : int, RandomState or None
        For the starting points of k-means; an int gives the same centres every time.

    Attributes
    ----------
    centers_ : array of shape (n_centers, n_features)
    width_ : float
    n_features_in_ : int

    Notes
    -----
    φ_k(x) = exp(−‖x − c_k‖² / 2σ²). K-means learns from at most 16 384 rows, evenly taken, in one pass over arrays or
    a source; equal rows among them are added up and all are sorted, so that weights do what repeated rows do and the
    order of the rows does not matter.

    References
    ----------
    J. Moody and C. Darken, "Fast learning in networks of locally-tuned processing units", Neural Computation 1, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.2], [3.0], [3.2]])
    >>> bumps = RadialFeatures(n_centers=2, random_state=0).fit(X)
    >>> np.sort(bumps.centers_, axis=0).ravel(), bumps.width_
    (array([0.1, 3.1]), 3.0)
    >>> RadialFeatures(centers=[[0.0], [2.0]], width=1.0).fit_transform([[0.0], [1.0]]).round(3)
    array([[1.   , 0.135],
           [0.607, 0.607]])
    """

    def __init__(
        self, n_centers: int = 10, centers: Any = None, width: float | None = None, random_state: Any = None
    ) -> None:
        self.n_centers = n_centers
        self.centers = centers
        self.width = width
        self.random_state = random_state

    def expands_to(self, n_features: int) -> int:
        """Number of outputs: one for each centre."""
        self._check_parameters()
        return int(self.n_centers) if self.centers is None else len(self.centers)

    def _learn(self, source: Source) -> None:
        self._check_parameters()
        if self.centers is None:
            self.centers_ = self._cluster(source.reduce(finite_sample))
        else:
            self.centers_ = _checked_centres(self.centers, source.n_features)
        self.width_ = _spacing(self.centers_) if self.width is None else float(self.width)

    def _check_parameters(self) -> None:
        if self.centers is None and not is_count(self.n_centers, 1, SAMPLE_ROWS):
            raise InvalidParameterError(
                f"n_centers of RadialFeatures must be a whole number from 1 to {SAMPLE_ROWS}, but is "
                f"{self.n_centers!r}."
            )
        if self.width is not None and not (is_number(self.width) and 0 < self.width < np.inf):
            raise InvalidParameterError(
                f"width of RadialFeatures must be a finite number > 0, or None, but is {self.width!r}."
            )

    def _cluster(self, sample: Sample) -> Floats:
        """K-means of a sample, in which equal rows are added up, about its mean."""
        rows, weight = sample.distinct()
        if len(rows) < self.n_centers:
            raise DegenerateDataError(
                f"RadialFeatures looks for {self.n_centers} centres, but X has only {len(rows)} different rows "
                f"(n_samples={len(sample.rows)}). Set n_centers to that many or fewer."
            )
        mean = rows.mean(axis=0)
        random = check_random_state(self.random_state)
        return np.asarray(mean + clustered(rows - mean, weight, self.n_centers, random))

    def _fill(self, rows: Floats, out: Floats) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            columns = RBFKernel(_gamma(self.width_)).columns(self.centers_)
            columns.fill(columns.facing(rows), slice(None), slice(None), out)
        return bool(np.isfinite(rows).all()) and not np.isnan(out.min(initial=0.0))

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)


def _gamma(width: float) -> float:
    """1 / 2σ², of any width a number that the kernel takes: bumps of extreme widths are points, or everywhere 1."""
    extremes = np.finfo(np.float64)
    return min(max(0.5 / width / width, float(extremes.tiny)), float(extremes.max) / 4)


def _checked_centres(centres: Any, n_features: int) -> Floats:
    checked: Floats = check_array(centres, dtype=np.float64, copy=True, input_name="centers")
    if checked.shape[1] != n_features:
        raise InvalidDataError(
            f"centers of RadialFeatures must have one column for each of the {n_features} features of X, but have "
            f"{checked.shape[1]}."
        )
    return checked


def _spacing(centres: Floats) -> float:
    """The mean distance of a centre from the nearest other one."""
    if len(centres) == 1:
        raise InvalidParameterError(
            "width of RadialFeatures follows from the distances between centres, but there is only one. Set width."
        )
    between = cdist(centres, centres)
    np.fill_diagonal(between, np.inf)
    spacing = float(between.min(axis=1).mean())
    if not 0 < spacing < np.inf:
        raise DegenerateDataError(
            f"width of RadialFeatures follows from the distances between centres, but their mean is {spacing}. "
            "Set width."
        )
    return spacing
