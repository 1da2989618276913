"""Out-of-fold scores from the sums of (class, fold) cells, without fitting on data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from likely._typing import Floats, Integers, Labels, Rows
from likely._validation import check_rows
from likely.blocks import ArraySource, class_moments, for_each
from likely.exceptions import MissingValuesError
from likely.resampling.chains import (
    alike,
    estimate_step,
    fingerprint,
    fits_in_memory,
    is_mappable,
    needs_of,
    steps_of,
)
from likely.resampling.folds import Split
from likely.resampling.scoring import scores_of
from likely.statistics import ByClass

__all__ = ["score_together", "scores_from_cells"]


def scores_from_cells(models: dict[int, Any], split: Split) -> dict[int, Floats]:
    """Scores of the chains that can be learned from moments, by one pass for each kind of moments."""
    chains = {i: steps_of(model) for i, model in models.items() if is_mappable(steps_of(model))}
    kinds = {i: needs_of(steps) for i, steps in chains.items()}
    results: dict[int, Floats] = {}
    for kind in set(kinds.values()):
        alike = {i: steps for i, steps in chains.items() if kinds[i] is kind}
        results |= _from_cells_of(kind, alike, split)
    return results


def _from_cells_of(kind: Any, chains: dict[int, list[Any]], split: Split) -> dict[int, Floats]:
    """Scores from cells; none where the cells would take too much memory, or values are missing that need EM."""
    rows = check_rows(BaseEstimator(), split.X, reset=True)
    # The sums outside each fold, held while folds are scored side by side, take as much again as the cells.
    if not fits_in_memory(kind, 2 * len(split.classes) * len(split.tests), rows.shape[1]):
        return {}
    try:
        cells = _gathered(kind, rows, split)
    except MissingValuesError:
        return {}

    def score_fold(fold: tuple[Integers, ByClass[Any]]) -> dict[int, Floats]:
        test, statistics = fold
        return score_together(chains, statistics, split.classes, rows[test])

    folds = list(zip(split.tests, _outside_each_fold(cells, len(split.tests)), strict=True))
    parts = for_each(score_fold, folds)
    return {i: split.pooled([part.pop(i) for part in parts]) for i in chains}


def _outside_each_fold(cells: ByClass[Any], n_folds: int) -> Iterator[ByClass[Any]]:
    """The sums by class of the cells outside each fold in turn: those before it and those after it, both running."""
    folds = [cells.regrouped(partial(_class_inside, fold)) for fold in range(n_folds)]
    after: list[ByClass[Any]] = [ByClass.zero()]
    for fold in reversed(folds[1:]):
        after.append(fold + after[-1])
    before: ByClass[Any] = ByClass.zero()
    for fold in folds:
        yield before + after.pop()
        before = before + fold


def _class_inside(fold: int, cell: tuple[int, int]) -> int | None:
    return cell[0] if cell[1] == fold else None


def _gathered(kind: Any, rows: Rows, split: Split) -> ByClass[Any]:
    """The moments of every (class, fold) cell; rows of no weight are not learned from."""
    codes, folds = split.codes, split.fold_of_row
    if split.weight.all():
        return ArraySource(rows, codes, split.weight_of(slice(None)), split.classes, folds).reduce(class_moments, kind)
    kept = np.flatnonzero(split.weight)
    source = ArraySource(rows[kept], codes[kept], split.weight_of(kept), split.classes, folds[kept])
    return source.reduce(class_moments, kind)


def score_together(
    chains: dict[int, list[Any]], statistics: ByClass[Any], classes: Labels, rows: Rows
) -> dict[int, Floats]:
    """Scores of a fold's rows by chains; those that begin alike share what they begin with."""
    groups = list(alike(chains, lambda steps: fingerprint(steps[0])))
    firsts = [estimate_step(clone(next(iter(members.values()))[0]), statistics, classes) for members in groups]
    results: dict[int, Floats] = {}
    passed_on = _PassedOn(statistics, rows)
    for step, members in sorted(zip(firsts, groups, strict=True), key=_width, reverse=True):
        results |= {i: scores_of(step, rows) for i, steps in members.items() if len(steps) == 1}
        longer = {i: steps[1:] for i, steps in members.items() if len(steps) > 1}
        if longer:
            mapped, transformed = passed_on.by(step)
            results |= score_together(longer, mapped, classes, transformed)
    return results


def _width(pair: tuple[Any, Any]) -> int:
    return len(getattr(pair[0], "components_", ()))


class _PassedOn:
    """What steps pass on of one input; of two projections where one begins like the other, the wider serves both."""

    def __init__(self, statistics: ByClass[Any], rows: Rows) -> None:
        self.statistics, self.rows = statistics, rows
        self.widest: tuple[Any, ByClass[Any], Rows] | None = None

    def by(self, step: Any) -> tuple[ByClass[Any], Rows]:
        if self.widest is not None and _begins_like(step, self.widest[0]):
            k = len(step.components_)
            return self.widest[1].each(lambda part: part.leading(k)), self.widest[2][:, :k]
        passed = step.map_statistics(self.statistics), step.transform(self.rows)
        if hasattr(step, "components_"):
            self.widest = (step, *passed)
        return passed


def _begins_like(step: Any, wider: Any) -> bool:
    """Whether a step's directions are the first of a wider step's, about the same mean."""
    return (
        hasattr(step, "components_")
        and np.array_equal(step.mean_, wider.mean_)
        and np.array_equal(step.components_, wider.components_[: len(step.components_)])
    )
