"""The closed list of classes that model files may hold, and how each is taken apart and rebuilt.

The list contains only the names of classes. The constraints that the classes declare describe parameters and fitted
states (see :mod:`likely._constraints`), and their methods ``_check_state`` check rules between values. Classes that are
not listed can be neither saved nor loaded, and names in a file are looked up nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import sklearn.pipeline
from scipy.sparse import csr_array
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedGroupKFold, StratifiedKFold
from sklearn.preprocessing import QuantileTransformer

from likely._constraints import (
    ABSENT,
    Constraint,
    Constraints,
    Scope,
    ViolationError,
    array_of,
    constraints_of,
    count,
    flag,
    floats,
    nondecreasing,
    none_or,
    one_of,
    random_state,
    size,
)
from likely._fitted import INPUTS
from likely.calibration import (
    AffineCalibrator,
    IsotonicCalibrator,
    LogisticFusion,
    ProductFusion,
    TailCalibrator,
    VotingFusion,
)
from likely.decisions import Application
from likely.densities import (
    LBG,
    AbsoluteFloor,
    Bernoulli,
    Categorical,
    Diagonal,
    Full,
    Gaussian,
    GaussianMixture,
    Gaussians,
    Independent,
    KMeans,
    KMeansStart,
    Laplace,
    Mixture,
    Multinomial,
    RandomStart,
    Spherical,
)
from likely.densities.bernoulli import BinaryColumns, BinaryCounts
from likely.densities.categorical import CategoryCounts, CategoryTable
from likely.densities.factors import DiagonalCovariances, FullCovariances
from likely.densities.independent import ProductStatistics
from likely.densities.laplace import HeldRows, LaplaceColumns
from likely.densities.mixtures.em import Sums
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixture import Mixed, Several
from likely.densities.mixtures.updating import Stepwise
from likely.densities.multinomial import CountSums
from likely.densities.natural_form import DiagonalForm, FullForm, GaussianSums, SphericalForm
from likely.features import (
    LDA,
    PCA,
    Center,
    Encode,
    Fill,
    KernelPCA,
    NystromFeatures,
    QuadraticFeatures,
    RadialFeatures,
    Standardize,
    Whiten,
)
from likely.features.linear import Discriminants
from likely.kernels import (
    ConstantKernel,
    KernelProduct,
    KernelSum,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
)
from likely.models import (
    SVM,
    CalibratedClassifier,
    FisherClassifier,
    FusedClassifier,
    GaussianClassifier,
    GenerativeClassifier,
    KernelLogisticRegression,
    LeastSquaresClassifier,
    LinearRegression,
    LogisticRegression,
    MixtureClassifier,
    NearestMeanClassifier,
    OpenSetClassifier,
    Perceptron,
    Pipeline,
    QuadraticForm,
)
from likely.models.linear_regression import Regression
from likely.models.normal_equations import LinearFit
from likely.models.pipeline import STEPS, ChainSums
from likely.objectives import DualSolver, ElasticNet, GradientDescent, Overlap, PrimalSolver, Separator
from likely.objectives.perceptron import PerceptronWeights
from likely.persistence.container import RefusedError
from likely.persistence.earlier import DiagonalFamily, DiagonalSums, FullFamily, FullSums
from likely.statistics import ByClass, DiagonalMoments, JointMoments, LinearMap, Moments

_OUTPUT = "_sklearn_output_config"
_output = one_of("default", "pandas", "polars")


@dataclass(frozen=True)
class Registered:
    """A class that model files may hold.

    Parameters
    ----------
    type : type
        The class itself; its subclasses are not included.
    key : str
        Its name in files.
    standalone : bool
        Whether a file may hold an instance as its model, not only as a part of a model.
    declaration : type, optional
        For a class of another library, the class that declares its constraints, state and rules.
    """

    type: Any
    key: str
    standalone: bool = True
    declaration: Any = None

    @property
    def _declaration(self) -> Any:
        return self.type if self.declaration is None else self.declaration

    @cached_property
    def parameters(self) -> Mapping[str, Constraint]:
        """Constraints of the constructor's parameters."""
        return constraints_of(self._declaration)

    @cached_property
    def fields(self) -> Mapping[str, Constraint]:
        """Constraints of the fields of the fitted state."""
        state = getattr(self._declaration, "_State", None)
        return {} if state is None else constraints_of(state)

    @cached_property
    def fitted(self) -> Mapping[str, Constraint]:
        """Constraints of all fitted values that are saved; attributes outside the state come first."""
        every = {**getattr(self._declaration, "_inputs", {}), **self.fields}
        return {name: constraint for name, constraint in every.items() if constraint.saved}

    @cached_property
    def unsaved(self) -> list[str]:
        """Names of fitted attributes outside the state that are not saved."""
        inputs = getattr(self._declaration, "_inputs", {})
        return [name for name, constraint in inputs.items() if not constraint.saved]

    @cached_property
    def optional(self) -> frozenset[str]:
        """Names of fitted values that may be absent from a file."""
        state = getattr(self._declaration, "_State", None)
        given = () if state is None else (one.name for one in fields(state) if one.default is not MISSING)
        return frozenset([*given, *(name for name, constraint in self.fitted.items() if constraint.optional)])

    def take_apart(self, value: Any, where: str) -> tuple[dict[str, Any], dict[str, Any], str | None]:
        """Return the parameters, the fitted values, and the container of ``set_output``, if it was set."""
        held = self._attributes(value)
        missing = next((name for name in self.parameters if name not in held), None)
        if missing is not None:
            raise RefusedError(f"{where} must have the parameter {missing!r} of {self.key}, but does not have it")
        parameters = {name: held.pop(name) for name in self.parameters}
        output = held.pop(_OUTPUT, {}).get("transform")
        state = held.pop("_state", None)
        fitted = {name: held.pop(name) for name in self.fitted if name in held}
        if state is not None:
            fitted |= {name: getattr(state, name) for name in self.fields if self.fields[name].saved}
        self._check_nothing_left({name: held[name] for name in held if name not in self.unsaved}, where)
        if state is None and self.fields:
            return parameters, {}, output
        fitted = {name: fitted[name] for name in self.fitted if fitted.get(name, ABSENT) is not ABSENT}
        pack = getattr(value, "_pack_state", None)
        return parameters, pack(fitted) if pack and fitted else fitted, output

    def _attributes(self, value: Any) -> dict[str, Any]:
        if hasattr(self._declaration, "_attributes"):
            return dict(self._declaration._attributes(value))
        return dict(value._asdict() if hasattr(value, "_asdict") else vars(value))

    def _check_nothing_left(self, held: Mapping[str, Any], where: str) -> None:
        for name in held:
            if not isinstance(getattr(self.type, name, None), cached_property):
                raise RefusedError(
                    f"{where} ({self.key}) has an attribute {name!r} that this library did not set. The model file "
                    "would not contain it. Delete the attribute, or store the model in another way"
                )

    def build(self, parameters: dict[str, Any], fitted: dict[str, Any], output: Any, scope: Scope) -> Any:
        """Build the object after checking all of its values."""
        self.check(parameters, fitted, scope)
        make = getattr(self._declaration, "_from_file", None)
        made = make(parameters) if make else self.type(**parameters)
        if fitted:
            self._set_fitted(made, fitted)
        if output is not None:
            _check_values({"the output": output}, {"the output": _output}, scope)
            if not hasattr(made, "set_output"):
                raise RefusedError("has no set_output method, so its file must not contain the setting 'output'")
            made.set_output(transform=output)
        self.check_rules(made, scope)
        return made

    def check(self, parameters: dict[str, Any], fitted: dict[str, Any], scope: Scope) -> None:
        """Raise unless parameters and fitted values are those that the class declares and obey its constraints."""
        _check_names("parameter", parameters, self.parameters, frozenset())
        _check_values(parameters, self.parameters, scope)
        if fitted:
            scope.fitted = True
            _check_names("fitted attribute", fitted, self.fitted, self.optional)
            _check_values(fitted, self.fitted, scope)

    def check_rules(self, made: Any, scope: Scope) -> None:
        """Raise unless the values of an object are consistent with each other."""
        check = getattr(self._declaration, "_check_state", None)
        if check is not None:
            check(made, scope)

    def _set_fitted(self, made: Any, fitted: dict[str, Any]) -> None:
        if hasattr(made, "_unpack_state"):
            fitted = made._unpack_state(fitted)
        for name, value in {**fitted, **dict.fromkeys(self.unsaved)}.items():
            if name not in self.fields:
                setattr(made, name, value)
        if self.fields:
            values: dict[str, Any] = {name: ABSENT for name, constraint in self.fields.items() if constraint.optional}
            values |= {name: None for name, constraint in self.fields.items() if not constraint.saved}
            values |= {name: value for name, value in fitted.items() if name in self.fields}
            made._state = self.type._State(**values)


