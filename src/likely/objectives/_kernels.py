"""The compiled loops of this package, imported only when they run: Numba takes a while to import."""

import numba
from numba.extending import register_jitable

from likely.objectives import perceptron
from likely.objectives.svm import coordinate_descent, working_set

for helper in (perceptron.score, perceptron.margin, perceptron.learn, perceptron.hold):
    register_jitable(helper)

_compiled = numba.njit(nogil=True, cache=True)

present = _compiled(perceptron.present)
mistakes = _compiled(perceptron.mistakes)
ascend_by_pairs = _compiled(working_set.ascend_by_pairs)
ascend_by_ones = _compiled(working_set.ascend_by_ones)
gather = _compiled(working_set.gather)
add_rows = _compiled(working_set.add_rows)
descend_rows = _compiled(coordinate_descent.descend_rows)
