"""Conventions of the code that no linter checks."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import likely
from likely.persistence.registry import CLASSES as REGISTERED

SOURCE = Path(likely.__file__).parent
ROOT = Path(__file__).parents[2]
FILES = sorted(SOURCE.rglob("*.py"))
EXPORTS = [getattr(likely, name) for name in likely.__all__]


def name_of(export):
    return getattr(export, "__name__", type(export).__name__)


NOT_SAVABLE = {"FunctionKernel"}
"""Estimators that hold code, such as a function."""


def test_all_public_names_exist_and_are_declared():
    stub = ast.parse((SOURCE / "__init__.pyi").read_text())
    declared = next(ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign))

    assert sorted(declared) == sorted(likely.__all__)
    assert all(hasattr(likely, name) for name in likely.__all__)


def test_importing_the_library_loads_no_package_before_a_name_is_used():
    code = "import sys, likely; print(sorted(name for name in sys.modules if name.startswith(('likely.', 'sklearn'))))"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"


def test_an_application_decides_without_scikit_learn():
    code = "import sys; from likely import Application; print(Application.binary(0.1, 9).decide([0.5], ['no', 'yes']))"
    code += "; print('sklearn' in sys.modules)"

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.split("\n")[:2] == ["['yes']", "False"]


@pytest.mark.parametrize("export", EXPORTS, ids=name_of)
def test_every_export_has_a_docstring(export):
    assert len(inspect.getdoc(export).splitlines()[0]) > 15


FUNCTIONS = [e for e in EXPORTS if inspect.isfunction(e)]
METRICS = [function for function in FUNCTIONS if function.__module__ == "likely.evaluation.metrics"]
"""Functions over methods of Trials, which have the parameters and the description."""


@pytest.mark.parametrize(
    "export", [e for e in FUNCTIONS if e not in METRICS], ids=lambda e: getattr(e, "__name__", "scorers")
)
def test_every_function_has_parameters_and_an_example(export):
    sections = inspect.getdoc(export).splitlines()

    assert {"Parameters", "Examples"} <= set(sections)


@pytest.mark.parametrize("metric", METRICS, ids=name_of)
def test_every_metric_refers_to_the_method_that_describes_it(metric):
    assert f":meth:`Trials.{metric.__name__}`" in inspect.getdoc(metric)
    taken = list(inspect.signature(metric).parameters)
    method = list(inspect.signature(getattr(likely.Trials, metric.__name__)).parameters)

    assert [name for name in taken if name in method] == method[1:]


@pytest.mark.parametrize(
    "cls", [e for e in EXPORTS if hasattr(e, "_constraints")], ids=lambda e: getattr(e, "__name__", "scorers")
)
def test_constructors_take_at_most_the_first_hyperparameter_by_position(cls):
    parameters = list(inspect.signature(cls).parameters.values())
    by_position = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]

    assert len(by_position) <= (2 if cls is likely.Application else 1)


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda p: p.name)
def test_links_between_pages_have_targets(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())

    assert all((page.parent / link).exists() for link in links if "://" not in link)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_private_of_scikit_learn_is_imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.split(".")[0] == "sklearn":
                assert not any(part.startswith("_") for part in name.split(".")), name


def test_importing_the_library_loads_no_optional_or_slow_dependency():
    """Modules that scikit-learn and SciPy load themselves, such as an installed pandas, do not count."""
    heavy = ["numba", "matplotlib", "pandas", "polars", "pyarrow", "dask", "pyspark", "jinja2", "fastapi"]
    peers = "import sys, sklearn.datasets, sklearn.model_selection, sklearn.pipeline; before = set(sys.modules)"
    code = f"{peers}; from likely import *; print(set({heavy}) & set(sys.modules) - before)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "set()"


# Mixtures take the options of EM one by one, under the names that textbooks and scikit-learn use for them.
EM_MODULES = {"densities/mixtures/gaussian_mixture.py", "densities/mixtures/mixture.py", "models/mixture.py"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_and_constructors_stay_small(path):
    tree = ast.parse(path.read_text())

    assert path.read_text().count("\n") <= 600
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            limit = 12 if path.relative_to(SOURCE).as_posix() in EM_MODULES else 8
            assert len(node.args.args) + len(node.args.kwonlyargs) - 1 <= limit


def test_errors_derive_from_likely_error_and_builtin_errors():
    errors = [e for e in EXPORTS if isinstance(e, type) and issubclass(e, Exception) and not issubclass(e, Warning)]

    assert all(issubclass(error, likely.LikelyError) for error in errors)
    assert issubclass(likely.InvalidDataError, ValueError)
    assert issubclass(likely.IncompatiblePartsError, TypeError)


def _texts_for_users(tree):
    """Return the texts of a module that are not docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in nodes if isinstance(node.value, str)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_the_command_line_names_its_options(path):
    texts = _texts_for_users(ast.parse(path.read_text()))

    if path.parent != SOURCE / "cli":
        assert [text for text in texts if re.search(r"(?<![\w-])--[a-z]", text)] == []


def test_the_command_line_rewrites_no_message_by_regular_expressions():
    """Errors carry the parameter that they are about. Only notes are searched, to find similar ones."""
    users = [path.stem for path in (SOURCE / "cli").glob("*.py") if re.search(r"^import re$", path.read_text(), re.M)]

    assert set(users) <= {"notes", "leaderboards"}


@pytest.mark.parametrize("registered", REGISTERED, ids=lambda each: each.key)
def test_every_registered_class_declares_its_parameters(registered):
    """Every parameter of the constructor has a constraint, and nothing else has.

    Classes of other libraries have separate declarations.
    """
    cls = registered.type
    taken = getattr(cls, "_from_file", None) or cls
    if registered.declaration is not None or taken is not cls:
        assert registered.parameters is not None
        return
    assert sorted(registered.parameters) == sorted(set(inspect.signature(cls).parameters) - {"args", "kwargs"})
    assert all(constraint.description for constraint in registered.parameters.values())


def test_every_exported_estimator_can_be_saved_or_is_known_not_to_be():
    estimators = {e for e in EXPORTS if inspect.isclass(e) and hasattr(e, "get_params") and not inspect.isabstract(e)}

    assert {e.__name__ for e in estimators} - {each.type.__name__ for each in REGISTERED} == NOT_SAVABLE
