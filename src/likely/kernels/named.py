"""Kernels by name."""

from __future__ import annotations

from typing import Any

from likely.exceptions import InvalidParameterError
from likely.kernels.base import Kernel
from likely.kernels.given import FunctionKernel, PrecomputedKernel
from likely.kernels.products import LinearKernel, PolynomialKernel
from likely.kernels.radial import RBFKernel

__all__ = ["KERNELS", "kernel_of"]

KERNELS: dict[str, Kernel] = {
    "linear": LinearKernel(),
    "polynomial": PolynomialKernel(),
    "rbf": RBFKernel(),
    "precomputed": PrecomputedKernel(),
}


def kernel_of(value: Any, whom: str) -> Kernel:
    """The kernel that a name stands for, the kernel itself, or a function as one."""
    if isinstance(value, str) and value in KERNELS:
        return KERNELS[value]
    if isinstance(value, Kernel):
        return value
    if isinstance(value, type) and issubclass(value, Kernel):
        raise InvalidParameterError(
            f"kernel of {whom} must be a kernel, but {value.__name__} is a class; write {value.__name__}(), with "
            "brackets."
        )
    if callable(value) and not isinstance(value, type):
        return FunctionKernel(value)
    names = ", ".join(map(repr, KERNELS))
    raise InvalidParameterError(
        f"kernel of {whom} must be one of {names}, a kernel such as RBFKernel(0.1), or a function of two arrays of "
        f"rows, but is {value!r}."
    )
