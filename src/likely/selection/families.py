"""The families the library has, each with a small grid of features and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from sklearn.preprocessing import QuantileTransformer

from likely._formatting import format_count
from likely.exceptions import InvalidParameterError
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
from likely.selection.candidates import Candidate

__all__ = ["FAMILIES", "Shape", "default_candidates", "family"]

LADDER = (2, 3, 5, 10, 20, 50, 100, 200)
"""Numbers of principal components to choose from: the three largest that leave some out."""

MOST_QUADRATIC, MOST_FULL = 60, 2000
"""Features that are still expanded by their products, and that still have a full covariance."""

MIXED, LEAST_ROWS, MOST_PRODUCTS = (1, 2, 4, 8, 16, 32), 10, 2**31
"""Components of a mixture, rows of the smallest class for each of them, and products that a pass may take."""

MOST_KERNEL_ROWS, LANDMARKS = 20_000, 300
"""Rows that kernels are still tried on, since their work grows with the square; and landmarks in their place."""


@dataclass(frozen=True)
class Shape:
    """What the grids depend on.

    Attributes
    ----------
    n_rows, n_features : int
        Of the rows that a model learns from.
    has_missing : bool
    ranks : bool
        Whether columns can be Gaussianised: scikit-learn's transform takes neither weights nor sparse rows below 0.
    n_smallest : int, optional
        Rows of the smallest class; by default half of the rows.
    """

    n_rows: int
    n_features: int
    has_missing: bool = False
    ranks: bool = True
    n_smallest: int | None = None

    @property
    def components(self) -> list[int]:
        """Numbers of principal components worth a try."""
        return [k for k in LADDER if k < min(self.n_features, self.n_rows // 2)][-3:]


Features = tuple[str, list[Any]]
"""What they are called, and the steps that make them; no steps for the columns as they are."""


def _raw() -> Features:
    return "raw", []


def _standardised() -> Features:
    return "standardised", [Standardize()]


def _gaussianised(shape: Shape) -> list[Features]:
    if not shape.ranks:
        return []
    # More quantiles than rows between them would only repeat the rows; scikit-learn looks at 10,000 rows.
    n_quantiles = max(2, min(1000, shape.n_rows // 2))
    step = QuantileTransformer(n_quantiles=n_quantiles, output_distribution="normal", random_state=0)
    return [("Gaussianised", [step])]


def _projected(shape: Shape, standardised: bool) -> list[Features]:
    before, said = ([Standardize()], "standardised, ") if standardised else ([], "")
    return [(f"{said}PCA {k}", [*before, PCA(k)]) for k in shape.components]


def _gaussians(shape: Shape) -> list[Candidate]:
    """Gaussian models by shape; all features but the Gaussianised are learned from the same sums."""
    models = {
        "full": GaussianClassifier(),
        "tied": GaussianClassifier(tied=True),
        "diagonal": GaussianClassifier("diagonal"),
        "tied diagonal": GaussianClassifier("diagonal", tied=True),
    }
    projections = _projected(shape, standardised=False) + _projected(shape, standardised=True)
    features = [_raw(), *_gaussianised(shape), ("LDA", [LDA()]), *projections]
    return [
        _candidate("Gaussian", [*steps, model], shape, features=said, covariance=covariance)
        for said, steps in features
        for covariance, model in models.items()
        if covariance.endswith("diagonal") or shape.n_features <= MOST_FULL or "PCA" in said
    ]


def _mixtures(shape: Shape) -> list[Candidate]:
    """Mixtures by shape, each size grown from the last; the floor is felt, lest components follow single rows."""
    options: dict[str, dict[str, Any]] = {
        "full": {},
        "tied": {"tied": True},
        "diagonal": {"covariance": "diagonal"},
        "spherical": {"covariance": "spherical"},
    }
    raw = [_raw()] if shape.n_features <= MOST_FULL else []
    return [
        _candidate(
            "mixture",
            [*steps, MixtureClassifier(k, floor=0.01, **option)],
            shape,
            features=said,
            covariance=covariance,
            components=k,
        )
        for said, steps in [*raw, *_projected(shape, standardised=True)[1:2]]
        for covariance, option in options.items()
        for k in _sizes(shape, steps, covariance)
    ]


def _sizes(shape: Shape, steps: list[Any], covariance: str) -> list[int]:
    """Components that the smallest class has rows for, and a pass over the rows time; one shares with nobody."""
    d = int(steps[-1].n_components) if steps else shape.n_features
    each = shape.n_rows * (d**2 if covariance in ("full", "tied") else d)
    rows = shape.n_rows // 2 if shape.n_smallest is None else shape.n_smallest
    least = max(LEAST_ROWS, d + 1 if covariance == "full" else 0)
    larger = [k for k in MIXED[1:] if k * least <= rows and k * each <= MOST_PRODUCTS]
    return larger if covariance == "tied" else [MIXED[0], *larger]


def _nearest_means(shape: Shape) -> list[Candidate]:
    features = [_raw(), _standardised(), ("LDA", [LDA()])]
    return [
        _candidate("nearest mean", [*steps, NearestMeanClassifier()], shape, features=said) for said, steps in features
    ]


def _logistic(strength: float, penalty: str = "l2") -> LogisticRegression:
    """As near its minimum as costs can tell: on MNIST half the passes that the default takes."""
    return LogisticRegression(strength, penalty, tolerance=1e-6)


def _logistics(shape: Shape) -> list[Candidate]:
    """Linear ones, on a path of the penalty for each kind of features; and with an L1 penalty."""
    grid = [
        _candidate("logistic", [*steps, _logistic(strength)], shape, features=said, λ=strength)
        for said, steps in [_standardised(), *_gaussianised(shape), *_projected(shape, standardised=True)[1:2]]
        for strength in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    ]
    said, steps = _standardised()
    return grid + [
        _candidate("logistic L1", [*steps, _logistic(strength, "l1")], shape, features=said, λ=strength)
        for strength in (1e-3, 1e-2, 1e-1)
    ]


def _quadratic_logistics(shape: Shape) -> list[Candidate]:
    """Products of the features, or of as many principal components as can be multiplied out."""
    features = [_standardised()] if shape.n_features <= MOST_QUADRATIC else []
    features += [made for made in _projected(shape, standardised=True) if len(features) == 0 and _fits(made)][-1:]
    return [
        _candidate(
            "quadratic logistic",
            [*steps, QuadraticFeatures(), Standardize(), _logistic(strength)],
            shape,
            features=said,
            λ=strength,
        )
        for said, steps in features
        for strength in (1e-3, 1e-2, 1e-1, 1.0)
    ]


def _fits(features: Features) -> bool:
    return int(features[1][-1].n_components) <= MOST_QUADRATIC


def _radial_logistics(shape: Shape) -> list[Candidate]:
    said, steps = _standardised()
    n_centers = min(100, shape.n_rows // 5)
    if n_centers < 2:
        return []
    return [
        _candidate(
            "radial logistic",
            [*steps, RadialFeatures(n_centers, random_state=0), _logistic(strength)],
            shape,
            features=said,
            centers=n_centers,
            λ=strength,
        )
        for strength in (1e-4, 1e-3, 1e-2)
    ]


def _svm(C: float, kernel: Any = "linear") -> SVM:
    """As near its optimum as costs can tell."""
    return SVM(C, kernel, tolerance=1e-3)


def _svms(shape: Shape) -> list[Candidate]:
    said, steps = _standardised()
    return [_candidate("SVM", [*steps, _svm(C)], shape, features=said, C=C) for C in (0.01, 0.1, 1.0, 10.0)]


def _polynomial_svms(shape: Shape) -> list[Candidate]:
    """Products of two and three columns, whose kernels grow with the degree, so that the same fit takes a smaller C."""
    said, steps = _standardised()
    grids = {2: (1e-4, 1e-3, 1e-2, 1e-1), 3: (1e-5, 1e-4, 1e-3, 1e-2)}
    return [
        _candidate(
            "polynomial SVM", [*steps, _svm(C, PolynomialKernel(degree))], shape, features=said, degree=degree, C=C
        )
        for degree, grid in grids.items()
        for C in grid
        if shape.n_rows <= MOST_KERNEL_ROWS
    ]


def _rbf_svms(shape: Shape) -> list[Candidate]:
    """Bumps about as wide as standardised rows are apart, and half and twice that; of many rows by way of landmarks."""
    said, steps = _standardised()
    if shape.n_rows > MOST_KERNEL_ROWS:
        landmarks = NystromFeatures(LANDMARKS, RBFKernel(1 / shape.n_features), random_state=0)
        return [
            _candidate("RBF SVM", [*steps, landmarks, _svm(C)], shape, features=said, landmarks=LANDMARKS, C=C)
            for C in (0.1, 1.0, 10.0)
        ]
    return [
        _candidate("RBF SVM", [*steps, _svm(C, RBFKernel(gamma))], shape, features=said, γ=gamma, C=C)
        for gamma in (float(f"{width / shape.n_features:.1g}") for width in (0.25, 1.0, 4.0))
        for C in (0.1, 1.0, 10.0, 100.0)
    ]


def _least_squares(shape: Shape) -> list[Candidate]:
    said, steps = _standardised()
    return [
        _candidate("least squares", [*steps, LeastSquaresClassifier(strength)], shape, features=said, λ=strength)
        for strength in (0.0, 1e-2, 1.0)
    ]


def _fishers(shape: Shape) -> list[Candidate]:
    return [_candidate("Fisher", [FisherClassifier()], shape, features="raw")]


def _perceptrons(shape: Shape) -> list[Candidate]:
    said, steps = _standardised()
    model = Perceptron(shuffle=True, random_state=0)
    return [_candidate("perceptron", [*steps, model], shape, features=said)]


FAMILIES: dict[str, Callable[[Shape], list[Candidate]]] = {
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
"""Grids by the name that ``compare`` and the command line know them by."""


def default_candidates(shape: Shape) -> list[Candidate]:
    """Every family the library has."""
    return [candidate for grid in FAMILIES.values() for candidate in grid(shape)]


def family(name: str, shape: Shape) -> list[Candidate]:
    """The grid of one family, or one system of any grid, by its name."""
    if name in FAMILIES:
        return FAMILIES[name](shape) or _nothing_of(name, shape)
    systems = {_folded(candidate.name): candidate for candidate in default_candidates(shape)}
    if _folded(name) in systems:
        return [systems[_folded(name)]]
    close = get_close_matches(_folded(name), [*FAMILIES, *systems], n=1, cutoff=0.5)
    said = f" Did you mean {systems[close[0]].name if close[0] in systems else close[0]!r}?" if close else ""
    raise InvalidParameterError(
        f"There is no family or system {name!r}.{said} Families are {', '.join(FAMILIES)}; systems are named as on a "
        "leaderboard, such as 'Gaussian: raw, tied'."
    )


def _nothing_of(name: str, shape: Shape) -> NoReturn:
    """Tell why a family that was asked for has nothing to try."""
    learned = f"models learn from {shape.n_rows:,} rows of {format_count(shape.n_features, 'feature')} here"
    if name == "polynomial-svm":
        raise InvalidParameterError(
            f"The family {name!r} is tried on {MOST_KERNEL_ROWS:,} rows at most, as its work grows with their square, "
            f"but {learned}. Leave it out, take 'rbf-svm', which goes by way of landmarks then, take some of the rows, "
            "or give make_pipeline(Standardize(), NystromFeatures(300, PolynomialKernel(2)), SVM()) as a candidate."
        )
    raise InvalidParameterError(
        f"The family {name!r} has nothing to try, since {learned}. Leave it out, or gather more rows."
    )


def _folded(name: str) -> str:
    """A name as it may be typed: in any case, and without a Greek letter."""
    return " ".join(name.lower().replace("lambda", "λ").replace("gamma", "γ").replace("=", " ").split())


def _candidate(of: str, steps: list[Any], shape: Shape, **settings: Any) -> Candidate:
    """A candidate that learns from columns as numbers, named after its settings."""
    said = ", ".join(
        f"{name} {value:g}" if isinstance(value, (int, float)) else str(value) for name, value in settings.items()
    )
    if shape.has_missing and not _copes_with_missing(steps):
        steps = [Fill(), *steps]
    estimator = make_pipeline(*steps) if len(steps) > 1 else steps[0]
    return Candidate(f"{of}: {said}", estimator, of, settings, encoded=True)


def _copes_with_missing(steps: list[Any]) -> bool:
    """Whether missing values are left out of the sums of their columns, and integrated out when scoring."""
    return len(steps) == 1 and getattr(steps[0], "covariance", None) == "diagonal"
