"""Kernels: dot products of rows in spaces that are never entered, and matrices of them."""

from likely.kernels.base import Columns, ConstantKernel, Kernel, KernelProduct, KernelSum, matrix_of, weighted_sums
from likely.kernels.given import FunctionKernel, PrecomputedKernel, check_semi_definite
from likely.kernels.gram import GramRows
from likely.kernels.standard import LinearKernel, PolynomialKernel, RBFKernel, kernel_of

__all__ = [
    "Columns",
    "ConstantKernel",
    "FunctionKernel",
    "GramRows",
    "Kernel",
    "KernelProduct",
    "KernelSum",
    "LinearKernel",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RBFKernel",
    "check_semi_definite",
    "kernel_of",
    "matrix_of",
    "weighted_sums",
]
