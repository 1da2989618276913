"""Open-set decisions judged: known classes, or none of these."""

from __future__ import annotations

from typing import Any

from likely.decisions import Application, OpenSetCost, as_application, cost_of_open_set
from likely.evaluation.truth import check_evidence

__all__ = ["open_set_cost"]


def open_set_cost(
    y_true: Any,
    log_likelihoods: Any,
    application: Application,
    unknown: Any,
    normalize: bool = True,
    *,
    labels: Any = None,
    sample_weight: Any = None,
) -> OpenSetCost:
    """What it costs to decide among known classes and "none of these", beside the cost among the known classes alone.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
        Rows of no known class carry the label ``unknown``.
    log_likelihoods : array of shape (n, n_classes)
        Of all hypotheses, that of the unknown among them.
    application : Application
        Of all hypotheses: priors in column order, or by label.
    unknown : label
        Which of them is "none of these".
    normalize : bool, default True
        Divide each cost by that of the best decision that does not look at the evidence.
    labels : sequence of labels, optional
        The hypotheses in column order, such as a model's ``classes_``; the sorted labels of ``y_true`` if not given.
    sample_weight : array of shape (n,), optional
        Frequencies.

    Returns
    -------
    OpenSetCost
        With ``open``, ``closed``, ``unknown_accepted``, ``known_rejected`` and ``known_confused``.

    Examples
    --------
    >>> from likely import Application
    >>> y = ["ann", "ann", "bob", "bob", "nobody", "nobody"]
    >>> scores = [[3, 0, 1], [1, 0, 2], [0, 3, 1], [1, 0, -2], [0, 1, 3], [2, 0, 1]]
    >>> door = Application({"ann": 0.4, "bob": 0.4, "nobody": 0.2})
    >>> cost = open_set_cost(y, scores, door, "nobody", normalize=False)
    >>> round(cost.open, 3), round(cost.closed, 3)
    (0.5, 0.25)
    >>> cost.unknown_accepted, cost.known_rejected, cost.known_confused
    (0.5, 0.25, 0.25)
    """
    classes, codes, scores, weight = check_evidence(y_true, log_likelihoods, labels, sample_weight)
    return cost_of_open_set(as_application(application), classes, unknown, codes, scores, weight, normalize)
