"""The fitted state of an estimator: an instance of a frozen dataclass, which is always replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache
from typing import Any, ClassVar

from likely._constraints import ABSENT, Constraints, names, optional, size

INPUTS: Constraints = {"n_features_in_": size("d"), "feature_names_in_": optional(names("d"))}
"""Constraints of the attributes that scikit-learn's ``validate_data`` sets."""


class Fitted:
    """Base class of estimators that store what they learn in ``_state``, an instance of the dataclass ``_State``.

    The fields of the state are attributes of the estimator: ``coef_`` reads ``_state.coef_``. If the value of a field
    is ABSENT, the estimator does not have this attribute. ``fit`` assigns the state once, at its end. Assigning a new
    value to one of these attributes replaces the state by a copy with this value.
    """

    _State: ClassVar[type | None] = None
    _inputs: ClassVar[Constraints] = INPUTS
    """Constraints of the fitted attributes that are not in the state. They are set before the state is computed."""

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__.get("_state")
        if name in _state_fields(state):
            value = getattr(state, name)
            if value is not ABSENT:
                return value
        # Python calls this method after the usual lookup failed. If a property raised an AttributeError, repeating the
        # lookup raises that error again. Otherwise it raises the usual AttributeError.
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__.get("_state")
        if name in _state_fields(state):
            name, value = "_state", replace(state, **{name: value})  # type: ignore[type-var]
        object.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_state_fields(self.__dict__.get("_state"))})

    def __sklearn_is_fitted__(self) -> bool:
        if self._State is None:
            return any(name.endswith("_") and not name.startswith("__") for name in vars(self))
        return "_state" in vars(self)


def _state_fields(state: Any) -> frozenset[str]:
    cls: Any = type(state)
    return _field_names(cls)


@cache
def _field_names(cls: Any) -> frozenset[str]:
    return frozenset() if cls is type(None) else frozenset(one.name for one in fields(cls))


@contextmanager
def all_or_nothing(*estimators: Any) -> Iterator[None]:
    """Restore the attributes that the estimators had before the block if the block raises an exception."""
    before = [estimator.__dict__.copy() for estimator in estimators]
    try:
        yield
    except BaseException:
        for estimator, attributes in zip(estimators, before, strict=True):
            estimator.__dict__.clear()
            estimator.__dict__.update(attributes)
        raise
