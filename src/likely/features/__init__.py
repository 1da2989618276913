"""Linear features, learned from moments and able to map moments, and expansions, which lengthen rows."""

from likely.features.lda import LDA
from likely.features.pca import PCA
from likely.features.quadratic import QuadraticFeatures
from likely.features.radial import RadialFeatures
from likely.features.scaling import Center, Standardize
from likely.features.whiten import Whiten

__all__ = ["LDA", "PCA", "Center", "QuadraticFeatures", "RadialFeatures", "Standardize", "Whiten"]
