"""Options that several commands share, and the applications (priors and costs) that the options describe.

A group of options is a dataclass. A command takes the whole group as one parameter.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from likely._formatting import format_label, format_names

if TYPE_CHECKING:
    from likely.decisions import Application


class CommandError(Exception):
    """A mistake in the options or files of a command. The message is printed without a traceback."""


_POSITIVE = "Target of two classes. Default: the second in sorted order."
_APPLICATION = "Priors and costs of two classes in one text: prior=0.1,cost_fn=10,cost_fp=1. Repeatable."
_PRIORS = "Priors of any number of classes: a=0.2,b=0.5,c=0.3. Default: equal."
_SCORES = "Column with the scores of another system. Of two classes, the target has high scores. Repeatable."
_REJECT_COST = "Cost of rejecting a row, that is of making no decision. Not for compare and fit."
_MAP_PRIOR = "Prior of the target. The map is optimised for this prior. Default: 0.5."
_SAVE = "Save the map learned from all rows to a .likely file."
_USING = "Apply a saved map instead of learning one. Labels are not needed."
_COSTS_FILE = "Table of costs. Its header and first column hold labels. Rows are true classes, columns are decisions."
_GROUP = "Column that has the same value in rows that depend on each other, such as rows of one speaker."

DataFile = Annotated[Path, typer.Argument(metavar="FILE", help="Rows to learn from: CSV, TSV, Parquet, Arrow, npz.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", metavar="NAME", help="Column of scores. Repeatable. Default: all but the labels."),
]
Label = Annotated[str, typer.Option("--label", metavar="COLUMN", help="Column of labels.")]
OutputOrCsv = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="OUT", help="File to write: CSV, TSV, Parquet, Arrow. Default: CSV on stdout."
    ),
]
ScoresFile = Annotated[Path, typer.Argument(metavar="SCORES", help="Labels and scores: CSV, TSV, Parquet, Arrow.")]
Positive = Annotated[str | None, typer.Option("--positive", metavar="LABEL", help=_POSITIVE)]


def _application_option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel="Application: priors and costs")


def _column_option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel="Columns")


@dataclass(frozen=True)
class ApplicationOptions:
    """Priors of the classes and costs of mistakes in the application of a system."""

    prior: Annotated[
        float | None, _application_option("--prior", "P", "Prior of the target of two classes, 0 to 1. Default: 0.5.")
    ] = None
    cost_fn: Annotated[float | None, _application_option("--cost-fn", "C", "Cost of missing a target. Default: 1.")] = (
        None
    )
    cost_fp: Annotated[float | None, _application_option("--cost-fp", "C", "Cost of a false alarm. Default: 1.")] = None
    positive: Annotated[str | None, _application_option("--positive", "LABEL", _POSITIVE)] = None
    reject_cost: Annotated[float | None, _application_option("--reject-cost", "C", _REJECT_COST)] = None
    application: Annotated[list[str] | None, _application_option("--application", "TEXT", _APPLICATION)] = None
    priors: Annotated[str | None, _application_option("--priors", "TEXT", _PRIORS)] = None
    costs: Annotated[Path | None, _application_option("--costs", "FILE", _COSTS_FILE)] = None


@dataclass(frozen=True)
class DataOptions:
    """The role of each column of a data file. Columns without a role are features."""

    target: Annotated[str, _column_option("--target", "COLUMN", "Column of labels.")]
    exclude: Annotated[list[str] | None, _column_option("--exclude", "COLUMN", "Column to leave out. Repeatable.")] = (
        None
    )
    category: Annotated[
        list[str] | None, _column_option("--category", "COLUMN", "Column of numbers that are categories. Repeatable.")
    ] = None
    group: Annotated[str | None, _column_option("--group", "COLUMN", _GROUP)] = None
    weight: Annotated[
        str | None, _column_option("--weight", "COLUMN", "Column of weights: how often each row counts.")
    ] = None
    scores: Annotated[list[str] | None, _column_option("--scores", "COLUMN", _SCORES)] = None


@dataclass(frozen=True)
class ScoreOptions:
    """Columns of a file of scores."""

    label: Label = "label"
    column: Columns = None


@dataclass(frozen=True)
class JudgingOptions(ScoreOptions):
    """Columns of a file of scores, and whether intervals are computed."""

    intervals: Annotated[bool, typer.Option(help="Compute 95 % intervals by resampling the rows.")] = True
    resamples: Annotated[int, typer.Option(metavar="N", min=10, help="Number of resamples for intervals.")] = 1000


@dataclass(frozen=True)
class MapOptions:
    """Options to learn, save or apply a map on scores."""

    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="File to write: CSV, TSV, Parquet, Arrow.")
    ]
    prior: Annotated[float | None, typer.Option("--prior", metavar="P", help=_MAP_PRIOR)] = None
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help=_SAVE)] = None
    using: Annotated[Path | None, typer.Option("--using", metavar="FILE", help=_USING)] = None
    folds: Annotated[
        int,
        typer.Option(
            "--folds", metavar="K", min=2, help="Number of folds. The map of each is learned from the others."
        ),
    ] = 5
    label: Label = "label"
    column: Columns = None
    positive: Positive = None
    as_json: AsJson = False


def with_options_expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which each parameter that is a group of options is replaced by one parameter per option."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}
    parameters = []
    for given in inspect.signature(command).parameters.values():
        options = [given.replace(annotation=hints[given.name])]
        if given.name in groups:
            group = groups[given.name]
            annotations = get_type_hints(group, include_extras=True)
            options = [
                each.replace(annotation=annotations[each.name]) for each in inspect.signature(group).parameters.values()
            ]
        parameters += [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]

    def expanded(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    expanded.__doc__, expanded.__name__ = command.__doc__, command.__name__
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return expanded


def parse_folds(text: str) -> int | str:
    """Return the number of folds, or the text that means leave-one-out."""
    if text in ("leave-one-out", "loo"):
        return "leave-one-out"
    if not text.isdecimal() or int(text) < 2:
        raise CommandError(f"--folds must be an integer >= 2 or leave-one-out, but is {text!r}.")
    return int(text)


def strip_suffixes(file: Path) -> str:
    """Return the name of a file without the suffixes of its format.

    Examples
    --------
    >>> strip_suffixes(Path("data/results.2024.csv.gz")), strip_suffixes(Path(".csv"))
    ('results.2024', 'likely')
    """
    formats = {".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".npz", ".gz"}
    name = file.name
    while Path("x" + name).suffix.lower() in formats:
        name = name[: -len(Path("x" + name).suffix)]
    return name or "likely"


# Applications from options

_FIELDS = ("prior", "cost_fn", "cost_fp", "reject_cost")


def applications_from(options: ApplicationOptions, classes: Sequence[Any]) -> list[tuple[str, Application]]:
    """Return a short name and the application for each application that the options describe.

    The default is one application with equal priors and unit costs.

    Parameters
    ----------
    options : ApplicationOptions
    classes : sequence of labels, sorted

    Examples
    --------
    >>> options = ApplicationOptions(application=["prior=0.1,cost_fn=10", "prior=0.5"], positive="1")
    >>> [(name, round(app.threshold, 2)) for name, app in applications_from(options, [0, 1])]
    [('prior 0.1, miss 10', -0.11), ('prior 0.5', 0.0)]
    >>> applications_from(ApplicationOptions(priors="a=0.2,b=0.3,c=0.5"), ["a", "b", "c"])[0][0]
    'a 0.2, b 0.3, c 0.5'
    """
    classes = [getattr(label, "item", lambda label=label: label)() for label in classes]
    _check_consistent(options, classes)
    if options.priors is not None or options.costs is not None or len(classes) > 2:
        return [_application_of_any(options, classes)]
    positive = target_of(options.positive, classes)
    single = {name: getattr(options, name) for name in _FIELDS[:3] if getattr(options, name) is not None}
    settings = [_parse_application(text) for text in options.application or []] or [{"prior": 0.5} | single]
    return [_application_of_two(setting, options.reject_cost, positive) for setting in settings]


def target_of(positive: str | None, classes: Sequence[Any]) -> Any:
    """Return the target of two classes: the class that ``positive`` names, or the second class."""
    return classes[1] if positive is None else _find_label(positive, classes, "--positive")


def _find_label(text: str, classes: Sequence[Any], option: str) -> Any:
    """Return the class that a text names. The text '1' can name the integer 1, and 'true' the boolean True."""
    for text_of in (str, lambda label: str(label).lower() if isinstance(label, bool) else None):
        for label in classes:
            if text_of(label) in (text, text.strip()):
                return label
    raise CommandError(f"{option} names the class {text.strip()!r}, but the classes are {format_names(classes)}.")


def _check_consistent(options: ApplicationOptions, classes: Sequence[Any]) -> None:
    """Raise CommandError if options for two classes are used with more classes, or if two options conflict."""
    single = [f"--{name.replace('_', '-')}" for name in _FIELDS[:3] if getattr(options, name) is not None]
    several = ["--application"] if options.application else []
    named = ["--positive"] if options.positive is not None else []
    general = [f"--{name}" for name in ("priors", "costs") if getattr(options, name) is not None]
    binary = single + several + named
    if len(classes) > 2 and binary:
        raise CommandError(
            f"{binary[0]} is for two classes, but there are {len(classes)}: {format_names(classes)}. "
            "Use --priors and --costs."
        )
    for first, second in ((single, several), (single, general), (several, general)):
        if first and second:
            raise CommandError(f"{first[0]} and {second[0]} both set the application. Use only one of them.")


def _parse_application(text: str) -> dict[str, float]:
    """Parse an application such as ``prior=0.1,cost_fn=10``."""
    setting = _parse_assignments(text, "--application")
    unknown = [name for name in setting if name not in _FIELDS]
    if unknown:
        raise CommandError(f"--application {text!r} sets {unknown[0]!r}, but only {', '.join(_FIELDS)} can be set.")
    if "prior" not in setting:
        raise CommandError(f"--application {text!r} must set the prior, as in prior=0.1,cost_fn=10.")
    return setting


def _parse_assignments(text: str, option: str) -> dict[str, float]:
    """Parse names and numbers such as ``a=0.2,b=0.8``."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        name = name.strip()
        if not equals or not name or name in found:
            raise CommandError(f"{option} must be name=number pairs with different names, but {text!r} has {part!r}.")
        try:
            found[name] = float(number)
        except ValueError:
            raise CommandError(
                f"{option} {text!r} must set {name} to a number, but {number.strip()!r} is not a number."
            ) from None
    return found


