"""Right most of the time, and worse than knowing nothing: what calibration mends in a Gaussian classifier of digits.

The full Gaussian on 100 principal components of MNIST errs on few digits but is far too sure of itself: its
cross-entropy is larger than log 10, what it costs not to look at the image. One scale and ten offsets, learned on
out-of-fold scores of the training images, mend that. Needs ``mnist.npz`` as ``mnist_gaussians.py`` does.
"""

import os
import sys
from pathlib import Path

import numpy as np

from likely import PCA, Application, CalibratedClassifier, GaussianClassifier, bayes_risk, cross_entropy, make_pipeline

DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[2] / "shared" / "data"))


def judge(x_train, y_train, x_test, y_test):
    """Error rate and cross-entropy of the test images, before and after calibration, and the scale that was learned.

    Digits count as often as they occur among the test images.
    """
    chain = make_pipeline(PCA(100), GaussianClassifier())
    calibrated = CalibratedClassifier(chain, cv=5).fit(x_train, y_train)
    shares = np.bincount(y_test) / len(y_test)
    scores = {"as it is": calibrated.model_.log_likelihood(x_test), "calibrated": calibrated.log_likelihood(x_test)}
    judged = {
        name: (
            bayes_risk(y_test, evidence, Application(shares), normalize=False),
            cross_entropy(y_test, evidence, shares),
        )
        for name, evidence in scores.items()
    }
    return judged, calibrated.map_.scale_


def main():
    path = DATA / "mnist.npz"
    if not path.exists():
        sys.exit(f"mnist.npz is not in {DATA}; set LIKELY_DATA to a folder that has it.")
    with np.load(path) as arrays:
        judged, scale = judge(*(arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")))
    print("full Gaussian, PCA 100".ljust(24), "errors, %".rjust(10), "cross-entropy, nats".rjust(20))
    for name, (errors, nats) in judged.items():
        print(name.ljust(24), f"{100 * errors:10.2f} {nats:20.3f}")
    print("not looking".ljust(24), f"{90:10.2f} {np.log(10):20.3f}")
    print(f"\nThe scale that was learned is {scale:.3f}: log-likelihoods were {1 / scale:.0f} times too large.")


if __name__ == "__main__":
    main()
