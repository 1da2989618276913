"""Files of scores, and the maps on scores that ``calibrate`` and ``fuse`` learn, save and apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likely._formatting import format_names
from likely.cli.app import check_output, note, writing
from likely.cli.options import CommandError, MapOptions, target_of
from likely.cli.rendering import print_json, write_file

if TYPE_CHECKING:
    from likely._typing import Floats, Labels


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of several systems about two classes, or of one system about each of several classes.

    Attributes
    ----------
    labels : array of shape (n,), or None
    scores : array of shape (n, columns)
        For two classes, one column of log-likelihood ratios for each system. For more classes, one column of
        log-likelihoods for each class.
    names : tuple of str
        Names of the columns: the systems or the classes.
    classes : list of labels, sorted
        The classes. The list is empty until they are known.
    target : label or None
        Of two classes, the class that high scores favour.
    """

    labels: Labels | None
    scores: Floats
    names: tuple[str, ...]
    classes: Sequence[Any] = ()
    target: Any = None

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, so that the columns are systems."""
        return len(self.classes) == 2

    @property
    def counts(self) -> dict[Any, int]:
        """The number of rows of each class."""
        return {label: int((self.labels == label).sum()) for label in self.classes}

    @property
    def ordered_classes(self) -> list[Any]:
        """The classes in the order of the scores in :attr:`evidence`. Of two classes, the target is last."""
        if self.target is None:
            return list(self.classes)
        return [*(label for label in self.classes if label != self.target), self.target]

    @property
    def evidence(self) -> Floats:
        """The scores of a single system: llrs of shape (n,) for two classes, else log-likelihoods (n, classes)."""
        return self.scores[:, 0] if self.is_binary else self.scores

    def systems(self) -> dict[str, Floats]:
        """Return the columns by name."""
        return dict(zip(self.names, self.scores.T, strict=True))

    def columns(self, label: str = "label") -> dict[str, Any]:
        """Return the columns to write: labels, if there are any, and scores."""
        import numpy as np

        labels = {} if self.labels is None else {label: self.labels}
        return labels | dict(zip(self.names, np.ascontiguousarray(self.scores.T), strict=True))


def read_labelled(path: Path, label: str, columns: Sequence[str] | None, positive: str | None) -> Scores:
    """Read labels and scores, and find the classes."""
    from likely.tables import read_scores

    table = read_scores(path, label, columns or None)
    return find_classes(Scores(table.labels, table.scores, table.names), positive)


def read_any(path: Path, label: str, columns: Sequence[str] | None) -> Scores:
    """Read scores, and labels if the file has them."""
    import numpy as np

    from likely.tables import read_scores
    from likely.tables.columns import read_columns
    from likely.tables.files import find_file, read_header, suggest_name

    file = find_file(path)
    header = read_header(file)
    if label in header:
        table = read_scores(file, label, columns or None)
        return Scores(table.labels, table.scores, table.names)
    names = list(columns or header)
    for name in names:
        if name not in header:
            raise CommandError(
                f"{path} has no column {name!r}. Its columns are {format_names(header)}.{suggest_name(name, header)}"
            )
    read = read_columns(file, names)
    return Scores(None, np.column_stack([read.scores(name, "columns") for name in names]), tuple(names))


def find_classes(table: Scores, positive: str | None = None) -> Scores:
    """Find the classes of labelled scores.

    If all labels are names of columns, the classes are the names of the columns. Otherwise, they are the two labels.

    Two columns that are named after the two classes are one system. Its llr is their difference.
    """
    import numpy as np

    distinct = np.unique(table.labels).tolist()  # type: ignore[arg-type]
    classes = _named_classes(distinct, table.names)
    if classes is None:
        _check_two(distinct, table.names)
        return replace(table, classes=distinct, target=target_of(positive, distinct))
    at = [table.names.index(str(label)) for label in classes]
    found = Scores(table.labels, table.scores[:, at], tuple(map(str, classes)), classes)
    return found if len(classes) > 2 else as_llr(found, target_of(positive, classes))


def as_llr(table: Scores, target: Any) -> Scores:
    """Turn the log-likelihoods of two classes into the llrs of one system, which are high for the target."""
    from likely._numerics import difference

    at = table.classes.index(target)
    llr = difference(table.scores[:, at], table.scores[:, 1 - at])[:, None]
    return replace(table, scores=llr, names=("llr",), target=target)


def as_systems(table: Scores, classes: Sequence[Any], target: Any) -> Scores:
    """Turn the scores of two classes into llrs, if there is one column for each class."""
    names = [str(label) for label in classes]
    if sorted(table.names) != sorted(names):
        return table
    by_class = replace(table, classes=list(table.names))
    return replace(as_llr(by_class, names[1] if target is None else str(target)), classes=(), target=None)


def has_classes(table: Scores) -> bool:
    """Return whether there are labels of at least two classes, so that the scores can be evaluated."""
    return table.labels is not None and len(set(table.labels.tolist())) > 1


def _named_classes(distinct: Sequence[Any], names: Sequence[str]) -> list[Any] | None:
    """Return the sorted classes that are names of columns, or None if a label has no column."""
    known = {str(label): label for label in distinct}
    if len(names) < 2 or not known.keys() <= set(names):
        return None
    whole = all(isinstance(label, int) for label in distinct)
    if whole and not all(name in known or name.isdecimal() for name in names):
        return None
    return sorted(known.get(name, int(name) if whole else name) for name in names)


def _check_two(distinct: list[Any], names: Sequence[str]) -> None:
    if len(distinct) > 2:
        raise CommandError(
            f"The {len(distinct)} classes are {format_names(distinct)}. Each class needs a column of log-likelihoods "
            f"with the name of the class, but the columns are {format_names(names)}. Rename the columns, or "
            "use --column."
        )
    if len(distinct) < 2:
        raise CommandError(
            f"Evaluation needs rows of at least two classes, but all labels are {format_names(distinct)}."
        )


# Maps

MapOutput = tuple[dict[str, Any], dict[str, Any]]
"""The columns to write, and the facts to show."""

_COMMANDS = {
    "AffineCalibrator": "calibrate",
    "IsotonicCalibrator": "calibrate",
    "LogisticFusion": "fuse",
    "TailCalibrator": "calibrate",
}
"""The command that applies each kind of saved map."""


def run_map(
    path: Path,
    how: MapOptions,
    learn: Callable[[Path, MapOptions], MapOutput],
    apply: Callable[[Path, MapOptions, Path], MapOutput],
    show: Callable[[dict[str, Any]], None],
) -> None:
    """Learn a map from scores, or apply a saved map. Write the mapped scores, and show how good they are."""
    if how.using is not None and how.save is not None:
        raise CommandError(
            "--using applies a saved map and learns no map, so there is nothing to save. Remove --using or --save."
        )
    check_output(how.output)
    if how.save is not None:
        check_output(how.save, ".likely")
    columns, facts = learn(path, how) if how.using is None else apply(path, how, how.using)
    write_file(how.output, columns)
    facts = {"file": str(path), "output": str(how.output), **facts}
    print_json(facts) if how.as_json else show(facts)


def read_to_learn(path: Path, how: MapOptions) -> Scores:
    """Read the labelled scores that a map is learned from."""
    table = read_any(path, how.label, how.column)
    if table.labels is None:
        raise CommandError(
            f"{path} has no column {how.label!r}. A map is learned from labels. Name the column of labels with "
            "--label, or apply a saved map with --using."
        )
    return find_classes(table, how.positive)


def learn_map(untrained: Any, scores: Floats, table: Scores, folds: int) -> tuple[Any, Floats]:
    """Return a map learned from all rows, and the mapped scores. Each score's map was learned from other folds."""
    from likely.resampling import kfold_calibrate

    is_reversed = table.is_binary and table.target != table.classes[1]
    truth: Any = table.labels == table.target if is_reversed else table.labels
    return untrained.fit(scores, truth), kfold_calibrate(untrained, scores, truth, folds)


