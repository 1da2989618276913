"""The compiled loops of this room, imported only when there are many rows."""

import numba
from numba.extending import register_jitable

from likely.objectives import presentation

__all__ = ["mistakes", "present"]

for helper in (presentation.score, presentation.margin, presentation.learn, presentation.hold):
    register_jitable(helper)

present = numba.njit(nogil=True, cache=True)(presentation.present)
mistakes = numba.njit(nogil=True, cache=True)(presentation.mistakes)
