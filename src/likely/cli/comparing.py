"""A comparison run from the command line: its rows from files, its progress on stderr, its results in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely.cli.applications import applications_from, target_of
from likely.cli.data_options import DataOptions, told, training_table
from likely.cli.guarding import writing
from likely.cli.leaderboards import show_comparison
from likely.cli.options import ApplicationOptions
from likely.cli.rendering import console, print_json
from likely.exceptions import DegenerateDataError, InvalidParameterError
from likely.persistence import save
from likely.selection import Comparison, Progress, compare
from likely.tables import DataTable, read_data

__all__ = ["Plan", "compared"]


@dataclass(frozen=True)
class Plan:
    """What is compared on what."""

    file: Path
    data: DataOptions
    where: ApplicationOptions
    families: Any = None
    folds: str = "5"
    held_out: Path | None = None
    evaluation: Path | None = None
    evaluation_target: str = ""
    by: str = "minimum"
    fuse: int = 3
    seed: int = 0


def compared(plan: Plan, folder: Path | None, restart: bool, model: Path | None, as_json: bool) -> Comparison:
    """Compare, show what came out, and keep the best system's model."""
    table = training_table(plan.file, plan.data)
    _check_classes(table, plan.data.target)
    classes = np.unique(np.asarray(table.labels)).tolist()
    applications = dict(applications_from(plan.where, classes))
    if not as_json:
        console(err=True).print(told(table))
    with _told_when_stopped(folder), _bar(not as_json) as progress:
        comparison = compare(
            table.X,
            table.labels,
            plan.families or None,
            applications,
            folds=_folds(plan.folds),
            groups=table.groups,
            sample_weight=table.weight,
            held_out=_rows(plan, plan.held_out, plan.data.target)[:2] if plan.held_out else None,
            evaluation=_rows(plan, plan.evaluation, plan.evaluation_target) if plan.evaluation else None,
            scores=table.scores or None,
            by=plan.by,
            fuse=plan.fuse,
            seed=plan.seed,
            run=folder,
            restart=restart,
            progress=progress,
        )
    where = model or (folder or Path()) / "models" / "best.likely"
    _keep_best(comparison, where, plan)
    facts = comparison.to_dict() | {"file": str(plan.file), "run": str(folder) if folder else None, "model": str(where)}
    if as_json:
        print_json(facts)
    else:
        show_comparison(facts)
    return comparison


def _keep_best(comparison: Comparison, path: Path, plan: Plan) -> None:
    """Train the best system on everything and save it, with what it was trained for."""
    facts = comparison.to_dict()
    about = {
        "system": comparison.best.name,
        "target": plan.data.target,
        "positive": target_of(plan.where.positive, facts["classes"]) if len(facts["classes"]) == 2 else None,
        "applications": facts["applications"],
        "file": plan.file.name,
        "rows": facts["rows"],
    }
    with writing(path):
        save(comparison.model(), path, about=about)


def _check_classes(table: DataTable, target: str) -> None:
    """Two classes at least, said of the file and its column."""
    labels = np.unique(np.asarray(table.labels)).tolist()
    if len(labels) < 2:
        raise DegenerateDataError(
            f"Column {target!r} of {table.path} must hold two classes at least, but all rows hold {labels[0]!r}."
        )


def _folds(text: str) -> Any:
    if text in ("leave-one-out", "loo"):
        return "leave-one-out"
    if not text.isdecimal():
        raise InvalidParameterError(f"--folds must be a whole number from 2 on, or leave-one-out, but is {text!r}.")
    return int(text)


def _rows(plan: Plan, file: Path | None, target: str) -> tuple[Any, Any, Any]:
    """Rows, labels and outside scores of another file, which needs the columns that the first one has."""
    assert file is not None
    skipped = [name for name in (plan.data.group, plan.data.weight) if name is not None]
    table = read_data(
        file,
        target,
        exclude=[*_present(file, [*(plan.data.exclude or []), *skipped])],
        categories=plan.data.category or (),
        scores=plan.data.scores or (),
    )
    return table.X, table.labels, table.scores


def _present(file: Path, names: list[str]) -> list[str]:
    """Of columns that are not needed, those that a file has."""
    from likely.tables.files import existing, read_header

    if file.suffix.lower() == ".npz" or not names:
        return []
    header = read_header(existing(file))
    return [name for name in names if name in header]


@contextmanager
def _told_when_stopped(folder: Path | None) -> Iterator[None]:
    """Say, to who interrupts, that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None:
            console(err=True).print(f"Stopped. {folder} keeps what is done: the same command goes on from there.")
        raise


@contextmanager
def _bar(shown: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Progress with time left on stderr; nothing where nobody looks."""
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
