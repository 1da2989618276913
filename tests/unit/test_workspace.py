"""Workspaces reuse memory for one owner, and never share it between owners or threads."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from threading import Barrier

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likely import FunctionKernel, LinearKernel, RBFKernel
from likely._numerics import MAX_BUFFER_VALUES, Workspace


def test_an_owner_gets_the_same_memory_again():
    workspace = Workspace()

    first = workspace.array("centred", (100, 3))

    assert np.shares_memory(first, workspace.array("centred", (100, 3)))
    assert np.shares_memory(first, workspace.array("centred", (5, 2)))
    with workspace.borrow("centred", (4,)) as lent:
        assert np.shares_memory(first, lent)
    assert np.shares_memory(first, workspace.array("centred", (300,)))


def test_two_owners_or_two_names_never_share_memory():
    one, other = Workspace(), Workspace()
    arrays = [owner.array(name, (50, 4)) for owner in (one, other) for name in ("rows", "product")]

    assert not any(np.shares_memory(a, b) for a, b in combinations(arrays, 2))


def test_two_threads_never_share_memory():
    workspace, together = Workspace(), Barrier(2)

    def ask(_):
        array = workspace.array("rows", (50, 4))
        together.wait(10)
        return array

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(ask, range(2))

    assert not np.shares_memory(one, other)


def test_borrowed_memory_is_not_given_out_again_before_it_is_returned():
    workspace = Workspace()

    with workspace.borrow("piece", (6,)) as outer, workspace.borrow("piece", (6,)) as inner:
        plain = workspace.array("piece", (6,))
        assert not any(np.shares_memory(a, b) for a, b in combinations([outer, inner, plain], 2))


def test_borrowed_memory_is_returned_after_an_error():
    workspace = Workspace()
    first = workspace.array("piece", (6,))

    with pytest.raises(ZeroDivisionError), workspace.borrow("piece", (6,)):
        raise ZeroDivisionError

    assert np.shares_memory(first, workspace.array("piece", (6,)))


def test_large_arrays_are_not_kept():
    workspace = Workspace()

    large = workspace.array("rows", (MAX_BUFFER_VALUES + 1,))

    assert not np.shares_memory(large, workspace.array("rows", (MAX_BUFFER_VALUES + 1,)))


@pytest.mark.parametrize("own_first", [True, False])
@pytest.mark.parametrize("combine", [lambda a, b: a + b, lambda a, b: a * b])
def test_a_kernel_function_may_evaluate_another_kernel(own_first, combine, rng):
    A, B = rng.standard_normal((300, 3)), rng.standard_normal((600, 3))
    inner = RBFKernel(0.5) + LinearKernel() * RBFKernel(0.1)
    nested, linear = FunctionKernel(lambda a, b: inner(a, b)), LinearKernel() + 1.0
    parts = (nested, linear) if own_first else (linear, nested)

    found = combine(*parts)(A, B)

    assert_allclose(found, combine(parts[0](A, B), parts[1](A, B)))
    assert_allclose(nested(A, B), inner(A, B))
