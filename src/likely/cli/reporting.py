"""What a comparison left in its folder, and the report of it, or of a file of scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from likely.cli.applications import applications_from
from likely.cli.guarding import writing
from likely.cli.options import ApplicationOptions, ScoreOptions
from likely.cli.rendering import console, status
from likely.cli.scorefiles import Evidence, evidence_of, read_labelled
from likely.exceptions import ModelFileError, RunError
from likely.persistence import read_about
from likely.report import Report
from likely.selection import compare_scores

__all__ = ["kept_facts", "kept_report", "score_report", "show_report", "write_report"]


def kept_facts(folder: Path) -> dict[str, Any]:
    """What a finished comparison wrote down."""
    facts = _kept(folder, "leaderboard.json")
    page = folder / "report.html"
    found = {"run": str(folder), "page": str(page) if page.is_file() else None, "model": None}
    return facts | found | _kept_model(folder, facts)


def kept_report(folder: Path) -> Report:
    """The report of a finished comparison."""
    return Report(_kept(folder, "report.json"))


def _kept(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    if not folder.exists():
        raise RunError(f"There is no {str(folder)!r}. Name the folder of a comparison, or a file of scores.")
    if not path.is_file():
        unfinished = (folder / "run.json").is_file()
        said = "has not come to its end: give its command again" if unfinished else "holds no run"
        raise RunError(f"The folder {str(folder)!r} {said}. Name the folder of a comparison.")
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{str(path)!r} cannot be read: {error}. Give the command of the run again.") from error
    return facts


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


def score_report(scores: Path, where: ApplicationOptions, which: ScoreOptions) -> Report:
    """What the scores of a file are worth, without a model."""
    evidence = evidence_of(read_labelled(scores, which.label, which.column), where.positive)
    applications = dict(applications_from(where, evidence.classes))
    with status("Judging …"):
        comparison = compare_scores(evidence.labels, _systems(evidence), applications, pos_label=evidence.target)
        return comparison.report(about={"file": scores.name})


def _systems(evidence: Evidence) -> dict[str, Any]:
    """Scores by system: a column for each of two classes' systems, or all columns of one system."""
    if not evidence.is_binary:
        return {"scores": evidence.scores}
    return dict(zip(evidence.names, evidence.scores.T, strict=True))


def write_report(report: Report, path: Path) -> None:
    """Write a page, Markdown or facts, by the file's ending."""
    with writing(path):
        report.write(path)


def show_report(report: Report) -> None:
    """The gist: the verdict, and what was found."""
    out = console()
    for sentence in report.facts["verdict"]:
        out.print(sentence)
    for finding in report.facts["findings"]:
        out.print(f"\n{finding['code']}: {finding['said']}\n→ {finding['remedy']}")
