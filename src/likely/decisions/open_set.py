"""What decisions cost where a row may be of no known class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._typing import Booleans, Floats, Integers, Labels
from likely.decisions.application import Application
from likely.exceptions import InvalidDataError, InvalidParameterError


@dataclass(frozen=True)
class OpenSetCost:
    """The cost of deciding among known classes and "none of these", beside that of the known classes alone.

    With unit costs the open-set cost, not normalised, is π · unknown_accepted + (1 − π) · (known_rejected +
    known_confused) for a prior π of the unknown.

    Attributes
    ----------
    open : float
        All rows, decided among all hypotheses at the application's priors and costs.
    closed : float or None
        Rows of the known classes, decided among these at their priors, renormalised; None where the application expects
        fewer than two of them.
    unknown_accepted : float
        Share of the unknown rows decided to be of a known class.
    known_rejected : float
        Share of the known rows decided to be unknown, classes counting by their priors.
    known_confused : float
        Share of the known rows decided to be of another known class, classes counting by their priors.
    """

    open: float
    closed: float | None
    unknown_accepted: float
    known_rejected: float
    known_confused: float


def cost_of_open_set(
    application: Application,
    classes: Labels,
    unknown: Any,
    codes: Integers,
    scores: Floats,
    weight: Floats,
    normalize: bool = True,
) -> OpenSetCost:
    """Costs of decisions by log-likelihoods, of which one column is that of the unknown.

    Parameters
    ----------
    application : Application
        Of all hypotheses.
    classes : array of labels
        The hypotheses in column order.
    unknown : label
        Which of them is "none of these".
    codes : array of int of shape (n,)
        Position of the truth of each row.
    scores : array of shape (n, n_classes)
    weight : array of shape (n,)
    normalize : bool
        Divide by the cost of the best decision that does not look at the evidence.
    """
    app, names = application.aligned(classes), classes.tolist()
    if unknown not in names:
        raise InvalidParameterError(f"unknown must be one of the classes {names}, but is {unknown!r}.")
    at, known = names.index(unknown), np.array([name != unknown for name in names])
    rates = _rates(app, names, codes, scores, weight)
    among, shares = rates[known][:, :-1][:, known], _shares(app.priors[known])
    return OpenSetCost(
        _risk(app, rates, normalize),
        _closed(app, classes, known, codes, scores, weight, normalize),
        float(rates[at, :-1][known].sum()),
        float(shares @ rates[known, at]),
        float(shares @ (among.sum(axis=1) - among.diagonal())),
    )


def _closed(
    app: Application,
    classes: Labels,
    known: Booleans,
    codes: Integers,
    scores: Floats,
    weight: Floats,
    normalize: bool,
) -> float | None:
    """The cost among the known classes that the application expects; none where it expects fewer than two."""
    if (app.priors[known] > 0).sum() < 2:
        return None
    closed = Application(_shares(app.priors[known]), app.costs[np.ix_(known, known)], reject_cost=app.reject_cost)
    rows, places = known[codes], np.cumsum(known) - 1
    rates = _rates(closed, classes[known].tolist(), places[codes[rows]], scores[rows][:, known], weight[rows])
    return _risk(closed, rates, normalize)


def _risk(app: Application, rates: Floats, normalize: bool) -> float:
    return app.risk(rates) / (app.constant_cost if normalize else 1.0)


def _shares(priors: Floats) -> Floats:
    total = priors.sum()
    return np.asarray(priors / total if total > 0 else priors)


def _rates(app: Application, names: list[Any], codes: Integers, scores: Floats, weight: Floats) -> Floats:
    """Decisions as shares of each truth's rows, rejected ones in the last column."""
    k = app.n_classes
    cells = codes * (k + 1) + app.decide_codes(scores) % (k + 1)
    counts = np.bincount(cells, weight, k * (k + 1)).reshape(k, k + 1)
    totals = counts.sum(axis=1, keepdims=True)
    absent = (totals[:, 0] == 0) & (app.priors > 0)
    if absent.any():
        name = names[int(absent.argmax())]
        raise InvalidDataError(f"The application expects the class {name!r}, of which no row was judged.")
    return np.asarray(np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0))
