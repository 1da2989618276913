"""Squared Mahalanobis distances of many rows to many centres: the arithmetic behind every Gaussian score.

Each kernel is prepared once for its centres and then called with dense blocks of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likely._numerics import Workspace
from likely._typing import Floats

__all__ = ["DistancesByOneWhitener", "DistancesByVariances", "DistancesByWhiteners"]

_WORKSPACE = Workspace()

PANEL = 64
"""Columns of a triangular factor multiplied at once."""

NEAR = 1e6
"""Squared distance of a centre from the common origin, in its own variances, up to which squares may be expanded:
the expansion's rounding is then at most about 1e-10."""


FAR = 1e10
"""Squared distance of a centre from the common origin, in its own covariance, up to which rows are whitened about the
origin: beyond, more than five digits of a white coordinate would be lost."""


@dataclass(frozen=True, eq=False)
class _Distances:
    """Distances to centres, reckoned from their mean so that data far from zero lose no digits."""

    centres: Floats

    @cached_property
    def _origin(self) -> Floats:
        return np.asarray(self.centres.mean(axis=0))


@dataclass(frozen=True, eq=False)
class DistancesByVariances(_Distances):
    """Σ_j (x_j − m_kj)² / v_kj for each centre k.

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
    variances : array of shape (n_centres, n_features)

    Notes
    -----
    About the origin o, the mean of the centres, the square expands to two matrix products,
    Σ (x − o)²/v − 2 Σ (x − o)(m − o)/v + Σ (m − o)²/v. Where a centre lies so far from the origin, in its own
    variances, that the terms would cancel digits, the differences are squared one centre at a time.
    """

    variances: Floats

    @cached_property
    def _offsets(self) -> Floats:
        return np.asarray(((self.centres - self._origin) ** 2 / self.variances).sum(axis=1))

    @cached_property
    def _factors(self) -> Floats:
        steps = self.centres - self._origin
        return np.ascontiguousarray(np.concatenate([1 / self.variances, -2 * steps / self.variances], axis=1).T)

    def __call__(self, rows: Floats) -> Floats:
        if not self._offsets.max() <= NEAR:
            pairs = zip(self.centres, self.variances, strict=True)
            return np.column_stack([np.square(rows - m) @ (1 / v) for m, v in pairs])
        n, d = rows.shape
        expanded = _WORKSPACE.array("expanded", (n, 2 * d))
        np.subtract(rows, self._origin, out=expanded[:, d:])
        np.square(expanded[:, d:], out=expanded[:, :d])
        return np.asarray(expanded @ self._factors + self._offsets)


@dataclass(frozen=True, eq=False)
class DistancesByWhiteners(_Distances):
    """‖(x − m_k) U_k‖² for each centre k, with U_k upper triangular.

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
    whiteners : array of shape (n_centres, n_features, n_features)

    Notes
    -----
    The factors of all centres stand side by side, cut into panels of columns; a panel needs only the rows above its
    end, so the zeros below the diagonals are hardly multiplied: 0.55 of the full product at 784 features. The offsets
    −(m_k − o) U_k ride along as the first row, against a column of ones.
    """

    whiteners: Floats

    @cached_property
    def _panels(self) -> list[Floats]:
        offsets = -np.einsum("kd,kde->ke", self.centres - self._origin, self.whiteners)
        return [self._panel(offsets, low) for low in range(0, self.centres.shape[1], PANEL)]

    def _panel(self, offsets: Floats, low: int) -> Floats:
        columns = slice(low, low + PANEL)
        stacked = self.whiteners[:, : low + PANEL, columns]
        rows = np.concatenate([offsets[:, None, columns], stacked], axis=1)
        return np.ascontiguousarray(rows.transpose(1, 0, 2).reshape(rows.shape[1], -1))

    @cached_property
    def _far(self) -> bool:
        """Whether some centre lies so far off, in its own units, that its offset would swallow digits."""
        offsets = np.einsum("kd,kde->ke", self.centres - self._origin, self.whiteners)
        return not np.square(offsets).sum(axis=1).max() <= FAR

    def __call__(self, rows: Floats) -> Floats:
        if self._far:
            whites = ((rows - m) @ U for m, U in zip(self.centres, self.whiteners, strict=True))
            return np.column_stack([np.einsum("nj,nj->n", white, white) for white in whites])
        n, k = len(rows), len(self.centres)
        extended = _WORKSPACE.array("extended", (n, rows.shape[1] + 1))
        extended[:, 0] = 1.0
        np.subtract(rows, self._origin, out=extended[:, 1:])
        total = np.zeros((n, k))
        for panel in self._panels:
            product = _WORKSPACE.array("product", (n, panel.shape[1]))
            np.matmul(extended[:, : len(panel)], panel, out=product)
            white = product.reshape(n, k, -1)
            total += np.einsum("nkj,nkj->nk", white, white)
        return total


@dataclass(frozen=True, eq=False)
class DistancesByOneWhitener(_Distances):
    """‖(x − m_k) U‖² for each centre k: whiten once, then all variances are one.

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
    whitener : array of shape (n_features, n_features)
    """

    whitener: Floats

    @cached_property
    def _white(self) -> DistancesByVariances:
        centres = (self.centres - self._origin) @ self.whitener
        return DistancesByVariances(centres, np.ones_like(centres))

    def __call__(self, rows: Floats) -> Floats:
        return self._white((rows - self._origin) @ self.whitener)
