"""Error rates of logistic regression on MNIST: linear, after PCA, quadratic, and with an L1 penalty.

The script needs ``mnist.npz`` (arrays x_train, y_train, x_test, y_test) in the folder that LIKELY_DATA names, or in
``../shared/data``. It takes about three minutes on two cores. With a file name, as in ``python
examples/mnist_logistic.py weights.png``, it also draws the weights of the linear model as images.
"""

import os
import sys
from pathlib import Path

import numpy as np

from likely import PCA, LogisticRegression, QuadraticFeatures, Standardize, WeightsDisplay, make_pipeline

DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[2] / "shared" / "data"))

MODELS = {
    "linear, all pixels": LogisticRegression(1e-4, tol=1e-5),
    "linear, PCA 100": make_pipeline(PCA(100), LogisticRegression(1e-4, tol=1e-5)),
    "quadratic, PCA 50": make_pipeline(PCA(50), QuadraticFeatures(), Standardize(), LogisticRegression(1e-3, tol=1e-4)),
}
STRENGTHS = (1e-3, 5e-4, 2e-4, 1e-4)


def pixels(images):
    """Return the images as rows of numbers from 0 to 1."""
    return images.reshape(len(images), -1) / 255.0


def error_rate(model, x_train, y_train, x_test, y_test):
    """Return the error rate on the test images in percent."""
    model.fit(pixels(x_train), y_train)
    return 100 * float((model.predict(pixels(x_test)) != y_test).mean())


def lasso_path(x_train, y_train, x_test, y_test, strengths=STRENGTHS, tol=1e-3):
    """Return the share of zero weights and the error rate in percent for each λ, on standardised pixels."""
    scale = Standardize().fit(pixels(x_train))
    rows, test = scale.transform(pixels(x_train)), scale.transform(pixels(x_test))
    models = LogisticRegression(penalty="l1", tol=tol).path(rows, y_train, strengths)
    return [(float((m.coef_ == 0).mean()), 100 * float((m.predict(test) != y_test).mean())) for m in models]


def main():
    path = DATA / "mnist.npz"
    if not path.exists():
        sys.exit(f"mnist.npz is not in {DATA}. Set LIKELY_DATA to the folder that contains it.")
    with np.load(path) as arrays:
        data = {name: arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")}
    print("Error rates, %")
    for name, model in MODELS.items():
        print(name.ljust(24), f"{error_rate(model, **data):6.2f}", flush=True)
    if len(sys.argv) > 1:
        display = WeightsDisplay.from_estimator(MODELS["linear, all pixels"])
        display.plot()
        display.figure_.savefig(sys.argv[1])
    print("L1, standardised pixels")
    for strength, (zeros, errors) in zip(STRENGTHS, lasso_path(**data), strict=True):
        print(f"λ = {strength:g}".ljust(24), f"{errors:6.2f}", f"{zeros:6.0%} of the weights are 0")


if __name__ == "__main__":
    main()
