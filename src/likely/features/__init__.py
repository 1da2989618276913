"""Linear features, from moments, which map moments too; expansions, and components by kernels; tables as numbers."""

from likely.features.encode import Encode
from likely.features.fill import Fill
from likely.features.kernel_pca import KernelPCA
from likely.features.lda import LDA
from likely.features.nystrom import NystromFeatures
from likely.features.pca import PCA
from likely.features.quadratic import QuadraticFeatures
from likely.features.radial import RadialFeatures
from likely.features.scaling import Center, Standardize
from likely.features.whiten import Whiten

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
