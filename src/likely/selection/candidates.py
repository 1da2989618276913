"""Candidates of a comparison: the user's classifiers, the library's families, and external systems."""

from __future__ import annotations

import hashlib
import json
import pickle
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import QuantileTransformer

from likely._formatting import format_count
from likely._typing import Floats, PenaltyName, TargetName
from likely._validation import check_scores
from likely.densities import Full
from likely.exceptions import IncompatiblePartsError, InvalidParameterError
from likely.features import LDA, PCA, Fill, NystromFeatures, QuadraticFeatures, RadialFeatures, Standardize
from likely.kernels import PolynomialKernel, RBFKernel
from likely.models import (
    SVM,
    FisherClassifier,
    GaussianClassifier,
    LeastSquaresClassifier,
    LogisticRegression,
    MixtureClassifier,
    NearestMeanClassifier,
    Perceptron,
    make_pipeline,
)
from likely.resampling.chains import check_scorer, steps_of

PCA_DIMENSIONS = (2, 3, 5, 10, 20, 50, 100, 200)
"""Numbers of principal components to choose from. The three largest below the number of features are tried."""

MAX_QUADRATIC_FEATURES, MAX_FULL_FEATURES = 60, 2000
"""Maximum numbers of features for a quadratic expansion and for full covariances."""

SHRINKAGES = (0.1, 0.5)
"""Strengths of the shrinkage of full covariances towards the pooled covariance and towards the identity."""

COMPONENT_COUNTS, MIN_ROWS, MAX_PRODUCTS = (1, 2, 4, 8, 16, 32), 10, 2**31
"""Numbers of components of mixtures; minimum number of rows of the smallest class for each component; maximum number
of products in one pass over the rows."""

MAX_KERNEL_ROWS, N_LANDMARKS = 20_000, 300
"""Maximum number of rows for kernels, because the work grows with its square. For more rows, kernels are approximated
with N_LANDMARKS landmarks."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A system to compare: an estimator and its settings, or the scores of an external system.

    Parameters
    ----------
    name : str
        The name, which no other candidate has.
    estimator : classifier or pipeline, or None
        The unfitted estimator, which is never changed. None for an external system.
    family : str
        Candidates of one family differ by their settings.
    settings : dict
        The settings that distinguish the candidate within its family, for tables and plots.
    encoded : bool
        Whether the estimator learns from columns encoded as numbers. If not, it learns from the rows as given.
    scores : array, optional
        The scores of an external system.
    """

    name: str
    estimator: Any
    family: str
    settings: dict[str, Any] = field(default_factory=dict)
    encoded: bool = False
    scores: Floats | None = None

    @cached_property
    def key(self) -> str:
        """Fingerprint of the settings, the same in every run."""
        parts = [describe(self.estimator), self.encoded, describe(self.scores)]
        return digest(json.dumps(parts))


