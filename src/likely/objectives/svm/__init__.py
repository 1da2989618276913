"""Support vector machines: the dual by working sets or coordinate descent, the primal by path following."""
