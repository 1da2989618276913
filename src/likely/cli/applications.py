"""Applications from options: priors and costs as text, matched with the classes at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likely.cli.options import ApplicationOptions
from likely.cli.words import listing, shown

if TYPE_CHECKING:
    from likely.decisions import Application

__all__ = ["applications_from", "label_named", "target_of"]

_FIELDS = ("prior", "cost_fn", "cost_fp", "reject_cost")


def applications_from(options: ApplicationOptions, classes: Sequence[Any]) -> list[tuple[str, Application]]:
    """Each application asked for with a short name for headings; one of equal priors and unit costs if none is.

    Parameters
    ----------
    options : ApplicationOptions
    classes : sequence of labels, in their order

    Examples
    --------
    >>> options = ApplicationOptions(application=["prior=0.1,cost_fn=10", "prior=0.5"], positive="1")
    >>> [(name, round(app.threshold, 2)) for name, app in applications_from(options, [0, 1])]
    [('prior 0.1, miss 10', -0.11), ('prior 0.5', 0.0)]
    >>> applications_from(ApplicationOptions(priors="a=0.2,b=0.3,c=0.5"), ["a", "b", "c"])[0][0]
    'a 0.2, b 0.3, c 0.5'
    """
    classes = [getattr(label, "item", lambda label=label: label)() for label in classes]
    _refuse_mixtures(options, classes)
    if options.priors is not None or options.costs is not None or len(classes) > 2:
        return [_of_any_classes(options, classes)]
    positive = target_of(options.positive, classes)
    settings = [_parsed(text) for text in options.application or []] or [_given(options)]
    return [_of_two_classes(setting, options.reject_cost, positive) for setting in settings]


def target_of(positive: str | None, classes: Sequence[Any]) -> Any:
    """The target of two classes: the one named, or the second."""
    return classes[1] if positive is None else label_named(positive, classes, "--positive")


def label_named(text: str, classes: Sequence[Any], option: str) -> Any:
    """The class that a text names: '1' names the integer 1, and 'true' the boolean."""
    from likely.exceptions import InvalidParameterError

    for said in (str, lambda label: str(label).lower() if isinstance(label, bool) else None):
        for label in classes:
            if said(label) in (text, text.strip()):
                return label
    raise InvalidParameterError(f"{option} names the class {text.strip()!r}, but the classes are {listing(classes)}.")


def _refuse_mixtures(options: ApplicationOptions, classes: Sequence[Any]) -> None:
    """Options of two classes go with two classes, and there is one way of saying each thing."""
    from likely.exceptions import InvalidParameterError

    single = [f"--{name.replace('_', '-')}" for name in _FIELDS[:3] if getattr(options, name) is not None]
    several = ["--application"] if options.application else []
    named = ["--positive"] if options.positive is not None else []
    general = [f"--{name}" for name in ("priors", "costs") if getattr(options, name) is not None]
    if len(classes) > 2 and single + several + named:
        raise InvalidParameterError(
            f"{(single + several + named)[0]} is for two classes, but there are {len(classes)}: {listing(classes)}. "
            "Use --priors and --costs."
        )
    for first, second in ((single, several), (single, general), (several, general)):
        if first and second:
            raise InvalidParameterError(f"{first[0]} and {second[0]} both say where it is used: give one of them.")


def _given(options: ApplicationOptions) -> dict[str, float]:
    found = {name: getattr(options, name) for name in _FIELDS[:3] if getattr(options, name) is not None}
    return {"prior": 0.5} | found


def _parsed(text: str) -> dict[str, float]:
    """An application such as ``prior=0.1,cost_fn=10``."""
    from likely.exceptions import InvalidParameterError

    setting = _assignments(text, "--application")
    strangers = [name for name in setting if name not in _FIELDS]
    if strangers:
        raise InvalidParameterError(
            f"--application {text!r} sets {strangers[0]!r}, but what can be set is {', '.join(_FIELDS)}."
        )
    if "prior" not in setting:
        raise InvalidParameterError(f"--application {text!r} must set the prior, as in prior=0.1,cost_fn=10.")
    return setting


def _assignments(text: str, option: str) -> dict[str, float]:
    """Names and numbers from a text such as ``a=0.2,b=0.8``."""
    from likely.exceptions import InvalidParameterError

    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        name = name.strip()
        if not equals or not name or name in found:
            raise InvalidParameterError(f"{option} must be name=number, each name once, but {part!r} is not: {text!r}.")
        found[name] = _number(number, f"{option} {text!r}")
    return found


def _number(text: str, where: str) -> float:
    from likely.exceptions import InvalidParameterError

    try:
        return float(text)
    except ValueError:
        raise InvalidParameterError(f"{where} must hold numbers, but {text.strip()!r} is none.") from None


def _of_two_classes(setting: dict[str, float], reject_cost: float | None, positive: Any) -> tuple[str, Application]:
    from likely.decisions import Application

    full = {"reject_cost": reject_cost} | setting
    parts = [f"prior {full['prior']:g}"]
    said = {"cost_fn": "miss", "cost_fp": "false alarm"}
    parts += [f"{word} {full[name]:g}" for name, word in said.items() if full.get(name, 1.0) != 1.0]
    parts += [f"reject {full['reject_cost']:g}"] if full["reject_cost"] is not None else []
    return ", ".join(parts), Application.binary(**full, positive=positive)  # type: ignore[arg-type]


def _of_any_classes(options: ApplicationOptions, classes: Sequence[Any]) -> tuple[str, Application]:
    from likely.decisions import Application

    priors = _priors(options.priors, classes)
    costs = None if options.costs is None else _costs(options.costs, classes)
    parts = ["equal priors" if options.priors is None else ", ".join(f"{shown(k)} {p:g}" for k, p in priors.items())]
    parts += [] if options.costs is None else [f"costs of {options.costs.name}"]
    parts += [] if options.reject_cost is None else [f"reject {options.reject_cost:g}"]
    return ", ".join(parts), Application(priors, costs, options.reject_cost)


def _priors(text: str | None, classes: Sequence[Any]) -> dict[Any, float]:
    """A prior for each class, in class order."""
    from likely.exceptions import InvalidParameterError

    if text is None:
        return {label: 1 / len(classes) for label in classes}
    found = {label_named(name, classes, "--priors"): prior for name, prior in _assignments(text, "--priors").items()}
    absent = [label for label in classes if label not in found]
    if absent:
        raise InvalidParameterError(f"--priors must name every class, but {listing(absent)} is not in {text!r}.")
    if min(found.values()) < 0 or not abs(sum(found.values()) - 1) < 1e-6:
        raise InvalidParameterError(
            f"--priors must be >= 0 and sum to 1, but {text!r} sums to {sum(found.values()):g}."
        )
    return {label: found[label] for label in classes}


def _costs(path: Path, classes: Sequence[Any]) -> list[list[float]]:
    """Costs in class order from a table of labels, truth in rows and decision in columns."""
    from likely.cli.costs import read_costs

    return read_costs(path, [str(label) for label in classes])
