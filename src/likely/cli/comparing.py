"""A comparison run from the command line: its rows from files, its progress on stderr, its results in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely._files import atomic_write
from likely.cli.applications import applications_from, target_of
from likely.cli.data_options import DataOptions, told, training_table
from likely.cli.guarding import check_output, writing
from likely.cli.leaderboards import show_comparison
from likely.cli.options import ApplicationOptions
from likely.cli.other_rows import other_rows
from likely.cli.rendering import console, print_json
from likely.cli.words import shown
from likely.decisions import Application
from likely.exceptions import DegenerateDataError, InvalidParameterError, LikelyError
from likely.persistence import save
from likely.selection import Comparison, Progress, compare
from likely.selection.comparison import describe_best
from likely.tables import DataTable

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


def compared(plan: Plan, folder: Path | None, restart: bool, model: Path | None, as_json: bool) -> None:
    """Compare, show what came out, and keep the best system's model in the folder, in a file of its own, or both."""
    if model is not None:
        check_output(model, ".likely")
    table = training_table(plan.file, plan.data)
    _check_classes(table, plan.data.target)
    classes = np.unique(np.asarray(table.labels)).tolist()
    applications = _applications(plan.where, classes)
    target = target_of(plan.where.positive, classes) if len(classes) == 2 else None
    others = _other_rows(plan, table, target is not None and target != classes[1])
    about = {"target": plan.data.target, "positive": target, "file": plan.file.name}
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
            **others,
            by=plan.by,
            fuse=plan.fuse,
            seed=plan.seed,
            run=folder,
            restart=restart,
            about=about,
            progress=progress,
        )
    failure = None if model is None else _kept(comparison, folder, model, about)
    facts = comparison.to_dict() | {"file": str(plan.file), "run": None if folder is None else str(folder)}
    facts["page"] = None if folder is None else str(folder / "report.html")
    inside = None if folder is None or facts.get("model") is None else str(folder / facts["model"])
    facts["model"] = inside if model is None or failure is not None else str(model)
    print_json(facts) if as_json else show_comparison(facts)
    if failure is not None:
        raise failure


def _kept(comparison: Comparison, folder: Path | None, path: Path, about: dict[str, Any]) -> Exception | None:
    """The best system's model in a file of its own; what went wrong is told after what was found is shown."""
    inside = comparison.record.get("model")
    try:
        with writing(path):
            if folder is not None and inside is not None:
                with atomic_write(path) as stream, open(folder / inside, "rb") as kept:
                    shutil.copyfileobj(kept, stream)
            else:
                save(comparison.model(), path, about={**about, **describe_best(comparison)})
    except (LikelyError, OSError) as error:
        return error
    return None


def _applications(where: ApplicationOptions, classes: list[Any]) -> dict[str, Application]:
    """Applications to compare at, in which every row is decided."""
    found = dict(applications_from(where, classes))
    if any(application.reject_cost is not None for application in found.values()):
        raise InvalidParameterError(
            "A reject cost is for likely decide: systems are compared by their decisions about every row. Leave it out."
        )
    return found


def _other_rows(plan: Plan, table: DataTable, turned: bool) -> dict[str, Any]:
    """What compare takes besides the training rows; outside scores are turned where the target is the first class."""

    def oriented(of: DataTable) -> dict[str, Any]:
        return {name: -column if turned else column for name, column in of.scores.items()}

    found: dict[str, Any] = {"scores": oriented(table) or None}
    if plan.held_out is not None:
        judged = other_rows(plan.held_out, plan.data.target, plan.data, table)
        found |= {"held_out": (judged.X, judged.labels), "scores": oriented(judged) or None}
    if plan.evaluation is not None:
        later = other_rows(plan.evaluation, plan.evaluation_target, plan.data, table)
        found["evaluation"] = (later.X, later.labels, oriented(later))
    return found


def _check_classes(table: DataTable, target: str) -> None:
    """Two classes at least, said of the file and its column."""
    labels = np.unique(np.asarray(table.labels)).tolist()
    if len(labels) < 2:
        raise DegenerateDataError(
            f"Column {target!r} of {table.path} must hold two classes at least, but all rows hold {shown(labels[0])!r}."
        )


def _folds(text: str) -> Any:
    if text in ("leave-one-out", "loo"):
        return "leave-one-out"
    if not text.isdecimal():
        raise InvalidParameterError(f"--folds must be a whole number from 2 on, or leave-one-out, but is {text!r}.")
    return int(text)


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
