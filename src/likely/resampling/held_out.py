"""Scores of rows held out, by many chains learned from the others: what several chains begin with is done once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import QuantileTransformer
from sklearn.utils.validation import has_fit_parameter

from likely._typing import Floats, Labels
from likely._validation import check_rows, encode_labels
from likely.blocks import ArraySource, class_moments
from likely.exceptions import IncompatiblePartsError, MissingValuesError
from likely.resampling.cells import score_together
from likely.resampling.chains import Chains, alike, fingerprint, fits_in_memory, is_mappable, needs_of, steps_of
from likely.resampling.scoring import scores_of

__all__ = ["HeldOut", "Rows", "chain_of", "held_out_scores", "is_of_this_house"]

_PLAIN = (QuantileTransformer,)
"""Features of scikit-learn's that may be fitted in threads; their ``fit_transform`` is ``fit`` and ``transform``."""


def is_of_this_house(model: Any) -> bool:
    """Whether a model, and all steps of a chain, may be taken apart and fitted in threads.

    Others may keep their own counsel: features that pass on something else of training rows than of new ones, warnings
    silenced process-wide, random numbers from a generator that all share.
    """
    return all(type(step).__module__.startswith("likely.") or isinstance(step, _PLAIN) for step in steps_of(model))


def chain_of(model: Any) -> list[Any]:
    """The steps of a chain that may be taken apart; anything else is one step."""
    return steps_of(model) if is_of_this_house(model) else [model]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to learn from, their labels and weights, and the rows to score."""

    X: Any
    y: Labels
    weight: Floats | None
    X_new: Any

    def mapped(self, step: Any) -> Rows:
        """The same rows as a feature passes them on, fitted to those that are learned from."""
        fitted = clone(step).fit(self.X, self.y, **self.weights_for(step))
        return Rows(fitted.transform(self.X), self.y, self.weight, fitted.transform(self.X_new))

    def weights_for(self, step: Any) -> dict[str, Floats]:
        if self.weight is None:
            return {}
        if not has_fit_parameter(step, "sample_weight"):
            raise IncompatiblePartsError(f"{type(step).__name__} takes no sample_weight.")
        return {"sample_weight": self.weight}


@dataclass(frozen=True)
class HeldOut:
    """Scores of the held-out rows by the number of a chain, and why some chains have none."""

    scores: dict[int, Floats] = field(default_factory=dict)
    failures: dict[int, Exception] = field(default_factory=dict)

    @classmethod
    def attempted(cls, chains: Iterable[int], work: Callable[..., HeldOut], *args: Any) -> HeldOut:
        """What some work gives, or else the reason why it gave nothing to any of the chains that needed it."""
        try:
            return work(*args)
        except Exception as error:  # noqa: BLE001  a model of anybody's may raise anything, and the others go on
            return cls(failures=dict.fromkeys(chains, error))

    def __or__(self, other: HeldOut) -> HeldOut:
        return HeldOut(self.scores | other.scores, self.failures | other.failures)

    def left_of(self, chains: Chains) -> Chains:
        """The chains that have no scores yet."""
        return {i: steps for i, steps in chains.items() if i not in self.scores}


def held_out_scores(chains: Chains, rows: Rows) -> HeldOut:
    """Scores of rows held out, by chains of steps that learn from the others.

    Chains that learn from moments share one pass over the rows. Of the rest, those that begin with the same feature
    share it, and models that differ by what their ``path`` goes along alone, such as the strength of a penalty or the
    number of components, start from each other. What fails together is tried alone, so that a failure is the failure of
    one chain.
    """
    found = HeldOut(HeldOut.attempted(chains, _from_moments, chains, rows).scores)
    for members in alike(found.left_of(chains), _beginning):
        found |= HeldOut.attempted(members, _of_group, members, rows)
    return found


def _of_group(members: Chains, rows: Rows) -> HeldOut:
    """Scores of chains with the same first feature, or of models that stand alone."""
    first = next(iter(members.values()))
    if len(first) > 1:
        return held_out_scores({i: steps[1:] for i, steps in members.items()}, rows.mapped(first[0]))
    found = HeldOut()
    for along in alike(members, _beside_path):
        if len(along) > 1:
            found |= HeldOut(HeldOut.attempted(along, _along_path, along, rows).scores)
        for i, (model,) in found.left_of(along).items():
            found |= HeldOut.attempted([i], _of_model, i, model, rows)
    return found


def _from_moments(chains: Chains, rows: Rows) -> HeldOut:
    """Scores of the chains that can be learned from the moments by class, where moments suffice and can be held."""
    chains = {i: steps for i, steps in chains.items() if is_mappable(steps)}
    if not chains:
        return HeldOut()
    X, X_new = check_rows(BaseEstimator(), rows.X, reset=True), check_rows(BaseEstimator(), rows.X_new, reset=True)
    classes, codes = encode_labels(rows.y)
    source = ArraySource(X, codes, rows.weight, classes)
    scores: dict[int, Floats] = {}
    for members in alike(chains, lambda steps: needs_of(steps).__name__):
        kind = needs_of(next(iter(members.values())))
        if not fits_in_memory(kind, 2 * len(classes), X.shape[1]):
            continue
        try:
            statistics = source.reduce(class_moments, kind)
        except MissingValuesError:
            continue
        scores |= score_together(members, statistics, classes, X_new)
    return HeldOut(scores)


def _along_path(members: Chains, rows: Rows) -> HeldOut:
    models = {i: steps[0] for i, steps in members.items()}
    model = next(iter(models.values()))
    values = [getattr(each, model.path_parameter) for each in models.values()]
    fitted = clone(model).path(rows.X, rows.y, values, **rows.weights_for(model))
    return HeldOut({i: scores_of(each, rows.X_new) for i, each in zip(models, fitted, strict=True)})


def _of_model(i: int, model: Any, rows: Rows) -> HeldOut:
    fitted = clone(model).fit(rows.X, rows.y, **rows.weights_for(model))
    return HeldOut({i: scores_of(fitted, rows.X_new)})


def _beginning(steps: list[Any]) -> Hashable:
    """What tells first features apart; models that stand alone are one group, told apart by their paths."""
    return fingerprint(steps[0]) if len(steps) > 1 else None


def _beside_path(steps: list[Any]) -> Hashable:
    """The same for models that can be fitted along one path; a number of its own for any other.

    A model says by ``path_parameter`` which of its parameters ``path`` takes several values of; these are numbers.
    """
    model = steps[0]
    along = getattr(model, "path_parameter", None) if is_of_this_house(model) else None
    if along is None or not isinstance(getattr(model, along), (int, float, np.number)):
        return id(steps)
    return fingerprint(model, but=along)
