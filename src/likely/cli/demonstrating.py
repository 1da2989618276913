"""The main job on tumours: files written as a user would have them, and the commands run on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from likely.cli.comparing import Plan, compared
from likely.cli.data_options import DataOptions
from likely.cli.guarding import writing
from likely.cli.options import ApplicationOptions
from likely.cli.rendering import console
from likely.datasets import load_tumours
from likely.tables import write_columns

__all__ = ["demonstrated"]


def demonstrated(folder: Path) -> None:
    """Write the files, compare, and say which commands did it."""
    train, new, run = folder / "tumours.csv", folder / "tumours-new.csv", folder / "run"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    X, y, names = load_tumours()
    chosen, kept = train_test_split(np.arange(len(y)), test_size=0.25, random_state=0, stratify=y)
    for path, rows in ((train, np.sort(chosen)), (new, np.sort(kept))):
        columns = dict(zip(names, np.ascontiguousarray(X[rows].T), strict=True))
        with writing(path):
            write_columns(path, {"diagnosis": y[rows], **columns})
    out = console(err=True)
    out.print(
        "A clinic that sees one malignant tumour in ten, and where missing one costs as much as ten false alarms:\n"
    )
    out.print(
        f"  likely compare {train} --target diagnosis --positive malignant --prior 0.1 --cost-fn 10 "
        f"--evaluation {new} --run {run}\n",
        soft_wrap=True,
    )
    where = ApplicationOptions(prior=0.1, cost_fn=10, positive="malignant")
    plan = Plan(train, DataOptions("diagnosis"), where, evaluation=new, evaluation_target="diagnosis")
    compared(plan, run, False, None, False)
    out.print("\nDecisions about the tumours kept aside, with a second look where it is cheaper than deciding:")
    model = run / "models" / "best.likely"
    decisions = f"--prior 0.1 --cost-fn 10 --reject-cost 0.1 -o {folder / 'decisions.csv'}"
    out.print(f"  likely decide {new} --model {model} {decisions}", soft_wrap=True)
