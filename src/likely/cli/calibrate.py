"""The command ``calibrate``: turn scores into calibrated log-likelihood ratios."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from likely._formatting import format_number
from likely.cli.options import CommandError, MapOptions, ScoresFile
from likely.cli.rendering import console
from likely.cli.rendering import table as text_table
from likely.cli.scores import (
    MapOutput,
    Scores,
    apply_to_target,
    as_systems,
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


class Method(StrEnum):
    """Calibration methods."""

    tail = "tail"
    affine = "affine"
    isotonic = "isotonic"


def calibrate(
    scores: ScoresFile,
    how: MapOptions,
    method: Annotated[
        Method,
        typer.Option(
            help="tail: a scale and an offset, after compression of heavy tails where it pays; affine: a scale and an "
            "offset; isotonic: any increasing map."
        ),
    ] = Method.tail,
) -> None:
    """Turn scores into log-likelihood ratios, which can be used for decisions at any priors and costs.

    Each row of the output is calibrated by a map learned from other rows, so the output can be evaluated. Option --save
    keeps the map learned from all rows. Option --using applies a saved map to new scores.

    For example:
        likely calibrate scores.csv -o calibrated.csv --save calibrator.likely
        likely calibrate new.csv -o new-llr.csv --using calibrator.likely
    """
    run_map(scores, how, partial(_learn, method), _apply, _show)


def _learn(method: Method, path: Path, how: MapOptions) -> MapOutput:
    """Calibrate each row with a map learned from other rows. With ``--save``, save the map learned from all rows."""
    table = read_to_learn(path, how)
    calibrator = _make_calibrator(method, how.prior, table)
    mapped, maps, facts = _calibrate_each(calibrator, table, how.folds)
    if how.save is not None:
        if len(maps) > 1:
            raise CommandError(
                f"--save can save the map of only one system, but there are {len(maps)} systems. "
                "Choose one with --column."
            )
        save_map(maps[0], how.save, "calibrate", table, how.label)
    return mapped.columns(how.label), facts | {"method": method.value, "folds": how.folds}


def _make_calibrator(method: Method, prior: float | None, table: Scores) -> Any:
    """Make the calibrator. Isotonic maps are bounded, since one row can contradict an infinite llr."""
    from likely.calibration import AffineCalibrator, IsotonicCalibrator, TailCalibrator

    if method is Method.isotonic:
        if prior is not None:
            raise CommandError(
                "--prior is only for --method tail or affine. An isotonic map is optimal at every prior."
            )
        return IsotonicCalibrator(bounded=True)
    if prior is not None and not table.is_binary:
        raise CommandError(f"--prior is only for two classes, but there are {len(table.classes)} classes.")
    make = AffineCalibrator if method is Method.affine else TailCalibrator
    return make(training_prior=prior)


def _calibrate_each(calibrator: Any, table: Scores, folds: int) -> tuple[Scores, list[Any], dict[str, Any]]:
    """Calibrate each system fold by fold. For more than two classes there is only one system.

    Return the calibrated scores, the maps learned from all rows, and the facts.
    """
    import numpy as np
    from sklearn.base import clone

    if not table.is_binary:
        trained, scores = learn_map(calibrator, table.scores, table, folds)
        mapped = replace(table, scores=scores)
        return mapped, [trained], {"cross_entropy": _cross_entropies(table, mapped)}
    pairs = [learn_map(clone(calibrator), column, table, folds) for column in table.scores.T]
    maps = [trained for trained, _ in pairs]
    mapped = replace(table, scores=np.column_stack([scores for _, scores in pairs]))
    systems = _cllrs_before_and_after(table, mapped)
    for system, trained in zip(systems, maps, strict=True):
        if hasattr(trained, "scale_"):
            system |= {"scale": trained.scale_, "offset": trained.offset_}
        if np.isfinite(getattr(trained, "tail_", np.inf)):
            system |= {"tail": trained.tail_, "center": trained.center_}
    note_reversal({system["name"]: system.get("scale", 1.0) for system in systems})
    return mapped, maps, {"systems": systems}


def _apply(path: Path, how: MapOptions, using: Path) -> MapOutput:
    """Calibrate scores with a saved calibrator. Evaluate the result if there are labels."""
    import numpy as np

    calibrator, about = load_map(using, "calibrate")
    by_class = len(calibrator.classes_) > 2
    table = read_any(path, how.label, [str(k) for k in calibrator.classes_] if by_class else how.column)
    table = table if by_class else as_systems(table, calibrator.classes_.tolist(), about.get("positive"))
    columns = [table.scores] if by_class else table.scores.T
    mapped = replace(table, scores=np.column_stack([apply_to_target(calibrator, about, each) for each in columns]))
    facts: dict[str, Any] = {"using": str(using), "rows": len(mapped.scores)}
    if has_classes(table):
        judged = find_classes(table, about.get("positive"))
        facts |= (
            {"cross_entropy": _cross_entropies(judged, mapped)}
            if by_class
            else {"systems": _cllrs_before_and_after(judged, mapped)}
        )
    return mapped.columns(how.label), facts


def _cllrs_before_and_after(table: Scores, mapped: Scores) -> list[dict[str, Any]]:
    before, after = cllrs(table, table.systems()), cllrs(table, mapped.systems())
    return [
        {"name": b["name"], "cllr_before": b["cllr"], "cllr_after": a["cllr"], "min_cllr": b["min_cllr"]}
        for b, a in zip(before, after, strict=True)
    ]


def _cross_entropies(table: Scores, mapped: Scores) -> dict[str, float]:
    from likely.evaluation import cross_entropy

    return {
        which: cross_entropy(table.labels, each.scores, labels=table.classes)
        for which, each in (("before", table), ("after", mapped))
    }


def _show(facts: dict[str, Any]) -> None:
    out = console()
    if "systems" in facts:
        rows = [
            [s["name"], *map(format_number, (s["cllr_before"], s["cllr_after"], s["min_cllr"]))]
            for s in facts["systems"]
        ]
        out.print(text_table(["Cllr, bits", "before", "after", "minimum"], rows))
    if "cross_entropy" in facts:
        found = facts["cross_entropy"]
        out.print(
            f"Cross-entropy: {format_number(found['before'])} nats before, {format_number(found['after'])} after."
        )
    if "folds" in facts:
        out.print(f"Each row was calibrated by a map learned from other rows ({facts['folds']} folds).")
    out.print(f"Written to {facts['output']}.")
