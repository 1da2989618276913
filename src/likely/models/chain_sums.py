"""Chains that learn from the moments of their input."""

from __future__ import annotations

from typing import Any

from likely.blocks import AdditiveLearner, Source, class_moments, moments
from likely.exceptions import IncompatiblePartsError, SourceError
from likely.models.streaming import pass_names_on
from likely.resampling.chains import estimate_chain, fits_in_memory, needs_of, steps_of
from likely.statistics import ByClass, Moments

__all__ = ["ChainSums", "TooLargeError"]


class TooLargeError(SourceError):
    """The moments of a chain's input would take too much memory."""


class ChainSums(AdditiveLearner):
    """The sums of a whole chain: moments of its input, from which every step is estimated in turn."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        """Whether any step learns from labels."""
        return any(getattr(step, "by_class", False) for step in steps_of(self.pipeline))

    def bring_up_to_date(self) -> None:
        """Estimate the steps, if rows have come or steps were replaced since they last were."""
        if any(not hasattr(step, "statistics_") for step in steps_of(self.pipeline)):
            self._parameters = None
        self._learned()

    def _learn(self, source: Source) -> None:
        n_cells = 1 if source.classes is None else len(source.classes)
        if not fits_in_memory(needs_of(steps_of(self.pipeline)), n_cells, source.n_features):
            raise TooLargeError(f"The moments of {n_cells} classes of {source.n_features} features exceed the memory.")
        super()._learn(source)

    def _statistic(self) -> Any:
        return (class_moments if self.by_class else moments), (needs_of(steps_of(self.pipeline)),)

    def _estimate(self, statistics: Any) -> Any:
        steps = steps_of(self.pipeline)
        needs = needs_of(steps)
        by_class = statistics if isinstance(statistics, ByClass) else ByClass({0: statistics})
        enough = isinstance(statistics, ByClass) or not self.by_class
        if not enough or (needs is Moments and not isinstance(by_class.total(), Moments)):
            raise IncompatiblePartsError(
                "Steps were put in that need more than what was learned of the rows; the pipeline must be fitted anew."
            )
        estimate_chain(steps, by_class, getattr(self, "classes_", None))
        pass_names_on(steps, getattr(self, "feature_names_in_", None))
        return steps

    def _name(self) -> str:
        return "Pipeline"
