"""Names in earlier model files: parameters that were renamed or added, and classes that were replaced.

These names are only read, never written. A class that was replaced is built as its replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from likely._constraints import Scope, flag, floats
from likely._typing import Floats
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.natural_form import DiagonalForm, FullForm, GaussianSums, SphericalForm
from likely.persistence.container import RefusedError

RENAMED: dict[str, dict[str, str]] = {
    "AffineCalibrator": {"prior": "training_prior"},
    "Encode": {"most_categories": "max_categories"},
    "GaussianMixture": {"tolerance": "tol"},
    "KMeans": {"n_starts": "n_init", "tolerance": "tol"},
    "KMeansStart": {"n_starts": "n_init"},
    "KernelLogisticRegression": {"prior": "training_prior", "tolerance": "tol"},
    "LogisticFusion": {"prior": "training_prior"},
    "LogisticRegression": {"prior": "training_prior", "tolerance": "tol"},
    "Mixture": {"n_starts": "n_init", "tolerance": "tol"},
    "Perceptron": {"max_epochs": "max_iter", "n_epochs_": "n_iter_"},
    "RandomStart": {"n_starts": "n_init"},
    "SVM": {"prior": "training_prior", "tolerance": "tol"},
}
"""For each kind, the names of parameters and fitted values in earlier files, and their present names."""

_EM = {"max_iter": 1000, "stopping": "projected", "restart_collapsed": True}

ADDED: dict[str, dict[str, Any]] = {
    "Full": {"towards": "diagonal"},
    "GaussianMixture": _EM,
    "Mixture": {name: _EM[name] for name in ("max_iter", "stopping")},
    "MixtureClassifier": {"tol": 1e-5, **_EM},
}
"""For each kind, the parameters that earlier files lack, and the values with which their models were fitted."""


def add_absent(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a part of a model with those that earlier files lack.

    Examples
    --------
    >>> add_absent("Mixture", {"tol": 1e-4})
    {'max_iter': 1000, 'stopping': 'projected', 'tol': 0.0001}
    """
    return {**ADDED.get(kind, {}), **parameters}


def translate_names(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the named values of a part of a model under their present names.

    Examples
    --------
    >>> translate_names("SVM", {"C": 1.0, "tolerance": 1e-4})
    {'C': 1.0, 'tol': 0.0001}
    """
    renamed = RENAMED.get(kind, {})
    twice = next((old for old, new in renamed.items() if old in values and new in values), None)
    if twice is not None:
        raise RefusedError(
            f"must not have both {twice!r} and {renamed[twice]!r}, because they are two names of the same value"
        )
    return {renamed.get(name, name): value for name, value in values.items()}


@dataclass(frozen=True, eq=False)
class _EarlierFamily:
    origin: Annotated[Floats, floats("d")]
    least: Annotated[Floats, floats("d", above=0)]
    tied: Annotated[bool, flag]


@dataclass(frozen=True, eq=False)
class FullFamily(_EarlierFamily):
    """Gaussian family of full form, of earlier files."""

    L: Annotated[Floats, floats("d", "d")]

    @classmethod
    def _from_file(cls, found: dict[str, Any]) -> GaussianFamily:
        form = FullForm(found["origin"], found["least"], found["L"])
        form._check_state(Scope())
        return GaussianFamily(form, found["tied"])


@dataclass(frozen=True, eq=False)
class DiagonalFamily(_EarlierFamily):
    """Gaussian family of diagonal or spherical form, of earlier files."""

    scale: Annotated[Floats, floats("d", above=0)]
    variances: Annotated[Floats, floats("d", low=0)]
    spherical: Annotated[bool, flag]

    @classmethod
    def _from_file(cls, found: dict[str, Any]) -> GaussianFamily:
        common = found["origin"], found["least"], found["scale"]
        form = SphericalForm(*common, found["variances"]) if found["spherical"] else DiagonalForm(*common)
        return GaussianFamily(form, found["tied"])


@dataclass(frozen=True, eq=False)
class FullSums(GaussianSums):
    """Sums of a full form, of earlier files."""

    @classmethod
    def _from_file(cls, found: dict[str, Any]) -> GaussianSums:
        return GaussianSums(**found)


@dataclass(frozen=True, eq=False)
class DiagonalSums(FullSums):
    """Sums of a diagonal or spherical form, of earlier files."""
