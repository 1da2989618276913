"""The command ``score``: compute log-likelihoods of rows with a saved model. The command ``decide`` uses it too."""

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
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Saved model: a .likely file.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows: CSV, TSV, Parquet, Arrow, npz.")],
    output: OutputOrCsv = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="Column of labels. Default: the training target."),
    ] = None,
    positive: Positive = None,
    as_json: AsJson = False,
) -> None:
    """Score the rows of a file with a saved model. Scores do not depend on priors and costs.

    For two classes, the output has a column llr: the log-likelihood ratio of the second class in sorted order against
    the first, or the reverse if --positive names the first. For more classes, it has one column of log-likelihoods for
    each class. Labels are copied to the output if the file has them. Use 'likely evaluate' to evaluate the scores, and
    'likely decide' to make decisions.

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
        what = describe_llr(found) if found.target is not None else "log-likelihoods of each class"
        where = "" if output is None else f" Written to {output}."
        rows = format_count(len(found.scores), "row")
        console(err=output is None).print(f"{rows} scored: {what}.{where}", soft_wrap=True)


def score_rows(model: Path, file: Path, label: str | None, positive: str | None) -> Scores:
    """Score the rows of a file with a saved model. High llrs favour the class ``positive``, or the second class."""
    found, about = _load_model(model)
    classes = found.classes_.tolist()
    X, labels = _read_rows(found, about, file, label)
    _note_unseen(found, X)
    scores = Scores(labels, found.log_likelihood(X), tuple(map(str, classes)), classes)
    return scores if len(classes) > 2 else as_llr(scores, target_of(positive, classes))


def describe_llr(found: Scores) -> str:
    """Return a sentence that names the class that a positive llr favours, and the option that later commands need."""
    other, target = found.ordered_classes
    text = f"llr of {format_label(target, 40)} against {format_label(other, 40)}"
    if target == found.classes[1]:
        return text
    return f"{text}; commands that read it need --positive {shlex.quote(format_label(target, 40))}"


def read_trained_target(model: Path) -> str | None:
    """Return the target of two classes that a model was trained for, or None if it is not known."""
    from likely.persistence import read_about

    about = read_about(model)
    named = (about["about"] or {}).get("positive")
    return None if named is None or len(about["classes"] or ()) != 2 else str(named)


def _load_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return the model of a file, and the description that was saved with it.

    Raise CommandError if the model has no log-likelihoods.
    """
    from likely.persistence import load, read_about

    model = load(path)
    kind = type(model).__name__
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        raise CommandError(
            f"{str(path)!r} is of kind {kind}, which is not a classifier. To apply a map on scores, use "
            "option --using of 'likely calibrate' or 'likely fuse'."
        )
    if not hasattr(model, "log_likelihood"):
        raise CommandError(
            f"{str(path)!r} is of kind {kind}, which has no log-likelihoods. Put it into a CalibratedClassifier before "
            "you save it."
        )
    return model, read_about(path)["about"] or {}


def _read_rows(model: Any, about: dict[str, Any], path: Path, label: str | None) -> tuple[Any, Labels | None]:
    """Return the features of a file, and its labels or None if it has no labels."""
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
    # Read the labels as groups. If they were read as the target, read_data would raise an error for labels from which
    # no model can learn, such as those of a single class.
    try:
        table = read_data(path, groups=named, features=features)
    except TableError:
        if named is None or label is not None:
            raise
        note(f"Some rows have no label in column {named!r}, so the output has no labels.")
        return read_data(path, exclude=[named], features=features).X, None
    return table.X, table.groups


def header_of(path: Path) -> list[str]:
    """Return the names of the columns of a table, or of the arrays of a .npz file."""
    import numpy as np

    from likely.tables.files import find_file, read_header

    file = find_file(path, ".npz")
    if file.suffix.lower() != ".npz":
        return read_header(file)
    with np.load(file, allow_pickle=False) as arrays:
        return list(getattr(arrays, "files", []))


def _note_unseen(model: Any, X: Any) -> None:
    """Print a note about categories that did not occur in training: their columns and the number of their rows."""
    import numpy as np

    from likely.tables.cells import encode_distinct

    encoder = next(_encoders(model), None)
    if encoder is None or not hasattr(X, "column_names"):
        return
    for name, known in zip(encoder.columns_, encoder.categories_, strict=True):
        if known is None or name not in X.column_names:
            continue
        texts, codes = encode_distinct(X[name])
        unknown = [at for at, text in enumerate(texts) if text not in known]
        if unknown:
            rows = format_count(int(np.isin(codes, unknown).sum()), "row")
            note(
                f"Column {name!r} has categories in {rows} that did not occur in training: "
                f"{format_names([texts[at] for at in unknown], 3)}. They are encoded as the average training row."
            )


def _encoders(model: Any) -> Iterator[Encode]:
    """Yield the steps of a model that encode the columns of a table as numbers."""
    from likely.features import Encode

    if isinstance(model, Encode):
        yield model
    inner = [step for _, step in getattr(model, "steps", ())]
    for part in [*inner, *getattr(model, "models_", ())]:
        yield from _encoders(part)
