"""What came of a comparison, or of anybody's scores: facts, as a plain dictionary, and one offline page of them."""

from likely.report.report import Report

__all__ = ["Report"]
