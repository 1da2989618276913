"""Compiled loops of this package. Other modules import this one only to run a loop, because importing Numba is slow."""

import numba
from numba.extending import register_jitable

from likely.objectives import perceptron
from likely.objectives.svm import coordinate_descent, working_set

for helper in (perceptron.compute_scores, perceptron.compute_margin, perceptron.add_row, perceptron.keep_longest_run):
    register_jitable(helper)

_compiled = numba.njit(nogil=True, cache=True)

present_rows = _compiled(perceptron.present_rows)
count_mistakes = _compiled(perceptron.count_mistakes)
ascend_by_pairs = _compiled(working_set.ascend_by_pairs)
ascend_by_coordinates = _compiled(working_set.ascend_by_coordinates)
gather = _compiled(working_set.gather)
add_rows = _compiled(working_set.add_rows)
descend_rows = _compiled(coordinate_descent.descend_rows)
