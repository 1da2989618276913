"""Support vector machines: the dual by working sets or coordinates, the primal by path following."""
