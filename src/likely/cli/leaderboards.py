"""Tables of a comparison: the best systems, the best of each family, notes, and the verdict."""

from __future__ import annotations

import re
import shlex
from string import ascii_uppercase
from typing import Any

from likely._formatting import format_cost, format_count, format_number, shorten
from likely.cli.app import as_options
from likely.cli.rendering import console, format_interval, table

N_SHOWN, N_ABREAST, N_EVALUATED = 10, 2, 5
"""Maximum number of systems on the leaderboard shown, of applications side by side in one table, and of systems shown
for the evaluation rows."""

_MEASURES = {"minimum": "minimum cost", "actual": "actual cost", "cllr": "Cllr"}

_MAX_NOTES, _NOTE_WIDTH = 5, 150
"""Maximum number of notes shown, and the maximum length of a note in characters."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z'\"(])")
_DETAILS = [
    (re.compile(r" \([^()]*\)"), ""),
    (re.compile(r"'[^']*'"), "#"),
    (re.compile(r"(?<!\w)[-+]?\d+(?:\.\d+)*(?:e[-+]?\d+)?"), "#"),
    (re.compile(r"#(?:(?:, | and |, and )(?:#|…))+"), "#"),
]
"""Patterns of the parts of a sentence in which notes of the same kind may differ, and their replacements."""


def show_comparison(facts: dict[str, Any]) -> None:
    """Show the leaderboard, failures, notes, and the next commands."""
    out = console()
    board, rows = facts["leaderboard"], format_count(facts["rows"], "row")
    out.print(
        f"\n{format_count(len(board), 'system')} on {rows} ({facts['protocol']}), ranked by {_MEASURES[facts['by']]}.\n"
    )
    _show_board(board[:N_SHOWN], facts)
    others = [row for row in board[N_SHOWN:] if row["leads_family"]]
    if others:
        _show_board(others, facts, "The best of the other families")
    out.print(_legend(facts, board[0]))
    for name, reason in facts["failures"].items():
        out.print(f"Failed: {name}: {shorten(as_options(reason), 300)}")
    _show_notes(facts)
    if facts.get("evaluation"):
        _show_evaluation(facts["evaluation"], facts)
    _show_next(facts, board[0])


def _show_board(rows: list[dict[str, Any]], facts: dict[str, Any], title: str = "") -> None:
    """Show one table, or several if there are too many applications for one."""
    names = list(facts["applications"])
    if len(names) == 1:
        cells = [[*_format_costs(row["costs"][names[0]], with_interval=True)] for row in rows]
        console().print(_board(rows, ["minimum", "actual"], cells, title))
        return
    for start in range(0, len(names), N_ABREAST):
        some = list(zip(map(_letter, range(len(names))), names, strict=True))[start : start + N_ABREAST]
        columns = [f"{which} {letter}" for letter, _ in some for which in ("min", "act")]
        cells = [[cell for _, name in some for cell in _format_costs(row["costs"][name])] for row in rows]
        console().print(_board(rows, columns, cells, title))


def _board(rows: list[dict[str, Any]], columns: list[str], costs: list[list[str]], title: str) -> Any:
    cells = [
        [str(row["place"]), row["name"], *cost, format_number(row["cllr"]), format_number(row["p_value"])]
        for row, cost in zip(rows, costs, strict=True)
    ]
    return table(["", "system", *columns, "Cllr", "p"], cells, title=title, texts=2)


def _letter(at: int) -> str:
    return ascii_uppercase[at] if at < len(ascii_uppercase) else f"A{at}"


def _format_costs(cost: dict[str, Any], with_interval: bool = False) -> list[str]:
    """Return the texts of the minimum and the actual cost. With ``with_interval``, the second includes its interval."""
    low, high = (_interval(cost) if with_interval else None) or (None, None)
    return [
        format_number(cost["minimum"]),
        format_interval({"estimate": cost["actual"], "low": low, "high": high}),
    ]


def _interval(cost: dict[str, Any]) -> list[float] | None:
    around = cost.get("actual interval")
    return around if around and None not in around else None


def _legend(facts: dict[str, Any], best: dict[str, Any]) -> str:
    """Return sentences that explain the columns of the leaderboard."""
    names = list(facts["applications"])
    single = len(names) == 1
    at = names[0] if single else "; ".join(f"{_letter(at)}: {name}" for at, name in enumerate(names))
    how = "at the best threshold" if len(facts["classes"]) == 2 else "after the best affine calibration"
    around = ", with its 95 % interval" if single and _interval(best["costs"][names[0]]) is not None else ""
    tested = "" if best is facts["leaderboard"][-1] else "; p: p-value of the difference to the first system"
    minimum, actual = ("minimum", "actual") if single else ("min", "act")
    return (
        f"Costs at {at}. A cost of 1 is that of deciding without looking: always giving the same answer. "
        f"{minimum}: {how}; {actual}: after calibration on other rows{around}; Cllr: cross-entropy of the calibrated "
        f"scores, 1 if they carry no information{tested}."
    )


def _show_notes(facts: dict[str, Any]) -> None:
    lines, left_out = brief_notes(facts["notes"])
    out = console(err=True)
    for line in lines:
        out.print(f"Note: {line}")
    if left_out:
        where = f"{facts['run']}/leaderboard.json" if facts.get("run") else "the output of --json"
        out.print(f"All notes are in {where}, in full.")


def _show_evaluation(evaluation: dict[str, Any], facts: dict[str, Any]) -> None:
    columns = ["", "system", "minimum", "actual", "Cllr"]
    rows = [
        [str(each["place"]), each["name"], *map(format_cost, (*each["means"].values(), each["cllr"]))]
        for at, each in enumerate(evaluation["systems"])
        if at < N_EVALUATED or each["name"] == evaluation["chosen"]
    ]
    title = "On the evaluation rows" + (", mean over the applications" if len(facts["applications"]) > 1 else "")
    console().print(table(columns, rows, title=title, texts=2))
    console().print(f"Was the choice right? {evaluation['verdict']}")


def _show_next(facts: dict[str, Any], best: dict[str, Any]) -> None:
    out = console()
    if facts.get("page"):
        out.print(f"\nThe page, with curves and a decision explorer, is {facts['page']}.")
    if facts.get("model_missing"):
        out.print(f"\n{facts['model_missing']}")
    if not facts.get("model"):
        return
    model = shlex.quote(facts["model"])
    if best["family"] == "outside":
        out.print(f"\nThe best scores are {best['name']}. Their calibrator is in {facts['model']}. For new scores:")
        out.print(
            f"  likely calibrate NEW.csv -c {shlex.quote(best['name'])} --using {model} -o OUT.csv", soft_wrap=True
        )
        return
    out.print(f"\nThe best system, trained on all rows, is in {facts['model']}.")
    # A fusion that contains an external system needs the scores of that system.
    outside = {row["name"] for row in facts["leaderboard"] if row["family"] == "outside"}
    if not outside & set(best["settings"].get("of", ()) if best["family"] == "fusion" else ()):
        out.print("To score new rows, or to decide about them:")
        out.print(f"  likely score {model} NEW.csv", soft_wrap=True)
        options = "--prior P --cost-fn C" if len(facts["classes"]) == 2 else "--priors TEXT --costs FILE"
        out.print(f"  likely decide NEW.csv --model {model} {options}", soft_wrap=True)


def brief_notes(notes: list[str]) -> tuple[list[str], bool]:
    """Return the first note of each kind, shortened to about two lines, and whether anything was left out.

    Notes are of the same kind if their first sentences differ only in numbers, in names, in lists of numbers or names,
    and in text in brackets.

    Examples
    --------
    >>> brief_notes(["Class 'a' has rank 3 (constant: 1, 2). Drop it.", "Class 'b' has rank 1e-2.", "Slow."])
    (["Class 'a' has rank 3 (constant: 1, 2). (and 1 like it)", 'Slow.'], True)
    """
    kinds: dict[str, list[str]] = {}
    for note in notes:
        first = kind = _SENTENCE.split(as_options(note), maxsplit=1)[0]
        for pattern, sign in _DETAILS:
            kind = pattern.sub(sign, kind)
        kinds.setdefault(kind, []).append(first)
    lines = []
    for alike in list(kinds.values())[:_MAX_NOTES]:
        more = f" (and {len(alike) - 1} like it)" if len(alike) > 1 else ""
        lines.append(shorten(alike[0], _NOTE_WIDTH - len(more)) + more)
    return lines, lines != [as_options(note) for note in notes]
