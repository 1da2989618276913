"""Error rates of Gaussian classifiers on MNIST, uniform priors, after PCA and after PCA and LDA.

The script needs ``mnist.npz`` (arrays x_train, y_train, x_test, y_test) in the folder that LIKELY_DATA names, or in
``../shared/data``. It makes one pass over the training images and estimates every model from their moments.
"""

import os
import sys
from pathlib import Path

import numpy as np

from likely import LDA, PCA, ArraySource, GaussianClassifier, make_pipeline
from likely.blocks import class_moments
from likely.resampling.chains import estimate_chain, steps_of
from likely.statistics import Moments

DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[2] / "shared" / "data"))

FEATURES = {
    "PCA 100": [PCA(100)],
    "PCA 50": [PCA(50)],
    "PCA 9": [PCA(9)],
    "PCA 100, LDA 9": [PCA(100), LDA(9)],
}
MODELS = {
    "tied diagonal": GaussianClassifier("diagonal", tied=True, priors=[0.1] * 10),
    "tied": GaussianClassifier("full", tied=True, priors=[0.1] * 10),
    "diagonal": GaussianClassifier("diagonal", priors=[0.1] * 10),
    "full": GaussianClassifier("full", priors=[0.1] * 10),
}


def error_rates(x_train, y_train, x_test, y_test):
    """Return the error rates on the test images in percent, with a row per model and a column per set of features."""
    moments = ArraySource(x_train, y_train.astype(np.intp)).reduce(class_moments, Moments)
    table = np.empty((len(MODELS), len(FEATURES)))
    for i, model in enumerate(MODELS.values()):
        for j, features in enumerate(FEATURES.values()):
            chain = make_pipeline(*features, model)
            estimate_chain(steps_of(chain), moments, np.arange(10))
            table[i, j] = 100 * (chain.predict(x_test) != y_test).mean()
    return table


def main():
    path = DATA / "mnist.npz"
    if not path.exists():
        sys.exit(f"mnist.npz is not in {DATA}. Set LIKELY_DATA to the folder that contains it.")
    with np.load(path) as arrays:
        table = error_rates(arrays["x_train"], arrays["y_train"], arrays["x_test"], arrays["y_test"])
    print("Error rates, %".ljust(16), *(name.rjust(15) for name in FEATURES))
    for name, row in zip(MODELS, table, strict=True):
        print(name.ljust(16), *(f"{error:15.2f}" for error in row))


if __name__ == "__main__":
    main()
