"""The command ``score``: the evidence of a saved model, which ``decide`` uses too."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likely._formatting import format_count, format_label, format_names
from likely.cli.app import note
from likely.cli.options import AsJson, CommandError, OutputOrCsv, Positive, target_of
from likely.cli.rendering import console, deliver
from likely.cli.scores import Scores, as_llr

if TYPE_CHECKING:
    from likely._typing import Labels
    from likely.features import Encode


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
    other commands take it, unless --positive names the first; for more, a column of log-likelihoods for each class.
    Labels, if the file has them, are carried along, so that the result can be judged by likely evaluate; decisions are
    made of it by likely decide.

    For example:
        likely score model.likely new.csv -o scores.csv
        likely score model.likely new.csv | head
    """
    found = score_rows(model, file, label, positive)
    facts = {
        "model": str(model),
        "file": str(file),
        "rows": len(found.scores),
        "classes": found.classes,
        "target": found.target,
        "labelled": found.labels is not None,
    }
    if deliver(found.columns(), output, facts, as_json):
        what = describe_llr(found) if found.target is not None else "log-likelihoods"
        where = "" if output is None else f" Written to {output}."
        rows = format_count(len(found.scores), "row")
        console(err=output is None).print(f"{rows} scored, {what}.{where}", soft_wrap=True)


def score_rows(model: Path, file: Path, label: str | None, positive: str | None) -> Scores:
    """Score the rows of a file by a saved model; llrs are of the class named, or else of the second."""
    found, about = _load_model(model)
    classes = found.classes_.tolist()
    X, labels = _read_rows(found, about, file, label)
    _note_unseen(found, X)
    scores = Scores(labels, found.log_likelihood(X), tuple(map(str, classes)), classes)
    return scores if len(classes) > 2 else as_llr(scores, target_of(positive, classes))


def describe_llr(found: Scores) -> str:
    """Say which class a positive llr favours, and the option that the commands which read it need."""
    other, target = found.ordered_classes
    text = f"llr: {format_label(target, 40)} against {format_label(other, 40)}"
    if target == found.classes[1]:
        return text
    return f"{text}; give --positive {shlex.quote(format_label(target, 40))} to the commands that read it, too"


def trained_target(model: Path) -> str | None:
    """Return the target of two classes that a model was trained for, if that is known."""
    from likely.persistence import read_about

    about = read_about(model)
    named = (about["about"] or {}).get("positive")
    return None if named is None or len(about["classes"] or ()) != 2 else str(named)


def _load_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Load a model that gives evidence, and what was saved about it."""
    from likely.persistence import load, read_about

    model = load(path)
    kind = type(model).__name__
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        raise CommandError(f"{str(path)!r} is of kind {kind}, which maps scores, not rows. Use --using.")
    if not hasattr(model, "log_likelihood"):
        raise CommandError(
            f"{str(path)!r} is of kind {kind}, which gives no evidence. Save it in a CalibratedClassifier."
        )
    return model, read_about(path)["about"] or {}


def _read_rows(model: Any, about: dict[str, Any], path: Path, label: str | None) -> tuple[Any, Labels | None]:
    """Read the features of a file, and its labels if it has any."""
    from likely.exceptions import TableError
    from likely.tables import read_data
    from likely.tables.files import check_present

    header = header_of(path)
    named = label if label is not None else about.get("target")
    if label is not None:
        check_present(path, header, label, "of labels", "label")
    elif named not in header:
        named = None
    if path.suffix.lower() == ".npz":
        table = read_data(path, named)
        return table.X, table.labels
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    features = names if names and set(names) <= set(header) else None
    # The labels are read as groups: with a target, features would have to be fit to learn from.
    try:
        table = read_data(path, groups=named, features=features)
    except TableError:
        if named is None or label is not None:
            raise
        note(f"Some rows have no label in column {named!r}, so labels are not carried along.")
        return read_data(path, exclude=[named], features=features).X, None
    return table.X, table.groups


def header_of(path: Path) -> list[str]:
    """Return the names of a file's columns, or of a .npz's arrays."""
    import numpy as np

    from likely.tables.files import find_file, read_header

    file = find_file(path, ".npz")
    if file.suffix.lower() != ".npz":
        return read_header(file)
    with np.load(file, allow_pickle=False) as arrays:
        return list(getattr(arrays, "files", []))


def _note_unseen(model: Any, X: Any) -> None:
    """Note the columns, and the numbers of rows, with categories that the model has not seen in training."""
    import numpy as np

    from likely.tables.cells import encode_distinct

    encoder = next(_encoders(model), None)
    if encoder is None or not hasattr(X, "column_names"):
        return
    for name, known in zip(encoder.columns_, encoder.categories_, strict=True):
        if known is None or name not in X.column_names:
            continue
        texts, codes = encode_distinct(X[name])
        strange = [at for at, text in enumerate(texts) if text not in known]
        if strange:
            rows = format_count(int(np.isin(codes, strange).sum()), "row")
            note(
                f"Column {name!r} holds categories in {rows} that training did not have, "
                f"{format_names([texts[at] for at in strange], 3)}: they say nothing there."
            )


def _encoders(model: Any) -> Iterator[Encode]:
    """Find the steps of a model that turn the columns of a table into numbers."""
    from likely.features import Encode

    if isinstance(model, Encode):
        yield model
    inner = [step for _, step in getattr(model, "steps", ())]
    for part in [*inner, *getattr(model, "models_", ())]:
        yield from _encoders(part)
