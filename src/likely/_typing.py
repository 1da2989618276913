"""Types that several packages use: arrays, and the names that options take."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]
Booleans: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
Rows: TypeAlias = "NDArray[Any] | csr_array[Any]"
"""Validated rows: an array of real numbers of any precision, or a CSR array."""

# Names of options. An editor completes them, and a type checker finds a wrong one. A test compares each with the names
# that the constraint of the parameter accepts.
CovarianceName: TypeAlias = Literal["full", "diagonal", "spherical"]
TargetName: TypeAlias = Literal["diagonal", "pooled", "identity"]
KernelName: TypeAlias = Literal["linear", "polynomial", "rbf", "precomputed"]
StartName: TypeAlias = Literal["lbg", "kmeans", "random"]
Assignments: TypeAlias = Literal["soft", "hard"]
StoppingRule: TypeAlias = Literal["projected", "rise"]
PenaltyName: TypeAlias = Literal["l2", "l1", "none"]
SolverName: TypeAlias = Literal["auto", "newton", "l-bfgs", "newton-cg", "gradient-descent", "mini-batch", "online"]
SVMSolverName: TypeAlias = Literal["auto", "dual", "primal"]
Multiclass: TypeAlias = Literal["ovr", "ovo", "joint"]
KeptWeights: TypeAlias = Literal["average", "pocket", "last"]
WhiteningForm: TypeAlias = Literal["zca", "pca"]
WhitenedCovariance: TypeAlias = Literal["total", "within"]
EERMethod: TypeAlias = Literal["rocch", "step", "interpolated"]
Criterion: TypeAlias = Literal["bic", "aic", "log_likelihood"]
RankedBy: TypeAlias = Literal["minimum", "actual", "cllr"]
FrameBackend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