def _check_names(
    what: str, given: Mapping[str, Any], known: Mapping[str, Constraint], optional: frozenset[str]
) -> None:
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise RefusedError(f"has an unknown {what} {unknown[:80]!r}")
    missing = next((name for name in known if name not in given and name not in optional), None)
    if missing is not None:
        raise RefusedError(f"lacks the {what} {missing!r}")


def _check_values(values: Mapping[str, Any], constraints: Mapping[str, Constraint], scope: Scope) -> None:
    for name, constraint in constraints.items():
        if name in values:
            try:
                constraint(values[name], scope)
            except ViolationError as error:
                raise RefusedError(f"{name} {error}") from None


MODELS: dict[str, Any] = {
    "AbsoluteFloor": AbsoluteFloor,
    "AffineCalibrator": AffineCalibrator,
    "Application": Application,
    "Bernoulli": Bernoulli,
    "CalibratedClassifier": CalibratedClassifier,
    "Categorical": Categorical,
    "Center": Center,
    "ConstantKernel": ConstantKernel,
    "Diagonal": Diagonal,
    "DualSolver": DualSolver,
    "ElasticNet": ElasticNet,
    "Encode": Encode,
    "Fill": Fill,
    "FisherClassifier": FisherClassifier,
    "Full": Full,
    "FusedClassifier": FusedClassifier,
    "Gaussian": Gaussian,
    "GaussianClassifier": GaussianClassifier,
    "GaussianMixture": GaussianMixture,
    "GenerativeClassifier": GenerativeClassifier,
    "GradientDescent": GradientDescent,
    "Independent": Independent,
    "IsotonicCalibrator": IsotonicCalibrator,
    "KMeans": KMeans,
    "KMeansStart": KMeansStart,
    "KernelLogisticRegression": KernelLogisticRegression,
    "KernelPCA": KernelPCA,
    "KernelProduct": KernelProduct,
    "KernelSum": KernelSum,
    "LBG": LBG,
    "LDA": LDA,
    "Laplace": Laplace,
    "LeastSquaresClassifier": LeastSquaresClassifier,
    "LinearKernel": LinearKernel,
    "LinearRegression": LinearRegression,
    "LogisticFusion": LogisticFusion,
    "LogisticRegression": LogisticRegression,
    "Mixture": Mixture,
    "MixtureClassifier": MixtureClassifier,
    "Multinomial": Multinomial,
    "NearestMeanClassifier": NearestMeanClassifier,
    "NystromFeatures": NystromFeatures,
    "OpenSetClassifier": OpenSetClassifier,
    "Overlap": Overlap,
    "PCA": PCA,
    "Perceptron": Perceptron,
    "Pipeline": Pipeline,
    "PolynomialKernel": PolynomialKernel,
    "PrecomputedKernel": PrecomputedKernel,
    "PrimalSolver": PrimalSolver,
    "ProductFusion": ProductFusion,
    "QuadraticFeatures": QuadraticFeatures,
    "QuadraticForm": QuadraticForm,
    "RBFKernel": RBFKernel,
    "RadialFeatures": RadialFeatures,
    "RandomStart": RandomStart,
    "SVM": SVM,
    "Separator": Separator,
    "Spherical": Spherical,
    "Standardize": Standardize,
    "TailCalibrator": TailCalibrator,
    "VotingFusion": VotingFusion,
    "Whiten": Whiten,
}
"""Classes that a file may hold as its model, by their names in files."""

