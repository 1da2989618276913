"""The command ``compare``: the main job, which ``fit`` and ``demo`` run too.

Rows come from files, progress is shown on stderr, and everything that is computed is kept in a folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from likely.cli.rendering import console, print_json

if TYPE_CHECKING:
    from likely.selection import CompareOptions, Comparison, Progress
    from likely.tables import DataTable

_FAMILY = "A family to compare: gaussian, logistic, …; repeatable. All if not given."
_BY = "What systems are put in order by: minimum, actual or cllr."
_RUN = "Folder for all that is computed; the same command resumes it. FILE-run if not given."
_EVALUATION_TARGET = "The column of labels there, if it is called otherwise."


@dataclass(frozen=True)
class OtherFiles:
    """Files of rows that are judged by what was learned from the training rows."""

    held_out: Annotated[
        Path | None, typer.Option("--held-out", metavar="FILE", help="Rows to compare on, in place of folds.")
    ] = None
    evaluation: Annotated[
        Path | None, typer.Option("--evaluation", metavar="FILE", help="Rows to judge what was chosen on, at the end.")
    ] = None
    evaluation_target: Annotated[
        str | None, typer.Option("--evaluation-target", metavar="COLUMN", help=_EVALUATION_TARGET)
    ] = None


def compare(
    file: DataFile,
    data: DataOptions,
    where: ApplicationOptions,
    *,
    family: Annotated[list[str] | None, typer.Option("--family", metavar="NAME", help=_FAMILY)] = None,
    folds: Annotated[str, typer.Option("--folds", metavar="K", help="How many folds, or leave-one-out.")] = "5",
    others: OtherFiles,
    by: Annotated[str, typer.Option("--by", metavar="MEASURE", help=_BY)] = "minimum",
    fuse: Annotated[int, typer.Option("--fuse", metavar="N", min=0, help="Fuse the best of up to N families.")] = 3,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the folds.")] = 0,
    run: Annotated[Path | None, typer.Option("--run", metavar="FOLDER", help=_RUN)] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Remove what an earlier run left in the folder.")] = False,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="MODEL", help="The best system's file. FOLDER/models/best.likely.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare all model families on a file, calibrated, at your priors and costs, and keep the best.

    Every model scores rows that it has not seen. Its scores are judged at best (minimum cost) and after calibration
    (actual cost); costs are divided by that of deciding without looking, so 1 is worthless. The best are fused. What is
    computed is kept in a folder: stopped or killed, the same command resumes it.

    For example:
        likely compare train.csv --target label --prior 0.1 --cost-fn 10
        likely compare train.csv --target label --evaluation test.csv
    """
    from likely.selection import CompareOptions

    folder = run or Path(f"{strip_suffixes(file)}-run")
    options = CompareOptions(
        family or None, folds=parse_folds(folds), by=by, fuse=fuse, seed=seed, run=folder, restart=restart
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
    """Compare systems on the rows of files, show the results, and save the best system in ``model`` if it is named."""
    import numpy as np

    from likely.cli.leaderboards import show_comparison
    from likely.selection import run_comparison

    if model is not None:
        check_output(model, ".likely")
    table = _read_training(file, data)
    classes = np.unique(np.asarray(table.labels)).tolist()
    if len(classes) < 2:
        raise CommandError(
            f"Column {data.target!r} of {file} must hold two classes at least, but all rows hold "
            f"{format_label(classes[0], 40)!r}."
        )
    applications = dict(applications_from(where, classes))
    if any(application.reject_cost is not None for application in applications.values()):
        raise CommandError(
            "A reject cost is for likely decide: systems are compared by their decisions about every row. Leave it out."
        )
    target = target_of(where.positive, classes) if len(classes) == 2 else None
    options = replace(
        options,
        applications=applications,
        groups=table.groups,
        sample_weight=table.weight,
        about={"target": data.target, "positive": target, "file": file.name},
        **_other_rows(others, data, table, turned=target is not None and target != classes[1]),
    )
    if not as_json:
        console(err=True).print(_describe(table, classes))
    try:
        with _progress_bar(not as_json) as progress:
            comparison = run_comparison(table.X, table.labels, replace(options, progress=progress))
    except KeyboardInterrupt:
        if options.run is not None:
            console(err=True).print(f"Stopped. {options.run} keeps what is done: the same command resumes it.")
        raise
    failure = None if model is None else _save_best(comparison, options, model)
    facts = comparison.to_dict() | _places(comparison, options, file, None if failure is not None else model)
    print_json(facts) if as_json else show_comparison(facts)
    if failure is not None:
        raise failure


def _read_training(file: Path, options: DataOptions) -> DataTable:
    """Read the training rows, with columns as the options say."""
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
    counts = [f"{format_label(label, 40)} {int((table.labels == label).sum())}" for label in classes]
    lines = [
        f"{table.path}: {format_count(table.n, 'row')}, {format_count(len(classes), 'class', 'classes')} "
        f"({_first_of(counts)})."
    ]
    plurals = {"number": "numbers", "category": "categories"}
    lines += [
        f"  {format_count(len(names), 'column')} of {plurals[kind]}: {_first_of(names)}"
        for kind, names in kinds.items()
        if names
    ]
    lines += [f"  missing values in {_first_of(missing)}"] if missing else []
    return "\n".join(lines)


def _first_of(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _save_best(comparison: Comparison, options: CompareOptions, path: Path) -> Exception | None:
    """Save the best system's model in a file; return an error, to be raised after the results are shown."""
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


def _places(comparison: Comparison, options: CompareOptions, file: Path, model: Path | None) -> dict[str, Any]:
    """Say where the data, the run, its page and the best system's model are."""
    places = {"file": str(file), "run": None, "page": None, "model": None if model is None else str(model)}
    if options.run is not None:
        folder, inside = Path(options.run), comparison.record.get("model")
        places |= {"run": str(folder), "page": str(folder / "report.html")}
        if model is None and inside is not None:
            places["model"] = str(folder / inside)
    return places


@contextmanager
def _progress_bar(shown: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Show progress with the time left on stderr, if it is a terminal."""
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
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=out, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda now: bar.update(task, description=now.name[:30], completed=now.done, total=now.total)


# Rows of other files.


def _other_rows(others: OtherFiles, data: DataOptions, training: DataTable, turned: bool) -> dict[str, Any]:
    """Read the other rows and the outside scores, whose sign changes if the target is the first class."""

    def oriented(of: DataTable) -> dict[str, Any]:
        return {name: -column if turned else column for name, column in of.scores.items()}

    found: dict[str, Any] = {"scores": oriented(training) or None}
    if others.held_out is not None:
        judged = _read_other(others.held_out, data.target, data, training)
        found |= {"held_out": (judged.X, judged.labels), "scores": oriented(judged) or None}
    if others.evaluation is not None:
        later = _read_other(others.evaluation, others.evaluation_target or data.target, data, training)
        found["evaluation"] = (later.X, later.labels, oriented(later))
    return found


def _read_other(file: Path, target: str, options: DataOptions, training: DataTable) -> DataTable:
    """Read the columns that the training rows have from another file, whatever else it holds."""
    from likely.cli.score import header_of
    from likely.tables import read_data

    header = header_of(file)
    for column, what in ((options.weight, "weights"), (options.group, "groups")):
        if column is not None and column in header:
            note(f"The {what} of column {column!r} are those of {training.path}: they are not used in {file}.")
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
    """Raise if a column that holds numbers in the training rows holds text."""
    for column, known in zip(table.columns, training.columns, strict=True):
        if known.kind == "number" and column.kind == "category" and column.n_distinct:
            raise CommandError(
                f"Column {column.name!r} of {table.path} must hold numbers, as in {training.path}, but holds text: "
                f"{column.example}."
            )


def _check_labels(table: DataTable, target: str, training: DataTable) -> None:
    """Raise unless the labels are of the training rows' classes, and every class has rows."""
    import numpy as np

    classes, found = (np.unique(np.asarray(each.labels)).tolist() for each in (training, table))
    strange = [label for label in found if label not in classes]
    absent = [label for label in classes if label not in found]
    if strange:
        raise CommandError(
            f"Column {target!r} of {table.path} must hold the classes of {training.path}, {format_names(classes)}, but "
            f"holds {format_names(strange, 3)} too."
        )
    if absent:
        raise CommandError(
            f"Column {target!r} of {table.path} must hold every class of {training.path}, but "
            f"{format_names(absent, 3)} has no row."
        )
