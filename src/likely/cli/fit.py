"""The command ``fit``: one system, calibrated and saved."""

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
        str, typer.Option("--model", "-m", metavar="NAME", help="A system as compare names it, or a family.")
    ] = "logistic",
    folds: Annotated[str, typer.Option("--folds", metavar="K", help="How many folds calibrate it.")] = "5",
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the folds.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Train one system on a file, calibrated by K folds, and save it.

    It is named as compare names it, such as "Gaussian: raw, tied", or by its family, of which the best setting at your
    priors and costs is taken. What it costs, judged on rows that it had not seen, is said.

    For example:
        likely fit train.csv --target label -m "Gaussian: raw, tied" -o m.likely
        likely fit train.csv --target label -m logistic --prior 0.1 -o m.likely
    """
    from likely.cli.compare import OtherFiles, compare_files
    from likely.selection import CompareOptions

    if data.scores:
        raise CommandError("--scores is for likely compare: fit trains a system of its own. Leave it out.")
    options = CompareOptions([model], folds=parse_folds(folds), fuse=0, seed=seed)
    compare_files(file, data, where, OtherFiles(), options, output, as_json)
