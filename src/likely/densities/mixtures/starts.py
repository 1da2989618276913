"""Where EM begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from likely._typing import Floats
from likely._validation import as_floats, check_count, check_penalty
from likely._words import shortened
from likely.blocks import Source
from likely.blocks.sample import sampled
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.base import MixtureBase
from likely.densities.mixtures.centroids import clustered
from likely.densities.mixtures.em import one_pass
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixed import Mixed
from likely.exceptions import InvalidParameterError

__all__ = ["LBG", "KMeansStart", "RandomStart", "given_start", "start_of"]


class LBG(BaseEstimator):  # type: ignore[misc]
    """Grow a mixture: split every component in two, let EM settle, and again (Linde, Buzo and Gray 1980).

    Begins with one Gaussian; nothing is random. Where twice as many components would be too many, the heaviest are
    split.

    Parameters
    ----------
    displacement : float, default 0.1
        How far the halves are moved from their mean, each its way along the leading eigenvector of the component's
        covariance, in standard deviations along it.
    """

    def __init__(self, displacement: float = 0.1) -> None:
        self.displacement = displacement


class _Start(BaseEstimator):  # type: ignore[misc]
    def __init__(self, n_starts: int = 1) -> None:
        self.n_starts = n_starts

    def begin(
        self, source: Source, family: GaussianFamily, alone: Mixed, n_components: int, random: np.random.RandomState
    ) -> Mixed:
        """A mixture of so many components; ``alone`` is that of one."""
        raise NotImplementedError


class KMeansStart(_Start):
    """Begin with the clusters of k-means on standardised columns; a row belongs to the nearest centre.

    Centres are looked for in at most 16 384 rows.

    Parameters
    ----------
    n_starts : int, default 1
        How often to begin; the mixture of highest likelihood is kept.
    """

    def begin(
        self, source: Source, family: GaussianFamily, alone: Mixed, n_components: int, random: np.random.RandomState
    ) -> Mixed:
        rows, weight = source.reduce(sampled).distinct()
        whole: Gaussians = alone.components
        mean, scale = whole.means[0], np.sqrt(whole.covariances.matrix(0).diagonal())
        rows = (np.where(np.isnan(rows), mean, rows) - mean) / scale
        centres = mean + clustered(rows, weight, n_components, random) * scale
        _, estimate = one_pass(source, family, family.alike(centres, np.square(scale)), hard=True)
        return estimate()


class RandomStart(_Start):
    """Begin with components as wide as all rows together, at rows drawn by lot.

    Parameters
    ----------
    n_starts : int, default 1
        How often to begin; the mixture of highest likelihood is kept.
    """

    def begin(
        self, source: Source, family: GaussianFamily, alone: Mixed, n_components: int, random: np.random.RandomState
    ) -> Mixed:
        rows, weight = source.reduce(sampled).distinct()
        drawn = random.choice(len(rows), n_components, replace=len(rows) < n_components, p=weight / weight.sum())
        rows = np.where(np.isnan(rows[drawn]), alone.components.means[0], rows[drawn])
        return family.alike(rows, alone.components.covariances.array()[0])


_STARTS = {"lbg": LBG, "kmeans": KMeansStart, "random": RandomStart}


def start_of(init: Any) -> Any:
    """The start that a constructor's ``init`` stands for: a start, the name of one, or else None."""
    if isinstance(init, str):
        if init not in _STARTS:
            raise _no_start(init)
        return _STARTS[init]()
    if isinstance(init, LBG):
        check_penalty("displacement", init.displacement, "LBG")
    elif isinstance(init, _Start):
        check_count("n_starts", init.n_starts, type(init).__name__)
    return init if isinstance(init, (LBG, _Start)) else None


def _no_start(init: Any) -> InvalidParameterError:
    return InvalidParameterError(
        f"init of a mixture must be one of {', '.join(map(repr, _STARTS))}, a start such as LBG(0.2), means of shape "
        "(n_components, n_features), a tuple (weights, means, covariances) or a fitted GaussianMixture, but is "
        f"{shortened(repr(init), 200)}."
    )


def given_start(init: Any, n_components: int, family: GaussianFamily, alone: Mixed) -> Mixed:
    """The start that was given as parameters."""
    if isinstance(init, MixtureBase):
        if not isinstance(getattr(getattr(init, "mixed_", None), "components", None), Gaussians):
            raise InvalidParameterError(
                "init of GaussianMixture is a mixture that is not fitted, as copies made by clone are not, or not of "
                "Gaussians. Give (weights_, means_, covariances_) instead."
            )
        mixed = init.mixed_
        given: Any = mixed.weights, mixed.components.means, mixed.components.broadcast_covariances()
    else:
        given = tuple(as_floats(part) for part in (init if isinstance(init, tuple) and len(init) == 3 else (init,)))
        if any(part is None or part.ndim == 0 for part in given):
            raise _no_start(init)
        if len(given) == 1:
            _check_means(given[0], n_components, len(family.origin))
            return family.alike(given[0], alone.components.covariances.array()[0])
    weights, means, covariances = given
    _check_means(means, n_components, len(family.origin))
    _check_weights(weights, covariances, means)
    if family.tied:
        covariances = np.tensordot(weights, covariances, axes=1)[None]
    return family.finished(weights, means, covariances)


def _check_means(means: Floats, n_components: int, n_features: int) -> None:
    if means.shape != (n_components, n_features) or not np.isfinite(means).all():
        raise InvalidParameterError(
            f"Means given to a mixture must be finite and of shape ({n_components}, {n_features}), for n_components "
            f"and the columns of X, but have shape {means.shape}."
        )


def _check_weights(weights: Floats, covariances: Floats, means: Floats) -> None:
    K, d = means.shape
    if weights.shape != (K,) or not ((weights >= 0).all() and np.isclose(weights.sum(), 1)):
        raise InvalidParameterError(f"Weights given to a mixture of {K} components must be {K} shares of 1.")
    if covariances.shape not in ((K, d, d), (K, d)) or not np.isfinite(covariances).all():
        raise InvalidParameterError(
            f"Covariances given to a mixture must be finite and of shape ({K}, {d}, {d}) or, diagonal, ({K}, {d}), but "
            f"have {covariances.shape}."
        )
    if covariances.ndim == 2:
        sound = bool((covariances >= 0).all())
    else:
        slack = 1e-6 * np.abs(covariances).max(axis=(1, 2))
        lopsided = np.abs(covariances - covariances.transpose(0, 2, 1)).max(axis=(1, 2))
        sound = bool((lopsided <= slack).all() and (np.linalg.eigvalsh(covariances)[:, 0] >= -slack).all())
    if not sound:
        raise InvalidParameterError(
            "Covariances given to a mixture must be symmetric, with no variance below 0 in any direction, but are not."
        )
