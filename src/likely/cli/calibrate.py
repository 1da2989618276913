"""The verb ``calibrate``: make scores log-likelihood ratios."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likely.cli.options import MapOptions, ScoresFile
from likely.cli.rendering import console, number, table

if TYPE_CHECKING:
    from likely.cli.scorefiles import Evidence

__all__ = ["calibrate"]


class Method(StrEnum):
    """How scores are mapped."""

    affine = "affine"
    isotonic = "isotonic"


def calibrate(
    scores: ScoresFile,
    how: MapOptions,
    method: Annotated[Method, typer.Option(help="A scale and an offset, or any rising map.")] = Method.affine,
) -> None:
    """Make scores log-likelihood ratios that can be acted on at any priors and costs.

    The scores written are calibrated fold by fold: no row by a map that has seen it, so they can be judged. The map to
    keep for new scores, with --save, is learned from all rows; --using applies it.

    For example:
        likely calibrate scores.csv -o calibrated.csv --save calibrator.likely
        likely calibrate new.csv -o new-llr.csv --using calibrator.likely
    """
    from functools import partial

    from likely.cli.maps import mapped

    mapped(scores, how, partial(_learned, method=method), _applied, _show)


def _learned(path: Path, how: MapOptions, method: Method) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores calibrated by maps that have not seen them, and what that has brought; the map of all is kept."""
    from likely.cli.maps import labelled

    evidence = labelled(path, how)
    calibrator = _calibrator(method, how.prior, evidence)
    columns, facts = _calibrated(calibrator, evidence, how.folds, how.label)
    _keep(how.save, facts.pop("maps"), evidence, how.label)
    return columns, facts | {"method": method.value, "folds": how.folds}


def _calibrator(method: Method, prior: float | None, evidence: Evidence) -> Any:
    """A calibrator as asked for; rising maps are bounded, since one row may contradict an infinite llr."""
    from likely.calibration import AffineCalibrator, IsotonicCalibrator
    from likely.exceptions import InvalidParameterError

    if method is Method.isotonic:
        if prior is not None:
            raise InvalidParameterError("--prior is for the affine method: an isotonic map is best at every prior.")
        return IsotonicCalibrator(bounded=True)
    if prior is not None and not evidence.is_binary:
        raise InvalidParameterError(f"--prior is for two classes, but there are {len(evidence.classes)}.")
    return AffineCalibrator(prior)


def _calibrated(calibrator: Any, evidence: Evidence, folds: int, label: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Each system, or the one of more classes, calibrated by folds: the columns to write, and what it has brought."""
    from sklearn.base import clone

    from likely.cli.maps import learned, note_reversal

    if not evidence.is_binary:
        found = learned(calibrator, evidence.scores, evidence, folds)
        columns = dict(zip(evidence.names, found.scores.T, strict=True))
        facts = {"cross_entropy": _entropies(evidence, found.scores), "maps": [found.map]}
        return {label: evidence.labels, **columns}, facts
    found_each = [learned(clone(calibrator), column, evidence, folds) for column in evidence.scores.T]
    columns = {name: found.scores for name, found in zip(evidence.names, found_each, strict=True)}
    systems = _before_and_after(evidence, columns)
    for system, found in zip(systems, found_each, strict=True):
        if hasattr(found.map, "scale_"):
            system |= {"scale": found.map.scale_, "offset": found.map.offset_}
    note_reversal({system["name"]: system.get("scale", 1.0) for system in systems})
    return {label: evidence.labels, **columns}, {"systems": systems, "maps": [found.map for found in found_each]}


def _keep(path: Path | None, maps: list[Any], evidence: Evidence, label: str) -> None:
    from likely.cli.maps import keep
    from likely.exceptions import InvalidParameterError

    if path is None:
        return
    if len(maps) > 1:
        raise InvalidParameterError(f"--save keeps the map of one system, but there are {len(maps)}. Use --column.")
    keep(maps[0], path, "calibrate", evidence, label)


def _applied(path: Path, how: MapOptions, using: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores mapped by a calibrator that is kept; judged too, if there are labels."""
    import numpy as np

    from likely.cli.maps import judgeable, loaded, oriented, written
    from likely.cli.scorefiles import as_systems, read_any

    calibrator, about = loaded(using, "calibrate")
    by_class = len(calibrator.classes_) > 2
    table = read_any(path, how.label, [str(k) for k in calibrator.classes_] if by_class else how.column)
    table = table if by_class else as_systems(table, calibrator.classes_.tolist(), about.get("positive"))
    apply = oriented(calibrator.transform, about, calibrator.classes_)
    mapped = apply(table.scores) if by_class else np.column_stack([apply(each) for each in table.scores.T])
    facts: dict[str, Any] = {"using": str(using), "rows": len(mapped)}
    evidence = judgeable(table, about.get("positive"))
    if evidence is not None and by_class:
        facts["cross_entropy"] = _entropies(evidence, mapped)
    elif evidence is not None:
        facts["systems"] = _before_and_after(evidence, dict(zip(table.names, mapped.T, strict=True)))
    return written(table, how.label, table.names, mapped), facts


def _before_and_after(evidence: Evidence, columns: dict[str, Any]) -> list[dict[str, Any]]:
    from likely.cli.maps import cllrs

    before = cllrs(evidence, dict(zip(evidence.names, evidence.scores.T, strict=True)))
    after = cllrs(evidence, columns)
    return [
        {"name": b["name"], "cllr_before": b["cllr"], "cllr_after": a["cllr"], "min_cllr": b["min_cllr"]}
        for b, a in zip(before, after, strict=True)
    ]


def _entropies(evidence: Evidence, mapped: Any) -> dict[str, float]:
    from likely.evaluation import cross_entropy

    classes = evidence.classes
    return {
        "before": cross_entropy(evidence.labels, evidence.scores, labels=classes),
        "after": cross_entropy(evidence.labels, mapped, labels=classes),
    }


def _show(facts: dict[str, Any]) -> None:
    out = console()
    if "systems" in facts:
        rows = [[s["name"], *map(number, (s["cllr_before"], s["cllr_after"], s["min_cllr"]))] for s in facts["systems"]]
        out.print(table(["Cllr, bits", "before", "after", "possible before"], rows))
    if "cross_entropy" in facts:
        found = facts["cross_entropy"]
        out.print(f"Cross-entropy: {number(found['before'])} nats before, {number(found['after'])} after.")
    if "folds" in facts:
        out.print(f"No row was calibrated by a map that has seen it ({facts['folds']} folds).")
    out.print(f"Written to {facts['output']}.")
