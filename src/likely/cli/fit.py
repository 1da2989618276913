"""The command ``fit``: train, calibrate and save one system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likely.cli.options import ApplicationOptions, AsJson, CommandError, DataFile, DataOptions, parse_folds


def fit(
    file: DataFile,
    data: DataOptions,
    where: ApplicationOptions,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The .likely file to write.")],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help="Name of a system on a leaderboard, or a family.")
    ] = "logistic",
    folds: Annotated[
        str, typer.Option("--folds", metavar="K", help="Number of folds for calibration, or leave-one-out.")
    ] = "5",
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed of the folds.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Train one system on a data file, calibrate it on its out-of-fold scores, and save it.

    Name the system as on the leaderboard of 'likely compare', such as "Gaussian: raw, tied", or name a family to get
    its best setting at your priors and costs. The command shows the cost of the system on rows that it was not trained
    on.

    For example:
        likely fit train.csv --target label -m "Gaussian: raw, tied" -o m.likely
        likely fit train.csv --target label -m logistic --prior 0.1 -o m.likely
    """
    from likely.cli.compare import OtherFiles, compare_files
    from likely.selection import CompareOptions

    if data.scores:
        raise CommandError("--scores is only for 'likely compare', because fit trains a new system. Remove --scores.")
    options = CompareOptions([model], folds=parse_folds(folds), fuse=0, seed=seed)
    compare_files(file, data, where, OtherFiles(), options, output, as_json)
