"""Pattern recognition whose outputs you can act on.

``__init__.pyi`` lists the public names. A package is imported when one of its names is first used, so that
``likely --help`` does not wait for scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
