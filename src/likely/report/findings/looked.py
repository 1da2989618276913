"""What findings are, what they are looked for in, and numbers that several of them need."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from likely._formatting import quote
from likely._typing import Floats, Integers
from likely.decisions import Application

__all__ = ["Finding", "Looked", "cost_at", "costs_of", "labels_of", "systems", "unit_cost"]


@dataclass(frozen=True)
class Finding:
    """Something to beware of.

    Attributes
    ----------
    code : str
    level : {"warning", "note"}
    said : str
        What was found, with the numbers.
    remedy : str
        What to do.
    """

    code: str
    level: Literal["warning", "note"]
    said: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Looked:
    """What a report's facts were taken from.

    Attributes
    ----------
    codes : array of shape (n,)
        The class of each judged row.
    weight : array of shape (n,), or None
    applications : list of Application
        In class order, as in the facts.
    best : array of shape (n,) for two classes, else (n, n_classes)
        Scores of the best system that decisions are made by: the llr of the second class, or log-likelihoods.
    tests : list of arrays, or None
        The rows that each fold judges.
    numbers : array or sparse array of shape (n, n_columns), or None
    groups : array of shape (n,), or None
        Rows of one group depend on each other.
    training : list of float, or None
        Normalised minimum cost of the best system on the very rows it was trained on, one for each application.
    """

    codes: Integers
    weight: Floats | None
    applications: list[Application]
    best: Floats
    tests: list[Integers] | None = None
    numbers: Any | None = None
    groups: Any | None = None
    training: list[float] | None = None

    @cached_property
    def weights(self) -> Floats:
        return np.ones(len(self.codes)) if self.weight is None else np.asarray(self.weight, dtype=np.float64)

    @cached_property
    def decisions(self) -> list[Integers]:
        """The decision of each row at each application; −1 rejects."""
        return [application.decide_codes(self.best) for application in self.applications]

    def prices(self, i: int) -> Floats:
        """What the decision of each row costs at an application, in units of deciding without looking."""
        app = self.applications[i]
        rejecting = 0.0 if app.reject_cost is None else app.reject_cost
        costs = np.column_stack([app.costs, np.full(len(app.costs), rejecting)])
        return np.asarray(costs[self.codes, self.decisions[i]] / app.constant_cost)

    @cached_property
    def unit_of_row(self) -> Integers:
        """Which independent unit, a group or the row itself, each row belongs to."""
        if self.groups is None:
            return np.arange(len(self.codes))
        return np.unique(self.groups, return_inverse=True)[1].ravel()

    @cached_property
    def units(self) -> Integers:
        """How many independent units each class has."""
        n_classes = self.applications[0].n_classes
        pairs = np.unique(self.unit_of_row * n_classes + self.codes) if self.groups is not None else self.codes
        return np.bincount(pairs % n_classes, minlength=n_classes)

    @cached_property
    def effective_units(self) -> Floats:
        """How many units of equal weight would be as uncertain, class by class (Kish): (Σ w)² / Σ w²."""
        n_classes = self.applications[0].n_classes
        _, pair = np.unique(self.unit_of_row * n_classes + self.codes, return_inverse=True)
        weights = np.bincount(pair, self.weights)
        of_class = np.zeros(len(weights), dtype=np.intp)
        of_class[pair] = self.codes
        totals, squares = (np.bincount(of_class, values, minlength=n_classes) for values in (weights, weights**2))
        return np.divide(totals**2, squares, out=np.zeros(n_classes), where=squares > 0)


def unit_cost(application: Application, units: Floats) -> float:
    """The most that one more mistake adds to a normalised cost: its variance is at most the cost times this.

    A cost Σ_k s_k p_k of mistakes at rates p_k has the variance Σ_k s_k² p_k (1 − p_k) / n_k ≤ cost · max_k s_k / n_k.
    """
    stakes = application.priors * (application.costs.max(axis=1) - application.costs.diagonal())
    return float((stakes / np.maximum(units, 1)).max() / application.constant_cost)


def costs_of(row: dict[str, Any], facts: dict[str, Any]) -> list[dict[str, Any]]:
    """A system's costs at each application, in their order."""
    return [row["costs"][application["name"]] for application in facts["applications"]]


def cost_at(facts: dict[str, Any], i: int) -> str:
    """Where a cost is paid, if there is more than one application."""
    applications = facts["applications"]
    return f" at {quote(applications[i]['name'])}" if len(applications) > 1 else ""


def labels_of(facts: dict[str, Any]) -> list[str]:
    """The classes as they are written in sentences."""
    return [quote(each["label"]) for each in facts["classes"]]


def systems(count: int) -> str:
    """So many systems."""
    return "one system" if count == 1 else f"{count} systems"
