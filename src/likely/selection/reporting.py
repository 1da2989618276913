"""Facts of a report about a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from likely._validation import encode_labels
from likely.blocks import for_each
from likely.evaluation import Trials
from likely.exceptions import ModelFileError
from likely.persistence import check_savable
from likely.report import Report
from likely.report.columns import column_facts
from likely.report.curves import grid_facts, one_vs_rest_llr, series_facts
from likely.report.explorer import Controls, choose_count_unit, sample_facts
from likely.report.facts import application_facts, describe_mistakes, first_of_each, put_target_last
from likely.report.findings import list_findings, write_verdict
from likely.report.row_findings import Diagnostics
from likely.selection.judging import Judge
from likely.selection.scoring import record_warnings

if TYPE_CHECKING:
    from likely.selection.comparison import Comparison
    from likely.selection.judging import System

MAX_DRAWN, MAX_SAMPLED, MAX_CLASSES_DRAWN = 6, 3, 12
"""For two classes, curves are drawn for at most MAX_DRAWN systems. For more classes, the explorer gets the sampled
scores of at most MAX_SAMPLED systems, and curves are drawn for at most MAX_CLASSES_DRAWN classes."""

MAX_TRAINING_ROWS = 20_000
"""To find overfitting, the best system's cost is computed on its training rows, or on a sample of this many rows if
there are more."""


def make_report(comparison: Comparison, title: str | None, about: dict[str, Any]) -> Report:
    """Make a report with curves, explorer, data and findings."""
    facts = _basic_facts(comparison, title, about)
    subject = _Subject(comparison)
    facts |= subject.binary_facts() if subject.judge.is_binary else subject.multiclass_facts()
    facts["confusion"] = subject.confusion()
    facts["columns"] = subject.columns()
    facts["findings"] = list_findings(facts, subject.diagnostics())
    facts["verdict"] = write_verdict(facts)
    return Report(facts)


def make_brief_report(comparison: Comparison) -> Report:
    """Make a report from facts that need no computation, for a notebook."""
    facts = _basic_facts(comparison, None, {}) | {"findings": []}
    return Report(facts | {"verdict": write_verdict(facts)})


def _basic_facts(comparison: Comparison, title: str | None, about: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that need no further computation."""
    rows, board = comparison.workings.protocol.judged, comparison.leaderboard_facts()
    record, file, target = comparison.record, about.get("file"), _target_position(comparison)
    what = f"{len(board)} systems" if len(board) > 1 else board[0]["name"]
    return {
        "format": 1,
        "title": title or (what if file is None else f"{what} on {file}"),
        "kind": "scores" if _is_outside_only(comparison) else "comparison",
        "about": {
            "rows": len(rows.y),
            "protocol": comparison.workings.protocol.description,
            "by": comparison.by,
            "file": file,
            "versions": record.get("versions", {}),
            "seconds": record.get("seconds", {}),
        },
        "classes": _classes(comparison),
        "target": None if comparison.target is None else str(comparison.target),
        "applications": [application_facts(name, app, target) for name, app in comparison.applications.items()],
        "leaderboard": board,
        "failures": comparison.failures,
        "notes": comparison.notes,
        "evaluation": None if comparison.verdict is None else comparison.verdict.to_dict(),
        "grids": grid_facts(board),
    }


def _classes(comparison: Comparison) -> list[dict[str, Any]]:
    rows, classes = comparison.workings.protocol.judged, comparison.classes
    codes = encode_labels(rows.y)[1]
    counts, weights = (np.bincount(codes, weight, minlength=len(classes)) for weight in (None, rows.weight))
    return [
        {"label": str(label), "python": repr(label), "rows": int(count), "weight": float(weight)}
        for label, count, weight in zip(classes.tolist(), counts, weights, strict=True)
    ]


def _target_position(comparison: Comparison) -> int | None:
    """Return the position of the target among two classes, or None for more classes."""
    return None if comparison.target is None else int(comparison.target == comparison.classes[1])


