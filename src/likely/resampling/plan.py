"""Plan of a cross-validation: how each pipeline is trained and how its out-of-fold scores are computed.

A plan is made from the pipelines and the folds before anything is fitted. :mod:`likely.resampling.kfold` executes it.
If the planned way fails on the data, for example because of missing values, one more step of the pipeline is fitted to
the rows before the remaining steps learn from moments.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from likely._numerics import dense
from likely.resampling.chains import (
    fingerprint,
    fits_in_memory,
    group_alike,
    is_isolated,
    is_mappable,
    needs_of,
    steps_of,
)
from likely.resampling.folds import Split


class Strategy(Enum):
    """The ways to compute the out-of-fold scores of a pipeline."""

    DOWNDATING = "downdating"
    """Leave-one-out: the model is fitted once, to all rows, and then each row in turn is removed from the estimates."""
    CELLS = "cells"
    """One pass over all rows computes the moments of each cell, that is of each class in each fold. The model that is
    tested on a fold is estimated from the sum of the moments of the other folds."""
    MOMENTS = "held-out moments"
    """Each fold computes the moments of its training rows, once for all pipelines that learn from moments."""
    PATH = "path"
    """Models that differ only in one numeric parameter, such as the strength of a penalty, are fitted together, along
    one path for each fold."""
    REFIT = "refit"
    """The model is fitted for each fold."""


@dataclass(frozen=True, eq=False)
class PlannedChain:
    """A pipeline, and how it is cross-validated."""

    model: Any
    steps: list[Any]
    strategy: Strategy
    n_fitted: int = 0
    """Number of leading steps that are fitted to the training rows of each fold before the strategy is used for the
    remaining steps. Leading steps that are equal in several pipelines are fitted once."""

    def demote(self, n_fitted: int) -> PlannedChain:
        """Return a plan in which ``n_fitted`` leading steps are fitted to rows, and the other steps learn from moments.

        If no other steps remain, all steps are fitted to rows.
        """
        if n_fitted < len(self.steps):
            return replace(self, strategy=Strategy.MOMENTS, n_fitted=n_fitted)
        return replace(self, strategy=Strategy.REFIT, n_fitted=len(self.steps) - 1)

    def path_key(self) -> Hashable:
        """Return a key that is equal for pipelines that can be fitted along one path, or None if the model has no path.

        The attribute ``path_parameter`` of a model names the numeric parameter that its method ``path`` varies.
        """
        *features, model = self.steps
        along = getattr(model, "path_parameter", None) if is_isolated(self.model) else None
        if along is None or not isinstance(getattr(model, along), (int, float, np.number)):
            return None
        return *map(fingerprint, features), fingerprint(model, but=along)


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How each of several pipelines is cross-validated, by the number of the pipeline.

    Examples
    --------
    >>> from likely import GaussianClassifier, LogisticRegression, PCA, make_pipeline
    >>> plan_rows({0: make_pipeline(PCA(2), GaussianClassifier()), 1: LogisticRegression(0.1)})
    0  PCA, GaussianClassifier  held-out moments
    1  LogisticRegression       refit
    """

    chains: dict[int, PlannedChain]

    def using(self, strategy: Strategy) -> dict[int, PlannedChain]:
        """Return the pipelines that are cross-validated with the given strategy, by number."""
        return {i: chain for i, chain in self.chains.items() if chain.strategy is strategy}

    def without(self, done: Iterable[int]) -> Plan:
        """Return a plan of the pipelines whose numbers are not in ``done``.

        These pipelines are trained on one training set at a time, that is fold by fold.
        """
        done = set(done)
        return plan_rows({i: chain.model for i, chain in self.chains.items() if i not in done})

    def __repr__(self) -> str:
        names = {
            i: ", ".join(type(step).__name__ for step in steps_of(chain.model)) for i, chain in self.chains.items()
        }
        number, name = (max((len(str(text)) for text in texts), default=0) for texts in (names, names.values()))
        return "\n".join(
            f"{i:>{number}}  {names[i]:<{name}}  {_describe(chain)}".rstrip() for i, chain in self.chains.items()
        )


def plan_folds(models: dict[int, Any], split: Split) -> Plan:
    """Choose how each model is cross-validated.

    Where possible, the scores of all folds are computed from sums over all rows. Other models are trained fold by fold.
    """
    plan = plan_rows(models)
    is_possible = _can_downdate if split.is_leave_one_out else _can_use_cells
    strategy = Strategy.DOWNDATING if split.is_leave_one_out else Strategy.CELLS
    return Plan(
        {
            i: replace(chain, strategy=strategy, n_fitted=0) if is_possible(chain.model, split) else chain
            for i, chain in plan.chains.items()
        }
    )


def plan_rows(models: dict[int, Any]) -> Plan:
    """Choose how each model learns from one training set.

    As many of the last steps as possible learn from moments, and the steps before them are fitted to rows. If the last
    step cannot learn from moments, the model is fitted to rows, along a path with other models if there is one.
    """
    chains = {i: _plan_chain(model) for i, model in models.items()}
    for along in group_alike(Plan(chains).using(Strategy.REFIT), PlannedChain.path_key):
        if len(along) > 1 and next(iter(along.values())).path_key() is not None:
            chains |= {i: replace(chain, strategy=Strategy.PATH) for i, chain in along.items()}
    return Plan(chains)


def _plan_chain(model: Any) -> PlannedChain:
    """Plan one pipeline. A model that is not isolated (:func:`is_isolated`) counts as one step."""
    steps = (steps_of(model) if is_isolated(model) else []) or [model]
    n_fitted = next((k for k in range(len(steps)) if is_mappable(steps[k:])), None)
    if n_fitted is None:
        return PlannedChain(model, steps, Strategy.REFIT, len(steps) - 1)
    return PlannedChain(model, steps, Strategy.MOMENTS, n_fitted)


def _can_downdate(model: Any, split: Split) -> bool:
    if not hasattr(model, "leave_one_out") or not split.weight.all() or split.numbers is None:
        return False
    return not np.isnan(dense(split.numbers)).any()


def _can_use_cells(model: Any, split: Split) -> bool:
    steps = steps_of(model)
    if not (split.is_complementary and is_mappable(steps)) or split.numbers is None:
        return False
    # The cells count twice: while folds are scored in parallel, memory also holds the sums over the cells of all other
    # folds, for each fold.
    n_cells = 2 * len(split.classes) * len(split.tests)
    return fits_in_memory(needs_of(steps), n_cells, split.numbers.shape[1])


def _describe(chain: PlannedChain) -> str:
    fitted = ", ".join(type(step).__name__ for step in chain.steps[: chain.n_fitted])
    return f"{chain.strategy.value} after {fitted}" if fitted else chain.strategy.value
