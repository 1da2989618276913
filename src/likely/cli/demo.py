"""The command ``demo``: a comparison on example data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likely.cli.app import writing
from likely.cli.options import ApplicationOptions, DataOptions
from likely.cli.rendering import console


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Folder for the data and the results.")
    ] = Path("likely-demo"),
) -> None:
    """Compare all model families on the included data of 569 tumours, and save the best system.

    Three quarters of the rows are used to choose a system, and the other rows to check the choice. The demo takes about
    a minute. It prints the commands that do the same on your own file.

    For example:
        likely demo
    """
    from likely.cli.compare import OtherFiles, compare_files
    from likely.selection import CompareOptions

    train, new, run = folder / "tumours.csv", folder / "tumours-new.csv", folder / "run"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    _write_tumours(train, new)
    out = console(err=True)
    out.print("In this clinic one tumour in ten is malignant, and missing one costs as much as ten false alarms:\n")
    out.print(
        f"  likely compare {train} --target diagnosis --positive malignant --prior 0.1 --cost-fn 10 "
        f"--evaluation {new} --run {run}\n",
        soft_wrap=True,
    )
    where = ApplicationOptions(prior=0.1, cost_fn=10, positive="malignant")
    compare_files(train, DataOptions("diagnosis"), where, OtherFiles(evaluation=new), CompareOptions(run=run))
    out.print("\nTo decide about the other tumours, and reject those where a second look is cheaper than a decision:")
    model = run / "models" / "best.likely"
    decisions = f"--prior 0.1 --cost-fn 10 --reject-cost 0.1 -o {folder / 'decisions.csv'}"
    out.print(f"  likely decide {new} --model {model} {decisions}", soft_wrap=True)


def _write_tumours(train: Path, new: Path) -> None:
    """Write three quarters of the rows to the file ``train``, and the other rows to the file ``new``."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    from likely.datasets import load_tumours
    from likely.tables import write_columns

    X, y, names = load_tumours()
    chosen, kept = train_test_split(np.arange(len(y)), test_size=0.25, random_state=0, stratify=y)
    for path, rows in ((train, np.sort(chosen)), (new, np.sort(kept))):
        columns = dict(zip(names, np.ascontiguousarray(X[rows].T), strict=True))
        with writing(path):
            write_columns(path, {"diagnosis": y[rows], **columns})
