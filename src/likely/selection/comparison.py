"""What comes of a comparison: systems in order, their scores, and final models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likely._typing import Floats, Labels
from likely.calibration import LogisticFusion
from likely.decisions import Application
from likely.exceptions import InvalidParameterError
from likely.features import Encode
from likely.models import CalibratedClassifier, FusedClassifier, make_pipeline
from likely.report import Report
from likely.resampling.chains import steps_of
from likely.selection.candidates import Candidate
from likely.selection.data import RowSet
from likely.selection.judging import Judge, Standing
from likely.selection.protocols import Protocol
from likely.selection.verdicts import Verdict, finite

__all__ = ["Comparison", "System", "Workings"]


@dataclass(frozen=True, eq=False)
class System:
    """A candidate with its scores, or several fused, and what they cost.

    Attributes
    ----------
    name, family : str
    parts : list of Candidate
        One, or those that are fused.
    raw : list of array
        Out-of-fold scores of each part, as it gave them.
    scores : array of shape (n,) for two classes, else (n, n_classes)
        Those of a single part; of a fusion, its own.
    calibrated : array of the same shape
        Calibrated by maps that have not seen the row's fold.
    standing : Standing
        What it costs.
    p_value : float or None
        Of the paired difference to the best system, where it was tested.
    """

    name: str
    family: str
    parts: list[Candidate]
    raw: list[Floats]
    scores: Floats
    calibrated: Floats
    standing: Standing
    p_value: float | None = None

    @property
    def is_fusion(self) -> bool:
        return len(self.parts) > 1


@dataclass(frozen=True, eq=False)
class Workings:
    """What final models are made from: the rows, who scored which of them, the judge of scores, and the maps."""

    rows: RowSet
    protocol: Protocol
    judge: Judge
    calibrator: Any
    encoder: Encode | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Systems compared on the same rows at the same costs, the best first; made by :func:`likely.compare`.

    Attributes
    ----------
    systems : list of System
        In the order of ``by`` at the applications: candidates, and fusions of the best of some families.
    applications : dict {name: Application}
    by : {"minimum", "actual", "cllr"}
    failures : dict {name: reason}
        Candidates that have no scores.
    notes : list of str
        What the library said on the way.
    verdict : Verdict or None
        How the systems did on the evaluation rows, if there were any.
    record : dict
        Settings, versions, what each batch of candidates took, and where the best model was saved.
    workings : Workings
        What final models are made from.
    target : label or None
        Of two classes, the one that applications speak of: named by them, or else the second.
    """

    systems: list[System]
    applications: dict[str, Application]
    by: str
    failures: dict[str, str]
    notes: list[str]
    verdict: Verdict | None
    record: dict[str, Any]
    workings: Workings
    target: Any = None

    @property
    def classes(self) -> Labels:
        """The labels, sorted."""
        return self.workings.judge.classes

    @property
    def best(self) -> System:
        """The system that costs least."""
        return self.systems[0]

    def __getitem__(self, name: str) -> System:
        """A system by name."""
        for system in self.systems:
            if system.name == name:
                return system
        reason = f" It failed: {self.failures[name]}" if name in self.failures else " See systems."
        raise InvalidParameterError(f"The comparison has no system {name!r}.{reason}")

    def __iter__(self) -> Iterator[System]:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    def model(self, name: str | None = None) -> Any:
        """A system trained on everything and calibrated, ready to save and to decide: by default the best.

        The model learns from all rows; its calibrator, or fuser, from the out-of-fold scores. Of an outside system, or
        of a fusion that has one, it is the calibrator or fuser, which takes scores.
        """
        return self._best_model if name is None or name == self.best.name else self._trained(self[name])

    @cached_property
    def _best_model(self) -> Any:
        """Trained once: it is saved, looked at again by the report, and given to the user."""
        return self._trained(self.best)

    def _trained(self, system: System) -> Any:
        if any(part.estimator is None for part in system.parts):
            return self._trained_map(system)
        rows, judged = self.workings.rows, self.workings.protocol.judged
        held_out: dict[str, Any] = {"out_of_fold": system.raw}
        if judged is not rows:
            held_out = {"calibration_set": (judged.X, judged.y, judged.weight)}
        return self.untrained(system).fit(rows.X, rows.y, rows.weight, **held_out)

    def untrained(self, system: System) -> Any:
        """A system's model before it learns, or of an outside system the map on its scores."""
        if any(part.estimator is None for part in system.parts):
            return LogisticFusion() if system.is_fusion else self.workings.calibrator
        estimators = [(part.name, self._final(part)) for part in system.parts]
        if system.is_fusion:
            return FusedClassifier(estimators)
        return CalibratedClassifier(estimators[0][1], self.workings.calibrator)

    def _trained_map(self, system: System) -> Any:
        """The calibrator, or fuser, of a system that has no model, trained on all its scores."""
        scores = system.scores
        if system.is_fusion:
            scores = np.stack([self[part.name].scores for part in system.parts], axis=1)
        return self.workings.judge.trained(self.untrained(system), scores)

    def _final(self, part: Candidate) -> Any:
        """A candidate's estimator, for rows as they were given."""
        if not part.encoded or self.workings.encoder is None:
            return part.estimator
        return make_pipeline(self.workings.encoder, *steps_of(part.estimator))

    def leaderboard(self) -> list[dict[str, Any]]:
        """The systems in order as plain dictionaries of names and numbers: for tables and files."""
        return [_row(place, system, list(self.applications)) for place, system in enumerate(self.systems, 1)]

    def to_dict(self) -> dict[str, Any]:
        """All that came out, as plain data."""
        return {
            "classes": self.classes.tolist(),
            "applications": {name: _application(app) for name, app in self.applications.items()},
            "by": self.by,
            "rows": len(self.workings.protocol.judged.y),
            "protocol": self.workings.protocol.said,
            "leaderboard": self.leaderboard(),
            "failures": self.failures,
            "notes": self.notes,
            "evaluation": None if self.verdict is None else self.verdict.to_dict(),
            **self.record,
        }

    def report(self, title: str | None = None, about: dict[str, Any] | None = None) -> Report:
        """All that came out as one page, with curves, a decision explorer, the data and findings.

        A best system of this library's parts is trained on everything, if it has not been, to see whether it has
        learned its rows by heart.

        Parameters
        ----------
        title : str, optional
        about : dict, optional
            The name of the data's ``file``, to be told on the page.

        Returns
        -------
        Report
            With ``write(path)``, for a page (.html), Markdown (.md) or facts (.json).
        """
        from likely.selection.reporting import report_of

        return report_of(self, title, about or {})

    def _repr_html_(self) -> str:
        from likely.selection.reporting import brief_report

        return brief_report(self)._repr_html_()

    def __repr__(self) -> str:
        first = next(iter(self.applications))
        lines = [f"{len(self.systems)} systems compared by {self.by} cost at {first}:"]
        width = max(len(system.name) for system in self.systems[:10])
        lines += [f"  {system.name:<{width}}  {_numbers(system)}" for system in self.systems[:10]]
        return "\n".join(lines)


