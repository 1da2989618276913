"""Names of array types that several packages use."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]
Booleans: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
Rows: TypeAlias = "NDArray[Any] | csr_array[Any]"
"""Validated rows: an array of real numbers of any precision, or a CSR array."""
