"""Old spelling of :mod:`likely.blocks.gathering`."""

from likely.blocks.gathering import SAMPLE_ROWS, RowSample, sampled, scattered

__all__ = ["SAMPLE_ROWS", "RowSample", "sampled", "scattered"]
