"""The applications that systems are compared at, each with a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from likely._typing import Labels
from likely.decisions import Application, as_application
from likely.exceptions import InvalidParameterError

__all__ = ["named_applications", "target_of"]


def named_applications(given: Any, classes: Labels, rejecting: bool = False) -> dict[str, Application]:
    """Applications by name, in class order; without their reject costs, unless rows may be rejected."""
    given = Application.equal(len(classes)) if given is None else given
    if isinstance(given, Mapping):
        parts = {str(name): as_application(part) for name, part in given.items()}
    else:
        listed = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
        applications = [as_application(part) for part in listed]
        parts = dict(zip(_names_of(applications), applications, strict=True))
    if not parts:
        raise InvalidParameterError("applications must name one application at least.")
    return {name: _plain(part.aligned(classes), rejecting) for name, part in parts.items()}


def target_of(given: Any, classes: Labels) -> Any:
    """Of two classes, the target that an application names (``positive=``), or else the second; None of more."""
    if len(classes) != 2:
        return None
    listed = (
        list(given.values()) if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else [given]
    )
    named = [app.labels[1] for app in listed if isinstance(app, Application) and app.labels and app.labels[0] is None]
    return named[0] if named else classes[1].item() if hasattr(classes[1], "item") else classes[1]


def _plain(application: Application, rejecting: bool) -> Application:
    plain = Application(
        dict(zip(application.labels, application.priors.tolist(), strict=True))
        if application.labels
        else application.priors,
        application.costs,
        application.reject_cost if rejecting else None,
    )
    plain.constant_cost  # noqa: B018  refuses an application in which deciding costs nothing
    return plain


def _names_of(applications: list[Application]) -> list[str]:
    """What each is called, numbered where that is the same."""
    names = [_said(application) for application in applications]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: at + 1].count(name)})" for at, name in enumerate(names)
    ]


def _said(application: Application) -> str:
    if application.n_classes == 2:
        return f"effective prior {application.effective_prior:.3g}"
    equal = np.ptp(application.priors) < 1e-12
    return "equal priors" if equal else "priors " + ", ".join(f"{prior:.3g}" for prior in application.priors)