def digest(text: str) -> str:
    """Return a short fingerprint of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe(value: Any) -> Any:
    """Describe a value as plain data. Different settings have different descriptions.

    An estimator is described by its class and parameters, an array by its bytes, any other object by its pickle. An
    object that cannot be pickled, such as a lambda, gets a new random description at each call, so that a store never
    confuses it with another object.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcSU":
        return ["array", str(value.dtype), value.shape, hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()]
    if isinstance(value, BaseEstimator):
        params = value.get_params(deep=False)
        return [type(value).__module__, type(value).__qualname__, {k: describe(v) for k, v in sorted(params.items())}]
    if isinstance(value, Mapping):
        return ["mapping", [[describe(k), describe(v)] for k, v in value.items()]]
    if isinstance(value, (list, tuple)):
        return [describe(each) for each in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return [type(value).__qualname__, repr(value) if isinstance(value, (float, complex)) else _digest_pickle(value)]


def _digest_pickle(value: Any) -> str:
    try:
        return hashlib.sha256(pickle.dumps(value)).hexdigest()
    except Exception:  # noqa: BLE001  pickling a third-party object may raise anything
        return secrets.token_hex(16)  # not the object's id, which may be reused after the object is deleted


def make_candidates(given: Any) -> list[Candidate]:
    """Make candidates from one or several classifiers of the user, with or without names."""
    if hasattr(given, "fit"):
        given = [given]
    if not isinstance(given, Iterable) or not (entries := list(given.items() if isinstance(given, Mapping) else given)):
        raise InvalidParameterError(
            f"candidates must contain classifiers or names of families, but is {given!r}. Pass a classifier, a list of "
            "classifiers, a list of pairs (name, classifier), a mapping {name: classifier}, or a list of names."
        )
    made = [_wrap(entry) for entry in entries]
    times, count = Counter(candidate.name for candidate in made), Counter[str]()
    for at, candidate in enumerate(made):  # number the names that occur more than once
        count[candidate.name] += 1
        if times[candidate.name] > 1:
            made[at] = replace(candidate, name=f"{candidate.name} ({count[candidate.name]})")
    return made


def _wrap(entry: Any) -> Candidate:
    if isinstance(entry, Candidate):
        return entry
    name, estimator = entry if isinstance(entry, tuple) and len(entry) == 2 else (None, entry)
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise IncompatiblePartsError(
            "A candidate must be a classifier with a method fit, or a pair (name, classifier), but one is "
            f"{estimator!r}."
        )
    check_scorer(estimator, weighted=False)
    steps = steps_of(estimator)
    if name is None:
        name = " → ".join(" ".join(str(step).split()) for step in steps)[:200]
    return Candidate(str(name), estimator, type(steps[-1]).__name__)


def score_shapes(n: int, n_classes: int) -> list[tuple[int, ...]]:
    """Return the shapes that an array of scores of n rows may have."""
    return [(n,), (n, 2)] if n_classes == 2 else [(n, n_classes)]


def make_outside_candidates(scores: Mapping[str, Any] | None, n: int, n_classes: int) -> list[Candidate]:
    """Make candidates from the scores that external systems gave to the rows on which systems are compared."""
    systems = []
    for name, values in (scores or {}).items():
        column = check_scores(f"The external system {name!r}", values)
        shapes = score_shapes(n, n_classes)
        if column.shape not in shapes:
            raise IncompatiblePartsError(
                f"Scores of the external system {name!r} must have shape {' or '.join(map(str, shapes))}, but have "
                f"{column.shape}. Each row needs its scores."
            )
        systems.append(Candidate(str(name), None, "outside", scores=column))
    return systems


# Families of the library: grids of features and settings


@dataclass(frozen=True)
class DataShape:
    """Properties of the data that the grids depend on.

    Attributes
    ----------
    n_rows, n_features : int
        Shape of the rows that a model learns from.
    has_missing : bool
    can_gaussianise : bool
        Whether columns can be Gaussianised: scikit-learn's transformer takes neither weights nor negative sparse rows.
    n_smallest : int, optional
        Number of rows of the smallest class. By default, half of all rows is assumed.
    """

    n_rows: int
    n_features: int
    has_missing: bool = False
    can_gaussianise: bool = True
    n_smallest: int | None = None

    @property
    def components(self) -> list[int]:
        """Numbers of principal components to try."""
        return [k for k in PCA_DIMENSIONS if k < min(self.n_features, self.n_rows // 2)][-3:]


Features = tuple[str, list[Any]]
"""Name of the features, and the steps that compute them. Raw columns need no step."""


def _make_standardised() -> Features:
    return "standardised", [Standardize()]


def _make_gaussianised(shape: DataShape) -> list[Features]:
    if not shape.can_gaussianise:
        return []
    # More quantiles than half the rows would only repeat rows; scikit-learn subsamples 10,000 rows.
    n_quantiles = max(2, min(1000, shape.n_rows // 2))
    step = QuantileTransformer(n_quantiles=n_quantiles, output_distribution="normal", random_state=0)
    return [("Gaussianised", [step])]


def _make_projections(shape: DataShape, standardised: bool) -> list[Features]:
    before, prefix = ([Standardize()], "standardised, ") if standardised else ([], "")
    return [(f"{prefix}PCA {k}", [*before, PCA(k)]) for k in shape.components]


def _make_grid(
    family: str, shape: DataShape, features: list[Features], models: list[tuple[dict[str, Any], list[Any]]]
) -> list[Candidate]:
    """Make a candidate for each combination of features and model. A model is given as its settings and its steps.

    Candidates learn from encoded columns and are named after their settings. Missing values are filled, except for
    diagonal models, which leave them out of their sums and marginalise them when they score.
    """
    grid = []
    for name, first in features:
        for varied, last in models:
            steps, settings = [*first, *last], {"features": name, **varied}
            if shape.has_missing and (len(steps) > 1 or getattr(steps[0], "covariance", None) != "diagonal"):
                steps = [Fill(), *steps]
            estimator = make_pipeline(*steps) if len(steps) > 1 else steps[0]
            parts = (f"{k} {v:g}" if isinstance(v, (int, float)) else str(v) for k, v in settings.items())
            grid.append(Candidate(f"{family}: {', '.join(parts)}", estimator, family, settings, encoded=True))
    return grid


def _gaussians(shape: DataShape) -> list[Candidate]:
    """Make Gaussian models of each covariance type. On all but Gaussianised features, they share moments."""
    diagonal: list[Any] = [
        ({"covariance": "diagonal"}, [GaussianClassifier("diagonal")]),
        ({"covariance": "tied diagonal"}, [GaussianClassifier("diagonal", tied=True)]),
    ]
    full: list[Any] = [
        ({"covariance": "full"}, [GaussianClassifier()]),
        ({"covariance": "tied"}, [GaussianClassifier(tied=True)]),
    ]
    projections = _make_projections(shape, standardised=False) + _make_projections(shape, standardised=True)
    features = [("raw", []), *_make_gaussianised(shape), ("LDA", [LDA()])]
    if shape.n_features > MAX_FULL_FEATURES:
        models, shrunk = diagonal, []
    else:
        models, shrunk = full + diagonal, _shrunk_gaussians(shape)
    grid = _make_grid("Gaussian", shape, features, models) + shrunk
    return grid + _make_grid("Gaussian", shape, projections, full + diagonal)


def _shrunk_gaussians(shape: DataShape) -> list[Candidate]:
    """Make full Gaussians shrunk towards the pooled covariance, and, in standardised columns, towards the identity.

    Linear maps do not change the scores of shrinkage towards the pooled covariance, so raw columns suffice.
    """
    targets: list[tuple[Features, TargetName]] = [(("raw", []), "pooled"), (_make_standardised(), "identity")]
    grid = []
    for features, towards in targets:
        models: list[Any] = [
            ({"covariance": f"full {s} {towards}"}, [GaussianClassifier(Full(shrinkage=s, towards=towards))])
            for s in SHRINKAGES
        ]
        grid += _make_grid("Gaussian", shape, [features], models)
    return grid


def _mixtures(shape: DataShape) -> list[Candidate]:
    """Make mixtures of each covariance type and size. floor=0.01 keeps components from collapsing onto single rows."""
    options: dict[str, dict[str, Any]] = {
        "full": {},
        "tied": {"tied": True},
        "diagonal": {"covariance": "diagonal"},
        "spherical": {"covariance": "spherical"},
    }
    raw: list[Features] = [("raw", [])] if shape.n_features <= MAX_FULL_FEATURES else []
    grid = []
    for name, steps in [*raw, *_make_projections(shape, standardised=True)[1:2]]:
        models = [
            ({"covariance": covariance, "components": k}, [MixtureClassifier(k, floor=0.01, **option)])
            for covariance, option in options.items()
            for k in _choose_sizes(shape, steps, covariance)
        ]
        grid += _make_grid("mixture", shape, [(name, steps)], models)
    return grid


def _choose_sizes(shape: DataShape, steps: list[Any], covariance: str) -> list[int]:
    """Return the numbers of components for which the smallest class has enough rows and a pass is not too long.

    One tied component equals one untied component, so it is left out.
    """
    d = int(steps[-1].n_components) if steps else shape.n_features
    n_products = shape.n_rows * (d**2 if covariance in ("full", "tied") else d)
    rows = shape.n_rows // 2 if shape.n_smallest is None else shape.n_smallest
    min_rows = max(MIN_ROWS, d + 1 if covariance == "full" else 0)
    larger = [k for k in COMPONENT_COUNTS[1:] if k * min_rows <= rows and k * n_products <= MAX_PRODUCTS]
    return larger if covariance == "tied" else [COMPONENT_COUNTS[0], *larger]


def _nearest_means(shape: DataShape) -> list[Candidate]:
    features = [("raw", []), _make_standardised(), ("LDA", [LDA()])]
    return _make_grid("nearest mean", shape, features, [({}, [NearestMeanClassifier()])])


def _make_logistics(
    strengths: tuple[float, ...], *before: Any, penalty: PenaltyName = "l2"
) -> list[tuple[dict[str, Any], Any]]:
    """Make logistic regressions. With tol=1e-6, costs equal those of the optimum, and MNIST needs half the passes."""
    return [({"λ": lam}, [*before, LogisticRegression(lam, penalty=penalty, tol=1e-6)]) for lam in strengths]


def _logistics(shape: DataShape) -> list[Candidate]:
    """Make logistic regressions with several L2 penalties for each kind of features, and with several L1 penalties."""
    features = [_make_standardised(), *_make_gaussianised(shape), *_make_projections(shape, standardised=True)[1:2]]
    l2, l1 = _make_logistics((1e-4, 1e-3, 1e-2, 1e-1, 1.0)), _make_logistics((1e-3, 1e-2, 1e-1), penalty="l1")
    return _make_grid("logistic", shape, features, l2) + _make_grid("logistic L1", shape, [_make_standardised()], l1)


def _quadratic_logistics(shape: DataShape) -> list[Candidate]:
    """Make models of the products of all features, or of as many principal components as can be expanded."""
    features = [_make_standardised()]
    if shape.n_features > MAX_QUADRATIC_FEATURES:
        projected = _make_projections(shape, standardised=True)
        features = [made for made in projected if int(made[1][-1].n_components) <= MAX_QUADRATIC_FEATURES][-1:]
    models = _make_logistics((1e-3, 1e-2, 1e-1, 1.0), QuadraticFeatures(), Standardize())
    return _make_grid("quadratic logistic", shape, features, models)


def _radial_logistics(shape: DataShape) -> list[Candidate]:
    n_centers = min(100, shape.n_rows // 5)
    if n_centers < 2:
        return []
    models = _make_logistics((1e-4, 1e-3, 1e-2), RadialFeatures(n_centers, random_state=0))
    models = [({"centers": n_centers, **settings}, steps) for settings, steps in models]
    return _make_grid("radial logistic", shape, [_make_standardised()], models)


def _svm(C: float, kernel: Any = "linear") -> SVM:
    """Make a support vector machine. With tol=1e-3, costs equal those of the optimum."""
    return SVM(C, kernel=kernel, tol=1e-3)


def _svms(shape: DataShape) -> list[Candidate]:
    return _make_grid("SVM", shape, [_make_standardised()], [({"C": C}, [_svm(C)]) for C in (0.01, 0.1, 1.0, 10.0)])


def _polynomial_svms(shape: DataShape) -> list[Candidate]:
    """Make polynomial SVMs of degree 2 and 3. Kernel values grow with the degree, so degree 3 has smaller C."""
    grids = {2: (1e-4, 1e-3, 1e-2, 1e-1), 3: (1e-5, 1e-4, 1e-3, 1e-2)}
    models = [
        ({"degree": degree, "C": C}, [_svm(C, PolynomialKernel(degree))])
        for degree, grid in grids.items()
        for C in grid
    ]
    return (
        _make_grid("polynomial SVM", shape, [_make_standardised()], models) if shape.n_rows <= MAX_KERNEL_ROWS else []
    )


def _rbf_svms(shape: DataShape) -> list[Candidate]:
    """Make RBF SVMs with γ around 1/n_features or, for many rows, linear SVMs on Nyström features."""
    models: list[tuple[dict[str, Any], list[Any]]]
    if shape.n_rows > MAX_KERNEL_ROWS:
        features = NystromFeatures(N_LANDMARKS, kernel=RBFKernel(1 / shape.n_features), random_state=0)
        models = [({"landmarks": N_LANDMARKS, "C": C}, [features, _svm(C)]) for C in (0.1, 1.0, 10.0)]
    else:
        gammas = [float(f"{width / shape.n_features:.1g}") for width in (0.25, 1.0, 4.0)]
        grid = [(gamma, C) for gamma in gammas for C in (0.1, 1.0, 10.0, 100.0)]
        models = [({"γ": gamma, "C": C}, [_svm(C, RBFKernel(gamma))]) for gamma, C in grid]
    return _make_grid("RBF SVM", shape, [_make_standardised()], models)


def _least_squares(shape: DataShape) -> list[Candidate]:
    models = [({"λ": strength}, [LeastSquaresClassifier(strength)]) for strength in (0.0, 1e-2, 1.0)]
    return _make_grid("least squares", shape, [_make_standardised()], models)


def _fishers(shape: DataShape) -> list[Candidate]:
    return _make_grid("Fisher", shape, [("raw", [])], [({}, [FisherClassifier()])])


def _perceptrons(shape: DataShape) -> list[Candidate]:
    return _make_grid("perceptron", shape, [_make_standardised()], [({}, [Perceptron(shuffle=True, random_state=0)])])


FAMILIES: dict[str, Callable[[DataShape], list[Candidate]]] = {
    "gaussian": _gaussians,
    "mixture": _mixtures,
    "nearest-mean": _nearest_means,
    "logistic": _logistics,
    "quadratic-logistic": _quadratic_logistics,
    "radial-logistic": _radial_logistics,
    "svm": _svms,
    "polynomial-svm": _polynomial_svms,
    "rbf-svm": _rbf_svms,
    "fisher": _fishers,
    "least-squares": _least_squares,
    "perceptron": _perceptrons,
}
"""The function that makes the grid of each family, under the name that ``compare`` and the command line use."""


def default_candidates(shape: DataShape) -> list[Candidate]:
    """Return all grids of the library."""
    return [candidate for grid in FAMILIES.values() for candidate in grid(shape)]


def find_candidates(name: str, shape: DataShape) -> list[Candidate]:
    """Return the grid of the family with the given name, or the system with that name from any grid."""
    if name in FAMILIES:
        grid = FAMILIES[name](shape)
        if grid:
            return grid
        learned = f"models learn from {shape.n_rows:,} rows of {format_count(shape.n_features, 'feature')}"
        if name != "polynomial-svm":
            raise InvalidParameterError(
                f"The family {name!r} has no candidates here, because {learned}. Remove the family, or collect more "
                "rows."
            )
        raise InvalidParameterError(
            f"The family {name!r} takes at most {MAX_KERNEL_ROWS:,} rows, because its training time grows with the "
            f"square of the number of rows, but {learned}. Remove the family, or use only a part of the rows. "
            "Alternatively, use the family 'rbf-svm', which approximates the kernel for so many rows, or the candidate "
            "make_pipeline(Standardize(), NystromFeatures(300, kernel=PolynomialKernel(2)), SVM())."
        )
    systems = {_fold_case(candidate.name): candidate for candidate in default_candidates(shape)}
    if _fold_case(name) in systems:
        return [systems[_fold_case(name)]]
    close = get_close_matches(_fold_case(name), [*FAMILIES, *systems], n=1, cutoff=0.5)
    hint = f" Did you mean {systems[close[0]].name if close[0] in systems else close[0]!r}?" if close else ""
    raise InvalidParameterError(
        f"There is no family or system {name!r}.{hint} The families are {', '.join(FAMILIES)}. The name of a system "
        "is its name on a leaderboard, such as 'Gaussian: raw, tied'."
    )


def _fold_case(name: str) -> str:
    """Normalise a typed name: lower case, single spaces, and Greek letters instead of their names."""
    return " ".join(name.lower().replace("lambda", "λ").replace("gamma", "γ").replace("=", " ").split())
