"""Kernels: dot products of rows in spaces that are never entered, and matrices of them."""

from likely.kernels.base import ConstantKernel, Kernel, KernelProduct, KernelSum
from likely.kernels.columns import Columns, matrix_of, weighted_sums
from likely.kernels.given import FunctionKernel, PrecomputedKernel, check_semi_definite
from likely.kernels.gram import GramRows
from likely.kernels.named import kernel_of
from likely.kernels.products import LinearKernel, PolynomialKernel
from likely.kernels.radial import RBFKernel

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
