"""A comparison's facts as tables: the best systems, the best of each family, and the verdict."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from likely.cli.rendering import console, number, table

__all__ = ["show_comparison"]

SHOWN, MOST_NOTES = 10, 5


def show_comparison(facts: dict[str, Any]) -> None:
    """The leaderboard, what failed, what was noted, and what to do next."""
    out = console()
    board = facts["leaderboard"]
    out.print(f"\n{len(board)} systems on {facts['rows']} rows, {facts['protocol']}, by {_said(facts['by'])}.\n")
    out.print(_board(board[:SHOWN], facts))
    shown = {row["name"] for row in board[:SHOWN]}
    others = [row for row in _best_of_families(board) if row["name"] not in shown]
    if others:
        out.print(_board(others, facts, "The best of the other families"))
    out.print(_legend(facts))
    _show_failures(facts["failures"])
    _show_notes(facts["notes"])
    if facts.get("evaluation"):
        _show_evaluation(facts["evaluation"], facts)
    _show_next(facts)


def _board(rows: list[dict[str, Any]], facts: dict[str, Any], title: str = "") -> Any:
    names = list(facts["applications"])
    single = len(names) == 1
    columns = ["", "system"]
    for name in names:
        columns += ["minimum", "actual"] if single else [f"min at {name}", f"actual at {name}"]
    columns += ["Cllr", "p"]
    cells = []
    for row in rows:
        costs = [cell for name in names for cell in _costs(row["costs"][name], single)]
        p_value = "" if row["p_value"] is None else number(row["p_value"])
        cells.append([str(row["place"]), row["name"], *costs, number(row["cllr"]), p_value])
    return table(columns, cells, title=title, texts=2)


def _costs(cost: dict[str, Any], with_interval: bool) -> list[str]:
    """Minimum and actual cost, the latter with its interval where there is room and one is known."""
    around = cost.get("actual interval")
    actual = number(cost["actual"])
    if with_interval and around and None not in around:
        actual += f" [{number(around[0])}, {number(around[1])}]"
    return [number(cost["minimum"]), actual]


def _best_of_families(board: list[dict[str, Any]]) -> list[dict[str, Any]]:
    best: dict[str, dict[str, Any]] = {}
    for row in board:
        best.setdefault(row["family"], row)
    return list(best.values())


def _said(by: str) -> str:
    return {"minimum": "minimum cost", "actual": "actual cost", "cllr": "Cllr"}[by]


def _legend(facts: dict[str, Any]) -> str:
    at = "; ".join(facts["applications"])
    best = "with the best threshold" if len(facts["classes"]) == 2 else "after the best affine calibration"
    return (
        f"Costs at {at}, divided by that of deciding without looking. minimum: {best}; actual: calibrated by K-fold, "
        "with its 95 % interval; p: of the difference to the first."
    )


def _show_failures(failures: dict[str, str]) -> None:
    for name, reason in failures.items():
        console().print(f"Failed: {name}: {reason}")


def _show_notes(notes: list[str]) -> None:
    """What was said on the way, alike notes once."""
    kinds = Counter(re.sub(r"[-+0-9.e]+", "#", note) for note in notes)
    first = {re.sub(r"[-+0-9.e]+", "#", note): note for note in reversed(notes)}
    for kind, count in list(kinds.items())[:MOST_NOTES]:
        more = f" (and {count - 1} like it)" if count > 1 else ""
        console(err=True).print(f"Note: {first[kind]}{more}")
    if len(kinds) > MOST_NOTES:
        console(err=True).print(f"Note: {len(kinds) - MOST_NOTES} more are in leaderboard.json.")


def _show_evaluation(evaluation: dict[str, Any], facts: dict[str, Any]) -> None:
    columns = ["", "system", "minimum", "actual", "Cllr"]
    rows = [
        [str(place), each["name"], _mean(each["minimum"]), _mean(each["actual"]), number(each["cllr"])]
        for place, each in enumerate(evaluation["systems"], 1)
        if place <= 5 or each["name"] == evaluation["chosen"]
    ]
    console().print(table(columns, rows, title="On the evaluation rows", texts=2))
    console().print(f"Was the choice right? {evaluation['verdict']}")


def _mean(costs: list[float]) -> str:
    return number(sum(costs) / len(costs))


def _show_next(facts: dict[str, Any]) -> None:
    out = console()
    if facts.get("model"):
        out.print(
            f"\nThe best system, trained on all rows, is in {facts['model']}. Evidence and decisions about new rows:"
        )
        out.print(f"  likely score {facts['model']} NEW.csv", soft_wrap=True)
        options = "--prior P --cost-fn C" if len(facts["classes"]) == 2 else "--priors TEXT --costs FILE"
        out.print(f"  likely decide NEW.csv --model {facts['model']} {options}", soft_wrap=True)
