"""Calibration of an accurate but overconfident Gaussian classifier of digits.

The full Gaussian on 100 principal components of MNIST makes few errors but is overconfident: its cross-entropy is
larger than log 10, the cross-entropy of equal posteriors for all digits. One scale and ten offsets, trained on
out-of-fold scores of the training images, correct this. The script needs ``mnist.npz``, like ``mnist_gaussians.py``.
"""

import os
import sys
from pathlib import Path

import numpy as np

from likely import (
    PCA,
    AffineCalibrator,
    Application,
    CalibratedClassifier,
    GaussianClassifier,
    bayes_risk,
    cross_entropy,
    make_pipeline,
)

DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[2] / "shared" / "data"))


def evaluate(x_train, y_train, x_test, y_test):
    """Return error rate and cross-entropy on the test images, before and after calibration, and the fitted scale.

    The priors are the shares of the digits among the test images.
    """
    chain = make_pipeline(PCA(100), GaussianClassifier())
    calibrated = CalibratedClassifier(chain, calibrator=AffineCalibrator(), cv=5).fit(x_train, y_train)
    shares = np.bincount(y_test) / len(y_test)
    scores = {"as given": calibrated.model_.log_likelihood(x_test), "calibrated": calibrated.log_likelihood(x_test)}
    results = {
        name: (
            bayes_risk(y_test, evidence, Application(shares), normalize=False),
            cross_entropy(y_test, evidence, shares),
        )
        for name, evidence in scores.items()
    }
    return results, calibrated.map_.scale_


def main():
    path = DATA / "mnist.npz"
    if not path.exists():
        sys.exit(f"mnist.npz is not in {DATA}. Set LIKELY_DATA to the folder that contains it.")
    with np.load(path) as arrays:
        results, scale = evaluate(*(arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")))
    print("full Gaussian, PCA 100".ljust(24), "errors, %".rjust(10), "cross-entropy, nats".rjust(20))
    for name, (errors, nats) in results.items():
        print(name.ljust(24), f"{100 * errors:10.2f} {nats:20.3f}")
    print("equal posteriors".ljust(24), f"{90:10.2f} {np.log(10):20.3f}")
    print(f"\nThe fitted scale is {scale:.3f}: the log-likelihoods were {1 / scale:.0f} times too large.")


if __name__ == "__main__":
    main()
