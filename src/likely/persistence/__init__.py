"""Models in files that hold data only."""

from likely.persistence.files import load, read_about, save

__all__ = ["load", "read_about", "save"]
