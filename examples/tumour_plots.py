"""Two Gaussian models of tumours, before and after calibration: Bayes error plots and a DET plot in one figure.

``python examples/tumour_plots.py [FILE]`` writes the figure. It needs matplotlib: ``pip install 'likely[plot]'``.
"""

import sys

import matplotlib.figure
from sklearn.model_selection import StratifiedKFold

from likely import (
    PCA,
    AffineCalibrator,
    Application,
    BayesErrorDisplay,
    DetDisplay,
    GaussianClassifier,
    Standardize,
    kfold_calibrate,
    kfold_scores,
    make_pipeline,
)
from likely.datasets import load_tumours


def main(path="tumours.png"):
    X, y, _ = load_tumours()
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    diagonal, tied = kfold_scores(
        [GaussianClassifier("diagonal"), make_pipeline(Standardize(), PCA(10), GaussianClassifier(tied=True))],
        X,
        y,
        folds,
    )
    llrs = {"diagonal": diagonal[:, 1] - diagonal[:, 0], "PCA 10, tied": tied[:, 1] - tied[:, 0]}
    calibrated = {name: kfold_calibrate(AffineCalibrator(), llr, y, folds) for name, llr in llrs.items()}
    clinic = Application.binary(0.37, cost_fn=10, positive="malignant")
    figure = matplotlib.figure.Figure(figsize=(13, 4.2), layout="constrained")
    before, after, trade_off = figure.subplots(1, 3)
    BayesErrorDisplay.from_predictions(y, llrs).plot(ax=before)
    BayesErrorDisplay.from_predictions(y, calibrated, n_resamples=300).plot(ax=after)
    DetDisplay.from_predictions(y, calibrated, application=clinic).plot(ax=trade_off)
    for ax, title in (
        (before, "As given"),
        (after, "Calibrated by folds"),
        (trade_off, "Calibrated, at the clinic"),
    ):
        ax.set_title(title)
    figure.savefig(path, dpi=80)
    print(f"The figure is in {path}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
