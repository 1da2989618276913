"""A report: facts as plain data, and how they are shown."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likely._files import write_whole
from likely.exceptions import InvalidParameterError
from likely.report.markdown import markdown

__all__ = ["Report"]


@dataclass(frozen=True, eq=False)
class Report:
    """What came of a comparison, or what scores are worth: made by :meth:`likely.Comparison.report`.

    Attributes
    ----------
    facts : dict
        Everything that the page shows, as plain data.

    Examples
    --------
    >>> from likely import Application, compare_scores
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> report = compare_scores(y, {"mine": llr}, Application.binary(0.5)).report()
    >>> report.facts["leaderboard"][0]["name"]
    'mine'
    >>> report.html().startswith("<!doctype html>")
    True
    """

    facts: dict[str, Any]

    def html(self) -> str:
        """One page that needs nothing else: no network, no other file."""
        from likely.report.page import page

        return page(self.facts)

    def markdown(self) -> str:
        """The facts as Markdown, without pictures."""
        return markdown(self.facts)

    def json(self) -> str:
        """The facts as JSON."""
        return json.dumps(self.facts, ensure_ascii=False, allow_nan=False)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all: a page (.html), Markdown (.md) or the facts (.json), by its ending."""
        makers = {".html": self.html, ".htm": self.html, ".md": self.markdown, ".json": self.json}
        target = Path(path)
        if target.suffix.lower() not in makers:
            raise InvalidParameterError(f"A report's file must end with .html, .md or .json, but is {str(path)!r}.")
        write_whole(target, makers[target.suffix.lower()]())

    def _repr_html_(self) -> str:
        from likely.report.page import fragment

        return fragment(self.facts)
