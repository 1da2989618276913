"""What a run leaves behind besides scores: what it depended on, how it was set, and the best system's model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
import sklearn

from likely._typing import Labels
from likely._version import library_version
from likely.exceptions import ModelFileError
from likely.persistence import check_savable, save
from likely.selection.batches import overheard
from likely.selection.candidates import Candidate
from likely.selection.comparison import Comparison
from likely.selection.data import RowSet
from likely.selection.protocols import Protocol
from likely.selection.ranking import Ranking
from likely.selection.store import RunStore

__all__ = ["about_best", "identity", "keep_report", "kept_model", "settings"]


def identity(rows: RowSet, protocol: Protocol, classes: Labels) -> dict[str, Any]:
    """What the pieces of a run depend on, besides the candidates, which each piece names."""
    return {
        "format": 1,
        "rows": len(rows.y),
        "features": int(rows.numbers.shape[1]),
        "classes": [str(label) for label in classes.tolist()],
        "data": rows.fingerprint,
        "folds": protocol.identity,
        "versions": _versions(),
    }


def kept_model(comparison: Comparison, store: RunStore, about: dict[str, Any]) -> str | None:
    """The best system, trained on everything, in the run's folder; None, with a note, where it cannot be saved."""
    path = store.folder / "models" / "best.likely"
    try:
        check_savable(comparison.untrained(comparison.best))
        with overheard() as notes:
            model = comparison.model()
        comparison.notes.extend(note for note in notes if note not in comparison.notes)
        save(model, path, about={**about, **about_best(comparison)})
    except (ModelFileError, OSError) as error:
        path.unlink(missing_ok=True)
        comparison.notes.append(f"The best system is not saved: {error}")
        return None
    return "models/best.likely"


def keep_report(comparison: Comparison, store: RunStore, about: dict[str, Any]) -> None:
    """The page and its facts in the run's folder."""
    with overheard():  # what the library says when the page is made was said when systems were judged
        report = comparison.report(about=about)
    store.write_text("report.json", report.json())
    store.write_text("report.html", report.html())


def about_best(comparison: Comparison) -> dict[str, Any]:
    """What the file of the best system's model says of it."""
    facts = comparison.to_dict()
    return {"system": comparison.best.name, "applications": facts["applications"], "rows": facts["rows"]}


def settings(ranking: Ranking, seed: int, candidates: list[Candidate]) -> dict[str, Any]:
    """How a comparison was set, for those who read it later."""
    names = [candidate.name for candidate in candidates]
    chosen = {"fuse": ranking.fuse, "seed": seed, "calibrator": str(ranking.calibrator), "candidates": names}
    return {"settings": chosen, "versions": _versions()}


def _versions() -> dict[str, str]:
    return {
        "likely": library_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
