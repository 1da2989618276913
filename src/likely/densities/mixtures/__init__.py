"""Mixtures of densities, fitted by expectation-maximisation (EM), and k-means."""

from likely.densities.mixtures.choice import MixtureChoice, choose_mixture
from likely.densities.mixtures.gaussian_mixture import GaussianMixture
from likely.densities.mixtures.kmeans import KMeans
from likely.densities.mixtures.mixture import Mixture
from likely.densities.mixtures.starting import LBG, AbsoluteFloor, KMeansStart, RandomStart

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
