"""The report of a comparison, or of anybody's scores: facts as plain data, and one offline page of them."""

from likely.report.facts import Report

__all__ = ["Report"]