PARTS: dict[str, Any] = {
    "BinaryColumns": BinaryColumns,
    "BinaryCounts": BinaryCounts,
    "ByClass": ByClass,
    "CategoryCounts": CategoryCounts,
    "CategoryTable": CategoryTable,
    "ChainSums": ChainSums,
    "CountSums": CountSums,
    "DiagonalCovariances": DiagonalCovariances,
    "DiagonalFamily": DiagonalFamily,
    "DiagonalForm": DiagonalForm,
    "DiagonalMoments": DiagonalMoments,
    "DiagonalSums": DiagonalSums,
    "Discriminants": Discriminants,
    "FullCovariances": FullCovariances,
    "FullFamily": FullFamily,
    "FullForm": FullForm,
    "FullSums": FullSums,
    "GaussianFamily": GaussianFamily,
    "GaussianSums": GaussianSums,
    "Gaussians": Gaussians,
    "HeldRows": HeldRows,
    "JointMoments": JointMoments,
    "LaplaceColumns": LaplaceColumns,
    "LinearFit": LinearFit,
    "LinearMap": LinearMap,
    "Mixed": Mixed,
    "Moments": Moments,
    "PerceptronWeights": PerceptronWeights,
    "ProductStatistics": ProductStatistics,
    "Regression": Regression,
    "Several": Several,
    "SphericalForm": SphericalForm,
    "Stepwise": Stepwise,
    "Sums": Sums,
}
"""Classes that a file may hold only as a part of a model, by their names in files."""

