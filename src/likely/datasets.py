"""Small example data sets, with their sources."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer

from likely._typing import Floats, Labels


class Dataset(NamedTuple):
    """Rows, labels and names of the columns."""

    X: Floats
    y: Labels
    feature_names: list[str]


def load_tumours() -> Dataset:
    """Load 569 breast tumours with 30 measurements of their cell nuclei, "benign" (357) or "malignant" (212).

    This is the Wisconsin diagnostic data set (Wolberg, Street and Mangasarian 1995, UCI Machine Learning Repository,
    CC BY 4.0) as distributed with scikit-learn. The second class, "malignant", is the target: missing a malignant
    tumour is the expensive mistake.

    Examples
    --------
    >>> tumours = load_tumours()
    >>> tumours.X.shape, tumours.feature_names[0]
    ((569, 30), 'mean radius')
    """
    data = load_breast_cancer()
    labels = np.where(data.target == 1, "benign", "malignant")
    return Dataset(np.asarray(data.data, dtype=np.float64), labels, [str(name) for name in data.feature_names])
