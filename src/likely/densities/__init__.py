"""Probability densities, and the covariance shapes they share."""

from likely.densities.covariance import Covariance, Diagonal, Full, Spherical
from likely.densities.gathering import class_moments, joint_moments, moments
from likely.densities.gaussian import Gaussian, Gaussians

__all__ = [
    "Covariance",
    "Diagonal",
    "Full",
    "Gaussian",
    "Gaussians",
    "Spherical",
    "class_moments",
    "joint_moments",
    "moments",
]
