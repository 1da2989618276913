"""The verb ``compare``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likely.cli.data_options import DataFile, DataOptions
from likely.cli.options import ApplicationOptions, AsJson

__all__ = ["compare"]

_FAMILY = "A family to compare: gaussian, logistic, …; repeatable. All if not given."
_BY = "What systems are put in order by: minimum, actual or cllr."
_RUN = "Folder for all that is computed; the same command goes on there. FILE-run if not given."
_EVALUATION_TARGET = "The column of labels there, if it is called otherwise."


def compare(
    file: DataFile,
    data: DataOptions,
    where: ApplicationOptions,
    family: Annotated[list[str] | None, typer.Option("--family", metavar="NAME", help=_FAMILY)] = None,
    folds: Annotated[str, typer.Option("--folds", metavar="K", help="How many folds, or leave-one-out.")] = "5",
    held_out: Annotated[
        Path | None, typer.Option("--held-out", metavar="FILE", help="Rows to compare on, in place of folds.")
    ] = None,
    evaluation: Annotated[
        Path | None, typer.Option("--evaluation", metavar="FILE", help="Rows to judge what was chosen on, at the end.")
    ] = None,
    evaluation_target: Annotated[
        str | None, typer.Option("--evaluation-target", metavar="COLUMN", help=_EVALUATION_TARGET)
    ] = None,
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
    computed is kept in a folder: stopped or killed, the same command goes on there.

    For example:
        likely compare train.csv --target label --prior 0.1 --cost-fn 10
        likely compare train.csv --target label --evaluation test.csv
    """
    from likely.cli.comparing import Plan, compared
    from likely.cli.words import stem

    plan = Plan(
        file, data, where, family, folds, held_out, evaluation, evaluation_target or data.target, by, fuse, seed
    )
    compared(plan, run or Path(f"{stem(file)}-run"), restart, save, as_json)
