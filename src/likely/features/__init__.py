"""Linear features, all learned from moments and all able to map moments."""

from likely.features.lda import LDA
from likely.features.pca import PCA
from likely.features.scaling import Center, Standardize
from likely.features.whiten import Whiten

__all__ = ["LDA", "PCA", "Center", "Standardize", "Whiten"]
