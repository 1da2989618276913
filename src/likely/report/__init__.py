"""The report of a comparison or of given scores: facts as plain data, rendered as one offline page."""

from likely.report.facts import Report

__all__ = ["Report"]
