"""Small data that comes along, with its source and the labels that decisions speak of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer

from likely._typing import Floats, Labels


class Dataset(NamedTuple):
    """Rows, labels and the names of the columns."""

    X: Floats
    y: Labels
    feature_names: list[str]


def load_tumours() -> Dataset:
    """569 breast tumours, 30 measurements of their cell nuclei, "benign" (357) or "malignant" (212).

    The Wisconsin diagnostic set (Wolberg, Street and Mangasarian 1995, UCI Machine Learning Repository, CC BY 4.0), as
    it comes with scikit-learn. Missing a malignant tumour is the dear mistake; it is the second class, the target.

    Examples
    --------
    >>> tumours = load_tumours()
    >>> tumours.X.shape, tumours.feature_names[0]
    ((569, 30), 'mean radius')
    """
    data = load_breast_cancer()
    labels = np.where(data.target == 1, "benign", "malignant")
    return Dataset(np.asarray(data.data, dtype=np.float64), labels, [str(name) for name in data.feature_names])