def _application_of_two(setting: dict[str, float], reject_cost: float | None, positive: Any) -> tuple[str, Application]:
    from likely.decisions import Application

    full = {"reject_cost": reject_cost} | setting
    parts = [f"prior {full['prior']:g}"]
    words = {"cost_fn": "miss", "cost_fp": "false alarm"}
    parts += [f"{word} {full[name]:g}" for name, word in words.items() if full.get(name, 1.0) != 1.0]
    parts += [f"reject {full['reject_cost']:g}"] if full["reject_cost"] is not None else []
    return ", ".join(parts), Application.binary(**full, positive=positive)  # type: ignore[arg-type]


def _application_of_any(options: ApplicationOptions, classes: Sequence[Any]) -> tuple[str, Application]:
    from likely.decisions import Application

    priors = _priors(options.priors, classes)
    costs = None if options.costs is None else _read_costs(options.costs, [str(label) for label in classes])
    named = ", ".join(f"{format_label(label, 40)} {prior:g}" for label, prior in priors.items())
    parts = ["equal priors" if options.priors is None else named]
    parts += [] if options.costs is None else [f"costs of {options.costs.name}"]
    parts += [] if options.reject_cost is None else [f"reject {options.reject_cost:g}"]
    return ", ".join(parts), Application(priors, costs, reject_cost=options.reject_cost)


