"""Pattern recognition whose outputs you can act on.

The names are those of ``__init__.pyi``, and a room is loaded when a name of it is first asked for: a command line that
only explains itself need not wait for scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
