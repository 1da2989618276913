"""The facts that a comparison left in its folder, and they as Markdown."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from likely.cli.guarding import writing
from likely.cli.rendering import number
from likely.exceptions import RunError
from likely.tables.files import replacing

__all__ = ["kept_facts", "markdown", "write_markdown"]


def kept_facts(folder: Path) -> dict[str, Any]:
    """What a finished comparison wrote down."""
    path = folder / "leaderboard.json"
    if not path.is_file():
        unfinished = (folder / "run.json").is_file()
        said = "has not come to its end: give its command again" if unfinished else "holds no run"
        raise RunError(f"The folder {str(folder)!r} {said}. Name the folder of a comparison.")
    try:
        facts: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"{str(path)!r} cannot be read: {error}. Give the command of the run again.") from error
    model = folder / "models" / "best.likely"
    return facts | {"run": str(folder), "model": str(model) if model.is_file() else None}


def write_markdown(facts: dict[str, Any], path: Path) -> None:
    """The facts as a Markdown file, whole or not at all."""
    with writing(path), replacing(path) as temporary, open(temporary, "x", encoding="utf-8") as stream:
        stream.write(markdown(facts))
        stream.flush()
        os.fsync(stream.fileno())


def markdown(facts: dict[str, Any]) -> str:
    """The facts as a page of Markdown."""
    names = list(facts["applications"])
    counted = f"{len(facts['leaderboard'])} systems on {facts['rows']} rows, {facts['protocol']}, by {facts['by']}."
    lines = ["# Comparison", "", counted, ""]
    header = ["", "system", *(f"{which} at {name}" for name in names for which in ("minimum", "actual")), "Cllr", "p"]
    lines += [_line(header), _line(["---"] * len(header))]
    for row in facts["leaderboard"]:
        costs = [number(row["costs"][name][which]) for name in names for which in ("minimum", "actual")]
        p_value = "" if row["p_value"] is None else number(row["p_value"])
        lines.append(_line([str(row["place"]), row["name"], *costs, number(row["cllr"]), p_value]))
    lines += ["", *(f"- Failed: {_escaped(name)}: {_escaped(reason)}" for name, reason in facts["failures"].items())]
    if facts.get("evaluation"):
        lines += ["", "## On the evaluation rows", "", _escaped(facts["evaluation"]["verdict"])]
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Text that Markdown does not take for markup."""
    return "".join("\\" + sign if sign in "\\`*_{}[]<>|#" else sign for sign in text.replace("\n", " "))
