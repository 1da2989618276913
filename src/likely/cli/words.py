"""Words for people: counts in grammar, labels that fit a line whatever they hold, options for parameters."""

from __future__ import annotations

import re
from pathlib import Path

from likely._formatting import escape_controls, format_label
from likely._formatting import format_count as counted
from likely._formatting import format_names as listing

__all__ = ["as_options", "counted", "listing", "shown", "stem"]

_NAMED = {
    "target": "--target",
    "exclude": "--exclude",
    "categories": "--category",
    "column": "--column",
    "columns": "--column",
    "label": "--label",
    "labels": "--label",
    "groups": "--group",
    "weight": "--weight",
    "scores": "--scores",
}
"""What the library calls the parameters that name columns, and the options that do so here."""

_OPTIONS = [
    (re.compile(rf"(?<![\w'\"-])({'|'.join(_NAMED)})=(?:/--\w+)?(?=[\s.,;:)]|$)"), lambda m: _NAMED[m[1]]),
    (re.compile(rf"(?<![\w'\"-])({'|'.join(_NAMED)})=(?=['\"])"), lambda m: f"{_NAMED[m[1]]} "),
    (re.compile(r"(?<![\w'\"-])(?:folds|n_splits)=(\d+)"), lambda m: f"--folds {m[1]}"),
    (re.compile(r"\bwith restart\b"), lambda m: "with --restart"),
    (re.compile(r"^fuse and seed must be"), lambda m: "--fuse and --seed must be"),
    (re.compile(r"^(by|folds) must be"), lambda m: f"--{m[1]} must be"),
    (re.compile(r"^(evaluation|held_out)(?= must |: )"), lambda m: f"--{m[1].replace('_', '-')}"),
    (re.compile(r", a splitter or 'leave-one-out'"), lambda m: " or leave-one-out"),
    (re.compile(r"'([^']{60})[^']{240,}'"), lambda m: f"'{m[1]}…'"),
]


def as_options(message: str) -> str:
    """A message of the library in terms of the command's options, on one line.

    Examples
    --------
    >>> as_options("data.csv must have a column of labels 'x', but its columns are 'a', 'b'. Name it with target=.")
    "data.csv must have a column of labels 'x', but its columns are 'a', 'b'. Name it with --target."
    >>> as_options("To go on, set folds=3, or start afresh with restart.")
    'To go on, set --folds 3, or start afresh with --restart.'
    """
    said = escape_controls(" ".join(message.split()))
    for pattern, option in _OPTIONS:
        said = pattern.sub(option, said)
    return said


def shown(label: object, most: int = 40) -> str:
    """A label on one line."""
    return format_label(label, most)


def stem(file: Path) -> str:
    """The name of a file without the endings that tell its kind.

    Examples
    --------
    >>> stem(Path("data/results.2024.csv.gz")), stem(Path(".csv"))
    ('results.2024', 'likely')
    """
    kinds = {".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".npz", ".gz"}
    name = file.name
    while Path("x" + name).suffix.lower() in kinds:
        name = name[: -len(Path("x" + name).suffix)]
    return name or "likely"
