"""Chains of steps that learn from moments and hand moments on.

A step takes part by what it has, whatever its class: ``needs`` (the least statistic it learns from), ``by_class``,
``estimate(statistics, classes)`` and, unless it is the last, ``map_statistics(statistics)``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from likely._typing import Labels
from likely.exceptions import IncompatiblePartsError
from likely.statistics import ByClass, DiagonalMoments, Moments

__all__ = [
    "Chains",
    "alike",
    "estimate_chain",
    "estimate_step",
    "fingerprint",
    "fits_in_memory",
    "is_mappable",
    "is_pairwise",
    "needs_of",
    "steps_of",
]

Chains = dict[int, list[Any]]
"""Steps by the number of the chain they make."""

MOST_BYTES = 2**31
"""Memory that the moments of all classes, or of all (class, fold) cells, may take."""


def fits_in_memory(kind: type[Moments] | type[DiagonalMoments], n_cells: int, n_features: int) -> bool:
    """Whether so many moments may be held at once; if not, data are fitted step by step and fold by fold."""
    return 8 * n_cells * n_features ** (2 if kind is Moments else 1) <= MOST_BYTES


def steps_of(model: Any) -> list[Any]:
    """The steps of a pipeline that do something, or a model as the only step."""
    if not isinstance(model, Pipeline):
        return [model]
    return [step for _, step in model.steps if step is not None and step != "passthrough"]


def is_pairwise(model: Any) -> bool:
    """Whether a model, or a chain's first step, takes kernels or distances of rows with those it learned from.

    What folds leave out of the rows is then left out of the columns too.
    """
    first = next(iter(steps_of(model)), model)
    try:
        return bool(get_tags(first).input_tags.pairwise)
    except Exception:  # noqa: BLE001  what has no tags is given rows; what is wrong with it, ``fit`` will say
        return False


def fingerprint(step: Any, but: str | None = None) -> Hashable:
    """The same for steps that are set alike, whatever one parameter may be; of use while the steps live."""
    params = step.get_params(deep=False)
    return type(step), *(_told(value) for name, value in sorted(params.items()) if name != but)


def _told(value: Any) -> Hashable:
    """A setting by what it is pickled as; what cannot be pickled, such as a lambda, is like itself alone."""
    try:
        return pickle.dumps(clone(value, safe=False))
    except Exception:  # noqa: BLE001  anybody's object may refuse in any way
        return id(value)  # of the step's own value, which lives: a copy's number would be given to others


def alike(chains: Chains, key: Callable[[list[Any]], Hashable]) -> Iterator[Chains]:
    """Chains in groups of the same key."""
    groups: dict[Hashable, Chains] = {}
    for i, steps in chains.items():
        groups.setdefault(key(steps), {})[i] = steps
    yield from groups.values()


def is_mappable(steps: list[Any]) -> bool:
    """Whether the chain can be learned from the moments of its input."""
    return (
        len(steps) > 0
        and all(hasattr(step, "needs") and hasattr(step, "estimate") for step in steps)
        and all(hasattr(step, "map_statistics") for step in steps[:-1])
    )


def needs_of(steps: list[Any]) -> type[Moments] | type[DiagonalMoments]:
    """The least statistic of the input that all steps can learn from."""
    if not is_mappable(steps):
        strange = next((step for step in steps if not hasattr(step, "needs")), steps[0])
        raise IncompatiblePartsError(
            f"{type(strange).__name__} does not learn from moments of a chain, so this chain cannot be learned in "
            "instalments. Use fit, or steps such as Standardize, PCA, LDA and GaussianClassifier."
        )
    return Moments if any(step.needs is Moments for step in steps) else DiagonalMoments


def estimate_chain(steps: list[Any], statistics: ByClass[Any], classes: Labels | None) -> None:
    """Estimate every step from the moments by class of the chain's input."""
    for step in steps[:-1]:
        statistics = estimate_step(step, statistics, classes).map_statistics(statistics)
    estimate_step(steps[-1], statistics, classes)


def estimate_step(step: Any, statistics: ByClass[Any], classes: Labels | None) -> Any:
    """Estimate one step from the moments by class of its input."""
    if step.needs is DiagonalMoments:
        statistics = statistics.each(lambda part: part.diagonal())
    return step.estimate(statistics if step.by_class else statistics.total(), classes)
