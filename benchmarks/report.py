"""Time to write a page of many rows, beside scikit-learn's displays of the same scores, and time to use the page.

Run all rows, or name some: python benchmarks/report.py written used
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import DetCurveDisplay, RocCurveDisplay
from timing import clock, report, run

from likely import Application, compare_scores

mpl.use("Agg")
ROWS, SYSTEMS, DRAWN = 10**6, 50, 6
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def _scores(n, systems):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.1).astype(int)
    return y, {f"system {k}": rng.normal((1 + 0.02 * k) * (2 * y - 1), 1.0) for k in range(systems)}


def written():
    """Time from evaluated scores to a file. The peer draws ROC, DET and calibration of the same number of systems."""
    y, scores = _scores(ROWS, SYSTEMS)
    evaluation, comparison = clock(lambda: compare_scores(y, scores, Application.binary(0.1, 10)), 1)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        ours, _ = clock(lambda: comparison.report().write(page), 3)
        size = page.stat().st_size / 1e6
        drawn = dict(list(scores.items())[-DRAWN:])
        theirs, _ = clock(lambda: _displays(y, drawn, Path(folder) / "page.svg"), 1)
    note = f"{ROWS:,} rows, {SYSTEMS} systems, {DRAWN} drawn; page {size:.2f} MB; evaluation took {evaluation:.0f} s"
    report("page written", ours, {"scikit-learn displays": theirs}, note)


def _displays(y, scores, path):
    """Draw three plots of the same systems into one SVG file."""
    import matplotlib.pyplot as plt

    figure, (roc, det, calibration) = plt.subplots(1, 3, figsize=(15, 5))
    for name, llr in scores.items():
        RocCurveDisplay.from_predictions(y, llr, name=name, ax=roc)
        DetCurveDisplay.from_predictions(y, llr, name=name, ax=det)
        CalibrationDisplay.from_predictions(y, 1 / (1 + np.exp(-llr)), n_bins=20, name=name, ax=calibration)
    figure.savefig(path)
    plt.close(figure)


def used():
    """Time the first paint, and a move of a slider: script, style and layout."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("page used: skipped, because chromium is not installed")
        return
    from playwright.sync_api import sync_playwright

    y, scores = _scores(100_000, DRAWN)
    classes = np.random.default_rng(0).integers(0, 10, 20_000)
    many = np.random.default_rng(1).normal(size=(20_000, 10)) + 3 * np.eye(10)[classes]
    pages = {
        "two classes": (compare_scores(y, scores, Application.binary(0.1, 10)), "#prior"),
        "ten classes": (compare_scores(classes, many), "#prior-3"),
    }
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, (comparison, slider) in pages.items():
            path = Path(folder) / f"{name}.html"
            comparison.report().write(path)
            paints, frame = _opened(browser, path, slider)
            times = ", ".join(f"{paint:.0f}" for paint in paints)
            print(f"page of {name}: first paint {min(paints):.0f} ms (of {times}); a slider move {frame:.1f} ms")
        browser.close()


def _opened(browser, path, slider):
    paints = []
    for _ in range(5):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_timeout(200)
        paints += page.evaluate("performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)")
        moves = page.evaluate(_MOVES, slider)
        page.close()
    return paints, statistics.median(moves)


_MOVES = """(selector) => {
  const slider = document.querySelector(selector), times = [];
  for (let k = 0; k < 60; k++) {
    const start = performance.now();
    slider.value = k % 40;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}"""


if __name__ == "__main__":
    run([written, used])
