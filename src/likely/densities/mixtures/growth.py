"""Mixtures grown by splitting, each size from the last."""

from __future__ import annotations

from collections.abc import Iterable

from likely.blocks import Source
from likely.densities.mixtures.em import Climb, climb
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixed import Mixed

__all__ = ["grown"]


def grown(
    source: Source,
    family: GaussianFamily,
    alone: Mixed,
    sizes: Iterable[int],
    displacement: float,
    hard: bool,
    tolerance: float,
) -> dict[int, Climb]:
    """Mixtures of some sizes. Powers of two grow from each other, any other size from the power of two below it.

    So a size comes out the same whatever other sizes were asked for.
    """
    reached = {1: climb(source, family, alone, hard, tolerance)}

    def grow(size: int) -> Climb:
        if size not in reached:
            below = grow(1 << ((size - 1).bit_length() - 1))
            reached[size] = climb(source, family, family.grown(below.mixed, size, displacement), hard, tolerance)
        return reached[size]

    return {size: grow(size) for size in sizes}
