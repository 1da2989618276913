"""Computation of linear scores of rows, which all models with weights and intercepts use."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse import issparse

from likely._typing import Floats, Rows
from likely.blocks import Block, over_rows


def linear_scores(X: Rows, coef: Floats, intercept: Floats, centre: Floats | None = None) -> Floats:
    """Return (X − centre) coef' + intercept, of shape (n, n_outputs); raise if the scores of a row are not finite.

    Parameters
    ----------
    coef : array of shape (n_outputs, n_features)
    intercept : array of shape (n_outputs,)
    centre : array of shape (n_features,), optional
        Subtracted from dense rows before the product, so that rows far from zero lose no digits. For sparse rows it is
        subtracted after the product.
    """
    with np.errstate(all="ignore"):
        if issparse(X):
            scores = np.asarray(X @ coef.T + (intercept if centre is None else intercept - coef @ centre))
        else:
            scores = over_rows(partial(_products, coef, intercept, centre), X, len(coef))
    return check_scores(scores, X)


def check_scores(scores: Floats, X: Rows) -> Floats:
    """Return the scores; if some are not finite, raise an error that names the first such row of X."""
    doubtful = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if len(doubtful):
        at = int(doubtful[0])
        raise Block(X[at : at + 1], positions=[at]).non_finite()
    return scores


def _products(coef: Floats, intercept: Floats, centre: Floats | None, X: Floats) -> Floats:
    return np.asarray((X if centre is None else X - centre) @ coef.T + intercept)
