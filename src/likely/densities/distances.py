"""Squared Mahalanobis distances of many rows to many centres: the arithmetic behind every Gaussian score.

Each kernel is prepared once for its centres and then called with dense blocks of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._numerics import scratch
from likely._typing import Floats

__all__ = ["DistancesByVariances", "DistancesByWhiteners"]

PANEL = 64
"""Columns of a triangular factor multiplied at once."""

NEAR = 1e6
"""Squared distance of a centre from the common origin, in its own variances, up to which squares may be expanded:
the expansion's rounding is then at most about 1e-10."""


@dataclass(frozen=True, eq=False)
class DistancesByVariances:
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

    centres: Floats
    variances: Floats

    def __post_init__(self) -> None:
        origin = self.centres.mean(axis=0)
        steps = self.centres - origin
        offsets = (steps**2 / self.variances).sum(axis=1)
        factors = np.concatenate([1 / self.variances, -2 * steps / self.variances], axis=1).T
        for name, value in {"origin": origin, "offsets": offsets, "factors": np.ascontiguousarray(factors)}.items():
            object.__setattr__(self, name, value)

    origin: Floats = None  # type: ignore[assignment]
    offsets: Floats = None  # type: ignore[assignment]
    factors: Floats = None  # type: ignore[assignment]

    def __call__(self, rows: Floats) -> Floats:
        if self.offsets.max() > NEAR:
            pairs = zip(self.centres, self.variances, strict=True)
            return np.column_stack([np.square(rows - m) @ (1 / v) for m, v in pairs])
        n, d = rows.shape
        expanded = scratch((n, 2 * d), slot=0)
        np.subtract(rows, self.origin, out=expanded[:, d:])
        np.square(expanded[:, d:], out=expanded[:, :d])
        return np.asarray(expanded @ self.factors + self.offsets)


@dataclass(frozen=True, eq=False)
class DistancesByWhiteners:
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

    centres: Floats
    whiteners: Floats

    def __post_init__(self) -> None:
        origin = self.centres.mean(axis=0)
        offsets = -np.einsum("kd,kde->ke", self.centres - origin, self.whiteners)
        panels = [self._panel(offsets, low) for low in range(0, self.centres.shape[1], PANEL)]
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "panels", panels)

    origin: Floats = None  # type: ignore[assignment]
    panels: list[Floats] = None  # type: ignore[assignment]

    def _panel(self, offsets: Floats, low: int) -> Floats:
        columns = slice(low, low + PANEL)
        stacked = self.whiteners[:, : low + PANEL, columns]
        rows = np.concatenate([offsets[:, None, columns], stacked], axis=1)
        return np.ascontiguousarray(rows.transpose(1, 0, 2).reshape(rows.shape[1], -1))

    def __call__(self, rows: Floats) -> Floats:
        n, k = len(rows), len(self.centres)
        extended = scratch((n, rows.shape[1] + 1), slot=0)
        extended[:, 0] = 1.0
        np.subtract(rows, self.origin, out=extended[:, 1:])
        total = np.zeros((n, k))
        for panel in self.panels:
            product = scratch((n, panel.shape[1]), slot=1)
            np.matmul(extended[:, : len(panel)], panel, out=product)
            white = product.reshape(n, k, -1)
            total += np.einsum("nkj,nkj->nk", white, white)
        return total
