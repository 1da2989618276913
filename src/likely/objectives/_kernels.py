"""The compiled loops of this room, imported only when they are to run."""

import numba
from numba.extending import register_jitable

from likely.objectives import presentation
from likely.objectives.svm import ascent

__all__ = ["add_rows", "by_ones", "by_pairs", "by_rows", "gather", "mistakes", "present"]

for helper in (presentation.score, presentation.margin, presentation.learn, presentation.hold):
    register_jitable(helper)

_compiled = numba.njit(nogil=True, cache=True)

present = _compiled(presentation.present)
mistakes = _compiled(presentation.mistakes)
by_pairs = _compiled(ascent.by_pairs)
by_ones = _compiled(ascent.by_ones)
by_rows = _compiled(ascent.by_rows)
gather = _compiled(ascent.gather)
add_rows = _compiled(ascent.add_rows)
