"""How frequent the classes are in rows without labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from likely._numerics import log_normalize
from likely._typing import Floats
from likely._validation import check_scores
from likely.exceptions import InvalidDataError


def estimate_priors(log_likelihoods: Any, tol: float = 1e-7, max_iter: int = 1000) -> Floats:
    """Priors that make unlabelled rows most likely, given calibrated evidence about them, by EM.

    Parameters
    ----------
    log_likelihoods : array of shape (n, n_classes), or (n,) for two classes' llrs
        Calibrated: bad calibration is taken for a shift of the priors.
    tol : float
        Of the mean log-likelihood: the loop ends when it is certain to be within this of its maximum.
    max_iter : int
        Steps after which to give up, with a warning.

    Returns
    -------
    array of shape (n_classes,)

    Notes
    -----
    EM averages the posteriors under the last priors and takes the averages for the next (Saerens, Latinne and
    Decaestecker 2002). The mean log-likelihood L is concave in π with gradient g_k = mean_i P(x_i given k) / P(x_i) and
    Σ π_k g_k = 1, so its maximum is at most max_k g_k − 1 away. EM multiplies π by g; powers of g, doubled while the
    likelihood rises, go the same way faster, where classes overlap a thousand times.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> is_target = rng.random(50_000) < 0.1
    >>> llr = 2 * rng.normal(size=50_000) + np.where(is_target, 2, -2)
    >>> estimate_priors(llr).round(2)
    array([0.9, 0.1])
    """
    scores = check_scores("estimate_priors", log_likelihoods)
    scores = np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores
    if scores.ndim != 2 or scores.shape[1] < 2 or not len(scores):
        raise InvalidDataError(
            f"estimate_priors takes log-likelihoods of shape (n, classes), or llrs, but shape {scores.shape} came."
        )
    likelihoods = np.exp(log_normalize(np.where(np.isneginf(scores.max(axis=1, keepdims=True)), 0.0, scores)))
    return _most_likely(likelihoods, tol, max_iter)


def _most_likely(likelihoods: Floats, tol: float, max_iter: int) -> Floats:
    n, n_classes = likelihoods.shape
    priors, power = np.full(n_classes, 1 / n_classes), 1.0
    mixed = likelihoods @ priors
    for _ in range(max_iter):
        gradient = likelihoods.T @ (1 / mixed) / n
        if gradient.max() - 1 <= tol:
            return priors
        longer = priors * gradient**power
        longer /= longer.sum()
        remixed = likelihoods @ longer
        if power == 1 or np.log(remixed / mixed).sum() > 0:
            priors, mixed, power = longer, remixed, 2 * power
        else:
            power = max(1.0, power / 8)
    warnings.warn(
        f"estimate_priors stopped after {max_iter} steps, {gradient.max() - 1:.1e} of mean log-likelihood from "
        "the maximum at most. The evidence says little about the priors.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return priors
