"""Saving and loading of models in files that hold data only."""

from likely.persistence.files import check_savable, load, read_about, save

__all__ = ["check_savable", "load", "read_about", "save"]
