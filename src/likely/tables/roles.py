"""What each column of a data file is for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from likely.exceptions import InvalidParameterError, TableError
from likely.tables.header import check_distinct, check_named, check_there

__all__ = ["Roles"]


@dataclass(frozen=True)
class Roles:
    """Which columns hold labels, groups, weights and scores; the others are features, unless they are excluded.

    With ``only``, those are the features, and further columns do not matter.
    """

    target: str | None = None
    groups: str | None = None
    weight: str | None = None
    scores: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    def named(self) -> Iterator[tuple[str, str, str]]:
        """The columns that are no features: each after what it is of, and the option that names it."""
        single = [("of labels", "target=", self.target), ("of groups", "groups=", self.groups)]
        single += [("of weights", "weight=", self.weight)]
        yield from ((what, option, name) for what, option, name in single if name is not None)
        yield from (("of scores", "scores=", name) for name in self.scores)

    def others(self) -> list[str]:
        """The columns that are asked for and are no features."""
        return [name for _, _, name in self.named()]

    def check(self, path: Path, header: Sequence[str]) -> None:
        """Every column that is named is there, and is for one thing."""
        check_distinct(path, header)
        taken: dict[str, str] = {}
        options = [("to leave out", "exclude=", name) for name in self.exclude]
        for what, option, name in (*self.named(), *options):
            check_there(path, header, name, what, option)
            if taken.setdefault(name, option) != option or (option == "scores=" and self.scores.count(name) > 1):
                raise InvalidParameterError(
                    f"A column is for one thing, but {name!r} is named by {taken[name]} and by {option}. Name another."
                )
        for name in self.categories:
            check_there(path, header, name, "of categories", "categories=")

    def features(self, path: Path, header: Sequence[str]) -> list[str]:
        """The columns of features in the order of the file."""
        self.check(path, header)
        if self.only is not None:
            for name in self.only:
                check_there(path, header, name, "of features", "the name that the training rows have")
            return list(self.only)
        aside = {*self.others(), *self.exclude}
        names = [name for name in header if name not in aside]
        if not names:
            raise TableError(f"{path} must have a column of features, but all of its columns are for something else.")
        check_named(path, names, "of features", "leave the column out with exclude=")
        return names