# Classes of other libraries, and their declarations


class _SparseRows:
    """CSR arrays, whose attributes differ from the arguments of their constructor."""

    _constraints: ClassVar[Constraints] = {
        "n_columns": size("d"),
        "data": array_of("iufb"),
        "indices": array_of("i"),
        "indptr": array_of("i"),
    }

    @staticmethod
    def _attributes(rows: Any) -> dict[str, Any]:
        return {"n_columns": rows.shape[1], "data": rows.data, "indices": rows.indices, "indptr": rows.indptr}

    @staticmethod
    def _from_file(values: dict[str, Any]) -> Any:
        data, indices, indptr = (values[name] for name in ("data", "indices", "indptr"))
        rows: Any = csr_array((data, indices, indptr), shape=(len(indptr) - 1, int(values["n_columns"])))
        # SciPy checks indices only on request, but uses them as memory offsets.
        rows.check_format(full_check=True)
        return rows


class _Chain:
    _constraints: ClassVar[Constraints] = STEPS


class _Folds:
    _constraints: ClassVar[Constraints] = {"n_splits": count(2), "shuffle": flag, "random_state": random_state}


class _LeaveOneOut:
    _constraints: ClassVar[Constraints] = {}


class _Quantiles:
    _constraints: ClassVar[Constraints] = {
        "n_quantiles": count(1),
        "output_distribution": one_of("uniform", "normal"),
        "ignore_implicit_zeros": flag,
        "subsample": none_or(count(1)),
        "random_state": random_state,
        "copy": flag,
    }
    _inputs: ClassVar[Constraints] = {
        **INPUTS,
        "n_quantiles_": size("q"),
        "quantiles_": nondecreasing(floats("q", "d")),
        "references_": nondecreasing(floats("q")),
    }

    @staticmethod
    def _check_state(model: Any, scope: Scope) -> None:
        if scope.fitted:
            scope.sizes["out"] = scope.sizes["d"]
            if not (model.references_[[0, -1]] == [0.0, 1.0]).all():
                raise ViolationError("references_ must begin with 0 and end with 1, but do not")


FOREIGN: list[Registered] = [
    Registered(csr_array, "SparseRows", False, _SparseRows),
    Registered(sklearn.pipeline.Pipeline, "sklearn.Pipeline", True, _Chain),
    Registered(KFold, "sklearn.KFold", True, _Folds),
    Registered(StratifiedKFold, "sklearn.StratifiedKFold", True, _Folds),
    Registered(GroupKFold, "sklearn.GroupKFold", True, _Folds),
    Registered(StratifiedGroupKFold, "sklearn.StratifiedGroupKFold", True, _Folds),
    Registered(LeaveOneOut, "sklearn.LeaveOneOut", True, _LeaveOneOut),
    Registered(QuantileTransformer, "sklearn.QuantileTransformer", True, _Quantiles),
]


CLASSES = [
    *(Registered(cls, name) for name, cls in MODELS.items()),
    *(Registered(cls, name, standalone=False) for name, cls in PARTS.items()),
    *FOREIGN,
]

BY_TYPE = {each.type: each for each in CLASSES}
BY_NAME = {each.key: each for each in CLASSES}
