"""The table of Gaussian classifiers on MNIST that the course prints, from the example's own script."""

import runpy
from pathlib import Path

from numpy.testing import assert_allclose

SCRIPT = Path(__file__).parents[2] / "examples" / "mnist_gaussians.py"
ERRORS = [
    [13.72, 14.40, 25.00, 12.29],
    [12.29, 12.56, 23.68, 12.29],
    [12.19, 12.29, 23.40, 11.35],
    [4.30, 3.63, 12.21, 10.15],
]


def test_all_sixteen_error_rates_come_out(mnist):
    table = runpy.run_path(str(SCRIPT))["error_rates"](**mnist)

    assert_allclose(table, ERRORS, atol=0.02)