class _Subject:
    """The systems and rows that a report shows, with methods that compute the facts about these."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison, self.judge = comparison, comparison.workings.judge
        self.rows = comparison.workings.protocol.judged
        self.codes = encode_labels(self.rows.y)[1]
        self.drawn = _choose_drawn(comparison.systems, MAX_DRAWN)
        self.places = {system.name: place for place, system in enumerate(comparison.systems, 1)}
        self.given_first = _is_outside_only(comparison)

    def binary_facts(self) -> dict[str, Any]:
        """Return the facts for two classes: curves of some systems, and their counts for the decision explorer."""
        target = _target_position(self.comparison)
        assert target is not None
        applications = [put_target_last(app, target) for app in self.comparison.applications.values()]
        controls = Controls.for_applications(applications)
        is_target, sign = self.codes == target, 1.0 if target else -1.0

        def facts_of(system: System) -> dict[str, Any]:
            parts = (system.scores, system.calibrated)
            given, calibrated = (Trials(is_target, sign * part, sample_weight=self.rows.weight) for part in parts)
            return self._named(system) | series_facts(given, calibrated, controls)

        unit = choose_count_unit(self.rows.weight)
        totals = np.bincount(is_target, self.rows.weight, minlength=2) / unit
        explorer = {"kind": "binary", "unit": unit, "totals": np.rint(totals).astype(int).tolist()}
        explorer |= {"variant": "given" if self.given_first else "calibrated", **controls.to_dict()}
        return {"series_of": "system", "series": for_each(facts_of, self.drawn), "explorer": explorer}

    def multiclass_facts(self) -> dict[str, Any]:
        """Return the facts for more than two classes.

        These are the best system's curves of each class against all other classes, and the scores that some systems
        give to a sample of rows.
        """
        best, priors = self.comparison.best, self.judge.applications[0].priors
        common = np.argsort(-np.bincount(self.codes), kind="stable")[:MAX_CLASSES_DRAWN]

        def facts_of(k: int) -> dict[str, Any]:
            parts = (one_vs_rest_llr(scores, k, priors) for scores in (best.scores, best.calibrated))
            given, calibrated = (Trials(self.codes == k, llr, sample_weight=self.rows.weight) for llr in parts)
            label = str(self.judge.classes[k])
            return {"name": label, "class": int(k), "family": best.family, "place": 1} | series_facts(given, calibrated)

        shown = self._choose_sampled()
        sample = sample_facts(self.codes, len(self.judge.classes), self.rows.weight, shown)
        explorer = {"kind": "classes", "variant": shown[0]["variant"], **sample}
        return {"series_of": "class", "series": for_each(facts_of, np.sort(common).tolist()), "explorer": explorer}

    def _choose_sampled(self) -> list[dict[str, Any]]:
        """Return the scores that the explorer shows for more than two classes.

        These are the best system's scores in both variants (as given and calibrated), and the scores of some other
        systems in the main variant: calibrated or, if the report is about given scores, as given.
        """
        best, order = self.comparison.best, ("given", "calibrated") if self.given_first else ("calibrated", "given")
        pairs = [(best, which) for which in order]
        pairs += [(system, order[0]) for system in self.drawn[1:]]
        n_shown = MAX_SAMPLED if len(self.judge.classes) <= 10 else 1
        return [
            self._named(system) | {"variant": which, "scores": system.scores if which == "given" else system.calibrated}
            for system, which in pairs[:n_shown]
        ]

    def _named(self, system: System) -> dict[str, Any]:
        return {"name": system.name, "family": system.family, "place": self.places[system.name]}

    def confusion(self) -> list[dict[str, Any]]:
        """Count the decisions of the best system at each application, on all rows."""
        best, labels = self.comparison.best, [str(label) for label in self.judge.classes.tolist()]
        n_classes = len(labels)
        scores = best.scores if self.given_first else best.calibrated
        tables = []
        for name, application in self.comparison.applications.items():
            decided = application.decide_codes(scores) % (n_classes + 1)  # −1 (rejected) becomes the last column
            cells = self.codes * (n_classes + 1) + decided
            counts = np.bincount(cells, self.rows.weight, n_classes * (n_classes + 1)).reshape(n_classes, -1)
            table: dict[str, Any] = {"application": name, "system": best.name, "counts": counts.round(6).tolist()}
            tables.append(table | {"mistakes": describe_mistakes(table["counts"], labels)})
        return tables

    def columns(self) -> dict[str, Any] | None:
        """Return the facts about the columns, if there are any."""
        labels = [str(label) for label in self.judge.classes.tolist()]
        return column_facts(self.rows.numbers, self._column_names(), self.codes, labels, self.rows.weight)

    def _column_names(self) -> list[str]:
        encoder = self.comparison.workings.encoder
        if encoder is not None:
            return [str(name) for name in encoder.get_feature_names_out()]
        return [f"column {i + 1}" for i in range(self.rows.numbers.shape[1])]

    def diagnostics(self) -> Diagnostics:
        """Return the data that findings are computed from."""
        protocol = self.comparison.workings.protocol
        best = self.comparison.best
        return Diagnostics(
            self.codes,
            self.rows.weight,
            self.judge.applications,
            best.scores if self.given_first else best.calibrated,
            protocol.tests,
            self.rows.numbers if self.rows.numbers.shape[1] else None,
            self.rows.groups,
            self._training_costs(),
        )

    def _training_costs(self) -> list[float] | None:
        """Compute the best system's minimum costs on its training rows. Return None if it cannot score them."""
        rows = self.comparison.workings.rows
        if not _is_savable(self.comparison):
            return None
        if len(rows.y) > MAX_TRAINING_ROWS:
            kept = np.sort(np.random.default_rng(0).choice(len(rows.y), MAX_TRAINING_ROWS, replace=False))
            rows = rows.of_rows(kept)
        with record_warnings():
            try:
                model = self.comparison.model()
                scores = model.llr(rows.X) if self.judge.is_binary else model.log_likelihood(rows.X)
            except Exception:  # noqa: BLE001  a third-party model may raise anything, and only one finding depends on it
                return None
        judge = Judge(rows, self.judge.classes, self.judge.applications)
        return judge.measure(scores, scores).minimum


def _is_outside_only(comparison: Comparison) -> bool:
    """Return True if all systems are external systems, so that the report is about given scores."""
    return all(part.estimator is None for system in comparison.systems for part in system.parts)


def _is_savable(comparison: Comparison) -> bool:
    """Return True if all parts of the best system are estimators of this library.

    Only then is the system trained again for the report, because third-party parts may take long to train.
    """
    if any(part.estimator is None for part in comparison.best.parts):
        return False
    try:
        check_savable(comparison.untrained(comparison.best))
    except ModelFileError:
        return False
    return True


def _choose_drawn(systems: list[System], max_drawn: int) -> list[System]:
    """Return at most ``max_drawn`` systems, in the order of the leaderboard.

    The best system of each family is chosen first. If there are fewer families, the next best systems are added.
    """
    leaders = first_of_each(systems, lambda system: system.family_key)[:max_drawn]
    others = [system for system in systems if system not in leaders][: max_drawn - len(leaders)]
    return [system for system in systems if system in leaders or system in others]
