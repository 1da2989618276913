"""From scores to systems in order: judged, calibrated, fused, and judged again elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likely._typing import Floats
from likely.blocks import for_each
from likely.calibration import LogisticFusion
from likely.evaluation.intervals import NO_MISTAKES
from likely.exceptions import DegenerateDataError, warn_of_degenerate_data
from likely.resampling.scoring import floor_of, in_classes
from likely.selection.batches import overheard, reason_of
from likely.selection.candidates import Candidate
from likely.selection.comparison import System
from likely.selection.judging import Judge
from likely.selection.scoring import Scored
from likely.selection.verdicts import Judged, Verdict, cost_of

__all__ = ["Ranking", "kin"]

DETAILED = 10
"""Systems at the head of the board that get intervals and a test against the best."""


def _or_why_not(make: Callable[..., System]) -> Callable[..., System | Exception]:
    """A system, or the error that kept it from being made: scores may be such that no calibrator learns from them."""

    def attempt(*args: Any) -> System | Exception:
        try:
            return make(*args)
        except Exception as error:  # noqa: BLE001  a calibrator of anybody's may raise anything, and the others go on
            return error

    return attempt


@dataclass(frozen=True, eq=False)
class Ranking:
    """How systems are put in order and fused, and by what they are calibrated."""

    by: str
    fuse: int
    calibrator: Any

    def systems(self, found: Scored, judge: Judge, folds: Any) -> tuple[list[System], list[str]]:
        """All systems, the best first, and what the library said of them."""
        with overheard() as notes:
            names = list(found.scores)
            single = _successes(names, for_each(lambda name: self._single(found, name, judge, folds), names), found)
            if not single:
                raise DegenerateDataError(f"No candidate could be compared. {_first_failure(found)}")
            ordered = self._ordered(single)
            ordered = self._ordered(ordered + self._fusions(ordered, found, judge, folds))
            detailed = self._detailed(ordered[:DETAILED], judge)
        return detailed + ordered[DETAILED:], notes

    @_or_why_not
    def _single(self, found: Scored, name: str, judge: Judge, folds: Any) -> System:
        candidate, raw = found.candidates[name], found.scores[name]
        scores = in_classes(raw, len(judge.classes), _floor(candidate, raw))
        calibrated = judge.calibrated(self.calibrator, scores, folds)
        return System(
            name, candidate.family, [candidate], [raw], scores, calibrated, judge.standing(scores, calibrated)
        )

    def _fusions(self, ordered: list[System], found: Scored, judge: Judge, folds: Any) -> list[System]:
        """The best of the best two families fused, of the best three, and so on."""
        best = {kin(system): system for system in reversed(ordered)}
        leaders = sorted(best.values(), key=lambda system: ordered.index(system))[: self.fuse]
        groups = [leaders[:k] for k in range(2, len(leaders) + 1)]
        fused = for_each(lambda members: self._fused(members, judge, folds), groups)
        return _successes([_fusion_of(members) for members in groups], fused, found)

    @_or_why_not
    def _fused(self, members: list[System], judge: Judge, folds: Any) -> System:
        inputs = np.stack([member.scores for member in members], axis=1)
        fused = judge.calibrated(LogisticFusion(), inputs, folds)
        parts, raw = [member.parts[0] for member in members], [member.raw[0] for member in members]
        return System(_fusion_of(members), "fusion", parts, raw, fused, fused, judge.standing(fused, fused))

    def _ordered(self, systems: list[System]) -> list[System]:
        """By cost; of equal cost by Cllr, and then as they came, the simpler first."""
        return sorted(systems, key=lambda system: (cost_of(system.standing, self.by), system.standing.cllr))

    def _detailed(self, ordered: list[System], judge: Judge) -> list[System]:
        """With intervals, and a paired test against the first."""
        details = judge.details([(system.scores, system.calibrated) for system in ordered])
        if any(own.is_constant for own in details):
            warn_of_degenerate_data(NO_MISTAKES)
        return [
            replace(
                system,
                standing=replace(system.standing, intervals=own.intervals()),
                p_value=own.p_value(details[0], self.by) if place else None,
            )
            for place, (system, own) in enumerate(zip(ordered, details, strict=True))
        ]

    def verdict(self, systems: list[System], found: Scored, judge: Judge, there: Judge) -> tuple[Verdict, list[str]]:
        """How all systems do on the evaluation rows, calibrated by what was learned before, and what was said of it."""
        with overheard() as notes:
            return self._verdict(systems, found, judge, there), notes

    def _verdict(self, systems: list[System], found: Scored, judge: Judge, there: Judge) -> Verdict:
        known = [system for system in systems if all(part.name in found.evaluation for part in system.parts)]
        mapped = for_each(lambda system: self._carried(system, found, judge), known)
        judged = [
            Judged(system.name, system.family, there.standing(*scores))
            for system, scores in zip(known, mapped, strict=True)
        ]
        order = sorted(range(len(known)), key=lambda i: (cost_of(judged[i].standing, self.by), judged[i].standing.cllr))
        costs = np.array([cost_of(each.standing, self.by) for each in judged])
        place = 1 + int((costs < costs[0] - 1e-12).sum())
        best, own = there.details([mapped[order[0]], mapped[0]])
        chance = 1.0 if place == 1 else own.p_value(best, self.by)
        p_value = 1.0 if chance is None else min(1.0, chance * max(1, len(known) - 1))
        judged[0] = chosen = replace(judged[0], standing=replace(judged[0].standing, intervals=own.intervals()))
        return Verdict([judged[i] for i in order], chosen, place, p_value, self.by)

    def _carried(self, system: System, found: Scored, judge: Judge) -> tuple[Floats, Floats]:
        """Scores of the evaluation rows, and they calibrated, or fused, by maps trained on the rows compared on."""
        n_classes = len(judge.classes)
        floors = [_floor(part, raw) for part, raw in zip(system.parts, system.raw, strict=True)]
        new = [
            in_classes(found.evaluation[p.name], n_classes, floor)
            for p, floor in zip(system.parts, floors, strict=True)
        ]
        if not system.is_fusion:
            return new[0], judge.trained(self.calibrator, system.scores).transform(new[0])
        old = [in_classes(raw, n_classes, floor) for raw, floor in zip(system.raw, floors, strict=True)]
        fused = judge.trained(LogisticFusion(), np.stack(old, axis=1)).transform(np.stack(new, axis=1))
        return fused, fused


def _successes(names: list[str], made: list[System | Exception], found: Scored) -> list[System]:
    """The systems that could be made; why others could not is written to the failures."""
    found.failures.update({name: reason_of(e) for name, e in zip(names, made, strict=True) if isinstance(e, Exception)})
    return [each for each in made if isinstance(each, System)]


def _fusion_of(members: list[System]) -> str:
    return "fusion: " + " + ".join(kin(member) for member in members)


def kin(system: System) -> str:
    """What a system is one of: its family, or itself, of outside systems, which need not be alike."""
    return system.name if system.family == "outside" else system.family


def _floor(candidate: Candidate, raw: Floats) -> float:
    return -np.inf if candidate.estimator is None else floor_of(raw, candidate.estimator)


def _first_failure(found: Scored) -> str:
    name, reason = next(iter(found.failures.items()), ("", ""))
    return f"The first, {name!r}, failed: {reason}"
