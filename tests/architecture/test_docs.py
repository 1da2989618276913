"""Signatures that the documents quote are those of the code."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import likely
from likely import _typing

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SPANS = re.compile(r"```.*?```|`([^`\n]+)`", re.DOTALL)


def quoted_calls(text):
    """Calls of public names in code spans, such as ``SVM(C, kernel="rbf")``; an ellipsis stands for more arguments."""
    for match in SPANS.finditer(text):
        code = (match[1] or "").replace("…", "...")
        code = re.sub(r"^likely\.", "", code)
        try:
            tree = ast.parse(code, mode="eval")
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in likely.__all__:
                yield node


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_quoted_calls_fit_the_signatures(page):
    for call in quoted_calls(page.read_text()):
        parameters = inspect.signature(getattr(likely, call.func.id)).parameters
        if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
            continue
        named = {keyword.arg for keyword in call.keywords if keyword.arg}
        by_position = [each for each in parameters.values() if each.kind is not each.KEYWORD_ONLY]
        given = [each for each in call.args if not (isinstance(each, ast.Constant) and each.value is ...)]
        takes_any = any(each.kind is each.VAR_POSITIONAL for each in by_position)

        assert named <= set(parameters), f"{ast.unparse(call)} names {named - set(parameters)}"
        assert takes_any or len(given) <= len(by_position), f"{ast.unparse(call)} has too many arguments by position"


def test_the_check_reads_calls_in_pages():
    assert sum(len(list(quoted_calls(page.read_text()))) for page in PAGES) > 20


@pytest.mark.parametrize("text", ["`SVM(C, 'rbf')`", "`SVM(tolerance=1e-3)`", "`PCA(3, whiten=True)`"])
def test_the_check_finds_wrong_calls(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)

    with pytest.raises(AssertionError, match=r"names|by position"):
        test_quoted_calls_fit_the_signatures(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_that_pages_quote_exist(page):
    """A span such as ``likely.roc_curve`` or ``likely.evaluation.Trials`` names something that there is."""
    for match in re.finditer(r"`(likely(?:\.\w+)+)(?:\([^`]*\))?`", page.read_text()):
        name = match[1]
        if name.endswith((".csv", ".likely", ".html", ".json", ".py", ".pyi")):
            continue
        value = likely
        for part in name.split(".")[1:]:
            try:
                value = getattr(value, part)
            except AttributeError:
                value = import_module(f"{value.__name__}.{part}")  # raises if there is no such module
        assert value is not likely


OPTIONS = {
    "CovarianceName": (likely.GaussianClassifier, "covariance"),
    "TargetName": (likely.Full, "towards"),
    "KernelName": (likely.SVM, "kernel"),
    "StartName": (likely.GaussianMixture, "init"),
    "Assignments": (likely.GaussianMixture, "assignments"),
    "PenaltyName": (likely.LogisticRegression, "penalty"),
    "SolverName": (likely.LogisticRegression, "solver"),
    "SVMSolverName": (likely.SVM, "solver"),
    "Multiclass": (likely.SVM, "multiclass"),
    "KeptWeights": (likely.Perceptron, "keep"),
    "WhiteningForm": (likely.Whiten, "form"),
    "WhitenedCovariance": (likely.Whiten, "by"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_types_of_options_name_what_their_constraints_accept(name):
    cls, parameter = OPTIONS[name]
    names = get_args(getattr(_typing, name))
    described = re.findall(r"'([\w-]+)'", cls._constraints[parameter].description)

    assert all(cls._constraints[parameter].accepts(each) for each in names)
    assert set(names) == set(described)
    assert name in inspect.signature(cls).parameters[parameter].annotation
