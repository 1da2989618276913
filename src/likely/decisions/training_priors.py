"""The priors that an objective is weighted to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from likely._typing import Floats, Labels
from likely.decisions.application import Application
from likely.exceptions import InvalidParameterError, LikelyError

__all__ = ["training_priors"]


def training_priors(whom: str, prior: Any, classes: Labels) -> Floats:
    """Priors > 0 of every class, from a number for two classes, a sequence in class order, or a mapping by label."""
    n = len(classes)
    if isinstance(prior, (int, float, np.number)) and not isinstance(prior, bool):
        if n != 2:
            raise InvalidParameterError(f"A single prior is for two classes, but there are {n}. Give one for each.")
        if not 0 < prior < 1:
            raise InvalidParameterError(f"prior of {whom} must lie between 0 and 1, both left out, but is {prior!r}.")
        return Application.binary(float(prior)).priors
    if isinstance(prior, str) or not np.iterable(prior):
        raise InvalidParameterError(f"prior of {whom} must be a number, a sequence or a mapping, but is {prior!r}.")
    given = prior if isinstance(prior, Mapping) else np.asarray(prior)
    try:
        priors = Application(given).aligned(classes).priors
    except LikelyError as error:
        raise InvalidParameterError(f"prior of {whom} does not fit its classes {classes.tolist()}: {error}") from None
    if not (priors > 0).all():
        raise InvalidParameterError(f"{whom} needs a prior > 0 for every class, but they are {priors.tolist()}.")
    return priors
