"""Kinds of kernels, and what the models share that have one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from likely.kernels import (
    ConstantKernel,
    FunctionKernel,
    Kernel,
    KernelProduct,
    KernelSum,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
)
from likely.kernels.standard import KERNELS
from likely.persistence.checks import Check, Scope, count, either, floats, listed, none_or, number, option, part
from likely.persistence.container import RefusedError
from likely.persistence.kinds.kind import Kind
from likely.persistence.values import said

__all__ = ["KINDS", "KernelledKind", "check_landmarks", "fitted_kernel", "kernel", "landmarks"]

NAMES = (
    "ConstantKernel",
    "KernelProduct",
    "KernelSum",
    "LinearKernel",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RBFKernel",
)

fitted_kernel: Check = part(*NAMES)
"""A kernel as a model has it after learning."""

kernel: Check = either(option(*KERNELS), fitted_kernel)
"""A kernel as a caller may give it."""


class KernelledKind(Kind):
    """A model that has a parameter ``kernel``, which may be a function; it is told what to do about that."""

    def take_apart(self, value: Any, where: str) -> tuple[dict[str, Any], dict[str, Any], str | None]:
        given = getattr(value, "kernel", None)
        if callable(given) and not isinstance(given, Kernel):
            raise _is_code(f"{where}.kernel")
        return super().take_apart(value, where)


class _CodeKind(Kind):
    """A kernel that is a function, which no file holds."""

    def take_apart(self, value: Any, where: str) -> tuple[dict[str, Any], dict[str, Any], str | None]:
        raise _is_code(where)

    def build(self, parameters: dict[str, Any], state: dict[str, Any], output: Any, scope: Scope) -> Any:
        raise RefusedError("is a function, and no model file holds one")


def _is_code(where: str) -> RefusedError:
    return RefusedError(
        f"{where} is a function, whose code model files do not hold: loading one must run nothing. Use a kernel of the "
        "library, such as RBFKernel or sums and products of kernels, or compute the matrix by the function yourself, "
        "fit with kernel='precomputed', and save that model"
    )


def landmarks(letter: str) -> Check:
    """Rows that others are compared with, dense or sparse, or positions of such rows, as many as the letter says."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) is np.ndarray and value.dtype == np.float64:
            floats(letter, "d")(value, scope)
            return
        if type(value) is csr_array:
            _check_sparse(value, scope)
        elif type(value) is np.ndarray and value.dtype == np.intp and value.ndim == 1:
            _check_positions(value, scope)
        else:
            raise RefusedError(f"must be rows of float64, or positions of rows, but is {said(value)}")
        _settle(letter, value.shape[0], scope)

    return check


def _check_sparse(rows: Any, scope: Scope) -> None:
    part("SparseRows", d="d")(rows, scope)
    floats("_", finite=True)(np.append(rows.data, 0.0), scope)


def _check_positions(positions: Any, scope: Scope) -> None:
    if not ((positions >= 0) & (positions < scope.sizes["d"])).all():
        raise RefusedError(f"must be positions among {scope.sizes['d']} rows, but are not")


def _settle(letter: str, n: int, scope: Scope) -> None:
    if n < 1 or scope.sizes.setdefault(letter, n) != n:
        raise RefusedError(f"must be {scope.sizes.get(letter, 'some')} in number, but are {n}")


def check_landmarks(model: Any, scope: Scope) -> None:
    """Positions go with a precomputed kernel, rows with any other."""
    if scope.fitted and model.kernel_.is_precomputed != (model.landmarks_.ndim == 1):
        raise RefusedError("landmarks_ must be positions for a precomputed kernel and rows for others, but are not")


_parts: dict[str, Check] = {"parts": listed(fitted_kernel, 1, (tuple,))}

KINDS = [
    Kind(ConstantKernel, {"value": number(above=0)}),
    Kind(LinearKernel),
    Kind(PolynomialKernel, {"degree": count(1, 100), "offset": number(0)}),
    Kind(RBFKernel, {"gamma": none_or(number(above=0))}),
    Kind(PrecomputedKernel),
    Kind(KernelSum, _parts),
    Kind(KernelProduct, _parts),
    _CodeKind(FunctionKernel, {"function": option(None)}),
]
