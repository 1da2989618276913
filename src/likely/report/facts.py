"""A report and its facts, including derived facts that several renderers use.

Facts are plain dictionaries, lists, texts and numbers as in JSON. An infinite number is None. The command line, the
page, Markdown and ``repr`` only render them.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from likely._files import write_whole
from likely.decisions import Application
from likely.exceptions import InvalidParameterError
from likely.report.markdown import render_markdown

MAX_MISTAKES = 30
"""Number of frequent mistakes that are listed if there are too many classes for a table."""

TIE = 1e-12
"""Two systems get the same place if their costs differ by less than this number."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Report:
    """The report of a comparison, or of scores, made by :meth:`likely.Comparison.report`.

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
        """Render one page that needs no network and no other files."""
        from likely.report.page import render_page

        return render_page(self.facts)

    def markdown(self) -> str:
        """Render the facts as Markdown, without plots."""
        return render_markdown(self.facts)

    def json(self) -> str:
        """Render the facts as JSON."""
        return json.dumps(self.facts, ensure_ascii=False, allow_nan=False)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a page (.html), Markdown (.md) or the facts (.json), depending on the suffix. The write is atomic."""
        makers = {".html": self.html, ".htm": self.html, ".md": self.markdown, ".json": self.json}
        target = Path(path)
        if target.suffix.lower() not in makers:
            raise InvalidParameterError(f"A report file must end in .html, .md or .json, but is {str(path)!r}.")
        write_whole(target, makers[target.suffix.lower()]())

    def _repr_html_(self) -> str:
        from likely.report.page import render_fragment

        return render_fragment(self.facts)


def finite_or_none(value: Any) -> float | None:
    """Convert a number for JSON. An infinite number becomes None."""
    return float(value) if math.isfinite(value) else None


def rank_costs(costs: Sequence[float | None]) -> list[int]:
    """Return the place of each cost. The lowest cost has place 1, equal costs share a place, and None is infinite.

    Examples
    --------
    >>> rank_costs([0.5, 0.25, None, 0.25])
    [3, 1, 4, 1]
    """
    known = [math.inf if cost is None else cost for cost in costs]
    return [1 + sum(other < cost - TIE for other in known) for cost in known]


def mean_cost(costs: Sequence[float | None]) -> float | None:
    """Return the mean cost over applications, or None if one of the costs is infinite."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) / len(known) if len(known) == len(costs) else None


def first_of_each(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Return the first item of each kind, in order. On a leaderboard, this is the best system of each family."""
    found: dict[Hashable, T] = {}
    for item in items:
        found.setdefault(key(item), item)
    return list(found.values())


def describe_mistakes(counts: Sequence[Sequence[float]], labels: Sequence[Any]) -> list[dict[str, Any]]:
    """List the most frequent wrong decisions of a confusion matrix. Its last column counts rejected rows.

    Examples
    --------
    >>> describe_mistakes([[5, 1, 0], [2, 7, 0]], ["a", "b"])
    [{'truth': 'b', 'decided': 'a', 'rows': 2}, {'truth': 'a', 'decided': 'b', 'rows': 1}]
    """
    decisions = [*labels, "rejected"]
    cells = [(count, i, j) for i, row in enumerate(counts) for j, count in enumerate(row) if i != j and count]
    frequent = sorted(cells, key=lambda cell: -cell[0])[:MAX_MISTAKES]
    return [{"truth": labels[i], "decided": decisions[j], "rows": count} for count, i, j in frequent]


def application_facts(name: str, application: Application, target: int | None = None) -> dict[str, Any]:
    """Return the priors and costs of an application and, for two classes, the prior, costs and threshold of the target.

    Parameters
    ----------
    name : str
    application : Application
        An application with the classes in order.
    target : {0, 1} or None
        The position of the target, or None for more than two classes.

    Returns
    -------
    dict
        ``cost_fn`` and ``cost_fp`` are the costs of a miss and of a false alarm minus the costs of correct decisions.
        ``base`` has the costs of correct decisions, with that of the target last.
    """
    facts = {
        "name": name,
        "priors": application.priors.tolist(),
        "costs": application.costs.tolist(),
        "reject_cost": application.reject_cost,
        "constant_cost": application.constant_cost,
    }
    if target is None:
        return facts | dict.fromkeys(("base", "prior", "cost_fn", "cost_fp", "threshold", "effective_prior"))
    return facts | target_facts(put_target_last(application, target))


def put_target_last(application: Application, target: int) -> Application:
    """Reorder an application of two classes so that the target is last."""
    if target == 1:
        return application
    return Application(application.priors[::-1], application.costs[::-1, ::-1], reject_cost=application.reject_cost)


def target_facts(application: Application) -> dict[str, Any]:
    """Return prior, costs and threshold of an application whose second class is the target."""
    excess = application.costs.max(axis=1) - application.costs.diagonal()
    return {
        "base": application.costs.diagonal().tolist(),
        "prior": float(application.priors[1]),
        "cost_fn": float(excess[1]),
        "cost_fp": float(excess[0]),
        "threshold": application.threshold,
        "effective_prior": application.effective_prior,
    }


def mark_family_leaders(board: list[dict[str, Any]]) -> None:
    """Mark the best system of each family on a leaderboard. The dictionaries are changed in place."""
    leaders = {row["name"] for row in first_of_each(board, lambda row: row["family"])}
    for row in board:
        row["leads_family"] = row["name"] in leaders


def place_systems(systems: list[dict[str, Any]], by: str) -> None:
    """Add to each system its mean cost and its place on the evaluation rows. The dictionaries are changed in place."""
    for system in systems:
        system["means"] = {which: mean_cost(system[which]) for which in ("minimum", "actual")}
    costs = [system["cllr"] if by == "cllr" else system["means"][by] for system in systems]
    for system, place in zip(systems, rank_costs(costs), strict=True):
        system["place"] = place


def complete_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Add derived facts to ``facts``, which is changed in place, and return it.

    This is needed for files that earlier versions wrote without these facts.
    """
    mark_family_leaders(facts["leaderboard"])
    if facts.get("evaluation"):
        place_systems(facts["evaluation"]["systems"], facts["by"] if "by" in facts else facts["about"]["by"])
    for table in facts.get("confusion") or []:
        table["mistakes"] = describe_mistakes(table["counts"], [each["label"] for each in facts["classes"]])
    return facts
