"""Choice of the number of components and the covariance shape of a Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from likely._constraints import is_count
from likely._typing import Criterion, Floats, Integers
from likely._validation import check_option, check_training
from likely.densities.covariance import Covariance
from likely.densities.mixtures.gaussian_mixture import GaussianMixture
from likely.exceptions import DegenerateDataWarning, InvalidParameterError, NotConvergedWarning, suppress_warnings

CRITERIA = ("bic", "aic", "log_likelihood")


@dataclass(frozen=True, eq=False)
class MixtureChoice:
    """Result of :func:`choose_mixture`: the chosen mixture and the table of all mixtures compared.

    Attributes
    ----------
    best : GaussianMixture
        The chosen mixture, fitted to all rows.
    table : list of dict
        One entry for each mixture, best first: ``covariance``, ``tied``, ``n_components``, ``parameters`` (the number
        of free parameters), the value of the criterion under its name, and ``at_floor``. The last is True if some
        variance is at a floor that is not above the default. Such mixtures come after all others, because their
        likelihood depends on the value of the floor.
    """

    best: GaussianMixture
    table: list[dict[str, Any]]


def choose_mixture(
    X: Any,
    n_components: Any = (1, 2, 4, 8, 16),
    covariances: Any = ("full", "diagonal", "spherical"),
    tied: Any = (False, True),
    criterion: Criterion = "bic",
    mixture: GaussianMixture | None = None,
    cv: Any = 5,
    sample_weight: Any = None,
) -> MixtureChoice:
    """Compare Gaussian mixtures of several sizes and shapes, and choose the best.

    Mixtures of one shape are grown from each other by splitting. To choose by cost, pass mixture classifiers to
    :func:`likely.compare`: the mixture that describes the rows best is not always the one that separates classes best.

    Parameters
    ----------
    X : array of shape (n, n_features)
    n_components : int or sequence of int
        Sizes to compare; sizes larger than the number of training rows are left out.
    covariances : shape or sequence of shapes
    tied : bool or sequence of bool
    criterion : {"bic", "aic", "log_likelihood"}
        Minimum BIC or AIC, or maximum mean log-likelihood of held-out rows (cross-validation).
    mixture : GaussianMixture, optional
        Template for all other options. Of its ``init`` only the displacement of :class:`likely.LBG` is used.
    cv : int or splitter, default 5
        Folds for the log-likelihood; an int is the number of folds of rows shuffled with a fixed seed.
    sample_weight : array of shape (n,), optional

    Returns
    -------
    MixtureChoice

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, size=(200, 2)), rng.normal(6, 1, size=(200, 2))])
    >>> choice = choose_mixture(X, (1, 2, 4))
    >>> {name: choice.table[0][name] for name in ("covariance", "tied", "n_components")}
    {'covariance': 'spherical', 'tied': True, 'n_components': 2}
    """
    check_option("criterion", criterion, CRITERIA)
    template = GaussianMixture() if mixture is None else mixture
    checked = clone(template)
    rows, _, weight, kept = check_training(checked, "choose_mixture", X, None, sample_weight, True, False)
    # Number of the user's rows. Rows are dropped only for weights of 0, so then there is a weight for each row.
    n = rows.shape[0] if kept is None else np.size(sample_weight)
    splits = _make_splits(rows, cv, kept, n) if criterion == "log_likelihood" else []
    n_train = min([rows.shape[0], *(len(train) for train, _ in splits)])
    sizes, shapes = _check_sizes(n_components, n_train), _list_shapes(covariances, tied)
    if not sizes or not shapes:
        raise InvalidParameterError(
            f"choose_mixture needs at least one shape, and at least one size that is at most {n_train} (the number of "
            f"training rows), but got n_components={n_components!r}, covariances={covariances!r}, tied={tied!r}."
        )
    with suppress_warnings(DegenerateDataWarning, NotConvergedWarning):  # only the chosen mixture warns
        models, found = _fit_and_score(template, shapes, sizes, criterion, rows, weight, splits)
    floored = np.array([len(model._find_degenerate()) > 0 for model in models])
    # Best first by the criterion, with mixtures at the floor after all others.
    order = np.lexsort((-found if criterion == "log_likelihood" else found, floored))
    table = [{**_describe(models[i]), criterion: float(found[i]), "at_floor": bool(floored[i])} for i in order]
    best = models[order[0]]
    if hasattr(checked, "feature_names_in_"):
        best.feature_names_in_ = checked.feature_names_in_
    best._warn()
    return MixtureChoice(best, table)


def _check_sizes(n_components: Any, max_size: int) -> list[int]:
    """Return the given sizes up to ``max_size``, sorted, each once; raise if a size is not a whole number >= 1."""
    given = list(n_components) if np.iterable(n_components) else [n_components]
    for size in given:
        if not is_count(size, 1, 2**20):
            raise InvalidParameterError(
                f"n_components of choose_mixture must be whole numbers >= 1, but contains {size!r}."
            )
    return sorted({int(size) for size in given if size <= max_size})


def _list_shapes(covariances: Any, tied: Any) -> list[tuple[Any, bool]]:
    """Return all pairs of a covariance shape and a value of ``tied``."""
    several = [covariances] if isinstance(covariances, (str, Covariance)) else covariances
    return [(shape, bool(shared)) for shape in several for shared in (tied if np.iterable(tied) else [tied])]


def _fit_and_score(
    template: GaussianMixture,
    shapes: list[tuple[Any, bool]],
    sizes: list[int],
    criterion: str,
    rows: Any,
    weight: Floats | None,
    splits: list[tuple[Integers, Integers]],
) -> tuple[list[GaussianMixture], Floats]:
    """Fit mixtures of all shapes and sizes to all rows; return the mixtures, and the criterion of each mixture."""
    models: list[GaussianMixture] = []
    found: list[float] = []
    for shape, shared in shapes:
        path = clone(template).set_params(covariance=shape, tied=shared).path(rows, sizes, weight)
        models += path
        if criterion == "log_likelihood":
            found += _score_held_out(path[0], rows, weight, splits, sizes).tolist()
        else:
            found += [getattr(model, criterion)(rows, weight) for model in path]
    return models, np.array(found)


def _make_splits(rows: Any, cv: Any, kept: Integers | None, n: int) -> list[tuple[Integers, Integers]]:
    """Return the positions of the training rows and of the held-out rows of each fold.

    They are positions among ``rows``, which omit the rows of weight 0. A splitter sees all ``n`` rows of the user.
    ``kept`` are the positions of ``rows`` among these n rows, or None if no row was omitted.
    """
    if isinstance(cv, (int, np.integer)):
        if not is_count(cv, 2, rows.shape[0]):
            raise InvalidParameterError(
                f"cv of choose_mixture must be a splitter, or a whole number from 2 to {rows.shape[0]} (the number "
                f"of rows), but is {cv}."
            )
        codes = np.random.RandomState(0).permutation(rows.shape[0]) % int(cv)
        return [(np.flatnonzero(codes != k), np.flatnonzero(codes == k)) for k in range(int(cv))]
    places = np.full(n, -1)
    places[np.arange(n) if kept is None else kept] = np.arange(rows.shape[0])
    found = [(places[train], places[test]) for train, test in check_cv(cv).split(np.empty((n, 1)))]
    return [(train[train >= 0], test[test >= 0]) for train, test in found]


def _score_held_out(
    model: GaussianMixture, rows: Any, weight: Floats | None, splits: list[tuple[Integers, Integers]], sizes: list[int]
) -> Floats:
    """Return, for each size, the weighted mean of the log density over the held-out rows of all folds."""
    total, weights = np.zeros(len(sizes)), 0.0
    for train, test in splits:
        learned = model.path(rows[train], sizes, None if weight is None else weight[train])
        w = np.ones(len(test)) if weight is None else weight[test]
        total += [float(w @ each.log_density(rows[test])) for each in learned]
        weights += float(w.sum())
    return total / weights


def _describe(model: GaussianMixture) -> dict[str, Any]:
    return {
        "covariance": model.covariance,
        "tied": model.tied,
        "n_components": model.n_components,
        "parameters": model.n_parameters_,
    }
