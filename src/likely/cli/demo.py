"""The verb ``demo``: the main job on data that come along."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where to put the data and the run.")
    ] = Path("likely-demo"),
) -> None:
    """Run the main job on 569 tumours that come along: all families compared, calibrated, the best one saved.

    Three quarters of the rows are for choosing; the rest say whether the choice was right. It takes about a minute, and
    prints the commands that do the same on a file of your own.

    For example:
        likely demo
    """
    from likely.cli.demonstrating import demonstrated

    demonstrated(folder)
