"""The application in which a model is used: class priors, and costs of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from likely._constraints import (
    Constraints,
    Scope,
    ViolationError,
    floats,
    label,
    list_of,
    none_or,
    number,
    probabilities,
)
from likely._html import html_table
from likely._numerics import difference, log, log_normalize
from likely._typing import Floats, Integers, Labels
from likely.exceptions import InvalidDataError, InvalidParameterError, LikelyError

_FAINT = 1e-200
"""Expected costs may have underflowed if they are below this value times the largest cost. They are computed with
posteriors relative to the posterior of the likeliest class."""


@dataclass(frozen=True, eq=False, init=False)
class Application:
    """Class priors and costs of decisions, which turn log-likelihoods into decisions.

    A decision minimises the expected cost under the posterior. On a tie the last class wins, so a log-likelihood ratio
    equal to the threshold accepts. A row is rejected only if that is strictly cheaper than deciding for any class.

    Parameters
    ----------
    priors : sequence of float in class order, or mapping {label: prior}
        Probabilities of the classes in the application. They sum to 1.
    costs : array of shape (n_classes, n_classes), default: 0 on the diagonal and 1 elsewhere
        ``costs[truth, decision]``, with rows and columns in the order of ``priors``. For each true class, the correct
        decision must not cost more than a wrong one.
    reject_cost : float, optional
        Cost of rejecting a row, that is of making no decision, for any true class. By default no row is rejected.

    Attributes
    ----------
    priors : array of shape (n_classes,)
    costs : array of shape (n_classes, n_classes)
    reject_cost : float or None
    labels : tuple of labels, or None
        The classes in the order of ``priors``, if they were named. A label of None is the class that was not named.

    Notes
    -----
    With log-likelihoods l and priors π, the expected cost of decision d is E(d) = Σ_t P(t | x) costs[t, d] with
    P(t | x) ∝ π_t exp(l_t). Decisions compare the logarithms of E, so they are correct for log-likelihoods of any size.
    For two classes the rule reduces to llr ≥ threshold, with

        threshold = log [(1 − π)(costs[0, 1] − costs[0, 0])] − log [π (costs[1, 0] − costs[1, 1])].

    Examples
    --------
    >>> import numpy as np
    >>> Application([0.5, 0.5]).threshold
    0.0
    >>> app = Application.binary(0.5, cost_fn=10)
    >>> round(app.effective_prior, 4), round(app.threshold, 4)
    (0.9091, -2.3026)
    >>> app.decide(np.log([[0.9, 0.1], [0.95, 0.05]]), classes=["ham", "spam"])
    array(['spam', 'ham'], dtype='<U4')
    """

    priors: Floats
    costs: Floats
    reject_cost: float | None
    labels: tuple[Any, ...] | None

    _constraints: ClassVar[Constraints] = {
        "priors": probabilities("k"),
        "costs": floats("k", "k"),
        "reject_cost": none_or(number(0)),
        "labels": none_or(list_of(label, types=(tuple,))),
    }

    def __init__(
        self,
        priors: Sequence[float] | Mapping[Any, float] | Floats,
        costs: Sequence[Sequence[float]] | Floats | None = None,
        *,
        reject_cost: float | None = None,
    ) -> None:
        labels = tuple(priors) if isinstance(priors, Mapping) else None
        values = list(priors.values()) if isinstance(priors, Mapping) else priors
        self._set(_checked_priors(values), costs, reject_cost, labels)

    def _set(self, priors: Floats, costs: Any, reject_cost: float | None, labels: tuple[Any, ...] | None) -> None:
        checked = _checked_costs(costs, len(priors))
        if reject_cost is not None and not (isinstance(reject_cost, (Real, np.number)) and 0 <= reject_cost < np.inf):
            raise InvalidParameterError(f"reject_cost must be a number >= 0 or None, but is {reject_cost!r}.")
        for array in (priors, checked):
            array.flags.writeable = False
        fields = {"priors": priors, "costs": checked, "reject_cost": reject_cost, "labels": labels}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _from_file(cls, values: dict[str, Any]) -> Application:
        """Return an application with exactly the priors that are stored in a file.

        The constructor divides priors by their sum, which could change their last bits. So the stored priors replace
        those of the constructor.
        """
        made = cls(values["priors"], values["costs"], reject_cost=values["reject_cost"])
        values["priors"].flags.writeable = False
        for name in ("priors", "labels"):
            object.__setattr__(made, name, values[name])
        return made

    def _check_state(self, scope: Scope) -> None:
        if self.labels is not None and (len(self.labels) != self.n_classes or len(set(self.labels)) < self.n_classes):
            raise ViolationError("labels must name each class exactly once")

    @classmethod
    def equal(cls, n_classes: int) -> Application:
        """Return the application with equal priors and unit costs."""
        return cls(np.full(n_classes, 1 / n_classes))

    @classmethod
    def binary(
        cls,
        prior: float,
        cost_fn: float = 1.0,
        cost_fp: float = 1.0,
        *,
        positive: Any = None,
        reject_cost: float | None = None,
    ) -> Application:
        """Return the application of a two-class detector.

        Parameters
        ----------
        prior : float
            Prior of the target class.
        cost_fn : float
            Cost of a miss (false negative).
        cost_fp : float
            Cost of a false alarm (false positive).
        positive : label, optional
            The target class; by default the second class.
        reject_cost : float, optional
            Cost of rejecting a row.
        """
        if not (isinstance(prior, (Real, np.number)) and 0 < prior < 1):
            raise InvalidParameterError(f"prior must be in the open interval (0, 1), but is {prior!r}.")
        app = cls([1 - prior, prior], [[0.0, cost_fp], [cost_fn, 0.0]], reject_cost=reject_cost)
        if positive is not None:
            object.__setattr__(app, "labels", (None, positive))
        return app

    def _repr_html_(self) -> str:
        named = self.labels if self.labels is not None else range(self.n_classes)
        names = [str(i if name is None else name) for i, name in enumerate(named)]
        header = ["truth", "prior", *(f"cost of deciding {name}" for name in names)]
        rejects = [] if self.reject_cost is None else [float(self.reject_cost)]
        rows = [
            [name, float(prior), *(float(cost) for cost in costs), *rejects]
            for name, prior, costs in zip(names, self.priors, self.costs, strict=True)
        ]
        is_plain = self.n_classes == 2 and self.reject_cost is None
        note = f"Effective prior {self.effective_prior:.3g}, llr threshold {self.threshold:.3g}." if is_plain else ""
        return html_table("Application", [*header, *(["cost of rejecting"] if rejects else [])], rows, note)

    def __repr__(self) -> str:
        priors: Any = [float(p) for p in self.priors]
        if self.labels is not None:
            priors = dict(zip(self.labels, priors, strict=True))
        reject = "" if self.reject_cost is None else f", reject_cost={self.reject_cost}"
        return f"Application(priors={priors}, costs={self.costs.tolist()}{reject})"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.priors)

    @property
    def effective_prior(self) -> float:
        """The prior that gives the same decisions with unit costs (two classes).

        π̃ = π C_fn / (π C_fn + (1 − π) C_fp), where each cost is the excess over the cost of the correct decision.
        """
        false_alarm, miss = self._stakes()
        return float(miss / (miss + false_alarm))

    @property
    def prior_log_odds(self) -> float:
        """The log-odds of the effective prior, which is minus the threshold (two classes)."""
        return -self.threshold

    @cached_property
    def threshold(self) -> float:
        """The smallest log-likelihood ratio for which the second class is decided (two classes)."""
        return llr_threshold(*self._stakes())

    def _stakes(self) -> tuple[float, float]:
        """Return the product of prior and cost for a false alarm, and the same product for a miss (two classes).

        The cost of a mistake is its excess over the cost of the correct decision.
        """
        if self.n_classes != 2:
            raise InvalidParameterError(
                f"Thresholds and effective priors exist for two classes, but the application has {self.n_classes}. "
                "Use decide, which takes any number of classes."
            )
        regrets = self.priors * (self.costs.max(axis=1) - self.costs.diagonal())
        if not regrets.sum() > 0:
            raise InvalidParameterError(
                "All mistakes cost 0 in this application, so no decision is better than another. Give at least one "
                "mistake a cost > 0."
            )
        return float(regrets[0]), float(regrets[1])

    def aligned(self, classes: Sequence[Any] | Labels) -> Application:
        """Return the same application with priors and costs in the order of ``classes``."""
        classes = np.asarray(classes)
        if len(classes) != self.n_classes:
            raise InvalidDataError(
                f"The application has priors for {self.n_classes} classes, but the model has {len(classes)}: "
                f"{_listing(classes)}."
            )
        if self.labels is None:
            return self
        order = self._order_for(classes)
        app = object.__new__(Application)
        app._set(self.priors[order], self.costs[np.ix_(order, order)], self.reject_cost, tuple(classes.tolist()))
        return app

    def _order_for(self, classes: Labels) -> Integers:
        labels: tuple[Any, ...] = self.labels or ()
        position = {label: i for i, label in enumerate(labels) if label is not None}
        known = classes.tolist()
        strangers = [label for label in position if label not in known]
        if strangers:
            raise InvalidDataError(
                f"The application names the class {strangers[0]!r}, which is not a class of the model. "
                f"The classes of the model are {_listing(classes)}."
            )
        unnamed = [i for i, label in enumerate(labels) if label is None]
        return np.array([position[c] if c in position else unnamed[0] for c in known])

    def posteriors(self, log_likelihoods: Floats) -> Floats:
        """Return the posteriors of the classes under the priors of this application.

        ``log_likelihoods`` has one column for each class, in class order. For two classes, it may be the log-likelihood
        ratios, of shape (n,).
        """
        return np.asarray(np.exp(self.log_posteriors(log_likelihoods)))

    def log_posteriors(self, log_likelihoods: Floats) -> Floats:
        """Return the logarithms of :meth:`posteriors`."""
        return log_normalize(self._log_joint(self._checked(log_likelihoods)))

    def log_likelihoods(self, posteriors: Any) -> Floats:
        """Return log-likelihoods from posteriors under these priors: log posterior minus log prior.

        Posteriors determine the log-likelihoods of a row up to a constant. For two classes, the second column minus the
        first is the log-likelihood ratio (llr). ``predict_proba`` of a model returns posteriors under its training
        priors.

        Examples
        --------
        >>> training = Application([0.8, 0.2])
        >>> evidence = training.log_likelihoods([[0.8, 0.2], [0.2, 0.8]])
        >>> (evidence[:, 1] - evidence[:, 0]).round(4)  # a posterior equal to the prior has the llr 0
        array([0.    , 2.7726])
        """
        values = np.asarray(posteriors, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self.n_classes or not ((values >= 0) & (values <= 1)).all():
            raise InvalidDataError(
                f"Posteriors of {self.n_classes} classes must have shape (n, {self.n_classes}) and lie between 0 and 1."
            )
        return log(values) - log(self.priors)

    def expected_costs(self, log_likelihoods: Floats) -> Floats:
        """Return the expected cost of each decision, of shape (n, n_classes)."""
        return np.asarray(self.posteriors(log_likelihoods) @ self.costs)

    def decide(self, log_likelihoods: Floats, classes: Sequence[Any] | Labels) -> Labels:
        """Return the decision of lowest expected cost for each row, as a label of ``classes``.

        Parameters
        ----------
        log_likelihoods : array of shape (n, n_classes), or (n,) for two classes' log-likelihood ratios
            Columns in the order of ``classes``.
        classes : sequence of labels

        Returns
        -------
        array of shape (n,)
            Labels; with a ``reject_cost``, an object array with None for rejected rows.
        """
        classes = np.asarray(classes)
        chosen = self.aligned(classes).decide_codes(log_likelihoods)
        if self.reject_cost is None:
            return np.asarray(classes[chosen])
        decisions = np.array([*classes.tolist(), None], dtype=object)
        return np.asarray(decisions[chosen])

    def decide_codes(self, log_likelihoods: Floats) -> Integers:
        """Return the decision of lowest expected cost for each row, as the position of the class in ``priors``.

        The position of a rejected row is −1.
        """
        scores = self._checked(log_likelihoods)
        if self.n_classes == 2:
            accepts = (difference(scores[:, 1], scores[:, 0]) >= self.threshold) & (self.priors[1] > 0)
            chosen: Integers = accepts.astype(np.intp)
        else:
            chosen = self._cheapest(scores)
        if self.reject_cost is None:
            return chosen
        costs = self.expected_costs(scores)[np.arange(len(scores)), chosen]
        # The tolerance keeps rounding errors of the expected costs from rejecting a row.
        return np.where(costs > self.reject_cost * (1 + 1e-12), -1, chosen)

    def accepted_from(self, rising_llrs: Floats) -> int:
        """Return the position of the first accepted ratio among log-likelihood ratios in ascending order (two classes).

        All ratios from this position on are accepted. If no ratio is accepted, the position is the number of ratios.
        """
        if self.reject_cost is not None:
            raise InvalidParameterError(
                "With a reject_cost there is no single threshold: rows with llrs between two thresholds are rejected. "
                "Do not pass reject_cost, or use decide."
            )
        return int(np.searchsorted(rising_llrs, self.threshold)) if self.priors[1] > 0 else len(rising_llrs)

    def risk(self, rates: Floats) -> float:
        """Return the expected cost of decisions with given rates.

        Parameters
        ----------
        rates : array of shape (n_classes, n_classes) or (n_classes, n_classes + 1)
            ``rates[truth, decision]``. Each row sums to 1. The additional last column, if present, is the rate of
            rejected rows.
        """
        cost = self.priors @ (rates[:, : self.n_classes] * self.costs).sum(axis=1)
        rejected = float(self.priors @ rates[:, self.n_classes :].sum(axis=1))
        if rejected and self.reject_cost is None:
            raise InvalidDataError("Rows were rejected, but the application has no reject_cost.")
        return float(cost + rejected * (self.reject_cost or 0.0))

    @cached_property
    def constant_cost(self) -> float:
        """Cost of the best constant decision, which may be to reject all rows. Normalised costs are divided by it.

        An error is raised if this cost is not positive, because then costs cannot be divided by it.
        """
        constants = [*(self.priors @ self.costs), *([] if self.reject_cost is None else [self.reject_cost])]
        best = float(min(constants))
        if not best > 0:
            raise InvalidParameterError(
                f"The best constant decision costs {best:g} in {self!r}, so costs cannot be normalised by it. Use "
                "normalize=False."
            )
        return best

    def _cheapest(self, scores: Floats) -> Integers:
        """Return, for each row, the position of the class with the lowest expected cost. Ties go to the last class."""
        # Subtract from the costs of each true class the lowest of them, which every decision costs at least. This does
        # not change the best decision, and the differences are >= 0, so that they have logarithms.
        regrets = self.costs - self.costs.min(axis=1, keepdims=True)
        joint = self._log_joint(scores)
        costs = np.exp(joint - joint.max(axis=1, keepdims=True)) @ regrets
        chosen = self.n_classes - 1 - costs[:, ::-1].argmin(axis=1)
        # Costs may underflow if log-likelihoods differ by much. Such costs are compared by their logarithms.
        faint = np.flatnonzero(costs.min(axis=1) < _FAINT * regrets.max())
        if len(faint):
            rows = joint[faint]
            log_costs = np.column_stack([logsumexp(rows + log(regret), axis=1) for regret in regrets.T])
            chosen[faint] = self.n_classes - 1 - log_costs[:, ::-1].argmin(axis=1)
        return np.asarray(chosen)

    def _checked(self, log_likelihoods: Any) -> Floats:
        """Return log-likelihoods of shape (n, n_classes), and raise if a value is NaN.

        Log-likelihood ratios of two classes, of shape (n,), become the second column; the first column is 0.
        """
        scores = np.asarray(log_likelihoods, dtype=np.float64)
        if scores.ndim == 1 and self.n_classes == 2:
            scores = np.column_stack([np.zeros_like(scores), scores])
        if scores.ndim != 2 or scores.shape[1] != self.n_classes:
            raise InvalidDataError(
                f"Decisions among {self.n_classes} classes need log-likelihoods of shape (n, {self.n_classes}), "
                f"but got shape {scores.shape}."
            )
        if np.isnan(scores).any():
            raise InvalidDataError(f"A log-likelihood is NaN, first in row {np.isnan(scores).any(axis=1).argmax()}.")
        return scores

    def _log_joint(self, scores: Floats) -> Floats:
        """Return log-likelihoods plus log-priors.

        A class of prior 0 keeps posterior 0 for any log-likelihoods. If a row has likelihood 0 under all other classes,
        its log-likelihoods contain no information, so its posteriors are the priors.
        """
        possible = np.where(self.priors > 0, scores, -np.inf)
        certain = np.isposinf(possible)
        if certain.any():  # if classes have an infinite log-likelihood, all other classes have posterior 0
            possible = np.where(certain.any(axis=1, keepdims=True), np.where(certain, 0.0, -np.inf), possible)
        silent = np.isneginf(possible.max(axis=1, keepdims=True))
        return np.asarray(np.where(silent, 0.0, possible) + log(self.priors))


def as_application(value: Any) -> Application:
    """Return ``value`` if it is an application. If it is a number p, return ``Application.binary(p)``."""
    if isinstance(value, Application):
        return value
    if isinstance(value, (Real, np.number)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return Application.binary(float(value))
    raise InvalidParameterError(f"An application must be an Application or an effective prior, but is {value!r}.")


def highest(scores: Floats) -> Integers:
    """Return the position of the highest score of each row; ties go to the last class.

    This is the decision for scores that are not log-likelihoods. For two classes there may be one score for each row,
    that of the second class. The second class is then decided if the score is not negative.
    """
    if scores.ndim == 1:
        return (scores >= 0).astype(np.intp)
    return np.asarray(scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1))


def _checked_priors(priors: Any) -> Floats:
    values = np.array(priors, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise InvalidParameterError(
            f"priors must be a sequence of at least two numbers, but have shape {values.shape}."
        )
    if not (np.isfinite(values).all() and (values >= 0).all() and abs(values.sum() - 1) < 1e-6):
        raise InvalidParameterError(f"priors must be >= 0 and sum to 1, but are {values.tolist()}.")
    return np.asarray(values / values.sum())


def _checked_costs(costs: Any, n_classes: int) -> Floats:
    if costs is None:
        return 1.0 - np.eye(n_classes)
    values = np.array(costs, dtype=np.float64)
    if values.shape != (n_classes, n_classes):
        raise InvalidParameterError(
            f"costs[truth, decision] must have shape ({n_classes}, {n_classes}), one row and column for each prior, "
            f"but have shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise InvalidParameterError(f"costs must be finite numbers, but are {values.tolist()}.")
    dear = np.argwhere(values < values.diagonal()[:, None])
    if len(dear):
        truth, decision = dear[0]
        raise InvalidParameterError(
            f"A correct decision must not cost more than a wrong one, but costs[{truth}, {truth}] = "
            f"{values[truth, truth]:g} is greater than costs[{truth}, {decision}] = {values[truth, decision]:g}. "
            "The layout is costs[truth, decision]."
        )
    return values


def _listing(classes: Labels) -> str:
    return ", ".join(repr(c) for c in classes.tolist()[:10]) + (", …" if len(classes) > 10 else "")


def llr_threshold(false_alarm: float, miss: float) -> float:
    """Return the log-likelihood ratio at which both mistakes have the same expected cost.

    The arguments are the products of prior and cost for the two mistakes. Their ratio is rounded to 14 digits, so that
    rescaled arguments, which differ by rounding errors, have the same threshold. Scores equal to the threshold then get
    the same decision.
    """
    with np.errstate(over="ignore", divide="ignore"):
        ratio = float(np.divide(false_alarm, miss))
    if not 1e-290 < ratio < 1e290:
        return float(log(false_alarm) - log(miss))
    return float(np.log(float(f"{ratio:.14g}")))


def training_priors(whom: str, prior: Any, classes: Labels) -> Floats:
    """Return the prior of each class as an array. Raise unless all priors are positive.

    ``prior`` is a sequence in class order, a mapping {label: prior} or, for two classes, the prior of the second class.
    ``whom`` is the name of the model in messages.
    """
    n = len(classes)
    if isinstance(prior, (int, float, np.number)) and not isinstance(prior, bool):
        if n != 2:
            raise InvalidParameterError(
                f"A single prior needs two classes, but there are {n}. Give one prior for each class."
            )
        if not 0 < prior < 1:
            raise InvalidParameterError(
                f"training_prior of {whom} must be in the open interval (0, 1), but is {prior!r}."
            )
        return Application.binary(float(prior)).priors
    if isinstance(prior, str) or not np.iterable(prior):
        raise InvalidParameterError(
            f"training_prior of {whom} must be a number, a sequence or a mapping, but is {prior!r}."
        )
    given = prior if isinstance(prior, Mapping) else np.asarray(prior)
    try:
        priors = Application(given).aligned(classes).priors
    except LikelyError as error:
        raise InvalidParameterError(
            f"training_prior of {whom} does not match its classes {classes.tolist()}: {error}"
        ) from None
    if not (priors > 0).all():
        raise InvalidParameterError(f"{whom} needs a prior > 0 for every class, but the priors are {priors.tolist()}.")
    return priors
