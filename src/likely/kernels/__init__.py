"""Kernel functions and kernel matrices."""

from likely.kernels.base import Columns, ConstantKernel, Kernel, KernelProduct, KernelSum, compute_matrix, weighted_sums
from likely.kernels.given import FunctionKernel, PrecomputedKernel, check_semi_definite
from likely.kernels.gram import GramRows
from likely.kernels.standard import KernelEstimator, LinearKernel, PolynomialKernel, RBFKernel, resolve_kernel

__all__ = [
    "Columns",
    "ConstantKernel",
    "FunctionKernel",
    "GramRows",
    "Kernel",
    "KernelEstimator",
    "KernelProduct",
    "KernelSum",
    "LinearKernel",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RBFKernel",
    "check_semi_definite",
    "compute_matrix",
    "resolve_kernel",
    "weighted_sums",
]
