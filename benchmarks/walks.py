"""Count the files and functions of the library that a call visits.

Seven calls are traced from the public method down. Fewer visits mean that the code is easier to follow. Imports are
made before the trace begins, so modules that are only loaded do not count.

    python benchmarks/walks.py
"""

import os
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

import likely
from likely.datasets import load_tumours

SOURCE = str(Path(likely.__file__).parent) + os.sep
SKIPPED = ("<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


def walk(call):
    """Return the numbers of distinct files and functions of the library that a call enters, in all threads."""
    seen = set()

    def trace(frame, event, arg):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name not in SKIPPED:
            seen.add((code.co_filename, code.co_qualname))

    call()  # once before, so that everything is imported
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return len({file for file, _ in seen}), len(seen)


def compare_on_the_command_line(folder):
    from likely.cli import main

    X, y, names = load_tumours()
    file = Path(folder) / "tumours.csv"
    if not file.exists():
        lines = [",".join([*(name.replace(" ", "_") for name in names), "label"])]
        lines += [",".join([*map(repr, map(float, row)), str(label)]) for row, label in zip(X, y, strict=True)]
        file.write_text("\n".join(lines) + "\n")
    families = [part for name in ("gaussian", "logistic", "svm") for part in ("--family", name)]
    run = ["--run", str(Path(folder) / "run"), "--restart"]
    before, sys.argv = sys.argv, ["likely", "compare", str(file), "--target", "label", *families, *run, "--json"]
    out, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115 - closed below
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.stdout.close()
        sys.argv, sys.stdout = before, out


def main():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(200, 5)), rng.normal(size=(200, 5)) + 1])
    y = np.repeat(["a", "b"], 200)
    chain = likely.make_pipeline(likely.PCA(3), likely.GaussianClassifier())
    fitted = likely.make_pipeline(likely.PCA(3), likely.GaussianClassifier()).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.likely")

        def save_and_load():
            likely.save(fitted, path)
            likely.load(path)

        walks = {
            "(a) GaussianClassifier().fit(X, y).llr(X)": lambda: likely.GaussianClassifier().fit(X, y).llr(X),
            "(b) LogisticRegression().fit(X, y)": lambda: likely.LogisticRegression(1e-2).fit(X, y),
            '(c) SVM(kernel="rbf").fit(X, y)': lambda: likely.SVM(kernel="rbf").fit(X, y),
            "(d) GaussianMixture(4).fit(X)": lambda: likely.GaussianMixture(4).fit(X),
            "(e) likely compare tumours.csv": lambda: compare_on_the_command_line(folder),
            "(f) save and load of a pipeline": save_and_load,
            "(g) kfold_scores of a pipeline": lambda: likely.kfold_scores(chain, X, y),
        }
        print(f"{'walk':<46}{'files':>8}{'functions':>12}")
        for name, call in walks.items():
            files, functions = walk(call)
            print(f"{name:<46}{files:>8}{functions:>12}")


if __name__ == "__main__":
    main()
