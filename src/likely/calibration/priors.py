"""How frequent the classes are in rows without labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely._numerics import log_normalized
from likely._typing import Floats
from likely.calibration.scores import as_numbers
from likely.exceptions import InvalidDataError

__all__ = ["estimate_priors"]


def estimate_priors(log_likelihoods: Any, tolerance: float = 1e-7, most_iterations: int = 10_000) -> Floats:
    """Priors that make unlabelled rows most likely, given calibrated evidence about them, by EM.

    Parameters
    ----------
    log_likelihoods : array of shape (n, n_classes), or (n,) for two classes' llrs
        Calibrated: bad calibration is taken for a shift of the priors.
    tolerance : float
        Of the mean log-likelihood: the loop ends when it is certain to be within this of its maximum.

    Returns
    -------
    array of shape (n_classes,)

    Notes
    -----
    EM averages the posteriors under the last priors and takes the averages for the next (Saerens, Latinne and
    Decaestecker 2002). The mean log-likelihood L is concave in π with gradient g_k = mean_i P(x_i given k) / P(x_i) and
    Σ π_k g_k = 1, so its maximum is at most max_k g_k − 1 away.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> is_target = rng.random(50_000) < 0.1
    >>> llr = 2 * rng.normal(size=50_000) + np.where(is_target, 2, -2)
    >>> estimate_priors(llr).round(2)
    array([0.9, 0.1])
    """
    scores = as_numbers(log_likelihoods, "estimate_priors")
    scores = np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores
    if scores.ndim != 2 or scores.shape[1] < 2 or not len(scores):
        raise InvalidDataError(
            f"estimate_priors takes log-likelihoods of shape (n, classes), or llrs, but shape {scores.shape} came."
        )
    likelihoods = np.exp(log_normalized(np.where(np.isneginf(scores.max(axis=1, keepdims=True)), 0.0, scores)))
    priors = np.full(scores.shape[1], 1 / scores.shape[1])
    for _ in range(most_iterations):
        gradient = np.mean(likelihoods / (likelihoods @ priors)[:, None], axis=0)
        if gradient.max() - 1 <= tolerance:
            break
        priors = priors * gradient
    return np.asarray(priors / priors.sum())