def _numbers(system: System) -> str:
    standing = system.standing
    return f"min {standing.minimum[0]:.3f}  actual {standing.actual[0]:.3f}  Cllr {standing.cllr:.3f}"


def _row(place: int, system: System, names: Sequence[str]) -> dict[str, Any]:
    standing = system.standing
    costs = {
        name: {
            "minimum": standing.minimum[i],
            "actual": standing.actual[i],
            "uncalibrated": finite(standing.uncalibrated[i]),
            **{
                f"{which} interval": [finite(part.low[i]), finite(part.high[i])]
                for which, part in standing.intervals.items()
                if which != "cllr"
            },
        }
        for i, name in enumerate(names)
    }
    around = standing.intervals.get("cllr")
    return {
        "place": place,
        "name": system.name,
        "family": system.family,
        "settings": system.parts[0].settings if not system.is_fusion else {"of": [part.name for part in system.parts]},
        "costs": costs,
        "cllr": finite(standing.cllr),
        "min_cllr": finite(standing.min_cllr),
        "cllr interval": None if around is None else [finite(around.low), finite(around.high)],
        "p_value": None if system.p_value is None else finite(system.p_value),
    }


def _application(application: Application) -> dict[str, Any]:
    return {"priors": application.priors.tolist(), "costs": application.costs.tolist()}
