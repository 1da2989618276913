"""What all tests share."""

import os
from pathlib import Path

# scikit-learn skips its checks of array-API input unless this is set before SciPy is first imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


@pytest.fixture(scope="session")
def score_set():
    """A function that gives the arrays of a file of real data, or skips the test."""

    def load(name):
        path = DATA / name
        if not path.exists():
            pytest.skip(f"needs {name}, which is not in {DATA}; set LIKELY_DATA to a folder that has it")
        with np.load(path) as arrays:
            return {key: arrays[key] for key in arrays.files}

    return load


@pytest.fixture(scope="session")
def mnist(score_set):
    return score_set("mnist.npz")


def pytest_terminal_summary(terminalreporter):
    """Say how many of scikit-learn's checks ran: green ones that never ran are worth nothing."""
    outcomes = {
        outcome: sum("test_passes_the_check" in report.nodeid for report in terminalreporter.stats.get(outcome, []))
        for outcome in ("passed", "failed", "skipped", "xfailed")
    }
    if any(outcomes.values()):
        said = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        terminalreporter.write_line(f"scikit-learn's estimator checks: {said}")
