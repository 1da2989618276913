"""Saved models, and the rows that are put before them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely._numerics import difference
from likely._typing import Floats, Labels
from likely.cli.applications import target_of
from likely.cli.guarding import note
from likely.cli.unseen import note_unseen
from likely.cli.words import shown
from likely.exceptions import ModelFileError, TableError
from likely.persistence import load, read_about
from likely.tables import DataTable, read_data
from likely.tables.files import check_present, existing, read_header

__all__ = ["RowEvidence", "header_of", "is_model", "said_of_llr", "scored", "table_of", "trained_target"]


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """Evidence about rows, of a model or from a file.

    Attributes
    ----------
    classes : list of labels
    target : label or None
        Of two classes.
    evidence : array of shape (n,), llrs of the target, or (n, classes)
    labels : array of shape (n,), or None
    """

    classes: list[Any]
    target: Any
    evidence: Floats
    labels: Labels | None

    def order(self) -> list[Any]:
        """The classes, the target last, as the evidence is laid out."""
        if self.target is None:
            return self.classes
        return [*(label for label in self.classes if label != self.target), self.target]

    def columns(self) -> dict[str, Any]:
        """The columns to write: labels, if there are any, and evidence."""
        labels = {} if self.labels is None else {"label": self.labels}
        if self.evidence.ndim == 1:
            return labels | {"llr": self.evidence}
        return labels | dict(zip(map(str, self.classes), np.ascontiguousarray(self.evidence.T), strict=True))


def scored(model: Path, file: Path, label: str | None, positive: str | None) -> RowEvidence:
    """A saved model's evidence about the rows of a file; llrs are of the class named, or else of the second."""
    found, about = _loaded(model)
    classes = found.classes_.tolist()
    X, labels = _rows(found, about, file, label)
    note_unseen(found, X)
    evidence = found.log_likelihood(X)
    if len(classes) > 2:
        return RowEvidence(classes, None, evidence, labels)
    target = target_of(positive, classes)
    at = classes.index(target)
    return RowEvidence(classes, target, difference(evidence[:, at], evidence[:, 1 - at]), labels)


def said_of_llr(found: RowEvidence) -> str:
    """Which way the llrs of two classes point, and what the verbs that read them must be told of it."""
    other, target = found.order()
    said = f"llr: {shown(target)} against {shown(other)}"
    if target == found.classes[1]:
        return said
    return f"{said}; give --positive {shlex.quote(shown(target))} to the commands that read it, too"


def trained_target(model: Path) -> str | None:
    """The target of two classes that a model was trained for, if that is known."""
    about = read_about(model)
    named = (about["about"] or {}).get("positive")
    return None if named is None or len(about["classes"] or ()) != 2 else str(named)


def is_model(path: Path) -> bool:
    """Whether a file holds a model: its name says so, or is no table's while its content begins like a model's."""
    if path.suffix.lower() == ".likely":
        return True
    try:
        existing(path, ".npz")
    except TableError:
        return path.is_file() and _begins_like_a_model(path)
    return False


def _begins_like_a_model(path: Path) -> bool:
    with open(path, "rb") as file:
        start = file.read(9)
    return len(start) == 9 and start.endswith(b"{") and int.from_bytes(start[:8], "little") < path.stat().st_size


def _loaded(path: Path) -> tuple[Any, dict[str, Any]]:
    model = load(path)
    kind = type(model).__name__
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        raise ModelFileError(f"{str(path)!r} is of kind {kind}, which maps scores, not rows. Use --using.")
    if not hasattr(model, "log_likelihood"):
        raise ModelFileError(
            f"{str(path)!r} is of kind {kind}, which gives no evidence. Save it in a CalibratedClassifier."
        )
    return model, read_about(path)["about"] or {}


def _rows(model: Any, about: dict[str, Any], path: Path, label: str | None) -> tuple[Any, Labels | None]:
    """The features of a file, and its labels if it has any."""
    header = header_of(path)
    named = label if label is not None else about.get("target")
    if label is not None:
        check_present(path, header, label, "of labels", "label")
    elif named not in header:
        named = None
    if path.suffix.lower() == ".npz":
        table = read_data(path, named)
        return table.X, table.labels
    features = [str(name) for name in getattr(model, "feature_names_in_", ())]
    return _columns(path, named, label is not None, features if set(features) <= set(header) else [])


def _columns(path: Path, label: str | None, needed: bool, features: list[str]) -> tuple[Any, Labels | None]:
    # Without a target: rows to be scored may lack what rows to learn from must have.
    try:
        table = read_data(path, groups=label, features=features or None)
    except TableError:
        if label is None or needed:
            raise
        table = read_data(path, exclude=[label], features=features or None)
        note(f"Some rows have no label in column {label!r}, so labels are not carried along.")
        return table.X, None
    return table.X, table.groups


def header_of(path: Path) -> list[str]:
    """The names of a file's columns, or of a .npz's arrays."""
    file = existing(path, ".npz")
    if file.suffix.lower() != ".npz":
        return read_header(file)
    with np.load(file, allow_pickle=False) as arrays:
        return list(getattr(arrays, "files", []))


def table_of(path: Path, target: str | None) -> tuple[DataTable, Labels | None]:
    """A data file to look at, with the labels of a column, whatever its features are like."""
    if existing(path, ".npz").suffix.lower() == ".npz":
        table = read_data(path, target)
        return table, table.labels
    if target is not None:
        check_present(path, header_of(path), target, "of labels", "target")
    table = read_data(path, groups=target)
    return table, table.groups
