"""Mixtures of densities, learned by expectation and maximisation, and k-means, which is one of them."""

from likely.densities.mixtures.any_density import Mixture
from likely.densities.mixtures.choice import MixtureChoice, choose_mixture
from likely.densities.mixtures.floors import AbsoluteFloor
from likely.densities.mixtures.gaussian_mixture import GaussianMixture
from likely.densities.mixtures.kmeans import KMeans
from likely.densities.mixtures.starts import LBG, KMeansStart, RandomStart

__all__ = [
    "LBG",
    "AbsoluteFloor",
    "GaussianMixture",
    "KMeans",
    "KMeansStart",
    "Mixture",
    "MixtureChoice",
    "RandomStart",
    "choose_mixture",
]