def save_map(trained: Any, path: Path, command: str, table: Scores, label: str) -> None:
    """Save a map with a description of its input."""
    from likely.persistence import save

    about = {
        "made_by": f"likely {command}",
        "target": label,
        "positive": table.target,
        "columns": list(table.names),
    }
    with writing(path):
        save(trained, path, about=about)


def load_map(path: Path, command: str) -> tuple[Any, dict[str, Any]]:
    """Load a map and its description. Raise if the map is not for this command."""
    from likely.persistence import load, read_about

    found, about = load(path), read_about(path)["about"] or {}
    kind = type(found).__name__
    if _COMMANDS.get(kind) != command:
        remedy = f"Use 'likely {_COMMANDS[kind]}' with --using." if kind in _COMMANDS else "Use 'likely score'."
        raise CommandError(f"{str(path)!r} is of kind {kind}, which cannot {command} scores. {remedy}")
    if about.get("positive") is not None:
        about["positive"] = str(about["positive"])  # options are texts
    return found, about


def apply_to_target(trained: Any, about: dict[str, Any], scores: Floats) -> Floats:
    """Map scores that are high for the target.

    A map that ``compare`` saved takes scores that are high for the second class. If the target is the first class, the
    sign is changed before and after the map.
    """
    is_reversed = "system" in about and about.get("positive") == str(trained.classes_[0])
    mapped: Floats = -trained.transform(-scores) if is_reversed else trained.transform(scores)
    return mapped


def cllrs(table: Scores, columns: dict[str, Floats]) -> list[dict[str, Any]]:
    """Compute the Cllr of each column of two-class scores, and the minimum of the Cllr over all monotone maps."""
    from likely.evaluation import Trials

    trials = {name: Trials(table.labels, column, pos_label=table.target) for name, column in columns.items()}
    return [{"name": name, "cllr": each.cllr(), "min_cllr": each.min_cllr()} for name, each in trials.items()]


def note_reversal(weights: dict[str, float]) -> None:
    """Note the systems that score the target lower than the other class. Their map changes the sign of the scores."""
    reversed_names = [name for name, weight in weights.items() if weight < 0]
    if reversed_names:
        note(
            f"The scores of {format_names(reversed_names)} are lower for the target, so the map changes their sign. If "
            "high scores should mean the other class, name this class with --positive."
        )
