"""Categories that a model has not seen in training, told of the rows that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from likely.cli.guarding import note
from likely.cli.words import counted, listing
from likely.features import Encode
from likely.tables.cells import distinct

__all__ = ["note_unseen"]


def note_unseen(model: Any, X: Any) -> None:
    """Say in which columns, and in how many rows, a table has categories that the model knows nothing of."""
    encoder = next(_encoders(model), None)
    if encoder is None or not hasattr(X, "column_names"):
        return
    for name, known in zip(encoder.columns_, encoder.categories_, strict=True):
        if known is not None and name in X.column_names:
            _note_column(name, X[name], set(known))


def _note_column(name: str, column: Any, known: set[str]) -> None:
    texts, codes = distinct(column)
    strange = [at for at, text in enumerate(texts) if text not in known]
    if strange:
        rows = int(np.isin(codes, strange).sum())
        note(
            f"Column {name!r} holds categories in {counted(rows, 'row')} that training did not have, "
            f"{listing([texts[at] for at in strange], 3)}: they say nothing there."
        )


def _encoders(model: Any) -> Iterator[Encode]:
    """What turns the columns of a table into numbers, wherever it is in a model."""
    if isinstance(model, Encode):
        yield model
    inner = [step for _, step in getattr(model, "steps", ())]
    for part in [*inner, *getattr(model, "models_", ())]:
        yield from _encoders(part)
