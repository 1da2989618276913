"""Costs of open-set decisions, in which a row may belong to no known class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._typing import Booleans, Floats, Integers, Labels
from likely.decisions.application import Application
from likely.exceptions import InvalidDataError, InvalidParameterError


@dataclass(frozen=True)
class OpenSetCost:
    """Costs of open-set decisions: among the known classes and "none of these", and among the known classes alone.

    With unit costs and without normalisation, the open-set cost is π · unknown_accepted + (1 − π) · (known_rejected +
    known_confused), where π is the prior of the unknown class.

    Attributes
    ----------
    open : float
        Cost of all rows, decided among all hypotheses with the application's priors and costs.
    closed : float or None
        Cost of the rows of known classes, decided among the known classes with their priors renormalised. It is None if
        fewer than two known classes have a prior > 0.
    unknown_accepted : float
        Share of the unknown rows that are assigned to a known class.
    known_rejected : float
        Share of the known rows that are assigned to the unknown class; classes are weighted by their priors.
    known_confused : float
        Share of the known rows that are assigned to another known class; classes are weighted by their priors.
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
    """Return the costs of decisions from log-likelihoods, one column of which belongs to the unknown class.

    Parameters
    ----------
    application : Application
        Priors and costs of all hypotheses.
    classes : array of labels
        The hypotheses in column order.
    unknown : label
        The hypothesis "none of these".
    codes : array of int of shape (n,)
        Position in ``classes`` of the true class of each row.
    scores : array of shape (n, n_classes)
        Log-likelihoods.
    weight : array of shape (n,)
        Weight of each row.
    normalize : bool
        Whether costs are divided by the cost of the best constant decision.
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
    """Return the cost of the rows of known classes, decided among the known classes.

    Return None if fewer than two known classes have a prior > 0. ``known`` is a mask of ``classes``.
    """
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
    """Return ``rates[truth, decision]``: for each true class, the share of its rows that get each decision.

    The last column is the share of rows that are rejected. Raise if a class with a prior > 0 has no rows.
    """
    k = app.n_classes
    cells = codes * (k + 1) + app.decide_codes(scores) % (k + 1)
    counts = np.bincount(cells, weight, k * (k + 1)).reshape(k, k + 1)
    totals = counts.sum(axis=1, keepdims=True)
    absent = (totals[:, 0] == 0) & (app.priors > 0)
    if absent.any():
        name = names[int(absent.argmax())]
        raise InvalidDataError(
            f"The application has a prior > 0 for the class {name!r}, but no row of this class was evaluated."
        )
    return np.asarray(np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0))