def _priors(text: str | None, classes: Sequence[Any]) -> dict[Any, float]:
    """Return the prior of each class, in class order."""
    if text is None:
        return {label: 1 / len(classes) for label in classes}
    named = _parse_assignments(text, "--priors")
    found = {_find_label(name, classes, "--priors"): prior for name, prior in named.items()}
    absent = [label for label in classes if label not in found]
    if absent:
        raise CommandError(f"--priors must name every class, but {format_names(absent)} is not in {text!r}.")
    if min(found.values()) < 0 or not abs(sum(found.values()) - 1) < 1e-6:
        raise CommandError(f"--priors must be >= 0 and sum to 1, but {text!r} sums to {sum(found.values()):g}.")
    return {label: found[label] for label in classes}


def _read_costs(path: Path, names: Sequence[str]) -> list[list[float]]:
    """Read a table of costs, and return it with rows and columns in class order.

    Rows are true classes, and columns are decisions. ``names`` are the classes as text.
    """
    from likely.tables.files import find_file

    lines = _read_lines(find_file(path))
    decisions = [cell.strip() for cell in lines[0][1][1:]] if lines else []
    truths = [cells[0].strip() for _, cells in lines[1:]]
    for which, found in (("header", decisions), ("first column", truths)):
        if sorted(found) != sorted(names):
            raise CommandError(
                f"The {which} of {path} must hold each of the classes {format_names(names)} exactly once, "
                f"but holds {format_names(found)}."
            )
    table = {
        (truth, decision): _parse_cost(path, line, decision, cell)
        for truth, (line, cells) in zip(truths, lines[1:], strict=True)
        for decision, cell in zip(decisions, cells[1:], strict=True)
    }
    return [[table[truth, decision] for decision in names] for truth in names]


def _read_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return the records of a text table, each with its line number.

    Raise an error unless all records have the same number of cells.
    """
    from likely.tables.files import check_content, delimiter_of
    from likely.tables.lines import check_encoding, check_width, records

    delimiter = delimiter_of(path)
    if delimiter is None:
        raise CommandError(f"A table of costs must be text, .csv or .tsv, but is {str(path)!r}. Convert it.")
    check_content(path)
    found = []
    for line, cells in records(path, delimiter):
        for cell in cells:
            check_encoding(path, line, cell)
        if any(cell.strip() for cell in cells):
            found.append((line, cells))
            check_width(path, line, cells, len(found[0][1]))
    return found


def _parse_cost(path: Path, line: int, decision: str, cell: str) -> float:
    try:
        cost = float(cell)
    except ValueError:
        cost = math.nan
    if not math.isfinite(cost):
        raise CommandError(
            f"Costs must be finite numbers, but line {line} of {path} has {format_label(cell, 40)!r} in column "
            f"{decision!r}."
        )
    return cost
