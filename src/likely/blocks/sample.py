"""Old spelling of :mod:`likely.blocks.gathering`."""

from likely.blocks.gathering import SAMPLE_ROWS, Sample, sampled, scattered

__all__ = ["SAMPLE_ROWS", "Sample", "sampled", "scattered"]
