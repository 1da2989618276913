"""Linear features, learned from moments and able to map moments; expansions, which lengthen rows; tables as numbers."""

from likely.features.encode import Encode
from likely.features.fill import Fill
from likely.features.lda import LDA
from likely.features.pca import PCA
from likely.features.quadratic import QuadraticFeatures
from likely.features.radial import RadialFeatures
from likely.features.scaling import Center, Standardize
from likely.features.whiten import Whiten

__all__ = ["LDA", "PCA", "Center", "Encode", "Fill", "QuadraticFeatures", "RadialFeatures", "Standardize", "Whiten"]
