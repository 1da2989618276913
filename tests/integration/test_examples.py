"""The scripts that users run first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_demo_prints_a_table_of_the_models():
    done = subprocess.run([sys.executable, EXAMPLES / "tumour_models.py"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "LDA, tied full" in done.stdout
    assert "quadratic logistic" in done.stdout
    assert "cost" in done.stdout


@pytest.mark.parametrize("name", ["mnist_gaussians.py", "mnist_logistic.py"])
def test_the_mnist_examples_say_what_they_miss(name, tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LIKELY_DATA": str(tmp_path)},
    )

    assert done.returncode == 1
    assert "mnist.npz is not in" in done.stderr


def test_the_plots_of_tumours_are_drawn(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "tumour_plots.py", tmp_path / "tumours.png"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tumours.png").read_bytes()[:4] == b"\x89PNG"


def test_the_calibration_example_says_what_it_misses(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "mnist_calibration.py"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LIKELY_DATA": str(tmp_path)},
    )

    assert done.returncode == 1
    assert "mnist.npz is not in" in done.stderr
