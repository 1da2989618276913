"""Probability densities, and the covariance shapes they share."""

from likely.densities.base import Density
from likely.densities.bernoulli import Bernoulli
from likely.densities.categorical import Categorical
from likely.densities.covariance import Covariance, Diagonal, Full, Spherical
from likely.densities.gaussian import Gaussian, Gaussians
from likely.densities.independent import Independent
from likely.densities.laplace import Laplace
from likely.densities.mixtures import (
    LBG,
    AbsoluteFloor,
    GaussianMixture,
    KMeans,
    KMeansStart,
    Mixture,
    MixtureChoice,
    RandomStart,
    choose_mixture,
)
from likely.densities.multinomial import Multinomial

__all__ = [
    "LBG",
    "AbsoluteFloor",
    "Bernoulli",
    "Categorical",
    "Covariance",
    "Density",
    "Diagonal",
    "Full",
    "Gaussian",
    "GaussianMixture",
    "Gaussians",
    "Independent",
    "KMeans",
    "KMeansStart",
    "Laplace",
    "Mixture",
    "MixtureChoice",
    "Multinomial",
    "RandomStart",
    "Spherical",
    "choose_mixture",
]
