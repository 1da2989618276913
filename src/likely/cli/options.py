"""Options that several verbs share, and how a group of them is one parameter of a verb."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

__all__ = [
    "ApplicationOptions",
    "AsJson",
    "Columns",
    "Folds",
    "JudgingOptions",
    "Label",
    "MapOptions",
    "Output",
    "OutputOrCsv",
    "Positive",
    "SaveMap",
    "ScoreOptions",
    "ScoresFile",
    "TrainingPrior",
    "UseMap",
    "with_options_expanded",
]

_POSITIVE = "The target of two classes. The second in sorted order if not given."
_APPLICATION = "Two classes, all in one, as prior=0.1,cost_fn=10,cost_fp=1; repeatable."
_PRIORS = "Any number of classes, as a=0.2,b=0.5,c=0.3. Equal if not given."
_REJECT_COST = "What deciding nothing costs, where decisions are made."
_COSTS = "Table of costs: labels as header and first column, truth in rows, decision in columns."

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document instead of tables.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", metavar="NAME", help="A column of scores; repeatable. All others if not given."),
]
Label = Annotated[str, typer.Option("--label", metavar="COLUMN", help="The column of labels.")]
Folds = Annotated[int, typer.Option("--folds", metavar="K", min=2, help="How many folds of rows are held out in turn.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="File to write: CSV, TSV, Parquet, Arrow.")]
OutputOrCsv = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="File to write: CSV, TSV, Parquet, Arrow. Else CSV on stdout."),
]
SaveMap = Annotated[
    Path | None, typer.Option("--save", metavar="FILE", help="Keep the map, learned from all rows, in a .likely file.")
]
ScoresFile = Annotated[Path, typer.Argument(metavar="SCORES", help="Labels and scores: CSV, TSV, Parquet, Arrow.")]
TrainingPrior = Annotated[
    float | None,
    typer.Option("--prior", metavar="P", help="The target's prior at which the map should be best. 0.5 if not given."),
]
UseMap = Annotated[
    Path | None, typer.Option("--using", metavar="FILE", help="Apply a saved map instead; labels are then not needed.")
]
Positive = Annotated[str | None, typer.Option("--positive", metavar="LABEL", help=_POSITIVE)]


def _where(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel="Where it is used: priors and costs")


@dataclass(frozen=True)
class ApplicationOptions:
    """Options that say where a system is used: how frequent the classes are, and what mistakes cost.

    A verb that has a parameter annotated by this class has all these options; ``applications_from`` makes applications
    of them.
    """

    prior: Annotated[float | None, _where("--prior", "P", "How frequent the target of two classes is, 0 to 1.")] = None
    cost_fn: Annotated[float | None, _where("--cost-fn", "C", "What missing a target costs. 1 if not given.")] = None
    cost_fp: Annotated[float | None, _where("--cost-fp", "C", "What a false alarm costs. 1 if not given.")] = None
    positive: Annotated[str | None, _where("--positive", "LABEL", _POSITIVE)] = None
    reject_cost: Annotated[float | None, _where("--reject-cost", "C", _REJECT_COST)] = None
    application: Annotated[list[str] | None, _where("--application", "TEXT", _APPLICATION)] = None
    priors: Annotated[str | None, _where("--priors", "TEXT", _PRIORS)] = None
    costs: Annotated[Path | None, _where("--costs", "FILE", _COSTS)] = None


@dataclass(frozen=True)
class ScoreOptions:
    """Options that say what is judged of a file of scores."""

    label: Label = "label"
    column: Columns = None


@dataclass(frozen=True)
class JudgingOptions(ScoreOptions):
    """Options that say what is judged of a file of scores, and how."""

    intervals: Annotated[bool, typer.Option(help="95 % intervals, by resampling the rows.")] = True
    resamples: Annotated[int, typer.Option(metavar="N", min=10, help="How many resamples intervals take.")] = 1000


@dataclass(frozen=True)
class MapOptions:
    """Options of the verbs that learn a map on scores, keep it, or apply one that is kept."""

    output: Output
    prior: TrainingPrior = None
    save: SaveMap = None
    using: UseMap = None
    folds: Folds = 5
    label: Label = "label"
    column: Columns = None
    positive: Positive = None
    as_json: AsJson = False


def with_options_expanded(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb, with each parameter that is a group of options replaced by those options."""
    hints = get_type_hints(verb, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}
    parameters = []
    for parameter in inspect.signature(verb).parameters.values():
        if parameter.name in groups:
            parameters += _parameters_of(groups[parameter.name])
        else:
            annotation = hints[parameter.name]
            parameters.append(parameter.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY))

    def expanded(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        verb(**given)

    expanded.__doc__, expanded.__name__ = verb.__doc__, verb.__name__
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return expanded


def _parameters_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field.name, kind, default=_default(field), annotation=hints[field.name])
        for field in fields(group)
    ]


def _default(field: Field[Any]) -> Any:
    """What an option is if it is not given; one without that must be."""
    return inspect.Parameter.empty if field.default is MISSING else field.default
