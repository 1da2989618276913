"""Where the decision between two classes turns."""

from __future__ import annotations

import numpy as np

from likely._numerics import log

__all__ = ["llr_threshold"]


def llr_threshold(false_alarm: float, miss: float) -> float:
    """The log-likelihood ratio at which both mistakes are expected to cost the same, from prior times cost of each.

    Their ratio is taken to 14 digits, so that the same stakes on another scale, which rounding tells apart, have the
    same threshold: scores that lie on it are decided alike.
    """
    with np.errstate(over="ignore", divide="ignore"):
        ratio = float(np.divide(false_alarm, miss))
    if not 1e-290 < ratio < 1e290:
        return float(log(false_alarm) - log(miss))
    return float(np.log(float(f"{ratio:.14g}")))
