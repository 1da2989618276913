"""The facts that a comparison left in its folder, and they, or those about scores, as Markdown."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from likely.cli.guarding import writing
from likely.cli.rendering import number, within
from likely.cli.words import counted, printable
from likely.exceptions import ModelFileError, RunError
from likely.persistence import read_about
from likely.tables.files import replacing

__all__ = ["kept_facts", "markdown", "write_markdown"]


def kept_facts(folder: Path) -> dict[str, Any]:
    """What a finished comparison wrote down."""
    path = folder / "leaderboard.json"
    if not folder.exists():
        raise RunError(f"There is no {str(folder)!r}. Name the folder of a comparison, or a file of scores.")
    if not path.is_file():
        unfinished = (folder / "run.json").is_file()
        said = "has not come to its end: give its command again" if unfinished else "holds no run"
        raise RunError(f"The folder {str(folder)!r} {said}. Name the folder of a comparison.")
    try:
        facts: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"{str(path)!r} cannot be read: {error}. Give the command of the run again.") from error
    return facts | {"run": str(folder), "model": None} | _kept_model(folder, facts)


def _kept_model(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Where the best system is; or, if that is another's or gone, a word about it."""
    if facts.get("model") is None:
        return {}
    path = folder / facts["model"]
    try:
        system = (read_about(path)["about"] or {}).get("system")
    except (ModelFileError, OSError):
        return {"model_missing": f"The model {path} cannot be read: give the command of the run again."}
    if system != facts["leaderboard"][0]["name"]:
        return {"model_missing": f"The model {path} is of another run: give the command of this one again."}
    return {"model": str(path)}


def write_markdown(facts: dict[str, Any], path: Path) -> None:
    """The facts as a Markdown file, whole or not at all."""
    with writing(path), replacing(path) as temporary, open(temporary, "x", encoding="utf-8") as stream:
        stream.write(markdown(facts))
        stream.flush()
        os.fsync(stream.fileno())


def markdown(facts: dict[str, Any]) -> str:
    """The facts of a comparison, or of scores, as a page of Markdown."""
    lines = _of_comparison(facts) if "leaderboard" in facts else _of_scores(facts)
    return "\n".join(lines) + "\n"


def _of_comparison(facts: dict[str, Any]) -> list[str]:
    names = list(facts["applications"])
    systems, rows = counted(len(facts["leaderboard"]), "system"), counted(facts["rows"], "row")
    header = ["", "system", *(f"{which} at {name}" for name in names for which in ("minimum", "actual")), "Cllr", "p"]
    board = [
        [
            str(row["place"]),
            row["name"],
            *(number(row["costs"][name][which]) for name in names for which in ("minimum", "actual")),
            number(row["cllr"]),
            number(row["p_value"]),
        ]
        for row in facts["leaderboard"]
    ]
    lines = ["# Comparison", "", f"{systems} on {rows}, {facts['protocol']}, by {facts['by']}.", ""]
    lines += [*_table(header, board), ""]
    lines += [f"- Failed: {_escaped(name)}: {_escaped(reason)}" for name, reason in facts["failures"].items()]
    if facts.get("evaluation"):
        lines += ["", "## On the evaluation rows", "", _escaped(facts["evaluation"]["verdict"])]
    return lines


def _of_scores(facts: dict[str, Any]) -> list[str]:
    counts = ", ".join(f"{count} {_escaped(str(label))}" for label, count in facts["classes"].items())
    lines = ["# Scores", "", f"{counted(facts['rows'], 'row')}: {counts}.", ""]
    if "systems" not in facts:
        rows = [[f"cost at {c['application']}", within(c["actual"]), number(c["after_affine"])] for c in facts["costs"]]
        entropies = [within(facts["cross_entropy"]), number(facts["cross_entropy_after_affine"])]
        lines += _table(["", "actual", "after affine"], [*rows, ["cross-entropy, nats", *entropies]])
        return [*lines, "", _escaped(facts["verdict"])]
    lines += [f"The target is {_escaped(str(facts['target']))}.", ""]
    for system in facts["systems"]:
        rows = [[f"cost at {c['application']}", within(c["actual"]), within(c["minimum"])] for c in system["costs"]]
        rows += [["Cllr, bits", within(system["cllr"]), within(system["min_cllr"])]]
        rows += [["EER", "", within(system["eer"])], ["AUC", "", within(system["auc"])]]
        lines += [f"## {_escaped(system['name'])}", "", *_table(["", "actual", "minimum"], rows)]
        lines += ["", _escaped(system["verdict"]), ""]
    return lines[:-1]


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    return [_line(header), _line(["---"] * len(header)), *map(_line, rows)]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Text that Markdown does not take for markup."""
    return "".join("\\" + sign if sign in "\\`*_{}[]<>|#" else sign for sign in printable(text))
