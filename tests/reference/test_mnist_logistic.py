"""Error rates of logistic regression on MNIST, from the example's own script."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "mnist_logistic.py"))


@pytest.mark.parametrize(
    ("name", "tol", "errors"),
    [
        ("linear, all pixels", {"tol": 1e-4}, 7.37),
        ("linear, PCA 100", {"logisticregression__tol": 1e-4}, 7.91),
        ("quadratic, PCA 50", {"logisticregression__tol": 1e-3}, 1.79),
    ],
)
def test_the_error_rates_come_out(name, tol, errors, mnist):
    """Looser than the script, for the time it takes: at 1e-6 the linear ones make 7.37 and 7.91 % errors too."""
    model = clone(SCRIPT["MODELS"][name]).set_params(**tol)

    assert_allclose(SCRIPT["error_rate"](model, **mnist), errors, atol=0.1)


def test_the_zeros_grow_with_the_absolute_penalty(mnist):
    """On a tenth of the images, which makes more errors: all take minutes, and are left to the script."""
    some = {**mnist, "x_train": mnist["x_train"][:6000], "y_train": mnist["y_train"][:6000]}

    found = np.array(SCRIPT["lasso_path"](**some, strengths=(1e-2, 3e-3, 1e-3), tol=1e-3))

    assert (np.diff(found[:, 0]) < 0).all()
    assert found[0, 0] > 0.8
    assert found[:, 1].min() < 12
