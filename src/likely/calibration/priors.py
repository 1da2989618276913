"""Estimation of class priors from unlabelled rows."""

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
    """Estimate the class priors of unlabelled rows from calibrated log-likelihoods, by maximum likelihood (EM).

    Parameters
    ----------
    log_likelihoods : array of shape (n, n_classes), or (n,) for the llrs of two classes
        Calibrated log-likelihoods. Errors of calibration bias the estimated priors.
    tol : float
        Stopping tolerance: an upper bound of the distance of the mean log-likelihood from its maximum.
    max_iter : int
        Maximum number of steps. The function warns if this number is reached.

    Returns
    -------
    array of shape (n_classes,)

    Notes
    -----
    EM averages the posteriors under the current priors; the averages are the next priors (Saerens, Latinne and
    Decaestecker 2002). The mean log-likelihood L is concave in the priors π. Its gradient is
    g_k = mean_i P(x_i given k) / P(x_i), with Σ π_k g_k = 1. The maximum of L is therefore at most max_k g_k − 1 above
    the current value. An EM step multiplies π by g. This function multiplies π by a power of g, and doubles the
    exponent as long as the likelihood increases. If the classes overlap, this is a thousand times faster.

    References
    ----------
    M. Saerens, P. Latinne and C. Decaestecker, Adjusting the outputs of a classifier to new a priori probabilities: a
    simple procedure, Neural Computation 14 (2002).

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
            f"estimate_priors needs log-likelihoods of shape (n, classes) or llrs of shape (n,), but got the shape "
            f"{scores.shape}."
        )
    likelihoods = np.exp(log_normalize(np.where(np.isneginf(scores.max(axis=1, keepdims=True)), 0.0, scores)))
    return _maximize_likelihood(likelihoods, tol, max_iter)


def _maximize_likelihood(likelihoods: Floats, tol: float, max_iter: int) -> Floats:
    n, n_classes = likelihoods.shape
    priors, power = np.full(n_classes, 1 / n_classes), 1.0
    mixed = likelihoods @ priors
    for _ in range(max_iter):
        # The gradient bounds the distance of the likelihood from its maximum (see Notes of estimate_priors).
        gradient = likelihoods.T @ (1 / mixed) / n
        if gradient.max() - 1 <= tol:
            return priors
        # Extended EM step. Accept it if the likelihood increases. With power 1 it is plain EM, and always accepted.
        longer = priors * gradient**power
        longer /= longer.sum()
        remixed = likelihoods @ longer
        if power == 1 or np.log(remixed / mixed).sum() > 0:
            priors, mixed, power = longer, remixed, 2 * power
        else:
            power = max(1.0, power / 8)
    warnings.warn(
        f"estimate_priors stopped after {max_iter} steps. The mean log-likelihood is at most {gradient.max() - 1:.1e} "
        "below its maximum. The log-likelihoods determine the priors poorly; raise max_iter or tol.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return priors
