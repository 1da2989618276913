"""Transformers: linear features learned from moments, non-linear expansions, kernel features, encoding of tables."""

from likely.features.encode import Encode, Fill
from likely.features.expansions import QuadraticFeatures, RadialFeatures
from likely.features.kernel_features import KernelPCA, NystromFeatures
from likely.features.linear import LDA, PCA, Center, Standardize, Whiten

__all__ = [
    "LDA",
    "PCA",
    "Center",
    "Encode",
    "Fill",
    "KernelPCA",
    "NystromFeatures",
    "QuadraticFeatures",
    "RadialFeatures",
    "Standardize",
    "Whiten",
]
