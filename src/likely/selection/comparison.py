"""Result of a comparison: ranked systems, their scores, final models, facts and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from likely._formatting import format_cost
from likely._typing import FrameBackend, Labels
from likely.calibration import LogisticFusion
from likely.decisions import Application
from likely.exceptions import InvalidParameterError, ModelFileError
from likely.features import Encode
from likely.models import CalibratedClassifier, FusedClassifier, make_pipeline
from likely.persistence import check_savable, save
from likely.report import Report
from likely.report.facts import finite_or_none, mark_family_leaders
from likely.resampling.chains import steps_of
from likely.selection.judging import Judge, System, Verdict
from likely.selection.rows import RowSet, ScoringProtocol
from likely.selection.scoring import record_warnings
from likely.tables.frames import make_frame

if TYPE_CHECKING:
    from likely.selection.store import RunStore


@dataclass(frozen=True, eq=False)
class Workings:
    """The data and settings from which final models are made."""

    rows: RowSet
    protocol: ScoringProtocol
    judge: Judge
    calibrator: Any
    encoder: Encode | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Systems compared on the same rows at the same costs, the best first. :func:`likely.compare` returns it.

    Attributes
    ----------
    systems : list of System
        Candidates, and fusions of the best systems of some families, ranked by the measure ``by`` at the applications.
    applications : dict {name: Application}
    by : {"minimum", "actual", "cllr"}
    failures : dict {name: reason}
        Candidates without scores, and why they failed.
    notes : list of str
        Warnings of the library.
    verdict : Verdict or None
        Costs of the systems on the evaluation rows, if there are any.
    record : dict
        Settings, versions, the seconds that each batch of candidates took, and where the best model was saved.
    workings : Workings
        The data and settings from which final models are made.
    target : label or None
        The target of two classes: the class that an application names, else the second class. None for more classes.
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
        """The first system, which has the lowest cost."""
        return self.systems[0]

    def __getitem__(self, name: str) -> System:
        """Return a system by name."""
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
        """Train a system on all rows and calibrate it. By default, this is the best system.

        The model learns from all rows, and its calibrator or fuser from the out-of-fold scores. For an external system,
        or a fusion that contains one, the result is the calibrator or fuser, which takes scores.
        """
        return self._best_model if name is None or name == self.best.name else self._train(self[name])

    @cached_property
    def _best_model(self) -> Any:
        """The best system's model. It is trained once, and then saved, used by the report, and returned to the user."""
        return self._train(self.best)

    def _train(self, system: System) -> Any:
        rows, judged = self.workings.rows, self.workings.protocol.judged
        if _is_outside(system):
            scores = system.scores
            if system.is_fusion:
                scores = np.stack([self[part.name].scores for part in system.parts], axis=1)
            return self.workings.judge.train(self.untrained(system), scores)
        held_out: dict[str, Any] = {"out_of_fold": system.raw}
        if judged is not rows:
            held_out = {"calibration_set": (judged.X, judged.y, judged.weight)}
        return self.untrained(system).fit(rows.X, rows.y, rows.weight, **held_out)

    def untrained(self, system: System) -> Any:
        """Return a system's unfitted model or, for an external system, the unfitted map on its scores."""
        if _is_outside(system):
            return LogisticFusion() if system.is_fusion else self.workings.calibrator
        encoder, estimators = self.workings.encoder, []
        for part in system.parts:
            is_encoded = part.encoded and encoder is not None
            model = make_pipeline(encoder, *steps_of(part.estimator)) if is_encoded else part.estimator
            estimators.append((part.name, model))
        if system.is_fusion:
            return FusedClassifier(estimators)
        return CalibratedClassifier(estimators[0][1], calibrator=self.workings.calibrator)

    def leaderboard(self, backend: FrameBackend | None = None) -> Any:
        """Return a data frame with one row for each system, in order.

        Columns are ``place``, ``system``, ``family``, then for each application ``minimum``, ``actual`` and
        ``uncalibrated`` cost and the ends of the intervals that were computed (``minimum_low``, ...), then
        ``cllr``, ``min_cllr`` and ``p_value``. If there are several applications, the names of cost columns end with
        the name of the application. ``to_dict`` has the same numbers as nested dictionaries.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The kind of frame; by default the first one that is installed.
        """
        rows = [_flatten(row) for row in self.leaderboard_facts()]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return make_frame({name: [row.get(name) for row in rows] for name in names}, backend)

    def leaderboard_facts(self) -> list[dict[str, Any]]:
        """Return the systems in order as plain dictionaries of names and numbers, for pages and files."""
        board = [_row(place, system, list(self.applications)) for place, system in enumerate(self.systems, 1)]
        mark_family_leaders(board)
        return board

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain data."""
        return {
            "classes": self.classes.tolist(),
            "applications": {
                name: {"priors": app.priors.tolist(), "costs": app.costs.tolist()}
                for name, app in self.applications.items()
            },
            "by": self.by,
            "rows": len(self.workings.protocol.judged.y),
            "protocol": self.workings.protocol.description,
            "leaderboard": self.leaderboard_facts(),
            "failures": self.failures,
            "notes": self.notes,
            "evaluation": None if self.verdict is None else self.verdict.to_dict(),
            **self.record,
        }

    def report(self, title: str | None = None, about: dict[str, Any] | None = None) -> Report:
        """Make a report: one page with curves, a decision explorer, the data and findings.

        If the best system has only parts of this library, it is trained once on all rows, to check for overfitting.

        Parameters
        ----------
        title : str, optional
        about : dict, optional
            Its entry ``file``, the name of the data file, is shown on the page.

        Returns
        -------
        Report
            Its ``write(path)`` writes a page (.html), Markdown (.md) or facts (.json).
        """
        from likely.selection.reporting import make_report

        return make_report(self, title, about or {})

    def _repr_html_(self) -> str:
        from likely.selection.reporting import make_brief_report

        return make_brief_report(self)._repr_html_()

    def __repr__(self) -> str:
        first, rows = next(iter(self.applications)), self.leaderboard_facts()[:10]
        width = max(len(row["name"]) for row in rows)
        lines = [f"{len(self.systems)} systems compared by {self.by} cost at {first}:"]
        for row in rows:
            minimum, actual = (format_cost(row["costs"][first][which]) for which in ("minimum", "actual"))
            costs = f"min {minimum}  actual {actual}  Cllr {format_cost(row['cllr'])}"
            lines.append(f"  {row['name']:<{width}}  {costs}")
        return "\n".join(lines)


def _is_outside(system: System) -> bool:
    """Return True if a system is an external system or a fusion that contains one.

    This library cannot train an external system, so the final model is a map on scores.
    """
    return any(part.estimator is None for part in system.parts)


def _row(place: int, system: System, names: Sequence[str]) -> dict[str, Any]:
    standing = system.standing
    costs = {
        name: {
            "minimum": standing.minimum[i],
            "actual": standing.actual[i],
            "uncalibrated": finite_or_none(standing.uncalibrated[i]),
            **{
                f"{which} interval": [finite_or_none(part.low[i]), finite_or_none(part.high[i])]
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
        "cllr": finite_or_none(standing.cllr),
        "min_cllr": finite_or_none(standing.min_cllr),
        "cllr interval": None if around is None else [finite_or_none(around.low), finite_or_none(around.high)],
        "p_value": None if system.p_value is None else finite_or_none(system.p_value),
    }


def _flatten(row: dict[str, Any]) -> dict[str, Any]:
    """Return one row of the data frame {column: value}, made from the facts about a system."""
    flat = {"place": row["place"], "system": row["name"], "family": row["family"]}
    for name, costs in row["costs"].items():
        suffix = f" at {name}" if len(row["costs"]) > 1 else ""
        for which in ("minimum", "actual", "uncalibrated"):
            flat[f"{which}{suffix}"] = costs[which]
            flat |= _ends(which, suffix, costs.get(f"{which} interval"))
    flat |= {"cllr": row["cllr"], **_ends("cllr", "", row["cllr interval"])}
    return flat | {"min_cllr": row["min_cllr"], "p_value": row["p_value"]}


def _ends(which: str, suffix: str, interval: list[float] | None) -> dict[str, float]:
    return {} if interval is None else {f"{which}_low{suffix}": interval[0], f"{which}_high{suffix}": interval[1]}


def save_comparison(comparison: Comparison, store: RunStore, about: dict[str, Any]) -> None:
    """Write the best system's model, the leaderboard, and the report with its facts to the run folder."""
    comparison.record["model"] = _save_best_model(comparison, store, about)
    store.write_json("leaderboard.json", comparison.to_dict())
    with record_warnings():  # the ranking has recorded the same warnings before
        report = comparison.report(about=about)
    store.write_text("report.json", report.json())
    store.write_text("report.html", report.html())


def _save_best_model(comparison: Comparison, store: RunStore, about: dict[str, Any]) -> str | None:
    """Train the best system on all rows and save it in the run folder. If this fails, add a note and return None."""
    path = store.folder / "models" / "best.likely"
    try:
        check_savable(comparison.untrained(comparison.best))
        with record_warnings() as notes:
            model = comparison.model()
        comparison.notes.extend(note for note in notes if note not in comparison.notes)
        save(model, path, about={**about, **describe_best(comparison)})
    except (ModelFileError, OSError) as error:
        path.unlink(missing_ok=True)
        comparison.notes.append(f"The best system is not saved: {error}")
        return None
    return "models/best.likely"


def describe_best(comparison: Comparison) -> dict[str, Any]:
    """Return the description of the best system for its model file."""
    facts = comparison.to_dict()
    return {"system": comparison.best.name, "applications": facts["applications"], "rows": facts["rows"]}
