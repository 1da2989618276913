"""The command ``fuse``: combine the scores of several systems into one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from likely._formatting import format_number
from likely.cli.options import CommandError, MapOptions, ScoresFile
from likely.cli.rendering import console
from likely.cli.rendering import table as text_table
from likely.cli.scores import (
    MapOutput,
    Scores,
    apply_to_target,
    cllrs,
    find_classes,
    has_classes,
    learn_map,
    load_map,
    note_reversal,
    read_any,
    read_to_learn,
    run_map,
    save_map,
)


def fuse(scores: ScoresFile, how: MapOptions) -> None:
    """Combine the scores of several systems about two classes into one calibrated log-likelihood ratio.

    The map is a weighted sum of the columns plus an offset, learned by logistic regression. The systems need be neither
    independent nor calibrated. Each row of the output is fused by a map learned from other rows, so the output can be
    evaluated. Option --save keeps the map learned from all rows. Option --using applies a saved map to new scores.

    For example:
        likely fuse scores.csv -o fused.csv --save fuser.likely
        likely fuse scores.csv -o fused.csv --column face --column voice
    """
    run_map(scores, how, _learn, _apply, _show)


def _learn(path: Path, how: MapOptions) -> MapOutput:
    """Fuse each row with a map learned from other rows. With ``--save``, save the map learned from all rows."""
    from likely.calibration import LogisticFusion

    table = read_to_learn(path, how)
    if not table.is_binary or len(table.names) < 2:
        raise CommandError(
            f"Fusion needs the scores of at least two systems about two classes, but {path} has "
            f"{len(table.classes)} classes and the columns {', '.join(table.names)}."
        )
    trained, fused = learn_map(LogisticFusion(training_prior=how.prior), table.scores, table, how.folds)
    if how.save is not None:
        save_map(trained, how.save, "fuse", table, how.label)
    weights = dict(zip(table.names, trained.weights_.tolist(), strict=True))
    if max(weights.values()) < 0:  # one negative weight among several is normal
        note_reversal(weights)
    facts = {
        "folds": how.folds,
        "systems": cllrs(table, table.systems()),
        "fused": cllrs(table, {"fused": fused})[0],
        "weights": weights,
        "offset": trained.offset_,
    }
    return _with_llr(table, fused).columns(how.label), facts


def _apply(path: Path, how: MapOptions, using: Path) -> MapOutput:
    """Fuse scores with a saved map. Evaluate the result if there are labels."""
    fuser, about = load_map(using, "fuse")
    table = read_any(path, how.label, how.column or about.get("columns"))
    fused = apply_to_target(fuser, about, table.scores)
    facts: dict[str, Any] = {"using": str(using), "rows": len(fused)}
    if has_classes(table):
        judged = find_classes(table, about.get("positive"))
        facts["systems"] = cllrs(judged, judged.systems())
        facts["fused"] = cllrs(judged, {"fused": fused})[0]
    return _with_llr(table, fused).columns(how.label), facts


def _with_llr(table: Scores, llr: Any) -> Scores:
    return replace(table, scores=llr[:, None], names=("llr",))


def _show(facts: dict[str, Any]) -> None:
    out = console()
    if "fused" in facts:
        weights = facts.get("weights", {})
        rows = [
            [
                each["name"],
                format_number(each["cllr"]),
                format_number(each["min_cllr"]),
                format_number(weights.get(each["name"])),
            ]
            for each in [*facts["systems"], facts["fused"]]
        ]
        out.print(text_table(["Cllr, bits", "actual", "minimum", "weight"], rows))
    if "folds" in facts:
        out.print(f"Each row was fused by a map learned from other rows ({facts['folds']} folds).")
    out.print(f"Written to {facts['output']}, in column llr.")
