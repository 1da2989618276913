"""The command ``compare``, which ``fit`` and ``demo`` run too.

It reads rows from files, shows progress on stderr, and keeps all results in a folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from likely._formatting import format_count, format_label, format_names
from likely.cli.app import check_output, note, writing
from likely.cli.options import (
    ApplicationOptions,
    AsJson,
    CommandError,
    DataFile,
    DataOptions,
    applications_from,
    parse_folds,
    strip_suffixes,
    target_of,
)
from likely.cli.rendering import console, format_class_counts, print_json

if TYPE_CHECKING:
    from likely.selection import CompareOptions, Comparison, Progress
    from likely.tables import DataTable

_FAMILY = "Family to compare: gaussian, logistic, … Repeatable. Default: all families."
_BY = "Measure that ranks the systems: minimum, actual or cllr."
_RUN = "Folder for all results; the same command resumes an interrupted run. Default: FILE-run."
_EVALUATION_TARGET = "Column of labels in the evaluation file, if it differs from --target."
_HELD_OUT = "Rows on which systems are compared, instead of folds."
_EVALUATION = "Rows on which the systems are evaluated after one was chosen."
_RESTART = "First delete the results of an earlier run in the folder."
_SAVE = "File for the best system. Default: FOLDER/models/best.likely."


@dataclass(frozen=True)
class OtherFiles:
    """Files with the rows on which systems are tested."""

    held_out: Annotated[Path | None, typer.Option("--held-out", metavar="FILE", help=_HELD_OUT)] = None
    evaluation: Annotated[Path | None, typer.Option("--evaluation", metavar="FILE", help=_EVALUATION)] = None
    evaluation_target: Annotated[
        str | None, typer.Option("--evaluation-target", metavar="COLUMN", help=_EVALUATION_TARGET)
    ] = None


def compare(
    file: DataFile,
    data: DataOptions,
    where: ApplicationOptions,
    *,
    family: Annotated[list[str] | None, typer.Option("--family", metavar="NAME", help=_FAMILY)] = None,
    folds: Annotated[str, typer.Option("--folds", metavar="K", help="Number of folds, or leave-one-out.")] = "5",
    others: OtherFiles,
    by: Annotated[str, typer.Option("--by", metavar="MEASURE", help=_BY)] = "minimum",
    fuse: Annotated[int, typer.Option("--fuse", metavar="N", min=0, help="Fuse the best of up to N families.")] = 3,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed of the folds.")] = 0,
    run: Annotated[Path | None, typer.Option("--run", metavar="FOLDER", help=_RUN)] = None,
    restart: Annotated[bool, typer.Option("--restart", help=_RESTART)] = False,
    save: Annotated[Path | None, typer.Option("--save", metavar="MODEL", help=_SAVE)] = None,
    as_json: AsJson = False,
) -> None:
    """Compare all model families on a data file at your priors and costs, and save the best.

    Each system scores rows that it was not trained on. The minimum cost is the cost at the best threshold. The actual
    cost is the cost of decisions after calibration on other rows. Costs are divided by the cost of deciding without
    looking, that is of always giving the same answer: 0 is perfect, 1 is worthless. The best systems are also fused.
    All results are kept in a folder. If the command is interrupted or killed, the same command resumes the run.

    For example:
        likely compare train.csv --target label --prior 0.1 --cost-fn 10
        likely compare train.csv --target label --evaluation test.csv
    """
    from likely.selection import CompareOptions

    folder = run or Path(f"{strip_suffixes(file)}-run")
    options = CompareOptions(
        family or None, folds=parse_folds(folds), by=cast(Any, by), fuse=fuse, seed=seed, run=folder, restart=restart
    )
    compare_files(file, data, where, others, options, save, as_json)


def compare_files(
    file: Path,
    data: DataOptions,
    where: ApplicationOptions,
    others: OtherFiles,
    options: CompareOptions,
    model: Path | None = None,
    as_json: bool = False,
) -> None:
    """Compare systems on the rows of files, show the results, and save the best system if ``model`` names a file."""
    import numpy as np

    from likely.cli.leaderboards import show_comparison
    from likely.selection import run_comparison

    if model is not None:
        check_output(model, ".likely")
    table = _read_training(file, data)
    classes = np.unique(np.asarray(table.labels)).tolist()
    if len(classes) < 2:
        raise CommandError(
            f"Column {data.target!r} of {file} must hold at least two classes, but all rows hold "
            f"{format_label(classes[0], 40)!r}."
        )
    applications = dict(applications_from(where, classes))
    if any(application.reject_cost is not None for application in applications.values()):
        raise CommandError(
            "This command accepts no reject cost, because it never rejects a row. Remove the reject cost here. You "
            "can pass it to 'likely decide' later."
        )
    target = target_of(where.positive, classes) if len(classes) == 2 else None
    options = replace(
        options,
        applications=applications,
        groups=table.groups,
        sample_weight=table.weight,
        about={"target": data.target, "positive": target, "file": file.name},
        **_other_rows(others, data, table, is_reversed=target is not None and target != classes[1]),
    )
    if not as_json:
        console(err=True).print(_describe(table, classes))
    try:
        with _progress_bar(not as_json) as progress:
            comparison = run_comparison(table.X, table.labels, replace(options, progress=progress))
    except KeyboardInterrupt:
        if options.run is not None:
            console(err=True).print(
                f"Stopped. The results so far are in {options.run}. The same command resumes the run."
            )
        raise
    failure = None if model is None else _save_best(comparison, options, model)
    facts = comparison.to_dict() | _find_outputs(comparison, options, file, None if failure is not None else model)
    print_json(facts) if as_json else show_comparison(facts)
    if failure is not None:
        raise failure


def _read_training(file: Path, options: DataOptions) -> DataTable:
    """Read the training rows. The options state the role of each column."""
    from likely.tables import read_data

    return read_data(
        file,
        options.target,
        exclude=options.exclude or (),
        categories=options.category or (),
        groups=options.group,
        weight=options.weight,
        scores=options.scores or (),
    )


def _describe(table: DataTable, classes: list[Any]) -> str:
    """Describe the training rows in a few lines."""
    kinds = {kind: [column.name for column in table.columns if column.kind == kind] for kind in ("number", "category")}
    missing = [f"{column.name} ({column.n_missing})" for column in table.columns if column.n_missing]
    counts = {label: int((table.labels == label).sum()) for label in classes}
    lines = [
        f"{table.path}: {format_count(table.n, 'row')}, {format_count(len(classes), 'class', 'classes')}. "
        f"{format_class_counts(counts)}."
    ]
    plurals = {"number": "numbers", "category": "categories"}
    lines += [
        f"  {format_count(len(names), 'column')} of {plurals[kind]}: {_join_first(names)}"
        for kind, names in kinds.items()
        if names
    ]
    lines += [f"  missing values in {_join_first(missing)}"] if missing else []
    return "\n".join(lines)


def _join_first(names: list[str], n_shown: int = 8) -> str:
    return ", ".join(names[:n_shown]) + (f" and {len(names) - n_shown} more" if len(names) > n_shown else "")


def _save_best(comparison: Comparison, options: CompareOptions, path: Path) -> Exception | None:
    """Save the best system in a file.

    If this fails, return the error. The caller raises it after the results are shown.
    """
    from likely._files import atomic_write
    from likely.exceptions import LikelyError
    from likely.persistence import save
    from likely.selection.comparison import describe_best

    inside = comparison.record.get("model")
    try:
        with writing(path):
            if options.run is not None and inside is not None:
                with atomic_write(path) as stream, open(Path(options.run, inside), "rb") as kept:
                    shutil.copyfileobj(kept, stream)
            else:
                save(comparison.model(), path, about={**(options.about or {}), **describe_best(comparison)})
    except (LikelyError, OSError) as error:
        return error
    return None


def _find_outputs(comparison: Comparison, options: CompareOptions, file: Path, model: Path | None) -> dict[str, Any]:
    """Return the paths of the data, the run, its report and the best system."""
    places = {"file": str(file), "run": None, "page": None, "model": None if model is None else str(model)}
    if options.run is not None:
        folder, inside = Path(options.run), comparison.record.get("model")
        places |= {"run": str(folder), "page": str(folder / "report.html")}
        if model is None and inside is not None:
            places["model"] = str(folder / inside)
    return places


@contextmanager
def _progress_bar(shown: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Show a progress bar, the elapsed time and the remaining time on stderr, if stderr is a terminal."""
    out = console(err=True)
    if not shown or not out.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("remaining"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=out, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda now: bar.update(task, description=now.name[:30], completed=now.done, total=now.total)


# Held-out and evaluation rows


def _other_rows(others: OtherFiles, data: DataOptions, training: DataTable, is_reversed: bool) -> dict[str, Any]:
    """Read held-out or evaluation rows, and the scores of external systems for them.

    ``is_reversed`` means that the target is the first class. The sign of the scores is then changed, because a
    comparison expects high scores for the second class.
    """

    def orient_scores(table: DataTable) -> dict[str, Any]:
        return {name: -column if is_reversed else column for name, column in table.scores.items()}

    found: dict[str, Any] = {"scores": orient_scores(training) or None}
    if others.held_out is not None:
        judged = _read_other(others.held_out, data.target, data, training)
        found |= {"held_out": (judged.X, judged.labels), "scores": orient_scores(judged) or None}
    if others.evaluation is not None:
        later = _read_other(others.evaluation, others.evaluation_target or data.target, data, training)
        found["evaluation"] = (later.X, later.labels, orient_scores(later))
    return found


def _read_other(file: Path, target: str, options: DataOptions, training: DataTable) -> DataTable:
    """Read the columns of the training rows from another file, and ignore its other columns."""
    from likely.cli.score import header_of
    from likely.tables import read_data

    header = header_of(file)
    for column, what in ((options.weight, "weights"), (options.group, "groups")):
        if column is not None and column in header:
            note(f"The {what} in column {column!r} are used in {training.path} only, not in {file}.")
    names = [column.name for column in training.columns]
    categories = [column.name for column in training.columns if column.kind == "category"]
    choice: dict[str, Any] = {"categories": categories, "features": names}
    if file.suffix.lower() == ".npz":
        aside = [*(options.exclude or []), options.weight, options.group]
        choice = {"exclude": [name for name in aside if name is not None and name in header]}
    table = read_data(file, target, scores=options.scores or (), **choice)
    if table.X.shape[1] != len(names):
        raise CommandError(
            f"{file} must have the {len(names)} features of {training.path}, but has {table.X.shape[1]}."
        )
    _check_kinds(table, training)
    _check_labels(table, target, training)
    return table


def _check_kinds(table: DataTable, training: DataTable) -> None:
    """Raise CommandError if a column of ``table`` holds text but the same column of the training rows holds numbers."""
    for column, known in zip(table.columns, training.columns, strict=True):
        if known.kind == "number" and column.kind == "category" and column.n_distinct:
            raise CommandError(
                f"Column {column.name!r} of {table.path} must hold numbers, because it does so in {training.path}, but "
                f"it holds text: {column.example}."
            )


def _check_labels(table: DataTable, target: str, training: DataTable) -> None:
    """Raise CommandError unless the rows of ``table`` have exactly the same classes as the training rows."""
    import numpy as np

    classes, found = (np.unique(np.asarray(each.labels)).tolist() for each in (training, table))
    unknown = [label for label in found if label not in classes]
    absent = [label for label in classes if label not in found]
    if unknown:
        raise CommandError(
            f"Column {target!r} of {table.path} must hold only classes of {training.path}, but also holds "
            f"{format_names(unknown, 3)}. The classes of {training.path} are {format_names(classes)}."
        )
    if absent:
        raise CommandError(
            f"Column {target!r} of {table.path} must hold every class of {training.path}, but "
            f"{format_names(absent, 3)} has no row."
        )
