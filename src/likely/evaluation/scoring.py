"""Scorers: the metrics as scikit-learn's searches and cross-validations take them, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from likely._validation import check_labels
from likely.decisions import Application
from likely.evaluation import costs, metrics
from likely.exceptions import InvalidDataError, InvalidParameterError
from likely.resampling.chains import check_scorer, scores_of


@dataclass(frozen=True)
class Scorer:
    """A metric as ``scorer(estimator, X, y)``, for ``scoring=`` of scikit-learn's functions; higher is better.

    The scores of the rows are the estimator's ``log_likelihood``, or else its ``decision_function``, or else its log
    posteriors. Only ``log_likelihood`` is free of training priors. The other scores are used as if they were
    log-likelihoods, so actual costs also depend on how well this holds.

    Parameters
    ----------
    name : str
        A name that begins with ``neg_`` belongs to a cost, whose sign is changed.
    metric : function of labels, scores and options
    is_binary : bool
        Whether the metric is defined for two classes only.
    takes_application : bool
        Whether the metric is a cost in an application.
    application : Application or effective prior, optional
        The application in which costs are measured; by default equal priors and unit costs.
    """

    name: str
    metric: Callable[..., Any]
    is_binary: bool = True
    takes_application: bool = False
    application: Application | float | None = None

    def at(self, application: Application | float) -> Scorer:
        """Return the same scorer for another application; a number stands for ``Application.binary(number)``."""
        if not self.takes_application:
            raise InvalidParameterError(
                f"{self.name} does not depend on an application. Use a scorer that does, such as neg_min_dcf.",
                parameter="application",
            )
        return replace(self, application=application)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the metric of a fitted estimator's scores, with a minus sign for a cost."""
        check_scorer(estimator, weighted=False)
        classes, labels = sorted(estimator.classes_.tolist()), check_labels(self.name, y)
        options: dict[str, Any] = {"labels": classes}
        if self.is_binary:
            if len(classes) != 2:
                raise InvalidDataError(
                    f"{self.name} needs scores of two classes, but {type(estimator).__name__} has {len(classes)} "
                    "classes. Use neg_bayes_risk or neg_cross_entropy."
                )
            options = {"pos_label": classes[1]}
        default = Application.equal(len(classes)) if self.application is None else self.application
        applications = (default,) if self.takes_application else ()
        value = self.metric(labels, scores_of(estimator, X), *applications, sample_weight=sample_weight, **options)
        return -float(value) if self.name.startswith("neg_") else float(value)

    def __repr__(self) -> str:
        where = "" if self.application is None else f" at {self.application!r}"
        return f"<scorer {self.name}{where}>"


class Scorers(Mapping[str, Scorer]):
    """Scorers by name: ``scorers["neg_cllr"]`` or ``scorers.neg_cllr``.

    Costs are measured at equal priors and unit costs, unless ``at`` gives the application:
    ``scorers.neg_min_dcf.at(0.1)``.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from likely import GaussianClassifier, scorers
    >>> from likely.datasets import load_tumours
    >>> X, y, names = load_tumours()
    >>> cross_val_score(GaussianClassifier(tied=True), X, y, scoring=scorers.neg_min_dcf.at(0.1)).round(2)
    array([-0.17, -0.05, -0.05, -0.1 , -0.07])
    >>> list(scorers)[:4]
    ['neg_actual_dcf', 'neg_min_dcf', 'neg_calibration_loss', 'neg_bayes_risk']
    """

    def __init__(self, *scorers: Scorer) -> None:
        self._by_name = {scorer.name: scorer for scorer in scorers}

    def __getitem__(self, name: str) -> Scorer:
        if name not in self._by_name:
            raise InvalidParameterError(
                f"There is no scorer {name!r}. The scorers are {', '.join(self)}.", parameter="name"
            )
        return self._by_name[name]

    def __getattr__(self, name: str) -> Scorer:
        found: Scorer | None = self.__dict__.get("_by_name", {}).get(name)
        if found is None:
            raise AttributeError(
                f"There is no scorer {name!r}. The scorers are {', '.join(self.__dict__.get('_by_name', {}))}."
            )
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._by_name]

    def __repr__(self) -> str:
        return f"<scorers {', '.join(self)}>"


scorers = Scorers(
    Scorer("neg_actual_dcf", metrics.actual_dcf, takes_application=True),
    Scorer("neg_min_dcf", metrics.min_dcf, takes_application=True),
    Scorer("neg_calibration_loss", metrics.calibration_loss, takes_application=True),
    Scorer("neg_bayes_risk", costs.bayes_risk, is_binary=False, takes_application=True),
    Scorer("neg_cross_entropy", costs.cross_entropy, is_binary=False),
    Scorer("neg_cllr", metrics.cllr),
    Scorer("neg_min_cllr", metrics.min_cllr),
    Scorer("neg_eer", metrics.eer),
    Scorer("roc_auc", metrics.roc_auc),
)
"""Scorers by name; see :class:`Scorers`."""
