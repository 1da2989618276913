"""Nearly equal components of a Gaussian mixture, and directions in which to separate them.

After a split the two halves of a component differ little. If the rows are not Gaussian, the halves separate; but the
likelihood rises only by the fourth power of their distance, and only in some directions. EM then seems to converge to
two equal halves, which is a saddle point and not a maximum.

References
----------
J.-F. Cardoso, "Source separation using higher order moments", ICASSP 1989 (eigenvectors of the fourth moments).
L. Xu and M. Jordan, "On convergence properties of the EM algorithm for Gaussian mixtures", Neural Computation 8, 1996.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from likely._numerics import dense
from likely._typing import Floats
from likely.blocks import Block, Source
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import EStep, assign_soft

MAX_DIVERGENCE = 1.0
"""Jeffreys divergence below which two components are nearly equal; that of means one standard deviation apart."""

Pairs = list[tuple[int, int]]


def find_twins(gaussians: Gaussians) -> Pairs:
    """Return pairs of nearly equal components, the nearest first; a component belongs to at most one pair."""
    divergences = _jeffreys_divergences(gaussians.means, gaussians.broadcast_covariances())
    rows, columns = np.triu_indices(len(divergences), 1)
    near = divergences[rows, columns]
    pairs: Pairs = []
    taken: set[int] = set()
    for at in np.argsort(near, kind="stable")[: np.count_nonzero(near < MAX_DIVERGENCE)]:
        i, j = int(rows[at]), int(columns[at])
        if not {i, j} & taken:
            pairs.append((i, j))
            taken |= {i, j}
    return pairs


def _jeffreys_divergences(means: Floats, covariances: Floats) -> Floats:
    """Return KL(i, j) + KL(j, i) = ½ [tr(P_i C_j) + tr(P_j C_i) − 2d + δ'(P_i + P_j)δ], with P = C⁻¹, δ = m_i − m_j."""
    K, d = means.shape
    # Columns on one scale, so that the inverses lose few digits.
    variances = covariances if covariances.ndim == 2 else np.diagonal(covariances, axis1=1, axis2=2)
    scale: Floats = np.asarray(np.sqrt(variances.mean(axis=0)), dtype=np.float64)
    means = np.asarray((means - means.mean(axis=0)) / scale)
    if covariances.ndim == 2:
        covariances = np.asarray(covariances / scale**2)
        precisions = 1 / covariances
        squares = np.stack([np.square(means - means[k]) @ precisions[k] for k in range(K)])
    else:
        covariances = covariances / np.outer(scale, scale)
        precisions = np.asarray(np.linalg.inv(covariances), dtype=np.float64)
        differences = (means - means[k] for k in range(K))
        squares = np.stack([((D @ P) * D).sum(axis=1) for D, P in zip(differences, precisions, strict=True)])
    traces = precisions.reshape(K, -1) @ covariances.reshape(K, -1).T
    return np.asarray((traces + traces.T - 2 * d + squares + squares.T) / 2)


def widen(means: Floats, weights: Floats, pairs: Pairs) -> Floats:
    """Return the means with the distance of the components of each pair doubled; their common mean stays."""
    means = means.copy()
    for pair in map(list, pairs):
        centre = np.average(means[pair], axis=0, weights=weights[pair])
        means[pair] = 2 * means[pair] - centre
    return means


def merge(weights: Floats, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance (matrix or variances) of a mixture of Gaussians."""
    mean = np.average(means, axis=0, weights=weights)
    D = means - mean
    between = D**2 if covariances.ndim == 2 else D[:, :, None] * D[:, None, :]
    return mean, np.average(covariances + between, axis=0, weights=weights)


def flattest_steps(source: Source, prepared: EStep, pairs: Pairs, centres: Floats, covariances: Floats) -> Floats:
    """Return, for each pair, a step of one standard deviation in the direction of the smallest fourth moment.

    Two clusters of similar weight have a fourth moment below that of a Gaussian along the line that joins them.

    Parameters
    ----------
    source : Source
    prepared : EStep
        E step that gives the responsibilities.
    pairs : list of pairs of components
    centres : array of shape (n_pairs, d)
        Mean of the rows of each pair.
    covariances : array of shape (n_pairs, d, d) or (n_pairs, d)
        Covariance of the rows of each pair. With variances the directions are those of the columns.

    Notes
    -----
    With z = L⁻¹(x − m) and C = LL', the direction is Lv for the last eigenvector v of Σ γ |z|² zz' (Cardoso 1989).
    """
    is_full = covariances.ndim == 3
    scales = np.linalg.cholesky(covariances) if is_full else np.sqrt(covariances)
    fourth: Floats = source.reduce(_sum_fourth_moments, prepared, pairs, centres, scales)
    if not is_full:
        columns = np.arange(centres.shape[1])
        return np.asarray(scales * (columns == fourth.argmin(axis=1)[:, None]))
    directions = np.linalg.eigh(fourth)[1][:, :, 0]
    # The sign of an eigenvector is arbitrary: make the largest entry positive.
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return np.asarray(np.einsum("pij,pj->pi", scales, directions * np.sign(largest)))


def _sum_fourth_moments(block: Block, prepared: EStep, pairs: Pairs, centres: Floats, scales: Floats) -> Floats:
    total = np.zeros_like(scales)
    for piece in prepared.pieces(block):
        shares = prepared.log_joint(prepared.expand(piece))
        _, factors = assign_soft(shares)
        weight = factors if piece.weight is None else factors * piece.weight
        X = dense(piece.X)
        for p, (i, j) in enumerate(pairs):
            gamma = (shares[i] + shares[j]) * weight
            # Whitened rows; the mean replaces missing values.
            D = np.nan_to_num(X - centres[p])
            if scales.ndim == 2:
                total[p] += gamma @ (D / scales[p]) ** 4
            else:
                z = solve_triangular(scales[p], D.T, lower=True)
                total[p] += (z * (gamma * np.square(z).sum(axis=0))) @ z.T
    return total
