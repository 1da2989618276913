"""The verb ``fuse``: one score of several systems'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from likely.cli.options import (
    AsJson,
    Columns,
    Folds,
    Label,
    Output,
    Positive,
    SaveMap,
    ScoresFile,
    TrainingPrior,
    UseMap,
)
from likely.cli.rendering import console, number, print_json, table, write_file

__all__ = ["fuse"]


def fuse(
    scores: ScoresFile,
    output: Output,
    prior: TrainingPrior = None,
    save: SaveMap = None,
    using: UseMap = None,
    folds: Folds = 5,
    label: Label = "label",
    column: Columns = None,
    positive: Positive = None,
    as_json: AsJson = False,
) -> None:
    """Make one calibrated log-likelihood ratio of the scores of several systems.

    A weighted sum of the columns and an offset, learned by logistic regression; systems need be neither independent
    nor calibrated. The scores written are fused fold by fold: no row by a map that has seen it. The map to keep for
    new scores, with --save, is learned from all rows; --using applies it. Two classes.

    For example:
        likely fuse scores.csv -o fused.csv --save fuser.likely
        likely fuse scores.csv -o fused.csv --column face --column voice
    """
    from likely.cli.maps import refuse_both

    refuse_both(using, save)
    if using is not None:
        columns, facts = _applied(using, scores, label, column)
    else:
        columns, facts = _learned(scores, label, column, positive, prior, folds, save)
    write_file(output, columns)
    facts = {"file": str(scores), "output": str(output), **facts}
    print_json(facts) if as_json else _show(facts)


def _learned(
    path: Path,
    label: str,
    column: list[str] | None,
    positive: str | None,
    prior: float | None,
    folds: int,
    save: Path | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    from likely.calibration import LogisticFusion
    from likely.cli.maps import check_labelled, cllrs, keep, learned
    from likely.cli.scorefiles import evidence_of, read_any
    from likely.exceptions import TableError

    table = read_any(path, label, column)
    check_labelled(table, path, label)
    evidence = evidence_of(table, positive)
    if not evidence.is_binary or len(evidence.names) < 2:
        raise TableError(
            f"Fusing takes the scores of two systems or more about two classes, but {path} has "
            f"{len(evidence.classes)} classes and the columns {', '.join(table.names)}."
        )
    found = learned(LogisticFusion(prior), evidence.scores, evidence, folds)
    if save is not None:
        keep(found.map, save, "fuse", evidence, label)
    alone = dict(zip(evidence.names, evidence.scores.T, strict=True))
    facts = {
        "folds": folds,
        "systems": cllrs(evidence, alone),
        "fused": cllrs(evidence, {"fused": found.scores})[0],
        "weights": dict(zip(evidence.names, found.map.weights_.tolist(), strict=True)),
        "offset": found.map.offset_,
    }
    return {label: evidence.labels, "llr": found.scores}, facts


def _applied(using: Path, path: Path, label: str, column: list[str] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores fused by a map that is kept; judged too, if there are labels."""
    from likely.cli.maps import cllrs, judgeable, loaded, written
    from likely.cli.scorefiles import read_any

    fuser, about = loaded(using, "fuse")
    table = read_any(path, label, column or about.get("columns"))
    fused = fuser.transform(table.scores)
    facts: dict[str, Any] = {"using": str(using), "rows": len(fused)}
    evidence = judgeable(table, about.get("positive"))
    if evidence is not None:
        facts["systems"] = cllrs(evidence, dict(zip(evidence.names, evidence.scores.T, strict=True)))
        facts["fused"] = cllrs(evidence, {"fused": fused})[0]
    return written(table, label, ["llr"], fused), facts


def _show(facts: dict[str, Any]) -> None:
    out = console()
    if "fused" in facts:
        weights = facts.get("weights", {})
        rows = [
            [each["name"], number(each["cllr"]), number(each["min_cllr"]), number(weights.get(each["name"]))]
            for each in [*facts["systems"], facts["fused"]]
        ]
        out.print(table(["Cllr, bits", "actual", "minimum", "weight"], rows))
    if "folds" in facts:
        out.print(f"No row was fused by a map that has seen it ({facts['folds']} folds).")
    out.print(f"Written to {facts['output']}, as the column llr.")
