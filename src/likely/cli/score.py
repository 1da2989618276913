"""The verb ``score``: the evidence of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likely.cli.options import AsJson, OutputOrCsv, Positive
from likely.cli.rendering import console, deliver

__all__ = ["score"]


def score(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A saved model: a .likely file.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows: CSV, TSV, Parquet, Arrow, npz.")],
    output: OutputOrCsv = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="The column of labels. The training target's if not given."),
    ] = None,
    positive: Positive = None,
    as_json: AsJson = False,
) -> None:
    """Give the evidence of a saved model about each row of a file, free of priors and costs.

    For two classes a column llr, the log-likelihood ratio of the second class in sorted order against the first, as the
    other verbs take it, unless --positive names the first; for more, a column of log-likelihoods for each class.
    Labels, if the file has them, are carried along, so that the result can be judged by likely evaluate; decisions are
    made of it by likely decide.

    For example:
        likely score model.likely new.csv -o scores.csv
        likely score model.likely new.csv | head
    """
    from likely.cli.modelling import said_of_llr, scored
    from likely.cli.words import counted

    found = scored(model, file, label, positive)
    facts = {
        "model": str(model),
        "file": str(file),
        "rows": len(found.evidence),
        "classes": found.classes,
        "target": found.target,
        "labelled": found.labels is not None,
    }
    if deliver(found.columns(), output, facts, as_json):
        what = said_of_llr(found) if found.target is not None else "log-likelihoods"
        where = "" if output is None else f" Written to {output}."
        console(err=output is None).print(f"{counted(facts['rows'], 'row')} scored, {what}.{where}", soft_wrap=True)
