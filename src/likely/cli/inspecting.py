"""The facts about files, as plain dictionaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from likely.cli.modelling import table_of
from likely.cli.words import listing
from likely.persistence import load, read_about
from likely.tables import ColumnSummary

__all__ = ["data_facts", "model_facts"]


def data_facts(path: Path, target: str | None) -> dict[str, Any]:
    """What a data file holds, and what a comparison of models would make of it."""
    table, labels = table_of(path, target)
    classes, counts = np.unique(np.empty(0) if labels is None else labels, return_counts=True)
    return {
        "file": str(path),
        "rows": table.n,
        "target": target,
        "classes": dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "missing": column.n_missing,
                "distinct": column.n_distinct,
                "example": column.example,
            }
            for column in table.columns
        ],
        "plan": _plan(table.columns, table.n, None if labels is None else len(counts)),
    }


def _plan(columns: tuple[ColumnSummary, ...], n: int, n_classes: int | None) -> list[str]:
    """What likely compare would do with the columns, and what it would rather not have."""
    texts = [c for c in columns if c.kind == "category"]
    found = {
        "Categories become indicators, one for each value": [c.name for c in texts],
        "Missing numbers are filled in, where a model needs them": [
            c.name for c in columns if c.kind == "number" and 0 < c.n_missing < n
        ],
        "Without any value; leave out with --exclude": [c.name for c in columns if c.n_missing == n],
        "The same in every row, so of no use": [c.name for c in columns if c.n_distinct == 1 and not c.n_missing],
        "A text of its own in most rows, as a name has; leave out with --exclude": [
            c.name for c in texts if n >= 20 and 2 * (c.n_distinct or 0) > n
        ],
    }
    said = [f"{what}: {listing(names)}." for what, names in found.items() if names]
    if n_classes == 1:
        said.append("The target has a single class, so there is nothing to tell apart.")
    if n_classes is not None and n_classes > 20 and 2 * n_classes > n:
        said.append(
            f"The target has {n_classes} distinct values: it looks like a quantity or a name, not like classes."
        )
    return said


def model_facts(path: Path) -> dict[str, Any]:
    """What a model file holds."""
    model, said = load(path), read_about(path)
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return {
        "file": str(path),
        "kind": said["kind"],
        "library": said["library"],
        "classes": said["classes"],
        "n_features": said["n_features"],
        "features": said["feature_names"],
        "steps": [" ".join(repr(step).split()) for step in steps],
        "about": said["about"],
        "n_bytes": said["n_bytes"],
    }
