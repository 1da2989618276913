"""The compiled loops of this package, imported only when they run: Numba takes a while to import."""

import numba
from numba.extending import register_jitable

from likely.objectives import perceptron
from likely.objectives.svm import ascent

__all__ = ["add_rows", "by_ones", "by_pairs", "by_rows", "gather", "mistakes", "present"]

for helper in (perceptron.score, perceptron.margin, perceptron.learn, perceptron.hold):
    register_jitable(helper)

_compiled = numba.njit(nogil=True, cache=True)

present = _compiled(perceptron.present)
mistakes = _compiled(perceptron.mistakes)
by_pairs = _compiled(ascent.by_pairs)
by_ones = _compiled(ascent.by_ones)
by_rows = _compiled(ascent.by_rows)
gather = _compiled(ascent.gather)
add_rows = _compiled(ascent.add_rows)
