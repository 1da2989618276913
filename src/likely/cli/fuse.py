"""The verb ``fuse``: one score of several systems'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from likely.cli.options import MapOptions, ScoresFile
from likely.cli.rendering import console, number, table

__all__ = ["fuse"]


def fuse(scores: ScoresFile, how: MapOptions) -> None:
    """Make one calibrated log-likelihood ratio of the scores of several systems.

    A weighted sum of the columns and an offset, learned by logistic regression; systems need be neither independent
    nor calibrated. The scores written are fused fold by fold: no row by a map that has seen it. The map to keep for
    new scores, with --save, is learned from all rows; --using applies it. Two classes.

    For example:
        likely fuse scores.csv -o fused.csv --save fuser.likely
        likely fuse scores.csv -o fused.csv --column face --column voice
    """
    from likely.cli.maps import mapped

    mapped(scores, how, _learned, _applied, _show)


def _learned(path: Path, how: MapOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores fused by maps that have not seen them, and what that has brought; the map of all is kept."""
    from likely.calibration import LogisticFusion
    from likely.cli.maps import cllrs, keep, labelled, learned, note_reversal
    from likely.exceptions import TableError

    evidence = labelled(path, how)
    if not evidence.is_binary or len(evidence.names) < 2:
        raise TableError(
            f"Fusing takes the scores of two systems or more about two classes, but {path} has "
            f"{len(evidence.classes)} classes and the columns {', '.join(evidence.names)}."
        )
    found = learned(LogisticFusion(how.prior), evidence.scores, evidence, how.folds)
    if how.save is not None:
        keep(found.map, how.save, "fuse", evidence, how.label)
    alone = dict(zip(evidence.names, evidence.scores.T, strict=True))
    weights = dict(zip(evidence.names, found.map.weights_.tolist(), strict=True))
    if max(weights.values()) < 0:  # among several, one alone may well be negative
        note_reversal(weights)
    facts = {
        "folds": how.folds,
        "systems": cllrs(evidence, alone),
        "fused": cllrs(evidence, {"fused": found.scores})[0],
        "weights": weights,
        "offset": found.map.offset_,
    }
    return {how.label: evidence.labels, "llr": found.scores}, facts


def _applied(path: Path, how: MapOptions, using: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores fused by a map that is kept; judged too, if there are labels."""
    from likely.cli.maps import cllrs, judgeable, loaded, oriented, written
    from likely.cli.scorefiles import read_any

    fuser, about = loaded(using, "fuse")
    table = read_any(path, how.label, how.column or about.get("columns"))
    fused = oriented(fuser.transform, about, fuser.classes_)(table.scores)
    facts: dict[str, Any] = {"using": str(using), "rows": len(fused)}
    evidence = judgeable(table, about.get("positive"))
    if evidence is not None:
        facts["systems"] = cllrs(evidence, dict(zip(evidence.names, evidence.scores.T, strict=True)))
        facts["fused"] = cllrs(evidence, {"fused": fused})[0]
    return written(table, how.label, ["llr"], fused), facts


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
